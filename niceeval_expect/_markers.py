"""Citation markers in a text: where they are, and the ids in them."""

import re
from time import monotonic
from typing import Final

import attrs

from niceeval_expect._regex_engine import Engine, engine

__all__ = ["DEFAULT_MARKER", "Citation", "Marker", "read_marker"]

DEFAULT_MARKER: Final = r"\[\s*(\d+(?:\s*[,;\-\u2013\u2014]\s*\d+)*)\s*\]"
"""A number in square brackets, or several, or a range of them: ``[4102]``, ``[4102, 4188]``, ``[1-3]``."""

_BUDGET: Final = 0.1
_BUDGET_PER_CHARACTER: Final = 2e-6


@attrs.frozen
class Citation:
    """One marker: what it captured, and where it is."""

    text: str
    start: int
    end: int


@attrs.frozen
class Marker:
    """A regular expression that finds citations, run under a time budget."""

    source: str
    _engine: Engine

    def args(self) -> dict[str, object]:
        """Return the argument of a spec; the usual marker is left out."""
        return {} if self.source == DEFAULT_MARKER else {"marker": self.source}

    def find(self, text: str) -> list[Citation]:
        """Return the markers of a text in order; what the groups captured is their text, else all of it.

        Raises:
            TimeoutError: When the search takes longer than 0.1 s and 2 s for each million characters.
        """
        limit = monotonic() + _BUDGET + len(text) * _BUDGET_PER_CHARACTER
        found: list[Citation] = []
        for match in self._engine.over(text).finditer(text, timeout=_BUDGET, concurrent=True):
            start, end = match.span()
            # The engine's own budget is one for each match.
            if monotonic() > limit:
                raise TimeoutError
            if end > start:
                captured = [group for group in match.groups() if group]
                found.append(Citation(",".join(captured) if captured else match[0], start, end))
        return found


def read_marker(owner: str, marker: object, name: str = "marker") -> Marker:
    """Return the marker that the argument of this name describes.

    Raises:
        TypeError: If it is no text.
        ValueError: If it is blank or no regular expression, or is found in the empty text.
    """
    if not isinstance(marker, str):
        raise TypeError(f"{owner} takes {name}= as the text of a regular expression, got {marker!r:.200}")
    if not marker.strip():
        raise ValueError(f"{owner} got the blank {name}={marker!r}; write what is looked for")
    try:
        compiled = engine(str.__str__(marker))
    except (ValueError, OverflowError, RecursionError, re.error) as error:
        raise ValueError(f"{owner} got {name}={marker!r:.200}, which cannot be used: {error}") from error
    if compiled.find("", full=False, seconds=_BUDGET) is not None:
        raise ValueError(f"{owner} got {name}={marker!r:.200}, which is found even in the empty text")
    return Marker(compiled.source, compiled)
