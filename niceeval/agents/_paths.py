"""Where an agent's answer has what: paths into JSON, checked where they are written."""

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias, cast, final

import attrs

from niceeval.reply import TurnStatus
from niceeval.tool_call import ToolStatus
from niceeval_expect._json import brief
from niceeval_expect._paths import Blocked, Path, parse_path, resolve
from niceeval_expect._tool_names import TOOL_STATUSES

__all__ = ["CallPaths", "ReplyPaths", "StreamPaths", "found"]

_TURN_STATUSES: Final = ("completed", "failed", "waiting")
Word: TypeAlias = str | int | bool | None


def found(path: Path | None, value: Any) -> Any:
    """Return what is at a path, or a `Blocked` that says why nothing is; null is a value."""
    if path is None:
        return _UNMAPPED
    return resolve(value, parse_path(path, "a path of an answer"))


_UNMAPPED: Final = Blocked("missing", "", None, is_root=True)


def _path(owner: str, name: str, value: object) -> None:
    if value is not None:
        parse_path(value, f"{owner} {name}=")


def _words(owner: str, given: object, allowed: tuple[str, ...]) -> None:
    if not isinstance(given, Mapping):
        raise TypeError(f"{owner} statuses= maps the agent's words to {', '.join(allowed)}, got {given!r:.100}")
    for word, status in given.items():
        if status not in allowed:
            raise ValueError(f"{owner} statuses= maps {word!r} to {status!r}; the statuses are {', '.join(allowed)}")


def _known(word: object, statuses: Mapping[Any, str]) -> str | None:
    # True is not 1 here, as nowhere in JSON.
    for key, status in statuses.items():
        if type(key) is type(word) and key == word:
            return status
    return None


@final
@attrs.frozen
class CallPaths:
    """Where an answer has its tool calls. Paths but the first lead on from one call.

    What is not mapped is unreported. Where `output` is mapped and a call has none, and no status either, it is pending.

    Args:
        at: The list of calls, or one call; a path as `niceeval_expect.at` takes it.
        name: The tool's name.
        input: Its arguments: JSON, or JSON text.
        output: What it returned.
        error: What went wrong; any value but null or false makes the call failed, and is its output if it has none.
        status: How it ended, in the agent's words.
        statuses: Those words, to ``"completed"``, ``"failed"``, ``"rejected"`` or ``"pending"``; others are unknown.
        id: Its id.
        server: The server that offers the tool.

    Raises:
        TypeError, ValueError: A path cannot be read, or a status is unknown.

    >>> CallPaths("steps", name="tool", input="args", output="result").name
    'tool'
    """

    at: Path = "tool_calls"
    name: Path = attrs.field(default="name", kw_only=True)
    input: Path | None = attrs.field(default="input", kw_only=True)
    output: Path | None = attrs.field(default=None, kw_only=True)
    error: Path | None = attrs.field(default=None, kw_only=True)
    status: Path | None = attrs.field(default=None, kw_only=True)
    statuses: Mapping[Word, ToolStatus] = attrs.field(
        default=cast("Mapping[Word, ToolStatus]", {status: status for status in TOOL_STATUSES}), kw_only=True
    )
    id: Path | None = attrs.field(default=None, kw_only=True)
    server: Path | None = attrs.field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if self.at is None or self.name is None:
            raise TypeError("CallPaths() at= and name= are paths, got None")
        for name in ("at", "name", "input", "output", "error", "status", "id", "server"):
            _path("CallPaths()", name, getattr(self, name))
        _words("CallPaths()", self.statuses, TOOL_STATUSES)

    def status_of(self, word: object) -> ToolStatus | None:
        """Return the status for a word of the agent; None where it is unknown."""
        return cast("ToolStatus | None", _known(word, self.statuses))


def _call_paths(given: CallPaths | Path | None) -> CallPaths | None:
    if given is None or isinstance(given, CallPaths):
        return given
    return CallPaths(given)


