"""The cases of an eval: given by the author as a collection or a function, read once, each with an id."""

import inspect
from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import Enum
from pathlib import PurePath
from typing import Generic, SupportsIndex, TypeVar, overload
from uuid import UUID

from niceeval.errors import EvalLoadError

__all__ = ["CaseSource", "LoadedCases", "require_cases"]

C = TypeVar("C")

_HOW = "give a mapping of id to case, an iterable of cases, or a function that returns one"


class LoadedCases(list[C], Generic[C]):
    """A list of cases that remembers the ids which its file gave them; a slice keeps them, and so does a new order."""

    __slots__ = ("_given", "_read")

    def __init__(self, cases: Iterable[C], ids: Iterable[object] | None = None) -> None:
        super().__init__(cases)
        self._read = tuple(self)
        self._given = (None,) * len(self) if ids is None else tuple(ids)

    @property
    def ids(self) -> tuple[object, ...]:
        """The ids of the cases as they stand now; None where the file gave none."""
        if len(self) == len(self._read) and all(now is then for now, then in zip(self, self._read, strict=True)):
            return self._given
        known: dict[int, object] = {}
        for case, given in zip(self._read, self._given, strict=True):
            # Equal small values are one object in Python: whose id it would be, nobody can tell.
            known[id(case)] = None if id(case) in known else given
        return tuple(known.get(id(case)) for case in self)

    @overload
    def __getitem__(self, index: SupportsIndex, /) -> C: ...
    @overload
    def __getitem__(self, index: slice, /) -> "LoadedCases[C]": ...
    def __getitem__(self, index: SupportsIndex | slice, /) -> "C | LoadedCases[C]":
        if isinstance(index, slice):
            return LoadedCases(super().__getitem__(index), self.ids[index])
        return super().__getitem__(index)


def require_cases(given: object) -> None:
    """Refuse, with a sentence, what cannot be a source of cases."""
    if inspect.iscoroutine(given):
        given.close()
        raise TypeError(f"cases= got a coroutine; cases are read before the event loop starts: {_HOW}")
    if inspect.isasyncgen(given) or inspect.iscoroutinefunction(given) or inspect.isasyncgenfunction(given):
        raise TypeError(f"cases= got something asynchronous ({given!r}); {_HOW}, without async")
    if isinstance(given, str | bytes | bytearray):
        raise TypeError(
            f"cases= got the bare string {given!r}, which would be walked letter by letter; "
            f"put it into a list, or read a file with load_cases({given!r})"
        )
    if isinstance(given, PurePath):
        raise TypeError(f"cases= got a path; read the file with load_cases({str(given)!r})")
    if not (isinstance(given, Iterable) or callable(given)):
        raise TypeError(f"cases= got {type(given).__name__}; {_HOW}")


class CaseSource:
    """Cases as the author gave them, read at most once and only when somebody asks."""

    __slots__ = ("_given", "_read")

    def __init__(self, given: object) -> None:
        require_cases(given)
        self._given = given
        self._read: list[tuple[str, object]] | None = None

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, object]]) -> "CaseSource":
        """A source of cases that already have their ids."""
        source = cls(())
        source._read = list(pairs)
        return source

    def pairs(self) -> list[tuple[str, object]]:
        """Return `(id, case)` for every case, in order.

        Raises:
            EvalLoadError: there is no case, an id is used twice or cannot be an id, or the function returned no cases.

        """
        if self._read is None:
            pairs = list(_identified(_called(self._given)))
            _require_distinct(pairs)
            self._read = pairs
        return list(self._read)

    def only(self, ids: Collection[str]) -> "CaseSource":
        """The cases with these ids, in their own order."""
        return CaseSource.of(pair for pair in self.pairs() if pair[0] in ids)


def _called(given: object) -> Iterable[object]:
    if isinstance(given, Iterable):
        return given
    returned = given() if callable(given) else given
    try:
        require_cases(returned)
    except TypeError as error:
        raise EvalLoadError(f"the function given as cases= returned no cases: {error}") from None
    if not isinstance(returned, Iterable):
        raise EvalLoadError(f"the function given as cases= returned another function; {_HOW}")
    return returned


def _identified(cases: Iterable[object]) -> Iterator[tuple[str, object]]:
    if isinstance(cases, Mapping):
        for key, case in cases.items():
            yield _text(key, "the key"), case
        return
    given = cases.ids if isinstance(cases, LoadedCases) else None
    for position, case in enumerate(cases):
        own = given[position] if given is not None else None
        own = _own_id(case) if own is None else own
        yield str(position) if own is None else _text(own, f"the id of case {position}"), case


def _own_id(case: object) -> object:
    own = case.get("id") if isinstance(case, Mapping) else getattr(case, "id", None)
    return None if callable(own) else own


def _text(value: object, what: str) -> str:
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int | float | UUID):
        return str(value)
    raise EvalLoadError(f"{what} is {value!r}; use text or a number, so that it can be an id")


def _require_distinct(pairs: list[tuple[str, object]]) -> None:
    if not pairs:
        raise EvalLoadError("cases= has no case, so there is nothing to check; give at least one")
    first: dict[str, int] = {}
    for position, (case_id, _) in enumerate(pairs):
        earlier = first.setdefault(case_id, position)
        if earlier != position:
            raise EvalLoadError(
                f"the cases at positions {earlier} and {position} (counted from 0) have the same id {case_id!r}; "
                "give each case its own id"
            )
