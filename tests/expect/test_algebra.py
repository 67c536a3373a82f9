"""all_of, any_of, not_ and their operators: the laws of the three-valued algebra."""

import json
import re
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from niceeval_expect import (
    Absent,
    BooleanMatch,
    Diagnostic,
    Evaluation,
    EventMatch,
    ParsingMatch,
    ToolMatch,
    ValueMatch,
    all_of,
    any_of,
    at,
    equals,
    event_match,
    excludes,
    from_spec,
    includes,
    is_defined,
    is_true,
    json_text,
    length,
    not_,
    pattern,
    satisfies,
    similarity,
    tool_match,
)


def breaks(_: object) -> bool:
    raise LookupError("no such row")


SUBJECT = {"here": 1, "gone": Absent("never reported")}

# One match for everything that can be said of the subject; "type" is a mismatch that its denial shares.
ATOMS: dict[str, ValueMatch] = {
    "matched": is_defined(),
    "mismatched": is_true(),
    "type": includes("here"),
    "unavailable": at("gone", equals(1)),
    "errored": satisfies("breaks", breaks),
}

Said: TypeAlias = tuple[ValueMatch, str]


def said(match: BooleanMatch) -> str:
    evaluation = match.evaluate(SUBJECT)
    return "type" if evaluation.code == "type" else evaluation.outcome


def conjunction(parts: list[str]) -> str:
    against = [part for part in parts if part in ("mismatched", "type")]
    if against:
        return "type" if set(against) == {"type"} else "mismatched"
    return next((part for part in ("errored", "unavailable") if part in parts), "matched")


def disjunction(parts: list[str]) -> str:
    return next((part for part in ("matched", "errored", "unavailable", "type") if part in parts), "mismatched")


def denial(part: str) -> str:
    return {"matched": "mismatched", "mismatched": "matched"}.get(part, part)


def composed(inner: st.SearchStrategy[Said]) -> st.SearchStrategy[Said]:
    several = st.lists(inner, min_size=1, max_size=4)
    return st.one_of(
        several.map(lambda parts: (all_of(*(m for m, _ in parts)), conjunction([s for _, s in parts]))),
        several.map(lambda parts: (any_of(*(m for m, _ in parts)), disjunction([s for _, s in parts]))),
        inner.map(lambda part: (not_(part[0]), denial(part[1]))),
    )


def trees_of(*names: str) -> st.SearchStrategy[Said]:
    atoms: st.SearchStrategy[Said] = st.sampled_from([(ATOMS[name], name) for name in names])
    return st.recursive(atoms, composed, max_leaves=12)


trees = trees_of(*ATOMS)
matches_ = trees.map(lambda tree: tree[0])


@pytest.mark.parametrize("name", ATOMS)
def test_the_atoms_of_these_laws_say_what_their_name_is(name: str) -> None:
    assert said(ATOMS[name]) == name


@given(trees)
def test_any_composition_says_what_the_table_says(tree: Said) -> None:
    match, expected = tree
    assert said(match) == expected


@given(matches_, matches_)
def test_both_operations_are_commutative_in_outcome(a: ValueMatch, b: ValueMatch) -> None:
    assert said(a & b) == said(b & a)
    assert said(a | b) == said(b | a)


@given(matches_, matches_, matches_)
def test_both_operations_are_associative(a: ValueMatch, b: ValueMatch, c: ValueMatch) -> None:
    assert said((a & b) & c) == said(a & (b & c)) == said(all_of(a, b, c))
    assert said((a | b) | c) == said(a | (b | c)) == said(any_of(a, b, c))
    assert (a & b) & c == a & (b & c) == all_of(a, b, c)
    assert (a | b) | c == a | (b | c) == any_of(a, b, c)


@given(matches_)
def test_a_double_denial_changes_no_outcome(a: ValueMatch) -> None:
    assert said(~~a) == said(a)


@given(matches_)
def test_a_match_with_itself_says_the_same(a: ValueMatch) -> None:
    assert said(a & a) == said(a | a) == said(all_of(a)) == said(any_of(a)) == said(a)


def pairs_of(*names: str) -> st.SearchStrategy[tuple[Said, Said]]:
    return st.tuples(trees_of(*names), trees_of(*names))


