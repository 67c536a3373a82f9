from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from anthropic import AsyncAnthropic
from anthropic.resources.messages import DEPRECATED_MODELS
from pydantic import BaseModel

from niceeval import (
    AgentContext,
    AgentUnavailable,
    AnthropicAgent,
    EvalContext,
    Message,
    Thinking,
    ToolCallFinished,
    ToolCallStarted,
    Usage,
    define_eval,
    run_eval,
)
from niceeval.agents._provider_faults import ProviderError
from niceeval_expect import Absent, is_true
from tests.agents.contract import TOOLS, Scenario, Step, check_contract, each_scenario, lookup_order
from tests.agents.providers import Hanging, fault_answer, one_turn, sent_key
from tests.servers.scripted import Events, ScriptedServer, as_json, scripted_server

pytestmark = pytest.mark.anyio


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def use(name: str, input: Any, id: str = "c1") -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def message(
    *blocks: Mapping[str, Any], reason: str | None = "end_turn", usage: Any = None, **fields: Any
) -> dict[str, Any]:
    document = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": list(blocks),
        "stop_reason": reason, "stop_sequence": None, **fields,
    }  # fmt: skip
    return document if usage is None else {**document, "usage": usage}


def used(usage: Usage | None) -> dict[str, Any] | None:
    return None if usage is None else {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}


def whole(step: Step) -> dict[str, Any]:
    calls = [use(each.name, each.input, each.id) for each in step.calls]
    blocks = [*([text(step.text)] if step.text else []), *calls]
    return message(*blocks, reason="tool_use" if calls else "end_turn", usage=used(step.usage))


def block_events(index: int, start: Mapping[str, Any], *deltas: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": dict(start)},
        *({"type": "content_block_delta", "index": index, "delta": dict(delta)} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def spoken(index: int, value: str) -> list[dict[str, Any]]:
    pieces = [piece for piece in (value[:4], value[4:]) if piece]
    return block_events(index, text(""), *({"type": "text_delta", "text": piece} for piece in pieces))


def called(index: int, name: str, arguments: str, id: str = "c1") -> list[dict[str, Any]]:
    half = len(arguments) // 2
    pieces = ("", arguments[:half], arguments[half:])
    return block_events(
        index, use(name, {}, id), *({"type": "input_json_delta", "partial_json": each} for each in pieces)
    )


def framed(*blocks: list[dict[str, Any]], reason: str | None = "end_turn", usage: Usage | None = None) -> list[Any]:
    start = message(
        reason=None, usage=None if usage is None else {"input_tokens": usage.input_tokens, "output_tokens": 1}
    )
    delta: dict[str, Any] = {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}}
    if usage is not None:
        delta["usage"] = {"output_tokens": usage.output_tokens}
    return [
        {"type": "message_start", "message": start},
        {"type": "ping"},
        *(event for block in blocks for event in block),
        delta,
        {"type": "message_stop"},
    ]


def streamed(step: Step) -> list[Any]:
    blocks = [spoken(0, step.text)] if step.text else []
    blocks += [called(len(blocks) + place, each.name, each.arguments, each.id) for place, each in enumerate(step.calls)]
    return framed(*blocks, reason="tool_use" if step.calls else "end_turn", usage=step.usage)


def agent_for(server: ScriptedServer, **settings: Any) -> AnthropicAgent:
    given = {"tools": TOOLS, "base_url": server.url, "key_variable": "", **settings}
    return AnthropicAgent("scripted-model", **given)


@contextmanager
def build(scenario: Scenario) -> Iterator[AnthropicAgent]:
    # The protocol carries arguments as text, which alone can be unreadable, in streams only.
    unreadable = any(call.input is None for exchange in scenario.exchanges for call in exchange.calls)
    stream = scenario.stream or unreadable
    with scripted_server() as server:
        for exchange in scenario.exchanges:
            for step in exchange.steps:
                events = streamed(step)
                if exchange.fault is not None and step is exchange.steps[-1]:
                    cut = Events(events[:5], cut=True, named=True)
                    server.script.append(fault_answer(exchange.fault, server, cut))
                else:
                    server.script.append(Events(events, named=True) if stream else as_json(whole(step)))
        yield agent_for(server, stream=stream)
        assert server.script == []


@each_scenario
async def test_it_keeps_the_contract(scenario: Scenario) -> None:
    await check_contract(scenario, build, sees_pages=True)


async def test_a_request_says_what_was_configured() -> None:
    with scripted_server(as_json(message(text("Hi.")))) as server:
        agent = agent_for(
            server, tools=[lookup_order], instructions="Be brief.", temperature=0, parameters={"top_k": 4}
        )
        await one_turn(agent)
    assert server.requests[0].path == "/v1/messages"
    assert server.requests[0].json == {
        "model": "scripted-model",
        "messages": [{"role": "user", "content": "Hello"}],
        "system": "Be brief.",
        "tools": [
            {
                "name": "lookup_order",
                "description": "Look an order up.\n\nArgs:\n    id: The number of the order.",
                "input_schema": {
                    "type": "object",
                    "properties": {"id": {"type": "string"}},
                    "required": ["id"],
                    "additionalProperties": False,
                },
            }
        ],
        "temperature": 0,
        "max_tokens": 4096,
        "top_k": 4,
    }


async def test_blocks_are_sent_back_as_they_came_and_results_say_whether_they_failed() -> None:
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "abc"}
    first = message(
        thought, text("Let me look."), use("lookup_order", {"id": "ORD-1"}), use("lookup_order", {"id": "ORD-0"}, "c2"),
        reason="tool_use",
    )  # fmt: skip
    ctx = AgentContext()
    with scripted_server(*map(as_json, (first, message(text("One.")), message(text("Bye."))))) as server:
        agent = agent_for(server)
        reply = await one_turn(agent, "Where are they?", ctx)
        await one_turn(agent, "Thanks.", ctx)
    assert server.requests[2].json["messages"] == [
        {"role": "user", "content": "Where are they?"},
        {"role": "assistant", "content": first["content"]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "ORD-1 is in transit"},
                {
                    "type": "tool_result",
                    "tool_use_id": "c2",
                    "content": "ValueError: no such order: ORD-0",
                    "is_error": True,
                },
            ],
        },
        {"role": "assistant", "content": [text("One.")]},
        {"role": "user", "content": "Thanks."},
    ]
    assert [type(event) for event in reply.events or ()] == [
        Thinking, Message, ToolCallStarted, ToolCallStarted, ToolCallFinished, ToolCallFinished, Message,
    ]  # fmt: skip


