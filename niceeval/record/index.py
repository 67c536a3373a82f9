"""The engine for large runs, and for SQL: DuckDB over tables that are derived from the lines.

Those of a large sealed run are kept beside it, as Parquet, and made again when they are stale, damaged or gone; others
are in memory.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, final

from niceeval.errors import RecordError
from niceeval.record import counted_sql, index_sql
from niceeval.record.filling import Filling, quoted
from niceeval.record.index_cases import IndexCases
from niceeval.record.lines import Line, RunSource, plain, specs_in, warn
from niceeval.record.places import Places
from niceeval.record.rates import Spent, Tally
from niceeval.record.stored_index import PARTS, StoredIndex, index_folder, publish, run_folder_of
from niceeval.record.tallies import CaseTally, Outcome, RequirementTally
from niceeval.record.tally_queries import CASE_TALLIES, OUTCOMES, REQUIREMENT_TALLIES, case_tally, exact_score

if TYPE_CHECKING:
    import duckdb
    import numpy as np

__all__ = ["IndexEngine", "connect", "open_index"]

T = TypeVar("T")

_ALL: Final = 1 << 62
_MOST_THREADS: Final = 4


def connect(*, threads: int = 1) -> "duckdb.DuckDBPyConnection":
    """Return a database in memory that installs nothing and looks at no Python variable and no stored credential."""
    import duckdb

    config: dict[str, str | bool | int | float | list[str]] = {
        "threads": threads,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "python_enable_replacements": False,
        "enable_external_file_cache": False,
        "allow_persistent_secrets": False,
    }
    return duckdb.connect(":memory:", config=config)


def open_index(connection: "duckdb.DuckDBPyConnection", source: RunSource, schema: str, *, keep: bool) -> StoredIndex:
    """Give a schema the tables of a run: attempts, assertions, plan and matches.

    Args:
        connection: The database, which has the schema.
        source: The run.
        schema: Its name.
        keep: Whether tables that have to be made are kept beside the run, where that is possible.

    Raises:
        RecordError: The run cannot be read.
    """
    import duckdb

    folder, run = index_folder(source), run_folder_of(source)
    try:
        found = None
        if folder is not None and run is not None:
            found = StoredIndex.load(folder, run)
            if found is None and keep and publish(folder, run, lambda staging: _write(source, staging)):
                found = StoredIndex.load(folder, run)
        if found is None:
            return _fill(connection, source, lambda part, rows: _in_memory(connection, f"{schema}.{part}", rows))
    except duckdb.Error as error:
        raise RecordError(f"the run {run} cannot be read: {error}") from error
    for part in PARTS:
        connection.execute(f"CREATE VIEW {schema}.{part} AS SELECT * FROM {_parquet(found.table(part))}")
    return found


def _write(source: RunSource, folder: Path) -> StoredIndex:
    import duckdb

    def put(part: str, rows: str) -> str:
        path = folder / f"{part}.parquet"
        connection.execute(f"COPY ({rows}) TO {quoted(str(path))} (FORMAT parquet)")
        return _parquet(path)

    try:
        with connect(threads=min(os.cpu_count() or 1, _MOST_THREADS)) as connection:
            return _fill(connection, source, put)
    except duckdb.IOException as error:
        raise OSError(str(error)) from error


def _parquet(path: Path) -> str:
    return f"read_parquet({quoted(str(path))})"


def _in_memory(connection: "duckdb.DuckDBPyConnection", table: str, rows: str) -> str:
    connection.execute(f"CREATE TABLE {table} AS {rows}")
    return table


def _fill(connection: "duckdb.DuckDBPyConnection", source: RunSource, put: Callable[[str, str], str]) -> StoredIndex:
    """Make the tables of a run; `put` takes a table's name and its rows as a query, and says what to select from."""
    filling = Filling(connection, source, source.header())
    connection.execute(f"CREATE TEMP TABLE ranks AS {filling.attempts}")
    put("attempts", "SELECT * EXCLUDE (ordinal) FROM ranks")
    assertions = put("assertions", filling.assertions)
    put("plan", "SELECT * FROM plan")
    connection.execute("CREATE TEMP TABLE no_scores (score VARCHAR)")
    odd = connection.execute(counted_sql.ODD_SCORES.replace("ATTEMPTS", "ranks")).fetchall()
    for score in [score for (score,) in odd if exact_score(score) is None]:
        connection.execute("INSERT INTO no_scores VALUES (?)", [score])
    nameless = "false" if source.header().agents else "true"
    counted = counted_sql.CASES.replace("NAMELESS", nameless).replace("ATTEMPTS", "ranks").replace("PLAN", "plan")
    cases = put("cases", counted)
    met = counted_sql.MET.replace("ATTEMPTS", "ranks").replace("ASSERTIONS", assertions).replace("CASES", cases)
    put("met", met)
    files = filling.files
    exemplars = connection.execute(index_sql.EXEMPLARS.replace("ASSERTIONS", assertions)).fetchall()
    connection.execute("CREATE TEMP TABLE specs (fingerprint VARCHAR, match VARCHAR, spec VARCHAR)")
    for rows in _specs(source, files, exemplars):
        connection.execute(index_sql.SPECS, [json.dumps(rows)])
    put("matches", "SELECT * FROM specs ORDER BY fingerprint")
    connection.execute("DROP TABLE specs; DROP TABLE no_scores; DROP TABLE ranks")
    filling.close()
    return StoredIndex(None, tuple(files), tuple(filling.damaged))


