"""`Rows`: what a query returns, a sequence that also turns into a table."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from math import isfinite
from typing import TYPE_CHECKING, Any, Generic, final, overload

from pydantic import BaseModel
from pydantic_core import to_jsonable_python
from typing_extensions import TypeVar

if TYPE_CHECKING:
    import polars

__all__ = ["Rows", "strict"]

T = TypeVar("T", covariant=True)


@final
class Rows(Sequence[T], Generic[T]):
    """An immutable sequence of frozen models, which may be built only when they are reached, or of a query's dicts.

    Args:
        items: The models, or a sequence that makes each of them on access.
        columns: The names of the columns, which a data frame has also where there is no row.

    >>> from niceeval.record import Requirement
    >>> rows = Rows([Requirement(key="schema", failed=1, decided=4, errored=0, not_reached=0, rate=0.75)])
    >>> len(rows), rows[0].key, rows.to_dicts()[0]["failed"]
    (1, 'schema', 1)
    """

    __slots__ = ("_columns", "_items")

    def __init__(self, items: Sequence[T], /, *, columns: Sequence[str] = ()) -> None:
        self._items = items
        self._columns = columns

    @overload
    def __getitem__(self, i: int, /) -> T: ...
    @overload
    def __getitem__(self, i: slice, /) -> Sequence[T]: ...
    def __getitem__(self, i: int | slice, /) -> T | Sequence[T]:
        """Return one row, or a sequence of the rows in a slice."""
        return Rows(self._items[i], columns=self._columns) if isinstance(i, slice) else self._items[i]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str | bytes):
            return NotImplemented
        return len(self) == len(other) and all(mine == its for mine, its in zip(self, other, strict=True))

    def __hash__(self) -> int:
        raise TypeError("Rows cannot be hashed: they compare by their content, which may be read from files")

    def __repr__(self) -> str:
        shown = ", ".join(repr(item) for item in self._items[:3])
        more = f", … {len(self) - 3} more" if len(self) > 3 else ""
        return f"Rows([{shown}{more}])"

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the rows as JSON-safe dicts, one per row, with the names of the models' fields.

        >>> Rows([]).to_dicts()
        []
        """
        return [_plain(item) for item in self._items]

    def to_polars(self) -> "polars.DataFrame":
        """Return the rows as a polars data frame, one column per field; what is nested becomes JSON text.

        Raises:
            ImportError: polars is not installed.
        """
        try:
            import polars
        except ImportError as error:
            raise ImportError(_missing("to_polars", "polars")) from error
        return polars.DataFrame(self._flat(), schema=self._names(), infer_schema_length=None)

    def to_pandas(self) -> Any:
        """Return the rows as a pandas data frame, one column per field; what is nested becomes JSON text.

        Raises:
            ImportError: pandas is not installed.
        """
        try:
            import pandas
        except ImportError as error:
            raise ImportError(_missing("to_pandas", "pandas")) from error
        return pandas.DataFrame(self._flat(), columns=self._names())

    def _names(self) -> list[str] | None:
        return None if len(self) else list(self._columns)

    def _flat(self) -> list[dict[str, Any]]:
        return [_cells(item) for item in self._items]


def _plain(item: object) -> dict[str, Any]:
    if isinstance(item, BaseModel):
        return item.model_dump(mode="json")
    if isinstance(item, Mapping):
        return {str(name): strict(value) for name, value in item.items()}
    raise TypeError(f"only rows of models and of queries turn into a table, got {type(item).__name__}")


def strict(value: Any) -> Any:
    """Return a value of a query as strict JSON has it: dates as texts, and numbers that are not finite as well.

    >>> strict({"at": datetime(2026, 8, 1), "ratio": float("inf")})
    {'at': '2026-08-01T00:00:00', 'ratio': 'inf'}
    """
    plain = to_jsonable_python(value)
    return plain if _is_finite(plain) else _finite(plain)


def _is_finite(plain: Any) -> bool:
    return not isinstance(plain, float | list | dict) or (isinstance(plain, float) and isfinite(plain))


def _finite(plain: Any) -> Any:
    if isinstance(plain, list):
        return [_finite(item) for item in plain]
    if isinstance(plain, dict):
        return {name: _finite(item) for name, item in plain.items()}
    return plain if not isinstance(plain, float) or isfinite(plain) else str(plain)


def _cells(item: object) -> dict[str, Any]:
    cells: dict[str, Any] = {}
    for name, value in _plain(item).items():
        own = item[name] if isinstance(item, Mapping) else getattr(item, name, None)
        # Dates and numbers stay what they are, which data frames know; what has no column type becomes text.
        if isinstance(own, datetime | float):
            cells[name] = own
        else:
            cells[name] = json.dumps(value) if isinstance(value, dict | list) else value
    return cells


def _missing(method: str, library: str) -> str:
    return f'{method}() needs {library}, which is not installed: pip install "niceeval[dataframes]"'
