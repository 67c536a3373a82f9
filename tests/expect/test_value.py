"""equals, one_of, ranges, lengths and truth."""

import dataclasses
import enum
import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import attrs
import pydantic
import pytest

from niceeval_expect import (
    Absent,
    ValueMatch,
    at,
    between,
    equals,
    every,
    is_defined,
    is_false,
    is_true,
    length,
    one_of,
)

NAN = float("nan")
NOON = datetime(2026, 8, 1, 12, tzinfo=UTC)


class Status(enum.Enum):
    OPEN = "open"


@dataclasses.dataclass
class DataOrder:
    id: str


@attrs.frozen
class AttrsOrder:
    id: str


class ModelOrder(pydantic.BaseModel):
    id: str


def outcomes(match: ValueMatch, subject: object) -> tuple[str, str]:
    return match.evaluate(subject).outcome, (~match).evaluate(subject).outcome


@pytest.mark.parametrize("value", [False, 0, "", [], {}, None, 0.0, (), set()])
def test_a_falsy_value_is_a_value_and_equals_itself(value: object) -> None:
    assert outcomes(equals(value), value) == ("matched", "mismatched")


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (89, 89.0),
        (89, Decimal("89")),
        (0.1, Decimal("0.1")),
        (10**30, 10**30),
        (NAN, NAN),
        (NAN, float("nan")),
        (Decimal("NaN"), Decimal("NaN")),
        (0.0, -0.0),
        (math.inf, math.inf),
        ({"v": [NAN]}, {"v": [float("nan")]}),
        ({"v": 0.0}, {"v": -0.0}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ([1, 2], (1, 2)),
        ({1, 2}, frozenset({2, 1})),
        (NOON, NOON.astimezone(timezone(timedelta(hours=5)))),
        (Status.OPEN, "open"),
        ({"id": "A-1"}, DataOrder("A-1")),
        ({"id": "A-1"}, AttrsOrder("A-1")),
        ({"id": "A-1"}, ModelOrder(id="A-1")),
        (DataOrder("A-1"), ModelOrder(id="A-1")),
    ],
)
def test_values_are_equal_as_json_values_are(expected: object, actual: object) -> None:
    assert outcomes(equals(expected), actual) == ("matched", "mismatched")
    assert outcomes(one_of([object(), expected]), actual) == ("matched", "mismatched")


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (True, 1),
        (1, True),
        (False, 0),
        (0, False),
        (89.0, "89"),
        (89.0, "eighty-nine"),
        (10**30, 10**30 + 1),
        (Decimal("0.1"), 0.1 + 0.2 - 0.2),
        (None, 0),
        (None, ""),
        ("", []),
        ("42", "\u0664\u0662"),
        ("caf\u00e9", "cafe\u0301"),
        ([1, 2], [2, 1]),
        ([1, 2], [1, 2, None]),
        ([{}], [{"a": None}]),
        ({"name": "Ana"}, {"name": "Ana", "note": None}),
        ({1, 2}, [1, 2]),
        (date(2026, 8, 1), datetime(2026, 8, 1)),
        (b"a", "a"),
    ],
)
def test_values_that_python_or_a_reader_may_take_for_equal_are_not(expected: object, actual: object) -> None:
    assert outcomes(equals(expected), actual) == ("mismatched", "matched")
    assert outcomes(one_of([expected]), actual) == ("mismatched", "matched")


def test_nested_booleans_are_not_numbers_and_every_differing_path_is_named() -> None:
    match = equals({"ok": True, "flags": [False, {"x": 1}]})
    diagnostic = match.evaluate({"ok": 1, "flags": [0, {"x": True}]}).diagnostic
    assert [child.pointer for child in diagnostic.children] == ["/ok", "/flags/0", "/flags/1/x"]


def test_an_extra_key_is_named() -> None:
    diagnostic = equals({"name": "Ana"}).evaluate({"name": "Ana", "note": None}).diagnostic
    assert "/note" in [diagnostic.pointer, *(child.pointer for child in diagnostic.children)]


