import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from typing import Annotated, Any

import anyio
import pytest
from anthropic import AsyncAnthropic
from openai import AsyncAzureOpenAI, AsyncOpenAI, OpenAI
from pydantic import BaseModel, Field

from niceeval import (
    AgentContext,
    AgentUnavailable,
    EvalContext,
    Message,
    OpenAIChatAgent,
    Thinking,
    ToolCallFinished,
    ToolCallStarted,
    Usage,
    define_eval,
    run_eval,
)
from niceeval.agents._provider_faults import ProviderError
from niceeval.agents.mcp_names import ToolNames
from niceeval_expect import Absent, json_match, tool_match
from tests.agents.contract import TOOLS, Scenario, Step, check_contract, each_scenario, lookup_order
from tests.agents.providers import Hanging, fault_answer, one_turn, sent_key
from tests.servers.scripted import Events, Plain, Request, ScriptedServer, as_json, scripted_server

pytestmark = pytest.mark.anyio


def call(name: str, arguments: str, id: str | None = "c1", **extra: Any) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}, **extra}


def completion(
    text: str | None = None,
    *calls: Mapping[str, Any],
    usage: Usage | None = None,
    finish: str | None = "stop",
    **message: Any,
) -> dict[str, Any]:
    said = {"role": "assistant", "content": text, **({"tool_calls": list(calls)} if calls else {}), **message}
    document: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "choices": [{"index": 0, "message": said, "finish_reason": finish}],
    }
    if usage is not None:
        document["usage"] = {"prompt_tokens": usage.input_tokens, "completion_tokens": usage.output_tokens}
    return document


def chunk(delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": dict(delta), "finish_reason": finish}],
        "usage": None,
    }


def piece(index: int | None = 0, id: str | None = None, name: str | None = None, arguments: str | None = None) -> Any:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    given = {key: value for key, value in (("index", index), ("id", id)) if value is not None}
    return chunk({"tool_calls": [{**given, "function": function}]})


DONE = (chunk({}, "tool_calls"), "[DONE]")


def streamed(step: Step) -> list[dict[str, Any] | str]:
    events: list[dict[str, Any] | str] = [chunk({"role": "assistant", "content": ""})]
    events += [chunk({"content": text}) for text in (step.text[:4], step.text[4:]) if text]
    for index, each in enumerate(step.calls):
        events.append(piece(index, each.id, each.name, ""))
        half = len(each.arguments) // 2
        events += [piece(index, arguments=text) for text in (each.arguments[:half], each.arguments[half:])]
    events.append(chunk({}, "tool_calls" if step.calls else "stop"))
    if step.usage is not None:
        used = {"prompt_tokens": step.usage.input_tokens, "completion_tokens": step.usage.output_tokens}
        events.append({"choices": [], "usage": used})
    return [*events, "[DONE]"]


def whole(step: Step) -> dict[str, Any]:
    calls = [call(each.name, each.arguments, each.id) for each in step.calls]
    return completion(step.text, *calls, usage=step.usage, finish="tool_calls" if calls else "stop")


def agent_for(server: ScriptedServer, **settings: Any) -> OpenAIChatAgent:
    given = {"tools": TOOLS, "base_url": f"{server.url}/v1", "key_variable": "", **settings}
    return OpenAIChatAgent("scripted-model", **given)


@contextmanager
def build(scenario: Scenario) -> Iterator[OpenAIChatAgent]:
    with scripted_server() as server:
        for exchange in scenario.exchanges:
            for step in exchange.steps:
                events = streamed(step)
                if exchange.fault is not None and step is exchange.steps[-1]:
                    server.script.append(fault_answer(exchange.fault, server, Events(events[:3], cut=True)))
                else:
                    server.script.append(Events(events) if scenario.stream else as_json(whole(step)))
        yield agent_for(server, stream=scenario.stream)
        assert server.script == []


@each_scenario
async def test_it_keeps_the_contract(scenario: Scenario) -> None:
    await check_contract(scenario, build, sees_pages=True)


async def test_a_request_says_what_was_configured() -> None:
    with scripted_server(as_json(completion("Hi."))) as server:
        agent = agent_for(
            server, tools=[lookup_order], instructions="Be brief.", temperature=0, max_tokens=50,
            parameters={"top_k": 4, "seed": 7},
        )  # fmt: skip
        await one_turn(agent)
    request = server.requests[0]
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    body = request.json
    assert body.pop("tools") == [
        {
            "type": "function",
            "function": {
                "name": "lookup_order",
                "description": "Look an order up.\n\nArgs:\n    id: The number of the order.",
                "parameters": {
                    "type": "object",
                    "properties": {"id": {"type": "string"}},
                    "required": ["id"],
                    "additionalProperties": False,
                },
            },
        }
    ]
    assert body == {
        "model": "scripted-model",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}],
        "temperature": 0,
        "max_tokens": 50,
        "top_k": 4,
        "seed": 7,
    }


async def test_a_parameter_that_is_none_is_not_sent() -> None:
    with scripted_server(Events(streamed(Step("Hi.")))) as server:
        await one_turn(agent_for(server, stream=True, parameters={"stream_options": None, "tools": None}))
    assert set(server.requests[0].json) == {"model", "messages", "stream"}


