"""Functions that read what an agent answered, for answers that paths cannot reach."""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from niceeval.agents.base import AgentContext
from niceeval.reply import Reply
from niceeval_expect._json import brief

__all__ = ["ReadReply", "reply_by"]

ReadReply: TypeAlias = Callable[[Any, AgentContext], Reply | str | Awaitable[Reply | str]]


async def reply_by(read: ReadReply, value: Any, ctx: AgentContext, owner: str) -> Reply:
    """Return what a function makes of an answer.

    Raises:
        TypeError: It is neither a text nor a `Reply`.
        Exception: Whatever the function raises.
    """
    made: object = read(value, ctx)
    made = await made if inspect.isawaitable(made) else made
    if isinstance(made, str):
        return Reply(made)
    if not isinstance(made, Reply):
        raise TypeError(f"{owner} reply= is a function that returns text or a Reply, and it returned {brief(made)}")
    return made
