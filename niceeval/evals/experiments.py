"""An experiment as a value: which agent, which model, which settings, how often, and within which limits."""

from collections.abc import Callable, Mapping
from typing import Any, final

import attrs

from niceeval.agents.base import AgentLike
from niceeval.evals.eval import Eval, Site
from niceeval.evals.select import matches_expression

__all__ = ["Budget", "Experiment"]


@final
@attrs.frozen(kw_only=True)
class Budget:
    """What a run may use; once it has, nothing more is started, and what was not run is said.

    Attributes:
        max_cost: US dollars, above 0, as agents report them.
        max_tokens: Input and output tokens together, 1 or more, as agents report them.
        max_time: Seconds of wall time, above 0.
    """

    max_cost: float | None = None
    max_tokens: int | None = None
    max_time: float | None = None


@final
@attrs.frozen(kw_only=True, eq=False)
class Experiment:
    """Which agent runs which evals, with which model and settings, how often, and within which limits.

    Attributes:
        name: Its name, by which results tell experiments apart; empty where no agent takes part.
        agent: The agent, or its reference ``module:attr``; None for evals that never send.
        model: The model that the agent is asked to use.
        flags: Settings for the agent and the evals.
        attempts: How many attempts each case gets, at least 1; None for the number of the eval or the run.
        concurrency: How many of its attempts run at a time, at least 1; None for no limit but the run's.
        timeout: Seconds that each attempt may take; None for the run's limit.
        retries: How often an attempt is tried again when its agent could not be reached, 0 or more; None for the run's.
        budget: What it may use.
        setup: Called once before its first attempt.
        teardown: Called once after its last attempt, however the run ends.
        evals: The evals that it runs, by expressions over ids as `-k` takes them; None for all.
        source: Where it is written.
    """

    name: str = ""
    agent: AgentLike | str | None = None
    model: str | None = None
    flags: Mapping[str, Any] = attrs.Factory(dict)
    attempts: int | None = None
    concurrency: int | None = None
    timeout: float | None = None
    retries: int | None = None
    budget: Budget | None = None
    setup: Callable[..., Any] | None = None
    teardown: Callable[..., Any] | None = None
    evals: tuple[str, ...] | None = None
    source: Site | None = None

    def runs(self, eval_: Eval[Any]) -> bool:
        """Tell whether the eval is one of the experiment's."""
        if self.evals is None:
            return True
        return any(matches_expression(expression)(eval_.id) for expression in self.evals)

    def settings(self) -> dict[str, Any]:
        """Return what `run.json` keeps of it besides its name."""
        reference = self.agent if isinstance(self.agent, str) else getattr(self.agent, "__qualname__", None)
        limits = None if self.budget is None else attrs.asdict(self.budget, filter=lambda _, value: value is not None)
        given = {
            "agent": reference or (None if self.agent is None else type(self.agent).__qualname__),
            "model": self.model,
            "flags": dict(self.flags) or None,
            "attempts": self.attempts,
            "concurrency": self.concurrency,
            "timeout": self.timeout,
            "retries": self.retries,
            "budget": limits,
        }
        return {name: value for name, value in given.items() if value is not None}