async def test_the_conversation_goes_on_in_one_session_and_starts_over_in_another() -> None:
    answers = (
        completion(None, call("lookup_order", '{"id": "ORD-1"}'), finish="tool_calls"),
        completion("It is in transit."),
        completion("You are welcome."),
        completion("Hello."),
    )
    with scripted_server(*map(as_json, answers)) as server:
        agent, ctx = agent_for(server), AgentContext()
        await one_turn(agent, "Where is ORD-1?", ctx)
        await one_turn(agent, "Thanks.", ctx)
        await one_turn(agent, "Hello")
    assert server.requests[2].json["messages"] == [
        {"role": "user", "content": "Where is ORD-1?"},
        {"role": "assistant", "tool_calls": [call("lookup_order", '{"id": "ORD-1"}')]},
        {"role": "tool", "tool_call_id": "c1", "content": "ORD-1 is in transit"},
        {"role": "assistant", "content": "It is in transit."},
        {"role": "user", "content": "Thanks."},
    ]
    assert server.requests[3].json["messages"] == [{"role": "user", "content": "Hello"}]


async def test_two_agents_keep_their_conversations_apart_in_one_session() -> None:
    ctx = AgentContext()
    with scripted_server(as_json(completion("One.")), as_json(completion("Two."))) as server:
        for _ in range(2):
            await one_turn(agent_for(server), "Hello", ctx)
    assert [len(request.json["messages"]) for request in server.requests] == [1, 1]


async def test_a_turn_that_broke_off_leaves_no_trace_in_the_conversation() -> None:
    ctx = AgentContext()
    with scripted_server(as_json({}, 500), as_json(completion("Hi."))) as server:
        agent = agent_for(server)
        with pytest.raises(AgentUnavailable):
            await one_turn(agent, "lost", ctx)
        await one_turn(agent, "Hello", ctx)
    assert server.requests[1].json["messages"] == [{"role": "user", "content": "Hello"}]


async def test_the_experiments_model_wins() -> None:
    with scripted_server(as_json(completion("Hi."))) as server:
        await one_turn(agent_for(server), ctx=AgentContext(model="other"))
    assert server.requests[0].json["model"] == "other"


async def test_structured_output_is_asked_for_by_its_schema() -> None:
    class Order(BaseModel):
        id: str
        paid: bool

    @define_eval
    async def asks(t: EvalContext) -> None:
        turn = await t.send("Which order?", output=Order)
        t.check(turn.data.paid, json_match(True))

    with scripted_server(as_json(completion('{"id": "ORD-1", "paid": true}'))) as server:
        run = await run_eval(asks, agent=agent_for(server))
    assert run.statuses == {"passed": 1}
    wanted = server.requests[0].json["response_format"]["json_schema"]
    assert wanted["schema"]["properties"].keys() == {"id", "paid"}


# -- how a turn ends


