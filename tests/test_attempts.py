"""How an attempt ends: in time or not, interrupted, crashed, or with nothing checked; always with exactly one record."""

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

import anyio
import pytest

from niceeval import (
    AgentContext,
    AttemptResult,
    AuthoringError,
    EvalContext,
    Message,
    Reply,
    RunResult,
    ScriptedAgent,
    Thinking,
    ToolCall,
    attempt,
    define_eval,
    define_score_eval,
    run_eval,
)
from niceeval.record.write import MemoryWriter
from niceeval.runner import Plan, execute
from niceeval_expect import equals, includes, satisfies

pytestmark = pytest.mark.anyio
Body = Callable[[EvalContext], Awaitable[None]]

TIGHT = 0.05
"""Seconds: a deadline that passes while an agent waits for what does not come."""


async def run(body: Body, agent: Any = None, style: str = "pass", **limits: Any) -> RunResult:
    async def test(t: EvalContext) -> None:
        await body(t)

    define = define_eval if style == "pass" else define_score_eval
    return await run_eval(define(test), agent=agent, **limits)


async def one(body: Body, agent: Any = None, style: str = "pass", **limits: Any) -> AttemptResult:
    result = await run(body, agent, style, **limits)
    assert result.status == "sealed"
    (only,) = result.attempts
    return only


# -- time


async def waits(message: str, ctx: AgentContext) -> str:
    ctx.emit(ToolCall("find_user", {"id": 7}, "found"), ToolCall("delete_user", {"id": 7}), Thinking("hm"))
    await anyio.sleep_forever()
    return "late"


async def swallows(message: str, ctx: AgentContext) -> str:
    try:
        return await waits(message, ctx)
    except BaseException:
        return "late"


async def breaks_when_cancelled(message: str, ctx: AgentContext) -> str:
    try:
        return await waits(message, ctx)
    except BaseException:
        raise RuntimeError("connection reset") from None


async def keeps_the_loop_busy(message: str, ctx: AgentContext) -> str:
    ctx.emit(ToolCall("find_user", {"id": 7}, "found"), ToolCall("delete_user", {"id": 7}), Thinking("hm"))
    threading.Event().wait(2 * TIGHT)
    return "late"


async def in_a_group(message: str, ctx: AgentContext) -> str:
    async with anyio.create_task_group() as group:
        group.start_soon(waits, message, ctx)
    return "late"


async def talks(t: EvalContext) -> None:
    t.check("before", equals("before")).key("before")
    t.check("a", equals("b")).key("unmet")
    turn = await t.send("delete user 7")
    t.check(turn.message, equals("late")).key("after")


@pytest.mark.parametrize("style", ["pass", "score"])
@pytest.mark.parametrize("agent", [waits, swallows, breaks_when_cancelled, keeps_the_loop_busy, in_a_group])
async def test_a_timeout_keeps_the_evidence_and_is_one_record(agent: Any, style: str) -> None:
    async def body(t: EvalContext) -> None:
        try:
            await talks(t)
        finally:
            seen.append(t)

    seen: list[EvalContext] = []
    result = await one(body, agent, style, timeout=TIGHT)
    assert (result.status, result.verdict) == ("errored", "errored" if style == "pass" else None)
    assert f"timed out after {TIGHT:g} s" in (result.reason or "")
    assert [item.requirement for item in result.assertions] == ["before", "unmet"]
    assert result.inputs == ("delete user 7",)
    (turn,) = seen[0].sessions[0].turns
    assert [(call.name, call.status) for call in turn.tool_calls] == [("find_user", None), ("delete_user", "pending")]
    assert (turn.status, turn.message) == ("failed", "")


async def test_a_blocking_agent_is_left_behind_and_what_it_says_later_changes_nothing() -> None:
    release, ended = threading.Event(), threading.Event()

    def agent(message: str, ctx: AgentContext) -> str:
        ctx.emit(ToolCall("find_user", {"id": 7}, "found"))
        release.wait(10)
        ctx.emit(ToolCall("delete_user", {"id": 7}, "gone"))
        ended.set()
        return "late"

    seen: list[EvalContext] = []

    async def body(t: EvalContext) -> None:
        seen.append(t)
        await talks(t)

    run_result = await run(body, agent, timeout=TIGHT)
    (before,) = run_result.attempts
    release.set()
    assert await anyio.to_thread.run_sync(ended.wait, 10)
    await anyio.lowlevel.checkpoint()
    (after,) = run_result.attempts
    assert (before.status, before.inputs) == ("errored", ("delete user 7",))
    assert after == before
    assert [call.name for call in seen[0].tool_calls] == ["find_user"]


