"""Paths into a value: dotted and bracketed, JSON Pointers, or tuples; and what is found there."""

import re
from functools import lru_cache
from typing import Any, Final, TypeAlias, final

import attrs

from niceeval_expect._json import MISSING, as_json, brief, is_absent, json_key
from niceeval_expect._pointer import dollar, from_segments

__all__ = ["Blocked", "Path", "Step", "keys_of", "lookup", "parse_path", "resolve"]

Path: TypeAlias = str | tuple[str | int, ...]
_KEYS_SHOWN: Final = 8
_KEY_SHOWN: Final = 40


@final
@attrs.frozen
class Step:
    """One segment of a path: a key on an object and, where it is a number, an index on a list."""

    key: str
    index: int | None


@final
@attrs.frozen
class Blocked:
    """Where a path ends before its last segment.

    Attributes:
        kind: ``missing`` (no such key or index), ``container`` (a value with nothing inside, such as a number) or
            ``absent`` (a value that never came).
        pointer: Below the start of the path: of what is missing; for ``container`` and ``absent``, of that value.
        value: The object or list that lacks the segment, or the value that has nothing inside.
        is_root: Whether that is the value in which the path starts.
    """

    kind: str
    pointer: str
    value: Any
    is_root: bool

    def sentence(self) -> str:
        """Say what is missing, and what there is instead."""
        shown = dollar(self.pointer)
        if self.kind == "container":
            return f"{shown} is {brief(self.value)}, which has nothing inside"
        return f"{shown} is missing; {keys_of(self.value)}"


_index: Final = re.compile(r"0|[1-9][0-9]{0,17}").fullmatch
_dotted: Final = re.compile(
    r"""\[(?P<index>[0-9]+)\] | \[(?P<quote>["'])(?P<quoted>.*?)(?P=quote)\] | (?P<dot>\.?)(?P<name>[^.\[\]]+)""",
    re.VERBOSE | re.DOTALL,
).match
_FORMS: Final = "'items[0].name', '/items/0/name' or ('items', 0, 'name')"


def parse_path(path: object, owner: str) -> tuple[Step, ...]:
    """Return the steps of a path, or refuse it with a sentence in which `owner` is the function it was given to."""
    return _read_once(path, owner) if type(path) is str else _read(path, owner)


def _read(path: object, owner: str) -> tuple[Step, ...]:
    if isinstance(path, str):
        if not path.strip():
            raise ValueError(f"{owner} takes a path such as {_FORMS}, got the blank text {path!r}")
        segments = _pointer_segments(path, owner) if path[0] == "/" else _dotted_segments(path, owner)
    elif isinstance(path, tuple):
        segments = [_segment(segment, path, owner) for segment in path]
        if not segments:
            raise ValueError(f"{owner} got the empty path (), which is the whole value; use the match without it")
    else:
        raise TypeError(f"{owner} takes a path as text or as a tuple of segments, such as {_FORMS}, got {path!r:.200}")
    return tuple(Step(segment, int(segment) if _index(segment) else None) for segment in segments)


# A path is often written where a match is made anew for every case.
_read_once: Final = lru_cache(maxsize=1024)(_read)


def _segment(segment: object, path: object, owner: str) -> str:
    if isinstance(segment, bool) or not isinstance(segment, str | int):
        raise TypeError(f"{owner} takes keys (text) and indices (int) in a path, got {segment!r:.80} in {path!r:.200}")
    if isinstance(segment, int) and segment < 0:
        raise ValueError(f"{owner} takes indices from 0 on, counted from the start, got {segment} in {path!r:.200}")
    return str(segment)


def _pointer_segments(path: str, owner: str) -> list[str]:
    if re.search(r"~(?![01])", path):
        raise ValueError(f"{owner} got the JSON Pointer {path!r:.200}, in which '~' must be written '~0' ('/' is '~1')")
    return [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]


def _dotted_segments(path: str, owner: str) -> list[str]:
    segments: list[str] = []
    position = 2 if path.startswith("$.") else 1 if path.startswith("$[") else 0
    first = position
    while position < len(path):
        found = _dotted(path, position)
        # Every name but the first follows a dot, and only then.
        if found is None or (found["name"] is not None and bool(found["dot"]) == (position == first)):
            raise ValueError(_refusal(path, position, owner))
        segments.append(found["index"] or found["name"] or found["quoted"] or "")
        position = found.end()
    return segments


def _refusal(path: str, position: int, owner: str) -> str:
    rest = path[position:]
    if re.match(r"\[-[0-9]+\]", rest):
        why = "indices count from the start, from 0 on"
    elif rest.startswith(("[*]", "*")):
        why = "a path leads to one place, so that there are no wildcards"
    else:
        why = 'write keys with dots or brackets in them as ["such.a.key"] or use a tuple of segments'
    return f"{owner} got the path {path!r:.200}, which cannot be read from character {position} on: {why}"


def lookup(value: dict[Any, Any], key: Any) -> Any:
    """Return the value of a key by JSON equality of keys, or `MISSING`."""
    if type(key) is str:
        found = value.get(key, MISSING)
        if found is not MISSING or all(type(other) is str for other in value):
            return found
    elif not value:
        return MISSING
    stand_in = json_key(key)
    return next((item for other, item in value.items() if json_key(other) == stand_in), MISSING)


def resolve(value: Any, steps: tuple[Step, ...]) -> Any:
    """Return what is at the end of a path, or a `Blocked`.

    >>> resolve({"items": [{"name": "lamp"}]}, parse_path("items[0].name", "at()"))
    'lamp'
    >>> resolve({"items": []}, parse_path("items.0", "at()")).sentence()
    '$.items[0] is missing; the list is empty'
    """
    for position, step in enumerate(steps):
        value = as_json(value)
        if type(value) is dict:
            found = value.get(step.key, MISSING)
            if found is MISSING:
                found = lookup(value, step.key)
                if found is MISSING and step.index is not None:
                    found = lookup(value, step.index)
        elif type(value) is list:
            found = value[step.index] if step.index is not None and step.index < len(value) else MISSING
        else:
            kind = "absent" if is_absent(value) else "container"
            return Blocked(kind, _pointer(steps, position), value, position == 0)
        if found is MISSING:
            return Blocked("missing", _pointer(steps, position + 1), value, position == 0)
        value = found
    return value


def _pointer(steps: tuple[Step, ...], count: int) -> str:
    return from_segments(step.key for step in steps[:count])


def keys_of(value: Any) -> str:
    """Say what keys an object has, or how long a list is."""
    if isinstance(value, list):
        return f"the list has {len(value)} item{'s' * (len(value) != 1)}" if value else "the list is empty"
    if not value:
        return "the object is empty"
    keys = [
        repr(key) if len(repr(key)) <= _KEY_SHOWN else f"{repr(key)[:_KEY_SHOWN]}…" for key in list(value)[:_KEYS_SHOWN]
    ]
    more = f" and {len(value) - _KEYS_SHOWN} more" if len(value) > _KEYS_SHOWN else ""
    return f"the object has {', '.join(keys)}{more}"
