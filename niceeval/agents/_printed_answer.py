"""What a program writes as its answer: text, one JSON value, or events line by line."""

from typing import Any, Final, final

from niceeval.agents._gathering import BadReply, Gathering, json_value
from niceeval.agents._paths import StreamPaths
from niceeval.agents._process import Printed
from niceeval.agents.base import AgentContext
from niceeval.events import ErrorEvent, Message
from niceeval.reply import Reply

__all__ = ["PrintedAnswer"]

_MOST_TEXT: Final = 1024 * 1024
_MOST_JSON: Final = 64 * 1024 * 1024
_MOST_REPORTED: Final = 2000


@final
class PrintedAnswer:
    """One answer while it is being written.

    Args:
        output: ``"text"``, ``"json"`` or ``"jsonl"``.
        gathering: Puts JSON together.
        stream: Where events have what.
    """

    def __init__(self, output: str, gathering: Gathering, stream: StreamPaths | None) -> None:
        self.what = "the program"
        self._output = output
        self._gathering = gathering
        self._stream = stream
        self._printed = Printed(_MOST_TEXT if output == "text" else _MOST_JSON)
        self._rest = bytearray()
        self._line: str | None = None
        self._problem: Exception | None = None

    def add(self, chunk: bytes) -> None:
        """Take in what a process printed that runs for this answer only."""
        if self._output != "jsonl":
            self._printed.add(chunk)
            return
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            self._take_whole(bytes(self._rest) + line)
            self._rest.clear()
        if len(self._rest) + len(rest) > _MOST_JSON:
            self._problem = self._problem or BadReply(f"{self.what} wrote a line of more than {_MOST_JSON} bytes")
        else:
            self._rest += rest

    def _take_whole(self, line: bytes) -> None:
        # The process goes on to its end: how it ends says more than a line that cannot be read.
        if line.strip() and self._problem is None:
            try:
                self.take_line(line.decode("utf-8", errors="backslashreplace"))
            except BadReply as problem:
                self._problem = problem

    def take_line(self, line: str) -> bool:
        """Take in one line, and return whether it is the last of the answer.

        Raises:
            BadReply: It cannot be read, or says that something went wrong.
        """
        if self._stream is None:
            self._line = line
            return True
        if self._stream.done is not None and line.strip() == self._stream.done:
            return True
        return self._gathering.add(json_value(line, f"{self.what} wrote a line"))

    def value(self) -> Any:
        """Return the one JSON value that was written.

        Raises:
            BadReply: It is none, or too large.
        """
        if self._printed.dropped:
            raise BadReply(f"{self.what} wrote more than {_MOST_JSON} bytes")
        text = self._printed.text if self._line is None else self._line
        return json_value(text, f"{self.what} wrote its answer")

    def reply(self, ctx: AgentContext) -> Reply:
        """Return the answer, which has ended.

        Raises:
            BadReply: It cannot be read.
        """
        if self._output == "text":
            return self._text()
        if self._output == "json":
            self._gathering.add(self.value())
        else:
            self._take_whole(bytes(self._rest))
            self._rest.clear()
        if self._problem is not None:
            raise self._problem
        return self._gathering.reply(ctx)

    def _text(self) -> Reply:
        text = self._printed.text.rstrip("\r\n")
        if not self._printed.dropped:
            return Reply(text)
        reason = f"only the first {_MOST_TEXT} bytes of what it printed were kept"
        return Reply(text, coverage={"messages": "partial"}).explained({"messages": reason})

    def report(self, ctx: AgentContext) -> None:
        """Report what was written until now, of an answer that is none."""
        if self._output == "jsonl":
            self._gathering.report(ctx)
            return
        text = self._printed.text.rstrip("\r\n")
        if text and self._output == "text":
            ctx.emit(Message("assistant", text))
        elif text:
            ctx.emit(ErrorEvent(f"it had printed: {text[:_MOST_REPORTED]}{'…' * (len(text) > _MOST_REPORTED)}"))
