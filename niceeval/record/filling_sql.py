"""The statements that make an index out of lines."""

import json
from typing import Any, Final

from niceeval.record.slim import ENTRY_TYPES, HEAD_TYPES, sql_type

__all__ = [
    "ASSERTIONS",
    "ATTEMPTS",
    "DROPPED",
    "ENTRIES",
    "HEADS",
    "MEANT",
    "ODD",
    "PLACES",
    "PLAN",
    "PLANNED",
    "PLAN_AGENTS",
    "TABLES",
]

ENTRIES: Final[Any] = [dict(ENTRY_TYPES)]
"""The structure of an attempt's assertions."""

_IS_ATTEMPT: Final = """
    json_type(id) = 'VARCHAR' AND json_type(eval) = 'VARCHAR'
    AND status IN ('passed', 'failed', 'errored', 'skipped', 'scored', 'unrankable')
"""

_HEAD_COLUMNS: Final = ", ".join(f'"{name}" {sql_type(kind)}' for name, kind in HEAD_TYPES.items())
TABLES: Final = (
    f"CREATE TEMP TABLE heads (file_no INTEGER, ordinal BIGINT, {_HEAD_COLUMNS})",
    'CREATE TEMP TABLE places (file_no INTEGER, ordinal BIGINT, number BIGINT, "offset" BIGINT, size BIGINT)',
    "CREATE TEMP TABLE patched (file_no INTEGER, ordinal BIGINT, line VARCHAR)",
    'CREATE TEMP TABLE planned (item INTEGER, ordinal BIGINT, eval VARCHAR, "case" VARCHAR)',
    "CREATE TEMP TABLE meant (item INTEGER, ordinal BIGINT, agent VARCHAR, style VARCHAR, attempts INTEGER)",
    "CREATE TEMP TABLE plan_agents (name VARCHAR, place BIGINT)",
)
DROPPED: Final = tuple(
    f"DROP TABLE {name}"
    for name in ("heads", "places", "patched", "planned", "meant", "plan_agents", "plan_evals", "plan_cases", "plan")
)

PLANNED: Final = """
    INSERT INTO planned
    SELECT item, unnest(range(len(cases))), eval, unnest(cases)
    FROM (
        SELECT item, eval, coalesce(cases, [NULL]) AS cases FROM (
            SELECT unnest(
                from_json(?, '[{"item": "INTEGER", "eval": "VARCHAR", "cases": ["VARCHAR"]}]'), recursive := true
            )
        )
    )
"""

MEANT: Final = """
    INSERT INTO meant
    SELECT item, row_number() OVER (), agent, style, attempts FROM (
        SELECT unnest(
            from_json(?, '[{"item": "INTEGER", "agent": "VARCHAR", "style": "VARCHAR", "attempts": "INTEGER"}]'),
            recursive := true
        )
    )
"""

PLAN_AGENTS: Final = """
    INSERT INTO plan_agents
    SELECT agent, max(place) FROM (
        SELECT unnest(from_json(?, '[{"place": "BIGINT", "agent": "VARCHAR"}]'), recursive := true)
    ) GROUP BY agent
"""

PLAN: Final = (
    "CREATE TEMP TABLE plan_evals AS SELECT eval AS name, min(item) AS place FROM planned GROUP BY eval",
    """
    CREATE TEMP TABLE plan_cases AS
    SELECT eval, "case" AS name, min(place) AS place
    FROM (SELECT *, row_number() OVER (ORDER BY item, ordinal) AS place FROM planned)
    WHERE "case" IS NOT NULL GROUP BY eval, "case"
    """,
    """
    CREATE TEMP TABLE plan AS
    SELECT eval, "case", agent, style, attempts FROM planned p JOIN meant m USING (item)
    ORDER BY item, m.ordinal, p.ordinal
    """,
)
"""The order of evals and cases, and every case for every agent, in the plan's order."""

