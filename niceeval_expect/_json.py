"""JSON equality and its explanation: whether two values are equal, and the paths in which they differ."""

from collections.abc import Iterator
from typing import Any, Final, final

import attrs

from niceeval_expect._equality import MISSING, as_json, is_absent, json_equal, json_key, shallow_equal
from niceeval_expect._evaluation import MAX_SAMPLES, Diagnostic, Evaluation, mismatched, sample, unavailable
from niceeval_expect._pointer import child, dollar
from niceeval_expect._textdiff import explain_texts

__all__ = [
    "MISSING",
    "Difference",
    "as_json",
    "brief",
    "differences",
    "explain_unequal",
    "is_absent",
    "json_equal",
    "json_key",
    "unequal",
]

_BRIEF: Final = 80
_UNTRACKED: Final = 500


@final
@attrs.frozen
class Difference:
    """One place in which two values differ.

    Attributes:
        pointer: JSON Pointer to it in the received value.
        code: ``value`` (another value), ``missing`` (nothing is there), ``extra`` (something is there that should not
            be) or ``absent`` (a value that never came, so that nothing is known).
        message: One sentence.
        expected: What was wanted; `MISSING` for an extra.
        received: What is there; `MISSING` for a missing one. Of two long texts, the part around the difference.
    """

    pointer: str
    code: str
    message: str
    expected: Any
    received: Any

    def as_diagnostic(self) -> Diagnostic:
        """Return it as the child of a diagnostic."""
        expected, received = (None if side is MISSING else sample(side) for side in (self.expected, self.received))
        reason = self.received.reason if self.code == "absent" else None
        return Diagnostic(self.code, self.message, self.pointer, expected, received, reason)


def differences(expected: Any, actual: Any, *, pointer: str = "", limit: int = MAX_SAMPLES) -> list[Difference]:
    """Return where two values differ, in the order of `expected`; the first `limit` differences are kept.

    Places where `actual` holds an absent value are only returned when nothing differs for certain.

    >>> [(found.pointer, found.code) for found in differences({"a": [1, 2]}, {"a": [True], "b": None})]
    [('/a/0', 'value'), ('/a/1', 'missing'), ('/b', 'extra')]
    """
    found: list[Difference] = []
    absent: list[Difference] = []
    # Each entry has the link to its path: (link of the parent, key or index). Paths are built only where needed.
    stack: list[tuple[Any, Any, Any]] = [(expected, actual, None)]
    seen: dict[tuple[int, int], tuple[Any, Any]] = {}
    while stack and len(found) < limit:
        one, other, link = stack.pop()
        if len(seen) > _UNTRACKED and (id(one), id(other)) in seen:
            continue
        seen[id(one), id(other)] = (one, other)
        if is_absent(other):
            if len(absent) < limit:
                absent.append(_difference(one, other, _pointer(link, pointer)))
            continue
        parts = _parts(as_json(one), as_json(other), link)
        if parts is None:
            if not _leaf_equal(one, other):
                found.append(_difference(one, other, _pointer(link, pointer)))
        else:
            stack.extend(reversed(list(parts)))
    return found or absent


def _leaf_equal(one: Any, other: Any) -> bool:
    if one is MISSING or other is MISSING:
        return False
    return shallow_equal(as_json(one), as_json(other))


def _parts(one: Any, other: Any, link: Any) -> Iterator[tuple[Any, Any, Any]] | None:
    """Return the pairs inside two containers of one kind, or None where two values can only be compared whole."""
    if type(one) is dict and type(other) is dict:
        return _dict_parts(one, other, link)
    if type(one) is list and type(other) is list:
        return _list_parts(one, other, link)
    return None


def _dict_parts(one: dict[Any, Any], other: dict[Any, Any], link: Any) -> Iterator[tuple[Any, Any, Any]]:
    theirs = {json_key(key): value for key, value in other.items()}
    ours = set()
    for key, value in one.items():
        stand_in = json_key(key)
        ours.add(stand_in)
        yield value, theirs.get(stand_in, MISSING), (link, key)
    for key, value in other.items():
        if json_key(key) not in ours:
            yield MISSING, value, (link, key)


