"""What one attempt holds while it runs: its agent, its sessions and turns, its log, and why it ended."""

import time
from collections.abc import Mapping
from typing import Any, final

import anyio

from niceeval.agents.base import Agent, AgentContext
from niceeval.assertions import AssertionLog, Style
from niceeval.errors import AgentFailed, AgentReferenceError, AgentUnavailable
from niceeval.evidence import Evidence
from niceeval.signals import SkipSignal, StopSignal
from niceeval.transcript import TurnEvidence, turn_cut_off, turn_from_reply

__all__ = ["AttemptState", "DeadlinePassed", "SessionState", "TurnRecord"]


@final
class DeadlinePassed(BaseException):
    """The attempt's time is up and its code has not noticed yet."""


@final
class TurnRecord:
    """One finished turn at its place."""

    __slots__ = ("duration", "evidence", "index", "session")

    def __init__(self, session: int, index: int, evidence: TurnEvidence, duration: float | None) -> None:
        self.session = session
        self.index = index
        self.evidence = evidence
        self.duration = duration


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
        "agent", "attempt", "deadline", "flags", "log", "logs", "model", "sessions", "skipped",
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
        self.deadline = None if timeout is None else self.log.started + timeout

    def new_session(self, *, observed: bool = False) -> SessionState:
        """Start another session, independent of the others."""
        context = AgentContext(model=self.model, flags=self.flags, attempt=self.attempt)
        session = SessionState(len(self.sessions), context, observed=observed)
        self.sessions.append(session)
        return session

    def skip(self, reason: str) -> SkipSignal:
        """Note the reason and return the signal to raise."""
        self.skipped = self.skipped or reason
        return SkipSignal()

    async def send(
        self, session: SessionState, text: str, timeout: float | None, schema: Mapping[str, Any] | None
    ) -> TurnRecord:
        """Send one message and return the finished turn; a turn that was cut off keeps what was reported."""
        log, agent = self.log, self.agent
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
                with anyio.move_on_after(timeout) as scope:
                    reply = await agent.reply(text, context)
                if scope.cancelled_caught:
                    raise AgentUnavailable(f"the agent did not reply within {timeout:g} s")
            self._still_open()
            evidence = turn_from_reply(text, reply, context.take_emitted())
        except AgentUnavailable as error:
            self._cut_off(session, text, context, str(error) or "the agent could not be reached", begun)
            raise
        except (StopSignal, SkipSignal):
            raise
        except DeadlinePassed:
            self._cut_off(session, text, context, "the attempt timed out before the agent replied", begun)
            raise
        except Exception as error:
            reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            self._cut_off(session, text, context, reason, begun)
            raise AgentFailed(f"the agent raised {reason}") from error
        except BaseException:
            self._cut_off(session, text, context, "the turn was cancelled before the agent replied", begun)
            raise
        if log.closed:
            raise StopSignal
        return session.add(evidence, time.perf_counter() - begun)

    def _still_open(self) -> None:
        """Refuse a reply that came after the attempt's deadline, however busy the event loop was."""
        if self.deadline is not None and time.perf_counter() > self.deadline:
            raise DeadlinePassed

    def _cut_off(self, session: SessionState, text: str, context: AgentContext, failure: str, begun: float) -> None:
        if not self.log.closed:
            session.add(turn_cut_off(text, context.take_emitted(), failure), time.perf_counter() - begun)
