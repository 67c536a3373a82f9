"""The examples that the library was designed from, each with the outcome it is to have."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Literal

import pydantic
import pytest

from niceeval import (
    AssertionResult,
    AttemptResult,
    AuthoringError,
    CommandResult,
    EvalContext,
    Reply,
    ScriptedAgent,
    ToolCall,
    attempt,
    define_eval,
    define_score_eval,
    defineEval,
    defineScoreEval,
    run_eval,
)
from niceeval.record import Record
from niceeval_expect import (
    ValueMatch,
    at,
    command_succeeded,
    define_score_match,
    equals,
    excludes,
    includes,
    json_match,
    json_text,
    jsonMatch,
    matches,
    non_empty,
    one_of,
    pattern,
    satisfies,
    tool_match,
    toolMatch,
)

pytestmark = pytest.mark.anyio

Style = Literal["pass", "score"]
Body = Callable[[EvalContext], Coroutine[Any, Any, None]]

WEATHER = Reply("Completed: 21 degrees.", tool_calls=[ToolCall("get_weather", {"city": "Oslo"}, "21")])
COMPLETENESS = define_score_match(lambda text: 0.8 if "steps" in text else 0.4, name="completeness")()
"""A measurement like a judge's: 0.8 for an answer with steps."""


async def run(body: Body, *replies: Reply | str, style: Style = "pass") -> AttemptResult:
    define = define_eval if style == "pass" else define_score_eval
    result = await run_eval(define("example", test=body), agent=ScriptedAgent(replies or ["Completed."]))
    (only,) = result.attempts
    return only


def outcomes(result: AttemptResult) -> dict[str, str]:
    return {item.requirement: item.evaluation.outcome for item in result.assertions}


def the(result: AttemptResult, requirement: str) -> AssertionResult:
    (found,) = [item for item in result.assertions if item.requirement == requirement]
    return found


# -- a check registers one entry at once, and its handle configures that entry


async def weather(t: EvalContext) -> None:
    turn = await t.send("How warm is it in Oslo?")
    t.check(turn.message, includes("Completed")).label("Reply says it completed")
    turn.succeeded().label("Turn completed")
    turn.called_tool(tool_match("get_weather").exactly(1)).label("Looks up weather")
    turn.check({"input": turn.input, "output": turn.message}, jsonMatch({"output": includes("21")})).gate().label(
        "Answers"
    )


async def test_every_check_is_one_entry_with_its_label() -> None:
    result = await run(weather, WEATHER)
    assert result.verdict == "passed"
    assert outcomes(result) == {
        "Reply says it completed": "matched",
        "Turn completed": "matched",
        "Looks up weather": "matched",
        "Answers": "matched",
    }
    assert [item.scope for item in result.assertions] == ["value", "turn", "turn", "value"]
    assert [item.order for item in result.assertions] == [0, 1, 2, 3]


async def test_a_mismatch_fails_and_later_checks_register_all_the_same() -> None:
    result = await run(weather, Reply("Done.", tool_calls=[]))
    assert result.verdict == "failed"
    assert outcomes(result) == {
        "Reply says it completed": "mismatched",
        "Turn completed": "matched",
        "Looks up weather": "mismatched",
        "Answers": "mismatched",
    }


@pytest.mark.parametrize("configure", ["key", "label"])
@pytest.mark.parametrize("second", ["same", "another"])
async def test_a_key_and_a_label_are_given_once(configure: str, second: str) -> None:
    async def body(t: EvalContext) -> None:
        handle = t.check("a", equals("a"))
        getattr(handle, configure)("same")
        with pytest.raises(AuthoringError, match=configure):
            getattr(handle, configure)(second)

    result = await run(body)
    assert result.verdict == "errored"
    assert Path(__file__).name in (result.reason or "")


async def test_a_key_and_a_label_may_both_be_given() -> None:
    async def body(t: EvalContext) -> None:
        t.check("a", equals("a")).label("Says a").key("says_a")

    (entry,) = (await run(body)).assertions
    assert (entry.key, entry.label, entry.requirement) == ("says_a", "Says a", "says_a")


# -- matches compare values only


class Refund(pydantic.BaseModel):
    status: Literal["refund", "exchange"]
    amount: int


