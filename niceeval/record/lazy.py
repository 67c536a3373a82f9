"""Rows that are made when they are reached, each from its place in a line."""

from collections.abc import Callable, Sequence
from typing import TypeVar, cast, final, overload

from niceeval._documents import assertion_from_document, attempt_from_document
from niceeval.errors import RecordError
from niceeval.record.lines import Damaged, Line, RunSource, parse
from niceeval.results import AssertionResult, AttemptResult

__all__ = ["Lazy", "assertion_builder", "attempt_builder", "parsed"]

T = TypeVar("T")
P = TypeVar("P")


@final
class Lazy(Sequence[T]):
    """A sequence that makes each item from its place when it is reached."""

    __slots__ = ("_build", "_places")

    def __init__(self, places: Sequence[P], build: Callable[[P], T]) -> None:
        self._places: Sequence[object] = places
        self._build = cast(Callable[[object], T], build)

    @overload
    def __getitem__(self, i: int, /) -> T: ...
    @overload
    def __getitem__(self, i: slice, /) -> Sequence[T]: ...
    def __getitem__(self, i: int | slice, /) -> T | Sequence[T]:
        return Lazy(self._places[i], self._build) if isinstance(i, slice) else self._build(self._places[i])

    def __len__(self) -> int:
        return len(self._places)


def assertion_builder(source: RunSource) -> Callable[[tuple[Line, int]], AssertionResult]:
    """Return what makes an assertion of the place of its line and its place in the attempt."""
    last: list[tuple[Line, dict[str, object]]] = []

    def build(place: tuple[Line, int]) -> AssertionResult:
        line, index = place
        # Assertions of one attempt follow each other, so that keeping one parsed line spares most of the parsing.
        if not last or last[0][0] != line:
            last[:] = [(line, parsed(source.text(line), line))]
        return assertion_from_document(last[0][1], index, source.blob)

    return build


def parsed(raw: bytes, line: Line) -> dict[str, object]:
    """Return the document of a line that was one before.

    Raises:
        RecordError: It is none any more.
    """
    try:
        return parse(raw)
    except Damaged as error:
        raise RecordError(f"{line.file}, line {line.number} was changed since it was found: {error}") from error


def attempt_builder(source: RunSource) -> Callable[[Line], AttemptResult]:
    """Return what makes an attempt of the place of its line."""
    return lambda line: attempt_from_document(parsed(source.text(line), line), source.blob)
