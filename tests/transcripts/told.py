"""One conversation, told in every format: each by the library that writes the format, where there is one."""

import itertools
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

import attrs
from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSample, EvalSpec, write_eval_log
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageTool, ChatMessageUser, ModelOutput
from inspect_ai.model._call_tools import parse_tool_call
from inspect_ai.tool import ToolCallError, ToolInfo
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage, messages_to_dict
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from opentelemetry.exporter.otlp.json.file.trace_exporter import FileSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from pydantic import ValidationError
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from niceeval import (
    Transcript,
    transcript_from_anthropic,
    transcript_from_langchain,
    transcript_from_openai,
    transcript_from_pydantic_ai,
    transcript_from_responses,
    transcripts_from_inspect,
    transcripts_from_otel,
)


@attrs.frozen
class User:
    text: str


@attrs.frozen
class Says:
    text: str


@attrs.frozen
class Calls:
    """Calls of one message: id, name, and the arguments as the model wrote them."""

    calls: Sequence[tuple[str, str, str]]


@attrs.frozen
class Result:
    id: str
    output: str
    failed: bool | None = None


Told: TypeAlias = User | Says | Calls | Result


class NotSayable(Exception):
    """The format has no way to say this."""


def call(id: str, name: str, arguments: str = "{}") -> Calls:
    return Calls([(id, name, arguments)])