async def test_each_attempt_of_a_run_has_its_own_time() -> None:
    async def agent(message: str, ctx: AgentContext) -> str:
        return await waits(message, ctx) if ctx.attempt == 2 else "quick"

    async def body(t: EvalContext) -> None:
        turn = await t.send("x")
        t.check(turn.message, equals("quick"))

    result = await run(body, agent, attempts=3, timeout=0.5, concurrency=3)
    assert [item.status for item in result.attempts] == ["passed", "errored", "passed"]
    assert len({item.id for item in result.attempts}) == 3


async def test_a_body_that_swallows_its_deadline_is_late_all_the_same() -> None:
    async def body(t: EvalContext) -> None:
        t.check("a", equals("a"))
        with suppress(BaseException):
            await anyio.sleep_forever()

    assert (await one(body, timeout=TIGHT)).status == "errored"


async def test_a_body_that_keeps_the_loop_busy_is_late_too() -> None:
    async def body(t: EvalContext) -> None:
        t.check("a", equals("a"))
        threading.Event().wait(2 * TIGHT)

    assert "timed out" in ((await one(body, timeout=TIGHT)).reason or "")
    async with attempt(timeout=TIGHT) as t:
        t.check("a", equals("a"))
        threading.Event().wait(2 * TIGHT)
    assert "timed out" in (t.result.reason or "")


async def test_a_clean_up_that_breaks_after_the_deadline_does_not_hide_it() -> None:
    async def body(t: EvalContext) -> None:
        t.check("a", equals("a"))
        try:
            await anyio.sleep_forever()
        finally:
            raise ValueError("clean-up")

    result = await one(body, timeout=TIGHT)
    assert "timed out" in (result.reason or "")
    assert result.error is not None
    assert result.error["message"] == "clean-up"


async def test_a_check_that_is_still_awaited_when_time_is_up_is_cut_off() -> None:
    async def never(value: object) -> bool:
        started.append(value)
        await anyio.sleep_forever()
        return True

    started: list[object] = []

    async def body(t: EvalContext) -> None:
        t.check("a", equals("a")).key("plain")
        for value in range(30):
            t.check(value, satisfies("never", never)).key("pending")

    result = await one(body, timeout=TIGHT)
    assert "timed out" in (result.reason or "")
    assert len(result.assertions) == 31
    pending = [item for item in result.assertions if item.requirement == "pending"]
    assert {item.evaluation.outcome for item in pending} == {"unavailable"}
    assert {item.decision for item in pending} == {"undecided"}
    assert len(started) < 31


async def test_a_check_that_is_still_awaited_in_a_block_is_cut_off() -> None:
    async def never(value: object) -> bool:
        await anyio.sleep_forever()
        return True

    async with attempt(timeout=TIGHT) as t:
        handle = t.check("a", satisfies("never", never)).key("pending")
    assert "timed out" in (t.result.reason or "")
    assert (await handle).evaluation.outcome == "unavailable"


async def test_a_slow_check_may_use_the_time_that_is_left() -> None:
    async def slow(value: object) -> bool:
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        return True

    async def body(t: EvalContext) -> None:
        t.check("a", satisfies("slow", slow))

    result = await one(body, timeout=30)
    assert (result.status, result.reason) == ("passed", None)


async def test_the_block_of_a_script_ends_quietly_on_its_deadline() -> None:
    for agent in (waits, swallows, breaks_when_cancelled, keeps_the_loop_busy):
        async with attempt(agent=agent, timeout=TIGHT) as t:
            t.check("a", equals("a")).key("before")
            await t.send("x")
            pytest.fail("the block went on")
        assert (t.result.status, t.result.inputs) == ("errored", ("x",))
        assert "timed out" in (t.result.reason or "")
        assert [item.requirement for item in t.result.assertions] == ["before"]


# -- interruption


