"""Redaction of an encoded tree: texts and keys, and what the tags of the codec hold in another form."""

import base64
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import accumulate
from typing import Any, Final

from niceeval_expect._codec import encode

__all__ = ["join_pieces", "needs_look", "redact_node"]

Ranks = set[int]
Spans = Callable[[str], list[tuple[int, int, Ranks]]]
Place = tuple[str | int, ...]

_SCALARS: Final = frozenset(
    {"decimal", "uuid", "datetime", "date", "time", "float", "fraction", "complex", "timedelta"}
)
_VALUES: Final = _SCALARS | {"bytes", "bytearray", "int", "str"}
_DEEP: Final = 6
"""How deep in an item of a list the text of a piece is looked for."""
_hidden: Final = re.compile(r'"\$":\s?"(?:bytes|bytearray|int|str)"').search


def needs_look(text: str) -> bool:
    """Return whether encoded text has tags in which a secret may not show."""
    return _hidden(text) is not None


def redact_node(node: Any, replace: Callable[[str], str]) -> Any:
    """Return a copy of an encoded tree with `replace` applied to all text in it."""
    kind = type(node)
    if kind is str:
        return replace(node)
    if kind is list:
        items = []
        for item in node:
            items.append(redact_node(item, replace))
        return items
    if kind is dict:
        if "$" in node:
            return _tagged(node, replace)
        clean: dict[str, Any] = {}
        for key, item in node.items():
            clean[_unique(replace(key), clean)] = redact_node(item, replace)
        return clean
    if kind is int or kind is float:
        text = repr(node)
        redacted = replace(text)
        return node if redacted == text else redacted
    return node


def join_pieces(node: Any, spans: Spans, stand_in: Callable[[Ranks], str]) -> Iterator[Ranks]:
    """Replace, in place, what the texts of a list spell only together; yield which secrets were there.

    Together are the texts at one place of every item: the items themselves, or the same field of each.

    Args:
        node: An encoded tree of which each single text is clean.
        spans: Tells of a text from where to where it is replaced, and which secrets are there.
        stand_in: Returns what stands in their place.
    """
    if type(node) is dict:
        for item in node.values():
            yield from join_pieces(item, spans, stand_in)
    elif type(node) is list:
        columns: dict[Place, list[int]] = {}
        for index, item in enumerate(node):
            for place in _texts(item, ()):
                columns.setdefault(place, []).append(index)
        for place, indexes in columns.items():
            if len(indexes) > 1:
                yield from _join(node, place, indexes, spans, stand_in)
        for item in node:
            yield from join_pieces(item, spans, stand_in)


def _texts(item: Any, place: Place) -> Iterator[Place]:
    if type(item) is str:
        yield place
    elif type(item) is dict and len(place) < _DEEP and item.get("$") not in _VALUES:
        for key, part in item.items():
            yield from _texts(part, (*place, key))
    elif type(item) is list and len(item) == 1 and len(place) < _DEEP:
        yield from _texts(item[0], (*place, 0))


def _join(
    items: list[Any], place: Place, indexes: list[int], spans: Spans, stand_in: Callable[[Ranks], str]
) -> Iterator[Ranks]:
    pieces = [_at(items[index], place) for index in indexes]
    starts = [0, *accumulate(map(len, pieces))]
    for start, end, ranks in reversed(spans("".join(pieces))):
        first, last = bisect_right(starts, start) - 1, bisect_left(starts, end) - 1
        if first == last:
            continue
        yield ranks
        pieces[last] = pieces[last][end - starts[last] :]
        for between in range(first + 1, last):
            pieces[between] = ""
        pieces[first] = pieces[first][: start - starts[first]] + stand_in(ranks)
        for number in range(first, last + 1):
            _put(items, indexes[number], place, pieces[number])


def _at(item: Any, place: Place) -> Any:
    for step in place:
        item = item[step]
    return item


def _put(items: list[Any], index: int, place: Place, text: str) -> None:
    holder: Any = items
    for step in (index, *place)[:-1]:
        holder = holder[step]
    holder[(index, *place)[-1]] = text


def _unique(key: str, taken: dict[str, Any]) -> str:
    """Return the key, with a number where another key was redacted to the same text."""
    if key not in taken:
        return key
    count = 2
    while f"{key}#{count}" in taken:
        count += 1
    return f"{key}#{count}"


def _tagged(node: dict[str, Any], replace: Callable[[str], str]) -> Any:
    tag = node["$"]
    special = _SPECIAL.get(tag)
    if special is not None:
        return special(node, replace)
    if tag in _SCALARS:
        # What is left is not a number or a date any more.
        for name, part in node.items():
            if name == "$":
                continue
            text = " ".join(map(str, part)) if type(part) is list else str(part)
            redacted = replace(text)
            if redacted != text:
                return redacted
        return node
    clean = {"$": tag}
    for name, part in node.items():
        if name != "$":
            clean[name] = redact_node(part, replace)
    return clean


def _bytes(node: dict[str, Any], replace: Callable[[str], str]) -> Any:
    text = base64.b64decode(node["b64"]).decode("utf-8", "surrogateescape")
    redacted = replace(text)
    written: str = node["b64"]
    if redacted != text:
        written = base64.b64encode(redacted.encode("utf-8", "surrogateescape")).decode("ascii")
    # Other bytes may happen to look like a secret when they are written in base64.
    shown = replace(written)
    return {"$": node["$"], "b64": written} if shown == written else shown


def _surrogates(node: dict[str, Any], replace: Callable[[str], str]) -> Any:
    text = "".join(part if type(part) is str else chr(part) for part in node["parts"])
    redacted = replace(text)
    return node if redacted == text else encode(redacted)


def _big_int(node: dict[str, Any], replace: Callable[[str], str]) -> Any:
    texts = [node["hex"]]
    with suppress(ValueError):  # more digits than Python writes: nobody has seen it in decimal form
        texts.insert(0, str(int(node["hex"], 16)))
    for text in texts:
        redacted = replace(text)
        if redacted != text:
            return redacted
    return node


def _pairs(node: dict[str, Any], replace: Callable[[str], str]) -> Any:
    taken: dict[str, Any] = {}
    pairs = []
    for key, item in node["items"]:
        clean = redact_node(key, replace)
        if type(clean) is str:
            clean = _unique(clean, taken)
            taken[clean] = None
        pairs.append([clean, redact_node(item, replace)])
    return {"$": "dict", "items": pairs}


_SPECIAL: Final[dict[Any, Callable[[dict[str, Any], Callable[[str], str]], Any]]] = {
    "bytes": _bytes,
    "bytearray": _bytes,
    "str": _surrogates,
    "int": _big_int,
    "dict": _pairs,
}
