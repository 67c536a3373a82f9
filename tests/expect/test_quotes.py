"""quotes_from: what is between quotation marks stands in a source, word for word."""

import re
from typing import Any

import pytest

from niceeval_expect import Absent, from_spec, quotes_from

POLICY = "Refunds are issued within 30 days\nof the purchase, unless stated otherwise. Don't ask twice."
OTHER = "Second source: »inner« text here. 三十天内退款"


@pytest.mark.parametrize(
    ("text", "examined"),
    [
        ('It says "within 30 days".', 1),
        ('It says "30 days of the purchase".', 1),
        ("“issued  within\n30 days”", 1),
        ("„within 30 days“ und “Refunds are”", 2),
        ("”within 30 days”", 1),
        ("«within 30 days» et ‹Refunds›", 2),
        ("»within 30 days«", 1),
        ("「within」と『30 days』", 2),
        ("He wrote 'Don't ask twice' today.", 1),
        ("‘within 30 days’", 1),
        ('In American English "within 30 days," as they say, "within 30 days."', 2),
        ('"Refunds … the purchase"', 1),
        ('"Refunds are [...] unless stated"', 1),
        ('"... within 30 days ..."', 1),
        ('From the other "text here".', 1),
        ("「天内」", 1),
    ],
)
def test_a_quotation_from_a_source_matches(text: str, examined: int) -> None:
    evaluation = quotes_from([POLICY, OTHER]).evaluate(text)
    assert (evaluation.outcome, evaluation.examined) == ("matched", examined), evaluation


@pytest.mark.parametrize(
    "text",
    [
        "",
        "It takes 30 days.",
        "The customers' orders and the sellers' fees.",
        "It's Ada's, isn't it?",
        'a 5" disk and a 3" one',
        '"" and "  "',
        "rock 'n' roll".replace("'n'", "’n’"),
        'An "unclosed quotation\n\nends with its paragraph".',
        "a »x",
    ],
)
def test_a_text_that_quotes_nothing_matches_and_says_so(text: str) -> None:
    evaluation = quotes_from(POLICY).evaluate(text)
    assert (evaluation.outcome, evaluation.examined) == ("matched", 0), evaluation


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('It says "within 60 days".', "1 of 1 quotation is not in the source: 'within 60 days' at index 8"),
        (
            '"within 30 days" "a" "b"',
            "2 of 3 quotations are not in the source: 'a' at index 17; it stands there only as part of a longer word",
        ),
        (
            "“WITHIN 30 days”",
            "1 of 1 quotation is not in the source: 'WITHIN 30 days' at index 0; it does without regard to case",
        ),
        (
            "“Don’t ask twice”",
            "1 of 1 quotation is not in the source: 'Don’t ask twice' at index 0; "
            "it does when typographic quotes and dashes are read as plain ones",
        ),
        ('"purchase … Refunds"', "1 of 1 quotation is not in the source: 'purchase … Refunds' at index 0"),
        ('"Refunds … text here"', "1 of 1 quotation is not in the source: 'Refunds … text here' at index 0"),
        ('"within 30 days!"', "1 of 1 quotation is not in the source: 'within 30 days!' at index 0"),
        ("'within 60 days'", "1 of 1 quotation is not in the source: 'within 60 days' at index 0"),
        (
            '"day"',
            "1 of 1 quotation is not in the source: 'day' at index 0; it stands there only as part of a longer word",
        ),
        (
            '"0 days"',
            "1 of 1 quotation is not in the source: '0 days' at index 0; it stands there only as part of a longer word",
        ),
        ('"…"', "1 of 1 quotation is not in the source: '…' at index 0"),
    ],
)
def test_a_quotation_that_no_source_holds_is_shown_with_its_place(text: str, message: str) -> None:
    evaluation = quotes_from([POLICY, OTHER]).evaluate(text)
    assert (evaluation.outcome, evaluation.code, evaluation.diagnostic.message) == (
        "mismatched",
        "not-in-source",
        message,
    )


def test_short_quotations_can_be_passed_over() -> None:
    text = 'The so-called "premium" plan is refunded "within 30 days".'
    assert quotes_from(POLICY).evaluate(text).outcome == "mismatched"
    evaluation = quotes_from(POLICY, min_words=2).evaluate(text)
    assert (evaluation.outcome, evaluation.examined) == ("matched", 1)


def test_without_a_source_every_quotation_is_made_up() -> None:
    assert quotes_from([]).evaluate('"within 30 days"').outcome == "mismatched"


@pytest.mark.parametrize(
    "text", ['"' * 200_000, "' " * 100_000, " 'a" * 100_000, "„" * 200_000, "‘a’b" * 60_000, '" a ' * 60_000]
)
def test_hostile_quotation_marks_take_linear_time(text: str) -> None:
    assert quotes_from(POLICY).evaluate(text).outcome in ("matched", "mismatched")


@pytest.mark.parametrize("subject", [b'"x"', {"text": "x"}, ["x"], 1, None])
def test_what_is_not_text_mismatches_in_both_polarities(subject: object) -> None:
    for match in (quotes_from(POLICY), ~quotes_from(POLICY)):
        evaluation = match.evaluate(subject)
        assert (evaluation.outcome, evaluation.code) == ("mismatched", "type")
        assert match.evaluate(Absent("the turn failed")).outcome == "unavailable"


@pytest.mark.parametrize(
    ("source", "options", "error", "message"),
    [
        (7, {}, TypeError, "takes a source text or a list of them, got 7"),
        (b"x", {}, TypeError, "takes a source text or a list of them"),
        ({"a": "x"}, {}, TypeError, "takes a source text or a list of them"),
        (["x", 7], {}, TypeError, "takes source texts, got 7 in the list"),
        ("x", {"min_words": 0}, ValueError, "min_words= of 1 or more, got 0"),
        ("x", {"min_words": 1.5}, TypeError, "min_words= as a whole number"),
        ("x", {"min_words": True}, TypeError, "min_words= as a whole number"),
    ],
)
def test_a_bad_argument_is_refused_with_what_to_do(
    source: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=re.escape(message)):
        quotes_from(source, **options)


def test_it_reads_like_the_call_that_made_it_and_is_data() -> None:
    for match, shown in (
        (quotes_from("a b"), "quotes_from('a b')"),
        (quotes_from(("a", "b"), min_words=3), "quotes_from(['a', 'b'], min_words=3)"),
        (quotes_from({"b", "a"}), "quotes_from(['a', 'b'])"),
    ):
        assert repr(match) == shown
        assert from_spec(match.spec()) == match
        assert (match.family, match.reaches_outside) == ("referential", True)
