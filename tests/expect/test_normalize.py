"""normalized: every rule, by its own two pairs."""

import itertools
from typing import Any

import pytest

from niceeval_expect import TEXT_RULES, Absent, TextRule, normalized


@pytest.mark.parametrize("rule", TEXT_RULES.values(), ids=TEXT_RULES)
def test_the_documented_pair_of_a_rule_becomes_equal_by_it_and_by_it_alone(rule: TextRule) -> None:
    one, other = rule.equal
    for expected, received in ((one, other), (other, one)):
        assert normalized(expected, rules=[rule]).evaluate(received).outcome == "matched"
        assert expected != received


@pytest.mark.parametrize("rule", TEXT_RULES.values(), ids=TEXT_RULES)
def test_the_other_documented_pair_stays_different(rule: TextRule) -> None:
    one, other = rule.different
    assert normalized(one, rules=[rule.name]).evaluate(other).outcome == "mismatched"
    assert normalized(other, rules=[rule.name]).evaluate(one).outcome == "mismatched"


@pytest.mark.parametrize("rule", TEXT_RULES.values(), ids=TEXT_RULES)
def test_a_rule_applied_twice_does_no_more_than_once(rule: TextRule) -> None:
    for text in (*rule.equal, *rule.different, " The  Billing Dept.. ", "5 kg.", "", " "):
        assert rule.apply(rule.apply(text)) == rule.apply(text)


@pytest.mark.parametrize(
    ("expected", "rules", "received", "outcome"),
    [
        ("billing", ["case", "whitespace", "trailing_punctuation"], "Billing.", "matched"),
        ("billing", ["trailing_punctuation"], "billing. ", "mismatched"),
        ("billing", ["trailing_punctuation", "whitespace"], "billing. ", "matched"),
        ("A-2231", list(TEXT_RULES), "A-22-31", "mismatched"),
        ("A-2231", list(TEXT_RULES), "A 2231", "mismatched"),
        ("3.5", list(TEXT_RULES), "35", "mismatched"),
        ("-5", list(TEXT_RULES), "5", "mismatched"),
        ("(5)", ["trailing_punctuation"], "(5", "mismatched"),
        ("100%", ["trailing_punctuation"], "100", "mismatched"),
        ("the team", ["articles"], "a team", "matched"),
        ("team", ["articles"], "The team", "matched"),
        ("A 22", ["articles"], "22", "mismatched"),
        ("a-team", ["articles"], "team", "mismatched"),
        ("other", ["articles"], "another", "mismatched"),
        ("vitamin a", ["articles"], "vitamin", "mismatched"),
        ("5 Hours", ["units"], "5h", "matched"),
        ("5 m", ["units"], "5 min", "mismatched"),
        ("5 m", ["units"], "5 M", "mismatched"),
        ("5 metric tons", ["units"], "5m", "mismatched"),
        ("1 hour", ["units"], "60 minutes", "mismatched"),
        ("5 €", ["units"], "5 EUR", "matched"),
        ("5 %", ["units"], "5 percent", "matched"),
        ("kg", ["units"], "kilograms", "mismatched"),
    ],
)
def test_only_what_the_rules_name_is_set_aside(expected: str, rules: Any, received: str, outcome: str) -> None:
    assert normalized(expected, rules=rules).evaluate(received).outcome == outcome


def test_the_diagnostic_shows_both_sides_after_each_rule() -> None:
    evaluation = normalized("Billing", rules=["case", "trailing_punctuation"]).evaluate("BILLIN'.")
    assert evaluation.diagnostic.message.startswith("differs after case, trailing_punctuation: expected 'billing'")
    assert [(child.message, child.expected, child.received) for child in evaluation.diagnostic.children] == [
        ("after case: 'billing' and \"billin'.\"", "billing", "billin'."),
        ("after trailing_punctuation: 'billing' and \"billin'\"", "billing", "billin'"),
    ]


def test_a_match_names_the_rules_that_changed_the_text() -> None:
    match = normalized("billing", rules=["case", "whitespace", "trailing_punctuation"])
    assert match.evaluate("billing").diagnostic.message == ""
    assert match.evaluate("BILLING").diagnostic.message == "equal after case"
    assert match.evaluate(" Billing!").diagnostic.message == "equal after case, whitespace, trailing_punctuation"
    assert normalized("Billing", rules=["case"]).evaluate("billing").diagnostic.message == "equal after case"


def test_a_blank_reply_is_named_as_blank() -> None:
    assert (
        normalized("x", rules=["case"]).evaluate(" ").diagnostic.message == "the text is blank: 1 whitespace characters"
    )


@pytest.mark.parametrize("subject", [None, 7, ["x"], b"x"])
def test_what_is_not_text_mismatches_by_type_in_both_polarities(subject: object) -> None:
    match = normalized("x", rules=["case"])
    assert match.evaluate(subject).code == (~match).evaluate(subject).code == "type"
    assert match.evaluate(Absent("no reply")).outcome == "unavailable"


@pytest.mark.parametrize(
    ("expected", "rules", "hint"),
    [
        ("x", "case", "as a list"),
        ("x", [], "no rules"),
        ("x", ["cases"], "knows no rule 'cases'; there are case, whitespace"),
        ("x", [7], "knows no rule 7"),
        ("x", ["case", "case"], "twice"),
        ("", ["case"], "blank"),
        ("...", ["trailing_punctuation"], "blank after the rules"),
        (7, ["case"], "takes the text to equal"),
    ],
)
def test_a_bad_argument_is_refused(expected: Any, rules: Any, hint: str) -> None:
    with pytest.raises((TypeError, ValueError), match=hint):
        normalized(expected, rules=rules)


def test_rules_apply_in_the_order_given() -> None:
    names: list[Any] = ["case", "articles"]
    for rules in itertools.permutations(names):
        assert normalized("The Team", rules=rules).evaluate("team").outcome == "matched"
    assert normalized("a", rules=["trailing_punctuation", "whitespace"]) != normalized(
        "a", rules=["whitespace", "trailing_punctuation"]
    )