def test_digits_of_another_script_are_told_apart_by_their_code_points() -> None:
    message = equals("42").evaluate("\u0664\u0662").diagnostic.message
    assert "U+0664" in message


def test_the_message_names_the_types_when_a_number_meets_its_text() -> None:
    diagnostic = equals({"price": 89.0}).evaluate({"price": "89"}).diagnostic
    text = " ".join([diagnostic.message, *(child.message for child in diagnostic.children)])
    assert "89.0" in text
    assert "'89'" in text or '"89"' in text


def test_two_long_texts_are_shown_around_their_first_difference() -> None:
    same = "lorem " * 2_000
    diagnostic = equals(same + "yes" + same).evaluate(same + "no!" + same).diagnostic
    assert "yes" in diagnostic.expected
    assert "no!" in diagnostic.received
    assert len(diagnostic.expected) < 300


def test_later_changes_to_an_expected_value_do_not_leak_in() -> None:
    expected = {"items": [{"id": 1}], "tags": {1}}
    match, choice = equals(expected), one_of([expected])
    before = match.fingerprint
    expected["items"] = []
    expected["tags"] = set()
    for built in (match, choice):
        assert built.evaluate({"items": [{"id": 1}], "tags": {1}}).outcome == "matched"
    assert match.fingerprint == before


def test_a_cycle_or_a_very_deep_value_is_compared_or_errored_but_never_crashes() -> None:
    cycle: list[object] = []
    cycle.append(cycle)
    deep: object = 0
    for _ in range(20_000):
        deep = [deep]
    for subject in (cycle, deep):
        assert equals([1]).evaluate(subject).outcome in ("mismatched", "errored")
        for build in (equals, lambda value: one_of([value]), lambda value: at("a", value), every):
            with pytest.raises(ValueError, match="contains itself or is nested too deeply"):
                build(subject)


@pytest.mark.parametrize("options", ["cat", b"cat", {"a": 1}, 7, None])
def test_what_is_no_list_of_options_is_refused(options: Any) -> None:
    with pytest.raises(TypeError, match=r"one_of\(\) takes a list of values"):
        one_of(options)


def test_an_empty_list_of_options_is_refused() -> None:
    with pytest.raises(ValueError, match=r"one_of\(\) got no options"):
        one_of([])


def test_options_come_from_any_iterable_and_are_shown_when_none_fits() -> None:
    assert one_of(str(n) for n in range(3)).evaluate("2").outcome == "matched"
    diagnostic = one_of(["pending", "delivered"]).evaluate("teleported").diagnostic
    assert (diagnostic.expected, diagnostic.received) == (["pending", "delivered"], "teleported")
    assert repr(one_of({"b", "a"})) == "one_of(['a', 'b'])"


@pytest.mark.parametrize(
    ("low", "high", "value", "expected"),
    [
        (0, 1, 0, "matched"),
        (0, 1, 1.0, "matched"),
        (0, 1, Decimal("0.5"), "matched"),
        (0.1, 0.3, Decimal("0.1"), "matched"),
        (0.1, 0.3, Decimal("0.3"), "matched"),
        (0.1, 0.3, Decimal("0.30001"), "mismatched"),
        (0, 1, 1.0000001, "mismatched"),
        (0, 1, -1, "mismatched"),
        (0, 1, NAN, "mismatched"),
        (0, 1, math.inf, "mismatched"),
        (0, 1, Decimal("NaN"), "mismatched"),
        (0, 1, Decimal("Infinity"), "mismatched"),
        (5, 5, 5, "matched"),
        (0, 10**400, 10**399, "matched"),
    ],
)
def test_a_range_holds_both_its_ends_and_no_number_that_is_not_finite(
    low: float, high: float, value: object, expected: str
) -> None:
    assert between(low, high).evaluate(value).outcome == expected


