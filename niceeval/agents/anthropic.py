"""A model behind Anthropic's messages as an agent."""

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, ClassVar, Final, final

from niceeval.agents._model_agent import ModelAgent, Request
from niceeval.agents._model_turn import NOT_WHOLE, Asked, Ending, Said, Step, own_call, tokens
from niceeval.agents._provider_faults import fault_of_body
from niceeval.agents._stream_anthropic import RAW_INPUT, AnthropicAssembler
from niceeval.agents._stream_events import Assembler
from niceeval.agents._tools import Outcome
from niceeval.events import Message, Thinking
from niceeval.reply import Usage
from niceeval.tool_call import ToolStatus
from niceeval_expect._evaluation import Absent

__all__ = ["AnthropicAgent"]

_TOKENS: Final = 4_096
"""What Anthropic, which insists on a number, is told where nothing is configured."""
_ENDINGS: Final[Mapping[str, Ending]] = {
    "end_turn": "whole",
    "stop_sequence": "whole",
    "tool_use": "whole",
    "pause_turn": "paused",
    "max_tokens": "broken",
    "model_context_window_exceeded": "broken",
    "refusal": "broken",
}
_WHY: Final = {
    "max_tokens": "the answer was cut off for its length (stop_reason max_tokens)",
    "model_context_window_exceeded": "the answer was cut off, as the model's context was full "
    "(stop_reason model_context_window_exceeded)",
    "refusal": "the provider's classifiers ended the answer (stop_reason refusal)",
}
_READ: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_OWN: Final = ("server_tool_use", "mcp_tool_use")
_RESULT: Final = "_tool_result"


@final
class AnthropicAgent(ModelAgent):
    """A model behind Anthropic's messages, at any address, that calls Python functions as its tools.

    >>> AnthropicAgent("claude-sonnet-5", max_tokens=1024)
    <AnthropicAgent claude-sonnet-5, 0 tools>
    """

    _provider: ClassVar[str] = "anthropic"
    _url: ClassVar[str] = "https://api.anthropic.com"
    _key: ClassVar[str] = "ANTHROPIC_API_KEY"
    _client: ClassVar[str] = "AsyncAnthropic"
    _resource: ClassVar[str] = "messages"
    _named: ClassVar[tuple[str, ...]] = ("model", "messages", "max_tokens", "stream")

    def _asked(self, message: str) -> Sequence[Mapping[str, Any]]:
        return [{"role": "user", "content": message}]

    def _parameters_of(self, request: Request) -> dict[str, Any]:
        return {
            "model": request.model,
            "messages": list(request.history),
            "system": self._instructions,
            "tools": [
                {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}
                for tool in self._tools
            ]
            or None,
            "temperature": self._temperature,
            "max_tokens": self._max_tokens or _TOKENS,
            "output_config": _wanted(request.schema),
        }

    def _opening(self, client: Any, parameters: Mapping[str, Any]) -> AbstractAsyncContextManager[Any]:
        opening: AbstractAsyncContextManager[Any] = client.messages.with_streaming_response.create(**parameters)
        return opening

    def _assembler(self) -> Assembler:
        return AnthropicAssembler()

    def _read(self, document: Mapping[str, Any], *, whole: bool = True) -> Step:
        reason = document.get("stop_reason")
        ending: Ending = _ENDINGS.get(reason, "unsaid") if isinstance(reason, str) else "unsaid"
        blocks = _blocks(document)
        # Of an answer that was cut off, the last block is the one that may be missing something.
        cut = len(blocks) - 1 if ending == "broken" else len(blocks)
        said: list[Said] = []
        notes: list[tuple[str, str]] = []
        texts: list[str] = []
        own = _OwnResults(blocks)
        for place, block in enumerate(blocks):
            if block.get("type") == "text" and isinstance(block.get("text"), str):
                texts.append(block["text"])
                continue
            _say(said, texts)
            if own.reads(block):
                said += own.call(block)
                continue
            said += _read_block(block, notes, whole=place < cut and (whole or RAW_INPUT not in block))
        _say(said, texts)
        if reason == "tool_use" and not notes and not any(isinstance(each, Asked) for each in said):
            notes.append(("tool_calls", "an answer ended with stop_reason tool_use, and has no call"))
        return Step(
            said=said,
            usage=_usage(document.get("usage")),
            ending=ending,
            why=_why(str(reason), document.get("stop_details")),
            notes=notes,
        )

    def _kept(
        self, document: Mapping[str, Any], step: Step, outcomes: Sequence[Outcome]
    ) -> Sequence[Mapping[str, Any]]:
        blocks = [block for block in _blocks(document) if block.get("type") != "tool_use" or _is_call(block)]
        calls = [block for block in blocks if block.get("type") == "tool_use"]
        results = [
            {
                "type": "tool_result",
                "tool_use_id": block.get("id"),
                "content": outcome.text,
                **({"is_error": True} if outcome.failed else {}),
            }
            for block, outcome in zip(calls, outcomes, strict=True)
        ]
        kept: list[Mapping[str, Any]] = []
        if blocks:
            kept.append({"role": "assistant", "content": [_sendable(block) for block in blocks]})
        if results:
            kept.append({"role": "user", "content": results})
        return kept


