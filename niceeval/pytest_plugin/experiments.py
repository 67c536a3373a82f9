"""Setup and teardown of experiments: each once in a process of the session, around all attempts of eval files there."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final, final

import anyio
import attrs
import pytest

from niceeval.evals.experiments import Experiment
from niceeval.experiment_hooks import ExperimentHooks
from niceeval.lanes import Lane, Limits, lane_of
from niceeval.plans import Plan, Quiet
from niceeval.pytest_plugin.running import in_loop
from niceeval.pytest_plugin.settings import settings_of
from niceeval.redaction import current_redactor
from niceeval.retries import Backoff

__all__ = ["COMPLAINTS", "SetUps", "complaints", "set_ups_of"]

COMPLAINTS: Final = "niceeval_complaints"
"""Under which name the workers of pytest-xdist hand over what went wrong in their teardowns."""


@final
class _Heard(Quiet):
    """Keeps what the display of a run would say."""

    def __init__(self, said: list[str]) -> None:
        self._said = said

    def complained(self, text: str) -> None:
        self._said.append(text)


@final
class SetUps:
    """What this process has set up.

    Args:
        config: The configuration of the session.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._lanes: dict[str, tuple[Lane, ExperimentHooks]] = {}

    def prepare(self, plan: Plan) -> Plan:
        """Set up the experiment of a plan before its first attempt, and return the plan for what is left to do."""
        [experiment] = plan.experiments
        if experiment.setup is None and experiment.teardown is None:
            return plan
        if experiment.name not in self._lanes:
            self._set_up(plan, experiment)
        failure = self._lanes[experiment.name][0].failure
        setup = None if failure is None else _raising(failure.exception)
        return attrs.evolve(plan, experiments=(attrs.evolve(experiment, setup=setup, teardown=None),))

    def _set_up(self, plan: Plan, experiment: Experiment) -> None:
        settings = settings_of(self._config)
        limits = Limits(
            concurrency=1, timeout=None, retries=0, stop_after=None, budget=None, backoff=Backoff()
        )  # fmt: skip
        lane = lane_of(plan, experiment, None, limits)
        redactor = current_redactor(settings.secrets)
        heard = _Heard(complaints(self._config))
        hooks = ExperimentHooks([lane], heard, lambda text: redactor.redact_text(text)[0])
        self._lanes[experiment.name] = lane, hooks
        lane.begun = True
        if experiment.setup is not None:
            in_loop(self._config, partial(_in_task_group, partial(hooks.set_up, lane)))

    def tear_down(self) -> None:
        """Tear everything down that was set up, the last first; what goes wrong is kept for the summary."""
        while self._lanes:
            _, (lane, hooks) = self._lanes.popitem()
            in_loop(self._config, partial(hooks.tear_down, lane))


async def _in_task_group(work: Callable[[], Any]) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(work)


def _raising(error: BaseException | None) -> Callable[[], None]:
    """Return a setup that fails as the one did that was called."""

    def setup() -> None:
        if error is not None:
            raise error

    return setup


_key: Final = pytest.StashKey[SetUps]()
_complaints: Final = pytest.StashKey[list[str]]()


def set_ups_of(config: pytest.Config) -> SetUps:
    """Return what this process has set up."""
    return config.stash.setdefault(_key, SetUps(config))


def complaints(config: pytest.Config) -> list[str]:
    """Return what went wrong in teardowns, in this process and in workers that have ended."""
    return config.stash.setdefault(_complaints, [])
