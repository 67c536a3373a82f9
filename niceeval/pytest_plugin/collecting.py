"""Eval files as modules of pytest, and their attempts as its items."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final, final

import attrs
import pytest

from niceeval.agents.base import AgentLike
from niceeval.agents.resolve import resolve_agent
from niceeval.cli.text import safe
from niceeval.evals.cases import CaseSource
from niceeval.evals.discovery import discover
from niceeval.evals.eval import Eval
from niceeval.evals.experiments import Experiment
from niceeval.plans import AttemptRef, Plan
from niceeval.pytest_plugin import is_plugins
from niceeval.pytest_plugin.experiments import set_ups_of
from niceeval.pytest_plugin.hooks import activate, broken_files
from niceeval.pytest_plugin.outcomes import conclude
from niceeval.pytest_plugin.planned import PLANNED, PlannedAttempt
from niceeval.pytest_plugin.rates import FAMILY, Family
from niceeval.pytest_plugin.running import run_one
from niceeval.pytest_plugin.settings import BY_FIXTURE, Settings, require_agents, settings_of
from niceeval.redaction import current_redactor

__all__ = ["EvalFile", "EvalItem"]


@final
class EvalFile(pytest.Module):
    """One eval file. It is imported as `niceeval run` imports it, so that ids and stored matches are the same."""

    def collect(self) -> Iterator["EvalItem"]:
        """Yield an item for every attempt.

        Raises:
            CollectError: The file cannot be imported, or an eval in it cannot be used.
        """
        activate(self.config)
        self.obj = ModuleType(self.path.stem)
        try:
            settings = require_agents(self.config)
        except pytest.UsageError as error:
            raise self.CollectError(str(error)) from None
        found = discover([self.path], below=self._below(settings.evals))
        if found.problems:
            broken_files(self.config).add(self.nodeid)
            redactor = current_redactor(settings.secrets)
            raise self.CollectError("\n".join(redactor.redact_text(str(each))[0] for each in found.problems))
        for eval_ in found.evals:
            yield from self._items(eval_, settings)

    def _below(self, configured: Sequence[Path]) -> Path:
        """Return the folder from which the ids of this file count: as for `niceeval run` with the same paths."""
        given = (Path(os.path.abspath(self._invoked_from / arg.partition("::")[0])) for arg in self.config.args)
        for folder in (*configured, *given):
            if folder != self.path and self.path.is_relative_to(folder):
                return folder
        return self.path.parent

    @property
    def _invoked_from(self) -> Path:
        return self.config.invocation_params.dir

    def _items(self, eval_: Eval[Any], settings: Settings) -> Iterator["EvalItem"]:
        experiments = settings.experiments or (Experiment(name=BY_FIXTURE),)
        plan = Plan((eval_,), experiments, settings.attempts, exact_attempts=settings.exact_attempts)
        runs = [(each, plan.attempts_of(eval_, each)) for each in experiments]
        several = sum(1 for _, attempts in runs if attempts) > 1
        local = self._local(eval_.id)
        together = f"{self.nodeid}::{local}"
        families = [Family(f"{together}[{safe(each.name)}]" if several else together) for each in experiments]
        for case_id, case in eval_.iter_cases():
            for (experiment, attempts), family in zip(runs, families, strict=True):
                for attempt in range(1, attempts + 1):
                    parts = [
                        *([] if case_id is None else [safe(case_id)]),
                        *([safe(experiment.name)] if several else []),
                        *([f"attempt{attempt}"] if attempts > 1 else []),
                    ]
                    one = _One(eval_, case_id, case, experiment, attempt)
                    name = f"{local}[{'-'.join(parts)}]" if parts else local
                    item: EvalItem = EvalItem.from_parent(self, name=name, callobj=_signature(settings), one=one)
                    if eval_.min_rate is not None:
                        family.every.append(item.nodeid)
                        item.stash[FAMILY] = family
                    yield item

    def _local(self, eval_id: str) -> str:
        """Return the part of an id that the file gives; what stands before it is its path."""
        below = self.path.relative_to(self._below(settings_of(self.config).evals))
        return safe(eval_id.split("/", len(below.parts))[-1])


@final
@attrs.frozen
class _One:
    """What one item runs."""

    eval: Eval[Any]
    case_id: str | None
    case: object
    experiment: Experiment
    attempt: int

    @property
    def ref(self) -> AttemptRef:
        return AttemptRef(self.eval.id, self.case_id, self.experiment.name, self.attempt)

    def plan(self, agent: AgentLike | None, settings: Settings) -> Plan:
        """Return the plan of this attempt alone: those before it count as done."""
        source = None if self.case_id is None else CaseSource.of([(self.case_id, self.case)])
        experiment = self.experiment if agent is None else attrs.evolve(self.experiment, agent=agent)
        return Plan(
            (attrs.evolve(self.eval, cases=source),),
            (experiment,),
            self.attempt,
            exact_attempts=True,
            declared_secrets=settings.secrets,
            judge=settings.judge,
            done=frozenset(attrs.evolve(self.ref, attempt=number) for number in range(1, self.attempt)),
        )


def _by_fixture(niceeval_agent: object) -> None:
    """The signature of an item whose agent a fixture gives."""


def _by_name() -> None:
    """The signature of an item whose agent is named."""


def _signature(settings: Settings) -> Callable[..., None]:
    return _by_name if settings.experiments else _by_fixture


@final
class EvalItem(pytest.Function):
    """One attempt of an eval. Fixtures that are used automatically are set up for it as for any test."""

    def __init__(self, *args: Any, one: _One, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if one.experiment.name == BY_FIXTURE and is_plugins(self, BY_FIXTURE):
            one = attrs.evolve(one, experiment=Experiment())
        self._one: Final = one
        known: Any = self
        if hasattr(known, "_id"):
            # pytest 9.2 and later compare ids in parts, as they read them from a text: --lf would not know this one.
            known._id = type(known._id).parse(self.nodeid)
        self.extra_keyword_matches.update(one.eval.tags)
        self.stash[PLANNED] = PlannedAttempt(
            one.ref, one.eval.style, one.eval.has_cases, one.eval.tags, one.eval.min_rate
        )

    def setup(self) -> None:
        """Set up the fixtures, and find the agent."""
        super().setup()
        named = self._one.experiment.agent
        self._agent: Any = resolve_agent(named) if isinstance(named, str) else self.funcargs.get(BY_FIXTURE, named)

    def runtest(self) -> None:
        """Run the attempt, record it, and raise what it means."""
        __tracebackhide__ = True
        settings = settings_of(self.config)
        plan = set_ups_of(self.config).prepare(self._one.plan(self._agent, settings))
        conclude(self, run_one(self.config, plan, settings))

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        """Return where the eval is written."""
        return self.path, self._one.eval.source.line - 1, self.name
