from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from niceeval_expect import ToolMatch, any_of, from_spec, tool_match
from niceeval_expect._count import decide_count

FAR = 12
"""Beyond every bound that is drawn, so that a range up to here behaves like an unbounded one."""

counts = st.integers(0, 5)


def by_enumeration(definite: int, undecided: int, low: int, high: int | None, unbounded: bool, errored: bool) -> str:
    """Walk through every count that may be the true one."""
    most = FAR if unbounded else definite + undecided
    answers = {low <= true and (high is None or true <= high) for true in range(definite, most + 1)}
    if answers == {True}:
        return "matched"
    if answers == {False}:
        return "mismatched"
    return "errored" if errored else "unavailable"


@given(counts, counts, counts, st.none() | counts, st.booleans(), st.booleans())
def test_the_decision_is_that_of_every_possible_count(
    definite: int, undecided: int, low: int, more: int | None, unbounded: bool, errored: bool
) -> None:
    high = None if more is None else low + more
    decided = decide_count(definite, undecided, low, high, unbounded, errored)
    assert decided == by_enumeration(definite, undecided, low, high, unbounded, errored)


@given(counts, st.integers(1, 5), counts, st.none() | counts, st.booleans())
def test_learning_more_never_overturns_a_decision(
    definite: int, undecided: int, low: int, more: int | None, unbounded: bool
) -> None:
    high = None if more is None else low + more
    before = decide_count(definite, undecided, low, high, unbounded)
    for counted in (0, 1):
        after = decide_count(definite + counted, undecided - 1, low, high, unbounded)
        assert before in (after, "unavailable")
    assert before in (decide_count(definite, undecided, low, high, unbounded=False), "unavailable")


@given(counts, counts, st.booleans())
def test_absence_is_exactly_none(definite: int, undecided: int, unbounded: bool) -> None:
    decided = decide_count(definite, undecided, 0, 0, unbounded)
    assert decided == ("mismatched" if definite else "unavailable" if undecided or unbounded else "matched")


SEARCH = tool_match("search")


@pytest.mark.parametrize(
    ("text", "build"),
    [
        ("tool_match('search').exactly(2)", lambda: SEARCH.exactly(2)),
        ("tool_match('search').at_least(1)", lambda: SEARCH.at_least(1)),
        ("tool_match('search').at_most(3)", lambda: SEARCH.at_most(3)),
        ("tool_match('search').between(0, 3)", lambda: SEARCH.between(0, 3)),
        ("tool_match('search').between(2, 2)", lambda: SEARCH.between(2, 2)),
        ("tool_match('search').every()", lambda: SEARCH.every()),
        ("tool_match('search').every(if_any=True)", lambda: SEARCH.every(if_any=True)),
        (
            "any_of(tool_match('search'), tool_match('open')).exactly(1)",
            lambda: any_of(SEARCH, tool_match("open")).exactly(1),
        ),
    ],
)
def test_a_counted_match_is_data_and_reads_like_its_call(text: str, build: Any) -> None:
    match = build()
    assert repr(match) == text
    assert from_spec(match.spec()) == match == build()
    assert hash(match) == hash(build())


def test_different_quantifiers_are_different_matches() -> None:
    # exactly(2) and between(2, 2) mean the same and say it differently; both stay what the author wrote.
    built = [SEARCH.exactly(2), SEARCH.at_least(2), SEARCH.at_most(2), SEARCH.between(2, 2), SEARCH.every()]
    assert len({match.fingerprint for match in built}) == len(built)


@pytest.mark.parametrize(
    ("quantifier", "arguments", "error", "says"),
    [
        ("exactly", (0,), ValueError, r"exactly\(\) .* got 0.*not_called_tool"),
        ("at_least", (0,), ValueError, r"at_least\(\) .* got 0.*not_called_tool"),
        ("at_most", (0,), ValueError, r"at_most\(\) .* got 0.*not_called_tool"),
        ("between", (0, 0), ValueError, r"between\(\) high .* got 0.*not_called_tool"),
        ("exactly", (-1,), ValueError, "never negative; got -1"),
        ("between", (-1, 2), ValueError, "never negative; got -1"),
        ("between", (3, 2), ValueError, r"lower bound first, got between\(3, 2\)"),
        ("exactly", (True,), TypeError, "whole number, got True"),
        ("at_least", (1.0,), TypeError, "whole number, got 1.0"),
        ("at_most", ("2",), TypeError, "whole number, got '2'"),
        ("between", (1, None), TypeError, "whole number, got None"),
    ],
)
def test_a_bad_count_is_refused_with_a_sentence(
    quantifier: str, arguments: tuple[Any, ...], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        getattr(SEARCH, quantifier)(*arguments)


@pytest.mark.parametrize("value", [1, None, "yes"])
def test_if_any_is_a_bool(value: Any) -> None:
    with pytest.raises(TypeError, match=f"if_any is True or False, got {value!r}"):
        SEARCH.every(if_any=value)


@pytest.mark.parametrize(
    "misuse",
    [
        lambda counted: counted & SEARCH,
        lambda counted: SEARCH & counted,
        lambda counted: counted | counted,
        lambda counted: ~counted,
        lambda counted: counted.exactly(2),
        lambda counted: counted.every(),
        lambda counted: any_of(counted, SEARCH),
    ],
)
def test_a_counted_match_takes_no_second_quantifier_and_does_not_compose(misuse: Any) -> None:
    with pytest.raises(TypeError, match=r"called_tool\(\)"):
        misuse(SEARCH.exactly(1))


def test_a_counted_match_has_no_truth_value() -> None:
    with pytest.raises(TypeError, match="no truth value"):
        bool(SEARCH.exactly(1))


@pytest.mark.parametrize(
    "spec",
    [
        {"match": "counted_tool_match", "of": {"$": "match", "match": "equals", "value": 1}, "quantifier": "every"},
        {**SEARCH.exactly(1).spec(), "quantifier": "roughly"},
        {**SEARCH.exactly(1).spec(), "of": {"$": "match", "match": "equals", "value": 1}},
    ],
)
def test_a_spec_that_counts_nothing_sensible_does_not_rebuild(spec: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="counted_tool_match"):
        from_spec(spec)


def test_a_composite_of_tool_matches_is_a_tool_match() -> None:
    assert isinstance(any_of(SEARCH, tool_match("open")), ToolMatch)
    assert isinstance(SEARCH & ~tool_match("search", status="failed"), ToolMatch)
