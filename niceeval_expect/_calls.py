"""Author code inside a match: called once, whether it is sync or async.

An evaluation is written once, as plain synchronous code. Where a predicate turns out to be a coroutine, the first pass
collects it, the coroutines are awaited, and a second pass reads their results in the same order. No match
short-circuits, so both passes make the same calls in the same order, and each author function runs exactly once.
"""

import inspect
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, final

__all__ = ["PENDING", "Replay", "call", "replaying"]


@final
class _Pending:
    __slots__ = ()


PENDING: Final = _Pending()
"""Stands for the result of a coroutine that has not been awaited yet."""


@final
class Replay:
    """The results of author code, in call order, over the passes of one evaluation."""

    __slots__ = ("_cursor", "_results", "pending")

    def __init__(self) -> None:
        self._results: list[tuple[Any, BaseException | None]] = []
        self._cursor = 0
        self.pending: list[tuple[int, Awaitable[Any]]] = []

    def rewind(self) -> None:
        """Start another pass."""
        self._cursor = 0

    def call(self, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Return the result of this call: from an earlier pass, or made now, or PENDING."""
        index = self._cursor
        self._cursor += 1
        if index < len(self._results):
            result, error = self._results[index]
            if error is not None:
                raise error
            return result
        try:
            result = function(*args, **options)
        except Exception as error:
            self._results.append((None, error))
            raise
        if inspect.isawaitable(result):
            self.pending.append((index, result))
            result = PENDING
        self._results.append((result, None))
        return result

    async def settle(self) -> None:
        """Await everything pending, keeping each result or exception at its place."""
        while self.pending:
            index, awaitable = self.pending.pop(0)
            try:
                self._results[index] = (await awaitable, None)
            except Exception as error:
                self._results[index] = (None, error)

    def discard(self) -> None:
        """Close what will not be awaited."""
        for _, awaitable in self.pending:
            if inspect.iscoroutine(awaitable):
                awaitable.close()
        self.pending.clear()


_active: ContextVar[Replay | None] = ContextVar("niceeval_expect_replay", default=None)


@contextmanager
def replaying(replay: Replay) -> Iterator[None]:
    """Make `replay` the place where author code is called, for one pass."""
    replay.rewind()
    token = _active.set(replay)
    try:
        yield
    finally:
        _active.reset(token)


def call(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call author code of a match; returns PENDING where its coroutine is still to be awaited."""
    replay = _active.get()
    if replay is None:
        # Only reached when a match is evaluated below its public entry points.
        replay = Replay()
    return replay.call(function, *args, **options)
