"""Matches over what a value is made of: its Python type, the order of its fields, and its shape before its meaning."""

import datetime
import decimal
from collections.abc import Mapping
from typing import Any, Final, TypeVar, overload

import attrs

from niceeval_expect._codec_types import Snapshot, object_kind
from niceeval_expect._evaluation import (
    MATCHED,
    Diagnostic,
    Evaluation,
    Outcome,
    cut_text,
    mismatched,
    wrong_type,
)
from niceeval_expect._freeze import call_repr
from niceeval_expect._items import object_of
from niceeval_expect._match import Match, ParsingMatch, ValueMatch, evaluate_part
from niceeval_expect._paths import keys_of
from niceeval_expect._pointer import child
from niceeval_expect._spec import register

__all__ = ["field_order", "is_instance", "semantic"]

V = TypeVar("V")

_RULE: Final = "value matches as rules, such as at(path, match)"

_Class: Final = type
_DATA_TYPES: Final[Mapping[str, type]] = {
    kind.__name__: kind
    for kind in (
        *(str, int, float, bool, list, dict, tuple, set, frozenset, bytes),
        *(datetime.datetime, datetime.date, datetime.time, datetime.timedelta, decimal.Decimal),
    )
}
"""Types of plain data, which a spec names without naming code."""


@attrs.frozen(eq=False, repr=False)
class _IsInstance(ValueMatch):
    _spec_name = "is_instance"
    _type: type

    def _args(self) -> dict[str, object]:
        name = self._type.__name__
        return {"type": name if _DATA_TYPES.get(name) is self._type else self._type}

    def __repr__(self) -> str:
        module = "datetime." if self._type.__module__ == "datetime" else ""
        return f"is_instance({module}{self._type.__qualname__.rsplit('<locals>.', 1)[-1]})"

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        # A bool is an int to Python, and a datetime a date; to JSON equality and to this match they are not.
        narrower = bool if self._type is int else datetime.datetime if self._type is datetime.date else ()
        if isinstance(subject, self._type) and not isinstance(subject, narrower):
            return MATCHED
        wanted, got = self._type.__qualname__, type(subject).__name__
        hint = "; matches(int) and the like compare JSON values" if isinstance(subject, Snapshot) else ""
        return mismatched(
            "instance", f"is of type {got}, not {wanted}{hint}", pointer, expected=wanted, received=subject
        )


def is_instance(type: type, /) -> ValueMatch:
    """Match a Python object of this type or a subclass; a bool is no int, and a datetime no date.

    It is about the objects of one process: for what an answer is as JSON, use `matches`. A match over a type of plain
    data (str, int, list, datetime, …) can be rebuilt from its spec; over any other type it holds code that a spec can
    only name.

    Args:
        type: A class.

    Raises:
        TypeError: If `type` is no class.

    >>> from niceeval_expect import is_instance
    >>> is_instance(int).evaluate(True).diagnostic.message
    'is of type bool, not int'
    """
    kind: object = type
    if not isinstance(kind, _Class):
        hint = "; for None use equals(None)" if kind is None else "; for several, compose with |"
        raise TypeError(f"is_instance() takes one class, got {type!r:.200}{hint}")
    return _IsInstance(type)


def _rebuild_instance(args: Mapping[str, Any]) -> Match:
    name = args["type"]
    if name not in _DATA_TYPES:
        raise TypeError(f"no type of plain data is named {name!r}")
    return is_instance(_DATA_TYPES[name])


register("is_instance", _rebuild_instance)


