"""The `-k` expression."""

import pytest

from niceeval.errors import ConfigError
from niceeval.evals.define import define_eval
from niceeval.evals.select import matches_expression, selected

IDS = ["orders/order_lookup[refunded]", "orders/order_lookup[Delivered]", "refund_flow/needs_consent", "a/b[not (x)]"]


@pytest.mark.parametrize(
    ("expr", "positions"),
    [
        ("refunded", [0]),
        ("REFUND", [0, 2]),
        ("delivered", [1]),
        ("not refund", [1, 3]),
        ("not not refund", [0, 2]),
        ("orders and not refunded", [1]),
        ("refunded or consent", [0, 2]),
        ("orders and refunded or consent", [0, 2]),
        ("orders and (refunded or consent)", [0]),
        ("not (refunded or consent)", [1, 3]),
        ("orders/order_lookup[refunded]", [0]),
        ("order_lookup[", [0, 1]),
        ("'not (x)'", [3]),
        ('"NOT (X"', [3]),
        ("orange", []),
        ("(((a/b)))", [3]),
    ],
)
def test_an_expression_selects_by_parts_of_ids(expr: str, positions: list[int]) -> None:
    wanted = matches_expression(expr)
    assert [position for position, name in enumerate(IDS) if wanted(name)] == positions


@pytest.mark.parametrize(
    ("expr", "says"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("a b", "column 3: expected and, or, or the end, found 'b'"),
        ("a and", "column 6: expected a part of an id, found the end"),
        ("or a", "column 1: expected a part of an id, found 'or'"),
        ("(a or b", "column 8: expected a closing parenthesis"),
        ("a)", "column 2: expected and, or, or the end"),
        ("()", "column 2"),
        ("a and 'b", "column 7: the quote ' is never closed"),
        ("''", "an empty word"),
        ("(" * 100_000 + "a" + ")" * 100_000, "nested too deeply"),
    ],
)
def test_an_expression_that_cannot_be_read_names_the_column(expr: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says.replace("(", r"\(").replace(")", r"\)")):
        matches_expression(expr)


def test_selecting_narrows_an_eval_to_its_selected_cases() -> None:
    @define_eval(cases={"a": 1, "b": 2, "c": 3})
    async def letters(t: object, case: int) -> None: ...

    @define_eval
    async def alone(t: object) -> None: ...

    [narrowed] = selected([letters, alone], matches_expression("letters and not b"))
    assert [case_id for case_id, _ in narrowed.iter_cases()] == ["a", "c"]
    assert [each.id for each in selected([letters, alone], matches_expression("alone"))] == ["alone"]
