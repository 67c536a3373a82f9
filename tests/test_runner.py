"""The runner: bounded, in any order the same, and honest when the record cannot be written."""

import asyncio
import gc
import subprocess
import sys
import textwrap
import tracemalloc
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from niceeval import (
    AgentContext,
    EvalContext,
    RecordError,
    Reply,
    RunResult,
    define_eval,
    define_score_eval,
    run_eval,
)
from niceeval.attempts import Finished
from niceeval.evals.experiments import Experiment
from niceeval.record import Record
from niceeval.record.planned import Settled
from niceeval.record.write import MemoryWriter, RunWriter
from niceeval.runner import AttemptRef, Plan, execute
from niceeval_expect import at, equals, includes, satisfies

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("concurrency", [1, 3, 50])
async def test_no_more_attempts_than_asked_for_are_in_flight(concurrency: int) -> None:
    now, most = 0, 0

    async def agent(message: str) -> str:
        nonlocal now, most
        now += 1
        most = max(most, now)
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        now -= 1
        return message

    @define_eval(cases=[str(number) for number in range(40)])
    async def test(t: EvalContext, case: str) -> None:
        turn = await t.send(case)
        t.check(turn.message, equals(case))

    result = await run_eval(test, agent=agent, concurrency=concurrency)
    assert result.statuses == {"passed": 40}
    assert most == min(concurrency, 40)


async def counted(name: str, now: Counter[str], most: Counter[str], message: str) -> str:
    now[name] += 1
    most[name] = max(most[name], now[name])
    now["all"] += 1
    most["all"] = max(most["all"], now["all"])
    for _ in range(5):
        await anyio.lowlevel.checkpoint()
    now[name] -= 1
    now["all"] -= 1
    return message


async def test_an_experiment_may_have_a_lower_limit_than_the_run() -> None:
    now: Counter[str] = Counter()
    most: Counter[str] = Counter()
    limits = {"one": 1, "two": 2, "free": None, "many": 90}
    experiments = tuple(
        Experiment(name=name, agent=partial(counted, name, now, most), concurrency=limit)
        for name, limit in limits.items()
    )

    @define_eval(cases=range(30))
    async def test(t: EvalContext, case: int) -> None:
        turn = await t.send(str(case))
        t.check(turn.message, equals(str(case)))

    plan = Plan((test,), experiments)
    result = await execute(plan, concurrency=8, timeout=None, writer=MemoryWriter(plan.header()))
    assert (result.status, result.statuses) == ("sealed", {"passed": 120})
    assert (most["one"], most["two"], most["all"]) == (1, 2, 8)
    assert most["free"] <= 8
    assert most["many"] <= 8


async def test_a_slow_experiment_does_not_starve_the_others() -> None:
    ended: list[str] = []
    others = anyio.Event()

    async def slow(message: str) -> str:
        await others.wait()
        return message

    async def fast(message: str) -> str:
        await anyio.lowlevel.checkpoint()
        ended.append(message)
        if len(ended) == 40:
            others.set()
        return message

    @define_eval(cases=range(40))
    async def test(t: EvalContext, case: int) -> None:
        turn = await t.send(str(case))
        t.check(turn.message, equals(str(case)))

    plan = Plan((test,), (Experiment(name="slow", agent=slow), Experiment(name="fast", agent=fast)))
    with anyio.fail_after(30):
        result = await execute(plan, concurrency=4, timeout=None, writer=MemoryWriter(plan.header()))
    assert result.statuses == {"passed": 80}
    assert sorted(ended, key=int) == [str(case) for case in range(40)]


