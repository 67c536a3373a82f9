"""Where the values of a large file stand: lines, and elements of an array, found without keeping them."""

import re
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, final

__all__ = ["Places", "elements_of", "lines_of", "opening"]

_CHUNK: Final = 1 << 20
_BOM: Final = b"\xef\xbb\xbf"
_OUTSIDE: Final = re.compile(rb'["\[\]{},]')
_IN_TEXT: Final = re.compile(rb'["\\]')


@final
class Places:
    """Where each value begins, how long it is, and its number in the file: 24 bytes for each."""

    def __init__(self) -> None:
        self._starts = array("Q")
        self._lengths = array("Q")
        self._numbers = array("Q")

    def add(self, start: int, length: int, number: int) -> None:
        """Add a place."""
        self._starts.append(start)
        self._lengths.append(length)
        self._numbers.append(number)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._starts)

    def number(self, index: int) -> int:
        """Return the number of the line or the element, from 1."""
        return self._numbers[index]

    def read(self, file: BinaryIO, index: int) -> bytes:
        """Return the bytes of one value."""
        file.seek(self._starts[index])
        return file.read(self._lengths[index])


def opening(path: Path) -> bytes:
    """Return the first character of a file that is no space; empty where there is none."""
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            if text := chunk.removeprefix(_BOM).lstrip():
                return text[:1]
    return b""


def lines_of(path: Path) -> Places:
    """Find the lines that are not blank."""
    places, start = Places(), 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            skipped = len(_BOM) if number == 1 and line.startswith(_BOM) else 0
            if line[skipped:].strip():
                places.add(start + skipped, len(line) - skipped, number)
            start += len(line)
    return places


def elements_of(path: Path) -> Places:
    """Find the elements of the array that a file holds.

    Raises:
        ValueError: The file ends within the array, or something follows it.
    """
    places, depth, begun, end = Places(), 0, 0, None
    for at, mark in _marks(path):
        if end is not None:
            raise ValueError(f"something follows the array, at byte {at + 1:,}")
        if mark in b"[{":
            depth += 1
            begun = at + 1 if depth == 1 else begun
        elif mark == b"," and depth == 1:
            places.add(begun, at - begun, len(places) + 1)
            begun = at + 1
        elif mark in b"]}":
            depth -= 1
            if depth == 0:
                end = at
                if len(places) or _is_there(path, begun, at):
                    places.add(begun, at - begun, len(places) + 1)
    if end is None:
        raise ValueError("the file ends within the array")
    return places


def _is_there(path: Path, start: int, end: int) -> bool:
    with path.open("rb") as file:
        file.seek(start)
        return bool(file.read(end - start).strip())


def _marks(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield every bracket, brace and comma outside texts, with its place."""
    base, in_text, skip = 0, False, 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            at = skip
            skip = 0
            while True:
                found = (_IN_TEXT if in_text else _OUTSIDE).search(chunk, at)
                if found is None:
                    break
                at, mark = found.end(), found.group()
                if mark == b"\\":
                    # Whatever it is that follows belongs to the text, in the next chunk too.
                    at += 1
                elif mark == b'"':
                    in_text = not in_text
                else:
                    yield base + found.start(), mark
            skip = max(0, at - len(chunk))
            base += len(chunk)
