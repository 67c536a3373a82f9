"""Why a value does not satisfy a JSON Schema: `jsonschema` puts it in words, the deciding engine where that fails."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, Final, final

import attrs

from niceeval_expect._evaluation import MAX_SAMPLES, Diagnostic, Evaluation, cut_text, sample
from niceeval_expect._pointer import from_segments
from niceeval_expect._schema_lint import specifications
from niceeval_expect._schema_subject import words

__all__ = ["EngineError", "Explainer", "expected_options"]

_MAX_ERRORS: Final = 64
_BY_ENGINE: Final = ("pattern", "multipleOf", "uniqueItems")
"""Keywords that `jsonschema` reads differently (floats), or slowly on hostile input (patterns, unique items)."""
_SHAPE: Final = frozenset(
    {
        "type", "required", "additionalProperties", "additionalItems", "unevaluatedProperties", "unevaluatedItems",
        "dependentRequired", "dependencies", "minItems", "maxItems", "minProperties", "maxProperties", "anyOf", "oneOf",
        "falseSchema", "properties", "items", "prefixItems", "propertyNames", "patternProperties",
    }
)  # fmt: skip
_WORDS: Final = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minProperties": "at least {} keys",
    "maxProperties": "at most {} keys",
    "multipleOf": "a multiple of {}",
    "pattern": "text that matches {}",
    "format": "text in the format {}",
}
_TYPES: Final = {"array": "an array", "object": "an object", "integer": "an integer", "null": "null"}


@final
@attrs.frozen
class EngineError:
    """One error of the deciding engine."""

    keyword: str
    value: Any
    message: str
    path: tuple[str | int, ...]
    instance: Any


@final
@attrs.define(eq=False, slots=False)
class Explainer:
    """Finds words for a mismatch that has been decided.

    Attributes:
        schema: The schema.
        validator: The class of `jsonschema` for its draft.
        formats: The formats it uses.
        usable: Whether `jsonschema` may be asked at all.
        leaf: Gives the deciding engine's answer for one keyword and its value.
    """

    schema: dict[str, Any]
    validator: Any
    formats: tuple[str, ...]
    usable: bool
    leaf: Callable[[str, Any], Callable[[Any], bool]]

    def explain(self, value: Any, pointer: str, errors: Callable[[], Sequence[EngineError]]) -> Evaluation:
        """Return the mismatch of `value`, in the words of `jsonschema` where it finds any."""
        nodes = self._worded(value, pointer)
        if nodes is None:
            return self.say(errors(), pointer)
        best, others = nodes
        return _mismatch(best, others)

    def say(self, errors: Sequence[EngineError], pointer: str) -> Evaluation:
        """Return the mismatch in the deciding engine's own words."""
        if not errors:
            return Evaluation("mismatched", Diagnostic("schema", "does not satisfy the schema", pointer))
        nodes = [
            _node(error.keyword, error.value, error.message, error.path, error.instance, pointer) for error in errors
        ]
        # The deepest place is the most telling one.
        best = max(range(len(nodes)), key=lambda index: (len(errors[index].path), -index))
        return _mismatch(nodes[best], nodes)

    def _worded(self, value: Any, pointer: str) -> tuple[Diagnostic, list[Diagnostic]] | None:
        if not self.usable:
            return None
        from jsonschema.exceptions import best_match

        try:
            errors: list[Any] = list(islice(self._checker.iter_errors(value), _MAX_ERRORS))
            best: Any = best_match(errors)
        except Exception:
            # It gives up on what the deciding engine can do (deep values, its own kind of patterns).
            return None
        if best is None:
            return None
        nodes = [
            _node(error.validator, error.validator_value, error.message, error.absolute_path, error.instance, pointer)
            for error in (best, *errors)
        ]
        return nodes[0], nodes[1:]

    @cached_property
    def _checker(self) -> Any:
        from jsonschema import FormatChecker, validators

        checker = FormatChecker(())
        for name in self.formats:
            checker.checkers = {**checker.checkers, name: (self.leaf("format", name), ())}
        overridden = {name: self._delegate(name) for name in _BY_ENGINE}
        extend: Any = validators.extend
        return extend(self.validator, overridden)(self.schema, registry=specifications(), format_checker=checker)

    def _delegate(self, keyword: str) -> Callable[..., Iterator[Any]]:
        from jsonschema import ValidationError

        decided: dict[str, Callable[[Any], bool]] = {}

        def check(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
            name = json.dumps(value)
            if name not in decided:
                decided[name] = self.leaf(keyword, value)
            if not decided[name](instance):
                yield ValidationError(f"{_shown(instance)} is not {_phrase(keyword, value)}")

        return check


def _mismatch(best: Diagnostic, others: Iterable[Diagnostic]) -> Evaluation:
    """Return the mismatch that `best` decides, with every error as a part where there are several."""
    found = list(others)
    code = "schema" if any(node.code == "schema" for node in (best, *found)) else best.code
    cut = len(found) > MAX_SAMPLES
    children = tuple(found[:MAX_SAMPLES]) if len(found) > 1 else ()
    return Evaluation("mismatched", attrs.evolve(best, code=code, children=children, truncated=cut))


def _node(keyword: Any, value: Any, message: str, path: Iterable[str | int], instance: Any, pointer: str) -> Diagnostic:
    code = "schema" if keyword is None or keyword in _SHAPE else "constraint"
    expected = _expected(str(keyword), value, instance)
    return Diagnostic(code, cut_text(message), from_segments(path, pointer), expected, sample(instance))


def _expected(keyword: str, value: Any, instance: Any) -> Any:
    if keyword == "enum" and isinstance(value, list):
        return words(expected_options(value))
    if keyword in ("const", "constant"):
        return sample(value)
    if keyword == "type":
        names = value if isinstance(value, list) else [value]
        return words(" or ".join(_TYPES.get(name, f"a {name}") for name in names))
    if keyword == "required":
        missing = [name for name in value if name not in instance] if isinstance(value, list) else [value]
        return words(f"the key{'s' * (len(missing) > 1)} {', '.join(map(_shown, missing))}")
    if value is False and keyword in ("additionalProperties", "unevaluatedProperties"):
        return words("no other keys")
    return words(_phrase(keyword, value)) if keyword in _WORDS or keyword == "uniqueItems" else None


def expected_options(options: Iterable[Any]) -> str:
    """Return ``one of "a", "b"``, or the only option by itself."""
    shown = [_shown(option) for option in options]
    return cut_text(f"one of {', '.join(shown)}" if len(shown) > 1 else "".join(shown))


def _phrase(keyword: str, value: Any) -> str:
    if keyword == "uniqueItems":
        return "a list without repeated items"
    return _WORDS[keyword].format(value if isinstance(value, str) else _shown(value))


def _shown(value: Any) -> str:
    return cut_text(json.dumps(value, ensure_ascii=False, default=str), 120)
