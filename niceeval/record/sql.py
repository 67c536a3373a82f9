"""SQL over recorded runs: read only, over tables with known columns, and with nothing else in reach."""

import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, final

from niceeval.errors import RecordError
from niceeval.record.chain import open_source
from niceeval.record.columns import TABLES
from niceeval.record.filling import quoted
from niceeval.record.index import connect, open_index
from niceeval.record.layout import Header
from niceeval.record.lines import plain, warn
from niceeval.record.queries import is_large
from niceeval.record.stored_index import PARTS, StoredIndex
from niceeval.record.views_sql import PER_RUN, REQUIREMENTS, RUNS

if TYPE_CHECKING:
    import duckdb

__all__ = ["Answer", "SqlTables"]

_PORTION: Final = 1000
_GUESS: Final = re.compile(r"Did you mean .*")
_MEMORY: Final = "4GB"
_MOST_THREADS: Final = 4


@final
class Answer:
    """The rows of a query, as they come.

    Attributes:
        names: The names of the columns, each another one.
        rows: The rows, which can be read once.
    """

    __slots__ = ("names", "rows")

    def __init__(self, names: Sequence[str], rows: Iterator[tuple[Any, ...]]) -> None:
        self.names = names
        self.rows = rows


@final
class SqlTables:
    """Some runs as tables: runs, attempts, assertions, requirements, plan and matches.

    Args:
        folders: The folders of the runs.

    Raises:
        RecordError: A run cannot be read.
    """

    __slots__ = ("_alarm", "_connection", "_paths", "headers")

    def __init__(self, folders: Sequence[Path]) -> None:
        self._alarm: threading.Timer | None = None
        self._connection = connect(threads=min(os.cpu_count() or 1, _MOST_THREADS))
        self._paths: list[str] = []
        self.headers: list[Header] = []
        parts: dict[str, list[str]] = {name: [] for name in PER_RUN}
        self._connection.execute(RUNS)
        for number, folder in enumerate(folders):
            for name, part in self._add(f"run_{number}", folder).items():
                parts[name].append(part)
        for name, each in parts.items():
            self._connection.execute(f"CREATE VIEW {name} AS {' UNION ALL '.join(each)}")
        self._connection.execute(REQUIREMENTS)

    def _add(self, schema: str, folder: Path) -> Mapping[str, str]:
        source = open_source(folder)
        header = source.header()
        self.headers.append(header)
        self._connection.execute(f"CREATE SCHEMA {schema}")
        index = open_index(self._connection, source, schema, keep=is_large(source))
        for line, reason in index.damaged:
            warn(line, reason)
        if index.folder is not None:
            self._paths += [str(index.table(part)) for part in PARTS]
        [(ended,)] = self._connection.execute(f"SELECT count(*) FROM {schema}.attempts").fetchall()
        run = plain(header.id)
        agents = [plain(agent) for agent in header.agents]
        started = header.started.astimezone(UTC).replace(tzinfo=None)
        texts = [None if text is None else plain(text) for text in (header.resumes, header.stopped)]
        row = [run, started, header.status, agents, header.planned(), ended, *texts, plain(str(folder))]
        self._connection.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        return {name: _share(sql, run, schema, index, folder) for name, sql in PER_RUN.items()}

    def close(self) -> None:
        """Give the memory back."""
        self._silence()
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def copy(self, rows: str, path: Path, options: str) -> None:
        """Write the rows of one of our own statements into a file.

        Raises:
            OSError: It cannot be written.
        """
        import duckdb

        try:
            self._connection.execute(f"COPY ({rows}) TO {quoted(str(path))} ({options})")
        except duckdb.IOException as error:
            raise OSError(str(error)) from error

    def ask(self, sql: str, *, timeout: float | None = None) -> Answer:
        """Answer a query of somebody else's; from then on, nothing but the tables can be reached.

        Args:
            sql: One SELECT statement of DuckDB's dialect.
            timeout: Seconds after which it is given up, also while its rows are read.

        Raises:
            RecordError: It is not one SELECT statement, is wrong, or takes too long; the last, also from its rows.
        """
        with _sentences(sql, timeout):
            self._require_select(sql)
            self._lock()
            if timeout is not None:
                self._alarm = threading.Timer(timeout, self._connection.interrupt)
                self._alarm.daemon = True
                self._alarm.start()
            cursor = self._connection.execute(sql)
        names = _distinct([str(column[0]) for column in cursor.description or ()])
        return Answer(names, self._rows(cursor, sql, timeout))

    def _rows(self, cursor: "duckdb.DuckDBPyConnection", sql: str, timeout: float | None) -> Iterator[tuple[Any, ...]]:
        # A result is made while it is read.
        while True:
            with _sentences(sql, timeout):
                portion = cursor.fetchmany(_PORTION)
            if not portion:
                break
            yield from portion
        self._silence()

    def _silence(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()

    def _require_select(self, sql: str) -> None:
        import duckdb

        statements = self._connection.extract_statements(sql)
        kinds = [statement.type for statement in statements]
        if len(kinds) != 1 or kinds[0] not in (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN):
            said = " and ".join(kind.name for kind in kinds) or "nothing"
            raise RecordError(f"a query is one SELECT statement, which only reads; this is {said}")

    def _lock(self) -> None:
        paths = ", ".join(map(quoted, self._paths))
        for setting in (
            f"allowed_paths = [{paths}]",
            f"memory_limit = '{_MEMORY}'",
            "temp_directory = ''",
            "enable_external_access = false",
            "lock_configuration = true",
        ):
            self._connection.execute(f"SET {setting}")


def _share(sql: str, run: str, schema: str, index: StoredIndex, folder: Path) -> str:
    names = ", ".join(quoted(plain(os.path.relpath(file, folder))) for file in index.files)
    return sql.replace("RUN", quoted(run)).replace("SCHEMA", schema).replace("FILES", f"[{names}]::VARCHAR[]")


@contextmanager
def _sentences(sql: str, timeout: float | None) -> Iterator[None]:
    """Answer what DuckDB says of a query with a sentence."""
    import duckdb

    try:
        yield
    except duckdb.InterruptException:
        raise RecordError(
            f"the query took more than {timeout or 0:g} seconds; narrow it with WHERE or LIMIT, or allow more time"
        ) from None
    except duckdb.Error as error:
        raise RecordError(f"the query cannot be answered: {_sentence(error)}. {_hint(sql)}") from None


def _distinct(names: Sequence[str]) -> list[str]:
    """Return names that differ, as keys must: the second `id` is `id_1`."""
    found: dict[str, None] = {}
    for name in names:
        free = next(
            each for number in range(len(names) + 1) if (each := f"{name}_{number}" if number else name) not in found
        )
        found[free] = None
    return list(found)


def _sentence(error: Exception) -> str:
    """Return what DuckDB says, without the picture of where in the query it is, and without tables of its own."""
    said = " ".join(str(error).split("\n\nLINE ")[0].split())
    return (_GUESS.sub("", said) if said.startswith("Catalog Error") else said).strip().rstrip(".!")


def _hint(sql: str) -> str:
    named = [name for name in TABLES if name in sql.lower()]
    columns = [f"{name} has {', '.join(column.name for column in TABLES[name])}" for name in named]
    return ". ".join([f"The tables are {', '.join(TABLES)}", *columns])
