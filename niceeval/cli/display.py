"""What every display of a run is told and keeps; this one shows nothing, which is what `--quiet` asks for."""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from niceeval.attempts import Finished
    from niceeval.cli.view import RunView
    from niceeval.plans import AttemptRef, Plan
    from niceeval.record.planned import Settled

__all__ = ["Display"]

_UNRESOLVED: Final = "AgentReferenceError"


class Display:
    """Follows a run, and keeps what the end of the command needs to know.

    Attributes:
        run_id: The run's id, once it has started.
        no_agent: Whether an attempt named an agent that cannot be found.
        late: Mistakes that are in no result, to be said at the end.
        complaints: What went wrong and is in no result, to be said at the end; the run is not in order.
        notes: What is worth knowing, to be said at the end; the run is in order.
    """

    def __init__(self) -> None:
        self.run_id: str | None = None
        self.no_agent = False
        self.late: list[str] = []
        self.complaints: list[str] = []
        self.notes: list[str] = []

    def plan_ready(self, plan: "Plan", run_id: str) -> None:
        """Note that the run starts."""
        self.run_id = run_id

    def attempt_started(self, ref: "AttemptRef") -> None:
        """Show nothing."""

    def attempt_retried(self, ref: "AttemptRef", tried: int, wait: float, reason: str) -> None:
        """Show nothing."""

    def attempt_finished(self, ref: "AttemptRef", finished: "Finished") -> None:
        """Note whether the agent could be found."""
        if finished.reason is not None and finished.reason.startswith(_UNRESOLVED):
            self.no_agent = True

    def settled(self, found: "Settled", not_needed: int) -> None:
        """Show nothing."""

    def stopped(self, reason: str, not_run: int) -> None:
        """Show nothing."""

    def came_late(self, mistake: str) -> None:
        """Note what is in no result, to be said at the end."""
        self.late.append(mistake)

    def complained(self, text: str) -> None:
        """Note what went wrong and is in no result, to be said at the end."""
        self.complaints.append(text)

    def noted(self, text: str) -> None:
        """Note what is worth knowing, to be said at the end."""
        self.notes.append(text)

    def warn(self, message: str) -> None:
        """Tell programs that follow the run what people are told on standard error."""

    def close(self) -> None:
        """Show nothing more while the run goes on; may be called twice."""

    def summary(self, view: "RunView", *, code: int, took: float) -> None:
        """Tell programs that follow the run how it came out; people read the report.

        Args:
            view: The recorded run.
            code: The exit code of the command.
            took: Seconds that the run took.
        """
