"""is_instance, field_order, semantic."""

import datetime
from collections import OrderedDict
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pydantic
import pytest

from niceeval_expect import (
    Absent,
    ParsingMatch,
    at,
    between,
    equals,
    field_order,
    from_spec,
    has_keys,
    includes,
    is_instance,
    json_text,
    matches,
    satisfies,
    semantic,
)

pytestmark = pytest.mark.anyio


@dataclass
class Order:
    reasoning: str
    answer: int


class Model(pydantic.BaseModel):
    total_cents: int


@pytest.mark.parametrize(
    ("type", "subject", "outcome"),
    [
        (int, 1, "matched"),
        (int, True, "mismatched"),
        (bool, True, "matched"),
        (bool, 1, "mismatched"),
        (float, 1, "mismatched"),
        (str, "", "matched"),
        (str, b"", "mismatched"),
        (dict, OrderedDict(), "matched"),
        (list, (), "mismatched"),
        (datetime.date, datetime.date(2026, 3, 9), "matched"),
        (datetime.date, datetime.datetime(2026, 3, 9), "mismatched"),
        (datetime.datetime, datetime.datetime(2026, 3, 9), "matched"),
        (Order, Order("", 1), "matched"),
        (Order, {"reasoning": "", "answer": 1}, "mismatched"),
        (type(None), None, "matched"),
    ],
)
def test_an_object_is_of_a_type(type: Any, subject: object, outcome: str) -> None:
    match = is_instance(type)
    assert match.evaluate(subject).outcome == outcome
    assert (~match).evaluate(subject).outcome == {"matched": "mismatched", "mismatched": "matched"}[outcome]


def test_an_absent_object_has_no_type() -> None:
    assert is_instance(int).evaluate(Absent("no data")).outcome == "unavailable"


def test_a_type_of_plain_data_is_rebuilt_and_any_other_is_code() -> None:
    for kind in (int, str, list, dict, bytes, Decimal, datetime.date):
        assert from_spec(is_instance(kind).spec()) == is_instance(kind)
    assert is_instance(int).spec() == {"match": "is_instance", "type": "int"}
    with pytest.raises(ValueError, match="code"):
        from_spec(is_instance(Order).spec())
    with pytest.raises(ValueError, match="no type of plain data is named 'Order'"):
        from_spec({"match": "is_instance", "type": "Order"})
    assert is_instance(Order) != is_instance(Model)


@pytest.mark.parametrize("type", [None, "int", 7, (int, str), int | str, list[int]])
def test_what_is_no_class_is_refused(type: Any) -> None:
    with pytest.raises(TypeError, match=r"is_instance\(\) takes one class"):
        is_instance(type)


@pytest.mark.parametrize(
    ("before", "subject", "outcome", "message"),
    [
        ("answer", {"reasoning": "", "answer": 1}, "matched", ""),
        ("answer", {"id": 0, "reasoning": "", "x": 1, "answer": 1}, "matched", ""),
        ("answer", {"answer": 1, "reasoning": ""}, "mismatched", "'reasoning' comes after 'answer'; the object has"),
        ("answer", {"reasoning": ""}, "mismatched", "'answer' is missing; the object has 'reasoning'"),
        ("answer", {}, "mismatched", "'reasoning', 'answer' are missing; the object is empty"),
        (["answer", "note"], {"note": 1, "reasoning": "", "answer": 1}, "mismatched", "'reasoning' comes after 'note'"),
        (["answer", "note"], {"reasoning": "", "note": 1, "answer": 1}, "matched", ""),
    ],
)
def test_one_field_was_written_before_another(before: Any, subject: object, outcome: str, message: str) -> None:
    evaluation = field_order("reasoning", before=before).evaluate(subject)
    assert evaluation.outcome == outcome
    assert evaluation.diagnostic.message.startswith(message)


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ('{"reasoning": "6 x 7", "answer": 42}', "matched"),
        ('{"answer": 42, "reasoning": "6 x 7"}', "mismatched"),
        ('{"answer": 42', "mismatched"),
    ],
)
def test_the_order_in_json_text_is_that_of_the_parsed_object(text: str, outcome: str) -> None:
    assert json_text(field_order("reasoning", before="answer")).evaluate(text).outcome == outcome


@pytest.mark.parametrize("subject", [Order("", 1), ["reasoning", "answer"], '{"reasoning": 1, "answer": 2}', 7, None])
def test_what_has_no_order_of_its_own_mismatches_by_type_in_both_polarities(subject: object) -> None:
    match = field_order("reasoning", before="answer")
    assert match.evaluate(subject).code == (~match).evaluate(subject).code == "type"
    assert match.evaluate(Absent("no data")).outcome == "unavailable"


