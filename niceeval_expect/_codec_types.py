"""What a value reads as where its own type cannot be kept: snapshots, opaque values, JSON-mode objects."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields as dataclass_fields
from enum import Enum
from typing import Any, Final, final

import attrs

from niceeval_expect._evaluation import Absent, AbsentText

__all__ = [
    "BIG",
    "INF",
    "KEPT",
    "MAX_DEPTH",
    "Note",
    "Opaque",
    "Snapshot",
    "as_base",
    "dumps",
    "find_surrogate",
    "kept_origin",
    "object_kind",
    "plain_object",
    "pointer_to",
    "show",
    "snapshot",
    "type_name",
]

MAX_DEPTH: Final = 200
"""Levels of containers that are kept. The C encoder of `json` recurses, and Python 3.11 stops it near 1,000."""

BIG: Final = 10**600
"""Where an int stops being a JSON number: below every limit that Python may be run with on digits in text (640)."""
INF: Final = float("inf")

dumps: Final[Callable[[Any], str]] = json.JSONEncoder(
    ensure_ascii=True, allow_nan=False, check_circular=False, separators=(",", ":")
).encode
"""Write an encoded tree as compact ASCII JSON text."""

find_surrogate: Final = re.compile("[\ud800-\udfff]").search
"""Find a code point that is no character on its own, and that JSON text cannot tell from half of one."""

_MAX_REPR: Final = 200
_address: Final = re.compile(r" at 0x[0-9a-fA-F]+").sub

_ATOMS: Final = frozenset({str, int, float, bool, type(None)})


@attrs.frozen(eq=False)
class Snapshot:
    """What is left of a value whose type is not imported when it is read: it reads as its `value`.

    One whose value is a dict is also a read-only mapping over it.

    Attributes:
        kind: What it was: ``dataclass``, ``attrs``, ``pydantic``, ``enum``, ``exception``, ``snapshot`` (a registered
            function made it), or a tag of the codec that this process does not know.
        type: The name of its type, with the module.
        value: What it reads as: plain data.
        detail: What the codec kept beside the value, such as the name of an enum's member.
    """

    kind: str
    type: str
    value: Any
    detail: Mapping[str, Any] = attrs.field(factory=dict, kw_only=True)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Snapshot):
            return (self.kind, self.type) == (other.kind, other.type) and bool(self.value == other.value)
        return NotImplemented

    def __hash__(self) -> int:
        return hash((self.kind, self.type))


@attrs.frozen(eq=False)
class _MappingSnapshot(Snapshot, Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        return self.value[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.value)

    def __len__(self) -> int:
        return len(self.value)


def snapshot(kind: str, type: str, value: Any, detail: Mapping[str, Any] | None = None) -> Snapshot:
    """Return a `Snapshot`, one that is also a mapping where `value` is a dict."""
    cls = _MappingSnapshot if isinstance(value, dict) else Snapshot
    return cls(kind, type, value, detail=detail or {})


@final
@attrs.frozen
class Opaque:
    """All that is known of a value which could not be kept: the name of its type and a bounded repr."""

    type: str
    repr: str


@final
@attrs.frozen
class Note:
    """One thing that encoding could not keep as it was.

    Attributes:
        kind: ``opaque``, ``deep``, ``cycle`` (one that cannot be rebuilt), ``snapshot`` or ``exception``.
        pointer: JSON Pointer to it in the value.
        type: The name of its type.
        detail: A sentence for a person; may be empty.
    """

    kind: str
    pointer: str
    type: str
    detail: str = ""


# An instance of a subclass of str, int, dict, … (a StrEnum member, an OrderedDict, a namedtuple) is decoded to one of
# these: still a str, an int, a dict to every match, and its type's name is not lost when it is encoded again.
KEPT: Final[dict[type, Any]] = {
    base: type(f"Kept{base.__name__.title()}", (base,), {"kept": None})
    for base in (str, int, float, list, dict, tuple, set, frozenset, bytes, bytearray)
}


def kept_origin(value: Any) -> dict[str, Any] | None:
    """Return the tag that a decoded instance of a builtin's subclass came from, if it is one."""
    origin: dict[str, Any] | None = getattr(value, "kept", None) if type(value) in _KEPT_TYPES else None
    return origin


_KEPT_TYPES: Final = frozenset(KEPT.values())


def type_name(cls: type) -> str:
    """Return the name of a type with its module; that of a builtin without."""
    module = getattr(cls, "__module__", "")
    name = str(getattr(cls, "__qualname__", cls.__name__))
    return name if module in ("builtins", "", None) else f"{module}.{name}"


