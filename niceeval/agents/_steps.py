"""The steps of a recorded conversation, which every format comes to."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final, TypeAlias, final

import attrs

from niceeval.agents.mcp_names import ToolNames
from niceeval.events import Event, Message
from niceeval.reply import TurnStatus, Usage
from niceeval.tool_call import NOT_GIVEN, ToolCall, ToolStatus
from niceeval.transcript import TurnEvidence

__all__ = [
    "WITHOUT_ID",
    "Asked",
    "Called",
    "Ended",
    "Happened",
    "Knowledge",
    "Noted",
    "Returned",
    "Said",
    "Step",
    "ToolStatusOf",
    "TurnStatusOf",
]

WITHOUT_ID: Final = ("id", None)
"""The key of a call without an id, and of a result that names none."""

ToolStatusOf: TypeAlias = Callable[[ToolCall], ToolStatus | None]
TurnStatusOf: TypeAlias = Callable[[TurnEvidence], TurnStatus | None]


@final
@attrs.frozen
class Knowledge:
    """What its user knows beyond the format.

    Attributes:
        tool_status: Says what the status of a call is that has its result and no status.
        turn_status: Says how a turn ended of which the format does not say.
        tool_names: The tools that the reported names stand for.
    """

    tool_status: ToolStatusOf | None = None
    turn_status: TurnStatusOf | None = None
    tool_names: ToolNames | None = None


@final
@attrs.frozen(kw_only=True)
class Called:
    """A tool call as the agent asked for it.

    Attributes:
        name: The reported name.
        input: The arguments, or `Absent` where they cannot be read.
        raw: The text of arguments that cannot be read.
        id: The provider's id.
        key: What its result names it by.
        server: The server, where that is reported.
        status: Its status, where it is reported with the call.
        output: Its result, where that stands with the call.
    """

    name: str
    input: Any
    raw: str | None = None
    id: str | None = None
    key: Hashable = WITHOUT_ID
    server: str | None = None
    status: ToolStatus | None = None
    output: Any = NOT_GIVEN

    @property
    def is_open(self) -> bool:
        """Whether its result is still to come."""
        return self.output is NOT_GIVEN and self.status in (None, "pending")


@final
@attrs.frozen(kw_only=True)
class Returned:
    """The result of a tool call.

    Attributes:
        key: What names the call.
        output: What came back; left out where nothing did, as for a call that was rejected.
        status: How the call ended, where that is reported.
        place: Where it stands, such as ``message 3``.
        name: The name of the tool, where that is reported.
    """

    key: Hashable
    output: Any = NOT_GIVEN
    status: ToolStatus | None = None
    place: str
    name: str | None = None


@final
@attrs.frozen
class Asked:
    """The user said something: a turn begins."""

    text: str
    notes: Sequence[tuple[str, str]] = ()


@final
@attrs.frozen(kw_only=True)
class Said:
    """One message of the agent.

    Attributes:
        parts: Texts, thoughts, calls and other events, in order.
        place: Where it stands, such as ``message 3``; None where texts need no second look.
        usage: What it used, as far as it says.
        status: How the turn ended with it, where it says; it counts where the turn does not go on.
        why: What ended it too early.
        notes: What of it was not read, by channel.
    """

    parts: Sequence["Called | Event"]
    place: str | None = None
    usage: Usage | None = None
    status: TurnStatus | None = None
    why: str | None = None
    notes: Sequence[tuple[str, str]] = ()

    @property
    def calls(self) -> list[Called]:
        """The calls in it."""
        return [part for part in self.parts if isinstance(part, Called)]

    @property
    def texts(self) -> list[str]:
        """The texts in it."""
        return [part.text for part in self.parts if isinstance(part, Message)]


@final
@attrs.frozen
class Noted:
    """Something that could not be read: a channel, and a sentence."""

    channel: str
    note: str


@final
@attrs.frozen
class Happened:
    """Something else that happened."""

    event: Event


@final
@attrs.frozen
class Ended:
    """The turn ended like this."""

    status: TurnStatus


Step: TypeAlias = Asked | Said | Returned | Noted | Happened | Ended
