"""A session: one conversation with the agent, and checks over its finished turns."""

from collections.abc import Coroutine
from math import isfinite
from typing import Any, ClassVar, final, overload

from typing_extensions import TypeForm, TypeVar

from niceeval.attempt_state import AttemptState, SessionState
from niceeval.outputs import OutputType
from niceeval.scopes import Scope
from niceeval.transcript import TurnEvidence
from niceeval.turns import Turn
from niceeval.views import View

__all__ = ["Session"]

V = TypeVar("V")


@final
class Session(Scope):
    """One conversation; its scoped checks see its turns that are finished at the call."""

    __slots__ = ("_cut", "_made", "_session")
    _scope_name = "session"
    _not_a_subject: ClassVar[str] = "check() got a session as subject; check one of its turns' message or data"

    def __init__(self, state: AttemptState, session: SessionState) -> None:
        super().__init__(state)
        self._session = session
        self._made: list[Turn[Any]] = []
        self._cut: View | None = None

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The finished turns, in order."""
        for record in self._session.turns[len(self._made) :]:
            self._made.append(Turn(self._state, record))
        return tuple(self._made)

    @overload
    async def send(self, text: str, /, *, timeout: float | None = None) -> Turn: ...
    @overload
    async def send(self, text: str, /, *, output: TypeForm[V], timeout: float | None = None) -> Turn[V]: ...
    def send(self, text: str, /, *, output: Any = None, timeout: float | None = None) -> Coroutine[Any, Any, Turn[Any]]:
        """Send a message in this session and return the finished turn; see `EvalContext.send`."""
        token = object()
        return self._state.offer(token, self._send(token, text, output, timeout))

    async def _send(self, token: object, text: str, output: Any, timeout: float | None) -> Turn[Any]:
        state, log = self._state, self._state.log
        state.take(token)
        log.admit()
        if not isinstance(text, str):
            raise log.refuse(f"send() takes the user's message as text, got {text!r}")
        if timeout is not None:
            _require_seconds(log.refuse, timeout)
        if self._session.observed:
            raise log.mistake("send() on an observed session: it is a recording; open one with t.new_session()")
        wanted = None
        if output is not None:
            try:
                wanted = OutputType.of(output)
            except (TypeError, ValueError) as error:
                log.mistake(f"send(output=): {error}")
                raise
        record = await state.send(self._session, text, timeout, None if wanted is None else wanted.json_schema)
        turn = self.turns[record.index]
        if wanted is not None:
            turn._output = wanted.register(log, record.evidence, turn.message)
        return turn

    def add(self, evidence: TurnEvidence) -> None:
        """Append a recorded turn."""
        self._session.add(evidence)

    def _turns(self) -> list[Any]:
        return self._session.turns

    def _view(self) -> View:
        turns = self._session.turns
        if self._cut is None or self._cut.size != len(turns):
            self._cut = View((tuple(turns),))
        return self._cut

    def __repr__(self) -> str:
        return f"<session {self._session.index} with {len(self._session.turns)} turns>"


def _require_seconds(refuse: Any, timeout: object) -> None:
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not isfinite(timeout) or timeout <= 0:
        raise refuse(f"send(timeout=) takes seconds above 0, got {timeout!r}", depth=4)