class Order(BaseModel):
    paid: bool


async def test_structured_output_is_asked_for_by_its_schema() -> None:
    @define_eval
    async def asks(t: EvalContext) -> None:
        turn = await t.send("Is it paid?", output=Order)
        t.check(turn.data.paid, is_true())

    with scripted_server(as_json(message(text('{"paid": true}')))) as server:
        run = await run_eval(asks, agent=agent_for(server))
    assert run.statuses == {"passed": 1}
    schema = server.requests[0].json["output_config"]["format"]["schema"]
    assert (list(schema["properties"]), schema["additionalProperties"]) == (["paid"], False)


@pytest.mark.parametrize("output", [dict[str, int], list[dict[str, Any]], str | None])
async def test_structured_output_that_anthropic_has_no_words_for_is_not_asked_for_wrongly(output: Any) -> None:
    @define_eval
    async def asks(t: EvalContext) -> None:
        await t.send("Count them.", output=output)

    with scripted_server(as_json(message(text("{}")))) as server:
        await run_eval(asks, agent=agent_for(server))
    wanted = server.requests[0].json.get("output_config")
    assert wanted is None or "anyOf" in wanted["format"]["schema"]


@pytest.mark.parametrize(
    ("reason", "status", "why"),
    [
        ("end_turn", "completed", ""),
        ("stop_sequence", "completed", ""),
        (None, None, ""),
        ("whatever", None, ""),
        ("max_tokens", "failed", "for its length"),
        ("model_context_window_exceeded", "failed", "context was full"),
        ("refusal", "failed", "classifiers"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_how_it_ended_is_what_the_provider_says(
    reason: str | None, status: str | None, why: str, stream: bool
) -> None:
    answer = (
        Events(framed(spoken(0, "Well, "), reason=reason))
        if stream
        else as_json(message(text("Well, "), reason=reason))
    )
    with scripted_server(answer) as server:
        reply = await one_turn(agent_for(server, stream=stream))
    assert (reply.status, reply.message) == (status, "Well, ")
    assert reply.coverage["messages"] == reply.coverage["tool_calls"] == ("partial" if why else "complete")
    assert why in reply.reasons.get("messages", "")


async def test_a_refusal_is_explained_and_its_conversation_can_go_on() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "this could harm somebody"}
    ctx = AgentContext()
    answers = (message(reason="refusal", stop_details=details), message(text("Hi.")))
    with scripted_server(*map(as_json, answers)) as server:
        agent = agent_for(server)
        reply = await one_turn(agent, "Attack.", ctx)
        await one_turn(agent, "Hello", ctx)
    assert (reply.status, reply.message) == ("failed", "")
    assert "this could harm somebody" in reply.reasons["messages"]
    assert [each["role"] for each in server.requests[1].json["messages"]] == ["user", "user"]


async def test_a_turn_that_pauses_goes_on() -> None:
    answers = (message(text("Searching."), reason="pause_turn"), message(text("Found it.")))
    with scripted_server(*map(as_json, answers)) as server:
        reply = await one_turn(agent_for(server))
    assert reply.status == "completed"
    assert [event.text for event in reply.events or ()] == ["Searching.", "Found it."]
    assert server.requests[1].json["messages"][-1] == {"role": "assistant", "content": [text("Searching.")]}


async def test_texts_in_a_row_are_one_and_a_call_divides_them() -> None:
    blocks = (text("It is "), text("on its way."), use("lookup_order", {"id": "ORD-1"}), text("Wait."))
    with scripted_server(as_json(message(*blocks)), as_json(message(text("Done.")))) as server:
        reply = await one_turn(agent_for(server))
    said = [event.text for event in reply.events or () if event.kind == "message"]
    assert said == ["It is on its way.", "Wait.", "Done."]


@pytest.mark.parametrize("stream", [False, True])
async def test_the_last_call_of_an_answer_that_was_cut_off_has_no_known_input(stream: bool) -> None:
    calls = (use("lookup_order", {"id": "ORD-1"}, "c1"), use("lookup_order", {}, "c2"))
    events = framed(
        called(0, "lookup_order", '{"id": "ORD-1"}'), called(1, "lookup_order", "", "c2"), reason="max_tokens"
    )
    with scripted_server(Events(events) if stream else as_json(message(*calls, reason="max_tokens"))) as server:
        reply = await one_turn(agent_for(server, stream=stream))
    first, last = reply.tool_calls or ()
    assert (first.input, first.status) == ({"id": "ORD-1"}, "pending")
    assert isinstance(last.input, Absent), "what was cut off is not {}"
    assert last.status == "pending"


@pytest.mark.parametrize(
    ("arguments", "given"),
    [("", {}), ("{}", {}), ('{"id": "ORD', None), ('{"id": "1", "id": "2"}', None), ("null", "null")],
)
async def test_streamed_arguments_are_read_strictly(arguments: str, given: Any) -> None:
    first = framed(called(0, "lookup_order", arguments), reason="tool_use")
    with scripted_server(Events(first), Events(framed(spoken(0, "Sorry.")))) as server:
        reply = await one_turn(agent_for(server, stream=True))
    found = (reply.tool_calls or ())[0]
    assert found.status == "failed"
    if given is None:
        assert isinstance(found.input, Absent)
        assert found.raw_input == arguments
    else:
        assert found.input == (None if given == "null" else given)
    sent = server.requests[1].json["messages"]
    assert sent[1]["content"][0]["input"] == ({} if given == {} else {"unreadable": arguments})
    assert sent[2]["content"][0]["is_error"] is True


async def test_calls_that_anthropic_carries_out_itself_are_reported_with_their_results() -> None:
    blocks = (
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"type": "web_search_result", "url": "u"}]},
        {"type": "server_tool_use", "id": "s2", "name": "web_fetch", "input": {"url": "u"}},
        {
            "type": "web_fetch_tool_result",
            "tool_use_id": "s2",
            "content": {"type": "web_fetch_tool_result_error", "error_code": "unavailable"},
        },
        {"type": "mcp_tool_use", "id": "m1", "name": "search", "server_name": "docs", "input": {}},
        {"type": "mcp_tool_result", "tool_use_id": "m1", "is_error": True, "content": "no index"},
        {"type": "server_tool_use", "id": "s3", "name": "web_search", "input": {"query": "y"}},
        text("Hi."),
    )
    with scripted_server(as_json(message(*blocks))) as server:
        reply = await one_turn(agent_for(server))
    assert [(each.server, each.name, each.input, each.status) for each in reply.tool_calls or ()] == [
        (None, "web_search", {"query": "x"}, "completed"),
        (None, "web_fetch", {"url": "u"}, "failed"),
        ("docs", "search", {}, "failed"),
        (None, "web_search", {"query": "y"}, "pending"),
    ]
    assert (reply.status, reply.message, reply.coverage["tool_calls"]) == ("completed", "Hi.", "complete")
    assert len(server.requests) == 1


