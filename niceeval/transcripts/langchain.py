"""Reads LangChain's messages, as objects and as they are dumped, and the state of LangGraph's graphs.

The fields are those of https://python.langchain.com/api_reference/core/messages.html.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from niceeval.agents._recorded import transcript_of
from niceeval.agents._steps import (
    Asked,
    Called,
    Ended,
    Happened,
    Knowledge,
    Noted,
    Returned,
    Said,
    Step,
    ToolStatusOf,
    TurnStatusOf,
)
from niceeval.agents.mcp_names import ToolNames
from niceeval.events import InputRequested, Thinking
from niceeval.tool_call import ToolStatus
from niceeval.transcript import Transcript
from niceeval.transcripts._reading import Parts, called, ending, get, is_list, only_text, usage_of
from niceeval_expect._evaluation import Absent

__all__ = ["transcript_from_langchain"]

_KINDS: Final[Mapping[str, str]] = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
    "system": "system",
    "developer": "system",
    "remove": "remove",
}
_STATUSES: Final[Mapping[object, ToolStatus]] = {"success": "completed", "error": "failed"}
_ENDINGS: Final = ("finish_reason", "stop_reason", "done_reason", "stopReason")
# The provider's own form of what stands in tool_calls besides.
_TWICE: Final = ("tool_use", "tool_call", "function_call", "invalid_tool_call", "input_json_delta")


def transcript_from_langchain(
    messages: Any,
    /,
    *,
    tool_status: ToolStatusOf | None = None,
    turn_status: TurnStatusOf | None = None,
    tool_names: ToolNames | None = None,
) -> Transcript:
    """Read a recorded conversation in LangChain's messages, turn by turn.

    Turns, results and coverage are as in `transcript_from_openai`. Tool messages say whether the tool succeeded, and
    ``invalid_tool_calls`` are calls whose arguments cannot be read. A graph that was interrupted waits for an answer.

    Args:
        messages: Message objects or dicts (``messages_to_dict``, ``model_dump``, ``dumpd``), or a LangGraph state: a
            mapping with ``messages``, or a snapshot with ``values``.
        tool_status: Says, from a call that has its result and no status, what its status is.
        turn_status: Says, from a turn whose status is not known, how it ended; None where it cannot tell.
        tool_names: The tools of servers that the reported names stand for.

    Raises:
        ValueError: It holds no list of messages, or one of them is none; its place is named.

    >>> transcript_from_langchain([
    ...     {"type": "human", "data": {"content": "Where is ORD-448192?"}},
    ...     {"type": "ai", "data": {"content": "", "tool_calls": [
    ...         {"name": "lookup", "args": {"id": "ORD-448192"}, "id": "c1", "type": "tool_call"}]}},
    ...     {"type": "tool", "data": {"content": "in transit", "tool_call_id": "c1", "status": "success"}},
    ...     {"type": "ai", "data": {"content": "It is on its way."}},
    ... ]).turns[0].tool_calls
    (ToolCall('lookup', {'id': 'ORD-448192'}, 'in transit', status='completed', id='c1'),)
    """
    values = get(messages, "values")
    state = values if isinstance(values, Mapping) else messages
    found = state if is_list(state) else get(state, "messages")
    if not is_list(found):
        raise ValueError(
            "transcript_from_langchain() takes a list of messages or a state that has them under 'messages', "
            f"got {type(messages).__name__}"
        )
    steps = [*_steps(found), *_interrupts(messages, state)]
    return transcript_of(steps, Knowledge(tool_status, turn_status, tool_names))


def _interrupts(snapshot: object, state: object) -> Iterator[Step]:
    waiting = get(state, "__interrupt__") or (None if snapshot is state else get(snapshot, "interrupts"))
    if not is_list(waiting) or not waiting:
        return
    for each in waiting:
        value = get(each, "value")
        yield Happened(
            InputRequested(value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False))
        )
    yield Ended("waiting")


def _steps(messages: Sequence[Any]) -> Iterator[Step]:
    for index, given in enumerate(messages):
        where = f"transcript_from_langchain() messages[{index}]"
        kind, message = _unpacked(given, where)
        place = f"message {index}"
        if kind == "user":
            yield Asked(*_user_text(get(message, "content"), place, where))
        elif kind == "assistant":
            yield _said(message, place, where)
        elif kind == "tool":
            yield _returned(message, place)
        elif kind == "remove":
            for channel in ("messages", "tool_calls"):
                yield Noted(channel, f"{place} removes another one, {get(message, 'id')!r}")


def _unpacked(given: object, where: str) -> tuple[str, object]:
    message: object = given
    if isinstance(given, Mapping) and isinstance(given.get("kwargs"), Mapping) and "lc" in given:
        message = given["kwargs"]
        named = str((given.get("id") or [""])[-1])
        kind: object = get(message, "type") or named.removesuffix("Chunk").removesuffix("Message").lower()
    elif isinstance(given, Mapping) and isinstance(given.get("data"), Mapping):
        message, kind = given["data"], given.get("type")
    else:
        kind = get(given, "type") or get(given, "role")
    if kind in ("chat", "ChatMessageChunk"):
        kind = get(message, "role")
    name = str(kind).removesuffix("MessageChunk").lower()
    if name not in _KINDS:
        raise ValueError(f"{where} is of type {kind!r}; LangChain's messages are {', '.join(_KINDS)}")
    return _KINDS[name], message


def _user_text(content: object, place: str, where: str) -> tuple[str, list[tuple[str, str]]]:
    texts, notes = list[str](), list[tuple[str, str]]()
    for block in _blocks(content, where):
        text = block if isinstance(block, str) else get(block, "text")
        if isinstance(text, str):
            texts.append(text)
        else:
            notes.append(("input", f"{place} has a part of type {get(block, 'type')!r}, which is not text"))
    return "".join(texts), notes


def _blocks(content: object, where: str) -> Sequence[Any]:
    if content is None or isinstance(content, str):
        return [content] if content else []
    if not is_list(content):
        raise ValueError(f"{where} content is text or a list of blocks, got {type(content).__name__}")
    return content


def _returned(message: object, place: str) -> Returned:
    known = get(message, "tool_call_id")
    return Returned(
        key=("id", None if known is None else str(known)),
        output=only_text(get(message, "content"), "text"),
        status=_STATUSES.get(get(message, "status")),
        place=place,
        name=get(message, "name"),
    )


def _said(message: object, place: str, where: str) -> Said:
    parts, notes, unread = Parts(), list[tuple[str, str]](), False
    listed = [*_listed(message, "tool_calls", where), *_listed(message, "invalid_tool_calls", where)]
    ids = {str(get(each, "id")) for each in listed}
    results = {
        str(get(block, "tool_call_id")): block
        for block in _blocks(get(message, "content"), where)
        if get(block, "type") == "server_tool_result"
    }
    for block in _blocks(get(message, "content"), where):
        kind = "text" if isinstance(block, str) else get(block, "type")
        if kind == "text" and isinstance(text := block if isinstance(block, str) else get(block, "text"), str):
            parts.text(text)
        elif kind in ("thinking", "reasoning", "reasoning_content"):
            if thought := get(block, "thinking") or get(block, "reasoning"):
                parts.add(Thinking(str(thought)))
        elif kind == "refusal" and isinstance(get(block, "refusal"), str):
            parts.text(get(block, "refusal"))
        elif kind == "server_tool_call":
            _add(parts, notes, place, _own_call(block, results.get(str(get(block, "id")))))
        elif kind in _TWICE and {str(get(block, "id")), str(get(block, "call_id"))} & ids:
            continue
        elif kind not in ("server_tool_result", "redacted_thinking", "input_json_delta"):
            notes.append(_unread(kind, place))
            unread |= notes[-1][0] == "messages"
    for call in listed:
        _add(parts, notes, place, _call(call))
    if not listed and get(get(message, "additional_kwargs"), "tool_calls"):
        notes.append(("tool_calls", f"{place} has calls in additional_kwargs that nobody parsed"))
    said = parts.done(unread=unread)
    about = get(message, "response_metadata")
    word = next((each for each in _ENDINGS if get(about, each) is not None), "finish_reason")
    waiting = any(isinstance(part, Called) and part.is_open for part in said)
    status, why = ending(get(about, word), word, calls=waiting)
    usage = usage_of(get(message, "usage_metadata"), ("input_tokens",), ("output_tokens",))
    return Said(parts=said, place=place, usage=usage, status=status, why=why, notes=notes)


def _unread(kind: object, place: str) -> tuple[str, str]:
    channel = "tool_calls" if "tool" in str(kind) or "call" in str(kind) or kind == "non_standard" else "messages"
    return channel, f"{place} has a block of type {kind!r}, which is not read"


def _listed(message: object, name: str, where: str) -> Sequence[Any]:
    found = get(message, name)
    if found is None:
        return []
    if not is_list(found):
        raise ValueError(f"{where} {name} is a list or null, got {type(found).__name__}")
    return found


def _call(given: object) -> Called | str:
    call = called(get(given, "name"), get(given, "args"), get(given, "id"))
    error = get(given, "error")
    if isinstance(call, Called) and isinstance(error, str) and error and not isinstance(call.input, Absent):
        # Blank and null arguments can be read as they are; whatever else it did not take, it did not call with.
        text = get(given, "args")
        if isinstance(text, str) and text.strip():
            return Called(name=call.name, input=Absent(f"the arguments cannot be read: {error.splitlines()[0]}"),
                          raw=text, id=call.id, key=call.key)  # fmt: skip
    return call


def _own_call(block: object, result: object) -> Called | str:
    more: dict[str, Any] = {}
    if result is not None:
        more = {"output": get(result, "output"), "status": _STATUSES.get(get(result, "status"))}
    return called(get(block, "name"), get(block, "args"), get(block, "id"), **more)


def _add(parts: Parts, notes: list[tuple[str, str]], place: str, call: Called | str) -> None:
    if isinstance(call, str):
        notes.append(("tool_calls", f"{place} has {call}"))
    else:
        parts.add(call)
