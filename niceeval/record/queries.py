"""What the record answers about one run, whichever engine counts: rates, requirements, rankings, places of lines."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, Protocol, final

import attrs

from niceeval.record.chain import ChainSource
from niceeval.record.index import IndexEngine
from niceeval.record.index_cases import IndexCases, pair_index, pair_index_requirements
from niceeval.record.layout import Header, attempt_files
from niceeval.record.lines import FolderSource, Line, RunSource, plain
from niceeval.record.pairs import Paired, PairedRequirement, pair_cases, pair_requirements
from niceeval.record.plain import PlainEngine
from niceeval.record.plain_cases import PlainCases
from niceeval.record.rates import PassRates, Place, Requirement, Spent, Tally, fold_places, fold_rates, fold_requirement
from niceeval.record.tallies import CaseTally, Outcome, Planned, Required, RequirementTally
from niceeval.record.tally_queries import exact_score

__all__ = ["LARGE", "RunTables", "is_large", "narrowed"]

LARGE: Final = 32 << 20
"""Bytes of lines from which on an index is made: some 8,000 attempts.

Measured with 5,102 attempts of 4 KB: 0.15 s and 3 MB in plain Python, 0.35 s and 71 MB with DuckDB, of which 0.05 s
and 44 MB are its import and its connection.
"""

VERY_LARGE: Final = 4 * LARGE
"""The same where a run is read only once: making an index is then slower than counting, up to memory's bounds.

Measured with 100,000 attempts of 0.7 KB: 2.2 s of processor time and 90 MB in plain Python, 3.6 s and 337 MB with an
index.
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
    ) -> Sequence[tuple[Line, int]]: ...
    def counts(self) -> Iterable[Tally]: ...
    def statuses(self) -> Mapping[str, int]: ...
    def requirements(self) -> list[tuple[str, str, int, int, int, int, int]]: ...
    def scores(self) -> Iterable[tuple[str, str, str | None, int]]: ...
    def checks(self) -> Iterator[tuple[str, str, Any]]: ...
    def case_tallies(self) -> Iterable[CaseTally]: ...
    def outcomes(self) -> Iterable[Outcome]: ...
    def requirement_tallies(self, requirement: str | None) -> Iterable[RequirementTally]: ...
    def retried(self) -> Mapping[str, int]: ...
    def spent(self) -> Iterable[Spent]: ...
    def find(self, prefix: str) -> list[Line]: ...
    def close(self) -> None: ...


def is_large(source: RunSource, *, once: bool = False) -> bool:
    """Tell whether a run is large enough for an index to be worth its while, or to be worth it for one time."""
    if isinstance(source, ChainSource):
        folders = [source.folder, *(older.folder for older in source.older)]
    elif isinstance(source, FolderSource):
        folders = [source.folder]
    else:
        return False
    try:
        return sum(path.stat().st_size for folder in folders for path in attempt_files(folder)) >= (
            VERY_LARGE if once else LARGE
        )
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
        once: Whether this is all that is asked for now, as at the end of a run: then an index is only made for a run
            that is very large.
    """

    __slots__ = ("_cases", "_engine", "header", "signature", "source")

    def __init__(
        self, source: RunSource, *, only: str | None = None, large: bool | None = None, once: bool = False
    ) -> None:
        self.source = source
        whole = source.header()
        self.header: Header = whole if only is None else narrowed(whole, only)
        self.signature = source.signature()
        indexed = is_large(source, once=once) if large is None else large
        self._engine: _Engine
        self._cases: IndexCases | PlainCases
        if indexed:
            self._engine = index = IndexEngine(source, only=_plain(only))
            self._cases = index.cases
        else:
            self._engine = engine = PlainEngine(source, self.header, only=_plain(only))
            self._cases = PlainCases(self.header, engine)

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
    ) -> Sequence[tuple[Line, int]]:
        """Return where the assertions that fit stand: the attempt's line and the place in its list."""
        return self._engine.assertions(decision=decision, requirement=_plain(requirement), limit=limit)

    def find(self, prefix: str) -> list[Line]:
        """Return where the attempts stand whose ids begin so, in the plan's order."""
        return self._engine.find(_plain(prefix) or "")

    def statuses(self) -> dict[str, int]:
        """Return how many attempts ended with each status."""
        return dict(self._engine.statuses())

    def requirements(self) -> list[Requirement]:
        """Return every requirement that decided something, in the order in which the plan comes to it."""
        names = [plain(item.id) for item in self.header.evals]
        place = {name: number for number, name in reversed([*enumerate(names)])}
        found: dict[str, list[int]] = {}
        rows = self._engine.requirements()
        rows.sort(key=lambda row: (place.get(row[0], len(names)), row[0], row[2], row[1]))
        for _, key, _, failed, errored, reached, ran in rows:
            sums = found.setdefault(key, [0, 0, 0, 0])
            for index, count in enumerate((failed, errored, reached, ran)):
                sums[index] += count
        return [fold_requirement(key, *sums) for key, sums in found.items()]

    def retried(self) -> dict[str, int]:
        """Return by status how many attempts came to their end only after another try."""
        return dict(self._engine.retried())

    def spent(self) -> dict[str, Spent]:
        """Return what each agent's attempts took, by the agent's name."""
        return {each.agent: each for each in self._engine.spent()}

    def case_tallies(self) -> list[CaseTally]:
        """Return what became of each case's attempts by each agent, in no order."""
        return list(self._engine.case_tallies())

    def outcomes(self) -> list[Outcome]:
        """Return how each attempt of the pass-style evals ended, in no order."""
        return list(self._engine.outcomes())

    def requirement_tallies(self, requirement: str | None = None) -> list[RequirementTally]:
        """Return how a requirement, or every one, came out in each case's attempts by each agent, in no order."""
        return list(self._engine.requirement_tallies(_plain(requirement)))

    def agents(self) -> list[str]:
        """Return the agents that have a case, in the plan's order, then those that it does not name."""
        return self._cases.agents()

    def planned(self, evals: Sequence[str] = (), *, each: bool = False) -> list[Planned]:
        """Return what became of the planned cases, each by itself or those that came out alike together.

        They stand in the plan's order, then those that it does not name.
        """
        return self._cases.planned(_names(evals), each=each)

    def required(self, key: str, evals: Sequence[str] = ()) -> list[Required]:
        """Return how a requirement came out in the cases of the evals that came to it."""
        return self._cases.required(plain(key), _names(evals))

    def requirement_sums(self, key: str | None = None, evals: Sequence[str] = ()) -> list[tuple[str, int, int, int]]:
        """Return of each requirement, or of one, the attempts that met it, failed it and did not decide it."""
        return self._cases.sums(_plain(key), _names(evals))

    def reasons(self) -> list[tuple[str, str, str, str | None, int]]:
        """Return of score-style attempts that have no score: eval, agent, status, reason, and how many."""
        return self._cases.reasons()

    def paired(self, other: "RunTables", agents: tuple[str, str], evals: Sequence[str] = ()) -> Paired:
        """Pair the cases of an agent of this run with those of an agent of another, or of this one."""
        names = _names(evals)
        sides = self._in_one_database(other)
        if sides is not None:
            return pair_index(*sides, agents, names)
        first, second = (
            [case for case in tables.planned(names, each=True) if case.tally.agent == agent]
            for tables, agent in zip((self, other), agents, strict=True)
        )
        return pair_cases(first, second)

    def paired_requirements(
        self, other: "RunTables", agents: tuple[str, str], evals: Sequence[str] = ()
    ) -> Sequence[PairedRequirement]:
        """Pair how requirements came out with an agent of this run and one of another, case by case."""
        names = _names(evals)
        sides = self._in_one_database(other)
        if sides is not None:
            return pair_index_requirements(*sides, agents, names)
        first, second = (
            [row for row in tables.requirement_tallies() if row.agent == agent and _of(row, names)]
            for tables, agent in zip((self, other), agents, strict=True)
        )
        return pair_requirements(first, second)

    def _in_one_database(self, other: "RunTables") -> tuple[IndexCases, IndexCases] | None:
        mine, its = self._engine, other._engine
        if not (isinstance(mine, IndexEngine) and isinstance(its, IndexEngine)):
            return None
        beside = mine.beside(its)
        if beside is not None:
            return mine.cases, beside
        beside = its.beside(mine)
        return None if beside is None else (beside, its.cases)

    def checks(self) -> Iterator[tuple[str, str, Any]]:
        """Yield every match that decides for a requirement of an eval: eval, requirement, and spec if it is there."""
        return self._engine.checks()

    def pass_rates(self) -> PassRates:
        """Return the rates of the pass-style evals."""
        return fold_rates(self.header, self._engine.counts())

    def ranking(self) -> list[Place]:
        """Return the agents by the mean of their scores."""
        rows = list(self._engine.scores())
        planned = {plain(each): self.header.planned_for(each, "score") for each in self.header.agents or ("",)}
        scoring = rows or any(item.style == "score" for item in self.header.evals)
        named = map(plain, self.header.agents) if scoring else ()
        scores: dict[str, list[tuple[Fraction, int]]] = {agent: [] for agent in named}
        others: dict[tuple[str, str], int] = {}
        for agent, status, score, count in rows:
            mine = scores.setdefault(agent, [])
            value = exact_score(score) if status == "scored" else None
            if value is not None:
                mine.append((value, count))
            else:
                kind = "unrankable" if status == "scored" else status
                others[agent, kind] = others.get((agent, kind), 0) + count
        return fold_places(scores, others, planned)


def _names(evals: Sequence[str]) -> list[str]:
    return [plain(name) for name in evals]


def _of(row: RequirementTally, names: Sequence[str]) -> bool:
    name = row.eval_id if row.case_id is None else f"{row.eval_id}[{row.case_id}]"
    return not names or row.eval_id in names or name in names


def _plain(text: str | None) -> str | None:
    return None if text is None else plain(text)
