"""A check that is awaited: what its task does, and how it is given up."""

from collections.abc import Awaitable, Callable, Coroutine
from time import perf_counter
from typing import Any

import anyio

from niceeval.entries import Entry
from niceeval.errors import told
from niceeval.signals import asyncio_task, closes, interrupts
from niceeval_expect import Evaluation
from niceeval_expect._evaluation import errored

__all__ = ["settling"]


def settling(
    entry: Entry,
    finished: Callable[[], Awaitable[Evaluation]],
    discard: Callable[[], None],
    settled: Callable[[Entry, Evaluation], None],
) -> Callable[[], Coroutine[Any, Any, None]]:
    """Return what awaits an entry's evaluation in a task of its own, and say in the entry when and how that ends.

    Args:
        entry: The entry.
        finished: Awaits the evaluation.
        discard: Closes what will not be awaited.
        settled: Told the evaluation.
    """
    done = entry.done = anyio.Event()
    scope = anyio.CancelScope()

    async def settle() -> None:
        begun, task = perf_counter(), asyncio_task()
        try:
            with scope:
                settled(entry, await finished())
        except BaseException as error:
            # The group that it runs in is anyio's, whose cancellations are told from those of its own making.
            if interrupts(error, over=lambda: False) or closes(error, task):
                raise
            # Left to the task group, a stray cancellation or signal would end the attempts of everybody else.
            settled(entry, errored(told(error), exception=error))
        finally:
            entry.took += perf_counter() - begun
            give_up()

    def give_up() -> None:
        scope.cancel()
        discard()
        done.set()

    entry.give_up = give_up
    return settle
