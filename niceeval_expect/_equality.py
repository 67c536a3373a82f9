"""JSON equality: one rule at every depth, used by every match that compares values.

A bool is never a number; an int, a float and a Decimal compare by value (a Decimal with a float by the float's
shortest decimal form); NaN equals NaN; a tuple is a list; a set equals only a set; the order of keys is free; aware
datetimes compare as instants; pydantic, attrs and dataclass objects read as their JSON-mode dicts, an enum's member as
its value. Anything else equals what has its type and compares equal in Python.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from pathlib import PurePath
from typing import Any, Final, final

from niceeval_expect._codec import Snapshot, plain_object
from niceeval_expect._codec_types import object_kind
from niceeval_expect._evaluation import Absent, AbsentText

__all__ = ["MISSING", "as_json", "is_absent", "json_equal", "json_key", "shallow_equal"]


@final
class _Missing:
    __slots__ = ()


MISSING: Final = _Missing()
"""Stands for a value that is not there, which null is not."""

_SIMPLE: Final = frozenset({str, int, bool, type(None)})
_NATIVE: Final = _SIMPLE | {float, dict, list}
_EPOCH: Final = datetime(1970, 1, 1)
_UNTRACKED: Final = 500
_PLAIN_LEVELS: Final = 24
_NO_PAIR: Final = (_Missing(), _Missing())
_EXACT: Final = 2**53


def as_json(value: Any) -> Any:
    """Return how one value reads in JSON: a dict, a list, a text, a number, or itself. What is inside is left as it is.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Order:
    ...     id: str
    >>> as_json(Order("A-1")), as_json((1, 2))
    ({'id': 'A-1'}, [1, 2])
    """
    kind: type = type(value)
    return value if kind in _NATIVE else _reader(kind)(value)


@lru_cache(maxsize=4_096)
def _reader(kind: type) -> Callable[[Any], Any]:
    if kind in (Absent, AbsentText):
        return _itself
    if issubclass(kind, Enum):
        return lambda value: as_json(value.value)
    if object_kind(kind) is not None or issubclass(kind, Snapshot):
        return _read_object
    # The base type's own conversion, which a subclass cannot change.
    for base, read in ((str, str.__str__), (int, int.__int__), (float, float.__float__)):
        if issubclass(kind, base):
            return read
    if issubclass(kind, tuple | list):
        return list
    if issubclass(kind, Mapping):
        return dict
    return _itself


def _itself(value: Any) -> Any:
    return value


def _read_object(value: Any) -> Any:
    plain = plain_object(value)
    return plain if type(plain) in _NATIVE or type(plain) is type(value) else as_json(plain)


def is_absent(value: object) -> bool:
    """Return whether a value is one that never came."""
    kind = type(value)
    return kind is Absent or kind is AbsentText


def json_equal(expected: Any, actual: Any) -> bool:
    """Return whether two values are equal in JSON terms; an absent one equals nothing.

    >>> json_equal({"total": 89, "tags": ("a",)}, {"tags": ["a"], "total": 89.0})
    True
    >>> json_equal([True], [1])
    False
    """
    kind = type(expected)
    if kind is type(actual):
        if kind in _SIMPLE:
            return bool(expected == actual)
        if kind is dict or kind is list:
            same = _plain_equal(expected, actual, _PLAIN_LEVELS)
            if same is not None:
                return same
    return _any_equal(expected, actual)


def _plain_equal(expected: Any, actual: Any, levels: int) -> bool | None:
    """Compare two dicts or two lists that hold JSON values only; None where they do, deep down, hold something else."""
    if len(expected) != len(actual):
        return False
    if not levels:
        return None
    if type(expected) is list:
        pairs: Iterable[tuple[Any, Any]] = zip(expected, actual, strict=True)
    else:
        try:
            # A key that is no text may equal another one in JSON terms, or differ where Python sees none.
            pairs = [(one, actual[key]) if type(key) is str else _NO_PAIR for key, one in expected.items()]
        except KeyError:
            return None
    for one, other in pairs:
        kind, kind_of_other = type(one), type(other)
        if kind is kind_of_other:
            if kind in _SIMPLE:
                if one != other:
                    return False
            elif kind is float:
                if one != other and (one == one or other == other):
                    return False
            elif kind is dict or kind is list:
                same = _plain_equal(one, other, levels - 1)
                if not same:
                    return same
            else:
                return None
        elif kind not in _NATIVE or kind_of_other not in _NATIVE:
            return None
        elif kind is bool or kind_of_other is bool or one != other:
            return False
    return True


def _any_equal(expected: Any, actual: Any) -> bool:
    stack = [expected, actual]
    # Cycles and shared parts only matter in what is large: pairs are remembered from there on, alive, so that an id
    # is not used again. A pair that is being compared already adds nothing.
    seen: dict[tuple[int, int], tuple[Any, Any]] = {}
    count = 0
    while stack:
        actual = stack.pop()
        expected = stack.pop()
        count += 1
        if count > _UNTRACKED:
            key = (id(expected), id(actual))
            if key in seen:
                continue
            seen[key] = (expected, actual)
        one, other = as_json(expected), as_json(actual)
        kind = type(one)
        if kind is not type(other) or (kind is not dict and kind is not list):
            if not shallow_equal(one, other):
                return False
        elif len(one) != len(other):
            return False
        elif kind is list:
            for pair in zip(one, other, strict=True):
                stack += pair
        elif not _push_values(one, other, stack):
            return False
    return True


def _push_values(expected: dict[Any, Any], actual: dict[Any, Any], stack: list[Any]) -> bool:
    found = {json_key(key): value for key, value in actual.items()}
    for key, one in expected.items():
        other = found.get(json_key(key), MISSING)
        if other is MISSING:
            return False
        stack += (one, other)
    return True


def shallow_equal(expected: Any, actual: Any) -> bool:
    """Return whether two values, read by `as_json` and not both containers, are equal."""
    kind, other = type(expected), type(actual)
    if kind is other and kind in _SIMPLE:
        return bool(expected == actual)
    if is_absent(expected) or is_absent(actual) or kind is bool or other is bool:
        return False
    if kind in _NUMBERS and other in _NUMBERS:
        return _equal_numbers(expected, actual)
    if isinstance(expected, set | frozenset) and isinstance(actual, set | frozenset):
        return len(expected) == len(actual) and set(map(json_key, expected)) == set(map(json_key, actual))
    if isinstance(expected, datetime) and isinstance(actual, datetime):
        return _instant(expected) == _instant(actual)
    if isinstance(expected, PurePath) and isinstance(actual, PurePath):
        # A stored path comes back as a pure one.
        return expected == actual
    return kind is other and bool(expected == actual)


_NUMBERS: Final = frozenset({int, float, Decimal})


def _equal_numbers(expected: Any, actual: Any) -> bool:
    if isinstance(actual, Decimal):
        expected, actual = actual, expected
    if isinstance(expected, Decimal):
        if isinstance(actual, float):
            actual = Decimal(repr(actual))
        if expected.is_nan() or (isinstance(actual, Decimal) and actual.is_nan()):
            return isinstance(actual, Decimal) and expected.is_nan() and actual.is_nan()
        return bool(expected == actual)
    return bool(expected == actual) or (expected != expected and actual != actual)


def _instant(value: datetime) -> tuple[bool, object]:
    """Return what identifies a moment. Python compares two datetimes of one zone by their wall clocks, fold or not."""
    offset = value.utcoffset()
    wall = value.replace(tzinfo=None, fold=0) - _EPOCH
    return offset is not None, wall if offset is None else wall - offset


def json_key(value: Any) -> Any:
    """Return a hashable stand-in: two keys, or members of sets, are equal in JSON terms when their stand-ins are."""
    value = as_json(value)
    kind = type(value)
    if kind is str or kind is int:
        return value
    if kind is bool:
        return (bool, value)
    if kind is float:
        return value if value == value else (float, "nan")
    if kind is Decimal:
        return _decimal_key(value)
    if kind is list:
        return (list, tuple(map(json_key, value)))
    if kind is dict:
        return (dict, frozenset((json_key(key), json_key(item)) for key, item in value.items()))
    if isinstance(value, set | frozenset):
        return frozenset(map(json_key, value))
    if isinstance(value, datetime):
        return (datetime, _instant(value))
    if isinstance(value, date):
        return (date, value)
    return (PurePath if isinstance(value, PurePath) else kind, value)


def _decimal_key(value: Decimal) -> Any:
    if value.is_nan():
        return (float, "nan")
    if -_EXACT <= value <= _EXACT and value == value.to_integral_value():
        return int(value)
    nearest = float(value)
    return nearest if Decimal(repr(nearest)) == value else (Decimal, value)
