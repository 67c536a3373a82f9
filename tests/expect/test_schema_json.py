"""`matches` over a JSON Schema."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any

import attrs
import pytest
from pydantic import BaseModel

from niceeval_expect import Absent, from_spec, matches

DRAFT_07 = "http://json-schema.org/draft-07/schema#"


class Colour(Enum):
    RED = "red"


class Order(BaseModel):
    id: str
    total: Decimal = Decimal("1.5")


@dataclass
class Line:
    sku: str


@attrs.frozen
class Parcel:
    lines: tuple[Line, ...]


def nested(levels: int, innermost: Any) -> Any:
    value = innermost
    for _ in range(levels):
        value = [value]
    return value


NESTED_LISTS = {"type": "array", "items": {"$ref": "#"}}


@pytest.mark.parametrize(
    ("schema", "subject", "outcome"),
    [
        ({"type": "integer"}, True, "mismatched"),
        ({"type": "integer"}, 5.0, "matched"),
        ({"type": "number"}, True, "mismatched"),
        ({"type": "boolean"}, 1, "mismatched"),
        ({"enum": [[False]]}, [0], "mismatched"),
        ({"enum": [[False]]}, [False], "matched"),
        ({"const": {"a": 1}}, {"a": True}, "mismatched"),
        ({"const": {"a": 1}}, {"a": 1.0}, "matched"),
        ({"const": None}, None, "matched"),
        ({"const": None}, 0, "mismatched"),
        ({"uniqueItems": True}, [1, True], "matched"),
        ({"uniqueItems": True}, [1, 1.0], "mismatched"),
        ({"multipleOf": 0.01}, 1.11, "matched"),
        ({"multipleOf": 0.01}, Decimal("1.11"), "matched"),
        ({"multipleOf": 0.01}, 1.111, "mismatched"),
        ({"maximum": 10**30}, 10**30 + 1, "mismatched"),
        ({"pattern": "^a$"}, "a\n", "mismatched"),
        ({"pattern": "^\\d$"}, "٣", "mismatched"),
        ({"pattern": "^\\p{L}+$"}, "é", "matched"),
        ({"pattern": "^(?!foo)[a-z]+$"}, "foobar", "mismatched"),
        ({"type": "string", "format": "date-time"}, "not a date", "mismatched"),
        ({"type": "string", "format": "date-time"}, "2026-01-01T00:00:00Z", "matched"),
        ({"format": "uuid"}, "nope", "mismatched"),
        ({"format": "uri"}, "::", "mismatched"),
        ({"format": "uuid"}, 3, "matched"),
        ({"items": {"type": "string"}}, ("a", "b"), "matched"),
        ({"required": ["id", "total"]}, Order(id="A-1"), "matched"),
        ({"properties": {"lines": {"items": {"required": ["sku"]}}}}, Parcel((Line("x"),)), "matched"),
        ({"properties": {"lines": {"items": {"required": ["ean"]}}}}, Parcel((Line("x"),)), "mismatched"),
        ({"enum": ["red"]}, Colour.RED, "matched"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}}, 1, "mismatched"),
        ({"$schema": DRAFT_07, "items": [{"type": "string"}], "additionalItems": False}, ["a", 1], "mismatched"),
        ({"$ref": "https://json-schema.org/draft/2020-12/schema"}, {"type": 1}, "mismatched"),
    ],
)
def test_decides_exactly(schema: dict[str, Any], subject: object, outcome: str) -> None:
    assert matches(schema).evaluate(subject).outcome == outcome
    opposite = {"matched": "mismatched", "mismatched": "matched"}[outcome]
    assert (~matches(schema)).evaluate(subject).outcome == opposite


def test_integers_are_exact_at_any_size() -> None:
    huge = 10**6_000
    assert matches({"type": "integer", "multipleOf": 2}).evaluate(huge).outcome == "matched"
    assert matches({"multipleOf": 2}).evaluate({"n": huge + 1}["n"]).outcome == "mismatched"
    assert matches({"maximum": 10**30}).evaluate(huge).outcome == "mismatched"
    assert matches({"items": {"minimum": 10**30}}).evaluate([huge, -huge]).diagnostic.pointer == "/1"


ORDER = {
    "type": "object",
    "required": ["id", "status"],
    "additionalProperties": False,
    "properties": {
        "id": {"type": "string", "pattern": "^ORD-[0-9]{6}$"},
        "status": {"enum": ["pending", "in_transit"]},
        "total": {"type": "number", "minimum": 0, "exclusiveMaximum": 100, "multipleOf": 0.01},
        "when": {"type": "string", "format": "date"},
        "tags": {"type": "array", "maxItems": 2, "uniqueItems": True, "items": {"type": ["string", "null"]}},
    },
}


@pytest.mark.parametrize(
    ("change", "code", "pointer", "expected", "received"),
    [
        ({"status": "refunded"}, "constraint", "/status", 'one of "pending", "in_transit"', "refunded"),
        ({"total": "5"}, "schema", "/total", "a number", "5"),
        ({"total": -1}, "constraint", "/total", "at least 0", -1),
        ({"total": 100}, "constraint", "/total", "less than 100", 100),
        ({"total": 0.111}, "constraint", "/total", "a multiple of 0.01", 0.111),
        ({"id": "ORD-1"}, "constraint", "/id", "text that matches ^ORD-[0-9]{6}$", "ORD-1"),
        ({"when": "tomorrow"}, "constraint", "/when", "text in the format date", "tomorrow"),
        ({"tags": ["a", 5]}, "schema", "/tags/1", "a string or null", 5),
        ({"tags": ["a", "a"]}, "constraint", "/tags", "a list without repeated items", ["a", "a"]),
    ],
)
def test_says_where_what_was_expected_and_what_was_there(
    change: dict[str, Any], code: str, pointer: str, expected: str, received: object
) -> None:
    evaluation = matches(ORDER).evaluate({"id": "ORD-448192", "status": "pending", **change})
    diagnostic = evaluation.diagnostic
    assert (evaluation.outcome, diagnostic.code, diagnostic.pointer) == ("mismatched", code, pointer)
    assert diagnostic.expected == {"$": "repr", "text": expected}
    assert diagnostic.received == received
    assert diagnostic.message


def test_several_mistakes_are_all_named() -> None:
    diagnostic = matches(ORDER).evaluate({"id": 1, "status": "x", "evil": 1}).diagnostic
    assert {child.pointer for child in diagnostic.children} == {"", "/id", "/status"}
    assert any("evil" in child.message for child in diagnostic.children)
    assert diagnostic.code == "schema"


def test_a_missing_key_is_named() -> None:
    diagnostic = matches({"required": ["id"]}).evaluate({"ID": 1}).diagnostic
    assert "'id'" in diagnostic.message
    assert diagnostic.expected == {"$": "repr", "text": 'the key "id"'}


def test_at_most_eight_mistakes_are_kept() -> None:
    diagnostic = matches({"items": {"type": "string"}}).evaluate(list(range(1_000))).diagnostic
    assert len(diagnostic.children) == 8
    assert diagnostic.truncated


@pytest.mark.parametrize(
    ("subject", "code", "pointer"),
    [
        ({"p": float("nan")}, "non-finite", "/p"),
        ({"p": float("inf")}, "non-finite", "/p"),
        ({"p": Decimal("NaN")}, "non-finite", "/p"),
        ({"q": [{"a/b": float("-inf")}]}, "non-finite", "/q/0/a~1b"),
        ({"p": "\ud800"}, "not-json", "/p"),
        ({"\ud800": 1}, "not-json", "/\ud800"),
        ({"q": [b"x"]}, "not-json", "/q/0"),
        ({"q": {1, 2}}, "not-json", "/q"),
        ({1: 2}, "not-json", ""),
        ({"q": {None: 2}}, "not-json", "/q"),
        ({"q": object}, "not-json", "/q"),
    ],
)
def test_what_json_does_not_have_satisfies_no_schema(subject: object, code: str, pointer: str) -> None:
    schema = {"type": "object", "properties": {"p": {"minimum": 0, "maximum": 1}}}
    evaluation = matches(schema).evaluate(subject)
    assert (evaluation.outcome, evaluation.code, evaluation.diagnostic.pointer) == ("mismatched", code, pointer)


def test_a_part_that_never_came_is_unavailable() -> None:
    match = matches({"required": ["output"]})
    for negated in (match, ~match):
        evaluation = negated.evaluate({"output": Absent("no result yet")})
        assert (evaluation.outcome, evaluation.reason) == ("unavailable", "no result yet")


def test_a_value_that_contains_itself_is_no_json() -> None:
    cycle: list[Any] = []
    cycle.extend([cycle] * 1_000)
    assert matches({"type": "array"}).evaluate(cycle).code == "not-json"
    shared = ["a"]
    assert matches({"items": {"items": {"type": "string"}}}).evaluate([shared, shared]).outcome == "matched"


@pytest.mark.parametrize("levels", [199, 201, 3_000])
def test_deep_values_are_decided(levels: int) -> None:
    match = matches(NESTED_LISTS)
    assert match.evaluate(nested(levels, [])).outcome == "matched"
    wrong = match.evaluate(nested(levels, 3))
    assert (wrong.outcome, wrong.diagnostic.pointer) == ("mismatched", "/0" * levels)


def test_deep_values_are_decided_on_a_small_stack() -> None:
    outcomes = []
    before = threading.stack_size(512 * 1024)
    try:
        worker = threading.Thread(
            target=lambda: outcomes.append(matches(NESTED_LISTS).evaluate(nested(3_000, [])).outcome)
        )
        worker.start()
    finally:
        threading.stack_size(before)
    worker.join()
    assert outcomes == ["matched"]


def test_nesting_beyond_the_limit_is_errored() -> None:
    evaluation = matches(NESTED_LISTS).evaluate(nested(50_000, []))
    assert (evaluation.outcome, evaluation.code) == ("errored", "depth")
    assert "nested" in str(evaluation.reason)


@pytest.mark.parametrize("wrap", [lambda schema: schema, lambda schema: {"not": schema}])
def test_a_backtracking_pattern_that_gives_up_decides_nothing(wrap: Callable[[Any], Any]) -> None:
    match = matches(wrap({"pattern": r"^(a|a)*\1?$"}))
    evaluation = match.evaluate("a" * 3_000 + "!")
    assert (evaluation.outcome, evaluation.code) == ("errored", "budget")


def test_hostile_text_is_explained_quickly() -> None:
    # Python's own `re`, which the explaining library uses, would not come back from this.
    evaluation = matches({"pattern": "^(a+)+$"}).evaluate("a" * 5_000 + "!")
    assert (evaluation.outcome, evaluation.code) == ("mismatched", "constraint")


@pytest.mark.parametrize(
    ("schema", "sentence"),
    [
        ({"type": "object", "require": ["id"]}, "/require is not a keyword .*did you mean 'required'"),
        ({"properties": {"age": {"type": "integer", "min": 1}}}, "/properties/age/min .*did you mean 'minimum'"),
        ({"format": "datetime"}, "/format: 'datetime' .*did you mean 'date-time'"),
        ({"$schema": DRAFT_07, "format": "uuid"}, "'uuid' is not a format of draft 07"),
        ({"$ref": "https://example.invalid/s.json"}, "/\\$ref: .* remote references are not fetched"),
        ({"allOf": [{"$ref": "#/$defs/x"}]}, "/allOf/0/\\$ref: '#/\\$defs/x' does not lead to anything"),
        ({"$ref": "#"}, "only leads back to itself"),
        ({"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}}, "only leads back to itself"),
        ({"anyOf": [{"type": "string"}, {"$ref": "#"}]}, "only leads back to itself"),
        ({"type": "strin"}, "/type: .*did you mean 'string'"),
        ({"minimum": "3"}, "/minimum: '3' is not of type 'number'"),
        ({"pattern": "("}, "/pattern"),
        ({"properties": {"a": {"pattern": "\\Z"}}}, "/properties/a/pattern"),
        ({"$schema": "https://example.invalid/draft"}, "/\\$schema names .* not known here"),
        ({"dependencies": {"a": ["b"]}}, "use dependentRequired"),
        ({"items": [{"type": "string"}]}, "/items"),
        ({"const": float("nan")}, "not JSON: /const is nan"),
        ({"const": {1: 2}}, "not JSON: /const has a key"),
        ({"enum": [b"x"]}, "not JSON: /enum/0"),
        ({}, "checks nothing"),
        ({"title": "An order", "description": "…", "x-team": "a"}, "checks nothing"),
        ({"properties": {"a": {}}, "items": True}, "checks nothing"),
        ({"$ref": "#/$defs/any", "$defs": {"any": {"title": "anything"}}}, "checks nothing"),
        ({"then": {"type": "string"}}, "checks nothing"),
        ({"required": [], "minLength": 0}, "checks nothing"),
    ],
)
def test_a_schema_that_would_not_check_is_refused(schema: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        matches(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "title": "t", "$comment": "c", "examples": [{"require": 1}], "default": {"min": 1}},
        {"properties": {"require": {"type": "string"}}, "$defs": {"min": {"type": "string"}}},
        {"const": {"foo": 1}, "x-foo": {"bar": 1}},
        {"enum": [{"require": ["id"]}]},
        {"dependentSchemas": {"min": {"required": ["max"]}}},
        {"type": "object", "properties": {"child": {"$ref": "#"}}},
        Order.model_json_schema(),
    ],
)
def test_names_and_data_are_no_keywords(schema: dict[str, Any]) -> None:
    assert matches(schema).spec() == {"match": "matches", "schema": schema}


def test_names_may_be_allowed() -> None:
    schema = {"type": "string", "format": "phone", "hint": "with area code"}
    with pytest.raises(ValueError, match=r"phone|hint"):
        matches(schema, allow=["phone"])
    match = matches(schema, allow=["phone", "hint"])
    assert match.evaluate("?").outcome == "matched"
    assert match.evaluate(1).outcome == "mismatched"
    assert match.spec()["allow"] == ["hint", "phone"]
    with pytest.raises(ValueError, match="checks nothing"):
        matches({"format": "phone"}, allow=["phone"])


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: matches({"type": "string"}, allow="phone"), TypeError, r"allow must be a list .* \['phone'\]"),
        (lambda: matches({"type": "string"}, allow=[3]), TypeError, "allow must be a list of names"),  # type: ignore[list-item]
        (lambda: matches({"type": "string"}, allow=None), TypeError, "allow must be a list"),  # type: ignore[call-overload]
        (lambda: matches("order.schema.json"), ValueError, "pathlib.Path"),
        (lambda: matches('{"type": "string",}'), ValueError, "not JSON"),
        (lambda: matches("true"), ValueError, "JSON object"),
        (lambda: matches(Path("/nowhere/order.json")), ValueError, "cannot read"),
        (lambda: matches({"type": "string"}, coerce=True), TypeError, "coerce= with a type only"),  # type: ignore[call-overload]
    ],
)
def test_bad_arguments(call: Callable[[], object], error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        call()


def test_text_and_file_say_what_the_dict_says(tmp_path: Path) -> None:
    file = tmp_path / "order.json"
    file.write_text(json.dumps(ORDER), encoding="utf-8")
    from_file = matches(file)
    file.write_text('{"type": "string"}', encoding="utf-8")
    assert from_file == matches(ORDER) == matches(json.dumps(ORDER))
    assert from_file.spec() == {"match": "matches", "schema": ORDER}
    assert from_spec(json.loads(json.dumps(from_file.spec()))) == from_file


def test_later_changes_to_the_schema_do_not_leak_in() -> None:
    schema: dict[str, Any] = {"enum": ["a"]}
    match = matches(schema)
    schema["enum"].append("b")
    assert match.evaluate("b").outcome == "mismatched"
    assert match != matches(schema)


def test_values_tell_schemas_apart() -> None:
    assert len({matches({"const": value}) for value in (1, True, "1", 0, False)}) == 5
    assert matches({"const": 1}) == matches({"const": 1})
    assert repr(matches({"type": "string"})) == "matches({'type': 'string'})"
