"""Handles: each method once, on the entries it is for, before they freeze; and what a stop is."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import anyio
import pytest

from niceeval import (
    AttemptResult,
    AuthoringError,
    EvalContext,
    Reply,
    ScriptedAgent,
    ToolCall,
    attempt,
    define_eval,
    define_score_eval,
    run_eval,
)
from niceeval_expect import (
    define_score_match,
    equals,
    excludes,
    includes,
    json_text,
    not_,
    satisfies,
    similarity,
    tool_match,
)

pytestmark = pytest.mark.anyio
Body = Callable[[EvalContext], Awaitable[None]]
SCORE = similarity("Your parcel is on its way.")


async def run(body: Body, style: str = "pass", *replies: Any) -> AttemptResult:
    agent = ScriptedAgent(replies or ["Your parcel is on its way."])
    define = define_eval if style == "pass" else define_score_eval

    async def test(t: EvalContext) -> None:
        await body(t)

    result = await run_eval(define(test), agent=agent)
    (only,) = result.attempts
    return only


@pytest.mark.parametrize(
    ("style", "configure"),
    [
        ("pass", lambda t: t.check("a", equals("a")).key("k").key("k")),
        ("pass", lambda t: t.check("a", equals("a")).label("l").label("l")),
        ("pass", lambda t: t.check("a", equals("a")).gate().gate()),
        ("pass", lambda t: t.check("a", SCORE).gate()),
        ("pass", lambda t: t.check("a", equals("a")).score(1)),
        ("pass", lambda t: t.check("a", SCORE).score(1)),
        ("pass", lambda t: t.score(1)),
        ("score", lambda t: t.check("a", equals("a")).gate()),
        ("score", lambda t: t.check("a", SCORE.at_least(0.5)).gate()),
        ("score", lambda t: t.check("a", equals("a")).score(1).score(1)),
        ("score", lambda t: t.check("a", equals("a")).score(0)),
        ("score", lambda t: t.check("a", equals("a")).score(-1)),
        ("score", lambda t: t.check("a", equals("a")).score(float("nan"))),
        ("score", lambda t: t.check("a", equals("a")).score(True)),
        ("score", lambda t: t.score(-1)),
        ("score", lambda t: t.score("4")),
        ("pass", lambda t: t.check("a", equals("a")).key("  ")),
        ("pass", lambda t: t.check("a", equals("a")).key(3)),
    ],
)
async def test_a_wrong_configuration_is_an_error_even_where_it_is_swallowed(
    style: str, configure: Callable[[Any], Any]
) -> None:
    raised: list[Exception] = []

    async def body(t: EvalContext) -> None:
        t.check("a", equals("a"))
        try:
            configure(t)
        except (AuthoringError, TypeError) as error:
            raised.append(error)

    result = await run(body, style)
    assert len(raised) == 1
    assert result.status == "errored"
    assert "test_handles.py:" in (result.reason or "")


async def test_a_threshold_that_stops_is_a_gate() -> None:
    async def body(t: EvalContext) -> None:
        t.check("a", equals("a"))
        with suppress(BaseException):
            await t.check("a", similarity("b").at_least(0.5)).key("close").or_stop()

    result = await run(body)
    assert (result.status, result.stopped_by) == ("failed", "close")
    assert result.assertions[1].gate


async def test_or_stop_twice_and_on_a_measurement_are_mistakes() -> None:
    async def body(t: EvalContext) -> None:
        handle = t.check("a", equals("a"))
        await handle.or_stop()
        with pytest.raises(AuthoringError, match="once"):
            _ = handle.or_stop()
        bare: Any = t.check("a", SCORE)
        for method in (bare.gate, bare.or_stop):
            with pytest.raises(AuthoringError, match="threshold"):
                method()

    result = await run(body)
    assert (result.status, result.error) == ("errored", None)


async def test_configuring_after_awaiting_is_a_mistake() -> None:
    async def body(t: EvalContext) -> None:
        handle = t.check("a", equals("a"))
        await handle
        handle.label("too late")

    result = await run(body)
    assert result.status == "errored"
    assert "awaited" in (result.reason or "")


async def test_an_or_stop_that_is_never_awaited_names_its_line() -> None:
    async def body(t: EvalContext) -> None:
        _ = t.check("a", equals("b")).or_stop()

    result = await run(body)
    assert result.status == "errored"
    assert "never awaited" in (result.reason or "")
    assert "test_handles.py:" in (result.reason or "")


async def test_handles_and_results_have_no_truth_value() -> None:
    async def body(t: EvalContext) -> None:
        handle = t.check("a", equals("a"))
        with pytest.raises(TypeError, match="truth value"):
            bool(handle)
        with pytest.raises(TypeError, match="truth value"):
            bool(await handle)

    assert (await run(body)).status == "passed"


async def test_awaiting_a_handle_is_idempotent_and_works_after_the_attempt() -> None:
    async with attempt() as t:
        handle = t.check("abc", includes("b")).key("has_b")
        first = await handle
        second = await handle
    third = await handle
    assert first == second == third
    assert (first.requirement, first.decision, first.subject.value()) == ("has_b", "met", "abc")
    with pytest.raises(AuthoringError, match="closed"):
        handle.label("late")
    with pytest.raises(AuthoringError, match="closed"):
        t.check("late", includes("l"))


async def test_or_stop_returns_what_the_match_yields() -> None:
    async def body(t: EvalContext) -> None:
        turn = await t.send("hi")
        text = await t.check(turn.message, includes("{")).or_stop()
        parsed = await t.check(turn.message, json_text()).or_stop()
        calls = await turn.called_tool("search").or_stop()
        turn_like: Any = turn
        nothing = await turn_like.succeeded().or_stop()
        assert text == '{"a": 1}'
        assert parsed == {"a": 1}
        assert [call.input for call in calls] == [{"q": "cats"}]
        assert nothing is None

    reply = Reply('{"a": 1}', tool_calls=[ToolCall("search", {"q": "cats"}, "ok"), ToolCall("other", {}, "ok")])
    result = await run(body, "pass", reply)
    assert result.status == "passed", result.reason


async def test_a_failed_stop_ends_the_eval_and_keeps_what_came_before() -> None:
    async def body(t: EvalContext) -> None:
        turn = await t.send("hi")
        t.check(turn.message, includes("parcel")).key("before")
        try:
            await t.check(turn.message, includes("delivered")).key("stops").or_stop()
        except Exception:
            pytest.fail("a stop is no Exception")
        t.check(turn.message, includes("never")).key("after")

    result = await run(body)
    assert result.status == "failed"
    assert result.stopped_by == "stops"
    assert [item.requirement for item in result.assertions] == ["before", "stops"]


async def test_catching_the_signal_clears_nothing() -> None:
    seen: list[str] = []

    async def body(t: EvalContext) -> None:
        try:
            await t.check("a", equals("b")).or_stop()
        except BaseException:
            seen.append("caught")
        try:
            t.check("a", equals("a"))
        except BaseException as error:
            seen.append(type(error).__name__)
        try:
            await t.send("more")
        except BaseException as error:
            seen.append(type(error).__name__)

    result = await run(body)
    assert seen == ["caught", "StopSignal", "StopSignal"]
    assert (result.status, len(result.assertions)) == ("failed", 1)


async def test_of_two_stops_the_first_is_the_cause() -> None:
    async def body(t: EvalContext) -> None:
        one, two = t.check("a", equals("b")).key("one"), t.check("a", equals("c")).key("two")
        for handle in (one, two):
            with suppress(BaseException):
                await handle.or_stop()

    result = await run(body)
    assert (result.status, result.stopped_by) == ("failed", "one")


def divide(value: Any) -> Any:
    return 1 / 0


@pytest.mark.parametrize("match", [satisfies("raises", divide), not_(satisfies("raises", divide))])
async def test_a_broken_check_stops_with_its_reason_and_is_errored(match: Any) -> None:
    async def body(t: EvalContext) -> None:
        await t.check("a", match).or_stop()
        t.check("a", equals("a"))

    result = await run(body)
    assert (result.status, len(result.assertions)) == ("errored", 1)
    assert "ZeroDivisionError" in (result.reason or "")


async def test_a_score_eval_stays_scored_after_a_stop() -> None:
    async def body(t: EvalContext) -> None:
        turn = await t.send("hi")
        t.check(turn.message, includes("parcel")).score(2)
        await t.check(turn.message, includes("delivered")).key("arrived").or_stop()
        t.score(5)

    result = await run(body, "score")
    assert (result.status, result.score, result.verdict, result.stopped_by) == ("scored", 2.0, None, "arrived")


async def test_scores_add_up_as_decimals() -> None:
    async def body(t: EvalContext) -> None:
        t.check("a", equals("a")).score(0.1)
        t.check("a", equals("a")).score(0.2)
        t.check("a", equals("b")).score(9)
        t.check("a", define_score_match(lambda text: 0.8)()).score(5)
        t.check("a", define_score_match(lambda text: 0.5)().at_least(0.9)).score(2)
        t.check("a", equals("a"))
        t.score(0)
        t.score(3).key("style").label("Good style")

    result = await run(body, "score")
    assert (result.status, result.score) == ("scored", 8.3)
    assert [item.earned for item in result.assertions] == [0.1, 0.2, 0.0, 4.0, 1.0, None, 0.0, 3.0]


async def test_a_missing_measurement_makes_a_score_a_lower_bound() -> None:
    async def body(t: EvalContext) -> None:
        turn = await t.send("hi")
        t.score(2)
        turn.max_tokens(100).score(3).key("budget")

    result = await run(body, "score")
    assert (result.status, result.score, result.partial_score) == ("unrankable", None, 2.0)
    assert "budget" in (result.reason or "")


async def test_a_threshold_decides_only_as_a_gate() -> None:
    async def body(t: EvalContext) -> None:
        turn = await t.send("hi")
        t.check(turn.message, SCORE.at_most(0.5)).key("observed")
        t.check(turn.message, SCORE.at_least(0.5)).gate().key("gated")

    result = await run(body)
    assert result.status == "passed"
    assert {item.requirement: item.decision for item in result.assertions} == {
        "observed": "informative",
        "gated": "met",
    }


async def test_async_predicates_run_once_and_settle_before_the_verdict() -> None:
    calls: list[object] = []

    async def slow(value: object) -> bool:
        calls.append(value)
        await anyio.lowlevel.checkpoint()
        return False

    async def body(t: EvalContext) -> None:
        subject = ["a"]
        t.check(subject, satisfies("slow", slow) & ~equals(["b"])).key("slow")
        subject.append("changed later")

    result = await run(body)
    assert (result.status, calls) == ("failed", [["a"]])


async def test_entries_registered_before_a_stop_still_settle() -> None:
    release = anyio.Event()

    async def waits(value: object) -> bool:
        await release.wait()
        return True

    async def body(t: EvalContext) -> None:
        t.check("a", satisfies("waits", waits)).key("pending")
        release.set()
        await t.check("a", equals("b")).key("stop").or_stop()

    result = await run(body)
    assert {item.requirement: item.evaluation.outcome for item in result.assertions} == {
        "pending": "matched",
        "stop": "mismatched",
    }


@pytest.mark.parametrize(
    ("subject", "hint"),
    [
        (equals("a"), "the match"),
        (iter([1]), "iterator"),
        ((value for value in [1]), "iterator"),
    ],
)
async def test_what_is_no_subject_is_refused(subject: object, hint: str) -> None:
    async def body(t: EvalContext) -> None:
        t.check("a", equals("a"))
        t.check(subject, equals("a"))

    result = await run(body)
    assert result.status == "errored"
    assert hint in (result.reason or "")


async def test_a_coroutine_handle_result_or_turn_as_subject_is_refused() -> None:
    async def body(t: EvalContext) -> None:
        turn = await t.send("hi")
        handle = t.check("a", equals("a"))
        coroutine = t.send("again")
        with pytest.raises(TypeError, match="forget await"):
            t.check(coroutine, equals("a"))
        coroutine.close()
        with pytest.raises(TypeError, match="handle"):
            t.check(handle, equals("a"))
        with pytest.raises(TypeError, match="result"):
            t.check(await handle, equals("a"))
        with pytest.raises(TypeError, match=r"turn\.message"):
            t.check(turn, includes("a"))
        wrong: Any = "a"
        with pytest.raises(TypeError, match=r"equals"):
            t.check("a", wrong)
        scoped: Any = tool_match("x")
        with pytest.raises(TypeError, match="called_tool"):
            t.check("a", scoped)

    result = await run(body)
    assert (result.status, result.error) == ("errored", None)


async def test_stops_in_task_groups_are_stops() -> None:
    reached: list[str] = []

    async def failing(t: EvalContext) -> None:
        await t.check("a", equals("b")).key("stop").or_stop()
        reached.append("after the stop")

    async def sibling() -> None:
        await anyio.sleep_forever()

    async def body(t: EvalContext) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(sibling)
            group.start_soon(failing, t)

    result = await run(body)
    assert (result.status, result.stopped_by, reached) == ("failed", "stop", [])


async def test_another_exception_beside_a_stop_is_an_error() -> None:
    async def body(t: EvalContext) -> None:
        async def stops() -> None:
            await t.check("a", equals("b")).or_stop()

        async def breaks() -> None:
            try:
                await anyio.sleep_forever()
            finally:
                raise ValueError("broken clean-up")

        async with anyio.create_task_group() as group:
            group.start_soon(breaks)
            await anyio.lowlevel.checkpoint()
            group.start_soon(stops)

    result = await run(body)
    assert result.status == "errored"
    assert "broken clean-up" in (result.reason or "")


def test_asyncio_task_groups_and_gather() -> None:
    finished: list[str] = []

    async def stops(t: EvalContext) -> None:
        await t.check("a", equals("b")).key("stop").or_stop()

    async def goes_on(done: asyncio.Event) -> None:
        await done.wait()
        finished.append("sibling")

    async def in_group(t: EvalContext) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(stops(t))

    async def in_gather(t: EvalContext) -> None:
        done = asyncio.Event()
        task = asyncio.ensure_future(goes_on(done))
        try:
            await asyncio.gather(stops(t), task)
        finally:
            done.set()
            await task

    for body in (in_group, in_gather):
        result = asyncio.run(run(body))
        assert (result.status, result.stopped_by) == ("failed", "stop")
    assert finished == ["sibling"]


def test_or_stop_is_a_real_coroutine_for_create_task() -> None:
    async def body(t: EvalContext) -> None:
        task = asyncio.create_task(t.check("abc", includes("b")).or_stop())
        assert await task == "abc"

    assert asyncio.run(run(body)).status == "passed"


async def test_cancelling_a_waiting_stop_is_not_a_stop() -> None:
    async def never(value: object) -> bool:
        await release.wait()
        return True

    release = anyio.Event()

    async def body(t: EvalContext) -> None:
        handle = t.check("a", satisfies("never", never))
        with anyio.move_on_after(0):
            await handle.or_stop()
        t.check("a", equals("a")).key("goes on")
        release.set()

    result = await run(body)
    assert (result.status, result.stopped_by) == ("passed", None)


async def test_absent_messages_are_unavailable_in_both_polarities() -> None:
    async def body(t: EvalContext) -> None:
        turn = await t.send("hi")
        assert turn.message == ""
        t.check(turn.message, excludes("error"))
        t.check(turn.message, ~includes("error"))

    result = await run(body, "pass", Reply(status="failed"))
    assert result.status == "errored"
    assert [item.evaluation.outcome for item in result.assertions] == ["unavailable", "unavailable"]