@pytest.mark.parametrize(
    ("message", "data", "expected"),
    [
        ("Order confirmed", {"status": "refund", "amount": 42}, ["matched"] * 4),
        ("", {"status": "refund", "amount": 41}, ["mismatched", "mismatched", "matched", "mismatched"]),
        ("Order confirmed", {"status": "refund", "amount": "42"}, ["matched", "mismatched", "mismatched", "matched"]),
        ("Order confirmed", {"status": "lost", "amount": 42}, ["matched", "mismatched", "mismatched", "matched"]),
    ],
)
async def test_values_are_compared_by_matches(message: str, data: Any, expected: list[str]) -> None:
    async def body(t: EvalContext) -> None:
        turn = await t.send("I want my money back.")
        t.check(turn.message, includes("Order confirmed"))
        t.check(turn.data, equals({"status": "refund", "amount": 42}))
        t.check(turn.data, matches(Refund))
        t.check(len(turn.message), satisfies("Reply is not empty", lambda length: length > 0))

    result = await run(body, Reply(message, data=data))
    assert [item.evaluation.outcome for item in result.assertions] == expected
    assert result.verdict == ("passed" if set(expected) == {"matched"} else "failed")


async def test_one_match_serves_many_checks_and_remembers_none() -> None:
    confirmed = includes("confirmed")
    before = confirmed.spec()

    async def body(t: EvalContext) -> None:
        for text in ("confirmed", "refused", "confirmed"):
            t.check(text, confirmed)

    result = await run(body)
    assert [item.evaluation.outcome for item in result.assertions] == ["matched", "mismatched", "matched"]
    assert confirmed.spec() == before


@pytest.mark.parametrize("arguments", [("a",), ("a", equals("a"), "label")])
async def test_a_check_takes_a_subject_and_a_match_and_nothing_else(arguments: tuple[Any, ...]) -> None:
    async with attempt() as t:
        t.check("a", equals("a"))
        with pytest.raises(TypeError):
            t.check(*arguments)


# -- scopes


READS = Reply("Fixed.", tool_calls=[ToolCall("shell", {"command": "make"}, "ok")] + 2 * [ToolCall("read_file", {}, "")])


async def test_each_scope_sees_its_own_evidence_at_the_time_of_the_call() -> None:
    async def body(t: EvalContext) -> None:
        turn = await t.send("Run checks and fix the problem.")
        turn.succeeded().label("Turn completed")
        turn.called_tool("shell").label("Uses shell")
        turn.called_tool(tool_match("read_file").exactly(2)).label("Reads twice")
        other = t.new_session()
        other.not_called_tool("shell").label("another session, before it said anything")
        later = await other.send("Run checks again.")
        later.called_tool(tool_match("shell").exactly(1)).label("its turn")
        other.called_tool(tool_match("shell").exactly(1)).label("another session")
        t.called_tool(tool_match("shell").exactly(2)).label("everything")
        t.called_tool(tool_match("read_file").exactly(4)).label("everything twice")

    result = await run(body, READS, READS)
    assert set(outcomes(result).values()) == {"matched"}
    assert [item.scope for item in result.assertions] == ["turn"] * 3 + ["session", "turn", "session"] + 2 * ["attempt"]


async def test_how_often_is_said_on_the_match_before_it_is_registered() -> None:
    async def body(t: EvalContext) -> None:
        turn = await t.send("Run checks.")
        turn.called_tool(toolMatch("read_file").exactly(2)).label("twice")
        turn.called_tool(toolMatch("read_file").at_least(1)).label("at least once")
        turn.called_tool(toolMatch("read_file").exactly(1)).label("once")
        turn.not_called_tool(toolMatch("shell", input=jsonMatch({"command": "rm"}))).label("does not delete")
        turn.called_tool(toolMatch("shell", input=jsonMatch({"command": pattern("ma.e")}), output="ok")).label("makes")
        with pytest.raises(TypeError, match="quantifier"):
            turn.not_called_tool(toolMatch("shell").exactly(1))  # type: ignore[arg-type]

    result = await run(body, READS)
    assert outcomes(result) == {
        "twice": "matched",
        "at least once": "matched",
        "once": "mismatched",
        "does not delete": "matched",
        "makes": "matched",
    }
    assert result.verdict == "errored"


