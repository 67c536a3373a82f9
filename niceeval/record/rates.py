"""The answers of the queries as models, and the rates that are folded from counts."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from niceeval.record.layout import Header
from niceeval.record.lines import plain
from niceeval.record.rows import Rows
from niceeval.stats import pass_at_k, pass_hat_k, wilson

__all__ = [
    "PassRates",
    "Place",
    "Rate",
    "Requirement",
    "Spent",
    "Tally",
    "fold_places",
    "fold_rates",
    "fold_requirement",
]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)


class Rate(_Model):
    """How often one eval passed for one agent, or how often everything did.

    Attributes:
        eval_id: The eval's id; ``*`` for all pass-style evals together.
        agent: The agent's name; None for several agents together, and where no agent took part.
        passed: Attempts that passed.
        decided: Attempts that passed or failed: the denominator. Skipped ones are in neither.
        errored: Attempts that could not be decided; they are outside the rate and widen the interval.
        planned: Attempts that were meant to run, whatever became of them.
        cases: Cases that were meant to run, each once for every agent.
        rate: ``passed / decided``, or None where nothing was decided.
        interval: The 95 % Wilson interval; its lower end counts errored attempts as failures, its upper end as passes.
        pass_at: For each k, the chance that one of k attempts at a case passes: the mean over the cases with at least
            k decided attempts. Empty where several agents are together, since an estimate belongs to one agent.
        pass_hat: For each k, the chance that all of k attempts pass, over the same cases.
        pass_cases: For each k, how many cases these are.
    """

    eval_id: str
    passed: int
    decided: int
    errored: int
    planned: int
    rate: float | None
    interval: tuple[float, float] | None
    pass_at: Mapping[int, float]
    pass_hat: Mapping[int, float]
    cases: int
    pass_cases: Mapping[int, int]
    agent: str | None = None


class PassRates(_Model):
    """The rates of one run's pass-style evals.

    Attributes:
        overall: All of them together, for all agents.
        evals: One rate per eval and agent, in the plan's order.
        agents: One rate per agent over all evals, in the plan's order.
    """

    overall: Rate
    evals: Rows[Rate]
    agents: Rows[Rate]


class Requirement(_Model):
    """How one requirement came out over a run: each attempt counts once, however many entries it has.

    Attributes:
        key: The requirement: its key, else its label, else the match.
        failed: Attempts in which an entry of it was not met.
        decided: Attempts in which it was met or failed.
        errored: Attempts in which it could not be decided, and did not fail.
        not_reached: Attempts of the same evals that ran and never came to it.
        rate: Met / decided, or None where nothing was decided.
    """

    key: str
    failed: int
    decided: int
    errored: int
    not_reached: int
    rate: float | None


class Place(_Model):
    """One agent's place among the agents of a run, by the mean of its score-style attempts.

    Attributes:
        rank: 1 is best; equal means share a rank, and the next one is counted on (1, 1, 3). None without a score.
        agent: The agent's name.
        mean_score: The mean over its scored attempts, compared exactly; None where there is none.
        scored: Attempts with an official score.
        unrankable: Attempts whose score is incomplete for lack of evidence; never averaged in.
        errored: Attempts that broke; never averaged in.
        planned: Attempts that were meant to run, whatever became of them.
    """

    rank: int | None
    agent: str
    mean_score: float | None
    scored: int
    unrankable: int
    errored: int
    planned: int


class Spent(NamedTuple):
    """What the attempts of one agent took.

    Attributes:
        agent: The agent's name; empty where no agent took part.
        cost: US dollars, as far as they were reported; None where none were.
        tokens: Input and output tokens, as far as they were reported; None where none were.
        costs_missing: Turns without a cost.
        tokens_missing: Turns without both counts of tokens.
        seconds: The durations of the attempts that ended, together.
        attempts: How many those are; without errored ones, whose durations say nothing about the agent.
    """

    agent: str = ""
    cost: float | None = None
    tokens: int | None = None
    costs_missing: int = 0
    tokens_missing: int = 0
    seconds: float = 0.0
    attempts: int = 0


class Tally(NamedTuple):
    """What became of one case's attempts by one agent, or of several cases' that came out alike."""

    eval: str
    agent: str
    passed: int
    failed: int
    errored: int
    number: int = 1


def fold_rates(header: Header, tallies: Iterable[Tally]) -> PassRates:
    """Fold the counts of all pass-style cases into rates, in the plan's order."""
    tallies = list(tallies)
    groups: dict[tuple[str, str], list[Tally]] = {}
    agents = header.agents or tuple(sorted({tally.agent for tally in tallies})) or ("",)
    planned: dict[tuple[str, str], tuple[int, int]] = {}
    for item in header.evals:
        if item.style == "pass":
            for agent in agents:
                attempts, place = header.attempts_of(item, agent), (plain(item.id), plain(agent))
                meant = (item.size * attempts, item.size if attempts else 0)
                planned[place] = _both(planned.get(place, (0, 0)), meant)
                if attempts:
                    groups.setdefault(place, [])
    extra = [tally for tally in tallies if not _place(groups, tally)]
    for tally in sorted(extra, key=lambda tally: (tally.eval, tally.agent)):
        groups.setdefault((tally.eval, tally.agent), []).append(tally)
    evals = [_rate(*place, found, planned.get(place, (0, 0))) for place, found in groups.items()]
    by_agent: dict[str, list[Tally]] = {}
    for (_, agent), found in groups.items():
        by_agent.setdefault(agent, []).extend(found)
    each: dict[str, tuple[int, int]] = {}
    for (_, agent), meant in planned.items():
        each[agent] = _both(each.get(agent, (0, 0)), meant)
    totals = [_rate("*", agent, found, each.get(agent, (0, 0))) for agent, found in by_agent.items()]
    if len(totals) == 1:
        overall = totals[0]
    else:
        everything = [tally for found in by_agent.values() for tally in found]
        overall = _rate("*", None, everything, reduce(_both, each.values(), (0, 0)))
    return PassRates(overall=overall, evals=Rows(evals), agents=Rows(totals))


