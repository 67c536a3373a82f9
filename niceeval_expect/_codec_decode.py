"""From a tagged tree back to values, without importing anyone's code."""

import base64
import os
import re
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from niceeval_expect._codec_types import KEPT, Opaque, snapshot
from niceeval_expect._evaluation import Absent

__all__ = ["decode", "register_decoder"]

_ATOMS: Final = frozenset({str, int, float, bool, type(None)})
_REGISTERED: Final[dict[str, Callable[[Any], Any]]] = {}


def decode(tree: Any) -> Any:
    """Return the value that `encode` wrote as `tree`, as text read by `json.loads` or not.

    No code of the value's type is imported: an object comes back as a `Snapshot`, an opaque value as an `Opaque`.
    A tag that is unknown, or whose content cannot be read, comes back as a `Snapshot` of that content.

    >>> decode({"$": "set", "items": [1, 2]}) == {1, 2}
    True
    """
    return _decode(tree, []) if has_tag(tree) else tree


def has_tag(tree: Any) -> bool:
    """Return whether any object in the tree is tagged."""
    pending = [tree]
    while pending:
        node = pending.pop()
        if type(node) is dict:
            if "$" in node:
                return True
            pending.extend(item for item in node.values() if type(item) not in _ATOMS)
        elif type(node) is list:
            pending.extend(item for item in node if type(item) not in _ATOMS)
    return False


def register_decoder(tag: str, read: Callable[[Any], Any]) -> None:
    """Read objects with this tag by calling `read` with their decoded ``value``."""
    _REGISTERED[tag] = read


def _decode(tree: Any, around: list[Any]) -> Any:
    """Decode below the containers `around`: a list or dict that is being filled, or None for one that is made later."""
    kind = type(tree)
    if kind in _ATOMS:
        return tree
    if kind is list:
        found: list[Any] = []
        around.append(found)
        for item in tree:
            found.append(_decode(item, around))
        around.pop()
        return found
    if "$" not in tree:
        result: dict[str, Any] = {}
        around.append(result)
        for key, item in tree.items():
            result[key] = _decode(item, around)
        around.pop()
        return result
    tag = tree["$"]
    depth = len(around)
    try:
        read = _CONTAINERS.get(tag)
        return read(tree, around) if read is not None else _leaf(tag, tree)
    except (ValueError, TypeError, KeyError, ArithmeticError, re.error):
        # Altered by hand or by redaction, or from a newer version.
        del around[depth:]
        return _unreadable(tree)


def _unreadable(tree: Mapping[str, Any]) -> Any:
    detail = {key: item for key, item in tree.items() if key not in ("$", "type", "value")}
    return snapshot(str(tree["$"]), str(tree.get("type", "")), tree.get("value"), detail)


def _items(tree: Mapping[str, Any], around: list[Any]) -> list[Any]:
    around.append(None)
    found = []
    for item in tree["items"]:
        found.append(_decode(item, around))
    around.pop()
    return found


def _dict(tree: Mapping[str, Any], around: list[Any]) -> dict[Any, Any]:
    result: dict[Any, Any] = {}
    around.append(result)
    for key, item in tree["items"]:
        name = _decode(key, around)
        result[name] = _decode(item, around)
    around.pop()
    return result


def _inner(tree: Mapping[str, Any], around: list[Any]) -> Any:
    around.append(None)
    value = _decode(tree["value"], around)
    around.pop()
    return value


def _object(tree: Mapping[str, Any], around: list[Any]) -> Any:
    return snapshot(tree["kind"], tree["type"], _inner(tree, around))


def _made(tree: Mapping[str, Any], around: list[Any]) -> Any:
    return snapshot("snapshot", tree["type"], _inner(tree, around))


def _enum(tree: Mapping[str, Any], around: list[Any]) -> Any:
    value = _inner(tree, around)
    base = tree.get("base")
    if base is not None:
        return _kept(tree, value)
    return snapshot("enum", tree["type"], value, {"name": tree["name"]})


def _kept(tree: Mapping[str, Any], value: Any) -> Any:
    kept = KEPT[type(value)](value)
    kept.kept = {key: item for key, item in tree.items() if key != "value"}
    return kept


