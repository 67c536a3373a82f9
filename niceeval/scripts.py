"""Evals without a runner: ``async with attempt()`` and ``await run_eval()`` in a script or a notebook."""

from collections.abc import Callable, Coroutine, Mapping
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, final

import anyio
import anyio.abc
import attrs

from niceeval._documents import attempt_from_document
from niceeval.agents.base import AgentLike
from niceeval.agents.function import as_agent
from niceeval.attempt_state import AttemptState
from niceeval.attempts import INTERRUPTED, NORMAL, Ending, ending_of, overdue, settle
from niceeval.closing import close_attempt
from niceeval.config import load_config
from niceeval.context import EvalContext
from niceeval.errors import AgentFailed
from niceeval.evals.eval import Eval
from niceeval.evals.experiments import Budget
from niceeval.judge.desks import Desks, Warns
from niceeval.judge_config import JudgeConfig
from niceeval.record.lines import parse
from niceeval.record.run import RunResult
from niceeval.record.write import MemoryWriter, RunWriter
from niceeval.redaction import growing_redactor
from niceeval.retries import Backoff
from niceeval.runner import (
    AttemptRef,
    Plan,
    attempt_id,
    close_and_append,
    execute,
    require_evals,
    require_limits,
    writer_for,
)
from niceeval.signals import interrupts

__all__ = ["attempt", "run_eval"]


_config: Final = lru_cache(maxsize=16)(load_config)
"""What the project around a folder says, such as which secrets it declares."""


def _judge(given: object, where: str) -> JudgeConfig | None:
    """Return the judge that was given, or that of the project."""
    if given is not None and not isinstance(given, JudgeConfig):
        raise TypeError(f'{where} takes a JudgeConfig, such as JudgeConfig(model="..."), got {given!r:.100}')
    return given or _config(Path.cwd()).judge


def _by_name(agent: AgentLike | Mapping[str, AgentLike] | None) -> Mapping[str, AgentLike]:
    """Return the agents by their names, each of them good for an agent."""
    if agent is None:
        return {}
    if not isinstance(agent, Mapping):
        agents = {_name_of(agent): agent}
    else:
        agents = dict(agent)
        if not agents or not all(isinstance(name, str) and name.strip() for name in agents):
            raise ValueError(f"run_eval(agent=) takes an agent, or agents by name, got the names {list(agents)}")
    for one in agents.values():
        as_agent(one)
    return agents


def _name_of(agent: object) -> str:
    return str(getattr(agent, "__name__", None) or type(agent).__name__)


async def run_eval(
    eval: Eval[Any],
    /,
    *,
    agent: AgentLike | Mapping[str, AgentLike] | None = None,
    attempts: int = 1,
    concurrency: int = 10,
    timeout: float | None = None,
    retries: int = 0,
    budget: Budget | None = None,
    judge: JudgeConfig | None = None,
    record: str | Path | None = None,
) -> RunResult:
    """Run one eval, all its cases, in the running event loop.

    Args:
        eval: What `define_eval` or `define_score_eval` made.
        agent: The agent, or several by name, to be compared; None for an eval that never sends.
        attempts: How many attempts each case gets from each agent, at least 1.
        concurrency: How many attempts run at a time, at least 1.
        timeout: Seconds that each attempt may take; None for no limit.
        retries: How often an attempt is tried again where its agent could not be reached, 0 or more.
        budget: What the run may use; then nothing more is started, and the run's status is ``interrupted``.
        judge: The model that answers judge matches; that of the project's configuration by default.
        record: The record folder to write the run to; None keeps it in memory.

    Returns:
        The run with its attempts, the same as the command line gives.

    Raises:
        TypeError: `eval` is not an eval, an agent cannot be used as one, or budget or judge are of another kind.
        ValueError: A limit makes no sense.
        EvalLoadError: The eval has no case, or its cases cannot be read.

    >>> import anyio
    >>> from niceeval import define_eval, run_eval
    >>> from niceeval_expect import includes
    >>> @define_eval
    ... async def greets(t):
    ...     turn = await t.send("hello")
    ...     t.check(turn.message, includes("hello"))
    >>> async def main():
    ...     return await run_eval(greets, agent=lambda message: f"{message} to you")
    >>> [attempt.status for attempt in anyio.run(main).attempts]
    ['passed']
    """
    if not isinstance(eval, Eval):
        raise TypeError(f"run_eval() takes an eval made by define_eval or define_score_eval, got {eval!r}")
    require_limits(attempts=attempts, concurrency=concurrency, timeout=timeout, retries=retries)
    if budget is not None and not isinstance(budget, Budget):
        raise TypeError(f"run_eval(budget=) takes a Budget, such as Budget(max_cost=5), got {budget!r}")
    agents = _by_name(agent)
    declared, judged = _config(Path.cwd()).secrets, _judge(judge, "run_eval(judge=)")
    plan = attrs.evolve(Plan.of_agents((eval,), agents, attempts, declared), judge=judged)
    require_evals(plan)
    writer = writer_for(record, plan.header(), declared)
    return await execute(plan, concurrency=concurrency, timeout=timeout, writer=writer, retries=retries, budget=budget)


