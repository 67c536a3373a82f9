"""How two texts differ, in one sentence: where, and by which code points when they look alike."""

import unicodedata
from typing import Final

from niceeval_expect._evaluation import cut_text
from niceeval_expect._near import HINT_LIMIT, READINGS

__all__ = ["explain_texts", "first_difference"]

_AROUND: Final = 60
_KEPT: Final = 200
_ALIKE: Final = {
    "casefold": "they differ only in case",
    "NFC": "they are equal after NFC normalisation",
    "NFKC": "they are equal after NFKC normalisation",
    "invisible": "they differ only in invisible characters",
    "punctuation": "they differ only in quotes and dashes",
    "spaces": "they differ only in white space",
}


def first_difference(one: str, other: str) -> int:
    """Return the index of the first character in which two texts differ: the length of what they share."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def explain_texts(expected: str, received: str) -> tuple[str, str, str]:
    """Return a sentence on how two different texts differ, and of each the part around that place."""
    index = first_difference(expected, received)
    shown = (cut_text(expected, _KEPT, around=index), cut_text(received, _KEPT, around=index))
    wanted, got = (repr(cut_text(text, _AROUND, around=index)) for text in (expected, received))
    where = f"differs from character {index:,} on: " if max(len(expected), len(received)) > _AROUND else ""
    if not received.strip():
        got = f"a blank text, {got}" if received else "an empty text"
    reasons = [f"{where}expected {wanted}, got {got}"]
    if expected and received:
        reasons.append(_alike(expected, received))
    here, there = expected[index : index + 1], received[index : index + 1]
    if not (here.isascii() and there.isascii()):
        reasons.append(f"character {index:,} is {_named(there)}, not {_named(here)}")
    return "; ".join(filter(None, reasons)), *shown


def _alike(expected: str, received: str) -> str:
    """Say in what reading two texts are the same, if there is one."""
    if max(len(expected), len(received)) > HINT_LIMIT:
        return ""
    for name, read in READINGS:
        if name in _ALIKE and read(expected) == read(received):
            return _ALIKE[name]
    return "they are the same digits in another script" if _digits(expected) == _digits(received) else ""


def _digits(text: str) -> str:
    return text if text.isascii() else "".join(str(unicodedata.decimal(char, char)) for char in text)


def _named(char: str) -> str:
    return f"U+{ord(char):04X} {unicodedata.name(char, '')}".rstrip() if char else "the end"
