"""Spans as pydantic-ai's instrumentation makes them and OpenTelemetry's exporter writes them, and spans by hand."""

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from opentelemetry.exporter.otlp.json.file.trace_exporter import FileSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.trace import Status, StatusCode, Tracer
from pydantic_ai import Agent, InstrumentationSettings, ModelRetry
from pydantic_ai.capabilities import Instrumentation
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from niceeval import Transcript, Usage, transcripts_from_otel

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the libraries themselves


@attrs.define
class Traces:
    """A tracer whose spans are written to a file, as they are in production."""

    provider: TracerProvider
    path: Path

    @property
    def tracer(self) -> Tracer:
        return self.provider.get_tracer("test")

    def exports(self) -> list[dict[str, Any]]:
        self.provider.force_flush()
        return [json.loads(line) for line in self.path.read_text().splitlines()]

    def read(self, **known: Any) -> dict[str, Transcript]:
        return dict(transcripts_from_otel(self.exports(), **known))

    def only(self) -> Transcript:
        (transcript,) = self.read().values()
        return transcript


@pytest.fixture
def traces(tmp_path: Path) -> Iterator[Traces]:
    path = tmp_path / "traces.jsonl"
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(FileSpanExporter(str(path))))
    yield Traces(provider, path)
    provider.shutdown()


def agent(traces: Traces, *responses: ModelResponse, **settings: Any) -> Agent:
    left = list(responses)

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return left.pop(0)

    told = InstrumentationSettings(tracer_provider=traces.provider, **settings)
    made = Agent(FunctionModel(answer), name="orders", capabilities=[Instrumentation(told)])

    @made.tool_plain(retries=2)
    def lookup(id: str) -> dict[str, str]:
        if id == "bad":
            raise ModelRetry("no such order")
        return {"state": "in transit"}

    return made


def asks(id: str, call_id: str) -> ModelResponse:
    return ModelResponse(
        parts=[ThinkingPart("Look it up."), ToolCallPart("lookup", {"id": id}, call_id)],
        usage=RequestUsage(input_tokens=10, output_tokens=5), finish_reason="tool_call",
    )  # fmt: skip


def says(text: str) -> ModelResponse:
    return ModelResponse(
        parts=[TextPart(text)], usage=RequestUsage(input_tokens=20, output_tokens=6), finish_reason="stop"
    )


def test_the_traces_of_one_conversation_are_its_turns(traces: Traces) -> None:
    made = agent(traces, asks("bad", "c1"), asks("ORD-1", "c2"), says("On its way."), says("You are welcome."))
    first = asyncio.run(made.run("Where is ORD-1?"))
    asyncio.run(made.run("Thanks", message_history=first.all_messages()))
    one, two = traces.only().turns
    assert (one.input, one.messages, one.status) == ("Where is ORD-1?", ("On its way.",), "completed")
    failed, found = one.tool_calls or ()
    assert (failed.name, failed.input, failed.status) == ("lookup", {"id": "bad"}, "failed")
    assert (found.output, found.status, found.id) == ({"state": "in transit"}, "completed", "c2")
    assert one.usage == Usage(input_tokens=40, output_tokens=16)
    assert [event.kind for event in one.events].count("thinking") == 2
    assert (two.input, two.messages, two.tool_calls, two.status) == ("Thanks", ("You are welcome.",), (), "completed")
    assert set(one.coverage.values()) == {"complete"}


def test_conversations_are_told_apart(traces: Traces) -> None:
    made = agent(traces, says("One."), says("Two."))
    asyncio.run(made.run("First"))
    asyncio.run(made.run("Second"))
    assert [[turn.messages for turn in found.turns] for found in traces.read().values()] == [[("One.",)], [("Two.",)]]


def test_where_the_content_was_not_recorded_only_its_shape_is_known(traces: Traces) -> None:
    made = agent(traces, asks("ORD-1", "c1"), says("On its way."), include_content=False)
    asyncio.run(made.run("Where is ORD-1?"))
    (turn,) = traces.only().turns
    assert [call.name for call in turn.tool_calls or ()] == ["lookup"]
    assert turn.usage == Usage(input_tokens=30, output_tokens=11)


def test_an_agent_that_is_called_as_a_tool_keeps_its_own_conversation(traces: Traces) -> None:
    inner = agent(traces, asks("ORD-2", "x1"), says("In transit."))
    outer = agent(traces, ModelResponse(parts=[ToolCallPart("ask", {}, "c1")]), says("On its way."))

    @outer.tool_plain
    async def ask() -> str:
        return (await inner.run("Where?")).output

    asyncio.run(outer.run("Where is ORD-2?"))
    (turn,) = traces.only().turns
    assert [(call.name, call.output) for call in turn.tool_calls or ()] == [("ask", "In transit.")]
    assert turn.messages == ("On its way.",)
    assert turn.coverage["tool_calls"] == "partial"
    assert "'orders'" in turn.reasons["tool_calls"]


