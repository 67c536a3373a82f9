"""Where a run's files lie, what `run.json` says, and how it is written whole or not at all.

.niceeval/runs/<run_id>/
    run.json                 identity, plan, status, the process that writes it; replaced atomically
    attempts-<writer>.jsonl  one line per finished attempt; one file per writing process
    blobs/<sha256>.json.gz   what is too large for a line
"""

import json
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, Self, TypeAlias, final

import attrs

from niceeval.errors import RecordError
from niceeval.record.files import write_atomically
from niceeval.record.planned import PlannedEval, PlannedExperiment, Settled
from niceeval.record.process import Process, ProcessState

__all__ = [
    "FOLDER",
    "FORMAT",
    "RUNS",
    "STAGING",
    "Header",
    "PlannedEval",
    "PlannedExperiment",
    "RunStatus",
    "Settled",
    "attempt_files",
    "blob_path",
    "new_run_id",
    "read_header",
    "run_process",
    "write_atomically",
    "write_header",
]

RunStatus: TypeAlias = Literal["running", "sealed", "interrupted"]

FORMAT: Final = 1
"""The version of the folder's format that this version of NiceEval reads and writes."""
FOLDER: Final = ".niceeval"
RUNS: Final = "runs"
STAGING: Final = ".new-"
"""How the name of a run's folder begins until its plan is in it."""
_HEADER: Final = "run.json"
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz0123456789"