# A part that cannot speak about the subject decides a conjunction against what is unknown, and its denial does not turn
# it over; so that the two laws are about the one or the other.
@given(pairs_of("matched", "mismatched", "unavailable", "errored") | pairs_of("matched", "mismatched", "type"))
def test_de_morgan_holds_with_what_is_unknown_and_what_broke(pair: tuple[Said, Said]) -> None:
    (a, _), (b, _) = pair
    assert said(~(a & b)) == said(~a | ~b)
    assert said(~(a | b)) == said(~a & ~b)


def test_a_part_that_cannot_speak_decides_a_conjunction_and_its_denial() -> None:
    both = ATOMS["type"] & ATOMS["unavailable"]
    assert said(both) == said(~both) == "type"
    assert said(ATOMS["type"] & ATOMS["mismatched"]) == "mismatched"
    assert said(~(ATOMS["type"] & ATOMS["mismatched"])) == "matched"
    assert said(ATOMS["type"] | ATOMS["mismatched"]) == said(~(ATOMS["type"] | ATOMS["mismatched"])) == "type"
    assert said(ATOMS["type"] | ATOMS["unavailable"]) == "unavailable"


@given(matches_)
def test_a_definite_answer_is_decisive_whatever_else_is_unknown(a: ValueMatch) -> None:
    assert (a & ATOMS["mismatched"]).evaluate(SUBJECT).outcome == "mismatched"
    assert (a | ATOMS["matched"]).evaluate(SUBJECT).outcome == "matched"


@given(matches_)
def test_a_missing_subject_is_unavailable_whatever_is_asked(a: ValueMatch) -> None:
    evaluation = a.evaluate(Absent("no reply"))
    assert (evaluation.outcome, evaluation.reason) == ("unavailable", "no reply")


@given(matches_)
def test_a_composition_survives_its_spec_unless_it_holds_code(a: ValueMatch) -> None:
    if "breaks" in repr(a):
        with pytest.raises(ValueError, match=r"holds code .*breaks"):
            from_spec(a.spec())
    else:
        assert from_spec(a.spec()) == a
        assert repr(from_spec(a.spec())) == repr(a)


@pytest.mark.parametrize("build", [all_of, any_of])
def test_every_part_is_evaluated_and_shown_in_declaration_order(build: Callable[..., ValueMatch]) -> None:
    asked: list[str] = []

    def asks(name: str, answer: bool) -> ValueMatch:
        def predicate(_: object) -> bool:
            asked.append(name)
            if name == "broken":
                raise LookupError(name)
            return answer

        return satisfies(name, predicate)

    match = build(asks("yes", True), asks("no", False), asks("broken", True), asks("last", True))
    evaluation = match.evaluate(1)
    assert asked == ["yes", "no", "broken", "last"]
    assert [child.code for child in evaluation.diagnostic.children] == ["matched", "predicate", "error", "matched"]
    assert evaluation.examined == 4
    assert evaluation.outcome == ("mismatched" if build is all_of else "matched")


def test_the_reason_of_what_decides_is_kept() -> None:
    assert (is_defined() & ATOMS["unavailable"]).evaluate(SUBJECT).reason == "never reported"
    broken = (ATOMS["unavailable"] & ATOMS["errored"]).evaluate(SUBJECT)
    assert broken.reason == "'breaks' raised LookupError: no such row"
    assert "raise LookupError" in (nodes(broken)[2].traceback or "")


def nodes(evaluation: Evaluation) -> list[Diagnostic]:
    found, stack = [], [evaluation.diagnostic]
    while stack:
        node = stack.pop()
        found.append(node)
        stack.extend(reversed(node.children))
    return found


@pytest.mark.parametrize("position", [0, 100, 199])
def test_a_diagnostic_is_bounded_and_keeps_the_deciding_part_wherever_it_is(position: int) -> None:
    parts: list[ValueMatch] = [is_defined()] * 200
    parts[position] = equals("the witness")
    evaluation = all_of(*parts).evaluate(1)
    assert evaluation.outcome == "mismatched"
    assert len(nodes(evaluation)) <= 64
    assert evaluation.diagnostic.truncated
    assert [node.expected for node in nodes(evaluation) if node.expected is not None] == ["the witness"]


