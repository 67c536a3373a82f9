"""The author's own predicates and measurements, and the thresholds over them."""

import math
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from niceeval_expect import (
    Absent,
    Match,
    ScoreMatch,
    define_score_match,
    define_value_match,
    is_defined,
    is_true,
    satisfies,
)

pytestmark = pytest.mark.anyio

NAN = float("nan")


def broken(_: object) -> bool:
    raise LookupError("no such row")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [(True, "matched"), (False, "mismatched"), (1, "errored"), (None, "errored"), ("False", "errored")],
)
def test_a_predicate_answers_true_or_false_and_anything_else_is_errored(answer: Any, expected: str) -> None:
    match = satisfies("has a row", lambda _: answer)
    assert match.evaluate("x").outcome == expected
    assert define_value_match(lambda _: answer, name="has_row")().evaluate("x").outcome == expected
    if expected == "errored":
        evaluation = (~match).evaluate("x")
        assert evaluation.outcome == "errored"
        assert "'has a row' returned" in (evaluation.reason or "")
        assert type(answer).__name__ in (evaluation.reason or "")


def test_a_tuple_that_python_takes_for_true_is_errored() -> None:
    pair: Any = (False, "no")
    assert satisfies("a pair", lambda _: pair).evaluate("x").outcome == "errored"


def test_an_exception_in_a_predicate_is_errored_with_its_message_and_traceback() -> None:
    for match in (satisfies("has a row", broken), ~satisfies("has a row", broken)):
        evaluation = match.evaluate("x")
        assert evaluation.outcome == "errored"
        assert evaluation.reason == "'has a row' raised LookupError: no such row"
        node = evaluation.diagnostic
        while node.traceback is None:
            (node,) = node.children
        assert "raise LookupError" in node.traceback


def test_a_predicate_is_not_asked_about_a_missing_value() -> None:
    asked: list[object] = []

    def ask(value: object) -> bool:
        asked.append(value)
        return True

    match = satisfies("is asked", ask)
    assert match.evaluate(Absent("nothing came")).outcome == "unavailable"
    assert asked == []


def test_the_stop_of_a_program_is_not_swallowed() -> None:
    def stop(_: object) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        satisfies("stops", stop).evaluate("x")


async def test_an_async_predicate_runs_exactly_once_and_only_through_evaluate_async() -> None:
    calls: list[str] = []

    async def long_enough(text: str) -> bool:
        calls.append(text)
        return len(text) > 2

    match = satisfies("is long enough", long_enough)
    combined = match & ~match | is_defined()
    with pytest.raises(TypeError, match=r"await match\.evaluate_async"):
        match.evaluate("abc")
    calls.clear()
    assert (await match.evaluate_async("abc")).outcome == "matched"
    assert (await match.evaluate_async("ab")).outcome == "mismatched"
    assert calls == ["abc", "ab"]
    assert (await combined.evaluate_async("abc")).outcome == "matched"
    assert (await is_true().evaluate_async(True)).outcome == "matched"


async def test_an_exception_in_an_async_predicate_is_errored() -> None:
    async def fails(_: object) -> bool:
        raise LookupError("no such row")

    evaluation = await (~satisfies("has a row", fails)).evaluate_async("x")
    assert (evaluation.outcome, evaluation.reason) == ("errored", "'has a row' raised LookupError: no such row")


@pytest.mark.parametrize(
    ("label", "predicate", "options", "error"),
    [
        (broken, "label", {}, TypeError),
        ("label", None, {}, TypeError),
        ("label", True, {}, TypeError),
        (" ", broken, {}, ValueError),
        ("label", broken, {"evidence": "x"}, TypeError),
    ],
)
def test_satisfies_refuses_what_is_no_label_or_no_function(
    label: Any, predicate: Any, options: dict[str, Any], error: type
) -> None:
    with pytest.raises(error, match=r"satisfies\("):
        satisfies(label, predicate, **options)


def test_a_defined_match_passes_its_arguments_after_the_subject_and_reads_like_the_call() -> None:
    def starts_with(text: str, prefix: str, *, casefold: bool = False) -> bool:
        return text.casefold().startswith(prefix) if casefold else text.startswith(prefix)

    factory = define_value_match(starts_with)
    assert factory("ORD-").evaluate("ORD-1").outcome == "matched"
    assert factory("ord-").evaluate("ORD-1").outcome == "mismatched"
    assert factory("ord-", casefold=True).evaluate("ORD-1").outcome == "matched"
    assert repr(factory("ord-", casefold=True)) == "starts_with('ord-', casefold=True)"
    assert factory("a") == factory("a")
    assert factory("a") != factory("b")


