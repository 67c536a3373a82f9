"""Single items of OpenAI's Responses API: where they stand, what calls they hold, and what came back."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, final

from niceeval.agents._steps import Returned, Step
from niceeval.reply import TurnStatus
from niceeval.tool_call import NOT_GIVEN, ToolStatus
from niceeval.transcripts._reading import ending, get, is_list, only_text, usage_of

__all__ = ["ASKED_OF_CLIENT", "OWN_TOOLS", "Response", "content_of", "done", "fields_of", "flat", "mcp_result", "ran",
           "results", "texts_of"]  # fmt: skip

# The fields that hold what an item's call was asked, and what it gave back, where that stands with it.
OWN_TOOLS: Final[Mapping[str, tuple[str, tuple[str, ...], str | None]]] = {
    "web_search_call": ("web_search", ("action",), None),
    "file_search_call": ("file_search", ("queries",), "results"),
    "code_interpreter_call": ("code_interpreter", ("code",), "outputs"),
    "image_generation_call": ("image_generation", ("revised_prompt",), "result"),
}
ASKED_OF_CLIENT: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "computer_call": ("computer", ("actions", "action")),
    "local_shell_call": ("local_shell", ("action",)),
    "shell_call": ("shell", ("action",)),
    "apply_patch_call": ("apply_patch", ("operation",)),
    "tool_search_call": ("tool_search", ("arguments",)),
}
_STATUSES: Final[Mapping[object, ToolStatus]] = {
    "completed": "completed",
    "failed": "failed",
    "in_progress": "pending",
    "searching": "pending",
    "interpreting": "pending",
    "generating": "pending",
    "calling": "pending",
}


def flat(given: object) -> Iterator[tuple[str, object]]:
    """Yield the items with their places; a whole response is followed by None in the place of an item."""
    if get(given, "output") is not None and not is_list(given):
        asked = get(given, "input")
        yield from _flat_list([{"role": "user", "content": asked}] if isinstance(asked, str) else asked or [], "input")
        yield from _flat_list([given] if isinstance(get(given, "status"), str) else get(given, "output"), "output")
        return
    if not is_list(given):
        raise ValueError(f"transcript_from_responses() takes a list of items, got {type(given).__name__}")
    yield from _flat_list(given, "")


def _flat_list(given: object, name: str) -> Iterator[tuple[str, object]]:
    if not isinstance(given, Iterable) or isinstance(given, str | bytes | Mapping):
        raise ValueError(f"transcript_from_responses() {name} is a list of items, got {type(given).__name__}")
    for index, item in enumerate(given):
        place = f"{name} item {index}".strip()
        if get(item, "type") is None and get(item, "role") is None and is_list(get(item, "output")):
            for inner, part in enumerate(get(item, "output")):
                yield f"{place}, output item {inner}", part
            yield f"{place}, the response", Response(item)
        else:
            yield place, item


@final
class Response:
    """The end of a whole response."""

    def __init__(self, given: object) -> None:
        self.usage = usage_of(get(given, "usage"), ("input_tokens",), ("output_tokens",))
        self._status = get(given, "status")
        self._reason = get(get(given, "incomplete_details"), "reason")
        self._error = get(get(given, "error"), "message")

    def ended(self, *, calls: bool) -> tuple[TurnStatus | None, str | None]:
        if self._status in (None, "completed"):
            return ending(self._status, "status", calls=calls)
        if self._status == "failed" and self._error:
            return "failed", f"the response failed: {self._error}"
        status, why = ending(self._reason, "reason", calls=calls)
        return status or "failed", why or f"the provider left the response {self._status}"


def results(place: str, kind: str, item: object) -> Iterator[Step]:
    """Yield what a call returned, or that its approval was denied."""
    if kind == "mcp_approval_response":
        if get(item, "approve") is False:
            key = ("approval", str(get(item, "approval_request_id")))
            yield Returned(key=key, status="rejected", place=place)
        return
    known = get(item, "call_id") or get(item, "id")
    status = _STATUSES.get(get(item, "status")) if kind == "apply_patch_call_output" else None
    given = get(item, "tools") if kind == "tool_search_output" else get(item, "output")
    output = only_text(given, "input_text", "output_text", "text")
    yield Returned(key=("id", None if known is None else str(known)), output=output, status=status, place=place,
                   name=get(item, "name"))  # fmt: skip


def mcp_result(item: object) -> tuple[Any, ToolStatus | None]:
    """Return output and status of a call that the provider made itself."""
    error, output = get(item, "error"), get(item, "output")
    if error is not None:
        return error, "failed"
    if output is None:
        return NOT_GIVEN, _STATUSES.get(get(item, "status"))
    return output, done(get(item, "status"))


def done(status: object) -> ToolStatus | None:
    """Return the status of a call that has its output."""
    known = _STATUSES.get(status)
    return None if known == "pending" else known


def fields_of(item: object, names: Sequence[str]) -> Any:
    """Return the input of a call that stands in fields of its item; None where none of them is there."""
    found = {name: value for name in names if (value := get(item, name)) is not None}
    if not found:
        return None
    only = next(iter(found.values()))
    if hasattr(only, "model_dump"):
        only = only.model_dump(mode="json")
    return only if len(names) == 1 and isinstance(only, Mapping) else {next(iter(found)): only}


def content_of(content: object, channel: str, place: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the text of a message, and what of it is none."""
    if content is None or isinstance(content, str):
        return content or "", []
    if not is_list(content):
        raise ValueError(
            f"transcript_from_responses() {place} content is text or a list of parts, got {type(content).__name__}"
        )
    texts, notes = [], []
    for part in content:
        kind = get(part, "type")
        text = get(part, "refusal" if kind == "refusal" else "text")
        if isinstance(text, str):
            texts.append(text)
        else:
            notes.append((channel, f"{place} has a part of type {kind!r}, which is not text"))
    return "".join(texts), notes


def ran(status: object) -> ToolStatus | None:
    """Return what an item says of a call that it made itself."""
    return _STATUSES.get(status)


def texts_of(parts: object) -> str:
    found = [get(part, "text") for part in parts] if is_list(parts) else []
    return "\n\n".join(text for text in found if isinstance(text, str) and text)
