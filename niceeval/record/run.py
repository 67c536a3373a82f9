"""`RunResult`: what a finished run hands back, read from its lines only as far as it is asked."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import NoReturn, Self, final

from niceeval._documents import attempt_from_document
from niceeval.errors import RecordError
from niceeval.record.chain import ChainSource, open_source
from niceeval.record.layout import Header, RunStatus
from niceeval.record.lines import Damaged, FolderSource, MemorySource, RunSource, parse, warn
from niceeval.record.order import plan_order
from niceeval.record.queries import RunTables
from niceeval.record.rates import PassRates
from niceeval.record.write import MemoryWriter, RunWriter
from niceeval.results import AttemptResult

__all__ = ["RunResult"]


@final
class RunResult:
    """All attempts of one invocation.

    Nothing is held in memory until it is asked for: `attempts` builds every model, `iter_attempts()` one at a time, and
    `rates` and `statuses` only count.
    """

    __slots__ = ("_attempts", "_counts", "_header", "_source")

    def __init__(self, source: RunSource, /) -> None:
        self._source = source
        self._header: Header = source.header()
        self._attempts: tuple[AttemptResult, ...] | None = None
        self._counts: tuple[Mapping[str, int], PassRates] | None = None

    @classmethod
    def from_writer(cls, writer: RunWriter | MemoryWriter, /) -> Self:
        """Return the result of the run that `writer` wrote, on disk or in memory; call it after ``seal()``."""
        return cls(MemorySource(writer) if isinstance(writer, MemoryWriter) else open_source(writer.folder))

    @property
    def id(self) -> str:
        """The run's id."""
        return self._header.id

    @property
    def started(self) -> datetime:
        """When it started."""
        return self._header.started

    @property
    def status(self) -> RunStatus:
        """``sealed`` where it went to its end, else ``interrupted``; ``running`` before."""
        return self._header.status

    @property
    def folder(self) -> Path | None:
        """Where it is recorded; None for a run in memory."""
        return self._source.folder if isinstance(self._source, FolderSource | ChainSource) else None

    @property
    def planned(self) -> int:
        """How many attempts were meant to run."""
        return self._header.planned()

    @property
    def attempts(self) -> tuple[AttemptResult, ...]:
        """Every attempt, in the plan's order. Of a large run, prefer `iter_attempts()` or a query of the record."""
        if self._attempts is None:
            order = plan_order(self._header)
            built = list(self.iter_attempts())
            built.sort(key=lambda item: order(item.eval_id, item.case_id, item.agent, item.attempt))
            self._attempts = tuple(built)
        return self._attempts

    def iter_attempts(self) -> Iterator[AttemptResult]:
        """Yield the attempts one at a time, in the order in which they were written; a damaged one is a warning."""
        for line, raw in self._source.lines():
            try:
                yield attempt_from_document(parse(raw), self._source.blob)
            except (Damaged, RecordError) as error:
                warn(line, error)

    @property
    def statuses(self) -> Mapping[str, int]:
        """How many attempts ended with each status."""
        return dict(self._counted()[0])

    @property
    def rates(self) -> PassRates:
        """The pass rates, overall and per eval and agent; pass@k and pass^k with them."""
        return self._counted()[1]

    def _counted(self) -> tuple[Mapping[str, int], PassRates]:
        if self._counts is None:
            tables = RunTables(self._source, once=True)
            try:
                self._counts = tables.statuses(), tables.pass_rates()
            finally:
                tables.close()
        return self._counts

    def __repr__(self) -> str:
        return f"<RunResult {self.id} {self.status}>"

    def __bool__(self) -> NoReturn:
        raise TypeError("a result has no truth value; read .statuses or .rates")
