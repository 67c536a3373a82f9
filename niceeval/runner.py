"""The runner: a plan's attempts, each in a task of its own, bounded, written one line each as they end."""

import contextvars
import hashlib
import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, final

import anyio
import anyio.abc

from niceeval.agents.base import Agent
from niceeval.agents.function import as_agent
from niceeval.agents.resolve import resolve_agent
from niceeval.attempt_state import AttemptState
from niceeval.attempts import INTERRUPTED, Ending, Finished, close, run_body
from niceeval.context import EvalContext
from niceeval.errors import EvalLoadError, RecordError
from niceeval.evals.eval import Eval
from niceeval.evals.experiments import Experiment
from niceeval.plans import AttemptRef, Plan, Progress, Quiet
from niceeval.record.run import RunResult
from niceeval.record.write import MemoryWriter, RunWriter
from niceeval.redaction import current_redactor, growing_redactor
from niceeval.tasks import Start, task_group

__all__ = ["AttemptRef", "Plan", "Progress", "Quiet", "execute"]

CHECK_CAP: Final = 20
"""How many asynchronous checks are awaited at a time, whatever the concurrency of attempts."""


async def execute(
    plan: Plan,
    *,
    concurrency: int,
    timeout: float | None,
    writer: RunWriter | MemoryWriter,
    progress: Progress | None = None,
) -> RunResult:
    """Run a plan's attempts and seal the run.

    An attempt's crash, timeout or authoring mistake is its result and nobody else's. When the run is cancelled,
    attempts in flight are written as interrupted with the evidence they have, and the run is sealed as interrupted.

    Args:
        plan: What to run.
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
    made = {experiment.name: _agent_of(experiment) for experiment in plan.experiments}
    run.progress.plan_ready(plan, writer.id)
    status = "interrupted"
    try:
        async with anyio.create_task_group() as checks, task_group() as start:
            run.spawn_into(checks)
            await run.attempts(plan, made, start, concurrency)
        if run.broken is None and run.complete:
            status = "sealed"
    finally:
        _seal(writer, status, run.broken)
    return RunResult.from_writer(writer)


def _agent_of(experiment: Experiment) -> Agent | None:
    if experiment.agent is None:
        return None
    agent = experiment.agent
    return as_agent(resolve_agent(agent) if isinstance(agent, str) else agent)


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
        self._ids = f"{secrets.token_hex(4)}"
        self._started = self._in_flight = 0
        self._stopping = False
        self.complete = False

    def spawn_into(self, checks: anyio.abc.TaskGroup) -> None:
        """Let asynchronous checks run in this task group, under their own cap."""
        self._checks = checks

    def spawn(self, work: Any) -> None:
        """Start one asynchronous check."""
        assert self._checks is not None
        if self._cap is None:
            self._cap = anyio.CapacityLimiter(CHECK_CAP)
        self._checks.start_soon(_capped, self._cap, work)

    async def attempts(self, plan: Plan, agents: Mapping[str, Agent | None], start: Start, concurrency: int) -> None:
        """Run all attempts of a plan, so many at a time: each that ends starts the next, in a fresh context."""
        todo, outside, ended = plan.refs(), contextvars.copy_context(), anyio.Event()

        def proceed() -> None:
            item = None if self._stopping or self.broken is not None else next(todo, None)
            if item is None:
                if not self._in_flight:
                    ended.set()
                return
            ref, eval_, case, experiment = item
            self._in_flight += 1
            outside.run(start, self.attempt(ref, eval_, case, experiment, agents[experiment.name], proceed))

        for _ in range(min(concurrency, plan.size)):
            proceed()
        try:
            await ended.wait()
        except BaseException:
            # Before any attempt in flight learns of the cancellation, so that none starts another.
            self._stopping = True
            raise
        self.complete = not self._stopping

    async def attempt(
        self,
        ref: AttemptRef,
        eval_: Eval[Any],
        case: object,
        experiment: Experiment,
        agent: Agent | None,
        proceed: Callable[[], None],
    ) -> None:
        """Run one attempt and write it, however it ends."""
        self._started += 1
        state = AttemptState(
            agent=agent,
            style=eval_.style,
            attempt_id=f"{self._ids}{self._started:04x}",
            attempt=ref.attempt,
            model=experiment.model,
            flags=experiment.flags,
            timeout=self.timeout,
        )
        state.log.spawn = self.spawn
        state.log.late = self.progress.came_late
        state.log.redactor = growing_redactor(self.declared)
        self.progress.attempt_started(ref)
        t = EvalContext(state)
        try:
            ending = await run_body(state, lambda: eval_(t, case) if eval_.has_cases else eval_(t), self.timeout)
        except BaseException:
            # A cancellation of the run or Ctrl-C: nothing else gets out of run_body.
            self._stopping = True
            self._write(ref, state, INTERRUPTED)
            raise
        else:
            # Code that swallowed the run's cancellation: what it skipped by that nobody knows.
            cut_off = self._stopping and ending.error is None
            self._write(ref, state, INTERRUPTED if cut_off else ending)
        finally:
            self._in_flight -= 1
            proceed()

    def _write(self, ref: AttemptRef, state: AttemptState, ending: Ending) -> None:
        finished = None
        try:
            finished = close_and_append(self.writer, state, ending, ref)
        except RecordError as error:
            self.broken = self.broken or error
        if finished is not None:
            self.progress.attempt_finished(ref, finished)


async def _capped(cap: anyio.CapacityLimiter, work: Any) -> None:
    async with cap:
        await work()


def attempt_id(run_id: str, ref: AttemptRef) -> str:
    """Return the id of an attempt: 12 hexadecimal digits of a digest of the run and what is run."""
    text = "\0".join((run_id, ref.eval_id, ref.case_id or "", ref.agent, str(ref.attempt)))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def close_and_append(
    writer: RunWriter | MemoryWriter, state: AttemptState, ending: Ending, ref: AttemptRef
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
    finished = close(state, ending, identity, state.log.redactor(), writer.blob)
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
