"""What spans tell of a conversation: what was new in each call of the model, and how each tool ended."""

import json
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, final

from niceeval.agents._steps import Asked, Called, Ended, Happened, Noted, Returned, Said, Step
from niceeval.events import ErrorEvent, Event, Thinking
from niceeval.reply import Usage
from niceeval.tool_call import NOT_GIVEN, ToolStatus
from niceeval.transcripts._otel_spans import Span
from niceeval.transcripts._reading import Parts, called, ending, get, usage_of

__all__ = ["Telling"]

_READ: Final = ("gen_ai.usage.input_tokens",)
_WRITTEN: Final = ("gen_ai.usage.output_tokens",)
_READ_BEFORE: Final = ("gen_ai.usage.prompt_tokens",)
_WRITTEN_BEFORE: Final = ("gen_ai.usage.completion_tokens",)
_THOUGHTS: Final = ("reasoning", "thinking")
_NOT_RECORDED: Final = "no span has the messages: they were not recorded"


@final
class Telling:
    """The spans of one conversation.

    Args:
        spans: The spans, in the order in which they started.
    """

    def __init__(self, spans: Sequence[Span]) -> None:
        by_id = {(span.trace, span.id): span for span in spans}
        self._nested: list[Span] = []
        own: list[Span] = []
        for span in spans:
            (self._nested if _is_nested(span, by_id) else own).append(span)
        self._models = [span for span in own if span.is_inference]
        self._agents = [span for span in own if span.operation == "invoke_agent"]
        self._roots = [span for span in own if (span.trace, span.parent) not in by_id]
        self._tools = [span for span in own if span.operation == "execute_tool"]
        self._ran: dict[str, deque[Span]] = {}
        for span in self._tools:
            self._ran.setdefault(str(span.attributes.get("gen_ai.tool.call.id")), deque()).append(span)
        self._history: list[str] = []
        self._asked_for: set[str] = set()

    def steps(self) -> Iterator[Step]:
        """Yield what happened, in order."""
        for spans in (self._models, self._agents):
            if any(span.messages() != (None, None) for span in spans):
                for span in spans:
                    yield from self._exchange(span)
                yield from self._rest()
                break
        else:
            yield from self._without_messages()
        names = sorted({str(s.attributes.get("gen_ai.agent.name") or s.name) for s in self._nested if s.is_inference})
        if names:
            yield Noted("tool_calls", f"what {', '.join(map(repr, names))} did, called as a tool, is not read")

    def _exchange(self, span: Span) -> Iterator[Step]:
        given, made = span.messages()
        place = f"span {span.id}"
        fresh, gap = self._new(given or [])
        if gap:
            for channel in ("messages", "tool_calls"):
                yield Noted(channel, f"{place} goes on from messages that are not the ones before")
        for message in fresh:
            yield from self._message(message, place, None)
        for message in (made or [])[:1]:
            self._history.append(_key(message))
            yield from self._message(message, place, span)
        if made and len(made) > 1:
            yield Noted("messages", f"{place} has {len(made)} answers to choose from, of which the first is read")
        if not made and span.is_inference:
            yield from _broke(span) if span.error is not None else _unrecorded(span, place)

    def _new(self, given: Sequence[Any]) -> tuple[list[Any], bool]:
        """Return what is new in the messages that went in, and whether something may be missing before it."""
        messages = [message for message in given if get(message, "role") not in ("system", "developer")]
        keys = list(map(_key, messages))
        longest = min(len(keys), len(self._history))
        shared = next((n for n in range(longest, 0, -1) if self._history[-n:] == keys[:n]), 0)
        gap = False
        if not shared and self._history:
            spoken = [place for place, message in enumerate(messages) if get(message, "role") == "assistant"]
            gap = bool(spoken)
            shared = spoken[-1] + 1 if spoken else 0
        self._history += keys[shared:]
        return messages[shared:], gap

    def _message(self, message: Any, place: str, span: Span | None) -> Iterator[Step]:
        parts = get(message, "parts")
        if not isinstance(parts, list):
            raise ValueError(f"{place} has a message without parts: {message!r:.200}")
        if get(message, "role") == "assistant":
            yield from self._said(parts, message, place, span)
            return
        texts: list[str] = []
        notes: list[tuple[str, str]] = []
        for part in parts:
            kind = get(part, "type")
            if kind == "tool_call_response":
                yield self._returned(part, place)
            elif kind == "text" and isinstance(get(part, "content"), str):
                texts.append(get(part, "content"))
            else:
                notes.append(("input", f"{place} has a part of type {kind!r}, which is not text"))
        if texts or notes:
            yield Asked("".join(texts), notes)

    def _returned(self, part: Any, place: str) -> Returned:
        known = get(part, "id")
        ran = self._ran.get(str(known))
        span = ran.popleft() if ran else None
        status: ToolStatus | None = None if span is None else _ended(span)
        output = get(part, "response") if get(part, "response") is not None else get(part, "result")
        return Returned(
            key=("id", None if known is None else str(known)), output=output, status=status, place=place,
            name=get(part, "name"),
        )  # fmt: skip

    def _said(self, given: list[Any], message: Any, place: str, span: Span | None) -> Iterator[Step]:
        parts, notes, unread, waiting = Parts(), list[tuple[str, str]](), False, False
        answers = {str(get(part, "id")): part for part in given if get(part, "type") == "server_tool_call_response"}
        for part in given:
            kind, content = get(part, "type"), get(part, "content")
            if kind == "text" and isinstance(content, str):
                parts.text(content)
            elif kind in _THOUGHTS:
                if content:
                    parts.add(Thinking(str(content)))
            elif kind in ("tool_call", "server_tool_call"):
                call = _call(part, answers.get(str(get(part, "id"))))
                if isinstance(call, str):
                    notes.append(("tool_calls", f"{place} has {call}"))
                    continue
                self._asked_for.add(call.name)
                waiting |= call.is_open
                parts.add(call)
            elif kind == "tool_call_response":
                yield self._returned(part, place)
            elif kind != "server_tool_call_response":
                unread = True
                notes.append(("messages", f"{place} has a part of type {kind!r}, which is not text"))
        reason = get(message, "finish_reason")
        usage = None if span is None else _usage(span)
        if reason is None and span is not None:
            reasons = span.attributes.get("gen_ai.response.finish_reasons")
            reason = reasons[0] if isinstance(reasons, list) and len(reasons) == 1 else None
        status, why = ending(reason, "finish_reason", calls=waiting)
        yield Said(
            parts=parts.done(unread=unread), place=place, usage=usage, status=status, why=why, notes=notes
        )  # fmt: skip

    def _rest(self) -> Iterator[Step]:
        """Say what tools did of which no message tells."""
        for known, spans in self._ran.items():
            for span in spans:
                name = str(span.attributes.get("gen_ai.tool.name") or span.name)
                if known == "None" or name not in self._asked_for:
                    if name not in self._asked_for:
                        yield Noted("tool_calls", f"span {span.id} ran {name!r}, for which no message asks")
                    continue
                output = span.attributes.get("gen_ai.tool.call.result", NOT_GIVEN)
                yield Returned(key=("id", known), output=_plain(output), status=_ended(span), place=f"span {span.id}")

    def _without_messages(self) -> Iterator[Step]:
        for channel in ("input", "messages", "tool_calls"):
            yield Noted(channel, _NOT_RECORDED)
        for span in sorted([*self._models, *self._tools], key=lambda each: each.start):
            parts: list[Called | Event] = []
            if span.operation == "execute_tool":
                known = span.attributes
                call = called(
                    known.get("gen_ai.tool.name"), known.get("gen_ai.tool.call.arguments"),
                    known.get("gen_ai.tool.call.id"),
                    status=_ended(span),
                    output=_plain(known.get("gen_ai.tool.call.result", NOT_GIVEN)),
                )  # fmt: skip
                parts = [] if isinstance(call, str) else [call]
                yield Said(parts=parts)
            else:
                yield Said(parts=parts, usage=_usage(span))
        if any(span.error is not None for span in self._roots):
            yield Ended("failed")


