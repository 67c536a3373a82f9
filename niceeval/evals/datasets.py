"""`load_cases`: rows of a JSONL, JSON, YAML or CSV file as validated cases."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar, overload

from typing_extensions import TypeForm

from niceeval.errors import EvalLoadError
from niceeval.evals.cases import LoadedCases
from niceeval.evals.rows import READERS, Row
from niceeval.evals.rows import shown as _shown

__all__ = ["load_cases"]

C = TypeVar("C")
_SHOWN_ERRORS = 3
_PACKAGE = str(Path(__file__).resolve().parent.parent)


@overload
def load_cases(path: str | Path, /) -> list[dict[str, Any]]: ...
@overload
def load_cases(path: str | Path, type: TypeForm[C], /) -> list[C]: ...
def load_cases(path: str | Path, type: Any = dict[str, Any], /) -> Any:
    """Read cases from a file, each row validated; a bad row is named and nothing is skipped.

    Args:
        path: a `.jsonl`, `.ndjson`, `.json`, `.yaml`, `.yml` or `.csv` file, relative to the file that calls. JSON and
            YAML hold a list of rows, or an object of id to row; CSV starts with a header, and an empty cell is `""`.
        type: what each row is: a pydantic model, a dataclass, a TypedDict or any other type that pydantic validates.
            JSON and YAML rows are read strictly (`"5"` is not 5), CSV cells are converted. Without it, a row is a dict.

    Returns:
        The cases in file order. Ids given by the file are kept when the list is used as `cases=`.

    Raises:
        EvalLoadError: the file is missing, cannot be read or has no rows, or a row does not fit; the sentence names the
            file, the line or row, the field and the value.
        ValueError: the file's ending says nothing about its format.
        TypeError: `type` is nothing that rows can be validated against.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "cases.jsonl"
        >>> _ = path.write_text('{"id": "refunded", "total": 12}')
        >>> load_cases(path)
        [{'id': 'refunded', 'total': 12}]

    """
    reader = READERS.get(Path(path).suffix.lower())
    if reader is None:
        raise ValueError(f"load_cases({str(path)!r}): the file must end in one of {', '.join(READERS)}")
    found = _caller_folder() / path
    rows = _read(found, str(path), reader)
    if not rows:
        raise EvalLoadError(f"{_shown(found)} has no rows, so there is nothing to check; add at least one")
    validate = _validator(type, converts=found.suffix.lower() == ".csv")
    cases = [validate(found, row) for row in rows]
    return LoadedCases(cases, [row.own_id() for row in rows])


def _caller_folder() -> Path:
    """The folder of the nearest caller outside this package, or the working directory where there is no such file."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    written = Path(frame.f_code.co_filename)
    return written.resolve().parent if written.is_file() else Path.cwd()


def _read(path: Path, asked: str, reader: Callable[[Path], Iterable[Row]]) -> list[Row]:
    try:
        return list(reader(path))
    except FileNotFoundError:
        here = f"; {_shown(Path.cwd() / asked)} exists, but paths are relative to the eval file"
        hint = here if (Path.cwd() / asked).is_file() else "; paths are relative to the eval file"
        raise EvalLoadError(f"load_cases({asked!r}) found no file: tried {path}{hint}") from None
    except OSError as error:
        raise EvalLoadError(f"load_cases({asked!r}) could not read {path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise EvalLoadError(
            f"{_shown(path)} is not UTF-8 text (byte 0x{error.object[error.start]:02x} at position {error.start}); "
            "save it as UTF-8"
        ) from None
    except RecursionError:
        raise EvalLoadError(f"{_shown(path)} is nested too deeply to be read; flatten it") from None


def _validator(type: Any, *, converts: bool) -> Callable[[Path, Row], Any]:
    if type == dict[str, Any]:
        return _plain
    from pydantic import PydanticUserError, TypeAdapter, ValidationError

    try:
        adapter = TypeAdapter(type)
    except PydanticUserError as error:
        raise TypeError(
            f"load_cases(..., {type!r}): rows cannot be validated against this type; give a pydantic model, "
            f"a dataclass or a TypedDict ({error.message.splitlines()[0]})"
        ) from None

    def validate(path: Path, row: Row) -> Any:
        try:
            if converts:
                return adapter.validate_python(row.value, strict=False)
            return adapter.validate_json(row.as_json().encode(), strict=True)
        except UnicodeEncodeError:
            raise EvalLoadError(
                f"{_shown(path)}:{row.place}: the row holds half of a surrogate pair, which no field takes; "
                "leave the type out to read it as a dict"
            ) from None
        except TypeError as error:
            raise EvalLoadError(f"{_shown(path)}:{row.place}: the row does not read as JSON: {error}") from None
        except ValidationError as error:
            problems = [_problem(each) for each in error.errors(include_url=False, include_context=False)]
            more = f" ({len(problems) - _SHOWN_ERRORS} more)" if len(problems) > _SHOWN_ERRORS else ""
            named = "; ".join(problems[:_SHOWN_ERRORS])
            raise EvalLoadError(f"{_shown(path)}:{row.place}: {named}{more}") from None

    return validate


def _plain(path: Path, row: Row) -> dict[str, Any]:
    if not isinstance(row.value, dict):
        raise EvalLoadError(
            f"{_shown(path)}:{row.place}: the row is {_cut(row.value)}, not an object; "
            "write an object, or give the type of a row as the second argument"
        )
    return row.value


def _problem(error: Any) -> str:
    field = ".".join(str(part) for part in error["loc"])
    message: str = error["msg"][0].lower() + error["msg"][1:]
    where: str = f"field {field!r}: " if field else ""
    return where + message + ("" if error["type"] == "missing" else f", got {_cut(error['input'])}")


def _cut(value: object, width: int = 80) -> str:
    text = repr(value)
    return text if len(text) <= width else text[: width - 1] + "…"
