"""One turn of a model that calls tools: what it said and asked for, step by step, and the reply that this makes."""

from collections.abc import Sequence
from typing import Any, Final, Literal, TypeAlias, final

import attrs

from niceeval.agents._arguments import parse_arguments
from niceeval.agents._tools import Outcome
from niceeval.agents._unparsed_calls import looks_like_a_call
from niceeval.agents.base import AgentContext
from niceeval.agents.mcp_names import ToolNames
from niceeval.events import ErrorEvent, Event, Message, Thinking, ToolCallFinished, ToolCallStarted
from niceeval.reply import Coverage, Reply, TurnStatus, Usage
from niceeval.tool_call import NOT_GIVEN, ToolCall, ToolStatus
from niceeval_expect._evaluation import Absent

__all__ = ["NOT_WHOLE", "Asked", "Ending", "ModelTurn", "Said", "Step", "own_call", "tokens"]

Ending: TypeAlias = Literal["whole", "unsaid", "paused", "broken"]
"""How an answer ended: as it should, as nobody said, to be gone on with, or too early."""

NOT_WHOLE: Final = "the answer ended before the call's arguments did"
_MOST_NOTES: Final = 8


def _an_id(given: object) -> str | None:
    return given if isinstance(given, str) and given else None


@final
@attrs.frozen
class Asked:
    """A tool call as a model asked for it.

    Attributes:
        name: The tool's name, as it was given.
        input: The arguments, or `Absent` where they cannot be read.
        raw: The text of arguments that cannot be read.
        id: The provider's id.
    """

    name: str
    input: Any
    raw: str | None
    id: str | None = attrs.field(converter=_an_id)

    @classmethod
    def of(cls, name: str, arguments: object, id: object, *, whole: bool) -> "Asked":
        """Return the call with its arguments read; of an answer that is not whole, blank ones are not ``{}``."""
        given = parse_arguments(arguments)
        text = arguments if isinstance(arguments, str) else None
        if not whole and text is not None and not text.strip():
            given = Absent(NOT_WHOLE)
        raw = text if isinstance(given, Absent) else None
        return cls(name, given, raw, id)

    def call(self, outcome: Outcome | None = None) -> ToolCall:
        """Return the call with its outcome, or pending without one."""
        output: Any = NOT_GIVEN if outcome is None else outcome.output
        status: ToolStatus | None = None if outcome is None else "failed" if outcome.failed else "completed"
        if self.raw is not None:
            return ToolCall.unreadable(self.name, self.raw, self.input.reason, output, status=status, id=self.id)
        return ToolCall(self.name, self.input, output, status=status, id=self.id)


Said: TypeAlias = Message | Thinking | Asked | ToolCall


@final
@attrs.frozen(kw_only=True)
class Step:
    """One answer of the model.

    Attributes:
        said: Texts, thoughts and calls, in order; a `ToolCall` is one that the provider carried out itself.
        usage: What the answer used, as far as it says.
        ending: How it ended.
        why: What ended it too early, as a sentence.
        notes: What of it was not read, by channel.
    """

    said: Sequence[Said]
    usage: Usage | None = None
    ending: Ending = "whole"
    why: str = ""
    notes: Sequence[tuple[str, str]] = ()

    @property
    def calls(self) -> list[Asked]:
        """The calls that the model asked for."""
        return [each for each in self.said if isinstance(each, Asked)]


