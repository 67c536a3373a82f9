"""Two runs, or two agents of one run, case by case."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs

from niceeval.errors import RecordError, RecordWarning
from niceeval.record.comparisons import Compared, Comparison, Flip, Share, Side
from niceeval.record.pairs import Pair, Paired, PairedRequirement
from niceeval.record.rows import Rows
from niceeval.record.tallies import CaseTally, Planned, RunCases, agents_of, read_cases
from niceeval.stats import CaseCounts, PairedTest, compare_scores, compare_shares

if TYPE_CHECKING:
    from niceeval.record.read import Record, RunInfo

__all__ = ["Counted", "by_eval", "compare", "compared", "pair_scores", "pair_shares", "sides_of"]

Counted: TypeAlias = tuple[CaseCounts, CaseCounts, int]
"""The counts of a case on both sides, and of how many cases they are."""


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
    one = read_cases(record, first, evals=evals)
    other = one if second is None else read_cases(record, second, evals=evals)
    if second is None and agents is None:
        raise RecordError(
            f"a run is compared with another one, or two agents of it with each other; run {one.id} has: "
            f"{', '.join(filter(None, agents_of(one))) or 'no agent'}"
        )
    found: list[Comparison] = []
    for pair in sides_of(one, other, agents):
        met = one.tables.paired_requirements(other.tables, pair, evals)
        paired = one.tables.paired(other.tables, pair, evals)
        found.append(compared((one.id, other.id), pair, paired, met, confidence=confidence))
    return Rows(found)


def sides_of(
    one: RunCases, other: RunCases, agents: tuple[str, str] | None = None, *, name_others: bool = True
) -> list[tuple[str, str]]:
    """Return which agent of one run is compared with which of the other.

    Args:
        one: The run that is compared with.
        other: The run that is compared.
        agents: The agent of each; None for all that both have.
        name_others: Whether a `RecordWarning` names agents of one run only.

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
    for here, there, names in ((one, other, first), (other, one, second)) if name_others else ():
        alone = [name for name in names if (name, name) not in shared]
        if alone:
            said = f"{'agents' if len(alone) > 1 else 'agent'} {', '.join(alone)} of run {here.id}"
            warnings.warn(RecordWarning(f"{said}: not in run {there.id}, and not compared"), stacklevel=3)
    return shared


def pair_shares(pairs: Iterable[Counted], confidence: float) -> PairedTest:
    """Compare the shares of attempts that passed over the cases that both sides decided."""
    decided = [each for each in pairs if all(counts.passed + counts.failed for counts in each[:2])]
    first, second = [_of(a) for a, _, _ in decided], [_of(b) for _, b, _ in decided]
    return compare_shares(first, second, confidence=confidence, weights=[number for _, _, number in decided])


def pair_scores(pairs: Iterable[Pair], confidence: float) -> PairedTest:
    """Compare the mean scores over the cases that both sides scored."""
    decided = [each for each in pairs if each.decided]
    first, second = ([sum(case.scores) / len(case.scores) for case in side] for side in _tallies(decided))
    return compare_scores(first, second, confidence=confidence, weights=[each.number for each in decided])


def compared(
    runs: tuple[str, str],
    agents: tuple[str, str],
    paired: Paired,
    met: Sequence[PairedRequirement] = (),
    *,
    confidence: float,
) -> Comparison:
    """Say what two agents make of the cases that both have.

    Args:
        runs: The ids of the two runs.
        agents: The two agents.
        paired: Their cases.
        met: How requirements came out with them; none are compared without.
        confidence: That of the intervals, above 0 and below 1.

    Raises:
        ValueError: `confidence` is out of range.
    """
    passing, scoring = ([each for each in paired.pairs if each.style == style] for style in ("pass", "score"))
    flips = [
        (_share(*each.second) - _share(*each.first), Flip(name=each.name, first=each.first, second=each.second))
        for each in paired.moved
    ]
    return Comparison(
        first=Side(run_id=runs[0], agent=agents[0]),
        second=Side(run_id=runs[1], agent=agents[1]),
        overall=_rates("evals", "*", passing, confidence) if passing else None,
        evals=tuple(_rates("eval", name, found, confidence) for name, found in by_eval(passing).items()),
        scores=tuple(_scores(name, found, confidence) for name, found in by_eval(scoring).items()),
        requirements=tuple(_requirements(met, confidence)),
        worse=tuple(flip for difference, flip in flips if difference < 0),
        better=tuple(flip for difference, flip in flips if difference > 0),
        undecided=paired.undecided,
        only_first=paired.only_first,
        only_second=paired.only_second,
    )


