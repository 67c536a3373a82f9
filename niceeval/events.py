"""What happened in a turn, one frozen class per kind.

Every event answers `kind`, `role`, `text` and `call`, None where that means nothing for its kind, so that a reader
needs no case distinction.
"""

from typing import ClassVar, Final, Literal, TypeAlias, final

import attrs

from niceeval.tool_call import ToolCall

__all__ = [
    "EVENT_TYPES",
    "ContextCompacted",
    "ErrorEvent",
    "Event",
    "InputRequested",
    "Message",
    "SkillLoaded",
    "Thinking",
    "ToolCallFinished",
    "ToolCallStarted",
]


def _need_text(event: str, field: str, value: object) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{event}() {field} is text, got {type(value).__name__}")


def _need_call(event: str, value: object) -> None:
    if not isinstance(value, ToolCall):
        raise TypeError(f"{event}() takes a ToolCall, got {type(value).__name__}")


@final
@attrs.frozen
class Message:
    """The user or the assistant said something.

    >>> Message("assistant", "Hello").kind
    'message'
    """

    kind: ClassVar[Literal["message"]] = "message"
    call: ClassVar[None] = None
    role: Literal["user", "assistant"]
    text: str

    def __attrs_post_init__(self) -> None:
        if self.role not in ("user", "assistant"):
            raise ValueError(f"Message() role is 'user' or 'assistant', got {self.role!r}")
        _need_text("Message", "text", self.text)


@final
@attrs.frozen
class ToolCallStarted:
    """The agent called a tool.

    >>> ToolCallStarted(ToolCall("search")).call.name
    'search'
    """

    kind: ClassVar[Literal["tool_call_started"]] = "tool_call_started"
    role: ClassVar[None] = None
    text: ClassVar[None] = None
    call: ToolCall

    def __attrs_post_init__(self) -> None:
        _need_call("ToolCallStarted", self.call)


@final
@attrs.frozen
class ToolCallFinished:
    """A tool call got its result, whatever it is.

    >>> ToolCallFinished(ToolCall("search", {"q": "cats"}, [])).call.output
    []
    """

    kind: ClassVar[Literal["tool_call_finished"]] = "tool_call_finished"
    role: ClassVar[None] = None
    text: ClassVar[None] = None
    call: ToolCall

    def __attrs_post_init__(self) -> None:
        _need_call("ToolCallFinished", self.call)


@final
@attrs.frozen
class Thinking:
    """The agent reasoned where the user does not see it.

    >>> Thinking("The order number is missing.").kind
    'thinking'
    """

    kind: ClassVar[Literal["thinking"]] = "thinking"
    role: ClassVar[None] = None
    call: ClassVar[None] = None
    text: str

    def __attrs_post_init__(self) -> None:
        _need_text("Thinking", "text", self.text)


@final
@attrs.frozen
class InputRequested:
    """The agent waits for an answer or an approval.

    >>> InputRequested("May I delete user 7?").kind
    'input_requested'
    """

    kind: ClassVar[Literal["input_requested"]] = "input_requested"
    role: ClassVar[None] = None
    call: ClassVar[None] = None
    text: str

    def __attrs_post_init__(self) -> None:
        _need_text("InputRequested", "text", self.text)


@final
@attrs.frozen
class SkillLoaded:
    """The agent loaded a skill; `text` is its name.

    >>> SkillLoaded("invoices").text
    'invoices'
    """

    kind: ClassVar[Literal["skill_loaded"]] = "skill_loaded"
    role: ClassVar[None] = None
    call: ClassVar[None] = None
    name: str

    def __attrs_post_init__(self) -> None:
        _need_text("SkillLoaded", "name", self.name)

    @property
    def text(self) -> str:
        """The skill's name."""
        return self.name


@final
@attrs.frozen
class ContextCompacted:
    """The agent shortened what it remembers of the conversation.

    >>> ContextCompacted().kind
    'context_compacted'
    """

    kind: ClassVar[Literal["context_compacted"]] = "context_compacted"
    role: ClassVar[None] = None
    text: ClassVar[None] = None
    call: ClassVar[None] = None


@final
@attrs.frozen
class ErrorEvent:
    """Something went wrong inside the agent, whether or not the turn completed; `text` is the message.

    >>> ErrorEvent("search backend timed out").text
    'search backend timed out'
    """

    kind: ClassVar[Literal["error"]] = "error"
    role: ClassVar[None] = None
    call: ClassVar[None] = None
    message: str

    def __attrs_post_init__(self) -> None:
        _need_text("ErrorEvent", "message", self.message)

    @property
    def text(self) -> str:
        """The error's message."""
        return self.message


Event: TypeAlias = (
    Message
    | ToolCallStarted
    | ToolCallFinished
    | Thinking
    | InputRequested
    | SkillLoaded
    | ContextCompacted
    | ErrorEvent
)
EVENT_TYPES: Final = (
    Message,
    ToolCallStarted,
    ToolCallFinished,
    Thinking,
    InputRequested,
    SkillLoaded,
    ContextCompacted,
    ErrorEvent,
)
