"""Matches over one event of a conversation."""

from typing import Any, Final, Literal, Protocol, TypeAlias, cast, final

import attrs

from niceeval_expect._evaluation import MATCHED, Absent, Diagnostic, Evaluation, mismatched, wrong_type
from niceeval_expect._facets import Facet, fold_facets, parts_reject, plain_or_match, plain_value
from niceeval_expect._freeze import call_repr
from niceeval_expect._match import BooleanMatch, ValueMatch, compose, evaluate_part
from niceeval_expect._spec import register
from niceeval_expect._tool import ToolMatch

__all__ = ["EVENT_KINDS", "EventKind", "EventLike", "EventMatch", "as_event_match", "event_match"]

EventKind: TypeAlias = Literal[
    "message",
    "tool_call_started",
    "tool_call_finished",
    "thinking",
    "input_requested",
    "skill_loaded",
    "context_compacted",
    "error",
]

EVENT_KINDS: Final[tuple[str, ...]] = (
    "message",
    "tool_call_started",
    "tool_call_finished",
    "thinking",
    "input_requested",
    "skill_loaded",
    "context_compacted",
    "error",
)
_WITH_CALL: Final = ("tool_call_started", "tool_call_finished")
_WITH_TEXT: Final = ("message", "thinking", "input_requested", "skill_loaded", "error")
_ROLES: Final = ("user", "assistant")


class EventLike(Protocol):
    """What an event match reads of an event; None where something means nothing for its kind."""

    @property
    def kind(self) -> str:
        """One of `EVENT_KINDS`."""

    @property
    def role(self) -> str | None:
        """Who spoke."""

    @property
    def text(self) -> str | None:
        """What was said, thought or asked."""

    @property
    def call(self) -> Any:
        """The tool call that started or finished."""


class EventMatch(BooleanMatch):
    """A boolean match over one event."""

    __slots__ = ()
    _domain = "event"

    def __and__(self, other: "EventMatch", /) -> "EventMatch":
        """Return the match that needs both, of the same event."""
        return cast(EventMatch, compose("all_of", self, other))

    def __or__(self, other: "EventMatch", /) -> "EventMatch":
        """Return the match that needs one of the two."""
        return cast(EventMatch, compose("any_of", self, other))

    def __invert__(self) -> "EventMatch":
        """Return the denial; missing evidence stays missing."""
        return cast(EventMatch, compose("not_", self))

    def _rejects(self, event: EventLike) -> bool:
        """Tell at little cost whether the event certainly mismatches, and not for its type, as a tool match does."""
        return parts_reject(self, [part._rejects(event) for part in self._parts() if isinstance(part, EventMatch)])

    def _kinds(self) -> frozenset[str]:
        """The kinds of events that may match."""
        parts = [part._kinds() for part in self._parts() if isinstance(part, EventMatch)]
        if not parts or getattr(self, "operation", "") == "not_":
            return frozenset(EVENT_KINDS)
        return frozenset().union(*parts)


