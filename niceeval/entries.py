"""Entries: what the log of an attempt holds for each check, while the attempt is open."""

import sys
from collections.abc import Callable, Coroutine, Iterable
from contextvars import ContextVar
from typing import Any, Final, Literal, Protocol, TypeAlias, final

import anyio

from niceeval.signals import known_sites, site
from niceeval_expect import Evaluation, Match, ParsingMatch
from niceeval_expect._judge_port import JudgePort

__all__ = ["Bench", "Entry", "Kind", "ScopeName", "Spawn", "Style", "Yields", "all_met", "group_path"]

Style: TypeAlias = Literal["pass", "score"]
ScopeName: TypeAlias = Literal["turn", "session", "attempt", "value"]
Kind: TypeAlias = Literal["boolean", "threshold", "measure", "points"]
Yields: TypeAlias = Callable[[Evaluation], Any]
Spawn: TypeAlias = Callable[[Callable[[], Coroutine[Any, Any, None]]], None]

_getframe: Final = sys._getframe
group_path: Final[ContextVar[tuple[str, ...]]] = ContextVar("niceeval_group", default=())


class Bench(Protocol):
    """Where the judge of an attempt is found."""

    def port(self, kept: list[dict[str, Any]], /) -> JudgePort:
        """Return what answers one entry's questions, and adds each with its answers to `kept`."""
        ...


@final
class Entry:
    """One registered entry while its attempt is open."""

    # Slots, all of them filled: reading one is a fraction of what a default on the class costs.
    __slots__ = (
        "at", "barrier", "coverage", "done", "evaluation", "file", "frozen", "gate", "gated", "give_up", "group",
        "judged", "key", "kind", "label", "line", "live", "match", "order", "points", "scope", "snapshot", "stops",
        "subject", "took", "yields",
    )  # fmt: skip

    def __init__(self, order: int, kind: Kind, match: Match | None, scope: ScopeName, gate: bool) -> None:
        self.order = order
        self.kind = kind
        self.match = match
        self.scope = scope
        self.gate = gate
        # What counts is who called the context: of a check two functions above, of a claim over a scope three or more.
        frame = _getframe(3 if scope == "value" or kind == "points" else 4)
        known = known_sites.get((id(frame.f_code), frame.f_lasti))
        if known is None:
            self.file, self.line = site(4)
        else:
            _, self.file, self.line = known
        self.group = group_path.get()
        self.key: str | None = None
        self.label: str | None = None
        self.points: float | None = None
        self.gated = self.stops = self.frozen = self.snapshot = False
        self.subject: str | None = None
        self.live: Any = None
        self.evaluation: Evaluation | None = None
        # What was asked of a judge, with its answers; None where no judge has a part in it.
        self.judged: list[dict[str, Any]] | None = None
        self.done: anyio.Event | None = None
        self.give_up: Callable[[], None] | None = None
        self.barrier: Coroutine[Any, Any, Any] | None = None
        self.yields: Yields | None = None
        self.coverage: str | None = None
        self.at = self.took = 0.0

    @property
    def produces(self) -> bool:
        """Whether the match yields a value other than its subject."""
        return isinstance(self.match, ParsingMatch)

    @property
    def requirement(self) -> str:
        """What the entry stands for: its key, else its label, else its match."""
        return self.key or self.label or (repr(self.match) if self.match is not None else "score")

    @property
    def outcome(self) -> str:
        """The outcome of the evaluation, once there is one."""
        return self.evaluation.outcome if self.evaluation is not None else "unavailable"

    @property
    def measurement(self) -> float | None:
        """The measured value of a measurement, with or without a threshold."""
        return self.evaluation.value if self.evaluation is not None and self.kind in ("threshold", "measure") else None


def all_met(entries: Iterable[Entry]) -> bool:
    """Tell whether there is a gate among the entries of a pass-style attempt, and each of them is met."""
    some = False
    for entry in entries:
        if entry.gate:
            evaluation = entry.evaluation
            if evaluation is None or (evaluation.outcome != "matched" and evaluation.outcome != "measured"):
                return False
            some = True
    return some
