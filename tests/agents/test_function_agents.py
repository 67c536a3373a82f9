"""Functions as agents: what is called, where it runs, and what happens when nobody waits any more."""

import contextvars
import functools
import gc
import subprocess
import sys
import threading
import traceback
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from niceeval.agents import AgentContext, ScriptedAgent, as_agent
from niceeval.transcript import Reply, Thinking, ToolCall

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]


def sync_one(message: str) -> str:
    return f"{message}!"


def sync_two(message: str, ctx: AgentContext) -> Reply:
    return Reply(f"{message} {ctx.attempt}")


async def async_one(message: str) -> Reply:
    return Reply(f"{message}!")


async def async_two(message: str, ctx: AgentContext) -> str:
    return f"{message} {ctx.attempt}"


def named_context(message: str, ctx: Any = None) -> str:
    return f"{message} {ctx.attempt}"


def annotated_context(message: str, c: "AgentContext | None" = None) -> str:
    return f"{message} {c.attempt if c else None}"


def own_default(message: str, mark: str = "?") -> str:
    return message + mark


def anything(*args: Any, **options: Any) -> str:
    return f"{args[0]} {args[1].attempt}"


def gives_awaitable(message: str) -> Any:
    return async_one(message)


class Service:
    def sync(self, message: str) -> str:
        return f"{message}!"

    async def ask(self, message: str, ctx: AgentContext) -> str:
        return f"{message} {ctx.attempt}"


class SyncCallable:
    def __call__(self, message: str) -> str:
        return f"{message}!"


class AsyncCallable:
    async def __call__(self, message: str) -> str:
        return f"{message}!"


class AsyncReply:
    async def reply(self, message: str, ctx: AgentContext, /) -> str:
        return f"{message} {ctx.attempt}"


class SyncReply:
    def reply(self, message: str, ctx: AgentContext) -> str:
        return f"{message} {ctx.attempt}"


def prefixed(prefix: str, message: str) -> str:
    return prefix + message


async def prefixed_async(prefix: str, message: str, ctx: AgentContext) -> str:
    return f"{prefix}{message} {ctx.attempt}"


@pytest.mark.parametrize(
    ("function", "answer"),
    [
        (sync_one, "hi!"),
        (sync_two, "hi 3"),
        (async_one, "hi!"),
        (async_two, "hi 3"),
        (named_context, "hi 3"),
        (annotated_context, "hi 3"),
        (own_default, "hi?"),
        (anything, "hi 3"),
        (gives_awaitable, "hi!"),
        (lambda message: message.upper(), "HI"),
        (Service().sync, "hi!"),
        (Service().ask, "hi 3"),
        (SyncCallable(), "hi!"),
        (AsyncCallable(), "hi!"),
        (AsyncReply(), "hi 3"),
        (SyncReply(), "hi 3"),
        (functools.partial(prefixed, "> "), "> hi"),
        (functools.partial(prefixed_async, "> "), "> hi 3"),
        (functools.partial(AsyncCallable()), "hi!"),
        (str.upper, "HI"),
    ],
)
async def test_what_can_be_an_agent(function: Any, answer: str) -> None:
    reply = await as_agent(function).reply("hi", AgentContext(attempt=3))
    assert isinstance(reply, Reply)
    assert reply.message == answer


async def test_an_agent_of_ours_is_returned_as_it_is() -> None:
    scripted, function = ScriptedAgent(["x"]), as_agent(sync_one)
    assert as_agent(scripted) is scripted
    assert as_agent(function) is function


def no_argument() -> str:
    return "x"


def three(a: str, b: str, c: str) -> str:
    return a


def keyword_only(message: str, *, key: str) -> str:
    return key


def yields(message: str) -> Iterator[str]:
    yield message


