"""Agents that are LangGraph graphs, as they are."""

import importlib
import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, final

from niceeval.agents._langchain_messages import StateReader
from niceeval.agents._sdk_faults import fault_of_sdk_error, unreachable
from niceeval.agents._timeline import Timeline
from niceeval.agents._wrapped import as_json, check_factory, need_asyncio, of_session
from niceeval.agents.base import AgentContext
from niceeval.agents.mcp_names import ToolNames
from niceeval.errors import AgentUnavailable
from niceeval.events import InputRequested
from niceeval.reply import Reply, TurnStatus
from niceeval.tool_call import NOT_GIVEN

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.pregel.protocol import PregelProtocol
    from langgraph.types import Interrupt, StateSnapshot

__all__ = ["LangGraphAgent"]

_HISTORY: Final = "langgraph.messages"
_WAITING: Final = "langgraph.waiting"
_THREAD: Final = "langgraph.thread"
_CONTEXT: Final = "langgraph.context"
_INTERRUPT: Final = "__interrupt__"

_Config: TypeAlias = "RunnableConfig | Callable[[AgentContext], RunnableConfig]"


@final
class LangGraphAgent:
    """A compiled LangGraph graph whose state has messages: each session is a thread of its own.

    A graph with a checkpointer keeps the conversation itself, and a turn that follows an interrupt resumes it. To one
    without, the wrapper sends the messages of the session again. Reported are the messages that a turn added to the
    graph's state: texts, thinking, tool calls with their results, calls whose arguments cannot be read, and usage.
    What a node does without a message in that state is not seen. The graph itself is never changed.

    Args:
        graph: A compiled graph.
        input_key: Where the state has its messages.
        output_key: Where the state has structured output, if it has any.
        make_input: Makes the graph's input from the user's message and the `AgentContext`, where it is not just
            ``{input_key: [message]}``. It has to hold the session's messages itself where there is no checkpointer.
        config: The configuration of every run, or a function of the `AgentContext` that returns it.
        make_context: Makes the graph's runtime context, once for each session; sync or async.
        thread: Names the thread of a session, from the `AgentContext`; by default it is a random name.
        resume: Makes the value that an interrupt gives, from the user's message and the interrupts. By default it is
            the message.
        tool_names: Which tools of MCP servers the reported names stand for; left out, they are as reported.

    Raises:
        ImportError: LangGraph is not installed.
        TypeError: An argument has the wrong type, such as a graph that is not compiled.
    """

    def __init__(
        self,
        graph: "PregelProtocol[Any, Any, Any, Any]",
        *,
        input_key: str = "messages",
        output_key: str = "structured_response",
        make_input: Callable[[str, AgentContext], Any] | None = None,
        config: "_Config | None" = None,
        make_context: Callable[[AgentContext], Any] | None = None,
        thread: Callable[[AgentContext], str] | None = None,
        resume: "Callable[[str, Sequence[Interrupt]], Any] | None" = None,
        tool_names: ToolNames | None = None,
    ) -> None:
        if not isinstance(graph, _library("langgraph.pregel.protocol").PregelProtocol):
            hint = ": call its compile()" if callable(getattr(graph, "compile", None)) else ""
            raise TypeError(f"LangGraphAgent() takes a compiled graph, got {type(graph).__name__}{hint}")
        for name, key in (("input_key", input_key), ("output_key", output_key)):
            if not isinstance(key, str) or not key:
                raise TypeError(f"LangGraphAgent() {name}= names a key of the state, got {key!r}")
        if config is not None and not isinstance(config, Mapping) and not callable(config):
            raise TypeError(f"LangGraphAgent() config= takes a mapping or a function, got {type(config).__name__}")
        for name, function in (
            ("make_input", make_input), ("make_context", make_context), ("thread", thread), ("resume", resume),
        ):  # fmt: skip
            check_factory("LangGraphAgent", name, function)
        self._graph = graph
        self._input_key = input_key
        self._output_key = output_key
        self._make_input = make_input
        self._config = config
        self._make_context = make_context
        self._thread = thread
        self._resume = resume
        self._names = tool_names

    def __repr__(self) -> str:
        """Name the agent."""
        return f"<LangGraphAgent {getattr(self._graph, 'name', 'without a name')}>"

    async def reply(self, message: str, ctx: AgentContext, /) -> Reply:
        """Run the graph on one message.

        Raises:
            AgentUnavailable: Its model could not be reached, or the event loop is not asyncio's.
            Exception: Whatever else the graph raises. What it did until then is kept.
        """
        need_asyncio("LangGraph")
        turn = _Turn(self._input_key, self._output_key, self._names)
        turn.know(ctx.session.get(_HISTORY, ()))
        config = await self._config_of(ctx)
        context = await of_session(ctx, _CONTEXT, self._make_context, None)
        options = {} if context is None else {"context": context}
        given = self._input(message, ctx, turn)
        try:
            async for mode, chunk in self._graph.astream(given, config, stream_mode=["updates", "values"], **options):
                turn.take(mode, chunk)
                ctx.emit(*turn.timeline.news())
        except Exception as error:
            fault = unreachable(error, _fault)
            if fault is not None:
                raise fault from error
            raise
        if turn.interrupts is not None and self._keeps_threads():
            turn.look_inside(await self._graph.aget_state(config, subgraphs=True))
        ctx.session[_WAITING] = turn.interrupts
        ctx.session[_HISTORY] = turn.messages
        return turn.reply()

    async def _config_of(self, ctx: AgentContext) -> "RunnableConfig":
        base = self._config(ctx) if callable(self._config) else self._config
        config: RunnableConfig = {} if base is None else base
        if not self._keeps_threads():
            return config
        configurable = dict(config.get("configurable", {}))
        configurable["thread_id"] = await of_session(ctx, _THREAD, self._thread or _random_name, None)
        return {**config, "configurable": configurable}

    def _keeps_threads(self) -> bool:
        """Whether the graph remembers a thread. One that runs elsewhere does not say and is taken to."""
        return bool(getattr(self._graph, "checkpointer", True))

    def _input(self, message: str, ctx: AgentContext, turn: "_Turn") -> Any:
        waiting: Sequence[Interrupt] | None = ctx.session.get(_WAITING)
        if waiting is not None:
            if not waiting:
                return None  # a breakpoint: the graph goes on
            return _library("langgraph.types").Command(resume=self._resumed(message, waiting))
        if self._make_input is not None:
            return self._make_input(message, ctx)
        asked = _library("langchain_core.messages").HumanMessage(message)
        before = () if self._keeps_threads() else ctx.session.get(_HISTORY, ())
        return {self._input_key: [*before, asked]}

    def _resumed(self, message: str, waiting: "Sequence[Interrupt]") -> Any:
        if self._resume is not None:
            return self._resume(message, waiting)
        return message if len(waiting) == 1 else {interrupt.id: message for interrupt in waiting}


