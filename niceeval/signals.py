"""Control flow of an attempt: why its code stopped, and where in the author's files something was said."""

import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Final, final

import anyio

__all__ = ["SkipSignal", "StopSignal", "being_cancelled", "leaves", "short_path", "site"]


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
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or anyio.get_cancelled_exc_class() is not asyncio.CancelledError:
        return False
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


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
