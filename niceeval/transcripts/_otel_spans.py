"""Spans as OTLP carries them in JSON, with their GenAI attributes and the messages that they or their events hold.

The format is that of https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding, the attributes are those of
https://opentelemetry.io/docs/specs/semconv/gen-ai/, and of its version 1.36, which had an event for each message.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, final

import attrs

__all__ = ["Span", "is_otlp", "spans_of"]

_INFERENCE: Final = ("chat", "generate_content", "text_completion")
_INPUT: Final = "gen_ai.input.messages"
_OUTPUT: Final = "gen_ai.output.messages"
_DETAILS: Final = ("gen_ai.client.inference.operation.details", "event.gen_ai.client.inference.operation.details")
_CHOICE: Final = "gen_ai.choice"
_BY_MESSAGE: Final = {
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
    "gen_ai.system.message": "system",
    _CHOICE: "assistant",
}


@final
@attrs.frozen
class Span:
    """One span.

    Attributes:
        trace: The id of its trace.
        id: Its own id.
        parent: The id of the span around it; empty where there is none.
        name: Its name.
        start: When it started, in nanoseconds.
        attributes: Its attributes as plain values.
        error: What went wrong in it, where its status says so.
        events: Its events and the log records that name it: name, and attributes with the body's fields.
    """

    trace: str
    id: str
    parent: str
    name: str
    start: int
    attributes: Mapping[str, Any]
    error: str | None
    events: list[tuple[str, Mapping[str, Any]]]

    @property
    def operation(self) -> str:
        """What it does, such as ``chat`` or ``execute_tool``."""
        return str(self.attributes.get("gen_ai.operation.name") or "")

    @property
    def is_genai(self) -> bool:
        """Whether it is about a model, an agent or its tools."""
        return any(name.startswith("gen_ai.") for name in self.attributes)

    @property
    def is_inference(self) -> bool:
        """Whether it is one call of a model."""
        return self.operation in _INFERENCE

    def messages(self) -> tuple[Sequence[Any] | None, Sequence[Any] | None]:
        """Return the messages that went in and came out, each None where they are not recorded.

        Raises:
            ValueError: They are recorded and cannot be read.
        """
        given, made = self._read(self.attributes, _INPUT), self._read(self.attributes, _OUTPUT)
        single: list[Any] = []
        choices: list[Any] = []
        for name, fields in self.events:
            if name in _DETAILS or name in (_INPUT, _OUTPUT):
                given = self._read(fields, _INPUT) if given is None else given
                made = self._read(fields, _OUTPUT) if made is None else made
            elif name in _BY_MESSAGE:
                (choices if name == _CHOICE else single).append(_of_event(name, fields))
        return given if given is not None else single or None, made if made is not None else choices or None

    def _read(self, attributes: Mapping[str, Any], name: str) -> Sequence[Any] | None:
        found = _parsed(attributes.get(name))
        if found is None:
            return None
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            raise ValueError(
                f"the span {self.name!r} ({self.id}) has {name} that is no list of messages: {found!r:.200}"
            )
        return found


def is_otlp(value: object) -> bool:
    """Tell whether a value is what OTLP exports in one go."""
    return isinstance(value, Mapping) and ("resourceSpans" in value or "resourceLogs" in value)


def spans_of(exports: Sequence[Any]) -> list[Span]:
    """Return the spans of several exports in the order in which they started, with the events that belong to them.

    Raises:
        ValueError: It is nothing that OTLP exports; its place is named.
    """
    spans: dict[tuple[str, str], Span] = {}
    for index, export in enumerate(exports):
        if not is_otlp(export):
            raise ValueError(f"export {index} has neither resourceSpans nor resourceLogs: {export!r:.200}")
        for place, raw in _each(export, "resourceSpans", ("scopeSpans", "instrumentationLibrarySpans"), "spans"):
            span = _span(raw, f"export {index}, {place}")
            spans[span.trace, span.id] = span
    for export in exports:
        for _, record in _each(export, "resourceLogs", ("scopeLogs",), "logRecords"):
            span_of = spans.get((str(record.get("traceId") or ""), str(record.get("spanId") or "")))
            if span_of is not None:
                fields = _attributes(record.get("attributes"))
                body = _value(record.get("body"))
                name = str(record.get("eventName") or fields.get("event.name") or "")
                span_of.events.append((name, {**fields, **(body if isinstance(body, dict) else {"content": body})}))
    return sorted(spans.values(), key=lambda span: span.start)


def _each(export: Any, outer: str, middle: Sequence[str], inner: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for first, resource in enumerate(export.get(outer) or ()):
        for name in middle:
            for second, scope in enumerate(resource.get(name) or ()):
                for third, item in enumerate(scope.get(inner) or ()):
                    yield f"{outer}[{first}].{name}[{second}].{inner}[{third}]", item


def _span(raw: Mapping[str, Any], place: str) -> Span:
    trace, own = raw.get("traceId"), raw.get("spanId")
    if not trace or not own:
        raise ValueError(f"{place} has no traceId and spanId: {raw!r:.200}")
    try:
        start = int(raw.get("startTimeUnixNano") or 0)
    except (TypeError, ValueError):
        raise ValueError(f"{place} has a startTimeUnixNano that is no number: {raw['startTimeUnixNano']!r}") from None
    attributes = _attributes(raw.get("attributes"))
    status = raw.get("status") or {}
    failed = status.get("code") in (2, "STATUS_CODE_ERROR") or attributes.get("error.type") is not None
    error = str(status.get("message") or attributes.get("error.type") or "error") if failed else None
    events: list[tuple[str, Mapping[str, Any]]] = [
        (str(each.get("name")), _attributes(each.get("attributes"))) for each in raw.get("events") or ()
    ]
    return Span(
        str(trace), str(own), str(raw.get("parentSpanId") or ""), str(raw.get("name") or ""), start, attributes, error,
        events,
    )  # fmt: skip


def _attributes(given: Any) -> dict[str, Any]:
    return {str(each.get("key")): _value(each.get("value")) for each in given or ()}


def _value(given: Any) -> Any:
    """Return a value that OTLP wraps in its type."""
    if not isinstance(given, Mapping):
        return given
    for kind, value in given.items():
        if kind == "arrayValue":
            return [_value(each) for each in value.get("values") or ()]
        if kind == "kvlistValue":
            return _attributes(value.get("values"))
        if kind == "intValue":
            return int(value)
        return value
    return None


def _parsed(value: Any) -> Any:
    """Return a value that may be recorded as JSON text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _of_event(name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the message of an event of its own, as it was recorded up to version 1.36, in today's form."""
    inner = _parsed(fields.get("message")) if name == _CHOICE else None
    said: Mapping[str, Any] = inner if isinstance(inner, Mapping) else fields
    content = said.get("content")
    role = str(said.get("role") or _BY_MESSAGE[name])
    if name == "gen_ai.tool.message":
        return {"role": role, "parts": [{"type": "tool_call_response", "id": said.get("id"), "response": content}]}
    parts: list[dict[str, Any]] = []
    if isinstance(content, str) and content:
        parts.append({"type": "text", "content": content})
    elif content:
        parts.append({"type": "content", "content": content})
    calls = _parsed(said.get("tool_calls"))
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") or {}
        parts.append(
            {"type": "tool_call", "id": call.get("id"), "name": function.get("name"),
             "arguments": function.get("arguments")}
        )  # fmt: skip
    message: dict[str, Any] = {"role": role, "parts": parts}
    if name == _CHOICE and fields.get("finish_reason") is not None:
        message["finish_reason"] = fields["finish_reason"]
    return message
