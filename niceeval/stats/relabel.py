"""Whether it matters which version an attempt belongs to."""

from collections.abc import Sequence
from math import fsum, sqrt
from statistics import NormalDist
from typing import Final

from niceeval.stats._counts import numbers

__all__ = ["relabelled"]

_SEED: Final = 20_260_801
_DRAWS: Final = 9_999
_LARGE: Final = 2_000
"""Beyond so many cases, the sum is as good as normal."""


def relabelled(
    first: Sequence[tuple[int, int]], second: Sequence[tuple[int, int]], *, weights: Sequence[int] | None = None
) -> tuple[float, float]:
    """Return the chances of shares so far to the worse, and so far apart, if attempts at a case are all of one kind.

    Within each case, which attempts belong to which version is drawn 9,999 times, with a fixed seed. That asks fairly
    also where the versions have different numbers of attempts, whose shares do not spread alike.
    Source: P. Good, Permutation, Parametric and Bootstrap Tests of Hypotheses (2005), on stratified permutations.

    Args:
        first: Passed and decided attempts of each case in the first version, at least one decided.
        second: The same of the second version.
        weights: How many cases each place stands for; None for one.

    Raises:
        ValueError: The lengths differ.

    >>> worse, differs = relabelled([(1, 1)] * 12, [(1, 5)] * 12)
    >>> worse < 0.001, differs < 0.001
    (True, True)
    >>> relabelled([(1, 1)], [(5, 5)])
    (1.0, 1.0)
    """
    counted: dict[tuple[int, int, int, int], int] = {}
    for (s1, n1), (s2, n2), number in zip(first, second, numbers(first, weights), strict=True):
        # Else every draw is the same.
        if number and 0 < s1 + s2 < n1 + n2:
            counted[s1, n1, s2, n2] = counted.get((s1, n1, s2, n2), 0) + number
    if not counted:
        return 1.0, 1.0
    mixed = sorted(counted.items())
    got = fsum(number * (s2 / n2 - s1 / n1) for (s1, n1, s2, n2), number in mixed)
    if sum(counted.values()) > _LARGE:
        distance = got / sqrt(fsum(number * _variance(*each) for each, number in mixed))
        return NormalDist().cdf(distance), 2 * NormalDist().cdf(-abs(distance))
    import numpy as np
    from scipy.stats import hypergeom

    random = np.random.default_rng(_SEED)
    sums = np.zeros(_DRAWS)
    for (s1, n1, s2, n2), number in mixed:
        passed, total = s1 + s2, n1 + n2
        # Of cases that are alike, how many come out in which way is all that matters.
        ways = np.arange(max(0, passed - n1), min(passed, n2) + 1)
        chances = hypergeom.pmf(ways, total, passed, n2)
        drawn = random.multinomial(number, chances / np.sum(chances), _DRAWS)
        sums += drawn @ (ways / n2 - (passed - ways) / n1)
    lower, apart = int(np.sum(sums <= got + 1e-9)), int(np.sum(np.abs(sums) >= abs(got) - 1e-9))
    return (lower + 1) / (_DRAWS + 1), (apart + 1) / (_DRAWS + 1)


def _variance(s1: int, n1: int, s2: int, n2: int) -> float:
    passed, total = s1 + s2, n1 + n2
    spread = n2 * n1 * passed * (total - passed) / (total**2 * (total - 1))
    return (1 / n1 + 1 / n2) ** 2 * spread