def _place(groups: Mapping[tuple[str, str], list[Tally]], tally: Tally) -> bool:
    found = groups.get((tally.eval, tally.agent))
    if found is not None:
        found.append(tally)
    return found is not None


def _both(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return one[0] + other[0], one[1] + other[1]


def _rate(eval_id: str, agent: str | None, tallies: Sequence[Tally], planned: tuple[int, int]) -> Rate:
    passed = sum(tally.passed * tally.number for tally in tallies)
    decided = passed + sum(tally.failed * tally.number for tally in tallies)
    errored = sum(tally.errored * tally.number for tally in tallies)
    pass_at, pass_hat, pass_cases = ({}, {}, {}) if agent is None else _draws(tallies)
    return Rate(
        eval_id=eval_id,
        agent=agent or None,
        passed=passed,
        decided=decided,
        errored=errored,
        planned=planned[0],
        cases=planned[1],
        rate=passed / decided if decided else None,
        interval=wilson(passed, decided, undecided=errored),
        pass_at=pass_at,
        pass_hat=pass_hat,
        pass_cases=pass_cases,
    )


def _draws(tallies: Sequence[Tally]) -> tuple[dict[int, float], dict[int, float], dict[int, int]]:
    # Cases with equal counts have equal estimates: grouping them keeps 5,000 cases as cheap as five.
    counts: dict[tuple[int, int], int] = {}
    for tally in tallies:
        key = (tally.passed, tally.passed + tally.failed)
        counts[key] = counts.get(key, 0) + tally.number
    most = max((decided for _, decided in counts), default=0)
    pass_at, pass_hat, pass_cases = {}, {}, {}
    for k in range(1, most + 1):
        able = [(passed, decided, number) for (passed, decided), number in sorted(counts.items()) if decided >= k]
        pass_cases[k] = cases = sum(number for *_, number in able)
        pass_at[k] = sum((pass_at_k(p, d, k) or 0.0) * number for p, d, number in able) / cases
        pass_hat[k] = sum((pass_hat_k(p, d, k) or 0.0) * number for p, d, number in able) / cases
    return pass_at, pass_hat, pass_cases


def fold_requirement(key: str, failed: int, errored: int, reached: int, ran: int) -> Requirement:
    """Say how a requirement came out, of the attempts that failed it, left it undecided, reached it and ran."""
    decided = reached - errored
    rate = (decided - failed) / decided if decided else None
    return Requirement(key=key, failed=failed, decided=decided, errored=errored, not_reached=ran - reached, rate=rate)


def fold_places(
    scores: Mapping[str, list[tuple[Fraction, int]]],
    others: Mapping[tuple[str, str], int],
    planned: Mapping[str, int],
) -> list[Place]:
    """Rank agents by the exact mean of their scores, each with how often it is there."""
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
                planned=planned.get(agent, 0),
            )
        )
    return places
