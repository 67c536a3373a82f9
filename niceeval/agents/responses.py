"""A model behind OpenAI's Responses API as an agent."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, ClassVar, Final, final

from niceeval.agents._model_agent import ModelAgent, Request
from niceeval.agents._model_turn import Asked, Ending, Said, Step, own_call, tokens
from niceeval.agents._provider_faults import fault_of_body
from niceeval.agents._stream_events import Assembler
from niceeval.agents._stream_responses import ResponsesAssembler
from niceeval.agents._tools import Outcome
from niceeval.events import Message, Thinking
from niceeval.reply import Usage
from niceeval.tool_call import ToolCall, ToolStatus
from niceeval_expect._evaluation import Absent

__all__ = ["OpenAIResponsesAgent"]

_CALLS: Final = {"function_call": "arguments", "custom_tool_call": "input"}
_WHY: Final = {
    "max_output_tokens": "the answer was cut off for its length (max_output_tokens)",
    "content_filter": "the provider's filter ended the answer (content_filter)",
}
_SILENT: Final = "the call's input was not reported"
_PARTS: Final = {"output_text": "text", "refusal": "refusal", "text": "text"}


@final
class OpenAIResponsesAgent(ModelAgent):
    """A model behind OpenAI's Responses API, at any address, that calls Python functions as its tools.

    >>> OpenAIResponsesAgent("gpt-5.4-mini", base_url="http://localhost:8000/v1", key_variable="")
    <OpenAIResponsesAgent gpt-5.4-mini, 0 tools>
    """

    _provider: ClassVar[str] = "openai"
    _url: ClassVar[str] = "https://api.openai.com/v1"
    _key: ClassVar[str] = "OPENAI_API_KEY"
    _client: ClassVar[str] = "AsyncOpenAI"
    _resource: ClassVar[str] = "responses"
    _named: ClassVar[tuple[str, ...]] = ("model", "input", "stream")

    def _asked(self, message: str) -> Sequence[Mapping[str, Any]]:
        return [{"role": "user", "content": message}]

    def _parameters_of(self, request: Request) -> dict[str, Any]:
        wanted = None
        if request.schema is not None:
            # Not strict: strict schemas are a part of JSON Schema, and what comes is checked anyway.
            wanted = {
                "format": {"type": "json_schema", "name": "output", "schema": dict(request.schema), "strict": False}
            }
        return {
            "model": request.model,
            "input": list(request.history),
            "instructions": self._instructions,
            "tools": [
                {
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": dict(tool.parameters),
                    "strict": False,
                }
                for tool in self._tools
            ]
            or None,
            "temperature": self._temperature,
            "max_output_tokens": self._max_tokens,
            "text": wanted,
        }

    def _opening(self, client: Any, parameters: Mapping[str, Any]) -> AbstractAsyncContextManager[Any]:
        opening: AbstractAsyncContextManager[Any] = client.responses.with_streaming_response.create(**parameters)
        return opening

    def _assembler(self) -> Assembler:
        return ResponsesAssembler()

    def _read(self, document: Mapping[str, Any], *, whole: bool = True) -> Step:
        ending, why = _ended(document)
        whole = whole and ending != "broken"
        said: list[Said] = []
        notes: list[tuple[str, str]] = []
        for item in _items(document):
            said += _read_item(item, notes, whole=whole)
        return Step(said=said, usage=_usage(document.get("usage")), ending=ending, why=why, notes=notes)

    def _kept(
        self, document: Mapping[str, Any], step: Step, outcomes: Sequence[Outcome]
    ) -> Sequence[Mapping[str, Any]]:
        items = [
            _with_id(item, place) if item.get("type") in _CALLS else item
            for place, item in enumerate(_items(document))
            if item.get("type") not in _CALLS or _is_call(item)
        ]
        calls = [item for item in items if item.get("type") in _CALLS]
        results = [
            {"type": f"{item['type']}_output", "call_id": item["call_id"], "output": outcome.text}
            for item, outcome in zip(calls, outcomes, strict=True)
        ]
        return [*items, *results]


def _ended(document: Mapping[str, Any]) -> tuple[Ending, str]:
    status = document.get("status")
    if status == "completed":
        return "whole", ""
    if status is None:
        return "unsaid", ""
    details = document.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    return "broken", _WHY.get(
        str(reason), f"the provider left the answer {status}" + (f" ({reason})" if reason else "")
    )


def _items(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    items = document.get("output")
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise fault_of_body(repr(document))
    return items


def _is_call(item: Mapping[str, Any]) -> bool:
    name = item.get("name")
    return isinstance(name, str) and bool(name.strip())


def _with_id(item: dict[str, Any], place: int) -> dict[str, Any]:
    # A result names the call that it answers: where the provider gave no id, the conversation needs one all the same.
    return item if item.get("call_id") else {**item, "call_id": f"call_{place + 1}"}


def _read_item(item: Mapping[str, Any], notes: list[tuple[str, str]], *, whole: bool) -> Sequence[Said]:
    kind = item.get("type")
    if kind == "message":
        return _message(item, notes)
    if kind == "reasoning":
        texts = [_texts(item.get(key)) for key in ("summary", "content")]
        return [Thinking(text) for text in texts if text][:1]
    if kind in _CALLS and _is_call(item):
        name, given = str(item["name"]), item.get(_CALLS[str(kind)])
        if kind == "custom_tool_call":
            # A custom tool takes free text: there is nothing to parse.
            return [Asked(name, Absent(_SILENT) if given is None else given, None, item.get("call_id"))]
        return [Asked.of(name, given, item.get("call_id"), whole=whole and item.get("status") != "incomplete")]
    if kind == "mcp_call" and _is_call(item):
        return [_called_by_provider(item)]
    what = "a call without a name" if kind in (*_CALLS, "mcp_call") else f"an item of type {kind!r}, which is not read"
    notes.append(("tool_calls", f"an answer has {what}"))
    return []


def _called_by_provider(item: Mapping[str, Any]) -> ToolCall:
    """Return a call of a tool on a server that the provider talks to by itself."""
    error, output, said = item.get("error"), item.get("output"), item.get("status")
    failed = bool(error) or said in ("failed", "incomplete")
    status: ToolStatus = "failed" if failed else "completed" if output is not None or said == "completed" else "pending"
    result = error if error and output is None else output
    return own_call(
        str(item["name"]), item.get("arguments"), result, status, id=item.get("id"), server=item.get("server_label")
    )


def _message(item: Mapping[str, Any], notes: list[tuple[str, str]]) -> Sequence[Message]:
    parts = item.get("content")
    texts: list[str] = []
    for part in parts if isinstance(parts, list) else ():
        kind = part.get("type") if isinstance(part, dict) else None
        text = part.get(_PARTS.get(str(kind), "")) if isinstance(part, dict) else None
        if isinstance(text, str):
            texts.append(text)
        else:
            notes.append(("messages", f"an answer has a part of type {kind!r}, which is not text"))
    text = "".join(texts)
    return [Message("assistant", text)] if text else []


def _texts(parts: object) -> str:
    found = [part.get("text") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    return "\n\n".join(text for text in found if isinstance(text, str) and text)


def _usage(given: object) -> Usage | None:
    usage = Usage(input_tokens=tokens(given, "input_tokens"), output_tokens=tokens(given, "output_tokens"))
    return None if usage == Usage() else usage
