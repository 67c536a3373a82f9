"""Judges in runs: one desk for all attempts, its cap, its preflight, what is stored, and what is not called again."""

import threading
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import attrs
import pytest

from niceeval import Budget, EvalContext, JudgeConfig, RunResult, attempt, define_eval, define_score_eval, run_eval
from niceeval.evals.experiments import Experiment
from niceeval.plans import Plan, Quiet
from niceeval.record import Record
from niceeval.record.write import MemoryWriter
from niceeval.runner import execute
from niceeval.verify import verify_run
from niceeval_expect import closed_qa, from_spec, includes, satisfies
from tests.judge.models import KEY, VARIABLE, answered, chat, choice, judge, prompt_of
from tests.servers.scripted import Answer, Request, ScriptedServer, as_json

pytestmark = pytest.mark.anyio
POLITE = closed_qa("Is it polite?")


def agent(message: str) -> str:
    return f"At the depot, {message}"


async def polite(t: EvalContext, case: object = None) -> None:
    turn = await t.send("thank you")
    t.check(turn.message, includes("depot")).key("place")
    t.check({"input": turn.input, "output": turn.message}, POLITE.at_least(0.8)).gate().key("polite")


def cases(count: int) -> Any:
    async def test(t: EvalContext, case: int) -> None:
        await polite(t)

    return define_eval("polite", test=test, cases={str(number): number for number in range(count)})


class Told(Quiet):
    """A display that remembers what went wrong."""

    def __init__(self) -> None:
        self.complaints: list[str] = []
        self.notes: list[str] = []
        self.stops: list[str] = []

    def complained(self, text: str) -> None:
        self.complaints.append(text)

    def noted(self, text: str) -> None:
        self.notes.append(text)

    def stopped(self, reason: str, not_run: int) -> None:
        self.stops.append(f"{reason}: {not_run}")


async def run(plan: Plan, told: Told, concurrency: int = 4) -> RunResult:
    writer = MemoryWriter(plan.header())
    return await execute(plan, concurrency=concurrency, timeout=None, writer=writer, progress=told)


def plan_of(count: int, config: JudgeConfig | None) -> Plan:
    return attrs.evolve(Plan.of_agents((cases(count),), {"agent": agent}), judge=config)


async def test_an_entry_keeps_prompt_model_and_settings_beside_a_pure_spec(
    server: ScriptedServer, tmp_path: Path
) -> None:
    answered(server, chat(choice("C", "Curt.")))
    live = await run_eval(define_eval("x", test=polite), agent=agent, judge=judge(server), record=tmp_path)
    with Record.open(tmp_path) as record:
        [stored] = record.attempts()
    assert stored == live.attempts[0]
    _, entry = stored.assertions
    assert (stored.status, entry.decision, entry.evaluation.value) == ("failed", "unmet", 0.5)
    assert (entry.expected, entry.received) == ("at least 0.8", "0.5")
    [asked] = entry.match["judge"]
    assert (asked["provider"], asked["model"], asked["base_url"]) == ("openai", "small", f"{server.url}/v1")
    assert asked["prompt"] == prompt_of(server.requests[0])
    assert asked["answers"][0]["rationale"] == "Curt."
    assert entry.fingerprint == POLITE.at_least(0.8).fingerprint
    assert from_spec({name: value for name, value in entry.match.items() if name != "judge"}) == POLITE.at_least(0.8)
    assert entry.rederivable == "judge"


async def test_verification_counts_what_a_judge_decided_and_calls_nobody(
    server: ScriptedServer, tmp_path: Path
) -> None:
    answered(server, chat(choice("A")))
    live = await run_eval(define_eval("x", test=polite), agent=agent, judge=judge(server), record=tmp_path)
    before = len(server.requests)
    found = verify_run(tmp_path / "runs" / live.id)
    assert (found.entries, found.reproduced, dict(found.excluded)) == (2, 1, {"judge": 1})
    assert len(server.requests) == before


async def test_each_experiment_has_its_own_judge_or_that_of_the_run(server: ScriptedServer) -> None:
    answered(server, chat(choice("A")))
    usual = judge(server)
    experiments = (
        Experiment(name="own", agent=agent, judge=attrs.evolve(usual, model="large")),
        Experiment(name="usual", agent=agent),
    )
    plan = attrs.evolve(plan_of(1, usual), experiments=experiments)
    result = await run(plan, Told())
    asked = {each.agent: each.assertions[1].match["judge"][0]["model"] for each in result.attempts}
    assert asked == {"own": "large", "usual": "small"}
    assert plan.header()["judge"]["model"] == "small"