@final
@attrs.frozen(eq=False, repr=False)
class _EventMatch(EventMatch):
    _spec_name = "event_match"
    kind: str
    role: str | None
    text: ValueMatch | None
    tool: ToolMatch | None

    def _args(self) -> dict[str, object]:
        given = {"role": self.role, "text": self.text, "tool": self.tool}
        return {"kind": self.kind, **{key: value for key, value in given.items() if value is not None}}

    def _parts(self) -> tuple[object, ...]:
        return tuple(part for part in (self.text, self.tool) if part is not None)

    def __repr__(self) -> str:
        options = {key: plain_value(value) for key, value in self._args().items() if key != "kind"}
        return call_repr("event_match", self.kind, **options)

    def _rejects(self, event: EventLike) -> bool:
        return event.kind != self.kind or (self.role is not None and event.role != self.role)

    def _kinds(self) -> frozenset[str]:
        return frozenset((self.kind,))

    def _evaluate(self, subject: Any, pointer: str) -> Evaluation:
        try:
            kind, role, text, call = subject.kind, subject.role, subject.text, subject.call
        except AttributeError:
            return wrong_type("an event", subject, pointer)
        if kind != self.kind:
            return Evaluation(
                "mismatched",
                Diagnostic("kind", f"{kind} event, not {self.kind}", f"{pointer}/kind", self.kind, str(kind)),
            )
        parts: list[Facet] = []
        if self.role is not None and role != self.role:
            message = f"{role} spoke, not {self.role}"
            parts.append(("role", mismatched("role", message, f"{pointer}/role", expected=self.role, received=role)))
        if self.text is not None:
            said = Absent("the event carries no text") if text is None else text
            parts.append(("text", evaluate_part(self.text, said, f"{pointer}/text")))
        if self.tool is not None:
            made = Absent("the event carries no call") if call is None else call
            parts.append(("call", evaluate_part(self.tool, made, f"{pointer}/call")))
        for _, part in parts:
            if part.outcome != "matched":
                return fold_facets(f"the {kind} event", parts, pointer)
        return MATCHED


def event_match(
    kind: EventKind,
    /,
    *,
    role: Literal["user", "assistant"] | None = None,
    text: ValueMatch | str | None = None,
    tool: ToolMatch | None = None,
) -> EventMatch:
    """Match one event that is all of this at once.

    Args:
        kind: ``"message"``, ``"tool_call_started"``, ``"tool_call_finished"``, ``"thinking"``, ``"input_requested"``,
            ``"skill_loaded"``, ``"context_compacted"`` or ``"error"``.
        role: Who spoke, for messages; None for either.
        text: What a message, a thought, a request or an error says, or the name of a skill: a value match, or plain
            text for equality; None for any.
        tool: The call that started or finished; None for any.

    Returns:
        An event match, to be given to ``event``, ``not_event`` or ``event_order``.

    Raises:
        TypeError: If an argument is not what it is to be.
        ValueError: If `kind` or `role` is unknown, or an argument says nothing about events of that kind.

    >>> from niceeval import Message
    >>> from niceeval_expect import event_match, includes
    >>> event_match("message", role="assistant", text=includes("refund")).evaluate(
    ...     Message("assistant", "Your refund is on its way.")
    ... ).outcome
    'matched'
    """
    if kind not in EVENT_KINDS:
        raise ValueError(
            f"event_match() knows no event {kind!r}{_did_you_mean(kind)}; known are {', '.join(EVENT_KINDS)}"
        )
    if role is not None and role not in _ROLES:
        raise ValueError(f"event_match() role is 'user' or 'assistant', or None for either; got {role!r}")
    for label, value, kinds in (("role", role, ("message",)), ("text", text, _WITH_TEXT), ("tool", tool, _WITH_CALL)):
        if value is not None and kind not in kinds:
            raise ValueError(f"event_match() {label}= says nothing about {kind} events, only about {', '.join(kinds)}")
    if tool is not None and not isinstance(tool, ToolMatch):
        raise TypeError(f"event_match() tool takes a tool match, such as tool_match('search'); got {tool!r}")
    return _EventMatch(kind, role, None if text is None else plain_or_match("event_match() text", text), tool)


def _did_you_mean(kind: object) -> str:
    from difflib import get_close_matches

    close = get_close_matches(str(kind).lower().replace("-", "_").replace(" ", "_"), EVENT_KINDS, 1)
    return f" (did you mean {close[0]!r}?)" if close else ""


register("event_match", lambda args: event_match(args["kind"], **{k: v for k, v in args.items() if k != "kind"}))


def as_event_match(call: str, value: object) -> EventMatch:
    """Return the event match that an argument is, or refuse it with a sentence."""
    if isinstance(value, EventMatch):
        return value
    raise TypeError(f"{call} takes an event match, such as event_match('message', role='assistant'); got {value!r}")