# -- the two kinds of eval


@pytest.mark.parametrize(
    ("answer", "threshold", "verdict", "decision"),
    [
        ("Three steps.", 0.8, "passed", "met"),
        ("Three steps.", 0.81, "failed", "unmet"),
        ("No idea.", 0.8, "failed", "unmet"),
        ("No idea.", 0.0, "passed", "met"),
    ],
)
async def test_a_measurement_with_a_threshold_joins_the_verdict_as_a_gate(
    answer: str, threshold: float, verdict: str, decision: str
) -> None:
    async def body(t: EvalContext) -> None:
        turn = await t.send("What can I do?")
        turn.check(turn.message, COMPLETENESS.at_least(threshold)).gate().label("Actionable steps")

    result = await run(body, answer)
    (entry,) = result.assertions
    assert (result.verdict, entry.decision, entry.threshold) == (verdict, decision, threshold)
    assert entry.evaluation.value == (0.8 if "steps" in answer else 0.4)


async def test_a_measurement_that_is_no_gate_decides_nothing() -> None:
    async def body(t: EvalContext) -> None:
        t.check("a", equals("a"))
        t.check("No idea.", COMPLETENESS).label("measured")
        t.check("No idea.", COMPLETENESS.at_least(0.8)).label("below")

    result = await run(body)
    assert result.verdict == "passed"
    assert [the(result, name).decision for name in ("measured", "below")] == ["informative", "informative"]


SEARCH = Reply("All steps.", tool_calls=[ToolCall("search", {"q": "refund"}, "found")])


async def test_contributions_add_up_to_a_score() -> None:
    async def body(t: EvalContext) -> None:
        turn = await t.send("How do I get my money back?")
        turn.called_tool("search").label("only saved")
        turn.called_tool("search").score(2).label("worth two")
        turn.called_tool("shell").score(3).label("not called")
        turn.check(turn.message, COMPLETENESS).score(5).label("complete")
        turn.check(turn.message, COMPLETENESS.at_least(0.9)).score(5).label("below")
        t.score(5).label("direct")

    result = await run(body, SEARCH, style="score")
    assert (result.status, result.verdict) == ("scored", None)
    assert {item.requirement: item.earned for item in result.assertions} == {
        "only saved": None,
        "worth two": 2,
        "not called": 0,
        "complete": 4,
        "below": 4,
        "direct": 5,
    }
    assert result.score == 15
    assert the(result, "below").evaluation.diagnostic.code == "below"


@pytest.mark.parametrize("configure", ["gate", "or_stop", "score"])
async def test_a_direct_score_takes_only_a_key_and_a_label(configure: str) -> None:
    async with attempt(style="score") as t:
        handle = t.score(5).key("direct").label("Direct")
        assert not hasattr(handle, configure)
    assert t.result.score == 5


async def test_a_score_eval_without_contributions_has_the_official_score_zero() -> None:
    async def body(t: EvalContext) -> None:
        turn = await t.send("hello")
        turn.check(turn.message, includes("bye"))

    result = await run(body, style="score")
    assert (result.status, result.score, result.partial_score) == ("scored", 0, None)


# -- control flow


async def answers(t: EvalContext) -> None:
    turn = await t.send("Search for information and explain the conclusion.")
    await turn.succeeded().orStop()
    search = await t.check(turn.message, includes("conclusion")).label("concludes").or_stop()
    t.check(search, equals(turn.message)).label("after")


async def test_a_stop_that_is_met_goes_on_with_its_subject() -> None:
    result = await run(answers, "The conclusion is: wait.")
    assert (result.verdict, result.stopped_by) == ("passed", None)
    assert outcomes(result)["after"] == "matched"


@pytest.mark.parametrize(("style", "status", "score"), [("pass", "failed", None), ("score", "scored", 2)])
async def test_a_stop_ends_the_eval_there_and_what_did_not_run_has_no_result(
    style: Style, status: str, score: float | None
) -> None:
    async def body(t: EvalContext) -> None:
        if style == "score":
            t.score(2)
        await answers(t)

    result = await run(body, "I found nothing.", style=style)
    assert (result.status, result.score, result.stopped_by) == (status, score, "concludes")
    assert "after" not in outcomes(result)
    assert the(result, "concludes").evaluation.outcome == "mismatched"


