"""Server-sent events, read as the WHATWG's HTML standard says (9.2.6, "Interpreting an event stream")."""

import re
from codecs import getincrementaldecoder
from collections.abc import Iterator
from typing import Final, final

import attrs

from niceeval.agents._gathering import BadReply, Gathering, json_value
from niceeval.agents._paths import StreamPaths

__all__ = ["EventReader", "Listener", "ServerSentEvent", "StreamTooLarge", "is_a_stream"]

_STREAM: Final = re.compile(rb"(?:\xef\xbb\xbf)?(?:data|event|id|retry|):")
_LINE_END: Final = re.compile(r"\r\n|\n|\r")


def is_a_stream(body: bytes) -> bool:
    """Tell whether a body is a stream of events that does not say so in its type.

    >>> is_a_stream(b'data: {"delta": "Hi"}'), is_a_stream(b'{"data": 1}')
    (True, False)
    """
    return _STREAM.match(body) is not None


class StreamTooLarge(ValueError):
    """One event is larger than anything that is meant to be one."""


@final
@attrs.frozen
class ServerSentEvent:
    """One event: its data, with line feeds between its lines, and its name, ``"message"`` where none is given."""

    data: str
    name: str = "message"


@final
class EventReader:
    r"""Makes events of the bytes of a stream, however these are cut. What comes after the last empty line is no event.

    Args:
        most: The most characters that one event may have.

    >>> reader = EventReader(most=1000)
    >>> list(reader.feed(b"event: token\ndata: On its")), list(reader.feed(b" way\n\ndata: never"))
    ([], [ServerSentEvent(data='On its way', name='token')])
    """

    def __init__(self, *, most: int) -> None:
        self._most = most
        self._decoder = getincrementaldecoder("utf-8-sig")(errors="replace")
        self._line: list[str] = []
        self._after_cr = False
        self._data: list[str] = []
        self._name = ""
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[ServerSentEvent]:
        """Yield the events that end in these bytes.

        Raises:
            StreamTooLarge: An event has too many characters.
        """
        for line in self._lines(self._decoder.decode(chunk)):
            if line:
                self._take(line)
                continue
            event = ServerSentEvent("\n".join(self._data), self._name or "message") if self._data else None
            self._data, self._name, self._size = [], "", 0
            if event is not None:
                yield event

    def _take(self, line: str) -> None:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._name = value

    def _lines(self, text: str) -> Iterator[str]:
        """Yield the lines that came whole: they end with CR, LF or both, and with nothing else."""
        if self._after_cr and text:
            # The second half of a line end that was cut in two.
            text, self._after_cr = text.removeprefix("\n"), False
        start = 0
        for end in _LINE_END.finditer(text):
            self._grow(end.start() - start)
            line = "".join([*self._line, text[start : end.start()]])
            self._line, start = [], end.end()
            yield line
        self._after_cr = text.endswith("\r") or (self._after_cr and not text)
        self._grow(len(text) - start)
        self._line.append(text[start:])

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > self._most:
            raise StreamTooLarge(f"an event has more than {self._most} characters")


@final
class Listener:
    """Puts the events of a stream together, and knows when it is over."""

    def __init__(self, gathering: Gathering, what: str, stream: StreamPaths, *, most: int) -> None:
        self.over = not stream.has_end
        self._gathering = gathering
        self._what = what
        self._stream = stream
        self._reader = EventReader(most=most)

    def take(self, chunk: bytes) -> bool:
        """Take in a piece of the stream, and return whether it has said that it is over."""
        try:
            for event in self._reader.feed(chunk):
                if self._ends(event):
                    self.over = True
                    return True
        except StreamTooLarge as error:
            raise BadReply(f"{self._what}: {error}") from error
        return False

    def _ends(self, event: ServerSentEvent) -> bool:
        done = self._stream.done
        if done is not None and event.data.strip() == done:
            return True
        last = done is not None and event.name == done
        if last and not event.data.strip():
            return True
        return self._gathering.add(json_value(event.data, f"{self._what} sent an event")) or last
