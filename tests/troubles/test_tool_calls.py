"""Tool calls as they come: none, unreadable, pending, repeated, thousands; what the record says of them."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from niceeval import (
    AgentContext,
    AgentUnavailable,
    AttemptResult,
    EvalContext,
    Reply,
    ScriptedAgent,
    ToolCall,
    reply_from_openai,
    transcript_from_openai,
)
from niceeval_expect import any_of, at, equals, event_match, includes, is_defined, json_match, tool_match

pytestmark = pytest.mark.anyio
Recorded = Callable[..., Awaitable[AttemptResult]]


def found(result: AttemptResult) -> dict[str, str]:
    return {item.requirement: item.evaluation.outcome for item in result.assertions}


# -- no calls, and what they vouch for


@pytest.mark.parametrize(
    ("calls", "coverage", "silence", "every"),
    [
        ([], None, "matched", "mismatched"),
        (None, None, "unavailable", "unavailable"),
        ([], {"tool_calls": "partial"}, "unavailable", "unavailable"),
    ],
)
async def test_silence_is_right_only_where_it_is_known(
    calls: Any, coverage: Any, silence: str, every: str, recorded: Recorded
) -> None:
    async def body(t: EvalContext) -> None:
        turn = await t.send("hello")
        turn.used_no_tools().key("none used")
        turn.not_called_tool("open").key("not called")
        turn.called_tool(tool_match("open", input=json_match({"path": is_defined()})).every()).key("every")

    result = await recorded(body, ScriptedAgent([Reply("hi", tool_calls=calls, coverage=coverage)]))
    assert found(result) == {"none used": silence, "not called": silence, "every": every}
    if every == "mismatched":
        assert "no calls to check" in result.failures[0].received


async def test_empty_arguments_are_no_arguments_and_none_asked_for_is_any(recorded: Recorded) -> None:
    async def body(t: EvalContext) -> None:
        turn = await t.send("open it")
        turn.called_tool("open").key("any")
        turn.called_tool(tool_match("open", input={})).key("none")
        turn.called_tool(tool_match("open", input=json_match({}))).key("at least none")

    result = await recorded(body, ScriptedAgent([Reply("", tool_calls=[ToolCall("open", {"path": "/etc"}, "")])]))
    assert found(result) == {"any": "matched", "none": "mismatched", "at least none": "matched"}
    assert "path" in result.failures[0].received


# -- arguments that cannot be read


def asked_for_weather(arguments: object) -> list[dict[str, Any]]:
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": arguments}}
    return [
        {"role": "user", "content": "Oslo?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "sunny"},
        {"role": "assistant", "content": "Sunny."},
    ]


UNREADABLE = (
    '{}""',
    '{"city": "Par',
    '"{\\"city\\":\\"Oslo\\"}"',
    '{"city":"Oslo","city":"Oslo"}',
    '{"city":"Oslo"}{"city":"Oslo"}',
    "{'city':'Oslo'}",
    '{"city":"Oslo",}',
    '{"city":NaN}',
    "undefined",
)


@pytest.mark.parametrize(
    ("arguments", "oslo", "nothing"),
    [
        *[(text, "unavailable", "unavailable") for text in UNREADABLE],
        ("", "mismatched", "matched"),
        ("{}", "mismatched", "matched"),
        ("null", "mismatched", "mismatched"),
        ('{"city":"Oslo"}', "matched", "mismatched"),
        ({"city": "Oslo"}, "matched", "mismatched"),
    ],
)
async def test_a_call_is_there_whatever_its_arguments(
    arguments: object, oslo: str, nothing: str, recorded: Recorded
) -> None:
    transcript = transcript_from_openai(asked_for_weather(arguments))

    async def body(t: EvalContext) -> None:
        session = t.observe(transcript)
        session.called_tool("weather").key("called")
        session.called_tool(tool_match("weather", input={"city": "Oslo"})).key("oslo")
        session.called_tool(tool_match("weather", input={})).key("nothing")
        session.not_called_tool(tool_match("weather", input=json_match({"city": "Rome"}))).key("not rome")
        session.called_tool(tool_match("weather", output=includes("sunny"))).key("sunny")

    result = await recorded(body)
    assert found(result) == {
        "called": "matched",
        "oslo": oslo,
        "nothing": nothing,
        "not rome": "unavailable" if oslo == "unavailable" else "matched",
        "sunny": "matched",
    }
    if arguments in UNREADABLE:
        assert transcript.turns[0].tool_calls is not None
        assert transcript.turns[0].tool_calls[0].raw_input == arguments


# -- pending, denied, tried again


async def test_what_waits_for_approval_has_not_run(recorded: Recorded) -> None:
    delete = tool_match("delete_user", input={"id": 7})

    async def body(t: EvalContext) -> None:
        asks = await t.send("delete user 7")
        asks.not_called_tool(tool_match("delete_user", status="completed")).key("not run")
        asks.called_tool(tool_match("delete_user", status="pending") & delete).key("pending")
        asks.called_tool(tool_match("delete_user", output="done")).key("output")
        asks.not_called_tool(tool_match("delete_user", output="done")).key("no output")
        asks.not_event(event_match("tool_call_finished")).key("not finished")
        denied = await t.send("no")
        denied.called_tool(tool_match("delete_user", status="rejected")).key("denied")
        t.not_called_tool(tool_match("delete_user", status="completed")).key("never run")

    agent = ScriptedAgent(
        [
            Reply("May I?", tool_calls=[ToolCall("delete_user", {"id": 7})], status="waiting"),
            Reply("Left alone.", tool_calls=[ToolCall("delete_user", {"id": 7}, status="rejected")]),
        ]
    )
    assert found(await recorded(body, agent)) == {
        "not run": "matched",
        "pending": "matched",
        "output": "unavailable",
        "no output": "unavailable",
        "not finished": "matched",
        "denied": "matched",
        "never run": "matched",
    }


@pytest.mark.parametrize(
    ("first", "second", "order", "backwards", "clean"),
    [
        ("failed", "completed", "matched", "mismatched", "mismatched"),
        ("completed", "failed", "mismatched", "matched", "mismatched"),
        ("completed", "completed", "mismatched", "mismatched", "matched"),
        (None, None, "unavailable", "unavailable", "unavailable"),
    ],
)
async def test_failed_and_then_done_can_be_asked(
    first: Any, second: Any, order: str, backwards: str, clean: str, recorded: Recorded
) -> None:
    failed, done = tool_match("pay", status="failed"), tool_match("pay", status="completed")

    async def body(t: EvalContext) -> None:
        turn = await t.send("pay")
        turn.tool_order(failed, done).key("failed, then done")
        turn.tool_order(done, failed).key("done, then failed")
        turn.no_failed_actions().key("clean")
        turn.called_tool(tool_match("pay").exactly(2)).key("twice")

    calls = [ToolCall("pay", {}, "e", status=first), ToolCall("pay", {}, "ok", status=second)]
    assert found(await recorded(body, ScriptedAgent([Reply("", tool_calls=calls)]))) == {
        "failed, then done": order,
        "done, then failed": backwards,
        "clean": clean,
        "twice": "matched",
    }


# -- ids used again


def call(id: str, name: str, path: str) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps({"path": path})}
    return {"role": "assistant", "tool_calls": [{"id": id, "type": "function", "function": function}]}


def result_of(id: str, content: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": content}


@pytest.mark.parametrize("turns", [1, 2])
async def test_an_id_used_again_is_another_call(turns: int, recorded: Recorded) -> None:
    again: list[dict[str, Any]] = [{"role": "assistant", "content": "Read."}, {"role": "user", "content": "Write it."}]
    messages = [
        {"role": "user", "content": "Read it."},
        call("c1", "read_file", "a"),
        result_of("c1", "A"),
        *(again if turns == 2 else []),
        call("c1", "write_file", "b"),
        result_of("c1", "B"),
        {"role": "assistant", "content": "Written."},
    ]

    async def body(t: EvalContext) -> None:
        session = t.observe(transcript_from_openai(messages))
        session.called_tool(tool_match("read_file", input={"path": "a"}, output="A").exactly(1)).key("read")
        session.called_tool(tool_match("write_file", input={"path": "b"}, output="B").exactly(1)).key("written")
        session.called_tool(any_of(tool_match("read_file"), tool_match("write_file")).exactly(2)).key("two calls")
        session.turns[-1].called_tool("write_file").key("last turn writes")
        if turns == 2:
            session.turns[0].not_called_tool("write_file").key("first turn does not write")
            session.turns[1].not_called_tool("read_file").key("last turn does not read")

    result = await recorded(body)
    assert set(found(result).values()) == {"matched"}
    assert len(result.assertions) == 4 + 2 * (turns - 1)


# -- calls that nobody could read


async def html_page(_: str) -> Reply:
    raise AgentUnavailable("the provider answered with an HTML page")


async def broken_body(_: str) -> Reply:
    raise ValueError("not a completion")


@pytest.mark.parametrize(
    ("agent", "verdict", "outcome", "reason"),
    [
        ('<tool_call name="refund" args={"id":1}', "errored", "unavailable", "looks like a tool call nobody parsed"),
        ('{"name": "refund", "arguments": {"id": 1}}', "errored", "unavailable", "nobody parsed"),
        ("abc", "passed", "matched", None),
        (html_page, "errored", None, "HTML page"),
        (broken_body, "failed", None, "not a completion"),
    ],
)
async def test_no_call_and_a_call_that_could_not_be_read_are_told_apart(
    agent: Any, verdict: str, outcome: str | None, reason: str | None, recorded: Recorded
) -> None:
    async def body(t: EvalContext) -> None:
        turn = await t.send("I want my money back.")
        turn.used_no_tools().key("no calls")

    async def says(message: str) -> Reply:
        return reply_from_openai([{"role": "assistant", "content": agent}])

    result = await recorded(body, says if isinstance(agent, str) else agent)
    assert (result.verdict, found(result).get("no calls")) == (verdict, outcome)
    assert reason is None or reason in (result.reason or "")


# -- ten thousand of them


@pytest.mark.parametrize("place", ["first", "last"])
async def test_one_call_among_ten_thousand_decides_and_is_kept(place: str, recorded: Recorded, tmp_path: Path) -> None:
    many = [ToolCall("ls", {"n": number}, "x" * 800) for number in range(10_000)]
    drop = [ToolCall("drop_table", {"name": "users"}, "gone")]
    reference = "s0.t0.c0" if place == "first" else "s0.t0.c10000"

    async def body(t: EvalContext) -> None:
        turn = await t.send("tidy up")
        turn.not_called_tool("drop_table").key("not dropped")
        turn.called_tool(tool_match("drop_table").exactly(1)).key("once")
        turn.not_called_tool(tool_match("rm") | tool_match("drop_table") | tool_match("truncate")).key("none of three")
        turn.called_tool(tool_match("ls").exactly(10_000)).key("all")
        turn.called_tool(tool_match("ls", output=equals("x" * 800)).every()).key("every")
        turn.not_called_tool(tool_match("ls", input=at("n", 9_999))).key("not the last")

    reply = Reply("y" * 8_000_000, tool_calls=drop + many if place == "first" else many + drop)
    result = await recorded(body, ScriptedAgent([reply]))
    assert found(result) == {
        "not dropped": "mismatched",
        "once": "matched",
        "none of three": "mismatched",
        "all": "matched",
        "every": "matched",
        "not the last": "mismatched",
    }
    dropped = result.assertions[0]
    assert (dropped.calls, dropped.evaluation.examined) == ((reference,), 10_001)
    assert '{"name": "drop_table", "input": {"name": "users"}}' in dropped.received
    (lines,) = tmp_path.rglob("attempts-*.jsonl")
    assert lines.stat().st_size < 64 * 1024
    for entry in result.assertions:
        assert len(entry.candidates) <= 8
        assert len(entry.evaluation.diagnostic.children) <= 8


# -- cut off by time


async def emits_and_waits(message: str, ctx: AgentContext) -> str:
    ctx.emit(ToolCall("find_user", {"id": 7}, "found"), ToolCall("delete_user", {"id": 7}))
    await anyio.sleep_forever()
    return "late"


async def test_what_was_done_before_the_time_was_up_is_in_the_record(tmp_path: Path, recorded: Recorded) -> None:
    async def body(t: EvalContext) -> None:
        t.check("a", equals("a"))
        await t.send("delete user 7")

    result = await recorded(body, emits_and_waits, timeout=0.05)
    assert (result.verdict, len(result.assertions)) == ("errored", 1)
    assert "timed out" in (result.reason or "")
    (lines,) = tmp_path.rglob("attempts-*.jsonl")
    (line,) = lines.read_text().splitlines()
    (turn,) = json.loads(line)["sessions"][0]["turns"]
    assert [one["name"] for one in turn["calls"]] == ["find_user", "delete_user"]
    assert "late" not in line
