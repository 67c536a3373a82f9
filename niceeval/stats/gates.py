"""Whether a rate is high enough: pass, fail or inconclusive, at a stated confidence."""

from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

import attrs

from niceeval.stats._counts import check_counts, check_open, check_rate, numbers
from niceeval.stats.intervals import exact_bounds

__all__ = ["CaseCounts", "GateDecision", "RateDecision", "decide_rate", "needed"]

GateDecision: TypeAlias = Literal["pass", "fail", "inconclusive"]

_MOST: Final = 10_000_000
"""Beyond so many, no number is named: the rate is too near the one that is asked for."""


class CaseCounts(NamedTuple):
    """What became of one case's attempts.

    Attributes:
        passed: How many passed.
        failed: How many failed.
        undecided: How many were meant to run and decided nothing.
    """

    passed: int
    failed: int
    undecided: int = 0


@attrs.frozen
class RateDecision:
    """What a gate on a rate answers, and the arithmetic behind it.

    Attributes:
        decision: ``pass`` where `low` reaches `min_rate`, ``fail`` where `high` stays below it, else ``inconclusive``.
        min_rate: The rate that was asked for.
        confidence: How often each bound holds, at least.
        passed: Attempts that passed.
        decided: Attempts that passed or failed.
        undecided: Attempts that were meant to run and decided nothing.
        cases: Cases that the attempts belong to.
        rate: ``passed / decided``; None where nothing is decided.
        low: The lower bound, in which undecided attempts count as failures.
        high: The upper bound, in which they count as passes.
        effective: How many independent outcomes the bounds rest on.
        sampled: Whether the cases stand for others like them; else the rate is about these cases alone.
        needed: How many outcomes of this kind would decide at the observed rate; None where no number would.
    """

    decision: GateDecision
    min_rate: float
    confidence: float
    passed: int
    decided: int
    undecided: int
    cases: int
    rate: float | None
    low: float
    high: float
    effective: float
    sampled: bool
    needed: int | None


def decide_rate(
    cases: Iterable[CaseCounts],
    min_rate: float,
    *,
    confidence: float = 0.95,
    sampled: bool = True,
    weights: Sequence[int] | None = None,
) -> RateDecision:
    """Decide whether the true rate reaches `min_rate`.

    The chance of ``pass`` where the true rate is below `min_rate`, and that of ``fail`` where it is not, are each at
    most ``1 - confidence``. Where the cases are `sampled`, several attempts at one are no independent outcomes: a case
    then counts once, with the share of its attempts that passed, since no number of attempts at these cases says how
    many cases unlike them there are (for cases of unequal weight, by Kish's effective sample size). Where they are
    not, all attempts count: sums of unequal chances spread less than equal ones.
    Source of the latter: W. Hoeffding, "On the distribution of the number of successes in independent trials", Annals
    of Mathematical Statistics 27 (1956), 713-721; of the former: L. Kish, Survey Sampling (1965), section 11.7.

    Args:
        cases: The counts of every case; those of nothing are left out.
        min_rate: The rate to reach, above 0 and at most 1; no number of passes can show a rate of 1.
        confidence: Above 0 and below 1.
        sampled: Whether the cases stand for others like them, or the rate is about these alone.
        weights: How many cases each of the counts is of; None for one.

    Raises:
        ValueError: A count is negative, `min_rate` or `confidence` is out of range, or `weights` has another length.

    >>> decide_rate([CaseCounts(1, 0)] * 131 + [CaseCounts(0, 1)] * 19, 0.8).decision
    'pass'
    >>> decide_rate([CaseCounts(8, 0, undecided=2)], 0.9).decision
    'inconclusive'
    """
    check_rate(min_rate)
    check_open(confidence=confidence)
    given = list(cases)
    found = [(case, number) for case, number in zip(given, numbers(given, weights), strict=True) if any(case)]
    for case, _ in found:
        check_counts(passed=case.passed, failed=case.failed, undecided=case.undecided)
    passed, failed, undecided = (sum(case[place] * number for case, number in found) for place in range(3))
    number_of_cases = sum(number for _, number in found)
    decided, total = passed + failed, passed + failed + undecided
    # A single case stands for no others, whatever is said of it.
    stands = sampled and number_of_cases > 1
    effective = total * total / sum(number * sum(case) ** 2 for case, number in found) if stands else float(total)
    scale = effective / total if total else 1.0
    low, high = exact_bounds(passed * scale, effective, undecided=undecided * scale, confidence=confidence)
    rate = passed / decided if decided else None
    decision: GateDecision = "inconclusive"
    if decided and low >= min_rate:
        decision = "pass"
    elif decided and high < min_rate:
        decision = "fail"
    return RateDecision(
        decision=decision,
        min_rate=min_rate,
        confidence=confidence,
        passed=passed,
        decided=decided,
        undecided=undecided,
        cases=number_of_cases,
        rate=rate,
        low=low,
        high=high,
        effective=effective,
        sampled=sampled,
        needed=None if rate is None else needed(rate, min_rate, confidence=confidence),
    )


def needed(rate: float, min_rate: float, *, confidence: float = 0.95) -> int | None:
    """Return how many decided outcomes a gate would need to decide, if they went on to pass at `rate`.

    Args:
        rate: The share that passes, 0 to 1.
        min_rate: The rate to reach, above 0 and at most 1.
        confidence: Above 0 and below 1.

    Returns:
        The number, or None where none would do, or only more than ten million.

    Raises:
        ValueError: A share is out of range.

    >>> needed(1.0, 0.95), needed(131 / 150, 0.85), needed(0.9, 0.9)
    (59, 659, None)
    """
    check_rate(min_rate)
    check_open(confidence=confidence)
    if not 0 <= rate <= 1:
        raise ValueError(f"rate must be from 0 to 1, got {rate}")

    def decides(number: int) -> bool:
        low, high = exact_bounds(rate * number, number, confidence=confidence)
        return low >= min_rate if rate > min_rate else high < min_rate

    if rate == min_rate or not decides(_MOST):
        return None
    few, many = 0, 1
    while not decides(many):
        few, many = many, many * 2
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if decides(middle) else (middle, many)
    return many