@pytest.mark.parametrize(
    ("finish", "status", "why"),
    [
        ("stop", "completed", None),
        (None, None, None),
        ("whatever", None, None),
        ("length", "failed", "cut off for its length"),
        ("content_filter", "failed", "filter"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_how_it_ended_is_what_the_provider_says(
    finish: str | None, status: str | None, why: str | None, stream: bool
) -> None:
    answer = (
        Events([chunk({"content": "Well, "}), chunk({}, finish), "[DONE]"])
        if stream
        else as_json(completion("Well, ", finish=finish))
    )
    with scripted_server(answer) as server:
        reply = await one_turn(agent_for(server, stream=stream))
    assert (reply.status, reply.message) == (status, "Well, ")
    assert reply.coverage["messages"] == ("partial" if why else "complete")
    errors = [event.text for event in reply.events or () if event.kind == "error"]
    assert len(errors) == (1 if why else 0)
    assert (why or "") in "".join(errors) + reply.reasons.get("messages", "")


async def test_calls_of_an_answer_that_was_cut_off_are_pending_and_none_is_carried_out() -> None:
    ran: list[str] = []

    def lookup(id: str = "") -> str:
        """Look up."""
        ran.append(id)
        return id

    calls = (call("lookup", '{"id": "1"}', "c1"), call("lookup", '{"id": "2', "c2"), call("lookup", "", "c3"))
    with scripted_server(as_json(completion(None, *calls, finish="length"))) as server:
        reply = await one_turn(agent_for(server, tools=[lookup]))
    found = reply.tool_calls or ()
    assert ran == []
    assert [each.status for each in found] == ["pending"] * 3
    assert (found[0].input, found[1].raw_input) == ({"id": "1"}, '{"id": "2')
    assert isinstance(found[1].input, Absent)
    assert isinstance(found[2].input, Absent), "blank arguments of an answer that was cut off are not {}"
    assert reply.coverage["tool_calls"] == "partial"


async def test_a_refusal_is_what_the_model_said() -> None:
    with scripted_server(as_json(completion(None, refusal="I cannot help with that."))) as server:
        reply = await one_turn(agent_for(server))
    assert (reply.status, reply.message) == ("completed", "I cannot help with that.")


async def test_a_turn_that_takes_too_many_steps_is_failed_and_its_last_calls_are_pending() -> None:
    again = completion("Let me look.", call("lookup_order", '{"id": "ORD-1"}'), finish="tool_calls")
    ctx = AgentContext()
    with scripted_server(as_json(again), as_json(again), as_json(completion("Hi."))) as server:
        agent = agent_for(server, most_steps=2)
        reply = await one_turn(agent, "Where?", ctx)
        await one_turn(agent, "Hello", ctx)
    assert reply.status == "failed"
    assert [each.status for each in reply.tool_calls or ()] == ["completed", "pending"]
    assert "2 answers" in str((reply.events or ())[-1].text)
    assert (reply.coverage["messages"], reply.coverage["tool_calls"]) == ("complete", "complete")
    results = [each for each in server.requests[2].json["messages"] if each["role"] == "tool"]
    assert [each["content"] for each in results] == [
        "ORD-1 is in transit",
        "this call was not carried out, as the turn had ended",
    ]


# -- tools


async def test_events_are_in_the_order_in_which_they_happened() -> None:
    first = completion("Let me look.", call("lookup_order", '{"id": "ORD-1"}'), reasoning_content="Hm.")
    ctx = AgentContext()
    with scripted_server(as_json(first), as_json(completion("In transit."))) as server:
        reply = await one_turn(agent_for(server), ctx=ctx)
    assert [type(event) for event in reply.events or ()] == [
        Thinking, Message, ToolCallStarted, ToolCallFinished, Message,
    ]  # fmt: skip
    assert ctx.take_emitted() == reply.events


class Address(BaseModel):
    street: str


async def test_tools_get_what_their_annotations_say_and_give_what_they_return() -> None:
    seen: list[Any] = []

    async def ship(
        to: Address, schema: Annotated[int, Field(ge=1)] = 1, *, _note: str | None = None
    ) -> dict[str, object]:
        """Ship it."""
        seen.append((to, schema, _note))
        return {"shipped": True, "parts": (1, 2)}

    given = '{"to": {"street": "Main St"}, "schema": "3", "_note": null}'
    with scripted_server(as_json(completion(None, call("ship", given))), as_json(completion("Done."))) as server:
        reply = await one_turn(agent_for(server, tools=[ship]))
    found = (reply.tool_calls or ())[0]
    assert seen == [(Address(street="Main St"), 3, None)]
    assert found.input == {"to": {"street": "Main St"}, "schema": "3", "_note": None}
    assert found.output == {"shipped": True, "parts": (1, 2)}
    assert json.loads(server.requests[1].json["messages"][-1]["content"]) == {"shipped": True, "parts": [1, 2]}


async def test_what_a_tool_does_to_its_arguments_is_not_what_the_model_asked_for() -> None:
    def add_parcel(order: dict[str, Any]) -> str:
        """Add it."""
        order["items"].append("parcel")
        return "ok"

    asked = completion(None, call("add_parcel", '{"order": {"items": []}}'))
    with scripted_server(as_json(asked), as_json(completion("Done."))) as server:
        reply = await one_turn(agent_for(server, tools=[add_parcel]))
    assert [each.input for each in reply.tool_calls or ()] == [{"order": {"items": []}}]


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no words")


def in_itself() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("result", "told"),
    [
        pytest.param(b"\xff\x00", r"b'\xff\x00'", id="bytes that are no text"),
        pytest.param(in_itself(), "[[...]]", id="a list in itself"),
        pytest.param("half \ud83d", "half \\ud83d", id="half of a character"),
        pytest.param(Unprintable(), "Unprintable object at", id="nothing to print"),
    ],
)
async def test_a_result_that_json_cannot_say_is_a_result(result: Any, told: str) -> None:
    def give() -> Any:
        """Give it."""
        return result

    with scripted_server(as_json(completion(None, call("give", "{}"))), as_json(completion("Done."))) as server:
        reply = await one_turn(agent_for(server, tools=[give]))
    assert [each.status for each in reply.tool_calls or ()] == ["completed"]
    assert told in server.requests[1].json["messages"][-1]["content"]


async def test_a_tool_that_wants_to_end_the_program_has_failed() -> None:
    def leave() -> None:
        """Leave."""
        sys.exit("no such account")

    with scripted_server(as_json(completion(None, call("leave", "{}"))), as_json(completion("Done."))) as server:
        reply = await one_turn(agent_for(server, tools=[leave]))
    assert [(each.output, each.status) for each in reply.tool_calls or ()] == [
        ("SystemExit: no such account", "failed")
    ]


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("lookup_order", '{"id": "ORD-0"}', "ValueError: no such order: ORD-0"),
        ("lookup_order", '{"id": 5}', "the arguments do not fit: id: Input should be a valid string"),
        ("lookup_order", "", "the arguments do not fit: id: Field required"),
        ("lookup_order", '{"id": "1", "x": 2}', "x: Extra inputs are not permitted"),
        ("lookup_order", "null", "to be a JSON object, got null"),
        ("lookup_order", '{}""', "cannot be read"),
        ("lookup_order", '"{\\"id\\": \\"1\\"}"', "JSON encoded twice"),
        ("delete_order", "{}", "there is no tool 'delete_order'; there are lookup_order, cancel_order"),
    ],
)
async def test_the_model_is_told_what_is_wrong_with_a_call(name: str, arguments: str, told: str) -> None:
    answers = (completion(None, call(name, arguments), finish="tool_calls"), completion("Sorry."))
    with scripted_server(*map(as_json, answers)) as server:
        reply = await one_turn(agent_for(server))
    found = (reply.tool_calls or ())[0]
    assert (found.name, found.status) == (name, "failed")
    assert told in str(found.output)
    assert server.requests[1].json["messages"][-1]["content"] == found.output


@pytest.mark.parametrize(
    ("arguments", "given", "raw"),
    [
        ('{"city": "Par', None, '{"city": "Par'),
        ("", {}, None),
        ('{}""', None, '{}""'),
        ('"{\\"city\\":\\"Oslo\\"}"', None, '"{\\"city\\":\\"Oslo\\"}"'),
        ({"city": "Oslo"}, {"city": "Oslo"}, None),
    ],
)
async def test_arguments_that_cannot_be_read_are_kept_as_text_and_never_become_empty(
    arguments: Any, given: Any, raw: str | None
) -> None:
    @define_eval
    async def asks(t: EvalContext) -> None:
        turn = await t.send("How is the weather?")
        turn.called_tool("weather").key("called")
        turn.called_tool(tool_match("weather", input={})).key("without arguments")

    answers = (completion(None, call("weather", arguments)), completion("Sorry."))
    with scripted_server(*map(as_json, answers)) as server:
        agent = agent_for(server)
        run = await run_eval(asks, agent=agent)
    outcomes = {each.requirement: each.evaluation.outcome for each in run.attempts[0].assertions}
    empty = "matched" if given == {} else "mismatched" if given else "unavailable"
    assert outcomes == {"called": "matched", "without arguments": empty}
    with scripted_server(*map(as_json, answers)) as server:
        found = ((await one_turn(agent_for(server))).tool_calls or ())[0]
    assert found.raw_input == raw
    assert isinstance(found.input, Absent) if given is None else found.input == given