async def test_a_stop_below_a_threshold() -> None:
    async def body(t: EvalContext) -> None:
        await t.check("No idea.", COMPLETENESS.at_least(0.8)).label("complete").or_stop()

    result = await run(body)
    assert (result.verdict, result.stopped_by) == ("failed", "complete")


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_stop_cancels_no_work_that_had_started(anyio_backend: str) -> None:
    done: list[str] = []
    begun = asyncio.Event()

    async def work() -> None:
        begun.set()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        done.append("work")

    async def body(t: EvalContext) -> None:
        background = asyncio.create_task(work())
        await begun.wait()
        done.append("before")
        try:
            await t.check("a", equals("b")).label("stops").or_stop()
            done.append("never")
        finally:
            await background

    result = await run(body)
    assert (result.verdict, result.stopped_by) == ("failed", "stops")
    assert done == ["before", "work"]


async def test_the_other_spellings_mean_the_same(tmp_path: Path) -> None:
    async def stops(t: EvalContext) -> None:
        await t.check("a", equals("b")).key("b").orStop()

    one = await run_eval(defineEval("aliases", test=stops), record=tmp_path / "pass")
    two = await run_eval(defineScoreEval("aliases", test=stops), record=tmp_path / "score")
    assert (one.attempts[0].verdict, two.attempts[0].status, two.attempts[0].score) == ("failed", "scored", 0)
    with Record.open(tmp_path / "score") as record:
        assert [(place.rank, place.scored) for place in record.ranking()] == [(1, 1)]


# -- what a result keeps


async def test_a_command_keeps_what_was_run_and_how_it_ended() -> None:
    ran = CommandResult(["pytest", "-q"], 1, stdout="1 failed", stderr="E   assert 1 == 2", duration=2.5)

    async def body(t: EvalContext) -> None:
        t.check(ran, command_succeeded()).label("tests pass")

    result = await run(body)
    entry = the(result, "tests pass")
    assert (result.verdict, entry.evaluation.outcome) == ("failed", "mismatched")
    assert entry.subject.value() == ran
    assert entry.match == {"match": "command_succeeded"}
    assert "1" in entry.received


@pytest.mark.parametrize("scope", ["turn", "session", "attempt"])
async def test_a_tool_check_keeps_its_candidates_even_where_nothing_matched(scope: str, tmp_path: Path) -> None:
    async def body(t: EvalContext) -> None:
        turn = await t.send("Run checks.")
        at_scope = {"turn": turn, "session": t.sessions[0], "attempt": t}[scope]
        at_scope.called_tool(tool_match("shell", input=json_match({"command": "make test"}))).label("tests")
        at_scope.called_tool("shell").label("any shell")

    await run_eval(define_eval("tools", test=body), agent=ScriptedAgent([READS]), record=tmp_path)
    with Record.open(tmp_path) as record:
        (result,) = record.attempts()
    missed, found = result.assertions
    assert (missed.evaluation.outcome, missed.calls, missed.scope, missed.coverage) == (
        "mismatched",
        (),
        scope,
        "complete",
    )
    assert missed.candidates[0] == found.calls[0] == "s0.t0.c0"
    assert missed.subject.value() == {"sessions": [{"session": 0, "turns": [0]}]}
    assert missed.match["match"] == "called_tool"
    assert "make test" in missed.expected
    assert "input.command expected 'make test', got 'make'" in missed.received


@pytest.mark.parametrize("negated", [False, True])
async def test_missing_evidence_is_no_mismatch(negated: bool) -> None:
    async def body(t: EvalContext) -> None:
        turn = await t.send("Run checks.")
        (turn.not_called_tool if negated else turn.called_tool)("shell").label("shell")

    result = await run(body, "Fixed.")
    entry = the(result, "shell")
    assert (result.verdict, entry.evaluation.outcome, entry.decision) == ("errored", "unavailable", "undecided")
    assert entry.reason


# -- a customer of a support assistant asks where their parcel is


APOLOGY = """I'm sorry — I couldn't find an order number matching
lucia.f@example.com. Could you check the confirmation email
and send me the reference from the subject line?"""

