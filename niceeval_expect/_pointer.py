"""JSON Pointers (RFC 6901): building them, reading them, and showing them to a person."""

import re
from collections.abc import Iterable
from typing import Final

__all__ = ["child", "dollar", "from_segments", "segments_of"]

_plain_key: Final = re.compile(r"[^\W\d]\w*").fullmatch


def child(pointer: str, segment: str | int) -> str:
    """Return the pointer of one key or index below `pointer`.

    >>> child("/items", 0), child("", "a/b")
    ('/items/0', '/a~1b')
    """
    if type(segment) is int:
        return f"{pointer}/{segment}"
    text = str(segment)
    if "~" in text or "/" in text:
        text = text.replace("~", "~0").replace("/", "~1")
    return f"{pointer}/{text}"


def from_segments(segments: Iterable[str | int], pointer: str = "") -> str:
    """Return the pointer of a path of keys and indices below `pointer`."""
    for segment in segments:
        pointer = child(pointer, segment)
    return pointer


def segments_of(pointer: str) -> tuple[str, ...]:
    """Return the unescaped segments of a pointer; ``""`` has none."""
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])


def dollar(pointer: str) -> str:
    """Return a pointer as a person reads it.

    >>> dollar("/items/0/unit price"), dollar("")
    ("$.items[0]['unit price']", '$')
    """
    shown = "$"
    for segment in segments_of(pointer):
        if segment.isascii() and segment.isdigit():
            shown += f"[{segment}]"
        else:
            shown += f".{segment}" if _plain_key(segment) else f"[{segment!r}]"
    return shown
