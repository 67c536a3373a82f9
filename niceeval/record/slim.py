"""Of an attempt document, what queries need, with the types of the index's columns and text that every engine takes."""

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any, Final, NamedTuple

from niceeval.record.lines import plain

__all__ = ["ENTRY_TYPES", "HEAD_TYPES", "Slim", "Used", "slim_attempt", "slim_line", "sql_type", "text_of", "used_by"]

HEAD_TYPES: Final[Mapping[str, Any]] = {
    "id": "JSON",
    "eval": "JSON",
    "case": "VARCHAR",
    "agent": "VARCHAR",
    "attempt": "INTEGER",
    "style": "VARCHAR",
    "status": "VARCHAR",
    "score": "VARCHAR",
    "partial_score": "VARCHAR",
    "stopped_by": "VARCHAR",
    "reason": "VARCHAR",
    "error": {"type": "VARCHAR"},
    "started": "VARCHAR",
    "duration": "DOUBLE",
    "tries": [{"reason": "VARCHAR"}],
    "sessions": [
        {
            "observed": "BOOLEAN",
            "turns": [{"usage": {"input_tokens": "BIGINT", "output_tokens": "BIGINT", "cost_usd": "DOUBLE"}}],
        },
    ],
}
"""The fields of an attempt, as DuckDB reads them. Identities are JSON first: a number is none, however it reads."""

ENTRY_TYPES: Final[Mapping[str, Any]] = {
    "order": "INTEGER",
    "requirement": "VARCHAR",
    "key": "VARCHAR",
    "label": "VARCHAR",
    "group": ["VARCHAR"],
    "outcome": "VARCHAR",
    "decision": "VARCHAR",
    "diagnostic": {"code": "VARCHAR", "message": "VARCHAR"},
    "reason": "VARCHAR",
    "value": "DOUBLE",
    "threshold": "DOUBLE",
    "gate": "BOOLEAN",
    "stops": "BOOLEAN",
    "points": "DOUBLE",
    "earned": "DOUBLE",
    "match": "VARCHAR",
    "subject": "VARCHAR",
    "scope": "VARCHAR",
    "coverage": "VARCHAR",
    "rederivable": "VARCHAR",
    "file": "VARCHAR",
    "line": "BIGINT",
}
"""The fields of an assertion, as DuckDB reads them."""


def sql_type(structure: Any) -> str:
    """Return the SQL type of a structure.

    >>> sql_type([{"turns": "BIGINT"}])
    'STRUCT("turns" BIGINT)[]'
    """
    if isinstance(structure, str):
        return structure
    if isinstance(structure, list):
        return f"{sql_type(structure[0])}[]"
    fields = [f'"{name}" {sql_type(each)}' for name, each in structure.items()]
    return f"STRUCT({', '.join(fields)})"


_LARGEST: Final = {"INTEGER": 2**31 - 1, "BIGINT": 2**63 - 1}


class Slim(NamedTuple):
    """What the fixed queries need of an attempt.

    Attributes:
        identity: Id, eval, case, agent, style, status and score.
        attempt: Its number.
        entries: Of each assertion its order, requirement, decision and match.
    """

    identity: tuple[str | None, ...]
    attempt: int | None
    entries: list[tuple[int | None, str | None, str | None, str | None]]


def slim_attempt(document: Mapping[str, Any]) -> Slim:
    """Return what the fixed queries need of an attempt, as the index's columns would hold it."""
    entries = document.get("assertions")
    return Slim(
        tuple([text_of(document.get(name)) for name in ("id", "eval", "case", "agent", "style", "status", "score")]),
        _whole(document.get("attempt")),
        [_entry(entry) for entry in entries] if isinstance(entries, list) else [],
    )


class Used(NamedTuple):
    """What the turns of an attempt used; those of sessions that were only observed are left out.

    Attributes:
        turns: How many turns there are.
        input_tokens: Over the turns that reported it; None where none did.
        output_tokens: The same.
        cost_usd: The same, in US dollars.
        tokens_unreported: Turns that did not report both counts.
        cost_unreported: Turns that did not report a cost.
    """

    turns: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    tokens_unreported: int = 0
    cost_unreported: int = 0


def used_by(sessions: Any) -> Used:
    """Return what the turns of the sessions used, as they are stored."""
    turns = [
        turn.get("usage") or {} if isinstance(turn, dict) else {}
        for session in (sessions if isinstance(sessions, list) else ())
        if isinstance(session, dict) and session.get("observed") is not True
        for turn in session.get("turns") or ()
    ]
    given = [turn if isinstance(turn, dict) else {} for turn in turns]
    sent = [turn.get("input_tokens") for turn in given]
    received = [turn.get("output_tokens") for turn in given]
    costs = [turn.get("cost_usd") for turn in given]
    return Used(
        turns=len(turns),
        input_tokens=_total(sent),
        output_tokens=_total(received),
        cost_usd=_total(costs),
        tokens_unreported=sum(None in pair for pair in zip(sent, received, strict=True)),
        cost_unreported=costs.count(None),
    )


def _total(counts: list[Any]) -> Any:
    known = [count for count in counts if isinstance(count, int | float)]
    return sum(known) if known else None


def _entry(entry: Any) -> tuple[int | None, str | None, str | None, str | None]:
    if not isinstance(entry, dict):
        return None, None, None, None
    get = entry.get
    return _whole(get("order")), text_of(get("requirement")), text_of(get("decision")), text_of(get("match"))


def text_of(value: Any) -> str | None:
    """Return a value as a column of texts would hold it."""
    if isinstance(value, str):
        return value if value.isascii() else plain(value)
    return None if value is None else _written(value)


def _whole(value: Any) -> int | None:
    inside = isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _LARGEST["INTEGER"]
    return value if inside else None


def slim_line(document: Mapping[str, Any]) -> str:
    """Return an attempt that DuckDB's reader refuses, such as for a lone surrogate, as a line that it takes."""
    slim = {name: _cleaned(document.get(name)) for name in HEAD_TYPES}
    entries = document.get("assertions")
    slim["assertions"] = [
        {name: _cleaned(entry.get(name)) for name in ENTRY_TYPES} if isinstance(entry, dict) else None
        for entry in (entries if isinstance(entries, list) else ())
    ]
    return json.dumps(slim)


def _cleaned(value: Any, depth: int = 0) -> Any:
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, int) and not isinstance(value, bool):
        return value if abs(value) <= _LARGEST["BIGINT"] else None
    if depth > _DEEPEST:
        return None
    if isinstance(value, list):
        return [_cleaned(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {plain(name): _cleaned(item, depth + 1) for name, item in value.items()}
    return value


_DEEPEST: Final = 12
"""No field that is read lies deeper."""


def _written(value: Any) -> str | None:
    try:
        cleaned = _cleaned(value)
        return None if cleaned is None else json.dumps(cleaned, separators=(",", ":"))
    except (ValueError, RecursionError):
        return None
