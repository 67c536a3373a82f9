"""Scoped checks over literal conversations: what a turn, a session and the whole attempt see, and when."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from niceeval import (
    AgentContext,
    AssertionResult,
    AttemptResult,
    EvalContext,
    Event,
    InputRequested,
    Message,
    Reply,
    ScriptedAgent,
    SkillLoaded,
    Thinking,
    ToolCall,
    ToolCallFinished,
    ToolCallStarted,
    Usage,
    attempt,
    define_eval,
    run_eval,
    transcript_from_openai,
)
from niceeval_expect import event_match, includes, one_of, pattern, satisfies, tool_match

pytestmark = pytest.mark.anyio
Body = Callable[[EvalContext], Awaitable[None]]

LOOKUP = ToolCall("lookup_order", {"id": "ORD-448192"}, {"status": "shipped"}, status="completed")
MAIL = ToolCall("send_mail", {"to": "ada@example.org"}, "sent", status="completed")
FAILED = ToolCall("lookup_order", {"id": "ORD-0"}, "no such order", status="failed")
USED = Usage(input_tokens=900, output_tokens=100, cost_usd=0.1)


async def run(body: Body, *replies: Any) -> AttemptResult:
    async def test(t: EvalContext) -> None:
        await body(t)

    (only,) = (await run_eval(define_eval(test), agent=ScriptedAgent(replies))).attempts
    return only


async def outcome_of(claim: Callable[[Any], Any], scope: str, *replies: Any) -> AssertionResult:
    """Send one message per reply, make the claim over the scope, and return its result."""
    results: list[AssertionResult] = []

    async def body(t: EvalContext) -> None:
        for _ in replies:
            turn = await t.send("hello")
        where: dict[str, Any] = {"turn": turn, "session": t.sessions[0], "t": t}
        results.append(await claim(where[scope]))

    await run(body, *replies)
    return results[0]


CLAIMS: list[tuple[str, Callable[[Any], Any], Reply, Reply]] = [
    ("succeeded", lambda s: s.succeeded(), Reply("ok"), Reply("no", status="failed")),
    ("called_tool", lambda s: s.called_tool("lookup_order"), Reply(tool_calls=[LOOKUP]), Reply(tool_calls=[MAIL])),
    ("not_called_tool", lambda s: s.not_called_tool("send_mail"), Reply(tool_calls=[LOOKUP]), Reply(tool_calls=[MAIL])),
    (
        "tool_order",
        lambda s: s.tool_order("lookup_order", "send_mail"),
        Reply(tool_calls=[LOOKUP, MAIL]),
        Reply(tool_calls=[MAIL, LOOKUP]),
    ),
    ("used_no_tools", lambda s: s.used_no_tools(), Reply(tool_calls=[]), Reply(tool_calls=[MAIL])),
    ("max_tool_calls", lambda s: s.max_tool_calls(1), Reply(tool_calls=[MAIL]), Reply(tool_calls=[MAIL, LOOKUP])),
    ("no_failed_actions", lambda s: s.no_failed_actions(), Reply(tool_calls=[MAIL]), Reply(tool_calls=[FAILED])),
    ("no_loops", lambda s: s.no_loops(), Reply(tool_calls=[MAIL] * 2), Reply(tool_calls=[MAIL] * 3)),
    (
        "event",
        lambda s: s.event(event_match("message", role="assistant", text=includes("ok"))),
        Reply("ok"),
        Reply("no"),
    ),
    ("not_event", lambda s: s.not_event(event_match("message", text=includes("no"))), Reply("ok"), Reply("no")),
    (
        "event_order",
        lambda s: s.event_order(event_match("tool_call_started"), event_match("message", role="assistant")),
        Reply("ok", tool_calls=[MAIL]),
        Reply("ok", tool_calls=[]),
    ),
    (
        "max_tokens",
        lambda s: s.max_tokens(1000),
        Reply(usage=USED),
        Reply(usage=Usage(input_tokens=1001, output_tokens=0)),
    ),
    ("max_cost", lambda s: s.max_cost(0.1), Reply(usage=USED), Reply(usage=Usage(cost_usd=0.11))),
]


@pytest.mark.parametrize("scope", ["turn", "session", "t"])
@pytest.mark.parametrize(("name", "claim", "good", "bad"), CLAIMS, ids=[claim[0] for claim in CLAIMS])
async def test_every_claim_holds_and_fails_on_every_scope(
    scope: str, name: str, claim: Callable[[Any], Any], good: Reply, bad: Reply
) -> None:
    held = await outcome_of(claim, scope, good)
    broken = await outcome_of(claim, scope, bad)
    assert (held.evaluation.outcome, broken.evaluation.outcome) == ("matched", "mismatched")
    assert (held.decision, broken.decision) == ("met", "unmet")
    assert held.scope == broken.scope == {"turn": "turn", "session": "session", "t": "attempt"}[scope]
    assert held.match["match"] == name
    assert broken.evaluation.diagnostic.message
    assert held.source.file == "tests/test_scopes.py"


@pytest.mark.parametrize(
    ("claim", "reply", "outcome"),
    [
        (lambda s: s.called_tool("lookup_order"), Reply("no word of calls"), "unavailable"),
        (lambda s: s.not_called_tool("lookup_order"), Reply("no word of calls"), "unavailable"),
        (lambda s: s.used_no_tools(), Reply("no word of calls"), "unavailable"),
        (lambda s: s.max_tool_calls(3), Reply("no word of calls"), "unavailable"),
        (lambda s: s.no_failed_actions(), Reply("no word of calls"), "unavailable"),
        (lambda s: s.no_loops(), Reply("no word of calls"), "unavailable"),
        (lambda s: s.tool_order("a", "b"), Reply("no word of calls"), "unavailable"),
        (lambda s: s.event(event_match("tool_call_started")), Reply("no word of calls"), "unavailable"),
        (lambda s: s.not_event(event_match("tool_call_started")), Reply("no word of calls"), "unavailable"),
        (lambda s: s.not_event(event_match("thinking")), Reply("no thoughts reported"), "unavailable"),
        (lambda s: s.max_tokens(10), Reply("no usage"), "unavailable"),
        (lambda s: s.max_cost(10), Reply("no cost", usage=Usage(input_tokens=1, output_tokens=1)), "unavailable"),
        # What is known may be enough in one direction, and never in the other.
        (lambda s: s.called_tool("send_mail"), Reply(tool_calls=[MAIL], coverage={"tool_calls": "partial"}), "matched"),
        (lambda s: s.called_tool("other"), Reply(tool_calls=[MAIL], coverage={"tool_calls": "partial"}), "unavailable"),
        (
            lambda s: s.called_tool(tool_match("send_mail").exactly(1)),
            Reply(tool_calls=[MAIL], coverage={"tool_calls": "partial"}),
            "unavailable",
        ),
        (
            lambda s: s.called_tool(tool_match("send_mail").at_most(1)),
            Reply(tool_calls=[MAIL, MAIL], coverage={"tool_calls": "partial"}),
            "mismatched",
        ),
        (
            lambda s: s.not_called_tool("send_mail"),
            Reply(tool_calls=[MAIL], coverage={"tool_calls": "partial"}),
            "mismatched",
        ),
        (lambda s: s.used_no_tools(), Reply(tool_calls=[MAIL], coverage={"tool_calls": "partial"}), "mismatched"),
        (lambda s: s.max_tokens(10), Reply(usage=Usage(input_tokens=11)), "mismatched"),
        (lambda s: s.max_tokens(10), Reply(usage=Usage(input_tokens=9)), "unavailable"),
        (lambda s: s.max_tokens(0), Reply(usage=Usage(input_tokens=0, output_tokens=0)), "matched"),
    ],
)
async def test_unreported_and_partial_channels(claim: Callable[[Any], Any], reply: Reply, outcome: str) -> None:
    result = await outcome_of(claim, "turn", reply)
    assert result.evaluation.outcome == outcome
    if outcome == "unavailable":
        assert result.reason
        assert result.decision == "undecided"


async def test_coverage_and_calls_looked_at_are_stored() -> None:
    async def body(t: EvalContext) -> None:
        turn = await t.send("one")
        turn.called_tool(tool_match("lookup_order", input={"id": "ORD-448192"}).exactly(1)).key("exact")
        turn.called_tool(tool_match("lookup_order", input={"id": "ORD-9"})).key("other")
        await t.send("two")
        t.not_called_tool("refund").key("whole")

    calls = [LOOKUP, FAILED, MAIL]
    result = await run(body, Reply(tool_calls=calls), Reply("nothing said of calls"))
    exact, other, whole = result.assertions
    assert (exact.calls, exact.coverage) == (("s0.t0.c0",), "complete")
    assert (other.calls, set(other.candidates)) == ((), {"s0.t0.c0", "s0.t0.c1", "s0.t0.c2"})
    assert (whole.coverage, whole.evaluation.outcome) == ("partial", "unavailable")
    assert "turn 2 of 2" in (whole.reason or "")
    assert exact.subject.type == "cut"
    assert exact.subject.value() == {"sessions": [{"session": 0, "turns": [0]}]}
    assert whole.subject.value() == {"sessions": [{"session": 0, "turns": [0, 1]}]}


async def test_what_happens_later_changes_no_registered_entry() -> None:
    async def body(t: EvalContext) -> None:
        session = t.new_session()
        await session.send("one")
        before = session.used_no_tools().key("before")
        count = t.max_tool_calls(1).key("count")
        await session.send("two")
        await session.send("three")
        assert (await before).evaluation.outcome == "matched"
        assert (await count).evaluation.outcome == "matched"
        session.used_no_tools().key("after")

    result = await run(body, Reply(tool_calls=[]), Reply(tool_calls=[MAIL]), Reply(tool_calls=[MAIL]))
    assert {item.requirement: item.decision for item in result.assertions} == {
        "before": "met",
        "count": "met",
        "after": "unmet",
    }
    assert [item.subject.value()["sessions"][0]["turns"] for item in result.assertions] == [[0], [0], [0, 1, 2]]


async def test_a_turn_in_flight_is_outside_every_cut() -> None:
    entered, release = anyio.Event(), anyio.Event()

    async def agent(message: str) -> Reply:
        if message == "slow":
            entered.set()
            await release.wait()
        return Reply(message, tool_calls=[MAIL])

    async def body(t: EvalContext) -> None:
        session = t.new_session()
        await session.send("quick")
        async with anyio.create_task_group() as group:
            group.start_soon(session.send, "slow")
            await entered.wait()
            session.called_tool(tool_match("send_mail").exactly(1)).key("session")
            t.called_tool(tool_match("send_mail").exactly(1)).key("root")
            session.succeeded().key("succeeded")
            assert [turn.message for turn in session.turns] == ["quick"]
            release.set()
        assert [turn.message for turn in session.turns] == ["quick", "slow"]
        t.called_tool(tool_match("send_mail").exactly(2)).key("later")

    async def test(t: EvalContext) -> None:
        await body(t)

    (result,) = (await run_eval(define_eval(test), agent=agent)).attempts
    assert (result.status, result.reason) == ("passed", None)


async def test_the_root_sees_every_session_and_keeps_them_apart() -> None:
    def agent(message: str, ctx: AgentContext) -> Reply:
        ctx.session["turns"] = ctx.session.get("turns", 0) + 1
        return Reply(f"{message} {ctx.session['turns']}", tool_calls=[ToolCall(message, {}, "ok")])

    async def body(t: EvalContext) -> None:
        first, second = t.new_session(), t.new_session()
        await second.send("b")
        await first.send("a")
        await second.send("c")
        own = await t.send("d")
        empty = t.new_session()
        assert own.message == "d 1"
        assert [call.name for call in t.tool_calls] == ["a", "b", "c", "d"]
        assert [call.name for call in second.tool_calls] == ["b", "c"]
        t.max_tool_calls(4).key("counts add up")
        t.max_tool_calls(3).key("counts add up to more")
        second.tool_order("b", "c").key("in order within the session")
        t.tool_order("b", "c").key("in order within one session")
        t.tool_order("a", "b").key("no order across sessions")
        t.event_order(event_match("message", text=includes("a")), event_match("message", text=includes("c"))).key(
            "no event order across sessions"
        )
        t.succeeded().key("an empty session has not failed")
        empty.succeeded().key("but has not succeeded")

    async def test(t: EvalContext) -> None:
        await body(t)

    (result,) = (await run_eval(define_eval(test), agent=agent)).attempts
    assert {item.requirement: item.decision for item in result.assertions} == {
        "counts add up": "met",
        "counts add up to more": "unmet",
        "in order within the session": "met",
        "in order within one session": "met",
        "no order across sessions": "unmet",
        "no event order across sessions": "unmet",
        "an empty session has not failed": "met",
        "but has not succeeded": "unmet",
    }
    assert result.assertions[3].calls == ("s1.t0.c0", "s1.t1.c0")


async def test_or_stop_returns_the_matching_calls_in_order() -> None:
    async def body(t: EvalContext) -> None:
        await t.send("one")
        await t.send("two")
        calls = await t.called_tool(tool_match("lookup_order", status="completed").exactly(2)).or_stop()
        assert [call.output for call in calls] == ["A", "B"]
        root: Any = t
        assert await root.not_called_tool("refund").or_stop() is None
        assert await t.called_tool(tool_match("refund").every(if_any=True)).or_stop() == ()

    result = await run(
        body,
        Reply(tool_calls=[ToolCall("lookup_order", {}, "A", status="completed"), MAIL]),
        Reply(tool_calls=[ToolCall("lookup_order", {}, "B", status="completed"), FAILED]),
    )
    assert (result.status, result.reason) == ("passed", None)


@pytest.mark.parametrize(
    ("replies", "outcome"),
    [
        ([Reply("Which order?", status="waiting"), Reply("Thanks.")], "matched"),
        ([Reply("Hello."), Reply("Which order?", status="waiting")], "mismatched"),
        ([Reply("Which order?", status="waiting"), Reply("broke", status="failed")], "mismatched"),
        ([Reply("error: I am sorry, that failed")], "matched"),
        ([Reply("tool trouble", tool_calls=[FAILED])], "matched"),
        ([Reply("fine"), Reply("status unknown", status=None)], "unavailable"),
        ([Reply("broke", status="failed"), Reply("status unknown", status=None)], "mismatched"),
        ([Reply("")], "matched"),
    ],
)
async def test_succeeding_is_about_status_and_not_about_words(replies: list[Reply], outcome: str) -> None:
    for scope in ("session", "t"):
        assert (await outcome_of(lambda s: s.succeeded(), scope, *replies)).evaluation.outcome == outcome


async def test_a_waiting_turn_of_another_session_is_not_answered() -> None:
    async def body(t: EvalContext) -> None:
        first, second = t.new_session(), t.new_session()
        await first.send("a")
        await second.send("b")
        t.succeeded()
        second.succeeded()

    def agent(message: str) -> Reply:
        return Reply(message, status="waiting" if message == "a" else "completed")

    async def test(t: EvalContext) -> None:
        await body(t)

    (result,) = (await run_eval(define_eval(test), agent=agent)).attempts
    assert [item.decision for item in result.assertions] == ["unmet", "met"]


async def test_a_failed_action_of_a_completed_turn() -> None:
    async def body(t: EvalContext) -> None:
        turn = await t.send("hi")
        turn.succeeded().key("succeeded")
        turn.no_failed_actions().key("clean")

    result = await run(body, Reply("It works now.", tool_calls=[FAILED, LOOKUP]))
    assert {item.requirement: item.decision for item in result.assertions} == {"succeeded": "met", "clean": "unmet"}
    assert result.assertions[1].calls == ("s0.t0.c0",)


async def test_no_turn_at_all() -> None:
    async def body(t: EvalContext) -> None:
        t.succeeded().key("succeeded")
        t.used_no_tools().key("no tools")
        t.called_tool("lookup_order").key("called")
        t.max_tokens(1).key("tokens")
        t.no_loops().key("loops")

    result = await run(body, "never sent")
    assert {item.requirement: item.evaluation.outcome for item in result.assertions} == {
        "succeeded": "mismatched",
        "no tools": "matched",
        "called": "mismatched",
        "tokens": "matched",
        "loops": "matched",
    }
    assert result.assertions[1].evaluation.examined == 0


@pytest.mark.parametrize(
    ("calls", "limit", "outcome"),
    [
        ([{"q": 1}] * 2, 2, "matched"),
        ([{"q": 1}] * 3, 2, "mismatched"),
        ([{"q": 1}] * 3, 3, "matched"),
        ([{"q": 1}, {"q": True}, {"q": "1"}], 1, "matched"),
        ([{"q": 89}, {"q": 89.0}], 1, "mismatched"),
        ([{"a": 1, "b": 2}, {"b": 2, "a": 1}], 1, "mismatched"),
        ([{"q": 1}, {"q": 2}] * 2, 2, "matched"),
    ],
)
async def test_loops_of_calls(calls: list[dict[str, Any]], limit: int, outcome: str) -> None:
    reply = Reply("x", tool_calls=[ToolCall("search", arguments, "found") for arguments in calls])
    result = await outcome_of(lambda s: s.no_loops(max_repeats=limit), "turn", reply)
    assert result.evaluation.outcome == outcome


async def test_loops_reach_over_turns_and_over_texts() -> None:
    async def body(t: EvalContext) -> None:
        for _ in range(3):
            turn = await t.send("again")
        turn.no_loops().key("turn")
        t.no_loops().key("root")

    said = Reply("I cannot help with that.", tool_calls=[])
    result = await run(body, said, said, said)
    assert {item.requirement: item.decision for item in result.assertions} == {"turn": "met", "root": "unmet"}
    again = await run(body, *[Reply("", tool_calls=[])] * 3)
    assert [item.decision for item in again.assertions] == ["met", "met"]


async def test_budgets_are_exact_and_name_the_turn_that_said_nothing() -> None:
    async def body(t: EvalContext) -> None:
        await t.send("one")
        await t.send("two")
        t.max_cost(0.3).key("cost")
        t.max_tokens(2000).key("tokens")
        await t.send("three")
        t.max_cost(0.3).key("unknown")

    result = await run(
        body,
        Reply("a", usage=Usage(input_tokens=900, output_tokens=100, cost_usd=0.1)),
        Reply("b", usage=Usage(input_tokens=900, output_tokens=100, cost_usd=0.2)),
        Reply("c"),
    )
    assert [item.evaluation.outcome for item in result.assertions] == ["matched", "matched", "unavailable"]
    assert "turn 3 of 3" in (result.assertions[2].reason or "")
    assert result.status == "errored"


async def test_reported_events_are_seen_in_their_order() -> None:
    events: list[Event] = [
        Thinking("Which tool?"),
        SkillLoaded("orders"),
        ToolCallStarted(LOOKUP),
        ToolCallFinished(LOOKUP),
        Message("assistant", "Shall I?"),
        InputRequested("Shall I?"),
    ]

    async def body(t: EvalContext) -> None:
        turn = await t.send("hi")
        turn.event(event_match("skill_loaded", text=includes("orders"))).key("skill")
        turn.event(event_match("tool_call_finished", tool=tool_match("lookup_order"))).key("tool")
        turn.event(event_match("message", role="user", text=includes("hi"))).key("user")
        turn.not_event(event_match("error")).key("no error")
        turn.event_order(event_match("thinking"), event_match("tool_call_started"), event_match("input_requested")).key(
            "order"
        )
        turn.event_order(event_match("tool_call_finished"), event_match("tool_call_started")).key("wrong order")
        turn.not_event(event_match("thinking")).key("no thoughts")

    result = await run(body, Reply("Shall I?", events=events, tool_calls=[LOOKUP], status="waiting"))
    assert {item.requirement: item.decision for item in result.assertions} == {
        "skill": "met",
        "tool": "met",
        "user": "met",
        "no error": "met",
        "order": "met",
        "wrong order": "unmet",
        "no thoughts": "unmet",
    }


async def test_call_ids_that_are_used_again_in_a_later_turn() -> None:
    first = ToolCall("read_file", {"path": "a"}, "A", id="c1")
    second = ToolCall("write_file", {"path": "b"}, "B", id="c1")

    async def body(t: EvalContext) -> None:
        await t.send("one")
        turn = await t.send("two")
        t.called_tool(tool_match("read_file", input={"path": "a"}, output="A")).key("pair")
        t.max_tool_calls(2).key("two")
        t.called_tool(tool_match("write_file", output="A").every()).key("mixed up")
        turn.not_called_tool("read_file").key("own calls only")

    result = await run(body, Reply(tool_calls=[first]), Reply(tool_calls=[second]))
    assert {item.requirement: item.decision for item in result.assertions} == {
        "pair": "met",
        "two": "met",
        "mixed up": "unmet",
        "own calls only": "met",
    }


async def test_call_ids_that_are_used_again_within_a_turn() -> None:
    def called(path: str) -> dict[str, Any]:
        function = {"name": "read_file", "arguments": f'{{"path": "{path}"}}'}
        return {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        }

    def result_of(text: str) -> dict[str, Any]:
        return {"role": "tool", "tool_call_id": "c1", "content": text}

    messages = [
        {"role": "user", "content": "read both"},
        called("a"),
        result_of("A"),
        called("b"),
        result_of("B"),
        {"role": "assistant", "content": "done"},
    ]
    async with attempt() as t:
        session = t.observe(transcript_from_openai(messages))
        session.called_tool(tool_match("read_file", input={"path": "a"}, output="A").exactly(1))
        session.called_tool(tool_match("read_file", input={"path": "b"}, output="B").exactly(1))
        session.called_tool(tool_match("read_file").exactly(2))
        session.succeeded()
    assert [item.evaluation.outcome for item in t.result.assertions] == ["matched"] * 3 + ["unavailable"]


async def test_a_call_that_waits_for_approval_and_is_denied() -> None:
    pending = ToolCall("delete_user", {"id": 7})
    denied = ToolCall("delete_user", {"id": 7}, status="rejected")

    async def body(t: EvalContext) -> None:
        turn = await t.send("delete user 7")
        turn.not_called_tool(tool_match("delete_user", status="completed")).key("not before approval")
        turn.called_tool(tool_match("delete_user", status="pending")).key("asked")
        turn.called_tool(tool_match("delete_user", output=includes("deleted"))).key("output")
        turn.not_called_tool(tool_match("delete_user", output=includes("deleted"))).key("no output")
        turn.no_failed_actions().key("no failure")
        turn = await t.send("no")
        turn.called_tool(tool_match("delete_user", status="rejected")).key("denied")
        turn.no_failed_actions().key("clean")

    result = await run(
        body, Reply("May I?", tool_calls=[pending], status="waiting"), Reply("I did not.", tool_calls=[denied])
    )
    assert {item.requirement: item.evaluation.outcome for item in result.assertions} == {
        "not before approval": "matched",
        "asked": "matched",
        "output": "unavailable",
        "no output": "unavailable",
        "no failure": "matched",
        "denied": "matched",
        "clean": "mismatched",
    }


async def test_failed_and_then_done_is_an_order() -> None:
    steps = (tool_match("lookup_order", status="failed"), tool_match("lookup_order", status="completed"))
    good = await outcome_of(lambda s: s.tool_order(*steps), "turn", Reply(tool_calls=[FAILED, LOOKUP]))
    bad = await outcome_of(lambda s: s.tool_order(*steps), "turn", Reply(tool_calls=[LOOKUP, FAILED]))
    assert (good.evaluation.outcome, bad.evaluation.outcome) == ("matched", "mismatched")


async def test_predicates_inside_a_scoped_claim() -> None:
    async def slow(value: Any) -> bool:
        await anyio.lowlevel.checkpoint()
        return bool(value == {"id": "ORD-448192"})

    def broken(value: Any) -> bool:
        raise KeyError("id")

    async def body(t: EvalContext) -> None:
        turn = await t.send("hi")
        turn.called_tool(tool_match("lookup_order", input=satisfies("async", slow)).exactly(1)).key("async")
        calls = await turn.called_tool(tool_match("lookup_order", input=satisfies("async", slow))).or_stop()
        assert len(calls) == 1
        turn.called_tool(tool_match("lookup_order", input=satisfies("broken", broken))).key("broken")

    result = await run(body, Reply(tool_calls=[LOOKUP, FAILED]))
    assert [item.evaluation.outcome for item in result.assertions] == ["matched", "matched", "errored"]


@pytest.mark.parametrize(
    "claim",
    [
        lambda t: t.called_tool(includes("x")),
        lambda t: t.called_tool(3),
        lambda t: t.called_tool(""),
        lambda t: t.not_called_tool(tool_match("x").exactly(1)),
        lambda t: t.tool_order("a", event_match("message")),
        lambda t: t.max_tool_calls(-1),
        lambda t: t.max_tool_calls(True),
        lambda t: t.max_tokens("many"),
        lambda t: t.max_cost(float("nan")),
        lambda t: t.max_cost(-1),
        lambda t: t.no_loops(max_repeats=0),
        lambda t: t.event(tool_match("x")),
        lambda t: t.event_order(event_match("error"), pattern("x")),
    ],
)
async def test_wrong_arguments_are_refused_and_remembered(claim: Callable[[Any], Any]) -> None:
    async def body(t: EvalContext) -> None:
        t.check("a", one_of(["a"]))
        with pytest.raises((TypeError, ValueError)) as caught:
            claim(t)
        assert str(caught.value)

    result = await run(body, "x")
    assert (result.status, result.error) == ("errored", None)
    assert "tests/test_scopes.py:" in (result.reason or "")
