"""Whatever a provider sends: a reply, or an error that says whose fault it is."""

import copy
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from niceeval import AgentContext, AgentUnavailable, AnthropicAgent, OpenAIChatAgent, OpenAIResponsesAgent, Reply
from niceeval.agents._provider_faults import ProviderError
from tests.agents.contract import TOOLS
from tests.servers.scripted import Events, ScriptedServer, as_json, scripted_server

JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["type", "name", "id"]), inner, max_size=2)
    ),
    max_leaves=4,
)

CHAT = {
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": [{"type": "text", "text": "Hi."}],
                "reasoning": "Hm.",
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "lookup_order", "arguments": '{"id": "ORD-1"}'},
                    }
                ],
            },
            "finish_reason": "tool_calls",
        }
    ],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1},
    "error": None,
}
CHAT_EVENTS = [
    {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hi."}, "finish_reason": None}]},
    {"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "f", "arguments": "{"}}]}}]},
    {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": "}"}}]}}]},
    {"choices": [{"delta": {}, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 1}},
]
ITEMS: list[dict[str, Any]] = [
    {"type": "reasoning", "id": "r1", "summary": [{"type": "summary_text", "text": "Hm."}]},
    {"type": "message", "id": "m1", "content": [{"type": "output_text", "text": "Hi."}]},
    {"type": "function_call", "id": "f1", "call_id": "c1", "name": "lookup_order", "arguments": '{"id": "ORD-1"}'},
    {"type": "mcp_call", "id": "m1", "server_label": "docs", "name": "search", "arguments": "{}", "output": "found"},
    {"type": "custom_tool_call", "id": "f2", "call_id": "c2", "name": "sql", "input": "select"},
]
RESPONSE = {
    "status": "completed",
    "output": ITEMS,
    "usage": {"input_tokens": 1},
    "incomplete_details": {"reason": None},
}
RESPONSE_EVENTS = [
    {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "id": "m1", "content": []}},
    {"type": "response.output_text.delta", "output_index": 0, "item_id": "m1", "content_index": 0, "delta": "Hi."},
    {"type": "response.output_item.added", "output_index": 1, "item": {**ITEMS[2], "arguments": ""}},
    {"type": "response.function_call_arguments.delta", "output_index": 1, "item_id": "f1", "delta": "{}"},
    {"type": "response.completed", "response": {**RESPONSE, "output": []}},
]
MESSAGE = {
    "content": [
        {"type": "thinking", "thinking": "Hm.", "signature": "x"},
        {"type": "text", "text": "Hi."},
        {"type": "mcp_tool_use", "id": "m1", "name": "search", "server_name": "docs", "input": {}},
        {"type": "mcp_tool_result", "tool_use_id": "m1", "is_error": False, "content": "found"},
        {"type": "tool_use", "id": "c1", "name": "lookup_order", "input": {"id": "ORD-1"}},
    ],
    "stop_reason": "tool_use",
    "stop_details": {"explanation": "x"},
    "usage": {"input_tokens": 1, "output_tokens": 1},
}
MESSAGE_EVENTS = [
    {"type": "message_start", "message": {"content": [], "usage": {"input_tokens": 1}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi."}},
    {"type": "content_block_stop", "index": 0},
    {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "tool_use", "id": "c1", "name": "f", "input": {}},
    },
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
    {"type": "content_block_stop", "index": 1},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 1}},
    {"type": "message_stop"},
]
PROTOCOLS: list[Any] = [
    pytest.param(OpenAIChatAgent, CHAT, CHAT_EVENTS, id="chat"),
    pytest.param(OpenAIResponsesAgent, RESPONSE, RESPONSE_EVENTS, id="responses"),
    pytest.param(AnthropicAgent, MESSAGE, MESSAGE_EVENTS, id="messages"),
]


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield place
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(inner, (*place, key))


def spoiled(value: Any, place: tuple[Any, ...], junk: Any) -> Any:
    if not place:
        return junk
    copied = copy.deepcopy(value)
    inner = copied
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = junk
    return copied


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with scripted_server() as server:
        yield server


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("kind", "document", "events"), PROTOCOLS)
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_an_answer_that_is_wrong_anywhere_ends_as_a_reply_or_with_an_error_of_its_own(
    server: ScriptedServer,
    kind: Callable[..., Any],
    document: Any,
    events: Any,
    stream: bool,
    data: st.DataObject,
) -> None:
    given_value = events if stream else document
    place = data.draw(st.sampled_from([each for each in places(given_value) if each or not stream]))
    wrong = spoiled(given_value, place, data.draw(JUNK))
    server.answer = lambda request: Events(wrong) if stream else as_json(wrong)
    agent = kind("m", tools=TOOLS, base_url=server.url, key_variable="", stream=stream, most_steps=2)
    with suppress(AgentUnavailable, ProviderError):
        assert isinstance(anyio.run(agent.reply, "Hello", AgentContext()), Reply)
