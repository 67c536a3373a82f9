"""Typed output: what ``send(output=Type)`` asks the agent for, and the gate that it registers."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, final

import attrs

from niceeval.assertions import AssertionLog
from niceeval.entries import Entry
from niceeval.transcript import TurnEvidence
from niceeval_expect import Match, json_text, matches
from niceeval_expect._evaluation import Absent
from niceeval_expect._freeze import show

__all__ = ["OutputType"]


@final
@attrs.frozen
class OutputType:
    """A type that structured output must conform to, with the matches that decide it, built once per type."""

    name: str
    over_data: Match
    over_text: Match
    json_schema: Mapping[str, Any]

    @classmethod
    def of(cls, type: Any) -> "OutputType":
        """Return the output type for anything that `matches` takes.

        Raises:
            TypeError, ValueError: As `matches` does.
        """
        try:
            return _made(type)
        except TypeError as error:
            if "unhashable" not in str(error):
                raise
            return _make(type)

    def register(self, log: AssertionLog, evidence: TurnEvidence, message: str) -> Entry:
        """Register the gate over the turn's data, else over its message parsed strictly as JSON."""
        if isinstance(evidence.data, Absent):
            entry = log.check(message, self.over_text, "turn")
        else:
            entry = log.check(evidence.data, self.over_data, "turn")
        entry.label = f"output conforms to {self.name}"
        return entry


def _make(type: Any) -> OutputType:
    over_data = matches(type)
    schema = over_data.spec().get("json_schema") or over_data.spec().get("schema") or {}
    return OutputType(show(type), over_data, json_text(over_data), schema)


_made = lru_cache(maxsize=256)(_make)
