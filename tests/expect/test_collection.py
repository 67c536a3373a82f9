"""contains, every, unordered, keys_exactly."""

import random
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from niceeval_expect import (
    Absent,
    between,
    contains,
    equals,
    every,
    includes,
    is_true,
    json_match,
    json_text,
    keys_exactly,
    one_of,
    pattern,
    satisfies,
    similarity,
    unordered,
)

pytestmark = pytest.mark.anyio

GONE = Absent("not reported")


def broken(_: object) -> bool:
    raise LookupError("no such row")


BREAKS = satisfies("is known", broken)


@pytest.mark.parametrize(
    ("match", "subject", "outcome"),
    [
        (contains(2), [1, 2.0], "matched"),
        (contains(2), (1, 2), "matched"),
        (contains(True), [1], "mismatched"),
        (contains(None), [None], "matched"),
        (contains(2), [], "mismatched"),
        (contains([1]), [[1], 2], "matched"),
        (contains(json_match({"sku": "A"})), [{"sku": "B"}, {"sku": "A", "n": 1}], "matched"),
        (contains(1), [GONE, 1], "matched"),
        (contains(1), [GONE, 2], "unavailable"),
        (contains(BREAKS), [1], "errored"),
        (contains(BREAKS | equals(1)), [1, 2], "matched"),
        (contains(BREAKS), [GONE, 1], "errored"),
        (every(1), [1, 1.0], "matched"),
        (every(1), [1, 2], "mismatched"),
        (every(1), [], "mismatched"),
        (every(1, if_any=True), [], "matched"),
        (every(1, if_any=True), [2], "mismatched"),
        (every(1), [1, GONE], "unavailable"),
        (every(1), [2, GONE], "mismatched"),
        (every(BREAKS), [1], "errored"),
        (every(BREAKS | equals(1)), [1, 1], "matched"),
        (every(BREAKS & equals(1)), [2, GONE], "mismatched"),
    ],
)
def test_some_or_every_item_three_valued(match: Any, subject: object, outcome: str) -> None:
    assert match.evaluate(subject).outcome == outcome
    denied = {"matched": "mismatched", "mismatched": "matched"}.get(outcome, outcome)
    assert (~match).evaluate(subject).outcome == denied


@pytest.mark.parametrize("match", [contains(1), every(1), unordered([1]), keys_exactly("a")], ids=repr)
@pytest.mark.parametrize("subject", ["1", 7, None, True, {1}, b"1"])
def test_what_has_no_items_or_keys_mismatches_by_type_in_both_polarities(match: Any, subject: object) -> None:
    for each in (match, ~match):
        assert (each.evaluate(subject).outcome, each.evaluate(subject).code) == ("mismatched", "type")
    assert match.evaluate(GONE).outcome == "unavailable"


def test_the_remedy_for_text_is_named() -> None:
    assert "json_text(contains(...)) first; for a part of a text use includes(...)" in (
        contains("a").evaluate("abc").diagnostic.message
    )
    assert json_text(contains("a")).evaluate('["a"]').outcome == "matched"


@pytest.mark.parametrize(
    ("match", "subject", "code"),
    [
        (contains(includes("a")), [1, "b"], "type"),
        (contains(includes("a")), ["b"], "contains"),
        (every(includes("a")), [1, 2], "type"),
        (every(includes("a")), [1, "b"], "items"),
        (unordered([includes("a")]), [1], "type"),
        (unordered([includes("a"), includes("b")]), ["b", 1], "type"),
        (unordered([includes("a"), includes("b")]), ["c", 1], "unordered"),
    ],
)
def test_a_type_mismatch_of_an_item_that_decides_travels_up(match: Any, subject: object, code: str) -> None:
    assert match.evaluate(subject).code == code
    assert (~match).evaluate(subject).outcome == ("mismatched" if code == "type" else "matched")


def test_contains_shows_the_items_that_come_nearest() -> None:
    evaluation = contains({"id": 1, "n": 2}).evaluate([{"id": 7, "n": 7}, "x", {"id": 1, "n": 3}])
    assert evaluation.diagnostic.message == (
        "none of 3 items matches; the nearest is item 2: differs in 1 place: $[2].n: expected 2, got 3"
    )
    assert [child.pointer for child in evaluation.diagnostic.children] == ["/0", "/1", "/2"]
    assert "the nearest is item 1: " in contains("colour").evaluate(["blue", "color", "x"]).diagnostic.message
    assert contains(1).evaluate([2] * 50).diagnostic.truncated


