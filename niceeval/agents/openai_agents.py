"""Agents written with the OpenAI Agents SDK, as they are."""

import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, final

from niceeval.agents._openai_agents_items import call_of, read_items, read_response, usage_of
from niceeval.agents._sdk_faults import fault_of_sdk_error, unreachable
from niceeval.agents._timeline import Timeline
from niceeval.agents._wrapped import Approve, as_json, check_factory, need_asyncio, of_session, says_yes, waits_for
from niceeval.agents.base import AgentContext
from niceeval.agents.mcp_names import ToolNames
from niceeval.errors import AgentUnavailable
from niceeval.reply import Reply
from niceeval.tool_call import ToolStatus

if TYPE_CHECKING:
    from agents import Agent, ModelResponse, RunConfig, RunResult
    from agents.memory import Session

__all__ = ["OpenAIAgentsAgent"]

_INPUT: Final = "openai_agents.input"
_AGENT: Final = "openai_agents.agent"
_WAITING: Final = "openai_agents.waiting"
_CONTEXT: Final = "openai_agents.context"
_SESSION: Final = "openai_agents.session"


@final
class OpenAIAgentsAgent:
    """An agent of the OpenAI Agents SDK: each session keeps its own history.

    Reported are the texts, the thinking, the tool calls with their results, handoffs as the calls that they are, the
    structured output and the usage, all as the run's own items say them. A tool that fails tells the model a text;
    that such a call failed is known where the tool leaves its errors to the SDK, and its status is None where it
    handles them itself. The agent itself is never changed.

    Args:
        agent: An ``agents.Agent``.
        context: The context of every run.
        make_context: Makes the context, once for each session, from the `AgentContext`; sync or async.
        run_config: The configuration of every run.
        max_turns: How often a run may ask the model; by default what the SDK says.
        session: Makes the SDK's own session, once for each session of the eval; it then keeps the history.
        approve: Decides, from the user's message and the call, about a call that waits for an approval. By default a
            plain yes or no does.
        stay: Whether the next turn goes on with the agent that a handoff led to. Otherwise each turn begins with
            `agent`.
        tool_names: Which tools of MCP servers the reported names stand for; left out, they are as reported.

    Raises:
        ImportError: The SDK is not installed, or a package of yours hides it.
        TypeError: An argument has the wrong type.
        ValueError: Both `context` and `make_context` are given.
    """

    def __init__(
        self,
        agent: "Agent[Any]",
        *,
        context: Any = None,
        make_context: Callable[[AgentContext], Any] | None = None,
        run_config: "RunConfig | None" = None,
        max_turns: int | None = None,
        session: "Callable[[AgentContext], Session] | None" = None,
        approve: Approve = says_yes,
        stay: bool = True,
        tool_names: ToolNames | None = None,
    ) -> None:
        library = _library()
        if not isinstance(agent, library.Agent):
            raise TypeError(f"OpenAIAgentsAgent() takes an agents.Agent, got {type(agent).__name__}")
        if run_config is not None and not isinstance(run_config, library.RunConfig):
            raise TypeError(f"OpenAIAgentsAgent() run_config= takes a RunConfig, got {type(run_config).__name__}")
        check_factory("OpenAIAgentsAgent", "make_context", make_context)
        check_factory("OpenAIAgentsAgent", "session", session)
        if context is not None and make_context is not None:
            raise ValueError("OpenAIAgentsAgent() takes context= or make_context=, not both")
        if not callable(approve):
            raise TypeError(f"OpenAIAgentsAgent() approve= takes a function, got {type(approve).__name__}")
        self._agent = agent
        self._context = context
        self._make_context = make_context
        self._run_config = library.RunConfig() if run_config is None else run_config
        self._options: Mapping[str, Any] = {} if max_turns is None else {"max_turns": max_turns}
        self._session = session
        self._approve = approve
        self._stay = stay
        self._names = tool_names

    def __repr__(self) -> str:
        """Name the agent."""
        return f"<OpenAIAgentsAgent {self._agent.name}>"

    async def reply(self, message: str, ctx: AgentContext, /) -> Reply:
        """Run the agent on one message.

        Raises:
            AgentUnavailable: Its model could not be reached, or the event loop is not asyncio's.
            Exception: Whatever else the agent raises. What it did until then is kept.
        """
        need_asyncio("the OpenAI Agents SDK")
        library = _library()
        waiting: RunResult | None = ctx.session.get(_WAITING)
        options = dict(self._options)
        if waiting is None:
            given: Any = self._input(message, ctx)
            options["context"] = await of_session(ctx, _CONTEXT, self._make_context, self._context)
        else:
            given = self._decided(waiting, message)
        options["session"] = await of_session(ctx, _SESSION, self._session, None)
        before = _counts(waiting)
        watch = _reporter(ctx, self._names)
        try:
            result = await library.Runner.run(
                ctx.session.get(_AGENT, self._agent) if waiting is None else self._agent,
                given,
                hooks=watch,
                run_config=library.watched(self._run_config, watch, ctx.model),
                **options,
            )
        except Exception as error:
            fault = unreachable(error, _fault)
            if fault is not None:
                raise fault from error
            raise
        return self._read(result, ctx, watch, before)

    def _input(self, message: str, ctx: AgentContext) -> Any:
        if self._session is not None:
            return message
        return [*ctx.session.get(_INPUT, ()), {"role": "user", "content": message}]

    def _decided(self, waiting: "RunResult", message: str) -> Any:
        decided = [(item, self._approve(message, call_of(item.raw_item))) for item in waiting.interruptions]
        state = waiting.to_state()
        for item, approved in decided:
            if approved:
                state.approve(item)
            else:
                state.reject(item)
        return state

    def _read(self, result: "RunResult", ctx: AgentContext, watch: Any, before: "_Counts") -> Reply:
        timeline = Timeline(self._names)
        read_items(
            result.new_items,
            timeline,
            skipped=before.items,
            statuses=watch.statuses,
            mcp_tools=watch.mcp_tools,
        )
        responses = result.raw_responses[before.responses :]
        usage = usage_of(responses, result.context_wrapper.usage, before.usage)
        if usage is None and responses:
            timeline.explain("usage", "a request to the model came back without usage")
        ctx.session[_WAITING] = result if result.interruptions else None
        if result.interruptions:
            for item in result.interruptions:
                timeline.add(waits_for("approval", call_of(item.raw_item)))
            return timeline.reply(usage=usage, status="waiting")
        ctx.session[_INPUT] = result.to_input_list()
        if self._stay:
            ctx.session[_AGENT] = result.last_agent
        return timeline.reply(data=as_json(result.final_output), usage=usage)


