"""Control flow of an attempt: why its code stopped, and where in the author's files something was said."""

import asyncio
import math
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Final, final

import anyio

__all__ = [
    "SkipSignal",
    "StopSignal",
    "asyncio_task",
    "being_cancelled",
    "closes",
    "interrupts",
    "known_sites",
    "leaves",
    "short_path",
    "site",
    "swallowed_cancellation",
]


@final
class StopSignal(BaseException):
    """An ``or_stop()`` was not met: only the continuation that awaits it ends. Not an `Exception`, on purpose."""


@final
class SkipSignal(BaseException):
    """The eval skipped itself with ``t.skip(reason)``."""


def leaves(error: BaseException) -> Iterator[BaseException]:
    """Yield the exceptions of a group, however deep they lie; of any other exception, itself."""
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            yield from leaves(part)
    else:
        yield error


def being_cancelled(over: Callable[[], bool] | None = None) -> bool:
    """Tell whether this task is being cancelled, as opposed to having awaited something that was.

    Args:
        over: Whether whoever cancels this task from outside has said so. Without it nobody knows, on asyncio, whether
            it was its own code that cancelled it, and it counts as cancelled from outside.
    """
    if anyio.current_effective_deadline() == -math.inf:
        return True
    if over is not None:
        return over()
    task = asyncio_task()
    return task is not None and task.cancelling() > 0


def interrupts(error: BaseException, over: Callable[[], bool] | None = None) -> bool:
    """Tell whether an exception ends more than its attempt: a cancellation from outside, or Ctrl-C, even in a group."""
    if isinstance(error, anyio.get_cancelled_exc_class()):
        return being_cancelled(over)
    return any(isinstance(leaf, KeyboardInterrupt) for leaf in leaves(error))


def closes(error: BaseException, task: "asyncio.Task[object] | None") -> bool:
    """Tell whether a coroutine is being closed, after which it may await nothing, or raised GeneratorExit by itself.

    Args:
        error: What it raised, or what was raised in it.
        task: What `asyncio_task` returned while it ran.
    """
    if not isinstance(error, GeneratorExit):
        return False
    try:
        anyio.get_current_task()
    except RuntimeError:
        return True
    return asyncio_task() is not task


def swallowed_cancellation(task: "asyncio.Task[object] | None") -> bool:
    """Tell whether this task was cancelled from outside although its code runs on, as far as the backend knows.

    Asyncio does not: its task groups leave a task counted as cancelled that has ended its group in order.

    Args:
        task: What `asyncio_task` returns in it.
    """
    return task is None and anyio.current_effective_deadline() == -math.inf


def asyncio_task() -> "asyncio.Task[object] | None":
    """Return the task that is running; None outside asyncio."""
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


_PACKAGE: Final = os.path.dirname(os.path.abspath(__file__)) + os.sep
_known: Final[dict[str, str | None]] = {}
known_sites: Final[dict[tuple[int, int], tuple[CodeType, str, int]]] = {}
"""File and line of calls outside this package, by the identity of their code, which is held, and the instruction.

To find the line of an instruction takes as long as to evaluate a match.
"""
_MAX_SITES: Final = 4096


def short_path(file: str) -> str:
    """Return `file` relative to the working directory where it lies below it, else as it is."""
    try:
        return Path(file).relative_to(Path.cwd()).as_posix()
    except (ValueError, OSError):
        return file


def site(depth: int = 2) -> tuple[str, int]:
    """Return file and line of the nearest caller outside this package.

    Args:
        depth: How many frames above this function to start, at least 1.
    """
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None:
        name = frame.f_code.co_filename
        try:
            file = _known[name]
        except KeyError:
            file = _known[name] = None if name.startswith(_PACKAGE) else short_path(name)
        if file is not None:
            if len(known_sites) >= _MAX_SITES:
                known_sites.clear()
            code, line = frame.f_code, frame.f_lineno
            known_sites[id(code), frame.f_lasti] = (code, file, line)
            return file, line
        frame = frame.f_back
    return "<unknown>", 0
