"""The way out of a process whose run is interrupted while attempts do not end."""

import threading
from typing import Protocol, final

import anyio

from niceeval.signals import leaves

__all__ = ["CtrlC", "Interruption"]


class _Run(Protocol):
    """What a run offers to whoever ends the process, in any thread."""

    @property
    def tearing_down(self) -> bool: ...

    def give_up(self) -> None: ...

    def tear_down(self) -> None: ...


@final
class Interruption:
    """What `execute` offers to whoever has to end the process, in any thread.

    Attributes:
        over: Set when everything is written, the run is sealed and every teardown was called, although attempts may
            go on: nothing is lost any more where the process ends.
        given_up: Whether attempts do go on then.
    """

    def __init__(self) -> None:
        self.over = threading.Event()
        self.given_up = False
        self._run: _Run | None = None

    def watch(self, run: _Run) -> None:
        """Take over a run that begins."""
        self._run = run

    @property
    def tearing_down(self) -> bool:
        """Whether a teardown is going on, which is waited for."""
        return self._run is not None and self._run.tearing_down

    def give_up(self) -> None:
        """Write what is in flight as interrupted and seal the run, where its event loop does not get to that."""
        if self._run is not None:
            self._run.give_up()

    def tear_down(self) -> None:
        """Call the teardowns that have not been called, in an event loop of their own."""
        if self._run is not None:
            self._run.tear_down()


@final
class CtrlC:
    """Ctrl-C that is raised in a task of the run, as by trio: it ends the run in order, from where that is awaited.

    An event loop that a task leaves with it breaks off, and asyncio prints what it finds unfinished then.

    Attributes:
        pressed: Whether it did.
        scope: What is cancelled by it.
    """

    def __init__(self) -> None:
        self.pressed = False
        self.scope: anyio.CancelScope | None = None

    def heard(self, error: BaseException) -> bool:
        """Cancel the run where an exception is Ctrl-C, and say whether it is."""
        if self.scope is None or not any(isinstance(leaf, KeyboardInterrupt) for leaf in leaves(error)):
            return False
        self.pressed = True
        self.scope.cancel()
        return True
