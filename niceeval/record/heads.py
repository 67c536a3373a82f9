"""What is kept in memory of each attempt of a run that is counted in plain Python."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from niceeval.record.lines import Line
from niceeval.record.slim import Slim, Used

__all__ = ["DECIDING", "Check", "Head", "checks_of"]


class Head(NamedTuple):
    """What the queries need of one attempt."""

    file: str
    number: int
    offset: int
    size: int
    id: str
    eval: str
    case: str | None
    agent: str | None
    attempt: int | None
    style: str | None
    status: str
    score: str | None
    reason: str | None
    used: Used
    duration: float
    tried: bool
    entries: tuple[tuple[int | None, str | None, str | None], ...]

    @property
    def line(self) -> Line:
        """Where it stands; a tuple less for each attempt."""
        return Line(self.file, self.number, self.offset, self.size)

    def reached(self) -> dict[str, tuple[int, bool, bool]]:
        """Return every requirement that decided: its first place, and whether it was unmet or undecided anywhere."""
        found: dict[str, tuple[int, bool, bool]] = {}
        for order, name, decision in self.entries:
            if name is not None and decision in DECIDING:
                first, unmet, undecided = found.get(name, (order or 0, False, False))
                now = decision == "unmet", decision == "undecided"
                found[name] = min(first, order or 0), unmet or now[0], undecided or now[1]
        return found


Check: TypeAlias = tuple[str, str, str | None]
DECIDING: Final = frozenset({"met", "unmet", "undecided"})


def checks_of(slim: Slim, document: Mapping[str, Any]) -> Iterator[tuple[Check, Any]]:
    """Yield the matches of an attempt that decide: eval, requirement and fingerprint, and the spec if it is there."""
    specs = document.get("matches")
    for _, name, decision, match in slim.entries:
        if decision in DECIDING:
            yield (str(slim.identity[1]), str(name), match), specs.get(match) if isinstance(specs, dict) else None
