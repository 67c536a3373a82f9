"""Whether a run is good enough: conditions on its rates, each answered with pass, fail or inconclusive."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from niceeval.errors import RecordError
from niceeval.record.compare import compared, sides_of
from niceeval.record.comparisons import Comparison
from niceeval.record.lines import plain
from niceeval.record.rate_conditions import RateCondition, RunRates
from niceeval.record.regressions import Regression, regressions
from niceeval.record.tallies import RunCases, agents_of, read_cases
from niceeval.stats.gates import GateDecision

if TYPE_CHECKING:
    from niceeval.record.read import Record, RunInfo

__all__ = ["Condition", "ErroredShare", "GateResult", "RateCondition", "gate"]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True)


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
        confidence: How sure an answer has to be, at least 0.5 and below 1: with less, a rate could both pass and fail.
        evals: Only these evals, or cases of them.
        agents: Only these agents; each is held against every condition by itself.
        cases: Whether the cases stand for others like them, or the rate is about these alone.

    Raises:
        RecordError: A run cannot be read, or has nothing that the gate could be about.
        ValueError: An argument is out of range.
        TypeError: `evals` or `agents` is a text instead of a list of texts.
    """
    _require_sense(confidence, cases, evals=evals, agents=agents)
    found = read_cases(record, run, evals=evals)
    names = agents_of(found, [plain(agent) for agent in agents])
    wanted = [plain(name) for name in evals]
    _known_evals(found, wanted)
    rates = RunRates(
        run=f"run {found.id}",
        header=found.header,
        cases=found.cases,
        outcomes=found.outcomes,
        agents=names,
        confidence=confidence,
        sampled=cases == "sampled",
    )
    conditions: list[Condition] = [*(rates.own() if min_rate is None else rates.overall(min_rate))]
    for key, least in (requirements or {}).items():
        conditions += rates.requirement(key, least, found.tables.required(key, wanted))
    if max_errored is not None:
        conditions += [_errored(found, name, max_errored) for name in names]
    differences: list[Comparison] = []
    if baseline is not None:
        before = read_cases(record, baseline, evals=evals)
        for pair in _pairs(before, found, names, named=bool(agents)):
            paired = before.tables.paired(found.tables, pair, wanted)
            conditions += regressions(before.id, pair[1], paired, confidence)
            differences.append(compared((before.id, found.id), pair, paired, confidence=confidence))
    if not conditions:
        raise RecordError(
            f"nothing to hold run {found.id} against: none of its evals has a min_rate of its own; give a rate, a "
            "requirement, a share of errored attempts or a baseline"
        )
    answers = {each.decision for each in conditions}
    decision: GateDecision = "fail" if "fail" in answers else "inconclusive" if "inconclusive" in answers else "pass"
    return GateResult(run_id=found.id, decision=decision, conditions=tuple(conditions), comparisons=tuple(differences))


def _require_sense(confidence: float, cases: str, **lists: Sequence[str]) -> None:
    if not 0.5 <= confidence < 1:
        raise ValueError(f"confidence must be at least 0.5 and below 1, got {confidence}")
    if cases not in ("sampled", "fixed"):
        raise ValueError(f"cases must be 'sampled' or 'fixed', got {cases!r}")
    for name, given in lists.items():
        if isinstance(given, str):
            raise TypeError(f"{name} got the bare text {given!r}; write {name}=[{given!r}]")


def _pairs(before: RunCases, found: RunCases, names: Sequence[str], *, named: bool) -> list[tuple[str, str]]:
    """Return which agent of the baseline stands against which of the run; one that was named must have one."""
    pairs = sides_of(before, found, name_others=not named)
    alone = [name for name in names if named and name not in {here for _, here in pairs}]
    if alone:
        raise RecordError(f"run {before.id} has no agent {alone[0]!r} to compare with: give another baseline")
    return [pair for pair in pairs if pair[1] in names]


def _known_evals(run: RunCases, wanted: Sequence[str]) -> None:
    for name in wanted:
        if not run.tables.planned([name]):
            evals = ", ".join(dict.fromkeys(each.tally.eval_id for each in run.tables.planned())) or "none"
            raise RecordError(f"run {run.id} has no eval {name!r}; it has: {evals}")


def _errored(run: RunCases, agent: str, most: float) -> ErroredShare:
    if not (isfinite(most) and 0 <= most <= 1):
        raise ValueError(f"max_errored must be from 0 to 1, got {most}")
    cases = [*run.of(agent), *run.of(agent, style="score")]
    errored = sum((each.tally.errored + each.tally.unrankable) * each.number for each in cases)
    missing, planned = (
        sum(count * each.number for each, count in zip(cases, counts, strict=True))
        for counts in ([each.missing for each in cases], [each.planned for each in cases])
    )
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