async def test_a_wrong_key_is_one_call_one_sentence_and_the_end(server: ScriptedServer) -> None:
    answered(server, as_json({"error": {"message": f"bad key {KEY}"}}, 401))
    told = Told()
    result = await run(plan_of(500, judge(server, retries=2)), told)
    assert len(server.requests) == 1
    [complaint] = told.complaints
    assert "answered 401" in complaint
    assert KEY not in complaint
    assert result.status == "interrupted"
    assert len(result.attempts) < 50
    reasons = {each.reason for each in result.attempts}
    assert len(reasons) == 1
    assert all(each.status == "errored" for each in result.attempts)
    [stop] = told.stops
    assert stop.startswith("the judge cannot be used: ")


async def test_experiments_with_another_judge_go_on(server: ScriptedServer) -> None:
    def by_model(request: Request) -> Answer:
        known = request.json["model"] == "small"
        return chat(choice("A")) if known else as_json({"error": {"message": "no such model"}}, 404)

    answered(server, by_model)
    usual = judge(server)
    experiments = (
        Experiment(name="bad", agent=agent, judge=attrs.evolve(usual, model="none")),
        Experiment(name="good", agent=agent),
    )
    result = await run(attrs.evolve(plan_of(30, usual), experiments=experiments), Told())
    passed = [each.agent for each in result.attempts if each.status == "passed"]
    assert passed == ["good"] * 30


@pytest.mark.parametrize("config", [None, JudgeConfig(model="small", key_variable="NO_SUCH_VARIABLE")])
async def test_a_judge_that_is_not_configured_stops_nothing(config: JudgeConfig | None) -> None:
    told = Told()
    result = await run(plan_of(5, config), told)
    assert [each.status for each in result.attempts] == ["errored"] * 5
    assert all(each.assertions[0].decision == "met" for each in result.attempts)
    assert (len(told.notes), told.complaints, told.stops) == (1, [], [])


async def test_one_refused_text_is_no_wrong_key_once_the_judge_has_answered(server: ScriptedServer) -> None:
    def blocked(request: Request) -> Answer:
        return as_json({"error": {"message": "blocked"}}, 403) if "case 3" in prompt_of(request) else chat(choice("A"))

    async def test(t: EvalContext, case: int) -> None:
        t.check({"input": "x", "output": f"case {case}."}, POLITE.at_least(0.8)).gate()

    answered(server, blocked)
    eval_ = define_eval("polite", test=test, cases={str(number): number for number in range(6)})
    result = await run_eval(eval_, judge=judge(server), concurrency=1)
    assert [each.status for each in result.attempts] == ["passed"] * 3 + ["errored"] + ["passed"] * 2


async def test_the_cap_of_the_judge_is_its_own(server: ScriptedServer) -> None:
    lock, now, most = threading.Lock(), [0], [0]
    full = threading.Barrier(3)

    class Counted:
        """An answer that waits until three are in flight."""

        def send(self, handler: Any) -> None:
            with lock:
                now[0] += 1
                most[0] = max(most[0], now[0])
            full.wait(timeout=20)
            with lock:
                now[0] -= 1
            chat(choice("A")).send(handler)

    def by(request: Request) -> Answer:
        # The first call goes alone.
        return chat(choice("A")) if len(server.requests) == 1 else Counted()

    answered(server, by)
    result = await run(plan_of(31, judge(server, concurrency=3)), Told(), concurrency=31)
    assert [each.status for each in result.attempts] == ["passed"] * 31
    assert most == [3]


