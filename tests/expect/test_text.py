"""includes, excludes and similarity."""

import enum
import re
from typing import Any

import pytest

from niceeval_expect import Absent, equals, excludes, from_spec, includes, pattern, similarity

NFC = "caf\u00e9"
NFD = "cafe\u0301"


@pytest.mark.parametrize(
    ("needle", "text"),
    [
        ("refund", "Your refund is on its way."),
        ("7", "The total is 17."),
        ("\u0664\u0662", "\u0627\u0644\u0645\u062c\u0645\u0648\u0639 \u0664\u0662"),
        ("a\nb", "xa\nbx"),
        (" ok ", "it is ok now"),
        ("\ud83d", "broken \ud83d half"),
        ("😀", "smile 😀"),
    ],
)
def test_a_text_that_contains_the_needle_matches_and_its_exclusion_does_not(needle: str, text: str) -> None:
    assert includes(needle).evaluate(text).outcome == "matched"
    assert excludes(needle).evaluate(text).outcome == "mismatched"


@pytest.mark.parametrize(
    ("needle", "text"),
    [("refund", "Refund"), ("42", "\u0664\u0662"), (NFC, NFD), ("refund", "re\u200bfund"), ("x", "")],
)
def test_text_is_compared_code_point_by_code_point(needle: str, text: str) -> None:
    assert includes(needle).evaluate(text).outcome == "mismatched"
    assert excludes(needle).evaluate(text).outcome == "matched"


@pytest.mark.parametrize("subject", [b"refund", {"refund": 1}, ["refund"], [1], 7, None, True])
def test_what_is_not_text_neither_includes_nor_excludes(subject: object) -> None:
    for match in (includes("refund"), ~includes("refund"), excludes("refund"), ~excludes("refund")):
        evaluation = match.evaluate(subject)
        assert (evaluation.outcome, evaluation.code) == ("mismatched", "type")
    assert includes("refund").evaluate(subject).diagnostic.message == f"needs text, got {type(subject).__name__}"


def test_a_missing_reply_is_unavailable_in_both_polarities() -> None:
    for match in (includes("error"), excludes("error"), ~includes("error"), ~excludes("error")):
        evaluation = match.evaluate(Absent("the turn failed"))
        assert (evaluation.outcome, evaluation.reason) == ("unavailable", "the turn failed")


@pytest.mark.parametrize("build", [includes, excludes])
@pytest.mark.parametrize("needle", ["", "   ", "\n\t", "\u00a0"])
def test_a_blank_needle_is_refused(build: Any, needle: str) -> None:
    with pytest.raises(ValueError, match="got the blank text"):
        build(needle)


def test_a_needle_that_is_blank_once_it_is_read_is_refused() -> None:
    with pytest.raises(ValueError, match="blank"):
        includes("\u200b\ufeff", strip_invisible=True)


@pytest.mark.parametrize("build", [includes, excludes])
@pytest.mark.parametrize("needle", [True, 7, None, [], ["a"], b"a", re.compile("a")])
def test_a_needle_that_is_not_text_is_refused_with_what_to_use(build: Any, needle: object) -> None:
    with pytest.raises(TypeError, match=r"takes the text to look for, got .*use equals"):
        build(needle)


def test_a_match_as_needle_is_refused_with_how_to_compose_it() -> None:
    needle: Any = pattern("a")
    with pytest.raises(TypeError, match=re.escape("for example ~pattern('a')")):
        excludes(needle)


@pytest.mark.parametrize(
    "options", [{"casefold": 1}, {"casefold": "yes"}, {"strip_invisible": None}, {"normalize": "nfc"}, {"normalize": 1}]
)
def test_a_bad_text_option_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError), match=r"includes\(\) takes"):
        includes("a", **options)


@pytest.mark.parametrize(
    ("needle", "options", "text"),
    [
        ("refund", {"casefold": True}, "REFUND"),
        ("strasse", {"casefold": True}, "Straße"),
        (NFC, {"normalize": "NFC"}, NFD),
        (NFD, {"normalize": "NFC"}, NFC),
        ("42", {"normalize": "NFKC"}, "\uff14\uff12"),
        ("pay now", {"normalize": "NFKC"}, "pay\u00a0now"),
        ("refund", {"strip_invisible": True}, "re\u200bfu\u00adnd"),
        ("caf\u00e9", {"casefold": True, "normalize": "NFC", "strip_invisible": True}, "CAFE\u200b\u0301"),
    ],
)
def test_text_options_say_how_both_sides_are_read(needle: str, options: dict[str, Any], text: str) -> None:
    assert includes(needle).evaluate(text).outcome == "mismatched"
    assert includes(needle, **options).evaluate(text).outcome == "matched"
    assert excludes(needle, **options).evaluate(text).outcome == "mismatched"


def test_text_options_are_shown_in_the_diagnostic_the_repr_and_the_spec_but_only_when_given() -> None:
    match = includes("refund", casefold=True, normalize="NFC")
    assert repr(match) == "includes('refund', casefold=True, normalize='NFC')"
    assert match.spec() == {"match": "includes", "text": "refund", "casefold": True, "normalize": "NFC"}
    assert from_spec(match.spec()) == match
    assert "read with casefold=True, normalize='NFC'" in match.evaluate("no").diagnostic.message
    assert "read with casefold=True" in excludes("no", casefold=True).evaluate("No").diagnostic.message
    assert includes("refund").spec() == {"match": "includes", "text": "refund"}
    assert includes("refund") != match


