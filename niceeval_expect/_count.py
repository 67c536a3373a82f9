"""Three-valued counting: what a count says while some candidates are undecided. Every claim that counts uses it."""

from typing import Literal, TypeAlias

__all__ = ["CountOutcome", "count_argument", "decide_count"]

CountOutcome: TypeAlias = Literal["matched", "mismatched", "unavailable", "errored"]


def decide_count(
    definite: int, undecided: int, low: int, high: int | None, unbounded: bool = False, errored: bool = False
) -> CountOutcome:
    """Decide whether a count lies within bounds, when all that is known is where the true count may lie.

    The true count is anything from `definite` to ``definite + undecided``, or to infinity where it is unbounded. Every
    count in that range within the bounds is a match, none is a mismatch, anything else is undecided.

    Args:
        definite: How many candidates count for certain, at least 0.
        undecided: How many more may count: unavailable or errored ones, at least 0.
        low: The least count that satisfies, at least 0.
        high: The greatest count that satisfies, at least `low`; None for no limit.
        unbounded: Whether there may be candidates that nobody reported.
        errored: Whether an undecided candidate is so because its evaluation broke.

    Returns:
        ``"matched"``, ``"mismatched"``, or, undecided, ``"errored"`` if a candidate errored, else ``"unavailable"``.

    >>> decide_count(definite=1, undecided=1, low=1, high=None), decide_count(definite=1, undecided=1, low=1, high=1)
    ('matched', 'unavailable')
    >>> decide_count(definite=2, undecided=9, low=1, high=1, unbounded=True)
    'mismatched'
    """
    most = None if unbounded else definite + undecided
    if definite >= low and (high is None or (most is not None and most <= high)):
        return "matched"
    if (high is not None and definite > high) or (most is not None and most < low):
        return "mismatched"
    return "errored" if errored else "unavailable"


def count_argument(call: str, value: object, *, least: int = 0, instead: str = "") -> int:
    """Return `value` as a count, or refuse it with a sentence.

    Args:
        call: The call as the author wrote it, such as ``exactly()``.
        value: What was given.
        least: The least count that makes sense there.
        instead: What to do about a smaller one.

    Raises:
        TypeError: If it is not an integer (a bool is none).
        ValueError: If it is smaller than `least`.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{call} takes a whole number, got {value!r}")
    if value < 0:
        raise ValueError(f"{call} takes a count, which is never negative; got {value}")
    if value < least:
        raise ValueError(f"{call} takes a number from {least} on, got {value}{instead and f': {instead}'}")
    return value
