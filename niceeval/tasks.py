"""A group of tasks, one per attempt, as cheap as the event loop makes them."""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeAlias

import anyio
import anyio.abc

__all__ = ["Start", "capped", "set_aside", "task_group"]

Start: TypeAlias = Callable[[Coroutine[Any, Any, None]], None]


@contextmanager
def set_aside() -> Iterator[None]:
    """Keep the garbage collector from what is there now until the block ends, unless somebody has done so already.

    What a run starts from, such as its cases, stays until it ends. To look through that takes a tenth of a run of
    5,000 cases, and an attempt leaves next to nothing that has to be found.
    """
    if gc.get_freeze_count():
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


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
