"""Tests that use `t`, as the plan sees them before they run: their ids, and what their marks say."""

import math
from typing import Any, Literal, final

import attrs
import pytest

from niceeval.agents.base import AgentLike
from niceeval.evals.experiments import Experiment
from niceeval.plans import AttemptRef
from niceeval.pytest_plugin import is_plugins
from niceeval.pytest_plugin.planned import PlannedAttempt
from niceeval.pytest_plugin.settings import BY_FIXTURE, settings_of

__all__ = ["Asked", "marked", "named_experiment", "planned_test"]


@final
@attrs.frozen
class Asked:
    """What the marks of a test say.

    Attributes:
        agent: The agent or its reference.
        style: The style of the attempt.
        timeout: Seconds that the test may take.
    """

    agent: AgentLike | str | None = None
    style: Literal["pass", "score"] = "pass"
    timeout: float | None = None


def marked(item: pytest.Item) -> Asked:
    """Return what the marks `niceeval` of a test say, the nearest first.

    Raises:
        pytest.UsageError: A mark says something else.
    """
    said: dict[str, Any] = {}
    for mark in item.iter_markers("niceeval"):
        unknown = [*map(repr, mark.args), *(name for name in mark.kwargs if name not in ("agent", "style", "timeout"))]
        if unknown:
            raise pytest.UsageError(
                f"{item.nodeid}: @pytest.mark.niceeval takes agent=, style= and timeout=, got {', '.join(unknown)}"
            )
        said = {**mark.kwargs, **said}
    if said.get("style", "pass") not in ("pass", "score"):
        raise pytest.UsageError(
            f'{item.nodeid}: @pytest.mark.niceeval(style=) is "pass" or "score", got {said["style"]!r}'
        )
    limit = said.get("timeout")
    if limit is not None and (
        isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 < limit < math.inf
    ):
        raise pytest.UsageError(
            f"{item.nodeid}: @pytest.mark.niceeval(timeout=) is a number of seconds above 0, got {limit!r}"
        )
    return Asked(**said)


def planned_test(item: pytest.Function) -> PlannedAttempt | None:
    """Return what is planned of a test that uses `t`; None for any other, and where `t` is somebody else's fixture."""
    if not is_plugins(item, "t"):
        return None
    asked = marked(item)
    folder = item.path.relative_to(item.config.rootpath) if item.path.is_relative_to(item.config.rootpath) else None
    classes = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
    file = (folder or item.path).with_suffix("").as_posix().lstrip("/")
    name = item.originalname
    case = item.name.removeprefix(name).removeprefix("[").removesuffix("]")
    ref = AttemptRef("/".join([file, *classes, name]), case or None, _agent_name(item, asked), 1)
    return PlannedAttempt(ref, asked.style, bool(case))


def named_experiment(item: pytest.Function) -> Experiment | None:
    """Return the one experiment or agent that is named for all tests, where nothing nearer gives another."""
    experiments = settings_of(item.config).experiments
    if marked(item).agent is not None or len(experiments) != 1 or not is_plugins(item, BY_FIXTURE):
        return None
    return experiments[0]


def _agent_name(item: pytest.Function, asked: Asked) -> str:
    if isinstance(asked.agent, str):
        return asked.agent
    if asked.agent is not None:
        return str(getattr(asked.agent, "__name__", None) or type(asked.agent).__name__)
    named = named_experiment(item)
    if named is not None:
        return named.name
    return "" if is_plugins(item, BY_FIXTURE) and not settings_of(item.config).experiments else BY_FIXTURE