@final
@attrs.frozen
class ReplyPaths:
    """Where an answer has what: paths as `niceeval_expect.at` takes them, such as ``"choices[0].message.content"``.

    What is not mapped is unreported, and so is what is not there.

    Args:
        message: The text for the user, or a list of texts.
        tool_calls: The tool calls: `CallPaths`, or the path of a list of objects with `name` and `input`.
        no_calls: What an answer without tool calls at their place means: ``"unreported"``, or ``"none"`` where the
            agent leaves them out when it made none.
        data: Structured output.
        input_tokens: Tokens read.
        output_tokens: Tokens written.
        cost_usd: Cost in US dollars.
        status: How the turn ended, in the agent's words. Not mapped, a turn that was answered is completed.
        statuses: Those words, to ``"completed"``, ``"failed"`` or ``"waiting"``; others are unknown.
        session: What is kept for the session's next turn, by the name under which ``{session.NAME}`` sends it.

    Raises:
        TypeError, ValueError: A path cannot be read, or a status is unknown.

    >>> paths = ReplyPaths("answer.text", session={"id": "conversation_id"})
    >>> paths.message, paths.session
    ('answer.text', {'id': 'conversation_id'})
    """

    message: Path | None = "message"
    tool_calls: CallPaths | None = attrs.field(default=None, kw_only=True, converter=_call_paths)
    no_calls: Literal["unreported", "none"] = attrs.field(default="unreported", kw_only=True)
    data: Path | None = attrs.field(default=None, kw_only=True)
    input_tokens: Path | None = attrs.field(default=None, kw_only=True)
    output_tokens: Path | None = attrs.field(default=None, kw_only=True)
    cost_usd: Path | None = attrs.field(default=None, kw_only=True)
    status: Path | None = attrs.field(default=None, kw_only=True)
    statuses: Mapping[Word, TurnStatus] = attrs.field(
        default=cast("Mapping[Word, TurnStatus]", {status: status for status in _TURN_STATUSES}), kw_only=True
    )
    session: Mapping[str, Path] = attrs.field(factory=dict, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if self.no_calls not in ("unreported", "none"):
            raise ValueError(f"ReplyPaths() no_calls= is 'unreported' or 'none', got {self.no_calls!r:.100}")
        for name in ("message", "data", "input_tokens", "output_tokens", "cost_usd", "status"):
            _path("ReplyPaths()", name, getattr(self, name))
        if not isinstance(self.session, Mapping):
            raise TypeError(f"ReplyPaths() session= maps names to paths, got {self.session!r:.100}")
        for name, path in self.session.items():
            _path("ReplyPaths()", f"session[{name!r}]", path)
        _words("ReplyPaths()", self.statuses, _TURN_STATUSES)

    def status_of(self, word: object) -> TurnStatus | None:
        """Return the status for a word of the agent; None where it is unknown."""
        return cast("TurnStatus | None", _known(word, self.statuses))

    @classmethod
    def of(cls, given: object, owner: str) -> "ReplyPaths":
        """Return the paths for what an author gave: these, or the path of the message."""
        if isinstance(given, str | tuple):
            return cls(given)
        if not isinstance(given, cls):
            raise TypeError(
                f"{owner} reply= takes ReplyPaths, the path of the message, or a function, got {brief(given)}"
            )
        return given


@final
@attrs.frozen(kw_only=True)
class StreamPaths:
    """Where the events of a stream have pieces of an answer; whole values are read by `ReplyPaths`, from any event.

    Args:
        text: The next piece of the text.
        calls: Pieces of tool calls: the list of them, or one.
        id: From such a piece: the call's id.
        index: From such a piece: the call's number among those of the answer, where not every piece has an id.
        name: From such a piece: the tool's name, which comes once.
        arguments: From such a piece: the next piece of the arguments, JSON text.
        done: The text, or the name, of the event that ends the stream; None where its end is the end.
        done_at: Where the event that ends the stream has some value that is not null or false.
        error: Where an event says what went wrong.

    Raises:
        TypeError, ValueError: A path cannot be read.

    >>> StreamPaths(text="delta.text", done="message_stop").done
    'message_stop'
    """

    text: Path | None = "delta"
    calls: Path | None = None
    id: Path | None = "id"
    index: Path | None = "index"
    name: Path | None = "name"
    arguments: Path | None = "arguments"
    done: str | None = "[DONE]"
    done_at: Path | None = None
    error: Path | None = None

    def __attrs_post_init__(self) -> None:
        for name in ("text", "calls", "id", "index", "name", "arguments", "done_at", "error"):
            _path("StreamPaths()", name, getattr(self, name))
        if self.done is not None and (not isinstance(self.done, str) or not self.done.strip()):
            raise TypeError(f"StreamPaths() done= is the text or the name of the last event, got {self.done!r:.100}")

    @property
    def has_end(self) -> bool:
        """Whether a stream says that it is over."""
        return self.done is not None or self.done_at is not None
