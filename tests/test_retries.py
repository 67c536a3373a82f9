"""Attempts whose agent could not be reached are tried again; nothing else is, and every try stays visible."""

import math
from collections.abc import Callable, Coroutine, Iterator
from contextvars import ContextVar
from typing import Any

import anyio
import pytest
import trio.testing

from niceeval import (
    AgentContext,
    AgentFailed,
    AgentUnavailable,
    AttemptResult,
    Budget,
    EvalContext,
    Reply,
    RunResult,
    Usage,
    define_eval,
    define_score_eval,
    register_secret,
    run_eval,
)
from niceeval.agents.base import AgentLike
from niceeval.evals.eval import Eval
from niceeval.evals.experiments import Experiment
from niceeval.lanes import MOST_WAITING
from niceeval.plans import AttemptRef, Plan, Quiet
from niceeval.record.write import MemoryWriter
from niceeval.redaction import forget_secrets
from niceeval.runner import Backoff, execute
from niceeval_expect import equals, excludes, includes, matches, not_

pytestmark = pytest.mark.anyio
Body = Callable[[EvalContext], Coroutine[Any, Any, None]]


class Waits:
    """A clock on which every wait is over at once, and the waits."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        await anyio.lowlevel.checkpoint()


class Heard(Quiet):
    """What a display is told of tries."""

    def __init__(self) -> None:
        self.retried: list[tuple[str, int, float, str]] = []
        self.started: list[int] = []
        self.told: list[str] = []

    def attempt_started(self, ref: AttemptRef) -> None:
        self.started.append(ref.attempt)

    def attempt_retried(self, ref: AttemptRef, tried: int, wait: float, reason: str) -> None:
        self.retried.append((ref.name, tried, wait, reason))

    def stopped(self, reason: str, not_run: int) -> None:
        self.told.append(f"{reason} ({not_run} not run)")


async def run(
    eval_: Eval[Any],
    agent: AgentLike | None,
    *,
    waits: Waits | None = None,
    heard: Heard | None = None,
    attempts: int = 1,
    concurrency: int = 10,
    timeout: float | None = None,
    **options: Any,
) -> RunResult:
    plan = Plan.of_agents((eval_,), {} if agent is None else {"agent": agent}, attempts)
    writer = MemoryWriter(plan.header())
    backoff = Backoff(random=lambda: 1.0, sleep=waits or Waits())
    return await execute(
        plan,
        concurrency=concurrency,
        timeout=timeout,
        writer=writer,
        progress=heard,
        **{"retries": 2, "backoff": backoff, **options},
    )


@define_eval
async def greets(t: EvalContext) -> None:
    turn = await t.send("hello")
    t.check(turn.message, equals("hello"))


def fails_first(times: int, *errors: Exception) -> tuple[Callable[[str], str], list[str]]:
    """An agent that cannot be reached so many times, and its calls."""
    calls: list[str] = []

    def agent(message: str) -> str:
        calls.append(message)
        if len(calls) <= times:
            raise errors[min(len(calls), len(errors)) - 1] if errors else AgentUnavailable("429 Too Many Requests")
        return message

    return agent, calls


def in_the_loop(agent: Callable[[str], str]) -> Callable[[str], Coroutine[Any, Any, str]]:
    """The same agent without a thread, during which a clock of its own would jump."""

    async def reply(message: str) -> str:
        return agent(message)

    return reply


def only(result: RunResult) -> AttemptResult:
    (attempt,) = result.attempts
    return attempt


async def test_a_retried_pass_can_be_told_from_a_clean_one() -> None:
    waits, heard = Waits(), Heard()
    agent, calls = fails_first(2)
    result = await run(greets, agent, waits=waits, heard=heard)
    attempt = only(result)
    assert (result.status, attempt.status, attempt.reason, len(calls)) == ("sealed", "passed", None, 3)
    assert [(each.reason, each.waited) for each in attempt.tries] == [
        ("429 Too Many Requests", 1.0),
        ("429 Too Many Requests", 2.0),
    ]
    assert all(0 <= each.duration < 5 for each in attempt.tries)
    assert waits.seconds == [1.0, 2.0]
    assert heard.retried == [("greets", 1, 1.0, "429 Too Many Requests"), ("greets", 2, 2.0, "429 Too Many Requests")]
    assert heard.started == [1]
    assert only(await run(greets, lambda message: message)).tries == ()


async def test_an_agent_that_stays_away_is_errored_with_every_try_but_the_last_one_noted() -> None:
    agent, calls = fails_first(99)
    attempt = only(await run(greets, agent))
    assert (attempt.status, attempt.reason) == ("errored", "agent unavailable: 429 Too Many Requests")
    assert (len(calls), len(attempt.tries)) == (3, 2)
    assert attempt.inputs == ("hello",)


async def test_without_retries_nothing_is_tried_again() -> None:
    agent, calls = fails_first(1)
    attempt = only(await run(greets, agent, retries=0))
    assert (attempt.status, attempt.tries, len(calls)) == ("errored", (), 1)


@pytest.mark.parametrize("style", ["pass", "score"])
async def test_an_unavailability_that_the_eval_caught_is_tried_again_too(style: str) -> None:
    async def body(t: EvalContext) -> None:
        try:
            turn = await t.send("hello")
        except AgentUnavailable:
            return
        if style == "pass":
            t.check(turn.message, equals("hello"))
        else:
            t.check(turn.message, equals("hello")).score(1)

    agent, _ = fails_first(1)
    define = define_eval if style == "pass" else define_score_eval
    attempt = only(await run(define("caught", test=body), agent))
    assert attempt.status == ("passed" if style == "pass" else "scored")
    assert len(attempt.tries) == 1


async def test_what_was_unmet_before_does_not_count_against_the_next_try() -> None:
    tried: list[int] = []

    async def body(t: EvalContext) -> None:
        tried.append(len(tried))
        t.check(len(tried), equals(2))
        await t.send("hello")

    agent, _ = fails_first(1)
    attempt = only(await run(define_eval("fresh", test=body), agent))
    assert (attempt.status, len(attempt.assertions)) == ("passed", 1)


def crashes(message: str) -> str:
    raise ValueError("broken")


def refuses(message: str) -> str:
    raise AgentUnavailable("401 Unauthorized", retryable=False)


async def never(message: str) -> str:
    await anyio.sleep_forever()
    return message


def lost_connection(message: str) -> str:
    raise ConnectionError("reset by peer")


async def sends(t: EvalContext) -> None:
    turn = await t.send("hello")
    t.check(turn.message, equals("hello"))


async def sends_in_time(t: EvalContext) -> None:
    await t.send("hello", timeout=0.01)


async def sends_twice(t: EvalContext) -> None:
    for timeout in (0.01, None):
        try:
            await t.send("hello", timeout=timeout)
        except AgentUnavailable:
            continue


async def is_wrong(t: EvalContext) -> None:
    try:
        await t.send("hello")
    except AgentUnavailable:
        raise KeyError("order") from None


async def is_badly_written(t: EvalContext) -> None:
    try:
        t.check("a", equals("a")).label("a").label("b")
    except Exception:
        await t.send("hello")


async def raises_both(t: EvalContext) -> None:
    raise ExceptionGroup("both", [AgentUnavailable("503"), ValueError("mine")])


async def mismatches(t: EvalContext) -> None:
    t.check("a", equals("b"))


@pytest.mark.parametrize(
    ("body", "agent", "limits", "status", "says"),
    [
        (mismatches, None, {}, "failed", ""),
        (sends, crashes, {}, "failed", "broken"),
        (sends, lost_connection, {}, "failed", "reset by peer"),
        (sends, refuses, {}, "errored", "401 Unauthorized"),
        (sends, never, {"timeout": 0.01}, "errored", "timed out"),
        (sends_in_time, never, {}, "errored", "did not reply within"),
        (is_wrong, fails_first(99)[0], {}, "errored", "KeyError"),
        (is_badly_written, fails_first(99)[0], {}, "errored", "429"),
        (raises_both, None, {}, "errored", "503"),
    ],
)
async def test_nothing_else_is_tried_again(
    body: Body, agent: Any, limits: dict[str, Any], status: str, says: str
) -> None:
    waits = Waits()
    attempt = only(await run(define_eval("once", test=body), agent, waits=waits, **limits))
    assert (attempt.status, attempt.tries, waits.seconds) == (status, (), [])
    assert says in (attempt.reason or "")


async def test_one_message_that_trying_again_cannot_help_decides() -> None:
    replies: list[str] = []

    async def agent(message: str) -> str:
        replies.append(message)
        if len(replies) == 1:
            await anyio.sleep_forever()
        raise AgentUnavailable("503")

    attempt = only(await run(define_eval("two", test=sends_twice), agent))
    assert (attempt.status, attempt.tries, len(replies)) == ("errored", (), 2)


async def test_an_agent_in_a_task_group_that_could_not_be_reached_keeps_what_it_said_about_coming_back() -> None:
    calls: list[str] = []

    async def agent(message: str) -> str:
        calls.append(message)
        if len(calls) == 1:
            raise ExceptionGroup("both", [AgentUnavailable("503"), AgentUnavailable("429", retry_after=7)])
        return message

    waits = Waits()
    attempt = only(await run(greets, agent, waits=waits))
    assert (attempt.status, waits.seconds) == ("passed", [7.0])
    assert attempt.tries[0].reason == "503; 429"


@pytest.mark.parametrize(
    ("said", "wait"), [(30, 30.0), (0.25, 1.0), (0, 1.0), (-5, 1.0), (math.nan, 1.0), (None, 1.0), ("soon", 1.0)]
)
async def test_the_agent_is_left_alone_as_long_as_it_asks_for(said: Any, wait: float) -> None:
    waits = Waits()
    agent, _ = fails_first(1, AgentUnavailable("429", retry_after=said))
    attempt = only(await run(greets, agent, waits=waits))
    assert (waits.seconds, attempt.tries[0].waited) == ([wait], wait)


@pytest.mark.parametrize(("said", "tried"), [(600, 2), (601, 1), (99_999_999, 1)])
async def test_nobody_waits_for_an_agent_that_asks_for_more_than_ten_minutes(said: float, tried: int) -> None:
    waits = Waits()
    agent, calls = fails_first(1, AgentUnavailable("429", retry_after=said))
    attempt = only(await run(greets, agent, waits=waits))
    assert (len(calls), len(waits.seconds)) == (tried, tried - 1)
    assert attempt.status == ("passed" if tried == 2 else "errored")


def test_waits_grow_up_to_a_cap_and_are_spread_by_chance() -> None:
    most = Backoff(random=lambda: 1.0)
    assert [most.wait(tries, None) for tries in (1, 2, 3, 6, 7, 10_000)] == [1, 2, 4, 32, 60, 60]
    assert [Backoff(random=lambda: 0.0).wait(tries, None) for tries in (1, 5)] == [0, 0]
    spread = {Backoff().wait(4, None) for _ in range(200)}
    assert len(spread) > 100
    assert all(0 <= wait <= 8 for wait in spread)


async def test_each_try_is_a_fresh_start() -> None:
    seen: ContextVar[int] = ContextVar("seen", default=0)
    kept: list[tuple[int, int, tuple[str, ...], str]] = []
    calls: list[str] = []

    def agent(message: str, ctx: AgentContext) -> str:
        ctx.session["calls"] = ctx.session.get("calls", 0) + 1
        calls.append(message)
        if len(calls) < 3:
            raise AgentUnavailable("503")
        return str(ctx.session["calls"])

    @define_eval
    async def looks(t: EvalContext) -> None:
        kept.append(
            (seen.get(), len(t.sessions), tuple(turn.input for session in t.sessions for turn in session.turns), "")
        )
        seen.set(1)
        with t.group("outer"):
            t.check(1, equals(1))
            turn = await t.send("x")
            t.check(turn.message, equals("1"))

    attempt = only(await run(looks, agent))
    assert attempt.status == "passed"
    assert kept == [(0, 0, (), "")] * 3
    assert [entry.group for entry in attempt.assertions] == [("outer",), ("outer",)]
    assert len(attempt.assertions) == 2


async def test_a_waiting_attempt_holds_nobody_up() -> None:
    ended: list[str] = []
    others = anyio.Event()

    async def agent(message: str) -> str:
        if message == "0" and not ended:
            ended.append("away")
            raise AgentUnavailable("503")
        ended.append(message)
        if len(ended) == 6:
            others.set()
        return message

    async def until_the_others_are_through(seconds: float) -> None:
        await others.wait()

    @define_eval(cases=range(6))
    async def test(t: EvalContext, case: int) -> None:
        turn = await t.send(str(case))
        t.check(turn.message, equals(str(case)))

    backoff = Backoff(sleep=until_the_others_are_through)
    result = await run(test, agent, concurrency=1, backoff=backoff)
    assert ended == ["away", "1", "2", "3", "4", "5", "0"]
    assert result.statuses == {"passed": 6}


async def test_waiting_attempts_are_bounded() -> None:
    waiting, most, release = 0, 0, anyio.Event()

    async def sleep(seconds: float) -> None:
        nonlocal waiting, most
        waiting += 1
        most = max(most, waiting)
        if waiting == MOST_WAITING:
            release.set()
        await release.wait()
        waiting -= 1

    started: set[str] = set()

    def away(message: str) -> str:
        started.add(message)
        raise AgentUnavailable("503")

    @define_eval(cases=range(3 * MOST_WAITING))
    async def test(t: EvalContext, case: int) -> None:
        await t.send(str(case))

    result = await run(test, away, concurrency=5, retries=1, backoff=Backoff(sleep=sleep))
    assert result.statuses == {"errored": 3 * MOST_WAITING}
    assert MOST_WAITING <= most <= MOST_WAITING + 5
    assert {len(attempt.tries) for attempt in result.attempts} == {1}


async def test_an_experiment_may_have_its_own_number() -> None:
    calls: list[str] = []

    def away(message: str, ctx: AgentContext) -> str:
        calls.append(str(ctx.model))
        raise AgentUnavailable("503")

    experiments = tuple(Experiment(name=name, model=name, agent=away, retries=number) for name, number in COUNTS)
    plan = Plan((greets,), experiments)
    result = await execute(
        plan,
        concurrency=1,
        timeout=None,
        writer=MemoryWriter(plan.header()),
        retries=1,
        backoff=Backoff(sleep=Waits()),
    )
    assert {attempt.agent: len(attempt.tries) for attempt in result.attempts} == {"none": 0, "run's": 1, "three": 3}
    assert sorted(calls) == ["none"] + ["run's"] * 2 + ["three"] * 4


COUNTS = [("none", 0), ("run's", None), ("three", 3)]


@pytest.fixture
def _no_secrets() -> Iterator[None]:
    yield
    forget_secrets()


@pytest.mark.usefixtures("_no_secrets")
async def test_secrets_in_reasons_are_redacted() -> None:
    register_secret("API", "sk-very-secret-0123456789")
    heard = Heard()
    agent, _ = fails_first(1, AgentUnavailable("429 for sk-very-secret-0123456789"))
    attempt = only(await run(greets, agent, heard=heard))
    assert attempt.status == "passed"
    assert attempt.tries[0].reason == "429 for [redacted:API]"
    assert heard.retried[0][3] == "429 for [redacted:API]"


async def test_a_run_that_is_interrupted_while_an_attempt_waits_writes_it_once() -> None:
    agent, _ = fails_first(99)
    plan = Plan.of_agents((greets,), {"agent": agent})
    writer = MemoryWriter(plan.header())
    with anyio.CancelScope() as scope:

        async def interrupt(seconds: float) -> None:
            scope.cancel()
            await anyio.sleep_forever()

        await execute(plan, concurrency=1, timeout=None, writer=writer, retries=3, backoff=Backoff(sleep=interrupt))
    result = RunResult.from_writer(writer)
    attempt = only(result)
    assert (result.status, attempt.status, attempt.reason) == ("interrupted", "errored", "interrupted")
    assert [each.reason for each in attempt.tries] == ["429 Too Many Requests"]


async def test_a_run_that_stops_ends_the_waits_and_keeps_how_the_attempts_ended() -> None:
    waiting = anyio.Event()

    async def sleep(seconds: float) -> None:
        waiting.set()
        await anyio.sleep_forever()

    async def agent(message: str) -> str:
        if message == "0":
            raise AgentUnavailable("503")
        await waiting.wait()
        return "wrong"

    @define_eval(cases=range(9))
    async def test(t: EvalContext, case: int) -> None:
        turn = await t.send(str(case))
        t.check(turn.message, equals("right"))

    heard = Heard()
    result = await run(test, agent, heard=heard, concurrency=2, stop_after=1, backoff=Backoff(sleep=sleep))
    assert result.status == "interrupted"
    first = next(attempt for attempt in result.attempts if attempt.case_id == "0")
    assert (first.status, first.reason, first.tries) == ("errored", "agent unavailable: 503", ())
    assert len(result.attempts) + int(heard.told[0].split("(")[1].split()[0]) == 9


def test_no_wait_goes_beyond_the_time_of_the_run() -> None:
    waited: list[float] = []

    async def main() -> AttemptResult:
        async def sleep(seconds: float) -> None:
            waited.append(seconds)
            await anyio.sleep(seconds)

        agent, _ = fails_first(99, AgentUnavailable("429", retry_after=300))
        backoff = Backoff(sleep=sleep)
        started = anyio.current_time()
        attempt = only(await run(greets, in_the_loop(agent), budget=Budget(max_time=60), backoff=backoff))
        assert anyio.current_time() - started == pytest.approx(60, abs=1)
        return attempt

    attempt = trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    assert waited[0] == pytest.approx(60, abs=1)
    assert (attempt.status, attempt.reason) == ("errored", "agent unavailable: 429")


def test_time_passes_between_tries_on_the_clock_of_the_event_loop() -> None:
    async def main() -> tuple[AttemptResult, float]:
        agent, _ = fails_first(3)
        started = trio.current_time()
        backoff = Backoff(random=lambda: 1.0)
        attempt = only(await run(greets, in_the_loop(agent), retries=3, backoff=backoff))
        return attempt, trio.current_time() - started

    attempt, took = trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    assert attempt.status == "passed"
    assert [each.waited for each in attempt.tries] == pytest.approx([1, 2, 4], abs=0.2)
    assert took == pytest.approx(7, abs=0.5)


async def test_what_tries_cost_counts_towards_the_budget() -> None:
    async def body(t: EvalContext) -> None:
        await t.send("costs")
        await t.send("away")

    def agent(message: str) -> Reply:
        if message == "away":
            raise AgentUnavailable("503")
        return Reply("x", usage=Usage(cost_usd=0.4))

    heard = Heard()
    eval_ = define_eval("costly", test=body)
    result = await run(eval_, agent, heard=heard, attempts=5, concurrency=1, retries=9, budget=Budget(max_cost=1))
    assert result.status == "interrupted"
    assert "max_cost of $1 is reached: $1.2 spent" in heard.told[0]
    assert sum(1 + len(attempt.tries) for attempt in result.attempts) == 3


async def test_run_eval_takes_retries() -> None:
    agent, _ = fails_first(1, AgentUnavailable("429"))
    attempt = only(await run_eval(greets, agent=agent, retries=1))
    assert (attempt.status, len(attempt.tries)) == ("passed", 1)


@pytest.mark.parametrize("retries", [-1, "4", True, 1.5, None])
async def test_a_number_that_makes_no_sense_is_refused(retries: Any) -> None:
    with pytest.raises(ValueError, match="retries"):
        await run_eval(greets, agent=lambda message: message, retries=retries)


async def test_denials_of_a_reply_that_never_came_are_unavailable_after_all_tries() -> None:
    async def body(t: EvalContext) -> None:
        try:
            await t.send("hello")
        except (AgentUnavailable, AgentFailed):
            t.check(t.sessions[0].turns[-1].message, excludes("error"))
            t.check(t.sessions[0].turns[-1].message, not_(matches({"type": "string", "maxLength": 0})))
            t.check(t.sessions[0].turns[-1].message, not_(includes("error")))

    agent, _ = fails_first(99)
    attempt = only(await run(define_eval("denies", test=body), agent))
    assert (attempt.status, len(attempt.tries)) == ("errored", 2)
    assert [entry.evaluation.outcome for entry in attempt.assertions] == ["unavailable"] * 3
