"""Evals without a runner: in a script, in a notebook, on either event loop."""

import asyncio
from pathlib import Path
from typing import Any

import anyio
import pytest
import trio

from niceeval import (
    AgentFailed,
    AttemptResult,
    EvalContext,
    EvalLoadError,
    Reply,
    RunResult,
    ScriptedAgent,
    attempt,
    define_eval,
    define_score_eval,
    run_eval,
)
from niceeval.record import Record
from niceeval_expect import equals, includes, satisfies


@define_eval
async def greets(t: EvalContext) -> None:
    turn = await t.send("hello")
    t.check(turn.message, includes("hello")).key("greeting")


async def agent(message: str) -> str:
    await anyio.lowlevel.checkpoint()
    return f"{message} to you"


async def block() -> AttemptResult:
    async def slow(value: str) -> bool:
        await anyio.lowlevel.checkpoint()
        return value == "hello to you"

    async with attempt(agent=agent) as t:
        turn = await t.send("hello")
        await t.check(turn.message, satisfies("slow", slow)).key("greeting").or_stop()
    return t.result


async def both() -> tuple[AttemptResult, RunResult]:
    return await block(), await run_eval(greets, agent=agent)


def assert_both(found: tuple[AttemptResult, RunResult]) -> None:
    alone, run = found
    assert (alone.status, alone.reason) == ("passed", None)
    assert [item.status for item in run.attempts] == ["passed"]
    assert [item.requirement for item in alone.assertions] == ["greeting"]
    assert run.status == "sealed"
    assert run.rates.overall.rate == 1.0


def test_in_a_plain_script() -> None:
    assert_both(asyncio.run(both()))
    assert_both(trio.run(both))
    assert_both(anyio.run(both))


def test_in_a_running_loop_beside_other_tasks() -> None:
    async def notebook() -> None:
        tasks = [asyncio.create_task(both()) for _ in range(5)]
        for found in await asyncio.gather(*tasks):
            assert_both(found)

    asyncio.run(notebook())


def test_in_a_loop_that_somebody_else_runs() -> None:
    loop = asyncio.new_event_loop()
    try:
        assert_both(loop.run_until_complete(both()))
        assert_both(loop.run_until_complete(both()))
    finally:
        loop.close()


pytestmark = pytest.mark.anyio


async def test_a_block_and_a_run_are_recorded(tmp_path: Path) -> None:
    async with attempt(agent=agent, name="by hand", record=tmp_path) as t:
        turn = await t.send("hello")
        t.check(turn.message, equals("bye")).key("says bye")
    run = await run_eval(greets, agent={"kind": agent, "curt": ScriptedAgent(["no"])}, attempts=2, record=tmp_path)
    with Record.open(tmp_path) as record:
        newest, oldest = record.runs()
        assert (newest.id, newest.status) == (run.id, "sealed")
        (kept,) = record.attempts(oldest)
        assert kept == t.result
        assert (kept.eval_id, kept.agent, kept.verdict) == ("by hand", "agent", "failed")
        assert tuple(record.attempts(newest)) == run.attempts
        assert [(item.agent, item.attempt, item.status) for item in run.attempts] == [
            ("kind", 1, "passed"),
            ("kind", 2, "passed"),
            ("curt", 1, "failed"),
            ("curt", 2, "failed"),
        ]
        assert record.pass_rates(newest).overall.rate == 0.5
    assert (tmp_path / ".gitignore").read_text() == "*\n"
    assert run.folder is not None


async def test_nothing_is_written_without_a_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert_both(await both())
    assert list(tmp_path.iterdir()) == []


async def test_cases_and_scores() -> None:
    @define_score_eval(cases={"short": "hi", "long": "good morning"})
    async def counts(t: EvalContext, case: str) -> None:
        turn = await t.send(case)
        t.score(len(turn.message))
        t.check(turn.message, includes(case)).score(0.1).key("echo")

    run = await run_eval(counts, agent=lambda message: message, concurrency=1)
    assert [(item.case_id, item.score) for item in run.attempts] == [("short", 2.1), ("long", 12.1)]
    async with attempt(style="score") as t:
        t.score(0.1)
        t.score(0.2)
    assert (t.result.status, t.result.score, t.result.verdict) == ("scored", 0.3, None)


async def leave_with(error: BaseException, seen: list[EvalContext], folder: Path) -> None:
    async with attempt(agent=agent, record=folder) as t:
        seen.append(t)
        t.check("a", equals("a")).key("before")
        raise error


async def test_an_exception_is_recorded_and_then_propagates(tmp_path: Path) -> None:
    seen: list[EvalContext] = []
    with pytest.raises(ValueError, match="mine"):
        await leave_with(ValueError("mine"), seen, tmp_path)
    assert (seen[0].result.status, seen[0].result.reason) == ("errored", "ValueError: mine")
    with Record.open(tmp_path) as record:
        assert record.attempts()[0] == seen[0].result
        assert record.runs()[0].status == "sealed"