async def yields_async(message: str) -> AsyncIterator[str]:
    yield message


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "None is not an agent: did the function that makes it forget to return it"),
        (7, "an int is not an agent: give a function of"),
        ("agents.plain:order_agent", "resolve_agent\\('agents.plain:order_agent'\\)"),
        (Service, r"Service is a class, not an agent: pass an instance, Service\(...\)"),
        (AsyncReply, r"pass an instance, AsyncReply\(...\)"),
        (Service(), "a Service is not an agent"),
        (Reply("x"), r"ScriptedAgent\(\[reply\]\)"),
        (no_argument, r"no_argument\(\) -> str is not an agent"),
        (three, r"three\(a: str, b: str, c: str\)"),
        (keyword_only, "nothing else without a default"),
        (yields, "generator function: collect what it yields"),
        (yields_async, "generator function: collect what it yields"),
        (["a"], "a list is not an agent"),
    ],
)
async def test_what_is_no_agent_is_refused_with_a_sentence(value: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        as_agent(value)


async def test_a_coroutine_is_refused_and_closed() -> None:
    coroutine: Any = async_one("hi")
    with pytest.raises(TypeError, match=r"the coroutine of async_one\(\) is not an agent: pass the function"):
        as_agent(coroutine)
    del coroutine
    gc.collect()


@pytest.mark.parametrize(
    ("value", "words"),
    [(None, "returned None"), ({"text": "x"}, "returned a dict"), (b"x", "returned a bytes"), (7, "returned an int")],
)
@pytest.mark.parametrize("is_async", [False, True])
async def test_a_function_that_returns_something_else(value: object, words: str, is_async: bool) -> None:
    def plain_agent(message: str) -> Any:
        return value

    async def async_agent(message: str) -> Any:
        return value

    function = async_agent if is_async else plain_agent
    with pytest.raises(TypeError, match=rf"{function.__name__} {words}: return text or a niceeval.Reply"):
        await as_agent(function).reply("hi", AgentContext())


@pytest.mark.parametrize("is_async", [False, True])
async def test_an_exception_keeps_its_own_traceback(is_async: bool) -> None:
    def deep() -> str:
        raise KeyError("order")

    async def async_agent(message: str) -> str:
        return deep()

    def plain_agent(message: str) -> str:
        return deep()

    with pytest.raises(KeyError) as caught:
        await as_agent(async_agent if is_async else plain_agent).reply("hi", AgentContext())
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert names[-2:] == ["async_agent" if is_async else "plain_agent", "deep"]


@pytest.mark.parametrize("is_async", [False, True])
async def test_sys_exit_in_an_agent_ends_the_agent_only(is_async: bool) -> None:
    async def async_agent(message: str) -> str:
        sys.exit(2)

    def plain_agent(message: str) -> str:
        sys.exit(2)

    with pytest.raises(RuntimeError, match=r"agent .* called sys.exit\(2\)"):
        await as_agent(async_agent if is_async else plain_agent).reply("hi", AgentContext())


variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="outside")


async def test_a_blocking_function_sees_context_variables_from_another_thread() -> None:
    def agent(message: str) -> str:
        seen = variable.get()
        variable.set("changed in the thread")
        thread = threading.current_thread()
        return f"{seen} {thread is threading.main_thread()} {thread.daemon}"

    token = variable.set("inside")
    try:
        reply = await as_agent(agent).reply("hi", AgentContext())
        assert isinstance(reply, Reply)
        assert reply.message == "inside False True"
        assert variable.get() == "inside"
    finally:
        variable.reset(token)


async def test_a_blocking_function_does_not_hold_up_the_loop() -> None:
    meet = threading.Barrier(2)

    def agent(message: str) -> str:
        meet.wait(timeout=30)
        return message

    replies: list[Reply | str] = []

    async def ask(message: str) -> None:
        replies.append(await as_agent(agent).reply(message, AgentContext()))

    async with anyio.create_task_group() as group:
        group.start_soon(ask, "a")
        group.start_soon(ask, "b")
    assert len(replies) == 2


