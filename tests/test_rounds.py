"""Evals that are repeated only until their rate is decided: the rounds, and runs in which they stop."""

import json
from collections import Counter
from pathlib import Path

import anyio
import attrs
import numpy as np
import pytest

from niceeval import AgentUnavailable, Budget, EvalContext, Experiment, Reply, Usage, define_eval
from niceeval.evals.eval import Eval
from niceeval.plans import AttemptRef, Plan, Quiet
from niceeval.record import Record
from niceeval.record.chain import open_source
from niceeval.record.gates import GateResult
from niceeval.record.planned import Settled
from niceeval.record.queries import RunTables
from niceeval.record.rate_conditions import RateCondition, own_rates
from niceeval.record.write import RunWriter
from niceeval.rounds import Rounds, Todo, lacks
from niceeval.runner import execute
from niceeval_expect import equals

RUNS, CASES, MOST = 2_000, 4, 40


def decided(rounds: Rounds, outcomes: np.ndarray) -> tuple[str, int]:
    """Let rounds go as a run does, several at a time; return the answer and the attempts that it took."""
    while rounds.decision == "continue":
        going = list(rounds.open())
        for number in reversed(going):
            for passes in outcomes[number - 1]:
                rounds.ended(number, "passed" if passes else "failed")
    return rounds.decision, rounds.opened


@pytest.mark.parametrize(("min_rate", "ahead"), [(0.6, 1), (0.85, 3), (0.95, 1)])
def test_thousands_of_evals_at_the_boundary_are_decided_wrongly_in_at_most_one_of_twenty(
    min_rate: float, ahead: int
) -> None:
    """Cases of unequal chances whose mean is just the rate: it would be wrong to pass below it, and to fail at it."""
    random = np.random.default_rng(31)
    spread = min(1 - min_rate, 0.3)
    chances = np.array([min_rate + spread, min_rate - spread, min_rate, min_rate])
    answers: Counter[str] = Counter()
    for _ in range(RUNS):
        outcomes = random.random((MOST, CASES)) < chances
        answers[decided(Rounds(cases=CASES, most=MOST, min_rate=min_rate, ahead=ahead), outcomes)[0]] += 1
    assert answers["pass"] <= 0.05 * RUNS
    assert answers["fail"] <= 0.05 * RUNS
    assert answers["pass"] + answers["fail"] > 0


@pytest.mark.parametrize(("rate", "answer"), [(1.0, "pass"), (0.5, "fail")])
def test_clear_rates_take_few_rounds(rate: float, answer: str) -> None:
    random = np.random.default_rng(37)
    taken = []
    for _ in range(300):
        found, rounds = decided(
            Rounds(cases=CASES, most=MOST, min_rate=0.85), random.random((MOST, CASES)) < np.full(CASES, rate)
        )
        assert found == answer
        taken.append(rounds)
    assert np.mean(taken) < MOST / 5


def test_rounds_are_asked_in_their_order_whichever_ends_first() -> None:
    rounds = Rounds(cases=1, most=40, min_rate=0.85, ahead=30)
    assert list(rounds.open()) == list(range(1, 31))
    for number in range(30, 1, -1):
        rounds.ended(number, "passed")
    assert rounds.decision == "continue"
    assert list(rounds.open()) == []
    rounds.ended(1, "passed")
    assert rounds.decision == "pass"
    assert rounds.opened == 30
    assert list(rounds.open()) == []


def test_undecided_attempts_count_against_either_answer_and_skipped_ones_not_at_all() -> None:
    for status, answer in (("errored", "inconclusive"), ("skipped", "continue"), ("failed", "fail")):
        rounds = Rounds(cases=1, most=20, min_rate=0.85)
        while rounds.decision == "continue" and (opened := list(rounds.open())):
            rounds.ended(opened[0], status)
        assert rounds.decision == answer, status


# -- runs


