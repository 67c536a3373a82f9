"""Which format a recorded conversation has, and its reader."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from niceeval.agents._steps import Knowledge
from niceeval.agents.openai import transcript_from_openai
from niceeval.transcript import Transcript
from niceeval.transcripts._otel_spans import is_otlp
from niceeval.transcripts._reading import get, is_list
from niceeval.transcripts.anthropic import transcript_from_anthropic
from niceeval.transcripts.langchain import transcript_from_langchain
from niceeval.transcripts.pydantic_ai import transcript_from_pydantic_ai
from niceeval.transcripts.responses import transcript_from_responses

__all__ = ["FORMATS", "MESSAGE_FORMATS", "format_of", "is_message", "read_as"]

_Reader: TypeAlias = Callable[..., Transcript]
MESSAGE_FORMATS: Final[Mapping[str, _Reader]] = {
    "openai": transcript_from_openai,
    "responses": transcript_from_responses,
    "anthropic": transcript_from_anthropic,
    "langchain": transcript_from_langchain,
    "pydantic-ai": transcript_from_pydantic_ai,
}
"""The formats in which a conversation is a list of messages, by name."""
FORMATS: Final = (*MESSAGE_FORMATS, "otel", "inspect", "jsonl", "auto")
_LANGCHAIN: Final = ("human", "ai", "AIMessageChunk", "HumanMessageChunk")
_BLOCKS: Final = ("tool_use", "tool_result", "server_tool_use", "mcp_tool_use", "mcp_tool_result", "redacted_thinking")


def is_message(value: object) -> bool:
    """Tell whether a value is one message of a conversation, and no conversation."""
    if not isinstance(value, Mapping) or "messages" in value or is_otlp(value):
        return False
    return "role" in value or "type" in value or ("kind" in value and "parts" in value) or "lc" in value


def format_of(conversation: object) -> str:
    """Return the name of the format that a conversation is in.

    Messages that are nothing but texts of a role read the same in several formats; they are ``"openai"``.

    Raises:
        ValueError: It is in none of them.

    >>> format_of([{"role": "user", "content": "Hello"}]), format_of([{"kind": "request", "parts": []}])
    ('openai', 'pydantic-ai')
    """
    if isinstance(conversation, Mapping):
        if isinstance(conversation.get("values"), Mapping):
            return "langchain"
        if "output" in conversation and "messages" not in conversation:
            return "responses"
    messages = conversation if is_list(conversation) else get(conversation, "messages")
    if not is_list(messages):
        raise ValueError(f"no list of messages is in it: {_shown(conversation)}")
    for message in messages:
        found = _format_of_message(message)
        if found is not None:
            return found
    if all(get(message, "role") is not None for message in messages):
        return "openai"
    raise ValueError(f"its messages are in none of the known formats: {_shown(messages)}")


def _format_of_message(message: object) -> str | None:
    """Return the format that a message can only be in; None where it may be in several."""
    kind = get(message, "type")
    if get(message, "kind") in ("request", "response") and is_list(get(message, "parts")):
        return "pydantic-ai"
    if kind in _LANGCHAIN or get(message, "lc") is not None or isinstance(get(message, "data"), Mapping):
        return "langchain"
    if get(message, "tool_calls") or get(message, "function_call") or get(message, "role") in ("tool", "function"):
        return "langchain" if kind in ("tool", "function") else "openai"
    content = get(message, "content")
    if is_list(content):
        kinds = {get(block, "type") for block in content}
        if kinds & set(_BLOCKS) or (get(message, "stop_reason") is not None and kind == "message"):
            return "anthropic"
        if kinds & {"input_text", "output_text"} and "role" in (message if isinstance(message, Mapping) else ()):
            return "responses"
        if "thinking" in kinds:
            return "anthropic"
    if get(message, "role") is None and kind is not None and kind not in ("tool", "function", "system"):
        return "responses"
    if get(message, "role") is None and is_list(get(message, "output")):
        return "responses"
    return "responses" if kind == "message" and get(message, "stop_reason") is None else None


def read_as(name: str, conversation: Any, known: Knowledge) -> Transcript:
    """Read a conversation in one of `MESSAGE_FORMATS`; ``"auto"`` and ``"jsonl"`` find out which.

    Raises:
        ValueError: It cannot be read.
    """
    if name in ("auto", "jsonl"):
        name = format_of(conversation)
    if name == "openai" and isinstance(conversation, Mapping):
        conversation = conversation.get("messages", conversation)
    return MESSAGE_FORMATS[name](
        conversation, tool_status=known.tool_status, turn_status=known.turn_status, tool_names=known.tool_names
    )


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return f"an object with {', '.join(map(repr, list(value)[:8])) or 'nothing in it'}"
    return f"{value!r:.120}" if not isinstance(value, Sequence) or value else "an empty list"