def test_the_first_item_that_is_wrong_is_the_witness_even_when_it_comes_late() -> None:
    evaluation = every(between(0, 1)).evaluate([0.5] * 10_000 + [7])
    assert evaluation.diagnostic.message == "1 of 10001 items mismatched, first item 10000: is above the range"
    assert evaluation.diagnostic.children[0].pointer == "/10000"
    assert evaluation.examined == 10_001


def test_a_pass_that_examined_nothing_says_so() -> None:
    assert every(1, if_any=True).evaluate([]).examined == 0
    assert contains(3).evaluate([1, 2, 3, 4]).examined == 3


async def test_async_predicates_are_called_once_for_each_item() -> None:
    calls: list[object] = []

    async def is_even(number: int) -> bool:
        calls.append(number)
        return number % 2 == 0

    even = satisfies("is even", is_even)
    for match, items, outcome in (
        (contains(even) & contains(even), [1, 2, 3], "matched"),
        (every(even), [2, 4], "matched"),
        (unordered([even, 1]), [1, 2], "matched"),
        (unordered([1, even]), [3, 1], "mismatched"),
    ):
        calls.clear()
        assert (await match.evaluate_async(items)).outcome == outcome
        assert len(calls) == (2 if "&" in repr(match) else 1) * len(items) * (1 if "all_of" not in repr(match) else 2)


@pytest.mark.parametrize(
    ("match", "subject", "outcome"),
    [
        (unordered(["a", "b"]), ["b", "a"], "matched"),
        (unordered(["a", "a"]), ["a"], "mismatched"),
        (unordered(["a", "b"]), ["a", "a"], "mismatched"),
        (unordered(["a"]), ["a", "b"], "mismatched"),
        (unordered([1]), [], "mismatched"),
        (unordered([1, True]), [True, 1.0], "matched"),
        (unordered([{"id": 1}, {"id": 2}]), [{"id": 2}, {"id": 1}], "matched"),
        (unordered([pattern("^A"), "A-1"]), ["A-1", "A-2"], "matched"),
        (unordered([pattern("^A"), pattern("^A"), pattern("^B")]), ["A1", "B1", "B2"], "mismatched"),
        (unordered(["a", "b"]), ["a", GONE], "unavailable"),
        (unordered(["a", "b"]), ["c", GONE], "mismatched"),
        (unordered(["a", "b"]), [GONE, GONE], "unavailable"),
        (unordered(["a", "b"]), [GONE], "mismatched"),
        (unordered([BREAKS, 1]), [1, 2], "errored"),
        (unordered([BREAKS, 1]), [2, 3], "mismatched"),
        (unordered([one_of([1, 2]), one_of([1, 2]), one_of([2, 3])]), [1, 3, 2], "matched"),
    ],
)
def test_every_item_has_a_match_of_its_own_whatever_the_order(match: Any, subject: Any, outcome: str) -> None:
    for items in permutations(subject):
        assert match.evaluate(list(items)).outcome == outcome
    denied = {"matched": "mismatched", "mismatched": "matched"}.get(outcome, outcome)
    assert (~match).evaluate(subject).outcome == denied


LEAVES = st.sampled_from(
    [equals(1), equals(2), one_of([1, 2]), one_of([2, 3]), between(1, 3), pattern("a"), is_true(), ~equals(1), BREAKS]
)
ITEMS = st.sampled_from([1, 2, 3, 4, "a", True, GONE])


@given(st.lists(LEAVES, min_size=1, max_size=4), st.lists(ITEMS, max_size=4), st.integers())
def test_the_outcome_of_unordered_depends_on_no_listing_order(matches: list[Any], items: list[Any], seed: int) -> None:
    expected = unordered(matches).evaluate(items)
    shuffled, mixed = list(matches), list(items)
    random.Random(seed).shuffle(shuffled)
    random.Random(seed + 1).shuffle(mixed)
    found = unordered(shuffled).evaluate(mixed)
    assert (found.outcome, found.code) == (expected.outcome, expected.code)


