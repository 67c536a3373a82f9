"""The sessions of an attempt as data: every turn with its texts, calls, usage and coverage."""

from collections.abc import Mapping
from typing import Any

from niceeval.attempt_state import AttemptState, TurnRecord
from niceeval.reply import Usage
from niceeval.tool_call import ToolCall
from niceeval.transcript import TurnEvidence
from niceeval_expect._codec import encode
from niceeval_expect._evaluation import Absent

__all__ = ["sessions_document"]


def sessions_document(state: AttemptState, known: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the sessions as JSON-safe data.

    Args:
        state: The attempt.
        known: Digests of texts that are stored as subjects: such a text is given as a reference.
    """
    document: list[dict[str, Any]] = []
    for session in state.sessions:
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
    document: dict[str, Any] = {"name": call.name, "input": encode(call.input), "status": call.status}
    if type(call.output) is not Absent or call.status != "pending":
        document["output"] = encode(call.output)
    for name in ("id", "server"):
        value = getattr(call, name)
        if value is not None:
            document[name] = value
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
