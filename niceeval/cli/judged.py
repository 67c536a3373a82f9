"""Which judge a run has, and where its answers are kept."""

from pathlib import Path

import attrs

from niceeval.cli.options import Asked
from niceeval.config import Config
from niceeval.errors import ConfigError
from niceeval.judge_config import JudgeConfig, judge_named
from niceeval.plans import Plan

__all__ = ["CACHE", "judged", "named_judge"]

CACHE = "judge-cache"
"""The folder of the cache within the record, where `--judge-cache` names none."""


def judged(plan: Plan, asked: Asked, config: Config, record: Path) -> Plan:
    """Return a plan with the judge and the cache that were asked for, or those of the configuration.

    Raises:
        ConfigError: They cannot be used.
    """
    judge = named_judge(asked.judge, config)
    cache = None if asked.judge_cache is None else Path(asked.judge_cache or record / CACHE)
    for folder in {each.cache for each in [judge, *_own(plan)] if each is not None} if cache is None else {cache}:
        if folder is not None:
            _try(Path(folder))
    return attrs.evolve(plan, judge=judge, judge_cache=cache)


def named_judge(text: str | None, config: Config) -> JudgeConfig | None:
    """Return the judge that `--judge` names, over what the configuration says.

    Raises:
        ConfigError: It names no model.
    """
    if text is None:
        return config.judge
    try:
        return judge_named(text, config.judge)
    except ValueError as error:
        raise ConfigError(f"--judge: {error}") from None


def _own(plan: Plan) -> list[JudgeConfig | None]:
    return [experiment.judge for experiment in plan.experiments]


def _try(folder: Path) -> None:
    """Refuse a folder that is no cache before anything runs."""
    from niceeval.judge.cache import AnswerCache

    AnswerCache(folder, lambda text: None)
