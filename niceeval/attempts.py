"""One attempt from start to its document: run the author's code, see how it ended, fold, and write one line."""

import math
import time
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Any, Final, final

import anyio
import attrs

from niceeval.attempt_state import AttemptState, DeadlinePassed, Unreached
from niceeval.conversations import sessions_document
from niceeval.documents import attempt_line
from niceeval.entries import all_met
from niceeval.errors import AgentFailed, AgentUnavailable, RecordError, message_of, told
from niceeval.handles import never_awaited
from niceeval.redaction import Redactor
from niceeval.signals import (
    SkipSignal,
    StopSignal,
    asyncio_task,
    closes,
    interrupts,
    leaves,
    swallowed_cancellation,
)
from niceeval.verdict import Folded, fold_pass, fold_score

__all__ = [
    "INTERRUPTED",
    "NORMAL",
    "Ending",
    "Finished",
    "close",
    "ending_of",
    "overdue",
    "run_body",
    "settle",
    "timed_out",
]


@final
@attrs.frozen
class Ending:
    """How the author's code ended, apart from what its checks say.

    Attributes:
        error: Why the attempt could not run to its end.
        failure: How the agent broke, where the author did not catch it.
        exception: The exception behind either.
        whole: What left the author's code, where that is a group of exceptions.
        unreached: That the agent could not be reached, where that and nothing else is the error.
    """

    error: str | None = None
    failure: str | None = None
    exception: BaseException | None = None
    whole: BaseException | None = None
    unreached: Unreached | None = None


INTERRUPTED: Final = Ending(error="interrupted")


@final
@attrs.frozen
class Finished:
    """A closed attempt: its line for the record and what progress displays need; `tries` are those given up before."""

    line: str
    status: str
    duration: float
    reason: str | None
    tries: int = 0


NORMAL: Final = Ending()
_MOST_TRACE: Final = 16_384


async def run_body(state: AttemptState, body: Callable[[], Awaitable[None]], timeout: float | None) -> Ending:
    """Run the author's code within its time, settle its checks, and say how it ended.

    Nothing that it raises gets out but what ends the whole run: a cancellation from outside, and Ctrl-C.
    """
    ending = NORMAL
    scope = None
    task = asyncio_task()
    try:
        if timeout is None:
            await body()
        else:
            with anyio.move_on_after(timeout) as scope:
                await body()
    except BaseException as error:
        if interrupts(error, state.over) or closes(error, task):
            raise
        ending = ending_of(error)
    if swallowed_cancellation(task):
        # The author's code swallowed the cancellation; what it skipped by that nobody knows.
        return INTERRUPTED if ending.error is None else ending
    if timeout is None and not state.log.awaits:
        return ending
    late = scope is not None and scope.cancel_called
    return await settle(state, overdue(state, ending, timeout, late=late), timeout)


def overdue(state: AttemptState, ending: Ending, timeout: float | None, *, late: bool) -> Ending:
    """Return the ending of an attempt whose time was up, or `ending` where it was not.

    Args:
        state: The attempt.
        ending: How its code ended.
        timeout: The seconds it had.
        late: Whether it was cancelled for being late; where it kept the event loop busy, only the clock tells.
    """
    if timeout is None or not (late or time.perf_counter() - state.log.started > timeout):
        return ending
    return timed_out(timeout, ending)


def timed_out(timeout: float, ending: Ending = NORMAL) -> Ending:
    """Return the ending of an attempt that took longer than `timeout` seconds, whatever its code made of that."""
    return Ending(f"timed out after {timeout:g} s", exception=ending.exception, whole=ending.whole)


def ending_of(error: BaseException) -> Ending:
    """Say what an exception that left the author's code means; exception groups are looked into.

    Only stop and skip signals and cancellations: a normal end. An agent that broke: a failure. Anything else: an error.
    """
    cancelled = anyio.get_cancelled_exc_class()
    if isinstance(error, cancelled):
        return Ending("the eval awaited a task that was cancelled", exception=error)
    quiet = StopSignal | SkipSignal | DeadlinePassed | cancelled
    loud = [leaf for leaf in leaves(error) if not isinstance(leaf, quiet)]
    if not loud:
        return NORMAL
    others = [leaf for leaf in loud if not isinstance(leaf, AgentFailed)]
    if not others:
        return Ending(failure=message_of(loud[0]), exception=loud[0])
    first = others[0]
    if isinstance(first, AgentUnavailable):
        unreached = [leaf for leaf in others if isinstance(leaf, AgentUnavailable)]
        alone = Unreached.of(unreached) if len(unreached) == len(others) else None
        return Ending(error=f"agent unavailable: {message_of(first)}", exception=first, unreached=alone)
    return Ending(error=told(first), exception=first, whole=error)


