"""When calls started and finished, as far as events say: what happens-before and what an agent had seen rest on it."""

from collections import deque
from collections.abc import Iterable, Sequence
from math import inf
from typing import Any, TypeAlias, final

import attrs

from niceeval_expect._equality import is_absent, json_equal

__all__ = ["Moment", "Span", "TurnTrace", "spans"]

Moment: TypeAlias = tuple[float, float]
"""The earliest and the latest place, in the order of its session, at which something may have happened."""


@final
@attrs.frozen
class TurnTrace:
    """One turn of a session as it went: what the user said, the calls, and the events if they were reported.

    Args:
        ref: The turn's reference, ``s<session>.t<turn>``.
        input: What the user said; None where that is not known in full.
        calls: The turn's calls, in order of start.
        events: The reported events, in order; None where nobody reported any.
        gap: Why calls may be missing; None if all were reported.
    """

    ref: str
    input: str | None
    calls: Sequence[Any]
    events: Sequence[Any] | None = None
    gap: str | None = None


@final
@attrs.frozen
class Span:
    """When one call started and when it finished; a call without a result never did."""

    started: Moment
    finished: Moment

    def surely_before(self, other: "Span") -> bool:
        """Whether this call certainly finished before the other started."""
        return self.finished[1] < other.started[0]

    def maybe_before(self, other: "Span") -> bool:
        """Whether this call may have finished before the other started."""
        return self.finished[0] < other.started[1]


def spans(turns: Iterable[TurnTrace]) -> dict[str, Span]:
    """Return the span of every call, by reference.

    Turns of a session follow each other, so that a result reported in an earlier turn came before every call of a later
    one. Within a turn only reported events tell when a call finished; without them it may be any time until the end.

    >>> from niceeval import ToolCall
    >>> found = spans([TurnTrace("s0.t0", "Hi", (ToolCall("a", {}, 1), ToolCall("b", {}, 2)))])
    >>> found["s0.t0.c0"].maybe_before(found["s0.t0.c1"]), found["s0.t0.c0"].surely_before(found["s0.t0.c1"])
    (True, False)
    """
    found: dict[str, Span] = {}
    ends: dict[str, int] = {}
    for turn in turns:
        session = turn.ref.partition(".")[0]
        begin = ends.get(session, 0)
        end = ends[session] = begin + len(turn.calls) + len(turn.events or ()) + 2
        started, finished = _reported(turn, begin) if turn.events is not None else (dict[int, int](), dict[int, int]())
        for place, call in enumerate(turn.calls):
            first = started.get(place)
            # Without events the list is in order of start; a call that the events leave out may be anywhere.
            start: Moment = (first, first) if first is not None else (begin + 0.25, end - 0.25)
            if turn.events is None:
                start = (begin + 1 + place, begin + 1 + place)
            last = finished.get(place)
            if last is not None:
                # A result without a start event: it started at some time before.
                start = (start[0], min(start[1], last))
            found[f"{turn.ref}.c{place}"] = Span(start, _finish(call, start, last, end))
    return found


def _finish(call: Any, start: Moment, reported: int | None, end: int) -> Moment:
    if reported is not None:
        return reported, reported
    if call.status == "pending":
        return inf, inf
    # Between two places of the order, so that it is after its own start and never at another's.
    after = start[0] + 0.5
    return (after, inf) if call.status is None and is_absent(call.output) else (after, end - 0.5)


def _reported(turn: TurnTrace, begin: int) -> tuple[dict[int, int], dict[int, int]]:
    """Return at which places of the order the events say that calls started and finished, by place in the list."""
    waiting: dict[tuple[str, str | None], deque[int]] = {}
    running: dict[tuple[str, str | None], deque[int]] = {}
    for place, call in enumerate(turn.calls):
        waiting.setdefault((call.name, call.id), deque()).append(place)
    started: dict[int, int] = {}
    finished: dict[int, int] = {}
    for position, event in enumerate(turn.events or (), begin + 1):
        call = event.call
        if call is None:
            continue
        key = (call.name, call.id)
        if event.kind == "tool_call_started":
            taken = _take(waiting.get(key), call, turn.calls)
            if taken is not None:
                started[taken] = position
                running.setdefault(key, deque()).append(taken)
        else:
            taken = _take(running.get(key), call, turn.calls)
            if taken is None:
                taken = _take(waiting.get(key), call, turn.calls)
            if taken is not None:
                finished[taken] = position
    return started, finished


def _take(queue: deque[int] | None, call: Any, calls: Sequence[Any]) -> int | None:
    """Take the first call of the queue that this one may be: its id says so, or else its input."""
    for place in queue or ():
        listed = calls[place]
        if (
            listed is call
            or call.id is not None
            or is_absent(call.input)
            or is_absent(listed.input)
            or json_equal(listed.input, call.input)
        ):
            assert queue is not None
            queue.remove(place)
            return place
    return None
