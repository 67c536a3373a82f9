"""One turn of a framework's agent, put together from what the framework says of it, in order."""

from typing import Any, Final, TypeAlias, final

from niceeval.agents.mcp_names import ToolNames
from niceeval.events import Event, Message, ToolCallFinished, ToolCallStarted
from niceeval.reply import Coverage, Reply, TurnStatus, Usage
from niceeval.tool_call import NOT_GIVEN, ToolCall, ToolStatus

__all__ = ["Timeline", "finished"]

_MOST_NOTES: Final = 8
_Entry: TypeAlias = "Event | tuple[bool, int]"


@final
class Timeline:
    """What happened so far: texts, thinking, calls and their results.

    Args:
        names: Which tools there are; without it, names are as reported.

    >>> turn = Timeline()
    >>> turn.call(ToolCall("search", {"q": "cats"}, id="c1"))
    >>> turn.answer("c1", ["tabby"], "completed"), turn.answer("c2", None, None)
    (True, False)
    >>> turn.add(Message("assistant", "There is a tabby."))
    >>> turn.reply().tool_calls
    (ToolCall('search', {'q': 'cats'}, ['tabby'], status='completed', id='c1'),)
    """

    def __init__(self, names: ToolNames | None = None) -> None:
        self._names = names or ToolNames()
        self._entries: list[_Entry] = []
        self._calls: list[ToolCall] = []
        self._steps: list[int] = []  # of each call: which of the agent's steps made it
        self._answered: set[int] = set()
        self._step = 0
        self._told = 0
        self._notes: dict[str, list[str]] = {}
        self._reasons: dict[str, str] = {}

    def next_step(self) -> None:
        """Begin a step: what one answer of the model says and calls."""
        self._step += 1

    def add(self, event: Event) -> None:
        """Take in an event that is no call."""
        self._entries.append(event)

    def say(self, text: str) -> None:
        """Take in what the agent said; nothing said is no message."""
        if text:
            self._entries.append(Message("assistant", text))

    def call(self, call: ToolCall) -> None:
        """Take in a call; one that is not pending has its result already."""
        place = len(self._calls)
        self._calls.append(self._names.named(call))
        self._steps.append(self._step)
        self._entries.append((False, place))
        if call.status != "pending":
            self._answered.add(place)
            self._entries.append((True, place))

    def answer(self, id: str | None, output: Any, status: ToolStatus | None) -> bool:
        """Give the nearest unanswered call with this id its result, and return whether there was one.

        Args:
            id: The call's id.
            output: What came back; `NOT_GIVEN` where nothing is reported of it.
            status: How it ended; None where nobody said.
        """
        still_open = [place for place, call in enumerate(self._calls) if call.id == id and place not in self._answered]
        if not still_open:
            return False
        place = max(still_open, key=lambda place: (self._steps[place], -place))
        self._calls[place] = finished(self._calls[place], output, status)
        self._answered.add(place)
        self._entries.append((True, place))
        return True

    def note(self, channel: str, sentence: str) -> None:
        """Remember that a channel is not known in full, and why."""
        self._notes.setdefault(channel, []).append(sentence)

    def explain(self, channel: str, sentence: str) -> None:
        """Remember why a channel is not reported."""
        self._reasons[channel] = sentence

    def news(self) -> tuple[Event, ...]:
        """Return what happened since the last time."""
        fresh = tuple(self._event(entry) for entry in self._entries[self._told :])
        self._told = len(self._entries)
        return fresh

    def reply(
        self, *, data: Any = NOT_GIVEN, usage: Usage | None = None, status: TurnStatus | None = "completed"
    ) -> Reply:
        """Return the turn as a reply, with every call that happened."""
        said = [entry.text for entry in self._entries if isinstance(entry, Message)]
        coverage: dict[str, Coverage] = dict.fromkeys(self._notes, "partial")
        reasons = {channel: _joined(notes) for channel, notes in self._notes.items()}
        return Reply(
            said[-1] if said else "",
            data=data,
            tool_calls=self._calls,
            usage=usage,
            status=status,
            events=[self._event(entry) for entry in self._entries],
            coverage=coverage,
        ).explained({**self._reasons, **reasons})

    def _event(self, entry: _Entry) -> Event:
        if not isinstance(entry, tuple):
            return entry
        ended, place = entry
        return ToolCallFinished(self._calls[place]) if ended else ToolCallStarted(self._calls[place])


def finished(call: ToolCall, output: Any, status: ToolStatus | None) -> ToolCall:
    """Return a call with its result."""
    if call.raw_input is not None:
        return ToolCall.unreadable(
            call.name, call.raw_input, call.input.reason, output, status=status, id=call.id, server=call.server
        )
    return ToolCall(call.name, call.input, output, status=status, id=call.id, server=call.server)


def _joined(notes: list[str]) -> str:
    notes = list(dict.fromkeys(notes))
    more = len(notes) - _MOST_NOTES
    return "; ".join(notes[:_MOST_NOTES]) + (f"; and {more} more" if more > 0 else "")
