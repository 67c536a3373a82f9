"""pattern: what it finds, what it captured, its budget, and that it means what Python's re says."""

import math
import re
import sys
import threading
from typing import Any

import pytest

from niceeval_expect import Absent, between, excludes, from_spec, includes, one_of, pattern, similarity

ARABIC_42 = "\u0627\u0644\u0645\u062c\u0645\u0648\u0639 \u0664\u0662"
BLOWS_UP = r"^(a|aa)+$"
LONG = "a" * 60 + "!"


def outcome(regex: str, text: object, **options: Any) -> str:
    return pattern(regex, **options).evaluate(text).outcome


@pytest.mark.parametrize(
    ("regex", "options", "text", "expected"),
    [
        (r"ORD-\d{6}", {}, "order ORD-448192 shipped", "matched"),
        (r"ORD-\d{6}", {"full": True}, "order ORD-448192 shipped", "mismatched"),
        (r"ORD-\d{6}", {"full": True}, "ORD-448192", "matched"),
        (r"ORD-\d{6}", {"full": True}, "ORD-448192\n", "mismatched"),
        (r"a|ab", {"full": True}, "ab", "matched"),
        (r"\d+", {}, "\u0664\u0662", "matched"),
        (r"\d+", {"ascii": True}, "\u0664\u0662", "mismatched"),
        (r"^b$", {}, "a\nb\nc", "mismatched"),
        (r"(?m)^b$", {}, "a\nb\nc", "matched"),
        (r"(?i)refund", {}, "REFUND", "matched"),
        (r"\bone\b", {}, "someone", "mismatched"),
        (r"x*", {}, "", "matched"),
    ],
)
def test_it_searches_unless_the_whole_text_is_asked_for(
    regex: str, options: dict[str, Any], text: str, expected: str
) -> None:
    assert outcome(regex, text, **options) == expected


@pytest.mark.parametrize("subject", [b"a", 1, None, True, ["a"], {"a": "a"}])
def test_what_is_not_text_mismatches_in_both_polarities(subject: object) -> None:
    for match in (pattern("a"), ~pattern("a")):
        evaluation = match.evaluate(subject)
        assert (evaluation.outcome, evaluation.code) == ("mismatched", "type")


def test_a_missing_reply_is_unavailable_in_both_polarities() -> None:
    assert pattern("a").evaluate(Absent("no reply")).outcome == "unavailable"
    assert (~pattern("a")).evaluate(Absent("no reply")).outcome == "unavailable"


@pytest.mark.parametrize("regex", ["", "  ", "\n"])
def test_a_blank_expression_is_refused(regex: str) -> None:
    with pytest.raises(ValueError, match="blank expression"):
        pattern(regex)


@pytest.mark.parametrize("regex", ["(", "a**", "[z-a]", "(?P<1>a)", r"\2", "(?<name>a)", r"\p{L}", "(?R)", "a{2,1}"])
def test_an_invalid_expression_is_refused_when_built(regex: str) -> None:
    with pytest.raises(ValueError, match="cannot be used"):
        pattern(regex)


@pytest.mark.parametrize("regex", [r"(?a:\w)b", r"a(?u:\d)"])
def test_a_flag_that_the_engine_reads_differently_in_a_part_is_refused(regex: str) -> None:
    with pytest.raises(ValueError, match="ascii=True"):
        pattern(regex)


def test_a_flag_that_contradicts_ascii_is_refused() -> None:
    with pytest.raises(ValueError, match="incompatible"):
        pattern(r"(?u)\d", ascii=True)


@pytest.mark.parametrize(
    ("regex", "options"),
    [
        (b"a", {}),
        (re.compile(b"a"), {}),
        (7, {}),
        (None, {}),
        (includes("a"), {}),
        ("a", {"full": 1}),
        ("a", {"ascii": "yes"}),
        ("a", {"groups": ["a"]}),
        ("a", {"groups": {True: "a"}}),
        ("a", {"groups": {1.0: "a"}}),
        ("(a)", {"groups": {1: similarity("a")}}),
        ("a", {"budget": "1"}),
        ("a", {"budget": True}),
    ],
)
def test_an_argument_of_the_wrong_type_is_refused(regex: Any, options: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=r"pattern\(\)"):
        pattern(regex, **options)


@pytest.mark.parametrize("budget", [0, -1, math.nan, math.inf])
def test_a_budget_that_is_none_is_refused(budget: float) -> None:
    with pytest.raises(ValueError, match="budget"):
        pattern("a", budget=budget)


@pytest.mark.parametrize("group", [2, -1, "unit", "1"])
def test_an_unknown_group_is_refused_with_those_there_are(group: str | int) -> None:
    with pytest.raises(ValueError, match=re.escape("there are 0, 1, 'total'")):
        pattern(r"(?P<total>\d+)", groups={group: "1"})


