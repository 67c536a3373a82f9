"""An experiment as a value: which agent, which model, which settings, how often, and within which limits."""

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeAlias, final

import attrs

from niceeval.agents.base import AgentLike
from niceeval.evals.eval import Eval, Site
from niceeval.evals.limits import amount_above_zero, whole_number
from niceeval.evals.select import Test, matches_expression
from niceeval.judge_config import JudgeConfig

__all__ = ["Budget", "Chosen", "Experiment", "record_experiment", "recording_experiments"]

Chosen: TypeAlias = str | Eval[Any]
"""How an experiment names evals: by an expression over ids, or by the eval itself."""

_recorded: ContextVar[list["Experiment"] | None] = ContextVar("niceeval_recorded_experiments", default=None)


@final
@attrs.frozen(kw_only=True)
class Budget:
    """What a run may use; once it has, nothing more is started, and what was not run is said.

    Attributes:
        max_cost: US dollars, above 0, as agents report them.
        max_tokens: Input and output tokens together, 1 or more, as agents report them.
        max_time: Seconds of wall time, above 0.

    Raises:
        ValueError: A limit is not such a number.

    >>> Budget(max_cost=2.5, max_tokens=100_000)
    Budget(max_cost=2.5, max_tokens=100000, max_time=None)
    """

    max_cost: float | None = None
    max_tokens: int | None = None
    max_time: float | None = None

    def __attrs_post_init__(self) -> None:
        if self.max_cost is None and self.max_tokens is None and self.max_time is None:
            raise ValueError("a budget without max_cost=, max_tokens= and max_time= limits nothing; give one of them")
        amount_above_zero("max_cost=", self.max_cost, "US dollars")
        whole_number("max_tokens=", self.max_tokens)
        amount_above_zero("max_time=", self.max_time, "seconds")


@final
@attrs.frozen(kw_only=True, eq=False)
class Experiment:
    """Which agent runs which evals, with which model and settings, how often, and within which limits.

    `define_experiment` makes it, and refuses what cannot be meant.

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
        evals: The evals that it runs, by expressions over ids as `-k` takes them, or themselves; None for all.
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
    judge: JudgeConfig | None = None
    setup: Callable[..., Any] | None = None
    teardown: Callable[..., Any] | None = None
    evals: tuple[Chosen, ...] | None = None
    source: Site | None = None

    def runs(self, eval_: Eval[Any]) -> bool:
        """Tell whether the eval is one of the experiment's."""
        return self.evals is None or any(_chooses(chosen, eval_) for chosen in self.evals)

    def unmatched(self, evals: Iterable[Eval[Any]]) -> Iterator[str]:
        """Yield a sentence for everything in `evals=` that fits none of these evals."""
        known = list(evals)
        for chosen in self.evals or ():
            if not any(_chooses(chosen, each) for each in known):
                yield _no_such_eval(chosen, [each.id for each in known])

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
            "judge": None if self.judge is None else self.judge.settings(),
        }
        return {name: value for name, value in given.items() if value is not None}


@contextmanager
def recording_experiments() -> Iterator[list[Experiment]]:
    """Collect every experiment that is defined inside the block."""
    made: list[Experiment] = []
    token = _recorded.set(made)
    try:
        yield made
    finally:
        _recorded.reset(token)


def record_experiment(made: Experiment) -> None:
    """Add an experiment to the list of the innermost `recording_experiments()`, if there is one."""
    recorded = _recorded.get()
    if recorded is not None:
        recorded.append(made)


@lru_cache(maxsize=256)
def _test(expression: str) -> Test:
    return matches_expression(expression)


def _chooses(chosen: Chosen, found: Eval[Any]) -> bool:
    if isinstance(chosen, str):
        return _test(chosen)(found.id)
    # An experiment's file imports evals under another module name than the run does: two objects, one place.
    if Path(chosen.source.file).resolve() != Path(found.source.file).resolve():
        return False
    if chosen.named or found.named:
        return chosen.named == found.named and (found.id == chosen.id or found.id.endswith(f"/{chosen.id}"))
    return _qualname(chosen) == _qualname(found)


def _qualname(eval_: Eval[Any]) -> str:
    return getattr(eval_.fn, "__qualname__", "") or eval_.id


def _no_such_eval(chosen: Chosen, ids: list[str]) -> str:
    what = f"evals={chosen!r}" if isinstance(chosen, str) else f"the eval {chosen.id!r} in evals="
    near = difflib.get_close_matches(chosen, ids, n=_MOST_NEAR, cutoff=0.4) if isinstance(chosen, str) else []
    if near:
        hint = f"did you mean {' or '.join(near)}?"
    elif ids:
        hint = f"there is {', '.join(ids[:_MOST_NEAR])}" + (" and more" if len(ids) > _MOST_NEAR else "")
    else:
        hint = "there is none"
    return f"{what} fits none of the evals that were found; {hint}"


_MOST_NEAR: Final = 4
