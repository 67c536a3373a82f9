"""Whether it matters to which side differences go."""

from collections.abc import Sequence
from math import fsum, prod, sqrt
from statistics import NormalDist
from typing import Final

from niceeval.stats._grouped import grouped, total

__all__ = ["sign_flips"]

_SEED: Final = 20_260_801
"""Fixed, so that the same counts always give the same answer."""
_DRAWS: Final = 9_999
_LARGE: Final = 2_000
"""Beyond so many values, sums are as good as normal, and drawing them again would only take time."""
_EXACT: Final = 20_000
"""So many sums are put together at most, in place of drawing some."""


def sign_flips(differences: Sequence[float], *, weights: Sequence[int] | None = None) -> tuple[float, float]:
    """Return the chances of a sum so far to the worse, and so far from 0, if each difference could have either sign.

    All signs are counted where there are few differences, or few that are not equal; else 9,999 are drawn with a fixed
    seed; of more than 2,000 the sum is taken to be normal.

    Source: R. A. Fisher, The Design of Experiments (1935), section 21.

    Args:
        differences: Second less first, per case.
        weights: How many cases each difference stands for; None for one.

    Raises:
        ValueError: The lengths differ.

    >>> sign_flips([-0.5, -0.25, -0.25, -0.5, -1.0])
    (0.03125, 0.0625)
    """
    moved = {value: number for value, number in grouped(differences, weights).items() if value}
    sizes = grouped([abs(value) for value in moved], list(moved.values()))
    cases = sum(moved.values())
    if not cases:
        return 1.0, 1.0
    if cases > _LARGE:
        # What the signs alone make of the sum: mean 0, and the sum of squares as variance.
        distance = total(moved) / sqrt(fsum(size * size * number for size, number in sizes.items()))
        return NormalDist().cdf(distance), 2 * NormalDist().cdf(-abs(distance))
    import numpy as np
    from scipy.stats import binom

    # Of equal differences only how many have which sign makes a difference, and that is binomial.
    sums = np.zeros(1)
    if prod(number + 1 for number in sizes.values()) <= _EXACT:
        chances = np.ones(1)
        for size, number in sizes.items():
            signs = np.arange(number + 1)
            sums = np.add.outer(sums, size * (2 * signs - number)).ravel()
            chances = np.multiply.outer(chances, binom.pmf(signs, number, 0.5)).ravel()
    else:
        random = np.random.default_rng(_SEED)
        sums = np.zeros(_DRAWS)
        for size, number in sizes.items():
            sums += size * (2 * random.binomial(number, 0.5, _DRAWS) - number)
        # What was seen is one of the ways, too.
        sums = np.append(sums, total(moved))
        chances = np.full(_DRAWS + 1, 1 / (_DRAWS + 1))
    got, near = total(moved), 1e-9 * max(sizes)
    lower = float(np.sum(chances[sums <= got + near]))
    upper = float(np.sum(chances[sums >= got - near]))
    return min(1.0, lower), min(1.0, 2 * min(lower, upper))
