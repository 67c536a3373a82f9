from datetime import UTC, datetime
from typing import Any

import pytest

from niceeval_expect import Absent, from_spec, pattern, same_arguments, tool_match

FORECAST: dict[str, Any] = {
    "type": "object",
    "$defs": {"Unit": {"type": "object", "properties": {"scale": {"type": "string", "default": "C"}}}},
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer", "default": 3},
        "since": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}], "default": None},
        "unit": {"$ref": "#/$defs/Unit"},
        "stops": {"type": "array", "items": {"properties": {"at": {"type": "string", "format": "date-time"}}}},
    },
    "required": ["city"],
}
OSLO = same_arguments(FORECAST, {"city": "Oslo"})
NOON = same_arguments(FORECAST, {"city": "Oslo", "since": "2026-01-01T12:00:00Z"})
STOPS = same_arguments(FORECAST, {"stops": [{"at": "2026-01-01T12:00:00Z"}]})
NAMED = same_arguments(FORECAST, {"city": "Oslo"}, alternatives={"city": ["Oslo, Norway", pattern("^Kristiania$")]})


@pytest.mark.parametrize(
    ("match", "given", "outcome", "rules"),
    [
        (OSLO, {"city": "Oslo"}, "matched", []),
        (OSLO, {"city": "Oslo", "days": 3}, "matched", ["default"]),
        (OSLO, {"city": "Oslo", "days": 3.0, "since": None}, "matched", ["default", "default"]),
        (same_arguments(FORECAST, {"city": "Oslo", "days": 3}), {"city": "Oslo"}, "matched", ["default"]),
        (OSLO, {"city": "Oslo", "days": 4}, "mismatched", []),
        (OSLO, {"city": "Bergen"}, "mismatched", []),
        (OSLO, {}, "mismatched", []),
        (OSLO, {"city": "Oslo", "x": 1}, "mismatched", []),
        (OSLO, {"city": "Oslo", "days": "3"}, "mismatched", []),
        (OSLO, {"city": "Oslo", "days": True}, "mismatched", []),
        (OSLO, {"city": Absent("cut off")}, "unavailable", []),
        (OSLO, {"city": "Oslo", "days": Absent("cut off")}, "unavailable", []),
        (OSLO, {"city": "Bergen", "days": Absent("cut off")}, "mismatched", []),
        (OSLO, Absent("not reported"), "unavailable", []),
        (NOON, {"city": "Oslo", "since": "2026-01-01T13:00:00+01:00"}, "matched", ["instant"]),
        (NOON, {"city": "Oslo", "since": "2026-01-01T12:00:00.000Z"}, "matched", ["instant"]),
        (NOON, {"city": "Oslo", "since": "2026-01-01T12:00:00"}, "mismatched", []),
        (NOON, {"city": "Oslo", "since": "2026-01-01T12:00:01Z"}, "mismatched", []),
        (NOON, {"city": "Oslo", "since": "noon"}, "mismatched", []),
        (NOON, {"city": "Oslo"}, "mismatched", []),
        (
            same_arguments(FORECAST, {"since": datetime(2026, 1, 1, 12, tzinfo=UTC)}),
            {"since": "2026-01-01T13:00:00+01:00"},
            "matched",
            ["instant"],
        ),
        # only where the schema declares it
        (same_arguments(FORECAST, {"city": "2026-01-01T12:00:00Z"}), {"city": "2026-01-01T13:00:00+01:00"},
         "mismatched", []),
        (STOPS, {"stops": [{"at": "2026-01-01T13:00:00+01:00"}]}, "matched", ["instant"]),
        (STOPS, {"stops": []}, "mismatched", []),
        (same_arguments(FORECAST, {"unit": {}}), {"unit": {"scale": "C"}}, "matched", ["default"]),
        (same_arguments(FORECAST, {"unit": {}}), {"unit": {"scale": "F"}}, "mismatched", []),
        (same_arguments(FORECAST, {"unit": {}}), {}, "mismatched", []),
        (NAMED, {"city": "Oslo"}, "matched", []),
        (NAMED, {"city": "Oslo, Norway"}, "matched", ["alternative"]),
        (NAMED, {"city": "Kristiania", "days": 3}, "matched", ["alternative", "default"]),
        (NAMED, {"city": "Bergen"}, "mismatched", []),
        (same_arguments(FORECAST, {}, alternatives={"days": [7]}), {"days": 7}, "matched", ["alternative"]),
        (same_arguments(FORECAST, {}, alternatives={"days": [7]}), {"days": 8}, "mismatched", []),
    ],
)  # fmt: skip
def test_outcomes(match: Any, given: object, outcome: str, rules: list[str]) -> None:
    evaluation = match.evaluate(given)
    assert evaluation.outcome == outcome
    if outcome == "matched":
        assert [child.code for child in evaluation.diagnostic.children] == rules
        assert evaluation.diagnostic.message.startswith("equal under rule") == bool(rules)