@pytest.mark.parametrize(
    ("first", "before"), [("a", []), ("a", "a"), ("a", ["b", "a"]), (7, "a"), ("a", 7), ("a", [7]), ("a", {"b": 1})]
)
def test_bad_fields_are_refused(first: Any, before: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"field_order\(\) takes"):
        field_order(first, before=before)


SCHEMA = matches({"type": "object", "required": ["total_cents"], "properties": {"total_cents": {"type": "integer"}}})
POSITIVE = at("total_cents", between(1, 100_000))


@pytest.mark.parametrize(
    ("subject", "outcome", "code"),
    [
        ({"total_cents": 5}, "matched", "matched"),
        ({"total_cents": 0}, "mismatched", "semantic"),
        ({"total_cents": "0"}, "mismatched", "schema"),
        ({}, "mismatched", "schema"),
        ({"total_cents": None}, "mismatched", "schema"),
    ],
)
def test_failures_of_shape_and_of_meaning_stay_apart(subject: object, outcome: str, code: str) -> None:
    evaluation = semantic(SCHEMA, POSITIVE).evaluate(subject)
    assert (evaluation.outcome, evaluation.code) == (outcome, code)


def test_text_that_does_not_parse_is_a_third_kind() -> None:
    match = semantic(json_text(SCHEMA), POSITIVE)
    codes = [match.evaluate(text).code for text in ('{"total_cents": 0}', '{"total_cents": "0"}', '{"total_cents": 0')]
    assert codes[:2] == ["semantic", "schema"]
    assert codes[2] not in ("semantic", "schema", "matched")


def test_the_rule_that_is_broken_is_named_and_the_others_are_shown() -> None:
    diagnostic = semantic(SCHEMA, POSITIVE, has_keys("id")).evaluate({"total_cents": 0}).diagnostic
    assert diagnostic.message == (
        "the shape is right, 2 of 2 rules mismatched: at('total_cents', between(1, 100000)): "
        "$.total_cents is below the range"
    )
    assert [child.code for child in diagnostic.children] == ["range", "missing"]


def test_it_yields_what_the_shape_yields_and_the_rules_read_it() -> None:
    rule = satisfies("is a model", lambda order: isinstance(order, Model))
    match = semantic(matches(Model), rule, POSITIVE)
    assert isinstance(match, ParsingMatch)
    evaluation = match.evaluate({"total_cents": 5})
    assert evaluation.outcome == "matched"
    assert evaluation.product == Model(total_cents=5)
    assert match.evaluate({"total_cents": 0}).product is None
    assert not isinstance(semantic(SCHEMA, POSITIVE), ParsingMatch)


@pytest.mark.parametrize(
    ("rule", "outcome"),
    [
        (at("total_cents", satisfies("breaks", lambda _: 1 / 0 > 0)), "errored"),
        (at("total_cents", includes("x")), "mismatched"),
    ],
)
def test_a_rule_that_breaks_or_cannot_speak_keeps_its_outcome_under_denial(rule: Any, outcome: str) -> None:
    match = semantic(SCHEMA, rule)
    assert match.evaluate({"total_cents": 5}).outcome == outcome
    assert (~match).evaluate({"total_cents": 5}).outcome == outcome
    assert match.evaluate(Absent("no data")).outcome == "unavailable"


async def test_async_rules_are_awaited_once() -> None:
    calls: list[object] = []

    async def is_known(total: int) -> bool:
        calls.append(total)
        return True

    match = semantic(SCHEMA, at("total_cents", satisfies("is known", is_known))) & satisfies("is a dict", is_dict)
    assert (await match.evaluate_async({"total_cents": 5})).outcome == "matched"
    assert calls == [5]
    assert (await match.evaluate_async({})).outcome == "mismatched"


async def is_dict(value: object) -> bool:
    return isinstance(value, dict)


@pytest.mark.parametrize(
    ("build", "kind"),
    [
        (lambda: semantic(SCHEMA), ValueError),
        (lambda: semantic(untyped({"type": "object"}), POSITIVE), TypeError),
        (lambda: semantic(SCHEMA, untyped({"a": 1})), TypeError),
        (lambda: semantic(satisfies("x", lambda _: True), equals(1)), TypeError),
    ],
)
def test_a_bad_argument_is_refused(build: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=r"semantic\(\)"):
        build()


def untyped(value: Any) -> Any:
    return value