async def test_an_experiment_runs_in_the_order_of_the_plan_with_its_own_time() -> None:
    seen: list[str] = []

    async def agent(message: str, ctx: AgentContext) -> str:
        seen.append(f"{ctx.model} {message} {ctx.attempt}")
        if ctx.model == "hasty":
            await anyio.sleep_forever()
        return message

    async def body(t: EvalContext, case: str) -> None:
        turn = await t.send(case)
        t.check(turn.message, equals(case))

    evals = tuple(define_eval(name, test=body, cases={"a": f"{name}a", "b": f"{name}b"}) for name in "xy")
    experiments = (
        Experiment(name="1", model="hasty", agent=agent, timeout=0.01, attempts=1),
        Experiment(name="2", model="calm", agent=agent),
    )
    plan = Plan(evals, experiments, 2)
    result = await execute(plan, concurrency=1, timeout=30, writer=MemoryWriter(plan.header()))
    assert [each for each in seen if each.startswith("calm")] == [
        f"calm {name}{case} {number}" for name in "xy" for case in "ab" for number in (1, 2)
    ]
    assert [attempt.reason for attempt in result.attempts if attempt.agent == "1"] == ["timed out after 0.01 s"] * 4
    assert result.statuses == {"errored": 4, "passed": 8}


async def test_what_a_resumed_run_has_done_is_not_run_again() -> None:
    ran: list[int] = []

    @define_eval(id="many", cases=range(6))
    async def test(t: EvalContext, case: int) -> None:
        ran.append(case)
        t.check(case, equals(case))

    done = frozenset(AttemptRef("many", str(case), "", 1) for case in (0, 2, 5))
    plan = Plan((test,), done=done)
    result = await execute(plan, concurrency=1, timeout=None, writer=MemoryWriter(plan.header()))
    assert (ran, result.status, result.planned) == ([1, 3, 4], "sealed", 6)
    whole = Plan((test,), done=frozenset(AttemptRef("many", str(case), "", 1) for case in range(6)))
    result = await execute(whole, concurrency=1, timeout=None, writer=MemoryWriter(whole.header()))
    assert (result.status, len(result.attempts)) == ("sealed", 0)


async def test_asynchronous_checks_have_a_bound_of_their_own() -> None:
    now, most = 0, 0

    async def slow(value: object) -> bool:
        nonlocal now, most
        now += 1
        most = max(most, now)
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        now -= 1
        return True

    @define_eval(cases=range(10))
    async def test(t: EvalContext, case: int) -> None:
        for number in range(10):
            t.check(number, satisfies("slow", slow))

    result = await run_eval(test, concurrency=10)
    assert result.statuses == {"passed": 10}
    assert 1 < most <= 20


async def test_the_order_in_which_attempts_end_changes_nothing() -> None:
    ended: list[int] = []

    def run_with(concurrency: int) -> Any:
        gates = [anyio.Event() for _ in range(7)]
        gates[6].set()

        async def agent(message: str) -> str:
            place = int(message)
            if concurrency > 1:
                await gates[place].wait()
                if place:
                    gates[place - 1].set()
            ended.append(place)
            return message

        @define_eval(id="order", cases=range(7))
        async def test(t: EvalContext, case: int) -> None:
            turn = await t.send(str(case))
            t.check(turn.message, includes("3")).key("three")

        return run_eval(test, agent=agent, concurrency=concurrency)

    one, many = await run_with(1), await run_with(7)
    assert ended == [0, 1, 2, 3, 4, 5, 6, 6, 5, 4, 3, 2, 1, 0]

    def seen(result: RunResult) -> list[Any]:
        return [(item.case_id, item.status, item.reason, item.inputs) for item in result.attempts]

    assert seen(one) == seen(many)
    assert one.rates == many.rates


async def test_an_attempt_that_swallows_the_end_of_the_run_is_interrupted_all_the_same(tmp_path: Path) -> None:
    begun = anyio.Event()

    @define_eval(id="deaf")
    async def deaf(t: EvalContext) -> None:
        t.check("a", equals("a"))
        begun.set()
        with suppress(BaseException):
            await anyio.sleep_forever()

    async with anyio.create_task_group() as group:
        group.start_soon(partial(run_eval, deaf, record=tmp_path))
        await begun.wait()
        group.cancel_scope.cancel()
    with Record.open(tmp_path) as record:
        assert record.run().status == "interrupted"
        assert [(item.status, item.reason) for item in record.attempts()] == [("errored", "interrupted")]


class Odd(BaseException):
    """No `Exception`, such as the control signals of other libraries."""


