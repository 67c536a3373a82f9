"""Which regular expressions need no time budget, over texts of which length."""

import pytest

from niceeval_expect import pattern
from niceeval_expect._regex_cost import quick_up_to


@pytest.mark.parametrize("source", ["ORD-[0-9]{6}", "^done$", r"\d{4}-\d\d-\d\d", "", "a{2}b{3}"])
def test_without_repetitions_a_search_is_quick_over_long_texts(source: str) -> None:
    assert quick_up_to(source) > 10_000


def test_each_repetition_makes_the_texts_shorter() -> None:
    lengths = [quick_up_to(source) for source in ("a", "a+", "a+b*", "a+b*c?", "a+b*c{1,}d?")]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[1] > lengths[2] > lengths[3] == lengths[4] == 0


@pytest.mark.parametrize(
    "source", ["(a+)+b", "a|b", r"(a)\1", "(?i)a", "a(?=b)", "[a-z]{100000}", "[a-z]{1000,}", r"\w+@\w+\.\w+"]
)
def test_where_nothing_says_so_no_text_is_short_enough(source: str) -> None:
    assert quick_up_to(source) == 0


@pytest.mark.parametrize(("text", "outcome"), [("x" * 20_000, "mismatched"), ("x" * 20_000 + "ORD-448192", "matched")])
def test_a_longer_text_is_searched_under_the_budget_with_the_same_answer(text: str, outcome: str) -> None:
    assert pattern("ORD-[0-9]{6}").evaluate(text).outcome == outcome
    assert pattern("ORD-[0-9]{6}").evaluate(text[-200:]).outcome == outcome


def test_a_costly_pattern_has_its_budget_over_a_short_text() -> None:
    evaluation = pattern("(a|a|aa)+$", budget=0.05).evaluate("a" * 60 + "b")
    assert (evaluation.outcome, evaluation.code) == ("errored", "budget")
