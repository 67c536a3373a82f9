"""Setup and teardown of the experiments of one run: each once, the teardown always reached."""

from collections.abc import Callable, Sequence
from typing import final

from niceeval.attempts import Ending
from niceeval.errors import told
from niceeval.hooks import call_hook, torn_down
from niceeval.lanes import Lane
from niceeval.plans import Progress
from niceeval.signals import asyncio_task, closes, interrupts

__all__ = ["ExperimentHooks"]


@final
class ExperimentHooks:
    """Sets experiments up and tears them down.

    Args:
        lanes: The experiments, in the plan's order.
        progress: Told of a teardown that goes wrong.
        clean: Takes secrets out of a sentence.
    """

    def __init__(self, lanes: Sequence[Lane], progress: Progress, clean: Callable[[str], str]) -> None:
        self._lanes = lanes
        self._progress = progress
        self._clean = clean
        self._busy: set[Lane] = set()

    @property
    def tearing_down(self) -> bool:
        """Whether a teardown is going on; any thread may ask."""
        return bool(self._busy)

    async def set_up(self, lane: Lane) -> None:
        """Call an experiment's setup; where it fails, so does every attempt, before its agent is called."""
        experiment = lane.experiment
        assert experiment.setup is not None
        task = asyncio_task()
        try:
            await call_hook(experiment.setup, experiment)
        except BaseException as error:
            # It runs in a task group of anyio, whose cancellations are told from those of the hook's own making.
            if interrupts(error, over=lambda: False) or closes(error, task):
                raise
            lane.failure = Ending(f"setup of {lane.name} failed: {told(error)}", exception=error)

    async def tear_down(self, lane: Lane) -> None:
        """Call an experiment's teardown, unless that has happened already."""
        experiment = lane.experiment
        hook = experiment.teardown
        if not lane.begun or hook is None:
            return
        lane.begun = False
        self._busy.add(lane)
        try:
            problem = await torn_down(
                lambda: call_hook(hook, experiment, returned=lambda: self._busy.discard(lane)),
            )
        finally:
            self._busy.discard(lane)
        if problem is not None:
            self._progress.complained(self._clean(f"teardown of {lane.name} {problem.text}"))

    async def tear_down_rest(self) -> None:
        """Call every teardown that has not been called, in reverse."""
        for lane in reversed(self._lanes):
            await self.tear_down(lane)
