"""Two runs, or two agents of one run, case by case."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs

from niceeval.errors import RecordError
from niceeval.record.comparisons import Compared, Comparison, Flip, Share, Side
from niceeval.record.lines import plain
from niceeval.record.rows import Rows
from niceeval.record.tallies import Planned, RequirementTally, RunCases, agents_of, read_cases
from niceeval.stats import CaseCounts, PairedTest, compare_scores, compare_shares

if TYPE_CHECKING:
    from niceeval.record.read import Record, RunInfo

__all__ = ["compare", "comparisons", "pair_shares", "sides_of"]

Key: TypeAlias = tuple[str, str | None]


def compare(
    record: "Record",
    first: "RunInfo | str",
    second: "RunInfo | str | None" = None,
    /,
    *,
    agents: tuple[str, str] | None = None,
    evals: Sequence[str] = (),
    confidence: float = 0.95,
) -> Rows[Comparison]:
    """Compare two runs, or two agents of one run, over the cases that both have.

    Args:
        record: The record that holds the runs.
        first: The run that is compared with, such as the one before a change.
        second: The run that is compared; None for another agent of the same run.
        agents: The agent of the first and that of the second run. Without it, the only agent of one is compared with
            the only agent of the other, whatever they are called, and of several each with its namesake.
        evals: Only these evals, or cases of them.
        confidence: That of the intervals, above 0 and below 1.

    Returns:
        One comparison for each pair of agents.

    Raises:
        RecordError: A run cannot be read, or there is no agent to compare with.
        ValueError: `confidence` is out of range.
    """
    one = _only(read_cases(record, first), evals)
    other = one if second is None else _only(read_cases(record, second), evals)
    if second is None and agents is None:
        raise RecordError(
            f"a run is compared with another one, or two agents of it with each other; run {one.id} has: "
            f"{', '.join(filter(None, agents_of(one))) or 'no agent'}"
        )
    runs = {run.id: run for run in (one, other)}
    met = {name: _met(record, run) for name, run in runs.items()}
    return Rows(comparisons(one, other, sides_of(one, other, agents), met, confidence=confidence))


def comparisons(
    one: RunCases,
    other: RunCases,
    pairs: Iterable[tuple[str, str]],
    met: Mapping[str, Sequence[RequirementTally]] | None = None,
    *,
    evals: Sequence[str] = (),
    confidence: float,
) -> list[Comparison]:
    """Compare runs whose cases are counted already, for each pair of agents; without `met`, no requirements."""
    first, second = _only(one, evals), _only(other, evals)
    return [_compared(first, second, pair, met or {}, confidence) for pair in pairs]


def _only(run: RunCases, evals: Sequence[str]) -> RunCases:
    wanted = [plain(name) for name in evals]
    kept = (each for each in run.cases if not wanted or each.tally.eval_id in wanted or each.name in wanted)
    return attrs.evolve(run, cases=tuple(kept))


def sides_of(one: RunCases, other: RunCases, agents: tuple[str, str] | None = None) -> list[tuple[str, str]]:
    """Return which agent of one run is compared with which of the other.

    Raises:
        RecordError: None can be.
    """
    if agents is not None:
        return [(agents_of(one, agents[:1])[0], agents_of(other, agents[1:])[0])]
    first, second = agents_of(one), agents_of(other)
    if len(first) == len(second) == 1:
        return [(first[0], second[0])]
    shared = [(name, name) for name in first if name in second]
    if not shared:
        raise RecordError(
            f"the runs {one.id} and {other.id} have no agent in common: {', '.join(first) or 'none'} there, "
            f"{', '.join(second) or 'none'} here; say which two to compare"
        )
    return shared


def pair_shares(pairs: Iterable[tuple[CaseCounts, CaseCounts]], confidence: float) -> PairedTest:
    """Compare the shares of attempts that passed over the cases that both sides decided."""
    decided = [(a, b) for a, b in pairs if a.passed + a.failed and b.passed + b.failed]
    return compare_shares([_of(a) for a, _ in decided], [_of(b) for _, b in decided], confidence=confidence)


def _share(counts: CaseCounts) -> float:
    return counts.passed / (counts.passed + counts.failed)


@attrs.frozen
class _Sides:
    first: dict[Key, Planned]
    second: dict[Key, Planned]

    def shared(self) -> list[tuple[Planned, Planned]]:
        return [(each, self.second[key]) for key, each in self.first.items() if key in self.second]


def _sides(one: RunCases, other: RunCases, pair: tuple[str, str], style: str) -> _Sides:
    first, second = one.of(pair[0], style=style), other.of(pair[1], style=style)
    return _Sides({each.key: each for each in first}, {each.key: each for each in second})


def _compared(
    one: RunCases,
    other: RunCases,
    pair: tuple[str, str],
    met: Mapping[str, Sequence[RequirementTally]],
    confidence: float,
) -> Comparison:
    passing, scoring = (_sides(one, other, pair, style) for style in ("pass", "score"))
    shared = passing.shared()
    moved = [
        (_share(b.counts) - _share(a.counts), Flip(name=a.name, first=_of(a.counts), second=_of(b.counts)))
        for a, b in shared
        if a.tally.passed + a.tally.failed and b.tally.passed + b.tally.failed
    ]
    every = [*shared, *scoring.shared()]
    seen = {(each.name, each.tally.style) for each, _ in every}
    return Comparison(
        first=Side(run_id=one.id, agent=pair[0]),
        second=Side(run_id=other.id, agent=pair[1]),
        overall=_rates("evals", "*", shared, confidence) if shared else None,
        evals=tuple(_rates("eval", name, found, confidence) for name, found in _by_eval(shared)),
        scores=tuple(_scores(name, found, confidence) for name, found in _by_eval(scoring.shared())),
        requirements=tuple(_requirements(met.get(one.id, ()), met.get(other.id, ()), pair, confidence)),
        worse=tuple(flip for difference, flip in moved if difference < 0),
        better=tuple(flip for difference, flip in moved if difference > 0),
        undecided=tuple(a.name for a, b in every if not (_decides(a) and _decides(b))),
        only_first=_names(one, pair[0], seen),
        only_second=_names(other, pair[1], seen),
    )


def _of(counts: CaseCounts) -> tuple[int, int]:
    return counts.passed, counts.passed + counts.failed


def _decides(case: Planned) -> bool:
    return bool(case.tally.scores if case.tally.style == "score" else case.tally.passed + case.tally.failed)


def _names(run: RunCases, agent: str, seen: set[tuple[str, str]]) -> tuple[str, ...]:
    found = [each for each in run.cases if each.tally.agent == agent]
    return tuple(each.name for each in found if (each.name, each.tally.style) not in seen)


def _by_eval(pairs: Iterable[tuple[Planned, Planned]]) -> list[tuple[str, list[tuple[Planned, Planned]]]]:
    found: dict[str, list[tuple[Planned, Planned]]] = {}
    for pair in pairs:
        found.setdefault(pair[0].tally.eval_id, []).append(pair)
    return [*found.items()]


def _rates(
    kind: Literal["evals", "eval"], name: str, pairs: Sequence[tuple[Planned, Planned]], confidence: float
) -> Compared:
    test = pair_shares([(a.counts, b.counts) for a, b in pairs], confidence)
    first, second = (_rate([pair[side] for pair in pairs]) for side in (0, 1))
    return Compared(kind=kind, name=name, first=first, second=second, **attrs.asdict(test))


def _rate(cases: Sequence[Planned]) -> Share:
    passed, failed, undecided = (sum(column) for column in zip(*(each.counts for each in cases), strict=True))
    decided = passed + failed
    return Share(
        passed=passed,
        decided=decided,
        errored=undecided,
        planned=sum(each.planned for each in cases),
        value=passed / decided if decided else None,
    )


def _scores(name: str, pairs: Sequence[tuple[Planned, Planned]], confidence: float) -> Compared:
    decided = [(a.tally.scores, b.tally.scores) for a, b in pairs if a.tally.scores and b.tally.scores]
    means = [[sum(pair[side]) / len(pair[side]) for pair in decided] for side in (0, 1)]
    test = compare_scores(means[0], means[1], confidence=confidence)
    first, second = (_mean([pair[side] for pair in pairs]) for side in (0, 1))
    return Compared(kind="score", name=name, first=first, second=second, **attrs.asdict(test))


def _mean(cases: Sequence[Planned]) -> Share:
    scores = [score for each in cases for score in each.tally.scores]
    return Share(
        passed=len(scores),
        decided=len(scores),
        errored=sum(each.tally.errored + each.tally.unrankable + each.missing for each in cases),
        planned=sum(each.planned for each in cases),
        value=sum(scores) / len(scores) if scores else None,
    )


def _requirements(
    one: Iterable[RequirementTally], other: Iterable[RequirementTally], pair: tuple[str, str], confidence: float
) -> Iterable[Compared]:
    first, second = (_by_requirement(rows, agent) for rows, agent in ((one, pair[0]), (other, pair[1])))
    for name in sorted(
        first.keys() & second.keys(), key=lambda name: (-sum(c.failed for c in second[name].values()), name)
    ):
        mine, theirs = first[name], second[name]
        test = pair_shares([(mine[key], theirs[key]) for key in mine if key in theirs], confidence)
        first_total, second_total = _total(mine.values()), _total(theirs.values())
        yield Compared(kind="requirement", name=name, first=first_total, second=second_total, **attrs.asdict(test))


def _met(record: "Record", run: RunCases) -> list[RequirementTally]:
    here = {each.key for each in run.cases}
    return [row for row in record.requirement_tallies(run.info) if (row.eval_id, row.case_id) in here]


def _by_requirement(rows: Iterable[RequirementTally], agent: str) -> dict[str, dict[Key, CaseCounts]]:
    found: dict[str, dict[Key, CaseCounts]] = {}
    for row in rows:
        if row.agent == agent:
            counts = CaseCounts(row.passed, row.failed, row.undecided)
            found.setdefault(row.requirement, {})[row.eval_id, row.case_id] = counts
    return found


def _total(counts: Iterable[CaseCounts]) -> Share:
    passed, failed, undecided = (sum(column) for column in zip(*counts, strict=True))
    decided = passed + failed
    value = passed / decided if decided else None
    return Share(passed=passed, decided=decided, errored=undecided, planned=None, value=value)