def _wanted(schema: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return how the output is asked for; None where it cannot be.

    Anthropic takes a part of JSON Schema, into which its SDK translates. What it has no words for is not asked for:
    objects with keys of any name would come back empty, and some schemas the SDK gives up on.
    """
    if schema is None or _is_open(schema):
        return None
    from anthropic import transform_schema

    try:
        return {"format": {"type": "json_schema", "schema": transform_schema(dict(schema))}}
    except (ValueError, AssertionError):
        return None


def _is_open(schema: object) -> bool:
    """Whether a schema, or a part of it, takes objects with keys of any name."""
    if isinstance(schema, Mapping):
        open_here = schema.get("additionalProperties", False) is not False or "patternProperties" in schema
        bare = schema.get("type") == "object" and not schema.get("properties") and "additionalProperties" not in schema
        return open_here or bare or any(map(_is_open, schema.values()))
    return isinstance(schema, list) and any(map(_is_open, schema))


def _blocks(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    blocks = document.get("content")
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise fault_of_body(repr(document))
    return blocks


def _say(said: list[Said], texts: list[str]) -> None:
    """Add a text: blocks in a row are one text, which citations divide."""
    text = "".join(texts)
    texts.clear()
    if text:
        said.append(Message("assistant", text))


def _is_call(block: Mapping[str, Any]) -> bool:
    name = block.get("name")
    return isinstance(name, str) and bool(name.strip())


@final
class _OwnResults:
    """The calls that Anthropic carries out itself, which stand in one answer with their results."""

    def __init__(self, blocks: Sequence[Mapping[str, Any]]) -> None:
        self._calls = {block.get("id") for block in blocks if block.get("type") in _OWN and _is_call(block)}
        self._results = {
            block.get("tool_use_id"): block for block in blocks if str(block.get("type")).endswith(_RESULT)
        }

    def reads(self, block: Mapping[str, Any]) -> bool:
        """Whether a block is such a call, or the result of one that is there."""
        if str(block.get("type")).endswith(_RESULT):
            return block.get("tool_use_id") in self._calls
        return block.get("type") in _OWN and _is_call(block)

    def call(self, block: Mapping[str, Any]) -> Sequence[Said]:
        """Return the call of a block with its result; nothing for the block with the result."""
        if block.get("type") not in _OWN:
            return []
        result = self._results.get(block.get("id"), {})
        content, flag = result.get("content"), result.get("is_error")
        failed = flag is True or (isinstance(content, dict) and "error" in str(content.get("type")))
        status: ToolStatus = "failed" if failed else "completed" if result else "pending"
        given = block.get(RAW_INPUT, block.get("input"))
        return [
            own_call(
                str(block["name"]), given, content, status,
                id=block.get("id"), server=block.get("server_name"), whole=RAW_INPUT not in block,
            )
        ]  # fmt: skip


def _read_block(block: Mapping[str, Any], notes: list[tuple[str, str]], *, whole: bool) -> Sequence[Said]:
    kind = block.get("type")
    if kind == "thinking":
        text = block.get("thinking")
        return [Thinking(text)] if isinstance(text, str) and text else []
    if kind == "redacted_thinking":
        return []
    if kind == "tool_use" and _is_call(block):
        name, given = str(block["name"]), block.get("id")
        if RAW_INPUT in block:
            return [Asked.of(name, block[RAW_INPUT], given, whole=whole)]
        if not whole:
            # What was cut off is sent as if it were whole.
            return [Asked(name, Absent(NOT_WHOLE), json.dumps(block.get("input")), given)]
        return [Asked.of(name, block.get("input"), given, whole=True)]
    what = "a call without a name" if kind == "tool_use" else f"a block of type {kind!r}, which is not read"
    notes.append(("tool_calls", f"an answer has {what}"))
    return []


def _sendable(block: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a block as a request takes it: the input of a call is an object there, whatever came."""
    if not str(block.get("type")).endswith("tool_use"):
        return block
    kept = {key: value for key, value in block.items() if key != RAW_INPUT}
    if not isinstance(kept.get("input"), dict):
        kept["input"] = {"unreadable": block.get(RAW_INPUT, kept.get("input"))}
    return kept


def _why(reason: str, details: object) -> str:
    explanation = details.get("explanation") if isinstance(details, dict) else None
    why = _WHY.get(reason, "")
    return f"{why}: {explanation}" if why and explanation else why


def _usage(given: object) -> Usage | None:
    # What was written to the cache or read from it is not in input_tokens, and was read by the model all the same.
    usage = Usage(input_tokens=tokens(given, *_READ), output_tokens=tokens(given, "output_tokens"))
    return None if usage == Usage() else usage
