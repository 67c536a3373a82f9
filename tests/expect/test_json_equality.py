"""The equality that every match shares, through `equals`."""

import json
import math
from collections import OrderedDict, namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, StrEnum
from fractions import Fraction
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo

import attrs
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from niceeval_expect import Absent, equals, one_of
from niceeval_expect._codec import decode, dumps, encode
from niceeval_expect._evaluation import AbsentText
from niceeval_expect._json import differences, json_equal


@dataclass
class Point:
    x: int
    at: date


@attrs.frozen
class Label:
    text: str


class Order(pydantic.BaseModel):
    id: str
    total: Decimal


class Status(StrEnum):
    SENT = "sent"


class Level(Enum):
    LOW = 1


Pair = namedtuple("Pair", "left right")
NOON = datetime(2026, 8, 1, 12, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")

EQUAL = [
    ("int and float", 89, 89.0),
    ("big ints", 10**400, 10**400),
    ("Decimal and int", Decimal("89"), 89),
    ("Decimal and the float of its digits", Decimal("0.1"), 0.1),
    ("Decimals of other precision", Decimal("1.50"), Decimal("1.5")),
    ("huge Decimal and float", Decimal("1e300"), 1e300),
    ("NaN", math.nan, float("nan")),
    ("Decimal NaN and NaN", Decimal("NaN"), math.nan),
    ("infinity", math.inf, Decimal("Infinity")),
    ("zeros", 0.0, -0.0),
    ("list and tuple", [1, [2]], (1, (2,))),
    ("a named tuple", Pair(1, 2), [1, 2]),
    ("order of keys", {"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ("an OrderedDict", OrderedDict(b=1, a=2), {"a": 2, "b": 1}),
    ("any mapping", MappingProxyType({"a": 1}), {"a": 1}),
    ("set and frozenset", {1, "a"}, frozenset({"a", 1.0})),
    ("sets of tuples with NaN", {(1, math.nan)}, frozenset({(1.0, float("nan"))})),
    ("a set with a Decimal", {Decimal("0.1")}, {0.1}),
    ("one moment in two zones", NOON, NOON.astimezone(timezone(timedelta(hours=5)))),
    (
        "a moment in a repeated hour",
        datetime(2025, 10, 26, 2, 30, tzinfo=BERLIN),
        datetime(2025, 10, 26, 0, 30, tzinfo=UTC),
    ),
    ("naive datetimes", datetime(2026, 8, 1), datetime(2026, 8, 1)),
    ("a dataclass and its dict", Point(1, date(2026, 8, 1)), {"x": 1, "at": "2026-08-01"}),
    ("an attrs object and its dict", Label("x"), {"text": "x"}),
    ("a model and its dict", Order(id="A", total=Decimal("1.50")), {"id": "A", "total": "1.50"}),
    ("objects in a list", [Label("x")], ({"text": "x"},)),
    ("a member and its value", Status.SENT, "sent"),
    ("a member with another value", Level.LOW, 1),
    ("a member as a key", {Status.SENT: 1}, {"sent": 1}),
    ("numeric keys", {1: "x"}, {1.0: "x"}),
    ("NaN as a key", {math.nan: 1}, {float("nan"): 1}),
    ("paths", PurePosixPath("a/b"), PurePosixPath("a/b")),
    ("bytes", b"x", b"x"),
    ("fractions", Fraction(1, 3), Fraction(1, 3)),
    ("empty containers", {"a": [], "b": {}}, {"b": {}, "a": ()}),
]

UNEQUAL = [
    ("True and 1", True, 1),
    ("False and 0", False, 0),
    ("True and 1.0", True, 1.0),
    ("nested bools", {"a": [False, {"x": 1}]}, {"a": [0, {"x": True}]}),
    ("bool keys", {True: "x"}, {1: "x"}),
    ("bools in sets", {True}, {1}),
    ("text and number", "89", 89),
    ("an exact int and the float near it", 2**53 + 1, float(2**53)),
    ("a Decimal and a longer float", Decimal("0.1000000000000000055511151231257827"), 0.1),
    ("Decimal NaN and a number", Decimal("NaN"), 0),
    ("a signalling Decimal NaN and a number", Decimal("sNaN"), 1),
    ("NaN and None", math.nan, None),
    ("null and absence", {"a": None}, {}),
    ("null and false", None, False),
    ("null and empty", None, ""),
    ("zero and empty", 0, ""),
    ("an extra item", [1, 2], [1, 2, None]),
    ("an extra null", {"name": "Ana"}, {"name": "Ana", "note": None}),
    ("an extra null in a list", [{}], [{"a": None}]),
    ("order of a list", [1, 2], [2, 1]),
    ("list and set", [1], {1}),
    ("list and dict", [], {}),
    ("bytes and text", b"x", "x"),
    ("bytes and bytearray", b"x", bytearray(b"x")),
    ("naive and aware", datetime(2026, 8, 1, 12), NOON),
    (
        "the two sides of a repeated hour",
        datetime(2025, 10, 26, 2, 30, tzinfo=BERLIN),
        datetime(2025, 10, 26, 2, 30, tzinfo=BERLIN, fold=1),
    ),
    ("date and datetime", date(2026, 8, 1), datetime(2026, 8, 1)),
    ("code points", "é", "e\u0301"),
    ("case", "Yes", "yes"),
    ("fraction and float", Fraction(1, 2), 0.5),
]


@pytest.mark.parametrize(("one", "other"), [pytest.param(a, b, id=name) for name, a, b in EQUAL])
def test_equal_values_match_in_both_directions_and_at_depth(one: Any, other: Any) -> None:
    for expected, actual in ((one, other), (other, one), ({"deep": [one]}, {"deep": [other]})):
        assert equals(expected).evaluate(actual).outcome == "matched"


@pytest.mark.parametrize(("one", "other"), [pytest.param(a, b, id=name) for name, a, b in UNEQUAL])
def test_unequal_values_mismatch_in_both_directions_and_at_depth(one: Any, other: Any) -> None:
    for expected, actual in ((one, other), (other, one), ({"deep": [one]}, {"deep": [other]})):
        assert equals(expected).evaluate(actual).outcome == "mismatched"
        assert differences(expected, actual)


@pytest.mark.parametrize("value", [False, 0, "", [], {}, None, 0.0])
def test_falsy_values_are_values(value: Any) -> None:
    assert equals(value).evaluate(value).outcome == "matched"
    assert equals({"v": value}).evaluate({"v": value}).outcome == "matched"


def test_a_mismatch_names_every_path_that_differs() -> None:
    expected = {"ok": True, "flags": [False, {"x": 1}]}
    found = equals(expected).evaluate({"ok": 1, "flags": [0, {"x": True}]}).diagnostic
    assert [child.pointer for child in found.children] == ["/ok", "/flags/0", "/flags/1/x"]
    assert "differs in 3 places: $.ok" in found.message
    assert found.children[0].message == "expected True (bool), got 1 (int)"


@pytest.mark.parametrize(
    ("expected", "actual", "pointer", "code"),
    [
        ({"a": 1}, {}, "/a", "missing"),
        ({}, {"a": None}, "/a", "extra"),
        ([1, 2], [1, 2, None], "/2", "extra"),
        ([1, 2], [1], "/1", "missing"),
        ({"a/b": {"~": 1}}, {"a/b": {"~": 2}}, "/a~1b/~0", "value"),
        ([{}], [{"a": None}], "/0/a", "extra"),
    ],
)
def test_what_is_missing_and_what_is_extra_is_told_apart(expected: Any, actual: Any, pointer: str, code: str) -> None:
    (child,) = equals(expected).evaluate(actual).diagnostic.children
    assert (child.pointer, child.code) == (pointer, code)


def test_a_difference_of_the_whole_is_one_sentence_with_the_types() -> None:
    found = equals(89.0).evaluate("89").diagnostic
    assert (found.message, found.children) == ("expected 89.0 (float), got '89' (str)", ())


def test_at_most_eight_differences_are_kept_and_the_cut_is_marked() -> None:
    found = equals(list(range(20))).evaluate([-1] * 20).diagnostic
    assert len(found.children) == 8
    assert found.truncated
    assert "more than 8 places" in found.message


@pytest.mark.parametrize(
    ("expected", "actual", "part"),
    [
        ("٤٢", "42", "same digits in another script"),
        ("42", "٤٢", "U+0664 ARABIC-INDIC DIGIT FOUR"),
        ("café", "cafe\u0301", "equal after NFC normalisation"),
        ("a b", "a\u00a0b", "U+00A0 NO-BREAK SPACE"),
        ("Yes", "yes", "differ only in case"),
        ("yes", "yes ", "differ only in white space"),
        ("x", "", "an empty text"),
        ("x²", "x2", "SUPERSCRIPT TWO"),
    ],
)
def test_texts_that_look_alike_are_told_apart_by_what_differs(expected: str, actual: str, part: str) -> None:
    assert part in equals(expected).evaluate(actual).diagnostic.message


def test_of_two_long_texts_the_part_around_the_first_difference_is_shown() -> None:
    found = equals("x" * 10_000 + "left" + "y" * 10_000).evaluate("x" * 10_000 + "right" + "y" * 10_000).diagnostic
    assert "character 10,000" in found.message
    assert "left" in found.expected
    assert "right" in found.received
    assert len(found.expected) < 300


def test_an_absent_part_makes_equality_unavailable_only_where_nothing_else_differs() -> None:
    subject = {"a": Absent("not reported"), "b": 2}
    undecided = equals({"a": 1, "b": 2}).evaluate(subject)
    assert (undecided.outcome, undecided.reason) == ("unavailable", "$.a is absent: not reported")
    assert equals({"a": 1, "b": 3}).evaluate(subject).outcome == "mismatched"
    assert (~equals({"a": 1, "b": 2})).evaluate(subject).outcome == "unavailable"
    assert equals({"text": ""}).evaluate({"text": AbsentText("the turn failed")}).outcome == "unavailable"


def test_a_certain_difference_is_found_behind_many_absent_parts() -> None:
    subject = [Absent("no")] * 10_000 + [1]
    assert equals([0] * 10_001).evaluate(subject).outcome == "mismatched"


def test_an_exception_in_author_code_is_errored() -> None:
    class Broken:
        def __eq__(self, other: object) -> bool:
            raise ZeroDivisionError("no")

        def __hash__(self) -> int:
            return 0

    found = equals(Broken()).evaluate(Broken())
    assert found.outcome == "errored"
    assert found.diagnostic.traceback is not None


def test_cycles_are_compared_by_their_shape() -> None:
    one: list[Any] = [1]
    one.append(one)
    other: list[Any] = [1]
    other.append([1, other])
    assert json_equal(one, other)
    assert not json_equal(one, [1, [1, [2]]])
    assert differences(one, [1, [1, [2]]])[0].pointer == "/1/1/0"


def nested(leaf: Any, wrap: Callable[[Any], Any], levels: int = 3_000) -> Any:
    for _ in range(levels):
        leaf = wrap(leaf)
    return leaf


@pytest.mark.parametrize("wrap", [lambda v: [v], lambda v: {"a": v}, lambda v: (v,)])
def test_deep_nesting_is_compared_to_its_end(wrap: Callable[[Any], Any]) -> None:
    assert json_equal(nested(1, wrap), nested(1.0, wrap))
    assert not json_equal(nested(1, wrap), nested(2, wrap))
    assert len(differences(nested(1, wrap), nested(2, wrap))) == 1


def test_shared_parts_do_not_multiply_the_work() -> None:
    def tower() -> Any:
        value: Any = [1]
        for _ in range(200):
            value = [value, value]
        return value

    assert json_equal(tower(), tower())


def test_options_and_leaves_use_the_same_equality() -> None:
    assert one_of([1, "a"]).evaluate(True).outcome == "mismatched"
    assert one_of([Decimal("0.1"), "a"]).evaluate(0.1).outcome == "matched"


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
RICH = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.0, -0.0, 1.0, 0.1, math.nan, math.inf, Decimal("0.1"), Decimal(1), Decimal("NaN")])
    | st.sampled_from(["", "a", b"a", NOON, NOON.astimezone(BERLIN), datetime(2026, 8, 1, 12), date(2026, 8, 1)])
    | st.builds(Label, st.sampled_from(["a", "b"])),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.lists(inner, max_size=2).map(tuple)
        | st.dictionaries(st.sampled_from(["a", "b", True, 1, 2]), inner, max_size=2)
        | st.frozensets(st.sampled_from([True, 1, "a", 1.0, Decimal("0.1"), 0.1]), max_size=2)
    ),
    max_leaves=6,
)


@given(PLAIN)
def test_what_json_reads_back_equals_what_was_written(value: Any) -> None:
    assert json_equal(value, json.loads(json.dumps(value)))


@given(RICH, RICH)
def test_equality_is_symmetric_agrees_with_the_differences_and_survives_storage(one: Any, other: Any) -> None:
    equal = json_equal(one, other)
    assert equal == json_equal(other, one)
    assert equal == (not differences(one, other))
    stored = [decode(json.loads(dumps(encode(value)))) for value in (one, other)]
    assert json_equal(*stored) == equal
    assert json_equal(one, stored[0])