class Shop:
    def __init__(self) -> None:
        self.seen: list[object] = []

    def find(self, words: list[str], limit: int | None = None, order: object = object) -> list[str]:
        """Find things."""
        self.seen.append((words, limit, order is object))
        return words


def logged(function: Any) -> Any:
    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


async def test_methods_and_decorated_functions_are_tools() -> None:
    shop = Shop()
    calls = (call("find", '{"words": ["cup"]}', "a"), call("lookup_order", '{"id": "ORD-1"}', "b"))
    with scripted_server(as_json(completion(None, *calls)), as_json(completion("Done."))) as server:
        reply = await one_turn(agent_for(server, tools=[shop.find, logged(lookup_order)]))
    assert [each.output for each in reply.tool_calls or ()] == [["cup"], "ORD-1 is in transit"]
    assert shop.seen == [(["cup"], None, True)]
    schema = server.requests[0].json["tools"][0]["function"]["parameters"]
    assert (schema["required"], list(schema["properties"])) == (["words"], ["words", "limit", "order"])


async def test_a_tool_that_cannot_reach_what_it_needs_makes_the_agent_unavailable() -> None:
    def lookup() -> str:
        """Look up."""
        raise AgentUnavailable("the warehouse is down")

    ctx = AgentContext()
    with (
        scripted_server(as_json(completion(None, call("lookup", "")))) as server,
        pytest.raises(AgentUnavailable, match="the warehouse is down"),
    ):
        await one_turn(agent_for(server, tools=[lookup]), ctx=ctx)
    assert [type(event) for event in ctx.take_emitted()] == [ToolCallStarted]


async def test_a_blocking_tool_does_not_hold_up_the_event_loop_and_a_timeout_keeps_its_call() -> None:
    let_go = threading.Event()

    def wait() -> str:
        """Wait."""
        let_go.wait(30)
        return "late"

    @define_eval
    async def asks(t: EvalContext) -> None:
        with suppress(AgentUnavailable):
            await t.send("Wait.", timeout=0.4)
        t.called_tool(tool_match("wait", status="pending"))

    with scripted_server(as_json(completion(None, call("wait", "{}")))) as server:
        run = await run_eval(asks, agent=agent_for(server, tools=[wait]))
    let_go.set()
    assert [each.evaluation.outcome for each in run.attempts[0].assertions] == ["matched"]


async def test_two_calls_with_one_id_in_one_step_stay_apart() -> None:
    calls = (call("lookup_order", '{"id": "ORD-1"}'), call("cancel_order", '{"id": "ORD-2"}'))
    with scripted_server(as_json(completion(None, *calls)), as_json(completion("Done."))) as server:
        reply = await one_turn(agent_for(server))
    assert [(each.name, each.output) for each in reply.tool_calls or ()] == [
        ("lookup_order", "ORD-1 is in transit"),
        ("cancel_order", "ORD-2 is cancelled"),
    ]


async def test_a_call_without_an_id_has_none_and_is_answered_all_the_same() -> None:
    answers = (completion(None, call("lookup_order", '{"id": "ORD-1"}', None)), completion("Done."))
    with scripted_server(*map(as_json, answers)) as server:
        reply = await one_turn(agent_for(server))
    assert (reply.tool_calls or ())[0].id is None
    asked, result = server.requests[1].json["messages"][1:]
    assert asked["tool_calls"][0]["id"] == result["tool_call_id"]


async def test_what_a_provider_adds_to_a_call_is_sent_back() -> None:
    signed = call("lookup_order", '{"id": "ORD-1"}', extra_content={"signature": "abc"})
    with scripted_server(as_json(completion(None, signed)), as_json(completion("Done."))) as server:
        await one_turn(agent_for(server))
    assert server.requests[1].json["messages"][1]["tool_calls"] == [signed]


async def test_a_call_by_the_older_protocol_is_answered_by_name() -> None:
    older = completion(None, function_call={"name": "lookup_order", "arguments": '{"id": "ORD-1"}'})
    with scripted_server(as_json(older), as_json(completion("Done."))) as server:
        reply = await one_turn(agent_for(server))
    assert [(each.name, each.status) for each in reply.tool_calls or ()] == [("lookup_order", "completed")]
    result = server.requests[1].json["messages"][-1]
    assert result == {"role": "function", "name": "lookup_order", "content": "ORD-1 is in transit"}


async def test_a_nameless_call_by_the_older_protocol_gets_no_answer_that_is_another_calls() -> None:
    asked = completion(None, call("lookup_order", '{"id": "ORD-1"}'), function_call={"arguments": "{}"})
    with scripted_server(as_json(asked), as_json(completion("Done."))) as server:
        await one_turn(agent_for(server))
    assert [sent["role"] for sent in server.requests[1].json["messages"]] == ["user", "assistant", "tool"]


async def test_names_of_servers_tools_are_resolved() -> None:
    def shop__lookup() -> str:
        """Look up."""
        return "found"

    with scripted_server(as_json(completion(None, call("shop__lookup", ""))), as_json(completion("Hi."))) as server:
        reply = await one_turn(agent_for(server, tools=[shop__lookup], tool_names=ToolNames({"shop": ["lookup"]})))
    found = (reply.tool_calls or ())[0]
    assert (found.server, found.name, found.output) == ("shop", "lookup", "found")