@given(st.lists(st.sampled_from([0, 1, "a", "b", None, True, 1.5]), min_size=1, max_size=5), st.randoms())
def test_a_list_matches_the_unordered_list_of_its_own_items(items: list[Any], shuffler: random.Random) -> None:
    other = list(items)
    shuffler.shuffle(other)
    assert unordered(items).evaluate(other).outcome == "matched"
    assert unordered(items).evaluate([*other, "extra"]).outcome == "mismatched"


@pytest.mark.parametrize(
    ("match", "subject", "message"),
    [
        (
            unordered([{"id": 1, "n": 2}, {"id": 2, "n": 2}]),
            [{"id": 2, "n": 2}, {"id": 1, "n": 3}],
            "{'id': 1, 'n': 2}: no item matches; the nearest is item 1: differs in 1 place: $[1].n: expected 2, got 3",
        ),
        (unordered([1]), [1, 2], "2 items for 1 match; item 1 left over"),
        (unordered([1, 2]), [1], "1 item for 2 matches; 2: no item matches"),
        (
            unordered([pattern("^A"), pattern("^A"), "B2"]),
            ["A1", "B1", "B2"],
            "pattern('^A'): 2 matches compete for item 0; the nearest is item 1: "
            "no part of the text matches (2 characters)",
        ),
        (unordered([1, 2]), [1, GONE], "an assignment depends on what is undecided: not reported"),
    ],
)
def test_the_nearest_miss_is_shown(match: Any, subject: object, message: str) -> None:
    assert match.evaluate(subject).diagnostic.message == message


def test_a_thousand_items_are_assigned_in_no_time() -> None:
    texts = [f"item {number}" for number in range(1_000)]
    assert unordered(texts).evaluate(texts[::-1]).outcome == "matched"
    diagnostic = unordered(texts[:200]).evaluate([*texts[1:200], "other"]).diagnostic
    assert diagnostic.message.startswith("'item 0': no item matches; the nearest is item 199")


@pytest.mark.parametrize(
    ("subject", "outcome", "message"),
    [
        ({"id": 1, "total": None}, "matched", ""),
        ({"total": 1, "id": 2}, "matched", ""),
        ({"id": 1}, "mismatched", "1 key missing: 'total'; the object has 'id'"),
        ({"id": 1, "total": 2, "x": 3, "y": 4}, "mismatched", "2 keys extra: 'x', 'y'; the object has"),
        ({}, "mismatched", "2 keys missing: 'id', 'total'; the object is empty"),
        ({"id": 1, 7: 2}, "mismatched", "1 key missing: 'total'; 1 key extra: '7'"),
    ],
)
def test_an_object_has_these_keys_and_no_others(subject: Any, outcome: str, message: str) -> None:
    evaluation = keys_exactly("id", "total").evaluate(subject)
    assert evaluation.outcome == outcome
    assert evaluation.diagnostic.message.startswith(message)


def test_missing_and_extra_keys_are_pointed_at() -> None:
    children = keys_exactly("a/b", "c").evaluate({"c": 1, "d": 2}).diagnostic.children
    assert [(child.code, child.pointer) for child in children] == [("missing", "/a~1b"), ("extra", "/d")]


@pytest.mark.parametrize(
    ("build", "kind"),
    [
        (lambda: contains(similarity("x")), TypeError),
        (lambda: every(similarity("x")), TypeError),
        (lambda: every(1, if_any=untyped(1)), TypeError),
        (lambda: unordered("abc"), TypeError),
        (lambda: unordered({"a": 1}), TypeError),
        (lambda: unordered(untyped(7)), TypeError),
        (lambda: unordered(untyped(equals(1))), TypeError),
        (lambda: unordered([similarity("x")]), TypeError),
        (lambda: unordered([]), ValueError),
        (lambda: keys_exactly(), ValueError),
        (lambda: keys_exactly("a", "a"), ValueError),
        (lambda: keys_exactly(untyped(["a"])), TypeError),
    ],
)
def test_a_bad_argument_is_refused(build: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=r"(contains|every|unordered|keys_exactly)\(\)"):
        build()


def untyped(value: Any) -> Any:
    return value


def test_a_key_that_was_not_reported_is_unavailable_in_both_polarities() -> None:
    given = {"a": 1, "b": Absent("the field was cut")}
    for match in (keys_exactly("a", "b"), ~keys_exactly("a", "b")):
        assert match.evaluate(given).outcome == "unavailable"
    assert keys_exactly("a", "c").evaluate(given).outcome == "mismatched"