async def interrupted_run(
    body: Body, agent: Any, started: anyio.Event, *, attempts: int, concurrency: int
) -> RunResult:
    """Run until `started`, cancel, and return what was written."""

    async def test(t: EvalContext) -> None:
        await body(t)

    plan = Plan.of_agents((define_eval(test),), {"agent": agent}, attempts)
    writer = MemoryWriter(plan.header())
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:

            async def cancel() -> None:
                await started.wait()
                scope.cancel()

            group.start_soon(cancel)
            await execute(plan, concurrency=concurrency, timeout=None, writer=writer)
    return RunResult.from_writer(writer)


async def test_an_interrupted_run_keeps_what_is_done_and_what_was_in_flight() -> None:
    started = anyio.Event()
    waiting: list[int] = []

    async def agent(message: str, ctx: AgentContext) -> str:
        if ctx.attempt <= 3:
            return "done"
        ctx.emit(ToolCall("search", {"attempt": ctx.attempt}, "ok"))
        waiting.append(ctx.attempt)
        if len(waiting) == 2:
            started.set()
        await anyio.sleep_forever()
        return "never"

    async def body(t: EvalContext) -> None:
        t.check("a", equals("a")).key("before")
        await t.send("hello")

    result = await interrupted_run(body, agent, started, attempts=9, concurrency=2)
    assert result.status == "interrupted"
    assert result.planned == 9
    assert [(item.attempt, item.status, item.reason) for item in result.attempts] == [
        (1, "passed", None),
        (2, "passed", None),
        (3, "passed", None),
        (4, "errored", "interrupted"),
        (5, "errored", "interrupted"),
    ]
    for item in result.attempts:
        assert [entry.requirement for entry in item.assertions] == ["before"]
        assert item.inputs == ("hello",)


async def test_an_interruption_does_not_wait_for_checks() -> None:
    started = anyio.Event()

    async def never(value: object) -> bool:
        started.set()
        await anyio.sleep_forever()
        return True

    async def body(t: EvalContext) -> None:
        t.check("a", satisfies("never", never)).key("pending")

    result = await interrupted_run(body, lambda message: "x", started, attempts=1, concurrency=1)
    (only,) = result.attempts
    assert (only.status, only.reason) == ("errored", "interrupted")
    assert only.assertions[0].evaluation.outcome == "unavailable"


async def test_an_interrupted_block_is_recorded_and_lets_the_cancellation_through() -> None:
    reached: list[str] = []
    with anyio.CancelScope() as scope:
        async with attempt(agent=waits) as t:
            t.check("a", equals("a")).key("before")
            scope.cancel()
            await t.send("x")
        reached.append("after the block")
        await anyio.lowlevel.checkpoint()
        reached.append("after a checkpoint")
    assert scope.cancelled_caught
    assert reached == []
    assert (t.result.status, t.result.reason) == ("errored", "interrupted")
    assert [item.requirement for item in t.result.assertions] == ["before"]


async def test_an_interrupted_block_whose_own_time_is_up_lets_the_cancellation_through_as_well() -> None:
    with anyio.CancelScope() as scope:
        async with attempt(timeout=1e-9) as t:
            t.check("a", equals("a"))
            scope.cancel()
            await anyio.sleep_forever()
        pytest.fail("the cancellation got lost")
    assert scope.cancelled_caught
    assert t.result.status == "errored"


def test_a_cancelled_asyncio_task_is_recorded_in_a_block_and_in_a_run() -> None:
    async def main() -> None:
        started = asyncio.Event()
        seen: list[EvalContext] = []

        async def agent(message: str) -> str:
            started.set()
            await asyncio.Event().wait()
            return "never"

        async def block() -> None:
            async with attempt(agent=agent) as t:
                seen.append(t)
                t.check("a", equals("a"))
                await t.send("x")

        async def body(t: EvalContext) -> None:
            await t.send("x")

        for work in (block(), run(body, agent)):
            started.clear()
            task: asyncio.Task[Any] = asyncio.ensure_future(work)
            await started.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert (seen[0].result.status, seen[0].result.reason) == ("errored", "interrupted")

    asyncio.run(main())


async def block_that_raises(error: BaseException, seen: list[EvalContext]) -> None:
    async with attempt(timeout=60) as t:
        seen.append(t)
        t.check("a", equals("a")).key("before")
        raise error


