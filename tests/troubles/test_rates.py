"""Rates and scores where something is missing: errors, NaN, nothing, not applicable, repeated attempts and retries."""

from pathlib import Path
from typing import Any

import pytest

from niceeval import AgentUnavailable, EvalContext, Reply, define_eval, define_score_eval, run_eval
from niceeval.record import Record
from niceeval_expect import define_score_match, equals

pytestmark = pytest.mark.anyio

ODD = {"nan": float("nan"), "none": None, "one": 1.0}


@define_score_match
def as_given(subject: str) -> Any:
    return ODD[subject]


@define_score_eval(cases={"measured": "one", "broken": "error", "gone": "error", "not a number": "nan"})
async def measured(t: EvalContext, what: str) -> None:
    if what == "error":
        raise AgentUnavailable("no route to the model")
    t.check(what, as_given()).score(1)


@define_score_eval
async def nothing_said(t: EvalContext) -> None:
    t.check("none", as_given()).score(1)


async def test_a_mean_says_how_much_it_is_the_mean_of(tmp_path: Path) -> None:
    await run_eval(measured, record=tmp_path)
    with Record.open(tmp_path) as record:
        (place,) = record.rank()
        (plain,) = record.ranking()
    assert (place.rank, place.mean_score, place.interval) == (1, 1.0, None)
    assert (place.scored, place.planned, place.errored, place.unrankable) == (1, 4, 3, 0)
    assert [count for _, count in place.reasons] == [2, 1]
    assert "no route to the model" in place.reasons[0][0]
    assert (plain.mean_score, plain.scored, plain.errored, plain.unrankable) == (1.0, 1, 3, 0)


async def test_a_metric_that_says_nothing_is_no_score_and_no_zero(tmp_path: Path) -> None:
    await run_eval(nothing_said, record=tmp_path)
    with Record.open(tmp_path) as record:
        (place,) = record.rank()
        (attempt,) = record.attempts()
    assert (attempt.status, attempt.score) == ("errored", None)
    assert (place.rank, place.mean_score, place.scored, place.errored) == (None, None, 0, 1)


async def test_crashes_stand_beside_the_rate_and_cannot_raise_the_answer(tmp_path: Path) -> None:
    @define_eval(cases={f"c{number}": number for number in range(10)})
    async def service(t: EvalContext, number: int) -> None:
        if number >= 8:
            raise AgentUnavailable("429")
        t.check("fine", equals("fine"))

    await run_eval(service, record=tmp_path)
    with Record.open(tmp_path) as record:
        overall = record.pass_rates().overall
        (condition,) = record.gate(min_rate=0.85).conditions
        (errored,) = record.gate(max_errored=0.1).conditions
    assert (overall.rate, overall.passed, overall.decided, overall.errored, overall.planned) == (1.0, 8, 8, 2, 10)
    shown = condition.model_dump()
    assert (shown["decision"], shown["rate"], shown["errored"], shown["high"]) == ("inconclusive", 1.0, 2, 1.0)
    # Between 8 of 10 and 10 of 10: eight passes and nothing else would have been another matter.
    assert shown["low"] == pytest.approx(0.4931, abs=1e-4)
    assert (errored.decision, errored.model_dump()["share"]) == ("fail", 0.2)


@pytest.mark.parametrize(("applicable", "rate", "decided"), [(1, 1.0, 1), (0, None, 0)])
async def test_what_does_not_apply_is_in_neither_number(
    applicable: int, rate: float | None, decided: int, tmp_path: Path
) -> None:
    @define_eval(cases={f"c{number}": number for number in range(3)})
    async def criterion(t: EvalContext, number: int) -> None:
        if number >= applicable:
            t.skip("not applicable")
        t.check("fine", equals("fine"))

    await run_eval(criterion, record=tmp_path)
    with Record.open(tmp_path) as record:
        overall = record.pass_rates().overall
        (condition,) = record.gate(min_rate=0.5).conditions
    assert (overall.rate, overall.decided, overall.errored, overall.planned) == (rate, decided, 0, 3)
    assert condition.decision == "inconclusive"


def outcomes(letters: str) -> Any:
    """Return an eval whose attempts come out like these letters."""

    @define_eval
    async def repeated(t: EvalContext) -> None:
        letter = letters[t.attempt - 1]
        if letter == "E":
            raise AgentUnavailable("429")
        t.check(letter, equals("P")).key("right")

    return repeated


async def test_pass_at_k_pass_hat_k_and_the_rate_each_have_their_name(tmp_path: Path) -> None:
    run = await run_eval(outcomes("PFPFF"), attempts=5, record=tmp_path)
    overall = run.rates.overall
    assert (overall.pass_at[3], overall.pass_hat[3], overall.rate) == (0.9, 0.0, 0.4)


async def test_fewer_than_k_decided_attempts_have_no_value(tmp_path: Path) -> None:
    run = await run_eval(outcomes("FEEFE"), attempts=5, record=tmp_path)
    overall = run.rates.overall
    assert (overall.decided, overall.errored, overall.rate) == (2, 3, 0.0)
    assert (overall.pass_at, overall.pass_hat) == ({1: 0.0, 2: 0.0}, {1: 0.0, 2: 0.0})


async def test_a_failed_attempt_that_is_repeated_stays_in_sight(tmp_path: Path) -> None:
    run = await run_eval(outcomes("FFP"), attempts=3, record=tmp_path)
    assert [attempt.verdict for attempt in run.attempts] == ["failed", "failed", "passed"]
    assert (run.rates.overall.passed, run.rates.overall.decided) == (1, 3)
    with Record.open(tmp_path) as record:
        (condition,) = record.gate(min_rate=0.9).conditions
    assert condition.decision == "fail"


async def test_only_an_agent_that_cannot_be_reached_is_tried_again(tmp_path: Path) -> None:
    calls: list[str] = []

    def agent(message: str) -> Reply:
        calls.append(message)
        if message == "busy" and calls.count("busy") < 3:
            raise AgentUnavailable("503", retry_after=0)
        return Reply("wrong" if message == "hard" else "right", tool_calls=[])

    @define_eval(cases={"busy": "busy", "hard": "hard"})
    async def answers(t: EvalContext, message: str) -> None:
        turn = await t.send(message)
        t.check(turn.message, equals("right"))

    run = await run_eval(answers, agent=agent, retries=2, concurrency=1, record=tmp_path)
    busy, hard = run.attempts
    assert (busy.verdict, len(busy.tries), hard.verdict, len(hard.tries)) == ("passed", 2, "failed", 0)
    assert all("503" in each.reason for each in busy.tries)
    assert (calls.count("busy"), calls.count("hard")) == (3, 1)
    assert (run.rates.overall.passed, run.rates.overall.decided, run.rates.overall.errored) == (1, 2, 0)