async def test_streamed_calls_that_anthropic_carries_out_itself_have_their_input() -> None:
    start = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    search = block_events(0, start, {"type": "input_json_delta", "partial_json": '{"query": "x"}'})
    result = block_events(1, {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []})
    with scripted_server(Events(framed(search, result, spoken(2, "Hi.")))) as server:
        reply = await one_turn(agent_for(server, stream=True))
    found = (reply.tool_calls or ())[0]
    assert (found.name, found.input, found.output, found.status) == ("web_search", {"query": "x"}, [], "completed")


async def test_a_call_of_anthropics_that_is_cut_off_has_no_known_input() -> None:
    start = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    events = framed(block_events(0, start))[:3]
    ctx = AgentContext()
    with scripted_server(Events(events)) as server, pytest.raises(AgentUnavailable):
        await one_turn(agent_for(server, stream=True), ctx=ctx)
    (event,) = ctx.take_emitted()
    assert isinstance(event, ToolCallStarted)
    assert (event.call.status, isinstance(event.call.input, Absent)) == ("pending", True)


async def test_what_is_not_read_is_noted() -> None:
    blocks = (
        {"type": "container_upload", "file_id": "f1"},
        {"type": "web_search_tool_result", "tool_use_id": "elsewhere", "content": []},
        {"type": "tool_use", "id": "c1", "name": "", "input": {}},
        {"type": "redacted_thinking", "data": "x"},
        text("Hi."),
    )
    with scripted_server(as_json(message(*blocks))) as server:
        reply = await one_turn(agent_for(server))
    assert (reply.message, reply.tool_calls, reply.status) == ("Hi.", (), "completed")
    assert reply.coverage["tool_calls"] == "partial"
    assert "container_upload" in reply.reasons["tool_calls"]
    assert "web_search_tool_result" in reply.reasons["tool_calls"]
    assert "without a name" in reply.reasons["tool_calls"]


