"""The statements that count an index's cases: each by itself, those that came out alike, and those of two runs."""

from typing import Final

__all__ = [
    "AGENTS",
    "ALIKE",
    "CASES",
    "EACH",
    "MET",
    "MISSED",
    "MOVED",
    "ODD_SCORES",
    "PAIRED_MET",
    "PAIRS",
    "REASONS",
    "REQUIRED",
    "SHARED",
    "SUMS",
    "UNDECIDED",
]

# ATTEMPTS, ASSERTIONS, PLAN and CASES stand for those tables on their way into an index; THIS for the schema of a run,
# THAT for the one of the run that it is compared with.

ODD_SCORES: Final = r"""
    SELECT DISTINCT coalesce(score, '') FROM ATTEMPTS
    WHERE status = 'scored' AND NOT regexp_full_match(coalesce(score, ''), '-?[0-9]{1,300}(\.[0-9]{1,300})?')
"""
"""The scores of which only a closer look tells whether they are numbers."""

CASES: Final = """
    WITH agents AS (
        SELECT DISTINCT coalesce(agent, '') AS agent FROM ATTEMPTS WHERE NAMELESS
    ), meant AS (
        SELECT eval, "case", coalesce(a.agent, p.agent) AS agent, arg_min(style, place) AS style,
               sum(attempts)::BIGINT AS attempts, min(place) AS place
        FROM (SELECT *, row_number() OVER () AS place FROM PLAN) p LEFT JOIN agents a ON true
        GROUP BY eval, "case", coalesce(a.agent, p.agent)
    ), told AS (
        SELECT eval, "case", coalesce(agent, '') AS agent, style, status, score, position,
               status = 'scored' AND coalesce(score, '') NOT IN (SELECT score FROM no_scores) AS scored
        FROM ATTEMPTS
    ), tally AS (
        SELECT eval, "case", agent, coalesce(arg_min(style, position), 'pass') AS style,
               count(*) FILTER (status = 'passed') AS passed, count(*) FILTER (status = 'failed') AS failed,
               count(*) FILTER (status = 'errored') AS errored, count(*) FILTER (status = 'skipped') AS skipped,
               count(*) FILTER (status = 'unrankable' OR (status = 'scored' AND NOT scored)) AS unrankable,
               list(score ORDER BY score) FILTER (scored) AS scores, min(position) AS position, count(*) AS ran
        FROM told GROUP BY eval, "case", agent
    )
    SELECT row_number() OVER (ORDER BY place NULLS LAST, position) - 1 AS spot, coalesce(m.eval, t.eval) AS eval,
           coalesce(m."case", t."case") AS "case", coalesce(m.agent, t.agent) AS agent,
           CASE WHEN coalesce(t.style, m.style) = 'score' THEN 'score' ELSE 'pass' END AS style,
           coalesce(passed, 0) AS passed, coalesce(failed, 0) AS failed, coalesce(errored, 0) AS errored,
           coalesce(skipped, 0) AS skipped, coalesce(unrankable, 0) AS unrankable, coalesce(scores, []) AS scores,
           greatest(0, coalesce(attempts, 0) - coalesce(ran, 0)) AS missing
    FROM meant m FULL JOIN tally t
      ON m.eval = t.eval AND m.agent = t.agent AND m."case" IS NOT DISTINCT FROM t."case"
    WHERE t.eval IS NOT NULL OR attempts > 0
    ORDER BY spot
"""
"""Every planned case for every agent, in the plan's order, then what the plan does not name."""

MET: Final = """
    WITH reached AS (
        SELECT position, requirement, bool_or(decision = 'unmet') AS unmet,
               bool_or(decision = 'undecided') AS undecided
        FROM ASSERTIONS
        WHERE decision IN ('met', 'unmet', 'undecided') AND requirement IS NOT NULL
        GROUP BY position, requirement
    ), spots AS (
        SELECT position, spot, status FROM ATTEMPTS a JOIN CASES c
          ON a.eval = c.eval AND coalesce(a.agent, '') = c.agent AND a."case" IS NOT DISTINCT FROM c."case"
        WHERE status <> 'skipped'
    )
    SELECT spot, requirement, count(*) FILTER (NOT unmet AND NOT undecided) AS passed,
           count(*) FILTER (unmet) AS failed, count(*) FILTER (undecided AND NOT unmet) AS undecided,
           count(*) FILTER (status = 'errored') AS errored
    FROM reached JOIN spots USING (position) GROUP BY spot, requirement
"""
"""How requirements came out in each case's attempts by each agent."""