async def send_once(seen: list[EvalContext]) -> None:
    async with attempt(agent=ScriptedAgent([ZeroDivisionError("agent")])) as t:
        seen.append(t)
        await t.send("x")


async def test_a_broken_agent_propagates_too_and_is_a_failure() -> None:
    seen: list[EvalContext] = []
    with pytest.raises(AgentFailed, match="ZeroDivisionError: agent"):
        await send_once(seen)
    assert (seen[0].result.verdict, seen[0].result.reason) == ("failed", "the agent raised ZeroDivisionError: agent")


async def test_a_stop_and_a_skip_end_the_block_quietly() -> None:
    reached: list[str] = []
    async with attempt() as stopped:
        await stopped.check("a", equals("b")).key("stop").or_stop()
        reached.append("after the stop")
    async with attempt() as skipped:
        skipped.skip("no key")
    async with attempt() as grouped, anyio.create_task_group() as group:

        async def stop() -> None:
            await grouped.check("a", equals("b")).key("stop").or_stop()

        group.start_soon(stop)
        group.start_soon(anyio.sleep_forever)
    assert reached == []
    assert (stopped.result.verdict, stopped.result.stopped_by) == ("failed", "stop")
    assert (skipped.result.verdict, skipped.result.reason) == ("skipped", "no key")
    assert (grouped.result.verdict, grouped.result.stopped_by) == ("failed", "stop")


async def test_blocks_within_blocks_are_apart() -> None:
    async with attempt(name="outer") as outer:
        outer.check("a", equals("a"))
        async with attempt(name="inner") as inner:
            await inner.check("a", equals("b")).or_stop()
        outer.check(inner.result.verdict, equals("failed")).key("inner")
    assert (outer.result.verdict, inner.result.verdict) == ("passed", "failed")


async def test_a_block_is_entered_once() -> None:
    opened = attempt()
    async with opened as t:
        t.check("a", equals("a"))
    with pytest.raises(RuntimeError, match="once"):
        await opened.__aenter__()


@pytest.mark.parametrize("limit", [0, -1, "4", True, 1.5, None])
async def test_bad_numbers_are_refused(limit: Any) -> None:
    with pytest.raises(ValueError, match="attempts is a whole number of at least 1"):
        await run_eval(greets, agent=agent, attempts=limit)
    with pytest.raises(ValueError, match="concurrency is a whole number of at least 1"):
        await run_eval(greets, agent=agent, concurrency=limit)


@pytest.mark.parametrize("limit", [0, -1, "4", True, float("nan"), float("inf")])
async def test_bad_times_are_refused(limit: Any) -> None:
    with pytest.raises(ValueError, match="timeout is a number of seconds above 0"):
        await run_eval(greets, agent=agent, timeout=limit)
    with pytest.raises(ValueError, match="timeout is a number of seconds above 0"):
        attempt(timeout=limit)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"style": "both"}, ValueError, "style"),
        ({"name": " "}, ValueError, "name"),
        ({"name": 3}, ValueError, "name"),
        ({"agent": 3}, TypeError, "agent"),
        ({"agent": ScriptedAgent}, TypeError, "instance"),
        ({"agent": "mod:attr"}, TypeError, "resolve_agent"),
    ],
)
async def test_bad_options_are_refused_at_the_call(options: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        attempt(**options)


@pytest.mark.parametrize("agents", [{}, {"": agent}, {3: agent}])
async def test_agents_by_name_need_names(agents: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="agent"):
        await run_eval(greets, agent=agents)


async def test_what_is_no_eval_or_has_no_case_is_refused() -> None:
    wrong: Any = block
    with pytest.raises(TypeError, match="define_eval"):
        await run_eval(wrong)

    @define_eval(cases=list)
    async def empty(t: EvalContext, case: Any) -> None:
        t.check("a", equals("a"))

    with pytest.raises(EvalLoadError):
        await run_eval(empty)


async def test_results_have_no_truth_value() -> None:
    run = await run_eval(greets, agent=lambda message: Reply(message))
    for result in (run, run.attempts[0], run.attempts[0].assertions[0]):
        with pytest.raises(TypeError, match="truth value"):
            bool(result)


async def test_scores_beyond_every_number_are_no_score() -> None:
    @define_score_eval
    async def too_much(t: EvalContext) -> None:
        for _ in range(20):
            t.score(1e308)

    @define_score_eval
    async def never(t: EvalContext) -> None:
        t.score(1)
        t.score(10**400)

    for made in (too_much, never):
        (only,) = (await run_eval(made)).attempts
        assert (only.status, only.score) == ("errored", None)


async def test_points_may_be_any_kind_of_float() -> None:
    class Points(float):
        def __repr__(self) -> str:
            return f"Points({float(self)})"

    async with attempt(style="score") as t:
        t.score(Points(0.1))
        t.check("a", equals("a")).score(Points(0.2))
    assert t.result.score == 0.3