async def test_a_call_nobody_parsed_is_noted() -> None:
    with scripted_server(as_json(message(text('<invoke name="refund">')))) as server:
        assert (await one_turn(agent_for(server))).coverage["tool_calls"] == "partial"


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"input_tokens": 5, "output_tokens": 2}, Usage(input_tokens=5, output_tokens=2)),
        (
            {
                "input_tokens": 5,
                "cache_creation_input_tokens": 100,
                "cache_read_input_tokens": 1000,
                "output_tokens": 2,
            },
            Usage(input_tokens=1105, output_tokens=2),
        ),
        (
            {"input_tokens": 5, "cache_read_input_tokens": None, "output_tokens": 2},
            Usage(input_tokens=5, output_tokens=2),
        ),
        ({"cache_read_input_tokens": 5, "output_tokens": 2}, Usage(output_tokens=2)),
        ({}, None),
    ],
)
async def test_usage_counts_what_was_read_from_the_cache(usage: Any, expected: Usage | None) -> None:
    with scripted_server(as_json(message(text("Hi."), usage=usage))) as server:
        assert (await one_turn(agent_for(server))).usage == expected


async def test_streamed_usage_is_the_last_that_was_said() -> None:
    with scripted_server(Events(framed(spoken(0, "Hi."), usage=Usage(input_tokens=9, output_tokens=4)))) as server:
        reply = await one_turn(agent_for(server, stream=True))
    assert reply.usage == Usage(input_tokens=9, output_tokens=4)


async def test_events_that_come_again_count_once() -> None:
    hello = spoken(0, "Hello.")
    lookup = called(1, "lookup_order", '{"id": "ORD-1"}')
    start = {"type": "message_start", "message": message(text("other"))}
    events = framed(hello, [hello[0], hello[1], start], lookup, lookup, reason="tool_use")
    with scripted_server(Events(events), Events(framed(spoken(0, "Done.")))) as server:
        reply = await one_turn(agent_for(server, stream=True))
    assert [event.text for event in reply.events or () if event.kind == "message"] == ["Hello.", "Done."]
    assert [each.input for each in reply.tool_calls or ()] == [{"id": "ORD-1"}]


