"""What one attempt holds while it runs: its agent, its sessions and turns, its log, and why it ended."""

import inspect
import math
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from functools import reduce
from typing import Any, TypeVar, final

import anyio
import attrs

from niceeval.agents.base import Agent, AgentContext
from niceeval.assertions import AssertionLog
from niceeval.entries import Style
from niceeval.errors import AgentFailed, AgentReferenceError, AgentUnavailable, message_of, told
from niceeval.evidence import Evidence
from niceeval.signals import SkipSignal, StopSignal, being_cancelled, known_sites, leaves, site
from niceeval.transcript import TurnEvidence, turn_cut_off, turn_from_reply
from niceeval.turn_record import TurnRecord

__all__ = ["AttemptState", "DeadlinePassed", "SessionState", "TurnRecord", "Unreached"]

T = TypeVar("T")


@final
class DeadlinePassed(BaseException):
    """The attempt's time is up and its code has not noticed yet."""


@final
@attrs.frozen
class Unreached:
    """That the agent could not be reached, as far as it matters for trying again.

    Attributes:
        message: What happened.
        retry_after: Seconds after which it wants to be tried again, if it said so.
        retryable: Whether trying again can help.
    """

    message: str
    retry_after: float | None = None
    retryable: bool = True

    @classmethod
    def of(cls, errors: Iterable[AgentUnavailable]) -> "Unreached":
        """Return what several errors, at least one, say together: one that cannot be helped decides."""
        found = [cls(message_of(error), _seconds(error.retry_after), bool(error.retryable)) for error in errors]
        return reduce(lambda one, other: one.joined(other), found)

    def joined(self, other: "Unreached") -> "Unreached":
        """Return the same with what another one says about trying again."""
        waits = [each.retry_after for each in (self, other) if each.retry_after is not None]
        longest = max(waits, default=None)
        return attrs.evolve(self, retry_after=longest, retryable=self.retryable and other.retryable)


