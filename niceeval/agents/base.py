"""The one-method port through which NiceEval talks to any agent."""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from threading import Lock
from typing import Any, Final, Protocol, TypeAlias, final

import attrs

from niceeval.events import EVENT_TYPES, Event
from niceeval.reply import Reply
from niceeval.tool_call import ToolCall

__all__ = ["Agent", "AgentContext", "AgentLike"]

# One for all contexts: it is held for less time than it takes to make one for each.
_emitting: Final = Lock()


@final
@attrs.define(kw_only=True, eq=False)
class AgentContext:
    """What an agent sees besides the message.

    Args:
        session: Whatever the agent keeps between the turns of one session; it starts empty.
        model: The model that the experiment asks for, if it asks for one.
        flags: The experiment's settings.
        output_schema: The JSON Schema of the output that this turn asks for, if it does.
        attempt: Which attempt of the case this is, from 1.

    >>> ctx = AgentContext(attempt=2)
    >>> ctx.session["seen"] = 1
    >>> ctx.for_turn({"type": "object"}).session
    {'seen': 1}
    """

    session: MutableMapping[str, Any] = attrs.Factory(dict)
    model: str | None = None
    flags: Mapping[str, Any] = attrs.Factory(dict)
    output_schema: Mapping[str, Any] | None = None
    attempt: int = 1
    _emitted: list[ToolCall | Event] = attrs.field(factory=list, init=False, repr=False)

    def emit(self, *items: ToolCall | Event) -> None:
        """Report tool calls and events as they happen, so that they are kept if the turn never replies.

        A call may be reported when it starts and again when it has a result. May be called from any thread.

        Args:
            items: Tool calls and events, in order.

        Raises:
            TypeError: An item is neither.

        >>> ctx = AgentContext()
        >>> ctx.emit(ToolCall("search", {"q": "cats"}))
        >>> [call.name for call in ctx.take_emitted()]
        ['search']
        """
        for item in items:
            if not isinstance(item, ToolCall) and not isinstance(item, EVENT_TYPES):
                raise TypeError(f"emit() takes ToolCalls and events such as Thinking, got {type(item).__name__}")
        with _emitting:
            self._emitted.extend(items)

    def take_emitted(self) -> tuple[ToolCall | Event, ...]:
        """Return what was reported since the last time, and forget it."""
        if not self._emitted:
            return ()
        with _emitting:
            items = tuple(self._emitted)
            self._emitted.clear()
        return items

    def for_turn(self, output_schema: Mapping[str, Any] | None = None) -> "AgentContext":
        """Return a context for one turn of the same session.

        What an agent that was given up reports later lands in its own turn's context, not in the next turn's.
        """
        return AgentContext(
            session=self.session,
            model=self.model,
            flags=self.flags,
            output_schema=output_schema,
            attempt=self.attempt,
        )


class Agent(Protocol):
    """Anything with a method `reply`; functions are made into agents by `as_agent`."""

    async def reply(self, message: str, ctx: AgentContext, /) -> Reply | str:
        """Answer one message.

        Raises:
            AgentUnavailable: The agent could not be reached; the attempt is errored.
            Exception: The agent broke; the attempt is failed unless the eval catches `AgentFailed`.
        """
        ...


AgentLike: TypeAlias = (
    Agent
    | Callable[[str], str | Reply | Awaitable[str | Reply]]
    | Callable[[str, AgentContext], str | Reply | Awaitable[str | Reply]]
)
