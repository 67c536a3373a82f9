"""Intervals of a rate, widened by what is undecided."""

from math import sqrt
from statistics import NormalDist

from niceeval.stats._counts import check_counts, check_open

__all__ = ["exact_bounds", "wilson"]


def wilson(passed: int, decided: int, *, undecided: int = 0, confidence: float = 0.95) -> tuple[float, float] | None:
    """Return the two-sided Wilson score interval of a pass rate, widened by what is undecided.

    The lower end counts every undecided outcome as a failure, the upper end as a pass; the rate itself never moves.
    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", Journal of the
    American Statistical Association 22 (1927), 209-212.

    Args:
        passed: How many of the decided outcomes passed, 0 to `decided`.
        decided: How many outcomes are known, 0 or more.
        undecided: How many more there are whose outcome is not known, 0 or more.
        confidence: How often the interval is to hold the true rate, above 0 and below 1.

    Returns:
        The two ends, each in [0, 1], or None where nothing is decided.

    Raises:
        ValueError: The counts are negative, `passed` exceeds `decided`, or `confidence` is out of range.

    >>> low, high = wilson(8, 10)
    >>> round(low, 3), round(high, 3)
    (0.49, 0.943)
    >>> wilson(0, 0) is None
    True
    """
    check_counts(passed=passed, decided=decided, undecided=undecided)
    check_open(confidence=confidence)
    if passed > decided:
        raise ValueError(f"passed must not exceed decided, got passed={passed} of decided={decided}")
    if decided == 0:
        return None
    total, quantile = decided + undecided, -NormalDist().inv_cdf((1 - confidence) / 2)
    return _ends(passed, total, quantile)[0], _ends(passed + undecided, total, quantile)[1]


def _ends(passed: int, total: int, quantile: float) -> tuple[float, float]:
    share, square = passed / total, quantile * quantile
    centre = share + square / (2 * total)
    spread = quantile * sqrt(share * (1 - share) / total + square / (4 * total * total))
    scale = 1 + square / total
    # The formula gives exactly 0 and 1 at the two extremes; floating point only almost does.
    low = 0.0 if passed == 0 else max(0.0, (centre - spread) / scale)
    high = 1.0 if passed == total else min(1.0, (centre + spread) / scale)
    return low, high


def exact_bounds(passed: float, total: float, *, undecided: float = 0, confidence: float = 0.95) -> tuple[float, float]:
    """Return the one-sided exact lower and the one-sided exact upper bound of a rate, widened by what is undecided.

    Each bound alone is wrong with a chance of at most ``1 - confidence``, whatever the rate and however few outcomes;
    the Wilson interval only comes near. Both together therefore hold with ``2 * confidence - 1``.
    Source: C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the
    binomial", Biometrika 26 (1934), 404-413, as quantiles of beta distributions, which also take parts of a count.

    Args:
        passed: How many passed, 0 to `total` less `undecided`.
        total: How many there are, the undecided ones included.
        undecided: How many of them are not known: failures for the lower bound, passes for the upper.
        confidence: Above 0 and below 1.

    Returns:
        The two bounds; (0, 1) where there is nothing.

    Raises:
        ValueError: The counts do not fit together, or `confidence` is out of range.

    >>> low, high = exact_bounds(131, 150)
    >>> round(low, 3), round(high, 3)
    (0.82, 0.915)
    >>> round(exact_bounds(59, 59)[0], 4)
    0.9505
    """
    from scipy.special import betaincinv

    check_counts(passed=passed, total=total, undecided=undecided)
    check_open(confidence=confidence)
    # Parts of a count are sums of shares, which floating point gives only almost.
    most = passed + undecided
    if most > total * (1 + 1e-9):
        raise ValueError(f"passed and undecided must not exceed total, got {passed} and {undecided} of {total}")
    most = min(most, total)
    low = 0.0 if passed <= 0 else float(betaincinv(passed, total - min(passed, total) + 1, 1 - confidence))
    high = 1.0 if most >= total else float(betaincinv(most + 1, total - most, confidence))
    return low, high
