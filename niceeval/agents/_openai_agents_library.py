"""What is used of the OpenAI Agents SDK, and what has to inherit from it. Imported where an agent of it is made."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, Final, final

from agents import (
    Agent,
    FunctionTool,
    ModelResponse,
    RunConfig,
    RunContextWrapper,
    RunHooks,
    Runner,
    Tool,
    ToolErrorFormatterArgs,
    default_tool_error_function,
)
from agents.exceptions import ModelTimeoutError
from agents.tool_context import ToolContext

from niceeval.tool_call import ToolStatus

__all__ = ["Agent", "ModelTimeoutError", "RunConfig", "Runner", "Watch", "watched"]

_UNKNOWN: Final = object()


@final
class Watch(RunHooks[Any]):
    """Sees the model's answers and the tools' results as they come; it changes nothing.

    Args:
        answered: Is given each answer of the model.
        returned: Is given the id, the result and the status of each call of a local tool.
    """

    def __init__(
        self,
        answered: Callable[[ModelResponse], None],
        returned: Callable[[str, object, ToolStatus | None], None],
    ) -> None:
        self._answered = answered
        self._returned = returned
        self.statuses: dict[str, ToolStatus | None] = {}
        self.mcp_tools: dict[str, tuple[str, str]] = {}

    async def on_llm_end(self, context: RunContextWrapper[Any], agent: Agent[Any], response: ModelResponse) -> None:
        """See an answer of the model."""
        self._answered(response)

    async def on_tool_start(self, context: RunContextWrapper[Any], agent: Any, tool: Tool) -> None:
        """Learn which tool of which MCP server is meant by a name."""
        # The SDK makes names such as "mcp_github__search" and keeps what they stand for to itself.
        server, name, *_ = getattr(tool, "_mcp_tool_binding", None) or (None, None)
        if isinstance(server, str) and isinstance(name, str):
            self.mcp_tools[tool.name] = (server, name)

    async def on_tool_end(self, context: RunContextWrapper[Any], agent: Any, tool: Tool, result: object) -> None:
        """See a result, which may be what a failed tool tells the model."""
        if isinstance(context, ToolContext):
            status = self.statuses.setdefault(context.tool_call_id, _status_of(tool, result))
            self._returned(context.tool_call_id, result, status)


def watched(config: RunConfig, watch: Watch, model: str | None) -> RunConfig:
    """Return a run's configuration that also lets `watch` know which calls failed or were rejected.

    Args:
        config: The user's own, which stays as it is.
        watch: Is told.
        model: The model that the experiment asks for, if it asks for one.
    """
    own = config.tool_error_formatter

    def tell(args: ToolErrorFormatterArgs[Any]) -> Awaitable[str | None] | str | None:
        watch.statuses[args.call_id] = "rejected" if args.kind == "approval_rejected" else "failed"
        return None if own is None else own(args)

    changed: dict[str, Any] = {"tool_error_formatter": tell}
    if model is not None:
        changed["model"] = model
    return replace(config, **changed)


def _status_of(tool: Tool, result: object) -> ToolStatus | None:
    """Return how a call ended that gave a result and of which no error was told; None where that cannot be told.

    The SDK gives the model a text in the place of an error, and only a tool's own handler knows which.
    """
    if not isinstance(tool, FunctionTool):
        return None
    if tool.timeout_seconds is not None and tool.timeout_behavior == "error_as_result":
        return None
    handler = getattr(tool, "_failure_error_function", _UNKNOWN)
    if getattr(tool, "_use_default_failure_error_function", False):
        handler = default_tool_error_function
    if handler is None:
        return "completed"
    if handler is default_tool_error_function:
        return "failed" if result == _told_by_default() else "completed"
    return None


def _told_by_default() -> str:
    return default_tool_error_function(RunContextWrapper(None), Exception())