@final
class _Counts:
    """How far a run had come when it began to wait."""

    def __init__(self, items: int, responses: int, usage: tuple[int, int, int, int]) -> None:
        self.items = items
        self.responses = responses
        self.usage = usage


def _counts(waiting: "RunResult | None") -> _Counts:
    if waiting is None:
        return _Counts(0, 0, (0, 0, 0, 0))
    used = waiting.context_wrapper.usage
    counts = (used.requests, len(used.request_usage_entries), used.input_tokens, used.output_tokens)
    return _Counts(len(waiting.new_items), len(waiting.raw_responses), counts)


def _reporter(ctx: AgentContext, names: ToolNames | None) -> Any:
    """Return hooks that report what happens while it happens."""
    timeline = Timeline(names)

    def answered(response: "ModelResponse") -> None:
        read_response(response, timeline)
        ctx.emit(*timeline.news())

    def returned(id: str, result: object, status: ToolStatus | None) -> None:
        timeline.answer(id, result, status)
        ctx.emit(*timeline.news())

    return _library().Watch(answered, returned)


def _library() -> Any:
    try:
        return importlib.import_module("niceeval.agents._openai_agents_library")
    except ImportError as error:
        raise ImportError(
            'OpenAIAgentsAgent() needs the OpenAI Agents SDK: pip install "niceeval[openai-agents]"; '
            f"if it is installed, a package of yours that is called `agents` as well may hide it ({error})"
        ) from error


def _fault(error: BaseException) -> AgentUnavailable | None:
    """Return what an exception of the SDK means; None where it is the agent's own failure."""
    if isinstance(error, _library().ModelTimeoutError):
        return AgentUnavailable(f"the model cannot be reached: {error}")
    return fault_of_sdk_error(error)
