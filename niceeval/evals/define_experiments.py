"""`define_experiment`: what an experiment file is made of."""

import difflib
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs

from niceeval.agents.base import AgentLike
from niceeval.agents.function import as_agent
from niceeval.errors import ConfigError
from niceeval.evals.eval import Eval, Site
from niceeval.evals.experiments import Budget, Chosen, Experiment, record_experiment
from niceeval.evals.limits import amount_above_zero, json_settings, whole_number
from niceeval.evals.select import matches_expression
from niceeval.hooks import require_hook
from niceeval.judge_config import JudgeConfig

__all__ = ["define_experiment"]


def define_experiment(
    *,
    agent: AgentLike | str | None,
    model: str | None = None,
    flags: Mapping[str, Any] | None = None,
    attempts: int | None = None,
    concurrency: int | None = None,
    timeout: float | None = None,
    retries: int | None = None,
    budget: Budget | Mapping[str, float] | None = None,
    judge: JudgeConfig | None = None,
    setup: Callable[..., Any] | None = None,
    teardown: Callable[..., Any] | None = None,
    evals: Chosen | Iterable[Chosen] | None = None,
    name: str | None = None,
) -> Experiment:
    """Define an experiment: one agent with its settings, which `niceeval run --experiment` runs against evals.

    Args:
        agent: The agent, or its reference ``module:attr``; None where no eval sends anything.
        model: The model that the agent is asked to use: it finds it in its context, and the eval in ``t.model``.
        flags: Settings that the agent finds in its context, and the eval in ``t.flags``: names with values that JSON
            can hold.
        attempts: How many attempts each case gets, at least 1; an eval's own number comes first.
        concurrency: How many of its attempts run at a time, at least 1.
        timeout: Seconds that each attempt may take, above 0.
        retries: How often an attempt is tried again when its agent could not be reached, 0 or more.
        budget: What it may use, as a `Budget` or a mapping with its names.
        judge: The model that answers judge matches; that of the run by default.
        setup: Called once before its first attempt, with the experiment or without an argument; async or not.
        teardown: Called in the same way once after its last attempt, however the run ends.
        evals: The evals that it runs: expressions over ids as ``-k`` takes them, or evals; all by default.
        name: Its name; by default that of its file, or of the variable that holds it where the file has several.

    Raises:
        TypeError: An argument is of another kind.
        ValueError: A limit, a name or an expression cannot be used.

    >>> define_experiment(agent="agents.plain:order_agent", model="small", attempts=3).settings()
    {'agent': 'agents.plain:order_agent', 'model': 'small', 'attempts': 3}
    """
    made = Experiment(
        name="" if name is None else _text("name=", name),
        agent=_agent(agent),
        model=None if model is None else _text("model=", model),
        flags=json_settings("flags=", {} if flags is None else flags),
        attempts=whole_number("attempts=", attempts),
        concurrency=whole_number("concurrency=", concurrency),
        timeout=amount_above_zero("timeout=", timeout, "seconds"),
        retries=whole_number("retries=", retries, least=0),
        budget=_budget(budget),
        judge=_judge(judge),
        setup=_hook("setup=", setup),
        teardown=_hook("teardown=", teardown),
        evals=None if evals is None else _chosen(evals),
        source=_site(),
    )
    record_experiment(made)
    return made


def _agent(agent: Any) -> Any:
    if isinstance(agent, str):
        module, colon, attribute = (part.strip() for part in agent.partition(":"))
        if not (module and colon and attribute):
            raise ValueError(f"agent= is {agent!r}; write module:attr, such as agents.plain:order_agent")
        return agent
    if agent is not None:
        as_agent(agent)
    return agent


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} is a text, got {value!r:.100}")
    if not value.strip() or value != value.strip():
        raise ValueError(f"{name} is {value!r}; give a text that is not blank, without spaces around it")
    bad = next((char for char in value if unicodedata.category(char) in {"Cc", "Zl", "Zp", "Cs"}), None)
    if bad is not None:
        raise ValueError(f"{name} is {value!r}, which holds the character U+{ord(bad):04X}; take it out")
    return value


def _budget(value: Any) -> Budget | None:
    if value is None or isinstance(value, Budget):
        return value
    names = [field.name for field in attrs.fields(Budget)]
    if not isinstance(value, Mapping):
        raise TypeError(f"budget= is a Budget or a mapping with {', '.join(names)}, got {value!r:.100}")
    for key in value:
        if key not in names:
            near = difflib.get_close_matches(str(key), names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(names)}"
            raise ValueError(f"budget= has no {key!r}; {hint}")
    return Budget(**value)


def _judge(value: Any) -> JudgeConfig | None:
    if value is not None and not isinstance(value, JudgeConfig):
        raise TypeError(f'judge= is a JudgeConfig, such as JudgeConfig(model="..."), got {value!r:.100}')
    return value


def _hook(name: str, value: Any) -> Any:
    if value is not None:
        require_hook(name, value, ("experiment",), least=0)
    return value


def _chosen(given: Any) -> tuple[Chosen, ...]:
    how = "give an expression over ids, an eval, or a list of them"
    if isinstance(given, str | Eval):
        given = [given]
    if not isinstance(given, Iterable) or isinstance(given, Mapping | bytes):
        raise TypeError(f"evals= is {given!r:.100}; {how}")
    chosen = tuple(given)
    if not chosen:
        raise ValueError("evals= is empty, so that nothing would run; leave it out for all evals")
    for each in chosen:
        if isinstance(each, str):
            try:
                matches_expression(each, what="the expression in evals=")
            except ConfigError as error:
                raise ValueError(str(error)) from None
        elif not isinstance(each, Eval):
            raise TypeError(f"evals= holds {each!r:.100}; {how}")
    return chosen


def _site() -> Site:
    """Where `define_experiment` is called: the line of the module around it, else of the function that calls it."""
    caller = frame = sys._getframe(2)
    while frame.f_code.co_name != "<module>" and frame.f_back is not None:
        frame = frame.f_back
    own = frame if frame.f_code.co_filename == caller.f_code.co_filename else caller
    return Site(own.f_code.co_filename, own.f_lineno)
