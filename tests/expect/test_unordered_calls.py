from itertools import permutations
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from niceeval import ToolCall
from niceeval_expect import from_spec, satisfies, tool_match
from niceeval_expect._call_scope import CallScope
from niceeval_expect._scope import findings
from niceeval_expect._unordered_calls import tool_calls_unordered

CATS = ToolCall("search", {"q": "cats"}, [])
DOGS = ToolCall("search", {"q": "dogs"}, [])
OPEN = ToolCall("open", {"path": "/x"}, "")
LOST = ToolCall.unreadable("search", '{"q": "ca', "the arguments end inside a string")
ANY_CATS = tool_match("search", input={"q": "cats"})
ANY_DOGS = tool_match("search", input={"q": "dogs"})
BREAKS = tool_match("search", input=satisfies("breaks", lambda value: value["missing"]))


def scope(*calls: Any, **options: Any) -> CallScope:
    return CallScope(tuple((f"s0.t0.c{n}", call) for n, call in enumerate(calls)), **options)


@pytest.mark.parametrize(
    ("wanted", "over", "outcome"),
    [
        (["search", ANY_CATS], scope(CATS, DOGS), "matched"),
        ([ANY_CATS, ANY_CATS], scope(CATS, CATS), "matched"),
        ([ANY_CATS, ANY_CATS], scope(CATS), "mismatched"),
        ([ANY_CATS, ANY_CATS], scope(CATS, DOGS), "mismatched"),
        ([ANY_CATS, "open"], scope(OPEN, DOGS, CATS), "matched"),
        ([ANY_CATS, ANY_DOGS, "search"], scope(CATS, DOGS), "mismatched"),
        (["open"], scope(), "mismatched"),
        # what cannot be told
        ([ANY_CATS], scope(LOST), "unavailable"),
        ([ANY_CATS, ANY_DOGS], scope(LOST, DOGS), "unavailable"),
        ([ANY_CATS, ANY_DOGS], scope(LOST), "mismatched"),
        ([ANY_CATS, "search"], scope(LOST, CATS), "matched"),
        ([ANY_CATS, ANY_CATS], scope(LOST, CATS, CATS), "matched"),
        ([BREAKS], scope(CATS), "errored"),
        ([ANY_CATS], scope(coverage="none"), "unavailable"),
        ([ANY_CATS, ANY_CATS], scope(CATS, coverage="partial"), "unavailable"),
        ([ANY_CATS], scope(CATS, coverage="partial"), "matched"),
    ],
)
def test_outcomes(wanted: list[Any], over: CallScope, outcome: str) -> None:
    for listing in permutations(wanted):
        for order in permutations([call for _, call in over.calls]):
            again = scope(*order, coverage=over.coverage)
            assert tool_calls_unordered(listing).evaluate(again).outcome == outcome


@pytest.mark.parametrize(
    ("over", "outcome"),
    [
        (scope(CATS), "matched"),
        (scope(CATS, DOGS), "mismatched"),
        (scope(CATS, LOST), "mismatched"),
        (scope(DOGS), "mismatched"),
        (scope(CATS, coverage="partial"), "unavailable"),
        (scope(CATS, DOGS, coverage="partial"), "mismatched"),
    ],
)
def test_and_no_other_call(over: CallScope, outcome: str) -> None:
    assert tool_calls_unordered([ANY_CATS], only=True).evaluate(over).outcome == outcome


def test_the_mismatch_shows_the_nearest_miss_and_who_competes() -> None:
    missing = tool_calls_unordered([ANY_CATS, "search"]).evaluate(scope(DOGS, DOGS, OPEN))
    assert missing.diagnostic.message.endswith(
        "has no call of its own: no call is like tool_match('search', input={'q': 'cats'})"
    )
    (told,) = missing.diagnostic.children
    assert [child.pointer for child in told.children] == ["/s0.t0.c0", "/s0.t0.c1"]
    contested = tool_calls_unordered([ANY_CATS, ANY_CATS, "open"]).evaluate(scope(CATS, OPEN))
    assert "2 of the matches compete for 1 call: s0.t0.c0" in contested.diagnostic.message
    assert findings(contested).matching == ("s0.t0.c0", "s0.t0.c1")


def test_what_is_found_comes_in_order_of_the_calls() -> None:
    evaluation = tool_calls_unordered(["open", ANY_CATS]).evaluate(scope(CATS, DOGS, OPEN))
    assert findings(evaluation).matching == ("s0.t0.c0", "s0.t0.c2")
    assert findings(evaluation).candidates == ("s0.t0.c1",)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: tool_calls_unordered("search"), TypeError),
        (lambda: tool_calls_unordered(ANY_CATS), TypeError),  # type: ignore[arg-type]
        (lambda: tool_calls_unordered(5), TypeError),  # type: ignore[arg-type]
        (lambda: tool_calls_unordered([]), ValueError),
        (lambda: tool_calls_unordered([ANY_CATS.exactly(2)]), TypeError),  # type: ignore[list-item]
        (lambda: tool_calls_unordered([5]), TypeError),  # type: ignore[list-item]
        (lambda: tool_calls_unordered(["a"], only=1), TypeError),  # type: ignore[arg-type]
    ],
)
def test_bad_arguments_are_refused(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"tool_calls_unordered\(\)"):
        make()


@pytest.mark.parametrize("claim", [tool_calls_unordered(["a", ANY_CATS]), tool_calls_unordered(["a"], only=True)])
def test_it_is_data(claim: Any) -> None:
    assert from_spec(claim.spec()) == claim
    assert claim.family == "structural"
    assert claim.reaches_outside == (claim != tool_calls_unordered(["a"], only=True))


CALLS = st.lists(st.sampled_from([CATS, DOGS, OPEN, LOST]), max_size=5)
WANTED = st.lists(
    st.sampled_from([ANY_CATS, ANY_DOGS, tool_match("search"), tool_match("open")]), min_size=1, max_size=4
)


@given(CALLS, WANTED, st.randoms())
def test_neither_order_matters(calls: list[ToolCall], wanted: list[Any], random: Any) -> None:
    outcome = tool_calls_unordered(wanted).evaluate(scope(*calls)).outcome
    random.shuffle(calls)
    random.shuffle(wanted)
    assert tool_calls_unordered(wanted).evaluate(scope(*calls)).outcome == outcome


@given(CALLS, WANTED)
def test_it_agrees_with_trying_every_reading(calls: list[ToolCall], wanted: list[Any]) -> None:
    readings: list[list[ToolCall]] = [[]]
    for call in calls:
        options = [CATS, DOGS, ToolCall("search", {"q": "fish"})] if call is LOST else [call]
        readings = [[*reading, option] for reading in readings for option in options]
    found = {
        any(
            all(match.evaluate(call).outcome == "matched" for match, call in zip(wanted, chosen, strict=True))
            for chosen in permutations(reading, len(wanted))
        )
        for reading in readings
    }
    outcome = tool_calls_unordered(wanted).evaluate(scope(*calls)).outcome
    if outcome != "unavailable":
        assert found == {outcome == "matched"}
    else:
        assert False in found


def test_ten_thousand_calls_in_linear_time() -> None:
    many = scope(*[CATS] * 10_000, OPEN)
    begun = process_time()
    assert tool_calls_unordered(["open", *[ANY_CATS] * 5]).evaluate(many).outcome == "matched"
    assert tool_calls_unordered(["open", "open", *[ANY_CATS] * 5]).evaluate(many).outcome == "mismatched"
    assert process_time() - begun < 4
