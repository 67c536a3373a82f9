"""Blocking calls beside the event loop, in threads that may be left behind."""

import inspect
from collections.abc import Callable
from contextvars import copy_context
from threading import Thread
from typing import Any, final

import anyio
from anyio import from_thread
from anyio.lowlevel import EventLoopToken, current_token

__all__ = ["run_blocking"]


async def run_blocking(function: Callable[..., Any], *args: Any) -> Any:
    """Call a blocking function in a daemon thread, with the caller's context variables, and return what it returns.

    A cancelled wait ends at once: the thread is left behind, what it returns or raises later is dropped, and a
    process that exits does not wait for it.

    Args:
        function: What to call.
        args: Its positional arguments.

    Raises:
        Exception: Whatever the function raises, with its own traceback.
    """
    call = _Call(function, args, current_token())
    Thread(target=copy_context().run, args=(call.run,), name="niceeval-agent", daemon=True).start()
    try:
        await call.done.wait()
    except BaseException:
        call.abandon()
        raise
    return call.outcome()


@final
class _Call:
    """One call in flight. The waiter's side runs in the event loop, and so does the delivery: they need no lock."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], token: EventLoopToken) -> None:
        self.done = anyio.Event()
        self._function = function
        self._args = args
        self._token = token
        self._abandoned = False
        self._result: Any = None
        self._error: BaseException | None = None

    def run(self) -> None:
        """Call the function and hand over what came of it. Runs in the thread."""
        result, error = None, None
        try:
            result = self._function(*self._args)
        except BaseException as raised:  # also SystemExit: the waiter must hear of it
            error = raised
        try:
            if self._abandoned:
                _drop(result)
            else:
                from_thread.run_sync(self._deliver, result, error, token=self._token)
        except RuntimeError:
            # The event loop has ended, so nobody waits any more.
            _drop(result)
        finally:
            del result, error

    def _deliver(self, result: Any, error: BaseException | None) -> None:
        if self._abandoned:
            _drop(result)
            return
        self._result, self._error = result, error
        self.done.set()

    def abandon(self) -> None:
        """Give the call up; a result that is there already is dropped."""
        self._abandoned = True
        _drop(self._result)
        self._result = self._error = None

    def outcome(self) -> Any:
        """Return the result or raise the error."""
        error, result = self._error, self._result
        self._error = self._result = None
        if error is None:
            return result
        try:
            raise error
        finally:
            del error, self


def _drop(result: object) -> None:
    # A coroutine that nobody awaits would warn when it is collected.
    if inspect.iscoroutine(result):
        result.close()
