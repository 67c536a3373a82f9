"""The cases of a run that is counted in plain Python."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol, final

from niceeval.record.layout import Header
from niceeval.record.tallies import CaseTally, Planned, Required, RequirementTally, planned_cases
from niceeval.stats import CaseCounts

__all__ = ["PlainCases"]


class _Engine(Protocol):
    def case_tallies(self) -> Iterable[CaseTally]: ...
    def requirement_tallies(self, requirement: str | None) -> Iterable[RequirementTally]: ...
    def reasons(self) -> list[tuple[str, str, str, str | None, int]]: ...


@final
class PlainCases:
    """The cases of one run.

    Args:
        header: The run's plan.
        engine: What counts its attempts.
    """

    __slots__ = ("_cases", "_engine", "_header")

    def __init__(self, header: Header, engine: _Engine) -> None:
        self._header = header
        self._engine = engine
        self._cases: tuple[Planned, ...] | None = None

    def agents(self) -> list[str]:
        """Return the agents that have a case, in the plan's order, then those that it does not name."""
        return list(dict.fromkeys(case.tally.agent for case in self._all()))

    def planned(self, evals: Sequence[str], *, each: bool) -> list[Planned]:
        """Return the cases, each by itself or those that came out alike together."""
        asked = [case for case in self._all() if _of(case, evals)]
        if each:
            return asked
        counted = Counter(case._replace(tally=case.tally._replace(case_id=None)) for case in asked)
        return [case._replace(number=number) for case, number in counted.items()]

    def required(self, key: str, evals: Sequence[str]) -> list[Required]:
        """Return how a requirement came out in the cases of the evals that came to it."""
        met = {(row.eval_id, row.case_id, row.agent): row for row in self._engine.requirement_tallies(key)}
        concerned = {(eval_id, agent) for eval_id, _, agent in met}
        counted: Counter[Required] = Counter()
        for case in self._all():
            tally = case.tally
            if (tally.eval_id, tally.agent) in concerned and _of(case, evals):
                row = met.get((tally.eval_id, tally.case_id, tally.agent))
                passed, failed, undecided, errored = (0, 0, 0, 0) if row is None else row[4:]
                counts = CaseCounts(passed, failed, undecided + tally.errored - errored + case.missing)
                counted[Required(tally.eval_id, tally.agent, counts, case.missing)] += 1
        return [each._replace(number=number) for each, number in counted.items()]

    def sums(self, key: str | None, evals: Sequence[str]) -> list[tuple[str, int, int, int]]:
        """Return of each requirement the attempts that met it, failed it and did not decide it."""
        found: dict[str, CaseCounts] = {}
        for row in self._engine.requirement_tallies(key):
            name = row.eval_id if row.case_id is None else f"{row.eval_id}[{row.case_id}]"
            if not evals or row.eval_id in evals or name in evals:
                passed, failed, undecided = found.get(row.requirement, CaseCounts(0, 0))
                counts = CaseCounts(passed + row.passed, failed + row.failed, undecided + row.undecided)
                found[row.requirement] = counts
        return [(requirement, *counts) for requirement, counts in found.items()]

    def reasons(self) -> list[tuple[str, str, str, str | None, int]]:
        """Return of score-style attempts that have no score: eval, agent, status, reason, and how many."""
        return self._engine.reasons()

    def _all(self) -> tuple[Planned, ...]:
        if self._cases is None:
            self._cases = tuple(planned_cases(self._header, self._engine.case_tallies()))
        return self._cases


def _of(case: Planned, evals: Sequence[str]) -> bool:
    return not evals or case.tally.eval_id in evals or case.name in evals
