"""A process that stays for a whole session and speaks JSON lines."""

from collections.abc import Awaitable, Callable
from typing import ClassVar, Final, final

import anyio
from anyio.abc import Process

from niceeval.agents._gathering import BadReply
from niceeval.agents._process import Printed, end, exit_of, pump
from niceeval.errors import AgentUnavailable

__all__ = ["Conversation"]

_LAST_WORDS: Final = 1.0


@final
class Conversation:
    """One session's process; sends in one session take turns.

    Args:
        start: Starts it, when the first message is sent.
        what: What sentences call it.
        most_line: The most bytes that a line may have.
        most_errors: How much of the end of its standard error is kept, in bytes.
    """

    ends_with_session: ClassVar[bool] = True

    def __init__(self, start: Callable[[], Awaitable[Process]], what: str, *, most_line: int, most_errors: int) -> None:
        self._start = start
        self._process: Process | None = None
        self._what = what
        self._most = most_line
        self._errors = Printed(most_errors, last=True)
        self._rest = bytearray()
        self._turn = anyio.Lock()
        self._ended: str | None = None
        self._given_up = False

    async def exchange(self, line: bytes, take: Callable[[str], bool]) -> None:
        """Write one line, and give every line that comes back to a function, until it returns True.

        Raises:
            AgentUnavailable: It cannot be started, or was given up in an earlier turn.
            BadReply: It ended, or wrote a line that is too long.
            Exception: Whatever the function raises.
        """
        async with self._turn:
            if self._given_up:
                raise AgentUnavailable(
                    f"{self._what} was killed when an earlier turn was given up, so that this session cannot go on",
                    retryable=False,
                )
            if self._ended is not None:
                raise BadReply(f"{self._what} {self._ended}, so that this session cannot go on")
            if self._process is None:
                self._process = await self._start()
            process = self._process
            try:
                problem = await self._exchanged(process, line, take)
            except BaseException:
                # Nobody knows what it will say to the next message.
                self._given_up = True
                await end(process)
                raise
            if problem is not None:
                self._ended = "has ended"
                await end(process)
                raise problem

    async def _exchanged(self, process: Process, line: bytes, take: Callable[[str], bool]) -> Exception | None:
        problem: Exception | None = None
        async with anyio.create_task_group() as group:
            group.start_soon(pump, process.stderr, self._errors.add)
            try:
                await self._write(process, line)
                while (answer := await self._line(process)) is not None:
                    if answer.strip() and take(answer):
                        break
                else:
                    problem = BadReply(await self._last_words(process))
            except Exception as error:
                problem = error
            group.cancel_scope.cancel()
        return problem

    async def _write(self, process: Process, line: bytes) -> None:
        assert process.stdin is not None
        try:
            await process.stdin.send(line)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            # It has ended or is about to; what it said before is still there to be read.
            return

    async def _line(self, process: Process) -> str | None:
        """Return the next line, None where there is none any more."""
        assert process.stdout is not None
        seen = 0
        while (place := self._rest.find(b"\n", seen)) < 0:
            seen = len(self._rest)
            if seen > self._most:
                raise BadReply(f"{self._what} wrote a line of more than {self._most} bytes")
            try:
                self._rest += await process.stdout.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                if not self._rest:
                    return None
                place = len(self._rest)
                break
        line = bytes(self._rest[:place])
        del self._rest[: place + 1]
        return line.decode("utf-8", errors="backslashreplace")

    async def _last_words(self, process: Process) -> str:
        with anyio.move_on_after(_LAST_WORDS):
            await process.wait()
        code = process.returncode
        how = "closed its output" if code is None else exit_of(code)
        said = self._errors.text.strip()
        return f"{self._what} {how} before it answered" + (f": {said}" if said else "")

    async def aclose(self) -> None:
        """End the process; the runner does so when the session's attempt is over."""
        self._ended = self._ended or "has ended"
        if self._process is not None:
            await end(self._process, gently=True)
