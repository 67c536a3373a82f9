"""Claims over when calls finished, what an agent had been shown, and many calls at once, through whole attempts."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from niceeval import (
    AgentContext,
    AgentUnavailable,
    AssertionResult,
    AttemptResult,
    EvalContext,
    Reply,
    ScriptedAgent,
    ToolCall,
    ToolCallFinished,
    ToolCallStarted,
    define_eval,
    reply_from_openai,
    run_eval,
    transcript_from_openai,
)
from niceeval.verify import verify_run
from niceeval_expect import any_of, arg, command_match, event_match, from_spec, tool_match

pytestmark = pytest.mark.anyio
Body = Callable[[EvalContext], Awaitable[None]]

LOOKUP = ToolCall("lookup", {"name": "Ada"}, {"orders": ["A-2231"]}, status="completed", id="l")
REFUND = ToolCall("refund", {"order_id": "A-2231"}, "ok", status="completed", id="r")
ONE_BY_ONE = (ToolCallStarted(LOOKUP), ToolCallFinished(LOOKUP), ToolCallStarted(REFUND), ToolCallFinished(REFUND))
AT_ONCE = (ToolCallStarted(LOOKUP), ToolCallStarted(REFUND), ToolCallFinished(LOOKUP), ToolCallFinished(REFUND))
GROUNDED = (tool_match("refund") & arg("order_id").came_from("lookup")).every()


async def run(body: Body, agent: Any, **options: Any) -> AttemptResult:
    async def test(t: EvalContext) -> None:
        await body(t)

    (only,) = (await run_eval(define_eval(test), agent=agent, **options)).attempts
    return only


async def outcomes(claim: Callable[[Any], Any], *replies: Any) -> dict[str, AssertionResult]:
    """Send one message per reply and make the claim over the last turn, the session and the attempt."""
    results: dict[str, AssertionResult] = {}

    async def body(t: EvalContext) -> None:
        for _ in replies:
            turn = await t.send("Hi")
        for name, where in (("turn", turn), ("session", t.sessions[0]), ("t", t)):
            results[name] = await claim(where)

    await run(body, ScriptedAgent(replies))
    return results


def calls(*made: ToolCall, events: Any = None) -> Reply:
    return Reply("done", tool_calls=list(made), events=events)


@pytest.mark.parametrize(
    ("replies", "turn", "session"),
    [
        ([calls(LOOKUP, REFUND, events=ONE_BY_ONE)], "matched", "matched"),
        ([calls(LOOKUP, REFUND, events=AT_ONCE)], "mismatched", "mismatched"),
        ([calls(LOOKUP, REFUND)], "unavailable", "unavailable"),
        ([calls(REFUND, LOOKUP)], "mismatched", "mismatched"),
        ([calls(LOOKUP), calls(REFUND)], "mismatched", "matched"),
        ([Reply("done")], "unavailable", "unavailable"),
    ],
)
async def test_one_call_had_finished_before_the_next_one_started(replies: Any, turn: str, session: str) -> None:
    found = await outcomes(lambda scope: scope.tool_order("lookup", "refund", finished=True), *replies)
    assert [found[name].evaluation.outcome for name in ("turn", "session", "t")] == [turn, session, session]


async def test_what_an_agent_emits_as_it_happens_tells_when_calls_finished() -> None:
    opened = ToolCall("lookup", {"name": "Ada"}, id="l")

    async def agent(message: str, ctx: AgentContext) -> Reply:
        ctx.emit(opened, LOOKUP, ToolCall("refund", {"order_id": "A-2231"}, id="r"), REFUND)
        return Reply("done", tool_calls=[LOOKUP, REFUND])

    async def body(t: EvalContext) -> None:
        (await t.send("Hi")).tool_order("lookup", "refund", finished=True)

    assert (await run(body, agent)).status == "passed"


@pytest.mark.parametrize(("together", "outcome"), [(False, "matched"), (True, "mismatched")])
async def test_a_recorded_conversation_tells_it_by_its_messages(together: bool, outcome: str) -> None:
    def asks(*names: str) -> dict[str, Any]:
        made = [{"id": name, "type": "function", "function": {"name": name, "arguments": "{}"}} for name in names]
        return {"role": "assistant", "content": None, "tool_calls": made}

    def answers(name: str) -> dict[str, Any]:
        return {"role": "tool", "tool_call_id": name, "content": "ok"}

    apart = [asks("a"), answers("a"), asks("b"), answers("b")]
    messages = [
        {"role": "user", "content": "Hi"},
        *([asks("a", "b"), answers("a"), answers("b")] if together else apart),
    ]
    results: list[AssertionResult] = []

    async def body(t: EvalContext) -> None:
        session = t.observe(transcript_from_openai(messages))
        results.append(await session.tool_order("a", "b", finished=True))
        results.append(await session.tool_order("a", "b"))

    await run(body, None)
    assert [result.evaluation.outcome for result in results] == [outcome, "matched"]


@pytest.mark.parametrize(
    ("replies", "turn", "session"),
    [
        ([calls(LOOKUP, REFUND)], "matched", "matched"),
        ([calls(REFUND, LOOKUP)], "mismatched", "mismatched"),
        ([calls(LOOKUP, REFUND, events=AT_ONCE)], "mismatched", "mismatched"),
        # a turn's agent had seen the turns before it
        ([calls(LOOKUP), calls(REFUND)], "matched", "matched"),
        ([Reply("calls of this turn are not reported"), calls(REFUND)], "unavailable", "unavailable"),
    ],
)
async def test_an_argument_came_from_an_earlier_result(replies: Any, turn: str, session: str) -> None:
    found = await outcomes(lambda scope: scope.called_tool(GROUNDED), *replies)
    assert [found[name].evaluation.outcome for name in ("turn", "session", "t")] == [turn, session, session]


async def test_what_came_later_does_not_change_what_had_been_shown() -> None:
    results: list[AssertionResult] = []

    async def body(t: EvalContext) -> None:
        first = await t.send("Hi")
        second = await t.send("Refund A-2231")
        shown = tool_match("refund") & arg("order_id").came_from("session")
        results.extend([await first.called_tool(shown), await second.called_tool(shown)])

    await run(body, ScriptedAgent([calls(REFUND), calls(REFUND)]))
    assert [result.evaluation.outcome for result in results] == ["mismatched", "matched"]


async def test_unordered_calls_are_yielded_in_their_order() -> None:
    got: list[Any] = []

    async def body(t: EvalContext) -> None:
        turn = await t.send("Hi")
        got.append(await turn.tool_calls_unordered(["refund", tool_match("lookup")], only=True).or_stop())

    assert (await run(body, ScriptedAgent([calls(LOOKUP, REFUND)]))).status == "passed"
    assert got == [(LOOKUP, REFUND)]


async def test_nearly_the_same_text_in_every_turn_is_a_loop() -> None:
    replies = ["I will look into it.", "I will look into it!", "I'll look into it."]
    strict = await outcomes(lambda scope: scope.no_loops(max_repeats=2), *[calls_none(text) for text in replies])
    assert strict["t"].evaluation.outcome == "matched"
    found = await outcomes(lambda scope: scope.no_loops(similarity=0.8), *[calls_none(text) for text in replies])
    assert [found[name].evaluation.outcome for name in ("turn", "session", "t")] == [
        "matched",
        "mismatched",
        "mismatched",
    ]


def calls_none(text: str) -> Reply:
    return Reply(text, tool_calls=[])


@pytest.mark.parametrize(
    "claim",
    [
        lambda t: t.tool_order("a", "b", finished=1),
        lambda t: t.tool_calls_unordered([]),
        lambda t: t.no_loops(similarity=2),
        lambda t: t.called_tool(arg("x")),
    ],
)
async def test_bad_arguments_are_the_author_s_mistake(claim: Callable[[Any], Any]) -> None:
    async def body(t: EvalContext) -> None:
        claim(t)

    attempt = await run(body, None)
    assert attempt.status == "errored"


@pytest.mark.parametrize(
    ("content", "outcome", "status"),
    [
        ('<tool_call name="refund" args={"id":1}', "unavailable", "errored"),
        ("abc", "matched", "passed"),
    ],
)
async def test_text_that_looks_like_a_call_is_not_the_absence_of_one(content: str, outcome: str, status: str) -> None:
    async def agent(message: str) -> Reply:
        return reply_from_openai([{"role": "assistant", "content": content}])

    async def body(t: EvalContext) -> None:
        (await t.send("Hi")).used_no_tools()

    attempt = await run(body, agent)
    assert (attempt.assertions[0].evaluation.outcome, attempt.status) == (outcome, status)
    if outcome == "unavailable":
        assert "looks like a tool call nobody parsed" in str(attempt.assertions[0].reason)


async def test_an_error_page_is_no_silence() -> None:
    async def agent(message: str) -> Reply:
        raise AgentUnavailable("the provider answered with an HTML page: 502 Bad Gateway")

    async def body(t: EvalContext) -> None:
        (await t.send("Hi")).used_no_tools()

    attempt = await run(body, agent)
    assert attempt.status == "errored"
    assert "502" in str(attempt.reason)


CLAIMS: list[Callable[[Any], Any]] = [
    lambda s: s.succeeded(),
    lambda s: s.called_tool(tool_match("lookup", server=None).exactly(1)),
    lambda s: s.called_tool(tool_match("refund", input=arg_of("A-2231")).every()),
    lambda s: s.called_tool(GROUNDED),
    lambda s: s.not_called_tool(tool_match("shell", input=command_match("rm"))),
    lambda s: s.tool_order("lookup", "refund"),
    lambda s: s.tool_order("lookup", "refund", finished=True),
    lambda s: s.tool_calls_unordered(["refund", "lookup"], only=True),
    lambda s: s.used_no_tools(),
    lambda s: s.max_tool_calls(2),
    lambda s: s.no_failed_actions(),
    lambda s: s.no_loops(similarity=0.9),
    lambda s: s.event(event_match("tool_call_started", tool=tool_match("lookup"))),
    lambda s: s.not_event(event_match("error")),
    lambda s: s.event_order(event_match("message", role="user"), event_match("message", role="assistant")),
    lambda s: s.max_tokens(10),
    lambda s: s.max_cost(0.1),
]


def arg_of(order: str) -> dict[str, Any]:
    return {"order_id": order}


async def test_every_claim_is_stored_as_data_and_comes_out_the_same_again(tmp_path: Path) -> None:
    async def body(t: EvalContext) -> None:
        for reply in range(3):
            turn = await t.send(f"Hi {reply}")
            for claim in CLAIMS:
                for scope in (turn, t.sessions[0], t):
                    claim(scope)

    replies = [calls(LOOKUP), calls(REFUND, LOOKUP, events=AT_ONCE), Reply("no calls reported")]
    attempt = await run(body, ScriptedAgent(replies), record=tmp_path)
    assert len(attempt.assertions) == 3 * 3 * len(CLAIMS)
    for entry in attempt.assertions:
        assert from_spec(entry.match).fingerprint == entry.fingerprint
    assert {entry.evaluation.outcome for entry in attempt.assertions} >= {"matched", "mismatched", "unavailable"}
    (header,) = tmp_path.rglob("run.json")
    verification = verify_run(header.parent)
    assert verification.differences == ()
    assert verification.reproduced == verification.entries == len(attempt.assertions)


@pytest.mark.parametrize("first", [True, False])
async def test_ten_thousand_calls_are_all_looked_at_and_the_result_stays_small(first: bool, tmp_path: Path) -> None:
    listing = ToolCall("ls", {"path": "/srv"}, "x" * 8_000, status="completed")
    drop = ToolCall("drop_table", {"name": "orders"}, "ok", status="completed")
    made = [drop, *[listing] * 10_000] if first else [*[listing] * 10_000, drop]
    took: list[float] = []

    async def body(t: EvalContext) -> None:
        turn = await t.send("Hi")
        begun = process_time()
        turn.not_called_tool("drop_table")
        turn.called_tool(tool_match("drop_table").exactly(1))
        turn.called_tool(tool_match("ls").exactly(1))
        composed = any_of(tool_match("drop_table"), tool_match("truncate"), tool_match("delete"))
        turn.called_tool(composed.exactly(1))
        turn.tool_calls_unordered(["drop_table", "ls", "ls"])
        turn.tool_order("drop_table", "ls", finished=True)
        turn.no_loops(similarity=0.9)
        took.append(process_time() - begun)

    attempt = await run(body, ScriptedAgent([Reply("y" * 8_000_000, tool_calls=made)]), record=tmp_path)
    outcomes = [entry.evaluation.outcome for entry in attempt.assertions]
    order = "unavailable" if first else "mismatched"
    assert outcomes == ["mismatched", "matched", "mismatched", "matched", "matched", order, "mismatched"]
    assert attempt.assertions[0].calls == (f"s0.t0.c{0 if first else 10_000}",)
    for entry in attempt.assertions:
        assert len(json.dumps(entry.evaluation.as_document())) < 64 * 1024
        assert len(entry.candidates) <= 8
    assert took[0] < 6
    (lines,) = tmp_path.rglob("attempts-*.jsonl")
    assert lines.stat().st_size < 3_000_000
