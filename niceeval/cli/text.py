"""Text that is safe on a terminal and fits it: nothing that was recorded can move the cursor or be read as markup."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

from rich.cells import cell_len, set_cell_size
from rich.text import Text

__all__ = ["apart", "columns", "cut", "line", "paragraph", "safe", "wrapped"]

# Joiners belong to letters and emoji; every other invisible code point is shown by its number.
_JOINERS: Final = "\u200c\u200d"
_ODD: Final = re.compile("[^\x20-\x7e\u00a0-\u00ac\u00ae-\u1fff\u3001-\ud7ff]")
_NAMES: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def safe(text: str) -> str:
    r"""Return text on one line with every control, invisible and unpaired code point written as an escape.

    >>> safe("red \x1b[31m\nnext")
    'red \\x1b[31m\\nnext'
    """
    return text if text.isascii() and text.isprintable() else _ODD.sub(_visible, text)


def _visible(found: re.Match[str]) -> str:
    char = found[0]
    if char in _JOINERS or unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Zl", "Zp"}:
        return char
    number = ord(char)
    if char in _NAMES:
        return _NAMES[char]
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def cut(text: str, width: int) -> str:
    """Return safe text of at most `width` cells, marked where something is left out.

    >>> cut("0123456789", 6), cut("日本語", 4)
    ('01234…', '日…')
    """
    width = max(width, 1)
    head = text[: 4 * width + 64]
    shown = safe(head)
    if len(head) == len(text) and cell_len(shown) <= width:
        return shown
    return set_cell_size(shown, width - 1).rstrip() + "…"


def line(*parts: str | tuple[str, str]) -> Text:
    """Build one line of parts, each plain or with a style; what they say is made safe and never read as markup."""
    made = Text(no_wrap=True, end="")
    for part in parts:
        text, style = (part, "") if isinstance(part, str) else part
        made.append(safe(text), style=style or None)
    return made


def wrapped(text: str, width: int) -> list[str]:
    """Break text into safe lines of at most `width` cells, at spaces where there are any."""
    lines: list[str] = []
    current = ""
    for word in safe(text).split(" "):
        joined = f"{current} {word}" if current else word
        if cell_len(joined) <= width:
            current = joined
            continue
        if current:
            lines.append(current)
        while cell_len(word) > width:
            head = set_cell_size(word, width).rstrip() or word[:1]
            lines.append(head)
            word = word[len(head) :]
        current = word
    return [*lines, current] if current or not lines else lines


def paragraph(label: str, text: str, width: int, *, style: str = "", most: int | None = None) -> list[Text]:
    """Build a label and text that continues below itself, in at most `most` lines."""
    room = max(width - cell_len(label), 10)
    if most is not None:
        text = text[: 4 * room * (most + 1)]
    lines = wrapped(text, room)
    if most is not None and len(lines) > most:
        lines = [*lines[: most - 1], cut(" ".join(lines[most - 1 :]), room)]
    indent = " " * cell_len(label)
    return [line((label if number == 0 else indent, style), each) for number, each in enumerate(lines)]


def columns(
    head: Sequence[str], rows: Iterable[Sequence[str]], width: int, *, texts: int = 1, indent: str = "  "
) -> list[Text]:
    """Build a table of text columns, which give way, the first most, and number columns, aligned to the right.

    Args:
        head: The names of the columns.
        rows: The cells of each row.
        width: The most cells a line may take.
        texts: How many columns are text.
        indent: What stands before every line.

    """
    cells = [list(row) for row in rows]
    widths = [max([cell_len(name), *(cell_len(row[place]) for row in cells)]) for place, name in enumerate(head)]
    widths[0] = max(widths[0], _TEXT_COLUMN)
    over = cell_len(indent) + sum(widths) + 3 * (len(widths) - 1) - width
    for place in range(texts):
        given = min(max(over, 0), max(widths[place] - _NARROWEST, 0))
        widths[place] -= given
        over -= given

    for place in range(texts):
        for row, shown in zip(cells, apart([row[place] for row in cells], widths[place]), strict=True):
            row[place] = shown

    def built(row: Sequence[str]) -> str:
        shown = []
        for place, size in enumerate(widths):
            pad = " " * (size - cell_len(row[place]))
            shown.append(set_cell_size(cut(row[place], size), size) if place < texts else pad + row[place])
        return (indent + "   ".join(shown)).rstrip()

    return [line((built(head), "dim")), *(line(built(row)) for row in cells)]


def apart(texts: Sequence[str], width: int) -> list[str]:
    """Cut texts so that different ones stay different: at the end, else in the middle, else with a number.

    >>> apart(["the same start, one", "the same start, two", "short"], 10)
    ['the s… one', 'the s… two', 'short']
    """
    shown = [cut(text, width) for text in texts]
    if len(set(shown)) == len(set(texts)):
        return shown
    for shorter in (_both_ends, _numbered):
        alike: dict[str, dict[str, int]] = {}
        for text, short in zip(texts, shown, strict=True):
            others = alike.setdefault(short, {})
            others.setdefault(text, len(others) + 1)
        shown = [
            shorter(text, width, alike[short][text]) if len(alike[short]) > 1 else short
            for text, short in zip(texts, shown, strict=True)
        ]
    return shown


def _both_ends(text: str, width: int, number: int) -> str:
    head = set_cell_size(safe(text[: 4 * width]), width // 2).rstrip()
    end = safe(text[-4 * width :])
    while cell_len(head) + 1 + cell_len(end) > width:
        end = end[1:]
    return f"{head}…{end}"


def _numbered(text: str, width: int, number: int) -> str:
    return f"{cut(text, width - len(f' #{number}'))} #{number}"


_TEXT_COLUMN: Final = 28
_NARROWEST: Final = 8
