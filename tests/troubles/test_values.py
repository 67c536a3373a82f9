"""Values that compare wrongly elsewhere: the same answer live and from what was stored."""

import math
from collections.abc import Awaitable, Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

import pydantic
import pytest

from niceeval import AttemptResult, EvalContext, ToolCall
from niceeval_expect import (
    Evaluation,
    Match,
    ValueMatch,
    absent,
    at,
    define_score_match,
    equals,
    from_spec,
    has_keys,
    includes,
    is_defined,
    is_true,
    json_match,
    json_text,
    matches,
    non_empty,
    not_,
    one_of,
    pattern,
    similarity,
    tool_match,
)

pytestmark = pytest.mark.anyio
Recorded = Callable[..., Awaitable[AttemptResult]]

NAN = float("nan")
ARABIC = "\u0664\u0662"
NESTED = {"ok": True, "flags": [False, {"x": 1}]}
NUMBERED = {"ok": 1, "flags": [0, {"x": True}]}
FALSY: list[object] = [False, 0, "", [], {}]
UNIT = {"type": "object", "properties": {"p": {"type": "number", "minimum": 0, "maximum": 1}}}

CASES: list[tuple[ValueMatch, object, str]] = [
    # digits and letters of other scripts
    (equals(ARABIC), "42", "mismatched"),
    (equals("42"), ARABIC, "mismatched"),
    (equals("42"), "４２", "mismatched"),
    (equals("é"), "e\u0301", "mismatched"),
    (equals("done"), "done\u200b", "mismatched"),
    (pattern(r"(\d+)", groups={1: ARABIC}), f"المجموع {ARABIC}", "matched"),
    (pattern(r"(\d+)", groups={1: "42"}), f"المجموع {ARABIC}", "mismatched"),
    (pattern(r"(\d+)", ascii=True), f"المجموع {ARABIC}", "mismatched"),
    (pattern(r"\d"), "²", "mismatched"),
    (pattern(r"\d"), "½", "mismatched"),
    # numbers that are not finite, and zeros
    (equals({"v": [NAN]}), {"v": [NAN]}, "matched"),
    (equals({"v": [NAN]}), {"v": [float("nan")]}, "matched"),
    (equals({"v": [Decimal("NaN")]}), {"v": [NAN]}, "matched"),
    (one_of([1, NAN]), float("-nan"), "matched"),
    (json_match({"v": [NAN]}), {"v": [float("nan")], "w": 1}, "matched"),
    (equals({"v": 0.0}), {"v": -0.0}, "matched"),
    (equals(math.inf), -math.inf, "mismatched"),
    (equals(math.inf), 10**400, "mismatched"),
    (matches(UNIT), {"p": NAN}, "mismatched"),
    (matches(UNIT), {"p": math.inf}, "mismatched"),
    (matches(UNIT), {"p": 0.5}, "matched"),
    # truth values are no numbers
    (equals(NESTED), NUMBERED, "mismatched"),
    (equals(NUMBERED), NESTED, "mismatched"),
    (json_match(NESTED), NUMBERED, "mismatched"),
    (matches({"enum": [[False]]}), [0], "mismatched"),
    (matches({"const": {"a": 1}}), {"a": True}, "mismatched"),
    (matches({"type": "integer"}), True, "mismatched"),
    (matches({"uniqueItems": True}), [1, True], "matched"),
    (one_of([0, 1]), True, "mismatched"),
    (is_true(), 1, "mismatched"),
    # numbers by value, text never
    (equals(89.0), 89, "matched"),
    (equals(89.0), Decimal("89.00"), "matched"),
    (equals(89.0), "89", "mismatched"),
    (equals(89.0), "eighty-nine", "mismatched"),
    (equals(0.1), Decimal("0.1"), "matched"),
    (equals(0.1), Decimal.from_float(0.1), "mismatched"),
    (equals(2**53 + 1), float(2**53), "mismatched"),
    (equals([10**5_000]), [10**5_000], "matched"),
    # absent and null
    (equals({"name": "Ana"}), {"name": "Ana", "note": None}, "mismatched"),
    (json_match({"name": "Ana"}), {"name": "Ana", "note": None}, "matched"),
    (equals([1, 2]), [1, 2, None], "mismatched"),
    (equals([{}]), [{"a": None}], "mismatched"),
    (json_match({"note": None}), {"name": "Ana"}, "mismatched"),
    (at("note", absent()), {"name": "Ana"}, "matched"),
    (at("note", absent()), {"name": "Ana", "note": None}, "mismatched"),
    (at("note", None), {"name": "Ana"}, "mismatched"),
    (at("note", None), {"name": "Ana", "note": None}, "matched"),
    (has_keys("note"), {"note": None}, "matched"),
    # falsy values are values
    *[(equals(value), value, "matched") for value in (*FALSY, None, 0.0, b"", ())],
    *[(is_defined(), value, "matched") for value in FALSY],
    (equals(False), 0, "mismatched"),
    (equals(0), False, "mismatched"),
    (equals(""), None, "mismatched"),
    (equals([]), {}, "mismatched"),
    (non_empty(), "", "mismatched"),
    (similarity("").at_least(1), "", "matched"),
    (similarity("x").at_most(0), "", "matched"),
    (similarity("").at_most(0), "x", "matched"),
    # what is no JSON
    *[
        (json_text(), text, "mismatched")
        for text in ('{"p": NaN}', '{"p": 1e999}', '{"a":1,}', "{'a': 1}", '{"a":1}\n{"b":2}', '\ufeff{"a":1}', "", " ")
    ],
]


