"""Reads the items of a run of the OpenAI Agents SDK."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, final

from niceeval.agents._timeline import Timeline, finished
from niceeval.agents._wrapped import made_call
from niceeval.events import ContextCompacted, Thinking
from niceeval.reply import Usage
from niceeval.tool_call import NOT_GIVEN, ToolCall, ToolStatus

if TYPE_CHECKING:
    from agents import ModelResponse, RunItem
    from agents import Usage as RunUsage

__all__ = ["call_of", "read_items", "read_response", "usage_of"]

_INPUTS: Final = ("action", "actions", "operation", "queries", "code")
_OUTPUTS: Final = ("output", "outputs", "results", "result")
_STATUS: Final[Mapping[str, ToolStatus]] = {"completed": "completed", "failed": "failed", "incomplete": "failed"}


def read_items(
    items: Sequence["RunItem"],
    timeline: Timeline,
    *,
    skipped: int,
    statuses: Mapping[str, ToolStatus | None],
    mcp_tools: Mapping[str, tuple[str, str]],
) -> None:
    """Read what a run brought into a timeline.

    Args:
        items: All items of the run.
        timeline: What they are added to.
        skipped: How many of them belong to an earlier turn, which this one went on with.
        statuses: How calls ended, by their ids.
        mcp_tools: The server and the tool that names stand for.
    """
    reader = _Reader(timeline, items[:skipped], statuses, mcp_tools)
    for item in items[skipped:]:
        reader.read(item)


def read_response(response: "ModelResponse", timeline: Timeline) -> None:
    """Read one answer of the model into a timeline, while its run goes on."""
    timeline.next_step()
    for raw in response.output:
        kind = _get(raw, "type")
        if kind == "message":
            timeline.say(_text_of(raw))
        elif kind == "reasoning":
            _think(raw, timeline)
        elif kind in ("function_call", "custom_tool_call"):
            timeline.call(call_of(raw))


def call_of(raw: object, server: str | None = None) -> ToolCall:
    """Return a call as the model made it."""
    kind = str(_get(raw, "type"))
    name = str(_get(raw, "name") or kind.removesuffix("_call"))
    called = _text_or_none(_get(raw, "call_id") or _get(raw, "id"))
    server = server or _text_or_none(_get(raw, "server_label"))
    if kind == "custom_tool_call":
        return ToolCall(name, _get(raw, "input"), id=called, server=server)  # free text: there is nothing to parse
    if _get(raw, "arguments") is None:
        return ToolCall(name, _asked(raw), id=called, server=server)
    return made_call(name, _get(raw, "arguments"), id=called, server=server)


def usage_of(
    responses: Iterable["ModelResponse"], total: "RunUsage", before: tuple[int, int, int, int]
) -> Usage | None:
    """Return what a turn used; None where one of its requests did not report it.

    The SDK counts a request without usage as one of zero tokens, and keeps no entry of it.

    Args:
        responses: The turn's own answers of the model.
        total: What the run used, agents that are its tools included.
        before: What it had used before the turn: requests, entries, input tokens, output tokens.
    """
    used = [response.usage for response in responses]
    requests, entries, read, written = before
    if not used or any(not (each.input_tokens or each.output_tokens) for each in used):
        return None
    if total.requests - requests != len(total.request_usage_entries) - entries:
        return None
    return Usage(input_tokens=total.input_tokens - read, output_tokens=total.output_tokens - written)


@final
class _Reader:
    def __init__(
        self,
        timeline: Timeline,
        before: Sequence["RunItem"],
        statuses: Mapping[str, ToolStatus | None],
        mcp_tools: Mapping[str, tuple[str, str]],
    ) -> None:
        self._timeline = timeline
        self._before = before
        self._statuses = statuses
        self._mcp_tools = mcp_tools
        self._calling = False

    def read(self, item: "RunItem") -> None:
        """Read one item."""
        timeline, raw = self._timeline, item.raw_item
        calls = item.type in ("tool_call_item", "handoff_call_item")
        if not calls or not self._calling:
            timeline.next_step()  # calls in a row were made at once
        self._calling = calls
        if item.type == "message_output_item":
            timeline.say(_text_of(raw))
        elif item.type == "reasoning_item":
            _think(raw, timeline)
        elif item.type == "handoff_call_item":
            timeline.call(call_of(raw))
        elif item.type == "handoff_output_item":
            self._answer(raw, _get(raw, "output"), "completed")
        elif item.type == "tool_call_item":
            self._call(item)
        elif item.type == "tool_call_output_item":
            self._answer(raw, item.output, self._statuses.get(str(_get(raw, "call_id"))))
        elif item.type == "compaction_item":
            timeline.add(ContextCompacted())

    def _call(self, item: Any) -> None:
        raw = item.raw_item
        kind = str(_get(raw, "type"))
        if kind in ("function_call", "custom_tool_call"):
            self._timeline.call(self._named(call_of(raw, _server_of(item))))
        else:
            self._timeline.call(_hosted_call(raw))

    def _named(self, call: ToolCall) -> ToolCall:
        if call.name not in self._mcp_tools:
            return call
        server, name = self._mcp_tools[call.name]
        arguments = call.raw_input if call.raw_input is not None else call.input
        return made_call(name, arguments, id=call.id, server=server)

    def _answer(self, raw: object, output: object, status: ToolStatus | None) -> None:
        called = _text_or_none(_get(raw, "call_id"))
        if self._timeline.answer(called, output, status):
            return
        for item in reversed(self._before):
            if item.type == "tool_call_item" and _get(item.raw_item, "call_id") == called:
                self._call(item)
                self._timeline.answer(called, output, status)
                return
        self._timeline.note("tool_calls", f"a result with the id {called!r} belongs to no call")


def _hosted_call(raw: object) -> ToolCall:
    """Return a call of a tool that the provider runs, as far as it is said: what was asked, and how it ended."""
    call, error = call_of(raw), _get(raw, "error")
    if error:
        return finished(call, _plain(error), "failed")
    output = next((_plain(_get(raw, key)) for key in _OUTPUTS if _get(raw, key) is not None), NOT_GIVEN)
    status = _STATUS.get(str(_get(raw, "status")))
    if status is None and output is not NOT_GIVEN and _get(raw, "type") == "mcp_call":
        status = "completed"  # the protocol has a place of its own for an error
    return call if output is NOT_GIVEN and status is None else finished(call, output, status)


def _asked(raw: object) -> Any:
    return {key: _plain(_get(raw, key)) for key in _INPUTS if _get(raw, key) is not None} or NOT_GIVEN


def _server_of(item: Any) -> str | None:
    server = getattr(item.tool_origin, "mcp_server_name", None)
    return server if isinstance(server, str) else None


def _text_of(raw: object) -> str:
    """Return what a message says: its texts, and its refusal where it is one."""
    parts = _get(raw, "content") or ()
    return "".join(str(_get(part, "text") or _get(part, "refusal") or "") for part in parts)


def _think(raw: object, timeline: Timeline) -> None:
    parts = [*(_get(raw, "summary") or ()), *(_get(raw, "content") or ())]
    thought = "\n\n".join(str(_get(part, "text")) for part in parts if _get(part, "text"))
    if thought:
        timeline.add(Thinking(thought))


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(each) for each in value]
    dump = getattr(value, "model_dump", None)
    return dump(mode="json", exclude_none=True) if callable(dump) else value


def _get(value: object, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else getattr(value, key, None)


def _text_or_none(value: object) -> str | None:
    return None if value is None else str(value)
