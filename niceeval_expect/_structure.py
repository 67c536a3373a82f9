"""Matches over structure: what is at a path, and which keys and parts are there."""

import re
from collections.abc import Mapping, Sized
from typing import Any, Final

import attrs

from niceeval_expect._evaluation import (
    MATCHED,
    MAX_SAMPLES,
    Diagnostic,
    Evaluation,
    cut_text,
    mismatched,
    unavailable,
    wrong_type,
)
from niceeval_expect._facets import plain_or_match
from niceeval_expect._freeze import call_repr
from niceeval_expect._json import MISSING, as_json, brief, is_absent
from niceeval_expect._json_text import json_text
from niceeval_expect._match import Match, ValueMatch, evaluate_part
from niceeval_expect._near import blankness
from niceeval_expect._partial import accepts_missing, json_match, no_container, show_match
from niceeval_expect._paths import Blocked, Path, Step, keys_of, lookup, parse_path, resolve
from niceeval_expect._pointer import child, from_segments
from niceeval_expect._regex import pattern
from niceeval_expect._spec import register

__all__ = ["absent", "at", "has_keys", "json_match", "json_text", "non_empty"]

_PARSE_FIRST: Final = "parse text with json_text(at(...)) first"
_NEVER_ABSENT: Final = frozenset({str, int, float, bool, dict, list})


@attrs.frozen(eq=False, repr=False)
class _At(ValueMatch):
    _spec_name = "at"
    _path: Path
    _match: ValueMatch
    _steps: tuple[Step, ...]
    _below: str
    _if_missing: bool
    _key: object

    def _args(self) -> dict[str, object]:
        return {"path": self._path if isinstance(self._path, str) else list(self._path), "of": self._match}

    def _parts(self) -> tuple[object, ...]:
        return (self._match,)

    def __repr__(self) -> str:
        return call_repr("at", self._path, show_match(self._match))

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        # Of one key on an object nothing has to be resolved.
        found = subject.get(self._key) if type(subject) is dict else None
        if found is None:
            found = resolve(subject, self._steps)
        if type(found) is not Blocked:
            if type(found) in _NEVER_ABSENT:
                try:
                    evaluation = self._match._evaluate(found, pointer + self._below)
                except Exception:
                    evaluation = evaluate_part(self._match, found, pointer + self._below)
            else:
                evaluation = evaluate_part(self._match, found, pointer + self._below)
            # What a part was parsed to is not what the whole was.
            return evaluation if evaluation._produced is None else attrs.evolve(evaluation, produced=None)
        if found.kind == "absent":
            return unavailable(found.value.reason, pointer + found.pointer)
        if found.kind == "container" and found.is_root:
            return no_container("an object or a list", found.value, pointer, remedy=_PARSE_FIRST)
        if self._if_missing:
            return MATCHED
        return mismatched("missing", found.sentence(), pointer + self._below, expected=show_match(self._match))


def at(path: Path, match: ValueMatch | object, /) -> ValueMatch:
    """Match a value in which the part at `path` matches.

    A missing part mismatches with code ``missing``, naming what is there instead; null is a part like any other. A
    subject that holds nothing (text, a number) mismatches with code ``type``.

    Args:
        path: ``"items[0].name"`` or ``"items.0.name"``, where a number is an index on a list and a key on an object; a
            JSON Pointer ``"/items/0/name"``; or a tuple of segments ``("items", 0, "unit.price")``.
        match: A value match for that part, `absent()` included; a plain value means ``equals(value)``.

    Raises:
        TypeError: If the path is no text or tuple, or the match is a measurement or a counted tool match.
        ValueError: If the path cannot be read.

    >>> from niceeval_expect import at
    >>> at("items[0].price", 89).evaluate({"items": [{"price": 89.0}]}).outcome
    'matched'
    >>> at("status", "shipped").evaluate({"state": "shipped"}).diagnostic.message
    "$.status is missing; the object has 'state'"
    """
    steps = parse_path(path, "at()")
    wanted = pattern(match) if isinstance(match, re.Pattern) else plain_or_match("at()", match)
    if len(steps) == 1:
        key = steps[0].key
        return _At(path, wanted, steps, child("", key), accepts_missing(wanted), key)
    # `MISSING` is a key that no object has.
    return _At(path, wanted, steps, from_segments(step.key for step in steps), accepts_missing(wanted), MISSING)


