"""Streams of Anthropic's messages: events put together to the message that they build."""

from collections.abc import Mapping
from typing import Any, Final, final

from niceeval.agents._arguments import parse_arguments
from niceeval.agents._pieces import joined

__all__ = ["RAW_INPUT", "AnthropicAssembler"]

RAW_INPUT: Final = "niceeval_raw_input"
"""The key under which a block has the text of its input, where that text is no JSON object."""
_DELTAS: Final = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
}


@final
class AnthropicAssembler:
    """Puts a stream of a message together.

    Blocks are known by their index, and stand in its order. A block that is announced again is the same block; what
    comes for a block that has ended is dropped, and what comes before its beginning waits for it. Without an index, an
    event is about the latest block.
    """

    def __init__(self) -> None:
        self.ended = False
        self._message: dict[str, Any] | None = None
        self._blocks: dict[object, dict[str, Any]] = {}
        self._inputs: dict[object, list[str]] = {}
        self._stopped: set[object] = set()
        self._early: dict[object, list[object]] = {}
        self._unnumbered = 0

    def feed(self, event: Mapping[str, Any], /) -> None:
        """Take in an event."""
        kind, index = event.get("type"), event.get("index", ("unnumbered", self._unnumbered))
        if kind == "message_start" and self._message is None:
            message = event.get("message")
            self._message = dict(message) if isinstance(message, dict) else {}
        elif kind == "content_block_start":
            block = event.get("content_block")
            if isinstance(block, dict) and index not in self._blocks:
                self._blocks[index] = dict(block)
                for delta in self._early.pop(index, ()):
                    self._grow(index, delta)
        elif kind == "content_block_delta" and index not in self._blocks:
            self._early.setdefault(index, []).append(event.get("delta"))
        elif kind == "content_block_delta" and index not in self._stopped:
            self._grow(index, event.get("delta"))
        elif kind == "content_block_stop":
            self._stopped.add(index)
            self._unnumbered += "index" not in event
        elif kind == "message_delta":
            self._end(event)
        elif kind == "message_stop":
            self.ended = True

    def close(self) -> None:
        """Hear that the stream is whole, which this protocol says otherwise."""

    def document(self) -> Mapping[str, Any] | None:
        """Return the message as it is so far; None before anything of it came."""
        if self._message is None:
            return None
        numbers = [index for index in self._blocks if isinstance(index, int)]
        order = sorted(numbers) if len(numbers) == len(self._blocks) else list(self._blocks)
        content = [self._block(index, self._blocks[index]) for index in order]
        return {**self._message, "content": content} if content or self.ended else None

    def _block(self, index: object, block: Mapping[str, Any]) -> Mapping[str, Any]:
        block = {key: joined([value]) if isinstance(value, str) else value for key, value in block.items()}
        if not str(block.get("type")).endswith("tool_use"):
            return block
        text, stopped = joined(self._inputs.get(index, ())), self.ended or index in self._stopped
        if stopped and not text.strip():
            # Nothing was streamed: what the start of the block says is all there is.
            return block
        if stopped and isinstance(given := parse_arguments(text), dict):
            return {**block, "input": given}
        return {**{key: value for key, value in block.items() if key != "input"}, RAW_INPUT: text}

    def _grow(self, index: object, delta: object) -> None:
        if not isinstance(delta, dict):
            return
        block = self._blocks[index]
        if delta.get("type") == "input_json_delta":
            piece = delta.get("partial_json")
            if isinstance(piece, str):
                self._inputs.setdefault(index, []).append(piece)
        elif delta.get("type") == "citations_delta":
            block["citations"] = [*(block.get("citations") or ()), delta.get("citation")]
        else:
            key, name = _DELTAS.get(str(delta.get("type")), ("", ""))
            piece = delta.get(name)
            if key and isinstance(piece, str):
                block[key] = (block.get(key) or "") + piece

    def _end(self, event: Mapping[str, Any]) -> None:
        if self._message is None:
            return
        delta, usage = event.get("delta"), event.get("usage")
        if isinstance(delta, dict):
            self._message.update(delta)
        if isinstance(usage, dict):
            # Counts of the whole message, not additions to what its start said.
            known = self._message.get("usage")
            given = {key: value for key, value in usage.items() if value is not None}
            self._message["usage"] = {**(known if isinstance(known, dict) else {}), **given}
