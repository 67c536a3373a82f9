"""What an agent answers in one turn: `Reply` and `Usage`, checked where they are made."""

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, Final, Literal, TypeAlias, final

import attrs

from niceeval.events import EVENT_TYPES, Event, Message, ToolCallFinished
from niceeval.tool_call import NOT_GIVEN, ToolCall, private_copy
from niceeval_expect._evaluation import Absent

__all__ = [
    "CHANNELS",
    "NO_DATA",
    "ONLY_EVENTS",
    "Coverage",
    "Reply",
    "TurnStatus",
    "Usage",
    "calls_of",
    "same_call",
    "texts_of",
]

TurnStatus: TypeAlias = Literal["completed", "failed", "waiting"]
Coverage: TypeAlias = Literal["complete", "partial", "none"]

CHANNELS: Final = ("messages", "tool_calls", "usage")
NO_DATA: Final = Absent("no data was reported")

_STATUSES: Final = ("completed", "failed", "waiting")
_COVERAGES: Final = ("complete", "partial", "none")
ONLY_EVENTS: Final = (
    "the calls were reported one by one and nobody said that they are all: "
    "return Reply(..., tool_calls=[...]) or coverage={'tool_calls': 'complete'}"
)


def _count(name: str, value: object) -> None:
    if value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"Usage() {name} is a whole number or None, got {value!r}")
    if value < 0:
        raise ValueError(f"Usage() {name} is not negative, got {value}")