@attrs.frozen(eq=False, repr=False)
class _FieldOrder(ValueMatch):
    _spec_name = "field_order"
    _first: str
    _before: tuple[str, ...]

    def _args(self) -> dict[str, object]:
        return {"first": self._first, "before": self._before[0] if len(self._before) == 1 else list(self._before)}

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        if object_kind(type(subject)) or isinstance(subject, Snapshot):
            return wrong_type("an object in the order it was written, not an instance with fields", subject, pointer)
        value = object_of(subject, pointer, "field_order")
        if isinstance(value, Evaluation):
            return value
        places = {key: place for place, key in enumerate(value)}
        lacking = [key for key in (self._first, *self._before) if key not in places]
        if lacking:
            why = f"{', '.join(map(repr, lacking))} {'is' if len(lacking) == 1 else 'are'} missing; {keys_of(value)}"
            return mismatched("missing", why, child(pointer, lacking[0]), expected=self._wanted())
        first = places[self._first]
        late = [key for key in self._before if places[key] < first]
        if not late:
            return MATCHED
        why = f"{self._first!r} comes after {', '.join(map(repr, late))}; {keys_of(value)}"
        return mismatched("order", why, child(pointer, self._first), expected=self._wanted(), received=list(value))

    def _wanted(self) -> str:
        return f"{self._first!r} before {', '.join(map(repr, self._before))}"


def field_order(first: str, /, *, before: str | list[str] | tuple[str, ...]) -> ValueMatch:
    """Match an object in which the field `first` was written before another: the reasoning before the answer, say.

    It reads the object's own order of keys, which parsing JSON keeps; other fields may come anywhere. JSON text is
    parsed first: ``json_text(field_order(...))``. An instance of a model mismatches with code ``type``: its fields are
    in the order of their declaration, whatever the order in the answer was.

    Args:
        first: The key that comes first.
        before: The key or keys that come after it.

    Raises:
        TypeError: If a key is no text.
        ValueError: If `before` names no key, or `first` itself.

    >>> from niceeval_expect import field_order, json_text
    >>> order = json_text(field_order("reasoning", before="answer"))
    >>> order.evaluate('{"reasoning": "6 x 7", "answer": 42}').outcome
    'matched'
    >>> order.evaluate('{"answer": 42, "reasoning": "6 x 7"}').diagnostic.message
    "'reasoning' comes after 'answer'; the object has 'answer', 'reasoning'"
    """
    keys = [before] if isinstance(before, str) else list(before) if isinstance(before, list | tuple) else None
    if keys is None or not all(isinstance(key, str) for key in (first, *keys)):
        raise TypeError(f'field_order() takes keys, ("reasoning", before="answer"), got {first!r:.80}, {before!r:.80}')
    if not keys or first in keys:
        raise ValueError(f"field_order() takes before= with keys other than {first!r:.80}, got {before!r:.80}")
    return _FieldOrder(str.__str__(first), tuple(map(str.__str__, keys)))


register("field_order", lambda args: field_order(args["first"], before=args["before"]))


def _meaning(schema: ValueMatch, rules: tuple[ValueMatch, ...], subject: object, pointer: str) -> Evaluation:
    shape = evaluate_part(schema, subject, pointer)
    product = shape.product if isinstance(schema, ParsingMatch) else None
    value = subject if product is None else product
    if shape.outcome != "matched":
        return shape
    parts = [evaluate_part(rule, value, pointer) for rule in rules]
    outcomes = [part.outcome for part in parts]
    order: tuple[Outcome, ...] = ("mismatched", "errored", "unavailable")
    outcome: Outcome = next((each for each in order if each in outcomes), "matched")
    examined = 1 + len(rules)
    if outcome == "matched":
        message = f"the shape and {len(rules)} rule{'s' * (len(rules) != 1)} match"
        return Evaluation(
            "matched", Diagnostic("matched", message, pointer), examined=examined, produced=shape._produced
        )
    deciding = [(rule, part) for rule, part in zip(rules, parts, strict=True) if part.outcome == outcome]
    rule, first = deciding[0]
    says = first.diagnostic.line() or first.code
    message = f"the shape is right, {len(deciding)} of {len(rules)} rules {outcome}: {cut_text(repr(rule), 80)}: {says}"
    reason = None if outcome == "mismatched" else message
    code = "semantic" if outcome == "mismatched" else "error" if outcome == "errored" else "absent"
    if outcome == "mismatched" and all(part.code == "type" for _, part in deciding):
        code = "type"
    children = tuple(part.diagnostic for part in parts if part.outcome != "matched")
    return Evaluation(
        outcome, Diagnostic(code, message, pointer, None, None, reason, children), reason=reason, examined=examined
    )


