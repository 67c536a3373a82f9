"""What the wrappers of frameworks share: where they run, what belongs to a session, and what the user may approve."""

import asyncio
import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from pydantic_core import PydanticSerializationError, to_jsonable_python

from niceeval.agents._arguments import parse_arguments
from niceeval.agents.base import AgentContext
from niceeval.errors import AgentUnavailable
from niceeval.events import InputRequested
from niceeval.tool_call import NOT_GIVEN, ToolCall
from niceeval_expect._evaluation import Absent

__all__ = ["Approve", "as_json", "check_factory", "made_call", "need_asyncio", "of_session", "says_yes", "waits_for"]

Approve: TypeAlias = Callable[[str, ToolCall], bool]

_YES: Final = frozenset({"yes", "y", "ok", "okay", "approve", "approved", "allow", "go ahead", "true"})
_NO: Final = frozenset({"no", "n", "reject", "rejected", "deny", "denied", "refuse", "stop", "false"})
_SHOWN: Final = 500


def need_asyncio(framework: str) -> None:
    """Refuse to run a framework that knows only asyncio on another event loop, before anything is sent.

    Raises:
        AgentUnavailable: The event loop is not asyncio's.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise AgentUnavailable(f"{framework} runs on asyncio: use --backend asyncio", retryable=False) from None


def check_factory(owner: str, name: str, value: object) -> None:
    """Refuse what is neither None nor callable.

    Raises:
        TypeError: It is something else.
    """
    if value is not None and not callable(value):
        raise TypeError(f"{owner}() {name}= takes a function of the AgentContext, got {type(value).__name__}")


async def of_session(ctx: AgentContext, key: str, make: Callable[[AgentContext], Any] | None, otherwise: Any) -> Any:
    """Return what `make` gives for this session, made once for it, or `otherwise` where there is no `make`."""
    if make is None:
        return otherwise
    if key not in ctx.session:
        made = make(ctx)
        ctx.session[key] = await made if inspect.isawaitable(made) else made
    return ctx.session[key]


def made_call(name: str, arguments: object, *, id: str | None, server: str | None = None) -> ToolCall:
    """Return a call that has no result yet, with arguments as a framework carries them: text, a mapping or None."""
    given = parse_arguments({} if arguments is None else arguments)
    if isinstance(given, Absent) and isinstance(arguments, str):
        return ToolCall.unreadable(name, arguments, given.reason, id=id, server=server)
    return ToolCall(name, given, id=id, server=server)


def as_json(output: Any) -> Any:
    """Return structured output as JSON has it, or as it is where it cannot be written so; text alone is no data."""
    if output is NOT_GIVEN or output is None or isinstance(output, str):
        return NOT_GIVEN
    try:
        return to_jsonable_python(output)
    except PydanticSerializationError:
        return output


def says_yes(message: str, call: ToolCall) -> bool:
    """Whether the user's message approves of a call that waits for it.

    Raises:
        AgentUnavailable: It is neither a plain yes nor a plain no.

    >>> says_yes("Yes.", ToolCall("cancel_order"))
    True
    """
    said = message.strip().rstrip(".!").casefold()
    if said in _YES or said in _NO:
        return said in _YES
    raise AgentUnavailable(
        f"the agent waits for an approval of {call.name}, and {message!r:.100} is neither yes nor no: "
        "send one of them, or give the agent approve=",
        retryable=False,
    )


def waits_for(what: str, call: ToolCall) -> InputRequested:
    """Return the event of an agent that waits for something about a call.

    >>> waits_for("approval", ToolCall("cancel_order", {"id": "ORD-1"})).text
    'approval of cancel_order({"id": "ORD-1"})'
    """
    given = call.raw_input if call.raw_input is not None else _json(call.input)
    text = f"{what} of {call.name}({given})"
    return InputRequested(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")


def _json(value: object) -> str:
    if isinstance(value, Mapping) and not value:
        return ""
    return json.dumps(value, ensure_ascii=False, default=str)
