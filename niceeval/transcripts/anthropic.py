"""Reads messages as Anthropic's API has them: contents in blocks, results of tools in the user's messages.

The blocks are those of https://docs.claude.com/en/api/messages, as dicts or SDK objects.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

import attrs

from niceeval.agents._recorded import transcript_of
from niceeval.agents._steps import Asked, Called, Knowledge, Returned, Said, Step, ToolStatusOf, TurnStatusOf
from niceeval.agents.mcp_names import ToolNames
from niceeval.events import ContextCompacted, Thinking
from niceeval.tool_call import ToolStatus
from niceeval.transcript import Transcript
from niceeval.transcripts._reading import Parts, called, ending, get, is_list, listed, only_text, usage_of

__all__ = ["transcript_from_anthropic"]

_ROLES: Final = ("user", "assistant", "system")
_CALLS: Final = ("tool_use", "server_tool_use", "mcp_tool_use")
_READ: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
# What a user's message says without being a question.
_SILENT: Final = ("tool_result", "mcp_tool_result")


def transcript_from_anthropic(
    messages: Any,
    /,
    *,
    tool_status: ToolStatusOf | None = None,
    turn_status: TurnStatusOf | None = None,
    tool_names: ToolNames | None = None,
) -> Transcript:
    """Read a recorded conversation with Anthropic's messages, turn by turn.

    A turn is what the user said and everything up to the next thing the user said; a message that brings only results
    of tools belongs to the turn that asked for them. Results and coverage are as in `transcript_from_openai`. A result
    with ``is_error`` failed or completed, one without it has the status None. A whole response among the messages says
    how it ended (``stop_reason``) and what it used; messages as they are sent do not.

    Args:
        messages: The messages, as dicts or SDK objects; or a mapping that has them under ``messages``.
        tool_status: Says, from a call that has its result and no status, what its status is.
        turn_status: Says, from a turn whose status is not known, how it ended; None where it cannot tell.
        tool_names: The tools of servers that the reported names stand for.

    Raises:
        ValueError: It is no list of messages, or one of them is none; its place is named.

    >>> transcript_from_anthropic([
    ...     {"role": "user", "content": "Where is ORD-448192?"},
    ...     {"role": "assistant", "content": [
    ...         {"type": "tool_use", "id": "t1", "name": "lookup", "input": {"id": "ORD-448192"}}]},
    ...     {"role": "user", "content": [
    ...         {"type": "tool_result", "tool_use_id": "t1", "content": "unknown order", "is_error": True}]},
    ...     {"role": "assistant", "content": "I cannot find it."},
    ... ]).turns[0].tool_calls
    (ToolCall('lookup', {'id': 'ORD-448192'}, 'unknown order', status='failed', id='t1'),)
    """
    found = listed(messages, "transcript_from_anthropic", "Anthropic messages")
    return transcript_of(_steps(found), Knowledge(tool_status, turn_status, tool_names))


def _steps(messages: Sequence[Any]) -> Iterator[Step]:
    for index, message in enumerate(messages):
        where = f"transcript_from_anthropic() messages[{index}]"
        role = get(message, "role")
        if role not in _ROLES:
            raise ValueError(f"{where} has the role {role!r}; Anthropic's messages have {', '.join(_ROLES)}")
        content = get(message, "content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if not is_list(blocks):
            raise ValueError(f"{where} content is text or a list of blocks, got {type(content).__name__}")
        if role == "assistant":
            yield from _said(message, blocks, f"message {index}")
        elif role == "user":
            yield from _asked(blocks, f"message {index}")


def _asked(blocks: Sequence[Any], place: str) -> Iterator[Step]:
    texts: list[str] = []
    notes: list[tuple[str, str]] = []
    for block in blocks:
        kind = get(block, "type")
        if kind in _SILENT:
            yield _returned(block, place)
        elif kind == "text" and isinstance(get(block, "text"), str):
            texts.append(get(block, "text"))
        else:
            notes.append(("input", f"{place} has a block of type {kind!r}, which is not text"))
    if texts or notes or not blocks:
        yield Asked("".join(texts), notes)


def _returned(block: object, place: str) -> Returned:
    known = get(block, "tool_use_id")
    flag = get(block, "is_error")
    status: ToolStatus | None = None
    if isinstance(flag, bool):
        status = "failed" if flag else "completed"
    output = only_text(get(block, "content"), "text")
    return Returned(key=("id", None if known is None else str(known)), output=output, status=status, place=place)


def _said(message: object, blocks: Sequence[Any], place: str) -> Iterator[Step]:
    own = _results_of_own_tools(blocks)
    parts, notes, spoke = Parts(), list[tuple[str, str]](), False
    calls = False
    reason = get(message, "stop_reason")
    for block in blocks:
        kind = get(block, "type")
        if kind == "text" and isinstance(get(block, "text"), str):
            parts.text(get(block, "text"))
        elif kind == "thinking":
            if get(block, "thinking"):
                parts.add(Thinking(str(get(block, "thinking"))))
        elif kind in _CALLS:
            call = called(get(block, "name"), get(block, "input"), get(block, "id"), server=get(block, "server_name"))
            if isinstance(call, str):
                notes.append(("tool_calls", f"{place} has {call}"))
                continue
            waiting = own.get(str(get(block, "id"))) if kind != "tool_use" else None
            call = _with(call, waiting.popleft()) if waiting else call
            calls |= call.is_open
            parts.add(call)
        elif kind == "compaction":
            parts.add(ContextCompacted())
        elif not _is_result(kind) and kind != "redacted_thinking":
            notes.append(_unread(kind, place))
            spoke = True
    for left in own.values():
        # What was called in a message before, which the provider cut in two.
        for block in left:
            yield _own_result(block, place)
    status, why = ending(reason, "stop_reason", calls=calls)
    usage = usage_of(get(message, "usage"), _READ, ("output_tokens",))
    yield Said(
        parts=parts.done(unread=spoke), place=place, usage=usage, status=status, why=why, notes=notes
    )  # fmt: skip


def _unread(kind: object, place: str) -> tuple[str, str]:
    channel: Literal["messages", "tool_calls"] = "messages" if kind in ("image", "document", "text") else "tool_calls"
    return channel, f"{place} has a block of type {kind!r}, which is not read"


def _is_result(kind: object) -> bool:
    return isinstance(kind, str) and kind.endswith("_tool_result")


def _results_of_own_tools(blocks: Sequence[Any]) -> dict[str, deque[Any]]:
    """Return the results of the provider's own tools, which stand in the agent's message, by the id of their call."""
    found: dict[str, deque[Any]] = {}
    for block in blocks:
        if _is_result(get(block, "type")):
            found.setdefault(str(get(block, "tool_use_id")), deque()).append(block)
    return found


def _own_result(block: object, place: str) -> Returned:
    if get(block, "type") == "mcp_tool_result":
        return _returned(block, place)
    content = get(block, "content")
    failed = isinstance(kind := get(content, "type"), str) and "error" in kind
    plain = content.model_dump(mode="json") if hasattr(content, "model_dump") else content
    if is_list(plain):
        plain = [each.model_dump(mode="json") if hasattr(each, "model_dump") else each for each in plain]
    known = ("id", str(get(block, "tool_use_id")))
    return Returned(key=known, output=plain, status="failed" if failed else "completed", place=place)


def _with(call: Called, block: object) -> Called:
    result = _own_result(block, "")
    return attrs.evolve(call, output=result.output, status=result.status)
