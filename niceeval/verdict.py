"""The folds: from the entries of an attempt to its verdict or its score. Pure functions."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Literal, TypeAlias

import attrs

__all__ = ["AttemptStatus", "Decision", "Folded", "Part", "decide", "earn", "exact", "fold_pass", "fold_score"]

AttemptStatus: TypeAlias = Literal["passed", "failed", "errored", "skipped", "scored", "unrankable"]
Decision: TypeAlias = Literal["met", "unmet", "undecided", "informative"]


@attrs.frozen
class Part:
    """What the folds read of one entry.

    Attributes:
        outcome: The outcome of its evaluation.
        deciding: A gate in a pass-style eval; in a score-style one an entry that scores or stops.
        requirement: What it stands for, for reasons.
        reason: Why it is unavailable or errored.
        earned: What it contributes to the score.
    """

    outcome: str
    deciding: bool
    requirement: str = ""
    reason: str | None = None
    earned: Fraction = Fraction(0)


@attrs.frozen
class Folded:
    """The result of a fold: a status, its reason, and for score-style evals the score or what is known of it."""

    status: AttemptStatus
    reason: str | None = None
    score: float | None = None
    partial_score: float | None = None


def decide(outcome: str, *, deciding: bool) -> Decision:
    """Return what an entry with this outcome says: met, unmet, undecided, or nothing that decides."""
    if not deciding:
        return "informative"
    if outcome in ("matched", "measured"):
        return "met"
    return "unmet" if outcome == "mismatched" else "undecided"


def exact(number: float) -> Fraction:
    """Return the number that its shortest decimal form names: 0.1 is one tenth."""
    return Fraction(Decimal(repr(number))) if isinstance(number, float) else Fraction(number)


def earn(outcome: str, value: float | None, points: float | None) -> Fraction | None:
    """Return what an entry earns: matched all points, mismatched none, a measurement its share; None if it has none."""
    if points is None or outcome in ("unavailable", "errored"):
        return None
    if value is not None:
        return exact(value) * exact(points)
    return exact(points) if outcome == "matched" else Fraction(0)


def fold_pass(
    parts: Sequence[Part], *, error: str | None = None, failure: str | None = None, skipped: str | None = None
) -> Folded:
    """Fold a pass-style attempt into its verdict.

    In this order: it could not run to its end (errored), a gate is unmet or the agent broke (failed), a gate is
    unavailable or errored (errored), skipped, nothing was checked (errored), passed.

    Args:
        parts: The entries in the order of registration.
        error: Why the attempt could not run to its end.
        failure: How the agent broke.
        skipped: The reason given to ``t.skip``.

    >>> fold_pass([Part("matched", True), Part("unavailable", True, "cost", "no usage")]).status
    'errored'
    >>> fold_pass([]).reason
    'nothing was checked'
    """
    if error is not None:
        return Folded("errored", error)
    if failure is not None:
        return Folded("failed", failure)
    gates = [part for part in parts if part.deciding]
    open_ones = [part for part in gates if part.outcome not in ("matched", "measured")]
    unmet = [part for part in open_ones if part.outcome == "mismatched"]
    if unmet:
        return Folded("failed", _unique(part.requirement for part in unmet))
    if open_ones:
        return Folded("errored", _reasons(open_ones))
    if skipped is not None:
        return Folded("skipped", skipped)
    return Folded("passed") if gates else Folded("errored", "nothing was checked")


def fold_score(
    parts: Sequence[Part], *, error: str | None = None, failure: str | None = None, skipped: str | None = None
) -> Folded:
    """Fold a score-style attempt into its score.

    In this order: errored (it could not run to its end, or an entry that scores or stops is errored), unrankable (such
    an entry is unavailable: what is known is a lower bound), skipped, scored. The sum is exact over decimal forms.

    Args:
        parts: The entries in the order of registration, direct contributions included.
        error: Why the attempt could not run to its end.
        failure: How the agent broke: a stop, which is the reason that a scored attempt has.
        skipped: The reason given to ``t.skip``.

    >>> from fractions import Fraction
    >>> fold_score([Part("matched", True, earned=exact(0.1)), Part("matched", True, earned=exact(0.2))]).score
    0.3
    """
    try:
        total = float(sum((part.earned for part in parts), Fraction(0)))
    except OverflowError:
        return Folded("errored", error or "the score is too large to be a number")
    deciding = [part for part in parts if part.deciding]
    broken = [part for part in deciding if part.outcome == "errored"]
    missing = [part for part in deciding if part.outcome == "unavailable"]
    if error is not None or broken:
        return Folded("errored", error or _reasons(broken), partial_score=total)
    if missing:
        return Folded("unrankable", _reasons(missing), partial_score=total)
    if skipped is not None:
        return Folded("skipped", skipped)
    return Folded("scored", failure, score=total)


def _reasons(parts: Iterable[Part]) -> str:
    return _unique(f"{part.requirement}: {part.reason}" if part.reason else part.requirement for part in parts)


def _unique(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(texts))