async def test_blocks_that_are_streamed_at_once_stay_apart() -> None:
    first, second = called(0, "lookup_order", '{"id": "ORD-1"}'), called(1, "cancel_order", '{"id": "ORD-2"}')
    mixed = [event for pair in zip(first, second, strict=True) for event in pair]
    with scripted_server(Events(framed(mixed, reason="tool_use")), Events(framed(spoken(0, "Done.")))) as server:
        reply = await one_turn(agent_for(server, stream=True))
    assert [each.input for each in reply.tool_calls or ()] == [{"id": "ORD-1"}, {"id": "ORD-2"}]


def without_index(event: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in event.items() if key != "index"}


FIRST, SECOND = called(0, "lookup_order", '{"id": "ORD-1"}', "a"), called(1, "cancel_order", '{"id": "ORD-2"}', "b")


@pytest.mark.parametrize(
    "events",
    [
        pytest.param([*SECOND, *FIRST], id="the second before the first"),
        pytest.param([*FIRST[1:-1], FIRST[0], FIRST[-1], *SECOND], id="pieces before their block"),
        pytest.param([*FIRST[:-1], *SECOND[:-1]], id="blocks that never end"),
        pytest.param(list(map(without_index, [*FIRST, *SECOND])), id="no index"),
    ],
)
async def test_blocks_in_disorder_are_put_in_order(events: list[Any]) -> None:
    with scripted_server(Events(framed(events, reason="tool_use")), Events(framed(spoken(0, "Done.")))) as server:
        reply = await one_turn(agent_for(server, stream=True))
    assert [(each.id, each.input) for each in reply.tool_calls or ()] == [
        ("a", {"id": "ORD-1"}),
        ("b", {"id": "ORD-2"}),
    ]
    sent = server.requests[1].json["messages"][1]["content"]
    assert [block["input"] for block in sent] == [{"id": "ORD-1"}, {"id": "ORD-2"}]


async def test_a_character_that_is_cut_in_two_is_one() -> None:
    halves = ({"type": "text_delta", "text": half} for half in ("Hi \ud83d", "\ude00"))
    with scripted_server(Events(framed(block_events(0, text(""), *halves)))) as server:
        assert (await one_turn(agent_for(server, stream=True))).message == "Hi \U0001f600"


@pytest.mark.parametrize("stream", [True, False])
async def test_an_answer_that_ends_for_a_call_and_has_none_is_not_no_call(stream: bool) -> None:
    said = Events(framed(spoken(0, "Wait."), reason="tool_use"))
    with scripted_server(said if stream else as_json(message(text("Wait."), reason="tool_use"))) as server:
        reply = await one_turn(agent_for(server, stream=stream))
    assert reply.coverage["tool_calls"] == "partial"
    assert "has no call" in reply.reasons["tool_calls"]


async def test_streamed_thoughts_are_sent_back_with_their_signature() -> None:
    thought = block_events(
        0, {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "Hm"}, {"type": "thinking_delta", "thinking": "."},
        {"type": "signature_delta", "signature": "abc"},
    )  # fmt: skip
    first = framed(thought, called(1, "lookup_order", '{"id": "ORD-1"}'), reason="tool_use")
    with scripted_server(Events(first), Events(framed(spoken(0, "Done.")))) as server:
        reply = await one_turn(agent_for(server, stream=True))
    assert [event.text for event in reply.events or () if event.kind == "thinking"] == ["Hm."]
    sent = server.requests[1].json["messages"][1]["content"][0]
    assert sent == {"type": "thinking", "thinking": "Hm.", "signature": "abc"}


