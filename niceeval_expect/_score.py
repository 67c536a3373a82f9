"""Score matches, which yield a measurement, and the conditions that make them boolean."""

from collections.abc import Mapping
from math import isfinite
from typing import Any, Final

import attrs

from niceeval_expect._evaluation import Diagnostic, Evaluation, Outcome
from niceeval_expect._match import Family, Match, ValueMatch, _Evaluates, evaluate_part
from niceeval_expect._spec import register

__all__ = ["ScoreMatch", "ThresholdedMatch"]

TOLERANCE: Final = 1e-9
"""Thresholds compare with this absolute tolerance, so that 0.1 + 0.2 meets 0.3."""


class ScoreMatch(_Evaluates):
    """A match that yields a measurement in [0, 1], or unavailable, or errored."""

    __slots__ = ()

    def at_least(self, threshold: float, /) -> "ThresholdedMatch":
        """Return the same measurement with the condition that it is at least `threshold`.

        Args:
            threshold: Finite, in [0, 1]; 0 is a real threshold. Compared with a tolerance of 1e-9.

        >>> from niceeval_expect import similarity
        >>> similarity("colour").at_least(0.8).evaluate("color").code
        'met'
        """
        return ThresholdedMatch(self, "at_least", _threshold("at_least", threshold))

    def at_most(self, threshold: float, /) -> "ThresholdedMatch":
        """Return the same measurement with the condition that it is at most `threshold`.

        Args:
            threshold: Finite, in [0, 1]. Compared with a tolerance of 1e-9.
        """
        return ThresholdedMatch(self, "at_most", _threshold("at_most", threshold))


def _threshold(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or not 0 <= value <= 1:
        raise ValueError(f"{name}() takes a finite number from 0 to 1, got {value!r}")
    return value


def _digits(value: float, threshold: float) -> str:
    """Return `value` with as few decimals, from two on, as tell it apart from the threshold."""
    for decimals in (2, 3, 4, 6, 9):
        text = f"{value:.{decimals}f}"
        if text != f"{threshold:.{decimals}f}" or abs(value - threshold) <= TOLERANCE:
            return text
    return repr(value)


@attrs.frozen(eq=False, repr=False)
class ThresholdedMatch(ValueMatch):
    """A measurement with a condition: it composes like a boolean, met is matched, below and above are mismatched."""

    _spec_name = "threshold"
    measure: ScoreMatch
    relation: str
    threshold: float
    family: Family = attrs.field(init=False)

    @family.default
    def _measured_family(self) -> Family:
        return self.measure.family

    def _args(self) -> dict[str, object]:
        return {"of": self.measure, "relation": self.relation, "threshold": self.threshold}

    def _parts(self) -> tuple[object, ...]:
        return (self.measure,)

    def __repr__(self) -> str:
        return f"{self.measure!r}.{self.relation}({self.threshold!r})"

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        inner = evaluate_part(self.measure, subject, pointer)
        if inner.outcome != "measured" or inner.value is None:
            return inner
        value, limit = inner.value, self.threshold
        if self.relation == "at_least":
            code = "met" if value >= limit - TOLERANCE else "below"
        else:
            code = "met" if value <= limit + TOLERANCE else "above"
        shown = _digits(value, limit)
        message = (
            f"measured {shown}, {self.relation.replace('_', ' ')} {limit} is {'met' if code == 'met' else 'not met'}"
        )
        children = (inner.diagnostic,) if inner.diagnostic.message or inner.diagnostic.children else ()
        diagnostic = Diagnostic(
            code, message, pointer, f"{self.relation.replace('_', ' ')} {limit}", value, None, children
        )
        outcome: Outcome = "matched" if code == "met" else "mismatched"
        return Evaluation(outcome, diagnostic, value=value, examined=inner.examined)


def _rebuild_threshold(args: Mapping[str, Any]) -> Match:
    measure: ScoreMatch = args["of"]
    return measure.at_least(args["threshold"]) if args["relation"] == "at_least" else measure.at_most(args["threshold"])


register("threshold", _rebuild_threshold)
