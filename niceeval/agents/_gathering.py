"""An answer put together from what an agent sends: one JSON value, or one event after another."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias, final

from niceeval.agents._open_call import OpenCall
from niceeval.agents._paths import CallPaths, ReplyPaths, StreamPaths, found
from niceeval.agents._pieces import Arguments, joined
from niceeval.agents._unparsed_calls import looks_like_a_call
from niceeval.agents.base import AgentContext
from niceeval.agents.mcp_names import ToolNames
from niceeval.events import Event, Message, ToolCallFinished, ToolCallStarted
from niceeval.reply import Coverage, Reply, TurnStatus, Usage
from niceeval.tool_call import NOT_GIVEN, ToolCall
from niceeval_expect._json import brief
from niceeval_expect._parse import ParseProblem, parse_strict
from niceeval_expect._paths import Blocked

__all__ = ["BadReply", "Gathering", "beginning", "json_value"]

_MOST_NOTES: Final = 5
_SHOWN: Final = 300
_Happened: TypeAlias = tuple[Literal["said"], str] | tuple[Literal["started", "finished"], OpenCall]


class BadReply(Exception):
    """What the agent answered says that it broke, or cannot be read. It is the agent's own failure."""


@final
class Gathering:
    """What is known of one answer so far.

    Args:
        reply: Where whole values are.
        stream: Where pieces are, for an answer in events.
        names: Which tools there are.
    """

    def __init__(self, reply: ReplyPaths, stream: StreamPaths | None = None, names: ToolNames | None = None) -> None:
        self._paths = reply
        self._stream = stream
        self._names = names or ToolNames()
        result = reply.tool_calls
        self._answers = result is not None and any(
            path is not None for path in (result.output, result.error, result.status)
        )
        self._happened: list[_Happened] = []
        self._text: list[str] = []
        self._calls: list[OpenCall] = []
        self._calls_reported = self._said = False
        self._data: Any = NOT_GIVEN
        self._used: dict[str, Any] = {}
        self._status: TurnStatus | None = "completed" if reply.status is None else None
        self._kept: dict[str, Any] = {}
        self._no_message = self._no_calls = "the answer had no events"
        self._notes: dict[str, list[str]] = {}

    # -- reading

    def add(self, value: Any) -> bool:
        """Take in one value, and return whether it ends the answer.

        Raises:
            BadReply: It says that something went wrong.
        """
        if self._stream is not None:
            error = found(self._stream.error, value)
            if _is_there(error):
                raise BadReply(f"the agent reported an error: {error if isinstance(error, str) else brief(error)}")
            self._add_pieces(value, self._stream)
        if self._paths.tool_calls is not None:
            self._add_calls(value, self._paths.tool_calls)
        self._add_message(value)
        self._add_rest(value)
        return self._stream is not None and _is_there(found(self._stream.done_at, value))

    def _add_pieces(self, value: Any, stream: StreamPaths) -> None:
        for item in _each(found(stream.calls, value)):
            self._calls_reported = True
            self._add_piece(item, stream)
        text = found(stream.text, value)
        if isinstance(text, str):
            self._said = True
            self._text.append(text)

    def _add_piece(self, item: Any, stream: StreamPaths) -> None:
        """Take in a piece of a call: of the one with its id, else with its index, else the last one; or a new one."""
        known_id, said = _id(found(stream.id, item)), found(stream.name, item)
        index, arguments = (_value(found(path, item)) for path in (stream.index, stream.arguments))
        name = said if isinstance(said, str) and said.strip() else None
        call = self._call_in_place(known_id, index)
        if call is None or not call.goes_on(known_id, name, index, arguments):
            call = self._start(None, known_id)
            call.index = index
        call.id = call.id or known_id
        call.pieces = Arguments() if call.pieces is None else call.pieces
        again = name is not None and call.name is not None
        call.name = call.name or name
        if not (again and call.pieces.complete and call.pieces.has(arguments)):
            call.pieces.add(arguments)

    def _call_in_place(self, known_id: str | None, index: object) -> OpenCall | None:
        pieced = [call for call in reversed(self._calls) if call.pieces is not None and not call.answered]
        if known_id is not None:
            same = [call for call in pieced if call.id == known_id]
            nameless = [call for call in pieced if call.id is None and call.index == index and index is not None]
            return next((call for call in same if call.index == index), next(iter([*same, *nameless]), None))
        if index is not None:
            return next((call for call in pieced if call.index == index), None)
        return next(iter(pieced), None)

    def _add_calls(self, value: Any, paths: CallPaths) -> None:
        listed = found(paths.at, value)
        if isinstance(listed, Blocked) or listed is None:
            self._no_calls = f"the tool calls at {paths.at!r} are null" if listed is None else listed.sentence()
            return
        if not isinstance(listed, list | dict):
            self._note("tool_calls", f"the tool calls at {paths.at!r} are {brief(listed)}")
            return
        self._calls_reported = True
        before = list(self._calls)
        for item in _each(listed):
            call = self._known_call(item, paths, before)
            if call is None:
                continue
            answered = call.answered
            call.learn(item, paths)
            if call.answered and not answered:
                self._happened.append(("finished", call))

    def _known_call(self, item: Any, paths: CallPaths, before: list[OpenCall]) -> OpenCall | None:
        """Return the call that an object is about: one that has no result yet, or a new one."""
        name, known_id = found(paths.name, item), _id(found(paths.id, item))
        named = name if isinstance(name, str) and name.strip() else None
        if known_id is not None:
            for call in reversed(self._calls if named is None else before):
                if call.id == known_id and not call.answered and named in (None, call.name):
                    return call
        if named is None:
            kind = "a result without an unanswered call" if known_id is not None else "a call without a name"
            self._note("tool_calls", f"{kind}: {brief(item)}")
            return None
        return self._start(named, known_id)

    def _start(self, name: str | None, id: str | None) -> OpenCall:
        self._close_text()
        call = OpenCall(name, id, answers=self._answers)
        self._calls.append(call)
        self._happened.append(("started", call))
        return call

    def _add_message(self, value: Any) -> None:
        said = found(self._paths.message, value)
        texts = [said] if isinstance(said, str) else said
        if isinstance(texts, list) and texts and all(isinstance(text, str) for text in texts):
            self._said = True
            # The whole text of what came in pieces.
            self._text.clear()
            self._happened.extend(("said", text) for text in texts)
        elif isinstance(said, Blocked):
            self._no_message = said.sentence() if self._paths.message is not None else "the message is not mapped"
        else:
            shown = "null" if said is None else brief(said)
            self._no_message = f"the message at {self._paths.message!r} is {shown}"

    def _add_rest(self, value: Any) -> None:
        paths = self._paths
        data, word = found(paths.data, value), found(paths.status, value)
        if not isinstance(data, Blocked):
            self._data = data
        if not isinstance(word, Blocked):
            self._status = paths.status_of(word)
        for name in ("input_tokens", "output_tokens", "cost_usd"):
            count = found(getattr(paths, name), value)
            if not isinstance(count, Blocked) and count is not None:
                self._count(name, count)
        for name, path in paths.session.items():
            kept = found(path, value)
            if not isinstance(kept, Blocked) and kept is not None:
                self._kept[name] = kept

    def _count(self, name: str, count: Any) -> None:
        try:
            Usage(**{name: count})
        except (TypeError, ValueError):
            self._note("usage", f"{name} is {brief(count)}")
        else:
            self._used[name] = count

    def _close_text(self) -> None:
        if self._text:
            self._happened.append(("said", joined(self._text)))
            self._text.clear()

    def _note(self, channel: str, note: str) -> None:
        notes = self._notes.setdefault(channel, [])
        if len(notes) < _MOST_NOTES:
            notes.append(note)

    # -- what came of it

    def reply(self, ctx: AgentContext) -> Reply:
        """Return the answer, which has ended, and keep for the session what is kept for it."""
        self._close_text()
        ctx.session.update(self._kept)
        made = self._made(cut_off=False)
        texts = [text for kind, text in self._happened if kind == "said"]
        message = str(texts[-1]) if texts else ""
        calls = [made[call] for call in self._calls if call in made]
        mapped = self._paths.tool_calls is not None or (self._stream is not None and self._stream.calls is not None)
        reported = self._calls_reported or (
            mapped and self._paths.no_calls == "none" and "tool_calls" not in self._notes
        )
        if mapped and not reported and "tool_calls" not in self._notes:
            self._notes["tool_calls"] = [self._no_calls]
        if reported and not calls and any(looks_like_a_call(str(text)) for text in texts):
            self._note("tool_calls", "the text looks like a tool call nobody parsed")
        coverage: dict[str, Coverage] = {}
        if not self._said:
            coverage["messages"] = "none"
            self._notes["messages"] = [self._no_message]
        if "tool_calls" in self._notes:
            coverage["tool_calls"] = "partial" if reported else "none"
        reply = Reply(
            message,
            data=self._data,
            tool_calls=calls if reported else None,
            usage=Usage(**self._used) if self._used else None,
            status=self._status,
            events=list(self._events(made)) if len(texts) > 1 else None,
            coverage=coverage,
        )
        reasons = {channel: "; ".join(notes) for channel, notes in self._notes.items()}
        return reply.explained(reasons) if reasons else reply

    def report(self, ctx: AgentContext) -> None:
        """Report what came until now, of an answer that never ended."""
        self._close_text()
        ctx.emit(*self._events(self._made(cut_off=True)))

    def _made(self, *, cut_off: bool) -> Mapping[OpenCall, ToolCall]:
        made = {}
        for call in self._calls:
            if call.name is None:
                self._note("tool_calls", "a call without a name")
            else:
                made[call] = self._names.named(call.made(cut_off=cut_off))
        return made

    def _events(self, made: Mapping[OpenCall, ToolCall]) -> Iterator[Event]:
        for kind, what in self._happened:
            if isinstance(what, str):
                if what:
                    yield Message("assistant", what)
            elif what in made:
                yield ToolCallFinished(made[what]) if kind == "finished" else ToolCallStarted(made[what])


