"""Reads OpenTelemetry's GenAI spans: the conversations that traces tell of."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from niceeval.agents._recorded import transcript_of
from niceeval.agents._steps import Knowledge, ToolStatusOf, TurnStatusOf
from niceeval.agents.mcp_names import ToolNames
from niceeval.transcript import Transcript
from niceeval.transcripts._otel_spans import Span, is_otlp, spans_of
from niceeval.transcripts._otel_telling import Telling

__all__ = ["conversations_of", "otel_transcript", "transcripts_from_otel"]


def transcripts_from_otel(
    exports: Any,
    /,
    *,
    tool_status: ToolStatusOf | None = None,
    turn_status: TurnStatusOf | None = None,
    tool_names: ToolNames | None = None,
) -> Iterator[tuple[str, Transcript]]:
    """Read the conversations that OpenTelemetry's GenAI spans tell of, each with its id.

    A conversation is what has one ``gen_ai.conversation.id``, over all its traces; without it, one trace. Its messages
    come from the calls of the model (their input tells what was new since the last one), how a tool ended from its
    ``execute_tool`` span. What agents did that this agent called as tools is not in it, which is said.

    Args:
        exports: What OTLP exports as JSON, parsed: one mapping with ``resourceSpans``, or a list of them.
        tool_status: Says, from a call that has its result and no status, what its status is.
        turn_status: Says, from a turn whose status is not known, how it ended; None where it cannot tell.
        tool_names: The tools of servers that the reported names stand for.

    Raises:
        ValueError: It is nothing that OTLP exports; its place is named.

    >>> def attribute(key, value): return {"key": key, "value": {"stringValue": value}}
    >>> span = {"traceId": "5b8e", "spanId": "01", "name": "chat", "startTimeUnixNano": "1", "attributes": [
    ...     attribute("gen_ai.operation.name", "chat"),
    ...     attribute("gen_ai.input.messages", '[{"role": "user", "parts": [{"type": "text", "content": "Hello"}]}]'),
    ...     attribute("gen_ai.output.messages", '[{"role": "assistant", "finish_reason": "stop", "parts": '
    ...         '[{"type": "text", "content": "Hello to you"}]}]')]}
    >>> [(id, transcript)] = transcripts_from_otel({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})
    >>> id, transcript.turns[0].messages, transcript.turns[0].status
    ('5b8e', ('Hello to you',), 'completed')
    """
    known = Knowledge(tool_status, turn_status, tool_names)
    listed = [exports] if isinstance(exports, Mapping) else exports
    if isinstance(listed, str | bytes) or not isinstance(listed, Sequence) or not all(map(is_otlp, listed)):
        raise ValueError(
            "transcripts_from_otel() takes what OTLP exports as JSON, a mapping with resourceSpans or a list of them, "
            f"got {exports!r:.200}"
        )
    for known_id, spans in conversations_of(spans_of(listed)).items():
        yield known_id, otel_transcript(spans, known)


def conversations_of(spans: Sequence[Span]) -> dict[str, list[Span]]:
    """Return the spans by the conversation that their trace belongs to; traces without GenAI are left out."""
    known: dict[str, str] = {}
    for span in spans:
        own = span.attributes.get("gen_ai.conversation.id")
        if own is not None:
            known.setdefault(span.trace, str(own))
    about = {span.trace for span in spans if span.is_genai}
    found: dict[str, list[Span]] = {}
    for span in spans:
        if span.trace in about:
            found.setdefault(known.get(span.trace, span.trace), []).append(span)
    return found


def otel_transcript(spans: Sequence[Span], known: Knowledge) -> Transcript:
    """Return the conversation that these spans tell of."""
    return transcript_of(Telling(spans).steps(), known)
