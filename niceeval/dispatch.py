"""The dispatcher of one run: which attempt starts next, what it may cost, and that each is written exactly once."""

import contextvars
import secrets
from collections.abc import Sequence
from copy import deepcopy
from typing import Final, final

import anyio
import anyio.abc

from niceeval.agents.base import Agent
from niceeval.attempt_state import AttemptState
from niceeval.attempts import INTERRUPTED, Ending, timed_out
from niceeval.decided import Decided, is_bad
from niceeval.entries import Spawn
from niceeval.errors import RecordError
from niceeval.experiment_hooks import ExperimentHooks
from niceeval.interruption import CtrlC
from niceeval.judges import RunJudges
from niceeval.lanes import Flight, Lane, Limits, lane_of, next_lane
from niceeval.plans import Plan, Progress
from niceeval.record.write import MemoryWriter, RunWriter
from niceeval.redaction import current_redactor, growing_redactor
from niceeval.retries import worth_retrying
from niceeval.stops import Stops
from niceeval.sweep import sweep
from niceeval.tasks import Start, capped
from niceeval.trials import close_and_append, run_trial

__all__ = ["Dispatcher"]

CHECK_CAP: Final = 20
"""How many asynchronous checks are awaited at a time, whatever the concurrency of attempts."""


@final
class Dispatcher:
    """What the attempts of one run share."""

    def __init__(
        self, plan: Plan, agents: Sequence[Agent | None], limits: Limits, writer: RunWriter | MemoryWriter,
        progress: Progress,
    ) -> None:  # fmt: skip
        self._writer = writer
        self._progress = progress
        self._limits = limits
        self._declared = plan.declared_secrets
        self._lanes = [lane_of(plan, each, agent, limits) for each, agent in zip(plan.experiments, agents, strict=True)]
        self.decided = Decided(plan, self._lanes, progress)
        self._lanes = [lane for lane in self._lanes if lane.head is not None]
        self._left = len(self._lanes)
        self.stops = Stops(limits.budget, self._lanes, progress, self._clean, self._stopped)
        self.hooks = ExperimentHooks(self._lanes, progress, self._clean)
        self.judges = RunJudges(plan, self._lanes, limits, self.stops, progress, self._clean)
        self._checks: anyio.abc.TaskGroup | None = None
        self._start: Start | None = None
        self._spawn: Spawn | None = None
        self._sweeping = anyio.CancelScope()
        self._outside = contextvars.copy_context()
        self._ended = anyio.Event()
        self._ids = f"{secrets.token_hex(4)}"
        self._begun = self._in_flight = self._lost = 0
        self._flights: set[Flight] = set()
        self.broken: RecordError | None = None
        self.ending, self.ctrl_c = anyio.Event(), CtrlC()
        self._halted = False

    async def run(self, checks: anyio.abc.TaskGroup, start: Start) -> None:
        """Run everything: each attempt that ends starts the next, in a fresh context."""
        self._checks, self._start, self.ctrl_c.scope = checks, start, checks.cancel_scope
        self._spawn = capped(checks, CHECK_CAP)
        self.stops.watch_clocks(checks)
        if any(lane.timeout is not None for lane in self._lanes):
            checks.start_soon(sweep, self._sweeping, self._flights, self._lose)
        for lane in self._lanes:
            lane.begun = True
            if lane.experiment.setup is not None:
                lane.stage = "preparing"
                checks.start_soon(self._prepare, lane)
        self._pump()
        self.decided.tell()
        try:
            if self._left:
                await self._ended.wait()
            if self._lost:
                # Their tasks may never end.
                self.ending.set()
        except BaseException:
            # Before any attempt in flight learns of the cancellation, so that none starts another.
            self.halt()
            raise
        finally:
            self.stops.end_clocks()
            self._sweeping.cancel()

    @property
    def complete(self) -> bool:
        """Whether every attempt of the plan has run."""
        return not self._left and self.stops.reason is None and self.broken is None and not self._halted

    @property
    def tearing_down(self) -> bool:
        """Whether a teardown is going on, which has a time limit of its own."""
        return self.hooks.tearing_down or any(flight.tearing_down for flight in [*self._flights])

    def _clean(self, text: str) -> str:
        return current_redactor(self._declared).redact_text(text)[0]

    def _pump(self) -> None:
        """Start attempts while there is room."""
        while self._in_flight < self._limits.concurrency and not self._halted and self.broken is None:
            lane = next_lane(self._lanes)
            if lane is None:
                return
            lane.in_flight += 1
            self._in_flight += 1
            assert self._start is not None
            self._outside.run(self._start, self._fly(lane.take()))

    def _landed(self, lane: Lane) -> None:
        """Go on after something of a lane has ended."""
        self._pump()
        if lane.head is None and lane.is_through and not self._halted:
            if lane.experiment.teardown is None:
                self._close(lane)
            else:
                lane.stage = "closing"
                assert self._checks is not None
                self._outside.run(self._checks.start_soon, self._finish, lane)

    def _free(self, lane: Lane) -> None:
        """Give the place of an attempt to another one."""
        lane.in_flight -= 1
        self._in_flight -= 1
        self._landed(lane)

    def _lose(self, flight: Flight) -> None:
        """Write an attempt whose code goes on although its time was up, and go on without it."""
        flight.lost = True
        self._lost += 1
        self.write(flight, timed_out(flight.lane.timeout or 0.0))
        self._free(flight.lane)

    async def _prepare(self, lane: Lane) -> None:
        try:
            await self.hooks.set_up(lane)
        except BaseException as error:
            self.halt()
            if self.ctrl_c.heard(error):
                return
            raise
        lane.stage = "open"
        self._landed(lane)

    async def _finish(self, lane: Lane) -> None:
        await self.hooks.tear_down(lane)
        self._close(lane)

    def _close(self, lane: Lane) -> None:
        lane.stage = "closed"
        self._left -= 1
        if not self._left:
            self._ended.set()

    async def _fly(self, flight: Flight) -> None:
        """Run one try of an attempt and write it, however it ends, unless it is tried again."""
        lane = flight.lane
        state = self._new_state(flight)
        again = False
        try:
            ending = await run_trial(state, flight.eval, flight.case, lane.timeout, lane.failure)
            if self._halted and ending.error is None:
                # Code that swallowed the run's cancellation: what it skipped by that nobody knows.
                ending = INTERRUPTED
            if lane.retries and not flight.lost:
                again = self._again(flight, ending)
            if not again:
                self.write(flight, ending)
        except BaseException as error:
            # A cancellation of the run or Ctrl-C: nothing else gets out of run_trial.
            self.halt()
            self.write(flight, INTERRUPTED)
            if not self.ctrl_c.heard(error):
                raise
        finally:
            lane.waiting += again
            if not flight.lost:
                self._free(lane)
        if again:
            await self._wait(flight)

    def _new_state(self, flight: Flight) -> AttemptState:
        lane, eval_ = flight.lane, flight.eval
        if flight.state is None:
            self._progress.attempt_started(flight.ref)
        else:
            flight.note_try()
        self._begun += 1
        state = AttemptState(
            agent=lane.agent,
            style=eval_.style,
            attempt_id=f"{self._ids}{self._begun:04x}",
            attempt=flight.ref.attempt,
            model=lane.experiment.model,
            flags=deepcopy(lane.experiment.flags) if lane.experiment.flags else {},
            timeout=lane.timeout,
        )
        state.over, state.log.spawn = lambda: self._halted, self._spawn
        self.judges.attend(state.log, lane, self._checks)
        state.log.late = self._progress.came_late
        state.log.redactor = growing_redactor(self._declared)
        flight.state, flight.duration, flight.spent = state, None, False
        self._flights.add(flight)
        return state

    def _again(self, flight: Flight, ending: Ending) -> bool:
        """Put an attempt off where it is to be tried again."""
        lane, state = flight.lane, flight.state
        if len(flight.tries) >= lane.retries or lane.stopped or self._halted or state is None:
            return False
        found = worth_retrying(state, ending)
        if found is None:
            return False
        flight.spent = True
        if not self.stops.spend(lane, state, last=False):
            return False
        tried = len(flight.tries) + 1
        wait = max(0.0, min(self._limits.backoff.wait(tried, found.retry_after), self.stops.time_left(lane)))
        reason = found.message or "the agent could not be reached"
        flight.put_off(ending, reason, wait)
        self._progress.attempt_retried(flight.ref, tried, wait, state.log.redactor().redact_text(reason)[0])
        return True

    async def _wait(self, flight: Flight) -> None:
        """Wait without holding anybody up, and queue the attempt again; where the run stops meanwhile, that was it."""
        lane = flight.lane
        lane.waits.add(scope := anyio.CancelScope())
        try:
            with scope:
                await self._limits.backoff.sleep(flight.wait)
        except BaseException:
            self.halt()
            flight.note_try(cut_short=True)
            self.write(flight, INTERRUPTED)
            raise
        finally:
            lane.waits.discard(scope)
            lane.waiting -= 1
        if lane.stopped:
            self.write(flight, flight.ending)
        else:
            lane.ready.append(flight)
        self._landed(lane)

    def write(self, flight: Flight, ending: Ending) -> None:
        """Write an attempt, unless it is written already."""
        try:
            self._flights.remove(flight)
        except KeyError:
            return
        state = flight.state
        assert state is not None
        try:
            finished = close_and_append(
                self._writer, state, ending, flight.ref, tries=flight.tries, duration=flight.duration
            )
        except RecordError as error:
            self.broken = self.broken or error
            for lane in self._lanes:
                lane.stop()
                lane.ready.clear()
            self._stopped(self._lanes)
            return
        self._progress.attempt_finished(flight.ref, finished)
        if ending is not INTERRUPTED:
            self.decided.ended(flight, finished.status)
        if not flight.spent:
            self.stops.spend(flight.lane, state, last=True)
        if self._limits.stop_after is not None and ending is not INTERRUPTED and is_bad(flight, finished.status):
            self.stops.count_bad(self._limits.stop_after)

    def give_up(self) -> None:
        """Write everything that has begun and not ended as interrupted, with the evidence it has."""
        for flight in [*self._flights]:
            self.write(flight, INTERRUPTED)

    def _stopped(self, lanes: Sequence[Lane]) -> None:
        """Write what has waited in these lanes, which start nothing more, as it ended the last time."""
        for lane in lanes:
            while lane.ready:
                flight = lane.ready.popleft()
                self.write(flight, flight.ending)
            self._landed(lane)

    def halt(self) -> None:
        """Start nothing more, since the run is interrupted."""
        self._halted = True
        self.ending.set()
