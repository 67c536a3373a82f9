"""Streams of the Responses API: events put together to the response that they build."""

from collections.abc import Mapping
from typing import Any, Final, final

from niceeval.agents._pieces import joined

__all__ = ["ResponsesAssembler"]

_MOST_PARTS: Final = 10_000
_ENDS: Final = ("response.completed", "response.incomplete", "response.failed")
_TEXTS: Final = {
    "response.output_text": ("content", "content_index", "output_text", "text"),
    "response.refusal": ("content", "content_index", "refusal", "refusal"),
    "response.reasoning_summary_text": ("summary", "summary_index", "summary_text", "text"),
    "response.reasoning_text": ("content", "content_index", "reasoning_text", "text"),
}
_ARGUMENTS: Final = {
    "response.function_call_arguments": ("arguments", "arguments"),
    "response.custom_tool_call_input": ("input", "input"),
}


@final
class ResponsesAssembler:
    """Puts a stream of a response together.

    What the last event has counts, as it has everything. Until then items are known by their id, and where an event has
    none by their index. An event whose sequence number has been seen is dropped.
    """

    def __init__(self) -> None:
        self._items: list[dict[str, Any]] = []
        self._by_id: dict[str, dict[str, Any]] = {}
        self._by_index: dict[object, dict[str, Any]] = {}
        self._last: Mapping[str, Any] | None = None
        self._seen: set[object] = set()

    @property
    def ended(self) -> bool:
        """Whether the response is whole, or says that it never will be."""
        return self._last is not None

    def feed(self, event: Mapping[str, Any], /) -> None:
        """Take in an event."""
        number = event.get("sequence_number")
        if isinstance(number, int):
            if number in self._seen:
                return
            self._seen.add(number)
        kind = str(event.get("type"))
        if kind in _ENDS:
            response = event.get("response")
            self._last = response if isinstance(response, dict) else {}
        elif kind in ("response.output_item.added", "response.output_item.done"):
            item = event.get("item")
            if isinstance(item, dict):
                self._item(event, item.get("id")).update(_copied(item))
        else:
            family, _, end = kind.rpartition(".")
            if end in ("delta", "done"):
                self._add(event, family, end == "done")

    def close(self) -> None:
        """Hear that the stream is whole, which this protocol says otherwise."""

    def document(self) -> Mapping[str, Any] | None:
        """Return the response as it is so far; None before anything of it came."""
        if self._last is not None:
            # Some endpoints leave out of the last event what they streamed.
            given = self._last.get("output")
            return self._last if given or not self._items else {**self._last, "output": self._in_order()}
        return {"output": self._in_order(), "status": "in_progress"} if self._items else None

    def _in_order(self) -> list[dict[str, Any]]:
        numbered = {id(item): index for index, item in self._by_index.items() if isinstance(index, int)}
        if not all(id(item) in numbered for item in self._items):
            return self._items
        return sorted(self._items, key=lambda item: numbered[id(item)])

    def _item(self, event: Mapping[str, Any], id: object) -> dict[str, Any]:
        index = event.get("output_index")
        item = self._by_id.get(id) if isinstance(id, str) else None
        there = self._by_index.get(index) if index is not None else None
        if there is not None and (not isinstance(id, str) or there.get("id") in (None, id)):
            item = there
        elif item is not None and index is not None and event.get("type") == "response.output_item.added":
            # Another item, with an id that is used again.
            item = None
        if item is None:
            item = {}
            self._items.append(item)
        if isinstance(id, str):
            self._by_id[id] = item
        if index is not None:
            self._by_index[index] = item
        return item

    def _add(self, event: Mapping[str, Any], family: str, done: bool) -> None:
        if family in _ARGUMENTS:
            key, whole = _ARGUMENTS[family]
            item = self._item(event, event.get("item_id"))
            item[key] = _grown(item.get(key), event, whole, done)
        elif family in _TEXTS:
            place, index, kind, key = _TEXTS[family]
            item = self._item(event, event.get("item_id"))
            item.setdefault("type", "message" if place == "content" and "reasoning" not in family else "reasoning")
            parts = item.setdefault(place, [])
            given = event.get(index)
            number = given if isinstance(given, int) and 0 <= given <= _MOST_PARTS else 0
            while len(parts) <= number:
                parts.append({"type": kind, key: ""})
            parts[number][key] = _grown(parts[number].get(key), event, key, done)


def _grown(before: object, event: Mapping[str, Any], whole: str, done: bool) -> str:
    piece = event.get(whole if done else "delta")
    had = before if isinstance(before, str) else ""
    if not isinstance(piece, str):
        return had
    return piece if done else joined([had, piece])


def _copied(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of an item whose lists may grow."""
    return {
        key: [dict(each) if isinstance(each, dict) else each for each in value] if isinstance(value, list) else value
        for key, value in item.items()
    }