@pytest.mark.parametrize(
    ("needle", "text", "hint"),
    [
        ("refund", "A Refund.", "it does with casefold=True, at index 2: 'Refund'"),
        (NFC, f"a {NFD} bar", 'it does with normalize="NFC" (U+0301)'),
        ("pay now", "Please pay\u00a0now", "it does with normalize=\"NFKC\", at index 7: 'pay\\xa0now' (U+00A0)"),
        ("42", "\uff14\uff12", "U+FF14 U+FF12"),
        ("refund", "re\u200bfund", "it does with strip_invisible=True (U+200B)"),
        ("don't", "I don’t know", "typographic quotes and dashes"),
        ("pay now", "Please pay\n  now", "every run of whitespace is read as one space"),
        ("don't pay", "I DON’T\n pay", "case, spacing, invisible characters and typographic forms"),
    ],
)
def test_a_near_miss_is_named(needle: str, text: str, hint: str) -> None:
    assert hint in includes(needle).evaluate(text).diagnostic.message


def test_a_far_miss_gets_no_hint() -> None:
    assert (
        includes("refund").evaluate("We sent it – at once.").diagnostic.message == "does not occur in the 21 characters"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the text is empty"),
        (" \n", "the text is blank: 2 whitespace characters"),
        ("\u200b \ufeff", "the text is blank: 3 invisible or whitespace characters"),
    ],
)
def test_a_blank_reply_is_named_as_blank(text: str, message: str) -> None:
    assert includes("refund").evaluate(text).diagnostic.message == message


def test_what_must_not_occur_is_shown_where_it_does() -> None:
    text = "x" * 10_000 + " we guarantee it " + "y" * 10_000
    diagnostic = excludes("guarantee").evaluate(text).diagnostic
    assert (diagnostic.code, diagnostic.message) == ("excludes", "occurs at index 10,004")
    assert "we guarantee it" in diagnostic.received
    assert len(diagnostic.received) < 300
    assert excludes("a").evaluate("banana").diagnostic.message == "occurs 3 times, first at index 1"


def test_what_is_missing_is_explained_within_bounds_on_a_huge_reply() -> None:
    diagnostic = includes("Needle").evaluate("hay " * 2_000_000).diagnostic
    assert diagnostic.message == "does not occur in the 8,000,000 characters"
    assert diagnostic.expected == "Needle"
    assert len(diagnostic.received) < 300


def test_text_subclasses_are_text() -> None:
    class Colour(enum.StrEnum):
        RED = "red"

    assert includes("red").evaluate(Colour.RED).outcome == "matched"
    assert includes(Colour.RED) == includes("red")
    assert repr(includes(Colour.RED)) == "includes('red')"


@pytest.mark.parametrize(
    ("reference", "text", "value"),
    [
        ("", "", 1.0),
        ("", "x", 0.0),
        ("x", "", 0.0),
        ("same", "same", 1.0),
        ("kitten", "sitting", 1 - 3 / 7),
        ("colour", "color", 1 - 1 / 6),
        ("abc", "xyz", 0.0),
        (NFC, NFD, 1 - 2 / 5),
        ("\ud800", "\ud801", 0.0),
        ("😀", "😁", 0.0),
    ],
)
def test_similarity_is_the_normalised_levenshtein_similarity(reference: str, text: str, value: float) -> None:
    evaluation = similarity(reference).evaluate(text)
    assert evaluation.outcome == "measured"
    assert evaluation.value == pytest.approx(value)
    assert evaluation.value is not None
    assert 0 <= evaluation.value <= 1


def test_similarity_with_a_threshold_is_met_or_below() -> None:
    met = similarity("colour").at_least(0.8).evaluate("color")
    assert (met.outcome, met.code) == ("matched", "met")
    below = similarity("colour").at_least(0.9).evaluate("color")
    assert (below.outcome, below.code) == ("mismatched", "below")
    above = similarity("colour").at_most(0.5).evaluate("color")
    assert (above.outcome, above.code) == ("mismatched", "above")
    assert similarity("x").at_least(0).evaluate("y").outcome == "matched"


@pytest.mark.parametrize("subject", [None, 1, b"x", ["x"], {"a": "x"}])
def test_similarity_over_what_is_not_text_is_errored_in_both_polarities(subject: object) -> None:
    threshold = similarity("x").at_least(0.5)
    for match in (similarity("x"), threshold, ~threshold):
        evaluation = match.evaluate(subject)
        assert (evaluation.outcome, evaluation.code) == ("errored", "type")
        assert evaluation.value is None


def test_similarity_over_a_missing_reply_is_unavailable() -> None:
    assert similarity("x").evaluate(Absent("the turn failed")).outcome == "unavailable"
    assert (~similarity("x").at_least(0.5)).evaluate(Absent("the turn failed")).outcome == "unavailable"


def test_similarity_gives_up_with_a_reason_where_comparing_would_take_seconds() -> None:
    evaluation = similarity("x" * 200_000).evaluate("y" * 200_000)
    assert (evaluation.outcome, evaluation.code) == ("errored", "size")
    assert "200,000 and 200,000 characters" in (evaluation.reason or "")


@pytest.mark.parametrize("reference", [None, 1, b"x", equals("x")])
def test_a_reference_that_is_not_text_is_refused(reference: Any) -> None:
    with pytest.raises(TypeError, match=r"similarity\(\) takes the text to compare with"):
        similarity(reference)