@final
class ModelTurn:
    """What happens in one turn, reported as it happens.

    Args:
        ctx: Where it is reported.
        names: What tools the reported names stand for.
    """

    def __init__(self, ctx: AgentContext, names: ToolNames | None) -> None:
        self._ctx = ctx
        self._names = names or ToolNames()
        self._events: list[Event] = []
        self._calls: list[ToolCall] = []
        self._used: list[Usage | None] = []
        self._notes: dict[str, list[str]] = {}
        self._status: TurnStatus | None = "completed"

    def add(self, step: Step) -> list[int]:
        """Report an answer, and return the places of the calls that it asks for."""
        places: list[int] = []
        for each in step.said:
            if isinstance(each, Message | Thinking):
                self._happened(each)
                continue
            if isinstance(each, Asked):
                places.append(len(self._calls))
            call = self._names.named(each.call() if isinstance(each, Asked) else each)
            self._calls.append(call)
            self._happened(ToolCallStarted(call))
            if call.status != "pending":
                self._happened(ToolCallFinished(call))
        self._used.append(step.usage)
        for channel, note in step.notes:
            self._notes.setdefault(channel, []).append(note)
        texts = [each.text for each in step.said if isinstance(each, Message)]
        if not step.calls and any(map(looks_like_a_call, texts)):
            self._notes.setdefault("tool_calls", []).append("a text looks like a tool call nobody parsed")
        return places

    def finish(self, place: int, asked: Asked, outcome: Outcome) -> None:
        """Report what became of a call."""
        self._calls[place] = call = self._names.named(asked.call(outcome))
        self._happened(ToolCallFinished(call))

    def end(self, step: Step, *, cut: str | None) -> None:
        """Take in how the last answer ended.

        Args:
            step: The last answer.
            cut: Why the turn ended although the answer asked for more.
        """
        why = step.why if step.ending == "broken" else cut
        if why:
            self._status = "failed"
            self._happened(ErrorEvent(why))
            if step.ending == "broken":
                # Whatever else the answer would have said or asked for is not known.
                for channel in ("messages", "tool_calls"):
                    self._notes.setdefault(channel, []).append(why)
            return
        if step.ending == "unsaid":
            self._status = None
        if not any(isinstance(each, Message) for each in step.said) and "messages" not in self._notes:
            self._happened(Message("assistant", ""))

    def reply(self) -> Reply:
        """Return the reply that all this makes."""
        texts = [event.text for event in self._events if isinstance(event, Message)]
        coverage: dict[str, Coverage] = dict.fromkeys(self._notes, "partial")
        reply = Reply(
            texts[-1] if texts else "",
            tool_calls=self._calls,
            usage=_sum(self._used),
            status=self._status,
            events=self._events,
            coverage=coverage,
        )
        reasons = {channel: _joined(notes) for channel, notes in self._notes.items()}
        return reply.explained(reasons) if reasons else reply

    def _happened(self, event: Event) -> None:
        self._events.append(event)
        self._ctx.emit(event)


def own_call(
    name: str, arguments: object, output: Any, status: ToolStatus, *, id: object, server: object, whole: bool = True
) -> ToolCall:
    """Return a call that the provider carried out itself; an `output` that is None was not reported."""
    asked = Asked.of(name, arguments, id, whole=whole)
    on = server if isinstance(server, str) and server else None
    given = NOT_GIVEN if output is None or status == "pending" else output
    if asked.raw is not None:
        return ToolCall.unreadable(name, asked.raw, asked.input.reason, given, status=status, id=asked.id, server=on)
    return ToolCall(name, asked.input, given, status=status, id=asked.id, server=on)


def tokens(given: object, *names: str) -> int | None:
    """Return the sum of those counts of a usage that are reported; None where the first is not."""
    if not isinstance(given, dict):
        return None
    counts = [given.get(name) for name in names]
    known = [count for count in counts if isinstance(count, int) and not isinstance(count, bool) and count >= 0]
    return sum(known) if counts[0] in known and type(counts[0]) is int else None


def _sum(used: Sequence[Usage | None]) -> Usage | None:
    """Return what all steps used; a count that one of them does not say is not known."""
    if any(each is None for each in used):
        return None
    read = [each.input_tokens for each in used if each is not None]
    written = [each.output_tokens for each in used if each is not None]
    total = Usage(
        input_tokens=None if None in read else sum(each or 0 for each in read),
        output_tokens=None if None in written else sum(each or 0 for each in written),
    )
    return None if total == Usage() else total


def _joined(notes: Sequence[str]) -> str:
    kept = list(dict.fromkeys(notes))
    more = len(kept) - _MOST_NOTES
    return "; ".join(kept[:_MOST_NOTES]) + (f"; and {more} more" if more > 0 else "")
