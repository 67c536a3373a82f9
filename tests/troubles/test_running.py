"""Trouble while a run goes on: time that is up, replies that come late, services that are away, patterns that hang."""

import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import anyio
import pytest

from niceeval import (
    AgentContext,
    AgentUnavailable,
    AttemptResult,
    EvalContext,
    Reply,
    ToolCall,
    define_eval,
    run_eval,
)
from niceeval_expect import define_score_match, equals, excludes, includes, matches, not_, pattern, satisfies

pytestmark = pytest.mark.anyio
Body = Callable[[EvalContext], Coroutine[Any, Any, None]]
Recorded = Callable[..., Awaitable[AttemptResult]]

BACKTRACKS = r"(a|a)*$"
TEXT = "a" * 40 + "!"


async def test_a_pattern_that_backtracks_does_not_starve_the_attempts_beside_it() -> None:
    async def body(t: EvalContext, case: str) -> None:
        if case == "hostile":
            t.check(TEXT, pattern(BACKTRACKS)).key("positive")
            await anyio.lowlevel.checkpoint()
            t.check(TEXT, not_(pattern(BACKTRACKS))).key("negative")
            return
        for step in range(5):
            turn = await t.send(str(step))
            t.check(turn.message, equals(str(step)))

    async def agent(message: str) -> str:
        await anyio.sleep(0.01)
        return message

    cases = {name: name for name in ("one", "hostile", "another")}
    run = await run_eval(define_eval("starves", test=body, cases=cases), agent=agent, concurrency=3, timeout=1)
    found = {attempt.case_id: attempt for attempt in run.attempts}
    assert {name: attempt.verdict for name, attempt in found.items()} == {
        "one": "passed",
        "hostile": "errored",
        "another": "passed",
    }
    hostile = found["hostile"]
    assert [entry.evaluation.outcome for entry in hostile.assertions] == ["errored", "errored"]
    assert all("pattern exceeded its time budget" in (entry.reason or "") for entry in hostile.assertions)


# -- time that is up


async def patient(message: str, ctx: AgentContext) -> str:
    ctx.emit(ToolCall("find", {"id": 7}, "found"), ToolCall("delete", {"id": 7}, "gone"))
    try:
        await anyio.sleep(0.6)
    finally:
        ended.set()
    return "late"


def blocking(message: str, ctx: AgentContext) -> str:
    ctx.emit(ToolCall("find", {"id": 7}, "found"), ToolCall("delete", {"id": 7}, "gone"))
    time.sleep(0.6)
    ctx.emit(ToolCall("find", {"id": 8}, "found"))
    ended.set()
    return "late"


async def deaf(message: str, ctx: AgentContext) -> str:
    ctx.emit(ToolCall("find", {"id": 7}, "found"), ToolCall("delete", {"id": 7}, "gone"))
    until = anyio.current_time() + 0.6
    while anyio.current_time() < until:
        try:
            await anyio.sleep(until - anyio.current_time())
        except BaseException:
            await anyio.lowlevel.cancel_shielded_checkpoint()
    ended.set()
    return "late"


ended = threading.Event()


@pytest.mark.parametrize("agent", [patient, blocking, deaf])
async def test_time_that_is_up_leaves_one_record_with_the_calls_so_far(agent: Any, recorded: Recorded) -> None:
    async def body(t: EvalContext) -> None:
        seen.append(t)
        turn = await t.send("delete user 7")
        t.check(turn.message, equals("late"))

    seen: list[EvalContext] = []
    ended.clear()
    attempt = await recorded(body, agent, timeout=0.2)
    assert (attempt.status, attempt.reason) == ("errored", "timed out after 0.2 s")
    assert (attempt.inputs, attempt.assertions) == (("delete user 7",), ())
    assert await anyio.to_thread.run_sync(ended.wait, 10)
    await anyio.lowlevel.checkpoint()
    ((turn,),) = [session.turns for session in seen[0].sessions]
    assert [call.name for call in turn.tool_calls] == ["find", "delete"]
    assert (turn.status, turn.message) == ("failed", "")


