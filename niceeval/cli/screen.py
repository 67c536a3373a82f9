"""The terminal: whether there is one, how wide it is, whether it shows colour and which symbols it can write."""

import os
import sys
from collections.abc import Iterable
from typing import Any, TextIO

import attrs
from rich.console import Console
from rich.text import Text

from niceeval.cli.text import paragraph

__all__ = ["Screen", "Symbols", "complain", "open_screen"]

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


@attrs.frozen
class Screen:
    """Where a report goes.

    Attributes:
        console: Writes the lines.
        width: The most cells a line may take.
        live: Whether lines can be redrawn.
        symbols: What the encoding can write.

    """

    console: Console
    width: int
    live: bool
    symbols: Symbols

    def write(self, lines: Iterable[Text]) -> None:
        """Write lines, each on its own; what is too long is left to the terminal."""
        for each in lines:
            if self.symbols.cut != "…" and "…" in each.plain:
                each.plain = each.plain.replace("…", self.symbols.cut)
            self.console.print(each, soft_wrap=True, end="\n")


def open_screen(stream: TextIO | None = None) -> Screen:
    """Look at a stream, standard output by default.

    Colour needs a terminal (or `FORCE_COLOR`) and no `NO_COLOR`; redrawing needs a terminal that is not `dumb`.
    """
    stream = sys.stdout if stream is None else stream
    reconfigure: Any = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
    live = stream.isatty() and os.environ.get("TERM") != "dumb"
    colour = (live or bool(os.environ.get("FORCE_COLOR"))) and not os.environ.get("NO_COLOR")
    console = Console(
        file=stream,
        force_terminal=live or colour,
        color_system="auto" if colour else None,
        no_color=not colour,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    width = min(max(console.width, _NARROWEST), _WIDEST) if live else _USUAL
    return Screen(console, width, live, _symbols(stream))


def complain(text: str, *, fatal: bool = True) -> None:
    """Say on standard error what is wrong, in one paragraph; what is not fatal changes no exit code."""
    screen = open_screen(sys.stderr)
    word, style = ("error   ", "bold red") if fatal else ("warning ", "bold yellow")
    screen.write(paragraph(word, text, screen.width, style=style))


def _symbols(stream: TextIO) -> Symbols:
    usual = Symbols()
    try:
        "".join(attrs.astuple(usual)).encode(stream.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return _ASCII
    return usual
