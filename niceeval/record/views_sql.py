"""The tables that SQL and exports see, over the tables of one or more indexes."""

from collections.abc import Mapping
from typing import Final

__all__ = ["PER_RUN", "REQUIREMENTS", "RUNS"]

PER_RUN: Final[Mapping[str, str]] = {
    "attempts": """
        SELECT RUN AS run, id, position, eval, "case", coalesce(agent, '') AS agent, coalesce(attempt, 1) AS attempt,
               coalesce(style, 'pass') AS style, status,
               CASE WHEN isfinite(try_cast(score AS DOUBLE)) THEN try_cast(score AS DOUBLE) END AS score,
               score AS score_text,
               CASE WHEN isfinite(try_cast(partial_score AS DOUBLE)) THEN try_cast(partial_score AS DOUBLE) END
                   AS partial_score,
               stopped_by, reason, error, started, duration, tries, turns, input_tokens, output_tokens, cost_usd,
               tokens_unreported, cost_unreported, (FILES)[file_no + 1] AS file, line, "offset", size
        FROM SCHEMA.attempts
    """,
    "assertions": """
        SELECT RUN AS run, a.id AS attempt_id, e.position, a.eval, a."case", coalesce(a.agent, '') AS agent,
               coalesce(a.attempt, 1) AS attempt, a.status, e."order", e.requirement, e.key, e.label, e."group",
               e.outcome, e.decision, e.code, e.message, e.reason, e.value, e.threshold,
               coalesce(e.gate, false) AS gate, coalesce(e.stops, false) AS stops, e.points, e.earned,
               m.match, e.match AS fingerprint, e.subject, coalesce(e.scope, 'value') AS scope, e.coverage,
               coalesce(e.rederivable, 'yes') AS rederivable, e.file, e.line
        FROM SCHEMA.assertions e
        JOIN SCHEMA.attempts a ON e.position = a.position
        LEFT JOIN SCHEMA.matches m ON e.match = m.fingerprint
    """,
    "plan": 'SELECT RUN AS run, eval, "case", agent, style, attempts FROM SCHEMA.plan',
    "matches": "SELECT RUN AS run, fingerprint, match, spec FROM SCHEMA.matches",
}
"""One run's share of each table."""

REQUIREMENTS: Final = """
    CREATE VIEW requirements AS
    WITH reached AS (
        SELECT run, eval, position, requirement, bool_or(decision = 'unmet') AS unmet,
               bool_or(decision = 'undecided') AS undecided
        FROM assertions
        WHERE decision IN ('met', 'unmet', 'undecided') AND requirement IS NOT NULL AND status <> 'skipped'
        GROUP BY ALL
    ), ran AS (
        SELECT run, eval, count(*) AS attempts FROM attempts WHERE status <> 'skipped' GROUP BY ALL
    ), counted AS (
        SELECT run, eval, requirement, count(*) FILTER (unmet) AS failed,
               count(*) FILTER (unmet OR NOT undecided) AS decided,
               count(*) FILTER (undecided AND NOT unmet) AS errored, count(*) AS reached
        FROM reached GROUP BY ALL
    )
    SELECT run, eval, requirement, failed, decided, errored, attempts - reached AS not_reached,
           CASE WHEN decided > 0 THEN (decided - failed) / decided END AS rate
    FROM counted JOIN ran USING (run, eval)
"""

RUNS: Final = """
    CREATE TABLE runs (
        run VARCHAR, started TIMESTAMP, status VARCHAR, agents VARCHAR[], planned BIGINT, ended BIGINT,
        resumes VARCHAR, stopped VARCHAR, folder VARCHAR
    )
"""
