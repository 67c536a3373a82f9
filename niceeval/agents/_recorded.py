"""Recorded conversations as turns: what is made of their steps."""

from collections import deque
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Final, final

import attrs

from niceeval.agents._steps import (
    WITHOUT_ID,
    Asked,
    Called,
    Ended,
    Happened,
    Knowledge,
    Noted,
    Returned,
    Said,
    Step,
    ToolStatusOf,
    TurnStatusOf,
)
from niceeval.agents._unparsed_calls import looks_like_a_call
from niceeval.events import ErrorEvent, Event, Message, ToolCallFinished, ToolCallStarted
from niceeval.reply import NO_DATA, Coverage, TurnStatus, Usage
from niceeval.tool_call import NOT_GIVEN, ToolCall
from niceeval.transcript import Transcript, TurnEvidence
from niceeval_expect._evaluation import Absent
from niceeval_expect._tool_names import TOOL_STATUSES

__all__ = ["TurnSteps", "transcript_of", "turns_of"]

_OPENED_BY_AGENT: Final = "the conversation opens with the agent: nobody had said anything"
_MAX_NOTES: Final = 8
_SHOWN: Final = 2_000


def transcript_of(steps: Iterable[Step], known: Knowledge) -> Transcript:
    """Return the turns that the steps make: each begins with what the user said."""
    answered = turns_of(steps)
    evidence = (_evidence(turn, known, followed=place < len(answered)) for place, turn in enumerate(answered, 1))
    return Transcript(tuple(_ended(turn, known.turn_status) for turn in evidence))


def turns_of(steps: Iterable[Step]) -> list[list[Step]]:
    """Divide the steps into turns."""
    turns: list[list[Step]] = [[]]
    for step in steps:
        if isinstance(step, Asked):
            turns.append([step])
        else:
            turns[-1].append(step)
    return [turn for turn in turns if turn]


def _ended(turn: TurnEvidence, turn_status: TurnStatusOf | None) -> TurnEvidence:
    if turn_status is None or turn.status is not None:
        return turn
    status = turn_status(turn)
    if status not in (None, "completed", "failed", "waiting"):
        raise ValueError(
            f"turn_status returned {status!r}: return 'completed', 'failed', 'waiting', or None where it cannot be told"
        )
    return attrs.evolve(turn, status=status)


def _evidence(steps: list[Step], known: Knowledge, *, followed: bool) -> TurnEvidence:
    turn = TurnSteps(steps, known)
    coverage: dict[str, Coverage] = {
        "messages": turn.coverage("messages"),
        "tool_calls": turn.coverage("tool_calls"),
        "usage": "none" if turn.usage is None else turn.coverage("usage"),
    }
    opening = steps[0]
    asked = opening.text if isinstance(opening, Asked) else None
    reasons = turn.reasons if asked is not None else {"input": _OPENED_BY_AGENT, **turn.reasons}
    return TurnEvidence(
        asked or "",
        turn.status(followed=followed),
        turn.messages,
        NO_DATA,
        turn.calls,
        turn.usage,
        turn.events,
        coverage,
        turn.failure,
        reasons,
    )


