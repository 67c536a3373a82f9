import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from pydantic import BaseModel

from niceeval import (
    AgentContext,
    AgentUnavailable,
    EvalContext,
    Message,
    OpenAIResponsesAgent,
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
from tests.agents.providers import fault_answer, one_turn
from tests.servers.scripted import Events, ScriptedServer, as_json, scripted_server

pytestmark = pytest.mark.anyio


def call(name: str, arguments: Any, id: str = "c1", **extra: Any) -> dict[str, Any]:
    return {
        "type": "function_call", "id": f"fc_{name}_{id}", "call_id": id, "name": name, "arguments": arguments,
        "status": "completed", **extra,
    }  # fmt: skip


def said(text: str, kind: str = "output_text") -> dict[str, Any]:
    key = "refusal" if kind == "refusal" else "text"
    part = {"type": kind, key: text, **({} if kind == "refusal" else {"annotations": []})}
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}


def response(*items: Mapping[str, Any], usage: Usage | None = None, **fields: Any) -> dict[str, Any]:
    document: dict[str, Any] = {
        "id": "resp_1", "object": "response", "status": "completed", "error": None, "incomplete_details": None,
        "output": list(items), "usage": None, **fields,
    }  # fmt: skip
    if usage is not None:
        document["usage"] = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
    return document


def whole(step: Step) -> dict[str, Any]:
    calls = [call(each.name, each.arguments, each.id) for each in step.calls]
    return response(*([said(step.text)] if step.text else []), *calls, usage=step.usage)


def events_of(document: Mapping[str, Any], *, last: str = "response.completed") -> list[dict[str, Any]]:
    """Return the events that build a response, as OpenAI streams them."""
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**document, "output": [], "status": "in_progress"}}
    ]
    for index, item in enumerate(document["output"]):
        place = {"output_index": index, "item_id": item["id"]}
        bare = {**item, "status": "in_progress"}
        if item["type"] == "message":
            text = item["content"][0]["text"]
            events.append({"type": "response.output_item.added", **place, "item": {**bare, "content": []}})
            place["content_index"] = 0
            part = {"type": "output_text", "text": ""}
            events.append({"type": "response.content_part.added", **place, "part": part})
            events += [{"type": "response.output_text.delta", **place, "delta": each} for each in (text[:4], text[4:])]
            events.append({"type": "response.output_text.done", **place, "text": text})
        else:
            raw = item["arguments"]
            half = len(raw) // 2
            kind = "response.function_call_arguments"
            events.append({"type": "response.output_item.added", **place, "item": {**bare, "arguments": ""}})
            events += [{"type": f"{kind}.delta", **place, "delta": each} for each in (raw[:half], raw[half:])]
            events.append({"type": f"{kind}.done", **place, "arguments": raw})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": last, "response": document})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def agent_for(server: ScriptedServer, **settings: Any) -> OpenAIResponsesAgent:
    given = {"tools": TOOLS, "base_url": f"{server.url}/v1", "key_variable": "", **settings}
    return OpenAIResponsesAgent("scripted-model", **given)


@contextmanager
def build(scenario: Scenario) -> Iterator[OpenAIResponsesAgent]:
    with scripted_server() as server:
        for exchange in scenario.exchanges:
            for step in exchange.steps:
                document = whole(step)
                if exchange.fault is not None and step is exchange.steps[-1]:
                    cut = Events(events_of(document)[:5], cut=True, named=True)
                    server.script.append(fault_answer(exchange.fault, server, cut))
                else:
                    stream = Events(events_of(document), named=True)
                    server.script.append(stream if scenario.stream else as_json(document))
        yield agent_for(server, stream=scenario.stream)
        assert server.script == []


@each_scenario
async def test_it_keeps_the_contract(scenario: Scenario) -> None:
    await check_contract(scenario, build, sees_pages=True)


