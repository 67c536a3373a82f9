"""Agents written with pydantic-ai, as they are."""

import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, final

from niceeval.agents._pydantic_ai_messages import call_of, read_messages, usage_of
from niceeval.agents._sdk_faults import fault_of_response, fault_of_sdk_error, unreachable
from niceeval.agents._timeline import Timeline
from niceeval.agents._wrapped import Approve, as_json, check_factory, need_asyncio, of_session, says_yes, waits_for
from niceeval.agents.base import AgentContext
from niceeval.agents.mcp_names import ToolNames
from niceeval.errors import AgentUnavailable
from niceeval.reply import Reply

if TYPE_CHECKING:
    from pydantic_ai import AgentRunResult, DeferredToolRequests, DeferredToolResults, UsageLimits
    from pydantic_ai.agent import AbstractAgent
    from pydantic_ai.messages import ModelMessage

__all__ = ["PydanticAIAgent"]

_MESSAGES: Final = "pydantic_ai.messages"
_WAITING: Final = "pydantic_ai.waiting"
_DEPS: Final = "pydantic_ai.deps"


@final
class PydanticAIAgent:
    """An agent of pydantic-ai: each session keeps its own message history.

    Reported are the texts, the thinking, the tool calls with their results, the structured output and the usage, all
    as the run's own messages say them. A call that the framework asks the model to make again has failed. The tool by
    which structured output is handed over is no tool of the agent. The agent itself is never changed.

    Args:
        agent: A ``pydantic_ai.Agent``, or anything else that has its interface.
        deps: The dependencies of every run.
        make_deps: Makes the dependencies, once for each session, from the `AgentContext`; sync or async.
        usage_limits: The limits of each run.
        approve: Decides, from the user's message and the call, about a call that waits for an approval. By default a
            plain yes or no does.
        tool_names: Which tools of MCP servers the reported names stand for; left out, they are as reported.

    Raises:
        ImportError: pydantic-ai is not installed.
        TypeError: An argument has the wrong type.
        ValueError: Both `deps` and `make_deps` are given.
    """

    def __init__(
        self,
        agent: "AbstractAgent[Any, Any]",
        *,
        deps: Any = None,
        make_deps: Callable[[AgentContext], Any] | None = None,
        usage_limits: "UsageLimits | None" = None,
        approve: Approve = says_yes,
        tool_names: ToolNames | None = None,
    ) -> None:
        library = _library()
        if not isinstance(agent, library.AbstractAgent):
            raise TypeError(f"PydanticAIAgent() takes a pydantic_ai.Agent, got {type(agent).__name__}")
        check_factory("PydanticAIAgent", "make_deps", make_deps)
        if deps is not None and make_deps is not None:
            raise ValueError("PydanticAIAgent() takes deps= or make_deps=, not both")
        if not callable(approve):
            raise TypeError(f"PydanticAIAgent() approve= takes a function, got {type(approve).__name__}")
        self._agent = agent
        self._deps = deps
        self._make_deps = make_deps
        self._usage_limits = usage_limits
        self._approve = approve
        self._names = tool_names

    def __repr__(self) -> str:
        """Name the agent."""
        return f"<PydanticAIAgent {self._agent.name or 'without a name'}>"

    async def reply(self, message: str, ctx: AgentContext, /) -> Reply:
        """Run the agent on one message.

        Raises:
            AgentUnavailable: Its model could not be reached, or the event loop is not asyncio's.
            Exception: Whatever else the agent raises. What it did until then is kept.
        """
        need_asyncio("pydantic-ai")
        library = _library()
        before: Sequence[ModelMessage] = ctx.session.get(_MESSAGES, ())
        waiting: DeferredToolRequests | None = ctx.session.get(_WAITING)
        options = self._options(message, ctx, waiting)
        deps = await of_session(ctx, _DEPS, self._make_deps, self._deps)
        output_tools: set[str] = set()
        with library.capture_run_messages() as captured:
            try:
                result = await self._agent.run(
                    message if waiting is None else None,
                    message_history=list(before) or None,
                    deps=deps,
                    usage_limits=self._usage_limits,
                    infer_name=False,  # or the framework would give the agent a name
                    capabilities=[_watcher(output_tools)],
                    **options,
                )
            except BaseException as error:
                timeline = Timeline(self._names)
                runs = {each.run_id for each in before}
                new = [each for each in captured if each.run_id not in runs]
                read_messages(new, timeline, before=before, output_tools=output_tools)
                ctx.emit(*timeline.news())
                fault = unreachable(error, _fault)
                if fault is not None:
                    raise fault from error
                raise
        ctx.session[_MESSAGES] = result.all_messages()
        return self._read(result, ctx, before, output_tools)

    def _options(self, message: str, ctx: AgentContext, waiting: "DeferredToolRequests | None") -> dict[str, Any]:
        options: dict[str, Any] = {}
        if ctx.model is not None:
            options["model"] = ctx.model
        if waiting is not None:
            options["deferred_tool_results"] = self._decided(waiting, message)
        wanted = ctx.output_schema
        if wanted is not None and self._agent.output_type is str and wanted.get("type") == "object":
            # An agent that answers in text is asked for this output; one with an output of its own keeps it.
            library = _library()
            try:
                options["output_type"] = library.StructuredDict(dict(wanted))
            except library.UserError:
                return options  # a recursive schema, which the framework cannot ask for
        return options

    def _decided(self, waiting: "DeferredToolRequests", message: str) -> "DeferredToolResults":
        approvals = {part.tool_call_id: self._approve(message, call_of(part)) for part in waiting.approvals}
        return waiting.build_results(approvals=approvals, calls={part.tool_call_id: message for part in waiting.calls})

    def _read(
        self,
        result: "AgentRunResult[Any]",
        ctx: AgentContext,
        before: Sequence["ModelMessage"],
        output_tools: set[str],
    ) -> Reply:
        timeline = Timeline(self._names)
        new = result.new_messages()
        read_messages(new, timeline, before=before, output_tools=output_tools)
        responses = [each for each in new if each.kind == "response"]
        usage = usage_of(responses, result.usage)
        if usage is None and responses:
            timeline.explain("usage", "a model response came without usage")
        output = result.output
        ctx.session.pop(_WAITING, None)
        if isinstance(output, _library().DeferredToolRequests):
            ctx.session[_WAITING] = output
            for part in output.approvals:
                timeline.add(waits_for("approval", call_of(part)))
            for part in output.calls:
                timeline.add(waits_for("result", call_of(part)))
            return timeline.reply(usage=usage, status="waiting")
        return timeline.reply(data=as_json(output), usage=usage)


def _library() -> Any:
    try:
        return importlib.import_module("niceeval.agents._pydantic_ai_library")
    except ImportError as error:
        raise ImportError(
            f'PydanticAIAgent() needs pydantic-ai: pip install "niceeval[pydantic-ai]" ({error})'
        ) from error


def _watcher(output_tools: set[str]) -> Any:
    return _library().OutputTools(output_tools)


def _fault(error: BaseException) -> AgentUnavailable | None:
    """Return what an exception of the framework means; None where it is the agent's own failure."""
    library = _library()
    if isinstance(error, library.ModelHTTPError):
        fault = fault_of_response(error.status_code, error.headers, error.body)
        if fault is not None and fault.retry_after is None:
            fault.retry_after = error.retry_after
        return fault
    if isinstance(error, library.ModelQuotaExceededError | library.ModelAuthenticationError):
        return AgentUnavailable(f"the model cannot be reached: {error}", retryable=False)
    if isinstance(error, library.ModelRequestRejectedError):
        return None
    if isinstance(error, library.ModelAPIError):
        return AgentUnavailable(f"the model cannot be reached: {error}", retry_after=error.retry_after)
    return fault_of_sdk_error(error)