@pytest.mark.parametrize("subject", [5, "text", [], None])
def test_another_type(subject: object) -> None:
    assert OSLO.evaluate(subject).code == "type"
    assert (~OSLO).evaluate(subject).outcome == "mismatched"


@pytest.mark.parametrize(
    "definition",
    [
        FORECAST,
        {"name": "forecast", "parameters": FORECAST},
        {"type": "function", "function": {"name": "forecast", "parameters": FORECAST}},
        {"name": "forecast", "input_schema": FORECAST},
        {"name": "forecast", "inputSchema": FORECAST},
    ],
)
def test_any_tool_definition_will_do(definition: dict[str, Any]) -> None:
    assert same_arguments(definition, {"city": "Oslo"}) == OSLO


def test_a_mismatch_shows_each_place_and_the_rules_that_helped() -> None:
    evaluation = NOON.evaluate({"city": "Bergen", "since": "2026-01-01T13:00:00+01:00", "days": 4, "x": 1})
    assert evaluation.diagnostic.message == "other arguments at $.city, $.days, $.x"
    told = {child.pointer: (child.code, child.message) for child in evaluation.diagnostic.children}
    assert told["/days"] == ("default", "left out, it is 3 by default")
    assert told["/x"] == ("extra", "was not expected, and the schema declares no default")
    assert told["/since"] == (
        "instant",
        "equal under rule instant: 2026-01-01T13:00:00+01:00 is the same moment as 2026-01-01T12:00:00Z",
    )
    assert told["/city"][0] == "value"


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: same_arguments("{}", {}), TypeError),  # type: ignore[arg-type]
        (lambda: same_arguments({}, {}), ValueError),
        (lambda: same_arguments({"type": "object"}, {}), ValueError),
        (lambda: same_arguments(FORECAST, []), TypeError),  # type: ignore[arg-type]
        (lambda: same_arguments(FORECAST, {"citty": "Oslo"}), ValueError),
        (lambda: same_arguments({"properties": {"a": {"$ref": "#/$defs/A"}}}, {}), ValueError),
        (lambda: same_arguments({"properties": {"a": {"$ref": "https://x.org/a"}}}, {}), ValueError),
        (lambda: same_arguments(FORECAST, {}, alternatives=[]), TypeError),  # type: ignore[arg-type]
        (lambda: same_arguments(FORECAST, {}, alternatives={"city": "Oslo"}), TypeError),
        (lambda: same_arguments(FORECAST, {}, alternatives={"city": []}), ValueError),
        (lambda: same_arguments(FORECAST, {}, alternatives={"city": [tool_match("x")]}), ValueError),
        (lambda: same_arguments(FORECAST, {}, alternatives={"": [1]}), ValueError),
    ],
)
def test_bad_arguments_are_refused(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"same_arguments\(\)"):
        make()


def test_undeclared_arguments_are_fine_where_the_schema_takes_any() -> None:
    schema = {"properties": {}, "additionalProperties": {"type": "string", "format": "date-time"}}
    match = same_arguments(schema, {"x": "2026-01-01T12:00:00Z"})
    assert match.evaluate({"x": "2026-01-01T13:00:00+01:00"}).outcome == "matched"


def test_a_schema_that_refers_to_itself_is_followed_as_far_as_the_values_go() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#"}, "n": {"type": "integer", "default": 1}}}
    match = same_arguments(node, {"next": {"next": {"n": 1}}})
    assert match.evaluate({"next": {"n": 1, "next": {}}}).outcome == "matched"
    assert match.evaluate({"next": {"n": 1, "next": {"n": 2}}}).outcome == "mismatched"


@pytest.mark.parametrize("match", [OSLO, NOON, STOPS, NAMED])
def test_it_is_data(match: Any) -> None:
    assert from_spec(match.spec()) == match
    assert (match.family, match.reaches_outside) == ("referential", True)
    assert tool_match("forecast", input=match).reaches_outside
    names = {"same_arguments": same_arguments, "pattern": pattern}
    assert eval(repr(match), names) == match


def test_what_the_author_changes_later_does_not_leak_in() -> None:
    schema = {"properties": {"days": {"default": 3}}}
    expected = {"days": 3}
    match = same_arguments(schema, expected)
    schema["properties"]["days"]["default"] = expected["days"] = 5
    assert match.evaluate({}).outcome == "matched"
    assert match.evaluate({"days": 5}).outcome == "mismatched"


def test_alternatives_for_an_argument_that_is_not_declared_are_refused() -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    with pytest.raises(ValueError, match="'town', which the schema does not declare; declared are city"):
        same_arguments(schema, {"city": "Oslo"}, alternatives={"town": ["Bergen"]})
