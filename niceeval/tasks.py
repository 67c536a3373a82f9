"""A group of tasks, one per attempt, as cheap as the event loop makes them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import anyio
import anyio.abc

__all__ = ["Start", "capped", "task_group"]

Start: TypeAlias = Callable[[Coroutine[Any, Any, None]], None]


@asynccontextmanager
async def task_group() -> AsyncIterator[Start]:
    """Yield what starts a coroutine as a task of its own; the block ends when all have ended.

    On asyncio these are plain tasks of `asyncio.TaskGroup`: a task of anyio's group costs several times as much, which
    shows where an attempt takes less than a millisecond. Cancelling the block cancels the tasks on either backend.
    """
    if _in_asyncio_task():
        async with asyncio.TaskGroup() as group:

            def start(work: Coroutine[Any, Any, None]) -> None:
                group.create_task(work)

            yield start
        return
    async with anyio.create_task_group() as tasks:
        yield lambda work: _start_in(tasks, work)


def _in_asyncio_task() -> bool:
    try:
        return asyncio.current_task() is not None
    except RuntimeError:
        return False


def _start_in(tasks: anyio.abc.TaskGroup, work: Coroutine[Any, Any, None]) -> None:
    async def run() -> None:
        await work

    tasks.start_soon(run)


def capped(tasks: anyio.abc.TaskGroup, most: int) -> Callable[[Callable[[], Coroutine[Any, Any, None]]], None]:
    """Return what starts work in a task group, of which only so many pieces go on at a time."""
    cap = anyio.CapacityLimiter(most)

    async def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async with cap:
            await work()

    def start(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        tasks.start_soon(run, work)

    return start
