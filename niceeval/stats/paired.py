"""Two versions on the same cases: what differs between them, and whether that can be chance."""

import warnings
from collections.abc import Mapping, Sequence
from math import fsum, sqrt
from statistics import NormalDist
from typing import Final

import attrs

from niceeval.stats._counts import check_counts, check_open, numbers
from niceeval.stats._grouped import grouped, mean, total
from niceeval.stats.flips import sign_flips
from niceeval.stats.relabel import relabelled

__all__ = [
    "PairedTest",
    "compare_scores",
    "compare_shares",
    "difference_interval",
    "mcnemar",
    "mean_interval",
    "sign_flips",
]

_SEED: Final = 20_260_801
"""Fixed, so that the same counts always give the same answer."""
_RESAMPLES: Final = 9_999
_LARGE: Final = 2_000
"""Beyond so many values, sums are as good as normal, and drawing them again would only take time."""


@attrs.frozen
class PairedTest:
    """What came out of the pairs of two versions.

    Attributes:
        pairs: Cases that were compared.
        worse: Cases that came out worse in the second version.
        better: Cases that came out better in it.
        difference: The mean of the differences, second less first; None without a pair.
        interval: The two-sided interval of that mean; None where there are too few pairs.
        p_worse: The chance of differences that are so much to the worse if the versions do not differ.
        p_differs: The chance of differences that are so large to either side.
        method: How the chances were computed.
    """

    pairs: int
    worse: int
    better: int
    difference: float | None
    interval: tuple[float, float] | None
    p_worse: float
    p_differs: float
    method: str


def compare_shares(
    first: Sequence[tuple[int, int]],
    second: Sequence[tuple[int, int]],
    *,
    confidence: float = 0.95,
    weights: Sequence[int] | None = None,
) -> PairedTest:
    """Compare the shares of attempts that passed, case by case.

    One attempt on each side is the exact McNemar test. With as many on both sides, signs are flipped, which asks the
    same of shares. Where the sides have different numbers, their shares spread differently and flipped signs alone
    would see too much: attempts are drawn anew for the versions, too, and the larger chance counts.

    Args:
        first: Passed and decided attempts of each case in the first version, at least one decided.
        second: Those of the same cases in the second one.
        confidence: That of the interval.
        weights: How many cases each place stands for; None for one.

    Raises:
        ValueError: The lengths differ, or `confidence` is out of range.

    >>> test = compare_shares([(1, 1)] * 20, [(1, 1)] * 12 + [(0, 1)] * 8)
    >>> test.worse, test.better, round(test.p_worse, 4)
    (8, 0, 0.0039)
    """
    differences = grouped([p2 / n2 - p1 / n1 for (p1, n1), (p2, n2) in zip(first, second, strict=True)], weights)
    values, counts = list(differences), list(differences.values())
    worse, better = _below_and_above(differences)
    times = numbers(first, weights)
    attempts = [(a[1], b[1]) for a, b, number in zip(first, second, times, strict=True) if number]
    if all(pair == (1, 1) for pair in attempts):
        method, (p_worse, p_differs) = "exact McNemar test", mcnemar(worse, better)
    else:
        method, (p_worse, p_differs) = "sign-flip permutation test", sign_flips(values, weights=counts)
    if any(a != b for a, b in attempts):
        method, drawn = "sign-flip and relabelling permutation tests", relabelled(first, second, weights=weights)
        p_worse, p_differs = max(p_worse, drawn[0]), max(p_differs, drawn[1])
    return PairedTest(
        pairs=sum(counts),
        worse=worse,
        better=better,
        difference=mean(differences) if differences else None,
        interval=difference_interval(values, confidence=confidence, weights=counts),
        p_worse=p_worse,
        p_differs=p_differs,
        method=method,
    )


def compare_scores(
    first: Sequence[float],
    second: Sequence[float],
    *,
    confidence: float = 0.95,
    weights: Sequence[int] | None = None,
) -> PairedTest:
    """Compare mean scores, case by case: a bootstrap interval of the mean difference, and a sign-flip test.

    Args:
        first: The mean score of each case in the first version.
        second: That of the same cases in the second one.
        confidence: That of the interval.
        weights: How many cases each place stands for; None for one.

    Raises:
        ValueError: The lengths differ, or `confidence` is out of range.

    >>> test = compare_scores([3, 4, 5, 4, 3, 5], [2, 3, 3, 3, 3, 4])
    >>> test.difference, test.interval[1] < 0, round(test.p_worse, 3)
    (-1.0, True, 0.031)
    """
    differences = grouped([after - before for before, after in zip(first, second, strict=True)], weights)
    values, counts = list(differences), list(differences.values())
    p_worse, p_differs = sign_flips(values, weights=counts)
    worse, better = _below_and_above(differences)
    return PairedTest(
        pairs=sum(counts),
        worse=worse,
        better=better,
        difference=mean(differences) if differences else None,
        interval=mean_interval(values, confidence=confidence, weights=counts),
        p_worse=p_worse,
        p_differs=p_differs,
        method="sign-flip permutation test, bootstrap interval",
    )