# -- what nobody parsed


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("text", "outcome"),
    [('<tool_call name="refund" args={"id":1}', "unavailable"), ("abc", "matched")],
)
async def test_a_call_that_nobody_parsed_is_not_no_call(text: str, outcome: str, stream: bool) -> None:
    @define_eval
    async def asks(t: EvalContext) -> None:
        (await t.send("Refund me.")).used_no_tools()

    answer = Events(streamed(Step(text))) if stream else as_json(completion(text))
    with scripted_server(answer) as server:
        run = await run_eval(asks, agent=agent_for(server, stream=stream))
    assert [each.evaluation.outcome for each in run.attempts[0].assertions] == [outcome]


@pytest.mark.parametrize("finish", ["tool_calls", "function_call"])
@pytest.mark.parametrize("stream", [True, False])
async def test_an_answer_that_ends_for_a_call_and_has_none_is_not_no_call(finish: str, stream: bool) -> None:
    @define_eval
    async def asks(t: EvalContext) -> None:
        (await t.send("hi")).used_no_tools()

    said = Events([chunk({"content": "Wait."}, finish), "[DONE]"])
    with scripted_server(said if stream else as_json(completion("Wait.", finish=finish))) as server:
        (result,) = (await run_eval(asks, agent=agent_for(server, stream=stream))).attempts
    assert (result.verdict, result.assertions[0].evaluation.outcome) == ("errored", "unavailable")
    assert "has no call" in str(result.reason)


async def test_a_part_that_is_not_text_and_a_call_without_a_name_are_noted() -> None:
    parts = [{"type": "text", "text": "See: "}, {"type": "image_url", "image_url": {"url": "x"}}]
    answer = completion(None, call("", "{}"))
    answer["choices"][0]["message"]["content"] = parts
    with scripted_server(as_json(answer)) as server:
        reply = await one_turn(agent_for(server))
    assert (reply.message, reply.tool_calls) == ("See: ", ())
    assert (reply.coverage["messages"], reply.coverage["tool_calls"]) == ("partial", "partial")
    assert "image_url" in reply.reasons["messages"]
    assert "without a name" in reply.reasons["tool_calls"]


# -- usage


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        ([{"prompt_tokens": 5, "completion_tokens": 2}] * 2, (10, 4)),
        ([{"prompt_tokens": 5, "completion_tokens": 2}, None], None),
        ([{"prompt_tokens": 5, "completion_tokens": 2}, {"prompt_tokens": 5}], (10, None)),
        ([{"prompt_tokens": 5}, {"completion_tokens": 2}], None),
        ([{}, {}], None),
        ([{"prompt_tokens": 0, "completion_tokens": 0}] * 2, (0, 0)),
        ([{"prompt_tokens": "5", "completion_tokens": True}] * 2, None),
    ],
)
async def test_usage_is_the_sum_of_what_every_answer_reports(used: Sequence[Any], expected: Any) -> None:
    answers = [completion(None, call("lookup_order", '{"id": "ORD-1"}')), completion("Done.")]
    with scripted_server(*(as_json({**each, "usage": use}) for each, use in zip(answers, used, strict=True))) as server:
        reply = await one_turn(agent_for(server))
    found = None if reply.usage is None else (reply.usage.input_tokens, reply.usage.output_tokens)
    assert found == expected
    assert reply.usage is None or reply.usage.cost_usd is None


# -- streams


def glued(*pieces: Any) -> Events:
    return Events([*pieces, *DONE])


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        pytest.param(
            [
                piece(0, "a", "f", '{"x"'),
                piece(1, "b", "g", '{"y"'),
                piece(0, arguments=": 1}"),
                piece(1, arguments=": 2}"),
            ],
            [("f", {"x": 1}), ("g", {"y": 2})],
            id="by index, interleaved",
        ),
        pytest.param(
            [
                piece(0, "a", "f", '{"x"'),
                piece(0, "b", "g", '{"y"'),
                piece(0, "a", None, ": 1}"),
                piece(0, "b", None, ": 2}"),
            ],
            [("f", {"x": 1}), ("g", {"y": 2})],
            id="by id, where every index is the same",
        ),
        pytest.param(
            [piece(None, "a", "f", '{"x"'), piece(None, None, None, ": 1}"), piece(None, "b", "g", "{}")],
            [("f", {"x": 1}), ("g", {})],
            id="the latest, where there is no index",
        ),
        pytest.param(
            [piece(0, "a", "f", '{"x"'), piece(0, "a", "f", ": 1}")],
            [("f", {"x": 1})],
            id="id and name again with every piece",
        ),
        pytest.param(
            [piece(0, "a", "f", '{"x"'), piece(0, "z", None, ": 1}")],
            [("f", {"x": 1})],
            id="a new id with every piece",
        ),
        pytest.param(
            [piece(0, "a", "f", '{"x": 1}'), piece(0, "a", "f", '{"x": 1}')],
            [("f", {"x": 1})],
            id="a whole call again",
        ),
        pytest.param(
            [
                piece(0, "a", "f", ""),
                piece(0, "a", "f", ""),
                piece(0, arguments='{"x": 1}'),
                piece(0, "a", "f", '{"x": 1}'),
            ],
            [("f", {"x": 1})],
            id="its beginning again, and a whole call at the end",
        ),
        pytest.param(
            [piece(0, None, "f", '{"x": 1}'), piece(0, None, "f", '{"x": 2}')],
            [("f", {"x": 1}), ("f", {"x": 2})],
            id="two whole calls without ids in one place",
        ),
        pytest.param(
            [piece(0, "a", "f", '{"x": 1}'), piece(1, "a", "f", '{"x": 2}')],
            [("f", {"x": 1}), ("f", {"x": 2})],
            id="one id for two calls",
        ),
        pytest.param(
            [
                piece(0, "a", "f", ""),
                piece(1, "a", "g", ""),
                piece(0, "a", None, '{"x"'),
                piece(1, "a", None, '{"y"'),
                piece(0, arguments=": 1}"),
                piece(1, arguments=": 2}"),
            ],
            [("f", {"x": 1}), ("g", {"y": 2})],
            id="one id for two calls, interleaved",
        ),
        pytest.param(
            [piece(1, "b", "g", '{"y"'), piece(0, "a", "f", '{"x": 1}'), piece(1, arguments=": 2}")],
            [("f", {"x": 1}), ("g", {"y": 2})],
            id="the second before the first",
        ),
        pytest.param(
            [chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": {"x": 1}}}]})],
            [("f", {"x": 1})],
            id="arguments that are an object",
        ),
        pytest.param(
            [piece(0, "a", "f", '{"x": "\ud83d'), piece(0, arguments='\ude00"}')],
            [("f", {"x": "\U0001f600"})],
            id="a character cut in two",
        ),
        pytest.param([piece(0, "a", "f")], [("f", {})], id="no arguments at all"),
        pytest.param(
            [piece(0, "a", "f", '{"x": "{}"'), piece(0, arguments="}")], [("f", {"x": "{}"})], id="braces in text"
        ),
    ],
)
async def test_calls_are_put_together_by_id_then_by_index(pieces: list[Any], expected: list[Any]) -> None:
    with scripted_server(glued(*pieces), Events(streamed(Step("Done.")))) as server:
        reply = await one_turn(agent_for(server, stream=True))
    assert [(each.name, each.input) for each in reply.tool_calls or ()] == expected