def _id(value: Any) -> str | None:
    return None if isinstance(value, Blocked) or value is None else str(value)


def _value(value: Any) -> Any:
    return None if isinstance(value, Blocked) else value


def _is_there(value: Any) -> bool:
    return not isinstance(value, Blocked) and value is not None and value is not False


def _each(value: Any) -> list[Any]:
    if isinstance(value, Blocked) or value is None:
        return []
    return value if isinstance(value, list) else [value]


def json_value(text: str, what: str) -> Any:
    """Return the value of JSON text; `what` says where it comes from.

    Raises:
        BadReply: It is not JSON.
    """
    # A byte order mark says nothing that matters here (RFC 8259, 8.1).
    parsed = parse_strict(text.removeprefix("\ufeff"))
    if isinstance(parsed, ParseProblem):
        shown = beginning(text)
        raise BadReply(f"{what} and that is not JSON, {parsed.message}" + (f": {shown}" if shown else ""))
    return parsed.value


def beginning(text: str) -> str:
    r"""Return the beginning of a text on one line.

    >>> beginning("<html>\n  <body>Bad gateway")
    '<html> <body>Bad gateway'
    """
    line = " ".join(text[: 4 * _SHOWN].split())
    return line if len(line) <= _SHOWN and len(text) <= 4 * _SHOWN else f"{line[:_SHOWN]}…"
