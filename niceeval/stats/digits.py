"""Rates as people read them."""

__all__ = ["bound", "whole_only"]

_ALIKE = 1e-9
"""What only the arithmetic of floats makes of a whole number."""


def bound(value: float, limit: float) -> str:
    """Write a rate with three digits, or as many as keep it on its side of a limit, and from 0 and 1 unless it is that.

    >>> bound(0.8996, 0.9), bound(0.90004, 0.9), bound(0.95, 0.9), bound(0.9997, 0.9)
    ('0.8996', '0.900', '0.950', '0.9997')
    """
    digits = next(
        (n for n in range(3, 8) if (float(f"{value:.{n}f}") >= limit) == (value >= limit) and whole_only(value, n)), 8
    )
    return f"{value:.{digits}f}"


def whole_only(value: float, digits: int) -> bool:
    """Tell whether so many digits show a whole number only where the value is one.

    >>> whole_only(0.997, 2), whole_only(1.0, 2), whole_only(0.997, 3)
    (False, True, True)
    """
    shown = float(f"{value:.{digits}f}")
    return not shown.is_integer() or abs(value - shown) < _ALIKE
