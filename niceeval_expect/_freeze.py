"""Private copies of arguments, and how a value reads in the repr of a match."""

import copy
import re
from collections.abc import Mapping
from math import isfinite
from typing import Any, Final

__all__ = ["call_repr", "freeze", "show"]

# Python refuses to write an integer of more than 4,300 digits in decimal; in hexadecimal it has no limit.
_MAX_BITS: Final = 14_000
_ATOMS = frozenset({str, int, float, bool, type(None), bytes, complex})


def freeze(value: Any) -> Any:
    """Return a private copy of `value`, so that what the caller does to it later cannot leak into a match."""
    kind = type(value)
    if kind in _ATOMS:
        return value
    if kind is dict:
        return {key: freeze(item) for key, item in value.items()}
    if kind is list:
        return [freeze(item) for item in value]
    if kind is tuple:
        return tuple(freeze(item) for item in value)
    if kind is set or kind is frozenset:
        return frozenset(value)
    if isinstance(value, re.Pattern) or callable(value):
        return value
    try:
        return copy.deepcopy(value)
    except Exception:
        # What cannot be copied (a lock, a socket) is kept as it is: there is nothing in it that a comparison reads.
        return value


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