def _seconds(value: object) -> float | None:
    """Return what an adapter says as seconds, or None where it is no such number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return max(0.0, float(value))


@final
class SessionState:
    """One conversation: its context and its finished turns."""

    __slots__ = ("context", "index", "observed", "turns")

    def __init__(self, index: int, context: AgentContext, *, observed: bool = False) -> None:
        self.index = index
        self.context = context
        self.observed = observed
        self.turns: list[TurnRecord] = []

    def add(self, evidence: TurnEvidence, duration: float | None = None) -> TurnRecord:
        """Append a finished turn."""
        record = TurnRecord(self.index, len(self.turns), evidence, duration)
        self.turns.append(record)
        return record


@final
class AttemptState:
    """Everything that the context, its sessions and the runner share about one attempt."""

    __slots__ = (
        "agent", "attempt", "deadline", "flags", "log", "logs", "model", "offered", "over", "recorded", "sessions",
        "skipped", "tearing_down", "torn_down", "unreachable",
    )  # fmt: skip

    def __init__(
        self, *, agent: Agent | None, style: Style, attempt_id: str, attempt: int = 1, model: str | None = None,
        flags: Mapping[str, Any] | None = None, timeout: float | None = None,
    ) -> None:  # fmt: skip
        self.agent = agent
        self.attempt = attempt
        self.model = model
        self.flags: Mapping[str, Any] = flags if flags is not None else {}
        self.log = AssertionLog(style, Evidence(), attempt_id)
        self.logs: list[dict[str, Any]] = []
        self.sessions: list[SessionState] = []
        self.skipped: str | None = None
        self.recorded = False
        """Whether the conversation is a recording, so that no agent is called."""
        self.unreachable: Unreached | None = None
        self.tearing_down = self.torn_down = False
        self.over: Callable[[], bool] | None = None
        self.offered: dict[object, tuple[Coroutine[Any, Any, Any], str, int]] = {}
        self.deadline = None if timeout is None else self.log.started + timeout

    def new_session(self, *, observed: bool = False) -> SessionState:
        """Start another session, independent of the others."""
        context = AgentContext(model=self.model, flags=self.flags, attempt=self.attempt)
        session = SessionState(len(self.sessions), context, observed=observed)
        self.sessions.append(session)
        return session

    def offer(self, token: object, sending: Coroutine[Any, Any, T]) -> Coroutine[Any, Any, T]:
        """Remember a message by its token until somebody awaits it, which `take` tells."""
        if not self.log.closed:
            frame = sys._getframe(2)
            known = known_sites.get((id(frame.f_code), frame.f_lasti))
            self.offered[token] = (sending, *(site(3) if known is None else known[1:]))
        return sending

    def take(self, token: object) -> None:
        """Say that the message is awaited."""
        self.offered.pop(token, None)

    def never_awaited(self) -> list[tuple[str, int]]:
        """Return where messages were made that nobody awaited, and close them."""
        left = [item for item in self.offered.values() if inspect.getcoroutinestate(item[0]) == inspect.CORO_CREATED]
        for sending, _, _ in left:
            sending.close()
        return [(file, line) for _, file, line in left]

    def skip(self, reason: str) -> SkipSignal:
        """Note the reason and return the signal to raise."""
        self.skipped = self.skipped or reason
        return SkipSignal()

    async def send(
        self, session: SessionState, text: str, timeout: float | None, schema: Mapping[str, Any] | None
    ) -> TurnRecord:
        """Send one message and return the finished turn; a turn that was cut off keeps what was reported."""
        log, agent = self.log, self.agent
        if self.recorded:
            raise log.mistake("send() calls an agent, and these checks read recorded conversations: none is called")
        if agent is None:
            raise AgentReferenceError(
                "this eval sends a message and no agent was given: name one with --agent module:attr, "
                "`agent` in [tool.niceeval], or agent=... in run_eval() and attempt()"
            )
        context = session.context.for_turn(schema)
        begun = time.perf_counter()
        try:
            if timeout is None:
                reply = await agent.reply(text, context)
            else:
                reply = await _within(timeout, agent.reply(text, context))
            if self.deadline is not None and time.perf_counter() > self.deadline:
                # However busy the event loop was: a late reply changes nothing.
                raise DeadlinePassed
            evidence = turn_from_reply(text, reply, context.take_emitted())
        except (StopSignal, SkipSignal):
            raise
        except BaseException as error:
            raised = _what_it_means(error, self.over)
            if isinstance(raised, AgentUnavailable):
                # Caught or not: an agent that was not reached is no result.
                found = Unreached.of([raised])
                self.unreachable = found if self.unreachable is None else self.unreachable.joined(found)
            self._cut_off(session, text, context, _failure(error, raised), begun)
            if raised is error:
                raise
            raise raised from error
        if log.closed:
            raise log.mistake("the attempt closed before this reply came; await send() within it", depth=2)
        return session.add(evidence, time.perf_counter() - begun)

    def _cut_off(self, session: SessionState, text: str, context: AgentContext, failure: str, begun: float) -> None:
        if not self.log.closed:
            session.add(turn_cut_off(text, context.take_emitted(), failure), time.perf_counter() - begun)


async def _within(timeout: float, replying: Awaitable[T]) -> T:
    """Await a reply that is of use only within `timeout` seconds, whatever the agent makes of being cancelled."""
    begun = time.perf_counter()
    broken: Exception | None = None
    with anyio.move_on_after(timeout) as scope:
        try:
            reply = await replying
        except Exception as error:
            broken = error
    if scope.cancel_called or time.perf_counter() - begun > timeout:
        raise AgentUnavailable(f"the agent did not reply within {timeout:g} s", retryable=False) from broken
    if broken is not None:
        raise broken
    return reply


def _what_it_means(error: BaseException, over: Callable[[], bool] | None) -> BaseException:
    """Return what the author gets for what an agent raised: a broken agent failed, one that nobody reached did not."""
    if isinstance(error, AgentUnavailable | DeadlinePassed):
        return error
    if isinstance(error, BaseExceptionGroup):
        parts = [part for part in leaves(error) if isinstance(part, AgentUnavailable)]
        if len(parts) == sum(1 for _ in leaves(error)):
            every = Unreached.of(parts)
            message = "; ".join(dict.fromkeys(map(message_of, parts)))
            return AgentUnavailable(message, retry_after=every.retry_after, retryable=every.retryable)
    if isinstance(error, Exception):
        return AgentFailed(f"the agent raised {told(error)}")
    if isinstance(error, anyio.get_cancelled_exc_class()) and not being_cancelled(over):
        return AgentFailed("the agent awaited a task that was cancelled")
    return error


def _failure(error: BaseException, raised: BaseException) -> str:
    """Return the sentence that the turn keeps."""
    if isinstance(raised, AgentUnavailable):
        return message_of(raised) or "the agent could not be reached"
    if isinstance(raised, DeadlinePassed):
        return "the attempt timed out before the agent replied"
    if isinstance(raised, AgentFailed):
        return told(error)
    return "the turn was cancelled before the agent replied"
