"""Rates as people read them."""

__all__ = ["bound"]


def bound(value: float, limit: float) -> str:
    """Write a rate with three digits, or as many as keep it on its side of a limit.

    >>> bound(0.8996, 0.9), bound(0.90004, 0.9), bound(0.95, 0.9)
    ('0.8996', '0.900', '0.950')
    """
    digits = next((n for n in range(3, 8) if (float(f"{value:.{n}f}") >= limit) == (value >= limit)), 8)
    return f"{value:.{digits}f}"