@final
class _Attempt:
    """The context manager that `attempt` returns."""

    def __init__(
        self,
        agent: AgentLike | None,
        style: Literal["pass", "score"],
        name: str,
        timeout: float | None,
        judge: JudgeConfig | None,
        record: str | Path | None,
    ) -> None:
        self._agent = None if agent is None else as_agent(agent)
        self._ref = AttemptRef(name, None, "" if agent is None else _name_of(agent), 1)
        self._style: Literal["pass", "score"] = style
        self._timeout = timeout
        self._judges = Desks(judge, None, Backoff(), Warns())
        self._record = record
        self._t: EvalContext | None = None

    async def __aenter__(self) -> EvalContext:
        if self._t is not None:
            raise RuntimeError("an attempt() can be entered once; call attempt() again for another attempt")
        declared = _config(Path.cwd()).secrets
        self._writer: RunWriter | MemoryWriter = writer_for(self._record, self._header(), declared)
        own_id = attempt_id(self._writer.id, self._ref)
        self._state = AttemptState(agent=self._agent, style=self._style, attempt_id=own_id, timeout=self._timeout)
        self._state.log.redactor = growing_redactor(declared)
        self._checks: anyio.abc.TaskGroup = anyio.create_task_group()
        await self._checks.__aenter__()
        self._state.log.spawn, self._state.log.judge = self._spawn, self._judges.of(None)
        self._scope = anyio.CancelScope() if self._timeout is None else anyio.move_on_after(self._timeout)
        self._scope.__enter__()
        self._t = EvalContext(self._state)
        return self._t

    def _spawn(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._checks.start_soon(work)

    def _header(self) -> dict[str, Any]:
        ref = self._ref
        planned: dict[str, Any] = {"id": ref.eval_id, "style": self._style, "cases": None, "tags": []}
        return {"agents": [ref.agent] if ref.agent else [], "attempts": 1, "evals": [planned]}

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> bool:
        state, timeout = self._state, self._timeout
        late = timeout is not None and self._scope.cancel_called
        caught = bool(self._scope.__exit__(kind, error, trace))
        ending = INTERRUPTED
        quiet = False
        try:
            if error is None or caught or not interrupts(error):
                ending = NORMAL if error is None or caught else ending_of(error)
                quiet = ending == NORMAL
                ending = await settle(state, overdue(state, ending, timeout, late=late), timeout)
        except BaseException:
            ending = INTERRUPTED
            raise
        finally:
            try:
                self._finish(ending)
            finally:
                # Every check has been settled or given up by now, so that its task ends at once.
                await self._checks.__aexit__(None, None, None)
                await self._judges.aclose()
                await close_attempt(state)
        return quiet or (isinstance(error, AgentFailed) and late)

    def _finish(self, ending: Ending) -> None:
        finished = close_and_append(self._writer, self._state, ending, self._ref)
        self._writer.seal("interrupted" if ending is INTERRUPTED else "sealed")
        assert self._t is not None
        blobs = RunResult.from_writer(self._writer)
        self._t._result = attempt_from_document(parse(finished.line.encode("ascii")), blobs._source.blob)


def attempt(
    *,
    agent: AgentLike | None = None,
    style: Literal["pass", "score"] = "pass",
    name: str = "attempt",
    timeout: float | None = None,
    judge: JudgeConfig | None = None,
    record: str | Path | None = None,
) -> _Attempt:
    """Open one attempt as an async context manager; ``t.result`` is there once the block has ended.

    The block ends quietly on a stop, a skip or the timeout. Any other exception is recorded and propagates.

    Args:
        agent: The agent; None where nothing is sent.
        style: ``"pass"`` for a verdict, ``"score"`` for a score.
        name: The eval's id in results.
        timeout: Seconds that the block may take; None for no limit.
        judge: The model that answers judge matches; that of the project's configuration by default.
        record: The record folder to write the attempt to; None keeps it in memory.

    Raises:
        TypeError: The agent cannot be used as one, or the judge is no `JudgeConfig`.
        ConfigError: The folder of the judge's cache cannot be used.
        ValueError: The style, the name or the timeout makes no sense.

    >>> import anyio
    >>> from niceeval import attempt
    >>> from niceeval_expect import includes
    >>> async def main():
    ...     async with attempt(agent=lambda message: "Your parcel is on its way.") as t:
    ...         turn = await t.send("Where is my parcel?")
    ...         t.check(turn.message, includes("delivered")).key("delivered")
    ...     return t.result
    >>> result = anyio.run(main)
    >>> result.verdict, [failure.requirement for failure in result.failures]
    ('failed', ['delivered'])
    """
    if style not in ("pass", "score"):
        raise ValueError(f'attempt(style=) is "pass" or "score", got {style!r}')
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"attempt(name=) is a text that is not blank, got {name!r}")
    require_limits(timeout=timeout)
    return _Attempt(agent, style, name, timeout, _judge(judge, "attempt(judge=)"), record)
