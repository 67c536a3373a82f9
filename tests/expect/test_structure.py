"""Partial patterns, keys and emptiness."""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest

from niceeval_expect import (
    Absent,
    absent,
    at,
    equals,
    excludes,
    from_spec,
    has_keys,
    includes,
    json_match,
    json_text,
    jsonMatch,
    non_empty,
    one_of,
    pattern,
    satisfies,
    similarity,
    tool_match,
)


@dataclass
class Order:
    id: str
    total: Decimal


MATCHED = [
    ("extra keys at every depth", {"a": {"b": 1}}, {"a": {"b": 1, "c": 2}, "d": 3}),
    ("items with extra keys", [{"a": 1}], [{"a": 1, "b": 2}]),
    ("numbers by value", {"n": 89}, {"n": Decimal("89.0")}),
    ("null that is there", {"a": None}, {"a": None}),
    ("an extra null", {"name": "Ana"}, {"name": "Ana", "note": None}),
    ("a match as a leaf", {"a": one_of([1, 2])}, {"a": 2}),
    ("a match in a list", [includes("x"), 2], ["axb", 2]),
    ("a regex as a leaf", {"id": re.compile(r"ORD-\d+")}, {"id": "number ORD-1"}),
    ("a regex with flags", {"id": re.compile("ord", re.IGNORECASE)}, {"id": "ORD"}),
    ("absence", {"error": absent()}, {"ok": True}),
    ("absence or null", {"error": absent() | equals(None)}, {}),
    ("a tuple as a list", {"a": (1, 2)}, {"a": [1, 2]}),
    ("an object as a subject", {"id": "A", "total": "1.50"}, Order("A", Decimal("1.50"))),
    ("an object as a pattern", Order("A", Decimal("1.50")), {"id": "A", "total": "1.50", "more": 1}),
    ("a plain value", 5, 5.0),
    ("an empty list", [], ()),
    ("keys that are numbers", {1: "x"}, {1.0: "x", 2: "y"}),
    ("a match for the whole", includes("x"), "axb"),
]

MISMATCHED = [
    ("a missing key", {"a": 1}, {}, "/a", "missing"),
    ("null is not absence", {"a": None}, {}, "/a", "missing"),
    ("absence is not null", {"a": absent()}, {"a": None}, "/a", "present"),
    ("bool is not int", {"a": {"b": True}}, {"a": {"b": 1}}, "/a/b", "value"),
    ("numbers are not text", {"a": 89}, {"a": "89"}, "/a", "value"),
    ("one item too many", {"a": [1]}, {"a": [1, 2]}, "/a/1", "extra"),
    ("one item too few", {"a": [1, 2]}, {"a": [1]}, "/a/1", "missing"),
    ("the order of items", [1, 2], [1, 3], "/1", "value"),
    ("another kind inside", {"a": {"b": 1}}, {"a": 5}, "/a", "value"),
    ("a list for an object inside", {"a": {"b": 1}}, {"a": [1]}, "/a", "value"),
    ("a regex in another leaf only", {"a": re.compile("x")}, {"a": "b", "c": "x"}, "/a", "pattern"),
    ("an escaped key", {"a/b": {"c": 1}}, {"a/b": {"c": 2}}, "/a~1b/c", "value"),
    ("True is not the key 1", {1: "x"}, {True: "x"}, "/1", "missing"),
]


@pytest.mark.parametrize(("wanted", "subject"), [pytest.param(a, b, id=name) for name, a, b in MATCHED])
def test_a_pattern_matches_what_has_at_least_its_fields(wanted: Any, subject: Any) -> None:
    assert json_match(wanted).evaluate(subject).outcome == "matched"
    assert (~json_match(wanted)).evaluate(subject).outcome == "mismatched"


@pytest.mark.parametrize(
    ("wanted", "subject", "pointer", "code"), [pytest.param(*rest, id=name) for name, *rest in MISMATCHED]
)
def test_a_mismatch_names_the_place_and_its_denial_holds(wanted: Any, subject: Any, pointer: str, code: str) -> None:
    found = json_match(wanted).evaluate(subject)
    assert (found.outcome, found.code) == ("mismatched", code)
    assert [child.pointer for child in found.diagnostic.children] == [pointer]
    assert (~json_match(wanted)).evaluate(subject).outcome == "matched"


def test_every_difference_is_a_child_at_its_place() -> None:
    wanted = {"ok": True, "items": [{"id": 1}, {"id": 2}], "name": re.compile("^A"), "x": 1}
    found = json_match(wanted).evaluate({"ok": 1, "items": [{"id": 1}, {"id": 3}], "name": "Bo", "extra": 0})
    pointers = [child.pointer for child in found.diagnostic.children]
    assert pointers == ["/ok", "/items/1/id", "/name", "/x"]
    assert found.diagnostic.message.startswith("4 of ")
    assert "$.x is missing; the object has 'ok', 'items', 'name', 'extra'" in found.diagnostic.children[3].message


