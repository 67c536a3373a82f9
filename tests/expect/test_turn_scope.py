from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from niceeval import Usage
from niceeval_expect import from_spec
from niceeval_expect._scope import findings
from niceeval_expect._turn_scope import TurnScope, max_cost, max_tokens, succeeded


def ended(*statuses: str | None, session: int = 0) -> TurnScope:
    return TurnScope(tuple((f"s{session}.t{n}", status, None) for n, status in enumerate(statuses)))


def used(*usages: Usage | None, **options: Any) -> TurnScope:
    return TurnScope(tuple((f"s0.t{n}", "completed", usage) for n, usage in enumerate(usages)), **options)


def both(one: TurnScope, other: TurnScope) -> TurnScope:
    return TurnScope((*one.turns, *other.turns))


@pytest.mark.parametrize(
    ("turns", "outcome", "message"),
    [
        (ended("completed"), "matched", ""),
        (ended("completed", "completed"), "matched", ""),
        (ended(), "mismatched", "there was no turn that could have succeeded"),
        (ended("completed", "failed"), "mismatched", "turn 2 of 2 failed"),
        (ended("failed", "completed"), "mismatched", "turn 1 of 2 failed"),
        (ended("waiting"), "mismatched", "turn 1 of 1 waits for an answer"),
        # the turn that follows a waiting one is its answer, in the same session
        (ended("waiting", "completed"), "matched", ""),
        (ended("waiting", "waiting"), "mismatched", "turn 2 of 2 waits for an answer"),
        (both(ended("waiting"), ended("completed", session=1)), "mismatched", "turn 1 of 2 waits for an answer"),
        (ended(None), "unavailable", "nobody reported how turn 1 of 1 ended"),
        (ended("completed", None), "unavailable", "nobody reported how turn 2 of 2 ended"),
        (ended(None, "failed"), "mismatched", "turn 2 of 2 failed"),
        (ended("failed", "failed", "failed"), "mismatched", "turn 1 of 3 failed (2 more like it)"),
    ],
)
def test_success_is_about_the_status_of_every_turn(turns: TurnScope, outcome: str, message: str) -> None:
    evaluation = succeeded().evaluate(turns)
    assert (evaluation.outcome, evaluation.diagnostic.message) == (outcome, message)


def test_the_turns_that_did_not_succeed_are_named() -> None:
    evaluation = succeeded().evaluate(ended("completed", "failed", "completed", "waiting"))
    assert [child.pointer for child in evaluation.diagnostic.children] == ["/s0.t1", "/s0.t3"]
    assert findings(evaluation).matching == ("s0.t1", "s0.t3")


TEN = Usage(input_tokens=9, output_tokens=1, cost_usd=0.1)
HALF = Usage(input_tokens=9)
NOTHING = Usage()


@pytest.mark.parametrize(
    ("claim", "turns", "outcome", "says"),
    [
        (max_tokens(20), used(TEN, TEN), "matched", ""),
        (max_tokens(19), used(TEN, TEN), "mismatched", "20 tokens, at most 19 tokens wanted"),
        (max_tokens(0), used(), "matched", ""),
        (max_tokens(2000), used(None, TEN), "unavailable", "turn 1 of 2 reported no usage, so no total is known"),
        (max_tokens(2000), used(None, NOTHING, TEN), "unavailable", "turns 1 and 2 of 3 reported no usage, so no total is known"),
        (max_tokens(2000), used(HALF), "unavailable", "turn 1 of 1 reported not all usage, so no total is known"),
        (max_tokens(2000), used(None, None, None), "unavailable", "turns 1, 2 and 3 of 3 reported no usage, so no total is known"),
        # what is known is too much already
        (max_tokens(9), used(None, TEN), "mismatched", "10 tokens or more, at most 9 tokens wanted"),
        (max_tokens(8), used(HALF), "mismatched", "9 tokens or more, at most 8 tokens wanted"),
        (max_tokens(20), used(TEN, coverage="partial"), "unavailable", "usage was reported in part only"),
        (max_tokens(20), used(TEN, coverage="partial", reason="a retry is not in it"), "unavailable", "a retry is not in it"),
        (max_cost(0.2), used(TEN, TEN), "matched", ""),
        (max_cost(0.3), used(TEN, TEN, TEN), "matched", ""),
        (max_cost(Decimal("0.29")), used(TEN, TEN, TEN), "mismatched", "0.3 USD, at most 0.29 USD wanted"),
        (max_cost(1), used(TEN, NOTHING), "unavailable", "turn 2 of 2 reported no cost, so no total is known"),
        (max_cost(0), used(TEN, None), "mismatched", "0.1 USD or more, at most 0 USD wanted"),
        (max_cost(0), used(Usage(cost_usd=0.0)), "matched", ""),
    ],
)  # fmt: skip
def test_a_budget_is_never_met_by_what_was_not_reported(claim: Any, turns: TurnScope, outcome: str, says: str) -> None:
    evaluation = claim.evaluate(turns)
    assert (evaluation.outcome, evaluation.diagnostic.message) == (outcome, says)
    assert evaluation.reason == (says if outcome == "unavailable" else None)


@given(st.lists(st.integers(0, 10**6), max_size=40))
def test_costs_add_up_exactly_as_decimals(cents: list[int]) -> None:
    turns = used(*[Usage(cost_usd=cent / 100) for cent in cents])
    assert max_cost(Decimal(sum(cents)) / 100).evaluate(turns).outcome == "matched"
    if sum(cents):
        assert max_cost(Decimal(sum(cents) * 10 - 1) / 1000).evaluate(turns).outcome == "mismatched"


@pytest.mark.parametrize("build", [lambda: succeeded(), lambda: max_tokens(5), lambda: max_cost(0.5)])
def test_a_claim_is_data(build: Any) -> None:
    claim = build()
    assert from_spec(claim.spec()) == claim == build()
    assert repr(claim) in ("succeeded()", "max_tokens(5)", "max_cost(0.5)")
    assert claim.evaluate([]).code == "type"


def test_a_decimal_budget_is_data() -> None:
    assert from_spec(max_cost(Decimal("0.5")).spec()) == max_cost(Decimal("0.5"))


@pytest.mark.parametrize(
    ("build", "limit", "error", "says"),
    [
        (max_tokens, -1, ValueError, "never negative; got -1"),
        (max_tokens, 1.5, TypeError, "whole number, got 1.5"),
        (max_tokens, True, TypeError, "whole number, got True"),
        (max_cost, -0.1, ValueError, "from 0 on, got -0.1"),
        (max_cost, float("nan"), ValueError, "finite amount.*got nan"),
        (max_cost, float("inf"), ValueError, "finite amount.*got inf"),
        (max_cost, True, TypeError, "US dollars, got True"),
        (max_cost, "1", TypeError, "US dollars, got '1'"),
    ],
)
def test_a_bad_limit_is_refused_with_a_sentence(build: Any, limit: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        build(limit)
