"""The walk that turns a value into a tagged tree; `_codec` says what the tags are."""

import base64
import re
import traceback
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from niceeval_expect._codec_types import (
    BIG,
    INF,
    KEPT,
    MAX_DEPTH,
    Note,
    Opaque,
    Snapshot,
    as_base,
    dumps,
    find_surrogate,
    kept_origin,
    object_kind,
    plain_object,
    pointer_to,
    show,
    type_name,
)
from niceeval_expect._evaluation import Absent, AbsentText

__all__ = ["HANDLERS", "Walk"]

_MAX_TRACEBACK: Final = 16_384
_surrogates: Final = re.compile("([\ud800-\udfff])").split


class Walk:
    """One walk over a value. `around` maps the id of each container on the way to the length of the path to it."""

    __slots__ = ("around", "notes", "path", "snapshots")

    def __init__(self, snapshots: Callable[[Any], Any] | None, notes: list[Note]) -> None:
        self.snapshots = snapshots
        self.notes = notes
        self.path: list[str | int] = []
        self.around: dict[int, int] = {}

    def encode(self, value: Any) -> Any:
        try:
            return HANDLERS.get(type(value), _other)(self, value)
        except RecursionError:
            # Those who called had nearly used up the stack.
            self.path.clear()
            self.note("deep", value, "nested too deep for the stack that was left")
            return {"$": "deep"}

    def enter(self, value: Any) -> dict[str, Any] | None:
        """Put a container around what follows; return a tag instead where that is a cycle or a level too many."""
        around = self.around
        key = id(value)
        if key in around:
            up = len(around) - list(around).index(key)
            if type(value) not in (list, dict):
                self.note("cycle", value, "only lists and dicts can be rebuilt around themselves")
            return {"$": "cycle", "up": up, "pointer": pointer_to(self.path[: around[key]])}
        if len(around) >= MAX_DEPTH:
            self.note("deep", value, f"nested beyond {MAX_DEPTH} levels")
            return {"$": "deep"}
        around[key] = len(self.path)
        return None

    def items(self, value: Any) -> list[Any]:
        path = self.path
        path.append(0)
        found = []
        for index, item in enumerate(value):
            path[-1] = index
            found.append(HANDLERS.get(type(item), _other)(self, item))
        path.pop()
        return found

    def wrap(self, value: Any, tag: dict[str, Any], name: str, inner: Any) -> Any:
        """Return `tag` with `inner` encoded under `name`; both belong to `value`, so that the path stays the same."""
        stop = self.enter(value)
        if stop is not None:
            return stop
        tag[name] = HANDLERS.get(type(inner), _other)(self, inner)
        del self.around[id(value)]
        return tag

    def note(self, kind: str, value: Any, detail: str = "") -> None:
        self.notes.append(Note(kind, pointer_to(self.path), type_name(type(value)), detail))


def _same(_: Walk, value: Any) -> Any:
    return value


def _str(_: Walk, value: str) -> Any:
    if value.isascii() or find_surrogate(value) is None:
        return value
    parts = [ord(part) if index % 2 else part for index, part in enumerate(_surrogates(value)) if part]
    return {"$": "str", "parts": parts}


def _int(_: Walk, value: int) -> Any:
    return value if -BIG < value < BIG else {"$": "int", "hex": hex(value)}


def _float(_: Walk, value: float) -> Any:
    return value if -INF < value < INF else {"$": "float", "value": repr(value)}


def _list(walk: Walk, value: list[Any]) -> Any:
    stop = walk.enter(value)
    if stop is not None:
        return stop
    found = walk.items(value)
    del walk.around[id(value)]
    return found


def _tuple(walk: Walk, value: tuple[Any, ...]) -> Any:
    stop = walk.enter(value)
    if stop is not None:
        return stop
    found = {"$": "tuple", "items": walk.items(value)}
    del walk.around[id(value)]
    return found


def _set(walk: Walk, value: set[Any] | frozenset[Any]) -> Any:
    stop = walk.enter(value)
    if stop is not None:
        return stop
    tag = "set" if isinstance(value, set) else "frozenset"
    found = {"$": tag, "items": sorted(walk.items(value), key=dumps)}
    del walk.around[id(value)]
    return found


def _dict(walk: Walk, value: dict[Any, Any]) -> Any:
    stop = walk.enter(value)
    if stop is not None:
        return stop
    plain = True
    for key in value:
        if type(key) is not str or key == "$" or not (key.isascii() or find_surrogate(key) is None):
            plain = False
            break
    path = walk.path
    path.append("")
    found: Any
    if plain:
        found = {}
        for key, item in value.items():
            path[-1] = key
            found[key] = HANDLERS.get(type(item), _other)(walk, item)
    else:
        pairs = []
        for key, item in value.items():
            path[-1] = show(key)
            name = HANDLERS.get(type(key), _other)(walk, key)
            pairs.append([name, HANDLERS.get(type(item), _other)(walk, item)])
        found = {"$": "dict", "items": pairs}
    path.pop()
    del walk.around[id(value)]
    return found


def _bytes(_: Walk, value: bytes | bytearray) -> Any:
    return {"$": "bytes" if isinstance(value, bytes) else "bytearray", "b64": base64.b64encode(value).decode("ascii")}


def _zoned(tag: str, value: datetime | time) -> Any:
    zone = {"zone": value.tzinfo.key} if isinstance(value.tzinfo, ZoneInfo) and value.tzinfo.key else {}
    return {"$": tag, "iso": value.isoformat(), **zone, **({"fold": 1} if value.fold else {})}


