"""The event loop of eval files: one for the session, so that an agent may keep its connections."""

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

import pytest

from niceeval.plans import Plan
from niceeval.pytest_plugin.recording import recording_of
from niceeval.pytest_plugin.settings import Settings
from niceeval.record.run import RunResult
from niceeval.record.write import MemoryWriter
from niceeval.results import AttemptResult
from niceeval.runner import execute

__all__ = ["close_loop", "in_loop", "run_one"]

_loop: Final = pytest.StashKey[asyncio.Runner]()


def in_loop(config: pytest.Config, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run asynchronous work to its end, in the context of the caller; Ctrl-C cancels it first."""
    if _loop not in config.stash:
        config.stash[_loop] = asyncio.Runner()
    config.stash[_loop].run(work(), context=contextvars.copy_context())


def close_loop(config: pytest.Config) -> None:
    """Close the event loop where there is one."""
    runner = config.stash.get(_loop, None)
    if runner is not None:
        del config.stash[_loop]
        runner.close()


def run_one(config: pytest.Config, plan: Plan, settings: Settings) -> AttemptResult:
    """Run a plan of one attempt, write it to the session's run however it ends, and return it.

    Raises:
        RecordError: It cannot be written.
    """
    [experiment] = plan.experiments
    memory = MemoryWriter(plan.header())
    limit = settings.timeout if experiment.timeout is None else experiment.timeout
    try:
        in_loop(config, partial(_execute, plan, memory, limit, settings.retries))
    finally:
        recording_of(config).add(memory)
    [attempt] = RunResult.from_writer(memory).attempts
    return attempt


async def _execute(plan: Plan, memory: MemoryWriter, timeout: float | None, retries: int) -> None:
    await execute(plan, concurrency=1, timeout=timeout, writer=memory, retries=retries)
