"""close_to and number_in_text."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from niceeval_expect import Absent, close_to, equals, includes, number_in_text, pattern
from niceeval_expect._number_tokens import number_tokens

FORTY_TWO = "\u0664\u0662"


@pytest.mark.parametrize(
    ("match", "subject", "outcome"),
    [
        (close_to(89, abs=0.5), 89.5, "matched"),
        (close_to(89, abs=0.5), 88.5, "matched"),
        (close_to(89, abs=0.5), 89.5000001, "mismatched"),
        (close_to(0.4, abs=0.1), 0.3, "matched"),
        (close_to(0.1, abs=0.2), 0.3, "matched"),
        (close_to(0.3, abs=0.1), Decimal("0.4"), "matched"),
        (close_to(Decimal("0.3"), abs=Decimal("0.1")), 0.4, "matched"),
        (close_to(Fraction(1, 3), abs=0.001), 0.3333, "matched"),
        (close_to(200, rel=0.01), 202, "matched"),
        (close_to(200, rel=0.01), 198, "matched"),
        (close_to(-200, rel=0.01), -202, "matched"),
        (close_to(200, rel=0.01), 202.01, "mismatched"),
        (close_to(200, rel=0.01, abs=3), 203, "matched"),
        (close_to(0, rel=0.01, abs=1), 1, "matched"),
        (close_to(10**400, rel=0.01), 10**400 + 10**398, "matched"),
        (close_to(10**400, abs=1), 10**400 + 2, "mismatched"),
        (close_to(2**53, abs=1), 2**53 + 1, "matched"),
        (close_to(1, abs=0.5), float("nan"), "mismatched"),
        (close_to(1, abs=0.5), float("inf"), "mismatched"),
        (close_to(1, abs=0.5), Decimal("NaN"), "mismatched"),
    ],
)
def test_a_number_is_close_within_the_larger_allowance_both_ends_included(
    match: Any, subject: object, outcome: str
) -> None:
    assert match.evaluate(subject).outcome == outcome
    assert (~match).evaluate(subject).outcome == {"matched": "mismatched", "mismatched": "matched"}[outcome]


@pytest.mark.parametrize("subject", [True, "89", None, [89], 1j])
def test_what_is_no_number_mismatches_by_type_in_both_polarities(subject: object) -> None:
    match = close_to(1, abs=100)
    assert match.evaluate(subject).code == (~match).evaluate(subject).code == "type"
    assert match.evaluate(Absent("no data")).outcome == "unavailable"


def test_the_distance_and_the_allowance_are_shown() -> None:
    diagnostic = close_to(89, abs=0.5, rel=0.001).evaluate(90).diagnostic
    assert diagnostic.message == "is 1 above 89, 0.5 is allowed"
    assert diagnostic.expected == "89 ± 0.5 (abs=0.5, rel=0.001)"


def test_a_decimal_out_of_all_proportion_ends_as_errored_at_once() -> None:
    evaluation = close_to(1, abs=1).evaluate(Decimal("1e99999999"))
    assert evaluation.outcome == "errored"
    assert "out of all proportion" in str(evaluation.reason)


@given(
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9, places=3),
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9, places=3),
    st.decimals(min_value="0.001", max_value=10**9, places=3),
)
def test_closeness_of_floats_is_that_of_their_decimal_forms(one: Decimal, other: Decimal, allowed: Decimal) -> None:
    exactly = abs(Fraction(one) - Fraction(other)) <= Fraction(allowed)
    matched = close_to(float(one), abs=float(allowed)).evaluate(float(other)).outcome == "matched"
    assert matched == exactly


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (((1,), {}), ValueError),
        (((1,), {"abs": 0}), ValueError),
        (((1,), {"abs": -1}), ValueError),
        (((1,), {"rel": float("nan")}), ValueError),
        (((0,), {"rel": 0.1}), ValueError),
        (((float("inf"),), {"abs": 1}), ValueError),
        (((Decimal("1e9999999"),), {"abs": 1}), ValueError),
        (((True,), {"abs": 1}), TypeError),
        ((("1",), {"abs": 1}), TypeError),
        (((1,), {"abs": True}), TypeError),
        (((1,), {"rel": "1%"}), TypeError),
    ],
)
def test_a_bad_number_or_tolerance_is_refused(arguments: Any, kind: type[Exception]) -> None:
    args, options = arguments
    with pytest.raises(kind, match=r"close_to\(\)"):
        close_to(*args, **options)
    if options:
        with pytest.raises(kind, match=r"number_in_text\(\)"):
            number_in_text(*args, **options)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (17, "The total is 17."),
        (-4, "it fell to -4 overnight"),
        (-4, "it fell to \u22124 overnight"),
        (12, "(12)."),
        (12, "12!"),
        (12.0, "12"),
        (3.5, "3.50"),
        (Decimal("3.5"), "EUR3 is less than 3.5"),
        (1500, "1,500"),
        (1500.25, "It costs $1,500.25."),
        (1_234_567, "1,234,567"),
        (1500, "1\u202f500"),
        (1500, "1'500"),
        (1500, "1\u2019500"),
        (42, f"\u0627\u0644\u0645\u062c\u0645\u0648\u0639 {FORTY_TWO}"),
        (42, "\uff14\uff12"),
        (1500.5, "\u0661\u066c\u0665\u0660\u0660\u066b\u0665"),
        (0.5, "about .5 of it"),
        (-0.5, "-.5"),
        (-5, "-$5"),
        (-5, "$-5"),
        (5, "€ 5"),
        (7, "+7"),
        (3, "3-5 days"),
        (5, "3-5 days"),
        (5, "pages 3\u20135"),
        (1e6, "1e6"),
        (0.015, "1.5E-2"),
        (5, "5kg"),
        (3, "the 3rd"),
        (5, "a 5-star hotel"),
        (0, "-0"),
        (10**30, f"{10**30}"),
        (20, "ends with 20, and"),
    ],
)
def test_a_number_is_read_whole(number: Any, text: str) -> None:
    assert number_in_text(number).evaluate(text).outcome == "matched", list(number_tokens(text))


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (7, "The total is 17."),
        (3.5, "13.5"),
        (13, "13.5"),
        (5, "13.5"),
        (-4, "it is 4"),
        (4, "it fell to -4"),
        (500, "1,500"),
        (1, "1,500"),
        (1.5, "1,500"),
        (60, "60%"),
        (0.6, "60%"),
        (60, "60 percent"),
        (60, "50-60%"),
        (50, "50-60%"),
        (60, "60\u066a"),
        (2231, "A-2231"),
        (-2231, "A-2231"),
        (31, "A-22-31"),
        (1, "v1.2"),
        (1.2, "1.2.3"),
        (2026, "2026-03-09"),
        (9, "9.3.2026"),
        (10, "10:30"),
        (1, "1/2"),
        (2, "2\u00bd"),
        (10, "10\u00b2"),
        (3, "3 million"),
        (5, "5k"),
        (5, "5\u2030"),
        (4, "it is \u20134"),
        (5, "1,5"),
        (1, "1,2,3"),
        (42, "4\u0662"),
        (4, "4\u0662"),
        (1, "0x1F"),
        (1234567, "1234,567"),
        (1, "1e99999"),
        (1, "sha 1a2b3c"),
    ],
)
def test_a_part_of_what_is_written_is_no_number(number: Any, text: str) -> None:
    evaluation = number_in_text(number).evaluate(text)
    assert evaluation.outcome == "mismatched"
    assert evaluation.code == "number"


@pytest.mark.parametrize("text", ["\u00b2", "\u00bd", "\u2460", "\u4e94", "\U0001d7d8\u0664", "", " ", "none"])
def test_numerals_that_are_no_decimal_digits_mismatch_with_a_reason_and_never_raise(text: str) -> None:
    evaluation = number_in_text(2).evaluate(text)
    assert evaluation.outcome == "mismatched"
    assert evaluation.diagnostic.message


def test_the_numeral_that_is_not_read_is_named() -> None:
    message = number_in_text(2).evaluate("it is \u00b2").diagnostic.message
    assert message == "no number is read; '\u00b2' (U+00B2) is a numeral, but no decimal digit"


@pytest.mark.parametrize(
    ("number", "options", "text", "outcome"),
    [
        (1.5, {"decimal": ","}, "1,5", "matched"),
        (1.5, {"decimal": ","}, "1,500", "matched"),
        (1500, {"decimal": ","}, "1,500", "mismatched"),
        (1500, {"decimal": ","}, "1.500", "matched"),
        (1500.25, {"decimal": ","}, "1.500,25", "matched"),
        (1.5, {"decimal": ","}, "1.5", "mismatched"),
        (0.5, {"decimal": ","}, ",5", "matched"),
        (60, {"percent": "number"}, "60%", "matched"),
        (60, {"percent": "number"}, "60", "matched"),
        (60, {"percent": "number"}, "60 %", "matched"),
        (60, {"percent": "number"}, "\uff16\uff10\uff05", "matched"),
        (0.6, {"percent": "number"}, "60%", "mismatched"),
        (0.6, {"percent": "ratio"}, "60%", "matched"),
        (60, {"percent": "ratio"}, "60%", "mismatched"),
        (0.6, {"percent": "ratio"}, "0.6", "matched"),
        (0.5, {"percent": "ratio"}, "50-60 percent", "matched"),
        (7, {"abs": 0.5}, "about 7.5", "matched"),
        (7, {"abs": 0.5}, "about 7.51", "mismatched"),
        (200, {"rel": 0.01}, "about 202", "matched"),
    ],
)
def test_a_declared_rule_says_how_marks_and_percentages_are_read(
    number: Any, options: Any, text: str, outcome: str
) -> None:
    assert number_in_text(number, **options).evaluate(text).outcome == outcome


def test_a_mismatch_shows_the_tokens_that_were_read_and_those_that_were_not() -> None:
    evaluation = number_in_text(7).evaluate("17 or 9 in v1.5 at 60%")
    assert evaluation.diagnostic.message == (
        "none of the numbers read is 7: 9, 17; not read: 'v1.5' (it is joined to a word) and 1 more"
    )
    assert evaluation.examined == 4
    assert [child.message.partition(":")[0] for child in evaluation.diagnostic.children] == [
        "'9' at index 6 is read as 9",
        "'17' at index 0 is read as 17",
        "'v1.5' at index 11 is not read",
        "'60%' at index 19 is not read",
    ]


def test_the_evidence_of_a_match_keeps_the_digits_as_they_were_written() -> None:
    message = number_in_text(42).evaluate(f"x {FORTY_TWO}").diagnostic.message
    assert message == f"read 42 from '{FORTY_TWO}' at index 2"


def test_other_checks_of_native_digits_stay_exact() -> None:
    text = f"\u0627\u0644\u0645\u062c\u0645\u0648\u0639 {FORTY_TWO}"
    assert "U+0664" in equals("42").evaluate(FORTY_TWO).diagnostic.message
    assert pattern(r"(\d+)", groups={1: FORTY_TWO}).evaluate(text).outcome == "matched"
    assert includes("7").evaluate("17").outcome == "matched"


@pytest.mark.parametrize("options", [{"decimal": ";"}, {"decimal": None}, {"percent": "points"}, {"percent": True}])
def test_an_unknown_rule_is_refused(options: Any) -> None:
    with pytest.raises(ValueError, match=r"number_in_text\(\) takes"):
        number_in_text(1, **options)


@pytest.mark.parametrize("subject", [7, 7.0, None, ["7"], b"7"])
def test_what_is_not_text_has_no_number_written_in_it(subject: object) -> None:
    match = number_in_text(7)
    assert match.evaluate(subject).code == (~match).evaluate(subject).code == "type"


@given(
    st.text(
        alphabet=st.sampled_from("0123456789\u0664\uff14.,-\u2212\u2013+ %e'\u00a0aA_$()/:\u00b2\u00bdk"), max_size=40
    )
)
def test_every_token_is_where_it_says_it_is_and_none_overlaps(text: str) -> None:
    position = 0
    for decimal in (".", ","):
        position = 0
        for token in number_tokens(text, decimal):
            assert token.start >= position
            assert text[token.start : token.start + len(token.text)] == token.text
            assert (token.value is None) == bool(token.reason)
            assert any(char.isdecimal() for char in token.text)
            position = token.start + len(token.text)
        covered = {
            index
            for token in number_tokens(text, decimal)
            for index in range(token.start, token.start + len(token.text))
        }
        assert all(index in covered for index, char in enumerate(text) if char.isdecimal())


@given(
    st.integers(-(10**12), 10**12), st.sampled_from(["{}", "({}).", "is {}!", "{},", "a {} b", "{} EUR", "\u00a0{}"])
)
def test_an_integer_is_found_in_its_own_text_grouped_or_not(number: int, frame: str) -> None:
    for written in (str(number), f"{number:,}"):
        text = frame.format(written)
        assert number_in_text(number).evaluate(text).outcome == "matched"
        assert number_in_text(number + 1).evaluate(text).outcome == "mismatched"


@pytest.mark.parametrize(
    "text",
    ["1" * 300_000, "1," * 100_000, "1-" * 100_000, "a1" * 100_000, "1.1" * 60_000, "a" * 300_000 + "1", "1 " * 20_000],
)
def test_hostile_texts_take_time_in_proportion(text: str) -> None:
    assert number_in_text(7).evaluate(text).outcome == "mismatched"


@pytest.mark.parametrize(
    ("number", "text", "reason"),
    [
        (500, "It costs 1 500 EUR", "a space parts its digits"),
        (1, "It costs 1 500 EUR", "a space parts its digits"),
        (500, "-1 500.50", "a space parts its digits"),
        (0, "1 000 000 people", "a space parts its digits"),
        (7, "1\u200b7", "several separators"),
        (7, "1\u00ad7", "several separators"),
        (7, "1\u202e7", "several separators"),
        (10, "10^6 bytes", "raised to a power"),
        (2, "2**8", "raised to a power"),
        (1.5, "1.5 × 10³ kg", "scaled by"),
        (1.5, "1.5×10^6", "scaled by"),
        (5, "It raised $5m.", "scaled by 'm'"),
        (5, "It raised €5tn.", "scaled by 'tn'"),
    ],
)
def test_digits_that_may_be_part_of_another_number_are_not_read(number: float, text: str, reason: str) -> None:
    evaluation = number_in_text(number).evaluate(text)
    assert evaluation.outcome == "mismatched"
    assert reason in str(evaluation)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (500, "In 2026 500 people came"),
        (300, "v12 300"),
        (4567, "12 34 4567"),
        (7, "**7** of them"),
        (5, "It is 5m long"),
        (7, "7\u200b"),
    ],
)
def test_digits_that_stand_apart_are_read(number: int, text: str) -> None:
    assert number_in_text(number).evaluate(text).outcome == "matched"
