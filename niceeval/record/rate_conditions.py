"""Conditions on the rates of one run: each is held against what the attempts say, at a stated confidence."""

from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from typing import Literal, Protocol

import attrs
from pydantic import BaseModel, ConfigDict

from niceeval.errors import RecordError
from niceeval.record.layout import Header, PlannedEval
from niceeval.record.lines import plain
from niceeval.record.tallies import Outcome, Planned, Required, cases_of
from niceeval.stats import CaseCounts, SequentialGate, anytime_bounds, decide_rate, needed_in_rounds, wilson
from niceeval.stats.gates import GateDecision

__all__ = ["RateCondition", "RunRates", "own_rates", "rated_evals", "whole_rounds"]


class RateCondition(BaseModel):
    """A rate that has to be reached, and how far the counts say that it is.

    Attributes:
        kind: ``rate`` of everything that was asked for, ``eval`` for an eval's own `min_rate`, or ``requirement``.
        name: The eval or the requirement; ``*`` for everything.
        agent: The agent; empty where no agent took part.
        decision: ``pass``, ``fail`` or ``inconclusive``.
        min_rate: What was asked for.
        confidence: How often each bound holds, at least.
        passed: Attempts that passed.
        decided: Attempts that passed or failed.
        errored: Attempts that were undecided, those that left no result included.
        missing: How many of these left no result.
        cases: Cases that the attempts belong to.
        rate: ``passed / decided``; None where nothing was decided.
        low: The one-sided lower bound, which decides a pass; undecided attempts count as failures.
        high: The one-sided upper bound, which decides a fail; undecided attempts count as passes.
        interval: The two-sided Wilson interval at the same confidence, as the reports show it, over attempts.
        effective: How many independent outcomes the bounds rest on.
        cases_are: ``sampled`` where the cases stand for others like them, ``fixed`` where the rate is about them alone.
        needed: How many outcomes would decide at this rate; None where no number would.
        fixed_decision: What the answer would be about these cases alone.
        rounds: After how many rounds it was decided, or how many had ended, where the eval was repeated only until it
            was: then the bounds hold whenever one stops, there is no interval, and the counts are those of these
            rounds. None where the number of attempts was fixed.
        early: Whether evals that stopped once their own rate was decided are among the counts, although the bounds are
            those of a number of attempts that is fixed before: they are then only nearly right.
    """

    model_config = ConfigDict(frozen=True)

    kind: Literal["rate", "eval", "requirement"]
    name: str
    agent: str
    decision: GateDecision
    min_rate: float
    confidence: float
    passed: int
    decided: int
    errored: int
    missing: int
    cases: int
    rate: float | None
    low: float
    high: float
    interval: tuple[float, float] | None
    effective: float
    cases_are: Literal["sampled", "fixed"]
    needed: int | None
    fixed_decision: GateDecision
    rounds: int | None = None
    early: bool = False


