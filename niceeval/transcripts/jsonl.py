"""Reads JSON Lines of conversations: one in each line, or a message in each line."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from niceeval.agents._steps import Knowledge, ToolStatusOf, TurnStatusOf
from niceeval.agents.mcp_names import ToolNames
from niceeval.transcript import Transcript
from niceeval.transcripts.files import Shape, open_lines
from niceeval.transcripts.formats import FORMATS

__all__ = ["read_jsonl"]


def read_jsonl(
    path: str | Path,
    /,
    *,
    format: str = "auto",
    messages: str | None = None,
    id: str | Sequence[str] = (),
    group_by: str | None = None,
    tool_status: ToolStatusOf | None = None,
    turn_status: TurnStatusOf | None = None,
    tool_names: ToolNames | None = None,
) -> Iterator[tuple[str, Transcript]]:
    """Read the conversations of a file, one by one, each with its id; the whole file is never in memory.

    A line is a conversation: a list of messages, or an object that has them. Or it is one message; those with the same
    value of `group_by` are a conversation. A conversation without an id has its file and line for one.

    Args:
        path: The file, one JSON value in each line.
        format: The format of the messages: ``"openai"``, ``"responses"``, ``"anthropic"``, ``"langchain"``,
            ``"pydantic-ai"`` or ``"otel"``; ``"auto"`` finds out for each conversation.
        messages: The path to the messages, where it is not ``messages``; with `group_by`, to the message.
        id: The path to the id, or several whose values make it up; one of ``conversation_id``, ``thread_id``,
            ``session_id`` and ``id`` by default.
        group_by: The path to what tells conversations apart where each line is a message.
        tool_status: Says, from a call that has its result and no status, what its status is.
        turn_status: Says, from a turn whose status is not known, how it ended; None where it cannot tell.
        tool_names: The tools of servers that the reported names stand for.

    Raises:
        ValueError: The format is not known, or a path makes no sense.
        EvalLoadError: The file or a conversation cannot be read; the line is named.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "traffic.jsonl"
    >>> _ = path.write_text('{"id": "a1", "messages": [{"role": "user", "content": "Hello"}]}')
    >>> [(id, len(transcript)) for id, transcript in read_jsonl(path)]
    [('a1', 1)]
    """
    if format not in FORMATS:
        raise ValueError(f"read_jsonl() format is one of {', '.join(FORMATS)}, got {format!r}")
    ids = (id,) if isinstance(id, str) else tuple(id)
    shape = Shape(format=format, messages=messages, ids=ids, group_by=group_by)
    known = Knowledge(tool_status, turn_status, tool_names)
    return _read(Path(path), shape, known)


def _read(path: Path, shape: Shape, known: Knowledge) -> Iterator[tuple[str, Transcript]]:
    source = open_lines(path, str(path), shape)
    for index in range(len(source)):
        yield source.id(index) or source.place(index), source.load(index, known)
