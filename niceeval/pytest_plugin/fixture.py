"""The fixture `t`: one attempt around the function of an ordinary test."""

import functools
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import partial
from types import MethodType
from typing import Any, Final, final

import anyio
import pytest

from niceeval.agents.function import as_agent
from niceeval.agents.resolve import resolve_agent
from niceeval.attempt_state import AttemptState
from niceeval.attempts import INTERRUPTED, NORMAL, Ending, ending_of, overdue, run_body
from niceeval.closing import close_attempt
from niceeval.context import EvalContext
from niceeval.errors import told
from niceeval.judge.desks import Desks, Warns
from niceeval.plans import AttemptRef
from niceeval.pytest_plugin.outcomes import ATTEMPT, conclude
from niceeval.pytest_plugin.planned import PLANNED
from niceeval.pytest_plugin.recording import recording_of
from niceeval.pytest_plugin.running import in_loop
from niceeval.pytest_plugin.settings import settings_of
from niceeval.pytest_plugin.tests import marked, named_experiment
from niceeval.record.run import RunResult
from niceeval.record.write import MemoryWriter
from niceeval.redaction import growing_redactor
from niceeval.results import AttemptResult
from niceeval.retries import Backoff
from niceeval.runner import attempt_id, close_and_append
from niceeval.signals import SkipSignal, StopSignal, leaves

__all__ = ["attempt_of", "opened", "usual_agent", "without_signals"]


class StoppedInFixture(Exception):
    """A fixture was stopped by a check, or has skipped the test."""


def usual_agent(request: pytest.FixtureRequest) -> Any:
    """Return the agent that a test gets where no fixture of its own gives one; None where none is named.

    Raises:
        pytest.UsageError: Several agents are named, and the test does not say which.
        AgentReferenceError: A name leads nowhere.
    """
    settings = settings_of(request.config)
    agent = marked(request.node).agent if isinstance(request.node, pytest.Item) else None
    if agent is None and len(settings.experiments) > 1:
        names = ", ".join(each.name for each in settings.experiments)
        raise pytest.UsageError(
            f"several agents are named ({names}) and a test with `t` talks to one: choose with "
            "@pytest.mark.niceeval(agent=...) or a fixture niceeval_agent"
        )
    if agent is None and settings.experiments:
        agent = settings.experiments[0].agent
    return resolve_agent(agent) if isinstance(agent, str) else agent


@contextmanager
def opened(request: pytest.FixtureRequest, agent: Any) -> Iterator[EvalContext]:
    """Open the attempt of a test, and let the test's function close it."""
    item: pytest.Function = request.node
    if PLANNED not in item.stash:
        raise pytest.UsageError("`t` is opened in time only as an argument: name it among those of the test or fixture")
    attempt = _Opened(item, agent)
    item.stash[_opened] = attempt
    function = item.obj
    item.obj = attempt.wrapped(function)
    try:
        yield attempt.context
    finally:
        item.obj = function
        del item.stash[_opened]
        if attempt.result is None:
            # Another fixture broke before the test was called.
            attempt.finish(Ending(error="the test did not run: its setup did not come to an end"))


