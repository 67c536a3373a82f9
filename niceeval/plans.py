"""What is meant to run, and what a display of it is told."""

from collections.abc import Iterator
from typing import Any, Protocol, final

import attrs

from niceeval.evals.eval import Eval

__all__ = ["AttemptRef", "Plan", "Progress", "Quiet"]


@final
@attrs.frozen
class AttemptRef:
    """Which attempt: of which eval and case, by which agent, the how manieth."""

    eval_id: str
    case_id: str | None
    agent: str
    attempt: int

    @property
    def name(self) -> str:
        """The eval's id with the case in brackets."""
        return self.eval_id if self.case_id is None else f"{self.eval_id}[{self.case_id}]"


@final
@attrs.frozen
class Plan:
    """What is meant to run, settled before anything does.

    Args:
        evals: The evals, each with its cases.
        agents: The agents' names; empty where no agent takes part.
        attempts: How many attempts each case gets from each agent, at least 1.
        declared_secrets: Names of environment variables whose values are secret whatever their names end in.
    """

    evals: tuple[Eval[Any], ...]
    agents: tuple[str, ...] = ()
    attempts: int = 1
    declared_secrets: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """How many attempts that makes."""
        cases = sum(len(eval_.iter_cases()) for eval_ in self.evals)
        return cases * max(1, len(self.agents)) * self.attempts

    def header(self) -> dict[str, Any]:
        """Return the plan as `run.json` keeps it."""
        return {
            "agents": list(self.agents),
            "attempts": self.attempts,
            "evals": [
                {
                    "id": eval_.id,
                    "style": eval_.style,
                    "cases": [case_id for case_id, _ in eval_.iter_cases()] if eval_.has_cases else None,
                    "tags": list(eval_.tags),
                }
                for eval_ in self.evals
            ],
        }

    def refs(self) -> Iterator[tuple[AttemptRef, Eval[Any], object]]:
        """Yield every attempt with its eval and case, in order."""
        agents = self.agents or ("",)
        for eval_ in self.evals:
            for case_id, case in eval_.iter_cases():
                for agent in agents:
                    for attempt in range(1, self.attempts + 1):
                        yield AttemptRef(eval_.id, case_id, agent, attempt), eval_, case


class Progress(Protocol):
    """What a display of a run is told."""

    def plan_ready(self, plan: Plan, run_id: str) -> None:
        """The run is about to start."""

    def attempt_started(self, ref: AttemptRef) -> None:
        """One attempt has started."""

    def attempt_finished(self, ref: AttemptRef, status: str, duration: float, reason: str | None) -> None:
        """One attempt has ended and is recorded."""

    def came_late(self, mistake: str) -> None:
        """Something was checked or configured after its attempt had ended, so that it is in no result."""


class Quiet:
    """A display that shows nothing."""

    def plan_ready(self, plan: Plan, run_id: str) -> None:
        """Show nothing."""

    def attempt_started(self, ref: AttemptRef) -> None:
        """Show nothing."""

    def attempt_finished(self, ref: AttemptRef, status: str, duration: float, reason: str | None) -> None:
        """Show nothing."""

    def came_late(self, mistake: str) -> None:
        """Show nothing."""