@final
class _Turn:
    """What a graph streams in one turn."""

    def __init__(self, input_key: str, output_key: str, names: ToolNames | None) -> None:
        self.timeline = Timeline(names)
        self.messages: tuple[Any, ...] = ()
        self.interrupts: Sequence[Interrupt] | None = None
        self._input_key = input_key
        self._output_key = output_key
        self._reader = StateReader(self.timeline)
        self._began = False
        self._data: Any = NOT_GIVEN
        self._last: Any = None

    def know(self, messages: Iterable[Any]) -> None:
        """Take in messages of earlier turns."""
        self._reader.know(messages)

    def take(self, mode: str, chunk: Any) -> None:
        """Take in one thing that the graph streams. The first state is the one that the turn found."""
        if isinstance(chunk, Mapping) and _INTERRUPT in chunk:
            self.interrupts = tuple(chunk[_INTERRUPT])
        if mode == "updates":
            self._updates(chunk)
        else:
            self._state(chunk)
        self._began = True

    def _updates(self, chunk: Any) -> None:
        for node, update in chunk.items() if isinstance(chunk, Mapping) else ():
            for each in update if isinstance(update, list) else (update,):
                if node != _INTERRUPT and isinstance(each, Mapping):
                    if self._input_key in each:
                        self._reader.read(each[self._input_key])
                    if each.get(self._output_key) is not None:
                        self._data = each[self._output_key]

    def _state(self, chunk: Any) -> None:
        self._last = chunk
        messages = chunk.get(self._input_key) if isinstance(chunk, Mapping) else None
        if not isinstance(messages, Sequence) or isinstance(messages, str):
            return
        if self._began:
            self._reader.read(messages)
        else:
            self._reader.know(messages)
        self.messages = tuple(messages)

    def look_inside(self, snapshot: "StateSnapshot") -> None:
        """Take in what subgraphs that wait have said and called: the graph's own state gets it when they end."""
        for task in snapshot.tasks:
            inner = task.state
            if inner is not None and not isinstance(inner, Mapping):
                messages = inner.values.get(self._input_key, ()) if isinstance(inner.values, Mapping) else ()
                self._reader.read(messages)
                self.messages += tuple(messages)
                self.look_inside(inner)

    def reply(self) -> Reply:
        """Return what the turn came to."""
        if not self._reader.found:
            return self._reply_without_messages()
        usage = self._reader.usage()
        if usage is None and self._reader.answered:
            self.timeline.explain("usage", "a message of the model came without usage")
        for interrupt in self.interrupts or ():
            self.timeline.add(InputRequested(_shown(interrupt.value)))
        status: TurnStatus = "completed" if self.interrupts is None else "waiting"
        return self.timeline.reply(data=as_json(self._data), usage=usage, status=status)

    def _reply_without_messages(self) -> Reply:
        """Return what a graph without messages in its state gave: text is what it said, anything else is data."""
        status: TurnStatus = "completed" if self.interrupts is None else "waiting"
        if isinstance(self._last, str):
            return Reply(self._last, status=status)
        why = f"the graph's state has no messages under {self._input_key!r}"
        reply = Reply(data=as_json(self._last), status=status, coverage={"messages": "none"})
        return reply.explained({"messages": why, "tool_calls": why})


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f'LangGraphAgent() needs LangGraph: pip install "niceeval[langgraph]" ({error})') from error


def _random_name(_: AgentContext) -> str:
    return uuid.uuid4().hex


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _fault(error: BaseException) -> AgentUnavailable | None:
    """Return what an exception of the graph means; None where it is the agent's own failure."""
    fault = fault_of_sdk_error(error)
    if fault is not None:
        return fault
    known: Any = _library("langchain_core.exceptions")
    if isinstance(error, known.ModelRateLimitError | known.ModelAPIError):
        return AgentUnavailable(f"the model cannot be reached: {error}")
    if isinstance(error, known.ModelConnectionError | known.ModelTimeoutError):
        return AgentUnavailable(f"the model cannot be reached: {error}")
    if isinstance(error, known.ModelAuthenticationError | known.ModelPermissionDeniedError | known.ModelNotFoundError):
        return AgentUnavailable(f"the model cannot be reached: {error}", retryable=False)
    return None
