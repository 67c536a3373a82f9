"""Agents, evals and hooks that cancel themselves, or raise what is no error: an end of one attempt, not of the run."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from niceeval import EvalContext, Experiment, define_eval, run_eval
from niceeval.plans import Plan
from niceeval.record.run import RunResult
from niceeval.record.write import MemoryWriter
from niceeval.runner import execute
from niceeval_expect import equals, satisfies

pytestmark = pytest.mark.anyio
Agent = Callable[[str], Awaitable[str]]


def closes_itself(message: str) -> None:
    raise GeneratorExit


def talks(cases: int = 6) -> Any:
    @define_eval(cases=range(cases))
    async def talks(t: EvalContext, case: int) -> None:
        turn = await t.send(str(case))
        t.check(turn.message, equals(str(case)))

    return talks


def odd_ones(act: Callable[[str], Awaitable[None]]) -> Agent:
    async def agent(message: str) -> str:
        if int(message) % 2:
            await act(message)
        return message

    return agent


async def test_generator_exit_is_an_error_of_its_attempt(anyio_backend: str) -> None:
    async def leave(message: str) -> None:
        closes_itself(message)

    run = await run_eval(talks(), agent=odd_ones(leave), concurrency=2)
    assert (run.status, run.statuses) == ("sealed", {"passed": 3, "errored": 3})
    assert {attempt.reason for attempt in run.attempts} == {None, "GeneratorExit"}


async def test_generator_exit_in_a_hook_is_an_error_of_its_attempt() -> None:
    @define_eval(teardown=lambda t: closes_itself("x"))
    async def ends_badly(t: EvalContext) -> None:
        t.check(1, equals(1))

    @define_eval(setup=lambda t: closes_itself("x"))
    async def begins_badly(t: EvalContext) -> None:
        t.check(1, equals(1))

    reasons = [(await run_eval(each)).attempts[0].reason for each in (ends_badly, begins_badly)]
    assert reasons == ["teardown raised GeneratorExit", "in setup: GeneratorExit"]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_an_agent_that_cancels_its_own_task_has_failed() -> None:
    async def cancel(message: str) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await anyio.sleep(0)

    run = await run_eval(talks(), agent=odd_ones(cancel), concurrency=2)
    assert (run.status, run.statuses) == ("sealed", {"passed": 3, "failed": 3})
    assert {attempt.reason for attempt in run.attempts} == {None, "the agent awaited a task that was cancelled"}


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("awaits", [True, False])
async def test_an_eval_that_cancels_its_own_task_is_errored_and_torn_down(awaits: bool) -> None:
    torn_down: list[int] = []

    @define_eval(cases=range(4), teardown=lambda t, case: torn_down.append(case))
    async def stray(t: EvalContext, case: int) -> None:
        t.check(case, equals(case))
        if case % 2:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            if awaits:
                await anyio.sleep(0)

    run = await run_eval(stray, concurrency=2)
    assert run.status == "sealed"
    assert [attempt.status for attempt in run.attempts] == ["passed", "errored"] * 2
    assert set(torn_down) >= {0, 2}
    assert not awaits or sorted(torn_down) == [0, 1, 2, 3]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_check_that_cancels_its_own_task_is_errored() -> None:
    async def stray(subject: object) -> bool:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await anyio.sleep(0)
        return True

    @define_eval(cases=range(3))
    async def checks(t: EvalContext, case: int) -> None:
        t.check(case, satisfies("stray", stray) if case == 1 else equals(case))
        await anyio.sleep(0.01)

    run = await run_eval(checks, concurrency=3)
    assert (run.status, run.statuses) == ("sealed", {"passed": 2, "errored": 1})


async def test_a_run_that_is_cancelled_is_interrupted_whatever_its_attempts_await() -> None:
    started = anyio.Event()

    async def waits(message: str) -> str:
        started.set()
        await anyio.sleep_forever()
        return message

    plan = Plan.of_agents((talks(3),), {"waits": waits}, 1, ())
    writer = MemoryWriter(plan.header())
    async with anyio.create_task_group() as group:

        async def run() -> None:
            await execute(plan, concurrency=2, timeout=None, writer=writer)

        group.start_soon(run)
        await started.wait()
        group.cancel_scope.cancel()
    assert writer.status == "interrupted"
    assert [attempt.reason for attempt in RunResult.from_writer(writer).attempts] == ["interrupted"] * 2


@pytest.mark.parametrize("place", ["agent", "setup", "experiment"])
async def test_ctrl_c_that_arrives_in_a_task_ends_the_run_in_order(place: str) -> None:
    torn_down: list[str] = []

    def press(*_: object) -> None:
        raise KeyboardInterrupt

    async def pressed(message: str) -> str:
        await anyio.sleep(0)
        press()
        return message

    @define_eval(cases=range(5), setup=press if place == "setup" else None)
    async def talk(t: EvalContext, case: int) -> None:
        t.check(case, equals(case))
        await t.send(str(case))

    experiment = Experiment(
        name="x",
        agent=pressed,
        setup=press if place == "experiment" else None,
        teardown=lambda: torn_down.append("x"),
    )
    plan = Plan((talk,), (experiment,))
    writer = MemoryWriter(plan.header())
    with pytest.raises(KeyboardInterrupt):
        await execute(plan, concurrency=1, timeout=None, writer=writer)
    assert (writer.status, torn_down) == ("interrupted", ["x"])
    reasons = [attempt.reason for attempt in RunResult.from_writer(writer).attempts]
    assert reasons == ([] if place == "experiment" else ["interrupted"])
