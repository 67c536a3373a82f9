"""A finished turn: what was said and done in it, and checks over just that."""

from typing import Any, ClassVar, Generic, cast, final

from typing_extensions import TypeVar

from niceeval.attempt_state import AttemptState
from niceeval.entries import Entry
from niceeval.errors import NiceEvalError
from niceeval.reply import TurnStatus, Usage
from niceeval.scopes import Scope
from niceeval.transcript import TurnEvidence
from niceeval.turn_record import TurnRecord
from niceeval.views import View
from niceeval_expect._evaluation import AbsentText

__all__ = ["Turn"]

D = TypeVar("D", default=Any, covariant=True)


@final
class Turn(Scope, Generic[D]):
    """One message and what the agent made of it; immutable."""

    __slots__ = ("_cut", "_message", "_output", "_record")
    _scope_name = "turn"
    _not_a_subject: ClassVar[str] = "check() got a turn as subject; check turn.message, turn.data or turn.tool_calls"

    def __init__(self, state: AttemptState, record: TurnRecord) -> None:
        super().__init__(state)
        self._record = record
        self._cut: View | None = None
        self._message: str | None = None
        self._output: Entry | None = None

    @property
    def input(self) -> str:
        """What the user said."""
        return self._evidence.input

    @property
    def message(self) -> str:
        """The last text of the assistant; ``""`` where it said nothing.

        Where the turn failed, or texts are not reported, it is ``""`` to Python and absent to every check: matches
        over it are unavailable. What a failed turn said all the same is in `messages`.
        """
        if self._message is None:
            self._message = _last_text(self._evidence)
        return self._message

    @property
    def messages(self) -> tuple[str, ...]:
        """All texts of the assistant, in order."""
        return self._evidence.messages or ()

    @property
    def data(self) -> D:
        """The structured output: validated where ``send(output=Type)`` asked for it.

        Reading it when the output did not conform is a stop, like a failed ``or_stop()``. Where no output was asked for
        and none was given, it is an `Absent` value, over which every match is unavailable.
        """
        entry = self._output
        if entry is None:
            return cast(D, self._evidence.data)
        assert entry.evaluation is not None
        if entry.evaluation.outcome != "matched":
            if self._state.log.closed:
                raise NiceEvalError(f"turn.data does not conform, see {entry.requirement!r} in t.result")
            entry.stops = True
            raise self._state.log.stop(entry)
        return cast(D, entry.evaluation.product if entry.produces else entry.live)

    @property
    def status(self) -> TurnStatus | None:
        """How the turn ended: completed, failed or waiting; None where nobody said."""
        return self._evidence.status

    @property
    def usage(self) -> Usage | None:
        """What the turn used; None where it was not reported."""
        return self._evidence.usage

    @property
    def _evidence(self) -> TurnEvidence:
        return self._record.evidence

    def _view(self) -> View:
        if self._cut is None:
            self._cut = View(((self._record,),))
        return self._cut

    def __repr__(self) -> str:
        return f"<turn {self._record.index} of session {self._record.session}: {self.message!r:.60}>"


def _last_text(evidence: TurnEvidence) -> str:
    if evidence.status == "failed":
        return AbsentText(evidence.failure or "the turn failed")
    if evidence.messages:
        return evidence.messages[-1]
    if evidence.messages is None or evidence.coverage.get("messages") == "none":
        return AbsentText(
            evidence.failure or evidence.reasons.get("messages") or "the turn's messages are not reported"
        )
    return AbsentText(evidence.failure or "the assistant said nothing in this turn")
