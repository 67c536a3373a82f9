"""One attempt from start to its document: run the author's code, see how it ended, fold, and write one line."""

import time
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, final

import anyio
import attrs

from niceeval.attempt_state import AttemptState, DeadlinePassed
from niceeval.conversations import sessions_document
from niceeval.documents import attempt_line
from niceeval.errors import AgentFailed, AgentUnavailable
from niceeval.handles import never_awaited
from niceeval.redaction import Redactor
from niceeval.signals import SkipSignal, StopSignal
from niceeval.verdict import Folded, fold_pass, fold_score
from niceeval_expect._evaluation import unavailable

__all__ = ["Ending", "Finished", "close", "ending_of", "run_body"]


@final
@attrs.frozen
class Ending:
    """How the author's code ended, apart from what its checks say.

    Attributes:
        error: Why the attempt could not run to its end.
        failure: How the agent broke, where the author did not catch it.
        exception: The exception behind either.
    """

    error: str | None = None
    failure: str | None = None
    exception: BaseException | None = None


@final
@attrs.frozen
class Finished:
    """A closed attempt: its line for the record and what progress displays need."""

    line: str
    status: str
    duration: float
    reason: str | None


NORMAL = Ending()


async def run_body(state: AttemptState, body: Callable[[], Awaitable[None]], timeout: float | None) -> Ending:
    """Run the author's code within its time and say how it ended; nothing it raises gets out but a cancellation."""
    try:
        if timeout is None:
            await body()
            return NORMAL
        with anyio.move_on_after(timeout) as scope:
            await body()
        if scope.cancel_called or time.perf_counter() - state.log.started > timeout:
            return timed_out(timeout)
        return NORMAL
    except anyio.get_cancelled_exc_class():
        raise
    except BaseException as error:
        return ending_of(error, timeout)


def timed_out(timeout: float | None) -> Ending:
    """Return the ending of an attempt whose time was up."""
    return Ending(error=f"timed out after {timeout:g} s" if timeout is not None else "timed out")


def ending_of(error: BaseException, timeout: float | None = None) -> Ending:
    """Say what an exception that left the author's code means; exception groups are looked into.

    Only stop and skip signals and cancellations: a normal end. An agent that broke: a failure. Anything else: an error.
    """
    if isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit):
        raise error
    cancelled = anyio.get_cancelled_exc_class()
    leaves = [leaf for leaf in _leaves(error) if not isinstance(leaf, StopSignal | SkipSignal | cancelled)]
    if not leaves:
        return NORMAL
    if any(isinstance(leaf, DeadlinePassed) for leaf in leaves):
        return timed_out(timeout)
    others = [leaf for leaf in leaves if not isinstance(leaf, AgentFailed)]
    if not others:
        return Ending(failure=str(leaves[0]), exception=leaves[0])
    first = others[0]
    if isinstance(first, AgentUnavailable):
        return Ending(error=f"agent unavailable: {first}", exception=first)
    text = str(first)
    return Ending(error=f"{type(first).__name__}: {text}" if text else type(first).__name__, exception=first)


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            yield from _leaves(part)
    else:
        yield error


async def settle(state: AttemptState) -> None:
    """Wait for the checks that were still being evaluated when the author's code ended."""
    for entry in state.log.entries:
        if entry.done is not None:
            await entry.done.wait()


def close(
    state: AttemptState,
    ending: Ending,
    identity: Mapping[str, Any],
    redactor: Redactor,
    blob: Callable[[bytes], str],
) -> Finished:
    """Close the attempt: nothing can be registered or configured any more; fold it and return its line.

    Args:
        state: The attempt.
        ending: How its code ended.
        identity: The first fields of its document: id, eval, case, agent, attempt, style.
        redactor: Replaces secrets.
        blob: Stores large content and returns its digest.
    """
    log = state.log
    duration = time.perf_counter() - log.started
    for entry in log.entries:
        if never_awaited(entry):
            log.mistakes.append(
                f"{entry.file}:{entry.line}: or_stop() was never awaited, so nothing could stop: write `await handle.or_stop()`"
            )
        if entry.evaluation is None and entry.kind != "points":
            entry.evaluation = unavailable("the attempt ended before this check did", code="cut-off")
    log.closed = True
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
        head["error"] = _error(ending.exception)
    if state.logs:
        head["logs"] = state.logs
    line = attempt_line(head, log, lambda known: sessions_document(state, known), redactor, blob)
    reason = folded.reason if folded.reason is None else redactor.redact_text(folded.reason)[0]
    return Finished(line, folded.status, duration, reason)


def _fold(state: AttemptState, ending: Ending) -> Folded:
    log = state.log
    error = ending.error
    if error is None and log.mistakes:
        error = "; ".join(dict.fromkeys(log.mistakes))
    parts = list(log.parts())
    if log.style == "score":
        return fold_score(parts, error=error, skipped=state.skipped)
    return fold_pass(parts, error=error, failure=ending.failure, skipped=state.skipped)


def _started(duration: float) -> str:
    return datetime.fromtimestamp(time.time() - duration, UTC).isoformat(timespec="microseconds")


def _error(error: BaseException) -> dict[str, str]:
    shown = error.__cause__ if isinstance(error, AgentFailed) and error.__cause__ is not None else error
    trace = "".join(traceback.format_exception(shown, limit=-20))
    return {"type": type(error).__name__, "message": str(error), "traceback": trace[-16_384:]}
