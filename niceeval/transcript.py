"""Turns as evidence: what is known of a conversation, turn by turn, and what nobody reported."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, final

import attrs

from niceeval.events import (
    ContextCompacted,
    ErrorEvent,
    Event,
    InputRequested,
    Message,
    SkillLoaded,
    Thinking,
    ToolCallFinished,
    ToolCallStarted,
)
from niceeval.reply import (
    CHANNELS,
    NO_DATA,
    ONLY_EVENTS,
    Coverage,
    Reply,
    TurnStatus,
    Usage,
    calls_of,
    same_call,
    texts_of,
)
from niceeval.tool_call import ToolCall, ToolStatus

__all__ = [
    "CHANNELS",
    "ContextCompacted",
    "Coverage",
    "ErrorEvent",
    "Event",
    "InputRequested",
    "Message",
    "Reply",
    "SkillLoaded",
    "Thinking",
    "ToolCall",
    "ToolCallFinished",
    "ToolCallStarted",
    "ToolStatus",
    "Transcript",
    "TurnEvidence",
    "TurnStatus",
    "Usage",
    "turn_cut_off",
    "turn_from_reply",
]


@final
@attrs.frozen
class TurnEvidence:
    """One finished turn, as far as it is known.

    Args:
        input: What the user said.
        status: How the turn ended; None where nobody said.
        messages: The assistant's texts, in order; ``()`` where it said nothing, None where texts are not reported.
        data: Structured output, or `Absent`.
        tool_calls: The calls that are known, in order; None where calls are not reported.
        usage: Tokens and cost, None where they are not known.
        events: What happened, in order. None: it follows from the messages and the calls, and is made when it is read.
        coverage: The coverage of each of `CHANNELS`.
        failure: What went wrong, for a turn that an exception or a timeout ended.
        reasons: Why a channel, or the ``"input"``, is not known in full.
    """

    input: str
    status: TurnStatus | None
    messages: tuple[str, ...] | None
    data: Any
    tool_calls: tuple[ToolCall, ...] | None
    usage: Usage | None
    reported_events: tuple[Event, ...] | None = attrs.field(alias="events")
    coverage: Mapping[str, Coverage]
    failure: str | None = None
    reasons: Mapping[str, str] = attrs.Factory(dict)

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """What happened in the turn, in order, the user's message first."""
        if self.reported_events is not None:
            return self.reported_events
        return _whole(self.input, tuple(_call_events(self.tool_calls or ())), self.messages)


@final
@attrs.frozen
class Transcript:
    """A recorded conversation, turn by turn, to be observed without calling an agent."""

    turns: tuple[TurnEvidence, ...]

    def __len__(self) -> int:
        """Return the number of turns."""
        return len(self.turns)


def turn_from_reply(input: str, reply: Reply | str, emitted: Iterable[ToolCall | Event] = ()) -> TurnEvidence:
    """Return the evidence of a turn that ended with a reply.

    What the agent emitted while it worked is used where the reply does not report the same itself: its calls where
    the reply has none, its events where the reply has no events.

    Args:
        input: What the user said.
        reply: What the agent answered.
        emitted: What it reported as it happened.

    Raises:
        TypeError: `reply` is neither text nor a Reply.

    >>> turn = turn_from_reply("Where is it?", "On its way.")
    >>> turn.messages, turn.tool_calls, turn.coverage["tool_calls"]
    (('On its way.',), None, 'none')
    """
    if isinstance(reply, str):
        reply = Reply(reply)
    elif not isinstance(reply, Reply):
        raise TypeError(f"an agent replies with text or a Reply, got {type(reply).__name__}")
    events, calls, coverage, reasons = reply.events, reply.tool_calls, reply.coverage, reply.reasons
    items = tuple(emitted)
    if items:
        seen = calls_of(items)
        if events is None:
            events = _emitted_events(items, seen, calls)
        if calls is None and seen:
            calls = seen
            if coverage["tool_calls"] == "none":
                coverage = {**coverage, "tool_calls": "partial"}
                reasons = {**reasons, "tool_calls": ONLY_EVENTS}
    messages = _messages(reply, events)
    if events is not None:
        events = _whole(input, events, messages)
    return TurnEvidence(input, reply.status, messages, reply.data, calls, reply.usage, events, coverage, None, reasons)


