"""Reads pydantic-ai's message history, as objects and as the JSON that `ModelMessagesTypeAdapter` writes.

The parts are those of https://ai.pydantic.dev/api/messages/.
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
from niceeval.events import ContextCompacted, ErrorEvent, Thinking
from niceeval.reply import Usage
from niceeval.tool_call import ToolStatus
from niceeval.transcript import Transcript
from niceeval.transcripts._reading import Parts, called, ending, get, is_list, listed, usage_of

__all__ = ["transcript_from_pydantic_ai"]

_OUTCOMES: Final[Mapping[object, ToolStatus]] = {
    "success": "completed",
    "failed": "failed",
    "retried": "failed",
    "interrupted": "failed",
    "denied": "rejected",
}
# What pydantic-ai returns to a call that gave the run its output.
_OUTPUT_TAKEN: Final = "Final result processed."
_ABOUT_MODEL: Final = (
    "system-prompt", "instruction", "instruction-delta", "instruction-digest", "instruction-baseline",
    "tool-availability-delta", "capability-load-delta", "model-settings-delta",
)  # fmt: skip
_NOT_WHOLE: Final = {
    "interrupted": "the answer was cut short (state interrupted)",
    "incomplete": "the answer was still being streamed (state incomplete)",
}


def transcript_from_pydantic_ai(
    messages: Any,
    /,
    *,
    tool_status: ToolStatusOf | None = None,
    turn_status: TurnStatusOf | None = None,
    tool_names: ToolNames | None = None,
) -> Transcript:
    """Read a recorded history of pydantic-ai, turn by turn.

    A turn begins with a user prompt. A tool return says how the call ended (``outcome``); where the model was asked to
    try again, the call failed, and one that was denied is rejected. A run that ended with a typed output is completed.

    Args:
        messages: The messages as objects or dicts, or as JSON text such as ``result.all_messages_json()``.
        tool_status: Says, from a call that has its result and no status, what its status is.
        turn_status: Says, from a turn whose status is not known, how it ended; None where it cannot tell.
        tool_names: The tools of servers that the reported names stand for.

    Raises:
        ValueError: It is no list of messages, or one of them is none; its place is named.

    >>> transcript_from_pydantic_ai([
    ...     {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Where is ORD-448192?"}]},
    ...     {"kind": "response", "finish_reason": "stop", "parts": [{"part_kind": "text", "content": "On its way."}]},
    ... ]).turns[0].status
    'completed'
    """
    if isinstance(messages, str | bytes | bytearray):
        try:
            messages = json.loads(messages)
        except ValueError as error:
            raise ValueError(f"transcript_from_pydantic_ai() got text that is no JSON: {error}") from None
    found = listed(messages, "transcript_from_pydantic_ai", "pydantic-ai messages")
    return transcript_of(_steps(found), Knowledge(tool_status, turn_status, tool_names))


def _steps(messages: Sequence[Any]) -> Iterator[Step]:
    for index, message in enumerate(messages):
        where = f"transcript_from_pydantic_ai() messages[{index}]"
        kind, parts = get(message, "kind"), get(message, "parts")
        if kind not in ("request", "response"):
            raise ValueError(f"{where} is of the kind {kind!r}; pydantic-ai's messages are 'request' and 'response'")
        if not is_list(parts):
            raise ValueError(f"{where} parts is a list, got {type(parts).__name__}")
        place = f"message {index}"
        yield from _request(parts, place) if kind == "request" else _said(message, parts, place)


def _request(parts: Sequence[Any], place: str) -> Iterator[Step]:
    asked: list[str] | None = None
    notes: list[tuple[str, str]] = []
    for part in parts:
        kind, content = get(part, "part_kind"), get(part, "content")
        if kind == "user-prompt":
            asked = [*(asked or []), _prompt(content, notes, place)]
        elif kind == "tool-return" or (kind == "retry-prompt" and get(part, "tool_name") is not None):
            outcome = "retried" if kind == "retry-prompt" else get(part, "outcome")
            yield _returned(part, place, outcome)
            if content == _OUTPUT_TAKEN and outcome in ("success", None):
                yield Ended("completed")
        elif kind in ("retry-prompt", "retry-feedback"):
            yield Happened(ErrorEvent(content if isinstance(content, str) else json.dumps(content, default=str)))
        elif kind not in _ABOUT_MODEL:
            yield Noted("tool_calls", f"{place} has a part of kind {kind!r}, which is not read")
    if asked is not None:
        yield Asked("\n\n".join(asked), notes)


def _prompt(content: object, notes: list[tuple[str, str]], place: str) -> str:
    if isinstance(content, str):
        return content
    texts = []
    for item in content if is_list(content) else [content]:
        text = item if isinstance(item, str) else get(item, "content") if get(item, "kind") == "text-content" else None
        if isinstance(text, str):
            texts.append(text)
        elif get(item, "kind") != "cache-point":
            notes.append(("input", f"{place} has content of kind {get(item, 'kind')!r}, which is not text"))
    return "".join(texts)


def _returned(part: object, place: str, outcome: object) -> Returned:
    known = get(part, "tool_call_id")
    return Returned(
        key=("id", None if known is None else str(known)),
        output=get(part, "content"),
        status=_OUTCOMES.get(outcome),
        place=place,
        name=get(part, "tool_name"),
    )


def _said(message: object, given: Sequence[Any], place: str) -> Iterator[Step]:
    parts, notes, unread = Parts(), list[tuple[str, str]](), False
    own = {str(get(part, "tool_call_id")): part for part in given if get(part, "part_kind") == "builtin-tool-return"}
    waiting = False
    for part in given:
        kind, content = get(part, "part_kind"), get(part, "content")
        if kind == "text" and isinstance(content, str):
            parts.text(content)
        elif kind == "thinking":
            if content:
                parts.add(Thinking(str(content)))
        elif kind in ("tool-call", "builtin-tool-call"):
            call = _call(part, own.pop(str(get(part, "tool_call_id")), None) if kind != "tool-call" else None)
            if isinstance(call, str):
                notes.append(("tool_calls", f"{place} has {call}"))
            else:
                waiting |= call.is_open
                parts.add(call)
        elif kind == "compaction":
            parts.add(ContextCompacted())
        elif kind != "builtin-tool-return":
            channel = "messages" if kind in ("file", "speech", "text") else "tool_calls"
            unread |= channel == "messages"
            notes.append((channel, f"{place} has a part of kind {kind!r}, which is not read"))
    for left in own.values():
        yield _returned(left, place, get(left, "outcome"))
    status, why = ending(get(message, "finish_reason"), "finish_reason", calls=waiting)
    if why is None and get(message, "state") in _NOT_WHOLE:
        status, why = "failed", _NOT_WHOLE[get(message, "state")]
    yield Said(
        parts=parts.done(unread=unread), place=place, usage=_usage(get(message, "usage")), status=status, why=why,
        notes=notes,
    )  # fmt: skip


def _call(part: object, result: object) -> Called | str:
    # A call without arguments has None in their place.
    arguments = {} if get(part, "args") is None else get(part, "args")
    more: dict[str, Any] = {}
    if result is not None:
        more = {"output": get(result, "content"), "status": _OUTCOMES.get(get(result, "outcome"))}
    return called(get(part, "tool_name"), arguments, get(part, "tool_call_id"), **more)


def _usage(given: object) -> Usage | None:
    found = usage_of(given, ("input_tokens",), ("output_tokens",)) or usage_of(
        given, ("request_tokens",), ("response_tokens",)
    )
    # Zeros stand where a model reported nothing.
    return None if found is not None and not (found.input_tokens or found.output_tokens) else found