_NAME: Final = """CASE WHEN c."case" IS NULL THEN c.eval ELSE c.eval || '[' || c."case" || ']' END"""
_ASKED: Final = f"(len($evals::VARCHAR[]) = 0 OR list_contains($evals, c.eval) OR list_contains($evals, {_NAME}))"
_COUNTS: Final = "passed failed errored skipped unrankable scores missing"
_OF_C: Final = ", ".join(f"c.{name}" for name in _COUNTS.split())
_OF_D: Final = ", ".join(f"d.{name}" for name in _COUNTS.split())

EACH: Final = f"""
    SELECT c.eval, c."case", c.agent, c.style, {_OF_C}, 1 FROM THIS.cases c WHERE {_ASKED} ORDER BY spot
"""

ALIKE: Final = f"""
    SELECT c.eval, NULL, c.agent, c.style, {_OF_C}, count(*)
    FROM THIS.cases c WHERE {_ASKED} GROUP BY ALL ORDER BY min(spot)
"""

AGENTS: Final = "SELECT agent FROM THIS.cases GROUP BY agent ORDER BY min(spot)"

REQUIRED: Final = f"""
    WITH met AS (SELECT * FROM THIS.met WHERE requirement = $key),
         concerned AS (SELECT DISTINCT eval, agent FROM met JOIN THIS.cases USING (spot))
    SELECT c.eval, c.agent, coalesce(m.passed, 0), coalesce(m.failed, 0),
           coalesce(m.undecided, 0) + c.errored - coalesce(m.errored, 0) + c.missing, c.missing, count(*)
    FROM THIS.cases c SEMI JOIN concerned USING (eval, agent) LEFT JOIN met m USING (spot)
    WHERE {_ASKED} GROUP BY ALL ORDER BY min(spot)
"""

SUMS: Final = f"""
    SELECT requirement, sum(m.passed)::BIGINT, sum(m.failed)::BIGINT, sum(m.undecided)::BIGINT
    FROM THIS.met m JOIN THIS.cases c USING (spot)
    WHERE ($key IS NULL OR requirement = $key) AND {_ASKED} GROUP BY requirement
"""

REASONS: Final = """
    SELECT eval, coalesce(agent, ''), status, reason, count(*) FROM THIS.attempts
    WHERE style = 'score' AND status IN ('errored', 'unrankable') GROUP BY ALL ORDER BY min(position)
"""

PAIRS: Final = f"""
    CREATE OR REPLACE TEMP TABLE pairs AS
    SELECT c.spot AS one, d.spot AS other, c.style = d.style AS shared, {_NAME} AS name
    FROM THIS.cases c JOIN THAT.cases d ON c.eval = d.eval AND c."case" IS NOT DISTINCT FROM d."case"
    WHERE c.agent = $first AND d.agent = $second AND {_ASKED}
"""
"""The cases that two agents have in common."""

_BOTH: Final = "pairs p JOIN THIS.cases c ON p.one = c.spot JOIN THAT.cases d ON p.other = d.spot"

SHARED: Final = f"""
    SELECT c.eval, c.style, {_OF_C}, {_OF_D}, count(*) FROM {_BOTH} WHERE shared GROUP BY ALL ORDER BY min(p.one)
"""

MOVED: Final = f"""
    SELECT name, c.passed, c.passed + c.failed, d.passed, d.passed + d.failed
    FROM {_BOTH}
    WHERE shared AND c.style = 'pass' AND c.passed + c.failed > 0 AND d.passed + d.failed > 0
      AND c.passed * (d.passed + d.failed) <> d.passed * (c.passed + c.failed)
    ORDER BY p.one
"""

UNDECIDED: Final = f"""
    SELECT name FROM {_BOTH}
    WHERE shared AND CASE WHEN c.style = 'score' THEN len(c.scores) = 0 OR len(d.scores) = 0
                          ELSE c.passed + c.failed = 0 OR d.passed + d.failed = 0 END
    ORDER BY c.style, p.one
"""

MISSED: Final = f"""
    SELECT {_NAME} FROM SIDE.cases c
    WHERE c.agent = $agent AND {_ASKED} AND spot NOT IN (SELECT WHICH FROM pairs WHERE shared)
    ORDER BY spot
"""
"""The cases of one side that the other does not have."""

PAIRED_MET: Final = f"""
    WITH one AS (
        SELECT c.spot, m.* EXCLUDE (spot) FROM THIS.met m JOIN THIS.cases c USING (spot)
        WHERE c.agent = $first AND {_ASKED}
    ), other AS (
        SELECT p.one AS spot, m.* EXCLUDE (spot) FROM THAT.met m JOIN THAT.cases c USING (spot)
        LEFT JOIN pairs p ON m.spot = p.other WHERE c.agent = $second AND {_ASKED}
    )
    SELECT coalesce(one.requirement, other.requirement), one.passed, one.failed, one.undecided,
           other.passed, other.failed, other.undecided, count(*)
    FROM one FULL JOIN other ON one.spot = other.spot AND one.requirement = other.requirement
    GROUP BY ALL
"""
