"""Any value as ASCII JSON, by type and never by hope.

JSON values are themselves. Everything else is a tagged object, ``{"$": tag, …}``:

    tuple set frozenset dict    items (a dict only with keys that are no text, or with a key "$")
    str                         parts: text, and code points of lone surrogates as numbers
    int                         hex, beyond 600 digits
    float                       value: nan, inf, -inf
    bytes bytearray             b64
    decimal uuid                value
    fraction complex timedelta  of: numerator, denominator; real, imaginary; days, seconds, microseconds
    datetime date time          iso, and zone and fold where there is one
    path                        kind, value
    regex                       pattern, flags
    absent                      reason
    exception                   type, message, traceback
    enum                        type, name, value, and base where the member is also a str, an int, …
    object                      kind, type, value: the JSON-mode dict of a dataclass, attrs or pydantic object
    sub                         type, value: an instance of a subclass of a builtin type
    snapshot                    type, value: what a registered function made of it
    cycle                       up: how many containers around it, pointer
    deep                        nothing: beyond `MAX_DEPTH` levels
    opaque                      type, repr
"""

from collections.abc import Callable
from typing import Any

from niceeval_expect._codec_decode import decode, register_decoder
from niceeval_expect._codec_encode import HANDLERS, Walk
from niceeval_expect._codec_types import (
    BIG,
    INF,
    MAX_DEPTH,
    Note,
    Opaque,
    Snapshot,
    dumps,
    find_surrogate,
    plain_object,
    type_name,
)

__all__ = [
    "Note",
    "Opaque",
    "Snapshot",
    "decode",
    "dumps",
    "encode",
    "is_plain",
    "plain_object",
    "register_tag",
    "type_name",
]


def encode(value: Any, *, snapshots: Callable[[Any], Any] | None = None, notes: list[Note] | None = None) -> Any:
    """Return `value` as a tree of dicts with text keys, lists, str, int, float, bool and None.

    Args:
        value: Anything. What is a JSON tree already is returned as it is, the same object.
        snapshots: Called with a value that is not of a builtin type; returns what to keep of it, or NotImplemented.
        notes: Collects what could not be kept as it was, in order.

    >>> encode({"at": (1, 2)})
    {'at': {'$': 'tuple', 'items': [1, 2]}}
    >>> decode(encode({"at": (1, 2)}))
    {'at': (1, 2)}
    """
    if is_plain(value):
        return value
    return Walk(snapshots, [] if notes is None else notes).encode(value)


def is_plain(value: Any, levels: int = MAX_DEPTH) -> bool:
    """Return whether `value` is a JSON tree that needs no tag anywhere."""
    kind = type(value)
    if kind is str:
        return value.isascii() or find_surrogate(value) is None
    if kind is dict:
        if not levels or "$" in value:
            return False
        for key, item in value.items():
            if type(key) is not str or not (key.isascii() or find_surrogate(key) is None):
                return False
            one = type(item)
            if (one is str and item.isascii()) or one is bool or item is None:
                continue
            if not is_plain(item, levels - 1):
                return False
        return True
    if kind is list:
        if not levels:
            return False
        for item in value:
            if type(item) is str and item.isascii():
                continue
            if not is_plain(item, levels - 1):
                return False
        return True
    if kind is int:
        fits: bool = -BIG < value < BIG
        return fits
    if kind is float:
        finite: bool = -INF < value < INF
        return finite
    return value is None or kind is bool


def register_tag(cls: type, tag: str, to_fields: Callable[[Any], Any], from_fields: Callable[[Any], Any]) -> None:
    """Give a class of NiceEval its own tag: `to_fields` makes plain data of it, `from_fields` reads that again."""

    def handler(walk: "Walk", value: Any) -> Any:
        return walk.wrap(value, {"$": tag}, "value", to_fields(value))

    HANDLERS[cls] = handler
    register_decoder(tag, from_fields)