@pytest.mark.parametrize("raised", [Odd, SystemExit, asyncio.CancelledError])
async def test_a_predicate_that_raises_something_odd_is_errored_and_harms_nobody_else(
    raised: type[BaseException],
) -> None:
    async def odd(value: object) -> bool:
        await anyio.lowlevel.checkpoint()
        raise raised

    @define_eval(cases=[str(number) for number in range(20)])
    async def test(t: EvalContext, case: str) -> None:
        await anyio.lowlevel.checkpoint()
        t.check(case, satisfies("is odd", odd) if case == "0" else equals(case))

    result = await run_eval(test, concurrency=2)
    assert result.status == "sealed"
    assert result.statuses == {"errored": 1, "passed": 19}
    (entry,) = result.attempts[0].assertions
    assert entry.evaluation.outcome == "errored"
    assert raised.__name__ in (entry.reason or "")


async def test_every_attempt_of_the_plan_is_there_once(tmp_path: Path) -> None:
    @define_eval(id="passes", cases={"a": 1, "b": 2})
    async def passes(t: EvalContext, case: int) -> None:
        t.check(case, equals(1))

    @define_score_eval(id="scores")
    async def scores(t: EvalContext) -> None:
        t.score(t.attempt)

    plan = Plan.of_agents((passes, scores), {"x": str.upper, "y": str.lower}, 2)
    assert plan.size == 12
    heard: list[tuple[str, str, int, str]] = []

    class Heard:
        def plan_ready(self, plan: Plan, run_id: str) -> None:
            heard.append((run_id, "", plan.size, "ready"))

        def attempt_started(self, ref: AttemptRef) -> None:
            pass

        def attempt_finished(self, ref: AttemptRef, finished: Finished) -> None:
            heard.append((ref.name, ref.agent, ref.attempt, finished.status))

        def attempt_retried(self, ref: AttemptRef, tried: int, wait: float, reason: str) -> None:
            pass

        def settled(self, found: Settled, not_needed: int) -> None:
            pass

        def stopped(self, reason: str, not_run: int) -> None:
            pass

        def came_late(self, mistake: str) -> None:
            pass

        def complained(self, text: str) -> None:
            pass

        def noted(self, text: str) -> None:
            pass

    writer = RunWriter.create(tmp_path, plan.header())
    result = await execute(plan, concurrency=4, timeout=None, writer=writer, progress=Heard())
    assert (result.planned, len(result.attempts)) == (12, 12)
    assert len({item.id for item in result.attempts}) == 12
    assert len(heard) == 13
    assert len(set(heard)) == 13
    with Record.open(tmp_path) as record:
        assert tuple(record.attempts()) == result.attempts
        assert record.run().status == "sealed"


class Failing:
    """A pen that writes `lines` attempts and then finds the disk full."""

    def __init__(self, lines: int, header: Mapping[str, Any]) -> None:
        self.inner = MemoryWriter(header)
        self.left = lines

    @property
    def id(self) -> str:
        return self.inner.id

    def blob(self, data: bytes) -> str:
        return self.inner.blob(data)

    def append(self, line: str) -> None:
        if self.left == 0:
            raise RecordError("cannot write to attempts.jsonl: No space left on device")
        self.left -= 1
        self.inner.append(line)

    def seal(self, status: Any = "sealed", *, stopped: str | None = None) -> None:
        self.inner.seal(status, stopped=stopped)


async def test_a_run_that_cannot_be_written_ends_with_that_error() -> None:
    ran: list[int] = []

    @define_eval(cases=range(100))
    async def test(t: EvalContext, case: int) -> None:
        ran.append(case)
        t.check(case, equals(case))

    plan = Plan((test,))
    writer: Any = Failing(5, plan.header())
    with pytest.raises(RecordError, match="No space left"):
        await execute(plan, concurrency=2, timeout=None, writer=writer)
    assert len(writer.inner.lines) == 5
    assert len(ran) < 20
    assert RunResult.from_writer(writer.inner).status == "interrupted"


