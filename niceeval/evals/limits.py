"""Numbers that limit something, and settings that are kept as JSON: what cannot be one is refused with a sentence."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

__all__ = ["amount_above_zero", "json_settings", "whole_number"]


def whole_number(name: str, value: object, *, least: int = 1) -> int | None:
    """Return a whole number of at least `least`, or None.

    Raises:
        ValueError: It is something else; the sentence names it.

    >>> whole_number("attempts=", 3)
    3
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name} is a whole number of at least {least}, got {value!r}; leave it out for the default")
    return value


def amount_above_zero(name: str, value: object, unit: str) -> float | None:
    """Return a finite number above 0, or None.

    Raises:
        ValueError: It is something else; the sentence names it.

    >>> amount_above_zero("timeout=", 1.5, "seconds")
    1.5
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or value <= 0:
        raise ValueError(f"{name} is a number of {unit} above 0, got {value!r}; leave it out for no limit")
    return value


def json_settings(name: str, value: object) -> dict[str, Any]:
    """Return a copy of a mapping that holds nothing but what JSON can: texts, numbers, booleans, None, lists, mappings.

    Raises:
        TypeError: It is no mapping, or holds something else; the sentence says where.

    >>> json_settings("flags=", {"strict": True, "steps": (1, 2)})
    {'strict': True, 'steps': [1, 2]}
    """
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} is a mapping of names to values, got {value!r:.100}")
    return {key: _json(f"{name.rstrip('=')}[{key!r}]", each) for key, each in _named(name, value)}


def _named(name: str, value: Mapping[Any, Any]) -> list[tuple[str, Any]]:
    for key in value:
        if not isinstance(key, str):
            raise TypeError(f"{name} has the name {key!r:.100}; names are texts")
    return list(value.items())


def _json(place: str, value: object) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | float):
        if not isfinite(value):
            raise TypeError(f"{place} is {value!r}, which JSON cannot hold; use a finite number, a text or None")
        return value
    if isinstance(value, list | tuple):
        return [_json(f"{place}[{position}]", each) for position, each in enumerate(value)]
    if isinstance(value, Mapping):
        return {key: _json(f"{place}[{key!r}]", each) for key, each in _named(place, value)}
    raise TypeError(
        f"{place} is {type(value).__name__}, which is not kept with a run; "
        "use texts, numbers, True, False, None, lists and mappings of them"
    )
