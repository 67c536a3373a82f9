"""An agent with fixed replies: the test double of this library, public for yours."""

import copy
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from itertools import count
from typing import Final, final

from niceeval.agents.base import AgentContext
from niceeval.reply import Reply

__all__ = ["ScriptedAgent"]

_numbers: Final = count(1)


@final
class ScriptedAgent:
    """Give fixed replies: in order, starting over in each session, or by the exact message.

    Args:
        replies: Replies in order, where an exception is raised instead; or a mapping from message to reply.

    Raises:
        TypeError: It is neither a sequence nor a mapping, or an item is not text, a Reply or an exception.
        ValueError: There is no reply in it.

    >>> import anyio
    >>> agent = ScriptedAgent(["Which order?", Reply("It is on its way.", tool_calls=[])])
    >>> ctx = AgentContext()
    >>> [anyio.run(agent.reply, message, ctx).message for message in ("Where is it?", "ORD-448192")]
    ['Which order?', 'It is on its way.']
    """

    __slots__ = ("_by_message", "_in_order", "_place")

    def __init__(self, replies: Sequence[str | Reply | Exception] | Mapping[str, str | Reply], /) -> None:
        self._by_message: dict[str, Reply | Exception] = {}
        self._in_order: tuple[Reply | Exception, ...] = ()
        self._place = f"niceeval.scripted.{next(_numbers)}"
        if isinstance(replies, Mapping):
            self._by_message = {_message(key): _reply(item, repr(key)) for key, item in replies.items()}
        elif isinstance(replies, Sequence) and not isinstance(replies, str | bytes):
            self._in_order = tuple(_reply(item, str(index)) for index, item in enumerate(replies))
        else:
            raise TypeError(
                f"ScriptedAgent() takes a list of replies or a mapping from message to reply, "
                f"got {type(replies).__name__}: for one reply write ScriptedAgent([reply])"
            )
        if not replies:
            raise ValueError("ScriptedAgent() got no reply: give at least one")

    async def reply(self, message: str, ctx: AgentContext, /) -> Reply:
        """Return the next reply of this session, or the reply to this message.

        Raises:
            LookupError: There is no reply left, or none for this message.
            Exception: The exception that stands in this place.
        """
        reply = self._lookup(message) if self._by_message else self._next(message, ctx)
        if isinstance(reply, Exception):
            raise _fresh(reply)
        return reply

    def _next(self, message: str, ctx: AgentContext) -> Reply | Exception:
        index: int = ctx.session.get(self._place, 0)
        if index >= len(self._in_order):
            have = "1 reply" if len(self._in_order) == 1 else f"{len(self._in_order)} replies"
            raise LookupError(
                f"ScriptedAgent has {have} and was sent message {index + 1} of this session, {_short(message)}: "
                "give it another reply, or start a new session"
            )
        ctx.session[self._place] = index + 1
        return self._in_order[index]

    def _lookup(self, message: str) -> Reply | Exception:
        reply = self._by_message.get(message)
        if reply is None:
            near = get_close_matches(message, self._by_message, n=1)
            hint = f"did you mean {_short(near[0])}?" if near else f"it knows {len(self._by_message)} messages"
            raise LookupError(f"ScriptedAgent has no reply to {_short(message)}: {hint}")
        return reply

    def __repr__(self) -> str:
        """Say how many replies there are."""
        return f"<ScriptedAgent with {len(self._in_order) or len(self._by_message)} replies>"


def _message(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"ScriptedAgent() maps messages, which are text; got the key {key!r}")
    return key


def _reply(item: object, place: str) -> Reply | Exception:
    if isinstance(item, str):
        return Reply(item)
    if isinstance(item, Reply | Exception):
        return item
    hint = f": write {item.__name__}(...)" if isinstance(item, type) and issubclass(item, Exception) else ""
    raise TypeError(f"ScriptedAgent() reply {place} is text, a Reply or an exception, got {item!r}{hint}")


def _fresh(error: Exception) -> Exception:
    """Return a copy: attempts that run at the same time must not share one traceback."""
    try:
        fresh = copy.copy(error)
    except Exception:
        return error.with_traceback(None)
    if type(fresh) is not type(error):
        return error.with_traceback(None)
    fresh.__cause__ = error.__cause__
    return fresh


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:79] + "…")