async def test_a_character_that_is_cut_in_two_is_one() -> None:
    events: list[Any] = [chunk({"content": "Hi \ud83d"}), chunk({"content": "\ude00"}), chunk({}, "stop"), "[DONE]"]
    with scripted_server(Events(events)) as server:
        assert (await one_turn(agent_for(server, stream=True))).message == "Hi \U0001f600"


async def test_a_stream_without_an_answer_is_unavailable() -> None:
    with scripted_server(Events(["[DONE]"])) as server, pytest.raises(AgentUnavailable, match="ended before"):
        await one_turn(agent_for(server, stream=True))


async def test_equal_pieces_of_text_both_count() -> None:
    events: list[Any] = [chunk({"content": "ha"}), chunk({"content": "ha"}), chunk({}, "stop"), "[DONE]"]
    with scripted_server(Events(events)) as server:
        assert (await one_turn(agent_for(server, stream=True))).message == "haha"


async def test_of_running_totals_the_last_counts() -> None:
    events: list[Any] = [
        {**chunk({"content": "Hi"}), "usage": {"prompt_tokens": 3, "completion_tokens": 1}},
        {**chunk({}, "stop"), "usage": {"prompt_tokens": 3, "completion_tokens": 2}},
        "[DONE]",
    ]
    with scripted_server(Events(events)) as server:
        reply = await one_turn(agent_for(server, stream=True))
    assert reply.usage == Usage(input_tokens=3, output_tokens=2)


@pytest.mark.parametrize("cut", [True, False])
async def test_a_stream_that_ends_too_early_is_unavailable_and_keeps_what_came(cut: bool) -> None:
    events = [
        chunk({"content": "One mo"}),
        chunk({"content": "ment."}),
        piece(0, "a", "lookup_order", '{"id": "ORD'),
        piece(1, "b", "cancel_order", ""),
        *([chunk({"content": "never"})] if cut else []),
    ]
    ctx = AgentContext()
    with scripted_server(Events(events, cut=cut)) as server, pytest.raises(AgentUnavailable) as caught:
        await one_turn(agent_for(server, stream=True), ctx=ctx)
    assert caught.value.retryable
    said, *calls = ctx.take_emitted()
    assert said == Message("assistant", "One moment.")
    found = [event.call for event in calls if isinstance(event, ToolCallStarted)]
    assert [(each.name, each.raw_input, each.status) for each in found] == [
        ("lookup_order", '{"id": "ORD', "pending"),
        ("cancel_order", None, "pending"),
    ]
    assert all(isinstance(each.input, Absent) for each in found)


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
        server.script.append(Hanging([chunk({"content": "One moment."})], server))
        run = await run_eval(asks, agent=agent_for(server, stream=True))
    assert run.statuses == {"errored": 1}
    assert said == ["One moment."]


async def test_a_connection_that_stays_open_after_the_end_is_not_waited_for() -> None:
    with scripted_server() as server:
        server.script.append(Hanging(streamed(Step("Hi.")), server))
        assert (await one_turn(agent_for(server, stream=True, timeout=60))).message == "Hi."


async def test_an_endpoint_that_does_not_stream_is_read_as_it_answers() -> None:
    with scripted_server(as_json(completion("Hi."))) as server:
        assert (await one_turn(agent_for(server, stream=True))).message == "Hi."


