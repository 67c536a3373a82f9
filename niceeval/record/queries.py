"""What the record answers about one run, whichever engine counts: rates, requirements, rankings, places of lines."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any, Final, Protocol, final

import attrs

from niceeval.record.chain import ChainSource
from niceeval.record.index import IndexEngine
from niceeval.record.layout import Header, attempt_files
from niceeval.record.lines import FolderSource, Line, RunSource, plain
from niceeval.record.order import plan_order
from niceeval.record.plain import PlainEngine
from niceeval.record.rates import PassRates, Place, Requirement, Spent, Tally, fold_rates
from niceeval.record.tallies import CaseTally, RequirementTally
from niceeval.record.tally_queries import exact_score

__all__ = ["LARGE", "RunTables", "is_large", "narrowed"]

LARGE: Final = 32 << 20
"""Bytes of lines from which on an index is made: some 8,000 attempts.

Measured with 5,102 attempts of 4 KB: 0.15 s and 3 MB in plain Python, 0.35 s and 71 MB with DuckDB, of which 0.05 s
and 44 MB are its import and its connection.
"""


class _Engine(Protocol):
    """Counts and finds; what it counts is folded here."""

    def attempts(
        self,
        *,
        verdict: str | None = None,
        eval_id: str | None = None,
        agent: str | None = None,
        statuses: tuple[str, ...] = (),
        limit: int | None = None,
    ) -> list[Line]: ...
    def assertions(
        self, *, decision: str | None = None, requirement: str | None = None, limit: int | None = None
    ) -> list[tuple[Line, int]]: ...
    def counts(self) -> Iterable[tuple[str, str | None, str, str, str, int]]: ...
    def statuses(self) -> Mapping[str, int]: ...
    def requirements(self) -> list[tuple[str, str, int, int, int, int, int]]: ...
    def scores(self) -> Iterable[tuple[str, str, str | None, int]]: ...
    def checks(self) -> Iterator[tuple[str, str, Any]]: ...
    def case_tallies(self) -> Iterable[CaseTally]: ...
    def requirement_tallies(self, requirement: str | None) -> Iterable[RequirementTally]: ...
    def retried(self) -> Mapping[str, int]: ...
    def spent(self) -> Iterable[Spent]: ...
    def find(self, prefix: str) -> list[Line]: ...
    def close(self) -> None: ...


def is_large(source: RunSource) -> bool:
    """Tell whether a run is large enough for an index to be worth its while."""
    if isinstance(source, ChainSource):
        folders = [source.folder, *(older.folder for older in source.older)]
    elif isinstance(source, FolderSource):
        folders = [source.folder]
    else:
        return False
    try:
        return sum(path.stat().st_size for folder in folders for path in attempt_files(folder)) >= LARGE
    except OSError:
        return False


def narrowed(header: Header, name: str) -> Header:
    """Return a plan as if the run had only one eval, or one case of it; without evals where there is none such."""
    kept = []
    for planned in header.evals:
        if planned.id == name:
            kept.append(planned)
        elif planned.cases is not None:
            cases = tuple(case for case in planned.cases if f"{planned.id}[{case}]" == name)
            if cases:
                kept.append(attrs.evolve(planned, cases=cases))
    return attrs.evolve(header, evals=tuple(kept))


@final
class RunTables:
    """One run's attempts, ready to be asked about.

    Args:
        source: The run.
        only: Only this eval, by its id, or only one of its cases, by the id with the case in brackets.
        large: Whether it is asked through an index; None to tell by its size.
    """

    __slots__ = ("_engine", "header", "signature", "source")

    def __init__(self, source: RunSource, *, only: str | None = None, large: bool | None = None) -> None:
        self.source = source
        whole = source.header()
        self.header: Header = whole if only is None else narrowed(whole, only)
        self.signature = source.signature()
        indexed = is_large(source) if large is None else large
        self._engine: _Engine = (
            IndexEngine(source, only=_plain(only)) if indexed else PlainEngine(source, only=_plain(only))
        )

    def close(self) -> None:
        """Give the memory back."""
        self._engine.close()

    def attempts(
        self,
        *,
        verdict: str | None = None,
        eval_id: str | None = None,
        agent: str | None = None,
        statuses: tuple[str, ...] = (),
        limit: int | None = None,
    ) -> list[Line]:
        """Return where the attempts that fit stand, in the plan's order."""
        return self._engine.attempts(
            verdict=verdict, eval_id=_plain(eval_id), agent=_plain(agent), statuses=statuses, limit=limit
        )

    def assertions(
        self, *, decision: str | None = None, requirement: str | None = None, limit: int | None = None
    ) -> list[tuple[Line, int]]:
        """Return where the assertions that fit stand: the attempt's line and the place in its list."""
        return self._engine.assertions(decision=decision, requirement=_plain(requirement), limit=limit)

    def find(self, prefix: str) -> list[Line]:
        """Return where the attempts stand whose ids begin so, in the plan's order."""
        return self._engine.find(_plain(prefix) or "")

    def statuses(self) -> dict[str, int]:
        """Return how many attempts ended with each status."""
        return dict(self._engine.statuses())

    def tallies(self) -> list[Tally]:
        """Return what became of every pass-style case's attempts, for each agent."""
        found: dict[tuple[str, str | None, str], Counter[str]] = {}
        for eval_id, case, agent, style, status, count in self._engine.counts():
            if style != "score":
                found.setdefault((eval_id, case, agent), Counter())[status] += count
        return [Tally(*key, got["passed"], got["failed"], got["errored"]) for key, got in found.items()]

    def requirements(self) -> list[Requirement]:
        """Return every requirement that decided something, in the order in which the plan comes to it."""
        order = plan_order(self.header)
        found: dict[str, list[int]] = {}
        rows = self._engine.requirements()
        rows.sort(key=lambda row: (order(row[0], None, None, None), row[2], row[1]))
        for _, key, _, failed, errored, reached, ran in rows:
            sums = found.setdefault(key, [0, 0, 0, 0])
            for index, count in enumerate((failed, errored, reached, ran)):
                sums[index] += count
        return [_requirement(key, *sums) for key, sums in found.items()]

    def retried(self) -> dict[str, int]:
        """Return by status how many attempts came to their end only after another try."""
        return dict(self._engine.retried())

    def spent(self) -> dict[str, Spent]:
        """Return what each agent's attempts took, by the agent's name."""
        return {each.agent: each for each in self._engine.spent()}

    def case_tallies(self) -> list[CaseTally]:
        """Return what became of each case's attempts by each agent, in no order."""
        return list(self._engine.case_tallies())

    def requirement_tallies(self, requirement: str | None = None) -> list[RequirementTally]:
        """Return how a requirement, or every one, came out in each case's attempts by each agent, in no order."""
        return list(self._engine.requirement_tallies(_plain(requirement)))

    def checks(self) -> Iterator[tuple[str, str, Any]]:
        """Yield every match that decides for a requirement of an eval: eval, requirement, and spec if it is there."""
        return self._engine.checks()

    def pass_rates(self) -> PassRates:
        """Return the rates of the pass-style evals."""
        return fold_rates(self.header, self.tallies())

    def ranking(self) -> list[Place]:
        """Return the agents by the mean of their scores."""
        rows = list(self._engine.scores())
        scoring = rows or any(item.style == "score" for item in self.header.evals)
        scores: dict[str, list[tuple[Fraction, int]]] = {agent: [] for agent in self.header.agents} if scoring else {}
        others: dict[tuple[str, str], int] = {}
        for agent, status, score, count in rows:
            mine = scores.setdefault(agent, [])
            value = exact_score(score) if status == "scored" else None
            if value is not None:
                mine.append((value, count))
            else:
                kind = "unrankable" if status == "scored" else status
                others[agent, kind] = others.get((agent, kind), 0) + count
        return _places(scores, others)


def _requirement(key: str, failed: int, errored: int, reached: int, ran: int) -> Requirement:
    decided = reached - errored
    rate = (decided - failed) / decided if decided else None
    return Requirement(key=key, failed=failed, decided=decided, errored=errored, not_reached=ran - reached, rate=rate)


def _plain(text: str | None) -> str | None:
    return None if text is None else plain(text)


def _places(scores: Mapping[str, list[tuple[Fraction, int]]], others: Mapping[tuple[str, str], int]) -> list[Place]:
    scored = {agent: sum(count for _, count in mine) for agent, mine in scores.items()}
    means = {
        agent: sum((value * count for value, count in mine), Fraction()) / scored[agent] if mine else None
        for agent, mine in scores.items()
    }
    places: list[Place] = []
    for agent in sorted(scores, key=lambda name: (means[name] is None, -(means[name] or 0))):
        mean = means[agent]
        rank = None if mean is None else 1 + sum(1 for other in means.values() if other is not None and other > mean)
        places.append(
            Place(
                rank=rank,
                agent=agent,
                mean_score=None if mean is None else float(mean),
                scored=scored[agent],
                unrankable=others.get((agent, "unrankable"), 0),
                errored=others.get((agent, "errored"), 0),
            )
        )
    return places