@attrs.frozen(kw_only=True)
class RunRates:
    """The conditions on rates of one run.

    Args:
        run: What sentences call it.
        header: Its plan.
        cases: Its cases; those that came out alike together, unless evals were repeated only until they were decided.
        outcomes: How each attempt ended, where evals were repeated only until they were decided.
        agents: The agents; each is held against every condition by itself.
        evals: Only these evals, or cases of them.
        confidence: How sure an answer has to be.
        sampled: Whether the cases stand for others like them.
    """

    run: str
    header: Header
    cases: Sequence[Planned]
    outcomes: Sequence[Outcome] = ()
    agents: Sequence[str]
    evals: Sequence[str] = ()
    confidence: float = 0.95
    sampled: bool = False

    def overall(self, min_rate: float) -> Iterator[RateCondition]:
        """Hold all pass-style attempts of each agent against one rate."""
        found = {agent: self._of(agent) for agent in self.agents}
        if not any(found.values()):
            raise RecordError(f"{self.run} has no pass-style case here, so it has no pass rate to ask for")
        for agent, cases in found.items():
            if cases:
                yield self._rate("rate", "*", agent, cases, min_rate, self.sampled)

    def own(self) -> Iterator[RateCondition]:
        """Hold each eval that has a rate of its own against it; one of which nothing was meant to be decided, not."""
        asked = {item.id: item for item in self.header.evals if item.rated}
        for item in asked.values():
            assert item.min_rate is not None
            for agent in self.agents:
                cases = [each for each in self._of(agent) if each.tally.eval_id == plain(item.id)]
                if not any(any(each.counts) for each in cases):
                    continue
                if self.header.sequential:
                    yield self._in_rounds(item, agent, cases)
                else:
                    yield self._rate("eval", plain(item.id), agent, cases, item.min_rate, False)

    def requirement(self, key: str, least: float, rows: Sequence[Required]) -> Iterator[RateCondition]:
        """Hold one requirement against a rate; attempts that broke before they came to it are undecided."""
        found = False
        for agent in self.agents:
            mine = [row for row in rows if row.agent == agent]
            if mine:
                found = True
                counts = [(row.counts, row.number) for row in mine]
                missing = sum(row.missing * row.number for row in mine)
                early = self._early({row.eval_id for row in mine})
                yield self._condition("requirement", key, agent, counts, missing, least, self.sampled, early)
        if not found:
            raise RecordError(f"no attempt of {self.run} came to a requirement {key!r} here; see niceeval show")

    def _of(self, agent: str, style: str = "pass") -> list[Planned]:
        return cases_of(self.cases, agent, style=style, evals=self.evals)

    def _early(self, evals: Container[str]) -> bool:
        """Whether one of these evals was repeated only until its own rate was decided."""
        return any(plain(item.id) in evals for item in self.header.evals if self.header.in_rounds(item))

    def _in_rounds(self, item: PlannedEval, agent: str, cases: Sequence[Planned]) -> RateCondition:
        """Hold an eval against its rate that was repeated only until that was decided, round by round."""
        assert item.min_rate is not None
        names = {case.tally.case_id for case in cases}
        most = len(names) * max(self._most(item, agent), 1)
        gate, rounds = SequentialGate(item.min_rate, self.confidence, most), 0
        totals = CaseCounts(0, 0, 0)
        for counts in whole_rounds(self.outcomes, plain(item.id), agent, names):
            rounds += 1
            totals = CaseCounts(*map(sum, zip(totals, counts, strict=True)))
            if gate.update(*totals) in ("pass", "fail"):
                break
        decision: GateDecision = "inconclusive" if gate.decision == "continue" else gate.decision
        passed, failed, undecided = totals
        missing = sum(case.missing for case in cases) if decision == "inconclusive" else 0
        rate = passed / (passed + failed) if passed + failed else None
        low, high = anytime_bounds(passed, failed, undecided, confidence=self.confidence)
        return RateCondition(
            kind="eval",
            name=plain(item.id),
            agent=agent,
            decision=decision,
            min_rate=item.min_rate,
            confidence=self.confidence,
            passed=passed,
            decided=passed + failed,
            errored=undecided + missing,
            missing=missing,
            cases=len(cases),
            rate=rate,
            low=low,
            high=high,
            interval=None,
            effective=float(sum(totals)),
            cases_are="fixed",
            needed=None if rate is None else needed_in_rounds(rate, item.min_rate, confidence=self.confidence),
            fixed_decision=decision,
            rounds=rounds,
        )

    def _most(self, item: PlannedEval, agent: str) -> int:
        """How many attempts each case was to get at most; agents are named as readers see them."""
        return max(
            (self.header.most_of(item, each) for each in self.header.agents or ("",) if plain(each) == agent), default=1
        )

    def _rate(
        self,
        kind: Literal["rate", "eval"],
        name: str,
        agent: str,
        cases: Sequence[Planned],
        min_rate: float,
        sampled: bool,
    ) -> RateCondition:
        missing = sum(case.missing * case.number for case in cases)
        early = self._early({case.tally.eval_id for case in cases})
        counts = [(case.counts, case.number) for case in cases]
        return self._condition(kind, name, agent, counts, missing, min_rate, sampled, early)

    def _condition(
        self,
        kind: Literal["rate", "eval", "requirement"],
        name: str,
        agent: str,
        counted: Sequence[tuple[CaseCounts, int]],
        missing: int,
        min_rate: float,
        sampled: bool,
        early: bool,
    ) -> RateCondition:
        counts, weights = [case for case, _ in counted], [number for _, number in counted]
        made = decide_rate(counts, min_rate, confidence=self.confidence, sampled=sampled, weights=weights)
        fixed = decide_rate(counts, min_rate, confidence=self.confidence, sampled=False, weights=weights)
        return RateCondition(
            kind=kind,
            name=name,
            agent=agent,
            errored=made.undecided,
            missing=missing,
            interval=wilson(made.passed, made.decided, undecided=made.undecided, confidence=self.confidence),
            cases_are="sampled" if sampled else "fixed",
            fixed_decision=fixed.decision,
            early=early,
            **attrs.asdict(made, filter=attrs.filters.exclude("undecided", "sampled")),
        )


class _Counts(Protocol):
    """What answers how a run's attempts came out."""

    def planned(self, evals: Sequence[str] = (), *, each: bool = False) -> Sequence[Planned]: ...
    def outcomes(self) -> Iterable[Outcome]: ...


def own_rates(header: Header, counts: _Counts, *, confidence: float = 0.95) -> list[RateCondition]:
    """Hold each eval of a run that asks for a rate against it, for each agent, in the plan's order."""
    cases = tuple(counts.planned(each=header.sequential))
    agents = list(dict.fromkeys([*map(plain, header.agents), *(each.tally.agent for each in cases)]))
    outcomes = tuple(counts.outcomes()) if header.sequential else ()
    found = RunRates(
        run=f"run {header.id}", header=header, cases=cases, outcomes=outcomes, agents=agents, confidence=confidence
    )
    return list(found.own())


def rated_evals(header: Header) -> frozenset[str]:
    """Return the ids of the evals that are judged by their rate, in place of each attempt."""
    return frozenset(plain(item.id) for item in header.evals if item.rated)


def whole_rounds(
    outcomes: Iterable[Outcome], eval_id: str, agent: str, cases: Collection[str | None]
) -> Iterator[CaseCounts]:
    """Yield what became of each round of an eval, in their order, up to the first in which a case is missing.

    A round is the attempts of one number at all cases; skipped ones belong to it and are counted as nothing.
    """
    found: dict[int, dict[str | None, str]] = {}
    for each in outcomes:
        if each.eval_id == eval_id and each.agent == agent and each.case_id in cases:
            found.setdefault(each.attempt, {})[each.case_id] = each.status
    for number in range(1, len(found) + 1):
        statuses = list(found.get(number, {}).values())
        if len(statuses) < len(cases):
            return
        decided = statuses.count("passed"), statuses.count("failed")
        yield CaseCounts(*decided, len(statuses) - sum(decided) - statuses.count("skipped"))
