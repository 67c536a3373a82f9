"""Attempts in which nothing was decided, or nothing could be: never passed."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from niceeval import AttemptResult, EvalContext, EvalLoadError, ScriptedAgent, define_eval, run_eval
from niceeval_expect import equals, satisfies, similarity

pytestmark = pytest.mark.anyio
Recorded = Callable[..., Awaitable[AttemptResult]]
Body = Callable[[EvalContext], Coroutine[Any, Any, None]]


async def nothing(t: EvalContext) -> None:
    await t.send("hello")


async def only_measured(t: EvalContext) -> None:
    t.check("a", similarity("a"))


async def below_but_no_gate(t: EvalContext) -> None:
    t.check("a", similarity("b").at_least(0.5))


async def skipped(t: EvalContext) -> None:
    t.check("a", equals("a"))
    t.skip("not today")


async def stop_not_awaited(t: EvalContext) -> None:
    _ = t.check("a", equals("a")).label("first").or_stop()


async def send_not_awaited(t: EvalContext) -> None:
    t.check("a", equals("a"))
    _ = t.send("hello")


async def turn_not_awaited(t: EvalContext) -> None:
    t.check(t.send("hello"), equals("a"))


async def group_of_nothing(t: EvalContext) -> None:
    with t.group("later"):
        pass


@pytest.mark.parametrize(
    ("body", "verdict", "says"),
    [
        (nothing, "errored", "nothing was checked"),
        (only_measured, "errored", "nothing was checked"),
        (below_but_no_gate, "errored", "nothing was checked"),
        (group_of_nothing, "errored", "nothing was checked"),
        (skipped, "skipped", "not today"),
        (stop_not_awaited, "errored", "or_stop() was never awaited"),
        (send_not_awaited, "errored", "never awaited"),
        (turn_not_awaited, "errored", "did you forget await"),
    ],
)
async def test_it_is_not_a_pass(body: Body, verdict: str, says: str, recorded: Recorded) -> None:
    result = await recorded(body, ScriptedAgent(["hello"]))
    assert result.verdict == verdict
    assert says in (result.reason or "")


@pytest.mark.parametrize("answer", [(False, "msg"), "False", None, 1, 0, [], "", object()])
async def test_a_predicate_that_gives_no_answer_is_an_error_that_names_it(answer: Any, recorded: Recorded) -> None:
    async def body(t: EvalContext) -> None:
        t.check("a", satisfies("is polite", lambda _: answer))
        t.check("a", ~satisfies("is polite", lambda _: answer))

    result = await recorded(body)
    assert result.verdict == "errored"
    assert {item.evaluation.outcome for item in result.assertions} == {"errored"}
    assert "'is polite' returned" in (result.reason or "")


async def test_no_cases_is_no_run() -> None:
    async def body(t: EvalContext, case: str) -> None:
        t.check(case, equals(case))

    empty: list[str] = []
    with pytest.raises(EvalLoadError):
        await run_eval(define_eval("empty", test=body, cases=empty))
