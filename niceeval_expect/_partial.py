"""`json_match`: a pattern that is partial for objects and exact for everything else."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

import attrs

from niceeval_expect._evaluation import (
    MATCHED,
    MAX_SAMPLES,
    Diagnostic,
    Evaluation,
    Outcome,
    mismatched,
    sample,
    unavailable,
)
from niceeval_expect._facets import plain_or_match, plain_value
from niceeval_expect._freeze import freeze
from niceeval_expect._json import MISSING, as_json, brief, is_absent, json_equal, unequal
from niceeval_expect._match import Match, ValueMatch, evaluate_part
from niceeval_expect._paths import keys_of, lookup
from niceeval_expect._pointer import child, dollar
from niceeval_expect._regex import pattern as regex_pattern
from niceeval_expect._spec import register

__all__ = ["accepts_missing", "json_match", "no_container", "show_match"]

_ORDER: Final[tuple[Outcome, ...]] = ("mismatched", "errored", "unavailable")


def accepts_missing(match: object) -> bool:
    """Return whether a match holds for a part that is not there: `absent()`, and what is composed so that it does."""
    if not isinstance(match, ValueMatch):
        return False
    operation = getattr(match, "operation", None)
    if operation == "any_of":
        return any(map(accepts_missing, match._parts()))
    if operation == "all_of":
        return all(map(accepts_missing, match._parts()))
    return match._spec_name == "absent"


def show_match(match: object) -> object:
    """Return a match as it was written as an argument: the value of an `equals` whose value is plain."""
    value = plain_value(match)
    return match if value is None or isinstance(value, re.Pattern) else value


def no_container(wanted: str, received: object, pointer: str, *, remedy: str) -> Evaluation:
    """Return the mismatch of a subject of the wrong kind, saying what to do about it."""
    message = f"needs {wanted}, got {type(received).__name__}"
    if isinstance(received, str | dict | list):
        message = f"{message}; {remedy}"
    return Evaluation("mismatched", Diagnostic("type", message, pointer, wanted, sample(received)))


class _Node(Protocol):
    """One place of a pattern; `below` is its pointer in the pattern, which is that in a subject that matches."""

    @property
    def fields(self) -> int:
        """How many keys, items and leaves are checked from here on."""
        ...

    @property
    def if_missing(self) -> bool:
        """Whether nothing at all is fine here."""
        ...

    def check(self, value: Any, base: str, found: list[Evaluation]) -> None:
        """Compare, adding what is not simply matched to `found`."""
        ...


@attrs.frozen
class _Leaf:
    below: str
    match: ValueMatch
    if_missing: bool
    fields: int = 1

    def check(self, value: Any, base: str, found: list[Evaluation]) -> None:
        evaluation = evaluate_part(self.match, value, base + self.below)
        if evaluation is not MATCHED:
            found.append(evaluation)


@attrs.frozen
class _Plain:
    below: str
    expected: Any
    if_missing: bool = False
    fields: int = 1

    def check(self, value: Any, base: str, found: list[Evaluation]) -> None:
        if not json_equal(self.expected, value):
            found.append(unequal(self.expected, value, base + self.below))


@attrs.frozen
class _Object:
    below: str
    nodes: tuple[tuple[Any, _Node], ...]
    fields: int
    if_missing: bool = False

    def check(self, value: Any, base: str, found: list[Evaluation]) -> None:
        if type(value) is not dict:
            value = as_json(value)
            if type(value) is not dict:
                found.append(_other_kind("an object", value, base + self.below))
                return
        for key, node in self.nodes:
            item = value.get(key, MISSING) if type(key) is str else MISSING
            if item is MISSING and (item := lookup(value, key)) is MISSING:
                if not node.if_missing:
                    found.append(_missing(key, value, base + self.below))
            else:
                node.check(item, base, found)


@attrs.frozen
class _Items:
    below: str
    nodes: tuple[_Node, ...]
    fields: int
    if_missing: bool = False

    def check(self, value: Any, base: str, found: list[Evaluation]) -> None:
        value = as_json(value)
        if type(value) is not list:
            found.append(_other_kind("a list", value, base + self.below))
            return
        for node, item in zip(self.nodes, value, strict=False):
            node.check(item, base, found)
        wanted, got = len(self.nodes), len(value)
        if wanted != got:
            place = child(base + self.below, min(wanted, got))
            first = f"; the first one too many is {brief(value[wanted])}" if got > wanted else ""
            message = f"expected exactly {wanted} item{'s' * (wanted != 1)}, got {got}{first}"
            extra = value[wanted] if got > wanted else None
            found.append(mismatched("extra" if got > wanted else "missing", message, place, received=extra))


def _other_kind(wanted: str, value: Any, pointer: str) -> Evaluation:
    if is_absent(value):
        return unavailable(value.reason, pointer)
    if pointer:
        message = f"expected {wanted}, got {brief(value)} ({type(value).__name__})"
        return mismatched("value", message, pointer, expected=wanted, received=value)
    return no_container(wanted, value, pointer, remedy="parse text with json_text(json_match(...)) first")


def _missing(key: Any, value: dict[Any, Any], pointer: str) -> Evaluation:
    place = child(pointer, key)
    return mismatched("missing", f"{dollar(place)} is missing; {keys_of(value)}", place)


@attrs.frozen(eq=False, repr=False)
class _JsonMatch(ValueMatch):
    _spec_name = "json_match"
    _pattern: Any
    _node: _Node
    _leaves: tuple[ValueMatch, ...]
    _matched: Evaluation

    def _args(self) -> dict[str, object]:
        return {"pattern": self._pattern}

    def _parts(self) -> tuple[object, ...]:
        return self._leaves

    @property
    def reaches_outside(self) -> bool:
        return _names_a_value(self._pattern) or any(leaf.reaches_outside for leaf in self._leaves)

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        found: list[Evaluation] = []
        self._node.check(subject, pointer, found)
        return self._fold(found, pointer) if found else self._matched

    def _fold(self, found: list[Evaluation], pointer: str) -> Evaluation:
        """Say what the parts say together: a mismatch decides, else what broke, else what is missing."""
        fields = self._node.fields
        outcome: Outcome = next((each for each in _ORDER if any(part.outcome == each for part in found)), "matched")
        deciding = [part for part in found if part.outcome == outcome]
        if outcome == "matched":
            kept = tuple(part.diagnostic for part in found[:MAX_SAMPLES])
            return Evaluation("matched", attrs.evolve(self._matched.diagnostic, children=kept), examined=fields)
        first = deciding[0]
        if len(found) == 1 and first.diagnostic.pointer == pointer:
            return attrs.evolve(first, examined=fields, produced=None)
        # The places that decide come before the others, so that these do not crowd them out.
        room = MAX_SAMPLES - min(len(deciding), MAX_SAMPLES)
        others = [part for part in found if part.outcome != outcome][:room]
        chosen = {id(part) for part in (*deciding[:MAX_SAMPLES], *others)}
        children = tuple(part.diagnostic for part in found if id(part) in chosen)
        codes = {part.code for part in deciding}
        code = codes.pop() if len(codes) == 1 else "value"
        says = first.reason or first.diagnostic.message
        where = dollar(first.diagnostic.pointer)
        named = says if says.startswith(where) else f"{where}: {says}"
        message = f"{len(deciding)} of {fields} fields {outcome}: {named}"
        reason = None if outcome == "mismatched" else message
        diagnostic = Diagnostic(
            code, message, pointer, None, None, reason, children, truncated=len(children) < len(found)
        )
        return Evaluation(outcome, diagnostic, reason=reason, examined=fields)


def json_match(pattern: object, /) -> ValueMatch:
    """Match a value by a pattern that is partial for objects and exact for lists, at every depth.

    Leaves compare as in `equals`. A leaf may also be a value match, or a compiled regular expression, which is searched
    in the text at that leaf. ``json_match({})`` matches every object and says that it checked no field.

    Args:
        pattern: A dict, list or plain value, with matches where a plain value is too narrow; a private copy is kept.

    Raises:
        TypeError: If a leaf is a measurement without a threshold or a counted tool match.
        ValueError: If the pattern contains itself or is nested too deeply.

    >>> import re
    >>> from niceeval_expect import absent, json_match, one_of
    >>> shape = json_match({"order": {"id": re.compile("^ORD-"), "status": one_of(["sent"]), "error": absent()}})
    >>> shape.evaluate({"order": {"id": "ORD-1", "status": "sent", "total": 12}, "took": 0.4}).outcome
    'matched'
    >>> shape.evaluate({"order": {"id": "ORD-1"}}).diagnostic.message
    "1 of 4 fields mismatched: $.order.status is missing; the object has 'id'"
    """
    leaves: list[ValueMatch] = []
    try:
        frozen = _freeze(pattern)
        node = _compile(frozen, "", leaves)
    except RecursionError:
        raise ValueError("json_match() got a pattern that contains itself or is nested too deeply") from None
    message = f"{node.fields} field{'s' * (node.fields != 1)} checked"
    matched = Evaluation("matched", Diagnostic("matched", message), examined=node.fields)
    return _JsonMatch(frozen, node, tuple(leaves), matched)


def _names_a_value(pattern: Any) -> bool:
    if isinstance(pattern, Mapping | list | tuple):
        return any(map(_names_a_value, pattern.values() if isinstance(pattern, Mapping) else pattern))
    return not isinstance(pattern, Match | re.Pattern)


def _freeze(value: Any) -> Any:
    if isinstance(value, Match | re.Pattern):
        return value
    plain = as_json(value)
    if type(plain) is dict:
        return {key: _freeze(item) for key, item in plain.items()}
    if type(plain) is list:
        return [_freeze(item) for item in plain]
    return freeze(value)


def _compile(value: Any, below: str, leaves: list[ValueMatch]) -> _Node:
    if isinstance(value, Match | re.Pattern):
        match = regex_pattern(value) if isinstance(value, re.Pattern) else plain_or_match("json_match()", value)
        leaves.append(match)
        return _Leaf(below, match, accepts_missing(match))
    if type(value) is dict:
        nodes = tuple((key, _compile(item, child(below, key), leaves)) for key, item in value.items())
        return _Object(below, nodes, _count([node for _, node in nodes]))
    if type(value) is list:
        items = tuple(_compile(item, child(below, index), leaves) for index, item in enumerate(value))
        return _Items(below, items, max(1, _count(items)))
    return _Plain(below, value)


def _count(nodes: Sequence[_Node]) -> int:
    """Count the fields: a key that leads to an object counts with what is checked inside it, and as one by itself."""
    return sum(node.fields + isinstance(node, _Object) for node in nodes)


def _rebuild(args: Mapping[str, Any]) -> Match:
    return json_match(args["pattern"])


register("json_match", _rebuild)