async def test_the_judge_of_the_project_is_the_usual_one(
    server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    table = f'[tool.niceeval.judge]\nmodel = "usual"\nbase_url = "{server.url}/v1"\nkey_variable = "{VARIABLE}"\n'
    (tmp_path / "pyproject.toml").write_text(table)
    answered(server, chat(choice("A")))
    await run_eval(define_eval("x", test=polite), agent=agent)
    await run_eval(define_eval("x", test=polite), agent=agent, judge=judge(server, model="own"))
    async with attempt() as t:
        t.check({"input": "x", "output": "y"}, POLITE)
    assert [request.json["model"] for request in server.requests] == ["usual", "own", "usual"]


async def test_a_run_that_is_cancelled_ends_while_its_judge_is_silent(server: ScriptedServer) -> None:
    called = threading.Event()

    def by(request: Request) -> Answer:
        called.set()
        return server.silent()

    answered(server, by)
    writer = MemoryWriter(plan_of(5, judge(server)).header())
    async with anyio.create_task_group() as tasks:
        work = partial(execute, plan_of(5, judge(server)), concurrency=5, timeout=None, writer=writer)
        tasks.start_soon(work)
        await anyio.to_thread.run_sync(called.wait)
        tasks.cancel_scope.cancel()
    result = RunResult.from_writer(writer)
    assert result.status == "interrupted"
    assert {each.reason for each in result.attempts} == {"interrupted"}
    assert {each.assertions[1].evaluation.code for each in result.attempts} == {"cut-off"}


async def test_checks_by_a_judge_hold_up_no_other_check(server: ScriptedServer) -> None:
    answered(server, server.silent())
    done = anyio.Event()

    async def sees(value: object) -> bool:
        done.set()
        return True

    async def test(t: EvalContext) -> None:
        for _ in range(40):
            t.check({"input": "x", "output": "y"}, POLITE)
        t.check("x", satisfies("is seen", sees))
        await done.wait()
        server.released.set()

    result = await run_eval(define_eval("x", test=test), judge=judge(server), timeout=60)
    assert result.attempts[0].status == "passed"


async def test_samples_are_independent_calls_with_mean_and_spread(server: ScriptedServer) -> None:
    letters = iter("ABE")
    answered(server, lambda request: chat(choice(next(letters))))
    async with attempt(agent=agent, judge=judge(server, samples=3), style="score") as t:
        turn = await t.send("thank you")
        handle = t.check({"input": turn.input, "output": turn.message}, POLITE)
        handle.score(5)
    assert t.result is not None
    [entry] = t.result.assertions
    [asked] = entry.match["judge"]
    assert entry.evaluation.value == 0.6
    assert t.result.score == 3.0
    assert (asked["mean"], asked["min"], asked["max"], round(asked["stdev"], 3)) == (0.6, 0.0, 1.0, 0.529)
    assert len(server.requests) == 3


async def test_an_attempt_that_ends_first_leaves_its_judge_unanswered(server: ScriptedServer) -> None:
    answered(server, server.silent())
    result = await run_eval(define_eval("x", test=polite), agent=agent, judge=judge(server), timeout=0.3)
    [only] = result.attempts
    assert (only.status, only.reason) == ("errored", "timed out after 0.3 s")
    assert only.assertions[1].evaluation.code == "cut-off"
    assert only.assertions[1].match["judge"][0]["prompt"]


async def test_an_attempt_that_ends_first_keeps_why_its_judge_was_late(server: ScriptedServer) -> None:
    answered(server, as_json({"error": {"message": "slow down"}}, 429, retry_after="60"))
    config = judge(server, retries=1, samples=2)
    result = await run_eval(define_eval("x", test=polite), agent=agent, judge=config, timeout=2)
    [only] = result.attempts
    assert only.status == "errored"
    assert only.assertions[1].evaluation.code == "cut-off"
    for answer in only.assertions[1].match["judge"][0]["answers"]:
        assert answer["code"] == "cut-off"
        [tried] = answer["tries"]
        assert tried["reason"] == "judge-rate-limited: the judge's endpoint answered 429: slow down"


@pytest.mark.parametrize("key", ["none", "-", "ollama"])
async def test_a_placeholder_for_a_key_is_no_secret(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv(VARIABLE, key)
    answered(server, chat(choice("A", f"There is {key} - of {key}.")))
    result = await run_eval(define_eval("x", test=polite), agent=agent, judge=judge(server))
    [only] = result.attempts
    assert only.status == "passed"
    assert only.assertions[1].match["judge"][0]["answers"][0]["rationale"] == f"There is {key} - of {key}."


async def test_the_key_and_other_secrets_are_stored_nowhere(
    server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "shop-0123456789")
    answered(server, chat(choice("C", f"It shows {KEY} and shop-0123456789.")))

    async def test(t: EvalContext) -> None:
        t.check({"input": "?", "output": "the token is shop-0123456789"}, POLITE.at_least(0.8)).gate()

    result = await run_eval(
        define_eval("x", test=test), judge=judge(server, cache=tmp_path / "cache"), record=tmp_path / "record"
    )
    assert "shop-0123456789" in prompt_of(server.requests[0])
    text = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert KEY.encode() not in text
    assert b"shop-0123456789" not in text
    [entry] = result.attempts[0].assertions
    assert "[redacted:SHOP_TOKEN]" in entry.match["judge"][0]["prompt"]
    assert f"[redacted:{VARIABLE}]" in entry.match["judge"][0]["answers"][0]["rationale"]


async def test_a_judge_within_a_score_style_eval_leaves_it_unrankable(server: ScriptedServer) -> None:
    async def test(t: EvalContext) -> None:
        t.score(2)
        t.check({"input": "?", "output": "x"}, POLITE).score(5)

    answered(server, chat("Sorry, I cannot help"))
    result = await run_eval(define_score_eval("x", test=test), judge=judge(server), budget=Budget(max_time=60))
    [only] = result.attempts
    assert (only.status, only.score, only.partial_score) == ("unrankable", None, 2.0)
