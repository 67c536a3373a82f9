"""The places of many assertions: a million of them as numbers, each made what it is when it is reached."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, final, overload

from niceeval.record.lines import Line

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Places"]


@final
class Places(Sequence[tuple[Line, int]]):
    """Places of assertions: the attempt's line, and the place in its list.

    Args:
        files: The files that hold the lines, by their number.
        lines: Of every attempt, by its position: file, line, offset and size.
        positions: Of every assertion, the position of its attempt.
        places: Of every assertion, its place.
    """

    __slots__ = ("_files", "_lines", "_places", "_positions")

    def __init__(
        self, files: Sequence[str], lines: "Sequence[np.ndarray]", positions: "np.ndarray", places: "np.ndarray"
    ) -> None:
        self._files = files
        self._lines = lines
        self._positions = positions
        self._places = places

    @overload
    def __getitem__(self, i: int, /) -> tuple[Line, int]: ...
    @overload
    def __getitem__(self, i: slice, /) -> Sequence[tuple[Line, int]]: ...
    def __getitem__(self, i: int | slice, /) -> tuple[Line, int] | Sequence[tuple[Line, int]]:
        if isinstance(i, slice):
            return Places(self._files, self._lines, self._positions[i], self._places[i])
        position = int(self._positions[i])
        file, number, offset, size = (int(column[position]) for column in self._lines)
        return Line(self._files[file], number, offset, size), int(self._places[i])

    def __len__(self) -> int:
        return len(self._places)
