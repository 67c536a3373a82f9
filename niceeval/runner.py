"""The runner: a plan's attempts, each in a task of its own, bounded, written one line each as they end."""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, final

import anyio

from niceeval.agents.base import Agent
from niceeval.agents.function import as_agent
from niceeval.agents.resolve import resolve_agent
from niceeval.closing import close_agents
from niceeval.dispatch import Dispatcher
from niceeval.errors import EvalLoadError, RecordError
from niceeval.evals.experiments import Budget, Experiment
from niceeval.evals.limits import amount_above_zero, whole_number
from niceeval.interruption import Interruption
from niceeval.lanes import Limits
from niceeval.plans import AttemptRef, Plan, Progress, Quiet
from niceeval.record.run import RunResult
from niceeval.record.write import MemoryWriter, RunWriter
from niceeval.redaction import current_redactor
from niceeval.retries import Backoff
from niceeval.tasks import set_aside, task_group
from niceeval.trials import close_and_append

__all__ = ["AttemptRef", "Backoff", "Plan", "Progress", "Quiet", "close_and_append", "execute"]

GRACE: Final = 0.75
"""Seconds that attempts have to end when the run is interrupted, before they are written as they are."""
_LOOK: Final = 0.02


async def execute(
    plan: Plan,
    *,
    concurrency: int,
    timeout: float | None,
    writer: RunWriter | MemoryWriter,
    progress: Progress | None = None,
    retries: int = 0,
    stop_after: int | None = None,
    budget: Budget | None = None,
    backoff: Backoff | None = None,
    interruption: Interruption | None = None,
) -> RunResult:
    """Run a plan's attempts and seal the run.

    An attempt's crash, timeout or authoring mistake is its result and nobody else's. Experiments run side by side:
    what is started next belongs to the one with the fewest attempts in flight.

    When the run is cancelled, attempts in flight are written as interrupted with the evidence they have, and the run is
    sealed as interrupted; so it is where attempts do not heed the cancellation within `GRACE` seconds, which are waited
    for nevertheless. A run that stops early, such as for a budget, lets attempts in flight go on to their end, and is
    sealed as interrupted with the reason.

    Args:
        plan: What to run.
        concurrency: How many attempts run at a time, at least 1; an experiment may have a lower limit of its own.
        timeout: Seconds that each attempt may take, unless its experiment says; None for no limit.
        writer: Where attempts are written.
        progress: Told what happens.
        retries: How often an attempt is tried again where its agent could not be reached, 0 or more, unless its
            experiment says.
        stop_after: After how many failed or errored attempts nothing more is started; None for no limit.
        budget: What the run may use; experiments may have budgets of their own besides.
        backoff: How long to wait before the next try.
        interruption: The way out of a process that must end although attempts do not.

    Returns:
        The sealed run.

    Raises:
        RecordError: An attempt could not be written; what was written before is kept.
    """
    limits = Limits(
        concurrency=concurrency,
        timeout=timeout,
        retries=retries,
        stop_after=stop_after,
        budget=budget,
        backoff=backoff or Backoff(),
    )
    agents = [_agent_of(experiment) for experiment in plan.experiments]
    shown = progress or Quiet()
    run = Dispatcher(plan, agents, limits, writer, shown)
    end = _End(run, writer, interruption)
    shown.plan_ready(plan, writer.id)
    try:
        async with anyio.create_task_group() as watch:
            watch.start_soon(end.lose_patience)
            try:
                async with anyio.create_task_group() as checks, task_group() as start:
                    with set_aside():
                        await run.run(checks, start)
            finally:
                end.patience.cancel()
    finally:
        run.give_up()
        try:
            end.seal()
        finally:
            await run.judges.aclose()
            await run.hooks.tear_down_rest()
            problem = await close_agents(agents)
            end.over()
    if problem is not None:
        shown.complained(f"closing an agent {problem.text}")
    if run.broken is not None:
        raise run.broken
    if run.ctrl_c.pressed:
        raise KeyboardInterrupt
    run.stops.say_what_was_not_counted()
    return RunResult.from_writer(writer)


def _agent_of(experiment: Experiment) -> Agent | None:
    if experiment.agent is None:
        return None
    agent = experiment.agent
    return as_agent(resolve_agent(agent) if isinstance(agent, str) else agent)


@final
class _End:
    """How a run is sealed once, in order or since it was interrupted and does not end."""

    def __init__(self, run: Dispatcher, writer: RunWriter | MemoryWriter, interruption: Interruption | None) -> None:
        self._run = run
        self._writer = writer
        self._interruption = interruption
        self._sealed = False
        self.patience = anyio.CancelScope(shield=True)
        if interruption is not None:
            interruption.watch(self)

    def seal(self) -> None:
        """Write the run's last status; where writing failed before, that error is the one to raise."""
        if self._sealed:
            return
        self._sealed = True
        if settled := self._run.decided.all:
            self._writer.note_settled(settled)
        try:
            self._writer.seal("sealed" if self._run.complete else "interrupted", stopped=self._run.stops.reason)
        except RecordError as error:
            self._run.broken = self._run.broken or error

    def over(self, *, given_up: bool = False) -> None:
        """Let the process end, if that is what somebody waits for."""
        if self._interruption is not None:
            self._interruption.given_up |= given_up
            self._interruption.over.set()

    @property
    def tearing_down(self) -> bool:
        """Whether a teardown is going on."""
        return self._run.tearing_down

    def give_up(self) -> None:
        """Write what is in flight as interrupted, and seal."""
        self._run.give_up()
        self.seal()

    def tear_down(self) -> None:
        """Call the teardowns that have not been called, in an event loop of their own."""
        anyio.run(self._run.hooks.tear_down_rest)

    async def lose_patience(self) -> None:
        """Once the run is interrupted, or only code goes on whose time was up, wait a little, and seal it as it is."""
        with self.patience:
            await self._run.ending.wait()
            await anyio.sleep(GRACE)
            while self.tearing_down:
                await anyio.sleep(_LOOK)
            self.give_up()
            await self._run.hooks.tear_down_rest()
            self.over(given_up=True)


def attempt_id(run_id: str, ref: AttemptRef) -> str:
    """Return the id of an attempt: 12 hexadecimal digits of a digest of the run and what is run."""
    text = "\0".join((run_id, ref.eval_id, ref.case_id or "", ref.agent, str(ref.attempt)))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def require_limits(
    *, attempts: object = 1, concurrency: object = 1, timeout: object = None, retries: object = 0
) -> None:
    """Refuse limits that make no sense, with a sentence.

    Raises:
        ValueError: A limit is not a number in its range.
    """
    for name, value, least in (("attempts", attempts, 1), ("concurrency", concurrency, 1), ("retries", retries, 0)):
        if value is None:
            raise ValueError(f"{name} is a whole number of at least {least}, got None")
        whole_number(name, value, least=least)
    amount_above_zero("timeout", timeout, "seconds")


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
