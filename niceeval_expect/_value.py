"""Matches over any value: equality, membership and ranges."""

from collections.abc import Iterable
from decimal import Decimal
from math import isfinite
from typing import Any

import attrs

from niceeval_expect._evaluation import MATCHED, Evaluation, mismatched, wrong_type
from niceeval_expect._freeze import call_repr, freeze
from niceeval_expect._json import json_equal, unequal
from niceeval_expect._match import ValueMatch
from niceeval_expect._spec import register

__all__ = [
    "between",
    "equals",
    "is_defined",
    "is_false",
    "is_true",
    "one_of",
]


@attrs.frozen(eq=False, repr=False)
class _Equals(ValueMatch):
    _spec_name = "equals"
    family = "referential"
    _expected: object

    @property
    def reaches_outside(self) -> bool:
        return True

    def _args(self) -> dict[str, object]:
        return {"value": self._expected}

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        return MATCHED if json_equal(self._expected, subject) else unequal(self._expected, subject, pointer)


def equals(expected: object, /) -> ValueMatch:
    """Match a value that equals `expected` as JSON values do, at every depth.

    bool is never int, int and float compare by value, NaN equals NaN, dict order is free and list order is not, a tuple
    equals a list, aware datetimes compare as instants, pydantic, attrs and dataclass values read as their JSON dicts.
    Text compares code point by code point.

    Args:
        expected: Any value; a private copy is kept.

    Raises:
        TypeError: If `expected` is a match or holds one, which would be compared and not asked.

    >>> from niceeval_expect import equals
    >>> equals({"status": "refund", "amount": 42}).evaluate({"amount": 42.0, "status": "refund"}).outcome
    'matched'
    >>> equals(True).evaluate(1).outcome
    'mismatched'
    """
    return _Equals(freeze(expected, _no_match_to_equal))


def _no_match_to_equal(match: object) -> None:
    raise TypeError(
        f"equals() compares plain values and got the match {match!r}: "
        "use the match itself, or json_match(...), which takes matches inside"
    )


def _no_match_as_option(match: object) -> None:
    raise TypeError(f"one_of() compares plain values and got the match {match!r}: any_of(...) takes matches")


register("equals", lambda args: equals(args["value"]))


@attrs.frozen(eq=False, repr=False)
class _OneOf(ValueMatch):
    _spec_name = "one_of"
    _options: tuple[object, ...]
    _texts: frozenset[str]

    def _args(self) -> dict[str, object]:
        return {"options": list(self._options)}

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        if type(subject) is str and subject in self._texts:
            return MATCHED
        if any(json_equal(option, subject) for option in self._options):
            return MATCHED
        return mismatched("value", "is none of the options", pointer, expected=list(self._options), received=subject)


def one_of(options: Iterable[object], /) -> ValueMatch:
    """Match a value that equals one of `options`, by the equality of `equals`.

    Args:
        options: A non-empty collection of values. A bare string is refused: its letters are not options.

    Raises:
        TypeError: If `options` is a string, bytes, a mapping or not iterable.
        ValueError: If it is empty.

    >>> from niceeval_expect import one_of
    >>> one_of(["pending", "delivered"]).evaluate("teleported").outcome
    'mismatched'
    """
    if isinstance(options, str | bytes | dict) or not isinstance(options, Iterable):
        raise TypeError(f"one_of() takes a list of values, got {options!r}; for a single one write one_of([...])")
    ordered = sorted(options, key=repr) if isinstance(options, set) else options
    kept = tuple(freeze(option, _no_match_as_option) for option in ordered)
    if not kept:
        raise ValueError("one_of() got no options: nothing could ever match; pass at least one value")
    return _OneOf(kept, frozenset(option for option in kept if type(option) is str))


register("one_of", lambda args: one_of(args["options"]))