@final
class _Opened:
    """The attempt of one test."""

    def __init__(self, item: pytest.Function, agent: Any) -> None:
        asked, settings, experiment = marked(item), settings_of(item.config), named_experiment(item)
        agent = asked.agent if asked.agent is not None else agent
        agent = resolve_agent(agent) if isinstance(agent, str) else agent
        self.result: AttemptResult | None = None
        self.arguments = [name for name in inspect.signature(item.obj).parameters if name in item.fixturenames]
        self._item: Final = item
        self._ref: AttemptRef = item.stash[PLANNED].ref
        self._memory = MemoryWriter()
        self._timeout = asked.timeout or settings.timeout
        self._ending = NORMAL
        self._state = AttemptState(
            agent=None if agent is None else as_agent(agent),
            style=asked.style,
            attempt_id=attempt_id(self._memory.id, self._ref),
            model=None if experiment is None else experiment.model,
            flags=None if experiment is None else experiment.flags,
            timeout=self._timeout,
        )
        self._state.log.redactor = growing_redactor(settings.secrets)
        self._judges = Desks(settings.judge, None, Backoff(), Warns())
        self._judge = None if experiment is None else experiment.judge
        self.context: Final = EvalContext(self._state)

    def wrapped(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the test's function with the attempt around it: what it raises is for pytest to see, and no signal."""
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def call_async(*args: Any, **kwargs: Any) -> None:
                __tracebackhide__ = True
                await self._run(lambda: function(*args, **kwargs))
                self._raise()

            return call_async

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> None:
            __tracebackhide__ = True
            self._call(lambda: function(*args, **kwargs))
            self._raise()

        return call

    async def _run(self, body: Callable[[], Awaitable[None]]) -> None:
        """Run an asynchronous test and close the attempt, however it ends."""
        __tracebackhide__ = True
        escaped: BaseException | None = None
        async with anyio.create_task_group() as checks:

            def spawn(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
                checks.start_soon(work)

            self._state.log.spawn, self._state.log.judge = spawn, self._judges.of(self._judge)
            try:
                self._end(await run_body(self._state, partial(_told_of_skip, self._state, body), self._timeout))
            except BaseException as error:
                # The task group would put it into a group of exceptions, which pytest would not take for Ctrl-C.
                escaped = error
                self._end(INTERRUPTED)
        await self._judges.aclose()
        await close_attempt(self._state)
        if escaped is not None:
            raise escaped

    def _call(self, body: Callable[[], None]) -> None:
        """Run a test without an event loop and close the attempt, however it ends."""
        __tracebackhide__ = True
        ending = NORMAL
        try:
            body()
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            self._end(INTERRUPTED)
            raise
        except BaseException as error:
            ending = self._meaning(error)
        self._end(overdue(self._state, ending, self._timeout, late=False))

    def _meaning(self, error: BaseException) -> Ending:
        """Return what an exception means that left code outside an event loop."""
        found: list[Ending] = []

        async def look() -> None:
            found.append(ending_of(error))

        if isinstance(error, pytest.skip.Exception):
            self._state.skip(str(error))
        in_loop(self._item.config, look)
        return found[0]

    def _end(self, ending: Ending) -> None:
        if isinstance(ending.exception, pytest.skip.Exception):
            ending = NORMAL
        self._ending = ending
        self.finish(ending)

    def finish(self, ending: Ending) -> None:
        """Close the attempt and record it.

        Raises:
            RecordError: It cannot be written.
        """
        if self.result is None:
            close_and_append(self._memory, self._state, ending, self._ref)
            [self.result] = RunResult.from_writer(self._memory).attempts
            recording_of(self._item.config).add(self._memory)

    def _raise(self) -> None:
        """Raise what the attempt means, or the test's own exception, which pytest reports best."""
        __tracebackhide__ = True
        assert self.result is not None
        ending = self._ending
        own = ending.exception is not None and ending.error == told(ending.exception)
        if own:
            self._item.stash[ATTEMPT] = self.result
            raise ending.whole or ending.exception or AssertionError
        conclude(self._item, self.result)

    def ended_in_setup(self, error: BaseException) -> None:
        """Close the attempt because a fixture that came after it broke, and raise what it means."""
        __tracebackhide__ = True
        if self.result is not None or isinstance(error, KeyboardInterrupt):
            return
        if not isinstance(error, StoppedInFixture):
            self._end(self._meaning(error))
        else:
            self._end(NORMAL)
            self._raise()


async def _told_of_skip(state: AttemptState, body: Callable[[], Awaitable[None]]) -> None:
    try:
        await body()
    except pytest.skip.Exception as skipped:
        state.skip(str(skipped))
        raise


def _is_signal(error: BaseException) -> bool:
    return all(isinstance(leaf, StopSignal | SkipSignal) for leaf in leaves(error))


def without_signals(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of a fixture so that no signal comes out of it, which those who call it do not expect."""
    if inspect.ismethod(function):
        # It stays a method, so that pytest can bind it to the instance of each test.
        return MethodType(without_signals(function.__func__), function.__self__)
    if inspect.isasyncgenfunction(function):

        @functools.wraps(function)
        async def generate_async(*args: Any, **kwargs: Any) -> Any:
            with _signals_told():
                async for value in function(*args, **kwargs):
                    yield value

        return generate_async
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def call_async(*args: Any, **kwargs: Any) -> Any:
            with _signals_told():
                return await function(*args, **kwargs)

        return call_async
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def generate(*args: Any, **kwargs: Any) -> Any:
            with _signals_told():
                yield from function(*args, **kwargs)

        return generate

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with _signals_told():
            return function(*args, **kwargs)

    return call


@contextmanager
def _signals_told() -> Iterator[None]:
    __tracebackhide__ = True
    try:
        yield
    except BaseException as error:
        if _is_signal(error):
            raise StoppedInFixture from None
        raise


_opened: Final = pytest.StashKey[_Opened]()


def attempt_of(item: pytest.Item) -> _Opened | None:
    """Return the attempt that is open for an item."""
    return item.stash.get(_opened, None)
