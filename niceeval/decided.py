"""What becomes of evals that ask for a rate while a run goes on: which are decided, and which attempt fails one."""

from collections.abc import Iterable, Sequence
from typing import final

from niceeval.lanes import Flight, Lane
from niceeval.plans import Plan, Progress
from niceeval.record.planned import Settled

__all__ = ["Decided", "is_bad"]


@final
class Decided:
    """Follows the evals that are repeated only until their rate is decided.

    Args:
        plan: The plan.
        lanes: Its experiments.
        progress: Told of each eval that is decided before its last round.
    """

    def __init__(self, plan: Plan, lanes: Sequence[Lane], progress: Progress) -> None:
        self._follows = plan.sequential
        self._told = dict.fromkeys(lanes, 0)
        self._progress = progress

    @property
    def all(self) -> list[Settled]:
        """The evals that are decided before their last round."""
        return [found for lane in self._told for found in lane.todo.settled]

    def ended(self, flight: Flight, status: str) -> None:
        """Count an attempt that has ended."""
        flight.lane.ended(flight.ref, status)
        self.tell([flight.lane])

    def tell(self, lanes: Iterable[Lane] | None = None) -> None:
        """Tell the display of what is new, in some experiments or in all."""
        if not self._follows:
            return
        for lane in self._told if lanes is None else lanes:
            for found in lane.todo.settled[self._told[lane] :]:
                self._told[lane] += 1
                self._progress.settled(found, lane.todo.not_needed(found))


def is_bad(flight: Flight, status: str) -> bool:
    """Tell whether an attempt counts as a bad one; of an eval that asks for a rate, the one that fails it does."""
    if flight.eval.min_rate is None:
        return status in ("failed", "errored")
    return flight.lane.todo.is_lost(flight.eval, status) or status == "errored"
