"""An agent behind a command line: one process for each turn, or one for each session that speaks JSON lines."""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any, Final, Literal, final

import anyio

from niceeval.agents._conversation import Conversation
from niceeval.agents._gathering import BadReply, Gathering
from niceeval.agents._paths import ReplyPaths, StreamPaths
from niceeval.agents._printed_answer import PrintedAnswer
from niceeval.agents._process import Printed, exit_of, run, start
from niceeval.agents._reading import ReadReply, reply_by
from niceeval.agents._template import (
    Names,
    encoded,
    fill,
    fill_text,
    keep_secret,
    names_of,
    remember,
    seconds,
    template,
    texts,
    uses,
)
from niceeval.agents.base import AgentContext
from niceeval.agents.mcp_names import ToolNames
from niceeval.errors import AgentUnavailable
from niceeval.reply import Reply

__all__ = ["ProcessAgent"]

_MOST_LINE: Final = 64 * 1024 * 1024
_MOST_ERRORS: Final = 2000
_REQUEST: Final = {"message": "{message}"}
_numbers: Final = count(1)


@final
class ProcessAgent:
    """An agent that is a program.

    In `argv`, `cwd`, `env` and `request` names in braces are filled in, as in `HttpAgent`: ``{message}``,
    ``{session.id}``, ``{history}``, ``{model}``, ``{flags.NAME}``, ``{env:NAME}`` and the others. Where a word of
    `argv` has the message, nothing is written to standard input.

    A program that ends with another exit code than 0 has failed on this case. One that cannot be started has not been
    reached, nor has one that takes longer than `timeout`; it is killed with everything that it started.

    Args:
        argv: The words of the command, the program first; no shell reads them.
        input: What is written to standard input: the message as ``"text"``, or `request` as ``"json"``, on one line.
        output: What is read from standard output: ``"text"``, which is the message without line ends behind it;
            one ``"json"`` value; or ``"jsonl"``, events, one on each line.
        request: What is written, for ``input="json"``.
        reply: Where JSON has what; the path of the message; or, for ``output="json"``, a function of (value, ctx).
        stream: Where events have what, for ``output="jsonl"``.
        persistent: Whether one process stays for the whole session: it reads one line of JSON for each message, and
            writes one, or, with ``output="jsonl"``, events up to the last one, which `stream` tells.
        cwd: The folder it runs in.
        env: Variables that it gets besides those of this process. Values of those whose names end in KEY, TOKEN,
            SECRET or PASSWORD are kept out of everything that is stored.
        timeout: Seconds that a turn may take, above 0; None for no limit but the eval's.
        tool_names: Which tools the agent has, where their names tell the server.

    Raises:
        TypeError, ValueError: An argument cannot be used; the sentence says which and why.

    >>> ProcessAgent(["my-agent", "--ask", "{message}"])
    <ProcessAgent my-agent --ask {message}>
    """

    def __init__(
        self,
        argv: Sequence[str | os.PathLike[str]],
        /,
        *,
        input: Literal["text", "json"] = "text",
        output: Literal["text", "json", "jsonl"] = "text",
        request: Mapping[str, Any] | list[Any] = _REQUEST,
        reply: ReplyPaths | str | tuple[str | int, ...] | ReadReply | None = None,
        stream: StreamPaths | None = None,
        persistent: bool = False,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float | None = 120.0,
        tool_names: ToolNames | None = None,
    ) -> None:
        self._argv = _words(argv)
        if input not in ("text", "json") or output not in ("text", "json", "jsonl"):
            raise ValueError(
                "ProcessAgent() input= is 'text' or 'json', and output= 'text', 'json' or 'jsonl'; "
                f"got {input!r:.50} and {output!r:.50}"
            )
        if output == "text" and reply is not None:
            raise ValueError("ProcessAgent() reply= is for output='json' and 'jsonl'; text is the message as it is")
        if output != "jsonl" and stream is not None:
            raise ValueError("ProcessAgent() stream= is for output='jsonl'")
        if output == "jsonl" and callable(reply):
            raise ValueError("ProcessAgent() reply= is ReplyPaths for output='jsonl', which is read event by event")
        self._input, self._output = input, output
        self._request = template(request, "ProcessAgent() request=")
        self._read = reply if callable(reply) else None
        self._paths = ReplyPaths() if reply is None or callable(reply) else ReplyPaths.of(reply, "ProcessAgent()")
        self._stream = (stream or StreamPaths(done=None)) if output == "jsonl" else None
        if persistent and (input == "text" or output == "text"):
            raise ValueError(
                "ProcessAgent() persistent=True speaks JSON lines: say input='json', output='json' or 'jsonl'"
            )
        if persistent and self._stream is not None and not self._stream.has_end:
            raise ValueError(
                "ProcessAgent() persistent=True needs StreamPaths(done=...) or done_at=: the end of a turn"
            )
        if persistent and uses(self._argv, ("message", "messages")):
            raise ValueError("ProcessAgent() persistent=True gets its messages on standard input, not in argv")
        self._place = f"niceeval.process.{next(_numbers)}" if persistent else None
        self._cwd = None if cwd is None else template(os.fspath(cwd), "ProcessAgent() cwd=")
        self._env = texts(env, "ProcessAgent() env=")
        self._timeout = seconds("ProcessAgent() timeout=", timeout)
        self._tool_names = tool_names

    async def reply(self, message: str, ctx: AgentContext, /) -> Reply:
        """Give the program one message, and return what it answers.

        Raises:
            AgentUnavailable: It cannot be started, or takes too long.
            BadReply: It failed: by its exit code, or since its answer cannot be read.
        """
        names = names_of(message, ctx, own_id="id" not in self._paths.session)
        if self._input == "json":
            given = encoded(fill(self._request, names)) + b"\n"
        else:
            in_argv = uses(self._argv, ("message", "messages"))
            given = b"" if in_argv else message.encode("utf-8", "surrogatepass")
        answer = PrintedAnswer(self._output, Gathering(self._paths, self._stream, self._tool_names), self._stream)
        try:
            with anyio.move_on_after(self._timeout) as scope:
                await self._exchange(given, answer, names, ctx)
            if scope.cancelled_caught:
                limit = f"{self._timeout or 0:g} s"
                raise AgentUnavailable(f"{self._argv[0]} did not answer within {limit} and was killed", retryable=False)
            reply = await self._made(answer, ctx)
        except BaseException:
            # However it ended: what it had printed is evidence.
            answer.report(ctx)
            raise
        remember(message, reply.message, ctx)
        return reply

    async def _exchange(self, given: bytes, answer: PrintedAnswer, names: Names, ctx: AgentContext) -> None:
        argv = [fill_text(word, names) for word in self._argv]
        what = os.path.basename(argv[0]) if len(argv) == 1 else f"{os.path.basename(argv[0])} {argv[1]:.60}"
        answer.what = what
        cwd = None if self._cwd is None else fill_text(self._cwd, names)
        starting = partial(start, argv, cwd=cwd, env={**os.environ, **self._variables(names)})
        if self._place is not None:
            # There before the process is, so that two messages at a time start one.
            fresh = Conversation(starting, what, most_line=_MOST_LINE, most_errors=_MOST_ERRORS)
            await ctx.session.setdefault(self._place, fresh).exchange(given, answer.take_line)
            return
        errors = Printed(_MOST_ERRORS, last=True)
        code = await run(await starting(), given, answer.add, errors.add)
        if code != 0:
            said = errors.text.strip()
            raise BadReply(f"{what} {exit_of(code)}" + (f": {said}" if said else ""))

    def _variables(self, names: Names) -> dict[str, str]:
        filled = {name: fill_text(value, names) for name, value in self._env.items()}
        for name, value in filled.items():
            keep_secret(name, value)
        return filled

    async def _made(self, answer: PrintedAnswer, ctx: AgentContext) -> Reply:
        if self._read is None:
            return answer.reply(ctx)
        return await reply_by(self._read, answer.value(), ctx, "ProcessAgent()")

    def __repr__(self) -> str:
        """Say what is run."""
        return f"<ProcessAgent {' '.join(self._argv)}>"


def _words(argv: object) -> list[str]:
    if isinstance(argv, str | bytes) or not isinstance(argv, Sequence) or not argv:
        raise TypeError(
            f"ProcessAgent() takes the words of a command, such as ['my-agent', '--json'], got {argv!r:.100}"
        )
    words = [os.fspath(word) if isinstance(word, os.PathLike) else word for word in argv]
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"ProcessAgent() takes words as text, got {word!r:.100}")
    return list(template(words, "ProcessAgent() argv"))
