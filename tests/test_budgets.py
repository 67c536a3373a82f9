"""Budgets and `stop_after` stop what has not started, keep everything, and say what was not run."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
import trio
import trio.testing

from niceeval import AgentContext, Budget, EvalContext, Reply, RunResult, Usage, define_eval, run_eval
from niceeval.evals.eval import Eval
from niceeval.evals.experiments import Experiment
from niceeval.plans import Plan, Quiet
from niceeval.record.layout import read_header
from niceeval.record.write import MemoryWriter, RunWriter
from niceeval.runner import execute
from niceeval_expect import equals

pytestmark = pytest.mark.anyio


class Heard(Quiet):
    """What a display is told about the end."""

    def __init__(self) -> None:
        self.stops: list[tuple[str, int]] = []
        self.notes: list[str] = []

    def stopped(self, reason: str, not_run: int) -> None:
        self.stops.append((reason, not_run))

    def noted(self, text: str) -> None:
        self.notes.append(text)


@define_eval(cases=range(20))
async def talks(t: EvalContext, case: int) -> None:
    turn = await t.send(str(case))
    t.check(turn.message, equals(str(case)))


def agent_that_uses(usage: Usage | None) -> Callable[[str], Awaitable[Reply]]:
    async def agent(message: str) -> Reply:
        await anyio.lowlevel.checkpoint()
        return Reply(message, usage=usage)

    return agent


async def run(plan: Plan, *, concurrency: int = 1, **options: Any) -> tuple[RunResult, Heard]:
    heard = Heard()
    writer = MemoryWriter(plan.header())
    limits = {"concurrency": concurrency, "timeout": None, **options}
    return await execute(plan, writer=writer, progress=heard, **limits), heard


async def run_with(usage: Usage | None, budget: Budget, concurrency: int = 1) -> tuple[RunResult, Heard]:
    return await run(
        Plan.of_agents((talks,), {"agent": agent_that_uses(usage)}), concurrency=concurrency, budget=budget
    )


@pytest.mark.parametrize(
    ("usage", "budget", "ran", "reason"),
    [
        (Usage(cost_usd=0.1), Budget(max_cost=0.3), 3, "max_cost of $0.3 is reached: $0.3 spent"),
        (Usage(cost_usd=0.7), Budget(max_cost=2), 3, "max_cost of $2 is reached: $2.1 spent"),
        (Usage(input_tokens=900, output_tokens=100), Budget(max_tokens=2_000), 2, "max_tokens of 2,000 is reached"),
        (Usage(output_tokens=100), Budget(max_tokens=150), 2, "200 used, and 2 attempts reported no tokens"),
        (Usage(cost_usd=5, input_tokens=1, output_tokens=0), Budget(max_cost=5, max_tokens=99), 1, "max_cost of $5"),
    ],
)
async def test_a_limit_stops_what_has_not_started(usage: Usage, budget: Budget, ran: int, reason: str) -> None:
    result, heard = await run_with(usage, budget)
    assert (result.status, result.planned, result.statuses) == ("interrupted", 20, {"passed": ran})
    ((told, not_run),) = heard.stops
    assert not_run == 20 - ran
    assert reason in told
    header = result._header
    assert header.stopped == told


async def test_attempts_in_flight_go_on_to_their_end_and_all_is_kept() -> None:
    result, heard = await run_with(Usage(cost_usd=1), Budget(max_cost=2), concurrency=4)
    assert result.status == "interrupted"
    assert set(result.statuses) == {"passed"}
    assert heard.stops == [(result._header.stopped, 20 - len(result.attempts))]
    assert 2 <= len(result.attempts) <= 5


async def test_a_budget_that_is_used_up_by_the_last_attempt_stops_nothing() -> None:
    result, heard = await run_with(Usage(cost_usd=0.1), Budget(max_cost=2))
    assert (result.status, result.statuses, heard.stops) == ("sealed", {"passed": 20}, [])
    assert (result._header.stopped, heard.notes) == (None, [])


@pytest.mark.parametrize(
    ("usage", "notes"),
    [
        (None, ["max_cost counts only what was reported: 20 attempts reported no cost"]),
        (Usage(input_tokens=5), ["max_cost counts only what was reported: 20 attempts reported no cost"]),
        (Usage(cost_usd=0.0), []),
    ],
)
async def test_what_no_attempt_reported_is_said(usage: Usage | None, notes: list[str]) -> None:
    result, heard = await run_with(usage, Budget(max_cost=2))
    assert (result.status, heard.notes) == ("sealed", notes)


async def test_attempts_that_reported_nothing_are_counted_in_the_sentence() -> None:
    async def agent(message: str) -> Reply:
        return Reply(message, usage=None if message in ("0", "1") else Usage(cost_usd=1))

    _, heard = await run(Plan.of_agents((talks,), {"agent": agent}), budget=Budget(max_cost=2))
    assert heard.stops == [("max_cost of $2 is reached: $2 spent, and 2 attempts reported no cost", 16)]


async def test_an_eval_that_never_sends_costs_nothing() -> None:
    @define_eval
    async def quiet(t: EvalContext) -> None:
        t.check("a", equals("a"))

    result, heard = await run(Plan((quiet,)), budget=Budget(max_cost=1))
    assert (result.status, heard.notes) == ("sealed", [])


async def test_an_experiment_with_a_budget_stops_alone() -> None:
    agent = agent_that_uses(Usage(cost_usd=1))
    experiments = (
        Experiment(name="dear", agent=agent, budget=Budget(max_cost=3)),
        Experiment(name="cheap", agent=agent_that_uses(Usage(cost_usd=0.01)), budget=Budget(max_cost=3)),
        Experiment(name="free", agent=agent),
    )
    result, heard = await run(Plan((talks,), experiments), concurrency=3)
    counts = {name: sum(attempt.agent == name for attempt in result.attempts) for name in ("dear", "cheap", "free")}
    assert counts == {"dear": 3, "cheap": 20, "free": 20}
    assert heard.stops == [("experiment 'dear': max_cost of $3 is reached: $3 spent", 17)]
    assert result.status == "interrupted"


async def test_several_reasons_are_all_kept() -> None:
    agent = agent_that_uses(Usage(cost_usd=1, input_tokens=10, output_tokens=0))
    experiments = (
        Experiment(name="a", agent=agent, budget=Budget(max_cost=2)),
        Experiment(name="b", agent=agent, budget=Budget(max_tokens=30)),
    )
    result, heard = await run(Plan((talks,), experiments), concurrency=1)
    assert [not_run for _, not_run in heard.stops] == [18, 17]
    assert result._header.stopped == "; ".join(reason for reason, _ in heard.stops)


async def test_the_reason_is_in_the_record(tmp_path: Path) -> None:
    plan = Plan.of_agents((talks,), {"agent": agent_that_uses(Usage(cost_usd=1))})
    writer = RunWriter.create(tmp_path, plan.header())
    await execute(plan, concurrency=1, timeout=None, writer=writer, budget=Budget(max_cost=1))
    header = read_header(writer.folder)
    assert (header.status, header.stopped) == ("interrupted", "max_cost of $1 is reached: $1 spent")


async def test_run_eval_takes_a_budget() -> None:
    result = await run_eval(talks, agent=agent_that_uses(Usage(cost_usd=1)), concurrency=1, budget=Budget(max_cost=4))
    assert (result.status, result.statuses) == ("interrupted", {"passed": 4})
    five: Any = 5
    with pytest.raises(TypeError, match="takes a Budget"):
        await run_eval(talks, agent=agent_that_uses(None), budget=five)


@pytest.mark.parametrize("name", ["max_cost", "max_tokens", "max_time"])
@pytest.mark.parametrize("value", [0, -1, "4", True, float("nan"), float("inf")])
def test_a_limit_that_makes_no_sense_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        Budget(**{name: value})


# -- time


def on_a_clock_of_its_own(main: Callable[[], Awaitable[Any]]) -> Any:
    return trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


async def ten_seconds(message: str, ctx: AgentContext) -> str:
    await anyio.sleep(10)
    return message


def test_time_stops_a_run_between_attempts() -> None:
    async def main() -> tuple[RunResult, Heard, float]:
        plan = Plan.of_agents((talks,), {"agent": ten_seconds})
        result, heard = await run(plan, concurrency=2, budget=Budget(max_time=25))
        return result, heard, trio.current_time()

    result, heard, _ = on_a_clock_of_its_own(main)
    assert heard.stops == [("max_time of 25 s is up", 14)]
    assert (result.status, result.statuses) == ("interrupted", {"passed": 6})


def test_time_is_watched_while_nothing_ends() -> None:
    said: list[float] = []

    async def main() -> None:
        class Timed(Heard):
            def stopped(self, reason: str, not_run: int) -> None:
                said.append(trio.current_time() - started)

        plan = Plan.of_agents((talks,), {"agent": ten_seconds})
        started = trio.current_time()
        await execute(
            plan,
            concurrency=1,
            timeout=None,
            writer=MemoryWriter(plan.header()),
            progress=Timed(),
            budget=Budget(max_time=3),
        )
        said.append(trio.current_time() - started)

    on_a_clock_of_its_own(main)
    assert said == pytest.approx([3, 10], abs=0.1)


def test_an_experiment_has_time_of_its_own() -> None:
    async def main() -> tuple[RunResult, Heard]:
        experiments = (
            Experiment(name="short", agent=ten_seconds, budget=Budget(max_time=15)),
            Experiment(name="long", agent=ten_seconds),
        )
        return await run(Plan((talks,), experiments), concurrency=2)

    result, heard = on_a_clock_of_its_own(main)
    assert result.statuses == {"passed": 22}
    assert heard.stops == [("experiment 'short': max_time of 15 s is up", 18)]


async def test_a_run_that_ends_in_time_does_not_wait_for_it() -> None:
    with anyio.fail_after(30):
        result, heard = await run_with(None, Budget(max_time=10_000))
    assert (result.status, heard.stops) == ("sealed", [])


# -- stopping after so many


def failing_from(first: int) -> Eval[Any]:
    async def body(t: EvalContext, case: int) -> None:
        t.check(case < first, equals(True))

    return define_eval("fails", test=body, cases=range(20))


@pytest.mark.parametrize(("most", "ran"), [(1, 6), (3, 8)])
async def test_a_run_stops_after_so_many_failed_attempts(most: int, ran: int) -> None:
    result, heard = await run(Plan((failing_from(5),)), stop_after=most)
    assert result.statuses == {"passed": 5, "failed": most}
    what = "1 attempt has" if most == 1 else "3 attempts have"
    assert heard.stops == [(f"{what} failed or errored", 20 - ran)]
    assert result.status == "interrupted"


async def test_errored_attempts_count_and_skipped_ones_do_not() -> None:
    async def body(t: EvalContext, case: int) -> None:
        if case < 3:
            t.skip("not today")
        raise ValueError("broken")

    result, _ = await run(Plan((define_eval("mixed", test=body, cases=range(9)),)), stop_after=2)
    assert result.statuses == {"skipped": 3, "errored": 2}


async def test_a_failure_of_the_last_attempt_stops_nothing() -> None:
    result, heard = await run(Plan((failing_from(19),)), stop_after=1)
    assert (result.status, result.statuses, heard.stops) == ("sealed", {"passed": 19, "failed": 1}, [])
