"""Runs as files for other tools: Parquet, CSV or JSON lines, one file for each table."""

import errno
import os
import secrets
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

from niceeval.errors import RecordError
from niceeval.record.columns import TABLES
from niceeval.record.sql import SqlTables

__all__ = ["Format", "export_run", "export_table"]

Format: TypeAlias = Literal["parquet", "csv", "jsonl"]

# Quotes are doubled, null is an empty cell and an empty text is "", so that a reader can tell them apart.
_OPTIONS: Final[Mapping[str, str]] = {
    "parquet": "FORMAT parquet",
    "csv": "FORMAT csv, HEADER true, DELIMITER ',', QUOTE '\"', ESCAPE '\"', NULLSTR ''",
    "jsonl": "FORMAT json, ARRAY false",
}
_ORDER: Final[Mapping[str, str]] = {
    "runs": "run",
    "attempts": "run, position",
    "assertions": 'run, position, "order"',
    "requirements": "run, eval, requirement",
    "plan": "run",
    "matches": "run, fingerprint",
}


def export_run(folder: Path, format: Format, out: Path, tables: Sequence[str] = tuple(TABLES)) -> Mapping[str, Path]:
    """Write tables of a run into a folder, a file for each.

    Args:
        folder: The run's folder.
        format: ``parquet``, ``csv`` or ``jsonl``.
        out: The folder for the files, made where it is missing.
        tables: The names of the tables.

    Returns:
        The file of each table.

    Raises:
        ValueError: There is no such format or table.
        RecordError: The run cannot be read, or a file cannot be written.
    """
    _require(format, tables)
    with SqlTables([folder]) as opened:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unwritable(out, error) from error
        files = {table: out / f"{table}.{format}" for table in tables}
        for table, path in files.items():
            _write(opened, table, format, path)
    return files


def export_table(folder: Path, table: str, format: Format, out: Path) -> Path:
    """Write one table of a run into one file; it appears whole or not at all.

    Raises:
        ValueError: There is no such format or table.
        RecordError: The run cannot be read, or the file cannot be written.
    """
    _require(format, [table])
    with SqlTables([folder]) as opened:
        _write(opened, table, format, out)
    return out


def _require(format: str, tables: Sequence[str]) -> None:
    if format not in get_args(Format):
        raise ValueError(f"format must be one of {', '.join(get_args(Format))}, got {format!r}")
    for table in tables:
        if table not in TABLES:
            raise ValueError(f"there is no table {table!r}; the tables are {', '.join(TABLES)}")


def _write(opened: SqlTables, table: str, format: str, path: Path) -> None:
    columns = ", ".join(f'"{column.name}"' for column in TABLES[table])
    rows = f"SELECT {columns} FROM {table} ORDER BY {_ORDER[table]}"
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            # A device or a pipe is written to as it is; only a file can be replaced as a whole.
            with tempfile.TemporaryDirectory() as place, open(path, "wb") as out:
                whole = Path(place) / table
                opened.copy(rows, whole, _OPTIONS[format])
                with open(whole, "rb") as file:
                    shutil.copyfileobj(file, out)
        else:
            _replace(opened, rows, _OPTIONS[format], path)
    except OSError as error:
        raise _unwritable(path, error) from error


def _replace(opened: SqlTables, rows: str, options: str, path: Path) -> None:
    temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}")
    try:
        opened.copy(rows, temporary, options)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _unwritable(path: Path, error: OSError) -> RecordError:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    said = error.strerror or str(error).removeprefix("IO Error: ")
    return RecordError(f"cannot write {path}: {said}; {'free some space' if full else 'write elsewhere with --out'}")