async def test_a_request_says_what_was_configured() -> None:
    with scripted_server(as_json(response(said("Hi.")))) as server:
        agent = agent_for(
            server, tools=[lookup_order], instructions="Be brief.", temperature=0.5, max_tokens=50,
            parameters={"store": False},
        )  # fmt: skip
        await one_turn(agent)
    assert server.requests[0].path == "/v1/responses"
    assert server.requests[0].json == {
        "model": "scripted-model",
        "input": [{"role": "user", "content": "Hello"}],
        "instructions": "Be brief.",
        "tools": [
            {
                "type": "function",
                "name": "lookup_order",
                "description": "Look an order up.\n\nArgs:\n    id: The number of the order.",
                "parameters": {
                    "type": "object",
                    "properties": {"id": {"type": "string"}},
                    "required": ["id"],
                    "additionalProperties": False,
                },
                "strict": False,
            }
        ],
        "temperature": 0.5,
        "max_output_tokens": 50,
        "store": False,
    }


async def test_items_are_sent_back_as_they_came_with_the_results_after_them() -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]}
    first = response(thought, call("lookup_order", '{"id": "ORD-1"}'))
    ctx = AgentContext()
    with scripted_server(*map(as_json, (first, response(said("In transit.")), response(said("Bye."))))) as server:
        agent = agent_for(server)
        reply = await one_turn(agent, "Where is ORD-1?", ctx)
        await one_turn(agent, "Thanks.", ctx)
    assert server.requests[2].json["input"] == [
        {"role": "user", "content": "Where is ORD-1?"},
        *first["output"],
        {"type": "function_call_output", "call_id": "c1", "output": "ORD-1 is in transit"},
        said("In transit."),
        {"role": "user", "content": "Thanks."},
    ]
    assert [type(event) for event in reply.events or ()] == [Thinking, ToolCallStarted, ToolCallFinished, Message]


async def test_structured_output_is_asked_for_by_its_schema() -> None:
    class Order(BaseModel):
        paid: bool

    @define_eval
    async def asks(t: EvalContext) -> None:
        turn = await t.send("Is it paid?", output=Order)
        t.check(turn.data.paid, is_true())

    with scripted_server(as_json(response(said('{"paid": true}')))) as server:
        run = await run_eval(asks, agent=agent_for(server))
    assert run.statuses == {"passed": 1}
    wanted = server.requests[0].json["text"]["format"]
    assert (wanted["type"], list(wanted["schema"]["properties"]), wanted["strict"]) == ("json_schema", ["paid"], False)


@pytest.mark.parametrize(
    ("fields", "status", "why"),
    [
        ({}, "completed", ""),
        ({"status": None}, None, ""),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "failed", "for its length"),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "failed", "filter"),
        ({"status": "incomplete", "incomplete_details": {"reason": "steered"}}, "failed", "incomplete (steered)"),
        ({"status": "cancelled"}, "failed", "cancelled"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_how_it_ended_is_what_the_provider_says(
    fields: Mapping[str, Any], status: str | None, why: str, stream: bool
) -> None:
    document = response(said("Well, "), **fields)
    last = "response.incomplete" if fields.get("status") == "incomplete" else "response.completed"
    with scripted_server(Events(events_of(document, last=last)) if stream else as_json(document)) as server:
        reply = await one_turn(agent_for(server, stream=stream))
    assert (reply.status, reply.message) == (status, "Well, ")
    assert reply.coverage["messages"] == ("partial" if why else "complete")
    assert why in reply.reasons.get("messages", "")


async def test_a_refusal_is_what_the_model_said() -> None:
    with scripted_server(as_json(response(said("I cannot help with that.", "refusal")))) as server:
        reply = await one_turn(agent_for(server))
    assert (reply.status, reply.message) == ("completed", "I cannot help with that.")


async def test_calls_of_an_answer_that_was_cut_off_are_pending() -> None:
    calls = (call("lookup_order", '{"id": "ORD', status="incomplete"), call("lookup_order", "", status="incomplete"))
    details = {"reason": "max_output_tokens"}
    with scripted_server(as_json(response(*calls, status="incomplete", incomplete_details=details))) as server:
        reply = await one_turn(agent_for(server))
    found = reply.tool_calls or ()
    assert [(each.status, each.raw_input) for each in found] == [("pending", '{"id": "ORD'), ("pending", "")]
    assert all(isinstance(each.input, Absent) for each in found)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("code", "reached"), [("server_error", False), ("rate_limit_exceeded", False), ("invalid_prompt", True)]
)
async def test_a_failed_response_says_why(code: str, reached: bool, stream: bool) -> None:
    document = response(status="failed", error={"code": code, "message": "it did not work"})
    answer = Events(events_of(document, last="response.failed")) if stream else as_json(document)
    with (
        scripted_server(answer) as server,
        pytest.raises(ProviderError if reached else AgentUnavailable, match="it did not work"),
    ):
        await one_turn(agent_for(server, stream=stream))


