"""What counts and shares have to be."""

from math import isfinite

__all__ = ["check_counts", "check_open", "check_rate"]


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
