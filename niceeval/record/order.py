"""The plan's order: by eval, case, agent and attempt, whichever attempt ended first."""

from collections.abc import Callable
from typing import Final, TypeAlias

from niceeval.record.layout import Header
from niceeval.record.lines import plain

__all__ = ["plan_order"]

_LAST: Final = 1 << 62
Key: TypeAlias = tuple[int, str, int, str, int, str, int]


def plan_order(header: Header) -> Callable[[str, str | None, str | None, int | None], Key]:
    """Return a sort key over eval, case, agent and attempt; what the plan does not name comes last, by name."""
    evals: dict[str, int] = {}
    cases: dict[str, dict[str, int]] = {}
    for item in header.evals:
        name = plain(item.id)
        evals.setdefault(name, len(evals))
        places = cases.setdefault(name, {})
        for case in item.cases or ():
            places.setdefault(plain(case), len(places))
    agents = {plain(agent): position for position, agent in enumerate(header.agents)}

    def key(eval_id: str, case: str | None, agent: str | None, attempt: int | None) -> Key:
        name, case_name, agent_name = plain(eval_id), plain(case or ""), plain(agent or "")
        return (
            evals.get(name, len(evals)),
            name,
            cases.get(name, {}).get(case_name, _LAST) if case is not None else -1,
            case_name,
            agents.get(agent_name, len(agents)),
            agent_name,
            attempt or 0,
        )

    return key
