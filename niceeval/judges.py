"""The judges of a run as its experiments see them, and what becomes of the run when one of them is of no use."""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, final

from anyio.abc import TaskGroup

from niceeval.assertions import AssertionLog
from niceeval.judge.desk import Hearer
from niceeval.judge.desks import Desks, Warns
from niceeval.judge_config import JudgeConfig
from niceeval.lanes import Lane, Limits
from niceeval.plans import Plan, Progress, Quiet
from niceeval.stops import Stops

__all__ = ["RunJudges"]


@final
class RunJudges:
    """One desk for each judge that the experiments of a run have.

    Args:
        plan: The plan, with the judge where an experiment has none of its own.
        lanes: The experiments.
        limits: Where it says how long to wait before a call is made again.
        stops: Stops the experiments whose judge refuses every call.
        progress: Told what goes wrong.
        clean: Takes secrets out of a sentence.

    Raises:
        ConfigError: A cache cannot be used.
    """

    def __init__(
        self, plan: Plan, lanes: Sequence[Lane], limits: Limits, stops: Stops, progress: Progress,
        clean: Callable[[str], str],
    ) -> None:  # fmt: skip
        hearer: Hearer = Warns() if type(progress) is Quiet else self
        self._desks = Desks(plan.judge, plan.judge_cache, limits.backoff, hearer)
        self._lanes = lanes
        self._stops = stops
        self._progress = progress
        self._clean = clean
        self._by_lane = {lane: self._desks.of(lane.experiment.judge) for lane in lanes}

    def attend(self, log: AssertionLog, lane: Lane, checks: TaskGroup | None) -> None:
        """Let an experiment's judge answer what is asked in an attempt, under no cap but its own."""
        log.judge = self._by_lane[lane]
        if checks is not None:
            log.spawn_judge = lambda work: _started(checks, work)

    def noted(self, text: str) -> None:
        """Say what is worth knowing."""
        self._progress.noted(self._clean(text))

    def hopeless(self, text: str, config: JudgeConfig) -> None:
        """Say that a judge is of no use, and start nothing more that would need it."""
        self._progress.complained(self._clean(text))
        self._stops.stop(
            "the judge cannot be used",
            [lane for lane in self._lanes if self._desks.config(lane.experiment.judge) == config],
        )

    async def aclose(self) -> None:
        """Close every connection."""
        await self._desks.aclose()


def _started(checks: TaskGroup, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    checks.start_soon(work)