def test_operators_flatten_but_never_reorder() -> None:
    a, b, c = includes("a"), excludes("b"), pattern("c")
    assert repr(a & b & c) == "all_of(includes('a'), excludes('b'), pattern('c'))"
    assert repr(c | (b | a)) == "any_of(pattern('c'), excludes('b'), includes('a'))"
    assert repr(a & (b | c)) == "all_of(includes('a'), any_of(excludes('b'), pattern('c')))"
    assert repr(~a) == "not_(includes('a'))"
    assert a & b != b & a


LOOKUP = tool_match("lookup")
SPOKE = event_match("message")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (equals(1), LOOKUP),
        (LOOKUP, equals(1)),
        (equals(1), SPOKE),
        (SPOKE, LOOKUP),
        (~LOOKUP, equals(1)),
        (equals(1) | equals(2), SPOKE),
    ],
)
def test_matches_of_different_domains_do_not_compose(one: Any, other: Any) -> None:
    composers: list[Callable[[], object]] = [
        lambda: one & other,
        lambda: one | other,
        lambda: all_of(one, other),
        lambda: any_of(one, other),
    ]
    for compose in composers:
        with pytest.raises(TypeError, match=r"mixes a \w+ match with a \w+ match"):
            compose()


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("plain", "wrap a plain value in equals"),
        (None, "wrap a plain value in equals"),
        (similarity("x"), r"give it a threshold"),
        (LOOKUP.exactly(1), "counted tool match"),
    ],
)
def test_what_is_no_boolean_match_does_not_compose(value: Any, hint: str) -> None:
    composers: list[Callable[[], object]] = [
        lambda: all_of(is_true(), value),
        lambda: any_of(value),
        lambda: not_(value),
    ]
    for compose in composers:
        with pytest.raises(TypeError, match=hint):
            compose()
    with pytest.raises(TypeError):
        is_true() & value


@pytest.mark.parametrize("build", [all_of, any_of])
def test_a_composition_of_nothing_is_refused(build: Callable[..., ValueMatch]) -> None:
    with pytest.raises(ValueError, match="at least one match"):
        build()


def test_a_composition_stays_in_its_domain() -> None:
    assert isinstance(LOOKUP | tool_match("search"), ToolMatch)
    assert isinstance(any_of(SPOKE, event_match("error")), EventMatch)
    assert isinstance(~(is_true() & is_defined()), ValueMatch)
    assert repr(any_of(LOOKUP, tool_match("search")).exactly(2)).endswith(".exactly(2)")


@pytest.mark.parametrize(
    "match", [includes("a"), ~includes("a"), includes("a") & includes("b"), similarity("a"), LOOKUP, SPOKE], ids=repr
)
def test_a_match_has_no_truth_value_and_says_what_to_write(match: Any) -> None:
    uses: list[Callable[[], object]] = [
        lambda: bool(match),
        lambda: match and is_true(),
        lambda: match or is_true(),
        lambda: not match,
    ]
    for use in uses:
        with pytest.raises(TypeError, match=re.escape("Compose with & | ~ (or all_of, any_of, not_)")):
            use()


def test_a_threshold_composes_like_a_boolean() -> None:
    near = similarity("colour").at_least(0.8)
    assert (near & excludes("!")).evaluate("color").outcome == "matched"
    assert (~near).evaluate("color").outcome == "mismatched"
    assert (near | equals("x")).evaluate("x").outcome == "matched"
    assert (~near).evaluate(7).outcome == "errored"


def test_a_conjunction_yields_the_value_that_was_parsed() -> None:
    match = json_text(at("id", equals(7))) & length(at_most=20)
    assert isinstance(match, ParsingMatch)
    assert match.evaluate('{"id": 7}').product == {"id": 7}
    assert isinstance(all_of(length(at_most=20), json_text()), ParsingMatch)
    assert not isinstance(json_text() | length(at_most=20), ParsingMatch)
    assert not isinstance(~json_text(), ParsingMatch)


@pytest.mark.parametrize("text", ["null", "0", "false", '""', "[]"])
def test_a_falsy_parsed_value_is_yielded_as_it_is(text: str) -> None:
    evaluation = (json_text() & length(at_most=9)).evaluate(text)
    assert evaluation.outcome == "matched"
    assert type(evaluation.product) is type(json.loads(text))
    assert evaluation.product == json.loads(text)
    assert json_text().evaluate(text).product == json.loads(text)
