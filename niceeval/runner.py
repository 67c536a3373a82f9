"""The runner: a plan's attempts, each in a task of its own, bounded, written one line each as they end."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Protocol, final

import anyio
import anyio.abc
import attrs

from niceeval.agents.base import Agent, AgentLike
from niceeval.agents.function import as_agent
from niceeval.attempt_state import AttemptState
from niceeval.attempts import Ending, Finished, close, run_body, settle
from niceeval.context import EvalContext
from niceeval.errors import EvalLoadError, RecordError
from niceeval.evals.eval import Eval
from niceeval.record.run import RunResult
from niceeval.record.write import MemoryWriter, RunWriter
from niceeval.redaction import Redactor, current_redactor

__all__ = ["AttemptRef", "Plan", "Progress", "Quiet", "execute"]

CHECK_CAP: Final = 20
"""How many asynchronous checks are awaited at a time, whatever the concurrency of attempts."""


@final
@attrs.frozen
class AttemptRef:
    """Which attempt: of which eval and case, by which agent, the how manieth."""

    eval_id: str
    case_id: str | None
    agent: str
    attempt: int

    @property
    def name(self) -> str:
        """The eval's id with the case in brackets."""
        return self.eval_id if self.case_id is None else f"{self.eval_id}[{self.case_id}]"


@final
@attrs.frozen
class Plan:
    """What is meant to run, settled before anything does.

    Args:
        evals: The evals, each with its cases.
        agents: The agents' names; empty where no agent takes part.
        attempts: How many attempts each case gets from each agent, at least 1.
        declared_secrets: Names of environment variables whose values are secret whatever their names end in.
    """

    evals: tuple[Eval[Any], ...]
    agents: tuple[str, ...] = ()
    attempts: int = 1
    declared_secrets: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """How many attempts that makes."""
        cases = sum(len(eval_.iter_cases()) for eval_ in self.evals)
        return cases * max(1, len(self.agents)) * self.attempts

    def header(self) -> dict[str, Any]:
        """Return the plan as `run.json` keeps it."""
        return {
            "agents": list(self.agents),
            "attempts": self.attempts,
            "evals": [
                {
                    "id": eval_.id,
                    "style": eval_.style,
                    "cases": [case_id for case_id, _ in eval_.iter_cases()] if eval_.has_cases else None,
                    "tags": list(eval_.tags),
                }
                for eval_ in self.evals
            ],
        }

    def refs(self) -> Iterator[tuple[AttemptRef, Eval[Any], object]]:
        """Yield every attempt with its eval and case, in order."""
        agents = self.agents or ("",)
        for eval_ in self.evals:
            for case_id, case in eval_.iter_cases():
                for agent in agents:
                    for attempt in range(1, self.attempts + 1):
                        yield AttemptRef(eval_.id, case_id, agent, attempt), eval_, case


class Progress(Protocol):
    """What a display of a run is told."""

    def plan_ready(self, plan: Plan, run_id: str) -> None:
        """The run is about to start."""

    def attempt_started(self, ref: AttemptRef) -> None:
        """One attempt has started."""

    def attempt_finished(self, ref: AttemptRef, status: str, duration: float, reason: str | None) -> None:
        """One attempt has ended and is recorded."""


class Quiet:
    """A display that shows nothing."""

    def plan_ready(self, plan: Plan, run_id: str) -> None:
        """Show nothing."""

    def attempt_started(self, ref: AttemptRef) -> None:
        """Show nothing."""

    def attempt_finished(self, ref: AttemptRef, status: str, duration: float, reason: str | None) -> None:
        """Show nothing."""


async def execute(
    plan: Plan,
    agents: Mapping[str, AgentLike],
    *,
    concurrency: int,
    timeout: float | None,
    writer: RunWriter | MemoryWriter,
    progress: Progress | None = None,
) -> RunResult:
    """Run a plan's attempts and seal the run.

    An attempt's crash, timeout or authoring mistake is its result and nobody else's. When the run is cancelled, attempts
    that are in flight are written as interrupted with the evidence they have, and the run is sealed as interrupted.

    Args:
        plan: What to run.
        agents: The agents by the names that the plan gives.
        concurrency: How many attempts run at a time, at least 1.
        timeout: Seconds that each attempt may take; None for no limit.
        writer: Where attempts are written.
        progress: Told what happens.

    Returns:
        The sealed run.

    Raises:
        RecordError: An attempt could not be written; what was written before is kept.
    """
    run = _Run(writer, timeout, progress or Quiet(), plan.declared_secrets)
    made: dict[str, Agent | None] = {name: as_agent(agents[name]) for name in plan.agents}
    slots = anyio.Semaphore(concurrency, fast_acquire=True)
    run.progress.plan_ready(plan, writer.id)
    status = "interrupted"
    try:
        async with anyio.create_task_group() as checks, anyio.create_task_group() as attempts:
            run.spawn_into(checks)
            for ref, eval_, case in plan.refs():
                await slots.acquire()
                if run.broken is not None:
                    break
                attempts.start_soon(run.attempt, ref, eval_, case, made.get(ref.agent), slots)
        if run.broken is None:
            status = "sealed"
    finally:
        _seal(writer, status, run.broken)
    return RunResult.from_writer(writer)