def _pair(walk: Walk, tag: str, *parts: Any) -> Any:
    return {"$": tag, "of": [walk.encode(part) for part in parts]}


def _path(walk: Walk, value: PurePath) -> Any:
    # A path may hold undecodable bytes as surrogates.
    return {"$": "path", "kind": type(value).__name__, "value": _str(walk, str(value))}


def _regex(walk: Walk, value: re.Pattern[Any]) -> Any:
    return {"$": "regex", "pattern": walk.encode(value.pattern), "flags": value.flags}


HANDLERS: Final[dict[type, Callable[[Walk, Any], Any]]] = {
    type(None): _same,
    bool: _same,
    str: _str,
    int: _int,
    float: _float,
    list: _list,
    dict: _dict,
    tuple: _tuple,
    set: _set,
    frozenset: _set,
    bytes: _bytes,
    bytearray: _bytes,
    datetime: lambda _, value: _zoned("datetime", value),
    time: lambda _, value: _zoned("time", value),
    date: lambda _, value: {"$": "date", "iso": value.isoformat()},
    timedelta: lambda _, value: {"$": "timedelta", "of": [value.days, value.seconds, value.microseconds]},
    Decimal: lambda _, value: {"$": "decimal", "value": str(value)},
    Fraction: lambda walk, value: _pair(walk, "fraction", value.numerator, value.denominator),
    complex: lambda walk, value: _pair(walk, "complex", value.real, value.imag),
    UUID: lambda _, value: {"$": "uuid", "value": str(value)},
    re.Pattern: _regex,
    Absent: lambda walk, value: {"$": "absent", "reason": _str(walk, value.reason)},
    AbsentText: lambda walk, value: {"$": "absent", "reason": _str(walk, value.reason)},
    Opaque: lambda walk, value: {"$": "opaque", "type": value.type, "repr": _str(walk, value.repr)},
}
# Instances of their subclasses (a FakeDatetime, a DateTime of another library) are kept as the type named here.
_BASES: Final = (datetime, date, time, timedelta, Decimal, Fraction, complex, UUID)


def _other(walk: Walk, value: Any) -> Any:
    """Encode a value whose exact type has no rule of its own."""
    levels, steps = len(walk.around), len(walk.path)
    try:
        return _by_kind(walk, value)
    except RecursionError:
        raise
    except Exception as problem:
        # Code of the value's own type broke (a property, a __str__, a registered function): that part is opaque.
        for key in list(walk.around)[levels:]:
            del walk.around[key]
        del walk.path[steps:]
        return _opaque(walk, value, f"reading it raised {type(problem).__name__}: {show(problem)}")


def _by_kind(walk: Walk, value: Any) -> Any:
    cls = type(value)
    if walk.snapshots is not None:
        kept = walk.snapshots(value)
        if kept is not NotImplemented:
            walk.note("snapshot", value)
            return walk.wrap(value, {"$": "snapshot", "type": type_name(cls)}, "value", kept)
    origin = kept_origin(value)
    if origin is not None:
        return walk.wrap(value, {key: item for key, item in origin.items() if key != "value"}, "value", as_base(value))
    if isinstance(value, Snapshot):
        return _snapshot(walk, value)
    if isinstance(value, Enum):
        tag = {"$": "enum", "type": type_name(cls), "name": value.name}
        if isinstance(value, type(value.value)) and type(value.value) in KEPT:
            tag["base"] = type_name(type(value.value))
        return walk.wrap(value, tag, "value", value.value)
    if isinstance(value, BaseException):
        walk.note("exception", value)
        text = "".join(traceback.format_exception(value))[-_MAX_TRACEBACK:]
        tag = {"$": "exception", "type": type_name(cls), "message": _str(walk, show(value, str))}
        return {**tag, "traceback": _str(walk, text)}
    kind = object_kind(cls)
    if kind is not None and not isinstance(value, type):
        tag = {"$": "object", "kind": kind, "type": type_name(cls)}
        return walk.wrap(value, tag, "value", plain_object(value))
    if isinstance(value, PurePath):
        return _path(walk, value)
    for base in _BASES:
        if isinstance(value, base):
            return HANDLERS[base](walk, value)
    base_value = as_base(value)
    if base_value is not value:
        return walk.wrap(value, {"$": "sub", "type": type_name(cls)}, "value", base_value)
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        # One number of an array library.
        walk.note("snapshot", value)
        return walk.wrap(value, {"$": "snapshot", "type": type_name(cls)}, "value", value.item())
    return _opaque(walk, value, "")


def _snapshot(walk: Walk, value: Snapshot) -> Any:
    """Encode what was decoded before exactly as it was."""
    if value.kind == "exception":
        return {"$": "exception", "type": value.type, **{k: walk.encode(v) for k, v in value.value.items()}}
    tag = {"$": value.kind, "type": value.type, **value.detail}
    if value.kind in ("pydantic", "attrs", "dataclass"):
        tag = {"$": "object", "kind": value.kind, "type": value.type}
    return walk.wrap(value, tag, "value", value.value)


def _opaque(walk: Walk, value: Any, detail: str) -> Any:
    walk.note("opaque", value, detail)
    text = show(value, repr)
    return {"$": "opaque", "type": type_name(type(value)), "repr": _str(walk, text)}
