"""The author's `t`: send, observe, check, group, skip, score, log."""

from collections.abc import Coroutine, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, final, overload

from typing_extensions import TypeForm, TypeVar

from niceeval.attempt_state import AttemptState
from niceeval.entries import group_path
from niceeval.errors import NiceEvalError
from niceeval.handles import PointsHandle
from niceeval.scopes import Scope
from niceeval.sessions import Session
from niceeval.transcript import Transcript
from niceeval.turns import Turn
from niceeval.views import View
from niceeval_expect._codec import encode

if TYPE_CHECKING:
    from niceeval.results import AttemptResult

__all__ = ["EvalContext"]

V = TypeVar("V")


@final
class EvalContext(Scope):
    """What an eval function gets: it talks to the agent, and registers checks over everything said so far.

    The scoped checks of `t` see every session that has started, up to its last finished turn.
    """

    __slots__ = ("_default", "_result", "_sessions")
    _scope_name = "attempt"
    _not_a_subject: ClassVar[str] = "check() got t as subject; check a turn's message, data or tool_calls"

    def __init__(self, state: AttemptState) -> None:
        super().__init__(state)
        self._default: Session | None = None
        self._sessions: list[Session] = []
        self._result: AttemptResult | None = None

    @overload
    async def send(self, text: str, /, *, timeout: float | None = None) -> Turn: ...
    @overload
    async def send(self, text: str, /, *, output: TypeForm[V], timeout: float | None = None) -> Turn[V]: ...
    def send(self, text: str, /, *, output: Any = None, timeout: float | None = None) -> Coroutine[Any, Any, Turn[Any]]:
        """Send a message in the attempt's own session and return the finished turn.

        Args:
            text: The user's message.
            output: A type that the agent's structured output must conform to: registers a gate of its own, and
                ``turn.data`` is the validated value.
            timeout: Seconds to wait for the reply, above 0.

        Raises:
            AgentFailed: The agent raised an exception of its own.
            AgentUnavailable: The agent could not be reached, or did not reply within `timeout`.
            AgentReferenceError: No agent was given.
        """
        token = object()
        return self._state.offer(token, self._send(token, text, output, timeout))

    async def _send(self, token: object, text: str, output: Any, timeout: float | None) -> Turn[Any]:
        self._state.take(token)
        if self._default is None:
            self._state.log.admit()
            self._default = self._open()
        return await self._default._send(token, text, output, timeout)

    def new_session(self) -> Session:
        """Open an independent session with the same agent."""
        self._state.log.admit()
        return self._open()

    def observe(self, transcript: Transcript, /) -> Session:
        """Bring in a recorded conversation as a session, without calling an agent.

        Args:
            transcript: What a reader such as `transcript_from_openai` returns.

        Raises:
            TypeError: It is not a transcript.
        """
        self._state.log.admit()
        if not isinstance(transcript, Transcript):
            raise self._state.log.refuse(
                f"observe() takes a transcript, got {type(transcript).__name__}; "
                "read messages with transcript_from_openai(...)"
            )
        session = self._open(observed=True)
        for evidence in transcript.turns:
            session.add(evidence)
        return session

    def _open(self, *, observed: bool = False) -> Session:
        session = Session(self._state, self._state.new_session(observed=observed))
        self._sessions.append(session)
        return session

    def group(self, title: str, /) -> AbstractContextManager[None]:
        """Show the checks registered inside under a title; nothing else changes.

        Args:
            title: A text that is not blank.
        """
        if not isinstance(title, str) or not title.strip():
            raise self._state.log.refuse(f"group() takes a title that is not blank, got {title!r}")
        return _titled(title)

    def skip(self, reason: str, /) -> NoReturn:
        """End the attempt as skipped; entries registered before stay, and an unmet gate still fails it.

        Args:
            reason: Why, a text that is not blank.
        """
        self._state.log.admit()
        if not isinstance(reason, str) or not reason.strip():
            raise self._state.log.refuse(f"skip() takes a reason that is not blank, got {reason!r}")
        raise self._state.skip(reason)

    def score(self, points: float, /) -> PointsHandle:
        """Contribute points to the score directly (score-style evals).

        Args:
            points: Finite, 0 or more.

        Returns:
            A handle that takes only a key and a label.
        """
        log = self._state.log
        return PointsHandle(log, log.add_points(points))

    def log(self, message: str, /, **fields: object) -> None:
        """Keep a note with the attempt's evidence.

        Args:
            message: The note.
            **fields: Values to keep with it.
        """
        if not isinstance(message, str):
            raise self._state.log.refuse(f"log() takes text first, got {message!r}")
        note: dict[str, Any] = {"message": message}
        if fields:
            note["fields"] = encode(fields)
        self._state.logs.append(note)

    @property
    def sessions(self) -> tuple[Session, ...]:
        """The sessions that have started, in order."""
        return tuple(self._sessions)

    @property
    def attempt(self) -> int:
        """The number of this attempt, from 1."""
        return self._state.attempt

    @property
    def model(self) -> str | None:
        """The model that the experiment names, if any."""
        return self._state.model

    @property
    def flags(self) -> Mapping[str, Any]:
        """The experiment's flags."""
        return self._state.flags

    @property
    def result(self) -> "AttemptResult":
        """The result, once the attempt has closed.

        Raises:
            NiceEvalError: The attempt is still open.
        """
        if self._result is None:
            raise NiceEvalError("t.result exists once the attempt has closed: read it after the block ends")
        return self._result

    def _view(self) -> View:
        return View(tuple(tuple(session._turns()) for session in self._sessions))


@contextmanager
def _titled(title: str) -> Iterator[None]:
    token = group_path.set((*group_path.get(), title))
    try:
        yield
    finally:
        group_path.reset(token)