def _seal(writer: RunWriter | MemoryWriter, status: Any, broken: RecordError | None) -> None:
    """Seal the run; where writing failed before, that error is the one to raise."""
    try:
        writer.seal(status)
    except RecordError:
        if broken is None:
            raise
    if broken is not None:
        raise broken


@final
class _Run:
    """What the attempts of one run share."""

    def __init__(
        self, writer: RunWriter | MemoryWriter, timeout: float | None, progress: Progress, declared: tuple[str, ...]
    ) -> None:
        self.writer = writer
        self.timeout = timeout
        self.progress = progress
        self.declared = declared
        self.broken: RecordError | None = None
        self._checks: anyio.abc.TaskGroup | None = None
        self._cap: anyio.CapacityLimiter | None = None

    def spawn_into(self, checks: anyio.abc.TaskGroup) -> None:
        """Let asynchronous checks run in this task group, under their own cap."""
        self._checks = checks

    def spawn(self, work: Any) -> None:
        """Start one asynchronous check."""
        assert self._checks is not None
        if self._cap is None:
            self._cap = anyio.CapacityLimiter(CHECK_CAP)
        self._checks.start_soon(_capped, self._cap, work)

    async def attempt(
        self, ref: AttemptRef, eval_: Eval[Any], case: object, agent: Agent | None, slots: anyio.Semaphore
    ) -> None:
        """Run one attempt and write it, however it ends."""
        state = AttemptState(
            agent=agent,
            style=eval_.style,
            attempt_id=attempt_id(self.writer.id, ref),
            attempt=ref.attempt,
            timeout=self.timeout,
        )
        state.log.spawn = self.spawn
        before = current_redactor(self.declared)
        self.progress.attempt_started(ref)
        t = EvalContext(state)
        try:
            ending = await run_body(state, lambda: eval_(t, case) if eval_.has_cases else eval_(t), self.timeout)
            await settle(state)
        except anyio.get_cancelled_exc_class():
            self._write(ref, state, Ending(error="interrupted"), before)
            raise
        else:
            self._write(ref, state, ending, before)
        finally:
            slots.release()

    def _write(self, ref: AttemptRef, state: AttemptState, ending: Ending, before: Redactor) -> None:
        finished = None
        # Secrets that were known when the attempt started, and those registered while it ran.
        redactor = before.joined(current_redactor(self.declared))
        try:
            finished = close_and_append(self.writer, state, ending, ref, redactor)
        except RecordError as error:
            self.broken = self.broken or error
        if finished is not None:
            self.progress.attempt_finished(ref, finished.status, finished.duration, finished.reason)


async def _capped(cap: anyio.CapacityLimiter, work: Any) -> None:
    async with cap:
        await work()


def attempt_id(run_id: str, ref: AttemptRef) -> str:
    """Return the id of an attempt: 12 hexadecimal digits of a digest of the run and what is run."""
    text = "\0".join((run_id, ref.eval_id, ref.case_id or "", ref.agent, str(ref.attempt)))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def close_and_append(
    writer: RunWriter | MemoryWriter, state: AttemptState, ending: Ending, ref: AttemptRef, redactor: Redactor
) -> Finished:
    """Close an attempt and write its line."""
    identity = {
        "id": state.log.attempt_id,
        "eval": ref.eval_id,
        "case": ref.case_id,
        "agent": ref.agent,
        "attempt": ref.attempt,
        "style": state.log.style,
    }
    finished = close(state, ending, identity, redactor, writer.blob)
    writer.append(finished.line)
    return finished


def require_limits(*, attempts: object = 1, concurrency: object = 1, timeout: object = None) -> None:
    """Refuse limits that make no sense, with a sentence.

    Raises:
        ValueError: A limit is not a positive number.
    """
    for name, value in (("attempts", attempts), ("concurrency", concurrency)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ValueError(f"{name} is a whole number of at least 1, got {value!r}")
    if timeout is None:
        return
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout < float("inf"):
        raise ValueError(f"timeout is a number of seconds above 0, got {timeout!r}")


def writer_for(
    record: str | os.PathLike[str] | None, header: Mapping[str, Any], declared: tuple[str, ...] = ()
) -> RunWriter | MemoryWriter:
    """Return the writer for a new run: in the record folder `record`, or in memory where it is None."""
    tree, _ = current_redactor(declared).redact_tree(dict(header))
    return MemoryWriter(tree) if record is None else RunWriter.create(Path(record), tree)


def require_evals(plan: Plan) -> None:
    """Refuse a plan without a single attempt.

    Raises:
        EvalLoadError: There is nothing to run.
    """
    if plan.size == 0:
        raise EvalLoadError("there is nothing to run: no eval has a case")
