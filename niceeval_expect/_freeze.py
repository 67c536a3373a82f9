"""Private copies of arguments, and how a value reads in the repr of a match."""

import copy
import re
from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from typing import Any, Final

__all__ = ["ATOMS", "call_repr", "freeze", "rule_inside", "show"]

# Python refuses to write an integer of more than 4,300 digits in decimal; in hexadecimal it has no limit.
_MAX_BITS: Final = 14_000
ATOMS: Final = frozenset({str, int, float, bool, type(None), bytes, complex})
"""Types whose values nobody can change."""
_ENDLESS: Final = "a match's argument contains itself or is nested too deeply; give the part of it that counts"
_CONTAINERS: Final = frozenset({list, tuple, set, frozenset})


def freeze(value: Any, refuse: Callable[[object], None] | None = None) -> Any:
    """Return a private copy of `value`, so that what the caller does to it later cannot leak into a match.

    Args:
        value: Any value.
        refuse: Called with a match that stands in it, to raise; None where matches may be in it.

    Raises:
        ValueError: It contains itself or is nested too deeply.
    """
    if type(value) in ATOMS:
        return value
    try:
        return _frozen(value, refuse)
    except RecursionError:
        # Raised where the stack has room again.
        raise ValueError(_ENDLESS) from None


def _frozen(value: Any, refuse: Callable[[object], None] | None) -> Any:
    kind = type(value)
    if kind in ATOMS:
        return value
    if kind is dict:
        return {key: item if type(item) in ATOMS else _frozen(item, refuse) for key, item in value.items()}
    if kind is list:
        return [item if type(item) in ATOMS else _frozen(item, refuse) for item in value]
    if kind is tuple:
        return tuple([_frozen(item, refuse) for item in value])
    if kind is set or kind is frozenset:
        return frozenset([_frozen(item, refuse) for item in value])
    if isinstance(value, re.Pattern) or callable(value):
        return value
    if hasattr(kind, "canonical_spec"):
        if refuse is not None:
            refuse(value)
        return value
    try:
        return copy.deepcopy(value)
    except Exception:
        # What cannot be copied (a lock, a socket) is kept as it is: there is nothing in it that a comparison reads.
        return value


def rule_inside(value: object) -> object:
    """Return a match or a compiled regex that stands in plain data, where it would only equal itself; else None."""
    if type(value) in ATOMS:
        return None
    try:
        return _rule_inside(value)
    except RecursionError:
        raise ValueError(_ENDLESS) from None


def _rule_inside(value: object) -> object:
    kind = type(value)
    if isinstance(value, dict) and kind is dict:
        items: Iterable[object] = value.values()
    elif isinstance(value, list | tuple | set | frozenset) and kind in _CONTAINERS:
        items = value
    else:
        return value if kind is re.Pattern or hasattr(kind, "canonical_spec") else None
    return next((rule for item in items if (rule := _rule_inside(item)) is not None), None)


def show(value: object) -> str:
    """Return the repr of an argument; sets come out sorted, so that the text does not depend on hashing."""
    kind = type(value)
    if isinstance(value, float) and kind is float and not isfinite(value):
        return f"float('{value!r}')"
    if isinstance(value, int) and kind is int and value.bit_length() > _MAX_BITS:
        return hex(value)
    if kind is set or kind is frozenset:
        assert isinstance(value, set | frozenset)
        return "{" + ", ".join(sorted(map(show, value))) + "}" if value else "set()"
    if isinstance(value, list) and kind is list:
        return "[" + ", ".join(map(show, value)) + "]"
    if isinstance(value, tuple) and kind is tuple:
        inner = ", ".join(map(show, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, Mapping) and kind is dict:
        return "{" + ", ".join(f"{show(key)}: {show(item)}" for key, item in value.items()) + "}"
    if isinstance(value, type):
        return value.__qualname__
    if callable(value) and hasattr(value, "__qualname__"):
        return str(value.__qualname__).rsplit("<locals>.", 1)[-1]
    if isinstance(value, re.Pattern):
        return repr(value.pattern) if value.flags in (0, re.UNICODE.value) else repr(value)
    return repr(value)


def call_repr(name: str, *args: object, **options: object) -> str:
    """Return ``name(arg, option=value)``."""
    parts = [show(value) for value in args]
    parts.extend(f"{key}={show(value)}" for key, value in options.items())
    return f"{name}({', '.join(parts)})"