def by_eval(pairs: Iterable[Pair]) -> Mapping[str, list[Pair]]:
    """Return the pairs of each eval, in the order of the first of each."""
    found: dict[str, list[Pair]] = {}
    for pair in pairs:
        found.setdefault(pair.eval_id, []).append(pair)
    return found


def _share(passed: int, decided: int) -> float:
    return passed / decided


def _of(counts: CaseCounts) -> tuple[int, int]:
    return counts.passed, counts.passed + counts.failed


def _rates(kind: Literal["evals", "eval"], name: str, pairs: Sequence[Pair], confidence: float) -> Compared:
    test = pair_shares([(each.first.counts, each.second.counts, each.number) for each in pairs], confidence)
    first, second = (_rate(side) for side in _sides(pairs))
    return Compared(kind=kind, name=name, first=first, second=second, **attrs.asdict(test))


def _rate(cases: Sequence[tuple[Planned, int]]) -> Share:
    planned = sum(case.planned * number for case, number in cases)
    return _total(((case.counts, number) for case, number in cases), planned)


def _scores(name: str, pairs: Sequence[Pair], confidence: float) -> Compared:
    test = pair_scores(pairs, confidence)
    first, second = (_mean(side) for side in _sides(pairs))
    return Compared(kind="score", name=name, first=first, second=second, **attrs.asdict(test))


def _mean(cases: Sequence[tuple[Planned, int]]) -> Share:
    number = sum(len(case.tally.scores) * number for case, number in cases)
    total = fsum(score * number for case, number in cases for score in case.tally.scores)
    return Share(
        passed=number,
        decided=number,
        errored=sum((case.tally.errored + case.tally.unrankable + case.missing) * number for case, number in cases),
        planned=sum(case.planned * number for case, number in cases),
        value=total / number if number else None,
    )


def _requirements(met: Sequence[PairedRequirement], confidence: float) -> Iterable[Compared]:
    found: dict[str, list[PairedRequirement]] = {}
    for row in met:
        found.setdefault(row.requirement, []).append(row)
    both: list[tuple[str, Share, Share, PairedTest]] = []
    for name, rows in found.items():
        first = [(row.first, row.number) for row in rows if row.first is not None]
        second = [(row.second, row.number) for row in rows if row.second is not None]
        if first and second:
            pairs = [(r.first, r.second, r.number) for r in rows if r.first is not None and r.second is not None]
            both.append((name, _total(first), _total(second), pair_shares(pairs, confidence)))
    both.sort(key=lambda each: (each[2].passed - each[2].decided, each[0]))
    for name, mine, theirs, test in both:
        yield Compared(kind="requirement", name=name, first=mine, second=theirs, **attrs.asdict(test))


def _total(counts: Iterable[tuple[CaseCounts, int]], planned: int | None = None) -> Share:
    passed = failed = undecided = 0
    for each, number in counts:
        passed += each.passed * number
        failed += each.failed * number
        undecided += each.undecided * number
    decided = passed + failed
    value = passed / decided if decided else None
    return Share(passed=passed, decided=decided, errored=undecided, planned=planned, value=value)


def _sides(pairs: Sequence[Pair]) -> tuple[list[tuple[Planned, int]], list[tuple[Planned, int]]]:
    return [(each.first, each.number) for each in pairs], [(each.second, each.number) for each in pairs]


def _tallies(pairs: Sequence[Pair]) -> tuple[list[CaseTally], list[CaseTally]]:
    return [each.first.tally for each in pairs], [each.second.tally for each in pairs]
