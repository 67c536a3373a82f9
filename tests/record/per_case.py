"""Gates, comparisons and ranks as they follow from a list of every single case: slow, and plain to see."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import attrs

from niceeval.record.comparisons import Compared, Comparison, Flip, Share, Side
from niceeval.record.lines import plain
from niceeval.record.queries import RunTables
from niceeval.record.tallies import Planned, RequirementTally, planned_cases
from niceeval.stats import (
    CaseCounts,
    PairedTest,
    RateDecision,
    compare_scores,
    compare_shares,
    decide_rate,
    mean_interval,
)

Pairs: TypeAlias = Sequence[tuple[Planned, Planned]]


def cases(tables: RunTables, agent: str, style: str | None = None, evals: Sequence[str] = ()) -> list[Planned]:
    """Return every case of an agent."""
    return [
        each
        for each in planned_cases(tables.header, tables.case_tallies())
        if each.tally.agent == agent
        and style in (None, each.tally.style)
        and (not evals or each.tally.eval_id in evals or each.name in evals)
    ]


def rate(tables: RunTables, agent: str, least: float, *, sampled: bool, evals: Sequence[str] = ()) -> RateDecision:
    """Hold all pass-style cases against a rate."""
    return decide_rate([each.counts for each in cases(tables, agent, "pass", evals)], least, sampled=sampled)


def requirement(tables: RunTables, agent: str, key: str, least: float) -> RateDecision:
    """Hold a requirement against a rate; attempts that broke before they came to it are undecided."""
    mine = {(row.eval_id, row.case_id): row for row in tables.requirement_tallies(key) if row.agent == agent}
    concerned = {eval_id for eval_id, _ in mine}
    counts: list[CaseCounts] = []
    for case in cases(tables, agent):
        if case.tally.eval_id in concerned:
            row = mine.get(case.key)
            passed, failed, undecided, errored = (0, 0, 0, 0) if row is None else row[4:]
            counts.append(CaseCounts(passed, failed, undecided + case.tally.errored - errored + case.missing))
    return decide_rate(counts, least)


def pairs_of(one: RunTables, other: RunTables, agents: tuple[str, str], style: str) -> Pairs:
    """Return the cases that both have."""
    theirs = {each.key: each for each in cases(other, agents[1], style)}
    return [(each, theirs[each.key]) for each in cases(one, agents[0], style) if each.key in theirs]


def shares(pairs: Sequence[tuple[CaseCounts, CaseCounts]]) -> PairedTest:
    """Compare shares over the cases that both sides decided."""
    decided = [(a, b) for a, b in pairs if a.passed + a.failed and b.passed + b.failed]
    return compare_shares([_of(a) for a, _ in decided], [_of(b) for _, b in decided])


def means(pairs: Pairs, *, confidence: float = 0.95) -> PairedTest:
    """Compare mean scores over the cases that both sides scored."""
    decided = [(a.tally.scores, b.tally.scores) for a, b in pairs if a.tally.scores and b.tally.scores]
    first, second = ([sum(pair[side]) / len(pair[side]) for pair in decided] for side in (0, 1))
    return compare_scores(first, second, confidence=confidence)


def comparison(one: RunTables, other: RunTables, ids: tuple[str, str], agents: tuple[str, str]) -> Comparison:
    """Compare two agents case by case."""
    passing, scoring = (pairs_of(one, other, agents, style) for style in ("pass", "score"))
    every = [*passing, *scoring]
    seen = {(each.key, each.tally.style) for each, _ in every}
    flips = [
        (_share(b) - _share(a), Flip(name=a.name, first=_of(a.counts), second=_of(b.counts)))
        for a, b in passing
        if _decides(a) and _decides(b)
    ]
    only = [
        tuple(each.name for each in cases(side, agent) if (each.key, each.tally.style) not in seen)
        for side, agent in zip((one, other), agents, strict=True)
    ]
    return Comparison(
        first=Side(run_id=ids[0], agent=agents[0]),
        second=Side(run_id=ids[1], agent=agents[1]),
        overall=_rates("evals", "*", passing) if passing else None,
        evals=tuple(_rates("eval", name, found) for name, found in _by_eval(passing).items()),
        scores=tuple(_scores(name, found) for name, found in _by_eval(scoring).items()),
        requirements=tuple(_requirements(one, other, agents)),
        worse=tuple(flip for difference, flip in flips if difference < 0),
        better=tuple(flip for difference, flip in flips if difference > 0),
        undecided=tuple(a.name for a, b in every if not (_decides(a) and _decides(b))),
        only_first=only[0],
        only_second=only[1],
    )


def place(tables: RunTables, agent: str) -> dict[str, Any]:
    """Return what a ranking says of an agent, without its rank."""
    mine = cases(tables, agent, "score")
    scores = [Fraction(repr(score)) for each in mine for score in each.tally.scores]
    scored = [sum(each.tally.scores) / len(each.tally.scores) for each in mine if each.tally.scores]
    return {
        "mean_score": float(sum(scores, Fraction()) / len(scores)) if scores else None,
        "interval": mean_interval(scored),
        "scored": len(scores),
        "cases": len(scored),
        "unrankable": sum(each.tally.unrankable for each in mine),
        "errored": sum(each.tally.errored + each.missing for each in mine),
        "planned": sum(each.planned for each in mine),
    }


def histories(tables: RunTables, evals: Sequence[str]) -> dict[str, tuple[int, int, int]]:
    """Return of each requirement the attempts that met it, failed it and did not decide it."""
    found: dict[str, Counter[str]] = {}
    for row in tables.requirement_tallies():
        name = row.eval_id if row.case_id is None else f"{row.eval_id}[{row.case_id}]"
        if not evals or {row.eval_id, name} & set(map(plain, evals)):
            counts = {"passed": row.passed, "failed": row.failed, "undecided": row.undecided}
            found.setdefault(row.requirement, Counter()).update(counts)
    return {key: (counts["passed"], counts["failed"], counts["undecided"]) for key, counts in found.items()}


def _of(counts: CaseCounts) -> tuple[int, int]:
    return counts.passed, counts.passed + counts.failed


def _share(case: Planned) -> float:
    return case.tally.passed / (case.tally.passed + case.tally.failed)


def _decides(case: Planned) -> bool:
    return bool(case.tally.scores if case.tally.style == "score" else case.tally.passed + case.tally.failed)


def _by_eval(pairs: Pairs) -> dict[str, Pairs]:
    names = dict.fromkeys(a.tally.eval_id for a, _ in pairs)
    return {name: [pair for pair in pairs if pair[0].tally.eval_id == name] for name in names}


def _rates(kind: Any, name: str, pairs: Pairs) -> Compared:
    test = shares([(a.counts, b.counts) for a, b in pairs])
    first, second = (
        _total([pair[side].counts for pair in pairs], sum(pair[side].planned for pair in pairs)) for side in (0, 1)
    )
    return Compared(kind=kind, name=name, first=first, second=second, **attrs.asdict(test))


def _scores(name: str, pairs: Pairs) -> Compared:
    first, second = (_mean([pair[side] for pair in pairs]) for side in (0, 1))
    return Compared(kind="score", name=name, first=first, second=second, **attrs.asdict(means(pairs)))


def _mean(found: Sequence[Planned]) -> Share:
    scores = [score for each in found for score in each.tally.scores]
    return Share(
        passed=len(scores),
        decided=len(scores),
        errored=sum(each.tally.errored + each.tally.unrankable + each.missing for each in found),
        planned=sum(each.planned for each in found),
        value=sum(scores) / len(scores) if scores else None,
    )


def _requirements(one: RunTables, other: RunTables, agents: tuple[str, str]) -> list[Compared]:
    first, second = (
        _by_requirement([row for row in tables.requirement_tallies() if row.agent == agent])
        for tables, agent in zip((one, other), agents, strict=True)
    )
    both = sorted(first.keys() & second.keys(), key=lambda name: (-sum(c.failed for c in second[name].values()), name))
    found: list[Compared] = []
    for name in both:
        mine, theirs = first[name], second[name]
        test = shares([(mine[key], theirs[key]) for key in mine if key in theirs])
        totals = _total([*mine.values()], None), _total([*theirs.values()], None)
        found.append(Compared(kind="requirement", name=name, first=totals[0], second=totals[1], **attrs.asdict(test)))
    return found


def _by_requirement(rows: Sequence[RequirementTally]) -> dict[str, dict[Any, CaseCounts]]:
    found: dict[str, dict[Any, CaseCounts]] = {}
    for row in rows:
        counts = CaseCounts(row.passed, row.failed, row.undecided)
        found.setdefault(row.requirement, {})[row.eval_id, row.case_id] = counts
    return found


def _total(counts: Sequence[CaseCounts], planned: int | None) -> Share:
    passed, failed, undecided = (sum(column) for column in zip(*counts, strict=True))
    decided = passed + failed
    value = passed / decided if decided else None
    return Share(passed=passed, decided=decided, errored=undecided, planned=planned, value=value)