@pytest.mark.parametrize("cut", [True, False])
async def test_a_stream_that_ends_too_early_is_unavailable_and_keeps_what_came(cut: bool) -> None:
    events = framed(
        spoken(0, "One moment."),
        called(1, "lookup_order", '{"id": "ORD-1"}', "a"),
        called(2, "cancel_order", '{"id": "ORD-2"}', "b"),
    )
    ctx = AgentContext()
    with (
        scripted_server(Events(events[: 15 if cut else 14], cut=cut, named=True)) as server,
        pytest.raises(AgentUnavailable) as caught,
    ):
        await one_turn(agent_for(server, stream=True), ctx=ctx)
    assert caught.value.retryable
    said, *started = ctx.take_emitted()
    assert said == Message("assistant", "One moment.")
    found = [event.call for event in started if isinstance(event, ToolCallStarted)]
    assert [(each.name, each.status) for each in found] == [("lookup_order", "pending"), ("cancel_order", "pending")]
    assert found[0].input == {"id": "ORD-1"}
    assert isinstance(found[1].input, Absent)
    assert found[1].raw_input == '{"id": '


async def test_a_timeout_keeps_what_had_been_streamed() -> None:
    said: list[str] = []

    @define_eval
    async def asks(t: EvalContext) -> None:
        session = t.new_session()
        try:
            await session.send("Hello", timeout=0.4)
        finally:
            said.extend(session.turns[-1].messages)

    with scripted_server() as server:
        server.script.append(Hanging(framed(spoken(0, "One moment."))[:4], server))
        run = await run_eval(asks, agent=agent_for(server, stream=True))
    assert run.statuses == {"errored": 1}
    assert said == ["One "]


@pytest.mark.parametrize(
    ("kind", "error", "retryable"),
    [
        ("overloaded_error", AgentUnavailable, True),
        ("api_error", AgentUnavailable, True),
        ("rate_limit_error", AgentUnavailable, True),
        ("authentication_error", AgentUnavailable, False),
        ("invalid_request_error", ProviderError, None),
    ],
)
async def test_an_error_inside_a_stream_says_whether_it_was_reached(
    kind: str, error: type[Exception], retryable: bool | None
) -> None:
    events = [*framed(spoken(0, "Hi."))[:4], {"type": "error", "error": {"type": kind, "message": "no more"}}]
    with scripted_server(Events(events, named=True)) as server, pytest.raises(error, match="no more") as caught:
        await one_turn(agent_for(server, stream=True))
    assert getattr(caught.value, "retryable", None) is retryable


async def test_an_overloaded_provider_is_unavailable_and_not_asked_again() -> None:
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    with (
        scripted_server(as_json(body, 529)) as server,
        pytest.raises(AgentUnavailable, match="529: Overloaded") as caught,
    ):
        await one_turn(agent_for(server))
    assert caught.value.retryable
    assert len(server.requests) == 1


@pytest.mark.parametrize("document", [{}, {"content": "text"}, {"content": ["text"]}])
async def test_an_answer_that_is_none_is_the_agents_failure(document: Any) -> None:
    with scripted_server(as_json(document)) as server, pytest.raises(ProviderError, match="protocol"):
        await one_turn(agent_for(server))


async def test_the_key_is_sent_and_a_missing_one_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret-1234")
    with scripted_server(as_json(message(text("Hi.")))) as server:
        await one_turn(AnthropicAgent("m", base_url=server.url))
    assert "sk-ant-secret-1234" in sent_key(server.requests[0])
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(AgentUnavailable, match="ANTHROPIC_API_KEY"):
        await one_turn(AnthropicAgent("m"))


async def test_a_warning_of_the_sdk_is_not_the_models_answer() -> None:
    with scripted_server(as_json(message(text("Hi.")))) as server:
        agent = AnthropicAgent(next(iter(DEPRECATED_MODELS)), base_url=server.url, key_variable="")
        with pytest.raises(AgentUnavailable, match=r"the SDK warns: .* is deprecated") as caught:
            await one_turn(agent)
    assert not caught.value.retryable


async def test_long_answers_need_no_stream() -> None:
    with scripted_server(as_json(message(text("Hi.")))) as server:
        assert (await one_turn(agent_for(server, max_tokens=100_000))).message == "Hi."


async def test_a_client_of_your_own_is_used() -> None:
    with scripted_server(as_json(message(text("Hi.")))) as server:
        async with AsyncAnthropic(api_key="mine", base_url=server.url) as client:
            await one_turn(AnthropicAgent("m", client=client))
    assert "mine" in sent_key(server.requests[0])


def test_it_says_what_it_is() -> None:
    assert repr(AnthropicAgent("m", tools=TOOLS)) == "<AnthropicAgent m, 2 tools>"