def test_a_defined_match_keeps_its_own_copy_of_its_arguments() -> None:
    among = define_value_match(lambda value, allowed: value in allowed, name="among")
    allowed = ["a"]
    match = among(allowed)
    allowed.append("b")
    assert match.evaluate("b").outcome == "mismatched"


@pytest.mark.parametrize("define", [define_value_match, define_score_match])
def test_defining_a_match_without_a_function_or_with_a_blank_name_is_refused(define: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match="takes a function whose first argument is the subject"):
        define("not a function")
    with pytest.raises(ValueError, match="takes a non-blank name"):
        define(broken, name=" ")


def measure(value: object) -> ScoreMatch:
    answer: Any = value
    return define_score_match(lambda _: answer, name="share")()


@pytest.mark.parametrize("value", [0, 1, 0.25, Decimal("0.25"), Fraction(1, 4), -0.0])
def test_any_real_number_from_0_to_1_is_a_measurement(value: Any) -> None:
    evaluation = measure(value).evaluate("x")
    assert (evaluation.outcome, evaluation.value) == ("measured", float(value))


@pytest.mark.parametrize(
    "value", [NAN, math.inf, -0.001, 1.001, True, False, None, "0.5", 1j, Decimal("NaN"), Decimal("sNaN"), [0.5]]
)
def test_anything_else_is_errored_and_meets_no_threshold(value: object) -> None:
    score = measure(value)
    for match in (score, score.at_least(0.5), score.at_most(0.5), score.at_least(0), ~score.at_least(0.5)):
        evaluation = match.evaluate("x")
        assert evaluation.outcome == "errored"
        assert evaluation.value is None
        assert evaluation.reason


def test_an_exception_in_a_measurement_is_errored() -> None:
    match: Match = define_score_match(broken, name="rows")()
    assert isinstance(match, ScoreMatch)
    evaluation = match.evaluate("x")
    assert (evaluation.outcome, evaluation.reason) == ("errored", "rows raised LookupError: no such row")


async def test_an_async_measurement_is_awaited() -> None:
    async def half(_: object) -> float:
        return 0.5

    factory: Any = define_score_match
    score = factory(half)()
    assert (await score.evaluate_async("x")).value == 0.5
    assert (await score.at_least(0.5).evaluate_async("x")).outcome == "matched"


@pytest.mark.parametrize("threshold", [-0.1, 1.1, NAN, math.inf, True, "0.5", None])
@pytest.mark.parametrize("relation", ["at_least", "at_most"])
def test_a_threshold_that_is_no_number_from_0_to_1_is_refused(relation: str, threshold: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(f"{relation}()")):
        getattr(measure(0.5), relation)(threshold)


@pytest.mark.parametrize(
    ("value", "threshold", "code"),
    [
        (0.1 + 0.2, 0.3, "met"),
        (0.3, 0.1 + 0.2, "met"),
        (0.7 - 5e-10, 0.7, "met"),
        (0.7 - 2e-9, 0.7, "below"),
        (0.0, 0, "met"),
        (0.699, 0.7, "below"),
    ],
)
def test_thresholds_compare_with_one_tolerance(value: float, threshold: float, code: str) -> None:
    evaluation = measure(value).at_least(threshold).evaluate("x")
    assert evaluation.code == code
    assert evaluation.value == value
    assert evaluation.outcome == ("matched" if code == "met" else "mismatched")


@pytest.mark.parametrize(("value", "shown"), [(0.699, "0.699"), (0.6999, "0.6999"), (0.699999999, "0.699999999")])
def test_what_is_displayed_never_contradicts_the_verdict(value: float, shown: str) -> None:
    message = measure(value).at_least(0.7).evaluate("x").diagnostic.message
    if measure(value).at_least(0.7).evaluate("x").code == "below":
        assert shown in message
        assert "0.70," not in message


@pytest.mark.parametrize(
    ("value", "limit", "shown"),
    [
        (0.699999995, "at_least", "mismatched (0.699999): "),
        (0.700000005, "at_most", "mismatched (0.700001): "),
        (0.29, "at_least", "mismatched (0.29): "),
        (0.7, "at_least", "matched (0.7): "),
    ],
)
def test_the_headline_never_contradicts_the_threshold(value: float, limit: str, shown: str) -> None:
    measurement = define_score_match(lambda subject: value, name="fixed")()
    assert str(getattr(measurement, limit)(0.7).evaluate("x")).startswith(shown)
