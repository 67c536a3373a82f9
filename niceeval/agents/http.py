"""An agent behind an HTTP endpoint: a request made from a template, an answer read by paths, streamed or not."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, final
from urllib.parse import quote

import anyio

from niceeval.agents._gathering import BadReply, Gathering, json_value
from niceeval.agents._http_client import Clients, import_httpx, read_body
from niceeval.agents._http_errors import beginning, error_of_status, is_page
from niceeval.agents._paths import CallPaths, ReplyPaths, StreamPaths
from niceeval.agents._reading import ReadReply, reply_by
from niceeval.agents._sse import Listener, is_a_stream
from niceeval.agents._template import Names, encoded, fill, fill_text, names_of, remember, seconds, template, texts
from niceeval.agents.base import AgentContext
from niceeval.agents.mcp_names import ToolNames
from niceeval.errors import AgentUnavailable, message_of, told
from niceeval.reply import Reply

if TYPE_CHECKING:
    import httpx

__all__ = ["BadReply", "CallPaths", "HttpAgent", "ReplyPaths", "StreamPaths"]

ReadBody: TypeAlias = Callable[[Callable[[bytes], bool]], Awaitable[None]]
MakeRequest: TypeAlias = Callable[[str, AgentContext], Any]

_COOKIES: Final = "niceeval.cookies"
_MOST_BODY: Final = 64 * 1024 * 1024
_MOST_ERROR: Final = 64 * 1024
_DEFAULT_REQUEST: Final = {"message": "{message}"}


@final
class HttpAgent:
    """An agent that is reached by HTTP.

    Where `url`, `headers` and `request` have names in braces, their values are filled in: ``{message}``,
    ``{session.id}`` (made up for each session, unless the agent gives one), ``{history}`` (the messages before this
    one, with `role` and `content`), ``{messages}`` (with this one), ``{model}``, ``{flags}``, ``{flags.NAME}``,
    ``{attempt}``, ``{output_schema}`` and ``{env:NAME}``, an environment variable, which is kept out of everything that
    is stored. A text that is one name becomes its value, of whatever type; a key whose value is not there is left out.

    Every session has its own cookies. Redirects are not followed.

    Args:
        url: The address.
        method: How it is asked.
        headers: What is sent along.
        request: The body, as a template or as a function of (message, ctx); None for none. It is sent as JSON.
        reply: Where the answer has what; the path of the message; or a function of (body, ctx) that returns a `Reply`.
        output: Whether the answer is ``"json"``, or ``"text"``, which is the message.
        stream: Where the events of a stream have what; ``"sse"`` for the usual places.
        timeout: Seconds that a turn may take, above 0; None for no limit but the eval's.
        tool_names: Which tools the agent has, where their names tell the server.

    Raises:
        ImportError: httpx is not installed.
        TypeError, ValueError: An argument cannot be used; the sentence says which and why.

    >>> agent = HttpAgent("http://localhost:8000/chat", request={"question": "{message}"}, reply="answer")
    >>> agent
    <HttpAgent POST http://localhost:8000/chat>
    """

    def __init__(
        self,
        url: str,
        /,
        *,
        method: str = "POST",
        headers: Mapping[str, str] | None = None,
        request: Mapping[str, Any] | list[Any] | MakeRequest | None = _DEFAULT_REQUEST,
        reply: ReplyPaths | str | tuple[str | int, ...] | ReadReply | None = None,
        output: Literal["json", "text"] = "json",
        stream: StreamPaths | Literal["sse"] | None = None,
        timeout: float | None = 120.0,
        tool_names: ToolNames | None = None,
    ) -> None:
        import_httpx("HttpAgent")
        self._url = _address(url)
        self._method = method.upper()
        self._headers = texts(headers, "HttpAgent() headers=")
        if request is _DEFAULT_REQUEST and self._method in ("GET", "HEAD"):
            request = None
        self._request = request if callable(request) else template(request, "HttpAgent() request=")
        self._read = reply if callable(reply) else None
        self._paths = ReplyPaths() if reply is None or callable(reply) else ReplyPaths.of(reply, "HttpAgent()")
        self._stream = _stream_paths(stream)
        if output not in ("json", "text"):
            raise ValueError(f"HttpAgent() output= is 'json' or 'text', got {output!r:.100}")
        if output == "text" and (reply is not None or stream is not None):
            raise ValueError(
                "HttpAgent() output='text' takes the whole answer as the message: leave reply= and stream= out"
            )
        if callable(reply) and stream is not None:
            raise ValueError("HttpAgent() reply= is ReplyPaths where stream= is given: a stream is read event by event")
        self._is_text = output == "text"
        self._timeout = seconds("HttpAgent() timeout=", timeout)
        self._tool_names = tool_names
        self._clients = Clients()

    async def reply(self, message: str, ctx: AgentContext, /) -> Reply:
        """Send one message and return the answer.

        Raises:
            AgentUnavailable: It could not be reached: no connection, no answer in time, a stream that was cut, 408,
                425, 429 and 5xx; and, where trying again is of no use, 3xx, 401, 403, 404, 405, 407, 410 and missing
                settings.
            BadReply: It answered, and broke: any other 4xx, or what cannot be read.
        """
        import httpx

        names = names_of(message, ctx, own_id="id" not in self._paths.session)
        cookies: httpx.Cookies = ctx.session.setdefault(_COOKIES, httpx.Cookies())
        async with self._clients.use() as client:
            request = await self._made(client, message, ctx, names, cookies)
            what = f"{self._method} {request.url.copy_with(username=None, password=None)}"
            with anyio.move_on_after(self._timeout) as scope:
                try:
                    reply = await self._exchange(client, request, what, ctx, cookies)
                except httpx.RequestError as error:
                    hopeless = isinstance(error, httpx.LocalProtocolError | httpx.UnsupportedProtocol)
                    raise AgentUnavailable(f"{what}: {_told(error)}", retryable=not hopeless) from error
            if scope.cancelled_caught:
                raise AgentUnavailable(f"{what} was not answered within {self._timeout or 0:g} s")
        remember(message, reply.message, ctx)
        return reply

    async def aclose(self) -> None:
        """Close the connections; whoever runs evals does so at the end."""
        await self._clients.close()

    async def _made(
        self, client: "httpx.AsyncClient", message: str, ctx: AgentContext, names: Names, cookies: "httpx.Cookies"
    ) -> "httpx.Request":
        import httpx

        body = self._request
        if callable(body):
            body = body(message, ctx)
            body = await body if inspect.isawaitable(body) else body
        else:
            body = fill(body, names)
        headers = {"accept": "text/event-stream, application/json" if self._stream else "*/*"}
        content = None
        if body is not None:
            content = encoded(body)
            headers["content-type"] = "application/json"
        headers |= {name.lower(): fill_text(value, names) for name, value in self._headers.items()}
        try:
            head, mark, query = self._url.partition("?")
            url = (
                fill_text(head, names, _quoted) + mark + fill_text(query, names, lambda _, value: quote(value, safe=""))
            )
            # The client's cookies are none; a session's are given to each of its requests.
            cookies_header = httpx.Request(self._method, url, cookies=cookies).headers.get("cookie")
            if cookies_header and "cookie" not in headers:
                headers["cookie"] = cookies_header
            return client.build_request(self._method, url, headers=headers, content=content)
        except (httpx.InvalidURL, UnicodeEncodeError) as error:
            raise AgentUnavailable(f"the request cannot be sent: {told(error)}", retryable=False) from error

    async def _exchange(
        self,
        client: "httpx.AsyncClient",
        request: "httpx.Request",
        what: str,
        ctx: AgentContext,
        cookies: "httpx.Cookies",
    ) -> Reply:
        response = await client.send(request, stream=True)
        try:
            cookies.extract_cookies(response)
            if not response.is_success:
                text = await _text(response, _MOST_ERROR)
                error = error_of_status(response.status_code, response.headers, text or "", what)
                assert error is not None
                raise error
            if self._stream is not None and "text/event-stream" in response.headers.get("content-type", "").lower():
                return await self._streamed(partial(read_body, response), what, self._stream, ctx)
            text = await _text(response, _MOST_BODY)
        finally:
            await response.aclose()
        if text is None:
            raise BadReply(f"{what} answered with more than {_MOST_BODY} bytes")
        if self._is_text:
            return Reply(text)
        if self._stream is not None and is_a_stream(body := text.encode("utf-8", "surrogatepass")):
            return await self._streamed(partial(_all_at_once, body), what, self._stream, ctx)
        return await self._read_whole(text, f"{what} answered {response.status_code}", ctx)

    async def _read_whole(self, text: str, what: str, ctx: AgentContext) -> Reply:
        if is_page(text):
            raise AgentUnavailable(f"{what}, and a web page came in place of the agent's answer: {beginning(text)}")
        body = json_value(text, what)
        if self._read is None:
            gathering = Gathering(self._paths, self._stream, self._tool_names)
            gathering.add(body)
            return gathering.reply(ctx)
        return await reply_by(self._read, body, ctx, "HttpAgent()")

    async def _streamed(self, read: ReadBody, what: str, stream: StreamPaths, ctx: AgentContext) -> Reply:
        gathering = Gathering(self._paths, stream, self._tool_names)
        try:
            listener = Listener(gathering, what, stream, most=_MOST_BODY)
            await read(listener.take)
            if not listener.over:
                raise AgentUnavailable(f"{what}: the stream ended before its last event")
        except BaseException:
            # However it ended, a timeout included: what came is evidence.
            gathering.report(ctx)
            raise
        return gathering.reply(ctx)

    def __repr__(self) -> str:
        """Say where it is."""
        return f"<HttpAgent {self._method} {self._url}>"


def _told(error: BaseException) -> str:
    """Name an error of the connection; its own message is often empty, and that of what caused it is not."""
    cause: BaseException | None = error
    while cause is not None and not message_of(cause):
        cause = cause.__cause__ or cause.__context__
    return type(error).__name__ if cause is None else f"{type(error).__name__}: {message_of(cause)}"


async def _text(response: "httpx.Response", most: int) -> str | None:
    """Return the body as text, None if it is larger than `most` bytes; bytes that are no text stay visible."""
    body = bytearray()

    def take(chunk: bytes) -> bool:
        body.extend(chunk)
        return len(body) > most

    await read_body(response, take)
    if len(body) > most:
        return None
    try:
        return body.decode(response.charset_encoding or "utf-8-sig", errors="backslashreplace")
    except (LookupError, UnicodeError):
        # No encoding that anybody knows, or one that is not for texts.
        return body.decode("utf-8-sig", errors="backslashreplace")


async def _all_at_once(body: bytes, take: Callable[[bytes], bool]) -> None:
    take(body)


def _quoted(name: str, value: str) -> str:
    # A variable may hold the address itself.
    return value if name.startswith("env:") else quote(value, safe="")


def _quoted_in_query(name: str, value: str) -> str:
    return quote(value, safe="")


def _address(url: object) -> str:
    if not isinstance(url, str) or not url.strip():
        raise TypeError(f"HttpAgent() takes an address as text, such as 'http://localhost:8000/chat', got {url!r:.100}")
    template(url, "HttpAgent() url")
    if not url.startswith(("http://", "https://", "{env:")):
        raise ValueError(f"HttpAgent() takes an address that starts with http:// or https://, got {url!r:.200}")
    return url


def _stream_paths(stream: object) -> StreamPaths | None:
    if stream == "sse":
        return StreamPaths()
    if stream is not None and not isinstance(stream, StreamPaths):
        raise TypeError(f"HttpAgent() stream= is StreamPaths, 'sse' or None, got {stream!r:.100}")
    return stream