class Blocked:
    """An agent that waits until the test lets it go, and then does what the test wants."""

    def __init__(self, then: Callable[[], Any]) -> None:
        self.then = then
        self.entered = threading.Event()
        self.go_on = threading.Event()
        self.thread: threading.Thread | None = None

    def agent(self, message: str, ctx: AgentContext) -> Any:
        ctx.emit(ToolCall("started"))
        self.thread = threading.current_thread()
        self.entered.set()
        assert self.go_on.wait(timeout=30)
        ctx.emit(ToolCall("late"))
        return self.then()

    def finish(self) -> None:
        self.go_on.set()
        assert self.thread is not None
        self.thread.join(timeout=30)
        assert not self.thread.is_alive()


def late_error() -> str:
    raise ValueError("too late")


@pytest.mark.parametrize("then", [lambda: "late", late_error, lambda: async_one("late")], ids=["text", "error", "coro"])
async def test_a_cancelled_wait_ends_at_once_and_a_late_result_changes_nothing(then: Callable[[], Any]) -> None:
    blocked = Blocked(then)
    replies: list[Reply | str] = []
    ctx = AgentContext().for_turn()

    async def ask() -> None:
        replies.append(await as_agent(blocked.agent).reply("hi", ctx))

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        await anyio.to_thread.run_sync(blocked.entered.wait)
        group.cancel_scope.cancel()
    assert replies == []
    assert [item.name for item in ctx.take_emitted() if isinstance(item, ToolCall)] == ["started"]

    await anyio.to_thread.run_sync(blocked.finish)
    gc.collect()
    assert replies == []
    # The next turn of the session has a context of its own.
    assert ctx.for_turn().take_emitted() == ()


@pytest.mark.parametrize("then", [lambda: "late", late_error, lambda: async_one("late")], ids=["text", "error", "coro"])
async def test_a_result_that_comes_after_the_event_loop_has_ended(then: Callable[[], Any], anyio_backend: str) -> None:
    blocked = Blocked(then)

    async def main() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(as_agent(blocked.agent).reply, "hi", AgentContext())
            await anyio.to_thread.run_sync(blocked.entered.wait)
            group.cancel_scope.cancel()

    def other_loop() -> None:
        anyio.run(main, backend=anyio_backend)
        blocked.finish()
        gc.collect()

    await anyio.to_thread.run_sync(other_loop)


FOREVER = """
import sys, threading
import anyio, anyio.to_thread
from niceeval.agents import AgentContext, as_agent

entered = threading.Event()

def agent(message):
    entered.set()
    threading.Event().wait()

async def main():
    async with anyio.create_task_group() as group:
        group.start_soon(as_agent(agent).reply, "hi", AgentContext())
        await anyio.to_thread.run_sync(entered.wait)
        group.cancel_scope.cancel()
    print("gave up")

anyio.run(main, backend=sys.argv[1])
"""


async def test_a_process_ends_while_an_agent_still_blocks(anyio_backend: str) -> None:
    def run() -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-W", "error", "-c", FOREVER, anyio_backend]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)

    result = await anyio.to_thread.run_sync(run)
    assert (result.returncode, result.stdout, result.stderr) == (0, "gave up\n", "")


async def test_emit_from_many_threads_loses_nothing() -> None:
    ctx = AgentContext()

    def report() -> None:
        for _ in range(50):
            ctx.emit(Thinking("x"), Thinking("y"))

    def agent(message: str) -> str:
        workers = [threading.Thread(target=report) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return "done"

    await as_agent(agent).reply("hi", ctx)
    items = ctx.take_emitted()
    assert len(items) == 400
    assert [item.text for item in items if isinstance(item, Thinking)] == ["x", "y"] * 200
    assert ctx.take_emitted() == ()


async def test_emit_refuses_what_is_no_evidence() -> None:
    item: Any = {"name": "search"}
    with pytest.raises(TypeError, match="ToolCalls and events such as Thinking, got dict"):
        AgentContext().emit(item)