@pytest.mark.parametrize(
    ("error", "retryable"),
    [({"message": "busy", "code": 503}, True), ({"message": "slow", "type": "rate_limit_exceeded"}, True)],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_an_error_inside_an_answer_says_whether_it_was_reached(
    error: Mapping[str, Any], retryable: bool, stream: bool
) -> None:
    answer = Events([chunk({"content": "Hi"}), {"error": error}]) if stream else as_json({"error": error})
    with scripted_server(answer) as server, pytest.raises(AgentUnavailable, match=error["message"]) as caught:
        await one_turn(agent_for(server, stream=stream))
    assert caught.value.retryable is retryable


@pytest.mark.parametrize(
    "answer",
    [
        as_json({"error": {"message": "not for this text", "code": "invalid_prompt"}}),
        as_json([1, 2]),
        as_json({"choices": []}),
        as_json({"choices": [{"message": "text"}]}),
        as_json(completion(None, tool_calls="text")),
        Events([chunk({"content": "Hi"}), "{not json"]),
        Events(["[1]"]),
    ],
)
async def test_an_answer_that_is_none_is_the_agents_failure(answer: Any) -> None:
    with scripted_server(answer) as server, pytest.raises(ProviderError):
        await one_turn(agent_for(server, stream=isinstance(answer, Events)))


@pytest.mark.parametrize(
    ("status", "error", "headers", "retryable", "after"),
    [
        (429, {"message": "spent", "code": "insufficient_quota"}, {}, False, None),
        (429, {"message": "slow"}, {"retry_after": "3"}, True, 3.0),
        (429, {"message": "slow"}, {"retry_after": "3", "retry_after_ms": "2500"}, True, 2.5),
        (503, {"message": "down"}, {"retry_after": "9"}, True, 9.0),
        (429, {"message": "slow"}, {"retry_after_ms": "9" * 400, "retry_after": "3"}, True, 3.0),
        (429, {"message": "slow"}, {"retry_after_ms": "9" * 5000}, True, None),
        (403, {"message": "no"}, {}, False, None),
        (404, {"message": "no such model"}, {}, False, None),
        (405, {"message": "not here"}, {}, False, None),
        (407, {"message": "who are you"}, {}, False, None),
        (410, {"message": "retired"}, {}, False, None),
        (300, {"message": "moved"}, {}, False, None),
    ],
)
async def test_an_error_status_says_whether_trying_again_can_help(
    status: int, error: Mapping[str, Any], headers: Mapping[str, str], retryable: bool, after: float | None
) -> None:
    with (
        scripted_server(as_json({"error": error}, status, **headers)) as server,
        pytest.raises(AgentUnavailable, match=f"{status}: {error['message']}") as caught,
    ):
        await one_turn(agent_for(server))
    assert (caught.value.retryable, caught.value.retry_after) == (retryable, after)
    assert len(server.requests) == 1, "the SDK must not try again by itself"


async def test_nobody_listening_is_unavailable() -> None:
    with scripted_server() as server:
        url = server.url
    with pytest.raises(AgentUnavailable, match="cannot be reached"):
        await one_turn(OpenAIChatAgent("m", base_url=url, key_variable=""))


async def test_a_provider_that_is_silent_for_too_long_is_unavailable() -> None:
    with scripted_server() as server:
        server.script.append(server.silent())
        with pytest.raises(AgentUnavailable, match=r"silent for 0\.2 s"):
            await one_turn(agent_for(server, timeout=0.2))


@pytest.mark.parametrize("proxy", ["notaurl://", "socks9://127.0.0.1:9"])
async def test_a_proxy_that_nobody_can_use_is_no_result(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    with scripted_server() as server, pytest.raises(AgentUnavailable, match="no client can be made") as caught:
        await one_turn(agent_for(server))
    assert not caught.value.retryable


async def test_a_message_that_cannot_be_sent_is_no_result() -> None:
    with scripted_server() as server, pytest.raises(AgentUnavailable, match="cannot be sent") as caught:
        await one_turn(agent_for(server), "half \ud83d")
    assert not caught.value.retryable


async def test_a_stream_is_known_by_what_it_says_where_its_type_does_not() -> None:
    said = "".join(f"data: {json.dumps(each)}\n\n" for each in (chunk({"content": "Hi"}), chunk({}, "stop")))
    with scripted_server(Plain(f": hello\n\n{said}data: [DONE]\n\n", type="text/plain")) as server:
        assert (await one_turn(agent_for(server, stream=True))).message == "Hi"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
async def test_an_answer_may_say_how_it_is_encoded(encoding: str) -> None:
    with scripted_server(Plain(json.dumps(completion("On its way.")).encode(encoding))) as server:
        assert (await one_turn(agent_for(server))).message == "On its way."


# -- settings


async def test_the_key_is_sent_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_MODEL", "sk-very-secret-1234")

    @define_eval
    async def asks(t: EvalContext) -> None:
        turn = await t.send("Hello")
        t.check(turn.message, json_match("x"))

    with scripted_server(as_json(completion("Your key is sk-very-secret-1234."))) as server:
        run = await run_eval(asks, agent=agent_for(server, key_variable="SHOP_MODEL"))
    assert sent_key(server.requests[0]) == "Bearer sk-very-secret-1234"
    assert "sk-very-secret" not in run.attempts[0].model_dump_json()


@pytest.mark.parametrize(
    ("value", "said"), [(None, "is not set"), ("  ", "is not set"), ("sk-\u201cx\u201d", "no key has")]
)
async def test_a_key_that_is_not_there_is_no_result(
    monkeypatch: pytest.MonkeyPatch, value: str | None, said: str
) -> None:
    if value is None:
        monkeypatch.delenv("SHOP_MODEL", raising=False)
    else:
        monkeypatch.setenv("SHOP_MODEL", value)
    with pytest.raises(AgentUnavailable, match=f"SHOP_MODEL.*{said}") as caught:
        await one_turn(OpenAIChatAgent("m", key_variable="SHOP_MODEL"))
    assert not caught.value.retryable


async def test_without_a_model_there_is_no_result() -> None:
    with pytest.raises(AgentUnavailable, match="no model is named") as caught:
        await one_turn(OpenAIChatAgent(key_variable=""))
    assert not caught.value.retryable


async def test_a_client_of_your_own_is_used_and_stays_open() -> None:
    with scripted_server(as_json({}, 500), as_json(completion("Hi.")), as_json(completion("Hi."))) as server:
        async with AsyncOpenAI(api_key="mine", base_url=server.url, max_retries=5) as client:
            agent = OpenAIChatAgent("m", client=client)
            with pytest.raises(AgentUnavailable):
                await one_turn(agent)
            for _ in range(2):
                await one_turn(agent)
    assert {sent_key(request) for request in server.requests} == {"Bearer mine"}
    assert len(server.requests) == 3


def test_an_agent_serves_one_event_loop_after_another() -> None:
    with scripted_server(as_json(completion("Hi.")), as_json(completion("Hi."))) as server:
        agent = agent_for(server)
        for backend in ("asyncio", "trio"):
            assert anyio.run(one_turn, agent, backend=backend).message == "Hi."


async def test_one_agent_serves_many_attempts_at_a_time() -> None:
    def echoed(request: Request) -> Any:
        messages = request.json["messages"]
        if messages[-1]["role"] == "user":
            return as_json(completion(None, call("lookup_order", json.dumps({"id": messages[-1]["content"]}))))
        return as_json(completion(messages[-1]["content"]))

    @define_eval(cases={str(number): f"ORD-{number}" for number in range(1, 31)})
    async def asks(t: EvalContext, case: str) -> None:
        turn = await t.send(case)
        turn.called_tool(tool_match("lookup_order", input={"id": case}).exactly(1))
        t.check(turn.message, json_match(f"{case} is in transit"))

    with scripted_server() as server:
        server.answer = echoed
        run = await run_eval(asks, agent=agent_for(server))
    assert run.statuses == {"passed": 30}


def no_name(*parts: str) -> str:
    return ""


def any_name(**parts: str) -> str:
    return ""


def by_place(part: str, /) -> str:
    return ""


class Opaque:
    pass


def opaque(part: Opaque) -> str:
    return ""


def unknown(part: Any) -> str:
    return ""


unknown.__annotations__["part"] = "Nowhere"


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"tools": lookup_order}, TypeError, "is a list of functions"),
        ({"tools": ["lookup"]}, TypeError, "tools are functions"),
        ({"tools": [Opaque]}, TypeError, "tools are functions"),
        ({"tools": [lambda name: name]}, TypeError, "no name that a model can call"),
        ({"tools": [lookup_order, lookup_order]}, ValueError, "two tools named 'lookup_order'"),
        ({"tools": [no_name]}, TypeError, "'parts' takes any number of arguments"),
        ({"tools": [any_name]}, TypeError, "'parts' takes arguments of any name"),
        ({"tools": [by_place]}, TypeError, "'part' is positional only"),
        ({"tools": [opaque]}, TypeError, "no JSON Schema"),
        ({"tools": [unknown]}, TypeError, "cannot be read"),
        ({"model": ""}, TypeError, "model is text"),
        ({"instructions": 5}, TypeError, "instructions is text"),
        ({"base_url": "localhost:80"}, ValueError, "base_url is an address"),
        ({"key_variable": "sk-abc"}, ValueError, "is not the key itself"),
        ({"temperature": -1}, ValueError, "temperature is at least 0"),
        ({"temperature": "hot"}, TypeError, "temperature is a number"),
        ({"max_tokens": 0}, ValueError, "max_tokens is at least 1"),
        ({"most_steps": 0}, ValueError, "most_steps is at least 1"),
        ({"most_steps": True}, TypeError, "most_steps is a whole number"),
        ({"timeout": 0}, ValueError, "timeout is above 0"),
        ({"timeout": float("inf")}, ValueError, "timeout is above 0"),
        ({"tool_names": ["shop"]}, TypeError, "tool_names is a ToolNames"),
        ({"client": object()}, TypeError, "client is an async client such as AsyncOpenAI"),
        ({"client": OpenAI(api_key="mine")}, TypeError, "client is an async client"),
        ({"client": AsyncAnthropic(api_key="mine")}, TypeError, "client is an async client"),
        ({"parameters": ["seed"]}, TypeError, "parameters is a mapping"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(settings: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        OpenAIChatAgent(**settings)


@pytest.mark.parametrize(("kind", "sdk"), [("OpenAIChatAgent", "openai"), ("AnthropicAgent", "anthropic")])
def test_an_sdk_that_is_not_installed_is_no_result_and_is_named(kind: str, sdk: str) -> None:
    code = (
        f"import sys; sys.modules[{sdk!r}] = None\n"
        f"import anyio, niceeval\n"
        f"agent = niceeval.{kind}('m', key_variable='')\n"
        f"try:\n    anyio.run(agent.reply, 'Hello', niceeval.AgentContext())\n"
        f"except niceeval.AgentUnavailable as error:\n    print(error.retryable, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    assert done.stdout.startswith(f'False the SDK is not installed: pip install "niceeval[{sdk}]"')


def test_clients_for_clouds_are_clients() -> None:
    client = AsyncAzureOpenAI(api_key="mine", azure_endpoint="https://example.com", api_version="2025-01-01")
    assert "gpt" in repr(OpenAIChatAgent("gpt", client=client))


def test_it_says_what_it_is() -> None:
    assert repr(OpenAIChatAgent("m", tools=TOOLS)) == "<OpenAIChatAgent m, 2 tools>"
    assert repr(OpenAIChatAgent(tools=[lookup_order])) == "<OpenAIChatAgent without a model, 1 tool>"
