"""One run, or one eval of it, as a report reads it: from the record alone."""

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from niceeval._documents import Conversation, attempt_from_document, conversation_from_document
from niceeval.errors import RecordError, RecordWarning
from niceeval.record.chain import open_source
from niceeval.record.layout import Header
from niceeval.record.lazy import attempt_builder
from niceeval.record.lines import Line, RunSource, parse, plain, warn
from niceeval.record.queries import RunTables, narrowed
from niceeval.record.rate_conditions import RateCondition, own_rates, rated_evals
from niceeval.record.rates import PassRates, Place, Requirement, Spent
from niceeval.record.tallies import CaseTally
from niceeval.results import AttemptResult

__all__ = ["RunView"]


class RunView:
    """What a report says about a run.

    Args:
        folder: The run's folder.
        eval: Only this eval, by its id, or only one of its cases, by the id with the case in brackets.
        once: Whether nothing else is asked of it now, so that only a very large run gets an index for it.

    Raises:
        RecordError: The run cannot be read, or has no such eval.

    """

    def __init__(self, folder: Path, eval: str | None = None, *, once: bool = False) -> None:
        self.folder = folder
        self.source: RunSource = open_source(folder)
        whole = self.source.header()
        self.header: Header = whole if eval is None else narrowed(whole, eval)
        if eval is not None and not self.header.evals:
            known = ", ".join(planned.id for planned in whole.evals[:8])
            raise RecordError(f"run {whole.id} has no eval {eval!r}; it has: {known or 'none'}")
        self._queries = RunTables(self.source, only=eval, once=once)
        # The plan of a large run is held once.
        self.header = self._queries.header
        self.statuses = self._queries.statuses()
        # A rate is asked of an eval as a whole.
        self._asks = eval is None or any(planned.id == eval for planned in whole.evals)

    @cached_property
    def rates(self) -> PassRates:
        """The rates of the pass-style evals."""
        return self._queries.pass_rates()

    @cached_property
    def asked(self) -> list[RateCondition]:
        """What became of the evals that ask for a rate, for each agent, in the plan's order."""
        if not self._asks or not any(item.rated for item in self.header.evals):
            return []
        return own_rates(self.header, self._queries)

    @cached_property
    def alone(self) -> Mapping[str, int]:
        """How many attempts ended with each status, of those that are judged each by itself."""
        rated = rated_evals(self.header)
        if not rated:
            return self.statuses
        within: Counter[str] = Counter()
        for each in self.tallies:
            if each.eval_id in rated:
                within.update(passed=each.passed, failed=each.failed, errored=each.errored, skipped=each.skipped)
        return {status: count - within[status] for status, count in self.statuses.items()}

    @cached_property
    def tallies(self) -> list[CaseTally]:
        """What became of each case's attempts by each agent."""
        return self._queries.case_tallies()

    @property
    def broke(self) -> bool:
        """Whether something could not be decided that was to be: of an eval that asks for a rate, that rate."""
        open_ = any(each.decision == "inconclusive" and each.errored > each.missing for each in self.asked)
        return open_ or bool(self.alone.get("errored") or self.alone.get("unrankable"))

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

    def attempts(self, *statuses: str, most: int | None = None, rated: bool | None = None) -> Iterator[AttemptResult]:
        """Yield the attempts with one of these statuses, or all, in the plan's order, one by one, at most so many.

        Args:
            statuses: Only attempts that ended so.
            most: At most so many.
            rated: Only attempts of evals that ask for a rate, or only those of the others.
        """
        if statuses and not any(self.statuses.get(status) for status in statuses):
            return
        build = attempt_builder(self.source)
        for place in self._places(statuses, most, rated):
            try:
                yield build(place)
            except RecordError as error:
                warn(place, error)

    def _places(self, statuses: tuple[str, ...], most: int | None, rated: bool | None) -> Iterator[Line]:
        asking = rated_evals(self.header)
        if rated is None or not asking:
            if not rated:
                yield from self._queries.attempts(statuses=statuses, limit=most)
            return
        for name in dict.fromkeys(plain(item.id) for item in self.header.evals):
            if (name in asking) == rated and most != 0:
                found = self._queries.attempts(eval_id=name, statuses=statuses, limit=most)
                most = None if most is None else most - len(found)
                yield from found

    @property
    def retried(self) -> Mapping[str, int]:
        """By status, the attempts that came to their end only after another try."""
        return self._queries.retried()

    @property
    def spent(self) -> Mapping[str, Spent]:
        """What each agent's attempts took, by the agent's name."""
        return self._queries.spent()

    def checks(self) -> Iterator[tuple[str, str, Any]]:
        """Yield every match that decides for a requirement of an eval: eval, requirement, and spec if it is there."""
        return self._queries.checks()

    def conversations(self, most: int) -> Iterator[tuple[AttemptResult, Conversation]]:
        """Yield the first attempts with what was said and done in them."""
        for place in self._queries.attempts(limit=most):
            document = parse(self.source.text(place))
            try:
                attempt = attempt_from_document(document, self.source.blob)
            except RecordError as error:
                warn(place, error)
                continue
            try:
                yield attempt, conversation_from_document(document, self.source.blob)
            except RecordError as error:
                said = f"the conversation of {attempt.name} ({attempt.id}) is left out: {error}"
                warnings.warn(said, RecordWarning, stacklevel=2)

    @property
    def one_case(self) -> bool:
        """Whether this is about a single case."""
        return sum(planned.size for planned in self.header.evals) == 1

    def close(self) -> None:
        """Give the memory back."""
        self._queries.close()
