"""One run, or one eval of it, as a report reads it: from the record alone."""

from collections.abc import Iterator
from pathlib import Path

import attrs

from niceeval._documents import Conversation, attempt_from_document, conversation_from_document
from niceeval.errors import RecordError
from niceeval.record.layout import Header
from niceeval.record.lines import Damaged, FolderSource, Line, RunSource, parse, warn
from niceeval.record.queries import RunTables
from niceeval.record.rates import PassRates, Place, Requirement
from niceeval.record.run import RunResult
from niceeval.results import AttemptResult

__all__ = ["RunView"]


class _OneEval:
    """The lines of one eval, or of one of its cases, as if the run had no others."""

    def __init__(self, source: RunSource, name: str) -> None:
        self._source = source
        self._name = name

    def header(self) -> Header:
        header = self._source.header()
        kept = []
        for planned in header.evals:
            if planned.id == self._name:
                kept.append(planned)
            elif planned.cases is not None:
                cases = tuple(case for case in planned.cases if f"{planned.id}[{case}]" == self._name)
                if cases:
                    kept.append(attrs.evolve(planned, cases=cases))
        return attrs.evolve(header, evals=tuple(kept))

    def lines(self) -> Iterator[tuple[Line, bytes]]:
        for place, raw in self._source.lines():
            try:
                document = parse(raw)
            except Damaged as error:
                warn(place, error)
                continue
            if self._name in (document["eval"], f"{document['eval']}[{document.get('case')}]"):
                yield place, raw

    def text(self, line: Line) -> bytes:
        return self._source.text(line)

    def blob(self, digest: str) -> bytes:
        return self._source.blob(digest)

    def signature(self) -> object:
        return self._source.signature()


class RunView:
    """What a report says about a run.

    Args:
        folder: The run's folder.
        eval: Only this eval, by its id, or only one of its cases, by the id with the case in brackets.

    Raises:
        RecordError: The run cannot be read, or has no such eval.

    """

    def __init__(self, folder: Path, eval: str | None = None) -> None:
        whole = FolderSource(folder)
        self.folder = folder
        self.source: RunSource = whole if eval is None else _OneEval(whole, eval)
        self.header = self.source.header()
        if eval is not None and not self.header.evals:
            known = ", ".join(planned.id for planned in whole.header().evals[:8])
            raise RecordError(f"run {self.header.id} has no eval {eval!r}; it has: {known or 'none'}")
        self.statuses = RunResult(self.source).statuses
        self._tables: RunTables | None = None

    @property
    def rates(self) -> PassRates:
        """The rates of the pass-style evals."""
        return self._queries.pass_rates()

    @property
    def requirements(self) -> list[Requirement]:
        """How every requirement came out."""
        return self._queries.requirements()

    @property
    def ranking(self) -> list[Place]:
        """The agents by their scores; nothing where no eval is score-style."""
        return self._queries.ranking()

    @property
    def finished(self) -> int:
        """How many attempts have ended."""
        return sum(self.statuses.values())

    def attempts(self, *statuses: str) -> Iterator[AttemptResult]:
        """Yield the attempts with one of these statuses, or all, in the plan's order, one at a time."""
        if statuses and not any(self.statuses.get(status) for status in statuses):
            return
        verdict = "failed" if statuses == ("failed",) else None
        for place in self._queries.attempts(verdict=verdict):
            document = parse(self.source.text(place))
            if statuses and document["status"] not in statuses:
                continue
            try:
                yield attempt_from_document(document, self.source.blob)
            except RecordError as error:
                warn(place, error)

    def conversations(self, most: int) -> Iterator[tuple[AttemptResult, Conversation]]:
        """Yield the first attempts with what was said and done in them."""
        for place in self._queries.attempts()[:most]:
            document = parse(self.source.text(place))
            try:
                attempt = attempt_from_document(document, self.source.blob)
                yield attempt, conversation_from_document(document, self.source.blob)
            except RecordError as error:
                warn(place, error)

    @property
    def one_case(self) -> bool:
        """Whether this is about a single case."""
        return sum(planned.size for planned in self.header.evals) == 1

    def close(self) -> None:
        """Give the memory back."""
        if self._tables is not None:
            self._tables.close()
            self._tables = None

    @property
    def _queries(self) -> RunTables:
        if self._tables is None:
            self._tables = RunTables(self.source)
        return self._tables
