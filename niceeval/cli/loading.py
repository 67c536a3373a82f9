"""From what was asked to a plan: which experiments and agents, which evals, and which of their cases."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, final

import attrs

from niceeval.agents.base import AgentLike
from niceeval.agents.resolve import resolve_agent
from niceeval.cli.options import Asked, Options, Selection
from niceeval.cli.screen import complain
from niceeval.cli.selecting import NothingSelected, select
from niceeval.config import Config
from niceeval.errors import ConfigError
from niceeval.evals.discovery import Discovery, LoadProblem, discover
from niceeval.evals.eval import Eval
from niceeval.evals.experiment_files import experiment_problems, find_experiments
from niceeval.evals.experiments import Experiment
from niceeval.importable import make_importable
from niceeval.redaction import current_redactor

__all__ = ["Loaded", "NothingToRun", "asked_of", "load", "load_evals", "load_experiments", "say"]


class NothingToRun(Exception):
    """There is nothing to run; the message says why, and is empty where that is said already."""

    def __init__(self, message: str = "", *, usage: bool = False) -> None:
        super().__init__(message)
        self.usage = usage


@final
@attrs.frozen
class Loaded:
    """What is to run.

    Attributes:
        evals: The evals, narrowed to the selected cases.
        experiments: The experiments, or one for each agent.
        in_experiments: Whether they come from files.
        problems: How many things went wrong while loading, all of them said.
    """

    evals: tuple[Eval[Any], ...]
    experiments: tuple[Experiment, ...]
    in_experiments: bool
    problems: int


def asked_of(options: Options, config: Config) -> Asked:
    """Return what is asked for, with what the configuration says where the command line does not.

    Raises:
        ConfigError: Agents and experiments are both given, or nothing says where the evals are.
    """
    if options.agents and options.experiments:
        raise ConfigError(
            "--agent and --experiment are both given; an experiment names its own agent, so leave one of them out"
        )
    paths = tuple(options.paths) or tuple(map(_near, config.evals))
    if not paths:
        raise ConfigError(
            "no file or folder to run: give one, such as niceeval run evals, or set evals in [tool.niceeval]"
            + (f" (--judge-cache took {options.judge_cache!r} for its folder)" if options.judge_cache else "")
        )
    agents, experiments = tuple(options.agents), tuple(options.experiments)
    if not agents and not experiments:
        experiments = tuple(each if ":" in each else _near(Path(each)) for each in config.experiments)
        agents = () if experiments else config.agent
    return Asked(
        paths=paths,
        agents=agents,
        experiments=experiments,
        selection=options.selection,
        concurrency=options.concurrency or config.concurrency,
        timeout=config.timeout if options.timeout is None else options.timeout,
        retries=config.retries if options.retries is None else options.retries,
        judge=options.judge,
        judge_cache=options.judge_cache,
    )


def _near(path: Path) -> str:
    """Return a path relative to the working directory where it lies below it."""
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)


def load(asked: Asked, config: Config, record: Path) -> Loaded:
    """Load and select what was asked for.

    Raises:
        NothingToRun: Nothing is left, or something is wrong after which no run means what was asked for.
        ConfigError, AgentReferenceError, RecordError: What was asked for cannot be used.
    """
    _make_project_importable(config)
    selection = asked.selection
    agents = _agents(asked.agents)
    found = load_evals(asked.paths)
    experiments = load_experiments(asked.experiments, found.evals) if asked.experiments else agents or (Experiment(),)
    evals = _selected(found, selection, record, has_problems=bool(found.problems))
    run = tuple(each for each in evals if any(experiment.runs(each) for experiment in experiments))
    if not run:
        raise NothingToRun("no experiment runs any of the selected evals; see evals= in their files")
    used = tuple(each for each in experiments if any(map(each.runs, run)))
    if len(used) < len(experiments):
        idle = ", ".join(each.name for each in experiments if each not in used)
        complain(f"nothing that is selected is run by {idle}", fatal=False)
    if found.empty:
        complain(f"no eval in {', '.join(found.empty[:4])}", fatal=False)
    return Loaded(run, used, bool(asked.experiments), len(found.problems))


def _make_project_importable(config: Config) -> None:
    # References in a project's configuration are meant from the project, wherever below it the command is given.
    if config.source is not None and (config.agent or config.experiments):
        make_importable(config.root)


def _agents(references: Sequence[str]) -> tuple[Experiment, ...]:
    agents: dict[str, AgentLike] = {}
    for text in references:
        name, equals, reference = text.partition("=")
        if not equals:
            name, reference = text, text
        if not name.strip() or not reference.strip():
            raise ConfigError(
                f"--agent {text!r} has no {'reference' if name.strip() else 'name'}; write name=module:attr"
            )
        if name in agents:
            raise ConfigError(f"two agents are called {name!r}; give them different names: --agent name=module:attr")
        agents[name] = resolve_agent(reference)
    return tuple(Experiment(name=name, agent=agent) for name, agent in agents.items())


def load_evals(paths: Sequence[str]) -> Discovery:
    """Collect evals, and say what went wrong.

    Raises:
        NothingToRun: Something after which no run means what was asked for.
    """
    found = discover(paths)
    say(found.problems)
    if found.fatal:
        raise NothingToRun(usage=True)
    return found


def load_experiments(references: Sequence[str], evals: Sequence[Eval[Any]] | None) -> tuple[Experiment, ...]:
    """Collect experiments, hold them against the evals where those are known, and say what went wrong.

    Raises:
        NothingToRun: Anything went wrong.
    """
    found = find_experiments(references)
    problems = list(found.problems)
    if evals is not None and not problems:
        problems += experiment_problems(found.experiments, evals)
    say(problems)
    if problems:
        raise NothingToRun(usage=True)
    return found.experiments


def _selected(found: Discovery, selection: Selection, record: Path, *, has_problems: bool) -> tuple[Eval[Any], ...]:
    if not found.evals:
        if found.empty:
            raise NothingToRun(
                f"no eval in {', '.join(found.empty[:4])}; define one with @define_eval", usage=has_problems
            )
        if has_problems:
            raise NothingToRun(usage=True)
        raise NothingToRun("no eval file found: a folder gives its eval_*.py and *_eval.py, a file is always taken")
    try:
        return select(found.evals, selection, record)
    except NothingSelected as nothing:
        raise NothingToRun(str(nothing), usage=has_problems) from None


def say(problems: Sequence[LoadProblem]) -> None:
    """Say on standard error what went wrong while loading."""
    for problem in problems:
        # What an import raised may quote a secret, as a connection string in a message does.
        complain(current_redactor().redact_text(str(problem))[0])