def _rebuild_at(args: Mapping[str, Any]) -> Match:
    path = args["path"]
    return at(path if isinstance(path, str) else tuple(path), args["of"])


register("at", _rebuild_at)


@attrs.frozen(eq=False, repr=False)
class _HasKeys(ValueMatch):
    _spec_name = "has_keys"
    _keys: tuple[str, ...]
    _matched: Evaluation

    def _args(self) -> dict[str, object]:
        return {"keys": list(self._keys)}

    def __repr__(self) -> str:
        return call_repr("has_keys", *self._keys)

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        value = as_json(subject)
        if type(value) is not dict:
            return no_container("an object", value, pointer, remedy="parse text with json_text(has_keys(...)) first")
        found = {key: lookup(value, key) for key in self._keys}
        lacking = [key for key, item in found.items() if item is MISSING]
        if lacking:
            children = [
                Diagnostic("missing", f"the key {cut_text(key, 80)!r} is missing", child(pointer, key))
                for key in lacking[:MAX_SAMPLES]
            ]
            names = ", ".join(repr(cut_text(key, 80)) for key in lacking[:MAX_SAMPLES])
            message = f"{len(lacking)} of {len(found)} keys missing: {names}; {keys_of(value)}"
            return mismatched(
                "missing",
                message,
                pointer,
                expected=list(self._keys),
                received=list(value),
                children=children,
                examined=len(found),
                truncated=len(lacking) > MAX_SAMPLES,
            )
        for key, item in found.items():
            if is_absent(item):
                return unavailable(item.reason, child(pointer, key), examined=len(found))
        return self._matched


def has_keys(*keys: str) -> ValueMatch:
    """Match an object that has all these keys, whatever their values are (null included); other keys are fine.

    Args:
        *keys: One or more keys of the object itself, not paths.

    Raises:
        TypeError: If a key is no text.
        ValueError: Without any key.

    >>> from niceeval_expect import has_keys
    >>> has_keys("id", "note").evaluate({"id": 1, "note": None, "more": 2}).outcome
    'matched'
    """
    if not keys:
        raise ValueError('has_keys() got no key and would check nothing; name some, such as has_keys("id", "status")')
    for key in keys:
        if not isinstance(key, str):
            raise TypeError(f'has_keys() takes keys as texts of their own, has_keys("id", "status"), got {key!r:.200}')
    return _HasKeys(tuple(keys), Evaluation("matched", Diagnostic("matched"), examined=len(set(keys))))


register("has_keys", lambda args: has_keys(*args["keys"]))


@attrs.frozen(eq=False, repr=False)
class _NonEmpty(ValueMatch):
    _spec_name = "non_empty"

    def _args(self) -> dict[str, object]:
        return {}

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        value = as_json(subject)
        if isinstance(value, str):
            blank = blankness(value)
            return MATCHED if blank is None else mismatched("empty", blank, pointer, received=value)
        if value is None:
            return mismatched("empty", "the value is null", pointer)
        if not isinstance(value, Sized):
            return wrong_type("text, a list, an object or null", value, pointer)
        if len(value):
            return MATCHED
        return mismatched("empty", f"the {type(value).__name__} is empty", pointer, received=value)


def non_empty() -> ValueMatch:
    """Match a text with something in it to see, or a list, an object or a set with something inside.

    An empty one mismatches with code ``empty``, and so do null and a text of nothing but white space or invisible
    characters. A number or a bool, which cannot be empty, mismatches with code ``type``.

    >>> from niceeval_expect import non_empty
    >>> [non_empty().evaluate(value).outcome for value in ("Yes.", "  ", [0], {})]
    ['matched', 'mismatched', 'matched', 'mismatched']
    """
    return _NonEmpty()


register("non_empty", lambda args: non_empty())


@attrs.frozen(eq=False, repr=False)
class _AbsentPart(ValueMatch):
    _spec_name = "absent"

    def _args(self) -> dict[str, object]:
        return {}

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        return mismatched("present", f"expected nothing here, got {brief(subject)}", pointer, received=subject)


def absent() -> ValueMatch:
    """Match a part that is not there.

    It is meant for ``at("path", absent())`` and for the leaves of `json_match`; every value that is there mismatches,
    null included. A subject that never came is unavailable to it as to any match.

    >>> from niceeval_expect import absent, at
    >>> [at("error", absent()).evaluate(value).outcome for value in ({}, {"error": None})]
    ['matched', 'mismatched']
    """
    return _AbsentPart()


register("absent", lambda args: absent())