def chat(traces: Traces, given: Any, made: Any, **attributes: Any) -> None:
    """Make the span of one call of a model."""
    about = {"gen_ai.operation.name": "chat", **{f"gen_ai.{name}": value for name, value in attributes.items()}}
    with traces.tracer.start_as_current_span("chat m", attributes=about) as span:
        for name, messages in (("gen_ai.input.messages", given), ("gen_ai.output.messages", made)):
            if messages is not None:
                span.set_attribute(name, messages if isinstance(messages, str) else json.dumps(messages))


def message(role: str, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"role": role, "parts": list(parts), **more}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "content": said}


ASKED = message("user", text("Where is it?"))


def test_a_history_that_was_shortened_is_said(traces: Traces) -> None:
    named = {"conversation.id": "a1"}
    chat(traces, [ASKED], [message("assistant", text("Here."), finish_reason="stop")], **named)
    other = [message("assistant", text("A summary.")), message("user", text("And now?"))]
    chat(traces, other, [message("assistant", text("There."), finish_reason="stop")], **named)
    first, second = traces.read()["a1"].turns
    assert first.coverage["messages"] == "partial"
    assert "not the ones before" in first.reasons["messages"]
    assert (second.input, second.messages) == ("And now?", ("There.",))


def test_a_turn_whose_history_stays_with_the_provider_goes_on(traces: Traces) -> None:
    named = {"conversation.id": "a1"}
    chat(traces, [ASKED], [message("assistant", text("Here."), finish_reason="stop")], **named)
    chat(traces, [message("user", text("Thanks"))], [message("assistant", text("Bye."), finish_reason="stop")], **named)
    first, second = traces.read()["a1"].turns
    assert (first.coverage["messages"], second.input, second.messages) == ("complete", "Thanks", ("Bye.",))


def test_a_call_of_the_model_that_failed_is_a_failed_turn(traces: Traces) -> None:
    with traces.tracer.start_as_current_span("chat m", attributes={"gen_ai.operation.name": "chat"}) as span:
        span.set_attribute("gen_ai.input.messages", json.dumps([ASKED]))
        span.set_status(Status(StatusCode.ERROR, "rate limited"))
    (turn,) = traces.only().turns
    assert (turn.input, turn.status) == ("Where is it?", "failed")
    assert "rate limited" in str(turn.events)


@pytest.mark.parametrize("reason", ["length", "content_filter", "error"])
def test_an_answer_that_was_cut_off_failed(traces: Traces, reason: str) -> None:
    chat(traces, [ASKED], [message("assistant", text("On i"), finish_reason=reason)])
    (turn,) = traces.only().turns
    assert (turn.status, turn.coverage["messages"]) == ("failed", "partial")


def test_of_several_answers_the_first_is_read_and_that_is_said(traces: Traces) -> None:
    answers = [message("assistant", text(said), finish_reason="stop") for said in ("One.", "Two.")]
    chat(traces, [ASKED], answers)
    (turn,) = traces.only().turns
    assert (turn.messages, turn.coverage["messages"]) == (("One.",), "partial")
    assert "2 answers" in turn.reasons["messages"]


def test_what_is_not_read_and_what_no_message_asks_for_is_said(traces: Traces) -> None:
    odd = message("assistant", {"type": "blob", "modality": "image", "content": "x"}, {"type": "tool_call", "id": "c1"})
    chat(traces, [message("user", {"type": "uri", "uri": "x"})], [odd], **{"conversation.id": "a1"})
    about = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "secret", "gen_ai.conversation.id": "a1"}
    with traces.tracer.start_as_current_span("execute_tool secret", attributes=about):
        pass
    (turn,) = traces.only().turns
    assert "'uri'" in turn.reasons["input"]
    assert "'blob'" in turn.reasons["messages"]
    assert "a call without a name" in turn.reasons["tool_calls"]
    assert "'secret', for which no message asks" in turn.reasons["tool_calls"]


