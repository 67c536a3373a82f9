"""How long a run will go on, from what has ended so far."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from niceeval.cli.numbers import counted
from niceeval.cli.tally import AgentTally, Tally
from niceeval.plans import AttemptRef

__all__ = ["progress_line", "time_left"]

_MINUTES_FROM: Final = 90
_HOURS_FROM: Final = 5400


def time_left(tally: Tally, now: float) -> float | None:
    """Estimate the seconds until the run ends; None until the first attempt has ended.

    An attempt that is left takes as long as those of its eval that have ended, and as many go on at a time as did on
    average so far: that holds for any concurrency, and for what the run itself costs. The agent that needs longest
    decides, since each may have a limit of its own.

    Args:
        tally: The counts.
        now: The time of its clock.
    """
    whole = tally.whole
    if not whole.done or now <= tally.begun:
        return None
    usual = whole.spent / whole.done
    active = list(tally.active.values())
    ages = {ref: now - since for ref, since in list(tally.running.items())}
    means = {each.name: (each.spent + usual) / (each.done + 1) for each in active}
    flying = Counter(ref.eval_id for ref in ages)
    open_ = [(means[each.name], each.total - each.done - flying[each.name]) for each in active]
    unknown = whole.total - whole.done - len(ages) - sum(number for _, number in open_)
    work = usual * unknown + sum(mean * number for mean, number in open_)
    rests = {ref: _rest(age, means.get(ref.eval_id, usual)) for ref, age in ages.items()}
    estimates = [_spread(work, list(rests.values()), whole, sum(ages.values()), now)]
    if len(tally.agents) > 1:
        estimates += [_of_agent(each, ages, rests, now) for each in tally.agents.values() if each.done]
    return max(estimates)


def _of_agent(
    agent: AgentTally, ages: Mapping[AttemptRef, float], rests: Mapping[AttemptRef, float], now: float
) -> float:
    own = [ref for ref in ages if ref.agent == agent.name]
    work = agent.spent / agent.done * (agent.total - agent.done - len(own))
    return _spread(work, [rests[ref] for ref in own], agent, sum(ages[ref] for ref in own), now)


def _rest(age: float, mean: float) -> float:
    """What a running attempt still needs: one that takes longer than usual may well take a good deal longer."""
    return max(mean - age, age / 4)


def _spread(work: float, rests: Sequence[float], of: AgentTally, running: float, now: float) -> float:
    """Divide work by how many attempts went on at a time so far; no attempt can be divided."""
    since = now if of.begun is None else of.begun
    at_a_time = (of.spent + running) / max(now - since, 1e-6)
    return max([(work + sum(rests)) / max(at_a_time, 1e-6), *rests])


def progress_line(tally: Tally) -> str:
    """Say in one line how far the run is."""
    now, whole = tally.clock(), tally.whole
    waiting = len(tally.retries(now))
    running, left = len(tally.running) - waiting, time_left(tally, now)
    parts = [f"{whole.done:,} of {counted(whole.total, 'attempt')}"]
    parts += [f"{whole.counts[each]:,} {each}" for each in ("failed", "errored") if whole.counts[each]]
    parts.append(f"{running:,} running")
    if waiting:
        parts.append(f"{waiting:,} waiting to be tried again")
    return ", ".join(parts) + ("" if left is None else f", about {_spoken(left)} left")


def _spoken(left: float) -> str:
    if left < _MINUTES_FROM:
        return f"{max(left, 1):.0f} s"
    return f"{left / 60:.0f} min" if left < _HOURS_FROM else f"{left / 3600:.1f} h"
