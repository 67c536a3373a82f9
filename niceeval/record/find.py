"""Finding one attempt by what people call it: the beginning of its id, or its eval with the case in brackets."""

import re
from typing import Any, Final

from niceeval.errors import RecordError
from niceeval.record.lazy import parsed
from niceeval.record.lines import Line
from niceeval.record.queries import RunTables

__all__ = ["find_attempt", "found_attempt", "is_id"]

_ID: Final = re.compile(r"[0-9a-f]{4,}")
_SHOWN: Final = 8


def is_id(name: str) -> bool:
    """Tell whether this can be the beginning of an attempt's id."""
    return _ID.fullmatch(name) is not None


def find_attempt(
    tables: RunTables, name: str, *, agent: str | None = None, attempt: int | None = None
) -> tuple[Line, dict[str, Any]] | None:
    """Return where an attempt stands, and its document.

    Args:
        tables: The run.
        name: The beginning of its id, at least four digits; or the eval's id, with the case in brackets where it has
            cases.
        agent: Only attempts by this agent.
        attempt: Only the attempt with this number.

    Returns:
        None where there is none.

    Raises:
        RecordError: There are several; the message lists them.
    """
    lines = tables.attempts(eval_id=name, agent=agent)
    if not lines and is_id(name):
        lines = tables.find(name)
    found = [(line, parsed(tables.source.text(line), line)) for line in lines[: _SHOWN * _SHOWN]]
    kept = [
        (line, document)
        for line, document in found
        if (agent is None or (document.get("agent") or "") == agent)
        and (attempt is None or document.get("attempt", 1) == attempt)
    ]
    exact = [each for each in kept if each[1]["id"] == name]
    kept = exact or kept
    if len(kept) > 1:
        more = len(kept) - _SHOWN + max(len(lines) - len(found), 0)
        listed = "; ".join(_described(document) for _, document in kept[:_SHOWN])
        others = f"; and {more} more" if more > 0 else ""
        raise RecordError(
            f"{name!r} names {len(kept) if len(lines) == len(found) else len(lines)} attempts of run "
            f"{tables.header.id}: {listed}{others}. Give an id, or the agent and the number of the attempt"
        )
    return kept[0] if kept else None


def found_attempt(
    tables: RunTables, name: str, *, agent: str | None = None, attempt: int | None = None
) -> dict[str, Any]:
    """Return the document of an attempt, as `find_attempt` finds it.

    Raises:
        RecordError: There is none, or there are several.
    """
    found = find_attempt(tables, name, agent=agent, attempt=attempt)
    if found is None:
        by = f" by {agent!r}" if agent is not None else ""
        number = f" with number {attempt}" if attempt is not None else ""
        raise RecordError(f"run {tables.header.id} has no attempt {name!r}{by}{number}")
    return found[1]


def _described(document: dict[str, Any]) -> str:
    case = document.get("case")
    name = document["eval"] if case is None else f"{document['eval']}[{case}]"
    who = f" {document['agent']}" if document.get("agent") else ""
    return f"{document['id']} {name}{who} attempt {document.get('attempt', 1)} {document['status']}"