def test_an_empty_pattern_matches_every_object_and_says_that_it_checked_nothing() -> None:
    for subject in ({}, {"path": "/etc"}):
        found = json_match({}).evaluate(subject)
        assert (found.outcome, found.examined) == ("matched", 0)
        assert "0 fields" in found.diagnostic.message
    assert json_match({}).evaluate([]).code == "type"
    assert json_match({"a": {}}).evaluate({"a": 1}).outcome == "mismatched"


def test_the_number_of_fields_checked_is_kept() -> None:
    assert json_match({"a": 1, "b": [2, 3], "c": {"d": 4}}).evaluate({"a": 1, "b": [2, 3], "c": {"d": 4}}).examined == 5


@pytest.mark.parametrize(("wanted", "subject"), [({"a": 1}, '{"a": 1}'), ({"a": 1}, [1]), ([1], {"a": 1}), ({}, None)])
def test_a_subject_of_another_kind_is_a_type_mismatch_in_both_polarities(wanted: Any, subject: Any) -> None:
    for match in (json_match(wanted), ~json_match(wanted)):
        assert (match.evaluate(subject).outcome, match.evaluate(subject).code) == ("mismatched", "type")
    if isinstance(subject, str):
        assert "json_text(json_match(...))" in json_match(wanted).evaluate(subject).diagnostic.message


def test_the_type_code_of_a_leaf_travels_up_only_where_it_decides_alone() -> None:
    wanted = json_match({"a": includes("x"), "b": 1})
    assert wanted.evaluate({"a": 5, "b": 1}).code == "type"
    assert (~wanted).evaluate({"a": 5, "b": 1}).outcome == "mismatched"
    assert wanted.evaluate({"a": 5, "b": 2}).code == "value"
    assert (~wanted).evaluate({"a": 5, "b": 2}).outcome == "matched"


def broken(value: object) -> bool:
    raise ZeroDivisionError("no")


@pytest.mark.parametrize(
    ("a", "b", "c", "outcome"),
    [
        (1, 1, 1, "matched"),
        (Absent("not reported"), 1, 1, "unavailable"),
        (Absent("not reported"), 1, 2, "mismatched"),
        (Absent("not reported"), "break", 1, "errored"),
        (Absent("not reported"), "break", 2, "mismatched"),
        (1, "break", 1, "errored"),
    ],
)
def test_a_definite_mismatch_decides_then_what_broke_then_what_is_missing(a: Any, b: Any, c: Any, outcome: str) -> None:
    wanted = json_match({"a": 1, "b": satisfies("one", broken) if b == "break" else 1, "c": 1})
    found = wanted.evaluate({"a": a, "b": b, "c": c})
    assert found.outcome == outcome
    assert len(found.diagnostic.children) == sum((type(a) is Absent, b == "break", c == 2))
    if outcome in ("unavailable", "errored"):
        assert found.reason
        assert (~wanted).evaluate({"a": a, "b": b, "c": c}).outcome == outcome


def test_an_absent_part_that_only_leads_further_is_unavailable() -> None:
    found = json_match({"a": {"b": [1]}}).evaluate({"a": Absent("not reported")})
    assert found.outcome == "unavailable"
    assert "not reported" in (found.reason or "")


def test_the_deciding_place_is_kept_among_many_others() -> None:
    subject: dict[str, Any] = {f"k{i}": Absent("no") for i in range(500)}
    wanted = dict.fromkeys(subject, 1) | {"last": 1}
    found = json_match(wanted).evaluate({**subject, "last": 2})
    assert found.outcome == "mismatched"
    assert "/last" in [child.pointer for child in found.diagnostic.children]
    assert len(found.diagnostic.children) == 8
    assert found.diagnostic.truncated


@pytest.mark.anyio
async def test_async_predicates_work_as_leaves_and_run_once() -> None:
    calls: list[object] = []

    async def positive(value: object) -> bool:
        calls.append(value)
        return isinstance(value, int) and value > 0

    wanted = json_match({"a": satisfies("positive", positive), "b": [satisfies("positive", positive)]})
    found = await json_text(at("x", wanted)).evaluate_async('{"x": {"a": 1, "b": [-1]}}')
    assert (found.outcome, calls) == ("mismatched", [1, -1])
    assert [child.pointer for child in found.diagnostic.children] == ["/x/b/0"]