@final
@attrs.frozen
class Header:
    """What `run.json` says: identity, status, and the plan that every denominator comes from.

    Attributes:
        id: The run's id, which is its folder's name.
        started: When it started, with a time zone.
        status: ``running``, ``sealed`` or ``interrupted``.
        agents: The agents' names, in their order; empty where no eval needs one.
        attempts: How many attempts each case gets from each agent.
        evals: The planned evals, in their order.
        experiments: The experiments behind the agents' names; empty where agents were named alone.
        resumes: The run that this one goes on with; its attempts are read with this one's.
        stopped: Why the run stopped before its plan's end, such as a budget; None where it did not.
        exact_attempts: Whether `attempts` was asked for over what evals and experiments say.
        sequential: Whether evals that ask for a rate are repeated only until that is decided; the number of attempts
            is then the most that there may be.
        settled: The evals for which that was so, once the run has ended.
        writer: The process that started the run and seals it; None where an older version did not say.
    """

    id: str
    started: datetime
    status: RunStatus
    agents: tuple[str, ...] = ()
    attempts: int = 1
    evals: tuple[PlannedEval, ...] = ()
    experiments: tuple[PlannedExperiment, ...] = ()
    resumes: str | None = None
    stopped: str | None = None
    exact_attempts: bool = False
    sequential: bool = False
    settled: tuple[Settled, ...] = ()
    writer: Process | None = None

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Read the parsed `run.json`.

        Raises:
            KeyError, TypeError, ValueError: The document does not have this shape.
        """
        if document["status"] not in ("running", "sealed", "interrupted"):
            raise ValueError(f"unknown status {document['status']!r:.40}")
        started = datetime.fromisoformat(document["started"])
        return cls(
            id=str(document["id"]),
            started=started if started.tzinfo else started.replace(tzinfo=UTC),
            status=document["status"],
            agents=tuple(map(str, document.get("agents") or ())),
            attempts=int(document.get("attempts", 1)),
            evals=tuple(PlannedEval.from_document(item) for item in document.get("evals") or ()),
            experiments=tuple(PlannedExperiment.from_document(item) for item in document.get("experiments") or ()),
            resumes=_text(document.get("resumes")),
            stopped=_text(document.get("stopped")),
            exact_attempts=bool(document.get("exact_attempts")),
            sequential=bool(document.get("sequential")),
            settled=tuple(Settled.from_document(item) for item in document.get("settled") or ()),
            writer=Process.from_document(document.get("writer")),
        )

    @property
    def process(self) -> ProcessState:
        """Whether the process that is to seal the run is still there."""
        return "unknown" if self.writer is None else self.writer.state()

    def planned(self, *, style: str | None = None) -> int:
        """Return how many attempts were planned, over all evals or those of one style."""
        return sum(self.planned_for(agent, style) for agent in self.agents or ("",))

    def planned_for(self, agent: str, style: str | None = None) -> int:
        """Return how many attempts were planned for an agent, over all evals or those of one style."""
        return sum(item.size * self.attempts_of(item, agent) for item in self.evals if style in (None, item.style))

    def attempts_of(self, planned: PlannedEval, agent: str) -> int:
        """Return how many attempts each case of an eval gets from an agent: 0 where the agent does not run it.

        Where the eval was repeated only until its rate was decided, those that were not needed are not planned.
        """
        for each in self.settled:
            if each.eval == planned.id and each.agent == agent:
                return each.attempts
        return self.most_of(planned, agent)

    def most_of(self, planned: PlannedEval, agent: str) -> int:
        """Return how many attempts each case of an eval was to get from an agent, or to get at most.

        The number asked for the whole run comes first, then the eval's own, then the experiment's, then the default.
        """
        if planned.agents is not None and agent not in planned.agents:
            return 0
        experiment = next((item for item in self.experiments if item.name == agent), None)
        if experiment is not None and experiment.evals is not None and planned.id not in experiment.evals:
            return 0
        if self.exact_attempts:
            return self.attempts
        return planned.attempts or (None if experiment is None else experiment.attempts) or self.attempts

    def in_rounds(self, planned: PlannedEval) -> bool:
        """Tell whether an eval is repeated only until its rate is decided."""
        return self.sequential and planned.rated

    @property
    def most_attempts(self) -> int:
        """The largest number of attempts that a case gets from an agent."""
        return max(
            (self.attempts_of(item, agent) for item in self.evals for agent in self.agents or ("",)),
            default=self.attempts,
        )


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def read_header(folder: Path) -> Header:
    """Read one run's `run.json`.

    Args:
        folder: The run's folder.

    Raises:
        RecordError: It cannot be read, is not what NiceEval writes, or comes from a newer version.
    """
    path = folder / _HEADER
    try:
        document = json.loads(path.read_bytes())
        version = document["format"]
        if isinstance(version, bool) or not isinstance(version, int):
            raise ValueError(f"unknown format {version!r:.40}")
        if version > FORMAT:
            raise RecordError(
                f"{folder} has the record format {version}, but this version of NiceEval knows only formats up to "
                f"{FORMAT}; read it with a newer one: pip install --upgrade niceeval"
            )
        return Header.from_document(document)
    except OSError as error:
        raise RecordError(f"cannot read {path}: {error.strerror or error}") from error
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise RecordError(f"{path} does not describe a run ({_sentence(error)}); remove or restore {folder}") from error


def run_process(folder: Path) -> ProcessState | None:
    """Tell whether the process that is to seal a run is still there; None where the run is sealed or interrupted.

    Raises:
        RecordError: As `read_header` does.
    """
    header = read_header(folder)
    if header.status != "running":
        return None
    state = header.process
    # It may have sealed the run and ended between the two looks.
    return None if state == "gone" and read_header(folder).status != "running" else state


def _sentence(error: Exception) -> str:
    return f"it lacks {error.args[0]!r}" if isinstance(error, KeyError) else str(error) or type(error).__name__


def write_header(folder: Path, document: Mapping[str, Any]) -> None:
    """Write `run.json` so that a reader finds the old or the new one, whole, whenever the process dies."""
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    write_atomically(folder / _HEADER, text.encode("ascii"))


def new_run_id(now: datetime) -> str:
    """Return an id that sorts by time: UTC seconds and four random letters or digits."""
    letters = "".join(secrets.choice(_LETTERS) for _ in range(4))
    return f"{now.astimezone(UTC):%Y%m%d-%H%M%S}-{letters}"


def attempt_files(folder: Path) -> list[Path]:
    """Return the files that hold a run's attempts, in the order of their names."""
    return sorted(folder.glob("attempts-*.jsonl"))


def blob_path(folder: Path, digest: str) -> Path:
    """Return where the blob with this digest lies."""
    return folder / "blobs" / f"{digest}.json.gz"