FULL_DISK = """
import resource, signal, sys
import anyio
from niceeval import RecordError, define_eval, run_eval
from niceeval_expect import equals

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

@define_eval(cases=range(2_000))
async def test(t, case):
    turn = await t.send("x" * 300)
    t.check(turn.message, equals(turn.message))

async def main():
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    await run_eval(test, agent=lambda message: message, record=sys.argv[1])

try:
    anyio.run(main, backend=sys.argv[2])
except RecordError as error:
    print(error)
    sys.exit(7)
"""


def test_a_full_disk_keeps_what_was_written(tmp_path: Path, anyio_backend: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(FULL_DISK))
    record = tmp_path / "record"
    root = str(Path(__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script), str(record), anyio_backend],
        env={"PYTHONPATH": root, "PATH": ""},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (7, "")
    assert "cannot write to" in done.stdout
    assert "--record" in done.stdout
    with Record.open(record) as opened:
        assert opened.run().status == "interrupted"
        kept = opened.attempts()
        assert 10 < len(kept) < 2_000
        assert {item.status for item in kept} == {"passed"}


@pytest.mark.parametrize("depth", [100, 260, 300, 350, 1_000])
async def test_a_match_that_cannot_be_written_harms_only_its_attempt(depth: int) -> None:
    match = satisfies("never", lambda value: False)
    for _ in range(depth):
        match = at("k", match)

    @define_eval
    async def test(t: EvalContext) -> None:
        t.check("a", equals("a"))
        if t.attempt == 2:
            t.check({"k": 1}, match)

    result = await run_eval(test, attempts=3)
    assert result.status == "sealed"
    first, second, third = result.attempts
    assert (first.status, third.status) == ("passed", "passed")
    assert second.status in ("failed", "errored")
    assert depth < 200 or "RecursionError" in (second.reason or "")


async def test_an_agent_with_data_that_cannot_be_read_harms_only_its_attempt() -> None:
    class Endless(dict[str, Any]):
        def items(self) -> Any:
            raise RuntimeError("no items")

    def agent(message: str, ctx: AgentContext) -> Any:
        return Reply(message, data=Endless(a=1) if ctx.attempt == 2 else {"a": 1})

    @define_eval
    async def test(t: EvalContext) -> None:
        turn = await t.send("x")
        t.check(turn.message, equals("x"))

    result = await run_eval(test, agent=agent, attempts=3)
    assert [result.attempts[0].status, result.attempts[2].status] == ["passed", "passed"]
    assert len(result.attempts) == 3


async def test_thousands_of_cases_take_no_memory_of_their_own(tmp_path: Path) -> None:
    peaks: list[int] = []
    for count in (200, 1_000):

        @define_eval(id="many", cases=range(count))
        async def test(t: EvalContext, case: int) -> None:
            turn = await t.send(f"case {case} " * 50)
            t.check(turn.message, includes(f"case {case}"))
            turn.succeeded()

        plan = Plan.of_agents((test,), {"echo": echo})
        writer = RunWriter.create(tmp_path, plan.header())
        gc.collect()
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        result = await execute(plan, concurrency=10, timeout=None, writer=writer)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        peaks.append(peak - before)
        assert result.statuses == {"passed": count}
    # What is left of a case is its place in the plan.
    assert peaks[1] - peaks[0] < 800 * 1_000


async def echo(message: str) -> str:
    return message


async def test_what_an_agent_does_to_its_flags_stays_in_its_attempt() -> None:
    seen: list[Any] = []

    async def agent(message: str, ctx: AgentContext) -> str:
        seen.append(list(ctx.flags["tools"]))
        ctx.flags["tools"].append(message)
        return message

    @define_eval(cases={"a": 1, "b": 2})
    async def test(t: EvalContext, case: int) -> None:
        turn = await t.send(f"case {case}")
        t.check(turn.message, includes("case"))

    experiment = Experiment(name="one", agent=agent, flags={"tools": ["search"]})
    plan = Plan((test,), (experiment,), 2)
    await execute(plan, concurrency=1, timeout=None, writer=MemoryWriter(plan.header()))
    assert seen == [["search"]] * 4