async def test_an_error_event_ends_the_stream() -> None:
    event = {"type": "error", "code": "server_error", "message": "it broke", "sequence_number": 1}
    with scripted_server(Events([event])) as server, pytest.raises(AgentUnavailable, match="it broke"):
        await one_turn(agent_for(server, stream=True))


async def test_what_is_not_read_is_noted() -> None:
    items = (
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        {"type": "function_call", "call_id": "c1", "arguments": "{}"},
        {**said(""), "content": [{"type": "output_audio", "data": "x"}]},
        said("Hi."),
    )
    with scripted_server(as_json(response(*items))) as server:
        reply = await one_turn(agent_for(server))
    assert (reply.message, reply.tool_calls, reply.status) == ("Hi.", (), "completed")
    assert "web_search_call" in reply.reasons["tool_calls"]
    assert "without a name" in reply.reasons["tool_calls"]
    assert "output_audio" in reply.reasons["messages"]
    assert reply.coverage["tool_calls"] == reply.coverage["messages"] == "partial"


@pytest.mark.parametrize(
    ("fields", "status", "output"),
    [
        ({"output": "found", "status": "completed"}, "completed", "found"),
        ({"output": "found"}, "completed", "found"),
        ({"error": {"message": "no index"}}, "failed", {"message": "no index"}),
        ({"status": "failed"}, "failed", None),
        ({"status": "in_progress"}, "pending", None),
    ],
)
async def test_calls_on_servers_that_the_provider_talks_to_are_reported(
    fields: Mapping[str, Any], status: str, output: Any
) -> None:
    item = {"type": "mcp_call", "id": "mcp_1", "server_label": "docs", "name": "search", "arguments": '{"q": "x"}'}
    with scripted_server(as_json(response({**item, **fields}, said("Hi.")))) as server:
        reply = await one_turn(agent_for(server))
    found = (reply.tool_calls or ())[0]
    assert (found.server, found.name, found.input, found.id) == ("docs", "search", {"q": "x"}, "mcp_1")
    assert (found.status, None if isinstance(found.output, Absent) else found.output) == (status, output)
    assert (reply.status, reply.coverage["tool_calls"]) == ("completed", "complete")


async def test_a_call_nobody_parsed_is_noted() -> None:
    with scripted_server(as_json(response(said('<tool_call name="refund" args={"id":1}')))) as server:
        reply = await one_turn(agent_for(server))
    assert reply.coverage["tool_calls"] == "partial"


async def test_a_custom_tool_takes_its_text_as_it_is() -> None:
    item = {"type": "custom_tool_call", "id": "ct_1", "call_id": "c1", "name": "sql", "input": "select 1"}
    with scripted_server(as_json(response(item)), as_json(response(said("Hm.")))) as server:
        reply = await one_turn(agent_for(server))
    found = (reply.tool_calls or ())[0]
    assert (found.name, found.input, found.status) == ("sql", "select 1", "failed")
    assert server.requests[1].json["input"][-1]["type"] == "custom_tool_call_output"


async def test_events_that_come_twice_count_once() -> None:
    document = response(said("It is on its way."), call("lookup_order", '{"id": "ORD-1"}'))
    twice = [event for event in events_of({**document, "output": document["output"]}) for _ in range(2)]
    twice[-1] = twice[-2] = {**twice[-1], "response": {**document, "output": []}}
    with scripted_server(Events(twice), as_json(response(said("Done.")))) as server:
        reply = await one_turn(agent_for(server, stream=True))
    assert [event.text for event in reply.events or () if event.kind == "message"] == ["It is on its way.", "Done."]
    assert [(each.name, each.input) for each in reply.tool_calls or ()] == [("lookup_order", {"id": "ORD-1"})]


