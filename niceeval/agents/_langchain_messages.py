"""Reads the messages of a LangGraph graph, as its own state keeps them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, final

from niceeval.agents._timeline import Timeline
from niceeval.events import Thinking
from niceeval.reply import Usage
from niceeval.tool_call import ToolCall, ToolStatus

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

__all__ = ["StateReader"]

_STATUS: Final[Mapping[str, ToolStatus]] = {"success": "completed", "error": "failed"}
_THOUGHTS: Final = {"thinking": "thinking", "reasoning": "reasoning"}
# Blocks that say the same as the message's own `tool_calls`, or nothing that can be read.
_SAID_ELSEWHERE: Final = frozenset(
    {
        "tool_use", "tool_call", "tool_call_chunk", "invalid_tool_call", "function_call", "input_json_delta",
        "redacted_thinking", "non_standard",
    }
)  # fmt: skip


@final
class StateReader:
    """Takes in the state's messages as they come, each once, and knows which of them belong to this turn.

    Args:
        timeline: What the turn's own messages are added to.
    """

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._ids: set[str] = set()
        self._kept: dict[int, BaseMessage] = {}  # by identity, which lasts as long as they are kept
        self._all: list[BaseMessage] = []
        self._answers: list[AIMessage] = []
        self.found = False

    def know(self, messages: Iterable[Any]) -> None:
        """Take in messages that were there before the turn."""
        for message in map(_as_message, messages):
            if message is not None:
                self.found = True
                if self._is_new(message):
                    self._all.append(message)

    def read(self, messages: object) -> None:
        """Take in messages that the turn may have brought; those that are known already are skipped."""
        several = isinstance(messages, Sequence) and not isinstance(messages, str)
        listed: Any = messages if several else (messages,)
        for message in map(_as_message, listed):
            if message is None:
                continue
            self.found = True
            if not self._is_new(message):
                continue
            if message.type in ("ai", "AIMessageChunk"):
                self._answer(message)
            elif message.type == "tool":
                self._result(message)
            self._all.append(message)

    @property
    def answered(self) -> bool:
        """Whether the model said or called anything in this turn."""
        return bool(self._answers)

    def usage(self) -> Usage | None:
        """Return what the turn used; None where one of its answers came without usage."""
        used = [answer.usage_metadata for answer in self._answers]
        known = [each for each in used if each is not None]
        if not known or len(known) < len(used):
            return None
        return Usage(
            input_tokens=sum(each["input_tokens"] for each in known),
            output_tokens=sum(each["output_tokens"] for each in known),
        )

    def _is_new(self, message: "BaseMessage") -> bool:
        known = id(message) in self._kept or (message.id is not None and message.id in self._ids)
        self._kept[id(message)] = message
        if message.id is not None:
            self._ids.add(message.id)
        return not known

    def _answer(self, message: "AIMessage") -> None:
        self._answers.append(message)
        self._timeline.next_step()
        self._content(message.content)
        for call in message.tool_calls:
            self._timeline.call(_call_of(call))
        for broken in message.invalid_tool_calls:
            name, text = broken.get("name"), broken.get("args") or ""
            if name:
                reason = broken.get("error") or "the arguments cannot be read"
                self._timeline.call(ToolCall.unreadable(name, text, reason, id=broken.get("id")))
            else:
                self._timeline.note("tool_calls", f"a call without a name could not be read: {text[:500]}")

    def _content(self, content: "str | Sequence[str | Mapping[str, Any]]") -> None:
        text = ""
        for block in (content,) if isinstance(content, str) else content:
            if isinstance(block, str):
                text += block
                continue
            kind = str(block.get("type"))
            if kind == "text":
                text += str(block.get("text", ""))
            elif kind in _THOUGHTS:
                thought = block.get(_THOUGHTS[kind])
                if isinstance(thought, str) and thought:
                    self._timeline.add(Thinking(thought))
            elif kind not in _SAID_ELSEWHERE:
                own_tool = kind.endswith(("_call", "_use", "_result", "_output"))
                channel = "tool_calls" if own_tool else "messages"
                self._timeline.note(channel, f"an answer has a block of type {kind!r}, which is not read")
        self._timeline.say(text)

    def _result(self, message: "ToolMessage") -> None:
        called, status = message.tool_call_id, _STATUS.get(message.status)
        if self._timeline.answer(called, message.content, status):
            return
        call = self._waiting(called)
        if call is None:
            self._timeline.note("tool_calls", f"a result of the tool {message.name!r} belongs to no call")
            return
        self._timeline.call(call)
        self._timeline.answer(called, message.content, status)

    def _waiting(self, id: str) -> ToolCall | None:
        """Return the call of an earlier turn that waited for its result until now."""
        for message in reversed(self._all):
            for call in getattr(message, "tool_calls", ()):
                if call.get("id") == id:
                    return _call_of(call)
        return None


def _as_message(given: Any) -> Any:
    """Return a message; None where it is not one yet, as what a node returns becomes one in the state."""
    if not isinstance(given, Mapping):
        return given if getattr(given, "type", None) is not None else None
    if given.get("id") is None or given.get("type") is None:
        return None
    from langchain_core.messages import convert_to_messages

    return convert_to_messages([dict(given)])[0]  # a graph that runs elsewhere sends its messages as objects


def _call_of(call: Mapping[str, Any]) -> ToolCall:
    return ToolCall(call["name"], call["args"], id=call.get("id"))
