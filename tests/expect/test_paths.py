"""Where a path leads, and how one that leads nowhere is reported."""

from dataclasses import dataclass
from typing import Any

import pytest

from niceeval_expect import Absent, absent, at, equals, excludes, from_spec, includes, is_defined, matches, similarity
from niceeval_expect._pointer import child, dollar, from_segments, segments_of


@dataclass
class Item:
    name: str


DOCUMENT: dict[str, Any] = {
    "items": [{"name": "lamp", "price.net": 4}, {"name": "desk", "tags": ["a", "b"]}],
    "2026": {"q": 1},
    "a/b": {"~": "tilde"},
    "": "blank key",
    "note": None,
    "count": 3,
    "pair": (1, 2),
    "object": Item("chair"),
    "unit price": 9,
    "Straße": 1,
}


@pytest.mark.parametrize(
    ("path", "value", "pointer"),
    [
        ("count", 3, "/count"),
        ("items[0].name", "lamp", "/items/0/name"),
        ("items.0.name", "lamp", "/items/0/name"),
        ("/items/0/name", "lamp", "/items/0/name"),
        (("items", 0, "name"), "lamp", "/items/0/name"),
        (("items", "0", "name"), "lamp", "/items/0/name"),
        ("$.items[1].tags[1]", "b", "/items/1/tags/1"),
        ("items[1].tags.0", "a", "/items/1/tags/0"),
        (("items", 0, "price.net"), 4, "/items/0/price.net"),
        ('items[0]["price.net"]', 4, "/items/0/price.net"),
        ("items[0]['price.net']", 4, "/items/0/price.net"),
        ("2026.q", 1, "/2026/q"),
        ("/2026/q", 1, "/2026/q"),
        ((2026, "q"), 1, "/2026/q"),
        ("/a~1b/~0", "tilde", "/a~1b/~0"),
        (("a/b", "~"), "tilde", "/a~1b/~0"),
        ("/", "blank key", "/"),
        ("note", None, "/note"),
        ("pair[1]", 2, "/pair/1"),
        ("object.name", "chair", "/object/name"),
        ("unit price", 9, "/unit price"),
        ("Straße", 1, "/Straße"),
    ],
)
def test_every_form_of_a_path_leads_to_its_value(path: Any, value: Any, pointer: str) -> None:
    assert at(path, value).evaluate(DOCUMENT).outcome == "matched"
    missed = at(path, "something else").evaluate(DOCUMENT)
    assert (missed.outcome, missed.diagnostic.pointer) == ("mismatched", pointer)


@pytest.mark.parametrize("path", ["[0].a", "0.a", "/0/a", (0, "a")])
def test_a_path_may_start_in_a_list(path: Any) -> None:
    assert at(path, 1).evaluate([{"a": 1}]).outcome == "matched"


def test_a_number_is_a_key_on_an_object_and_an_index_on_a_list() -> None:
    for subject in (["x"], {"0": "x"}, {0: "x"}):
        assert at("0", "x").evaluate(subject).outcome == "matched"
    assert at("00", "x").evaluate(["x"]).code == "missing"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("items[2].name", "$.items[2] is missing; the list has 2 items"),
        ("items.name", "$.items.name is missing; the list has 2 items"),
        ("items[0].nam", "$.items[0].nam is missing; the object has 'name', 'price.net'"),
        ("count.x", "$.count is 3, which has nothing inside"),
        ("note.x", "$.note is None, which has nothing inside"),
    ],
)
def test_a_missing_part_says_what_is_there_instead_and_its_denial_holds(path: str, message: str) -> None:
    found = at(path, 1).evaluate(DOCUMENT)
    assert (found.outcome, found.code, found.diagnostic.message) == ("mismatched", "missing", message)
    assert (~at(path, 1)).evaluate(DOCUMENT).outcome == "matched"
    assert at(path, ~equals(1)).evaluate(DOCUMENT).outcome == "mismatched"


def test_many_keys_are_cut_in_the_message() -> None:
    message = at("x", 1).evaluate({f"key{i}" * 20: i for i in range(100)}).diagnostic.message
    assert message.endswith("and 92 more")
    assert len(message) < 600


def test_absent_and_null_are_different_answers() -> None:
    with_null, without = {"name": "Ana", "note": None}, {"name": "Ana"}
    assert at("note", absent()).evaluate(with_null).outcome == "mismatched"
    assert at("note", absent()).evaluate(without).outcome == "matched"
    assert at("note", None).evaluate(with_null).outcome == "matched"
    assert at("note", None).evaluate(without).code == "missing"
    assert at("name.first", absent()).evaluate(with_null).outcome == "matched"


