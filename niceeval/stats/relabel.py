"""Whether it matters which version an attempt belongs to."""

from collections.abc import Sequence
from math import sqrt
from statistics import NormalDist
from typing import Final

__all__ = ["relabelled"]

_SEED: Final = 20_260_801
_DRAWS: Final = 9_999
_LARGE: Final = 2_000
"""Beyond so many cases, the sum is as good as normal."""


def relabelled(first: Sequence[tuple[int, int]], second: Sequence[tuple[int, int]]) -> tuple[float, float]:
    """Return the chances of shares so far to the worse, and so far apart, if attempts at a case are all of one kind.

    Within each case, which attempts belong to which version is drawn 9,999 times, with a fixed seed. That asks fairly
    also where the versions have different numbers of attempts, whose shares do not spread alike.
    Source: P. Good, Permutation, Parametric and Bootstrap Tests of Hypotheses (2005), on stratified permutations.

    Args:
        first: Passed and decided attempts of each case in the first version, at least one decided.
        second: The same of the second version.

    >>> worse, differs = relabelled([(1, 1)] * 12, [(1, 5)] * 12)
    >>> worse < 0.001, differs < 0.001
    (True, True)
    >>> relabelled([(1, 1)], [(5, 5)])
    (1.0, 1.0)
    """
    mixed = [
        (s1, n1, s2, n2)
        for (s1, n1), (s2, n2) in zip(first, second, strict=True)
        if 0 < s1 + s2 < n1 + n2  # else every draw is the same
    ]
    if not mixed:
        return 1.0, 1.0
    import numpy as np

    s1, n1, s2, n2 = np.asarray(mixed).T
    passed, total, weight = s1 + s2, n1 + n2, 1 / n1 + 1 / n2
    got = float(np.sum(s2 / n2 - s1 / n1))
    if len(mixed) > _LARGE:
        spread = n2 * n1 * passed * (total - passed) / (total.astype(float) ** 2 * (total - 1))
        distance = got / sqrt(float(np.sum(weight**2 * spread)))
        return NormalDist().cdf(distance), 2 * NormalDist().cdf(-abs(distance))
    random = np.random.default_rng(_SEED)
    sums = np.zeros(_DRAWS)
    for place in range(len(mixed)):
        drawn = random.hypergeometric(passed[place], total[place] - passed[place], n2[place], _DRAWS)
        sums += drawn * weight[place] - passed[place] / n1[place]
    lower, apart = int(np.sum(sums <= got + 1e-9)), int(np.sum(np.abs(sums) >= abs(got) - 1e-9))
    return (lower + 1) / (_DRAWS + 1), (apart + 1) / (_DRAWS + 1)