@pytest.mark.parametrize(("match", "subject", "outcome"), CASES)
async def test_the_answer_is_the_same_live_and_from_what_was_stored(
    match: ValueMatch, subject: object, outcome: str, recorded: Recorded
) -> None:
    async def body(t: EvalContext) -> None:
        t.check(subject, match).key("asked")
        t.check(subject, not_(match)).key("denied")

    result = await recorded(body)
    asked, denied = result.assertions
    assert asked.evaluation.outcome == outcome
    assert denied.evaluation.outcome == ("matched" if outcome == "mismatched" else "mismatched")
    for entry in (asked, denied):
        assert entry.rederivable == "yes"
        again = from_spec(entry.match)
        assert isinstance(again, ValueMatch)
        assert again.fingerprint == entry.fingerprint
        evaluation = again.evaluate(entry.subject.value())
        assert (evaluation.outcome, evaluation.code, evaluation.examined, places(evaluation)) == (
            entry.evaluation.outcome,
            entry.evaluation.code,
            entry.evaluation.examined,
            places(entry.evaluation),
        )


def places(evaluation: Evaluation) -> set[str]:
    return {child.pointer for child in evaluation.diagnostic.children}


def test_the_places_that_differ_are_named() -> None:
    found = equals(NESTED).evaluate(NUMBERED).diagnostic
    assert [child.pointer for child in found.children] == ["/ok", "/flags/0", "/flags/1/x"]


@pytest.mark.parametrize(
    ("text", "named"),
    [("", "an empty text"), ("  \n", "a blank text"), ("\u00a0", "a blank text"), ("no", "got 'no'")],
)
def test_a_blank_reply_is_named_as_blank(text: str, named: str) -> None:
    assert named in equals("yes").evaluate(text).diagnostic.message


@pytest.mark.parametrize(
    ("price", "outcome"),
    [
        (89, "matched"),
        (Decimal("89"), "matched"),
        ("89", "mismatched"),
        ("eighty-nine", "mismatched"),
        (True, "mismatched"),
        (None, "mismatched"),
    ],
)
def test_the_arguments_of_a_call_compare_like_any_value(price: object, outcome: str) -> None:
    call = ToolCall("book", {"price": price})
    for wanted in ({"price": 89.0}, json_match({"price": 89.0}), at("price", 89.0)):
        evaluation = tool_match("book", input=wanted).evaluate(call)
        assert evaluation.outcome == outcome
        if price == "89":
            assert "(str)" in str(evaluation)


@pytest.mark.parametrize(
    "measured", [NAN, math.inf, -math.inf, -0.001, 1.001, True, "0.5", None, Decimal("NaN"), 2, 1j]
)
async def test_a_measurement_that_is_none_is_an_error_to_every_threshold(measured: Any, recorded: Recorded) -> None:
    measure = define_score_match(lambda _: measured, name="measured")()

    async def body(t: EvalContext) -> None:
        t.check("a", measure.at_least(0.5)).gate()
        t.check("a", measure.at_most(0.5)).gate()
        t.check("a", ~measure.at_least(0)).gate()

    result = await recorded(body)
    assert result.verdict == "errored"
    assert {item.evaluation.outcome for item in result.assertions} == {"errored"}
    assert all(item.reason for item in result.assertions)


@pytest.mark.parametrize("measured", [0, 1, 0.5, Fraction(1, 2), Decimal("0.5")])
def test_any_real_number_on_the_scale_is_a_measurement(measured: Any) -> None:
    measure = define_score_match(lambda _: measured, name="measured")()
    assert measure.at_least(0).evaluate("a").outcome == "matched"


class Order(pydantic.BaseModel):
    qty: int
    gift: bool


class Lax(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=False)
    qty: int = pydantic.Field(strict=False)
    gift: bool


@pytest.mark.parametrize("model", [Order, Lax])
@pytest.mark.parametrize(
    ("subject", "field"),
    [
        ({"qty": "5", "gift": "no"}, "/qty"),
        ({"qty": 5.0, "gift": 1}, "/qty"),
        ({"qty": True, "gift": False}, "/qty"),
        ({"qty": 5, "gift": 0}, "/gift"),
        ({"qty": 5, "gift": "false"}, "/gift"),
        ({"qty": 5, "gift": False, "evil": 1}, None),
        ({"qty": 5, "gift": False}, None),
    ],
)
async def test_a_model_is_strict_and_names_the_field_and_its_value(
    model: type[pydantic.BaseModel], subject: dict[str, Any], field: str | None, recorded: Recorded
) -> None:
    async def body(t: EvalContext) -> None:
        t.check(subject, matches(model))
        t.check(subject, not_(matches(model)))
        t.check([Order.model_construct(**subject)], matches(list[Order]))

    result = await recorded(body)
    asked, denied, instance = result.assertions
    wanted = "matched" if field is None else "mismatched"
    assert [asked.evaluation.outcome, instance.evaluation.outcome] == [wanted, wanted]
    assert denied.evaluation.outcome == ("mismatched" if field is None else "matched")
    assert asked.subject.value() == subject
    if field is not None:
        node = asked.evaluation.diagnostic
        part = node.children[0] if node.children else node
        assert (part.pointer, part.received) == (field, subject[field[1:]])


@pytest.mark.parametrize(
    ("annotation", "subject"),
    [
        (Literal[1], True),
        (Literal[True], 1),
        (list[Literal[0, 1]], [False]),
        (int | None, False),
        (dict[str, int], {"a": True}),
    ],
)
def test_a_literal_is_strict_too(annotation: Any, subject: object) -> None:
    match: Match = matches(annotation)
    assert isinstance(match, ValueMatch)
    assert match.evaluate(subject).outcome == "mismatched"


def test_substrings_of_digits_are_substrings() -> None:
    assert includes("7").evaluate("The total is 17.").outcome == "matched"