async def test_ctrl_c_in_a_block_is_recorded_and_propagates() -> None:
    seen: list[EvalContext] = []
    with pytest.raises(KeyboardInterrupt):
        await block_that_raises(KeyboardInterrupt(), seen)
    assert (seen[0].result.status, seen[0].result.reason) == ("errored", "interrupted")


# -- crashes


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no message")


async def raises(error: BaseException) -> None:
    raise error


async def in_groups(error: BaseException) -> None:
    async with anyio.create_task_group() as outer:
        outer.start_soon(raises, ValueError("sibling"))
        async with anyio.create_task_group() as inner:
            inner.start_soon(raises, error)


@pytest.mark.parametrize("style", ["pass", "score"])
@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("boom"), "ValueError: boom"),
        (ExceptionGroup("many", [ValueError("boom"), KeyError("k")]), "ValueError: boom"),
        (BaseExceptionGroup("many", [ExceptionGroup("more", [OSError("disk")])]), "OSError: disk"),
        (SystemExit(0), "SystemExit: 0"),
        (SystemExit("bye"), "SystemExit: bye"),
        (AssertionError(), "AssertionError"),
        (Unprintable(), "Unprintable"),
        (RecursionError("deep"), "RecursionError"),
        (StopIteration("x"), "RuntimeError"),
        (AuthoringError("by hand"), "by hand"),
        (ValueError("lone \ud800 surrogate"), "lone"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
async def test_an_eval_that_crashes_is_errored_and_the_others_run(error: BaseException, text: str, style: str) -> None:
    async def body(t: EvalContext) -> None:
        if style == "score":
            t.score(1)
        t.check("a", equals("a")).key("before")
        if t.attempt == 2:
            raise error
        t.check("a", equals("a")).key("after")

    result = await run(body, None, style, attempts=3)
    assert result.status == "sealed"
    good = "passed" if style == "pass" else "scored"
    assert [item.status for item in result.attempts] == [good, "errored", good]
    crashed = result.attempts[1]
    assert text in (crashed.reason or "")
    assert "before" in [item.requirement for item in crashed.assertions]
    assert crashed.error is not None
    assert "Traceback" in crashed.error["traceback"] or "Group" in crashed.error["traceback"]
    if style == "score":
        assert (crashed.score, crashed.partial_score) == (None, 1.0)


async def test_an_unmet_gate_does_not_hide_a_crash() -> None:
    async def body(t: EvalContext) -> None:
        t.check("a", equals("b"))
        await in_groups(KeyError("inner"))

    result = await one(body)
    assert result.status == "errored"


async def test_an_exception_in_a_block_is_recorded_and_propagates() -> None:
    for error in (ValueError("boom"), ExceptionGroup("many", [ValueError("boom")]), SystemExit(2)):
        seen: list[EvalContext] = []
        with pytest.raises(type(error)):
            await block_that_raises(error, seen)
        (t,) = seen
        assert t.result.status == "errored"
        assert [item.requirement for item in t.result.assertions] == ["before"]
        assert t.result.reason != "interrupted"


async def test_an_eval_that_awaits_a_cancelled_task_is_errored() -> None:
    if anyio.get_cancelled_exc_class() is not asyncio.CancelledError:
        return

    async def body(t: EvalContext) -> None:
        t.check("a", equals("a"))
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        future.cancel()
        await future

    result = await one(body)
    assert result.status == "errored"
    assert "cancelled" in (result.reason or "")


@pytest.mark.parametrize("error", [SystemExit(1), ValueError("bad predicate")])
async def test_a_predicate_that_breaks_breaks_only_its_attempt(error: BaseException) -> None:
    async def slow(value: object) -> bool:
        await anyio.lowlevel.checkpoint()
        raise error

    async def body(t: EvalContext) -> None:
        t.check("a", equals("a"))
        if t.attempt == 1:
            t.check("a", satisfies("slow", slow)).key("slow")

    result = await run(body, attempts=2)
    assert [item.status for item in result.attempts] == ["errored", "passed"]
    assert type(error).__name__ in (result.attempts[0].reason or "")


# -- nothing leaks


async def test_what_one_eval_sets_the_next_does_not_see() -> None:
    variable: ContextVar[str] = ContextVar("variable", default="untouched")
    seen: list[str] = []

    def agent(message: str) -> str:
        return variable.get()

    async def body(t: EvalContext) -> None:
        seen.append(variable.get())
        variable.set(f"set by attempt {t.attempt}")
        turn = await t.send("what is it?")
        t.check(turn.message, equals(f"set by attempt {t.attempt}"))
        group = t.group("left open")
        group.__enter__()
        t.check("a", equals("a")).key("grouped")

    result = await run(body, agent, attempts=3, concurrency=1)
    assert seen == ["untouched"] * 3
    assert [item.status for item in result.attempts] == ["passed"] * 3
    assert [item.assertions[1].group for item in result.attempts] == [("left open",)] * 3
    assert variable.get() == "untouched"


# -- nothing was checked


async def test_nothing_checked_is_never_a_pass() -> None:
    async def empty(t: EvalContext) -> None:
        await t.send("x")

    async def only_measured(t: EvalContext) -> None:
        t.check("a", includes("a") & satisfies("x", lambda value: True)).key("counts")

    async def swallowed(t: EvalContext) -> None:
        try:
            await t.send("x")
            t.check("a", equals("a"))
        except Exception:
            pass

    agent = ScriptedAgent([ValueError("agent")])
    assert ((await one(empty, ScriptedAgent(["hi"]))).reason) == "nothing was checked"
    assert (await one(only_measured)).status == "passed"
    assert (await one(swallowed, agent)).reason == "nothing was checked"
    assert (await one(empty, ScriptedAgent(["hi"]), "score")).status == "scored"


# -- what was not awaited


@contextmanager
def unraisable() -> Iterator[list[str]]:
    """Collect what Python cannot raise, such as a warning in a finaliser."""
    found: list[str] = []
    before = sys.unraisablehook
    sys.unraisablehook = lambda args: found.append(str(args.exc_value))
    try:
        yield found
    finally:
        sys.unraisablehook = before


async def test_checks_that_are_given_up_leave_no_warning_behind() -> None:
    import gc

    async def never(value: object) -> bool:
        await anyio.sleep_forever()
        return True

    async def body(t: EvalContext) -> None:
        both = satisfies("one", never) & satisfies("two", never)
        for value in range(25):
            t.check(value, both)

    with unraisable() as found:
        result = await one(body, timeout=TIGHT)
        gc.collect()
    assert len(result.assertions) == 25
    assert found == []


async def test_a_message_that_is_never_awaited_is_a_mistake() -> None:
    async def forgets(t: EvalContext) -> None:
        t.check("a", equals("a"))
        unheard: Any = t.send
        unheard("hello")

    async def closes(t: EvalContext) -> None:
        t.check("a", equals("a"))
        t.send("hello").close()

    async def sends_later(t: EvalContext) -> None:
        sending = t.send("hello")
        other = t.new_session().send("hello")
        t.check((await sending).message, equals("hi"))
        t.check((await other).message, equals("hi"))

    agent = ScriptedAgent(["hi"])
    forgotten = await one(forgets, agent)
    assert forgotten.status == "errored"
    assert "send() was never awaited" in (forgotten.reason or "")
    assert (forgotten.reason or "").startswith("tests/test_attempts.py:")
    assert forgotten.inputs == ()
    assert (await one(closes, agent)).status == "passed"
    assert (await one(sends_later, agent)).status == "passed"


async def test_a_task_that_outlives_its_attempt_changes_nothing() -> None:
    started, release = anyio.Event(), anyio.Event()
    late: list[str] = []

    async def agent(message: str) -> Reply:
        if message == "late":
            started.set()
            await release.wait()
        return Reply(message, events=[Message("assistant", message)])

    async with anyio.create_task_group() as group:

        async def background(t: EvalContext) -> None:
            try:
                await t.send("late")
            except BaseException as error:
                late.append(type(error).__name__)

        async with attempt(agent=agent) as t:
            group.start_soon(background, t)
            await started.wait()
            turn = await t.send("quick")
            t.check(turn.message, equals("quick"))
        before = t.result
        release.set()
    assert late == ["AuthoringError"]
    assert t.result is before
    assert before.inputs == ("quick",)
    assert [len(session.turns) for session in t.sessions] == [1]
