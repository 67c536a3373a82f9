"""The author's `t`: sending, typed output, sessions, recordings, groups, skips, notes."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Literal

import anyio
import pytest
from pydantic import BaseModel

from niceeval import (
    AgentContext,
    AgentFailed,
    AgentReferenceError,
    AgentUnavailable,
    AttemptResult,
    AuthoringError,
    EvalContext,
    NiceEvalError,
    Reply,
    ScriptedAgent,
    ToolCall,
    attempt,
    define_eval,
    define_score_eval,
    run_eval,
    transcript_from_openai,
)
from niceeval_expect import equals, excludes, includes, is_defined

pytestmark = pytest.mark.anyio
Body = Callable[[EvalContext], Awaitable[None]]


class Order(BaseModel):
    id: str
    status: Literal["shipped", "pending"]
    quantity: int = 1


async def run(body: Body, agent: Any, style: str = "pass", **limits: Any) -> AttemptResult:
    async def test(t: EvalContext) -> None:
        await body(t)

    define = define_eval if style == "pass" else define_score_eval
    result = await run_eval(define(test), agent=ScriptedAgent(agent) if isinstance(agent, list) else agent, **limits)
    assert result.status == "sealed"
    return result.attempts[-1]


async def swallowed(body: Body, agent: Any = None) -> str:
    """Return the reason of an attempt whose body ended well, and which is errored for a mistake all the same."""
    result = await run(body, agent)
    assert (result.status, result.error) == ("errored", None), result.reason
    assert "tests/test_context.py:" in (result.reason or "")
    return result.reason or ""


# -- typed output


@pytest.mark.parametrize(
    "reply",
    [
        Reply("Here it is.", data={"id": "ORD-1", "status": "shipped"}),
        '{"id": "ORD-1", "status": "shipped"}',
        Reply('{"id": "ORD-1", "status": "shipped"}', tool_calls=[]),
    ],
)
async def test_conforming_output_is_typed_and_a_gate(reply: Any) -> None:
    async def body(t: EvalContext) -> None:
        turn = await t.send("Where is it?", output=Order)
        assert isinstance(turn.data, Order)
        assert (turn.data.id, turn.data.quantity) == ("ORD-1", 1)
        assert turn.data is turn.data
        assert t.sessions[0].turns[0].data == turn.data

    result = await run(body, [reply])
    (gate,) = result.assertions
    assert (result.status, result.reason) == ("passed", None)
    assert (gate.requirement, gate.decision, gate.gate, gate.scope) == ("output conforms to Order", "met", True, "turn")
    assert gate.source.file == "tests/test_context.py"


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (Reply("x", data={"id": "ORD-1", "status": "refunded"}), "failed"),
        (Reply("x", data={"id": "ORD-1", "status": "shipped", "quantity": "5"}), "failed"),
        (Reply("x", data={"id": "ORD-1", "status": "shipped", "quantity": True}), "failed"),
        (Reply("x", data=None), "failed"),
        # Data that is there counts, whatever the message says.
        (Reply('{"id": "ORD-1", "status": "shipped"}', data=[]), "failed"),
        ("It was shipped.", "failed"),
        ('```json\n{"id": "ORD-1", "status": "shipped"}\n```', "failed"),
        ('{"id": "ORD-1", "id": "ORD-2", "status": "shipped"}', "failed"),
        (Reply(status="failed"), "errored"),
    ],
)
async def test_reading_output_that_does_not_conform_is_a_stop(reply: Any, status: str) -> None:
    reached: list[str] = []

    async def body(t: EvalContext) -> None:
        turn = await t.send("Where is it?", output=Order)
        reached.append("registered")
        t.check(turn.message, is_defined()).key("before")
        assert turn.data is not None
        reached.append("after")

    result = await run(body, [reply])
    assert reached == ["registered"]
    assert (result.status, result.stopped_by) == (status, "output conforms to Order")
    assert result.assertions[0].stops


async def test_output_that_does_not_conform_and_is_never_read_is_a_plain_failure() -> None:
    async def body(t: EvalContext) -> None:
        turn = await t.send("Where is it?", output=Order)
        t.check(turn.message, includes("shipped")).key("after")

    result = await run(body, ["It was shipped."])
    assert (result.status, result.stopped_by, len(result.assertions)) == ("failed", None, 2)


async def test_a_score_stays_official_when_output_does_not_conform() -> None:
    async def body(t: EvalContext) -> None:
        t.score(2)
        turn = await t.send("Where is it?", output=Order)
        t.score(len(turn.data.id))

    result = await run(body, ["no"], "score")
    assert (result.status, result.score, result.stopped_by) == ("scored", 2.0, "output conforms to Order")
    good = await run(body, [Reply(data={"id": "ORD-1", "status": "shipped"})], "score")
    assert (good.status, good.score) == ("scored", 7.0)
    missing = await run(body, [Reply(status="failed")], "score")
    assert (missing.status, missing.partial_score) == ("unrankable", 2.0)


async def test_reading_bad_output_after_the_attempt_is_an_ordinary_error() -> None:
    async with attempt(agent=lambda message: "no") as t:
        turn = await t.send("Where is it?", output=Order)
    assert t.result.verdict == "failed"
    assert t.result.stopped_by is None
    with pytest.raises(NiceEvalError, match="conform"):
        turn.data


@pytest.mark.parametrize("output", [{"type": "object", "required": ["id"]}, dict[str, Any], list[int] | dict[str, Any]])
async def test_other_output_types_and_the_schema_that_the_agent_sees(output: Any) -> None:
    seen: list[Any] = []

    def agent(message: str, ctx: AgentContext) -> Reply:
        seen.append(ctx.output_schema)
        return Reply(data={"id": "ORD-1"})

    async def body(t: EvalContext) -> None:
        turn: Any = await t.send("first", output=output)
        t.check(turn.data, equals({"id": "ORD-1"}))
        await t.send("second")

    result = await run(body, agent)
    assert (result.status, result.reason) == ("passed", None)
    assert isinstance(seen[0], dict)
    assert seen[1] is None


async def test_an_output_type_that_is_none_is_refused_and_remembered() -> None:
    async def body(t: EvalContext) -> None:
        t.check("a", equals("a"))
        wrong: Any = {"type": "objekt"}
        with pytest.raises((TypeError, ValueError)):
            await t.send("x", output=wrong)

    assert await swallowed(body, ["x"])


async def test_data_that_nobody_gave_is_absent_to_every_check() -> None:
    async def body(t: EvalContext) -> None:
        turn = await t.send("x")
        t.check(turn.data, is_defined())
        t.check(turn.data, ~is_defined())

    result = await run(body, ["x"])
    assert [item.evaluation.outcome for item in result.assertions] == ["unavailable", "unavailable"]


# -- messages


async def test_messages_and_silence() -> None:
    async def body(t: EvalContext) -> None:
        silent = await t.send("a")
        t.check(silent.message, equals("")).key("nothing said")
        t.check(silent.message, excludes("x")).key("excludes")
        failed = await t.send("b")
        assert failed.message == ""
        t.check(failed.message, equals("")).key("unknown")
        assert (failed.input, failed.messages, failed.status, failed.usage) == ("b", (), "failed", None)

    result = await run(body, ["", Reply(status="failed")])
    assert [item.evaluation.outcome for item in result.assertions] == ["matched", "matched", "unavailable"]


@pytest.mark.parametrize("wrong", [None, 3, b"x", ["x"]])
async def test_a_message_is_text(wrong: Any) -> None:
    async def body(t: EvalContext) -> None:
        t.check("a", equals("a"))
        with pytest.raises(TypeError, match="text"):
            await t.send(wrong)

    assert await swallowed(body, ["x"])


@pytest.mark.parametrize("wrong", [0, -1, "4", True, float("nan"), float("inf")])
async def test_a_timeout_is_a_number_of_seconds(wrong: Any) -> None:
    async def body(t: EvalContext) -> None:
        t.check("a", equals("a"))
        with pytest.raises(TypeError, match="seconds"):
            await t.send("x", timeout=wrong)

    assert await swallowed(body, ["x"])


async def test_an_eval_that_sends_without_an_agent_says_how_to_name_one() -> None:
    async def body(t: EvalContext) -> None:
        t.check("a", equals("a"))
        await t.send("x")

    result = await run(body, None)
    assert result.status == "errored"
    assert "--agent" in (result.reason or "")

    async def quiet(t: EvalContext) -> None:
        t.check("a", equals("a"))

    assert (await run(quiet, None)).status == "passed"
    with pytest.raises(AgentReferenceError):
        async with attempt() as t:
            await t.send("x")


# -- agents that break or are not there


async def unreachable(message: str) -> str:
    raise AgentUnavailable("503 from upstream")


async def unreachable_in_a_group(message: str) -> str:
    async def call() -> None:
        raise AgentUnavailable("503 from upstream")

    async with anyio.create_task_group() as group:
        group.start_soon(call)
    return "never"


def broken(message: str) -> str:
    raise ZeroDivisionError("bad agent")


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no message")


def unprintable(message: str) -> str:
    raise Unprintable


def exits(message: str) -> str:
    raise SystemExit(3)


def wrong_answer(message: str) -> Any:
    return 42


@pytest.mark.parametrize(
    ("agent", "raised", "status", "score_status", "text"),
    [
        (unreachable, AgentUnavailable, "errored", "errored", "503"),
        (unreachable_in_a_group, AgentUnavailable, "errored", "errored", "503"),
        (broken, AgentFailed, "failed", "scored", "bad agent"),
        (unprintable, AgentFailed, "failed", "scored", "Unprintable"),
        (exits, AgentFailed, "failed", "scored", "exit"),
        (wrong_answer, AgentFailed, "failed", "scored", "int"),
        ([ValueError("scripted")], AgentFailed, "failed", "scored", "scripted"),
    ],
)
async def test_an_agent_that_breaks_is_a_result_and_one_that_is_not_there_is_none(
    agent: Any, raised: type[Exception], status: str, score_status: str, text: str
) -> None:
    async def uncaught(t: EvalContext) -> None:
        t.check("a", equals("a"))
        await t.send("x")
        pytest.fail("the eval went on")

    async def uncaught_score(t: EvalContext) -> None:
        t.score(2)
        await t.send("x")
        pytest.fail("the eval went on")

    async def caught(t: EvalContext) -> None:
        with pytest.raises(raised):
            await t.send("x")
        t.check(t.sessions[0].turns[0].status, equals("failed"))
        t.succeeded().key("succeeded")

    result = await run(uncaught, agent)
    assert result.status == status
    assert text in (result.reason or "")
    assert result.error is not None
    scored = await run(uncaught_score, agent, "score")
    assert scored.status == score_status
    assert text in (scored.reason or "")
    assert (scored.score, scored.partial_score) == ((2.0, None) if score_status == "scored" else (None, 2.0))
    told = await run(caught, agent)
    assert [item.decision for item in told.assertions] == ["met", "unmet"]
    # What was not reached is no result, whoever catches it.
    assert told.status == ("errored" if raised is AgentUnavailable else "failed")


async def test_the_agents_own_exception_is_chained_and_its_traceback_kept() -> None:
    async def body(t: EvalContext) -> None:
        with pytest.raises(AgentFailed) as caught:
            await t.send("x")
        assert isinstance(caught.value.__cause__, ZeroDivisionError)
        await t.send("again")

    result = await run(body, broken)
    assert result.error is not None
    assert "bad agent" in result.error["traceback"]
    assert "in broken" in result.error["traceback"]


def test_an_agent_that_awaits_a_cancelled_task_has_failed() -> None:
    async def agent(message: str) -> str:
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        future.cancel()
        return await future

    async def body(t: EvalContext) -> None:
        t.check("a", equals("a"))
        await t.send("x")

    result = asyncio.run(run(body, agent))
    assert result.status == "failed"
    assert "cancelled" in (result.reason or "")


# -- timeouts of one message


async def sleeps(message: str) -> str:
    await anyio.sleep_forever()
    return "never"


async def keeps_what_it_did(message: str, ctx: AgentContext) -> str:
    ctx.emit(ToolCall("search", {"q": message}, "found"), ToolCall("open", {"id": 1}))
    await anyio.sleep_forever()
    return "never"


async def swallows(message: str) -> str:
    try:
        await anyio.sleep_forever()
    except BaseException:
        return "late"
    return "never"


async def converts(message: str) -> str:
    try:
        await anyio.sleep_forever()
    except BaseException:
        raise RuntimeError("connection reset") from None
    return "never"


@pytest.mark.parametrize("agent", [sleeps, keeps_what_it_did, swallows, converts])
async def test_no_reply_in_time_is_an_agent_that_is_not_there(agent: Any) -> None:
    async def body(t: EvalContext) -> None:
        with pytest.raises(AgentUnavailable, match="did not reply within"):
            await t.send("x", timeout=0.001)
        (turn,) = t.sessions[0].turns
        assert turn.message == ""
        turn.called_tool("search").key("called")
        t.check(turn.status, equals("failed")).key("status")
        await t.send("x", timeout=0.001)

    result = await run(body, agent)
    assert result.status == "errored"
    assert "agent unavailable" in (result.reason or "")
    outcome = "matched" if agent is keeps_what_it_did else "unavailable"
    assert [item.evaluation.outcome for item in result.assertions] == [outcome, "matched"]


async def test_a_blocking_agent_that_is_given_up_reports_into_its_own_turn_only() -> None:
    release, reported = threading.Event(), threading.Event()

    def agent(message: str, ctx: AgentContext) -> Reply:
        if message == "slow":
            release.wait(10)
            ctx.emit(ToolCall("late", {}, "x"))
            reported.set()
        return Reply(message)

    async def body(t: EvalContext) -> None:
        with pytest.raises(AgentUnavailable):
            await t.send("slow", timeout=0.001)
        release.set()
        assert reported.wait(10)
        turn = await t.send("quick")
        assert turn.tool_calls == ()
        t.check(turn.message, equals("quick"))

    result = await run(body, agent)
    assert (result.status, [item.decision for item in result.assertions]) == ("errored", ["met"])


async def test_a_message_that_the_author_gives_up_leaves_a_turn_that_was_cut_off() -> None:
    async def body(t: EvalContext) -> None:
        with anyio.move_on_after(0):
            await t.send("x")
        (turn,) = t.sessions[0].turns
        t.check(turn.status, equals("failed"))
        turn.succeeded().key("succeeded")

    result = await run(body, sleeps)
    assert [item.decision for item in result.assertions] == ["met", "unmet"]


# -- skipping


@pytest.mark.parametrize(("earlier", "status"), [(None, "skipped"), (True, "skipped"), (False, "failed")])
async def test_skipping_keeps_what_was_registered(earlier: bool | None, status: str) -> None:
    async def body(t: EvalContext) -> None:
        if earlier is not None:
            t.check(earlier, equals(True))
        with suppress(Exception):
            t.skip("needs a key")

    result = await run(body, None)
    assert (result.status, len(result.assertions)) == (status, 0 if earlier is None else 1)
    if status == "skipped":
        assert result.reason == "needs a key"


async def test_a_score_can_be_skipped() -> None:
    async def body(t: EvalContext) -> None:
        t.score(1)
        t.skip("not today")

    result = await run(body, None, "score")
    assert (result.status, result.score, result.reason) == ("skipped", None, "not today")


@pytest.mark.parametrize("reason", ["", "  ", None, 3])
async def test_a_skip_without_a_reason_is_refused(reason: Any) -> None:
    async def body(t: EvalContext) -> None:
        t.check("a", equals("a"))
        with pytest.raises(TypeError, match="skip"):
            t.skip(reason)

    assert await swallowed(body, None)


# -- groups, notes, numbers


async def test_groups_nest_and_belong_to_their_task() -> None:
    ready = [anyio.Event(), anyio.Event()]

    async def one(t: EvalContext, place: int) -> None:
        with t.group(f"task {place}"):
            ready[place].set()
            await ready[1 - place].wait()
            t.check(place, equals(place)).key(f"inside {place}")

    async def body(t: EvalContext) -> None:
        t.check(1, equals(1)).key("outside")
        with t.group("outer"):
            with t.group("inner"):
                t.check(1, equals(1)).key("inner")
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(one, t, 0)
                tasks.start_soon(one, t, 1)
            t.check(1, equals(1)).key("outer")
        with pytest.raises(ValueError, match="inside"), t.group("broken"):
            raise ValueError("inside")
        t.check(1, equals(1)).key("outside again")

    result = await run(body, None)
    assert {item.requirement: item.group for item in result.assertions} == {
        "outside": (),
        "inner": ("outer", "inner"),
        "inside 0": ("outer", "task 0"),
        "inside 1": ("outer", "task 1"),
        "outer": ("outer",),
        "outside again": (),
    }
    assert result.status == "passed"


@pytest.mark.parametrize("title", ["", " ", None, 3])
async def test_a_group_needs_a_title(title: Any) -> None:
    async def body(t: EvalContext) -> None:
        t.check("a", equals("a"))
        with pytest.raises(TypeError, match="title"), t.group(title):
            pass

    assert await swallowed(body, None)


async def test_attempts_are_numbered_from_one_and_start_from_nothing() -> None:
    seen: list[int] = []
    heard: list[int] = []

    def agent(message: str, ctx: AgentContext) -> str:
        heard.append(ctx.attempt)
        assert not ctx.session
        ctx.session["dirty"] = True
        return "ok"

    async def body(t: EvalContext) -> None:
        seen.append(t.attempt)
        turn = await t.send("x")
        t.check(turn.message, equals("ok"))

    result = await run(body, agent, attempts=3, concurrency=1)
    assert (seen, heard, result.attempt, result.status) == ([1, 2, 3], [1, 2, 3], 3, "passed")


async def test_sessions_are_independent() -> None:
    async def body(t: EvalContext) -> None:
        other = t.new_session()
        assert (await t.send("x")).message == "first"
        assert (await other.send("x")).message == "first"
        assert (await t.send("x")).message == "second"
        assert [len(session.turns) for session in t.sessions] == [1, 2]
        assert t.sessions[0] is other
        t.check("a", equals("a"))

    assert (await run(body, ["first", "second"])).status == "passed"


async def test_concurrent_messages_keep_inputs_and_replies_together() -> None:
    gates = [anyio.Event() for _ in range(5)]

    async def agent(message: str, ctx: AgentContext) -> Reply:
        place = int(message)
        ctx.emit(ToolCall(f"tool_{place}", {}, "ok"))
        if place + 1 < len(gates):
            await gates[place + 1].wait()
        gates[place].set()
        return Reply(f"reply {message}")

    async def body(t: EvalContext) -> None:
        session = t.new_session()

        async def one(place: int) -> None:
            turn = await session.send(str(place))
            assert (turn.input, turn.message) == (str(place), f"reply {place}")
            turn.called_tool(f"tool_{place}").key("own call")
            t.check([call.name for call in turn.tool_calls], equals([f"tool_{place}"])).key("no other call")

        async with anyio.create_task_group() as tasks:
            for place in range(len(gates)):
                tasks.start_soon(one, place)
        assert [turn.input for turn in session.turns] == ["4", "3", "2", "1", "0"]

    result = await run(body, agent)
    assert (result.status, result.reason) == ("passed", None)


# -- recordings


async def test_an_observed_conversation_needs_no_agent_and_takes_no_message() -> None:
    transcript = transcript_from_openai(
        [
            {"role": "user", "content": "Where is it?"},
            {"role": "assistant", "content": "On its way."},
            {"role": "user", "content": "Thanks"},
        ]
    )

    async def body(t: EvalContext) -> None:
        session = t.observe(transcript)
        assert [turn.input for turn in session.turns] == ["Where is it?", "Thanks"]
        t.check(session.turns[0].message, equals("On its way.")).key("said")
        session.used_no_tools().key("no tools")
        with pytest.raises(AuthoringError, match="recording"):
            await session.send("more")

    result = await run(body, None)
    assert (result.status, result.error) == ("errored", None)
    assert [item.requirement for item in result.assertions] == ["said", "no tools"]
    assert result.inputs == ("Where is it?", "Thanks")


@pytest.mark.parametrize("wrong", [[], [{"role": "user", "content": "x"}], None, "x"])
async def test_only_a_transcript_can_be_observed(wrong: Any) -> None:
    async def body(t: EvalContext) -> None:
        t.check("a", equals("a"))
        with pytest.raises(TypeError, match="transcript"):
            t.observe(wrong)

    assert await swallowed(body, None)


# -- the end


async def test_the_result_is_there_once_the_attempt_has_closed() -> None:
    async with attempt(agent=lambda message: "hi") as t:
        turn = await t.send("x")
        t.check(turn.message, equals("hi"))
        t.log("a note", count=3, odd={1, 2})
        with pytest.raises(NiceEvalError, match="closed"):
            t.result
    assert t.result.verdict == "passed"
    assert t.result is t.result
    with pytest.raises(AuthoringError, match="closed"):
        await t.send("x")
    with pytest.raises(AuthoringError, match="closed"):
        t.new_session()
    with pytest.raises(AuthoringError, match="closed"):
        turn.succeeded()
    with pytest.raises(AuthoringError, match="closed"):
        t.skip("late")
    assert t.result.verdict == "passed"


async def test_after_a_stop_and_the_end_no_signal_leaves_the_library() -> None:
    async with attempt() as t:
        await t.check("a", equals("b")).or_stop()
    assert t.result.verdict == "failed"
    with pytest.raises(AuthoringError, match="closed"):
        t.check("a", equals("a"))
