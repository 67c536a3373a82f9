"""What evals and `t` run with in this session: options of pytest first, then `[tool.niceeval]`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, final

import attrs
import pytest

from niceeval.agents.resolve import resolve_agent
from niceeval.config import Config, load_config
from niceeval.errors import NiceEvalError
from niceeval.evals.experiment_files import find_experiments
from niceeval.evals.experiments import Experiment
from niceeval.importable import make_importable
from niceeval.judge_config import JudgeConfig
from niceeval.record.layout import FOLDER
from niceeval.redaction import current_redactor

__all__ = ["BY_FIXTURE", "Settings", "require_agents", "settings_of"]

BY_FIXTURE: Final = "niceeval_agent"
"""What an agent is called that a fixture gives: nobody knows it when the plan is made."""


@final
@attrs.frozen
class Settings:
    """How this session runs evals.

    Attributes:
        experiments: The named agents, by reference, or the configuration's experiments; empty where there is none.
        in_experiments: Whether they come from files.
        attempts: How many attempts each case gets.
        exact_attempts: Whether that number was asked for over what evals and experiments say.
        timeout: Seconds for each attempt; None for no limit.
        retries: How often an attempt is tried again when its agent could not be reached.
        record: The record's folder.
        secrets: Names of variables whose values are secret.
        evals: The folders from which ids count.
        judge: The model that answers judge matches where an experiment has none of its own.
    """

    experiments: tuple[Experiment, ...]
    in_experiments: bool
    attempts: int
    exact_attempts: bool
    timeout: float | None
    retries: int
    record: Path
    secrets: tuple[str, ...]
    evals: tuple[Path, ...]
    judge: JudgeConfig | None = None


_key: Final = pytest.StashKey[Settings]()


def settings_of(config: pytest.Config) -> Settings:
    """Return the settings of this session, read when they are first asked for.

    Raises:
        pytest.UsageError: An option, the configuration or an agent's name cannot be used.
    """
    if _key not in config.stash:
        try:
            config.stash[_key] = _read(config)
        except NiceEvalError as error:
            raise pytest.UsageError(current_redactor().redact_text(str(error))[0]) from None
    return config.stash[_key]


def require_agents(config: pytest.Config) -> Settings:
    """Return the settings of this session, all named agents found.

    Raises:
        pytest.UsageError: As for `settings_of`; or an agent's name leads nowhere.
    """
    settings = settings_of(config)
    for each in settings.experiments:
        if isinstance(each.agent, str):
            try:
                resolve_agent(each.agent)
            except NiceEvalError as error:
                raise pytest.UsageError(current_redactor().redact_text(str(error))[0]) from None
    return settings


def _read(config: pytest.Config) -> Settings:
    project = load_config(config.rootpath)
    named: list[str] = config.getoption("--niceeval-agent")
    experiments: tuple[Experiment, ...] = ()
    if not named:
        make_importable(project.root)
        experiments = _experiments(project)
    in_experiments = bool(experiments)
    if not in_experiments:
        experiments = _agents(named or project.agent, "--niceeval-agent" if named else "[tool.niceeval] agent")
    attempts: int | None = config.getoption("--niceeval-attempts")
    record: str | None = config.getoption("--niceeval-record")
    given = project.record or config.rootpath / FOLDER if record is None else config.invocation_params.dir / record
    return Settings(
        experiments=experiments,
        in_experiments=in_experiments,
        attempts=attempts or project.attempts,
        exact_attempts=attempts is not None,
        timeout=project.timeout,
        retries=project.retries,
        record=given,
        secrets=project.secrets,
        evals=project.evals,
        judge=project.judge,
    )


def _experiments(project: Config) -> tuple[Experiment, ...]:
    if not project.experiments:
        return ()
    found = find_experiments(project.experiments)
    if found.problems:
        raise pytest.UsageError("\n".join(current_redactor().redact_text(str(each))[0] for each in found.problems))
    return found.experiments


def _agents(references: Sequence[str], what: str) -> tuple[Experiment, ...]:
    agents: dict[str, Experiment] = {}
    for text in references:
        name, equals, reference = text.partition("=")
        if not equals:
            name, reference = text, text
        if not name.strip() or not reference.strip():
            raise pytest.UsageError(f"{what} {text!r}: write module:attr or name=module:attr")
        if name in agents:
            raise pytest.UsageError(f"{what}: two agents are called {name!r}; write name=module:attr for one of them")
        agents[name] = Experiment(name=name, agent=reference)
    return tuple(agents.values())