@pytest.mark.parametrize(
    ("match", "missing", "null", "five"),
    [
        (absent(), "matched", "mismatched", "mismatched"),
        (~absent(), "mismatched", "matched", "matched"),
        (absent() | equals(None), "matched", "matched", "mismatched"),
        (absent() & absent(), "matched", "mismatched", "mismatched"),
        (absent() & equals(5), "mismatched", "mismatched", "mismatched"),
        (is_defined(), "mismatched", "mismatched", "matched"),
    ],
)
def test_only_what_asks_for_absence_holds_for_a_missing_part(match: Any, missing: str, null: str, five: str) -> None:
    whole = at("a", match)
    assert [whole.evaluate(subject).outcome for subject in ({}, {"a": None}, {"a": 5})] == [missing, null, five]


def test_absence_by_itself_says_no_to_every_value_and_nothing_of_one_that_never_came() -> None:
    assert absent().evaluate(None).code == "present"
    assert absent().evaluate(Absent("no output")).outcome == "unavailable"


@pytest.mark.parametrize("subject", ["text", 5, None, {1}, b"x"])
def test_a_subject_with_nothing_inside_is_a_type_mismatch_in_both_polarities(subject: Any) -> None:
    for match in (at("a", 1), ~at("a", 1), at("a", absent())):
        found = match.evaluate(subject)
        assert (found.outcome, found.code) == ("mismatched", "type")


def test_text_is_told_to_be_parsed_first() -> None:
    assert "json_text(at(...))" in at("a", 1).evaluate('{"a": 1}').diagnostic.message


def test_what_never_came_is_unavailable_with_its_place() -> None:
    subject = {"output": {"items": Absent("the call is pending")}}
    for match in (at("output.items[0].id", 1), at("output.items", 1), at("output.items.x", absent())):
        for polarity in (match, ~match):
            found = polarity.evaluate(subject)
            assert (found.outcome, found.reason) == ("unavailable", "the call is pending")
            assert found.diagnostic.pointer == "/output/items"


def test_the_type_code_of_the_part_travels_up() -> None:
    assert at("count", includes("x")).evaluate(DOCUMENT).code == "type"
    assert (~at("count", includes("x"))).evaluate(DOCUMENT).outcome == "mismatched"
    assert (~at("items[0].name", excludes("lamp"))).evaluate(DOCUMENT).outcome == "matched"


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("", "blank"),
        ("  ", "blank"),
        ((), "empty path"),
        ("a..b", "character 1"),
        (".a", "character 0"),
        ("a.", "character 1"),
        ("a[", "character 1"),
        ("a[]", "character 1"),
        ("a[b]", "character 1"),
        ("a]", "character 1"),
        ("a[0]b", "character 4"),
        ("a[-1]", "count from the start"),
        ("a[*].b", "no wildcards"),
        ("/a~b", "'~0'"),
        (("a", -1), "counted from the start"),
    ],
)
def test_a_path_that_cannot_be_read_is_refused_at_once(path: Any, part: str) -> None:
    with pytest.raises(ValueError, match=r"at\(\)") as caught:
        at(path, 1)
    assert part in str(caught.value)


@pytest.mark.parametrize("path", [None, 5, ["a"], ("a", True), ("a", 1.5), (None,)])
def test_something_else_than_a_path_is_refused_at_once(path: Any) -> None:
    with pytest.raises(TypeError, match=r"at\(\) takes"):
        at(path, 1)


def test_a_measurement_is_no_part_of_a_path() -> None:
    with pytest.raises(TypeError, match="similarity"):
        at("a", similarity("x"))
    assert at("a", similarity("abc").at_least(0.5)).evaluate({"a": "abc"}).outcome == "matched"


def test_a_validated_part_is_not_what_the_whole_yields() -> None:
    assert at("a", matches(int)).evaluate({"a": 1}).product is None


@pytest.mark.parametrize(
    ("match", "text"),
    [
        (at("a.b", 1), "at('a.b', 1)"),
        (at(("a", 0), includes("x")), "at(('a', 0), includes('x'))"),
        (at("a", absent()), "at('a', absent())"),
        (at("a", None), "at('a', equals(None))"),
    ],
)
def test_a_path_match_reads_like_its_call_and_is_data(match: Any, text: str) -> None:
    assert repr(match) == text
    assert from_spec(match.spec()) == match
    assert hash(from_spec(match.spec())) == hash(match)


def test_pointers_are_built_and_read_by_rfc_6901() -> None:
    assert child("/a", "b/c~d") == "/a/b~1c~0d"
    assert segments_of(from_segments(["a/b", 0, "~"])) == ("a/b", "0", "~")
    assert dollar("/items/0/unit price/x") == "$.items[0]['unit price'].x"
