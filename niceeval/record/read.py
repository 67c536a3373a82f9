"""`Record`: all runs on disk, and the questions that can be asked about them."""

from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, Final, Self, final, get_args

from niceeval._documents import attempt_from_document
from niceeval.errors import RecordError
from niceeval.record.answers import Answers
from niceeval.record.arguments import most_of, one_of
from niceeval.record.chain import open_source
from niceeval.record.export import Format, export_run
from niceeval.record.find import found_attempt
from niceeval.record.info import RunInfo, run_info
from niceeval.record.layout import read_header
from niceeval.record.lazy import Lazy, assertion_builder, attempt_builder
from niceeval.record.locate import find_record, find_run, readable_runs, run_folders
from niceeval.record.queries import RunTables
from niceeval.record.rates import PassRates, Place, Requirement
from niceeval.record.rows import Rows
from niceeval.record.sql import SqlTables
from niceeval.results import AssertionResult, AttemptResult, Decision, Verdict

__all__ = ["Record", "RunInfo"]

_KEPT: Final = 4
"""How many runs stay loaded at a time."""


@final
class Record(Answers):
    """All runs in one place, the newest first; nothing is ever run or judged again to answer a question.

    >>> import tempfile
    >>> from niceeval.record.write import RunWriter
    >>> folder = tempfile.TemporaryDirectory()
    >>> writer = RunWriter.create(Path(folder.name), {"agents": ["demo"], "evals": [{"id": "greets"}]})
    >>> writer.append('{"id":"0a1b2c3d4e5f","eval":"greets","agent":"demo","status":"passed"}')
    >>> writer.seal()
    >>> with Record.open(folder.name) as record:
    ...     record.pass_rates().overall.rate, record.attempts()[0].verdict
    (1.0, 'passed')
    >>> folder.cleanup()
    """

    __slots__ = ("_closed", "_only", "_root", "_tables")

    def __init__(self, root: Path, only: Path | None = None, /) -> None:
        self._root = root
        self._only = only
        self._tables: dict[Path, RunTables] = {}
        self._closed = False

    @classmethod
    def open(cls, path: str | Path | None = None, /) -> Self:
        """Open a record for reading.

        Args:
            path: The record's folder, a project that holds one, or the folder of one run, which is then the only one.
                None looks upward from the working directory.

        Raises:
            RecordError: There is no record.
        """
        return cls(*find_record(path))

    def close(self) -> None:
        """Give the memory back. Rows that were handed out stay readable."""
        self._closed = True
        while self._tables:
            self._tables.popitem()[1].close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def runs(self) -> Rows[RunInfo]:
        """Return all runs, the newest first; one that cannot be read is named in a `RecordWarning` and left out."""
        found = readable_runs([self._only] if self._only else run_folders(self._root))
        infos = [run_info(folder, header) for folder, header in found]
        return Rows(sorted(infos, key=lambda info: (info.started, info.id), reverse=True))

    def run(self, id: str = "latest", /) -> RunInfo:
        """Return one run.

        Args:
            id: Its id, or ``latest``.

        Raises:
            RecordError: There is no such run, or it cannot be read, such as one from a newer version.
        """
        folder = self._folder(id)
        return run_info(folder, read_header(folder))

    def attempts(
        self,
        run: RunInfo | str = "latest",
        /,
        *,
        verdict: Verdict | None = None,
        eval: str | None = None,
        agent: str | None = None,
        limit: int | None = None,
    ) -> Rows[AttemptResult]:
        """Return attempts of a run in the plan's order; each is built when its row is reached.

        Args:
            run: A run, its id, or ``latest``.
            verdict: Only pass-style attempts with this verdict.
            eval: Only attempts at this eval: its id, or the id with a case in brackets.
            agent: Only attempts by this agent.
            limit: At most so many, 0 or more.

        Raises:
            ValueError: `verdict` or `limit` is none that exists.
            RecordError: The run cannot be read.
        """
        one_of("verdict", verdict, get_args(Verdict))
        most, tables = most_of(limit), self._table(run)
        lines = tables.attempts(verdict=verdict, eval_id=eval, agent=agent, limit=most)
        return Rows(Lazy(lines, attempt_builder(tables.source)))

    def assertions(
        self,
        run: RunInfo | str = "latest",
        /,
        *,
        decision: Decision | None = None,
        key: str | None = None,
        limit: int | None = None,
    ) -> Rows[AssertionResult]:
        """Return assertions of a run in the plan's order; each is built when its row is reached.

        Args:
            run: A run, its id, or ``latest``.
            decision: Only those that decided this.
            key: Only those of this requirement: the key, else the label, else the match, as in `requirements`.
            limit: At most so many, 0 or more.

        Raises:
            ValueError: `decision` or `limit` is none that exists.
            RecordError: The run cannot be read.
        """
        one_of("decision", decision, get_args(Decision))
        most, tables = most_of(limit), self._table(run)
        places = tables.assertions(decision=decision, requirement=key, limit=most)
        return Rows(Lazy(places, assertion_builder(tables.source)))

    def requirements(self, run: RunInfo | str = "latest", /) -> Rows[Requirement]:
        """Return how every requirement of a run came out, in the order in which the plan comes to it.

        Raises:
            RecordError: The run cannot be read.
        """
        return Rows(self._table(run).requirements())

    def pass_rates(self, run: RunInfo | str = "latest", /) -> PassRates:
        """Return the rates of a run's pass-style evals, overall, per eval and agent, and per agent.

        Raises:
            RecordError: The run cannot be read.
        """
        return self._table(run).pass_rates()

    def ranking(self, run: RunInfo | str = "latest", /) -> Rows[Place]:
        """Return the agents of a run by the mean of their score-style attempts; without such evals there is no row.

        Raises:
            RecordError: The run cannot be read.
        """
        return Rows(self._table(run).ranking())

    def attempt(
        self,
        name: str,
        run: RunInfo | str = "latest",
        /,
        *,
        agent: str | None = None,
        attempt: int | None = None,
    ) -> AttemptResult:
        """Return one attempt of a run.

        Args:
            name: Its id, or at least four digits of the beginning; or its eval's id, with the case in brackets.
            run: A run, its id, or ``latest``.
            agent: Only attempts by this agent.
            attempt: Only the attempt with this number, from 1.

        Raises:
            RecordError: There is none, or there are several, which the message lists; or the run cannot be read.
        """
        tables = self._table(run)
        return attempt_from_document(found_attempt(tables, name, agent=agent, attempt=attempt), tables.source.blob)

    def query(
        self, sql: str, run: RunInfo | str | Sequence[RunInfo | str] = "latest", /, *, timeout: float | None = None
    ) -> Rows[dict[str, Any]]:
        """Answer a query in SQL, in the dialect of DuckDB, over one run, several, or all.

        Args:
            sql: One SELECT statement over the tables runs, attempts, assertions, requirements, plan and matches.
            run: A run, its id, or ``latest``; or a sequence of those; or ``all``.
            timeout: Seconds after which the query is given up, above 0; None for never.

        Returns:
            One dict per row, with the columns' names as keys.

        Raises:
            ValueError: `timeout` is not above 0.
            RecordError: The query does not only read, is wrong or takes too long, or a run cannot be read.
        """
        if timeout is not None and not (isfinite(timeout) and timeout > 0):
            raise ValueError(f"timeout must be above 0 seconds, or None for never, got {timeout}")
        with SqlTables(self._folders(run)) as tables:
            answer = tables.ask(sql, timeout=timeout)
            return Rows([dict(zip(answer.names, row, strict=True)) for row in answer.rows], columns=answer.names)

    def export(
        self, out: str | Path, run: RunInfo | str = "latest", /, *, format: Format = "parquet"
    ) -> Mapping[str, Path]:
        """Write all tables of a run into a folder, one file for each, for other tools.

        Args:
            out: The folder, made where it is missing.
            run: A run, its id, or ``latest``.
            format: ``parquet``, ``csv`` or ``jsonl``.

        Returns:
            The file of each table.

        Raises:
            ValueError: There is no such format.
            RecordError: The run cannot be read, or a file cannot be written.
        """
        return export_run(self._folder(run), format, Path(out))

    def _folders(self, run: RunInfo | str | Sequence[RunInfo | str]) -> list[Path]:
        if run == "all":
            return [info.folder for info in self.runs()]
        if isinstance(run, RunInfo | str):
            return [self._folder(run)]
        return list(dict.fromkeys(map(self._folder, run)))

    def tables(self, run: RunInfo | str = "latest", /) -> RunTables:
        """Return what counts a run's attempts, which gates, comparisons and ranks start from.

        It is closed with the record, or once several other runs have been asked about.

        Raises:
            RecordError: The run cannot be read.
        """
        return self._table(run)

    def _folder(self, run: RunInfo | str) -> Path:
        if isinstance(run, RunInfo):
            return run.folder
        if not isinstance(run, str):
            raise TypeError(f"a run is asked for by its id, 'latest' or a RunInfo, got {type(run).__name__}")
        if self._only is not None:
            if run in ("latest", self._only.name, self._only.resolve().name):
                return self._only
            raise RecordError(f"the record was opened on the run {self._only}; open {self._root} to read {run!r}")
        return find_run(self._root, run)

    def _table(self, run: RunInfo | str) -> RunTables:
        if self._closed:
            raise RecordError(f"the record {self._root} is closed; open it again with Record.open()")
        folder = self._folder(run)
        source = open_source(folder)
        loaded = self._tables.pop(folder, None)
        if loaded is not None and loaded.signature != source.signature():
            loaded.close()
            loaded = None
        if loaded is None:
            loaded = RunTables(source)
        self._tables[folder] = loaded
        while len(self._tables) > _KEPT:
            self._tables.pop(next(iter(self._tables))).close()
        return loaded