def _is_nested(span: Span, by_id: Mapping[tuple[str, str], Span]) -> bool:
    """Whether a span is inside an agent that another agent called: as a tool, or as a part of its own work."""
    agent, seen = span.operation == "invoke_agent", set[str]()
    inside = by_id.get((span.trace, span.parent))
    while inside is not None and inside.id not in seen:
        seen.add(inside.id)
        if inside.operation == "execute_tool":
            return True
        if inside.operation == "invoke_agent":
            if agent:
                return True
            agent = True
        inside = by_id.get((inside.trace, inside.parent))
    return False


def _key(message: Any) -> str:
    """Return what stays the same of a message when it is sent again: thoughts are left out, and how it ended."""
    parts = get(message, "parts")
    kept = []
    for part in parts if isinstance(parts, list) else ():
        if get(part, "type") in _THOUGHTS:
            continue
        kept.append({name: _plain(value) for name, value in part.items()} if isinstance(part, Mapping) else part)
    return json.dumps([get(message, "role") == "assistant", kept], sort_keys=True, default=str)


def _plain(value: Any) -> Any:
    """Return a value that some record as JSON text, for it is a structure."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _broke(span: Span) -> Iterator[Step]:
    yield Said(parts=(), usage=_usage(span))
    yield Happened(ErrorEvent(f"{span.name}: {span.error}"))
    yield Ended("failed")


def _unrecorded(span: Span, place: str) -> Iterator[Step]:
    yield Said(parts=(), usage=_usage(span))
    for channel in ("messages", "tool_calls"):
        yield Noted(channel, f"{place} has no output: it was not recorded")


def _call(part: Any, answer: Any) -> Called | str:
    if get(part, "type") == "tool_call":
        return called(get(part, "name"), get(part, "arguments"), get(part, "id"))
    inner = get(part, "server_tool_call")
    arguments = {name: value for name, value in inner.items() if name != "type"} if isinstance(inner, dict) else None
    more = {} if answer is None else {"output": get(answer, "server_tool_call_response")}
    return called(get(part, "name"), arguments, get(part, "id"), **more)


def _usage(span: Span) -> Usage | None:
    return usage_of(span.attributes, _READ, _WRITTEN) or usage_of(span.attributes, _READ_BEFORE, _WRITTEN_BEFORE)


def _ended(span: Span) -> ToolStatus:
    return "completed" if span.error is None else "failed"
