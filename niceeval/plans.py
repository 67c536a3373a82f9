"""What is meant to run, and what a display of it is told."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, Self, final

import attrs

from niceeval.agents.base import AgentLike
from niceeval.attempts import Finished
from niceeval.evals.eval import Eval
from niceeval.evals.experiments import Experiment
from niceeval.judge_config import JudgeConfig
from niceeval.record.planned import Settled

__all__ = ["AttemptRef", "Plan", "Progress", "Quiet"]


@final
@attrs.frozen
class AttemptRef:
    """Which attempt: of which eval and case, by which agent or experiment, the how manieth."""

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
        experiments: What they run against; an agent that was named alone is an experiment with nothing but its name.
        attempts: How many attempts each case gets where neither eval nor experiment says.
        exact_attempts: Whether `attempts` goes for all, whatever eval and experiment say.
        declared_secrets: Names of environment variables whose values are secret whatever their names end in.
        resumes: The id of the run that this one goes on with.
        done: Attempts of that run that count and are not run again.
        statuses: How those of them ended of which it is known.
        sequential: Whether evals that ask for a rate are repeated only until that is decided, so that the numbers of
            attempts are the most that there may be.
        in_experiments: Whether the experiments come from files, so that the record keeps what they say.
        judge: The judge of experiments that have none of their own.
        judge_cache: The folder of the judges' cache, in place of what they say.
        observed: Which recorded conversations are checked, where no agent is called; the record keeps it.
    """

    evals: tuple[Eval[Any], ...]
    experiments: tuple[Experiment, ...] = (Experiment(),)
    attempts: int = 1
    exact_attempts: bool = False
    declared_secrets: tuple[str, ...] = ()
    resumes: str | None = None
    done: frozenset[AttemptRef] = frozenset()
    statuses: Mapping[AttemptRef, str] = attrs.field(factory=dict, eq=False, repr=False)
    sequential: bool = False
    in_experiments: bool = False
    judge: JudgeConfig | None = None
    judge_cache: Path | None = None
    observed: Mapping[str, Any] | None = None

    @classmethod
    def of_agents(
        cls,
        evals: Iterable[Eval[Any]],
        agents: Mapping[str, AgentLike],
        attempts: int = 1,
        declared_secrets: tuple[str, ...] = (),
        *,
        exact_attempts: bool = False,
    ) -> Self:
        """Return the plan that runs evals against agents by name; without agents, each eval runs against none."""
        named = tuple(Experiment(name=name, agent=agent) for name, agent in agents.items())
        return cls(tuple(evals), named or (Experiment(),), attempts, exact_attempts, declared_secrets)

    @property
    def agents(self) -> tuple[str, ...]:
        """The names that results tell the experiments apart by; empty where no agent takes part."""
        return tuple(experiment.name for experiment in self.experiments if experiment.name)

    @property
    def size(self) -> int:
        """How many attempts are planned, those of a run that it goes on with included."""
        return sum(
            len(eval_.iter_cases()) * self.attempts_of(eval_, experiment)
            for eval_ in self.evals
            for experiment in self.experiments
        )

    def attempts_of(self, eval_: Eval[Any], experiment: Experiment) -> int:
        """Return how many attempts each case of an eval gets in an experiment: 0 where it leaves the eval out."""
        if not experiment.runs(eval_):
            return 0
        return self.attempts if self.exact_attempts else eval_.attempts or experiment.attempts or self.attempts

    def in_rounds(self, eval_: Eval[Any]) -> bool:
        """Tell whether an eval is repeated only until its rate is decided."""
        return self.sequential and eval_.min_rate is not None

    def header(self) -> dict[str, Any]:
        """Return the plan as `run.json` keeps it."""
        document: dict[str, Any] = {
            "agents": list(self.agents),
            "attempts": self.attempts,
            "evals": [_planned(eval_) for eval_ in self.evals],
        }
        if self.exact_attempts:
            document["exact_attempts"] = True
        if self.sequential:
            document["sequential"] = True
        if self.in_experiments:
            document["experiments"] = [self._experiment(experiment) for experiment in self.experiments]
        if self.judge is not None:
            document["judge"] = self.judge.settings()
        if self.observed is not None:
            document["observed"] = dict(self.observed)
        if self.resumes is not None:
            document["resumes"] = self.resumes
        return document

    def _experiment(self, experiment: Experiment) -> dict[str, Any]:
        chosen = [eval_.id for eval_ in self.evals if experiment.runs(eval_)]
        evals = {} if len(chosen) == len(self.evals) else {"evals": chosen}
        return {"name": experiment.name, **experiment.settings(), **evals}

    def refs(self) -> Iterator[tuple[AttemptRef, Eval[Any], object, Experiment]]:
        """Yield every attempt that is to run with its eval, case and experiment, in order."""
        for eval_ in self.evals:
            runs = [(experiment, self.attempts_of(eval_, experiment)) for experiment in self.experiments]
            for case_id, case in eval_.iter_cases():
                for experiment, attempts in runs:
                    for attempt in range(1, attempts + 1):
                        ref = AttemptRef(eval_.id, case_id, experiment.name, attempt)
                        if not self.done or ref not in self.done:
                            yield ref, eval_, case, experiment

    def refs_of(self, experiment: Experiment) -> Iterator[tuple[AttemptRef, Eval[Any], object]]:
        """Yield every attempt of one experiment that is to run with its eval and case, in order."""
        for eval_ in self.evals:
            yield from self.refs_at(eval_, experiment)

    def refs_at(self, eval_: Eval[Any], experiment: Experiment) -> Iterator[tuple[AttemptRef, Eval[Any], object]]:
        """Yield every attempt of one experiment at one eval that is to run with its eval and case, in order."""
        attempts = self.attempts_of(eval_, experiment)
        if not attempts:
            return
        for case_id, case in eval_.iter_cases():
            for attempt in range(1, attempts + 1):
                ref = AttemptRef(eval_.id, case_id, experiment.name, attempt)
                if not self.done or ref not in self.done:
                    yield ref, eval_, case


