"""The scripted agent: fixed replies, in order per session or by message."""

from typing import Any

import pytest

from niceeval.agents import AgentContext, ScriptedAgent
from niceeval.errors import AgentUnavailable
from niceeval.transcript import Reply, ToolCall

pytestmark = pytest.mark.anyio


async def test_replies_come_in_order_and_start_over_in_each_session() -> None:
    full = Reply("b", tool_calls=[ToolCall("f")])
    agent = ScriptedAgent(["a", full])
    first, second = AgentContext(), AgentContext()
    assert (await agent.reply("1", first)).message == "a"
    assert (await agent.reply("1", second)).message == "a"
    assert await agent.reply("2", first) is full
    assert await agent.reply("2", second.for_turn()) is full


async def test_two_scripted_agents_in_one_session_do_not_meet() -> None:
    one, two, ctx = ScriptedAgent(["a", "b"]), ScriptedAgent(["x", "y"]), AgentContext()
    replies = [await agent.reply("hi", ctx) for agent in (one, two, one, two)]
    assert [reply.message for reply in replies] == ["a", "x", "b", "y"]


async def test_running_out_says_how_many_there_were() -> None:
    agent, ctx = ScriptedAgent(["a"]), AgentContext()
    await agent.reply("1", ctx)
    with pytest.raises(LookupError, match="has 1 reply and was sent message 2 of this session, 'and then"):
        await agent.reply("and then?", ctx)


async def test_an_exception_is_raised_in_its_place() -> None:
    error = AgentUnavailable("429")
    agent, ctx = ScriptedAgent([error, "b"]), AgentContext()
    with pytest.raises(AgentUnavailable, match="429") as caught:
        await agent.reply("1", ctx)
    assert (await agent.reply("2", ctx)).message == "b"
    # Attempts run at the same time: the scripted exception itself collects no traceback.
    assert caught.value is not error
    assert error.__traceback__ is None


async def test_an_exception_that_cannot_be_copied_is_raised_all_the_same() -> None:
    class Special(Exception):
        def __init__(self, code: int, *, detail: str) -> None:
            super().__init__(code, detail)

    with pytest.raises(Special):
        await ScriptedAgent([Special(1, detail="x")]).reply("1", AgentContext())


async def test_a_mapping_answers_by_message() -> None:
    agent, ctx = ScriptedAgent({"Where is it?": "On its way.", "Bye": ""}), AgentContext()
    assert (await agent.reply("Where is it?", ctx)).message == "On its way."
    assert (await agent.reply("Where is it?", ctx)).message == "On its way."
    assert (await agent.reply("Bye", ctx)).message == ""
    with pytest.raises(LookupError, match="no reply to 'Where is it': did you mean 'Where is it"):
        await agent.reply("Where is it", ctx)
    with pytest.raises(LookupError, match="no reply to 'xyz': it knows 2 messages"):
        await agent.reply("xyz", ctx)


@pytest.mark.parametrize(
    ("replies", "error", "words"),
    [
        ("hello", TypeError, r"got str: for one reply write ScriptedAgent\(\[reply\]\)"),
        (Reply("x"), TypeError, "got Reply: for one reply"),
        ([], ValueError, "got no reply"),
        ({}, ValueError, "got no reply"),
        (["a", 7], TypeError, "reply 1 is text, a Reply or an exception, got 7"),
        ([None], TypeError, "reply 0 is text"),
        ([ValueError], TypeError, r"write ValueError\(...\)"),
        ({1: "a"}, TypeError, "got the key 1"),
        ({"a": None}, TypeError, "reply 'a' is text"),
    ],
)
async def test_bad_replies_are_refused(replies: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        ScriptedAgent(replies)
