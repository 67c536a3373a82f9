"""One try of an attempt: the eval's setup, its test and its teardown, how that ended, and its line."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import attrs

from niceeval.attempt_state import AttemptState
from niceeval.attempts import INTERRUPTED, NORMAL, Ending, Finished, close, ending_of, run_body, settle
from niceeval.closing import close_sessions
from niceeval.context import EvalContext
from niceeval.evals.eval import Eval
from niceeval.hooks import Problem, call_hook, torn_down
from niceeval.plans import AttemptRef
from niceeval.record.write import MemoryWriter, RunWriter
from niceeval.signals import asyncio_task, closes, interrupts

__all__ = ["close_and_append", "run_trial"]


async def run_trial(
    state: AttemptState, eval_: Eval[Any], case: object, timeout: float | None, failure: Ending | None
) -> Ending:
    """Run an eval once, close what its agent kept open in the sessions, and return how that ended.

    Nothing gets out of it but what ends the whole run: a cancellation from outside, and Ctrl-C.

    Args:
        state: The attempt.
        eval_: The eval.
        case: Its case, where it has cases.
        timeout: Seconds that setup and test may take together.
        failure: How it ends without running, where the setup of its experiment failed.
    """
    if failure is not None:
        return failure
    task = asyncio_task()
    try:
        ending = await _run(state, eval_, case, timeout)
    except BaseException as error:
        if closes(error, task):
            raise
        problem = await close_sessions(state.sessions)
        if interrupts(error, state.over):
            raise
        # Such as a cancellation of its own making that came only when its code had ended.
        return _with(ending_of(error), problem, "closing the agent's session")
    problem = await close_sessions(state.sessions)
    return ending if problem is None else _with(ending, problem, "closing the agent's session")


async def _run(state: AttemptState, eval_: Eval[Any], case: object, timeout: float | None) -> Ending:
    t = EvalContext(state)
    if eval_.setup is None and eval_.teardown is None:
        return await run_body(state, partial(eval_, t, case) if eval_.has_cases else partial(eval_, t), timeout)
    arguments = (t, case) if eval_.has_cases else (t,)
    in_setup = True
    task = asyncio_task()

    async def body() -> None:
        nonlocal in_setup
        if eval_.setup is not None:
            await call_hook(eval_.setup, *arguments)
        in_setup = False
        await eval_(*arguments)

    try:
        ending = await run_body(state, body, timeout)
    except BaseException as error:
        if not closes(error, task):
            await _tear_down(state, eval_, arguments)
        raise
    if in_setup and ending.error is not None and ending is not INTERRUPTED:
        ending = attrs.evolve(ending, error=f"in setup: {ending.error}")
    return _with(ending, await _tear_down(state, eval_, arguments), "teardown")


async def _tear_down(state: AttemptState, eval_: Eval[Any], arguments: tuple[Any, ...]) -> Problem | None:
    hook = eval_.teardown
    if hook is None:
        return None

    def ended() -> None:
        state.torn_down = True

    async def work() -> None:
        await call_hook(hook, *arguments, returned=ended)
        # What it checked asynchronously is settled within its own time: the attempt's may be up.
        await settle(state, NORMAL, None)

    state.tearing_down = True
    try:
        return await torn_down(work)
    finally:
        state.tearing_down = False


def _with(ending: Ending, problem: Problem | None, what: str) -> Ending:
    """Return how an attempt ended after which something went wrong: an error, besides what it was before."""
    if problem is None or ending is INTERRUPTED:
        return ending
    text = f"{what} {problem.text}"
    return Ending(
        error=text if ending.error is None else f"{ending.error}; {text}",
        failure=ending.failure,
        exception=ending.exception or problem.error,
        whole=ending.whole if ending.exception is not None else problem.error,
    )


def close_and_append(
    writer: RunWriter | MemoryWriter, state: AttemptState, ending: Ending, ref: AttemptRef,
    *, tries: Sequence[Mapping[str, Any]] = (), duration: float | None = None,
) -> Finished:  # fmt: skip
    """Close an attempt and write its line."""
    identity = {
        "id": state.log.attempt_id,
        "eval": ref.eval_id,
        "case": ref.case_id,
        "agent": ref.agent,
        "attempt": ref.attempt,
        "style": state.log.style,
    }
    finished = close(state, ending, identity, state.log.redactor(), writer.blob, tries=tries, duration=duration)
    writer.append(finished.line)
    return finished
