"""What counts and shares have to be."""

from collections.abc import Sequence
from math import isfinite

__all__ = ["check_counts", "check_open", "check_rate", "numbers"]


def check_counts(**counts: float) -> None:
    """Refuse negative counts."""
    for name, count in counts.items():
        if count < 0:
            raise ValueError(f"{name} must be 0 or more, got {count}")


def check_open(**shares: float) -> None:
    """Refuse shares that are not between 0 and 1, both excluded."""
    for name, share in shares.items():
        if not (isfinite(share) and 0 < share < 1):
            raise ValueError(f"{name} must be above 0 and below 1, got {share}")


def check_rate(min_rate: float) -> None:
    """Refuse a rate that no gate can ask for."""
    if not (isfinite(min_rate) and 0 < min_rate <= 1):
        raise ValueError(f"min_rate must be above 0 and at most 1, got {min_rate}")


def numbers(values: Sequence[object], weights: Sequence[int] | None) -> Sequence[int]:
    """Return how often each value counts: once, or as often as its weight says."""
    if weights is None:
        return [1] * len(values)
    if len(weights) != len(values):
        raise ValueError(f"weights must have one number for each value, got {len(weights)} for {len(values)}")
    for weight in weights:
        if weight < 0:
            raise ValueError(f"weights must be 0 or more, got {weight}")
    return weights
