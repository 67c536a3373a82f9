"""What a failed check of a scope says: what was wanted, and what the nearest thing in scope was instead."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from niceeval import AttemptResult, EvalContext, Reply, ScriptedAgent, ToolCall, Turn
from niceeval_expect import event_match, includes, json_match, tool_match

pytestmark = pytest.mark.anyio
Recorded = Callable[..., Awaitable[AttemptResult]]

REPLY = Reply(
    "Fixed.",
    tool_calls=[
        ToolCall("shell", {"command": "make"}, "ok"),
        ToolCall("ls", {}, "", status="failed"),
        ToolCall("ls", {}, "", status="failed"),
    ],
)


@pytest.mark.parametrize(
    ("claim", "expected", "received"),
    [
        (
            lambda turn: turn.called_tool(tool_match("shell", input=json_match({"command": "make test"}))),
            "tool_match('shell', input=json_match({'command': 'make test'}))",
            "no calls like that, at least 1 wanted; shell was called once, but not like that: "
            "$['s0.t0.c0'].input.command expected 'make test', got 'make'",
        ),
        (
            lambda turn: turn.called_tool(tool_match("shell", input=json_match({"cwd": "/"}))),
            "tool_match('shell', input=json_match({'cwd': '/'}))",
            "no calls like that, at least 1 wanted; shell was called once, but not like that: "
            "$['s0.t0.c0'].input.cwd is missing; the object has 'command'",
        ),
        (
            lambda turn: turn.called_tool("rm"),
            "tool_match('rm')",
            "no calls like that, at least 1 wanted; rm was not called; called were ls (twice), shell (once)",
        ),
        (
            lambda turn: turn.called_tool(tool_match("shell", output="no").every()),
            "tool_match('shell', output='no')",
            "1 of 1 call of shell not like that: $['s0.t0.c0'].output expected 'no', got 'ok'",
        ),
        (
            lambda turn: turn.not_called_tool("shell"),
            "no tool_match('shell')",
            '1 call like that, none wanted: {"name": "shell", "input": {"command": "make"}}',
        ),
        (
            lambda turn: turn.tool_order("ls", "shell"),
            "tool_match('ls'), then tool_match('shell')",
            "tool_match('shell') was not called after tool_match('ls') at s0.t0.c1",
        ),
        (
            lambda turn: turn.not_event(event_match("message", role="assistant", text=includes("Fixed"))),
            'not_event(event_match("message", role="assistant", text=includes("Fixed")))',
            '{"kind": "message", "role": "assistant", "text": "Fixed."}',
        ),
    ],
)
async def test_it_is_understood_without_opening_anything_else(
    claim: Callable[[Turn[Any]], object], expected: str, received: str, recorded: Recorded
) -> None:
    async def body(t: EvalContext) -> None:
        claim(await t.send("fix it"))

    (failure,) = (await recorded(body, ScriptedAgent([REPLY]))).failures
    assert (failure.expected, failure.received) == (expected, received)
