"""What the plan of a run says of its evals and experiments, as `run.json` keeps it."""

from collections.abc import Mapping
from typing import Any, Literal, Self, final

import attrs

__all__ = ["PlannedEval", "PlannedExperiment", "Settled"]


@final
@attrs.frozen
class PlannedEval:
    """One eval as the plan names it.

    Attributes:
        id: The eval's id, without a case.
        style: ``pass`` or ``score``.
        cases: The ids of its cases, or None where it has no cases.
        tags: Its tags.
        attempts: How many attempts each of its cases gets; None for the number of the experiment or the run.
        min_rate: The pass rate that the eval asks for; None where each attempt counts by itself.
        agents: The names of the agents that run it; None for all. An eval that is planned in parts stands in several.
    """

    id: str
    style: Literal["pass", "score"] = "pass"
    cases: tuple[str, ...] | None = None
    tags: tuple[str, ...] = ()
    attempts: int | None = None
    min_rate: float | None = None
    agents: tuple[str, ...] | None = None

    @classmethod
    def from_document(cls, item: Mapping[str, Any]) -> Self:
        """Read one of the evals of the parsed `run.json`.

        Raises:
            KeyError, TypeError, ValueError: It does not have this shape.
        """
        cases, agents = item.get("cases"), item.get("agents")
        return cls(
            id=str(item["id"]),
            style="score" if item.get("style") == "score" else "pass",
            cases=None if cases is None else tuple(map(str, cases)),
            tags=tuple(map(str, item.get("tags") or ())),
            attempts=_count(item.get("attempts")),
            min_rate=None if item.get("min_rate") is None else float(item["min_rate"]),
            agents=None if agents is None else tuple(map(str, agents)),
        )

    @property
    def size(self) -> int:
        """How many executions one attempt by one agent makes."""
        return 1 if self.cases is None else len(self.cases)

    @property
    def rated(self) -> bool:
        """Whether it is judged by its rate, in place of each attempt."""
        return self.min_rate is not None and self.style == "pass"


@final
@attrs.frozen
class PlannedExperiment:
    """One experiment as the plan names it; in results it stands as the agent's name.

    Attributes:
        name: Its name.
        attempts: How many attempts each case gets; None for the run's number.
        evals: The ids of the evals that it runs; None for all of the run.
        settings: Everything else that it says, for people: model, flags, limits.
    """

    name: str
    attempts: int | None = None
    evals: tuple[str, ...] | None = None
    settings: Mapping[str, Any] = attrs.Factory(dict)

    @classmethod
    def from_document(cls, item: Mapping[str, Any]) -> Self:
        """Read one of the experiments of the parsed `run.json`.

        Raises:
            KeyError, TypeError, ValueError: It does not have this shape.
        """
        evals = item.get("evals")
        return cls(
            name=str(item["name"]),
            attempts=_count(item.get("attempts")),
            evals=None if evals is None else tuple(map(str, evals)),
            settings={name: value for name, value in item.items() if name not in ("name", "attempts", "evals")},
        )


@final
@attrs.frozen
class Settled:
    """An eval that an agent repeated only until its rate was decided.

    Attributes:
        eval: The eval's id.
        agent: The agent's name; empty where no agent took part.
        attempts: How many attempts each case got.
        decision: ``pass`` or ``fail``, for people: readers decide again, from the attempts.
    """

    eval: str
    agent: str
    attempts: int
    decision: str

    @classmethod
    def from_document(cls, item: Mapping[str, Any]) -> Self:
        """Read it from the parsed `run.json`.

        Raises:
            KeyError, TypeError, ValueError: It does not have this shape.
        """
        return cls(str(item["eval"]), str(item["agent"]), int(item["attempts"]), str(item["decision"]))

    def as_document(self) -> dict[str, Any]:
        """Return what `run.json` keeps."""
        return attrs.asdict(self)


def _count(value: Any) -> int | None:
    return None if value is None else int(value)
