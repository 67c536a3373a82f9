"""A finished turn at its place in a session."""

from typing import final

from niceeval.transcript import TurnEvidence

__all__ = ["TurnRecord"]


@final
class TurnRecord:
    """One finished turn at its place."""

    __slots__ = ("duration", "evidence", "index", "session")

    def __init__(self, session: int, index: int, evidence: TurnEvidence, duration: float | None) -> None:
        self.session = session
        self.index = index
        self.evidence = evidence
        self.duration = duration