# -- a measuring side that fails


class Away(Exception):
    """What the client of a judge raises."""


async def raises(value: object) -> float:
    raise Away("429 Too Many Requests")


async def hangs(value: object) -> float:
    await anyio.sleep_forever()
    return 1.0


@pytest.mark.parametrize("judge", [raises, hangs])
async def test_a_judge_that_fails_is_never_a_score_in_either_form(judge: Any, recorded: Recorded) -> None:
    async def body(t: EvalContext) -> None:
        t.check("Thank you.", equals("Thank you."))
        t.check("Thank you.", polite().at_least(0.7)).gate()
        t.check("Thank you.", not_(polite().at_least(0.7))).gate()

    polite = define_score_match(judge, name="polite")
    attempt = await recorded(body, timeout=0.3)
    assert attempt.status == "errored"
    assert [entry.decision for entry in attempt.assertions] == ["met", "undecided", "undecided"]
    assert {entry.evaluation.outcome for entry in attempt.assertions[1:]} <= {"errored", "unavailable"}
    assert {entry.evaluation.value for entry in attempt.assertions[1:]} == {None}


def fails(message: str) -> str:
    raise ValueError("no reply")


def turns_down(message: str) -> Reply:
    return Reply(status="failed")


def unreachable(message: str) -> str:
    raise AgentUnavailable("503", retryable=False)


@pytest.mark.parametrize(("agent", "status"), [(fails, "errored"), (turns_down, "errored"), (unreachable, "errored")])
async def test_denials_of_a_reply_that_never_came_do_not_pass(agent: Any, status: str, recorded: Recorded) -> None:
    async def body(t: EvalContext) -> None:
        try:
            await t.send("hello")
        except Exception:
            t.check("caught", equals("caught"))
        message = t.sessions[0].turns[0].message
        t.check(message, excludes("error")).key("excludes")
        t.check(message, not_(matches({"type": "string", "minLength": 3}))).key("no text")
        t.check(message, ~includes("error")).key("not includes")

    attempt = await recorded(body, agent)
    assert attempt.status == status
    denials = [entry for entry in attempt.assertions if entry.requirement != "'caught' equals"][-3:]
    assert [entry.evaluation.outcome for entry in denials] == ["unavailable"] * 3
    assert [entry.decision for entry in denials] == ["undecided"] * 3


async def test_a_denied_schema_that_holds_is_a_mismatch(recorded: Recorded) -> None:
    async def body(t: EvalContext) -> None:
        turn = await t.send("hello")
        t.check(turn.data, not_(matches({"type": "object", "required": ["id"]})))

    attempt = await recorded(body, lambda message: Reply("x", data={"id": 1}))
    assert (attempt.status, attempt.assertions[0].evaluation.outcome) == ("failed", "mismatched")


async def test_a_service_that_comes_back_is_told_from_one_that_was_there(recorded: Recorded) -> None:
    calls: list[str] = []

    def agent(message: str) -> str:
        calls.append(message)
        if len(calls) == 1:
            raise AgentUnavailable("429 Too Many Requests", retry_after=0.01)
        return message

    async def body(t: EvalContext) -> None:
        turn = await t.send("hello")
        t.check(turn.message, equals("hello"))

    attempt = await recorded(body, agent, retries=1)
    assert attempt.status == "passed"
    assert [each.reason for each in attempt.tries] == ["429 Too Many Requests"]
    assert attempt.tries[0].waited >= 0.01


# -- nothing that decides


async def all_skipped(t: EvalContext) -> None:
    with t.group("later"):
        t.skip("not ready")


async def never_awaited(t: EvalContext) -> None:
    t.check("a", satisfies("is slow", slow))


async def slow(value: object) -> bool:
    await anyio.lowlevel.checkpoint()
    return True


@pytest.mark.parametrize(("body", "status"), [(all_skipped, "skipped"), (never_awaited, "passed")])
async def test_a_check_that_nobody_awaits_is_settled_and_a_skip_is_no_pass(
    body: Body, status: str, recorded: Recorded
) -> None:
    assert (await recorded(body)).status == status