def test_an_event_for_each_message_is_read_as_well(traces: Traces) -> None:
    about: Any = {"gen_ai.operation.name": "chat", "gen_ai.usage.prompt_tokens": 3, "gen_ai.usage.completion_tokens": 4}
    calls = [{"id": "c1", "type": "function", "function": {"name": "lookup", "arguments": '{"id": "ORD-1"}'}}]
    with traces.tracer.start_as_current_span("chat m", attributes=about) as span:
        span.add_event("gen_ai.system.message", {"content": "Be kind."})
        span.add_event("gen_ai.user.message", {"content": "Where is it?"})
        span.add_event("gen_ai.assistant.message", {"tool_calls": json.dumps(calls)})
        span.add_event("gen_ai.tool.message", {"id": "c1", "content": "in transit"})
        answer = {"role": "assistant", "content": "On its way."}
        span.add_event("gen_ai.choice", {"index": 0, "finish_reason": "stop", "message": json.dumps(answer)})
    (turn,) = traces.only().turns
    assert (turn.input, turn.messages, turn.status) == ("Where is it?", ("On its way.",), "completed")
    assert [(call.name, call.input, call.output) for call in turn.tool_calls or ()] == [
        ("lookup", {"id": "ORD-1"}, "in transit")
    ]
    assert turn.usage == Usage(input_tokens=3, output_tokens=4)


def test_messages_in_log_records_belong_to_the_span_they_name(traces: Traces) -> None:
    chat(traces, None, None)
    (export,) = traces.exports()
    span = export["resourceSpans"][0]["scopeSpans"][0]["spans"][0]

    def structured(value: Any) -> dict[str, Any]:
        if isinstance(value, str):
            return {"stringValue": value}
        if isinstance(value, list):
            return {"arrayValue": {"values": [structured(each) for each in value]}}
        return {"kvlistValue": {"values": [{"key": key, "value": structured(each)} for key, each in value.items()]}}

    record = {
        "traceId": span["traceId"], "spanId": span["spanId"], "eventName": "gen_ai.client.inference.operation.details",
        "attributes": [
            {"key": "gen_ai.input.messages", "value": structured([ASKED])},
            {"key": "gen_ai.output.messages", "value": structured([message("assistant", text("Here."))])},
        ],
    }  # fmt: skip
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}
    ((_, transcript),) = transcripts_from_otel([export, logs])
    assert [(turn.input, turn.messages) for turn in transcript.turns] == [("Where is it?", ("Here.",))]


def test_traces_about_something_else_are_no_conversations(traces: Traces) -> None:
    with traces.tracer.start_as_current_span("GET /", attributes={"http.request.method": "GET"}):
        pass
    assert traces.read() == {}


def _mangled(change: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], object]:
    return lambda export: change(export["resourceSpans"][0]["scopeSpans"][0]["spans"][0])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda export: export.clear(), "takes what OTLP exports as JSON"),
        (_mangled(lambda span: span.pop("traceId")), r"spans\[0\] has no traceId and spanId"),
        (_mangled(lambda span: span.update(startTimeUnixNano="soon")), "is no number: 'soon'"),
    ],
)
def test_what_is_no_export_is_refused_with_its_place(
    traces: Traces, change: Callable[[dict[str, Any]], object], sentence: str
) -> None:
    chat(traces, [ASKED], None)
    (export,) = traces.exports()
    change(export)
    with pytest.raises(ValueError, match=sentence):
        list(transcripts_from_otel(export))


def test_messages_that_are_none_are_refused(traces: Traces) -> None:
    chat(traces, '{"role": "user"}', None)
    with pytest.raises(ValueError, match=r"has gen_ai.input.messages that is no list of messages"):
        traces.read()


def test_without_messages_the_tools_that_ran_and_the_usage_are_what_is_known(traces: Traces) -> None:
    with traces.tracer.start_as_current_span("invoke_agent", attributes={"gen_ai.operation.name": "invoke_agent"}):
        chat(traces, None, None, **{"usage.input_tokens": 10, "usage.output_tokens": 5})
        about = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "lookup", "gen_ai.tool.call.id": "c1"}
        with traces.tracer.start_as_current_span("execute_tool lookup", attributes=about) as span:
            span.set_attribute("gen_ai.tool.call.arguments", '{"id": "ORD-1"}')
            span.set_attribute("error.type", "TimeoutError")
        chat(traces, None, None, **{"usage.input_tokens": 20, "usage.output_tokens": 6})
    (turn,) = traces.only().turns
    assert [(call.name, call.input, call.status) for call in turn.tool_calls or ()] == [
        ("lookup", {"id": "ORD-1"}, "failed")
    ]
    assert (turn.usage, turn.coverage["usage"]) == (Usage(input_tokens=30, output_tokens=11), "complete")
    assert (turn.coverage["messages"], turn.coverage["tool_calls"], turn.status) == ("partial", "partial", None)
    assert set(turn.reasons) == {"input", "messages", "tool_calls"}
    assert "not recorded" in turn.reasons["messages"]
