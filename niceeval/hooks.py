"""Setup and teardown: functions that the author wants called around evals and experiments, and how they are called."""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Final, final

import anyio
import attrs

from niceeval.agents._threads import run_blocking
from niceeval.errors import told
from niceeval.signals import SkipSignal, StopSignal, asyncio_task, closes, leaves

__all__ = ["TEARDOWN_LIMIT", "Problem", "call_hook", "require_hook", "torn_down"]

TEARDOWN_LIMIT: Final = 10.0
"""Seconds that a teardown may take, whatever else is going on."""
_POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@final
@attrs.frozen
class Problem:
    """What went wrong in a teardown: a sentence without its subject, and the exception behind it."""

    text: str
    error: BaseException | None = None


def require_hook(name: str, hook: object, arguments: tuple[str, ...], *, least: int) -> None:
    """Refuse, with a sentence, what cannot be called with the first of these arguments.

    Args:
        name: How the author gave it, such as ``setup=``.
        hook: What was given.
        arguments: The names of what it is called with.
        least: How many of them it must take.

    Raises:
        TypeError: It cannot be called so.

    >>> require_hook("setup=", lambda t: None, ("t", "case"), least=1)
    """
    if inspect.iscoroutine(hook):
        hook.close()
        raise TypeError(f"{name} got a coroutine; give the function itself, without calling it")
    if not callable(hook):
        raise TypeError(f"{name} is a function, got {hook!r:.100}")
    if inspect.isgeneratorfunction(hook) or inspect.isasyncgenfunction(hook):
        raise TypeError(f"{name} got a generator function; give setup= and teardown= as two functions without yield")
    wanted = _wanted(hook)
    if wanted is not None and not least <= wanted <= len(arguments):
        choices = " or ".join(f"({', '.join(arguments[:count])})" for count in range(least, len(arguments) + 1))
        raise TypeError(f"{name} is called with {choices}, got a function of {inspect.signature(hook)}")


async def call_hook(hook: Callable[..., Any], *arguments: object, returned: Callable[[], object] | None = None) -> None:
    """Call a hook with as many of the arguments as it asks for: in the event loop if it is async, else in a thread.

    Args:
        hook: The hook.
        arguments: What it may ask for.
        returned: Called in the thread of a blocking hook when that has ended, which a busy event loop hears of late.

    Raises:
        Exception: Whatever it raises.
    """
    wanted = _wanted(hook)
    given = arguments if wanted is None else arguments[:wanted]
    inner = hook if inspect.isroutine(hook) or inspect.isclass(hook) else getattr(hook, "func", type(hook).__call__)
    is_async = inspect.iscoroutinefunction(inner)
    answer = hook(*given) if is_async else await run_blocking(_telling(hook, returned), *given)
    if inspect.isawaitable(answer):
        await answer


def _telling(hook: Callable[..., Any], returned: Callable[[], object] | None) -> Callable[..., Any]:
    """Return a blocking hook that says when it has ended, unless what it returned goes on."""
    if returned is None:
        return hook

    def call(*given: object) -> Any:
        answer = None
        try:
            answer = hook(*given)
        finally:
            if not inspect.isawaitable(answer):
                returned()
        return answer

    return call


def _wanted(hook: Callable[..., Any]) -> int | None:
    """How many arguments it asks for; None where nobody knows."""
    try:
        parameters = inspect.signature(hook).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in parameters):
        return None
    required = [parameter for parameter in parameters if parameter.default is inspect.Parameter.empty]
    return sum(parameter.kind in _POSITIONAL for parameter in required)


async def torn_down(work: Callable[[], Awaitable[None]]) -> Problem | None:
    """Run a teardown to its end, shielded from cancellation, for at most `TEARDOWN_LIMIT` seconds.

    A stop or skip signal in it is its end and no problem: what comes after a stop is refused with the same signal.

    Returns:
        What went wrong, if something did.
    """
    task = asyncio_task()
    try:
        with anyio.move_on_after(TEARDOWN_LIMIT, shield=True) as scope:
            await work()
    except BaseException as error:
        parts = list(leaves(error))
        if any(isinstance(part, KeyboardInterrupt) for part in parts) or closes(error, task):
            raise
        if all(isinstance(part, StopSignal | SkipSignal) for part in parts):
            return None
        return Problem(f"raised {told(error)}", error)
    return Problem(f"did not end within {TEARDOWN_LIMIT:g} s") if scope.cancelled_caught else None