def mcnemar(worse: int, better: int) -> tuple[float, float]:
    """Return the exact chances of so many pairs to the worse, and of so lopsided a count, if both are equally likely.

    Source: Q. McNemar, Psychometrika 12 (1947), 153-157, with the exact binomial distribution.

    Args:
        worse: Pairs that went from passed to failed.
        better: Pairs that went from failed to passed.

    Raises:
        ValueError: A count is negative.

    >>> mcnemar(5, 0), mcnemar(0, 0)
    ((0.03125, 0.0625), (1.0, 1.0))
    """
    check_counts(worse=worse, better=better)
    if not worse + better:
        return 1.0, 1.0
    from scipy.stats import binomtest

    one_sided = binomtest(worse, worse + better, alternative="greater").pvalue
    return float(one_sided), float(binomtest(worse, worse + better).pvalue)


def difference_interval(
    differences: Sequence[float], *, confidence: float = 0.95, weights: Sequence[int] | None = None
) -> tuple[float, float] | None:
    """Return the interval of a mean difference of shares, which is wide even where no case differs.

    One pair to each side is added before the usual formula. Source: D. G. Bonett and R. M. Price, "Adjusted Wald
    confidence interval for a difference of binomial proportions based on paired data", Journal of Educational and
    Behavioral Statistics 37 (2012), 479-488; here with shares in place of single outcomes.

    Args:
        differences: Second less first, per case, each from -1 to 1.
        confidence: Above 0 and below 1.
        weights: How many cases each difference stands for; None for one.

    Returns:
        The two ends, or None without a difference.

    Raises:
        ValueError: `confidence` is out of range.

    >>> low, high = difference_interval([0.0] * 98)
    >>> round(low, 3), round(high, 3)
    (-0.028, 0.028)
    """
    check_open(confidence=confidence)
    found = grouped(differences, weights)
    if not found:
        return None
    number = sum(found.values()) + 2
    centre = total(found) / number
    spread = (fsum(value * value * times for value, times in found.items()) + 2) / number - centre * centre
    reach = -NormalDist().inv_cdf((1 - confidence) / 2) * sqrt(max(spread, 0.0) / number)
    return max(-1.0, centre - reach), min(1.0, centre + reach)


def mean_interval(
    values: Sequence[float], *, confidence: float = 0.95, weights: Sequence[int] | None = None
) -> tuple[float, float] | None:
    """Return the bootstrap interval of a mean: bias-corrected and accelerated, of 9,999 draws with a fixed seed.

    Of more than 2,000 values, it is the usual one of a mean that is normal.

    Source: B. Efron, "Better bootstrap confidence intervals", Journal of the American Statistical Association 82
    (1987), 171-185; scipy's `bootstrap`.

    Args:
        values: One value per case.
        confidence: Above 0 and below 1.
        weights: How many cases each value stands for; None for one.

    Returns:
        The two ends; None for fewer than two values, and where all are equal: nothing then says how far others differ.

    Raises:
        ValueError: `confidence` is out of range.

    >>> low, high = mean_interval([1, 2, 3, 4, 5, 6, 7, 8])
    >>> low < 3.5 and high > 5.5, mean_interval([2, 2, 2])
    (True, None)
    """
    check_open(confidence=confidence)
    found = grouped(values, weights)
    if len(found) < 2:
        return None
    size = sum(found.values())
    if size > _LARGE:
        centre = mean(found)
        variance = fsum(number * (value - centre) ** 2 for value, number in found.items()) / (size - 1)
        reach = -NormalDist().inv_cdf((1 - confidence) / 2) * sqrt(variance / size)
        return centre - reach, centre + reach
    import numpy as np
    from scipy.stats import bootstrap

    for method in ("BCa", "percentile"):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = bootstrap(
                (np.repeat(np.asarray(list(found), dtype=float), list(found.values())),),
                np.mean,
                n_resamples=_RESAMPLES,
                batch=500,
                confidence_level=confidence,
                method=method,
                random_state=np.random.default_rng(_SEED),
            ).confidence_interval
        low, high = float(found.low), float(found.high)
        # Where nearly all values are equal, the acceleration has no value and plain percentiles do.
        if np.isfinite(low) and np.isfinite(high):
            return low, high
    return None


def _below_and_above(values: Mapping[float, int]) -> tuple[int, int]:
    below, above = (sum(number for value, number in values.items() if side * value > 0) for side in (-1, 1))
    return below, above
