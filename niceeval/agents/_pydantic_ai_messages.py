"""Reads the messages of pydantic-ai, as its own run keeps them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, final

from niceeval.agents._timeline import Timeline
from niceeval.agents._wrapped import made_call
from niceeval.events import ContextCompacted, ErrorEvent, Thinking
from niceeval.reply import Usage
from niceeval.tool_call import NOT_GIVEN, ToolCall, ToolStatus

if TYPE_CHECKING:
    from pydantic_ai.messages import BaseToolReturnPart, ModelMessage, ModelResponse, NativeToolCallPart, ToolCallPart
    from pydantic_ai.usage import RunUsage

__all__ = ["call_of", "read_messages", "usage_of"]

_MCP: Final = "mcp_server:"
_STATUS: Final[Mapping[str, ToolStatus]] = {
    "success": "completed",
    "failed": "failed",
    "retried": "failed",
    "denied": "rejected",
}


def read_messages(
    messages: Iterable["ModelMessage"], timeline: Timeline, *, before: Sequence["ModelMessage"], output_tools: set[str]
) -> None:
    """Read the messages of one run into a timeline.

    Args:
        messages: The run's own messages.
        timeline: What they are added to.
        before: The messages of earlier runs, with the calls that this run may have answered.
        output_tools: Names by which the model hands over structured output, which are no tools of the agent.
    """
    reader = _Reader(timeline, before, output_tools)
    for message in messages:
        if message.kind == "response":
            reader.response(message)
        else:
            for part in message.parts:
                reader.request_part(part)


def call_of(part: "ToolCallPart | NativeToolCallPart") -> ToolCall:
    """Return a call as it was made. A tool of a provider's MCP connector is named by its server and its own name."""
    arguments = part.args
    if part.part_kind == "builtin-tool-call" and part.tool_name.startswith(_MCP) and isinstance(arguments, dict):
        name = arguments.get("tool_name")
        if isinstance(name, str) and name.strip():
            server = part.tool_name.removeprefix(_MCP)
            return made_call(name, arguments.get("tool_args"), id=part.tool_call_id, server=server)
    return made_call(part.tool_name, arguments, id=part.tool_call_id)


def usage_of(responses: Sequence["ModelResponse"], total: "RunUsage") -> Usage | None:
    """Return what a run used; None where one of its responses came without usage.

    A response without any token counts did not report them: no request is without tokens.
    """
    if not responses or total.unmeasured_requests:
        return None
    if any(not (response.usage.input_tokens or response.usage.output_tokens) for response in responses):
        return None
    priced = total.cost is not None and all(response.usage.cost is not None for response in responses)
    return Usage(
        input_tokens=total.input_tokens,
        output_tokens=total.output_tokens,
        cost_usd=float(total.cost) if priced and total.cost is not None else None,
    )


@final
class _Reader:
    def __init__(self, timeline: Timeline, before: Sequence["ModelMessage"], output_tools: Collection[str]) -> None:
        self._timeline = timeline
        self._before = before
        self._output_tools = output_tools

    def response(self, response: "ModelResponse") -> None:
        """Read what the model said and called. Text parts in a row are one text, as the framework has it."""
        timeline, text = self._timeline, ""
        timeline.next_step()
        for part in response.parts:
            if part.part_kind == "text" or part.part_kind == "speech":
                text += (part.content if part.part_kind == "text" else part.transcript) or ""
                continue
            timeline.say(text)
            text = ""
            if part.part_kind == "thinking":
                if part.content:
                    timeline.add(Thinking(part.content))
            elif part.part_kind == "tool-call":
                if part.tool_name not in self._output_tools:
                    timeline.call(call_of(part))
            elif part.part_kind == "builtin-tool-call":
                self._native_call(part)
            elif part.part_kind == "builtin-tool-return":
                self._native_return(part)
            elif part.part_kind == "compaction":
                timeline.add(ContextCompacted())
            else:
                timeline.note("messages", f"a response has a part of kind {part.part_kind!r}, which is not text")
        timeline.say(text)

    def request_part(self, part: Any) -> None:
        """Read what a tool gave back, or what the framework told the model."""
        if part.part_kind == "tool-return":
            self._return(part)
        elif part.part_kind == "retry-feedback":
            self._timeline.add(ErrorEvent(part.model_response()))
        elif part.part_kind == "compaction":
            self._timeline.add(ContextCompacted())

    def _return(self, part: "BaseToolReturnPart") -> None:
        if part.tool_name in self._output_tools:
            if part.outcome == "retried":
                self._timeline.add(ErrorEvent(f"the output was refused: {part.model_response_str()}"))
            return
        if part.outcome == "interrupted":
            return  # made up by the framework for a call that never had a result
        status = _STATUS.get(part.outcome)
        if self._timeline.answer(part.tool_call_id, part.content, status):
            return
        waiting = self._waiting(part.tool_call_id)
        if waiting is None:
            self._timeline.note("tool_calls", f"a result of {part.tool_name!r} belongs to no call")
            return
        self._timeline.call(waiting)
        self._timeline.answer(part.tool_call_id, part.content, status)

    def _waiting(self, id: str) -> ToolCall | None:
        """Return the call of an earlier run that waited for its result until now."""
        for message in reversed(self._before):
            if message.kind == "response":
                for part in message.parts:
                    if part.part_kind == "tool-call" and part.tool_call_id == id:
                        return call_of(part)
        return None

    def _native_call(self, part: "NativeToolCallPart") -> None:
        if part.tool_name.startswith(_MCP) and isinstance(part.args, dict) and part.args.get("action") != "call_tool":
            return  # the provider lists a server's tools: nothing was called
        self._timeline.call(call_of(part))

    def _native_return(self, part: "BaseToolReturnPart") -> None:
        """Take a result of a provider's own tool. What the framework says of its outcome is but a default."""
        output, status = part.content, _STATUS.get(part.outcome) if part.outcome != "success" else None
        if part.tool_name.startswith(_MCP) and isinstance(output, Mapping):
            failed = output.get("is_error") if "is_error" in output else output.get("error") is not None
            status = "failed" if failed else "completed"
            output = output.get("error") if output.get("error") is not None else output.get("output", NOT_GIVEN)
            if output is NOT_GIVEN:
                output = part.content.get("content") if isinstance(part.content, Mapping) else part.content
        self._timeline.answer(part.tool_call_id, output, status)