def test_empty_groups_check_nothing_and_are_refused() -> None:
    with pytest.raises(ValueError, match="checks nothing"):
        pattern("(a)", groups={})


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ({1: "42"}, "matched"),
        ({"unit": "EUR"}, "matched"),
        ({2: "EUR", "unit": one_of(["EUR", "USD"])}, "matched"),
        ({0: "total 42 EUR"}, "matched"),
        ({0: pattern("tot"), 1: pattern(r"\d\d", full=True)}, "matched"),
        ({3: None}, "matched"),
        ({1: 42}, "mismatched"),
        ({1: "42", "unit": "USD"}, "mismatched"),
        ({3: "!"}, "mismatched"),
    ],
)
def test_what_was_captured_is_checked_by_number_or_name(groups: dict[str | int, object], expected: str) -> None:
    match = pattern(r"total (\d+) (?P<unit>[A-Z]+)(!)?", groups=groups)
    assert match.evaluate("the total 42 EUR is due").outcome == expected
    assert (~match).evaluate("the total 42 EUR is due").outcome != expected
    assert match.evaluate("nothing").outcome == "mismatched"


def test_every_group_is_evaluated_and_the_deciding_ones_are_named() -> None:
    match = pattern(r"(\d+) (\w+)", groups={1: "7", 2: "EUR", 0: includes("42")})
    diagnostic = match.evaluate("42 GBP").diagnostic
    assert diagnostic.code == "group"
    assert diagnostic.message == "matched at index 0 to 6, but group 1, 2 mismatched"
    assert [child.message for child in diagnostic.children] == ["group 1", "group 2", "group 0"]
    assert [child.received for child in diagnostic.children] == ["42", "GBP", "42 GBP"]


def test_a_group_that_a_match_cannot_speak_about_carries_the_type_up() -> None:
    match = pattern(r"a(b)?", groups={1: includes("b")})
    assert match.evaluate("a").code == "type"
    assert (~match).evaluate("a").outcome == "mismatched"
    decided = pattern(r"(a)(b)?", groups={1: "x", 2: includes("b")})
    assert decided.evaluate("a").code == "group"
    assert (~decided).evaluate("a").outcome == "matched"


def test_a_group_whose_match_breaks_is_errored_unless_another_one_decides() -> None:
    broken = pattern(BLOWS_UP, budget=0.005)
    assert pattern("(a+!)", groups={1: broken}).evaluate(LONG).outcome == "errored"
    assert pattern("(a+!)", groups={1: broken, 0: "other"}).evaluate(LONG).outcome == "mismatched"


def test_native_digits_are_captured_and_kept_unchanged_in_the_evidence() -> None:
    evaluation = pattern(r"(\d+)").evaluate(ARABIC_42)
    assert evaluation.outcome == "matched"
    assert evaluation.diagnostic.received == {"0": "\u0664\u0662", "1": "\u0664\u0662"}
    assert pattern(r"(\d+)", groups={1: "\u0664\u0662"}).evaluate(ARABIC_42).outcome == "matched"
    assert pattern(r"(\d+)", groups={1: "42"}).evaluate(ARABIC_42).outcome == "mismatched"


@pytest.mark.parametrize("reply", ["\u00b2", "\u00bd"])
def test_superscripts_and_fractions_are_no_decimal_digits_and_raise_nothing(reply: str) -> None:
    assert outcome(r"\d", reply) == "mismatched"
    assert pattern(r"(\w)", groups={1: between(0, 9)}).evaluate(reply).code == "type"


@pytest.mark.parametrize(
    ("regex", "options", "text", "hint"),
    [
        (r"\d{4}", {"full": True}, "in 2026!", "without full=True it would match, at index 3: '2026'"),
        ("refund", {}, "A Refund", "it would match with (?i), at index 2: 'Refund'"),
        (r"\d+", {"ascii": True}, ARABIC_42, "without ascii=True, at index 8: '\u0664\u0662' (U+0664 U+0662)"),
        ("caf\u00e9", {}, "cafe\u0301", "in NFC (U+0301)"),
        ("[0-9]+", {}, "\uff14\uff12", "in NFKC (U+FF14 U+FF12)"),
        ("refund", {}, "re\u200bfund", "without the invisible characters (U+200B)"),
        ("don't", {}, "I don’t", "with plain quotes and dashes (U+2019)"),
        ("pay now", {}, "pay\n now", "if every run of whitespace were one space"),
        ("x", {}, "", "the text is empty"),
        ("x", {}, " \t", "the text is blank: 2 whitespace characters"),
    ],
)
def test_a_near_miss_is_named(regex: str, options: dict[str, Any], text: str, hint: str) -> None:
    diagnostic = pattern(regex, **options).evaluate(text).diagnostic
    assert hint in diagnostic.message
    assert diagnostic.expected == regex


