"""starts_with, ends_with, includes_any, includes_all, forbids, occurs, includes_url, has_sections, length of a text."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from niceeval_expect import (
    Absent,
    BooleanMatch,
    ends_with,
    forbids,
    from_spec,
    has_sections,
    includes_all,
    includes_any,
    includes_url,
    length,
    occurs,
    starts_with,
)
from niceeval_expect._markup import headings_in

NFC = "caf\u00e9"
NFD = "cafe\u0301"

ONE = [starts_with, ends_with, occurs]
MANY = [includes_any, includes_all, forbids]
TEXT_MATCHES: list[BooleanMatch] = [
    starts_with("a"),
    ends_with("a"),
    includes_any(["a"]),
    includes_all(["a"]),
    forbids(["a"]),
    occurs("a"),
    occurs("a").exactly(2),
    includes_url(),
    has_sections(),
    length(at_least=1, unit="words"),
    length(at_least=1, unit="sentences"),
]


def untyped(value: Any) -> Any:
    return value


@pytest.mark.parametrize("match", TEXT_MATCHES, ids=repr)
@pytest.mark.parametrize("subject", [b"a", {"a": 1}, ["a"], 7, None, True])
def test_what_is_not_text_mismatches_by_type_and_so_does_the_denial(match: Any, subject: object) -> None:
    for each in (match, ~match):
        assert (each.evaluate(subject).outcome, each.evaluate(subject).code) == ("mismatched", "type")


@pytest.mark.parametrize("match", TEXT_MATCHES, ids=repr)
def test_a_missing_text_is_unavailable_in_both_polarities(match: Any) -> None:
    for each in (match, ~match):
        assert each.evaluate(Absent("the turn failed")).outcome == "unavailable"


@pytest.mark.parametrize("build", ONE)
@pytest.mark.parametrize("needle", ["", "  ", "\n"])
def test_a_blank_text_to_look_for_is_refused(build: Any, needle: str) -> None:
    with pytest.raises(ValueError, match=rf"{build.__name__}\(\) got the blank text"):
        build(needle)


@pytest.mark.parametrize("build", ONE)
@pytest.mark.parametrize("needle", [7, None, ["a"], b"a"])
def test_what_is_no_text_to_look_for_is_refused(build: Any, needle: object) -> None:
    with pytest.raises(TypeError, match="takes the text to look for"):
        build(needle)


@pytest.mark.parametrize("build", MANY)
@pytest.mark.parametrize("needles", ["cat", b"cat", {"cat": 1}, 7, None])
def test_a_bare_string_where_a_list_is_meant_is_refused(build: Any, needles: object) -> None:
    with pytest.raises(TypeError, match=rf"{build.__name__}\(\) takes a list of texts"):
        build(needles)


@pytest.mark.parametrize("build", MANY)
@pytest.mark.parametrize("needles", [[], (), ["a", ""], [" "]])
def test_an_empty_list_and_a_blank_literal_are_refused(build: Any, needles: list[str]) -> None:
    with pytest.raises(ValueError, match=r"empty list|blank text"):
        build(needles)


@pytest.mark.parametrize("build", MANY)
def test_a_literal_that_is_no_text_is_refused(build: Any) -> None:
    with pytest.raises(TypeError, match="takes the text to look for, got 7"):
        build(["a", 7])


@pytest.mark.parametrize(
    ("match", "text", "outcome"),
    [
        (starts_with("Dear"), "Dear Ms. Wu", "matched"),
        (starts_with("Dear"), "Dear", "matched"),
        (starts_with("Dear"), " Dear", "mismatched"),
        (starts_with("Dear"), "Dea", "mismatched"),
        (starts_with("Dear"), "", "mismatched"),
        (starts_with(NFC), NFD, "mismatched"),
        (starts_with(NFC, normalize="NFC"), f"{NFD}s", "matched"),
        (starts_with("cafe", normalize="NFC"), NFD, "mismatched"),
        (starts_with("dear", casefold=True), "DEAR", "matched"),
        (starts_with("a", strip_invisible=True), "\ufeffa", "matched"),
        (ends_with("?"), "Anything else?", "matched"),
        (ends_with("?"), "Anything else? ", "mismatched"),
        (ends_with("ok", casefold=True), "It is OK", "matched"),
        (ends_with("\u0301"), NFD, "matched"),
    ],
)
def test_how_a_text_begins_and_ends(match: Any, text: str, outcome: str) -> None:
    assert match.evaluate(text).outcome == outcome


@pytest.mark.parametrize(
    ("match", "text", "message"),
    [
        (starts_with("Dear"), "dear you", "begins with 'dear'; it does with casefold=True"),
        (starts_with("Dear"), "\n\nDear you", r"begins with '\n\nDe'; it does after 2 whitespace characters"),
        (starts_with(NFC), f"{NFD} x", "begins with 'cafe'; it does with normalize=\"NFC\" (U+0301)"),
        (starts_with("Dear"), "Hello, Dear", "begins with 'Hell'; it occurs at index 7"),
        (starts_with("Dear"), "Hello", "begins with 'Hell'"),
        (starts_with("Dear"), "", "the text is empty"),
        (ends_with("bye"), "good bye\n", r"ends with 'ye\n'; it does before 1 whitespace character"),
        (ends_with("bye", casefold=True), "Byes", "ends with 'yes', read with casefold=True; it occurs at index 0"),
    ],
)
def test_the_diagnostic_says_how_it_begins_or_ends_instead(match: Any, text: str, message: str) -> None:
    assert match.evaluate(text).diagnostic.message == message


@pytest.mark.parametrize(
    ("literals", "text", "any_of", "all_of", "none_of"),
    [
        (["cat", "dog"], "a dog", "matched", "mismatched", "mismatched"),
        (["cat", "dog"], "catdog", "matched", "matched", "mismatched"),
        (["cat", "dog"], "a Cat", "mismatched", "mismatched", "matched"),
        (["cat", "dog"], "", "mismatched", "mismatched", "matched"),
        (["c"], "cat", "matched", "matched", "mismatched"),
        (["aa", "aab"], "aab", "matched", "matched", "mismatched"),
    ],
)
def test_some_all_or_none_of_several_literals(
    literals: list[str], text: str, any_of: str, all_of: str, none_of: str
) -> None:
    found = [build(literals).evaluate(text).outcome for build in (includes_any, includes_all, forbids)]
    assert found == [any_of, all_of, none_of]


def test_a_missing_literal_is_named_with_the_reading_in_which_it_would_occur() -> None:
    evaluation = includes_all(["Refund", "today", "EUR"]).evaluate("Your refund of 5 EUR")
    assert evaluation.diagnostic.message == "2 of 3 texts do not occur: 'Refund', 'today'"
    assert evaluation.examined == 3
    assert [child.message for child in evaluation.diagnostic.children] == [
        "'Refund' does not occur; it does with casefold=True, at index 5: 'refund'",
        "'today' does not occur",
    ]


def test_the_evidence_of_a_match_names_the_literal_that_was_found() -> None:
    assert includes_any(["a", "b"]).evaluate("b").diagnostic.message == "includes 'b'"


def test_forbids_states_its_scope_and_claims_no_more() -> None:
    evaluation = forbids(["guarantee", "promise"], casefold=True).evaluate("We will certainly pay.")
    assert evaluation.outcome == "matched"
    assert evaluation.examined == 2
    assert evaluation.diagnostic.message == (
        "none of 2 literals occurs in this text, read with casefold=True: 'guarantee', 'promise'"
    )


def test_forbids_shows_every_literal_that_occurs() -> None:
    evaluation = forbids(["cat", "dog", "cow"]).evaluate("a dog, a cat, a dog")
    assert evaluation.diagnostic.message == "2 of 3 forbidden texts occur: 'cat', 'dog'"
    assert [child.message for child in evaluation.diagnostic.children] == [
        "'cat' occurs at index 9",
        "'dog' occurs 2 times, first at index 2",
    ]


@pytest.mark.parametrize("build", MANY)
def test_many_literals_keep_the_diagnostic_bounded(build: Any) -> None:
    literals = [f"literal {number}" for number in range(500)]
    text = " ".join(literals) if build is forbids else "nothing"
    diagnostic = build(literals).evaluate(text).diagnostic
    assert diagnostic.truncated
    assert len(diagnostic.children) == 8
    assert "and 492 more" in diagnostic.message + str(diagnostic.expected)


@pytest.mark.parametrize(
    ("match", "text", "outcome"),
    [
        (occurs("a"), "banana", "matched"),
        (occurs("a"), "x", "mismatched"),
        (occurs("a").exactly(3), "banana", "matched"),
        (occurs("a").exactly(2), "banana", "mismatched"),
        (occurs("a").at_least(4), "banana", "mismatched"),
        (occurs("a").at_most(3), "banana", "matched"),
        (occurs("a").at_most(2), "banana", "mismatched"),
        (occurs("a").at_most(2), "", "matched"),
        (occurs("a").between(0, 1), "", "matched"),
        (occurs("a").between(2, 3), "banana", "matched"),
        (occurs("aa").exactly(2), "aaaaa", "matched"),
        (occurs("a", casefold=True).exactly(2), "aA", "matched"),
    ],
)
def test_occurrences_are_counted_from_the_left_and_do_not_overlap(match: Any, text: str, outcome: str) -> None:
    assert match.evaluate(text).outcome == outcome


@pytest.mark.parametrize(
    ("match", "text", "message", "expected"),
    [
        (occurs("a").at_most(2), "banana", "occurs 3 times (non-overlapping, at index 1, 3, 5)", "'a' at most 2 times"),
        (occurs("a").exactly(1), "x" * 9 + "aa" * 5, "at index 9, 10, 11, 12, 13, 14, 15, 16, …)", "'a' exactly once"),
        (occurs("Sorry"), "sorry", "occurs 0 times; it does with casefold=True", "'Sorry' at least once"),
        (occurs("x").between(1, 2), "", "the text is empty", "'x' from 1 to 2 times"),
    ],
)
def test_a_wrong_count_is_shown_with_the_places(match: Any, text: str, message: str, expected: str) -> None:
    diagnostic = match.evaluate(text).diagnostic
    assert message in diagnostic.message
    assert diagnostic.expected == expected


@pytest.mark.parametrize(
    ("build", "kind"),
    [
        (lambda: occurs("a").exactly(0), ValueError),
        (lambda: occurs("a").at_least(0), ValueError),
        (lambda: occurs("a").at_most(0), ValueError),
        (lambda: occurs("a").at_most(-1), ValueError),
        (lambda: occurs("a").between(2, 1), ValueError),
        (lambda: occurs("a").exactly(True), TypeError),
        (lambda: untyped(occurs("a")).at_least(1.0), TypeError),
        (lambda: includes_url(min=0), ValueError),
        (lambda: includes_url(min=True), TypeError),
        (lambda: has_sections(min=0), ValueError),
        (lambda: untyped(length)(at_most=3, unit="lines"), ValueError),
        (lambda: length(unit="words"), ValueError),
        (lambda: untyped(starts_with)("a", normalize="nfc"), ValueError),
        (lambda: untyped(includes_any)(["a"], casefold=1), TypeError),
    ],
)
def test_a_bad_argument_is_refused_at_the_call(build: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        build()


@pytest.mark.parametrize("quantifier", [{"low": 1, "high": 1, "quantifier": "often"}, {"quantifier": "exactly"}])
def test_a_spec_with_an_unknown_or_half_quantifier_is_refused(quantifier: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"often|lacks"):
        from_spec({"match": "occurs", "text": "a", **quantifier})


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("none at all", 0),
        ("www.example.com and example.com", 0),
        ("http://... and https://nowhere and ftp://a.example", 0),
        ("https://a.example", 1),
        ("HTTPS://A.EXAMPLE/X", 1),
        ("See https://a.example/x, https://a.example/x.", 1),
        ("See [one](https://a.example/x) and [two](https://b.example/y).", 2),
        ("(https://en.example/wiki/A_(b))", 1),
        ("http://localhost:8080/x http://127.0.0.1 http://[::1]/ https://user@bücher.example/ü", 4),
        ('<https://a.example>, "https://b.example" and `https://c.example`', 3),
        ("https://-bad.example", 0),
    ],
)
def test_the_different_web_addresses_of_a_text_are_counted(text: str, count: int) -> None:
    evaluation = includes_url(min=count or 1).evaluate(text)
    assert evaluation.outcome == ("matched" if count else "mismatched")
    assert includes_url(min=count + 1).evaluate(text).outcome == "mismatched"


def test_the_addresses_read_are_shown() -> None:
    assert includes_url(min=2).evaluate("At https://a.example/x_(y), ok.").diagnostic.message == (
        "has 1 web address: https://a.example/x_(y)"
    )
    assert includes_url().evaluate("").diagnostic.message == "the text is empty"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("plain text\nwith **bold** lines\n", 0),
        ("# One\ntext\n## Two\ntext", 2),
        ("One\n===\n\nTwo\n---\n", 2),
        ("text\n\n---\n\nmore", 0),
        ("#no space\n####### seven", 0),
        ("#\n##  \n# Yes #", 1),
        ("```\n# a comment\n```\n# Real", 1),
        ("    # indented code\n", 0),
        ("> # quoted\n\n- # in a list\n", 0),
        ("# A\r\n## B\r\n", 2),
    ],
)
def test_headings_are_those_of_commonmark_in_the_document_itself(text: str, count: int) -> None:
    assert has_sections(min=count or 1).evaluate(text).outcome == ("matched" if count else "mismatched")
    assert has_sections(min=count + 1).evaluate(text).outcome == "mismatched"


@given(
    st.lists(
        st.sampled_from(
            [
                "# A",
                "## B #",
                "#",
                "#c",
                " # d",
                "text",
                "- item",
                "> q",
                "1. n",
                "",
                "  # in",
                "===",
                "-",
                "#\tE",
                "# f\r",
            ]
        )
    )
)
def test_headings_read_quickly_are_those_of_the_parser(lines: list[str]) -> None:
    text = "\n".join(lines)
    # A line of HTML at the end keeps the text from being read quickly, and changes no heading before it.
    assert headings_in(text) == headings_in(f"{text}\n\n<hr>\n")


@pytest.mark.parametrize(
    ("text", "unit", "size"),
    [
        ("", "words", 0),
        ("  one  two\nthree ", "words", 3),
        ("it's a well-known fact – isn't it?", "words", 6),
        ("- * — …", "words", 0),
        ("_ __", "words", 0),
        ("42 %", "words", 1),
        ("你好 世界", "words", 2),
        ("One. Two! Dr. Wu paid $3.50 e.g. today?", "sentences", 3),
        ("", "sentences", 0),
    ],
)
def test_a_text_is_measured_in_words_or_sentences(text: str, unit: Any, size: int) -> None:
    assert length(exactly=size, unit=unit).evaluate(text).outcome == "matched"
    assert length(at_least=size + 1, unit=unit).evaluate(text).outcome == "mismatched"


def test_the_default_unit_is_left_out_of_spec_and_repr() -> None:
    assert length(at_most=3).spec() == {"match": "length", "at_most": 3}
    assert length(at_most=3, unit="characters") == length(at_most=3)
    assert repr(length(at_most=3, unit="words")) == "length(at_most=3, unit='words')"
    assert length(at_most=3, unit="words") != length(at_most=3)


@pytest.mark.parametrize(
    "text",
    [
        "https://" * 50_000,
        "https://a." * 30_000,
        "(" * 200_000,
        "# " * 100_000,
        "> " * 20_000 + "# x",
        "a\n=\n" * 20_000,
    ],
)
def test_hostile_texts_take_time_in_proportion(text: str) -> None:
    includes_url().evaluate(text)
    has_sections().evaluate(text)
    starts_with("needle").evaluate(text)
    occurs("ht").at_least(9_999_999).evaluate(text)


def test_the_examples_of_a_diagnostic_name_the_options_that_were_given() -> None:
    for match in (includes_any(["x"], casefold=True), includes_all(["x"], casefold=True), occurs("x", casefold=True)):
        assert re.search("read with casefold=True", match.evaluate("abc").diagnostic.message)
