"""Whether a run is good enough: conditions on its rates, each answered with pass, fail or inconclusive."""

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs
from pydantic import BaseModel, ConfigDict

from niceeval.errors import RecordError
from niceeval.record.compare import comparisons, sides_of
from niceeval.record.comparisons import Comparison
from niceeval.record.lines import plain
from niceeval.record.regressions import Regression, regressions
from niceeval.record.tallies import Planned, RequirementTally, RunCases, agents_of, read_cases
from niceeval.stats import CaseCounts, decide_rate, wilson
from niceeval.stats.gates import GateDecision

if TYPE_CHECKING:
    from niceeval.record.read import Record, RunInfo

__all__ = ["Condition", "ErroredShare", "GateResult", "RateCondition", "gate"]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True)


class RateCondition(_Model):
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
    """

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


class ErroredShare(_Model):
    """How many of the planned attempts may be errored. This compares counts and estimates nothing.

    Attributes:
        kind: ``errored``.
        agent: The agent; empty where no agent took part.
        decision: ``inconclusive`` where attempts that left no result would decide it.
        max_errored: The largest share that passes.
        errored: Attempts that were errored, or unrankable.
        missing: Attempts that were meant to run and left no result.
        planned: Attempts that were meant to run.
        share: ``errored / planned``.
    """

    kind: Literal["errored"] = "errored"
    agent: str
    decision: GateDecision
    max_errored: float
    errored: int
    missing: int
    planned: int
    share: float


Condition: TypeAlias = RateCondition | ErroredShare | Regression


class GateResult(_Model):
    """What a gate answers.

    Attributes:
        run_id: The run.
        decision: ``fail`` if a condition fails, else ``inconclusive`` if one is, else ``pass``.
        conditions: Every condition, with its arithmetic.
        comparisons: The comparisons with the baseline, if there is one; without requirements.
    """

    run_id: str
    decision: GateDecision
    conditions: tuple[Condition, ...]
    comparisons: tuple[Comparison, ...] = ()


def gate(
    record: "Record",
    run: "RunInfo | str" = "latest",
    /,
    *,
    min_rate: float | None = None,
    requirements: Mapping[str, float] | None = None,
    max_errored: float | None = None,
    baseline: "RunInfo | str | None" = None,
    confidence: float = 0.95,
    evals: Sequence[str] = (),
    agents: Sequence[str] = (),
    cases: Literal["sampled", "fixed"] = "sampled",
) -> GateResult:
    """Decide whether a run is good enough.

    Args:
        record: The record that holds the run.
        run: The run.
        min_rate: What the rate of all pass-style attempts has to reach, above 0 and at most 1. Without it, evals that
            have a `min_rate` of their own are held against that, about their own cases alone.
        requirements: For each requirement, what its rate has to reach.
        max_errored: The largest share of the planned attempts that may be errored, 0 to 1.
        baseline: A run that this one must not be worse than.
        confidence: How sure an answer has to be, above 0 and below 1.
        evals: Only these evals, or cases of them.
        agents: Only these agents; each is held against every condition by itself.
        cases: Whether the cases stand for others like them, or the rate is about these alone.

    Raises:
        RecordError: A run cannot be read, or has nothing that the gate could be about.
        ValueError: An argument is out of range.
    """
    found = read_cases(record, run)
    names = agents_of(found, [plain(agent) for agent in agents])
    wanted = [plain(name) for name in evals]
    _known_evals(found, wanted)
    conditions: list[Condition] = []
    rates = _Rates(found, names, wanted, confidence, cases == "sampled")
    if min_rate is not None:
        conditions += rates.overall(min_rate)
    else:
        conditions += rates.own()
    for key, least in (requirements or {}).items():
        conditions += rates.requirement(key, least, record.requirement_tallies(found.info, key=key))
    if max_errored is not None:
        conditions += [_errored(found, name, wanted, max_errored) for name in names]
    compared: list[Comparison] = []
    if baseline is not None:
        before = read_cases(record, baseline)
        conditions += regressions(before, found, names, wanted, confidence)
        pairs = [pair for pair in sides_of(before, found) if pair[1] in names]
        compared = comparisons(before, found, pairs, evals=evals, confidence=confidence)
    if not conditions:
        raise RecordError(
            f"nothing to hold run {found.id} against: none of its evals has a min_rate of its own; give a rate, a "
            "requirement, a share of errored attempts or a baseline"
        )
    answers = {each.decision for each in conditions}
    decision: GateDecision = "fail" if "fail" in answers else "inconclusive" if "inconclusive" in answers else "pass"
    return GateResult(run_id=found.id, decision=decision, conditions=tuple(conditions), comparisons=tuple(compared))


def _known_evals(run: RunCases, wanted: Sequence[str]) -> None:
    known = {name for each in run.cases for name in (each.tally.eval_id, each.name)}
    for name in wanted:
        if name not in known:
            evals = ", ".join(dict.fromkeys(each.tally.eval_id for each in run.cases)) or "none"
            raise RecordError(f"run {run.id} has no eval {name!r}; it has: {evals}")


@attrs.frozen
class _Rates:
    """The conditions on rates of one run."""

    run: RunCases
    agents: Sequence[str]
    evals: Sequence[str]
    confidence: float
    sampled: bool

    def overall(self, min_rate: float) -> Iterable[Condition]:
        """Hold all pass-style attempts of each agent against one rate."""
        found = {agent: self.run.of(agent, evals=self.evals) for agent in self.agents}
        if not any(found.values()):
            raise RecordError(f"run {self.run.id} has no pass-style case here, so it has no pass rate to ask for")
        for agent, cases in found.items():
            if cases:
                yield self._rate("rate", "*", agent, cases, min_rate, self.sampled)

    def own(self) -> Iterable[Condition]:
        """Hold each eval that has a rate of its own against it."""
        for item in self.run.header.evals:
            if item.min_rate is None or item.style != "pass":
                continue
            for agent in self.agents:
                cases = [each for each in self.run.of(agent, evals=self.evals) if each.tally.eval_id == plain(item.id)]
                if cases:
                    yield self._rate("eval", plain(item.id), agent, cases, item.min_rate, False)

    def requirement(self, key: str, least: float, rows: Sequence[RequirementTally]) -> Iterable[Condition]:
        """Hold one requirement against a rate; attempts that broke before they came to it are undecided."""
        found = False
        for agent in self.agents:
            mine = {(row.eval_id, row.case_id): row for row in rows if row.agent == agent}
            concerned = {eval_id for eval_id, _ in mine}
            counts: list[CaseCounts] = []
            missing = 0
            for style in ("pass", "score"):
                for case in self.run.of(agent, style=style, evals=self.evals):
                    if case.tally.eval_id in concerned:
                        counts.append(_required(case, mine.get(case.key)))
                        missing += case.missing
            if counts:
                found = True
                yield self._condition("requirement", key, agent, counts, missing, least, self.sampled)
        if not found:
            raise RecordError(f"no attempt of run {self.run.id} came to a requirement {key!r} here; see niceeval show")

    def _rate(
        self,
        kind: Literal["rate", "eval"],
        name: str,
        agent: str,
        cases: Sequence[Planned],
        min_rate: float,
        sampled: bool,
    ) -> RateCondition:
        missing = sum(case.missing for case in cases)
        return self._condition(kind, name, agent, [case.counts for case in cases], missing, min_rate, sampled)

    def _condition(
        self,
        kind: Literal["rate", "eval", "requirement"],
        name: str,
        agent: str,
        counts: Sequence[CaseCounts],
        missing: int,
        min_rate: float,
        sampled: bool,
    ) -> RateCondition:
        made = decide_rate(counts, min_rate, confidence=self.confidence, sampled=sampled)
        fixed = decide_rate(counts, min_rate, confidence=self.confidence, sampled=False)
        return RateCondition(
            kind=kind,
            name=name,
            agent=agent,
            errored=made.undecided,
            missing=missing,
            interval=wilson(made.passed, made.decided, undecided=made.undecided, confidence=self.confidence),
            cases_are="sampled" if sampled else "fixed",
            fixed_decision=fixed.decision,
            **attrs.asdict(made, filter=attrs.filters.exclude("undecided", "sampled")),
        )


def _required(case: Planned, row: RequirementTally | None) -> CaseCounts:
    passed, failed, undecided, errored = (0, 0, 0, 0) if row is None else row[4:]
    return CaseCounts(passed, failed, undecided + case.tally.errored - errored + case.missing)


def _errored(run: RunCases, agent: str, evals: Sequence[str], most: float) -> ErroredShare:
    if not (isfinite(most) and 0 <= most <= 1):
        raise ValueError(f"max_errored must be from 0 to 1, got {most}")
    cases = [*run.of(agent, evals=evals), *run.of(agent, style="score", evals=evals)]
    errored = sum(each.tally.errored + each.tally.unrankable for each in cases)
    missing, planned = sum(each.missing for each in cases), sum(each.planned for each in cases)
    decision: GateDecision = "inconclusive"
    if planned and errored / planned > most:
        decision = "fail"
    elif planned and (errored + missing) / planned <= most:
        decision = "pass"
    return ErroredShare(
        agent=agent,
        decision=decision,
        max_errored=most,
        errored=errored,
        missing=missing,
        planned=planned,
        share=errored / planned if planned else 0.0,
    )
