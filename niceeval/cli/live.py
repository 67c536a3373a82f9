"""Progress on a terminal: what is done scrolls above, what goes on is redrawn below it."""

import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TextIO

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from niceeval.cli.board import board
from niceeval.cli.followed import Followed, Item
from niceeval.cli.progress import run_headline
from niceeval.cli.screen import Screen
from niceeval.cli.tally import Clock
from niceeval.cli.text import line
from niceeval.plans import Plan

__all__ = ["LiveDisplay"]

_REDRAWN_EVERY: Final = 0.25
_KEPT: Final = 200


class LiveDisplay(Followed):
    """Redraws the board.

    A terminal that becomes narrower breaks the lines that are on it, and each kind of terminal does it in its own way.
    So the screen is then cleared, and what was written last is written again.

    Args:
        screen: A terminal.
        clock: Gives seconds.
    """

    def __init__(self, screen: Screen, clock: Clock = time.monotonic) -> None:
        super().__init__(screen, clock, _REDRAWN_EVERY)
        self._live: Live | None = None
        self._size = (0, 0)
        self._head: Callable[[], list[Text]] = list
        self._kept: deque[Item] = deque(maxlen=_KEPT)
        self._aside: list[_Aside] = []

    def begin(self, plan: Plan) -> None:
        """Draw the board for the first time; what is printed from now on goes above it."""
        self._head = lambda: [*run_headline(plan, self.screen), line("")]
        self._show()
        for name in ("stdout", "stderr"):
            if getattr(sys, name).isatty():
                self._aside.append(_Aside(name, self._new.append))

    def draw(self, items: Sequence[Item]) -> None:
        """Write lines above the board, and draw it again."""
        assert self._live is not None
        self._fit()
        if items:
            self._kept.extend(items)
            self._print(self.lines(items))
        else:
            self._live.refresh()

    def end(self, items: Sequence[Item]) -> None:
        """Take the board away."""
        assert self._live is not None
        for each in self._aside:
            each.restore()
        self._fit()
        self._live.stop()
        self.screen.write(self.lines([*items, *self._due()]))

    def close(self) -> None:
        """Take the board away and give the terminal back."""
        super().close()
        for each in self._aside:
            each.restore()

    def _show(self) -> None:
        console = self.screen.console
        self._size = (console.width, console.height)
        self._live = Live(
            _Board(self._rows),
            console=console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
            vertical_overflow="crop",
        )
        self._live.start(refresh=True)

    def _fit(self) -> None:
        """Begin again on a clear screen where the terminal has become smaller."""
        console = self.screen.console
        before, self._size = self._size, (console.width, console.height)
        if self._size[0] >= before[0] and self._size[1] >= before[1]:
            return
        assert self._live is not None
        self._live.stop()
        console.clear()
        room = max(console.height - len(self._rows()) - 1, 1)
        self._print([*self._head(), *self.lines(self._kept)][-room:])
        self._show()

    def _print(self, lines: Sequence[Text]) -> None:
        text = Text("\n", no_wrap=True).join(map(self.screen.written, lines))
        self.screen.console.print(text, soft_wrap=True)

    def _rows(self) -> list[Text]:
        return board(self.tally, self.shape, self.screen, self.screen.console.height)


class _Board:
    """Makes the board anew each time it is drawn."""

    def __init__(self, rows: Callable[[], list[Text]]) -> None:
        self._rows = rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text("\n", no_wrap=True, overflow="crop").join(self._rows())


class _Aside:
    """Stands in for `sys.stdout` or `sys.stderr`: whole lines go above the board when it is next drawn."""

    def __init__(self, name: str, put: Callable[[Text], None]) -> None:
        self._name = name
        self._put = put
        self._real: TextIO = getattr(sys, name)
        self._rest = ""
        self._lock = threading.Lock()
        self._over = False
        setattr(sys, name, self)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def write(self, text: str) -> int:
        """Take text, and pass on the lines that are whole."""
        if self._over:
            return self._real.write(text)
        with self._lock:
            *whole, self._rest = (self._rest + text).split("\n")
            for each in whole:
                self._pass(each)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Take several texts."""
        for each in lines:
            self.write(each)

    def flush(self) -> None:
        """Do nothing: a line that is not whole yet has no place above the board."""

    def restore(self) -> None:
        """Give the real stream back."""
        if getattr(sys, self._name) is self:
            setattr(sys, self._name, self._real)
        with self._lock:
            self._over = True
            if self._rest:
                self._pass(self._rest)
            self._rest = ""

    def _pass(self, text: str) -> None:
        # What overwrites its own line, as bars of other libraries do, is shown as it ends.
        self._put(Text.from_ansi(text.rstrip("\r").rpartition("\r")[2], no_wrap=True))
