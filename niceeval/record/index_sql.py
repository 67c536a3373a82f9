"""The fixed queries over the tables of an index."""

from typing import Final

__all__ = [
    "ASSERTIONS",
    "ATTEMPTS",
    "CHECKS",
    "COUNTS",
    "EXEMPLARS",
    "FIND",
    "FOUND",
    "LINES",
    "NARROWED",
    "PORTION",
    "REQUIREMENTS",
    "RETRIED",
    "SCORES",
    "SPECS",
    "SPENT",
    "STATUSES",
]

PORTION: Final = 10_000
"""How many specs are handed over at a time."""

NARROWED: Final = (
    """
    CREATE VIEW attempts AS SELECT * FROM whole.attempts
    WHERE $only IS NULL OR eval = $only OR eval || '[' || "case" || ']' = $only
    """,
    """
    CREATE VIEW assertions AS SELECT * FROM whole.assertions
    WHERE $only IS NULL OR position IN (SELECT position FROM attempts)
    """,
    """
    CREATE VIEW cases AS SELECT * FROM whole.cases
    WHERE $only IS NULL OR eval = $only OR eval || '[' || "case" || ']' = $only
    """,
    "CREATE VIEW met AS SELECT * FROM whole.met WHERE $only IS NULL OR spot IN (SELECT spot FROM cases)",
    "CREATE VIEW matches AS SELECT * FROM whole.matches",
)
"""The tables as if the run had only what is asked about."""

ATTEMPTS: Final = """
    SELECT file_no, line, "offset", size FROM attempts
    WHERE ($verdict IS NULL OR (status = $verdict AND style IS DISTINCT FROM 'score'))
      AND ($eval IS NULL OR eval = $eval OR eval || '[' || "case" || ']' = $eval)
      AND ($agent IS NULL OR agent = $agent)
      AND (len($statuses::VARCHAR[]) = 0 OR list_contains($statuses::VARCHAR[], status))
    ORDER BY position LIMIT $limit
"""

ASSERTIONS: Final = """
    SELECT position, place FROM assertions
    WHERE ($decision IS NULL OR decision = $decision) AND ($requirement IS NULL OR requirement = $requirement)
    ORDER BY position, place
"""

LINES: Final = 'SELECT file_no, line, "offset", size FROM whole.attempts ORDER BY position'
"""The lines of the attempts, by their position."""

FOUND: Final = f"""
    SELECT position, place, file_no, line, "offset", size
    FROM ({ASSERTIONS} LIMIT $limit) JOIN attempts USING (position)
    ORDER BY position, place
"""

COUNTS: Final = """
    SELECT eval, agent, passed, failed, errored, count(*) FROM (
        SELECT eval, coalesce(agent, '') AS agent, count(*) FILTER (status = 'passed') AS passed,
               count(*) FILTER (status = 'failed') AS failed, count(*) FILTER (status = 'errored') AS errored
        FROM attempts WHERE coalesce(style, 'pass') <> 'score' GROUP BY eval, "case", coalesce(agent, '')
    ) GROUP BY ALL
"""

STATUSES: Final = "SELECT status, count(*) FROM attempts GROUP BY status"

REQUIREMENTS: Final = """
    WITH reached AS (
        SELECT position, requirement, min("order") AS first, bool_or(decision = 'unmet') AS unmet,
               bool_or(decision = 'undecided') AS undecided
        FROM assertions
        WHERE decision IN ('met', 'unmet', 'undecided') AND requirement IS NOT NULL
        GROUP BY position, requirement
    ), ran AS (
        SELECT eval, count(*) AS attempts FROM attempts WHERE status <> 'skipped' GROUP BY eval
    )
    SELECT eval, requirement, min(first) AS first, count(*) FILTER (unmet) AS failed,
           count(*) FILTER (undecided AND NOT unmet) AS errored, count(*) AS reached, any_value(ran.attempts) AS ran
    FROM reached JOIN (SELECT position, eval FROM attempts WHERE status <> 'skipped') USING (position)
    JOIN ran USING (eval)
    GROUP BY eval, requirement
"""
RETRIED: Final = "SELECT status, count(*) FROM attempts WHERE tries > 0 GROUP BY status"

SPENT: Final = """
    SELECT coalesce(agent, ''), sum(cost_usd),
           CASE WHEN count(input_tokens) + count(output_tokens) > 0
                THEN (coalesce(sum(input_tokens), 0) + coalesce(sum(output_tokens), 0))::BIGINT END,
           sum(cost_unreported)::BIGINT, sum(tokens_unreported)::BIGINT,
           coalesce(sum(duration) FILTER (status <> 'errored'), 0)::DOUBLE, count(*) FILTER (status <> 'errored')
    FROM attempts GROUP BY ALL
"""

SCORES: Final = """
    SELECT coalesce(agent, ''), status, score, count(*) FROM attempts WHERE style = 'score' GROUP BY ALL
"""

CHECKS: Final = """
    SELECT eval, requirement, spec
    FROM (
        SELECT DISTINCT eval, coalesce(requirement, 'None') AS requirement, match AS fingerprint
        FROM assertions JOIN attempts USING (position)
        WHERE decision IN ('met', 'unmet', 'undecided')
    ) LEFT JOIN matches USING (fingerprint)
    ORDER BY ALL
"""

FIND: Final = """
    SELECT file_no, line, "offset", size FROM attempts WHERE starts_with(id, $prefix) ORDER BY position
"""

EXEMPLARS: Final = """
    SELECT file_no, line, "offset", size, list(fingerprint)
    FROM (SELECT match AS fingerprint, min(position) AS position FROM ASSERTIONS WHERE match IS NOT NULL GROUP BY match)
    JOIN ranks USING (position) GROUP BY ALL
"""
"""For each match, one attempt that holds its spec."""

SPECS: Final = """
    INSERT INTO specs
    SELECT unnest(
        from_json(?, '[{"fingerprint": "VARCHAR", "match": "VARCHAR", "spec": "VARCHAR"}]'), recursive := true
    )
"""
