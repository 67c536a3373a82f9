"""`Record`: all runs on disk, and the questions that can be asked about them."""

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, Self, TypeVar, cast, final, get_args, overload

from pydantic import BaseModel, ConfigDict

from niceeval._documents import assertion_from_document, attempt_from_document
from niceeval.errors import RecordError
from niceeval.record.layout import Header, RunStatus, read_header
from niceeval.record.lines import Damaged, FolderSource, Line, parse
from niceeval.record.locate import find_record, find_run, readable_runs, run_folders
from niceeval.record.queries import RunTables
from niceeval.record.rates import PassRates, Place, Requirement
from niceeval.record.rows import Rows
from niceeval.results import AssertionResult, AttemptResult, Decision, Verdict

__all__ = ["Record", "RunInfo"]

T = TypeVar("T")
_KEPT: Final = 4
"""How many runs stay loaded at a time."""


class RunInfo(BaseModel):
    """One run of the record.

    Attributes:
        id: Its id: the time it started, in UTC, and four random letters or digits.
        started: When it started.
        status: ``running``, ``sealed`` or ``interrupted``; a process that was killed leaves ``running``.
        folder: Where it is.
        agents: The agents' names.
        planned: How many attempts were meant to run.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    started: datetime
    status: RunStatus
    folder: Path
    agents: tuple[str, ...] = ()
    planned: int = 0


@final
class Record:
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
        infos = [_info(folder, header) for folder, header in found]
        return Rows(sorted(infos, key=lambda info: (info.started, info.id), reverse=True))

    def run(self, id: str = "latest", /) -> RunInfo:
        """Return one run.

        Args:
            id: Its id, or ``latest``.

        Raises:
            RecordError: There is no such run, or it cannot be read, such as one from a newer version.
        """
        folder = self._folder(id)
        return _info(folder, read_header(folder))

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
        _one_of("verdict", verdict, get_args(Verdict))
        tables = self._table(run)
        lines = tables.attempts(verdict=verdict, eval_id=eval, agent=agent)[: _limit(limit)]
        source = tables.source
        return Rows(_Lazy(lines, lambda line: attempt_from_document(_parsed(source.text(line), line), source.blob)))

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
        _one_of("decision", decision, get_args(Decision))
        tables = self._table(run)
        places = tables.assertions(decision=decision, requirement=key)[: _limit(limit)]
        return Rows(_Lazy(places, _assertion_builder(tables)))

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
        source = FolderSource(folder)
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


P = TypeVar("P")


@final
class _Lazy(Sequence[T]):
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
        return _Lazy(self._places[i], self._build) if isinstance(i, slice) else self._build(self._places[i])

    def __len__(self) -> int:
        return len(self._places)


def _assertion_builder(tables: RunTables) -> Callable[[tuple[Line, int]], AssertionResult]:
    source = tables.source
    last: list[tuple[Line, dict[str, object]]] = []

    def build(place: tuple[Line, int]) -> AssertionResult:
        line, index = place
        # Assertions of one attempt follow each other, so that keeping one parsed line spares most of the parsing.
        if not last or last[0][0] != line:
            last[:] = [(line, _parsed(source.text(line), line))]
        return assertion_from_document(last[0][1], index, source.blob)

    return build


def _parsed(raw: bytes, line: Line) -> dict[str, object]:
    try:
        return parse(raw)
    except Damaged as error:
        raise RecordError(f"{line.file}, line {line.number} was changed since it was found: {error}") from error


def _info(folder: Path, header: Header) -> RunInfo:
    return RunInfo(
        id=header.id,
        started=header.started,
        status=header.status,
        folder=folder,
        agents=header.agents,
        planned=header.planned(),
    )


def _one_of(name: str, value: str | None, known: Sequence[str]) -> None:
    if value is not None and value not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")


def _limit(limit: int | None) -> int | None:
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
        raise ValueError(f"limit must be a whole number of 0 or more, or None for all, got {limit!r}")
    return limit
