"""The sessions of an attempt as data, and back: every turn with its texts, calls, usage and coverage."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

from niceeval.events import (
    ContextCompacted,
    ErrorEvent,
    Event,
    InputRequested,
    Message,
    SkillLoaded,
    Thinking,
    ToolCallFinished,
    ToolCallStarted,
)
from niceeval.reply import NO_DATA, Usage
from niceeval.tool_call import ToolCall
from niceeval.transcript import TurnEvidence
from niceeval.turn_record import TurnRecord
from niceeval_expect._codec import decode, encode, is_plain
from niceeval_expect._evaluation import Absent

__all__ = ["SessionLike", "sessions_document", "sessions_from_document"]


class SessionLike(Protocol):
    """What is stored of a session."""

    observed: bool
    turns: list[TurnRecord]


def sessions_document(sessions: Iterable[SessionLike], known: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the sessions as JSON-safe data.

    Args:
        sessions: The sessions of an attempt, in order.
        known: Digests of texts that are stored as subjects: such a text is given as a reference.
    """
    document: list[dict[str, Any]] = []
    for session in sessions:
        turns = [_turn(record, known) for record in session.turns]
        document.append({"observed": True, "turns": turns} if session.observed else {"turns": turns})
    return document


def _turn(record: TurnRecord, known: Mapping[str, str]) -> dict[str, Any]:
    turn = record.evidence
    document: dict[str, Any] = {"input": encode(turn.input), "status": turn.status, "coverage": dict(turn.coverage)}
    if turn.messages is not None:
        document["messages"] = [_text(text, known) for text in turn.messages]
    if type(turn.data) is not Absent:
        document["data"] = encode(turn.data)
    if turn.tool_calls is not None:
        document["calls"] = [_call(call) for call in turn.tool_calls]
    if turn.usage is not None:
        document["usage"] = _usage(turn.usage)
    if turn.reported_events is not None:
        document["events"] = _events(turn)
    if turn.failure is not None:
        document["failure"] = turn.failure
    if turn.reasons:
        document["reasons"] = dict(turn.reasons)
    if record.duration is not None:
        document["duration"] = round(record.duration, 6)
    return document


def _text(text: str, known: Mapping[str, str]) -> Any:
    digest = known.get(text)
    return encode(text) if digest is None else {"$": "subject", "digest": digest}


def _call(call: ToolCall) -> dict[str, Any]:
    given, output = call.input, call.output
    given = given if is_plain(given) else encode(given)
    document: dict[str, Any] = {"name": call.name, "input": given, "status": call.status}
    if type(output) is not Absent or call.status != "pending":
        document["output"] = output if is_plain(output) else encode(output)
    if call.id is not None:
        document["id"] = call.id
    if call.server is not None:
        document["server"] = call.server
    if call.raw_input is not None:
        document["raw"] = encode(call.raw_input)
    return document


def _usage(usage: Usage) -> dict[str, Any]:
    fields = {name: getattr(usage, name) for name in ("input_tokens", "output_tokens", "cost_usd")}
    return {name: value for name, value in fields.items() if value is not None}


def _events(turn: TurnEvidence) -> list[dict[str, Any]]:
    """Return reported events; a call is named by its place in the turn, or written out where it is not among them."""
    places = {id(call): place for place, call in enumerate(turn.tool_calls or ())}
    document = []
    for event in turn.events:
        fields: dict[str, Any] = {"kind": event.kind}
        if event.role is not None:
            fields["role"] = event.role
        if event.text is not None:
            fields["text"] = encode(event.text)
        if event.call is not None:
            place = places.get(id(event.call))
            fields["call"] = _call(event.call) if place is None else place
        document.append(fields)
    return document


def sessions_from_document(
    document: Sequence[Mapping[str, Any]], text_of: Callable[[str], str]
) -> list[tuple[TurnRecord, ...]]:
    """Rebuild the finished turns of every session from `sessions_document()`.

    Args:
        document: The stored sessions.
        text_of: Gives the text that is stored as the subject with a digest.

    Raises:
        KeyError, TypeError, ValueError: The document does not have this shape.
    """
    return [
        tuple(
            TurnRecord(session, index, _turn_from(turn, text_of), turn.get("duration"))
            for index, turn in enumerate(stored.get("turns") or ())
        )
        for session, stored in enumerate(document)
    ]


def _turn_from(document: Mapping[str, Any], text_of: Callable[[str], str]) -> TurnEvidence:
    messages, calls, usage = document.get("messages"), document.get("calls"), document.get("usage")
    tool_calls = None if calls is None else tuple(map(_call_from, calls))
    events = document.get("events")
    return TurnEvidence(
        input=decode(document["input"]),
        status=document["status"],
        messages=None if messages is None else tuple(_text_from(text, text_of) for text in messages),
        data=decode(document["data"]) if "data" in document else NO_DATA,
        tool_calls=tool_calls,
        usage=None if usage is None else Usage(**usage),
        events=None if events is None else tuple(_event_from(event, tool_calls or ()) for event in events),
        coverage=document["coverage"],
        failure=document.get("failure"),
        reasons=document.get("reasons") or {},
    )


def _text_from(text: Any, text_of: Callable[[str], str]) -> str:
    if isinstance(text, dict) and text.get("$") == "subject":
        return text_of(text["digest"])
    return str(decode(text))


def _call_from(document: Mapping[str, Any]) -> ToolCall:
    options = {name: document.get(name) for name in ("status", "id", "server")}
    name, value = document["name"], decode(document["input"])
    given = (decode(document["output"]),) if "output" in document else ()
    if "raw" in document:
        reason = value.reason if isinstance(value, Absent) else "the arguments could not be read"
        return ToolCall.unreadable(name, decode(document["raw"]), reason, *given, **options)
    return ToolCall(name, value, *given, **options)


_WITH_TEXT: Final[Mapping[str, Callable[[str], Event]]] = {
    "thinking": Thinking,
    "input_requested": InputRequested,
    "skill_loaded": SkillLoaded,
    "error": ErrorEvent,
}


def _event_from(document: Mapping[str, Any], calls: Sequence[ToolCall]) -> Event:
    kind = document["kind"]
    if kind in ("tool_call_started", "tool_call_finished"):
        stored = document["call"]
        call = calls[stored] if isinstance(stored, int) else _call_from(stored)
        return ToolCallStarted(call) if kind == "tool_call_started" else ToolCallFinished(call)
    text = decode(document["text"]) if "text" in document else ""
    if kind == "message":
        return Message(document["role"], text)
    return ContextCompacted() if kind == "context_compacted" else _WITH_TEXT[kind](text)