def _list_parts(one: list[Any], other: list[Any], link: Any) -> Iterator[tuple[Any, Any, Any]]:
    for index in range(max(len(one), len(other))):
        ours = one[index] if index < len(one) else MISSING
        theirs = other[index] if index < len(other) else MISSING
        yield ours, theirs, (link, index)


def _pointer(link: Any, start: str) -> str:
    segments = []
    while link is not None:
        link, segment = link
        segments.append(segment)
    for segment in reversed(segments):
        start = child(start, segment)
    return start


def _difference(expected: Any, received: Any, pointer: str) -> Difference:
    if is_absent(received):
        return Difference(pointer, "absent", received.reason, expected, received)
    if received is MISSING:
        return Difference(pointer, "missing", f"expected {brief(expected)}, nothing is there", expected, received)
    if expected is MISSING:
        return Difference(pointer, "extra", f"unexpected {brief(received)}", expected, received)
    message, expected, received = explain_unequal(expected, received)
    return Difference(pointer, "value", message, expected, received)


def explain_unequal(expected: Any, received: Any) -> tuple[str, Any, Any]:
    """Return a sentence on two unequal values, and of each what to show."""
    one, other = as_json(expected), as_json(received)
    if isinstance(one, str) and isinstance(other, str):
        return explain_texts(one, other)
    kinds = (type(one).__name__, type(other).__name__)
    if kinds[0] == kinds[1]:
        return f"expected {brief(one)}, got {brief(other)}", one, other
    return f"expected {brief(one)} ({kinds[0]}), got {brief(other)} ({kinds[1]})", one, other


def brief(value: Any) -> str:
    """Return a value as a few words for a sentence, at most 80 characters of it.

    >>> brief({"a": 1}), brief([]), brief("x"), brief(None)
    ("{'a': 1}", '[]', "'x'", 'None')
    """
    shown = sample(value)
    if type(shown) is dict and shown.get("$") == "repr":
        text = shown["text"]
    elif type(shown) is dict or type(shown) is list:
        text = _brief_container(value, repr(shown))
    else:
        text = repr(shown)
    return text if len(text) <= _BRIEF else f"{text[: _BRIEF - 1]}…"


def _brief_container(value: Any, text: str) -> str:
    if len(text) <= _BRIEF and "'$': 'repr'" not in text:
        return text
    size = len(value)
    if isinstance(value, dict):
        return f"an object with {size} key{'s' * (size != 1)}"
    return f"a list of {size} item{'s' * (size != 1)}"


def unequal(expected: Any, received: Any, pointer: str = "") -> Evaluation:
    """Return the evaluation of two values that `json_equal` told apart, naming the paths that differ.

    Where only absent values inside `received` keep them apart, nothing is decided: the result is unavailable.
    """
    found = differences(expected, received, pointer=pointer, limit=MAX_SAMPLES + 1)
    if not found:
        # Equality in Python's own terms said no to the whole and yes to each part: an object with a changing __eq__.
        return mismatched("value", "the values are not equal", pointer, expected=expected, received=received)
    more = len(found) > MAX_SAMPLES
    kept = found[:MAX_SAMPLES]
    children = tuple(difference.as_diagnostic() for difference in kept)
    first = kept[0]
    if first.code == "absent":
        if first.pointer == pointer:
            return unavailable(first.message, pointer)
        reason = f"{dollar(first.pointer)} is absent: {first.message}"
        return unavailable(reason, pointer, children=children)
    if first.pointer == pointer:
        return mismatched("value", first.message, pointer, expected=first.expected, received=first.received)
    message = f"{_places(kept, more)}: {dollar(first.pointer)}: {first.message}"
    return mismatched(
        "value", message, pointer, expected=expected, received=received, children=children, truncated=more
    )


def _places(found: list[Difference], more: bool) -> str:
    if len(found) == 1:
        return "differs in 1 place"
    return f"differs in {'more than ' if more else ''}{len(found)} places"
