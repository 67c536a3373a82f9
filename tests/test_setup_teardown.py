"""Setup and teardown of experiments and evals: each where it belongs, the teardown always reached."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
import trio
import trio.testing

from niceeval import (
    AgentUnavailable,
    AttemptResult,
    Budget,
    EvalContext,
    RecordError,
    Reply,
    RunResult,
    Usage,
    define_eval,
    define_score_eval,
    register_secret,
    run_eval,
)
from niceeval.evals.experiments import Experiment
from niceeval.plans import Plan, Quiet
from niceeval.record.write import MemoryWriter
from niceeval.redaction import forget_secrets
from niceeval.runner import Backoff, execute
from niceeval_expect import equals, satisfies

pytestmark = pytest.mark.anyio


class Heard(Quiet):
    """What a display is told about what went wrong beside the results."""

    def __init__(self) -> None:
        self.complaints: list[str] = []

    def complained(self, text: str) -> None:
        self.complaints.append(text)


@define_eval(cases=range(3))
async def talks(t: EvalContext, case: int) -> None:
    turn = await t.send(str(case))
    t.check(turn.message, equals(str(case)))


class Log:
    """What happened, in order, and functions that write to it."""

    def __init__(self) -> None:
        self.happened: list[str] = []

    def says(self, text: str) -> Any:
        async def hook() -> None:
            await anyio.lowlevel.checkpoint()
            self.happened.append(text)

        return hook

    async def agent(self, message: str) -> str:
        self.happened.append(f"agent {message}")
        return message


async def run(plan: Plan, *, concurrency: int = 1, writer: Any = None, **options: Any) -> tuple[RunResult, Heard]:
    heard = Heard()
    limits = {"concurrency": concurrency, "timeout": None, **options}
    return await execute(plan, writer=writer or MemoryWriter(plan.header()), progress=heard, **limits), heard


# -- experiments


async def test_an_experiment_is_set_up_once_before_its_attempts_and_torn_down_once_after_them() -> None:
    log = Log()
    experiment = Experiment(name="x", agent=log.agent, setup=log.says("setup"), teardown=log.says("teardown"))
    result, heard = await run(Plan((talks,), (experiment,)), concurrency=3)
    assert (result.status, result.statuses, heard.complaints) == ("sealed", {"passed": 3}, [])
    first, *between, last = log.happened
    assert (first, sorted(between), last) == ("setup", ["agent 0", "agent 1", "agent 2"], "teardown")


async def test_blocking_functions_run_in_a_thread_and_may_take_the_experiment() -> None:
    seen: list[tuple[str, bool]] = []
    loop = threading.get_ident()

    def setup(experiment: Experiment) -> None:
        seen.append((experiment.name, threading.get_ident() == loop))

    async def teardown(experiment: Experiment) -> None:
        seen.append((experiment.name, threading.get_ident() == loop))

    def none() -> None:
        seen.append(("none", threading.get_ident() == loop))

    experiments = (
        Experiment(name="a", agent=Log().agent, setup=setup, teardown=teardown),
        Experiment(name="b", agent=Log().agent, setup=partial(teardown), teardown=none),
    )
    await run(Plan((talks,), experiments))
    assert sorted(seen) == [("a", False), ("a", True), ("b", True), ("none", False)]


async def test_an_experiment_whose_setup_fails_is_errored_without_calling_its_agent_and_others_go_on() -> None:
    log, other = Log(), Log()

    def setup() -> None:
        raise ConnectionError("no database")

    experiments = (
        Experiment(name="broken", agent=log.agent, setup=setup, teardown=log.says("teardown")),
        Experiment(name="fine", agent=other.agent),
    )
    result, heard = await run(Plan((talks,), experiments), retries=3)
    broken = [attempt for attempt in result.attempts if attempt.agent == "broken"]
    assert {attempt.reason for attempt in broken} == {
        "setup of experiment 'broken' failed: ConnectionError: no database"
    }
    assert [(attempt.status, attempt.tries) for attempt in broken] == [("errored", ())] * 3
    assert broken[0].error is not None
    assert broken[0].error["type"] == "ConnectionError"
    assert [attempt.status for attempt in result.attempts if attempt.agent == "fine"] == ["passed"] * 3
    assert (log.happened, result.status, heard.complaints) == (["teardown"], "sealed", [])


@pytest.mark.parametrize("raised", [ValueError("gone"), SystemExit(3), BaseExceptionGroup("all", [ValueError("x")])])
async def test_a_teardown_that_raises_is_told_and_changes_no_result(raised: BaseException) -> None:
    async def teardown() -> None:
        raise raised

    experiments = (
        Experiment(name="a", agent=Log().agent, teardown=teardown),
        Experiment(name="b", agent=Log().agent),
    )
    result, heard = await run(Plan((talks,), experiments))
    assert (result.status, result.statuses) == ("sealed", {"passed": 6})
    (complaint,) = heard.complaints
    assert complaint.startswith(f"teardown of experiment 'a' raised {type(raised).__name__}")


@pytest.fixture
def _no_secrets() -> Iterator[None]:
    yield
    forget_secrets()


@pytest.mark.usefixtures("_no_secrets")
async def test_complaints_are_redacted() -> None:
    register_secret("DB", "postgres://user:very-secret@host")

    def teardown() -> None:
        raise ConnectionError("cannot reach postgres://user:very-secret@host")

    _, heard = await run(Plan((talks,), (Experiment(name="a", agent=Log().agent, teardown=teardown),)))
    assert heard.complaints == ["teardown of experiment 'a' raised ConnectionError: cannot reach [redacted:DB]"]


async def test_an_interrupted_run_tears_down_in_reverse() -> None:
    log = Log()
    plan = Plan((talks,), tuple(Experiment(name=name, agent=never, teardown=log.says(name)) for name in "abc"))
    writer = MemoryWriter(plan.header())
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(partial(run, plan, concurrency=3, writer=writer))
            while len(started) < 3:
                await anyio.lowlevel.checkpoint()
            scope.cancel()
    assert log.happened == ["c", "b", "a"]
    result = RunResult.from_writer(writer)
    assert (result.status, {attempt.reason for attempt in result.attempts}) == ("interrupted", {"interrupted"})


started: list[str] = []


async def never(message: str) -> str:
    started.append(message)
    await anyio.sleep_forever()
    return message


async def test_a_run_that_is_interrupted_in_a_setup_tears_down() -> None:
    log = Log()
    inside = anyio.Event()

    async def setup() -> None:
        inside.set()
        await anyio.sleep_forever()

    plan = Plan((talks,), (Experiment(name="a", agent=log.agent, setup=setup, teardown=log.says("teardown")),))
    writer = MemoryWriter(plan.header())
    async with anyio.create_task_group() as group:
        group.start_soon(partial(run, plan, writer=writer))
        await inside.wait()
        group.cancel_scope.cancel()
    assert log.happened == ["teardown"]
    assert (writer.status, writer.lines) == ("interrupted", [])


async def test_a_budget_that_stops_a_run_does_not_stop_the_teardown() -> None:
    log = Log()

    async def agent(message: str) -> Reply:
        return Reply(message, usage=Usage(cost_usd=1))

    experiment = Experiment(name="a", agent=agent, teardown=log.says("teardown"))
    result, _ = await run(Plan((talks,), (experiment,)), budget=Budget(max_cost=1))
    assert (result.status, len(result.attempts), log.happened) == ("interrupted", 1, ["teardown"])


class Full:
    """A pen that writes to a full disk."""

    def __init__(self, header: Any) -> None:
        self.inner = MemoryWriter(header)
        self.id, self.blob, self.header = self.inner.id, self.inner.blob, self.inner.header

    def append(self, line: str) -> None:
        raise RecordError("cannot write: No space left on device")

    def seal(self, status: Any = "sealed", *, stopped: str | None = None) -> None:
        self.inner.seal(status, stopped=stopped)


@pytest.mark.parametrize("concurrency", [1, 2, 9])
async def test_a_record_that_cannot_be_written_does_not_stop_the_teardowns(concurrency: int) -> None:
    log = Log()
    plan = Plan((talks,), tuple(Experiment(name=name, agent=log.agent, teardown=log.says(name)) for name in "ab"))
    writer = Full(plan.header())
    with pytest.raises(RecordError, match="No space left"):
        await run(plan, concurrency=concurrency, writer=writer)
    assert {"a", "b"} <= set(log.happened)
    assert log.happened.count("a") == log.happened.count("b") == 1
    assert writer.inner.status == "interrupted"


async def test_an_experiment_with_nothing_to_run_is_not_set_up() -> None:
    log = Log()
    plan = Plan(
        (talks,), (Experiment(name="a", agent=log.agent, setup=log.says("a"), teardown=log.says("a"), evals=("no",)),)
    )
    result, _ = await run(plan)
    assert (result.status, log.happened) == ("sealed", [])


def test_a_teardown_has_ten_seconds() -> None:
    async def main() -> tuple[float, Heard]:
        experiment = Experiment(name="a", agent=Log().agent, teardown=trio.sleep_forever)
        begun = trio.current_time()
        _, heard = await run(Plan((talks,), (experiment,)))
        return trio.current_time() - begun, heard

    took, heard = trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    assert took == pytest.approx(10, abs=0.1)
    assert heard.complaints == ["teardown of experiment 'a' did not end within 10 s"]


def test_time_that_is_up_in_a_setup_stops_its_attempts_and_not_its_teardown() -> None:
    log = Log()

    async def main() -> RunResult:
        experiments = (
            Experiment(
                name="late",
                agent=log.agent,
                setup=partial(trio.sleep, 100),
                teardown=log.says("teardown"),
                budget=Budget(max_time=10),
            ),
            Experiment(name="other", agent=log.agent),
        )
        result, heard = await run(Plan((talks,), experiments))
        assert heard.complaints == []
        return result

    result = trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    assert {attempt.agent for attempt in result.attempts} == {"other"}
    assert (result.status, len(result.attempts), log.happened[-1]) == ("interrupted", 3, "teardown")


PROJECT = """
from niceeval import define_experiment

