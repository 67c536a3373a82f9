"""Control flow of an attempt: why its code stopped, and where in the author's files something was said."""

import asyncio
import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Final, final

import anyio

__all__ = [
    "SkipSignal",
    "StopSignal",
    "being_cancelled",
    "interrupts",
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


def being_cancelled() -> bool:
    """Tell whether this task is being cancelled, as opposed to having awaited something that was."""
    if anyio.current_effective_deadline() == -math.inf:
        return True
    task = _asyncio_task()
    return task is not None and task.cancelling() > 0


def interrupts(error: BaseException) -> bool:
    """Tell whether an exception ends more than its attempt: a cancellation from outside, or Ctrl-C, even in a group."""
    if isinstance(error, anyio.get_cancelled_exc_class()):
        return being_cancelled()
    return any(isinstance(leaf, KeyboardInterrupt | GeneratorExit) for leaf in leaves(error))


def swallowed_cancellation() -> bool:
    """Tell whether this task was cancelled from outside although its code runs on, as far as the backend knows.

    Asyncio does not: its task groups leave a task counted as cancelled that has ended its group in order.
    """
    return _asyncio_task() is None and anyio.current_effective_deadline() == -math.inf


def _asyncio_task() -> "asyncio.Task[object] | None":
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


_PACKAGE: Final = os.path.dirname(os.path.abspath(__file__)) + os.sep
_known: Final[dict[str, str | None]] = {}


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
            return file, frame.f_lineno
        frame = frame.f_back
    return "<unknown>", 0
