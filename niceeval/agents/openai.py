"""Reads the OpenAI chat-completions message format as it occurs in the wild.

What the format does not say stays unknown: how a turn ended, and what became of a tool call beyond its output.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, final

import attrs

from niceeval.agents._openai_messages import RawCall, RawMessage, read_messages
from niceeval.events import Event, Message, Thinking, ToolCallFinished, ToolCallStarted
from niceeval.reply import NO_DATA, Coverage, Reply, TurnStatus, Usage
from niceeval.tool_call import ToolCall, ToolStatus
from niceeval.transcript import Transcript, TurnEvidence
from niceeval_expect._tool_names import TOOL_STATUSES

__all__ = ["reply_from_openai", "transcript_from_openai"]

_OPENED_BY_AGENT: Final = "the conversation opens with the agent: nobody had said anything"
_MAX_NOTES: Final = 8

ToolStatusOf = Callable[[ToolCall], ToolStatus | None]
TurnStatusOf = Callable[[TurnEvidence], TurnStatus | None]


def transcript_from_openai(
    messages: Sequence[Mapping[str, Any]],
    /,
    *,
    tool_status: ToolStatusOf | None = None,
    turn_status: TurnStatusOf | None = None,
) -> Transcript:
    """Read a recorded conversation, turn by turn.

    A turn is one user message and everything up to the next one; two user messages in a row are two turns, the first of
    which nobody answered. What the assistant says before any user message is a turn with the input ``""``. System and
    developer messages belong to no turn. A turn that ended on the assistant's words and was followed by another is
    completed; how the last turn ended, or one that broke off, the format does not say: its status is None.

    A result belongs to the nearest preceding assistant message of its turn that has an unanswered call with its id,
    first to first. A call without a result is pending; the other calls have the status None, unless `tool_status` says
    more. A result without a call, a call without a name, and a text that looks like a call nobody parsed leave the
    turn's tool calls ``"partial"``, with the reason.

    Args:
        messages: The messages, as dicts or SDK objects.
        tool_status: Says, from a call that has its result, what its status is; None where it cannot tell.
        turn_status: Says, from a turn whose status is not known, how it ended; None where it cannot tell.

    Raises:
        ValueError: `messages` is not a list, or one of them is not a chat-completions message; its index is named. Or
            `tool_status` or `turn_status` returned something that is no status.

    >>> transcript = transcript_from_openai([
    ...     {"role": "user", "content": "Where is ORD-448192?"},
    ...     {"role": "assistant", "content": None, "tool_calls": [
    ...         {"id": "c1", "type": "function", "function": {"name": "lookup", "arguments": '{"id": "ORD-448192"}'}}]},
    ...     {"role": "tool", "tool_call_id": "c1", "content": "Error: unknown order"},
    ...     {"role": "assistant", "content": "I cannot find it."},
    ... ], tool_status=lambda call: "failed" if str(call.output).startswith("Error") else "completed")
    >>> transcript.turns[0].messages, transcript.turns[0].tool_calls
    (('I cannot find it.',),
     (ToolCall('lookup', {'id': 'ORD-448192'}, 'Error: unknown order', status='failed', id='c1'),))
    """
    turns: list[list[RawMessage]] = [[]]
    for message in read_messages(messages, "transcript_from_openai"):
        if message.role == "user":
            turns.append([message])
        elif message.role not in ("system", "developer"):
            turns[-1].append(message)
    answered = [turn for turn in turns if turn]
    evidence = [_evidence(turn, tool_status, followed=place < len(answered)) for place, turn in enumerate(answered, 1)]
    return Transcript(tuple(_ended(turn, turn_status) for turn in evidence))


def reply_from_openai(messages: Sequence[Any], /, *, usage: Usage | None = None) -> Reply:
    """Read the messages of one turn as a reply: its texts, its tool calls and their results.

    Where the list holds more of the conversation, what follows its last user message is the reply. It is completed
    if it ends on an assistant message that calls no tool; otherwise its status is None, as nobody said how it ended.

    Args:
        messages: The messages, as dicts or SDK objects.
        usage: What the turn used, if it is known. The messages do not say.

    Raises:
        ValueError: `messages` is not a list, one of them is not a chat-completions message, or none of them is the
            agent's.

    >>> reply = reply_from_openai([{"role": "assistant", "content": "It is on its way."}])
    >>> reply.message, reply.status, reply.tool_calls, reply.usage
    ('It is on its way.', 'completed', (), None)
    """
    tail: list[RawMessage] = []
    for message in read_messages(messages, "reply_from_openai"):
        if message.role == "user":
            tail = []
        elif message.role not in ("system", "developer"):
            tail.append(message)
    if not tail:
        raise ValueError(
            "reply_from_openai() got no message of the agent after the last user message: "
            "append the response to the messages first"
        )
    turn = _Turn(tail, None)
    last = tail[-1]
    reply = Reply(
        turn.messages[-1] if turn.messages else "",
        tool_calls=turn.calls,
        usage=usage,
        status="completed" if last.role == "assistant" and not last.calls else None,
        events=turn.events,
        coverage={"messages": turn.coverage("messages"), "tool_calls": turn.coverage("tool_calls")},
    )
    return reply.explained(turn.reasons) if turn.reasons else reply


def _ended(turn: TurnEvidence, turn_status: TurnStatusOf | None) -> TurnEvidence:
    if turn_status is None or turn.status is not None:
        return turn
    status = turn_status(turn)
    if status not in (None, "completed", "failed", "waiting"):
        raise ValueError(
            f"turn_status returned {status!r}: return 'completed', 'failed', 'waiting', or None where it cannot be told"
        )
    return attrs.evolve(turn, status=status)


def _evidence(messages: list[RawMessage], tool_status: ToolStatusOf | None, *, followed: bool) -> TurnEvidence:
    turn = _Turn(messages, tool_status)
    coverage: dict[str, Coverage] = {
        "messages": turn.coverage("messages"),
        "tool_calls": turn.coverage("tool_calls"),
        "usage": "none",
    }
    asked = messages[0].text if messages[0].role == "user" else None
    reasons = turn.reasons if asked is not None else {**turn.reasons, "input": _OPENED_BY_AGENT}
    last = messages[-1]
    spoke = last.role == "assistant" and last.text is not None and not last.calls
    status: TurnStatus | None = "completed" if followed and spoke else None
    return TurnEvidence(
        asked or "", status, turn.messages, NO_DATA, turn.calls, None, turn.events, coverage, None, reasons
    )


@final
class _Turn:
    """The messages of one turn, with every result at its call."""

    def __init__(self, messages: list[RawMessage], tool_status: ToolStatusOf | None) -> None:
        self._raw_calls: list[RawCall] = []
        self._results: dict[int, RawMessage] = {}
        # Unanswered calls by what answers them; a queue for each assistant message, the nearest last.
        self._open: dict[tuple[str, str | None], list[deque[int]]] = {}
        self._notes: dict[str, list[str]] = {}
        self._timeline: list[Message | Thinking | tuple[bool, int]] = []
        for message in messages:
            self._add(message)
        self.calls = tuple(
            _with_status(call.finished(self._results.get(place)), tool_status)
            for place, call in enumerate(self._raw_calls)
        )
        self.events = tuple(self._event(entry) for entry in self._timeline)
        self.messages = tuple(
            entry.text for entry in self._timeline if isinstance(entry, Message) and entry.role == "assistant"
        )

    @property
    def reasons(self) -> dict[str, str]:
        """Why the turn is not known in full, by channel."""
        return {channel: _joined(notes) for channel, notes in self._notes.items()}

    def coverage(self, channel: str) -> Coverage:
        """How much of a channel could be read."""
        return "partial" if channel in self._notes else "complete"

    def _add(self, message: RawMessage) -> None:
        for channel, note in message.notes:
            self._notes.setdefault(channel, []).append(note)
        if message.role in ("tool", "function"):
            self._answer(message)
            return
        if message.thinking:
            self._timeline.append(Thinking(message.thinking))
        if message.text is not None:
            self._timeline.append(Message("user" if message.role == "user" else "assistant", message.text))
        queues: dict[tuple[str, str | None], deque[int]] = {}
        for call in message.calls:
            place = len(self._raw_calls)
            self._raw_calls.append(call)
            self._timeline.append((False, place))
            queues.setdefault(("name", call.name) if call.legacy else ("id", call.id), deque()).append(place)
        for key, queue in queues.items():
            self._open.setdefault(key, []).append(queue)

    def _answer(self, result: RawMessage) -> None:
        key = ("name", result.name) if result.role == "function" else ("id", result.call_id)
        by_name = result.name if key == ("id", None) else None
        queues = self._open.get(key, [])
        for nearest in range(len(queues) - 1, -1, -1):
            queue = queues[nearest]
            place = next((one for one in queue if by_name in (None, self._raw_calls[one].name)), None)
            if place is not None:
                queue.remove(place)
                if not queue:
                    del queues[nearest]
                self._results[place] = result
                self._timeline.append((True, place))
                return
        note = f"message {result.index} is a result without an unanswered call in its turn, {result.describe()}"
        self._notes.setdefault("tool_calls", []).append(note)

    def _event(self, entry: Message | Thinking | tuple[bool, int]) -> Event:
        if not isinstance(entry, tuple):
            return entry
        finished, place = entry
        return ToolCallFinished(self.calls[place]) if finished else ToolCallStarted(self.calls[place])


def _with_status(call: ToolCall, tool_status: ToolStatusOf | None) -> ToolCall:
    if tool_status is None or call.status == "pending":
        return call
    status = tool_status(call)
    if status is None:
        return call
    if status not in TOOL_STATUSES or status == "pending":
        raise ValueError(
            f"tool_status returned {status!r} for a call of {call.name} that has a result: "
            "return 'completed', 'failed', 'rejected', or None where it cannot be told"
        )
    return call.with_status(status)


def _joined(notes: list[str]) -> str:
    more = len(notes) - _MAX_NOTES
    return "; ".join(notes[:_MAX_NOTES]) + (f"; and {more} more" if more > 0 else "")