@final
@attrs.frozen(kw_only=True)
class Usage:
    """What a turn used, as far as it was reported; None is unknown, never zero.

    Args:
        input_tokens: Tokens read, at least 0.
        output_tokens: Tokens written, at least 0.
        cost_usd: Cost in US dollars, finite and at least 0.

    Raises:
        TypeError: A count is not a whole number, or the cost is not a number.
        ValueError: A value is negative, or the cost is not finite.

    >>> Usage(input_tokens=900, output_tokens=100).total_tokens
    1000
    >>> Usage(input_tokens=900).total_tokens is None
    True
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None

    def __attrs_post_init__(self) -> None:
        _count("input_tokens", self.input_tokens)
        _count("output_tokens", self.output_tokens)
        cost = self.cost_usd
        if cost is None:
            return
        if not isinstance(cost, int | float) or isinstance(cost, bool):
            raise TypeError(f"Usage() cost_usd is a number of US dollars or None, got {cost!r}")
        if not isfinite(cost) or cost < 0:
            raise ValueError(f"Usage() cost_usd is finite and not negative, got {cost}")

    @property
    def total_tokens(self) -> int | None:
        """Tokens read and written; None unless both are known."""
        if self.input_tokens is None or self.output_tokens is None:
            return None
        return self.input_tokens + self.output_tokens


@final
@attrs.frozen(init=False)
class Reply:
    """What an agent answered in one turn, and how much of it is reported.

    Args:
        message: The text for the user. A completed reply without text said nothing, which is a value like any other.
        data: Structured output, if the agent gives some.
        tool_calls: Every tool call of the turn; ``[]`` says that there was none, None that calls are not reported.
        usage: Tokens and cost of the turn; None where they are not known.
        status: How the turn ended: ``"completed"``, ``"failed"`` or ``"waiting"`` for an answer; None if unknown.
        events: What happened, in order. Left out, it follows from the message and the calls.
        coverage: How much of ``"messages"``, ``"tool_calls"`` and ``"usage"`` is reported (``"complete"``,
            ``"partial"`` or ``"none"``), where that differs from what the other arguments say.

    Attributes:
        coverage: The coverage of all three channels.
        reasons: Why something is not reported in full, by channel (or ``"input"``); empty where nobody said.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: A status, a channel or a coverage is unknown, or two arguments contradict each other.

    >>> reply = Reply("It is on its way.", tool_calls=[ToolCall("lookup_order", {"id": "ORD-448192"}, "in transit")])
    >>> reply.coverage
    {'messages': 'complete', 'tool_calls': 'complete', 'usage': 'none'}
    """

    message: str
    data: Any
    tool_calls: tuple[ToolCall, ...] | None
    usage: Usage | None
    status: TurnStatus | None
    events: tuple[Event, ...] | None
    coverage: Mapping[str, Coverage]
    reasons: Mapping[str, str]

    def __init__(
        self,
        message: str = "",
        *,
        data: Any = NOT_GIVEN,
        tool_calls: Sequence[ToolCall] | None = None,
        usage: Usage | None = None,
        status: TurnStatus | None = "completed",
        events: Sequence[Event] | None = None,
        coverage: Mapping[str, Coverage] | None = None,
    ) -> None:
        if not isinstance(message, str):
            raise TypeError(
                f"Reply() message is text, got {type(message).__name__}: structured output goes into data=, "
                "and where nothing was said the message is left out"
            )
        if status is not None and status not in _STATUSES:
            raise ValueError(f"Reply() status is one of {', '.join(_STATUSES)}, or None for unknown; got {status!r}")
        if usage is not None and not isinstance(usage, Usage):
            raise TypeError(f"Reply() usage is a Usage or None, got {type(usage).__name__}")
        calls = None if tool_calls is None else _all(tool_calls, ToolCall, "tool_calls", "a ToolCall")
        happened = None if events is None else _all(events, EVENT_TYPES, "events", "an event such as Message")
        reasons: dict[str, str] = {}
        if calls is None and happened is not None:
            calls = calls_of(happened) or None
            if calls is not None and (coverage is None or "tool_calls" not in coverage):
                reasons["tool_calls"] = ONLY_EVENTS
        known: dict[str, Coverage] = {
            "messages": "none" if status == "failed" and not message and not texts_of(happened) else "complete",
            "tool_calls": "none" if calls is None else "partial" if reasons else "complete",
            "usage": "none" if usage is None or usage == _NOTHING_USED else "complete",
        }
        if coverage is not None:
            has = {
                "messages": bool(message) or bool(texts_of(happened)),
                "tool_calls": bool(calls),
                "usage": known["usage"] != "none",
            }
            _override(known, coverage, has, calls is None)
        self.__attrs_init__(
            message,
            NO_DATA if data is NOT_GIVEN else private_copy(data),
            calls,
            usage,
            status,
            happened,
            known,
            reasons,
        )

    def explained(self, reasons: Mapping[str, str]) -> "Reply":
        """Return the same reply with sentences that say why something is not reported in full, by channel."""
        reply = Reply.__new__(Reply)
        reply.__attrs_init__(
            self.message,
            self.data,
            self.tool_calls,
            self.usage,
            self.status,
            self.events,
            self.coverage,
            {**self.reasons, **reasons},
        )
        return reply


_NOTHING_USED: Final = Usage()


def _all(items: Any, kinds: Any, name: str, wanted: str) -> tuple[Any, ...]:
    if type(items) is not list and (isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable)):
        raise TypeError(f"Reply() {name} is a list, got {type(items).__name__}")
    found = tuple(items)
    for index, item in enumerate(found):
        if not isinstance(item, kinds):
            raise TypeError(f"Reply() {name}[{index}] is {wanted}, got {type(item).__name__}")
    return found


def _override(
    known: dict[str, Coverage], coverage: Mapping[str, Coverage], has: Mapping[str, bool], no_calls: bool
) -> None:
    if not isinstance(coverage, Mapping):
        raise TypeError(f"Reply() coverage is a mapping of channels, got {type(coverage).__name__}")
    for channel, value in coverage.items():
        if channel not in CHANNELS:
            raise ValueError(f"Reply() coverage knows the channels {', '.join(CHANNELS)}; got {channel!r}")
        if value not in _COVERAGES:
            raise ValueError(f"Reply() coverage of {channel} is one of {', '.join(_COVERAGES)}; got {value!r}")
        if value == "none" and has[channel]:
            raise ValueError(f"Reply() says that {channel} are not reported and reports some: say 'partial'")
        if value == "complete" and channel == "tool_calls" and no_calls:
            raise ValueError("Reply() says that tool_calls are complete and gives none: say tool_calls=[]")
        if value == "complete" and channel == "usage" and not has[channel]:
            raise ValueError("Reply() says that usage is complete and gives none: say usage=Usage(...)")
        known[channel] = value


def texts_of(events: Iterable[Event] | None) -> list[str]:
    """Return what the assistant said, in order."""
    return [event.text for event in events or () if isinstance(event, Message) and event.role == "assistant"]


def calls_of(items: Iterable[ToolCall | Event]) -> tuple[ToolCall, ...]:
    """Return the calls that were reported one by one; a result completes the first open call it belongs to."""
    calls: list[ToolCall] = []
    still_open: list[int] = []
    for item in items:
        call = item if isinstance(item, ToolCall) else item.call
        if call is None:
            continue
        ends = isinstance(item, ToolCallFinished) or (isinstance(item, ToolCall) and call.status != "pending")
        place = next((index for index in still_open if same_call(call, calls[index])), None) if ends else None
        if place is not None:
            calls[place] = call
            still_open.remove(place)
            continue
        if not ends:
            still_open.append(len(calls))
        calls.append(call)
    return tuple(calls)


def same_call(call: ToolCall, opened: ToolCall) -> bool:
    """Whether `call` is what became of `opened`: the same id, or, without ids, the same name and input."""
    if call.name != opened.name or call.id != opened.id:
        return False
    return call.id is not None or isinstance(opened.input, Absent) or bool(call.input == opened.input)
