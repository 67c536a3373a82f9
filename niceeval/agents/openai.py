"""Reads the OpenAI chat-completions message format as it occurs in the wild.

What the format does not say stays unknown: how a turn ended, and what became of a tool call beyond its output.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from niceeval.agents._openai_messages import RawCall, RawMessage, read_messages
from niceeval.agents._recorded import TurnSteps, transcript_of
from niceeval.agents._steps import Asked, Called, Knowledge, Noted, Returned, Said, Step, ToolStatusOf, TurnStatusOf
from niceeval.agents.mcp_names import ToolNames
from niceeval.events import Event, Message, Thinking
from niceeval.reply import Reply, Usage
from niceeval.transcript import Transcript

__all__ = ["reply_from_openai", "transcript_from_openai"]


def transcript_from_openai(
    messages: Sequence[Mapping[str, Any]],
    /,
    *,
    tool_status: ToolStatusOf | None = None,
    turn_status: TurnStatusOf | None = None,
    tool_names: ToolNames | None = None,
) -> Transcript:
    """Read a recorded conversation, turn by turn.

    A turn is one user message and everything up to the next one; two user messages in a row are two turns, the first of
    which nobody answered. What the assistant says before any user message is a turn with the input ``""``. System and
    developer messages belong to no turn. A turn that ended on the assistant's words and was followed by another is
    completed; how the last turn ended, or one that broke off, the format does not say: its status is None.

    A result belongs to the nearest preceding assistant message of its turn that has an unanswered call with its id,
    first to first. A call without a result is pending; the other calls have the status None, unless `tool_status` says
    more. A result without a call, a call without a name, and a text that looks like a call nobody parsed leave the
    turn's tool calls ``"partial"``, with the reason.

    Args:
        messages: The messages, as dicts or SDK objects.
        tool_status: Says, from a call that has its result, what its status is; None where it cannot tell.
        turn_status: Says, from a turn whose status is not known, how it ended; None where it cannot tell.
        tool_names: The tools of servers that the reported names stand for.

    Raises:
        ValueError: `messages` is not a list, or one of them is not a chat-completions message; its index is named. Or
            `tool_status` or `turn_status` returned something that is no status.

    >>> transcript = transcript_from_openai([
    ...     {"role": "user", "content": "Where is ORD-448192?"},
    ...     {"role": "assistant", "content": None, "tool_calls": [
    ...         {"id": "c1", "type": "function", "function": {"name": "lookup", "arguments": '{"id": "ORD-448192"}'}}]},
    ...     {"role": "tool", "tool_call_id": "c1", "content": "Error: unknown order"},
    ...     {"role": "assistant", "content": "I cannot find it."},
    ... ], tool_status=lambda call: "failed" if str(call.output).startswith("Error") else "completed")
    >>> transcript.turns[0].messages, transcript.turns[0].tool_calls
    (('I cannot find it.',),
     (ToolCall('lookup', {'id': 'ORD-448192'}, 'Error: unknown order', status='failed', id='c1'),))
    """
    read = read_messages(messages, "transcript_from_openai")
    return transcript_of(_steps(read), Knowledge(tool_status, turn_status, tool_names))


def reply_from_openai(messages: Sequence[Any], /, *, usage: Usage | None = None) -> Reply:
    """Read the messages of one turn as a reply: its texts, its tool calls and their results.

    Where the list holds more of the conversation, what follows its last user message is the reply. It is completed
    if it ends on an assistant message that calls no tool; otherwise its status is None, as nobody said how it ended.

    Args:
        messages: The messages, as dicts or SDK objects.
        usage: What the turn used, if it is known. The messages do not say.

    Raises:
        ValueError: `messages` is not a list, one of them is not a chat-completions message, or none of them is the
            agent's.

    >>> reply = reply_from_openai([{"role": "assistant", "content": "It is on its way."}])
    >>> reply.message, reply.status, reply.tool_calls, reply.usage
    ('It is on its way.', 'completed', (), None)
    """
    tail: list[RawMessage] = []
    for message in read_messages(messages, "reply_from_openai"):
        if message.role == "user":
            tail = []
        elif message.role not in ("system", "developer"):
            tail.append(message)
    if not tail:
        raise ValueError(
            "reply_from_openai() got no message of the agent after the last user message: "
            "append the response to the messages first"
        )
    turn = TurnSteps([*_steps(tail)], Knowledge())
    last = tail[-1]
    reply = Reply(
        turn.messages[-1] if turn.messages else "",
        tool_calls=turn.calls,
        usage=usage,
        status="completed" if last.role == "assistant" and not last.calls else None,
        events=turn.events,
        coverage={"messages": turn.coverage("messages"), "tool_calls": turn.coverage("tool_calls")},
    )
    return reply.explained(turn.reasons) if turn.reasons else reply


def _steps(messages: Sequence[RawMessage]) -> Iterator[Step]:
    for message in messages:
        if message.role in ("system", "developer"):
            continue
        if message.role == "user":
            yield Asked(message.text or "", message.notes)
        elif message.role == "assistant":
            parts: list[Called | Event] = [Thinking(message.thinking)] if message.thinking else []
            if message.text is not None:
                parts.append(Message("assistant", message.text))
            yield Said(parts=[*parts, *map(_called, message.calls)], notes=message.notes)
        else:
            for channel, note in message.notes:
                yield Noted(channel, note)
            yield Returned(
                key=("name", message.name) if message.role == "function" else ("id", message.call_id),
                output=message.output,
                place=f"message {message.index}",
                name=message.name,
            )


def _called(call: RawCall) -> Called:
    key = ("name", call.name) if call.legacy else ("id", call.id)
    return Called(name=call.name, input=call.input, raw=call.raw_input, id=call.id, key=key)
