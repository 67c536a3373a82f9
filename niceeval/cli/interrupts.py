"""Ctrl-C and its like on the command line: the run ends in order and soon, whatever evals and agents make of that."""

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import FrameType
from typing import Final, NoReturn, final

import anyio

from niceeval.cli.codes import FULL_PIPE, INTERRUPTED
from niceeval.hooks import TEARDOWN_LIMIT
from niceeval.interruption import Interruption
from niceeval.runner import GRACE

__all__ = ["Signalled", "run_interruptibly"]

PATIENCE: Final = GRACE + 0.25
"""Seconds after which a run that has neither ended nor given up, since its event loop is kept busy, is given up."""
_END: Final = 1.85
"""Seconds after Ctrl-C at which the process ends, said everything or not, unless a teardown took longer."""
_TO_REPORT: Final = 0.75
_LOOK: Final = 0.02
_OTHERS: Final = ("SIGTERM", "SIGHUP")
"""What else ends a run in order: whoever stops a job, and a terminal that is closed."""


@final
class Signalled(KeyboardInterrupt):
    """A signal ended the run.

    Attributes:
        code: The exit code that says so.
    """

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.code = 128 + number


def run_interruptibly(
    work: Callable[[], Awaitable[object]],
    *,
    backend: str,
    interruption: Interruption,
    leave: Callable[[KeyboardInterrupt | None], int],
) -> None:
    """Run `work` in an event loop until it ends or Ctrl-C cancels it; SIGTERM and SIGHUP are taken for it.

    A run that ends in order after Ctrl-C raises `KeyboardInterrupt` here. One that does not, since its code swallows
    the cancellation, blocks the event loop or leaves threads behind, ends the process: a thread waits until the run is
    given up (what is in flight is written, the run is sealed, teardowns are called), calls `leave`, and ends the
    process by `os._exit`. Teardowns are waited for; a second Ctrl-C does not wait for them either.

    A run that has ended although code of it goes on, such as of an attempt whose time was up, ends the process so, too.

    Args:
        work: The run, which was given the same `interruption`.
        backend: ``asyncio`` or ``trio``.
        interruption: How the run is given up.
        leave: Says how the run ended, given the signal that ended it, and returns the exit code; called in a thread.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed, or another signal came.
    """
    if threading.current_thread() is not threading.main_thread() or (
        signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        # Somebody else decides what Ctrl-C means.
        anyio.run(work, backend=backend)
        return
    watch = _Watch(interruption, leave)
    before = set(threading.enumerate())
    others = [number for name in _OTHERS if (number := getattr(signal, name, None)) is not None]
    # What is ignored, as by nohup, or handled by somebody stays so.
    heard = [number for number in others if signal.getsignal(number) is signal.SIG_DFL]
    for number in (signal.SIGINT, *heard):
        signal.signal(number, watch.pressed)
    try:
        anyio.run(watch.run, work, backend=backend)
    finally:
        watch.returned.set()
        interruption.over.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number in heard:
            signal.signal(number, signal.SIG_DFL)
        watch.claim()
    if watch.by is not None:
        if any(not thread.daemon for thread in set(threading.enumerate()) - before):
            # The interpreter would wait for it at its exit.
            watch.end()
        raise watch.by


@final
class _Watch:
    """Hears Ctrl-C and sees to it that the process ends."""

    def __init__(self, interruption: Interruption, leave: Callable[[KeyboardInterrupt | None], int]) -> None:
        self.at: float | None = None
        self.by: Signalled | None = None
        self.returned = threading.Event()
        self._code = INTERRUPTED
        self._ending = threading.Lock()
        self._interruption = interruption
        self._leave = leave
        self._cancel: Callable[[], object] | None = None

    async def run(self, work: Callable[[], Awaitable[object]]) -> None:
        """Run the work in a scope that Ctrl-C cancels."""
        _in_thread(self._see_the_end)
        with anyio.CancelScope() as scope:
            self._cancel = _from_signal(scope.cancel)
            if self.at is not None:
                scope.cancel()
            await work()

    def pressed(self, number: int, _frame: FrameType | None) -> None:
        """Cancel the run, or leave at once where that has been asked for before. Runs between any two instructions."""
        if self.at is not None:
            _in_thread(self._at_once)
            return
        self.at, self.by = time.monotonic(), Signalled(number)
        self._code = self.by.code
        if self._cancel is not None:
            self._cancel()
        _in_thread(self._lose_patience)

    def _see_the_end(self) -> None:
        """End the process where the run is over and its event loop is not."""
        self._interruption.over.wait()
        patience = PATIENCE
        if self.at is not None:
            patience -= time.monotonic() - self.at
        if self._interruption.given_up:
            patience = 0.0
        if not self.returned.wait(max(patience, _LOOK)):
            self.claim()
            self.end()

    def _lose_patience(self) -> None:
        """Give the run up where its event loop does not get to that."""
        now = time.monotonic()
        until, longest = now + PATIENCE, now + TEARDOWN_LIMIT
        while time.monotonic() < until or (self._interruption.tearing_down and time.monotonic() < longest):
            if self._interruption.over.wait(_LOOK):
                return
        self._interruption.give_up()
        self._interruption.tear_down()
        self.claim()
        self.end()

    def _at_once(self) -> None:
        self._interruption.give_up()
        self.claim()
        self.end()

    def claim(self) -> None:
        """Be the one who says how the run ended; everybody else waits here for the end of the process."""
        self._ending.acquire()

    def end(self) -> NoReturn:
        """Say how the run ended, if that is possible, and end the process."""
        saying = _in_thread(self._say)
        saying.join(None if self.at is None else max(self.at + _END - time.monotonic(), _TO_REPORT))
        os._exit(self._code)

    def _say(self) -> None:
        try:
            self._code = self._leave(self.by)
        except BrokenPipeError:
            # Who read that, such as `tee`, has heard Ctrl-C too.
            self._code = FULL_PIPE if self.by is None else self.by.code
        for stream in filter(None, (sys.stdout, sys.stderr)):
            with suppress(OSError, ValueError):
                stream.flush()


def _in_thread(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, name="niceeval-end", daemon=True)
    thread.start()
    return thread


def _from_signal(call: Callable[[], object]) -> Callable[[], object]:
    """Return what calls `call` soon in the running event loop, and may itself be called by a signal's handler."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        import trio

        token = trio.lowlevel.current_trio_token()
        return lambda: token.run_sync_soon(call)
    return lambda: loop.call_soon_threadsafe(call)
