"""What a list of runs says about each of them."""

from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from niceeval.record.layout import Header, RunStatus

__all__ = ["RunInfo", "run_info"]


class RunInfo(BaseModel):
    """One run of the record.

    Attributes:
        id: Its id: the time it started, in UTC, and four random letters or digits.
        started: When it started.
        status: ``running``, ``sealed`` or ``interrupted``; a process that was killed leaves ``running``.
        folder: Where it is.
        agents: The agents' names.
        planned: How many attempts were meant to run.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    started: datetime
    status: RunStatus
    folder: Path
    agents: tuple[str, ...] = ()
    planned: int = 0


def run_info(folder: Path, header: Header) -> RunInfo:
    """Return what the list says of the run in a folder."""
    return RunInfo(
        id=header.id,
        started=header.started,
        status=header.status,
        folder=folder,
        agents=header.agents,
        planned=header.planned(),
    )
