"""The agents of a run by their scores, with intervals and with who cannot be ranked."""

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from pydantic import BaseModel, ConfigDict

from niceeval.record.rows import Rows
from niceeval.record.tallies import Planned, RunCases, agents_of, read_cases
from niceeval.stats import mean_interval

if TYPE_CHECKING:
    from niceeval.record.read import Record, RunInfo

__all__ = ["Ranked", "rank"]

Reason: TypeAlias = tuple[str, str, str, str | None, int]


class Ranked(BaseModel):
    """One agent's place, over all score-style evals or in one of them.

    Attributes:
        eval_id: The eval; ``*`` for all score-style evals together.
        rank: 1 is best; equal means share a rank. None without a score.
        tied: Whether another agent has the same rank.
        agent: The agent's name; empty where no agent took part.
        mean_score: The mean over its scored attempts; None where there is none.
        interval: The bootstrap interval of the mean, over cases; None for fewer than two cases, or where all are equal.
        scored: Attempts with an official score: the denominator of the mean.
        cases: Cases with one.
        unrankable: Attempts whose score is incomplete; never averaged in.
        errored: Attempts that broke, or left no result; never averaged in.
        planned: Attempts that were meant to run.
        reasons: Why attempts are unrankable or errored, with how many each, most common first.
    """

    model_config = ConfigDict(frozen=True)

    eval_id: str
    rank: int | None
    tied: bool
    agent: str
    mean_score: float | None
    interval: tuple[float, float] | None
    scored: int
    cases: int
    unrankable: int
    errored: int
    planned: int
    reasons: tuple[tuple[str, int], ...] = ()


def rank(
    record: "Record", run: "RunInfo | str" = "latest", /, *, by_eval: bool = False, confidence: float = 0.95
) -> Rows[Ranked]:
    """Rank the agents of a run by the mean of their score-style attempts.

    Args:
        record: The record that holds the run.
        run: The run.
        by_eval: Whether to rank them in each eval, in place of all together.
        confidence: That of the intervals, above 0 and below 1.

    Raises:
        RecordError: The run cannot be read.
        ValueError: `confidence` is out of range.
    """
    found = read_cases(record, run)
    scoring = [each for each in found.cases if each.tally.style == "score"]
    names = list(dict.fromkeys(each.tally.eval_id for each in scoring)) if by_eval else ["*"] if scoring else []
    reasons = found.tables.reasons()
    rows: list[Ranked] = []
    for name in names:
        here = [each for each in scoring if name in ("*", each.tally.eval_id)]
        rows += _places(found, name, here, [each for each in reasons if name in ("*", each[0])], confidence)
    return Rows(rows)


def _places(
    run: RunCases, name: str, cases: Sequence[Planned], reasons: Sequence[Reason], confidence: float
) -> Iterable[Ranked]:
    mine = {agent: [each for each in cases if each.tally.agent == agent] for agent in agents_of(run)}
    means = {agent: _mean(found) for agent, found in mine.items()}
    order = sorted(means, key=lambda agent: (means[agent] is None, -(means[agent] or 0)))
    for agent in order:
        found, mean = mine[agent], means[agent]
        scored = [each for each in found if each.tally.scores]
        shares = [sum(each.tally.scores) / len(each.tally.scores) for each in scored]
        missing = sum(each.missing * each.number for each in found)
        yield Ranked(
            eval_id=name,
            rank=None if mean is None else 1 + sum(other is not None and other > mean for other in means.values()),
            tied=mean is not None and [*means.values()].count(mean) > 1,
            agent=agent,
            mean_score=None if mean is None else float(mean),
            interval=mean_interval(shares, confidence=confidence, weights=[each.number for each in scored]),
            scored=sum(len(each.tally.scores) * each.number for each in found),
            cases=sum(each.number for each in scored),
            unrankable=sum(each.tally.unrankable * each.number for each in found),
            errored=sum(each.tally.errored * each.number for each in found) + missing,
            planned=sum(each.planned * each.number for each in found),
            reasons=_reasons([each for each in reasons if each[1] == agent], missing),
        )


def _mean(cases: Iterable[Planned]) -> Fraction | None:
    # By their decimal forms, so that 0.1 + 0.2 and 0.3 share a rank.
    counted: Counter[float] = Counter()
    for each in cases:
        for score in each.tally.scores:
            counted[score] += each.number
    total = sum((Fraction(repr(score)) * number for score, number in counted.items()), Fraction())
    return total / counted.total() if counted else None


def _reasons(reasons: Iterable[Reason], missing: int) -> tuple[tuple[str, int], ...]:
    counted: Counter[str] = Counter()
    for _, _, status, reason, number in reasons:
        counted[f"{status}: {reason or 'no reason is recorded'}"] += number
    if missing:
        counted["left no result"] += missing
    return tuple(counted.most_common())
