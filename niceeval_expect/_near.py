"""Readings of a text under which a near miss would have been a hit: for hints in diagnostics, and for text options."""

import re
import unicodedata
from collections.abc import Callable
from typing import Final

__all__ = ["HINT_LIMIT", "READINGS", "blankness", "code_points", "nearest", "strip_invisible"]

HINT_LIMIT: Final = 65_536
"""Texts longer than this get no hint, so that a mismatch stays cheap."""

# Unicode's Default_Ignorable_Code_Point: what a reader does not see. Written out, because Python has no name for it.
_IGNORABLE: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_INVISIBLE: Final = re.compile(f"[{_IGNORABLE}]")
_BLANK: Final = re.compile(rf"[\s{_IGNORABLE}]*+\Z")
_PLAIN: Final = {**dict.fromkeys("‘’‚‛′", "'"), **dict.fromkeys("“”„‟″«»", '"'), **dict.fromkeys("‐‑‒–—―−", "-")}
_TYPOGRAPHIC: Final = re.compile(f"[{''.join(_PLAIN)}]")


def strip_invisible(text: str) -> str:
    """Return the text without the characters that Unicode calls default-ignorable (zero-width, bidi marks, BOM, …)."""
    return text if text.isascii() else _INVISIBLE.sub("", text)


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _nfkc(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _single_spaces(text: str) -> str:
    return " ".join(text.split())


def _plain_punctuation(text: str) -> str:
    return text if text.isascii() else _TYPOGRAPHIC.sub(lambda found: _PLAIN[found.group()], text)


def _everything(text: str, spaces: bool = True) -> str:
    text = _plain_punctuation(_nfkc(strip_invisible(text))).casefold()
    return _single_spaces(text) if spaces else text


READINGS: Final[tuple[tuple[str, Callable[[str], str]], ...]] = (
    ("casefold", str.casefold),
    ("NFC", _nfc),
    ("NFKC", _nfkc),
    ("invisible", strip_invisible),
    ("punctuation", _plain_punctuation),
    ("spaces", _single_spaces),
    ("everything", _everything),
)
"""Name and function of each reading, the mildest first."""


def nearest(needle: str, text: str) -> tuple[str, str, str] | None:
    """Return the mildest reading under which `needle` occurs in `text`, with both as it reads them."""
    spaces = len(needle.split()) > 1
    # The widest reading first: where it finds nothing, and mostly it does not, none of the others does.
    widest = _everything(needle, spaces)
    if not widest or widest not in _everything(text, spaces):
        return None
    for name, read in READINGS:
        wanted, have = read(needle), read(text)
        if wanted and wanted in have:
            return name, wanted, have
    return None


def blankness(text: str) -> str | None:
    """Say in what way the text is blank, or None where it is not."""
    if not text:
        return "the text is empty"
    if not _BLANK.match(text):
        return None
    kind = "whitespace" if text.isspace() else "invisible or whitespace"
    return f"the text is blank: {len(text):,} {kind} characters"


def code_points(text: str, limit: int = 8) -> str:
    """Return the non-ASCII characters of the text as ``U+0664 U+0662``, at most `limit` of them."""
    found = [f"U+{ord(char):04X}" for char in text if not char.isascii()]
    return " ".join(found[:limit]) + (" …" if len(found) > limit else "")