async def settle(state: AttemptState, ending: Ending, timeout: float | None) -> Ending:
    """Wait for the checks that are still being evaluated, as long as the attempt has time; return how it ended then."""
    if not state.log.awaits or all(entry.done is None or entry.done.is_set() for entry in state.log.entries):
        return ending
    left = math.inf if timeout is None else timeout - (time.perf_counter() - state.log.started)
    with anyio.move_on_after(max(0, left)) as scope:
        for entry in state.log.entries:
            if entry.done is not None:
                await entry.done.wait()
    return overdue(state, ending, timeout, late=scope.cancelled_caught)


def close(
    state: AttemptState,
    ending: Ending,
    identity: Mapping[str, Any],
    redactor: Redactor,
    blob: Callable[[bytes], str],
    *,
    tries: Sequence[Mapping[str, Any]] = (),
    duration: float | None = None,
) -> Finished:
    """Close the attempt: nothing can be registered or configured any more; fold it and return its line.

    Args:
        state: The attempt.
        ending: How its code ended.
        identity: The first fields of its document: id, eval, case, agent, attempt, style.
        redactor: Replaces secrets.
        blob: Stores large content and returns its digest.
        tries: Earlier executions that were given up, as they are stored.
        duration: Seconds that it took, where it ended before now.
    """
    log = state.log
    if duration is None:
        duration = time.perf_counter() - log.started
    head = {**identity, "tries": list(tries)} if tries else identity
    for entry in log.entries:
        if entry.barrier is not None and never_awaited(entry):
            log.mistakes.append(
                f"{entry.file}:{entry.line}: or_stop() was never awaited, so nothing could stop: "
                "write `await handle.or_stop()`"
            )
    for file, line in state.never_awaited() if state.offered else ():
        log.mistakes.append(f"{file}:{line}: send() was never awaited, so nothing was said: write `await t.send(...)`")
    log.close()
    try:
        return _written(state, ending, head, duration, redactor, blob)
    except RecordError:
        raise
    except Exception as error:
        # Such as a match nested too deeply to be described: that is this attempt's end, and nobody else's.
        kept = AttemptState(agent=None, style=log.style, attempt_id=log.attempt_id)
        reason = f"its evidence cannot be written: {told(error)}"
        return _written(kept, Ending(reason, exception=error), head, duration, redactor, blob)


def _written(
    state: AttemptState,
    ending: Ending,
    identity: Mapping[str, Any],
    duration: float,
    redactor: Redactor,
    blob: Callable[[bytes], str],
) -> Finished:
    """Return the closed attempt with its line."""
    log = state.log
    folded = _fold(state, ending)
    head: dict[str, Any] = {
        **identity,
        "status": folded.status,
        "started": _started(duration),
        "duration": round(duration, 6),
    }
    if state.log.latch is not None:
        head["stopped_by"] = state.log.latch.requirement
    for name, value in (("reason", folded.reason), ("score", folded.score), ("partial_score", folded.partial_score)):
        if value is not None:
            head[name] = value
    if ending.exception is not None:
        head["error"] = _error(ending.exception, ending.whole)
    if state.logs:
        head["logs"] = state.logs
    line = attempt_line(head, log, partial(sessions_document, state.sessions), redactor, blob)
    reason = folded.reason if folded.reason is None else redactor.redact_text(folded.reason)[0]
    return Finished(line, folded.status, duration, reason, len(identity.get("tries", ())))


_PASSED: Final = Folded("passed")


def _fold(state: AttemptState, ending: Ending) -> Folded:
    log = state.log
    error = ending.error
    if error is None and state.unreachable is not None:
        error = f"agent unavailable: {state.unreachable.message}"
    if error is None and log.mistakes:
        error = "; ".join(dict.fromkeys(log.mistakes))
    if (
        log.style == "pass"
        and error is None
        and ending.failure is None
        and state.skipped is None
        and all_met(log.entries)
    ):
        return _PASSED
    parts = list(log.parts())
    if log.style == "score":
        return fold_score(parts, error=error, failure=ending.failure, skipped=state.skipped)
    return fold_pass(parts, error=error, failure=ending.failure, skipped=state.skipped)


def _started(duration: float) -> str:
    second, fraction = divmod(time.time() - duration, 1)
    return f"{_date_and_time(int(second))}.{int(fraction * 1_000_000):06d}+00:00"


@lru_cache(maxsize=16)
def _date_and_time(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _error(error: BaseException, whole: BaseException | None) -> dict[str, str]:
    shown = whole or error
    if isinstance(shown, AgentFailed) and shown.__cause__ is not None:
        shown = shown.__cause__
    trace = "".join(traceback.format_exception(shown, limit=-20))
    if len(trace) > _MOST_TRACE:
        # From the start of a line on, so that no text is cut in two.
        trace = trace[-_MOST_TRACE:].partition("\n")[2] or trace[-_MOST_TRACE:]
    return {"type": type(error).__name__, "message": message_of(error), "traceback": trace}
