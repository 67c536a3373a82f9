"""Matches over any value: equality, membership, ranges and lengths."""

from collections.abc import Iterable, Sized
from decimal import Decimal
from math import isfinite
from typing import Any

import attrs

from niceeval_expect._codec import Snapshot
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
    "length",
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

    >>> from niceeval_expect import equals
    >>> equals({"status": "refund", "amount": 42}).evaluate({"amount": 42.0, "status": "refund"}).outcome
    'matched'
    >>> equals(True).evaluate(1).outcome
    'mismatched'
    """
    return _Equals(freeze(expected))


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
    kept = tuple(freeze(option) for option in (sorted(options, key=repr) if isinstance(options, set) else options))
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
class _Length(ValueMatch):
    _spec_name = "length"
    _positional = 0
    _at_least: int | None
    _at_most: int | None
    _exactly: int | None

    def _args(self) -> dict[str, object]:
        bounds = {"at_least": self._at_least, "at_most": self._at_most, "exactly": self._exactly}
        return {name: bound for name, bound in bounds.items() if bound is not None}

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        if not isinstance(subject, Sized) or isinstance(subject, type | Snapshot):
            return wrong_type("something with a length", subject, pointer)
        size = len(subject)
        if (
            (self._exactly is None or size == self._exactly)
            and (self._at_least is None or size >= self._at_least)
            and (self._at_most is None or size <= self._at_most)
        ):
            return MATCHED
        wanted = " and ".join(f"{name.replace('_', ' ')} {bound}" for name, bound in self._args().items())
        unit = "characters" if isinstance(subject, str) else "bytes" if isinstance(subject, bytes) else "items"
        return mismatched("length", f"has {size} {unit}", pointer, expected=f"{wanted} {unit}", received=subject)


def length(*, at_least: int | None = None, at_most: int | None = None, exactly: int | None = None) -> ValueMatch:
    """Match a value by its length: code points of a text, items of a list, keys of a mapping, bytes.

    Args:
        at_least: The smallest length that matches, 0 or more.
        at_most: The largest length that matches, 0 or more.
        exactly: The only length that matches; not together with the others.

    Raises:
        TypeError: If a bound is not an int.
        ValueError: Without any bound, or if the bounds are negative or contradict each other.

    >>> from niceeval_expect import length
    >>> length(at_most=1_200).evaluate("A short answer.").outcome
    'matched'
    """
    bounds = {"at_least": at_least, "at_most": at_most, "exactly": exactly}
    given = {name: bound for name, bound in bounds.items() if bound is not None}
    if not given:
        raise ValueError("length() needs a bound: at_least=, at_most= or exactly=")
    for name, bound in given.items():
        if isinstance(bound, bool) or not isinstance(bound, int):
            raise TypeError(f"length() takes whole numbers, got {name}={bound!r}")
        if bound < 0:
            raise ValueError(f"length() takes bounds of 0 or more, got {name}={bound}")
    if exactly is not None and len(given) > 1:
        raise ValueError("length() takes exactly= alone; at_least= and at_most= go together")
    if at_least is not None and at_most is not None and at_least > at_most:
        raise ValueError(f"length(at_least={at_least}, at_most={at_most}) is empty: nothing could ever match")
    if at_least == 0 and len(given) == 1:
        raise ValueError("length(at_least=0) says nothing: every length is at least 0")
    return _Length(at_least, at_most, exactly)


register("length", lambda args: length(**args))


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
        hint = "" if isinstance(subject, bool) else f", which only {'counts' if subject else 'does not count'} as true"
        kind = type(subject).__name__
        return mismatched("value", f"is a {kind}{hint}", pointer, expected=self._wanted, received=subject)


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
