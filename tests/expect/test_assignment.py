"""The optimal assignment behind every claim that leaves the order open."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from niceeval_expect._assignment import assign, maximum_matching

OUTCOMES = ["matched", "mismatched", "unavailable", "errored"]


def tables(outcomes: list[str]) -> st.SearchStrategy[list[list[str]]]:
    return st.integers(0, 5).flatmap(
        lambda width: st.lists(
            st.lists(st.sampled_from(outcomes), min_size=width, max_size=width), min_size=1, max_size=5
        )
    )


def exists(pairs: list[list[str]], allowed: set[str]) -> bool:
    """Try every assignment there is."""
    width = len(pairs[0]) if pairs else 0
    return any(
        all(pairs[row][column] in allowed for row, column in enumerate(columns))
        for columns in itertools.permutations(range(width), len(pairs))
    )


@given(tables(OUTCOMES))
def test_the_outcome_is_that_of_trying_every_assignment(pairs: list[list[str]]) -> None:
    if exists(pairs, {"matched"}):
        expected = "matched"
    elif not exists(pairs, {"matched", "unavailable", "errored"}):
        expected = "mismatched"
    else:
        expected = "errored" if any("errored" in row for row in pairs) else "unavailable"
    assert assign(pairs).outcome == expected


@given(tables(OUTCOMES), st.randoms(use_true_random=False))
def test_the_outcome_does_not_depend_on_the_order_of_rows_or_columns(pairs: list[list[str]], random: object) -> None:
    assert hasattr(random, "shuffle")
    order = list(range(len(pairs[0])))
    rows = list(pairs)
    random.shuffle(order)
    random.shuffle(rows)
    shuffled = [[row[column] for column in order] for row in rows]
    assert assign(shuffled).outcome == assign(pairs).outcome
    assert len(assign(shuffled).unassigned) == len(assign(pairs).unassigned)


@given(tables(OUTCOMES), st.sampled_from(OUTCOMES[:2]), st.data())
def test_deciding_an_undecided_pair_never_turns_one_definite_outcome_into_the_other(
    pairs: list[list[str]], decided: str, data: st.DataObject
) -> None:
    before = assign(pairs).outcome
    undecided = [
        (row, column)
        for row, outcomes in enumerate(pairs)
        for column, outcome in enumerate(outcomes)
        if outcome in ("unavailable", "errored")
    ]
    if undecided and before in ("matched", "mismatched"):
        row, column = data.draw(st.sampled_from(undecided))
        pairs[row][column] = decided
        assert assign(pairs).outcome == before


@given(tables(OUTCOMES))
def test_the_assignment_shown_uses_possible_pairs_once_and_names_who_competes(pairs: list[list[str]]) -> None:
    found = assign(pairs)
    taken = [column for column in found.columns if column is not None]
    assert len(taken) == len(set(taken))
    allowed = {"matched"} if found.outcome == "matched" else {"matched", "unavailable", "errored"}
    assert all(pairs[row][column] in allowed for row, column in enumerate(found.columns) if column is not None)
    assert sorted((*found.free(len(pairs[0])), *taken)) == list(range(len(pairs[0])))
    for row, rivals, contested in zip(found.unassigned, found.rivals, found.contested, strict=True):
        assert row in rivals
        assert len(rivals) > len(contested)
        possible = {
            column for rival in rivals for column, outcome in enumerate(pairs[rival]) if outcome != "mismatched"
        }
        assert possible == set(contested)


@pytest.mark.parametrize(
    ("pairs", "outcome"),
    [
        ([], "matched"),
        ([[]], "unavailable"),
        ([["matched"]], "matched"),
        ([["mismatched"]], "unavailable"),
        ([["errored"], ["matched"]], "errored"),
    ],
)
def test_where_candidates_may_be_unreported_nothing_is_missing_for_certain(
    pairs: list[list[str]], outcome: str
) -> None:
    assert assign(pairs, unbounded=True).outcome == outcome


def test_a_long_chain_of_moves_is_found_and_takes_no_recursion() -> None:
    size = 3_000
    chain = [[0], *[[row - 1, row] for row in range(1, size)]]
    assert maximum_matching(list(reversed(chain)), size).count(-1) == 0
    start = [-1, *range(size - 1)]
    assert maximum_matching(chain, size, start=start) == list(range(size))