@attrs.frozen(eq=False, repr=False)
class _Between(ValueMatch):
    _spec_name = "between"
    _positional = 2
    _low: float
    _high: float

    def _args(self) -> dict[str, object]:
        return {"low": self._low, "high": self._high}

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        if isinstance(subject, bool) or not isinstance(subject, int | float | Decimal):
            return wrong_type("a number", subject, pointer)
        if not _is_finite(subject):
            return mismatched("range", "is not a finite number", pointer, expected=self._range, received=subject)
        low, high, value = self._low, self._high, subject
        if Decimal in (type(low), type(high), type(value)):
            low, high, value = _decimal(low), _decimal(high), _decimal(value)
        if low <= value <= high:
            return MATCHED
        side = "below" if value < low else "above"
        return mismatched("range", f"is {side} the range", pointer, expected=self._range, received=subject)

    @property
    def _range(self) -> str:
        return f"{self._low!r} to {self._high!r}, both included"


def _is_finite(value: float | Decimal) -> bool:
    return value.is_finite() if isinstance(value, Decimal) else isinstance(value, int) or isfinite(value)


def _decimal(value: float | Decimal) -> Any:
    # A float compares with a Decimal by its shortest decimal form, as it does in `equals`.
    return Decimal(repr(value)) if isinstance(value, float) else value


def between(low: float, high: float, /) -> ValueMatch:
    """Match a number from `low` to `high`, both included.

    Args:
        low: The smallest number that matches; finite.
        high: The largest number that matches; finite, not below `low`.

    Raises:
        TypeError: If a bound is not a number (a bool is none).
        ValueError: If a bound is not finite, or `low` is above `high`.

    >>> from niceeval_expect import between
    >>> between(0, 1).evaluate(1.0).outcome, between(0, 1).evaluate(float("nan")).outcome
    ('matched', 'mismatched')
    """
    for name, value in (("low", low), ("high", high)):
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
            raise TypeError(f"between() takes numbers, got {name}={value!r}")
        if not _is_finite(value):
            raise ValueError(f"between() takes finite bounds, got {name}={value!r}")
    if low > high:
        raise ValueError(f"between({low!r}, {high!r}) is empty: the lower bound comes first")
    return _Between(low, high)


register("between", lambda args: between(args["low"], args["high"]))


@attrs.frozen(eq=False, repr=False)
class _IsDefined(ValueMatch):
    _spec_name = "is_defined"

    def _args(self) -> dict[str, object]:
        return {}

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        if subject is None:
            return mismatched("value", "is None", pointer, expected="a value other than None", received=None)
        return MATCHED


def is_defined() -> ValueMatch:
    """Match every value but None; False, 0, ``""`` and ``[]`` are values.

    >>> from niceeval_expect import is_defined
    >>> is_defined().evaluate(0).outcome, is_defined().evaluate(None).outcome
    ('matched', 'mismatched')
    """
    return _IsDefined()


register("is_defined", lambda args: is_defined())


@attrs.frozen(eq=False, repr=False)
class _IsBool(ValueMatch):
    _spec_name = "is_bool"
    _wanted: bool

    def spec(self) -> dict[str, object]:
        return {"match": "is_true" if self._wanted else "is_false"}

    def _args(self) -> dict[str, object]:
        return {}

    def __repr__(self) -> str:
        return call_repr("is_true" if self._wanted else "is_false")

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        if subject is self._wanted:
            return MATCHED
        message = f"is {subject}" if isinstance(subject, bool) else f"is of type {type(subject).__name__}, not bool"
        return mismatched("value", message, pointer, expected=self._wanted, received=subject)


def is_true() -> ValueMatch:
    """Match exactly True; 1 and other truthy values mismatch.

    >>> from niceeval_expect import is_true
    >>> is_true().evaluate(True).outcome, is_true().evaluate(1).outcome
    ('matched', 'mismatched')
    """
    return _IsBool(True)


def is_false() -> ValueMatch:
    """Match exactly False; 0, None and other falsy values mismatch.

    >>> from niceeval_expect import is_false
    >>> is_false().evaluate(False).outcome, is_false().evaluate(0).outcome
    ('matched', 'mismatched')
    """
    return _IsBool(False)


register("is_true", lambda args: is_true())
register("is_false", lambda args: is_false())
