"""How far a run is: counts per eval and per agent, what runs, what waits for another try, and the time left."""

import re
import time
from collections import Counter
from collections.abc import Callable
from typing import Final, TypeAlias

import attrs

from niceeval.attempts import Finished
from niceeval.plans import AttemptRef, Plan
from niceeval.record.planned import Settled

__all__ = ["AgentTally", "Clock", "EvalTally", "Reasons", "Tally", "Waiting"]

Clock: TypeAlias = Callable[[], float]

# In a document, a quote inside a text is escaped, so that the first such key is the attempt's own.
_SCORE: Final = re.compile(r'"score":\s*(-?[\d.eE+-]+)')
_VARYING: Final = re.compile(r"\b[0-9a-f]*\d[0-9a-f-]*\b")
_MOST_REASONS: Final = 200
_MOST_OF_REASON: Final = 300


@attrs.define(slots=True, eq=False)
class EvalTally:
    """How far one eval is.

    Attributes:
        name: The eval's id.
        total: Attempts that this run makes.
        done: Attempts that have ended.
        spent: Seconds that the ended ones took together.
        begun: When its first attempt started.
        ended: When its last one ended.
        counts: The ended ones by status.
    """

    name: str
    total: int
    done: int = 0
    spent: float = 0.0
    begun: float | None = None
    ended: float | None = None
    counts: Counter[str] = attrs.Factory(Counter)


@attrs.define(slots=True, eq=False)
class AgentTally:
    """How far one agent is, or all together.

    Attributes:
        name: The name of the agent or experiment.
        total: Attempts that this run makes.
        done: Attempts that have ended.
        spent: Seconds that the ended ones took together.
        begun: When its first attempt started.
        counts: The ended ones by status.
        score: The sum of the scores.
    """

    name: str
    total: int
    done: int = 0
    spent: float = 0.0
    begun: float | None = None
    counts: Counter[str] = attrs.Factory(Counter)
    score: float = 0.0

    @property
    def decided(self) -> int:
        """The denominator of the pass rate: errored and skipped attempts are outside."""
        return self.counts["passed"] + self.counts["failed"]

    @property
    def rate(self) -> float | None:
        """The pass rate so far."""
        return self.counts["passed"] / self.decided if self.decided else None

    @property
    def mean(self) -> float | None:
        """The mean score so far."""
        return self.score / self.counts["scored"] if self.counts["scored"] else None


@attrs.frozen
class Waiting:
    """An attempt that will be tried again: for the how manieth time, when, and why."""

    retry: int
    until: float
    reason: str


class Tally:
    """The counts of a run that goes on.

    They change in the thread of the run, once or twice in every attempt, so they do as little as they can, and take no
    lock. Others read them from copies, which are made in one step.

    Args:
        plan: What runs.
        clock: Gives seconds.
    """

    def __init__(self, plan: Plan, clock: Clock = time.monotonic) -> None:
        self.clock = clock
        self.begun = clock()
        self.evals: dict[str, EvalTally] = {}
        self.agents = {each.name: AgentTally(each.name, 0) for each in plan.experiments}
        self.active: dict[str, EvalTally] = {}
        self.running: dict[AttemptRef, float] = {}
        self.waiting: dict[AttemptRef, Waiting] = {}
        self._count(plan)
        self.to_come = len(self.evals)

    def _count(self, plan: Plan) -> None:
        for eval_ in plan.evals:
            cases = eval_.iter_cases()
            total = 0
            for experiment in plan.experiments:
                attempts = plan.attempts_of(eval_, experiment)
                planned = len(cases) * attempts
                if plan.done:
                    planned = sum(
                        AttemptRef(eval_.id, case_id, experiment.name, number) not in plan.done
                        for case_id, _ in cases
                        for number in range(1, attempts + 1)
                    )
                self.agents[experiment.name].total += planned
                total += planned
            if total:
                self.evals[eval_.id] = EvalTally(eval_.id, total)

    @property
    def whole(self) -> AgentTally:
        """All agents together."""
        whole = AgentTally("", 0, begun=self.begun)
        for each in self.agents.values():
            whole.total += each.total
            whole.done += each.done
            whole.spent += each.spent
            whole.score += each.score
            whole.counts.update(dict(each.counts))
        return whole

    def start(self, ref: AttemptRef) -> None:
        """Count an attempt that starts."""
        now = self.running[ref] = self.clock()
        of = self.evals[ref.eval_id]
        if of.begun is None:
            of.begun = now
            self.active[ref.eval_id] = of
            self.to_come -= 1

    def retry(self, ref: AttemptRef, tried: int, wait: float, reason: str) -> None:
        """Note that an attempt waits for another try."""
        self.waiting[ref] = Waiting(tried, self.clock() + wait, reason)

    def finish(self, ref: AttemptRef, finished: Finished) -> EvalTally | None:
        """Count an attempt that has ended; return its eval if that was the last one."""
        now = self.clock()
        began = self.running.pop(ref, now)
        status, took = finished.status, now - began
        if self.waiting:
            self.waiting.pop(ref, None)
        agent = self.agents[ref.agent]
        if agent.begun is None:
            agent.begun = began
        agent.done += 1
        agent.spent += took
        agent.counts[status] += 1
        if status == "scored":
            score = _SCORE.search(finished.line)
            agent.score += 0.0 if score is None else float(score[1])
        of = self.evals[ref.eval_id]
        of.done += 1
        of.spent += took
        of.counts[status] += 1
        if of.done < of.total:
            return None
        return self._end(of)

    def settle(self, found: Settled, not_needed: int) -> EvalTally | None:
        """Count no attempts that are not needed, since their eval is decided; return it if that was all of it."""
        self.agents[found.agent].total -= not_needed
        of = self.evals.get(found.eval)
        if of is None:
            return None
        of.total -= not_needed
        if of.total == 0:
            # All of it was done in the run that this one goes on with.
            self.to_come -= 1
        if of.ended is not None or of.done < of.total or of.begun is None:
            return None
        return self._end(of)

    def _end(self, of: EvalTally) -> EvalTally:
        of.ended = self.clock()
        self.active.pop(of.name, None)
        return of

    def retries(self, now: float) -> list[tuple[AttemptRef, Waiting]]:
        """The attempts that wait for another try, the next one first."""
        return sorted(
            (item for item in list(self.waiting.items()) if item[1].until > now), key=lambda item: item[1].until
        )


class Reasons:
    """Decides which of many reasons are said: the first few that are alike, and then every power of ten.

    >>> reasons = Reasons(first=2)
    >>> [reasons.count("errored", f"request {number}: too many") for number in range(1, 11)]
    [1, 2, None, None, None, None, None, None, None, 10]
    """

    def __init__(self, first: int = 3) -> None:
        self.first = first
        self._seen: Counter[str] = Counter()

    def count(self, status: str, reason: str) -> int | None:
        """Count a reason; return how many alike there are now if that is to be said, else None."""
        alike = f"{status} {_VARYING.sub('#', reason[:_MOST_OF_REASON])}"
        if alike not in self._seen and len(self._seen) >= _MOST_REASONS:
            alike = status
        self._seen[alike] += 1
        number = self._seen[alike]
        return number if number <= self.first or re.fullmatch("10+", str(number)) else None
