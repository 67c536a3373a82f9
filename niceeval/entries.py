"""Entries: what the log of an attempt holds for each check, while the attempt is open."""

from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any, Final, Literal, TypeAlias, final

import anyio

from niceeval.signals import site
from niceeval_expect import Evaluation, Match, ParsingMatch

__all__ = ["Entry", "Kind", "ScopeName", "Spawn", "Style", "Yields", "group_path"]

Style: TypeAlias = Literal["pass", "score"]
ScopeName: TypeAlias = Literal["turn", "session", "attempt", "value"]
Kind: TypeAlias = Literal["boolean", "threshold", "measure", "points"]
Yields: TypeAlias = Callable[[Evaluation], Any]
Spawn: TypeAlias = Callable[[Callable[[], Coroutine[Any, Any, None]]], None]

group_path: Final[ContextVar[tuple[str, ...]]] = ContextVar("niceeval_group", default=())


@final
class Entry:
    """One registered entry while its attempt is open."""

    __slots__ = (
        "at", "barrier", "coverage", "done", "evaluation", "file", "frozen", "gate", "gated",
        "give_up", "group", "key", "kind", "label", "line", "live", "match", "order", "points", "produces", "scope", "snapshot",
        "stops", "subject", "took", "yields",
    )  # fmt: skip

    def __init__(self, order: int, kind: Kind, match: Match | None, scope: ScopeName, gate: bool) -> None:
        self.order = order
        self.kind = kind
        self.match = match
        self.scope = scope
        self.gate = gate
        self.gated = False
        self.produces = isinstance(match, ParsingMatch)
        self.file, self.line = site(3)
        self.group = group_path.get()
        self.key: str | None = None
        self.label: str | None = None
        self.points: float | None = None
        self.stops = False
        self.frozen = False
        self.subject: str | None = None
        self.snapshot = False
        self.live: Any = None
        self.evaluation: Evaluation | None = None
        self.done: anyio.Event | None = None
        self.give_up: Callable[[], None] | None = None
        self.barrier: Coroutine[Any, Any, Any] | None = None
        self.yields: Yields | None = None
        self.coverage: str | None = None
        self.at = 0.0
        self.took = 0.0

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
