"""What the tests of wrapped frameworks share: a model at the far end, which speaks chat completions, and talks."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, final

import anyio
import attrs
import pytest
from openai import AsyncOpenAI

from niceeval import AgentContext, AgentFailed, AgentLike, AgentUnavailable, Turn, attempt
from niceeval.agents.function import as_agent
from tests.agents.contract import MODEL, Scenario, Step
from tests.agents.providers import fault_answer
from tests.servers.scripted import Events, ScriptedServer, as_json, scripted_server


@final
@attrs.frozen
class Talk:
    """What an attempt came to, with its turns, sessions in a row."""

    turns: tuple[Turn[Any], ...]
    status: str
    reason: str | None

    @property
    def last(self) -> Turn[Any]:
        return self.turns[-1]

    @property
    def kinds(self) -> list[str]:
        """What happened in the last turn, after the user's message."""
        return [event.kind for event in self.last._evidence.events[1:]]


async def talk(agent: AgentLike, *messages: str, timeout: float | None = None, output: Any = None) -> Talk:
    """Send messages in one session; what an agent raises ends it."""
    with suppress(AgentFailed, AgentUnavailable):
        async with attempt(agent=agent) as t:
            for message in messages:
                turn = await t.send(message, timeout=timeout, output=output)
                turn.max_tool_calls(1000)
    turns = tuple(turn for session in t.sessions for turn in session.turns)
    return Talk(turns, t.result.status, t.result.reason)


async def raised(agent: AgentLike, message: str = "Hello") -> BaseException:
    """Return what the author of an eval gets from an agent."""
    try:
        async with attempt(agent=agent) as t:
            await t.send(message)
    except (AgentFailed, AgentUnavailable) as error:
        return error
    raise AssertionError("nothing was raised")


def on_trio(agent: AgentLike) -> AgentUnavailable:
    """Return what an agent says about another event loop than its own."""
    reply = as_agent(agent).reply
    with pytest.raises(AgentUnavailable) as caught:
        anyio.run(reply, "Hello", AgentContext(), backend="trio")
    assert not caught.value.retryable
    return caught.value


@contextmanager
def far_end(scenario: Scenario) -> Iterator[AsyncOpenAI]:
    """Run the model of a scenario, and yield a client that does not try again by itself."""
    with scripted_server() as server:
        for exchange in scenario.exchanges:
            for step in exchange.steps:
                broken = exchange.fault is not None and step is exchange.steps[-1]
                if exchange.fault is not None and broken:
                    cut = Events(_streamed(step)[:3], cut=True)
                    server.script.append(fault_answer(exchange.fault, server, cut))
                else:
                    server.script.append(Events(_streamed(step)) if scenario.stream else as_json(whole(step)))
        yield client_of(server)
        assert server.script == []


def client_of(server: ScriptedServer) -> AsyncOpenAI:
    # Nobody closes it in the event loop that it was used in, so that no connection may be left open.
    closing = {"Connection": "close"}
    return AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0, default_headers=closing)


def whole(step: Step) -> dict[str, Any]:
    """One answer in one piece."""
    message: dict[str, Any] = {"role": "assistant", "content": step.text}
    if step.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in step.calls
        ]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if step.calls else "stop"}
    document = {"id": "completion", "object": "chat.completion", "created": 1, "model": MODEL, "choices": [choice]}
    return document if step.usage is None else {**document, "usage": _used(step)}


def _used(step: Step) -> dict[str, int]:
    assert step.usage is not None
    read, written = step.usage.input_tokens or 0, step.usage.output_tokens or 0
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def _streamed(step: Step) -> list[dict[str, Any] | str]:
    """The same answer in pieces."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": text} for text in (step.text[:4], step.text[4:]) if text]
    for index, call in enumerate(step.calls):
        function = {"name": call.name, "arguments": ""}
        deltas.append({"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": function}]})
        half = len(call.arguments) // 2
        for arguments in (call.arguments[:half], call.arguments[half:]):
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": arguments}}]})
    events: list[dict[str, Any] | str] = [_chunk(delta, None) for delta in deltas]
    events.append(_chunk({}, "tool_calls" if step.calls else "stop"))
    if step.usage is not None:
        events.append({**_chunk({}, None), "choices": [], "usage": _used(step)})
    return [*events, "[DONE]"]


def _chunk(delta: dict[str, Any], finish: str | None) -> dict[str, Any]:
    return {
        "id": "completion",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": MODEL,
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }
