"""The cases of a run that is asked through an index: counted by DuckDB, so that only what came out alike is read."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, final

from niceeval.record import counted_sql
from niceeval.record.pairs import Moved, Pair, Paired, PairedRequirement
from niceeval.record.tallies import CaseTally, Planned, Required
from niceeval.record.tally_queries import exact_score
from niceeval.stats import CaseCounts

__all__ = ["IndexCases", "pair_index", "pair_index_requirements"]

Ask: TypeAlias = Callable[[str, Mapping[str, object]], list[tuple[Any, ...]]]


@final
class IndexCases:
    """The cases of one run.

    Args:
        ask: Executes a statement.
        schema: The schema that has the tables of the run's index.
    """

    __slots__ = ("ask", "schema")

    def __init__(self, ask: Ask, schema: str) -> None:
        self.ask = ask
        self.schema = schema

    def agents(self) -> list[str]:
        """Return the agents that have a case, in the plan's order, then those that it does not name."""
        return [agent for (agent,) in self._rows(counted_sql.AGENTS)]

    def planned(self, evals: Sequence[str], *, each: bool) -> list[Planned]:
        """Return the cases, each by itself or those that came out alike together."""
        rows = self._rows(counted_sql.EACH if each else counted_sql.ALIKE, evals=list(evals))
        return [
            Planned(_tally(eval_id, case, agent, style, counts[:6]), *counts[6:])
            for eval_id, case, agent, style, *counts in rows
        ]

    def required(self, key: str, evals: Sequence[str]) -> list[Required]:
        """Return how a requirement came out in the cases of the evals that came to it."""
        return [
            Required(eval_id, agent, CaseCounts(*counts), missing, number)
            for eval_id, agent, *counts, missing, number in self._rows(counted_sql.REQUIRED, key=key, evals=list(evals))
        ]

    def sums(self, key: str | None, evals: Sequence[str]) -> list[tuple[str, int, int, int]]:
        """Return of each requirement the attempts that met it, failed it and did not decide it."""
        rows = self._rows(counted_sql.SUMS, key=key, evals=list(evals))
        return [(requirement, passed, failed, undecided) for requirement, passed, failed, undecided in rows]

    def reasons(self) -> list[tuple[str, str, str, str | None, int]]:
        """Return of score-style attempts that have no score: eval, agent, status, reason, and how many."""
        return [(row[0], row[1], row[2], row[3], row[4]) for row in self.ask(self.here(counted_sql.REASONS), {})]

    def here(self, sql: str) -> str:
        """Return a statement about this run."""
        return sql.replace("THIS", self.schema)

    def _rows(self, sql: str, **values: object) -> list[tuple[Any, ...]]:
        return self.ask(self.here(sql), values)


def pair_index(one: IndexCases, other: IndexCases, agents: tuple[str, str], evals: Sequence[str]) -> Paired:
    """Pair the cases of an agent of one run with those of an agent of another, or of the same one."""
    ask = _asking(one, other)
    _join(one, other, agents, evals)
    asked = {"evals": list(evals)}
    pairs = [
        Pair(
            Planned(_tally(eval_id, None, "", style, counts[:6]), counts[6]),
            Planned(_tally(eval_id, None, "", style, counts[7:13]), counts[13]),
            counts[14],
        )
        for eval_id, style, *counts in ask(counted_sql.SHARED, {})
    ]
    only = [
        ask(counted_sql.MISSED.replace("SIDE", side).replace("WHICH", which), {"agent": agent, **asked})
        for side, which, agent in (("THIS", "one", agents[0]), ("THAT", "other", agents[1]))
    ]
    return Paired(
        pairs=tuple(_merged(pairs)),
        moved=tuple(Moved(row[0], (row[1], row[2]), (row[3], row[4])) for row in ask(counted_sql.MOVED, {})),
        undecided=tuple(name for (name,) in ask(counted_sql.UNDECIDED, {})),
        only_first=tuple(name for (name,) in only[0]),
        only_second=tuple(name for (name,) in only[1]),
    )


def pair_index_requirements(
    one: IndexCases, other: IndexCases, agents: tuple[str, str], evals: Sequence[str]
) -> list[PairedRequirement]:
    """Pair how requirements came out with two agents, case by case."""
    ask = _asking(one, other)
    _join(one, other, agents, evals)
    rows = ask(counted_sql.PAIRED_MET, {"first": agents[0], "second": agents[1], "evals": list(evals)})
    return [PairedRequirement(row[0], _counts(row[1:4]), _counts(row[4:7]), row[7]) for row in rows]


def _asking(one: IndexCases, other: IndexCases) -> Ask:
    return lambda sql, values: one.ask(one.here(sql.replace("THAT", other.schema)), values)


def _join(one: IndexCases, other: IndexCases, agents: tuple[str, str], evals: Sequence[str]) -> None:
    _asking(one, other)(counted_sql.PAIRS, {"first": agents[0], "second": agents[1], "evals": list(evals)})


def _merged(pairs: Sequence[Pair]) -> list[Pair]:
    """Put together what differs only in how scores are written."""
    found: dict[tuple[Planned, Planned], int] = {}
    for first, second, number in pairs:
        found[first, second] = found.get((first, second), 0) + number
    return [Pair(first, second, number) for (first, second), number in found.items()]


def _tally(eval_id: str, case: str | None, agent: str, style: str, counts: Sequence[Any]) -> CaseTally:
    passed, failed, errored, skipped, unrankable, scores = counts
    known = tuple(sorted(map(_number, scores)))
    return CaseTally(eval_id, case, agent, style, passed, failed, errored, skipped, unrankable, known)


def _number(score: str) -> float:
    try:
        return float(score)
    except ValueError:
        return float(exact_score(score) or 0)


def _counts(row: Sequence[int | None]) -> CaseCounts | None:
    passed, failed, undecided = row
    return None if passed is None or failed is None or undecided is None else CaseCounts(passed, failed, undecided)