async def test_items_are_known_by_id_then_by_index() -> None:
    kind = "response.function_call_arguments.delta"
    events: list[Any] = [
        {"type": "response.output_item.added", "item": call("lookup_order", "", "a")},
        {"type": "response.output_item.added", "item": call("cancel_order", "", "b")},
        {"type": kind, "item_id": "fc_cancel_order_b", "delta": '{"id": "ORD-2"}'},
        {"type": kind, "item_id": "fc_lookup_order_a", "delta": '{"id": "ORD-1"}'},
        {
            "type": "response.output_item.added",
            "output_index": 7,
            "item": {**call("lookup_order", "", "c"), "id": None},
        },
        {"type": kind, "output_index": 7, "delta": '{"id": "ORD-3"}'},
        {"type": "response.completed", "response": response()},
    ]
    with scripted_server(Events(events), as_json(response(said("Done.")))) as server:
        reply = await one_turn(agent_for(server, stream=True))
    assert [(each.id, each.input) for each in reply.tool_calls or ()] == [
        ("a", {"id": "ORD-1"}),
        ("b", {"id": "ORD-2"}),
        ("c", {"id": "ORD-3"}),
    ]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_items_stand_in_the_order_of_their_index_and_an_id_used_again_is_another(order: Sequence[int]) -> None:
    kind = "response.function_call_arguments.delta"
    items = [{**call("lookup_order", "", "a"), "id": "x"}, {**call("cancel_order", "", "b"), "id": "x"}]
    events: list[Any] = [
        {"type": "response.output_item.added", "output_index": each, "item": items[each]} for each in order
    ]
    events += [
        {"type": kind, "output_index": each, "item_id": "x", "delta": json.dumps({"id": f"ORD-{each}"})}
        for each in order
    ]
    events.append({"type": "response.completed", "response": response()})
    with scripted_server(Events(events), as_json(response(said("Done.")))) as server:
        reply = await one_turn(agent_for(server, stream=True))
    assert [(each.id, each.input) for each in reply.tool_calls or ()] == [
        ("a", {"id": "ORD-0"}),
        ("b", {"id": "ORD-1"}),
    ]


async def test_an_end_without_a_response_is_no_answer() -> None:
    with scripted_server(Events([{"type": "response.completed"}])) as server, pytest.raises(ProviderError):
        await one_turn(agent_for(server, stream=True))


async def test_a_call_without_an_id_has_none_and_is_answered_all_the_same() -> None:
    asked = {key: value for key, value in call("lookup_order", '{"id": "ORD-1"}').items() if key != "call_id"}
    with scripted_server(as_json(response(asked)), as_json(response(said("Done.")))) as server:
        reply = await one_turn(agent_for(server))
    assert [each.id for each in reply.tool_calls or ()] == [None]
    *_, sent, result = server.requests[1].json["input"]
    assert sent["call_id"] == result["call_id"] == "call_1"


@pytest.mark.parametrize("cut", [True, False])
async def test_a_stream_that_ends_too_early_is_unavailable_and_keeps_what_came(cut: bool) -> None:
    document = response(said("One moment."), call("lookup_order", '{"id": "ORD-1"}'))
    ctx = AgentContext()
    with (
        scripted_server(Events(events_of(document)[: 10 if cut else 9], cut=cut)) as server,
        pytest.raises(AgentUnavailable) as caught,
    ):
        await one_turn(agent_for(server, stream=True), ctx=ctx)
    assert caught.value.retryable
    spoken, started = ctx.take_emitted()
    assert spoken == Message("assistant", "One moment.")
    assert isinstance(started, ToolCallStarted)
    assert (started.call.status, started.call.raw_input) == ("pending", '{"id": ')
    assert isinstance(started.call.input, Absent)


@pytest.mark.parametrize("document", [{}, {"output": None}, {"output": ["text"]}, {"status": "completed"}])
async def test_an_answer_that_is_none_is_the_agents_failure(document: Any) -> None:
    with scripted_server(as_json(document)) as server, pytest.raises(ProviderError, match="protocol"):
        await one_turn(agent_for(server))


async def test_arguments_as_an_object_are_taken_as_they_are() -> None:
    answers = (response(call("lookup_order", {"id": "ORD-1"})), response(said("Done.")))
    with scripted_server(*map(as_json, answers)) as server:
        reply = await one_turn(agent_for(server))
    assert json.loads(json.dumps((reply.tool_calls or ())[0].input)) == {"id": "ORD-1"}
