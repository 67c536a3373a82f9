"""Processes with their pipes: started, read as they print, and ended with everything that they started."""

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from subprocess import PIPE
from typing import Final, final

import anyio
from anyio.abc import ByteReceiveStream, Process

from niceeval.errors import AgentUnavailable
from niceeval.redaction import CUT

__all__ = ["Printed", "end", "exit_of", "pump", "run", "start"]

_GRACE: Final = 0.5
"""Seconds for what a process that has ended left in its pipes, and for one whose input was closed to end."""
_BROKEN: Final = (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError)


@final
class Printed:
    """What a process printed, as far as it is kept.

    Args:
        most: The most bytes that are kept, at least 1.
        last: Whether those at the end are kept, not those at the beginning.
    """

    def __init__(self, most: int, *, last: bool = False) -> None:
        self.dropped = 0
        self._most = most
        self._last = last
        self._kept = bytearray()

    def add(self, chunk: bytes) -> None:
        """Take in what was printed."""
        if self._last:
            self._kept += chunk
            over = max(0, len(self._kept) - self._most)
            del self._kept[:over]
        else:
            room = self._most - len(self._kept)
            self._kept += chunk[:room]
            over = max(0, len(chunk) - room)
        self.dropped += over

    @property
    def text(self) -> str:
        r"""The text, with a mark where something was left out; bytes that are no text stand there as ``\xff``."""
        text = self._kept.decode("utf-8", errors="backslashreplace")
        if not self.dropped:
            return text
        note = f"[{self.dropped} bytes left out]"
        return f"{note} {CUT}{text}" if self._last else f"{text}{CUT} {note}"


async def start(argv: Sequence[str], *, cwd: str | None, env: Mapping[str, str]) -> Process:
    """Start a process in a group of its own, with all three pipes.

    Raises:
        AgentUnavailable: It cannot be started; the sentence says why.
    """
    try:
        return await anyio.open_process(
            argv, stdin=PIPE, stdout=PIPE, stderr=PIPE, cwd=cwd, env=env, start_new_session=os.name == "posix"
        )
    except (OSError, ValueError) as error:
        # No process or file left: that may pass.
        again = isinstance(error, BlockingIOError) or (isinstance(error, OSError) and error.errno in (11, 12, 23, 24))
        raise AgentUnavailable(f"cannot start {argv[0]!r}: {_why(error, cwd)}", retryable=again) from error


def _why(error: Exception, cwd: str | None) -> str:
    if cwd is not None and not os.path.isdir(cwd):
        return f"there is no folder {cwd!r}"
    if isinstance(error, FileNotFoundError):
        return "there is no such program; a name without a slash is looked for on the PATH"
    if isinstance(error, PermissionError):
        return "it may not be executed; is it a program, and is its x bit set?"
    return str(error)


async def pump(stream: ByteReceiveStream | None, take: Callable[[bytes], object]) -> None:
    """Give everything that comes out of a pipe to a function, until the pipe is closed."""
    assert stream is not None
    with suppress(*_BROKEN):
        while True:
            take(await stream.receive())


async def run(process: Process, given: bytes, out: Callable[[bytes], object], err: Callable[[bytes], object]) -> int:
    """Give a process its input, read what it prints, and return its exit code once it has ended.

    What it started and left running in its group, holding its pipes, is ended soon after it. Cancelled, everything is
    ended at once. Afterwards nothing is left open.
    """
    read = anyio.Event()
    left = 2

    async def reader(stream: ByteReceiveStream | None, take: Callable[[bytes], object]) -> None:
        nonlocal left
        await pump(stream, take)
        left -= 1
        if not left:
            read.set()

    async def writer() -> None:
        assert process.stdin is not None
        with suppress(*_BROKEN):
            # A program that does not read its input may close it.
            await process.stdin.send(given)
        with suppress(*_BROKEN, OSError):
            await process.stdin.aclose()

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(writer)
            group.start_soon(reader, process.stdout, out)
            group.start_soon(reader, process.stderr, err)
            code = await process.wait()
            with anyio.move_on_after(_GRACE):
                await read.wait()
            if not read.is_set():
                _kill(process)
                with anyio.move_on_after(_GRACE):
                    await read.wait()
            group.cancel_scope.cancel()
    finally:
        await end(process)
    return code


async def end(process: Process, *, gently: bool = False) -> None:
    """End a process with everything in its group, and close its pipes; whoever waits may be cancelled.

    Args:
        process: The process.
        gently: Whether it may first end by itself, as its input is closed.
    """
    with anyio.CancelScope(shield=True):
        running = process.returncode is None
        if gently and running and process.stdin is not None:
            with suppress(*_BROKEN, OSError):
                await process.stdin.aclose()
            with anyio.move_on_after(_GRACE):
                await process.wait()
        if running:
            # Even if it has just ended: what it started may not have.
            _kill(process)
        await process.wait()
        with suppress(*_BROKEN, OSError):
            await process.aclose()


def _kill(process: Process) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def exit_of(code: int) -> str:
    """Say how a process ended.

    >>> exit_of(3), exit_of(-11)
    ('ended with exit code 3', 'was ended by SIGSEGV')
    """
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"