def _planned(eval_: Eval[Any]) -> dict[str, Any]:
    document: dict[str, Any] = {
        "id": eval_.id,
        "style": eval_.style,
        "cases": [case_id for case_id, _ in eval_.iter_cases()] if eval_.has_cases else None,
        "tags": list(eval_.tags),
    }
    for name in ("attempts", "min_rate"):
        value = getattr(eval_, name)
        if value is not None:
            document[name] = value
    return document


class Progress(Protocol):
    """What a display of a run is told, in the thread of the event loop."""

    def plan_ready(self, plan: Plan, run_id: str) -> None:
        """The run is about to start."""

    def attempt_started(self, ref: AttemptRef) -> None:
        """One attempt has started."""

    def attempt_retried(self, ref: AttemptRef, tried: int, wait: float, reason: str) -> None:
        """The agent could not be reached for the `tried`-th time, and is tried again after `wait` seconds."""

    def attempt_finished(self, ref: AttemptRef, finished: Finished) -> None:
        """One attempt has ended and is recorded."""

    def settled(self, found: Settled, not_needed: int) -> None:
        """The rate of an eval is decided before its last round; so many planned attempts are not needed."""

    def stopped(self, reason: str, not_run: int) -> None:
        """Nothing more is started, for this reason; so many planned attempts are not run."""

    def came_late(self, mistake: str) -> None:
        """Something was checked or configured after its attempt had ended, so that it is in no result."""

    def complained(self, text: str) -> None:
        """Something went wrong that is in no result, such as the teardown of an experiment: the run is not in order."""

    def noted(self, text: str) -> None:
        """Something is worth knowing at the end, such as a budget that could not be watched; the run is in order."""


class Quiet:
    """A display that shows nothing."""

    def plan_ready(self, plan: Plan, run_id: str) -> None:
        """Show nothing."""

    def attempt_started(self, ref: AttemptRef) -> None:
        """Show nothing."""

    def attempt_retried(self, ref: AttemptRef, tried: int, wait: float, reason: str) -> None:
        """Show nothing."""

    def attempt_finished(self, ref: AttemptRef, finished: Finished) -> None:
        """Show nothing."""

    def settled(self, found: Settled, not_needed: int) -> None:
        """Show nothing."""

    def stopped(self, reason: str, not_run: int) -> None:
        """Show nothing."""

    def came_late(self, mistake: str) -> None:
        """Show nothing."""

    def complained(self, text: str) -> None:
        """Show nothing."""

    def noted(self, text: str) -> None:
        """Show nothing."""