def openai(told: Sequence[Told], folder: Path) -> Transcript:
    messages: list[dict[str, Any]] = []
    for each in told:
        if isinstance(each, User):
            messages.append({"role": "user", "content": each.text})
        elif isinstance(each, Says):
            messages.append({"role": "assistant", "content": each.text})
        elif isinstance(each, Calls):
            calls = [
                {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
                for call_id, name, arguments in each.calls
            ]
            messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        else:
            messages.append({"role": "tool", "tool_call_id": each.id, "content": each.output})
    return transcript_from_openai(messages)


def responses(told: Sequence[Told], folder: Path) -> Transcript:
    items: list[Any] = []
    for each in told:
        if isinstance(each, User):
            items.append({"role": "user", "content": each.text})
        elif isinstance(each, Says):
            text = ResponseOutputText(text=each.text, type="output_text", annotations=[])
            items.append(
                ResponseOutputMessage(
                    id="msg", type="message", role="assistant", status="completed", content=[text]
                ).model_dump()
            )
        elif isinstance(each, Calls):
            items += [
                ResponseFunctionToolCall(
                    type="function_call", call_id=call_id, name=name, arguments=arguments
                ).model_dump()
                for call_id, name, arguments in each.calls
            ]
        else:
            items.append({"type": "function_call_output", "call_id": each.id, "output": each.output})
    return transcript_from_responses(items)


def anthropic(told: Sequence[Told], folder: Path) -> Transcript:
    messages: list[dict[str, Any]] = []
    for each in told:
        if isinstance(each, User):
            messages.append({"role": "user", "content": each.text})
        elif isinstance(each, Says):
            messages.append({"role": "assistant", "content": [{"type": "text", "text": each.text}]})
        elif isinstance(each, Calls):
            blocks = [
                {"type": "tool_use", "id": call_id, "name": name, "input": parsed(arguments)}
                for call_id, name, arguments in each.calls
            ]
            messages.append({"role": "assistant", "content": blocks})
        else:
            block = {"type": "tool_result", "tool_use_id": each.id, "content": each.output}
            messages.append(
                {"role": "user", "content": [block if each.failed is None else {**block, "is_error": each.failed}]}
            )
    return transcript_from_anthropic(messages)


def parsed(arguments: str) -> Any:
    """Return arguments as a protocol has them that carries no text."""
    if not arguments.strip():
        return {}
    try:
        found = json.loads(arguments)
    except ValueError:
        raise NotSayable("the arguments are an object here, and never text that could be broken") from None
    if not isinstance(found, dict):
        raise NotSayable("the arguments are an object here")
    return found


def langchain(told: Sequence[Told], folder: Path) -> Transcript:
    messages: list[BaseMessage] = []
    for each in told:
        if isinstance(each, User):
            messages.append(HumanMessage(each.text))
        elif isinstance(each, Says):
            messages.append(AIMessage(each.text))
        elif isinstance(each, Calls):
            raw = [
                {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
                for call_id, name, arguments in each.calls
            ]
            try:
                messages.append(AIMessage("", additional_kwargs={"tool_calls": raw}))
            except ValidationError:
                raise NotSayable("LangChain makes no message of these calls") from None
        else:
            messages.append(
                ToolMessage(each.output, tool_call_id=each.id, status="error" if each.failed else "success")
            )
    return transcript_from_langchain(messages_to_dict(messages))


def pydantic_ai(told: Sequence[Told], folder: Path) -> Transcript:
    messages: list[ModelMessage] = []
    names: dict[str, str] = {}
    for each in told:
        if isinstance(each, User):
            messages.append(ModelRequest(parts=[UserPromptPart(each.text)]))
        elif isinstance(each, Says):
            messages.append(ModelResponse(parts=[TextPart(each.text)]))
        elif isinstance(each, Calls):
            names.update({call_id: name for call_id, name, _ in each.calls})
            messages.append(
                ModelResponse(parts=[ToolCallPart(name, arguments, call_id) for call_id, name, arguments in each.calls])
            )
        else:
            returned = ToolReturnPart(
                names.get(each.id, "?"), each.output, each.id, outcome="failed" if each.failed else "success"
            )
            messages.append(ModelRequest(parts=[returned]))
    return transcript_from_pydantic_ai(ModelMessagesTypeAdapter.dump_json(messages))


def otel(told: Sequence[Told], folder: Path) -> Transcript:
    """One span for each message of the agent, with all messages before it, and one for each result of a tool."""
    path = folder / "traces.jsonl"
    exporter = FileSpanExporter(str(path))
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("test")
    history: list[dict[str, Any]] = []
    with tracer.start_as_current_span("invoke_agent", attributes={"gen_ai.operation.name": "invoke_agent"}):
        for each in told:
            message = _otel_message(each)
            if isinstance(each, Says | Calls):
                with tracer.start_as_current_span("chat m", attributes={"gen_ai.operation.name": "chat"}) as span:
                    span.set_attribute("gen_ai.input.messages", json.dumps(history))
                    span.set_attribute("gen_ai.output.messages", json.dumps([message]))
            elif isinstance(each, Result) and each.failed is not None:
                about = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.id": each.id}
                with tracer.start_as_current_span("execute_tool", attributes=about) as span:
                    if each.failed:
                        span.set_attribute("error.type", "ToolError")
            history.append(message)
    provider.shutdown()
    exports = [json.loads(line) for line in path.read_text().splitlines()]
    found = list(transcripts_from_otel(exports))
    return found[0][1]


def _otel_message(each: Told) -> dict[str, Any]:
    if isinstance(each, User):
        return {"role": "user", "parts": [{"type": "text", "content": each.text}]}
    if isinstance(each, Says):
        return {"role": "assistant", "parts": [{"type": "text", "content": each.text}]}
    if isinstance(each, Calls):
        calls = [
            {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}
            for call_id, name, arguments in each.calls
        ]
        return {"role": "assistant", "parts": calls}
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": each.id, "response": each.output}]}


_logs = itertools.count()


def inspect(told: Sequence[Told], folder: Path) -> Transcript:
    messages: list[ChatMessage] = []
    for each in told:
        if isinstance(each, User):
            messages.append(ChatMessageUser(content=each.text))
        elif isinstance(each, Says):
            messages.append(ChatMessageAssistant(content=each.text))
        elif isinstance(each, Calls):
            calls = [
                parse_tool_call(call_id, name, arguments, [ToolInfo(name=name, description="a tool")])
                for call_id, name, arguments in each.calls
            ]
            messages.append(ChatMessageAssistant(content="", tool_calls=calls))
        else:
            error = ToolCallError("unknown", each.output) if each.failed else None
            messages.append(ChatMessageTool(content=each.output, tool_call_id=each.id, error=error))
    path = folder / f"log-{next(_logs)}.eval"
    write_inspect_log(path, [EvalSample(id="a", epoch=1, input="", target="", messages=messages)])
    return dict(transcripts_from_inspect(path))["a"]


def write_inspect_log(path: Path, samples: list[EvalSample]) -> None:
    for sample in samples:
        if not sample.output.choices:
            sample.output = ModelOutput(model="m")
    spec = EvalSpec(
        created="2026-01-01T00:00:00+00:00", task="t", dataset=EvalDataset(), model="m", config=EvalConfig()
    )
    log = EvalLog(eval=spec, samples=samples, status="success")
    with ThreadPoolExecutor(1) as thread:
        # inspect_ai writes with an event loop of its own, and a test may run in one.
        thread.submit(write_eval_log, log, str(path)).result()


FORMATS: dict[str, Callable[[Sequence[Told], Path], Transcript]] = {
    "openai": openai,
    "responses": responses,
    "anthropic": anthropic,
    "langchain": langchain,
    "pydantic-ai": pydantic_ai,
    "otel": otel,
    "inspect": inspect,
}
