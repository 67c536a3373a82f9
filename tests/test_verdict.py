"""The folds, case by case and as properties."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from niceeval.verdict import Part, decide, earn, exact, fold_pass, fold_score

OUTCOMES = ("matched", "mismatched", "unavailable", "errored")


def part(outcome: str, deciding: bool = True, earned: Fraction = Fraction(0)) -> Part:
    return Part(
        outcome, deciding, f"{outcome} requirement", None if outcome in ("matched", "mismatched") else "why", earned
    )


@pytest.mark.parametrize(
    ("outcomes", "options", "status"),
    [
        ([], {}, "errored"),
        (["matched"], {}, "passed"),
        (["matched", "mismatched"], {}, "failed"),
        (["unavailable", "mismatched"], {}, "failed"),
        (["unavailable", "matched"], {}, "errored"),
        (["errored", "matched"], {}, "errored"),
        (["matched"], {"skipped": "no key"}, "skipped"),
        ([], {"skipped": "no key"}, "skipped"),
        (["mismatched"], {"skipped": "no key"}, "failed"),
        (["unavailable"], {"skipped": "no key"}, "errored"),
        (["matched"], {"failure": "the agent raised ValueError"}, "failed"),
        ([], {"failure": "the agent raised ValueError"}, "failed"),
        (["mismatched"], {"error": "timed out after 2 s"}, "errored"),
        (["mismatched"], {"error": "timed out after 2 s", "failure": "x"}, "errored"),
    ],
)
def test_the_order_of_the_pass_fold(outcomes: list[str], options: dict[str, str], status: str) -> None:
    assert fold_pass([part(outcome) for outcome in outcomes], **options).status == status


def test_nothing_checked_is_never_a_pass() -> None:
    folded = fold_pass([part("matched", deciding=False)])
    assert (folded.status, folded.reason) == ("errored", "nothing was checked")


def test_a_failure_names_each_unmet_requirement_once() -> None:
    folded = fold_pass([Part("mismatched", True, "a"), Part("mismatched", True, "b"), Part("mismatched", True, "a")])
    assert folded.reason == "a; b"


@given(st.lists(st.sampled_from(OUTCOMES)), st.lists(st.sampled_from(OUTCOMES)))
def test_an_unmet_gate_decides_whatever_else_is_known(before: list[str], after: list[str]) -> None:
    assert fold_pass([*map(part, before), part("mismatched"), *map(part, after)]).status == "failed"


@given(st.lists(st.sampled_from(OUTCOMES), min_size=1))
def test_only_matched_gates_pass(outcomes: list[str]) -> None:
    passed = fold_pass([part(outcome) for outcome in outcomes]).status == "passed"
    assert passed == all(outcome == "matched" for outcome in outcomes)


@pytest.mark.parametrize(
    ("parts", "options", "status", "score", "partial"),
    [
        ([], {}, "scored", 0.0, None),
        ([part("mismatched")], {}, "scored", 0.0, None),
        ([part("matched", earned=exact(2)), part("measured", earned=exact(0.8) * 5)], {}, "scored", 6.0, None),
        ([part("matched", earned=exact(2)), part("unavailable")], {}, "unrankable", None, 2.0),
        ([part("matched", earned=exact(2)), part("errored"), part("unavailable")], {}, "errored", None, 2.0),
        ([part("matched", earned=exact(2)), part("unavailable", deciding=False)], {}, "scored", 2.0, None),
        ([part("matched", earned=exact(2))], {"error": "crashed"}, "errored", None, 2.0),
        ([part("matched", earned=exact(2))], {"skipped": "why"}, "skipped", None, None),
        ([part("unavailable")], {"skipped": "why"}, "unrankable", None, 0.0),
    ],
)
def test_the_order_of_the_score_fold(
    parts: list[Part], options: dict[str, str], status: str, score: float | None, partial: float | None
) -> None:
    folded = fold_score(parts, **options)
    assert (folded.status, folded.score, folded.partial_score) == (status, score, partial)


@given(st.lists(st.integers(0, 1000)))
def test_scores_are_exact_over_decimal_forms(hundredths: list[int]) -> None:
    parts = [part("matched", earned=exact(value / 100)) for value in hundredths]
    assert fold_score(parts).score == sum(hundredths) / 100


@pytest.mark.parametrize(
    ("outcome", "value", "points", "earned"),
    [
        ("matched", None, 3, 3),
        ("mismatched", None, 3, 0),
        ("measured", 0.8, 5, 4),
        ("mismatched", 0.5, 5, exact(2.5)),
        ("matched", 0.9, 5, exact(4.5)),
        ("unavailable", None, 3, None),
        ("errored", None, 3, None),
        ("matched", None, None, None),
    ],
)
def test_what_an_entry_earns(outcome: str, value: float | None, points: float | None, earned: object) -> None:
    assert earn(outcome, value, points) == earned


@pytest.mark.parametrize(
    ("outcome", "deciding", "decision"),
    [
        ("matched", True, "met"),
        ("measured", True, "met"),
        ("mismatched", True, "unmet"),
        ("unavailable", True, "undecided"),
        ("errored", True, "undecided"),
        ("matched", False, "informative"),
        ("mismatched", False, "informative"),
    ],
)
def test_decisions(outcome: str, deciding: bool, decision: str) -> None:
    assert decide(outcome, deciding=deciding) == decision