async def agent(message: str) -> str:
    if message == "down":
        raise AgentUnavailable("503", retryable=False)
    return message


def made(
    good: int, bad: int = 0, *, down: int = 0, id: str = "desk/answers", attempts: int = 40, rate: float | None = 0.85
) -> Eval[tuple[str, bool]]:
    """Return an eval with so many cases that pass always, and so many that never do, or cannot be decided."""
    cases = {
        **{f"good{number}": ("hello", True) for number in range(good)},
        **{f"bad{number}": ("hello", False) for number in range(bad)},
        **{f"down{number}": ("down", True) for number in range(down)},
    }

    @define_eval(id=id, cases=cases, attempts=attempts, min_rate=rate)
    async def answers(t: EvalContext, case: tuple[str, bool]) -> None:
        turn = await t.send(case[0])
        t.check(turn.message == "hello", equals(case[1])).key("answers")

    return answers


class Told(Quiet):
    def __init__(self) -> None:
        self.settled_: list[tuple[Settled, int]] = []
        self.stopped_: list[tuple[str, int]] = []

    def settled(self, found: Settled, not_needed: int) -> None:
        self.settled_.append((found, not_needed))

    def stopped(self, reason: str, not_run: int) -> None:
        self.stopped_.append((reason, not_run))


def plan_of(*evals: Eval[tuple[str, bool]]) -> Plan:
    return attrs.evolve(Plan.of_agents(evals, {"plain": agent}), sequential=True)


def rates(answer: GateResult) -> list[RateCondition]:
    return [each for each in answer.conditions if isinstance(each, RateCondition)]


def attempts_of(folder: Path) -> Counter[str]:
    """Return how many attempts each eval has in the record."""
    with Record.open(folder) as record:
        return Counter(each.eval_id for each in record.attempts())


@pytest.mark.anyio
@pytest.mark.parametrize("concurrency", [1, 4, 7])
async def test_a_run_stops_early_on_a_clear_pass_and_on_a_clear_fail(tmp_path: Path, concurrency: int) -> None:
    clear, hopeless, unasked = made(4, id="clear"), made(1, 3, id="hopeless"), made(1, 1, id="unasked", rate=None)
    plan, told = plan_of(clear, hopeless, unasked), Told()
    assert plan.size == 4 * 40 + 4 * 40 + 2 * 40
    writer = RunWriter.create(tmp_path, plan.header())
    run = await execute(plan, concurrency=concurrency, timeout=None, writer=writer, progress=told)
    ran = attempts_of(writer.folder)
    rounds = {settled.eval: settled.attempts for settled, _ in told.settled_}
    assert {settled.eval: settled.decision for settled, _ in told.settled_} == {"clear": "pass", "hopeless": "fail"}
    assert ran == {"clear": 4 * rounds["clear"], "hopeless": 4 * rounds["hopeless"], "unasked": 80}
    # 24 passes decide, and 2 rounds with 6 failures do; with more at a time than cases, one more round has started.
    assert rounds["clear"] in (6, 7)
    assert rounds["hopeless"] in (2, 3)
    assert sum(not_needed for _, not_needed in told.settled_) == plan.size - ran.total()
    assert (run.status, run.planned, len(run.attempts)) == ("sealed", ran.total(), ran.total())
    with Record.open(tmp_path) as record:
        found = rates(record.gate())
    assert [(each.name, each.decision) for each in found] == [("clear", "pass"), ("hopeless", "fail")]
    assert [each.rounds for each in found] == [6, 2]
    assert found[0].low >= 0.85 > found[1].high
    assert all(each.missing == 0 for each in found)


