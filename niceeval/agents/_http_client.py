"""One HTTP client per agent and event loop, kept open between requests and closed when nobody uses it any more."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Any, Final, final

import anyio
from anyio.lowlevel import EventLoopToken, current_token

from niceeval.errors import AgentUnavailable, told

if TYPE_CHECKING:
    import httpx

__all__ = ["Clients", "import_httpx", "read_body"]

_LAST_WORDS: Final = 0.2


def import_httpx(owner: str) -> Any:
    """Return the library.

    Raises:
        ImportError: It is not installed; the sentence says how to install it.
    """
    try:
        import httpx
    except ImportError as error:
        raise ImportError(f'{owner} needs httpx: pip install "niceeval[http]"') from error
    return httpx


@final
class _Shared:
    def __init__(self, client: "httpx.AsyncClient") -> None:
        self.client = client
        self.users = 0
        self.retired = False


@final
class Clients:
    """The clients of one agent, which may serve several runs, in several event loops, at a time."""

    def __init__(self) -> None:
        self._by_loop: dict[EventLoopToken, _Shared] = {}

    @asynccontextmanager
    async def use(self) -> "AsyncIterator[httpx.AsyncClient]":
        """Give the client of this event loop for the length of a block."""
        token = current_token()
        shared = self._by_loop.get(token)
        if shared is None:
            shared = self._by_loop[token] = _Shared(_client())
        shared.users += 1
        try:
            yield shared.client
        finally:
            shared.users -= 1
            await _close_unused(shared)

    async def close(self) -> None:
        """Close the client of this event loop; one in use is closed by its last user."""
        shared = self._by_loop.pop(current_token(), None)
        if shared is not None:
            shared.retired = True
            await _close_unused(shared)


async def _close_unused(shared: _Shared) -> None:
    if shared.retired and not shared.users:
        with anyio.CancelScope(shield=True):
            await shared.client.aclose()


def _client() -> "httpx.AsyncClient":
    import httpx

    try:
        return httpx.AsyncClient(
            # Agents limit a whole turn; the runner limits how many there are at a time.
            timeout=httpx.Timeout(None, connect=30.0),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=100),
            follow_redirects=False,
            # Cookies belong to a session; the client is shared by all of them and keeps none.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        )
    except Exception as error:
        # Such as a proxy in the environment that nobody can use.
        raise AgentUnavailable(f"no client can be made: {told(error)}", retryable=False) from error


async def read_body(response: "httpx.Response", take: Callable[[bytes], bool]) -> None:
    """Give a body to a function, piece by piece, until it returns True or the body ends.

    Raises:
        Exception: Whatever the function raises.
        httpx.RequestError: The connection broke before.
    """
    import httpx

    done = False
    broken: Exception | None = None
    with anyio.CancelScope() as scope:
        try:
            # To its end in any case, be it that of a cancellation: a stream left half-way cannot close itself.
            async for chunk in response.aiter_bytes():
                if done:
                    continue
                try:
                    done = take(chunk)
                except Exception as error:
                    done, broken = True, error
                    scope.cancel()
                if done:
                    # Nearly always nothing more comes, and the connection can be used again.
                    scope.deadline = anyio.current_time() + _LAST_WORDS
        except httpx.RequestError:
            if not done:
                raise
    if broken is not None:
        raise broken
