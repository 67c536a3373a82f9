"""What is planned in a session: the selected attempts, as `run.json` keeps them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, final

import attrs
import pytest

from niceeval.evals.experiments import Experiment
from niceeval.plans import AttemptRef

__all__ = ["PLANNED", "PlannedAttempt", "header"]


@final
@attrs.frozen
class PlannedAttempt:
    """One attempt, with what the plan says of its eval.

    Attributes:
        ref: Which attempt.
        style: The eval's style.
        has_cases: Whether the eval has cases.
        tags: The eval's tags.
        min_rate: The rate that the eval asks for.
    """

    ref: AttemptRef
    style: Literal["pass", "score"] = "pass"
    has_cases: bool = False
    tags: tuple[str, ...] = ()
    min_rate: float | None = None


PLANNED: Final = pytest.StashKey[PlannedAttempt]()


def header(planned: Sequence[PlannedAttempt], experiments: Iterable[Experiment] = ()) -> dict[str, Any]:
    """Return the plan as `run.json` keeps it, with exactly these attempts.

    A selection need not be every case by every agent so many times: an eval then stands in several parts, each of which
    is. Denominators count what was selected, and nothing else.

    Args:
        planned: The attempts, in their order.
        experiments: The experiments that come from files.
    """
    agents = list(dict.fromkeys(each.ref.agent for each in planned))
    evals: dict[str, dict[str | None, dict[str, int]]] = {}
    firsts: dict[str, PlannedAttempt] = {}
    for each in planned:
        ref = each.ref
        firsts.setdefault(ref.eval_id, each)
        counts = evals.setdefault(ref.eval_id, {}).setdefault(ref.case_id, {})
        counts[ref.agent] = counts.get(ref.agent, 0) + 1
    parts = [part for eval_id, cases in evals.items() for part in _parts(firsts[eval_id], cases, agents)]
    used = [{"name": each.name, **each.settings()} for each in experiments if each.name in agents]
    named = [] if agents == [""] else agents
    most = max((part["attempts"] for part in parts), default=1)
    return {"agents": named, "attempts": most, "evals": parts, **({"experiments": used} if used else {})}


def _parts(
    first: PlannedAttempt, cases: Mapping[str | None, Mapping[str, int]], agents: Sequence[str]
) -> Iterable[dict[str, Any]]:
    """Yield an eval in parts: the cases with the same attempts by the same agents belong together."""
    groups: dict[tuple[tuple[str, ...], int], list[str | None]] = {}
    for case_id, counts in cases.items():
        for attempts in dict.fromkeys(counts.values()):
            runners = tuple(agent for agent, count in counts.items() if count == attempts)
            groups.setdefault((runners, attempts), []).append(case_id)
    for (runners, attempts), case_ids in groups.items():
        part: dict[str, Any] = {
            "id": first.ref.eval_id,
            "style": first.style,
            "cases": case_ids if first.has_cases else None,
            "tags": list(first.tags),
            "attempts": attempts,
        }
        if first.min_rate is not None:
            part["min_rate"] = first.min_rate
        if set(runners) != set(agents):
            part["agents"] = list(runners)
        yield part
