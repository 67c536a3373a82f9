"""A gate that may be looked at after every attempt, and stops as soon as it is decided."""

from collections.abc import Callable
from math import log
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, final

from niceeval.stats._counts import check_counts, check_open, check_rate

if TYPE_CHECKING:
    import numpy as np

__all__ = ["SequentialDecision", "SequentialGate", "anytime_bounds", "log_evidence", "needed_in_rounds"]

SequentialDecision: TypeAlias = Literal["pass", "fail", "inconclusive", "continue"]

_PRIOR: Final = 0.5
"""Both parameters of the beta distribution over rates that bets are spread by: Jeffreys' choice."""
_MOST: Final = 10_000_000
"""Beyond so many, no number is named: the rate is too near the one that is asked for."""
_EXACT: Final = 50
"""Halvings of an interval: more than a floating-point number tells apart."""


def log_evidence(passed: Any, failed: Any, min_rate: float) -> "tuple[np.ndarray, np.ndarray]":
    """Return how strongly counts speak for a rate above, and for one below `min_rate`, as logarithms.

    Each is the winnings of somebody who starts with 1 and bets, attempt by attempt and at fair odds for a rate of
    `min_rate`, that the rate is above it (or below it), with the stakes spread over all such rates by a beta
    distribution. If the rate is in truth not above it (not below it), nobody wins at such odds: the chance that the
    winnings ever reach ``1 / a`` is at most ``a``, however often one looks and whenever one stops.
    Source: J. Ville, "Étude critique de la notion de collectif" (1939); H. Robbins, "Statistical methods related to
    the law of the iterated logarithm", Annals of Mathematical Statistics 41 (1970), 1397-1409 (mixtures);
    A. Ramdas et al., "Game-theoretic statistics and safe anytime-valid inference", Statistical Science 38 (2023).

    Args:
        passed: How many passed: a number, or an array of them.
        failed: How many failed, of the same shape.
        min_rate: Above 0 and below 1.

    Raises:
        ValueError: `min_rate` is out of range.

    >>> above, below = log_evidence(59, 0, 0.9)
    >>> bool(above > log(20)), bool(below > 0)
    (True, False)
    """
    import numpy as np
    from scipy.special import betainc, betaincc, betaln

    check_open(min_rate=min_rate)
    wins, losses = np.asarray(passed, dtype=float) + _PRIOR, np.asarray(failed, dtype=float) + _PRIOR
    odds = betaln(wins, losses) - betaln(_PRIOR, _PRIOR)
    odds = odds - (wins - _PRIOR) * log(min_rate) - (losses - _PRIOR) * log(1 - min_rate)
    # Evidence too weak for a floating-point number is none.
    with np.errstate(divide="ignore"):
        above = odds + np.log(betaincc(wins, losses, min_rate)) - np.log(betaincc(_PRIOR, _PRIOR, min_rate))
        below = odds + np.log(betainc(wins, losses, min_rate)) - np.log(betainc(_PRIOR, _PRIOR, min_rate))
    return above, below