@final
class TurnSteps:
    """The steps of one turn, with every result at its call.

    Args:
        steps: The steps.
        known: What is known beyond them.
    """

    def __init__(self, steps: Sequence[Step], known: Knowledge) -> None:
        self._known = known
        self._asked_for: list[Called] = []
        self._results: dict[int, Returned] = {}
        # Unanswered calls by what answers them; a queue for each message of the agent, the nearest last.
        self._open: dict[Hashable, list[deque[int]]] = {}
        self._notes: dict[str, list[str]] = {}
        self._timeline: list[Event | tuple[bool, int]] = []
        self._used: list[Usage | None] = []
        self._steps = steps
        self.failure: str | None = None
        for step in steps:
            self._add(step)
        self.calls: tuple[ToolCall, ...] = tuple(map(self._call, range(len(self._asked_for))))
        self.events: tuple[Event, ...] = tuple(map(self._event, self._timeline))
        self.messages: tuple[str, ...] = tuple(
            entry.text for entry in self._timeline if isinstance(entry, Message) and entry.role == "assistant"
        )
        self.usage = self._usage()

    @property
    def reasons(self) -> dict[str, str]:
        """Why the turn is not known in full, by channel."""
        return {channel: _joined(notes) for channel, notes in self._notes.items()}

    def coverage(self, channel: str) -> Coverage:
        """How much of a channel could be read."""
        return "partial" if channel in self._notes else "complete"

    def status(self, *, followed: bool) -> TurnStatus | None:
        """Return how the turn ended: as the format says, or completed where words ended it and another followed."""
        for step in reversed(self._steps):
            if isinstance(step, Ended):
                return step.status
            if isinstance(step, Said):
                if step.status is not None:
                    return step.status
                return "completed" if followed and step.texts and not any(c.is_open for c in step.calls) else None
            if isinstance(step, Returned | Asked):
                return None
        return None

    def _add(self, step: Step) -> None:
        if isinstance(step, Asked | Said):
            for channel, note in step.notes:
                self._note(channel, note)
        if isinstance(step, Asked):
            self._timeline.append(Message("user", step.text))
        elif isinstance(step, Said):
            self._say(step)
        elif isinstance(step, Returned):
            self._answer(step)
        elif isinstance(step, Noted):
            self._note(step.channel, step.note)
        elif isinstance(step, Happened):
            self._timeline.append(step.event)

    def _say(self, said: Said) -> None:
        if said.usage is not None or said.place is not None:
            self._used.append(said.usage)
        queues: dict[Hashable, deque[int]] = {}
        for part in said.parts:
            if not isinstance(part, Called):
                self._timeline.append(part)
                continue
            place = len(self._asked_for)
            self._asked_for.append(part)
            self._timeline.append((False, place))
            if part.is_open:
                queues.setdefault(part.key, deque()).append(place)
            else:
                self._timeline.append((True, place))
        for key, queue in queues.items():
            self._open.setdefault(key, []).append(queue)
        if said.place is not None and not said.calls and any(map(looks_like_a_call, said.texts)):
            self._note("tool_calls", f"{said.place} has text that looks like a tool call nobody parsed")
        if said.why is not None:
            # Whatever else the message would have said or asked for is not known.
            self._timeline.append(ErrorEvent(said.why))
            self._note("messages", said.why)
            self._note("tool_calls", said.why)
            self.failure = said.why if said.status == "failed" else self.failure

    def _answer(self, result: Returned) -> None:
        by_name = result.name if result.key == WITHOUT_ID else None
        queues = self._open.get(result.key, [])
        for nearest in range(len(queues) - 1, -1, -1):
            queue = queues[nearest]
            place = next((one for one in queue if by_name in (None, self._asked_for[one].name)), None)
            if place is not None:
                queue.remove(place)
                if not queue:
                    del queues[nearest]
                self._results[place] = result
                self._timeline.append((True, place))
                return
        self._note("tool_calls", f"{result.place} is a result without an unanswered call in its turn, {_of(result)}")

    def _note(self, channel: str, note: str) -> None:
        self._notes.setdefault(channel, []).append(note)

    def _call(self, place: int) -> ToolCall:
        asked, result = self._asked_for[place], self._results.get(place)
        output = asked.output if result is None else result.output
        status = asked.status if result is None else result.status
        if asked.raw is not None and isinstance(asked.input, Absent):
            call = ToolCall.unreadable(
                asked.name, asked.raw, asked.input.reason, output, status=status, id=asked.id, server=asked.server
            )
        else:
            call = ToolCall(asked.name, asked.input, output, status=status, id=asked.id, server=asked.server)
        if self._known.tool_names is not None:
            call = self._known.tool_names.named(call)
        return _with_status(call, self._known.tool_status)

    def _event(self, entry: Event | tuple[bool, int]) -> Event:
        if not isinstance(entry, tuple):
            return entry
        finished, place = entry
        return ToolCallFinished(self.calls[place]) if finished else ToolCallStarted(self.calls[place])

    def _usage(self) -> Usage | None:
        """Return what the turn used; where a message does not say what it used, the others' sum is a part of it."""
        told = [each for each in self._used if each is not None]
        if not told:
            return None
        total: dict[str, Any] = {}
        for name in ("input_tokens", "output_tokens", "cost_usd"):
            counts = [getattr(each, name) for each in told]
            if None not in counts:
                total[name] = sum(counts)
        if len(told) < len(self._used):
            silent = len(self._used) - len(told)
            self._note("usage", f"{silent} of {len(self._used)} messages do not say what they used")
        return Usage(**total) if total else None


def _with_status(call: ToolCall, tool_status: ToolStatusOf | None) -> ToolCall:
    if tool_status is None or call.status is not None:
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


def _of(result: Returned) -> str:
    """Name a result, with its content, in a note."""
    key = result.key[1] if isinstance(result.key, tuple) and len(result.key) == 2 else None
    by_id = key is not None and not (isinstance(result.key, tuple) and result.key[0] == "name")
    label = f"call id {key!r}" if by_id else f"tool {result.name!r}"
    content = "" if result.output is NOT_GIVEN else repr(result.output)
    return f"{label}: {content if len(content) <= _SHOWN else content[: _SHOWN - 1] + '…'}"


def _joined(notes: list[str]) -> str:
    kept = list(dict.fromkeys(notes))
    more = len(kept) - _MAX_NOTES
    return "; ".join(kept[:_MAX_NOTES]) + (f"; and {more} more" if more > 0 else "")