def _cycle(tree: Mapping[str, Any], around: list[Any]) -> Any:
    up = tree["up"]
    target = around[-up] if 0 < up <= len(around) else None
    return Opaque("cycle", f"the value at {tree['pointer']!r}") if target is None else target


_CONTAINERS: Final[dict[Any, Callable[[Mapping[str, Any], list[Any]], Any]]] = {
    "tuple": lambda tree, around: tuple(_items(tree, around)),
    "set": lambda tree, around: set(_items(tree, around)),
    "frozenset": lambda tree, around: frozenset(_items(tree, around)),
    "dict": _dict,
    "object": _object,
    "snapshot": _made,
    "enum": _enum,
    "sub": lambda tree, around: _kept(tree, _inner(tree, around)),
    "cycle": _cycle,
}


def _text(value: Any) -> str:
    """Read text that may hold surrogates, and so may be tagged itself."""
    text = value if type(value) is str else _leaf("str", value)
    if not isinstance(text, str):
        raise TypeError("not text")
    return text


def _int(value: Any) -> int:
    return int(value["hex"], 16) if isinstance(value, dict) else int(value)


def _float(value: Any) -> float:
    return float(value["value"]) if isinstance(value, dict) else float(value)


def _with_zone(value: Any, tree: Mapping[str, Any]) -> Any:
    if "fold" in tree:
        value = value.replace(fold=1)
    if "zone" in tree:
        # Without the zone's data on this machine the offset that was stored is as good.
        with suppress(Exception):
            zoned = value.replace(tzinfo=ZoneInfo(tree["zone"]))
            if zoned.utcoffset() == value.utcoffset() or isinstance(value, time):
                return zoned
    return value


def _path(tree: Mapping[str, Any]) -> PurePath:
    kind = tree["kind"]
    if "Windows" in kind:
        pure: type[PurePath] = PureWindowsPath
    else:
        pure = PurePosixPath
    native = not kind.startswith("Pure") and (os.name == "nt") == (pure is PureWindowsPath)
    return (Path if native else pure)(_text(tree["value"]))


def _regex(tree: Mapping[str, Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return re.compile(_decode(tree["pattern"], []), tree["flags"])


def _exception(tree: Mapping[str, Any]) -> Any:
    value = {"message": _text(tree["message"]), "traceback": _text(tree["traceback"])}
    return snapshot("exception", tree["type"], value)


_LEAVES: Final[dict[Any, Callable[[Mapping[str, Any]], Any]]] = {
    "str": lambda tree: "".join(part if type(part) is str else chr(part) for part in tree["parts"]),
    "int": _int,
    "float": _float,
    "bytes": lambda tree: base64.b64decode(tree["b64"], validate=True),
    "bytearray": lambda tree: bytearray(base64.b64decode(tree["b64"], validate=True)),
    "decimal": lambda tree: Decimal(tree["value"]),
    "fraction": lambda tree: Fraction(_int(tree["of"][0]), _int(tree["of"][1])),
    "complex": lambda tree: complex(_float(tree["of"][0]), _float(tree["of"][1])),
    "uuid": lambda tree: UUID(tree["value"]),
    "path": _path,
    "regex": _regex,
    "datetime": lambda tree: _with_zone(datetime.fromisoformat(tree["iso"]), tree),
    "time": lambda tree: _with_zone(time.fromisoformat(tree["iso"]), tree),
    "date": lambda tree: date.fromisoformat(tree["iso"]),
    "timedelta": lambda tree: timedelta(*tree["of"]),
    "absent": lambda tree: Absent(_text(tree["reason"])),
    "exception": _exception,
    "opaque": lambda tree: Opaque(tree["type"], _text(tree["repr"])),
    "deep": lambda tree: Opaque("deep", "nested too deep to be kept"),
}


def _leaf(tag: Any, tree: Mapping[str, Any]) -> Any:
    read = _LEAVES.get(tag)
    if read is not None:
        return read(tree)
    registered = _REGISTERED.get(tag)
    return _unreadable(tree) if registered is None else registered(decode(tree["value"]))