def teardown():
    raise OSError("the database is still there")

{name} = define_experiment(agent="agents:echo"{options})
"""


@pytest.mark.parametrize(("options", "code"), [("", 0), (", teardown=teardown", 3)])
def test_a_teardown_that_raises_is_an_exit_code_of_its_own(tmp_path: Path, options: str, code: int) -> None:
    (tmp_path / "agents.py").write_text("def echo(message):\n    return message\n")
    (tmp_path / "experiments.py").write_text(PROJECT.format(name="plain", options=options))
    (tmp_path / "eval_echo.py").write_text(
        "from niceeval import define_eval\nfrom niceeval_expect import equals\n\n@define_eval\n"
        "async def echoes(t):\n    turn = await t.send('x')\n    t.check(turn.message, equals('x'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "niceeval", "run", "eval_echo.py", "--experiment", "experiments.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, "1 passed" in done.stdout) == (code, True), done.stderr
    assert ("the database is still there" in " ".join(done.stderr.split())) == bool(code)


# -- evals


async def one(eval_: Any, agent: Any = None, **options: Any) -> AttemptResult:
    (attempt,) = (await run_eval(eval_, agent=agent, **options)).attempts
    return attempt


async def test_an_eval_is_set_up_and_torn_down_around_each_attempt() -> None:
    log = Log()
    inside: ContextVar[str] = ContextVar("inside", default="nobody")

    async def setup(t: EvalContext, case: str) -> None:
        inside.set(case)
        log.happened.append(f"setup {case} {t.attempt}")

    async def test(t: EvalContext, case: str) -> None:
        log.happened.append(f"test {inside.get()} {t.attempt}")
        t.check(case, equals(inside.get()))

    def teardown(t: EvalContext) -> None:
        log.happened.append(f"teardown {t.attempt}")

    eval_ = define_eval("around", test=test, cases={"a": "a", "b": "b"}, setup=setup, teardown=teardown)
    result = await run_eval(eval_, attempts=2, concurrency=1)
    assert result.statuses == {"passed": 4}
    assert log.happened == [
        f"{what} {number}"
        for case in "ab"
        for number in (1, 2)
        for what in (f"setup {case}", f"test {case}", "teardown")
    ]


async def stops(t: EvalContext) -> None:
    await t.check("a", equals("b")).or_stop()


async def skips(t: EvalContext) -> None:
    t.skip("not today")


async def hangs(t: EvalContext) -> None:
    await anyio.sleep_forever()


async def breaks(t: EvalContext) -> None:
    raise ValueError("broken")


async def passes(t: EvalContext) -> None:
    t.check("a", equals("a"))


ENDS = [(stops, "failed"), (skips, "skipped"), (hangs, "errored"), (breaks, "errored"), (passes, "passed")]


@pytest.mark.parametrize(("body", "status"), ENDS)
async def test_the_teardown_is_reached_however_the_attempt_ends(body: Any, status: str) -> None:
    log = Log()

    async def teardown(t: EvalContext) -> None:
        await anyio.lowlevel.checkpoint()
        log.happened.append("teardown")

    attempt = await one(define_eval("ends", test=body, teardown=teardown), timeout=0.05)
    assert (attempt.status, log.happened) == (status, ["teardown"])


@pytest.mark.parametrize(
    ("body", "before"), [(stops, ""), (skips, ""), (hangs, "timed out"), (breaks, "broken"), (passes, "")]
)
@pytest.mark.parametrize("style", ["pass", "score"])
async def test_a_teardown_that_raises_makes_the_attempt_errored_and_keeps_the_evidence(
    body: Any, before: str, style: str
) -> None:
    def teardown(t: EvalContext) -> None:
        raise OSError("disk is gone")

    async def test(t: EvalContext) -> None:
        t.check("kept", equals("kept")).key("kept")
        await body(t)

    define = define_eval if style == "pass" else define_score_eval
    attempt = await one(define("ends", test=test, teardown=teardown), timeout=0.05)
    assert attempt.status == "errored"
    assert "teardown raised OSError: disk is gone" in (attempt.reason or "")
    assert before in (attempt.reason or "")
    assert attempt.assertions[0].requirement == "kept"
    assert attempt.error is not None


async def test_a_teardown_may_check_what_was_left_behind() -> None:
    async def slow(value: object) -> bool:
        await anyio.lowlevel.checkpoint()
        return False

    async def teardown(t: EvalContext) -> None:
        t.check("left", satisfies("is gone", slow)).key("clean")

    attempt = await one(define_eval("leaves", test=passes, teardown=teardown))
    assert (attempt.status, [entry.requirement for entry in attempt.failures]) == ("failed", ["clean"])


async def test_a_stop_refuses_the_agent_to_the_teardown_and_that_is_no_problem() -> None:
    async def teardown(t: EvalContext) -> None:
        await t.send("clean up")

    attempt = await one(define_eval("stops", test=stops, teardown=teardown), agent=lambda message: message)
    assert (attempt.status, attempt.inputs) == ("failed", ())
    assert "teardown" not in (attempt.reason or "")


@pytest.mark.parametrize(
    ("setup", "status", "reason"),
    [
        (breaks, "errored", "in setup: ValueError: broken"),
        (hangs, "errored", "in setup: timed out after 0.05 s"),
        (stops, "failed", ""),
        (skips, "skipped", "not today"),
    ],
)
async def test_a_setup_that_does_not_get_through_ends_the_attempt(setup: Any, status: str, reason: str) -> None:
    log = Log()

    async def test(t: EvalContext) -> None:
        log.happened.append("test")

    async def teardown(t: EvalContext) -> None:
        log.happened.append("teardown")

    attempt = await one(define_eval("set_up", test=test, setup=setup, teardown=teardown), timeout=0.05)
    assert (attempt.status, log.happened) == (status, ["teardown"])
    assert reason in (attempt.reason or "")


async def test_the_teardown_does_not_take_from_the_time_of_checks() -> None:
    async def teardown(t: EvalContext) -> None:
        threading.Event().wait(0.4)

    attempt = await one(define_eval("in_time", test=passes, teardown=teardown), timeout=0.3)
    assert (attempt.status, attempt.reason) == ("passed", None)


async def test_an_interrupted_attempt_is_torn_down_and_written_once() -> None:
    log = Log()
    inside = anyio.Event()

    async def test(t: EvalContext) -> None:
        t.check("a", equals("a")).key("before")
        inside.set()
        await anyio.sleep_forever()

    async def teardown(t: EvalContext) -> None:
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        log.happened.append("teardown")

    plan = Plan((define_eval("cut", test=test, teardown=teardown),))
    writer = MemoryWriter(plan.header())
    async with anyio.create_task_group() as group:
        group.start_soon(partial(run, plan, writer=writer))
        await inside.wait()
        group.cancel_scope.cancel()
    (attempt,) = RunResult.from_writer(writer).attempts
    assert (attempt.reason, log.happened) == ("interrupted", ["teardown"])
    assert [entry.requirement for entry in attempt.assertions] == ["before"]


async def test_each_try_is_set_up_and_torn_down() -> None:
    log = Log()
    calls: list[str] = []

    def agent(message: str) -> str:
        calls.append(message)
        if len(calls) == 1:
            raise AgentUnavailable("503")
        return message

    async def setup(t: EvalContext) -> None:
        log.happened.append("setup")

    async def teardown(t: EvalContext) -> None:
        log.happened.append("teardown")

    async def test(t: EvalContext) -> None:
        turn = await t.send("x")
        t.check(turn.message, equals("x"))

    eval_ = define_eval("again", test=test, setup=setup, teardown=teardown)
    plan = Plan.of_agents((eval_,), {"agent": agent})
    result, _ = await run(plan, retries=1, backoff=Backoff(random=lambda: 0.0))
    assert [(attempt.status, len(attempt.tries)) for attempt in result.attempts] == [("passed", 1)]
    assert log.happened == ["setup", "teardown"] * 2


def takes_three(t: object, case: object, more: object) -> None: ...


def takes_two(t: object, case: object) -> None: ...


def takes_none() -> None: ...


def makes(t: object) -> Iterator[None]:
    yield


@pytest.mark.parametrize("name", ["setup", "teardown"])
@pytest.mark.parametrize("hook", [takes_three, takes_two, takes_none, makes, 5, "setup"])
def test_what_cannot_be_called_with_t_is_refused(name: str, hook: Any) -> None:
    with pytest.raises(TypeError, match=f"{name}="):
        define_eval("x", test=passes, **{name: hook})


@pytest.mark.parametrize("rate", [0, -0.5, 1.1, float("nan"), True, "0.9"])
def test_a_rate_that_is_none_is_refused(rate: Any) -> None:
    with pytest.raises(ValueError, match="min_rate="):
        define_eval("x", test=passes, attempts=5, min_rate=rate)


def test_a_rate_needs_several_attempts() -> None:
    with pytest.raises(ValueError, match="at least 2"):
        define_eval("x", test=passes, min_rate=0.9)
    with pytest.raises(ValueError, match="at least 2"):
        define_eval("x", test=passes, min_rate=0.9, attempts=1)
    assert define_eval("x", test=passes, min_rate=1, attempts=2).min_rate == 1.0
    assert define_eval("x", test=takes_case, cases=[1, 2], min_rate=0.9).min_rate == 0.9


async def takes_case(t: EvalContext, case: int) -> None:
    t.check(case, equals(case))


@pytest.mark.parametrize("attempts", [0, -1, "4", True, 2.0])
def test_a_number_of_attempts_that_makes_no_sense_is_refused(attempts: Any) -> None:
    with pytest.raises(ValueError, match="attempts="):
        define_eval("x", test=passes, attempts=attempts)


async def test_an_eval_may_have_its_own_number_of_attempts() -> None:
    result = await run_eval(define_eval("x", test=passes, attempts=3))
    assert (result.planned, result.statuses) == (3, {"passed": 3})