ANSWER = """{
  "order_number": "ORD-448192",
  "status": "in_transit",
  "eta_date": "2026-08-14",
  "message": "Your order ORD-448192 is in transit and should arrive on 14 August."
}"""

ORDER_NUMBER = pattern(r"ORD-\d{6}", full=True, ascii=True)
FIELDS = ("order_number", "status", "eta_date", "message")
SCHEMA = {"type": "object", "properties": {"eta_date": {"type": "string", "format": "date"}}}


def test_characters_somewhere_pass_on_the_very_failure_and_a_field_does_not() -> None:
    assert includes("order number").evaluate(APOLOGY.lower()).outcome == "matched"
    structured = json_text(at("order_number", ORDER_NUMBER)).evaluate(APOLOGY)
    assert structured.outcome == "mismatched"
    assert structured.diagnostic.pointer == ""
    assert "JSON" in structured.diagnostic.message
    assert "I'm sorry" in str(structured)


async def test_the_apology_fails_the_case_with_where_and_why() -> None:
    async def body(t: EvalContext) -> None:
        turn = await t.send("Where is my parcel?")
        t.check(turn.message.lower(), includes("order number")).key("characters")
        t.check(turn.message, json_text(at("order_number", ORDER_NUMBER))).key("field")

    result = await run(body, APOLOGY)
    assert outcomes(result) == {"characters": "matched", "field": "mismatched"}
    (failure,) = result.failures
    assert (result.verdict, failure.requirement) == ("failed", "field")
    assert failure.subject.value() == APOLOGY
    assert Path(failure.source.file).name == Path(__file__).name
    assert "I'm sorry" in failure.received
    assert (await run(body, ANSWER)).verdict == "failed"
    assert outcomes(await run(body, ANSWER)) == {"characters": "mismatched", "field": "matched"}


def claims(expected: str) -> dict[str, ValueMatch]:
    return {
        "parses": json_text(),
        **{f"has {field}": json_text(at(field, non_empty())) for field in FIELDS},
        "format": json_text(at("order_number", ORDER_NUMBER)),
        "the order": json_text(at("order_number", expected)),
        "status": json_text(at("status", one_of(["in_transit", "delivered", "processing", "lost"]))),
        "date": json_text(matches(SCHEMA)),
    }


@pytest.mark.parametrize(
    ("old", "new", "failing"),
    [
        ("", "", set[str]()),
        ("ORD-448192", "ORD-000000", {"the order"}),
        ('"ORD-448192"', '"ORD-4481929999"', {"format", "the order"}),
        ('"ORD-448192"', '"ORD-٤٤٨١٩٢"', {"format", "the order"}),
        ('"ORD-448192"', '""', {"has order_number", "format", "the order"}),
        ('"order_number"', '"orderNumber"', {"has order_number", "format", "the order"}),
        ('"in_transit"', '"in transit"', {"status"}),
        ("2026-08-14", "2026-13-45", {"date"}),
        ("August.", "August", set()),
        ('August."\n}', "Aug", {"parses", *(f"has {one}" for one in FIELDS), "format", "the order", "status", "date"}),
    ],
)
def test_each_claim_fails_for_its_own_reason(old: str, new: str, failing: set[str]) -> None:
    answer = ANSWER.replace(old, new) if old else ANSWER
    found = {name: match.evaluate(answer) for name, match in claims("ORD-448192").items()}
    assert {name for name, evaluation in found.items() if evaluation.outcome != "matched"} == failing
    assert {found[name].outcome for name in failing} <= {"mismatched"}
    for name in failing:
        assert found[name].diagnostic.message


def test_a_message_names_the_place_and_the_value() -> None:
    evaluation = claims("ORD-448192")["format"].evaluate(ANSWER.replace('"ORD-448192"', '"ORD-44819"'))
    assert (evaluation.diagnostic.pointer, "ORD-44819" in str(evaluation)) == ("/order_number", True)


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ("You will definitely get your money back.", "matched"),
        ("I can assure you the refund will be processed today.", "matched"),
        ("I can't guarantee a delivery date, only an estimate.", "mismatched"),
    ],
)
def test_a_forbidden_word_is_a_word_and_not_a_promise(answer: str, outcome: str) -> None:
    assert excludes("guarantee").evaluate(answer).outcome == outcome
