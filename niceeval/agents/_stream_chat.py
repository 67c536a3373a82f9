"""Streams of chat completions: deltas put together to the message that they are pieces of."""

from collections.abc import Mapping
from typing import Any, final

from niceeval.agents._pieces import Arguments, joined

__all__ = ["ChatAssembler"]

_TEXTS = ("content", "refusal", "reasoning_content", "reasoning")


@final
class ChatAssembler:
    """Puts a stream of chat completions together.

    A piece of a call belongs to the call with its id; a piece without an id, or with a new one and no name, to the
    latest call with its index; a piece without either to the latest call. A piece that names another tool, or that has
    a name and another index, begins a call of its own, whatever its id. Names and whole arguments that are sent again
    do not count twice. Calls are in the order of their indexes, where all have one.
    """

    def __init__(self) -> None:
        self.ended = False
        self._texts: dict[str, list[str]] = {}
        self._calls: list[_Call] = []
        self._by_id: dict[str, _Call] = {}
        self._by_index: dict[object, _Call] = {}
        self._legacy: _Call | None = None
        self._rest: dict[str, Any] = {}
        self._finish: object = None
        self._came = self._began = False

    def feed(self, event: Mapping[str, Any], /) -> None:
        """Take in a chunk."""
        usage = event.get("usage")
        if usage is not None:
            # Some endpoints send a running total with every chunk: the last one counts.
            self._rest["usage"] = usage
        choices = event.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict) or choice.get("index") not in (0, None):
            return
        self._began = True
        delta = choice.get("delta")
        if isinstance(delta, dict):
            self._add(delta)
        if choice.get("finish_reason") is not None:
            self._finish = choice["finish_reason"]
            self.ended = True

    def close(self) -> None:
        """Hear that the stream is whole."""
        self.ended = True

    def document(self) -> Mapping[str, Any] | None:
        """Return the completion as it is so far; None before anything of it came."""
        if not self._came and not (self._began and self.ended):
            return None
        message: dict[str, Any] = {name: joined(pieces) for name, pieces in self._texts.items()}
        if self._calls:
            message["tool_calls"] = [call.document() for call in self._in_order()]
        if self._legacy is not None:
            message["function_call"] = self._legacy.function()
        return {**self._rest, "choices": [{"message": message, "finish_reason": self._finish}]}

    def _in_order(self) -> "list[_Call]":
        numbers = {id(call): call.index for call in self._calls if isinstance(call.index, int)}
        if len(numbers) < len(self._calls):
            return self._calls
        return sorted(self._calls, key=lambda call: numbers[id(call)])

    def _add(self, delta: Mapping[str, Any]) -> None:
        for name in _TEXTS:
            text = delta.get(name)
            if isinstance(text, str) and text:
                self._came = True
                self._texts.setdefault(name, []).append(text)
        pieces = delta.get("tool_calls")
        for piece in pieces if isinstance(pieces, list) else ():
            if isinstance(piece, dict):
                self._came = True
                self._call_of(piece).add(piece)
        legacy = delta.get("function_call")
        if isinstance(legacy, dict):
            self._came = True
            self._legacy = self._legacy or _Call()
            self._legacy.add({"function": legacy})

    def _call_of(self, piece: Mapping[str, Any]) -> "_Call":
        given, index = piece.get("id") or None, piece.get("index")
        call = self._known(given, index)
        if call is None or not call.goes_on(piece):
            call = _Call(index)
            self._calls.append(call)
        if isinstance(given, str):
            self._by_id[given] = call
        if index is not None:
            self._by_index[index] = call
        return call

    def _known(self, given: object, index: object) -> "_Call | None":
        """Return the call in the place of a piece: of several with one id, the one with its index."""
        there = self._by_index.get(index) if index is not None else None
        if isinstance(given, str) and given in self._by_id:
            return there if there is not None and there.id == given else self._by_id[given]
        if index is not None:
            return there
        return self._calls[-1] if self._calls else None


@final
class _Call:
    """A call that is put together."""

    def __init__(self, index: object = None) -> None:
        self.index = index
        self.id: str | None = None
        self._extra: dict[str, Any] = {}
        self._name: str | None = None
        self._arguments = Arguments()

    def goes_on(self, piece: Mapping[str, Any]) -> bool:
        """Whether a piece in this call's place belongs to this call."""
        given, index, function = piece.get("id") or None, piece.get("index"), _function(piece)
        name = function.get("name")
        if not name:
            return True
        if self._name not in (None, name) or (given is not None and self.id not in (None, given)):
            return False
        if given is not None and index is not None and index != self.index and self._name is not None:
            return False
        return not self._arguments.complete or self._arguments.has(function.get("arguments"))

    def add(self, piece: Mapping[str, Any]) -> None:
        """Take in a piece."""
        function = _function(piece)
        again = bool(self._name) and bool(function.get("name"))
        self._extra.update({key: value for key, value in piece.items() if key not in ("id", "index", "function")})
        if self.id is None and isinstance(piece.get("id"), str):
            self.id = piece["id"] or None
        if self._name is None and isinstance(function.get("name"), str):
            self._name = function["name"] or None
        arguments = function.get("arguments")
        if not (again and self._arguments.has(arguments) and self._arguments.complete):
            self._arguments.add(arguments)

    def function(self) -> dict[str, Any]:
        """Return the call's name and arguments."""
        return {"name": self._name, "arguments": self._arguments.given}

    def document(self) -> dict[str, Any]:
        """Return the call as a message has it."""
        return {**self._extra, "id": self.id, "function": self.function()}


def _function(piece: Mapping[str, Any]) -> Mapping[str, Any]:
    function = piece.get("function")
    return function if isinstance(function, dict) else {}
