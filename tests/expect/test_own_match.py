"""Matches that an author subclasses: built-in ones in all but name."""

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from niceeval import EvalContext, define_eval, run_eval
from niceeval_expect import (
    Absent,
    Evaluation,
    Match,
    all_of,
    any_of,
    at,
    define_value_match,
    equals,
    from_spec,
    includes,
    json_match,
    pattern,
    register_match,
    satisfies,
)
from niceeval_expect import custom as custom_module

pytestmark = pytest.mark.anyio

OTHER_MODULE: dict[str, Any] = runpy.run_path(str(Path(__file__).with_name("own_matches.py")))
Broken, check_digit, fill, first_line = (OTHER_MODULE[name] for name in ("Broken", "check_digit", "fill", "first_line"))
any_register: Any = register_match
ISBN = check_digit(weights=[10, 9, 8, 7, 6, 5, 4, 3, 2, 1])
GOOD, BAD = "3-16-148410-0"[:12] + "0", "3-16-148410-1"

OWN: list[Match] = [
    ISBN,
    first_line(includes("done")),
    first_line(first_line(pattern("x") & ~ISBN)),
    fill(10),
    fill(10).at_least(0.5),
    all_of(ISBN, includes("3")),
    json_match({"isbn": ISBN, "note": first_line(equals("a"))}),
]


@pytest.mark.parametrize("match", OWN, ids=repr)
def test_it_is_data_like_a_built_in_one(match: Match) -> None:
    rebuilt = from_spec(json.loads(json.dumps(match.spec(), allow_nan=False)))
    assert (rebuilt, repr(rebuilt), hash(rebuilt)) == (match, repr(match), hash(match))
    assert not hasattr(match, "__dict__")
    with pytest.raises(TypeError, match="a match has no truth value"):
        bool(match)


def test_it_reads_like_the_call_that_made_it() -> None:
    assert repr(check_digit(weights=[1, 2])) == "shop.check_digit(modulus=11, weights=[1, 2])"
    assert repr(first_line(includes("done"))) == "shop.first_line(includes('done'))"
    assert repr(fill(10).at_least(0.5)) == "shop.fill(10).at_least(0.5)"


def test_every_outcome_comes_through() -> None:
    weights = check_digit(weights=[1, 1])
    assert weights.evaluate("56").outcome == "matched"
    assert (weights.evaluate("56").examined, weights.evaluate("57").diagnostic.message) == (2, "12 leaves 1")
    assert weights.evaluate("567").reason == "3 digits for 2 weights"
    for match in (weights, ~weights):
        assert (match.evaluate(56).outcome, match.evaluate(56).code) == ("mismatched", "type")
        assert match.evaluate(Absent("the turn failed")).outcome == "unavailable"
        assert match.evaluate("567").outcome == "unavailable"
    assert (fill(10).evaluate("12345").value, fill(10).at_least(0.6).evaluate("12345").code) == (0.5, "below")
    assert (~weights).evaluate("57").outcome == "matched"


def test_it_composes_at_any_depth_and_reports_below_its_place() -> None:
    match = at("book", json_match({"isbn": any_of(check_digit(weights=[1, 1]), equals("none"))}))
    assert match.evaluate({"book": {"isbn": "56"}}).outcome == "matched"
    evaluation = at("isbn", check_digit(weights=[1, 1])).evaluate({"isbn": "57"})
    assert (evaluation.diagnostic.pointer, evaluation.code) == ("/isbn", "check-digit")


def test_an_argument_that_is_changed_later_does_not_leak_in() -> None:
    weights = [1, 1]
    match = check_digit(weights=weights)
    weights.append(1)
    assert match == check_digit(weights=[1, 1])


