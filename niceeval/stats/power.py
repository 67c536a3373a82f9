"""How many cases it takes, before any of them is run."""

from collections.abc import Callable
from typing import Final

import attrs

from niceeval.stats._counts import check_open

__all__ = ["Needed", "cases_needed", "gate_power", "regression_power"]

_MOST: Final = 200_000
_STEADY: Final = 40
"""For so many numbers on, the power has to hold: it goes up and down a little from one to the next."""


@attrs.frozen
class Needed:
    """How many independent outcomes it takes; None where more than 200,000.

    Attributes:
        to_pass: For a gate at ``rate - detect`` to pass a system whose rate is `rate`.
        to_fail: For a gate at `rate` to fail a system whose rate has dropped by `detect`.
        to_see_regression: For a comparison with a baseline at `rate` to see such a drop.
    """

    to_pass: int | None
    to_fail: int | None
    to_see_regression: int | None


def cases_needed(rate: float, detect: float, *, power: float = 0.8, confidence: float = 0.95) -> Needed:
    """Return how many cases are needed to tell a rate from one that is lower by `detect`.

    Args:
        rate: The rate of the system now, above 0 and below 1.
        detect: The drop to be seen, above 0 and below `rate`.
        power: The chance to see it, above 0 and below 1.
        confidence: That of the gate.

    Raises:
        ValueError: A share is out of range.

    >>> cases_needed(0.95, 0.1)
    Needed(to_pass=68, to_fail=59, to_see_regression=124)
    """
    check_open(rate=rate, power=power, confidence=confidence)
    lower = rate - detect
    if not 0 < detect < rate:
        raise ValueError(f"detect must be above 0 and below rate={rate}, got {detect}")
    return Needed(
        to_pass=_smallest(lambda n: gate_power(n, rate, lower, confidence=confidence), power),
        to_fail=_smallest(lambda n: gate_power(n, lower, rate, confidence=confidence), power),
        to_see_regression=_smallest(lambda n: regression_power(n, rate, lower, confidence=confidence), power),
    )


def gate_power(number: int, rate: float, min_rate: float, *, confidence: float = 0.95) -> float:
    """Return the chance that a gate answers rightly: ``pass`` where `rate` is above `min_rate`, else ``fail``.

    Exact, from the binomial distribution.

    Args:
        number: How many independent outcomes are decided, 1 or more.
        rate: The true rate, above 0 and below 1.
        min_rate: The rate that the gate asks for, above 0 and below 1.
        confidence: That of the gate.

    Raises:
        ValueError: A share is out of range.

    >>> round(gate_power(59, 0.99, 0.95), 3), round(gate_power(59, 0.95, 0.95), 3)
    (0.553, 0.0)
    """
    from scipy.special import bdtr, bdtrc
    from scipy.stats import binom

    check_open(rate=rate, min_rate=min_rate, confidence=confidence)
    wrong = 1 - confidence
    if rate == min_rate:
        return 0.0
    if rate > min_rate:
        # The fewest passes that are rarer than `wrong` at the rate that is asked for.
        fewest = int(binom.isf(wrong, number, min_rate)) + 1
        return float(bdtrc(fewest - 1, number, rate)) if fewest <= number else 0.0
    most = int(binom.ppf(wrong, number, min_rate))
    most -= bool(bdtr(most, number, min_rate) > wrong)
    return float(bdtr(most, number, rate)) if most >= 0 else 0.0


def regression_power(number: int, before: float, after: float, *, confidence: float = 0.95) -> float:
    """Return the chance that the one-sided exact McNemar test sees a drop from `before` to `after`.

    Exact, for outcomes that are as independent between the two runs as between cases. Where the same cases are hard for
    both, fewer of them flip by chance, and the power is higher.

    Args:
        number: How many cases are paired, 1 or more.
        before: The rate of the baseline, above 0 and below 1.
        after: The rate of the new run, above 0 and below 1.
        confidence: That of the test.

    Raises:
        ValueError: A share is out of range.

    >>> round(regression_power(100, 0.9, 0.75), 2), round(regression_power(100, 0.9, 0.9), 2)
    (0.85, 0.03)
    """
    import numpy as np
    from scipy.stats import binom

    check_open(before=before, after=after, confidence=confidence)
    worse, better = before * (1 - after), (1 - before) * after
    flips = worse + better
    # Counts of flips further out than this have no weight that a float could show.
    low, high = (int(end) for end in binom.interval(1 - 1e-12, number, flips))
    counts = np.arange(max(low, 1), high + 1)
    fewest = binom.isf(1 - confidence, counts, 0.5) + 1
    return float(np.sum(binom.pmf(counts, number, flips) * binom.sf(fewest - 1, counts, worse / flips)))


def _smallest(chance: Callable[[int], float], power: float) -> int | None:
    """Return the smallest number from which the power holds."""
    few, many = 0, 1
    while chance(many) < power:
        few, many = many, many * 2
        if many > _MOST:
            return None
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if chance(middle) >= power else (middle, many)
    # The power is a saw: a tooth above may lie before a gap below.
    while True:
        gaps = [number for number in range(many, many + _STEADY) if chance(number) < power]
        if not gaps:
            break
        many = gaps[-1] + 1
    while many > 1 and chance(many - 1) >= power:
        many -= 1
    return many
