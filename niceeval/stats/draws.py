"""Draws of k attempts at one case: pass@k and pass^k."""

from math import comb

from niceeval.stats._counts import check_counts

__all__ = ["pass_at_k", "pass_hat_k"]


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
    check_counts(passed=passed, decided=decided)
    if passed > decided:
        raise ValueError(f"passed must not exceed decided, got passed={passed} of decided={decided}")
    if k < 1:
        raise ValueError(f"k must be 1 or more, got {k}")