def test_a_regex_leaf_runs_under_the_time_budget() -> None:
    found = json_match({"a": re.compile(r"(x+x+)+y")}).evaluate({"a": "x" * 5_000})
    assert found.outcome == "errored"
    assert "time budget" in (found.reason or "")


def test_a_pattern_is_a_private_copy() -> None:
    wanted: dict[str, Any] = {"a": [1]}
    match = json_match(wanted)
    wanted["a"].append(2)
    wanted["b"] = 1
    assert match.evaluate({"a": [1]}).outcome == "matched"


def test_patterns_that_cannot_be_are_refused_at_once() -> None:
    endless: dict[str, Any] = {}
    endless["again"] = endless
    with pytest.raises(ValueError, match="contains itself"):
        json_match(endless)
    with pytest.raises(TypeError, match="similarity"):
        json_match({"a": similarity("x")})
    with pytest.raises(TypeError, match="json_match"):
        json_match([tool_match("x").exactly(1)])


def test_the_other_spelling_is_the_same_function() -> None:
    assert jsonMatch is json_match


def test_has_keys_names_what_is_missing() -> None:
    assert has_keys("a", "b").evaluate({"a": None, "b": 0, "c": 1}).outcome == "matched"
    found = has_keys("a", "x", "y").evaluate({"a": 1})
    assert (found.outcome, found.code) == ("mismatched", "missing")
    assert found.diagnostic.message == "2 of 3 keys missing: 'x', 'y'; the object has 'a'"
    assert [child.pointer for child in found.diagnostic.children] == ["/x", "/y"]
    assert (~has_keys("x")).evaluate({"a": 1}).outcome == "matched"
    assert has_keys("id").evaluate(Order("A", Decimal(1))).outcome == "matched"
    assert has_keys("a").evaluate({"a": Absent("no")}).outcome == "unavailable"


@pytest.mark.parametrize("subject", ['{"a": 1}', ["a"], 5, None])
def test_has_keys_over_no_object_is_a_type_mismatch(subject: Any) -> None:
    for match in (has_keys("a"), ~has_keys("a")):
        assert match.evaluate(subject).code == "type"


@pytest.mark.parametrize(("keys", "error"), [((), ValueError), ((["a"],), TypeError), ((1,), TypeError)])
def test_has_keys_refuses_bad_keys(keys: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="has_keys"):
        has_keys(*keys)


@pytest.mark.parametrize("subject", ["x", " x ", [0], {"a": None}, (None,), {1}, b"x", Order("", Decimal(0))])
def test_non_empty_matches_what_holds_something(subject: Any) -> None:
    assert non_empty().evaluate(subject).outcome == "matched"


@pytest.mark.parametrize("subject", ["", "  \n", "\u200b\u00a0", [], {}, (), set(), b"", None])
def test_non_empty_mismatches_what_holds_nothing_and_its_denial_holds(subject: Any) -> None:
    assert non_empty().evaluate(subject).code == "empty"
    assert (~non_empty()).evaluate(subject).outcome == "matched"


@pytest.mark.parametrize("subject", [0, 5, 1.5, False, True])
def test_non_empty_over_what_cannot_be_empty_is_a_type_mismatch(subject: Any) -> None:
    for match in (non_empty(), ~non_empty()):
        assert (match.evaluate(subject).outcome, match.evaluate(subject).code) == ("mismatched", "type")


@pytest.mark.parametrize(
    ("match", "text"),
    [
        (json_match({"a": [1, {"b": None}]}), "json_match({'a': [1, {'b': None}]})"),
        (json_match({"a": includes("x")}), "json_match({'a': includes('x')})"),
        (json_match({"a": re.compile("x")}), "json_match({'a': 'x'})"),
        (json_match(5), "json_match(5)"),
        (has_keys("a", "b"), "has_keys('a', 'b')"),
        (non_empty(), "non_empty()"),
        (absent(), "absent()"),
    ],
)
def test_a_match_reads_like_its_call_and_is_data(match: Any, text: str) -> None:
    if "'x'})" not in text or "includes" in text:
        assert repr(match) == text
    rebuilt = from_spec(match.spec())
    assert rebuilt == match
    assert repr(rebuilt) == repr(match)
    assert rebuilt.fingerprint == match.fingerprint


def test_matches_that_differ_are_not_equal() -> None:
    assert json_match({"a": True}) != json_match({"a": 1})
    assert json_match({"a": "x"}) != json_match({"a": re.compile("x")})
    assert json_match({"a": excludes("x")}) != json_match({"a": includes("x")})
    assert json_match({"a": float("nan")}) == json_match({"a": float("nan")})
    assert at("a", pattern("x")) == at("a", re.compile("x"))