def turn_cut_off(
    input: str, emitted: Iterable[ToolCall | Event], failure: str, *, status: TurnStatus | None = "failed"
) -> TurnEvidence:
    """Return the evidence of a turn that never replied: what was reported until then, none of it complete.

    Args:
        input: What the user said.
        emitted: What the agent reported as it happened.
        failure: What ended the turn, one sentence.
        status: How the turn ended.

    >>> turn = turn_cut_off("Delete user 7", [ToolCall("find_user", {"id": 7}, "found")], "no reply within 2 s")
    >>> turn.coverage["tool_calls"], [call.name for call in turn.tool_calls]
    ('partial', ['find_user'])
    """
    items = tuple(emitted)
    events = _as_events(items)
    calls = calls_of(items)
    texts = tuple(texts_of(events))
    coverage: dict[str, Coverage] = {
        "messages": "partial" if texts else "none",
        "tool_calls": "partial" if calls else "none",
        "usage": "none",
    }
    reasons = dict.fromkeys(CHANNELS, failure)
    whole = _whole(input, events, None)
    return TurnEvidence(input, status, texts, NO_DATA, calls or None, None, whole, coverage, failure, reasons)


def _emitted_events(
    items: Sequence[ToolCall | Event], seen: tuple[ToolCall, ...], calls: tuple[ToolCall, ...] | None
) -> tuple[Event, ...]:
    """Return what was emitted; where the reply knows other calls, its calls stand in for the emitted ones."""
    events = _as_events(items)
    if calls is not None and len(calls) != len(seen):
        events = [event for event in events if event.call is None]
        events.extend(_call_events(calls))
    return tuple(events)


def _messages(reply: Reply, events: tuple[Event, ...] | None) -> tuple[str, ...] | None:
    if reply.coverage["messages"] == "none":
        return () if reply.status == "failed" else None
    said = texts_of(events) if events else []
    if reply.message and (not said or said[-1] != reply.message):
        said.append(reply.message)
    if not said and reply.status in ("completed", "waiting"):
        return ("",)
    return tuple(said)


def _as_events(items: Iterable[ToolCall | Event]) -> list[Event]:
    """Return the items as events; a bare call has started, and has finished unless it is pending."""
    events: list[Event] = []
    still_open: list[ToolCall] = []
    for item in items:
        if not isinstance(item, ToolCall):
            events.append(item)
            if isinstance(item, ToolCallStarted):
                still_open.append(item.call)
            continue
        ends = item.status != "pending"
        opened = next((call for call in still_open if same_call(item, call)), None) if ends else None
        if opened is None:
            events.append(ToolCallStarted(item))
        else:
            still_open.remove(opened)
        if ends:
            events.append(ToolCallFinished(item))
        else:
            still_open.append(item)
    return events


def _call_events(calls: Iterable[ToolCall]) -> Iterator[Event]:
    for call in calls:
        yield ToolCallStarted(call)
        if call.status != "pending":
            yield ToolCallFinished(call)


def _whole(input: str, events: Sequence[Event], messages: tuple[str, ...] | None) -> tuple[Event, ...]:
    """Return the events with the user's message first and what was said after them last, where they lack it."""
    whole = list(events)
    if not any(isinstance(event, Message) and event.role == "user" for event in whole):
        whole.insert(0, Message("user", input))
    missing = (messages or ())[len(texts_of(events)) :]
    whole.extend(Message("assistant", text) for text in missing if text)
    return tuple(whole)