@final
class SequentialGate:
    """Whether a rate reaches `min_rate`, asked again and again while attempts come in.

    The chance that it ever answers ``pass`` where the true rate is below `min_rate`, and that it ever answers ``fail``
    where it is not, are each at most ``1 - confidence``: see `log_evidence`. An answer stays once it is given.

    Attempts at one case are independent, and all have its chance. With several cases, ask after whole rounds only,
    when each case has had the same number of attempts: in the middle of a round, easy or hard cases may be ahead. The
    rate is then about these cases, each with the same weight.

    Args:
        min_rate: The rate to reach, above 0 and at most 1; a rate of 1 can only fail.
        confidence: Above 0 and below 1.
        most: The most attempts there will be, 1 or more; after them the answer is ``inconclusive``. None for no end.

    Raises:
        ValueError: An argument is out of range.

    >>> gate = SequentialGate(0.85, 0.95, 40)
    >>> gate.update(10, 0), gate.update(33, 0), gate.update(33, 7)
    ('continue', 'pass', 'pass')
    >>> SequentialGate(0.85, 0.95, 40).update(5, 6)
    'fail'
    """

    __slots__ = ("_decision", "confidence", "min_rate", "most")

    def __init__(self, min_rate: float, confidence: float = 0.95, most: int | None = None) -> None:
        check_rate(min_rate)
        check_open(confidence=confidence)
        if most is not None and most < 1:
            raise ValueError(f"most must be 1 or more, got {most}")
        self.min_rate: Final = min_rate
        self.confidence: Final = confidence
        self.most: Final = most
        self._decision: SequentialDecision = "continue"

    @property
    def decision(self) -> SequentialDecision:
        """The last answer."""
        return self._decision

    def update(self, passed: int, failed: int, undecided: int = 0) -> SequentialDecision:
        """Return the answer for all attempts so far.

        Args:
            passed: How many have passed in all, not since the last call.
            failed: How many have failed.
            undecided: How many have ended without deciding: failures before it passes, passes before it fails.

        Raises:
            ValueError: A count is negative.
        """
        check_counts(passed=passed, failed=failed, undecided=undecided)
        if self._decision in ("pass", "fail"):
            return self._decision
        if self._reached(passed, failed + undecided, above=True):
            self._decision = "pass"
        elif self._reached(passed + undecided, failed, above=False):
            self._decision = "fail"
        elif self.most is not None and passed + failed + undecided >= self.most:
            self._decision = "inconclusive"
        return self._decision

    def _reached(self, passed: int, failed: int, *, above: bool) -> bool:
        if self.min_rate == 1:
            return not above and failed > 0
        evidence = log_evidence(passed, failed, self.min_rate)[0 if above else 1]
        return bool(evidence >= -log(1 - self.confidence))


def anytime_bounds(passed: int, failed: int, undecided: int = 0, *, confidence: float = 0.95) -> tuple[float, float]:
    """Return a lower and an upper bound of the rate that hold however often one looks and whenever one stops.

    The lower one is the lowest rate that a `SequentialGate` with the same counts would not pass at, the upper one the
    highest that it would not fail at. Each is wrong, at any time, with a chance of at most ``1 - confidence``.

    Args:
        passed: How many passed.
        failed: How many failed.
        undecided: How many decided nothing: failures for the lower bound, passes for the upper one.
        confidence: Above 0 and below 1.

    Raises:
        ValueError: An argument is out of range.

    >>> low, high = anytime_bounds(33, 0)
    >>> round(low, 3), high
    (0.892, 1.0)
    """
    check_counts(passed=passed, failed=failed, undecided=undecided)
    check_open(confidence=confidence)
    enough = -log(1 - confidence)

    def above(rate: float) -> bool:
        return bool(log_evidence(passed, failed + undecided, rate)[0] >= enough)

    def below(rate: float) -> bool:
        return bool(log_evidence(passed + undecided, failed, rate)[1] >= enough)

    total = passed + failed + undecided
    low = _edge(above, 0.0, passed / total) if passed else 0.0
    high = _edge(below, 1.0, (passed + undecided) / total) if failed else 1.0
    return low, high


def _edge(excluded: Callable[[float], bool], outside: float, inside: float) -> float:
    """Return the rate up to which all between it and `outside` are excluded; `inside` itself never is."""
    for _ in range(_EXACT):
        middle = (outside + inside) / 2
        if not 0 < middle < 1:
            break
        outside, inside = (middle, inside) if excluded(middle) else (outside, middle)
    return outside


def needed_in_rounds(rate: float, min_rate: float, *, confidence: float = 0.95) -> int | None:
    """Return after how many attempts a `SequentialGate` would decide, if they went on to pass at `rate`.

    Returns:
        The number, or None where it would never, or only after more than ten million.

    Raises:
        ValueError: An argument is out of range.

    >>> needed_in_rounds(1.0, 0.85), needed_in_rounds(0.5, 0.85), needed_in_rounds(0.85, 0.85)
    (24, 13, None)
    """
    check_rate(min_rate)
    check_open(confidence=confidence)
    if not 0 <= rate <= 1:
        raise ValueError(f"rate must be from 0 to 1, got {rate}")
    if rate == min_rate or (min_rate == 1 and rate == 1):
        return None
    if min_rate == 1:
        return 1
    side = 0 if rate > min_rate else 1

    def decides(number: int) -> bool:
        evidence = log_evidence(rate * number, (1 - rate) * number, min_rate)[side]
        return bool(evidence >= -log(1 - confidence))

    few, many = 0, 1
    while not decides(many):
        few, many = many, many * 2
        if many > _MOST:
            return None
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if decides(middle) else (middle, many)
    return many
