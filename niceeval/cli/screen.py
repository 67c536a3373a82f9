"""The terminal: whether there is one, how wide it is, whether it shows colour and which symbols it can write."""

import errno
import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from typing import Any, TextIO, final

import attrs
from rich.console import Console
from rich.text import Text

from niceeval.cli.text import paragraph

__all__ = ["Output", "Screen", "Symbols", "complain", "open_screen", "printed_aside"]

_NARROWEST, _WIDEST, _USUAL = 40, 100, 80


@attrs.frozen
class Symbols:
    """The marks of a report. Words stand beside every one of them, so that no meaning hangs on a mark or a colour."""

    failed: str = "✗"
    undecided: str = "?"
    done: str = "━"
    left: str = "╌"
    times: str = "×"
    gives: str = "→"
    at_least: str = "≥"
    cut: str = "…"


_ASCII = Symbols(failed="x", done="#", left="-", times="x", gives="->", at_least=">=", cut="~")


class _Console(Console):
    """A console that leaves it to the caller what a closed pipe means, whatever version of rich it is."""

    def on_broken_pipe(self) -> None:
        raise


@attrs.frozen
class Screen:
    """Where a report goes.

    Attributes:
        console: Writes the lines.
        terminal: Whether somebody sees them on a terminal.
        live: Whether lines can be redrawn.
        symbols: What the encoding can write.

    """

    console: Console
    terminal: bool
    live: bool
    symbols: Symbols

    @property
    def width(self) -> int:
        """The most cells a line may take: as wide as the terminal is now, within reason."""
        return min(max(self.console.width, _NARROWEST), _WIDEST) if self.terminal else _USUAL

    def write(self, lines: Iterable[Text]) -> None:
        """Write lines, each on its own; what is too long is left to the terminal.

        Raises:
            BrokenPipeError: Nobody reads them any more, or they cannot be written, such as on a full disk.
        """
        with _written_or_gone():
            if self.terminal or not self.console.no_color:
                for each in lines:
                    self.console.print(self.written(each), soft_wrap=True, end="\n")
                return
            try:
                for each in lines:
                    self.console.file.write(f"{self.written(each).plain}\n")
            finally:
                self.console.file.flush()

    def written(self, text: Text) -> Text:
        """Return a line with a mark that the encoding can write where it was cut."""
        if self.symbols.cut != "…" and "…" in text.plain:
            text.plain = text.plain.replace("…", self.symbols.cut)
        return text


@final
class Output:
    """Standard output as programs read it: texts as they are, and nothing where the process has none."""

    __slots__ = ()

    def write(self, text: str | bytes) -> int:
        """Write a text, or bytes as they are.

        Raises:
            BrokenPipeError: Nobody reads it any more, or it cannot be written, such as on a full disk.
        """
        with _written_or_gone():
            if sys.stdout is None:
                return 0
            if isinstance(text, str):
                return sys.stdout.write(text)
            sys.stdout.flush()
            return sys.stdout.buffer.write(text)


@contextmanager
def _written_or_gone() -> Iterator[None]:
    """Take whatever keeps a stream from being written for a reader who is gone; the error itself is the cause."""
    try:
        yield
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        if isinstance(error, UnicodeError):
            raise
        raise BrokenPipeError(errno.EPIPE, f"standard output cannot be written: {_reason(error)}") from error


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def open_screen(stream: TextIO | None = None) -> Screen:
    """Look at a stream, standard output by default; where the process has none, nothing is shown.

    Colour needs a terminal (or `FORCE_COLOR`) and no `NO_COLOR`; redrawing needs a terminal that is not `dumb`, and
    no `CI`, where terminals are logs.
    """
    stream = stream or sys.stdout or io.StringIO()
    reconfigure: Any = getattr(stream, "reconfigure", None)
    if reconfigure is not None and not stream.closed:
        reconfigure(errors="backslashreplace")
    terminal = not stream.closed and stream.isatty() and os.environ.get("TERM") != "dumb"
    live = terminal and os.environ.get("CI", "").casefold() in ("", "0", "false")
    colour = (terminal or bool(os.environ.get("FORCE_COLOR"))) and not os.environ.get("NO_COLOR")
    console = _Console(
        file=stream,
        force_terminal=terminal or colour,
        color_system="auto" if colour else None,
        no_color=not colour,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    return Screen(console, terminal, live, _symbols(stream))


def complain(text: str, *, fatal: bool = True) -> None:
    """Say on standard error what is wrong, in one paragraph; what is not fatal changes no exit code."""
    if sys.stderr is None or sys.stderr.closed:
        return
    screen = open_screen(sys.stderr)
    word, style = ("error   ", "bold red") if fatal else ("warning ", "bold yellow")
    screen.write(paragraph(word, text, screen.width, style=style))


@contextmanager
def printed_aside(wanted: bool) -> Iterator[None]:
    """Let what is printed meanwhile, as by a file that is imported, go to standard error, where it is wanted."""
    with redirect_stdout(sys.stderr or io.StringIO()) if wanted else nullcontext():
        yield


def _symbols(stream: TextIO) -> Symbols:
    usual = Symbols()
    try:
        "".join(attrs.astuple(usual)).encode(stream.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return _ASCII
    return usual