def object_kind(cls: type) -> str | None:
    """Return ``pydantic``, ``attrs`` or ``dataclass`` for a class that declares its fields, else None."""
    if cls in (Absent, AbsentText, Opaque):
        return None
    if hasattr(cls, "__pydantic_fields__") and hasattr(cls, "model_dump"):
        return "pydantic"
    if hasattr(cls, "__attrs_attrs__"):
        return "attrs"
    if hasattr(cls, "__dataclass_fields__"):
        return "dataclass"
    return None


_AS_BASE: Final[dict[type, Callable[[Any], Any]]] = {str: str.__str__, int: int.__index__, float: float.__float__}


def as_base(value: Any) -> Any:
    """Return an instance of a subclass of a builtin type, or any mapping, as that builtin; all else as it is."""
    for base in KEPT:
        if isinstance(value, base):
            # The type's own __str__ or __iter__ may say something else than what it holds.
            read = _AS_BASE.get(base, base)
            return read(value)
    return dict(value) if isinstance(value, Mapping) else value


def pointer_to(path: list[str | int]) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def show(value: Any, how: Callable[[Any], str] = repr) -> str:
    """Return a bounded text of a value; never raises, and holds no memory address, so that digests stay the same."""
    text = f"<{type_name(type(value))}>"
    with suppress(Exception):
        text = str(how(value))
    text = _address(" at 0x…", text) if " at 0x" in text else text
    return text if len(text) <= _MAX_REPR else text[: _MAX_REPR - 1] + "…"


def plain_object(value: Any) -> Any:
    """Return the JSON-mode dict of a pydantic, attrs or dataclass object, or None for anything else.

    One rule for all three, the one of pydantic's JSON mode: Decimal, Fraction, UUID and paths become text, dates ISO
    text, an enum its value, tuples and sets lists (sets in the order of their text), keys text. Bytes and what has no
    JSON mode stay as they are. A model that cannot be dumped is read field by field, by the same rule. A field that
    leads back to an object around it becomes the text ``[cycle: type]``. The root model of a list is a list; a
    `Snapshot` is its value.
    """
    if isinstance(value, Snapshot):
        return value.value
    kind = object_kind(type(value))
    return None if kind is None else _object(value, kind, ())


def _object(value: Any, kind: str, around: tuple[int, ...]) -> Any:
    if kind == "pydantic":
        try:
            return value.model_dump(mode="json", warnings=False)
        except Exception:
            # A field of an arbitrary type, bytes that are no text, a cycle: keep the rest.
            items = dict(value.__dict__) | (getattr(value, "__pydantic_extra__", None) or {})
    elif kind == "attrs":
        items = _read(value, [field.name for field in attrs.fields(type(value))])
    else:
        items = _read(value, [field.name for field in dataclass_fields(value)])
    around = (*around, id(value))
    return {name: _json_mode(item, around) for name, item in items.items()}


def _read(value: Any, names: list[str]) -> dict[str, Any]:
    missing = object()
    found = {name: getattr(value, name, missing) for name in names}
    return {name: item for name, item in found.items() if item is not missing}


def _json_mode(value: Any, around: tuple[int, ...]) -> Any:
    cls = type(value)
    if cls in _ATOMS or len(around) >= MAX_DEPTH:
        return value
    if id(value) in around:
        return f"[cycle: {type_name(cls)}]"
    if isinstance(value, Enum):
        return _json_mode(value.value, around)
    if isinstance(value, Snapshot):
        return value.value
    if kind := object_kind(cls):
        return _object(value, kind, around)
    inner = (*around, id(value))
    if isinstance(value, Mapping):
        return {_key(key): _json_mode(item, inner) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_mode(item, inner) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((_json_mode(item, inner) for item in value), key=_order)
    return _leaf(value)


def _leaf(value: Any) -> Any:
    # An iterator would be used up by reading it.
    if isinstance(value, bytes | bytearray | Absent | Opaque | BaseException | str | int | float | Iterator):
        return value
    from pydantic_core import to_jsonable_python

    try:
        return to_jsonable_python(value)
    except Exception:
        return value


def _key(key: Any) -> str:
    if type(key) is str:
        return key
    if isinstance(key, Enum):
        return _key(key.value)
    from pydantic_core import to_jsonable_python

    try:
        return str(next(iter(to_jsonable_python({key: None}))))
    except Exception:
        return str(key)


def _order(item: Any) -> tuple[str, str]:
    return type(item).__name__, str(item)
