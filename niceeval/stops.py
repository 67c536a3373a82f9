"""Why a run starts nothing more before its plan's end: a budget, its time, or too many bad attempts."""

import math
from collections.abc import Callable, Sequence
from typing import final

import anyio
import anyio.abc

from niceeval.attempt_state import AttemptState
from niceeval.budgets import Spending
from niceeval.evals.experiments import Budget
from niceeval.lanes import Lane
from niceeval.plans import Progress

__all__ = ["Stops"]


@final
class Stops:
    """Watches the limits of a run and of its experiments.

    Args:
        budget: The run's budget.
        lanes: Its experiments.
        progress: Told what stops, and what could not be watched.
        clean: Takes secrets out of a sentence.
        stopped: Told which experiments start nothing more.
    """

    def __init__(
        self, budget: Budget | None, lanes: Sequence[Lane], progress: Progress, clean: Callable[[str], str],
        stopped: Callable[[Sequence[Lane]], None],
    ) -> None:  # fmt: skip
        self._spending = None if budget is None else Spending(budget)
        self._lanes = lanes
        self._progress = progress
        self._clean = clean
        self._stopped = stopped
        self._spends = self._spending is not None or any(lane.spending is not None for lane in lanes)
        self._deadline = math.inf
        self._clocks: list[anyio.CancelScope] = []
        self._reasons: list[str] = []
        self._bad = 0

    @property
    def reason(self) -> str | None:
        """Why nothing more was started, where something was left."""
        return "; ".join(self._reasons) or None

    def spend(self, lane: Lane, state: AttemptState, *, last: bool) -> bool:
        """Add up what a try used, stop what has reached its limit, and return whether the experiment goes on."""
        if not self._spends:
            return True
        for spending, lanes in ((self._spending, self._lanes), (lane.spending, [lane])):
            if spending is not None:
                spending.add(state, last=last)
                reached = spending.reached()
                if reached is not None:
                    self._stop(reached, lanes)
        return not lane.stopped

    def count_bad(self, most: int | None) -> None:
        """Count an attempt that failed or errored, and stop where there are so many."""
        self._bad += 1
        if most is not None and self._bad >= most:
            what = "attempt has" if self._bad == 1 else "attempts have"
            self._stop(f"{self._bad} {what} failed or errored", self._lanes)

    def stop(self, reason: str, lanes: Sequence[Lane]) -> None:
        """Start nothing more in some experiments, for a reason that somebody else has."""
        self._stop(reason, lanes)

    def _stop(self, reason: str, lanes: Sequence[Lane]) -> None:
        """Start nothing more in some lanes; what is in flight goes on to its end."""
        going = [lane for lane in lanes if not lane.stopped]
        left = sum([lane.stop() for lane in going])
        if left:
            self._reasons.append(self._clean(reason))
            self._progress.stopped(self._reasons[-1], left)
        self._stopped(going)

    def watch_clocks(self, tasks: anyio.abc.TaskGroup) -> None:
        """Start the time of every budget that has one."""
        self._deadline = self._watch_clock(tasks, self._spending, self._lanes)
        for lane in self._lanes:
            lane.deadline = self._watch_clock(tasks, lane.spending, [lane])

    def _watch_clock(self, tasks: anyio.abc.TaskGroup, spending: Spending | None, lanes: Sequence[Lane]) -> float:
        seconds = None if spending is None else spending.budget.max_time
        if spending is None or seconds is None:
            return math.inf
        scope = anyio.CancelScope()
        self._clocks.append(scope)

        async def clock() -> None:
            with scope:
                await anyio.sleep(seconds)
                self._stop(spending.time_is_up(), lanes)

        tasks.start_soon(clock)
        return anyio.current_time() + seconds

    def end_clocks(self) -> None:
        """Watch no clock any more."""
        for scope in self._clocks:
            scope.cancel()

    def time_left(self, lane: Lane) -> float:
        """How many seconds an experiment may go on."""
        end = min(self._deadline, lane.deadline)
        return end if end == math.inf else end - anyio.current_time()

    def say_what_was_not_counted(self) -> None:
        """Tell the display of limits that could not be watched in full."""
        for spending in (self._spending, *(lane.spending for lane in self._lanes)):
            blind = None if spending is None else spending.blind()
            if blind is not None:
                self._progress.noted(self._clean(blind))