@pytest.mark.parametrize("value", [True, "1", None, [1], NOON])
def test_a_range_says_nothing_about_what_is_no_number(value: object) -> None:
    assert between(0, 2).evaluate(value).code == "type"
    assert outcomes(between(0, 2), value) == ("mismatched", "mismatched")


@pytest.mark.parametrize(
    ("low", "high", "error"),
    [
        (1, 0, ValueError),
        (NAN, 1, ValueError),
        (0, math.inf, ValueError),
        (True, 2, TypeError),
        ("0", 1, TypeError),
        (None, 1, TypeError),
    ],
)
def test_a_range_that_holds_nothing_or_has_no_numeric_end_is_refused(low: Any, high: Any, error: type) -> None:
    with pytest.raises(error, match=r"between\("):
        between(low, high)


@pytest.mark.parametrize(
    ("bounds", "value", "expected"),
    [
        ({"at_least": 1}, "a", "matched"),
        ({"at_least": 1}, "", "mismatched"),
        ({"at_most": 2}, [1, 2], "matched"),
        ({"at_most": 2}, (1, 2, 3), "mismatched"),
        ({"exactly": 0}, {}, "matched"),
        ({"exactly": 1}, "😀", "matched"),
        ({"exactly": 2}, "e\u0301", "matched"),
        ({"at_least": 2, "at_most": 3}, b"ab", "matched"),
        ({"at_least": 2, "at_most": 3}, {1}, "mismatched"),
    ],
)
def test_a_length_counts_code_points_bytes_items_or_keys(bounds: dict[str, Any], value: object, expected: str) -> None:
    assert length(**bounds).evaluate(value).outcome == expected


@pytest.mark.parametrize("value", [7, None, True, 1.5])
def test_a_length_says_nothing_about_what_has_none(value: object) -> None:
    assert outcomes(length(at_most=3), value) == ("mismatched", "mismatched")


@pytest.mark.parametrize(
    ("bounds", "error"),
    [
        ({}, ValueError),
        ({"at_least": -1}, ValueError),
        ({"at_least": 0}, ValueError),
        ({"at_least": 3, "at_most": 2}, ValueError),
        ({"exactly": 1, "at_least": 1}, ValueError),
        ({"at_most": True}, TypeError),
        ({"at_most": 1.0}, TypeError),
        ({"at_most": "1"}, TypeError),
    ],
)
def test_bounds_that_say_nothing_or_contradict_each_other_are_refused(bounds: dict[str, Any], error: type) -> None:
    with pytest.raises(error, match=r"length\("):
        length(**bounds)


@pytest.mark.parametrize("value", [False, 0, "", [], NAN])
def test_everything_but_none_is_defined(value: object) -> None:
    assert outcomes(is_defined(), value) == ("matched", "mismatched")


def test_none_is_not_defined_and_an_absent_value_is_unknown() -> None:
    assert outcomes(is_defined(), None) == ("mismatched", "matched")
    assert outcomes(is_defined(), Absent("never reported")) == ("unavailable", "unavailable")


@pytest.mark.parametrize("value", [1, "true", [0], 0, "", None])
def test_only_true_is_true_and_only_false_is_false(value: object) -> None:
    assert outcomes(is_true(), value) == ("mismatched", "matched")
    assert outcomes(is_false(), value) == ("mismatched", "matched")
    assert is_true().evaluate(True).outcome == "matched"
    assert is_false().evaluate(False).outcome == "matched"
    assert is_true().evaluate(False).outcome == is_false().evaluate(True).outcome == "mismatched"


@pytest.mark.parametrize(
    "match",
    [equals("x"), equals(None), one_of(["x"]), between(0, 1), length(exactly=0), is_defined(), is_true(), is_false()],
    ids=repr,
)
def test_every_match_over_a_missing_value_is_unavailable_in_both_polarities(match: ValueMatch) -> None:
    for either in (match, ~match):
        evaluation = either.evaluate(Absent("the output never came"))
        assert (evaluation.outcome, evaluation.reason) == ("unavailable", "the output never came")
