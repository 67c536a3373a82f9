"""A tool call while an answer is still being read."""

from typing import Any, Final, final

from niceeval.agents._arguments import parse_arguments
from niceeval.agents._paths import CallPaths, found
from niceeval.agents._pieces import Arguments
from niceeval.tool_call import NOT_GIVEN, ToolCall, ToolStatus
from niceeval_expect._evaluation import Absent
from niceeval_expect._paths import Blocked

__all__ = ["OpenCall"]

_NO_OUTPUTS: Final = Absent("the agent does not report what its tools return")
_CUT_OFF: Final = Absent("the answer ended before the arguments did")


@final
class OpenCall:
    """One call: whole, or put together from pieces.

    Attributes:
        name: The tool's name, None as long as no piece has said it.
        id: Its id, if it has one.
        index: Its number among the calls of the answer, if pieces say one.
        pieces: Its arguments so far, where they come in pieces.
    """

    def __init__(self, name: str | None, id: str | None, *, answers: bool) -> None:
        self.name = name
        self.id = id
        self.index: object = None
        self.pieces: Arguments | None = None
        self._server: str | None = None
        self._input: Any = NOT_GIVEN
        self._output: Any = NOT_GIVEN
        self._status: ToolStatus | None = None
        # Whether an answer says what tools return: if not, a call without an output is not a pending one.
        self._answers = answers

    @property
    def answered(self) -> bool:
        """Whether it has a result."""
        return self._output is not NOT_GIVEN or self._status not in (None, "pending")

    def goes_on(self, id: str | None, name: str | None, index: object, arguments: object) -> bool:
        """Whether a piece in this call's place belongs to it: a name comes once, or again with what has come.

        Args:
            id: The id that the piece has.
            name: Its name.
            index: Its index.
            arguments: Its arguments.
        """
        if name is None or self.name is None or self.pieces is None:
            return True
        if name != self.name or (id is not None and self.id not in (None, id)):
            return False
        if id is not None and index is not None and self.index not in (None, index):
            return False
        return not self.pieces.complete or self.pieces.has(arguments)

    def learn(self, item: Any, paths: CallPaths) -> None:
        """Take in what an object of the answer says about it."""
        server = found(paths.server, item)
        if isinstance(server, str):
            self._server = server
        given = found(paths.input, item)
        if not isinstance(given, Blocked) and (given is not None or self.pieces is None):
            self._input, self.pieces = given, None
        self._learn_result(item, paths)

    def _learn_result(self, item: Any, paths: CallPaths) -> None:
        output, error, word = (found(path, item) for path in (paths.output, paths.error, paths.status))
        status = None if isinstance(word, Blocked) else paths.status_of(word)
        failed = not isinstance(error, Blocked) and error is not None and error is not False
        if status is not None or failed:
            self._status = "failed" if failed and status in (None, "pending", "completed") else status
        empty = isinstance(output, Blocked) or (output is None and (failed or status == "pending"))
        if not empty:
            self._output = output
        elif failed:
            self._output = error

    def made(self, *, cut_off: bool = False) -> ToolCall:
        """Return the call as it is known.

        Args:
            cut_off: Whether the answer ended too early, so that pieces may be missing.
        """
        assert self.name is not None
        raw = self._input if self.pieces is None else self.pieces.given
        given = raw if raw is NOT_GIVEN else parse_arguments(raw)
        output, status = self._output, self._status
        if cut_off and self.pieces is not None and not str(raw).strip():
            given = _CUT_OFF
        if output is NOT_GIVEN and status is None and not self._answers:
            output = _NO_OUTPUTS
        if status == "pending" and output is not NOT_GIVEN:
            # It cannot be both: that it has a result is certain, how it ended is not.
            status = None
        if isinstance(given, Absent) and isinstance(raw, str) and raw.strip():
            return ToolCall.unreadable(
                self.name, raw, given.reason, output, status=status, id=self.id, server=self._server
            )
        return ToolCall(self.name, given, output, status=status, id=self.id, server=self._server)
