"""numbers_from and preserves_digits: numbers that come from a source, digits that survive a rewrite."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from niceeval_expect import Absent, from_spec, numbers_from, preserves_digits

numbers_any: Any = numbers_from
INVOICE = "Total: 1,500.00 EUR, due in 30 days, 5% off, order A-2231 of 2026-08-01, 3 million sold, -4 degrees."


@pytest.mark.parametrize(
    ("text", "examined"),
    [
        ("You owe 1500 EUR.", 1),
        ("You owe 1,500.0 EUR within 30 days.", 2),
        ("5% off, or 5 percent", 2),
        ("Order A-2231", 1),
        ("On 2026-08-01", 1),
        ("\u0663\u0660 days", 1),
        ("It was -4 degrees.", 1),
        ("3 million were sold.", 1),
        ("No number at all.", 0),
        ("", 0),
    ],
)
def test_numbers_that_stand_in_the_source_match(text: str, examined: int) -> None:
    evaluation = numbers_from(INVOICE).evaluate(text)
    assert (evaluation.outcome, evaluation.examined) == ("matched", examined), evaluation


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("within 14 days", "1 of 1 number is not in the source: '14' at index 7"),
        ("1500 and 1501 and 31", "2 of 3 numbers are not in the source: '1501' at index 9"),
        ("5 off", "1 of 1 number is not in the source: '5' at index 0"),
        ("30% off", "1 of 1 number is not in the source: '30%' at index 0"),
        ("-30 days", "1 of 1 number is not in the source: '-30' at index 0"),
        ("3 sold", "1 of 1 number is not in the source: '3' at index 0"),
        ("150 EUR", "1 of 1 number is not in the source: '150' at index 0"),
        (
            "order A-2232",
            "1 of 1 number is not in the source: 'A-2232' at index 6 (compared as text: it is joined to a word)",
        ),
    ],
)
def test_a_number_that_no_source_holds_is_shown_with_its_place(text: str, message: str) -> None:
    evaluation = numbers_from(INVOICE).evaluate(text)
    assert (evaluation.outcome, evaluation.code, evaluation.diagnostic.message) == (
        "mismatched",
        "not-in-source",
        message,
    )


def test_what_is_skipped_is_not_read_and_leaves_the_places_as_they_are() -> None:
    match = numbers_from(INVOICE, skip=r"\[\d+\]|(?m:^\s*\d+[.)]\s)")
    answer = "1. It is due in 30 days [9].\n2. You owe 1500 EUR [12]."
    assert (match.evaluate(answer).outcome, match.evaluate(answer).examined) == ("matched", 2)
    assert match.evaluate("1. It is due [9] in 31 days").diagnostic.message.endswith("'31' at index 20")
    slow = numbers_from(INVOICE, skip=r"((a|aa)+)+\$")
    assert slow.evaluate("a" * 60).code == "budget"


def test_several_sources_count_together_and_none_holds_nothing() -> None:
    assert numbers_from(["It takes 30 days.", "It costs 5 EUR."]).evaluate("5 EUR, 30 days").outcome == "matched"
    assert numbers_from([]).evaluate("5 EUR").outcome == "mismatched"


def test_a_comma_may_separate_decimals() -> None:
    assert numbers_from("1.500,50 EUR", decimal=",").evaluate("1500,5 EUR").outcome == "matched"
    assert numbers_from("1.500,50 EUR", decimal=",").evaluate("1.500 EUR").outcome == "mismatched"


@pytest.mark.parametrize(
    ("source", "text", "examined"),
    [
        ("Pay 1,500.00 EUR by 2026-03-09.", "Bis 09.03.2026 1.500,00 EUR.", 6),
        ("Room 007, call 112.", "Rufen Sie 112 in Zimmer 007.", 2),
        ("30 days", "\u0663\u0660 \u064a\u0648\u0645", 1),
        ("no digits", "keine Ziffern", 0),
        ("1 and 1", "1 + 1", 2),
    ],
)
def test_the_same_digit_sequences_in_any_order_match(source: str, text: str, examined: int) -> None:
    evaluation = preserves_digits(source).evaluate(text)
    assert (evaluation.outcome, evaluation.examined) == ("matched", examined)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1.600,00 EUR", "1 digit sequence missing, 1 digit sequence new: '500' is missing, '600' is new, at index 2"),
        ("1,500.00 1 1", "2 digit sequences new: '1' is new 2 times, at index 9"),
        ("1500.00", "2 digit sequences missing, 1 digit sequence new: '1' is missing, '1500' is new, at index 0"),
        ("1,500.0", "1 digit sequence missing, 1 digit sequence new: '00' is missing, '0' is new, at index 6"),
        ("", "3 digit sequences missing: '1' is missing"),
    ],
)
def test_what_is_missing_and_what_is_new_is_said(text: str, message: str) -> None:
    evaluation = preserves_digits("1,500.00").evaluate(text)
    assert (evaluation.outcome, evaluation.code, evaluation.diagnostic.message) == ("mismatched", "digits", message)


@given(st.lists(st.integers(0, 10**6).map(str)), st.randoms(use_true_random=False))
def test_the_order_of_digit_sequences_never_matters(runs: list[str], random: Any) -> None:
    shuffled = random.sample(runs, len(runs))
    assert preserves_digits(" ".join(runs)).evaluate("-".join(shuffled)).outcome == "matched"
    assert preserves_digits(" ".join([*runs, "7"])).evaluate("-".join(shuffled)).outcome == "mismatched"


MATCHES = [numbers_from(INVOICE), preserves_digits(INVOICE)]


@pytest.mark.parametrize("match", MATCHES, ids=lambda match: match.spec()["match"])
@pytest.mark.parametrize("subject", [b"30", {"days": 30}, [30], 30, None])
def test_what_is_not_text_mismatches_in_both_polarities(match: Any, subject: object) -> None:
    for each in (match, ~match):
        evaluation = each.evaluate(subject)
        assert (evaluation.outcome, evaluation.code) == ("mismatched", "type")
        assert each.evaluate(Absent("the turn failed")).outcome == "unavailable"


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: numbers_any(30), TypeError, "numbers_from() takes a source text or a list of them, got 30"),
        (lambda: numbers_any(["30", 30]), TypeError, "takes source texts, got 30 in the list"),
        (lambda: numbers_any("30", decimal=";"), ValueError, 'decimal="." or decimal=",", got \';\''),
        (lambda: numbers_any("30", skip="("), ValueError, "numbers_from() got skip='(', which cannot be used"),
        (lambda: numbers_any("30", skip=r"\d*"), ValueError, "found even in the empty text"),
        (lambda: numbers_any("30", skip=3), TypeError, "takes skip= as the text of a regular expression, got 3"),
        (lambda: preserves_digits({"a": 1}), TypeError, "preserves_digits() takes a source text or a list of them"),
    ],
)
def test_a_bad_argument_is_refused_with_what_to_do(build: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        build()


@pytest.mark.parametrize(
    ("match", "shown"),
    [
        (numbers_from("a 1"), "numbers_from('a 1')"),
        (numbers_from(["1", "2"], skip="x", decimal=","), "numbers_from(['1', '2'], skip='x', decimal=',')"),
        (preserves_digits("a 1"), "preserves_digits('a 1')"),
        (preserves_digits(("a", "b")), "preserves_digits(['a', 'b'])"),
    ],
)
def test_they_read_like_the_call_that_made_them_and_are_data(match: Any, shown: str) -> None:
    assert repr(match) == shown
    assert from_spec(match.spec()) == match
    assert (match.family, match.reaches_outside) == ("referential", True)
