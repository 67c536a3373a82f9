"""The match over a tool's arguments that reads the tool's declared schema: defaults, instants, alternatives."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final, final

import attrs

from niceeval_expect._argument_schema import (
    Schema,
    below,
    every_schema,
    item_schemas,
    parameters_of,
    refuse_unknown,
)
from niceeval_expect._equality import as_json, is_absent, json_equal
from niceeval_expect._evaluation import MATCHED, MAX_SAMPLES, Diagnostic, Evaluation, mismatched, sample, wrong_type
from niceeval_expect._evaluation import unavailable as not_known
from niceeval_expect._freeze import freeze
from niceeval_expect._json import brief, differences
from niceeval_expect._match import Match, ValueMatch, evaluate_part
from niceeval_expect._paths import parse_path
from niceeval_expect._pointer import child, dollar, from_segments
from niceeval_expect._spec import register

__all__ = ["same_arguments"]

_MAX_LEVELS: Final = 200


@final
class _Comparison:
    """One comparison: what differs, and by which rules what looked different is equal."""

    def __init__(self, root: Schema, alternatives: Mapping[str, tuple[Any, ...]]) -> None:
        self.root = root
        self.alternatives = alternatives
        self.rules: list[tuple[str, str, str]] = []
        self.differing: list[Diagnostic] = []
        self.unknown: tuple[str, str] | None = None
        self.count = 0

    def compare(self, expected: Any, received: Any, schemas: list[Schema], pointer: str, level: int = 0) -> None:
        """Compare two values at a place that these schemas describe."""
        if is_absent(received):
            self.unknown = self.unknown or (pointer, received.reason)
            return
        expected, received = as_json(expected), as_json(received)
        if self._listed(received, pointer):
            if not json_equal(expected, received):
                self.rules.append(("alternative", pointer, "it is one of the alternatives"))
            return
        if type(expected) is dict and type(received) is dict and level < _MAX_LEVELS:
            for key in [*expected, *(key for key in received if key not in expected)]:
                self._member(key, expected, received, list(below(schemas, key, self.root)), child(pointer, key), level)
        elif (
            type(expected) is list and type(received) is list and len(expected) == len(received) and level < _MAX_LEVELS
        ):
            for index, (one, other) in enumerate(zip(expected, received, strict=True)):
                self.compare(
                    one, other, list(item_schemas(schemas, index, self.root)), child(pointer, index), level + 1
                )
        elif not json_equal(expected, received):
            self._leaf(expected, received, schemas, pointer)

    def _listed(self, received: Any, pointer: str) -> bool:
        return any(
            evaluate_part(option, received, pointer).outcome == "matched"
            if isinstance(option, ValueMatch)
            else json_equal(option, received)
            for option in self.alternatives.get(pointer, ())
        )

    def _member(
        self, key: Any, expected: Mapping[Any, Any], received: Mapping[Any, Any], schemas: list[Schema], pointer: str,
        level: int,
    ) -> None:  # fmt: skip
        if key in expected and key in received:
            self.compare(expected[key], received[key], schemas, pointer, level + 1)
            return
        if key in received and is_absent(received[key]):
            self.unknown = self.unknown or (pointer, received[key].reason)
            return
        declared = next((schema["default"] for schema in schemas if "default" in schema), ...)
        given = expected[key] if key in expected else received[key]
        if key in received and self._listed(received[key], pointer):
            self.rules.append(("alternative", pointer, "it is one of the alternatives"))
        elif declared is ...:
            code, what = ("missing", "is missing") if key in expected else ("extra", "was not expected")
            message = f"{what}, and the schema declares no default"
            self._differ(code, message, pointer, expected.get(key), received.get(key))
        elif json_equal(declared, given) or _same_instant(declared, given, schemas):
            self.rules.append(("default", pointer, f"left out, it is {brief(declared)} by default"))
        else:
            message = f"left out, it is {brief(declared)} by default"
            self._differ("default", message, pointer, expected.get(key, declared), received.get(key, declared))

    def _leaf(self, expected: Any, received: Any, schemas: list[Schema], pointer: str) -> None:
        if _same_instant(expected, received, schemas):
            self.rules.append(("instant", pointer, f"{received} is the same moment as {expected}"))
            return
        found = differences(expected, received, pointer=pointer, limit=1)
        message = found[0].as_diagnostic().message if found else "differs"
        self._differ("value", message, pointer, expected, received)

    def _differ(self, code: str, message: str, pointer: str, expected: Any, received: Any) -> None:
        self.count += 1
        if self.count <= MAX_SAMPLES:
            self.differing.append(Diagnostic(code, message, pointer, sample(expected), sample(received)))


def _same_instant(expected: Any, received: Any, schemas: Iterable[Schema]) -> bool:
    """Tell whether two texts that the schema declares as date-times are one moment."""
    if not any(schema.get("format") == "date-time" for schema in schemas):
        return False
    one, other = _moment(expected), _moment(received)
    return one is not None and other is not None and json_equal(one, other)


def _moment(value: Any) -> datetime | None:
    if isinstance(value, datetime):
        return value
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) and len(value) > len("2026-01-01") else None
    except ValueError:
        return None


@final
@attrs.frozen(eq=False, repr=False)
class _SameArguments(ValueMatch):
    _spec_name = "same_arguments"
    _positional = 2
    family = "referential"
    schema: Schema
    expected: Mapping[str, Any]
    alternatives: Mapping[str, tuple[Any, ...]]
    by_pointer: Mapping[str, tuple[Any, ...]]

    @property
    def reaches_outside(self) -> bool:
        return True

    def _args(self) -> dict[str, object]:
        listed = {path: list(options) for path, options in self.alternatives.items()}
        return {"schema": self.schema, "expected": self.expected, **({"alternatives": listed} if listed else {})}

    def _parts(self) -> tuple[object, ...]:
        return tuple(
            option for options in self.alternatives.values() for option in options if isinstance(option, Match)
        )

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        given = as_json(subject)
        if type(given) is not dict:
            return wrong_type("an object of arguments", subject, pointer)
        comparison = _Comparison(self.schema, self.by_pointer)
        comparison.compare(self.expected, given, list(every_schema(self.schema, self.schema)), "")
        rules = tuple(
            Diagnostic(code, f"equal under rule {code}: {why}", pointer + place)
            for code, place, why in comparison.rules[:MAX_SAMPLES]
        )
        if comparison.count:
            places = ", ".join(dollar(part.pointer) for part in comparison.differing)
            more = f" and {comparison.count - MAX_SAMPLES} more" if comparison.count > MAX_SAMPLES else ""
            differing = [attrs.evolve(part, pointer=pointer + part.pointer) for part in comparison.differing]
            return mismatched(
                "value", f"other arguments at {places}{more}", pointer, expected=self.expected, received=given,
                children=(*differing, *rules), truncated=comparison.count > MAX_SAMPLES,
            )  # fmt: skip
        if comparison.unknown is not None:
            place, reason = comparison.unknown
            return not_known(reason, pointer + place)
        if not rules:
            return MATCHED
        names = " and ".join(dict.fromkeys(code for code, _, _ in comparison.rules))
        message = f"equal under rule {names}"
        return Evaluation("matched", Diagnostic("matched", message, pointer, children=rules))


def same_arguments(
    tool_schema: Schema, expected: Mapping[str, Any], /, *, alternatives: Mapping[str, Iterable[Any]] | None = None
) -> ValueMatch:
    """Match arguments that mean the same to a tool: equal by JSON's rule, or by a rule that its schema declares.

    The rules are: ``default`` (an argument that was left out is its declared default), ``instant`` (values declared as
    ``"format": "date-time"`` compare as moments; one with and one without an offset differ) and ``alternative`` (a
    value is one of those listed here). Which of them applied where is in the diagnostic, also of a match.

    Blind to: defaults that the tool has without declaring them; units, spelling and what else the schema does not say.

    Args:
        tool_schema: The JSON Schema of the tool's parameters, or a whole tool definition that holds it as
            ``parameters``, ``input_schema`` or ``inputSchema``. References within it are followed.
        expected: The arguments that are wanted.
        alternatives: By path (as for `at`): other values, or value matches, that are fine there as well.

    Raises:
        TypeError: If an argument is not what it is to be.
        ValueError: If the schema describes no object, refers outside itself, or forbids an expected argument.

    >>> from niceeval_expect import same_arguments
    >>> forecast = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"default": 3}}}
    >>> print(same_arguments(forecast, {"city": "Oslo"}).evaluate({"city": "Oslo", "days": 3}))
    matched: equal under rule default
      - $.days equal under rule default: left out, it is 3 by default
    """
    schema = parameters_of(tool_schema)
    if not isinstance(expected, Mapping):
        raise TypeError(f"same_arguments() takes the expected arguments as a mapping, got {expected!r:.200}")
    wanted = freeze(dict(expected))
    refuse_unknown(schema, wanted)
    listed: dict[str, tuple[Any, ...]] = {}
    by_pointer: dict[str, tuple[Any, ...]] = {}
    if alternatives is not None and not isinstance(alternatives, Mapping):
        raise TypeError(f"same_arguments() alternatives is a mapping of paths to values, got {alternatives!r:.200}")
    for path, options in (alternatives or {}).items():
        if isinstance(options, str | Mapping | Match) or not isinstance(options, Iterable):
            raise TypeError(f"same_arguments() alternatives[{path!r}] is a list of values, got {options!r:.200}")
        values = tuple(option if isinstance(option, Match) else freeze(option) for option in options)
        if not values or any(isinstance(option, Match) and not isinstance(option, ValueMatch) for option in values):
            raise ValueError(
                f"same_arguments() alternatives[{path!r}] needs values or value matches, got {values!r:.200}"
            )
        steps = parse_path(path, "same_arguments() alternatives")
        refuse_unknown(schema, {str(steps[0].key): values})
        listed[path] = values
        by_pointer[from_segments(step.key for step in steps)] = values
    return _SameArguments(schema, wanted, listed, by_pointer)


def _rebuild(args: Any) -> ValueMatch:
    return same_arguments(args["schema"], args["expected"], alternatives=args.get("alternatives"))


register("same_arguments", _rebuild)
