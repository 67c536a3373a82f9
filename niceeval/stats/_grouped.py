"""Values that are given once with how often they are there."""

from collections.abc import Mapping, Sequence
from math import fsum

from niceeval.stats._counts import numbers

__all__ = ["grouped", "mean", "total"]


def grouped(values: Sequence[float], weights: Sequence[int] | None) -> dict[float, int]:
    """Return how often each value is there, in their order, so that nothing depends on the order of the cases."""
    found: dict[float, int] = {}
    for value, number in zip(values, numbers(values, weights), strict=True):
        if number:
            found[value] = found.get(value, 0) + number
    return dict(sorted(found.items()))


def total(values: Mapping[float, int]) -> float:
    """Return the sum of all values."""
    return fsum(value * number for value, number in values.items())


def mean(values: Mapping[float, int]) -> float:
    """Return their mean."""
    return total(values) / sum(values.values())
