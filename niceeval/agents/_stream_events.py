"""Streams of providers: server-sent events whose data is JSON, one after another."""

import json
from collections.abc import Mapping
from typing import Any, Final, Protocol, final

from niceeval.agents._http_errors import beginning
from niceeval.agents._provider_faults import ProviderError, fault_of_error
from niceeval.agents._sse import EventReader
from niceeval.errors import AgentUnavailable, told

__all__ = ["Assembler", "StreamedAnswer"]

_DONE: Final = "[DONE]"
"""What OpenAI's streams of chat completions end with."""
_MOST: Final = 64 * 1024 * 1024


class Assembler(Protocol):
    """Puts the events of a stream together to the document that the same request gives without streaming."""

    @property
    def ended(self) -> bool:
        """Whether the stream said that it is whole."""
        ...

    def feed(self, event: Mapping[str, Any], /) -> None:
        """Take in an event."""
        ...

    def close(self) -> None:
        """Hear that the stream said it is over."""
        ...

    def document(self) -> Mapping[str, Any] | None:
        """Return what there is so far; None where that is nothing."""
        ...


@final
class StreamedAnswer:
    """An answer that comes as a stream.

    The names of events are left out: every event says its type in its data.

    Attributes:
        over: Whether the rest of the stream is of no interest.
    """

    def __init__(self, assembler: Assembler) -> None:
        self.over = False
        self._assembler = assembler
        self._reader = EventReader(most=_MOST)
        self._fault: Exception | None = None

    def feed(self, chunk: bytes) -> None:
        """Take in some bytes; what is wrong with them is kept for `document`."""
        if self.over:
            return
        try:
            for event in self._reader.feed(chunk):
                if event.data.strip() == _DONE:
                    self._assembler.close()
                    self.over = True
                    return
                if event.data:
                    self._assembler.feed(_checked(event.data))
        except (AgentUnavailable, ProviderError) as error:
            self._give_up(error)
        except Exception as error:
            # An event that is not what its protocol says, whatever that does to the assembler.
            fault = ProviderError(f"the provider's stream cannot be read: {told(error)}")
            fault.__cause__ = error
            self._give_up(fault)

    def document(self, broken: Exception | None) -> Mapping[str, Any]:
        """Return the document that the events make.

        Args:
            broken: What ended the connection, where it did not end by itself.

        Raises:
            AgentUnavailable: The stream ended before the document was whole.
            ProviderError: The stream holds an error, or is none.
        """
        if self._fault is not None:
            raise self._fault
        if broken is not None and not self.over:
            raise AgentUnavailable(f"the connection broke in the middle of the answer: {broken}") from broken
        document = self._assembler.document()
        if document is None or not self._assembler.ended:
            raise AgentUnavailable("the stream ended before the answer did")
        return document

    def _give_up(self, fault: Exception) -> None:
        self._fault = fault
        self.over = True


def _checked(data: str) -> Mapping[str, Any]:
    try:
        event = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ProviderError(f"the provider streamed an event that is not JSON: {beginning(data)}") from error
    if not isinstance(event, dict):
        raise ProviderError(f"the provider streamed an event that is no object: {beginning(data)}")
    if event.get("error") or event.get("type") == "error":
        raise fault_of_error(event.get("error") or event)
    return event
