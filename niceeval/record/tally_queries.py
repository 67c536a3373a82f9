"""The counts per case as DuckDB makes them, and scores as they are read from it."""

from fractions import Fraction
from functools import lru_cache
from math import isfinite
from typing import Final

from niceeval.record.tallies import CaseTally

__all__ = ["CASE_TALLIES", "OUTCOMES", "REQUIREMENT_TALLIES", "case_tally", "exact_score"]

CASE_TALLIES: Final = """
    SELECT eval, "case", coalesce(agent, '') AS agent, coalesce(any_value(style), 'pass'),
           count(*) FILTER (status = 'passed'), count(*) FILTER (status = 'failed'),
           count(*) FILTER (status = 'errored'), count(*) FILTER (status = 'skipped'),
           count(*) FILTER (status = 'unrankable'), list(coalesce(score, '')) FILTER (status = 'scored')
    FROM attempts GROUP BY eval, "case", coalesce(agent, '')
"""

OUTCOMES: Final = """
    SELECT eval, "case", coalesce(agent, ''), coalesce(attempt, 1), status
    FROM attempts WHERE coalesce(style, 'pass') <> 'score'
"""

REQUIREMENT_TALLIES: Final = """
    WITH reached AS (
        SELECT position, requirement, bool_or(decision = 'unmet') AS unmet,
               bool_or(decision = 'undecided') AS undecided
        FROM assertions
        WHERE decision IN ('met', 'unmet', 'undecided') AND requirement IS NOT NULL
          AND ($requirement IS NULL OR requirement = $requirement)
        GROUP BY position, requirement
    )
    SELECT eval, "case", coalesce(agent, ''), requirement, count(*) FILTER (NOT unmet AND NOT undecided),
           count(*) FILTER (unmet), count(*) FILTER (undecided AND NOT unmet), count(*) FILTER (status = 'errored')
    FROM reached JOIN attempts USING (position)
    WHERE status <> 'skipped'
    GROUP BY eval, "case", coalesce(agent, ''), requirement
"""


def case_tally(eval_id: str, case: str | None, agent: str, style: str, *counts: int | list[str] | None) -> CaseTally:
    """Make a row of `CASE_TALLIES` a model."""
    passed, failed, errored, skipped, unrankable, given = counts
    scores = [exact_score(score) for score in given] if isinstance(given, list) else []
    known = tuple(sorted(float(score) for score in scores if score is not None))
    # As in the ranking: a score that is no number is none.
    incomplete = len(scores) - len(known)
    numbers = [each if isinstance(each, int) else 0 for each in (passed, failed, errored, skipped, unrankable)]
    return CaseTally(
        eval_id,
        case,
        agent,
        "score" if style == "score" else "pass",
        passed=numbers[0],
        failed=numbers[1],
        errored=numbers[2],
        skipped=numbers[3],
        unrankable=numbers[4] + incomplete,
        scores=known,
    )


@lru_cache(4096)
def exact_score(score: str | None) -> Fraction | None:
    """Return a score by its decimal form, so that 0.1 + 0.2 and 0.3 share a rank; None where it is no finite number."""
    try:
        value = Fraction(score or "")
        return value if isfinite(float(value)) else None
    except (ValueError, OverflowError):
        return None
