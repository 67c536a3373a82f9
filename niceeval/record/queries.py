"""What the record answers, on DuckDB over the lines of one run.

The lines are handed over in portions, each with its number, and taken apart with an explicit structure. DuckDB's own
file reader would hold two buffers of 32 MiB whatever the file, and would drop a damaged line without naming it.
"""

import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, final

from niceeval.record.layout import Header
from niceeval.record.lines import Damaged, Line, RunSource, parse, plain, warn
from niceeval.record.order import plan_order
from niceeval.record.rates import PassRates, Place, Requirement, Tally, fold_rates

if TYPE_CHECKING:
    import duckdb

__all__ = ["RunTables"]

_PORTION: Final = 256 * 1024
"""Bytes of lines per statement: small enough to stay out of the way, large enough to be fast."""

_COLUMNS: Final = (
    'id VARCHAR, eval VARCHAR, "case" VARCHAR, agent VARCHAR, attempt INTEGER, style VARCHAR, status VARCHAR, '
    'score VARCHAR, assertions STRUCT("order" INTEGER, requirement VARCHAR, decision VARCHAR)[]'
)
_STRUCTURE: Final = json.dumps(
    {
        "id": "JSON",
        "eval": "JSON",
        "case": "VARCHAR",
        "agent": "VARCHAR",
        "attempt": "INTEGER",
        "style": "VARCHAR",
        "status": "VARCHAR",
        "score": "VARCHAR",
        "assertions": [{"order": "INTEGER", "requirement": "VARCHAR", "decision": "VARCHAR"}],
    }
)
# Identities are taken as JSON first, since a number that reads as text would not be found again by its line's reader.
_INSERT: Final = """
    INSERT INTO attempts
    SELECT position, found.id->>'$', found.eval->>'$', found."case", found.agent, found.attempt, found.style,
           found.status, found.score, found.assertions
    FROM (
        SELECT position, json_transform(line, 'STRUCTURE') AS found
        FROM (SELECT unnest(?::VARCHAR[]) AS line, unnest(?::INTEGER[]) AS position)
        WHERE json_valid(line)
    )
    WHERE json_type(found.id) = 'VARCHAR' AND json_type(found.eval) = 'VARCHAR'
      AND found.status IN ('passed', 'failed', 'errored', 'skipped', 'scored', 'unrankable')
""".replace("STRUCTURE", _STRUCTURE)

_ATTEMPTS: Final = """
    SELECT position FROM attempts
    WHERE ($verdict IS NULL OR (status = $verdict AND style IS DISTINCT FROM 'score'))
      AND ($eval IS NULL OR eval = $eval OR eval || '[' || "case" || ']' = $eval)
      AND ($agent IS NULL OR agent = $agent)
"""

_ASSERTIONS: Final = """
    SELECT position, place - 1
    FROM (SELECT position, assertions, unnest(range(1, len(assertions) + 1)) AS place FROM attempts)
    WHERE ($decision IS NULL OR assertions[place].decision = $decision)
      AND ($requirement IS NULL OR assertions[place].requirement = $requirement)
"""

_REQUIREMENTS: Final = """
    WITH entries AS (
        SELECT position, eval, unnest(assertions) AS entry FROM attempts WHERE status <> 'skipped'
    ), reached AS (
        SELECT position, eval, entry.requirement AS requirement, min(entry."order") AS first,
               bool_or(entry.decision = 'unmet') AS unmet, bool_or(entry.decision = 'undecided') AS undecided
        FROM entries
        WHERE entry.decision IN ('met', 'unmet', 'undecided') AND entry.requirement IS NOT NULL
        GROUP BY ALL
    ), ran AS (
        SELECT eval, count(*) AS attempts FROM attempts WHERE status <> 'skipped' GROUP BY eval
    )
    SELECT eval, requirement, min(first), count(*) FILTER (unmet), count(*) FILTER (undecided AND NOT unmet),
           count(*), any_value(ran.attempts)
    FROM reached JOIN ran USING (eval)
    GROUP BY eval, requirement
"""

