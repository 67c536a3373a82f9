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

    # Defaults live on the class: an entry sets only what it differs in.
    key: str | None = None
    label: str | None = None
    points: float | None = None
    gated = False
    stops = False
    frozen = False
    snapshot = False
    subject: str | None = None
    live: Any = None
    evaluation: Evaluation | None = None
    done: anyio.Event | None = None
    give_up: Callable[[], None] | None = None
    barrier: Coroutine[Any, Any, Any] | None = None
    yields: Yields | None = None
    coverage: str | None = None
    at = 0.0
    took = 0.0

    def __init__(self, order: int, kind: Kind, match: Match | None, scope: ScopeName, gate: bool) -> None:
        self.order = order
        self.kind = kind
        self.match = match
        self.scope = scope
        self.gate = gate
        self.file, self.line = site(4)
        self.group = group_path.get()

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