@pytest.mark.anyio
async def test_a_large_run_is_decided_as_a_small_one_is(tmp_path: Path) -> None:
    plan = plan_of(made(3, 1, attempts=6), made(2, id="unasked", rate=None, attempts=2))
    writer = RunWriter.create(tmp_path, plan.header())
    await execute(plan, concurrency=5, timeout=None, writer=writer)
    answers, outcomes = [], []
    for large in (False, True):
        tables = RunTables(open_source(writer.folder), large=large)
        outcomes.append(sorted(tables.outcomes()))
        answers.append(own_rates(tables.header, tables))
        tables.close()
    assert outcomes[0] == outcomes[1]
    assert len(outcomes[0]) == 4 * 6 + 4
    assert answers[0] == answers[1]
    assert [(each.decision, each.rounds, each.passed, each.decided) for each in answers[0]] == [
        ("inconclusive", 6, 18, 24)
    ]


@pytest.mark.anyio
async def test_a_run_that_was_killed_is_decided_from_its_attempts(tmp_path: Path) -> None:
    plan = plan_of(made(4))
    writer = RunWriter.create(tmp_path, plan.header())
    await execute(plan, concurrency=1, timeout=None, writer=writer)
    path = writer.folder / "run.json"
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "status": "running", "settled": []}))
    with Record.open(tmp_path) as record:
        (condition,) = rates(record.gate())
        assert record.run().planned == plan.size
    assert (condition.decision, condition.rounds, condition.missing) == ("pass", 6, 0)


@pytest.mark.anyio
async def test_each_experiment_is_decided_by_itself(tmp_path: Path) -> None:
    async def wrong(message: str) -> str:
        return "bye"

    plan = Plan(
        (made(3, attempts=30),),
        (Experiment(name="good", agent=agent), Experiment(name="bad", agent=wrong)),
        sequential=True,
    )
    writer, told = RunWriter.create(tmp_path, plan.header()), Told()
    await execute(plan, concurrency=3, timeout=None, writer=writer, progress=told)
    assert {settled.agent: settled.decision for settled, _ in told.settled_} == {"good": "pass", "bad": "fail"}
    with Record.open(tmp_path) as record:
        assert {each.agent: each.decision for each in rates(record.gate())} == {"good": "pass", "bad": "fail"}


@pytest.mark.anyio
async def test_what_no_number_of_rounds_decides_runs_to_its_end(tmp_path: Path) -> None:
    plan, told = plan_of(made(6, 1, attempts=5)), Told()
    writer = RunWriter.create(tmp_path, plan.header())
    run = await execute(plan, concurrency=8, timeout=None, writer=writer, progress=told)
    assert told.settled_ == []
    assert len(run.attempts) == run.planned == plan.size == 35
    with Record.open(tmp_path) as record:
        (condition,) = rates(record.gate())
    assert condition.decision == "inconclusive"
    assert (condition.passed, condition.decided, condition.rounds) == (30, 35, 5)


@pytest.mark.anyio
async def test_attempts_that_cannot_be_decided_keep_a_pass_away(tmp_path: Path) -> None:
    plan = plan_of(made(3, down=1, attempts=20))
    writer = RunWriter.create(tmp_path, plan.header())
    run = await execute(plan, concurrency=4, timeout=None, writer=writer)
    assert len(run.attempts) == plan.size
    with Record.open(tmp_path) as record:
        (condition,) = rates(record.gate())
    assert (condition.decision, condition.passed, condition.errored) == ("inconclusive", 60, 20)


