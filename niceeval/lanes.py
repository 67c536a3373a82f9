"""One experiment on its way through a run: what it has still to start, what is in flight, and what waits."""

import math
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, Final, Literal, final

import anyio
import attrs

from niceeval.agents.base import Agent
from niceeval.attempt_state import AttemptState
from niceeval.attempts import NORMAL, Ending
from niceeval.budgets import Spending
from niceeval.evals.eval import Eval
from niceeval.evals.experiments import Budget, Experiment
from niceeval.plans import AttemptRef, Plan
from niceeval.retries import Backoff
from niceeval.rounds import Todo

__all__ = ["MOST_WAITING", "Flight", "Lane", "Limits", "lane_of", "next_lane"]

MOST_WAITING: Final = 100
"""How many attempts of an experiment may wait to be tried again before it starts no others: they hold memory."""


@final
@attrs.frozen(kw_only=True)
class Limits:
    """What goes for a run as a whole, and for experiments that say nothing else."""

    concurrency: int
    timeout: float | None
    retries: int
    stop_after: int | None
    budget: Budget | None
    backoff: Backoff


@final
class Flight:
    """One attempt from its first try to its line in the record."""

    __slots__ = ("_rest", "case", "duration", "ending", "eval", "lane", "lost", "ref", "spent", "state", "tries")

    def __init__(self, lane: "Lane", ref: AttemptRef, eval_: Eval[Any], case: object) -> None:
        self.lane = lane
        self.ref = ref
        self.eval = eval_
        self.case = case
        self.state: AttemptState | None = None
        self.tries: list[dict[str, Any]] = []
        self.ending: Ending = NORMAL
        self.duration: float | None = None
        self.lost = self.spent = False
        self._rest = ("", 0.0, 0.0)

    def put_off(self, ending: Ending, reason: str, wait: float) -> None:
        """Give the current try up for another one after `wait` seconds; it is kept, in case that there is none."""
        assert self.state is not None
        log = self.state.log
        self.ending, self.duration = ending, time.perf_counter() - log.started
        self._rest = (reason, wait, anyio.current_time())
        self.state.never_awaited()
        log.close()

    @property
    def tearing_down(self) -> bool:
        """Whether the teardown of its eval is going on; any thread may ask."""
        return self.state is not None and self.state.tearing_down and not self.state.torn_down

    @property
    def wait(self) -> float:
        """How long it is put off, in seconds."""
        return self._rest[1]

    def note_try(self, *, cut_short: bool = False) -> None:
        """Note the try that was put off, and how long that was ago."""
        reason, wait, since = self._rest
        waited = anyio.current_time() - since
        waited = waited if cut_short else max(waited, wait)
        self.tries.append({"reason": reason, "duration": round(self.duration or 0, 6), "waited": round(waited, 6)})


@final
class Lane:
    """One experiment of a run.

    Args:
        experiment: The experiment.
        agent: Its agent.
        todo: What it is to run.
        concurrency: How many of its attempts run at a time.
        timeout: Seconds that each may take.
        retries: How often each is tried again.
    """

    __slots__ = (
        "agent", "begun", "concurrency", "deadline", "experiment", "failure", "head", "in_flight", "ready", "retries",
        "spending", "stage", "stopped", "timeout", "todo", "turn", "waiting", "waits",
    )  # fmt: skip

    def __init__(
        self, experiment: Experiment, agent: Agent | None, todo: Todo,
        *, concurrency: int, timeout: float | None, retries: int,
    ) -> None:  # fmt: skip
        self.experiment = experiment
        self.agent = agent
        self.todo = todo
        self.concurrency = concurrency
        self.timeout = timeout
        self.retries = retries
        self.spending = None if experiment.budget is None else Spending(experiment.budget, self.name)
        self.head = todo.next()
        self.ready: deque[Flight] = deque()
        self.waits: set[anyio.CancelScope] = set()
        self.waiting = self.in_flight = self.turn = 0
        self.stage: Literal["preparing", "open", "closing", "closed"] = "open"
        self.begun = self.stopped = False
        self.deadline = math.inf
        self.failure: Ending | None = None

    @property
    def name(self) -> str:
        """What sentences call it."""
        return f"experiment {self.experiment.name!r}" if self.experiment.name else "the experiment"

    @property
    def may_start(self) -> bool:
        """Whether it has an attempt to start, and room for it."""
        if self.in_flight >= self.concurrency or self.stage != "open":
            return False
        return bool(self.ready) or (self.head is not None and self.waiting < MOST_WAITING)

    @property
    def is_through(self) -> bool:
        """Whether everything of it has ended."""
        return self.head is None and not (self.in_flight or self.waiting or self.ready) and self.stage == "open"

    def take(self) -> Flight:
        """Return the next attempt to start: one that has waited, else the next of the plan."""
        if self.ready:
            return self.ready.popleft()
        assert self.head is not None
        flight = Flight(self, *self.head)
        self.head = self.todo.next()
        return flight

    def ended(self, ref: AttemptRef, status: str) -> None:
        """Count an attempt that has ended: more may follow it, where an eval is repeated until its rate is decided."""
        if self.todo.ended(ref, status) and not self.stopped:
            # An eval that has begun comes before the next one.
            if self.head is not None:
                self.todo.put_back(self.head)
            self.head = self.todo.next()

    def stop(self) -> int:
        """Start nothing more, end every wait, and return how many attempts will not have run, at most."""
        left = (self.head is not None) + self.todo.drop()
        self.head = None
        self.stopped = True
        for scope in self.waits:
            scope.cancel()
        return left


def lane_of(plan: Plan, experiment: Experiment, agent: Agent | None, limits: Limits) -> Lane:
    """Return an experiment's lane, with its own limits where it has them, else those of the run."""
    concurrency = limits.concurrency if experiment.concurrency is None else experiment.concurrency
    return Lane(
        experiment,
        agent,
        Todo(plan, experiment, min(concurrency, limits.concurrency)),
        concurrency=concurrency,
        timeout=limits.timeout if experiment.timeout is None else experiment.timeout,
        retries=limits.retries if experiment.retries is None else experiment.retries,
    )


def next_lane(lanes: Sequence[Lane]) -> Lane | None:
    """Return the experiment whose turn it is: the one with the fewest attempts in flight, so that none starves."""
    if len(lanes) == 1:
        return lanes[0] if lanes[0].may_start else None
    able = [lane for lane in lanes if lane.may_start]
    if not able:
        return None
    lane = min(able, key=lambda each: (each.in_flight, each.turn))
    lane.turn = 1 + max(each.turn for each in lanes)
    return lane