def _specs(
    source: RunSource, files: list[str], exemplars: Iterable[tuple[Any, ...]]
) -> Iterator[list[Mapping[str, str | None]]]:
    """Yield the specs of matches in portions; each is read from one of the attempts that hold it."""
    portion: list[Mapping[str, str | None]] = []
    for file, *place, fingerprints in exemplars:
        specs = specs_in(source.text(Line(files[file], *place)))
        for fingerprint in fingerprints:
            spec = specs.get(fingerprint) if isinstance(specs, dict) else None
            if isinstance(spec, dict):
                name = spec.get("match")
                known = plain(name) if isinstance(name, str) else None
                portion.append({"fingerprint": fingerprint, "match": known, "spec": json.dumps(spec)})
        if len(portion) >= index_sql.PORTION:
            yield portion
            portion = []
    yield portion


@final
class IndexEngine:
    """The attempts of one run in the tables of an index.

    Args:
        source: The run.
        only: Only this eval, by its id, or only one of its cases, by the id with the case in brackets.
    """

    __slots__ = ("_beside", "_connection", "_index", "cases")

    def __init__(self, source: RunSource, *, only: str | None = None) -> None:
        self._connection = connect()
        self._connection.execute("CREATE SCHEMA whole")
        self._index = open_index(self._connection, source, "whole", keep=True)
        for statement in index_sql.NARROWED:
            # A view takes no parameters.
            self._connection.execute(statement.replace("$only", "NULL" if only is None else quoted(only)))
        self.cases = IndexCases(self._rows, "main")
        self._beside: dict[Path, IndexCases] = {}
        for line, reason in self._index.damaged:
            warn(line, reason)

    def beside(self, other: "IndexEngine") -> IndexCases | None:
        """Return the cases of another run, in this one's database; None where that has no file to read them from."""
        if other is self:
            return self.cases
        index = other._index
        if index.folder is None:
            return None
        if index.folder not in self._beside:
            schema = f"beside_{len(self._beside)}"
            self._rows(f"CREATE SCHEMA {schema}")
            for part in PARTS:
                self._rows(f"CREATE VIEW {schema}.{part} AS SELECT * FROM {_parquet(index.table(part))}")
            self._beside[index.folder] = IndexCases(self._rows, schema)
        return self._beside[index.folder]

    def close(self) -> None:
        """Give the memory back."""
        self._connection.close()

    def _rows(self, sql: str, values: Mapping[str, object] | None = None) -> list[tuple[Any, ...]]:
        return self._ask(sql, values, lambda answer: answer.fetchall())

    def _columns(self, sql: str, values: Mapping[str, object] | None = None) -> "list[np.ndarray]":
        import numpy as np

        return self._ask(sql, values, lambda answer: [np.asarray(column) for column in answer.fetchnumpy().values()])

    def _ask(
        self, sql: str, values: Mapping[str, object] | None, take: "Callable[[duckdb.DuckDBPyConnection], T]"
    ) -> T:
        import duckdb

        try:
            return take(self._connection.execute(sql, values or {}))
        except duckdb.Error as error:
            raise RecordError(f"the index {self._index.folder} was removed while it was read; ask again") from error

    def _line(self, file: int, number: int, offset: int, size: int) -> Line:
        return Line(self._index.files[file], number, offset, size)

    def attempts(
        self,
        *,
        verdict: str | None = None,
        eval_id: str | None = None,
        agent: str | None = None,
        statuses: tuple[str, ...] = (),
        limit: int | None = None,
    ) -> list[Line]:
        """Return where the attempts that fit stand."""
        most = _ALL if limit is None else limit
        values = {
            "verdict": verdict,
            "eval": eval_id,
            "agent": agent,
            "statuses": list(statuses),
            "limit": most,
        }
        return [self._line(*row) for row in self._rows(index_sql.ATTEMPTS, values)]

    def assertions(
        self, *, decision: str | None = None, requirement: str | None = None, limit: int | None = None
    ) -> Sequence[tuple[Line, int]]:
        """Return where the assertions that fit stand: the attempt's line and the place in its list."""
        values = {"decision": decision, "requirement": requirement}
        if limit is not None:
            rows = self._rows(index_sql.FOUND, {**values, "limit": limit})
            return [(self._line(*line), place) for _, place, *line in rows]
        (positions, places), lines = self._columns(index_sql.ASSERTIONS, values), self._columns(index_sql.LINES)
        return Places(self._index.files, lines, positions, places)

    def counts(self) -> Iterable[Tally]:
        """Return what became of pass-style cases' attempts, of those that came out alike together."""
        return map(Tally._make, self._rows(index_sql.COUNTS))

    def statuses(self) -> Mapping[str, int]:
        """Return how many attempts ended with each status."""
        return dict(self._rows(index_sql.STATUSES))

    def requirements(self) -> list[tuple[str, str, int, int, int, int, int]]:
        """Return of each eval and requirement its first place, and the attempts failed, errored, reached and run."""
        return [
            (eval_id, name, first or 0, failed, errored, reached, ran)
            for eval_id, name, first, failed, errored, reached, ran in self._rows(index_sql.REQUIREMENTS)
        ]

    def scores(self) -> Iterable[tuple[str, str, str | None, int]]:
        """Return how many score-style attempts there are of each agent, status and score."""
        return [(row[0], row[1], row[2], row[3]) for row in self._rows(index_sql.SCORES)]

    def checks(self) -> Iterator[tuple[str, str, Any]]:
        """Yield every match that decides for a requirement of an eval: eval, requirement, spec."""
        for eval_id, name, spec in self._rows(index_sql.CHECKS):
            yield eval_id, name, None if spec is None else json.loads(spec)

    def case_tallies(self) -> Iterable[CaseTally]:
        """Return what became of each case's attempts by each agent."""
        return [case_tally(*row) for row in self._rows(CASE_TALLIES)]

    def outcomes(self) -> Iterable[Outcome]:
        """Return how each attempt of the pass-style evals ended."""
        return map(Outcome._make, self._rows(OUTCOMES))

    def requirement_tallies(self, requirement: str | None) -> Iterable[RequirementTally]:
        """Return how one requirement, or every one, came out in each case's attempts by each agent."""
        return map(RequirementTally._make, self._rows(REQUIREMENT_TALLIES, {"requirement": requirement}))

    def retried(self) -> Mapping[str, int]:
        """Return by status how many attempts came to their end only after another try."""
        return dict(self._rows(index_sql.RETRIED))

    def spent(self) -> Iterable[Spent]:
        """Return what each agent's attempts took."""
        return map(Spent._make, self._rows(index_sql.SPENT))

    def find(self, prefix: str) -> list[Line]:
        """Return where the attempts stand whose ids begin so."""
        return [self._line(*row) for row in self._rows(index_sql.FIND, {"prefix": prefix})]
