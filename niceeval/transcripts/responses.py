"""Reads the items of OpenAI's Responses API: what went in and what came out, in order.

The items are those of https://platform.openai.com/docs/api-reference/responses, as dicts or SDK objects.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final, final

from niceeval.agents._recorded import transcript_of
from niceeval.agents._steps import (
    Asked,
    Called,
    Ended,
    Happened,
    Knowledge,
    Noted,
    Returned,
    Said,
    Step,
    ToolStatusOf,
    TurnStatusOf,
)
from niceeval.agents.mcp_names import ToolNames
from niceeval.events import ContextCompacted, InputRequested, Thinking
from niceeval.reply import Usage
from niceeval.tool_call import NOT_GIVEN
from niceeval.transcript import Transcript
from niceeval.transcripts._reading import Parts, called, get
from niceeval.transcripts._responses_items import (
    ASKED_OF_CLIENT,
    OWN_TOOLS,
    Response,
    content_of,
    done,
    fields_of,
    flat,
    mcp_result,
    ran,
    results,
    texts_of,
)
from niceeval_expect._evaluation import Absent

__all__ = ["transcript_from_responses"]

_ROLES: Final = ("user", "assistant", "system", "developer")
_ABOUT_TOOLS: Final = ("mcp_list_tools", "additional_tools", "configuration_update", "compaction_trigger")
_NOT_WHOLE: Final = "the answer ended before the call's arguments did"


def transcript_from_responses(
    items: Any,
    /,
    *,
    tool_status: ToolStatusOf | None = None,
    turn_status: TurnStatusOf | None = None,
    tool_names: ToolNames | None = None,
) -> Transcript:
    """Read a recorded conversation with OpenAI's Responses API, turn by turn.

    Turns, results and coverage are as in `transcript_from_openai`. A whole response says how it ended and what it used;
    bare items do not. Calls that a response made on its own servers, MCP included, are calls like any other.

    Args:
        items: Input and output items in order, whole responses among them; or a mapping with ``input`` and ``output``.
        tool_status: Says, from a call that has its result and no status, what its status is.
        turn_status: Says, from a turn whose status is not known, how it ended; None where it cannot tell.
        tool_names: The tools of servers that the reported names stand for.

    Raises:
        ValueError: It is no list of items; the place is named.

    >>> transcript_from_responses([
    ...     {"role": "user", "content": "Where is ORD-448192?"},
    ...     {"type": "function_call", "call_id": "c1", "name": "lookup", "arguments": '{"id": "ORD-448192"}'},
    ...     {"type": "function_call_output", "call_id": "c1", "output": "in transit"},
    ...     {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "On its way."}]},
    ... ]).turns[0].tool_calls
    (ToolCall('lookup', {'id': 'ORD-448192'}, 'in transit', id='c1'),)
    """
    return transcript_of(_Reader().steps(flat(items)), Knowledge(tool_status, turn_status, tool_names))


@final
class _Reader:
    """Items in a row that the agent made are one message of its."""

    def __init__(self) -> None:
        self._begin()
        self._response = False

    def _begin(self) -> None:
        self._parts, self._notes, self._place = Parts(), list[tuple[str, str]](), ""
        self._calls = self._spoke = self._any = False

    def steps(self, items: Iterable[tuple[str, object]]) -> Iterator[Step]:
        for place, item in items:
            if isinstance(item, Response):
                yield from self._close(item)
                continue
            kind = get(item, "type")
            role = get(item, "role")
            if kind is None and role is None:
                raise ValueError(f"transcript_from_responses() {place} has neither a type nor a role: {item!r:.200}")
            yield from self._read(place, kind or "message", item)
        yield from self._close(None)

    def _read(self, place: str, kind: str, item: object) -> Iterator[Step]:
        if kind == "message":
            yield from self._message(place, item)
        elif kind == "reasoning":
            self._own(place)
            texts = [texts_of(get(item, field)) for field in ("content", "summary")]
            if thought := next(filter(None, texts), ""):
                self._parts.add(Thinking(thought))
        elif kind == "mcp_approval_request":
            self._call(place, item, key=("approval", str(get(item, "id"))), server=get(item, "server_label"))
            yield from self._close(None)
            yield Happened(InputRequested(f"May {get(item, 'name')} be called?"))
            yield Ended("waiting")
        elif kind == "mcp_call" and get(item, "approval_request_id") is not None:
            yield from self._close(None)
            output, status = mcp_result(item)
            key = ("approval", str(get(item, "approval_request_id")))
            yield Returned(key=key, output=output, status=status, place=place, name=get(item, "name"))
        elif kind.endswith("_call") and self._called(place, kind, item):
            return
        elif kind.endswith("_output") or kind == "mcp_approval_response":
            yield from self._close(None)
            yield from results(place, kind, item)
        elif kind in ("compaction", "item_reference"):
            yield from self._close(None)
            if kind == "compaction":
                yield Happened(ContextCompacted())
            else:
                for channel in ("messages", "tool_calls"):
                    yield Noted(channel, f"{place} refers to an item that is not here: {get(item, 'id')!r}")
        elif kind not in _ABOUT_TOOLS:
            self._own(place)
            self._notes.append(("tool_calls", f"{place} is of type {kind!r}, which is not read"))

    def _own(self, place: str) -> None:
        self._any = True
        self._place = self._place or place

    def _message(self, place: str, item: object) -> Iterator[Step]:
        role = get(item, "role")
        if role not in _ROLES:
            raise ValueError(f"transcript_from_responses() {place} has the role {role!r}; messages have {_ROLES}")
        if role == "assistant":
            self._own(place)
            texts, notes = content_of(get(item, "content"), "messages", place)
            self._notes += notes
            self._spoke = True
            self._parts.text(texts)
            return
        yield from self._close(None)
        if role == "user":
            yield Asked(*content_of(get(item, "content"), "input", place))

    def _called(self, place: str, kind: str, item: object) -> bool:
        """Take in a call, and tell whether it was one."""
        if kind in ("function_call", "custom_tool_call"):
            given = get(item, "arguments" if kind == "function_call" else "input")
            blank = isinstance(given, str) and not given.strip()
            if kind == "function_call" and blank and get(item, "status") == "incomplete":
                self._call(place, item, arguments=None, input=Absent(_NOT_WHOLE), raw=given)
            elif kind == "custom_tool_call":
                # A custom tool takes free text: there is nothing to parse.
                self._call(place, item, arguments=None, **({} if given is None else {"input": given}))
            else:
                self._call(place, item)
        elif kind == "mcp_call":
            output, status = mcp_result(item)
            own = get(item, "id")
            self._call(place, item, id=own, server=get(item, "server_label"), output=output, status=status)
        elif kind in OWN_TOOLS:
            name, fields, result = OWN_TOOLS[kind]
            given = None if result is None else get(item, result)
            output = NOT_GIVEN if given is None else given
            status = ran(get(item, "status")) if given is None else done(get(item, "status"))
            self._call(place, item, name=name, arguments=fields_of(item, fields), id=get(item, "id"), output=output,
                       status=status)  # fmt: skip
        elif kind in ASKED_OF_CLIENT:
            name, fields = ASKED_OF_CLIENT[kind]
            known = get(item, "call_id") or get(item, "id")
            self._call(place, item, name=name, arguments=fields_of(item, fields), id=known)
        else:
            return False
        return True

    def _call(self, place: str, item: object, **known: Any) -> None:
        self._own(place)
        name = known.pop("name", get(item, "name"))
        arguments = known.pop("arguments", get(item, "arguments"))
        own = known.pop("id", get(item, "call_id"))
        made = called(name, arguments, own, **{key: known[key] for key in known if key not in ("input", "raw")})
        if isinstance(made, str):
            self._notes.append(("tool_calls", f"{place} is {made}"))
            return
        if "input" in known:
            made = Called(
                name=made.name, input=known["input"], raw=known.get("raw"), id=made.id, key=made.key,
            )  # fmt: skip
        self._calls |= made.is_open
        self._parts.add(made)

    def _close(self, response: Response | None) -> Iterator[Step]:
        usage: Usage | None = None if response is None else response.usage
        status, why = (None, None) if response is None else response.ended(calls=self._calls)
        if self._any or usage is not None or why is not None:
            # A response that holds nothing said nothing; reasoning alone is no answer yet.
            unread = not (response is not None and status == "completed") and not self._spoke
            yield Said(
                parts=self._parts.done(unread=unread), place=self._place or None, usage=usage, status=status, why=why,
                notes=self._notes,
            )  # fmt: skip
        self._begin()
