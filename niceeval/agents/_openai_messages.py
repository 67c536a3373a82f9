"""One OpenAI chat-completions message at a time: dicts or SDK objects, checked once, in one shape."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, final

import attrs

from niceeval.agents._arguments import parse_arguments
from niceeval.agents._unparsed_calls import looks_like_a_call
from niceeval_expect._evaluation import Absent

__all__ = ["RawCall", "RawMessage", "read_messages"]

_ROLES: Final = ("system", "developer", "user", "assistant", "tool", "function")
_TEXT_PARTS: Final = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
_SHOWN: Final = 2_000


@final
@attrs.frozen
class RawCall:
    """A tool call before its result is known. `legacy` calls are answered by name, the others by id."""

    name: str
    input: Any
    raw_input: str | None
    id: str | None
    legacy: bool


@final
@attrs.frozen
class RawMessage:
    """One message, read.

    `text` is None where the message has none; `notes` say what of it was not read, by channel.
    """

    index: int
    role: str
    text: str | None
    calls: tuple[RawCall, ...]
    notes: tuple[tuple[str, str], ...]
    thinking: str | None
    output: Any
    call_id: str | None
    name: str | None


def read_messages(messages: object, function: str) -> list[RawMessage]:
    """Return the messages in one shape.

    Args:
        messages: A list of dicts or SDK objects.
        function: The public function that was called, for error sentences.

    Raises:
        ValueError: It is not a list, or a message cannot be one; the sentence names its index.
    """
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Sequence):
        hint = ': pass its "messages"' if isinstance(messages, Mapping) and "messages" in messages else ""
        raise ValueError(f"{function}() takes a list of chat-completions messages, got {type(messages).__name__}{hint}")
    return [_read(message, index, f"{function}() messages[{index}]") for index, message in enumerate(messages)]


def _get(value: object, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else getattr(value, key, None)


def _read(message: object, index: int, where: str) -> RawMessage:
    role = _get(message, "role")
    if role is None:
        hint = ": pass .choices[0].message" if _get(message, "choices") else ""
        raise ValueError(f"{where} has no role, got {type(message).__name__}{hint}")
    if role not in _ROLES:
        raise ValueError(f"{where} has the role {role!r}; chat-completions messages have {', '.join(_ROLES)}")
    notes: list[tuple[str, str]] = []
    content = _get(message, "content")
    text: str | None = None
    calls: tuple[RawCall, ...] = ()
    thinking: str | None = None
    output: Any = None
    if role == "assistant":
        calls = _calls(message, index, where, notes)
        text = _assistant_text(message, content, bool(calls), index, where, notes)
        reasoning = _get(message, "reasoning_content") or _get(message, "reasoning")
        thinking = reasoning if isinstance(reasoning, str) else None
    elif role == "user":
        text = _text(content, "input", index, where, notes) or ""
    elif role in ("tool", "function"):
        output = _output(content)
    return RawMessage(
        index=index,
        role=role,
        text=text,
        calls=calls,
        notes=tuple(notes),
        thinking=thinking,
        output=output,
        call_id=_optional_text(_get(message, "tool_call_id")) if role == "tool" else None,
        name=_optional_text(_get(message, "name") or _get(message, "tool_name")),
    )


def _optional_text(value: object) -> str | None:
    return None if value is None else str(value)


def _text(content: object, channel: str, index: int, where: str, notes: list[tuple[str, str]]) -> str | None:
    """Return the text of a message: its text parts joined as they are; a part that is not text is noted."""
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, Mapping) or not isinstance(content, Sequence):
        raise ValueError(f"{where} content is text, a list of parts or null, got {type(content).__name__}")
    texts: list[str] = []
    for part in content:
        kind = "text" if isinstance(part, str) else _get(part, "type")
        text = part if isinstance(part, str) else _get(part, _TEXT_PARTS.get(str(kind), ""))
        if isinstance(text, str):
            texts.append(text)
        else:
            notes.append((channel, f"message {index} has a part of type {kind!r}, which is not text"))
    return "".join(texts) if texts or not content else None


def _assistant_text(
    message: object, content: object, has_calls: bool, index: int, where: str, notes: list[tuple[str, str]]
) -> str | None:
    text = _text(content, "messages", index, where, notes)
    refusal = _get(message, "refusal")
    if isinstance(refusal, str) and refusal:
        text = (text or "") + refusal
    if _get(message, "audio") is not None:
        notes.append(("messages", f"message {index} has audio, which is not text"))
    if text and not has_calls and looks_like_a_call(text):
        notes.append(("tool_calls", f"message {index} has text that looks like a tool call nobody parsed"))
    if has_calls:
        return text if text and text.strip() else None
    if text is None and any(channel == "messages" for channel, _ in notes):
        return None
    return text or ""


def _output(content: object) -> Any:
    """Return what a tool gave back, as it was; a list of text parts is the protocol's way to write a text."""
    if isinstance(content, Sequence) and not isinstance(content, str | bytes) and content:
        texts = [_get(part, "text") for part in content if _get(part, "type") == "text"]
        if len(texts) == len(content) and all(isinstance(text, str) for text in texts):
            return "".join(texts)
    return content


def _calls(message: object, index: int, where: str, notes: list[tuple[str, str]]) -> tuple[RawCall, ...]:
    listed = _get(message, "tool_calls")
    if listed is not None and (isinstance(listed, str | Mapping) or not isinstance(listed, Sequence)):
        raise ValueError(f"{where} tool_calls is a list or null, got {type(listed).__name__}")
    calls = [_call(entry, index, notes) for entry in listed or ()]
    legacy = _get(message, "function_call")
    if legacy is not None:
        calls.append(_function_call(legacy, None, True, index, notes))
    return tuple(call for call in calls if call is not None)


def _call(entry: object, index: int, notes: list[tuple[str, str]]) -> RawCall | None:
    call_id = _optional_text(_get(entry, "id"))
    custom = _get(entry, "custom")
    if custom is not None and _get(entry, "function") is None:
        # A custom tool takes free text: there is nothing to parse.
        name, text = _get(custom, "name"), _get(custom, "input")
        if isinstance(name, str) and name.strip():
            given = Absent("the call's input was not reported") if text is None else text
            return RawCall(name, given, None, call_id, False)
    return _function_call(_get(entry, "function"), call_id, False, index, notes)


def _function_call(
    function: object, id: str | None, legacy: bool, index: int, notes: list[tuple[str, str]]
) -> RawCall | None:
    name = _get(function, "name")
    if not isinstance(name, str) or not name.strip():
        notes.append(("tool_calls", f"message {index} has a call without a name: {str(function)[:_SHOWN]}"))
        return None
    arguments = _get(function, "arguments")
    given = parse_arguments(arguments)
    unreadable = isinstance(given, Absent) and isinstance(arguments, str)
    return RawCall(name, given, arguments if unreadable else None, id, legacy)
