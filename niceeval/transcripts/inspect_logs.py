"""Reads the logs of inspect_ai with its own package: every sample is a conversation."""

import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from niceeval.agents._recorded import transcript_of
from niceeval.agents._steps import (
    Asked,
    Called,
    Ended,
    Happened,
    Knowledge,
    Returned,
    Said,
    Step,
    ToolStatusOf,
    TurnStatusOf,
)
from niceeval.agents.mcp_names import ToolNames
from niceeval.errors import EvalLoadError
from niceeval.events import ErrorEvent, Thinking
from niceeval.tool_call import ToolStatus
from niceeval.transcript import Transcript
from niceeval.transcripts._reading import Parts, called, ending
from niceeval_expect._evaluation import Absent

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample

__all__ = ["inspect_ids", "inspect_sample", "transcripts_from_inspect"]

_UNUSED: Final = {"events", "store", "scores", "timelines"}
_UNREAD: Final = re.compile(
    r"Error parsing the following tool call arguments:\n\n(.*)\n\nError details: (.*)", re.DOTALL
)
_BROKEN: Final = "the sample ended in an error: "


def transcripts_from_inspect(
    log: str | Path,
    /,
    *,
    tool_status: ToolStatusOf | None = None,
    turn_status: TurnStatusOf | None = None,
    tool_names: ToolNames | None = None,
) -> Iterator[tuple[str, Transcript]]:
    """Read the samples of an inspect_ai log, one by one: each with its id, and ``/2`` for its second epoch.

    A tool message with an error failed, or was rejected where its approval was refused; one without completed. A sample
    that ended in an error or at a limit has a failed last turn. Usage is not reported: a log says what a sample used as
    a whole, its scorers included.

    Args:
        log: The log, an ``.eval`` or ``.json`` file.
        tool_status: Says, from a call that has its result and no status, what its status is.
        turn_status: Says, from a turn whose status is not known, how it ended; None where it cannot tell.
        tool_names: The tools of servers that the reported names stand for.

    Raises:
        EvalLoadError: inspect_ai is not installed, or it cannot read the file.
    """
    known = Knowledge(tool_status, turn_status, tool_names)
    for known_id, (sample, epoch) in inspect_ids(log).items():
        yield known_id, inspect_sample(log, sample, epoch, known)


def _package() -> Any:
    try:
        import inspect_ai.log
    except ImportError:
        raise EvalLoadError(
            'logs of inspect_ai are read with its own package: pip install "niceeval[inspect]"'
        ) from None
    return inspect_ai.log


def _apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a thread of its own: inspect_ai reads with an event loop, and here one may be running."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(function, *arguments).result()


def inspect_ids(log: str | Path) -> dict[str, tuple[int | str, int]]:
    """Return the ids of the samples, with what inspect_ai calls them: their id and their epoch.

    Raises:
        EvalLoadError: inspect_ai is not installed, or it cannot read the file.
    """
    package = _package()
    try:
        summaries = _apart(package.read_eval_log_sample_summaries, str(log))
    except Exception as error:
        raise EvalLoadError(f"{log} cannot be read as a log of inspect_ai: {error}") from error
    several = any(each.epoch != 1 for each in summaries)
    return {(f"{each.id}/{each.epoch}" if several else str(each.id)): (each.id, each.epoch) for each in summaries}


def inspect_sample(log: str | Path, sample: int | str, epoch: int, known: Knowledge) -> Transcript:
    """Return one sample of a log.

    Raises:
        EvalLoadError: inspect_ai cannot read it.
    """
    try:
        read = partial(_package().read_eval_log_sample, exclude_fields=_UNUSED)
        found = _apart(read, str(log), sample, epoch)
    except EvalLoadError:
        raise
    except Exception as error:
        raise EvalLoadError(f"{log}: the sample {sample!r}, epoch {epoch}, cannot be read: {error}") from error
    return transcript_of(_steps(found), known)