def _semantic_args(schema: ValueMatch, rules: tuple[ValueMatch, ...]) -> dict[str, object]:
    return {"schema": schema, "rules": list(rules)}


@attrs.frozen(eq=False, repr=False)
class _Semantic(ValueMatch):
    _spec_name = "semantic"
    _schema: ValueMatch
    _rules: tuple[ValueMatch, ...]

    def _args(self) -> dict[str, object]:
        return _semantic_args(self._schema, self._rules)

    def _parts(self) -> tuple[object, ...]:
        return (self._schema, *self._rules)

    def __repr__(self) -> str:
        return call_repr("semantic", self._schema, *self._rules)

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        return _meaning(self._schema, self._rules, subject, pointer)


@attrs.frozen(eq=False, repr=False)
class _SemanticParsing(ParsingMatch[Any]):
    _spec_name = "semantic"
    _schema: ParsingMatch[Any]
    _rules: tuple[ValueMatch, ...]

    def _args(self) -> dict[str, object]:
        return _semantic_args(self._schema, self._rules)

    def _parts(self) -> tuple[object, ...]:
        return (self._schema, *self._rules)

    def __repr__(self) -> str:
        return call_repr("semantic", self._schema, *self._rules)

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        return _meaning(self._schema, self._rules, subject, pointer)


@overload
def semantic(schema: ParsingMatch[V], /, *rules: ValueMatch) -> ParsingMatch[V]: ...
@overload
def semantic(schema: ValueMatch, /, *rules: ValueMatch) -> ValueMatch: ...
def semantic(schema: ValueMatch, /, *rules: ValueMatch) -> ValueMatch:
    """Match a value of the right shape that also means something, and keep the two kinds of failure apart.

    A value of the wrong shape mismatches as `schema` says (code ``schema``, ``constraint``, or why it does not parse);
    one of the right shape that breaks a rule with code ``semantic``, so that ``{"total_cents": 0}`` is counted apart
    from what does not parse. The rules read what `schema` yields: the parsed value, the validated instance, or else the
    subject. They are looked at only where the shape is right.

    Args:
        schema: What the shape is to be: ``matches(...)``, ``json_text(matches(...))``. Without author code in it.
        *rules: One or more value matches.

    Returns:
        A match that yields what `schema` yields.

    Raises:
        TypeError: If an argument is no value match, or `schema` holds a predicate.
        ValueError: Without a rule.

    >>> from niceeval_expect import at, between, matches, semantic
    >>> order = matches({"type": "object", "properties": {"total_cents": {"type": "integer"}}})
    >>> refund = semantic(order, at("total_cents", between(1, 100_000)))
    >>> refund.evaluate({"total_cents": "0"}).code, refund.evaluate({"total_cents": 0}).code
    ('schema', 'semantic')
    """
    for part, wanted in (
        (schema, "a value match for the shape, such as matches(...)"),
        *((rule, _RULE) for rule in rules),
    ):
        if not isinstance(part, ValueMatch):
            raise TypeError(f"semantic() takes {wanted}, got {part!r:.200}")
    if schema._may_await:
        raise TypeError(f"semantic() takes a shape without author code, got {schema!r:.200}; add it as a rule")
    if not rules:
        raise ValueError("semantic() got no rule and would only check the shape; add one, such as at(path, match)")
    if isinstance(schema, ParsingMatch):
        return _SemanticParsing(schema, rules)
    return _Semantic(schema, rules)


def _rebuild_semantic(args: Mapping[str, Any]) -> Match:
    schema: ValueMatch = args["schema"]
    return semantic(schema, *args["rules"])


register("semantic", _rebuild_semantic)
