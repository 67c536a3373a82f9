"""Subjects as text: what a result keeps of the value that a check read."""

import hashlib
import inspect
import json
import threading
from collections.abc import Callable
from json.encoder import encode_basestring_ascii
from typing import Any, Final, TypeVar, final

import attrs

from niceeval.command import CommandResult
from niceeval_expect._codec import Note, decode, dumps, encode, register_tag, type_name
from niceeval_expect._codec_types import find_surrogate, show

__all__ = [
    "BLOB_LIMIT",
    "SIZE_LIMIT",
    "EncodedSubject",
    "decode_subject",
    "encode_subject",
    "register_snapshot",
]

V = TypeVar("V")

BLOB_LIMIT: Final = 1 << 20
"""Bytes of encoded text beyond which a subject is stored as a blob of its own: 1 MiB."""
SIZE_LIMIT: Final = 64 << 20
"""Bytes of encoded text beyond which a subject is not kept: 64 MiB."""

_BUILTIN: Final = (
    str,
    bytes,
    bytearray,
    int,
    float,
    complex,
    bool,
    type(None),
    list,
    tuple,
    dict,
    set,
    frozenset,
    object,
)

_BUILTIN_NAMES: Final = {cls: cls.__name__ for cls in _BUILTIN}

_lock: Final = threading.Lock()
_snapshots: dict[type, Callable[[Any], object]] = {}


@final
@attrs.frozen
class EncodedSubject:
    """A value as it is stored.

    Attributes:
        type: The name of its type: ``str``, ``dict``, ``mypackage.Order``, ``CommandResult``.
        text: The encoded value, ASCII JSON.
        size: Length of `text` in bytes.
        digest: SHA-256 of `text`, 64 hexadecimal digits.
        problem: Why the value cannot be retained, and the remedy; None where it can.
        rebuildable: Whether `decode_subject(text)` reads to every match as the value did.
    """

    type: str
    text: str
    size: int
    digest: str
    problem: str | None = None
    rebuildable: bool = True


def register_snapshot(type: type[V], encode: Callable[[V], object], /) -> None:
    """Teach NiceEval what to keep of a value of this type, or of a subclass, when a check reads it.

    The nearest class in the method resolution order counts; registering a type again replaces its function. The match
    itself still sees the value; the snapshot is what is stored and shown.

    Args:
        type: The class of the values. Builtin types are kept as they are and are refused.
        encode: Called with a value; returns something that NiceEval can keep: JSON values, dataclasses, bytes, and so
            on. An exception in it makes the value one that cannot be retained.

    Raises:
        TypeError: `type` is no class, or `encode` is no plain function.
        ValueError: `type` is a builtin type, or `object`.

    >>> class Frame:
    ...     rows = [[1, 2]]
    >>> register_snapshot(Frame, lambda frame: {"rows": frame.rows})
    >>> decode_subject(encode_subject(Frame()).text)["rows"]
    [[1, 2]]
    """
    if not isinstance(type, _TYPE):
        raise TypeError(f"register_snapshot needs a class first, got {show(type)}; pass the type of the values")
    if type in _BUILTIN:
        raise ValueError(f"values of type {type.__name__} are kept as they are; register a class of your own instead")
    if not callable(encode):
        raise TypeError(f"register_snapshot needs a function second, got {show(encode)}; pass one that takes the value")
    if inspect.iscoroutinefunction(encode):
        raise TypeError("register_snapshot needs a plain function, got a coroutine function; write it with def")
    global _snapshots
    with _lock:
        # A new dict each time, so that readers need no lock.
        _snapshots = {**_snapshots, type: encode}


_TYPE: Final = type


def _snapshot(value: Any) -> Any:
    known = _snapshots
    if not known:
        return NotImplemented
    for cls in type(value).__mro__:
        function = known.get(cls)
        if function is not None:
            return function(value)
    return NotImplemented


def encode_subject(value: object) -> EncodedSubject:
    """Return `value` as it is stored; never raises.

    >>> encode_subject({"id": 7}).text
    '{"id":7}'
    >>> encode_subject(object()).problem
    'a value of type object cannot be kept; call register_snapshot(object, fn) with a function that returns what ...'
    """
    if type(value) is str and (value.isascii() or find_surrogate(value) is None):
        return _subject("str", encode_basestring_ascii(value))
    notes: list[Note] = []
    name = _BUILTIN_NAMES.get(type(value)) or _name(type(value))
    try:
        text = dumps(encode(value, snapshots=_snapshot, notes=notes))
    except RecursionError:
        return _dropped(name, value, "is nested too deep to be kept; check the part of it that matters")
    if len(text) > SIZE_LIMIT:
        return _dropped(name, value, _too_large(len(text), name))
    problem = next((_opaque(note) for note in notes if note.kind == "opaque"), None)
    return _subject(name, text, problem, not notes)


def decode_subject(text: str) -> Any:
    """Return the value that was stored as `text`, without importing anyone's code.

    JSON values, tuples, sets, bytes, numbers of every kind, dates and `CommandResult` come back as they were. A
    dataclass, attrs or pydantic object comes back as a read-only mapping, its JSON-mode dict.

    >>> decode_subject(encode_subject((1, b"x")).text)
    (1, b'x')
    """
    tree = json.loads(text)
    return decode(tree) if '"$"' in text else tree


def _subject(name: str, text: str, problem: str | None = None, rebuildable: bool = True) -> EncodedSubject:
    size = len(text)
    if size > SIZE_LIMIT:
        return _dropped(name, text, _too_large(size, name))
    return EncodedSubject(name, text, size, hashlib.sha256(text.encode("ascii")).hexdigest(), problem, rebuildable)


def _dropped(name: str, value: object, problem: str) -> EncodedSubject:
    """Return what stands for a value that is not kept: its type and the beginning of its repr."""
    shown = value[:100] if isinstance(value, str) else show(value)
    text = dumps({"$": "opaque", "type": name, "repr": shown})
    return _subject(name, text, f"a value of type {name} {problem}", rebuildable=False)


def _too_large(size: int, name: str) -> str:
    return (
        f"takes {size / (1 << 20):,.1f} MiB, over the limit of {SIZE_LIMIT >> 20} MiB; check the part of it that "
        f"matters, or call register_snapshot({name.rpartition('.')[2]}, fn) with a function that returns less"
    )


def _opaque(note: Note) -> str:
    where = f" at {note.pointer}" if note.pointer else ""
    why = f" ({note.detail})" if note.detail else ""
    call = f"register_snapshot({note.type.rpartition('.')[2]}, fn)"
    return (
        f"a value of type {note.type}{where} cannot be kept{why}; "
        f"call {call} with a function that returns what to keep of it"
    )


def _name(cls: type) -> str:
    # NiceEval's own classes are known by the names that it exports.
    return cls.__qualname__ if cls.__module__.partition(".")[0] in ("niceeval", "niceeval_expect") else type_name(cls)


def _command_fields(result: CommandResult) -> dict[str, Any]:
    return {**attrs.asdict(result, recurse=False), "argv": list(result.argv)}


def _command(fields: dict[str, Any]) -> CommandResult:
    return CommandResult(**fields)


register_tag(CommandResult, "command", _command_fields, _command)