@pytest.mark.parametrize(
    ("match", "subject", "reason"),
    [
        (Broken("bool"), "x", "shop.broken returned True, a bool; a match returns an Evaluation"),
        (Broken("nothing"), "x", "shop.broken returned None, a NoneType; a match returns an Evaluation"),
        (Broken("raise"), "x", "shop.broken raised KeyError: 'raise'"),
        (fill(1), "four", "shop.fill raised ValueError: measured() takes a finite number from 0 to 1"),
    ],
)
def test_a_match_that_breaks_is_errored_in_both_polarities(match: Any, subject: str, reason: str) -> None:
    for each in (match, ~match if not hasattr(match, "at_least") else match.at_most(0.5)):
        evaluation = each.evaluate(subject)
        assert (evaluation.outcome, str(evaluation.reason)[: len(reason)]) == ("errored", reason)


async def test_async_author_code_inside_it_is_awaited() -> None:
    async def is_short(line: str) -> bool:
        return len(line) < 5

    evaluation = await first_line(satisfies("is short", is_short)).evaluate_async("abc\na long line")
    assert evaluation.outcome == "matched"


def test_whether_it_reaches_outside_is_what_its_parts_say() -> None:
    assert first_line(equals("a")).reaches_outside
    assert not first_line(includes("a")).reaches_outside
    assert (ISBN.family, fill(1).family, ISBN.reaches_outside) == ("structural", "lexical", False)
    assert define_value_match(lambda text: True)().family == "structural"


async def test_what_a_run_recorded_is_derived_again_from_what_was_stored(tmp_path: Path) -> None:
    @define_eval
    async def books(t: EvalContext) -> None:
        t.check("56", check_digit(weights=[1, 1])).key("good")
        t.check("57", check_digit(weights=[1, 1])).key("bad")
        t.check("done\nnot done", first_line(includes("done") & ~includes("not"))).key("line")
        t.check("12345", fill(10).at_least(0.5)).gate().key("fill")

    run = await run_eval(books, record=tmp_path)
    (attempt,) = run.attempts
    decisions = {assertion.key: assertion.decision for assertion in attempt.assertions}
    assert decisions == {"good": "met", "bad": "unmet", "line": "met", "fill": "met"}
    for assertion in attempt.assertions:
        assert assertion.rederivable == "yes"
        match: Any = from_spec(assertion.match)
        again: Evaluation = match.evaluate(assertion.subject.value())
        assert again.as_document() == assertion.evaluation.as_document()
        assert match.fingerprint == assertion.fingerprint


@pytest.mark.parametrize("name", ["", "sku", "includes", ".", "shop.", ".sku", " . ", None, 7])
def test_a_name_without_a_dot_is_refused_so_that_no_built_in_takes_it(name: Any) -> None:
    with pytest.raises(ValueError, match=r"takes a name with a dot, such as 'shop.sku'"):
        register_match(name, lambda args: ISBN)


def test_a_taken_name_is_refused_and_the_same_source_is_not() -> None:
    def build(args: Any) -> Match:
        return includes("a")

    register_match("shop.taken", build)
    register_match("shop.taken", build)
    with pytest.raises(ValueError, match=re.escape("a match named 'shop.taken' is registered already by")):
        register_match("shop.taken", lambda args: includes("b"))
    with pytest.raises(TypeError, match="takes a function of the arguments, got 'build'"):
        any_register("shop.other", "build")
    assert from_spec({"match": "shop.taken"}) == includes("a")


@pytest.mark.parametrize("value", [True, "0.5", None, float("nan"), -0.1, 1.1])
def test_a_measurement_off_the_scale_is_refused(value: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"measured\(\) takes a"):
        custom_module.measured(value)


def test_a_file_that_is_loaded_a_second_time_registers_again(tmp_path: Path) -> None:
    source = (
        "from niceeval_expect import includes, register_match\n"
        "register_match('shop.reloaded', lambda args: includes('a'))\n"
    )
    file = tmp_path / "checks.py"
    file.write_text(source)
    for name in ("first", "second"):
        exec(compile(source, str(file), "exec"), {"__name__": name})
    assert from_spec({"match": "shop.reloaded"}) == includes("a")
