"""Estimates from counts: the Wilson interval, pass@k and pass^k. Pure functions over integers."""

from math import comb, sqrt
from typing import Final

__all__ = ["pass_at_k", "pass_hat_k", "wilson"]

_Z95: Final = 1.959963984540054
"""The standard normal quantile that leaves 2.5 % on each side."""


def wilson(passed: int, decided: int, *, undecided: int = 0) -> tuple[float, float] | None:
    """Return the 95 % Wilson score interval of a pass rate, widened by what is undecided.

    The lower end counts every undecided outcome as a failure, the upper end as a pass; the rate itself never moves.
    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", Journal of the
    American Statistical Association 22 (1927), 209-212.

    Args:
        passed: How many of the decided outcomes passed, 0 to `decided`.
        decided: How many outcomes are known, 0 or more.
        undecided: How many more there are whose outcome is not known, 0 or more.

    Returns:
        The two ends, each in [0, 1], or None where nothing is decided.

    Raises:
        ValueError: The counts are negative, or `passed` exceeds `decided`.

    >>> low, high = wilson(8, 10)
    >>> round(low, 3), round(high, 3)
    (0.49, 0.943)
    >>> wilson(0, 0) is None
    True
    """
    _counts(passed=passed, decided=decided, undecided=undecided)
    if passed > decided:
        raise ValueError(f"passed must not exceed decided, got passed={passed} of decided={decided}")
    if decided == 0:
        return None
    total = decided + undecided
    return _ends(passed, total)[0], _ends(passed + undecided, total)[1]


def _ends(passed: int, total: int) -> tuple[float, float]:
    share, square = passed / total, _Z95 * _Z95
    centre = share + square / (2 * total)
    spread = _Z95 * sqrt(share * (1 - share) / total + square / (4 * total * total))
    scale = 1 + square / total
    # The formula gives exactly 0 and 1 at the two extremes; floating point only almost does.
    low = 0.0 if passed == 0 else max(0.0, (centre - spread) / scale)
    high = 1.0 if passed == total else min(1.0, (centre + spread) / scale)
    return low, high


def pass_at_k(passed: int, decided: int, k: int) -> float | None:
    """Return the chance that at least one of `k` attempts passes, estimated without bias from one case's attempts.

    ``1 - C(decided - passed, k) / C(decided, k)``: of all ways to draw `k` of the attempts, the share with a pass.
    Source: M. Chen et al., "Evaluating large language models trained on code", arXiv:2107.03374 (2021), section 2.1.

    Args:
        passed: How many of the case's decided attempts passed, 0 to `decided`.
        decided: How many attempts of the case were decided.
        k: How many attempts are drawn, 1 or more.

    Returns:
        A share in [0, 1], or None where fewer than `k` attempts were decided.

    Raises:
        ValueError: A count is negative, `passed` exceeds `decided`, or `k` is below 1.

    >>> pass_at_k(2, 5, 3)
    0.9
    >>> pass_at_k(0, 2, 3) is None
    True
    """
    _draw(passed, decided, k)
    return None if decided < k else (comb(decided, k) - comb(decided - passed, k)) / comb(decided, k)


def pass_hat_k(passed: int, decided: int, k: int) -> float | None:
    """Return the chance that all of `k` attempts pass, estimated without bias from one case's attempts.

    ``C(passed, k) / C(decided, k)``: of all ways to draw `k` of the attempts, the share in which each passed.
    Source: S. Yao et al., "tau-bench", arXiv:2406.12045 (2024), section 3.

    Args:
        passed: How many of the case's decided attempts passed, 0 to `decided`.
        decided: How many attempts of the case were decided.
        k: How many attempts are drawn, 1 or more.

    Returns:
        A share in [0, 1], or None where fewer than `k` attempts were decided.

    Raises:
        ValueError: A count is negative, `passed` exceeds `decided`, or `k` is below 1.

    >>> pass_hat_k(3, 4, 2)
    0.5
    >>> pass_hat_k(2, 5, 3)
    0.0
    """
    _draw(passed, decided, k)
    return None if decided < k else comb(passed, k) / comb(decided, k)


def _draw(passed: int, decided: int, k: int) -> None:
    _counts(passed=passed, decided=decided)
    if passed > decided:
        raise ValueError(f"passed must not exceed decided, got passed={passed} of decided={decided}")
    if k < 1:
        raise ValueError(f"k must be 1 or more, got {k}")


def _counts(**counts: int) -> None:
    for name, count in counts.items():
        if count < 0:
            raise ValueError(f"{name} must be 0 or more, got {count}")
