"""The same call twice, and several calls in any order: each call is counted once, whatever the order of asking."""

from collections.abc import Awaitable, Callable
from itertools import permutations
from typing import Any

import pytest

from niceeval import AttemptResult, EvalContext, Reply, ScriptedAgent, ToolCall
from niceeval_expect import tool_match, unordered

pytestmark = pytest.mark.anyio
Recorded = Callable[..., Awaitable[AttemptResult]]

CATS, DOGS = ToolCall("search", {"q": "cats"}, []), ToolCall("search", {"q": "dogs"}, [])
FOR_CATS = tool_match("search", input={"q": "cats"})


async def outcomes(recorded: Recorded, calls: list[ToolCall], *claims: Callable[[Any], object]) -> list[str]:
    async def body(t: EvalContext) -> None:
        turn = await t.send("Cats, please")
        for number, claim in enumerate(claims):
            claim(turn).key(str(number))  # type: ignore[attr-defined]

    result = await recorded(body, ScriptedAgent([Reply("Here.", tool_calls=calls)]))
    return [entry.evaluation.outcome for entry in result.assertions]


async def test_equal_calls_are_two_calls(recorded: Recorded) -> None:
    assert await outcomes(
        recorded,
        [CATS, CATS],
        lambda turn: turn.called_tool(FOR_CATS.exactly(2)),
        lambda turn: turn.called_tool(FOR_CATS.exactly(1)),
        lambda turn: turn.called_tool(FOR_CATS.exactly(3)),
        lambda turn: turn.tool_calls_unordered([FOR_CATS, FOR_CATS], only=True),
        lambda turn: turn.tool_calls_unordered([FOR_CATS] * 3),
    ) == ["matched", "mismatched", "mismatched", "matched", "mismatched"]


@pytest.mark.parametrize("calls", list(permutations([CATS, DOGS])))
async def test_neither_the_listing_order_nor_the_order_of_calls_decides(calls: Any, recorded: Recorded) -> None:
    assert await outcomes(
        recorded,
        list(calls),
        *[
            lambda turn, wanted=wanted: turn.tool_calls_unordered(wanted)
            for wanted in permutations(["search", FOR_CATS])
        ],
        *[
            lambda turn, wanted=wanted: turn.tool_calls_unordered(wanted)
            for wanted in permutations([FOR_CATS, FOR_CATS])
        ],
    ) == ["matched", "matched", "mismatched", "mismatched"]


@pytest.mark.parametrize("wanted", list(permutations([tool_match("a") | tool_match("b"), tool_match("a")])))
async def test_a_wide_match_leaves_the_only_fitting_call_to_a_narrow_one(wanted: Any, recorded: Recorded) -> None:
    calls = [ToolCall("a", {}), ToolCall("b", {})]
    assert await outcomes(recorded, calls, lambda turn: turn.tool_calls_unordered(list(wanted))) == ["matched"]


@pytest.mark.parametrize("listed", list(permutations([1, "a", "b"])))
async def test_items_of_a_list_are_used_once_each(listed: Any, recorded: Recorded) -> None:
    async def body(t: EvalContext) -> None:
        t.check(["b", 1, "a"], unordered(list(listed))).key("same items")
        t.check(["b", 1, "b"], unordered(list(listed))).key("one twice")

    result = await recorded(body)
    assert [entry.evaluation.outcome for entry in result.assertions] == ["matched", "mismatched"]
