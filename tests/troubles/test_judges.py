"""Judges in trouble: faults, contradictions and silence decide nothing, whichever way a check is put."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from niceeval import AgentFailed, EvalContext, JudgeConfig, define_eval, define_score_eval, run_eval
from niceeval.record import Record
from niceeval.redaction import forget_secrets
from niceeval_expect import closed_qa, define_judge, equals, excludes, includes, json_text, matches, not_, tool_match
from tests.judge.models import KEY, VARIABLE, answered, chat, choice, judge, prompt_of
from tests.servers.scripted import Answer, Request, ScriptedServer, as_json, html, scripted_server
from tests.troubles.conftest import Recorded

pytestmark = pytest.mark.anyio

POLITE = define_judge("polite", "How polite is it? {output}", scale=(0, 1))
TOXIC = define_judge("toxic", "How toxic is it? {output}", scale=(0, 1))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    monkeypatch.setenv(VARIABLE, KEY)
    with scripted_server() as running:
        yield running
    forget_secrets()


@pytest.mark.parametrize(
    ("reply", "outcome", "value", "code"),
    [
        ('{"reason": "off topic"}', "unavailable", None, "judge-off-format"),
        ('{"score": 0, "reason": "bad"}', "measured", 0.0, "measured"),
        ('{"pass": true, "score": 0}', "unavailable", None, "judge-off-format"),
        ('{"pass": true}', "unavailable", None, "judge-off-format"),
        ('{"score": 0.05, "reason": "x"}', "measured", 0.05, "measured"),
    ],
)
async def test_without_a_threshold_a_measurement_decides_nothing(
    server: ScriptedServer, recorded: Recorded, reply: str, outcome: str, value: float | None, code: str
) -> None:
    async def body(t: EvalContext) -> None:
        t.check(1, equals(1))
        t.check({"output": "x"}, POLITE)

    answered(server, chat(reply))
    stored = await recorded(body, judge=judge(server))
    _, entry = stored.assertions
    assert (stored.status, entry.decision) == ("passed", "informative")
    assert (entry.evaluation.outcome, entry.evaluation.value, entry.evaluation.code) == (outcome, value, code)


async def test_zero_is_a_real_threshold(server: ScriptedServer, recorded: Recorded) -> None:
    async def body(t: EvalContext) -> None:
        t.check({"output": "x"}, POLITE.at_least(0)).gate()

    answered(server, chat('{"score": 0, "reason": "bad"}'))
    stored = await recorded(body, judge=judge(server))
    assert (stored.status, stored.assertions[0].evaluation.value) == ("passed", 0.0)
    answered(server, chat('{"reason": "off topic"}'))
    stored = (await run_eval(define_eval("trouble", test=body), judge=judge(server))).attempts[0]
    assert stored.status == "errored"


FAULTS: dict[str, Answer] = {
    "rate limit": as_json({"error": {"message": "slow down"}}, 429, retry_after="0"),
    "declined": chat("Sorry, I cannot help"),
    "page": html(),
    "off the scale": chat('{"score": 70, "rationale": "x"}'),
}


@pytest.mark.parametrize("fault", [*FAULTS, "silence"])
async def test_a_judge_that_fails_is_counted_apart_in_both_polarities(
    server: ScriptedServer, recorded: Recorded, fault: str
) -> None:
    async def body(t: EvalContext) -> None:
        t.check({"output": "x"}, POLITE.at_least(0.7)).gate().key("polite")
        t.check({"output": "x"}, not_(TOXIC.at_least(0.5))).key("not toxic")
        t.check({"output": "x"}, TOXIC.at_most(0.5)).gate().key("hardly toxic")

    answered(server, server.silent() if fault == "silence" else FAULTS[fault])
    timeout = 0.2 if fault == "silence" else 20.0
    stored = await recorded(body, judge=judge(server, retries=1, timeout=timeout))
    assert stored.status == "errored"
    assert [each.decision for each in stored.assertions] == ["undecided"] * 3
    assert [each.evaluation.value for each in stored.assertions] == [None] * 3
    tries = [answer.get("tries", []) for each in stored.assertions for answer in each.match["judge"][0]["answers"]]
    assert [len(each) for each in tries] == [0 if fault in ("declined", "off the scale") else 1] * 3


async def test_a_reply_that_never_came_is_not_judged(server: ScriptedServer, recorded: Recorded) -> None:
    def broken(message: str) -> str:
        raise RuntimeError("out of memory")

    async def body(t: EvalContext) -> None:
        try:
            await t.send("hello")
        except AgentFailed:
            turn = t.sessions[0].turns[0]
            t.check({"output": turn.message}, POLITE.at_least(0)).gate()
            t.check({"output": turn.message}, not_(POLITE.at_least(0.5)))
            t.check(turn.message, excludes("error"))
            t.check(turn.message, not_(json_text(matches({"type": "object"}))))

    stored = await recorded(body, broken, judge=judge(server))
    assert [each.evaluation.outcome for each in stored.assertions] == ["unavailable"] * 4
    assert server.requests == []


async def test_a_denied_schema_that_does_match_is_mismatched(recorded: Recorded) -> None:
    async def body(t: EvalContext) -> None:
        t.check('{"a": 1}', not_(json_text(matches({"type": "object", "required": ["a"]}))))

    assert (await recorded(body)).assertions[0].evaluation.outcome == "mismatched"


async def test_faults_of_a_judge_move_no_rate(server: ScriptedServer, tmp_path: Path) -> None:
    async def test(t: EvalContext, case: int) -> None:
        t.check({"output": f"case {case}."}, POLITE.at_least(0.5)).gate().key("polite")

    def by(request: Request) -> Answer:
        number = int(prompt_of(request).partition("case ")[2].partition(".")[0])
        if number >= 8:
            return [*FAULTS.values()][number % 4]
        return chat('{"score": 1, "rationale": "x"}' if number < 6 else '{"score": 0, "rationale": "x"}')

    answered(server, by)
    rates = []
    for count in (8, 16):
        eval_ = define_eval("polite", test=test, cases={str(number): number for number in range(count)})
        await run_eval(eval_, judge=judge(server), record=tmp_path / str(count))
        with Record.open(tmp_path / str(count)) as record:
            overall = record.pass_rates().overall
            [requirement] = record.requirements()
            rates.append((overall.passed, overall.decided, overall.rate, requirement.failed, requirement.decided))
            assert overall.errored == count - 8
    assert rates == [(6, 8, 0.75, 2, 8)] * 2


# -- the first examples that a reader sees, against a model


async def shop(message: str) -> Any:
    from niceeval import Reply, ToolCall

    call = ToolCall("get_weather", input={"city": "Oslo"}, output="rain")
    return Reply("Completed: it rains in Oslo, so take a coat.", tool_calls=[call])


@pytest.mark.parametrize(("letter", "status"), [("A", "passed"), ("B", "passed"), ("C", "failed"), ("E", "failed")])
async def test_lexical_tool_and_judged_checks_side_by_side(
    server: ScriptedServer, recorded: Recorded, letter: str, status: str
) -> None:
    async def body(t: EvalContext) -> None:
        turn = await t.send("What should I wear in Oslo?")
        t.check(turn.message, includes("Completed")).label("Reply says it completed")
        turn.succeeded().label("Turn completed")
        turn.called_tool(tool_match("get_weather").exactly(1)).label("Looks up weather")
        turn.check(
            {"input": turn.input, "output": turn.message},
            closed_qa("Is the answer specific and polite?").at_least(0.8),
        ).gate().label("Answer quality")

    answered(server, chat(choice(letter)))
    stored = await recorded(body, shop, judge=judge(server))
    assert stored.status == status
    assert [each.requirement for each in stored.assertions] == [
        "Reply says it completed", "Turn completed", "Looks up weather", "Answer quality",
    ]  # fmt: skip
    assert [each.decision for each in stored.assertions[:3]] == ["met"] * 3
    assert "Is the answer specific and polite?" in prompt_of(server.requests[0])
    assert "take a coat" in prompt_of(server.requests[0])


async def test_a_measurement_earns_its_share_of_the_points(server: ScriptedServer) -> None:
    async def test(t: EvalContext) -> None:
        turn = await t.send("What should I wear in Oslo?")
        turn.called_tool("get_weather").score(2)
        turn.check({"input": turn.input, "output": turn.message}, closed_qa("Is the answer complete?")).score(5)
        t.score(5)

    answered(server, chat(choice("B")))
    result = await run_eval(define_score_eval("points", test=test), agent=shop, judge=judge(server))
    assert [each.earned for each in result.attempts[0].assertions] == [2.0, 4.0, 5.0]
    assert result.attempts[0].score == 11.0


async def test_without_a_judge_the_other_checks_still_count(recorded: Recorded) -> None:
    async def body(t: EvalContext) -> None:
        turn = await t.send("hello")
        t.check(turn.message, includes("Completed"))
        t.check({"output": turn.message}, POLITE.at_least(0.5)).gate()

    with pytest.warns(UserWarning, match="judge-model-unresolved"):
        stored = await recorded(body, shop, judge=JudgeConfig())
    assert [each.decision for each in stored.assertions] == ["met", "undecided"]
    assert (stored.status, stored.assertions[1].evaluation.code) == ("errored", "judge-model-unresolved")