def test_a_mismatch_on_a_huge_reply_is_explained_within_bounds() -> None:
    diagnostic = pattern("needle").evaluate("hay " * 500_000).diagnostic
    assert diagnostic.message == "no part of the text matches (2,000,000 characters)"
    assert len(diagnostic.received) < 300


@pytest.mark.parametrize("negated", [False, True])
def test_catastrophic_backtracking_ends_as_errored_within_its_budget(negated: bool) -> None:
    match = pattern(BLOWS_UP, budget=0.02)
    evaluation = (~match if negated else match).evaluate(LONG)
    assert evaluation.outcome == "errored"
    assert evaluation.reason == "pattern exceeded its time budget"
    assert evaluation.code == "budget"


@pytest.mark.parametrize("size", [40, 400])
def test_the_reported_runaway_expression_is_simply_answered(size: int) -> None:
    match = pattern(r"^(\w+\s?)*$")
    assert match.evaluate("a" * size + "!").outcome == "mismatched"
    assert (~match).evaluate("a" * size + "!").outcome == "matched"
    assert match.evaluate("two words").outcome == "matched"


def test_other_threads_run_while_an_expression_backtracks() -> None:
    # The other thread is let go only once the search is on its way, and ends it by nothing but its own progress: with
    # the interpreter lock held it would not run before the search has ended, and would find `ended` set.
    ready, ended, progress = threading.Event(), threading.Event(), []

    def work() -> None:
        ready.wait()
        for step in range(1_000):
            if ended.is_set():
                break
            progress.append(step)

    worker = threading.Thread(target=work)
    worker.start()
    match = pattern(BLOWS_UP, budget=0.3)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(100.0)
    try:
        ready.set()
        evaluation = match.evaluate(LONG)
        ended.set()
    finally:
        sys.setswitchinterval(interval)
    worker.join()
    assert evaluation.outcome == "errored"
    assert len(progress) == 1_000


@pytest.mark.parametrize(
    ("compiled", "same"),
    [
        (re.compile("a"), "a"),
        (re.compile("a", re.IGNORECASE), "(?i)a"),
        (re.compile("(?i)a"), "(?i)a"),
        (re.compile("(?i)a", re.MULTILINE | re.DOTALL), "(?ms)(?i)a"),
        (re.compile("a b # ( not a group", re.VERBOSE), "(?x)a b # ( not a group"),
        (re.compile(r"\d", re.ASCII), r"(?a)\d"),
    ],
)
def test_a_compiled_expression_keeps_its_flags(compiled: "re.Pattern[str]", same: str) -> None:
    match = pattern(compiled)
    assert match == pattern(same)
    assert match.spec() == {"match": "pattern", "regex": same}
    assert from_spec(match.spec()) == match
    for text in ("a", "A", "ab", "\u0664", "4"):
        assert (match.evaluate(text).outcome == "matched") == bool(compiled.search(text))


def test_the_spec_holds_every_argument_and_none_at_its_default() -> None:
    match = pattern(r"(?P<n>\d)", full=True, ascii=True, groups={"n": "4", 0: pattern("4")}, budget=0.5)
    assert match.spec() == {
        "match": "pattern",
        "regex": r"(?P<n>\d)",
        "full": True,
        "ascii": True,
        "groups": [
            ["n", {"$": "match", "match": "equals", "value": "4"}],
            [0, {"$": "match", "match": "pattern", "regex": "4"}],
        ],
        "budget": 0.5,
    }
    assert from_spec(match.spec()) == match
    assert repr(match) == (
        r"pattern('(?P<n>\\d)', full=True, ascii=True, groups={'n': '4', 0: pattern('4')}, budget=0.5)"
    )
    assert pattern("a", budget=0.1) == pattern("a")
    assert pattern("a", full=True) != pattern("a")


def test_later_changes_to_the_groups_do_not_leak_in() -> None:
    groups: dict[str | int, object] = {1: ["x"]}
    match = pattern("(a)", groups=groups)
    before = match.fingerprint
    groups[1] = "a"
    assert match.fingerprint == before
    assert match.evaluate("a").outcome == "mismatched"


def test_a_thousand_characters_of_every_kind_are_searched_without_an_exception() -> None:
    text = "".join(chr(code) for code in range(0, sys.maxunicode, 1_117))
    for match in (pattern(r"\b\w+\b"), pattern(r"(?i)[^\W_]+x"), ~pattern(r"\s{5}"), excludes("needle")):
        assert match.evaluate(text).outcome in ("matched", "mismatched")
