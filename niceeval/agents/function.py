"""Functions as agents: sync or async, of one or two arguments."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, Final, final

import attrs

from niceeval.agents._threads import run_blocking
from niceeval.agents.base import Agent, AgentContext, AgentLike
from niceeval.agents.scripted import ScriptedAgent
from niceeval.reply import Reply

__all__ = ["FunctionAgent", "as_agent", "describe"]

_POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@final
@attrs.frozen
class FunctionAgent:
    """An agent made from a function, a callable object or another object's `reply`."""

    function: Callable[..., Any]
    name: str
    takes_context: bool
    is_async: bool

    async def reply(self, message: str, ctx: AgentContext, /) -> Reply:
        """Call the function: in the event loop if it is async, else in a daemon thread.

        Raises:
            TypeError: The function returned neither text nor a Reply.
        """
        args = (message, ctx) if self.takes_context else (message,)
        try:
            answer = self.function(*args) if self.is_async else await run_blocking(self.function, *args)
            if type(answer) is not Reply and type(answer) is not str and inspect.isawaitable(answer):
                answer = await answer
        except SystemExit as error:
            # An agent that gives up must not take the whole run with it.
            raise RuntimeError(f"the agent {self.name} called sys.exit({error.code!r})") from error
        if isinstance(answer, Reply):
            return answer
        if isinstance(answer, str):
            return Reply(answer)
        raise TypeError(
            f"the agent {self.name} returned {_a(answer)}: return text or a niceeval.Reply(message, data=..., "
            "tool_calls=[...])"
        )


def as_agent(obj: AgentLike, /) -> Agent:
    """Make an agent of a function, a callable object or an object with a method `reply`.

    A function takes the message, or the message and the `AgentContext`. A second argument with a default is given
    the context only if it is called ``ctx`` or ``context`` or annotated with `AgentContext`. A blocking function
    runs in a daemon thread of its own, with the caller's context variables.

    Args:
        obj: What to make an agent of.

    Returns:
        An agent; one that is an agent of NiceEval already is returned as it is.

    Raises:
        TypeError: It cannot be called with a message; the sentence says what it is and what to do.

    >>> import anyio
    >>> agent = as_agent(lambda message: message.upper())
    >>> anyio.run(agent.reply, "hello", AgentContext()).message
    'HELLO'
    """
    if isinstance(obj, FunctionAgent | ScriptedAgent):
        return obj
    _refuse_non_agent(obj)
    reply = getattr(obj, "reply", None)
    if callable(reply):
        name = f"{describe(obj)}.reply"
        return FunctionAgent(reply, name, _takes_context(reply, name), _is_async(reply))
    if not callable(obj):
        raise TypeError(
            f"{_a(obj)} is not an agent: give a function of (message) or (message, ctx), or an object with an async "
            "method reply(message, ctx)"
        )
    name = describe(obj)
    return FunctionAgent(obj, name, _takes_context(obj, name), _is_async(obj))


def describe(obj: object) -> str:
    """Return the name by which a person knows a function or an object.

    >>> describe(as_agent)
    'niceeval.agents.function.as_agent'
    """
    while isinstance(obj, partial):
        obj = obj.func
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    name = str(getattr(named, "__qualname__", named))
    module = getattr(named, "__module__", None)
    return f"{module}.{name}" if module and module not in ("__main__", "builtins") else name


def _refuse_non_agent(obj: object) -> None:
    if obj is None:
        raise TypeError("None is not an agent: did the function that makes it forget to return it?")
    if isinstance(obj, str):
        raise TypeError(f"the text {obj!r} is not an agent: resolve_agent({obj!r}) finds what it names")
    if isinstance(obj, type):
        raise TypeError(f"{describe(obj)} is a class, not an agent: pass an instance, {obj.__name__}(...)")
    if inspect.iscoroutine(obj):
        obj.close()
        raise TypeError(f"the coroutine of {obj.__qualname__}() is not an agent: pass the function, without calling it")
    if isinstance(obj, Reply):
        raise TypeError("a Reply is not an agent: ScriptedAgent([reply]) gives fixed replies")
    if inspect.isasyncgenfunction(obj) or inspect.isgeneratorfunction(obj):
        raise TypeError(f"{describe(obj)} is a generator function: collect what it yields and return it in one piece")


def _is_async(function: Callable[..., Any]) -> bool:
    if inspect.iscoroutinefunction(function):
        return True
    while isinstance(function, partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _takes_context(function: Callable[..., Any], name: str) -> bool:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise TypeError(
            f"{name} does not say what arguments it takes: wrap it, lambda message: {name}(message)"
        ) from None
    empty = inspect.Parameter.empty
    positional = [parameter for parameter in parameters if parameter.kind in _POSITIONAL]
    takes_any = any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in parameters)
    required = sum(parameter.default is empty for parameter in positional)
    keywords = [
        parameter.name
        for parameter in parameters
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and parameter.default is empty
    ]
    if keywords or required > 2 or (not positional and not takes_any):
        raise TypeError(
            f"{name}{inspect.signature(function)} is not an agent: it takes (message) or (message, ctx), "
            "nothing else without a default"
        )
    if required == 2 or (takes_any and len(positional) < 2):
        return True
    return len(positional) > 1 and _means_context(positional[1])


def _means_context(parameter: inspect.Parameter) -> bool:
    if parameter.name in ("ctx", "context"):
        return True
    annotation = parameter.annotation
    return annotation is AgentContext or (isinstance(annotation, str) and "AgentContext" in annotation)


def _a(value: object) -> str:
    kind = type(value).__name__
    return "None" if value is None else f"{'an' if kind[0].lower() in 'aeiou' else 'a'} {kind}"