def _steps(sample: "EvalSample") -> Iterator[Step]:
    for index, message in enumerate(sample.messages):
        place = f"message {index}"
        if message.role == "user":
            texts, notes = _texts(message.content, "input", place)
            yield Asked("".join(texts), notes)
        elif message.role == "assistant":
            yield _said(message, place, sample.output if message is _last_said(sample) else None)
        elif message.role == "tool":
            yield _returned(message, place)
    if sample.error is not None:
        yield Happened(ErrorEvent(f"{_BROKEN}{sample.error.message}"))
        yield Ended("failed")
    elif sample.limit is not None:
        yield Happened(ErrorEvent(f"the sample ended at its limit of {sample.limit.type}: {sample.limit.limit:g}"))
        yield Ended("failed")


def _last_said(sample: "EvalSample") -> Any:
    return next((message for message in reversed(sample.messages) if message.role == "assistant"), None)


def _texts(content: Any, channel: str, place: str) -> tuple[list[str], list[tuple[str, str]]]:
    if isinstance(content, str):
        return [content], []
    texts = [part.text for part in content if part.type == "text"]
    others = sorted({part.type for part in content} - {"text"})
    return texts, [(channel, f"{place} has a part of type {kind!r}, which is not text") for kind in others]


def _returned(message: Any, place: str) -> Returned:
    output: Any = message.text if not message.content or isinstance(message.content, str) else None
    if output is None:
        texts, others = _texts(message.content, "", place)
        output = "".join(texts) if not others else [part.model_dump(mode="json") for part in message.content]
    status: ToolStatus = "completed"
    if message.error is not None:
        status = "rejected" if message.error.type == "approval" else "failed"
        output = output or message.error.message
    return Returned(key=("id", message.tool_call_id), output=output, status=status, place=place, name=message.function)


def _said(message: Any, place: str, output: Any) -> Said:
    parts, notes, unread = Parts(), list[tuple[str, str]](), False
    for part in [message.content] if isinstance(message.content, str) else message.content:
        if isinstance(part, str):
            parts.text(part)
        elif part.type == "text":
            parts.text(part.text)
        elif part.type == "reasoning":
            if not part.redacted and part.reasoning:
                parts.add(Thinking(part.reasoning))
        elif part.type == "tool_use":
            _add(parts, notes, place, _own_call(part))
        else:
            unread = True
            notes.append(("messages", f"{place} has a part of type {part.type!r}, which is not text"))
    waiting = list(message.tool_calls or ())
    for call in waiting:
        _add(parts, notes, place, _call(call))
    choices = getattr(output, "choices", None)
    reason = choices[0].stop_reason if choices else None
    status, why = ending(reason, "stop_reason", calls=bool(waiting))
    return Said(parts=parts.done(unread=unread), place=place, status=status, why=why, notes=notes)


def _call(call: Any) -> Called | str:
    if call.parse_error is None:
        return called(call.function, call.arguments, call.id)
    made = called(call.function, None, call.id)
    if isinstance(made, str):
        return made
    # inspect_ai keeps the text in the sentence that says what is wrong with it.
    told = _UNREAD.fullmatch(call.parse_error)
    raw, why = told.groups() if told else (json.dumps(call.arguments), call.parse_error.strip().splitlines()[0])
    reason = Absent(f"the arguments cannot be read: {why}")
    return Called(name=made.name, input=reason, raw=raw, id=made.id, key=made.key)


def _own_call(part: Any) -> Called | str:
    """Return a call that the provider made on its own servers."""
    more: dict[str, Any] = {"output": part.result, "status": "completed"}
    if part.error is not None:
        more = {"output": part.error, "status": "failed"}
    server = part.context if part.tool_type == "mcp_call" else None
    return called(part.name, part.arguments, part.id, server=server, **more)


def _add(parts: Parts, notes: list[tuple[str, str]], place: str, call: Called | str) -> None:
    if isinstance(call, str):
        notes.append(("tool_calls", f"{place} has {call}"))
    else:
        parts.add(call)