@pytest.mark.anyio
async def test_a_budget_stops_in_the_middle_and_the_rest_can_be_run_later(tmp_path: Path) -> None:
    class Costly:
        async def __call__(self, message: str) -> Reply:
            return Reply(message, usage=Usage(cost_usd=1.0))

    costly = Costly()
    plan = attrs.evolve(Plan.of_agents((made(4),), {"plain": costly}), sequential=True)
    first, told = RunWriter.create(tmp_path, plan.header()), Told()
    run = await execute(plan, concurrency=1, timeout=None, writer=first, progress=told, budget=Budget(max_cost=10.0))
    assert (run.status, len(run.attempts), run.planned) == ("interrupted", 10, 160)
    assert told.stopped_ == [("max_cost of $10 is reached: $10 spent", 150)]
    with Record.open(tmp_path) as record:
        (condition,) = rates(record.gate())
    assert (condition.decision, condition.rounds, condition.passed, condition.missing) == ("inconclusive", 2, 8, 150)

    statuses = {AttemptRef(each.eval_id, each.case_id, each.agent, each.attempt): each.status for each in run.attempts}
    rest = attrs.evolve(plan, resumes=first.id, done=frozenset(statuses), statuses=statuses)
    assert lacks(rest)
    second = RunWriter.create(tmp_path, rest.header())
    later = await execute(rest, concurrency=1, timeout=None, writer=second, progress=(heard := Told()))
    assert heard.settled_ == [(Settled("desk/answers", "plain", 6, "pass"), 136)]
    assert (later.status, len(later.attempts), later.planned) == ("sealed", 24, 24)
    with Record.open(tmp_path) as record:
        (condition,) = rates(record.gate(second.id))
    assert (condition.decision, condition.rounds, condition.passed) == ("pass", 6, 24)

    done = {AttemptRef(each.eval_id, each.case_id, each.agent, each.attempt): each.status for each in later.attempts}
    assert not lacks(attrs.evolve(plan, done=frozenset(done), statuses=done))


@pytest.mark.anyio
async def test_the_first_failure_of_an_eval_that_asks_for_a_rate_is_that_it_cannot_be_reached(tmp_path: Path) -> None:
    """Of 10 attempts, the gate at 0.5 fails with one pass and not with two: after 9 failures it must fail."""
    plan = Plan.of_agents((made(0, 1, attempts=10, rate=0.5), made(1, id="later", attempts=5, rate=None)), {"x": agent})
    writer, told = RunWriter.create(tmp_path, plan.header()), Told()
    run = await execute(plan, concurrency=1, timeout=None, writer=writer, progress=told, stop_after=1)
    assert Counter(each.eval_id for each in run.attempts) == {"desk/answers": 9}
    assert told.stopped_ == [("1 attempt has failed or errored", 6)]
    other = RunWriter.create(tmp_path, plan_of(made(0, 1, rate=0.5)).header())
    run = await execute(
        plan_of(made(0, 1, rate=0.5)), concurrency=1, timeout=None, writer=other, progress=told, stop_after=1
    )
    assert len(run.attempts) < 10
    assert run.status == "sealed"


@pytest.mark.anyio
async def test_a_run_that_is_interrupted_keeps_what_was_decided(tmp_path: Path) -> None:
    waiting = anyio.Event()

    @define_eval(id="waits", cases=range(2))
    async def waits(t: EvalContext, case: int) -> None:
        waiting.set()
        await anyio.sleep_forever()

    plan = attrs.evolve(Plan.of_agents((made(4), waits), {"plain": agent}), sequential=True)
    writer = RunWriter.create(tmp_path, plan.header())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: execute(plan, concurrency=1, timeout=None, writer=writer))
        await waiting.wait()
        tasks.cancel_scope.cancel()
    header = writer.header()
    assert header.status == "interrupted"
    assert header.settled == (Settled("desk/answers", "plain", 6, "pass"),)
    assert header.planned() == 24 + 2


def test_what_is_left_is_counted_at_most() -> None:
    plan = plan_of(made(2, attempts=10), made(1, id="other", attempts=3, rate=None))
    todo = Todo(plan, plan.experiments[0], 4)
    started = [todo.next() for _ in range(3)]
    assert [(item[0].case_id, item[0].attempt) for item in started if item is not None] == [
        ("good0", 1), ("good1", 1), ("good0", 2)
    ]  # fmt: skip
    assert todo.drop() == plan.size - 3
    assert todo.next() is None
    for item in started:
        assert item is not None
        todo.ended(item[0], "passed")
    assert todo.next() is None