_TALLIES: Final = """
    SELECT eval, "case", coalesce(agent, ''), count(*) FILTER (status = 'passed'),
           count(*) FILTER (status = 'failed'), count(*) FILTER (status = 'errored')
    FROM attempts WHERE style IS DISTINCT FROM 'score' GROUP BY ALL
"""


@final
class RunTables:
    """One run's attempts in an in-memory DuckDB: what the queries need of them, and where each line is."""

    __slots__ = ("_connection", "_ranks", "header", "lines", "signature", "source")

    def __init__(self, source: RunSource) -> None:
        self.source = source
        self.header: Header = source.header()
        self.signature = source.signature()
        self.lines: list[Line] = []
        self._ranks: list[int] | None = None
        self._connection = _connect()
        self._connection.execute(f"CREATE TEMP TABLE attempts (position INTEGER, {_COLUMNS})")
        self._connection.execute("BEGIN")
        for portion in _portions(source):
            self._take(portion)
        self._connection.execute("COMMIT")

    def close(self) -> None:
        """Give the memory back."""
        self._connection.close()

    def _rows(self, sql: str, values: Mapping[str, object] | None = None) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, values or {}).fetchall()

    def _take(self, portion: list[tuple[Line, bytes]]) -> None:
        start = len(self.lines)
        self.lines.extend(line for line, _ in portion)
        texts = [_text(raw) for _, raw in portion]
        positions = list(range(start, len(self.lines)))
        self._connection.execute(_INSERT, [texts, positions])
        taken = {
            row[0] for row in self._rows("SELECT position FROM attempts WHERE position >= $start", {"start": start})
        }
        if len(taken) == len(portion):
            return
        for position, (line, raw) in zip(positions, portion, strict=True):
            if position not in taken:
                try:
                    self._connection.execute(_INSERT, [[_rewritten(parse(raw))], [position]])
                except Damaged as error:
                    warn(line, error)

    def attempts(
        self, *, verdict: str | None = None, eval_id: str | None = None, agent: str | None = None
    ) -> list[Line]:
        """Return where the attempts that fit stand, in the plan's order."""
        values = {"verdict": verdict, "eval": _plain(eval_id), "agent": _plain(agent)}
        return [self.lines[position] for (position,) in self._sorted(self._rows(_ATTEMPTS, values))]

    def assertions(self, *, decision: str | None = None, requirement: str | None = None) -> list[tuple[Line, int]]:
        """Return where the assertions that fit stand: the attempt's line and the place in its list."""
        values = {"decision": decision, "requirement": _plain(requirement)}
        return [(self.lines[position], place) for position, place in self._sorted(self._rows(_ASSERTIONS, values))]

    def _sorted(self, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        if self._ranks is None:
            self._ranks = self._rank()
        ranks = self._ranks
        return sorted(rows, key=lambda row: (ranks[row[0]], *row[1:]))

    def _rank(self) -> list[int]:
        """Return the place of each line in the plan's order, which does not depend on which attempt ended first."""
        order = plan_order(self.header)
        rows = self._rows('SELECT position, eval, "case", agent, attempt FROM attempts')
        rows.sort(key=lambda row: (order(*row[1:]), row[0]))
        ranks = [0] * len(self.lines)
        for rank, row in enumerate(rows):
            ranks[row[0]] = rank
        return ranks

    def requirements(self) -> list[Requirement]:
        """Return every requirement that decided something, in the order in which the plan comes to it."""
        order = plan_order(self.header)
        found: dict[str, list[int]] = {}
        rows = self._rows(_REQUIREMENTS)
        rows.sort(key=lambda row: (order(row[0], None, None, None), row[2] or 0, row[1]))
        for _, key, _, failed, errored, reached, ran in rows:
            sums = found.setdefault(key, [0, 0, 0, 0])
            for index, count in enumerate((failed, errored, reached, ran)):
                sums[index] += count
        return [_requirement(key, *sums) for key, sums in found.items()]

    def pass_rates(self) -> PassRates:
        """Return the rates of the pass-style evals."""
        return fold_rates(self.header, [Tally(*row) for row in self._rows(_TALLIES)])

    def ranking(self) -> list[Place]:
        """Return the agents by the mean of their scores."""
        rows = self._rows("SELECT coalesce(agent, ''), status, score FROM attempts WHERE style = 'score'")
        scoring = rows or any(item.style == "score" for item in self.header.evals)
        scores: dict[str, list[Fraction]] = {agent: [] for agent in self.header.agents} if scoring else {}
        others: dict[tuple[str, str], int] = {}
        for agent, status, score in rows:
            mine = scores.setdefault(agent, [])
            value = _exact(score) if status == "scored" else None
            if value is not None:
                mine.append(value)
            else:
                kind = "unrankable" if status == "scored" else status
                others[agent, kind] = others.get((agent, kind), 0) + 1
        return _places(scores, others)


def _requirement(key: str, failed: int, errored: int, reached: int, ran: int) -> Requirement:
    decided = reached - errored
    rate = (decided - failed) / decided if decided else None
    return Requirement(key=key, failed=failed, decided=decided, errored=errored, not_reached=ran - reached, rate=rate)


def _exact(score: str | None) -> Fraction | None:
    """Return a score by its decimal form, so that 0.1 + 0.2 and 0.3 share a rank; None where it is no finite number."""
    try:
        value = Fraction(score or "")
        return value if isfinite(float(value)) else None
    except (ValueError, OverflowError):
        return None


def _plain(text: str | None) -> str | None:
    return None if text is None else plain(text)


def _places(scores: Mapping[str, list[Fraction]], others: Mapping[tuple[str, str], int]) -> list[Place]:
    means = {agent: sum(mine) / len(mine) if mine else None for agent, mine in scores.items()}
    places: list[Place] = []
    for agent in sorted(scores, key=lambda name: (means[name] is None, -(means[name] or 0))):
        mean = means[agent]
        rank = None if mean is None else 1 + sum(1 for other in means.values() if other is not None and other > mean)
        places.append(
            Place(
                rank=rank,
                agent=agent,
                mean_score=None if mean is None else float(mean),
                scored=len(scores[agent]),
                unrankable=others.get((agent, "unrankable"), 0),
                errored=others.get((agent, "errored"), 0),
            )
        )
    return places


def _portions(source: RunSource) -> Iterator[list[tuple[Line, bytes]]]:
    portion, size = list[tuple[Line, bytes]](), 0
    for line, raw in source.lines():
        if portion and size + len(raw) > _PORTION:
            yield portion
            portion, size = [], 0
        portion.append((line, raw))
        size += len(raw)
    if portion:
        yield portion


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return ""


def _rewritten(document: Mapping[str, Any]) -> str:
    """Return what the queries need of an attempt that DuckDB's JSON reader refuses, such as for a lone surrogate."""
    entries = [entry for entry in document.get("assertions") or () if isinstance(entry, dict)]
    slim = {
        name: plain(value) if isinstance(value, str) else value
        for name, value in document.items()
        if name in ("id", "eval", "case", "agent", "attempt", "style", "status", "score")
    }
    slim["assertions"] = [
        {name: entry.get(name) for name in ("order", "decision")}
        | {"requirement": plain(str(entry.get("requirement")))}
        for entry in entries
    ]
    return json.dumps(slim)


def _connect() -> "duckdb.DuckDBPyConnection":
    import duckdb

    # One thread, since portions are small; nothing outside is read, installed or loaded.
    return duckdb.connect(
        ":memory:",
        config={"threads": 1, "enable_external_access": False, "autoinstall_known_extensions": False},
    )
