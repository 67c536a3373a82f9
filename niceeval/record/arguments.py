"""What the questions of a record take."""

from collections.abc import Sequence

__all__ = ["most_of", "one_of"]


def one_of(name: str, value: str | None, known: Sequence[str]) -> None:
    """Refuse what is none of the known words.

    Raises:
        ValueError: It is none of them; None always is.
    """
    if value is not None and value not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")


def most_of(limit: int | None) -> int | None:
    """Return a limit.

    Raises:
        ValueError: It is no whole number of 0 or more.
    """
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
        raise ValueError(f"limit must be a whole number of 0 or more, or None for all, got {limit!r}")
    return limit