PLACES: Final = "INSERT INTO places SELECT ?, " + ", ".join(["unnest(from_json(?, '[\"BIGINT\"]'))"] * 4)

ODD: Final = f"""
    SELECT ordinal FROM places ANTI JOIN (
        SELECT ordinal FROM heads WHERE file_no = ? AND {_IS_ATTEMPT} AND sessions IS NOT NULL
    ) USING (ordinal) WHERE file_no = ?
"""
"""The lines of which the reader made no attempt, or one whose conversations lie elsewhere."""

HEADS: Final = (
    f"INSERT INTO heads SELECT file_no, ordinal, unnest(json_transform(line, '{json.dumps(dict(HEAD_TYPES))}')) "
    "FROM patched"
)

_USAGE: Final = """
    list_sum(list_transform(h.turns, lambda t: t.usage.input_tokens))::BIGINT AS input_tokens,
    list_sum(list_transform(h.turns, lambda t: t.usage.output_tokens))::BIGINT AS output_tokens,
    list_sum(list_transform(h.turns, lambda t: t.usage.cost_usd))::DOUBLE AS cost_usd,
    len(list_filter(h.turns, lambda t: t.usage.input_tokens IS NULL OR t.usage.output_tokens IS NULL))::INTEGER
        AS tokens_unreported,
    len(list_filter(h.turns, lambda t: t.usage.cost_usd IS NULL))::INTEGER AS cost_unreported
"""

# The order is that of `plan_order`.
ATTEMPTS: Final = f"""
    SELECT row_number() OVER (
               ORDER BY e.place NULLS LAST, h.eval, h."case" IS NOT NULL, c.place NULLS LAST, h."case",
                        a.place NULLS LAST, coalesce(h.agent, ''), coalesce(h.attempt, 0), file_no, ordinal
           ) - 1 AS position,
           h.id, h.eval, h."case", h.agent, h.attempt, h.style, h.status, h.score, h.partial_score, h.stopped_by,
           h.reason, h.error.type AS error, try_cast(h.started AS TIMESTAMP) AS started,
           CASE WHEN isfinite(h.duration) THEN h.duration END AS duration,
           coalesce(len(h.tries), 0)::INTEGER AS tries, len(h.turns)::INTEGER AS turns, {_USAGE},
           file_no, ordinal, number AS line, "offset", size
    FROM (
        SELECT * REPLACE (id->>'$' AS id, eval->>'$' AS eval),
               coalesce(
                   flatten(
                       list_transform(
                           list_filter(sessions, lambda s: s.observed IS DISTINCT FROM true), lambda s: s.turns
                       )
                   ),
                   []
               ) AS turns
        FROM heads WHERE {_IS_ATTEMPT}
    ) h
    JOIN places USING (file_no, ordinal)
    LEFT JOIN plan_evals e ON h.eval = e.name
    LEFT JOIN plan_cases c ON h.eval = c.eval AND h."case" = c.name
    LEFT JOIN plan_agents a ON coalesce(h.agent, '') = a.name
    ORDER BY position
"""

_SPECIAL: Final = {
    "diagnostic": "entry.diagnostic.code AS code, entry.diagnostic.message AS message",
    "group": "nullif(array_to_string(entry.\"group\", ' / '), '') AS \"group\"",
    **{
        name: f"CASE WHEN isfinite(entry.{name}) THEN entry.{name} END AS {name}"
        for name in ("value", "threshold", "points", "earned")
    },
}
_ENTRY_COLUMNS: Final = ", ".join(_SPECIAL.get(name, f'entry."{name}"') for name in ENTRY_TYPES)
ASSERTIONS: Final = f"""
    SELECT position, place, {_ENTRY_COLUMNS}
    FROM (
        SELECT file_no, ordinal, unnest(assertions) AS entry, generate_subscripts(assertions, 1) - 1 AS place
        FROM (LINES)
    ) JOIN ranks USING (file_no, ordinal)
"""
