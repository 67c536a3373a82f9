"""A provider of models, reached through its official SDK: one request goes out, one document comes back."""

import importlib
import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache
from math import inf
from typing import TYPE_CHECKING, Any, Final, final

import anyio
import attrs

from niceeval.agents._provider_faults import fault_of_body, fault_of_error, fault_of_status
from niceeval.agents._sse import is_a_stream
from niceeval.agents._stream_events import Assembler, StreamedAnswer
from niceeval.errors import AgentUnavailable, told
from niceeval.redaction import register_secret

if TYPE_CHECKING:
    import ssl

__all__ = ["Provider"]

_CLIENTS: Final = {"openai": "AsyncOpenAI", "anthropic": "AsyncAnthropic"}
_LEAVING: Final = 2.0
"""Seconds that closing a connection may take."""
_LAST_WORDS: Final = 0.2
"""Seconds in which a stream that is over may end by itself."""


@final
@attrs.frozen(kw_only=True, eq=False)
class Provider:
    """Where the models are, and how they are reached.

    Attributes:
        name: The SDK's module, and the extra that installs it.
        base_url: Where the endpoint is.
        key_variable: The environment variable with the key; ``""`` for an endpoint that takes none.
        timeout: Seconds that the provider may be silent.
        client: A client of the SDK that is used as it is.
    """

    name: str
    base_url: str
    key_variable: str
    timeout: float
    client: Any = None

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Any]:
        """Open a client for the length of a turn: what is open belongs to one event loop, and an agent to none.

        Raises:
            AgentUnavailable: The SDK is not installed, or the key is not set.
        """
        if self.client is not None:
            yield self.client.with_options(max_retries=0)
            return
        client = self._opened()
        try:
            yield client
        finally:
            with anyio.move_on_after(_LEAVING, shield=True):
                await client.close()

    def _opened(self) -> Any:
        sdk, key = self._sdk(), self._key() or "none"
        try:
            return getattr(sdk, _CLIENTS[self.name])(
                api_key=key,
                base_url=self.base_url,
                timeout=self.timeout,
                max_retries=0,
                http_client=sdk.DefaultAsyncHttpxClient(verify=_certificates()),
            )
        except Exception as error:
            # Such as a proxy in the environment that nobody can use.
            raise AgentUnavailable(f"no client can be made: {told(error)}", retryable=False) from error

    async def ask(self, opening: AbstractAsyncContextManager[Any], assembler: Assembler) -> Mapping[str, Any]:
        """Send one request and return the document that answers it, as it was sent, streamed or not.

        Args:
            opening: What ``with_streaming_response.create(...)`` of the SDK returns.
            assembler: Takes in what is streamed.

        Raises:
            AgentUnavailable: No answer came, or not all of it.
            ProviderError: The answer is an error about this request, or no document.
        """
        sdk = self._sdk()
        try:
            async with opening as response:
                kind = response.headers.get("content-type", "")
                if "text/event-stream" in kind.lower():
                    return await _streamed(response, assembler)
                body = await _whole(response)
                return _heard(body, assembler) if is_a_stream(body) else _document(body, kind)
        except Warning as warning:
            # Where warnings are errors, the SDK's word about a model must not pass for the model's answer.
            raise AgentUnavailable(f"the SDK warns: {warning}", retryable=False) from warning
        except UnicodeEncodeError as error:
            raise AgentUnavailable(f"the request cannot be sent: {told(error)}", retryable=False) from error
        except sdk.APIStatusError as error:
            answer = error.response
            body = answer.content.decode("utf-8", "replace")
            raise fault_of_status(answer.status_code, answer.headers, body) from error
        except sdk.APITimeoutError as error:
            raise AgentUnavailable(f"the provider was silent for {self.timeout:g} s") from error
        except sdk.APIConnectionError as error:
            why = f": {error.__cause__}" if error.__cause__ is not None and str(error.__cause__) else ""
            raise AgentUnavailable(f"the provider cannot be reached{why}") from error

    def _sdk(self) -> Any:
        try:
            return importlib.import_module(self.name)
        except ImportError as error:
            raise AgentUnavailable(
                f'the SDK is not installed: pip install "niceeval[{self.name}]" ({error})', retryable=False
            ) from error

    def _key(self) -> str | None:
        if not self.key_variable:
            return None
        key = os.environ.get(self.key_variable, "").strip()
        if not key:
            raise AgentUnavailable(
                f"the environment variable {self.key_variable} with the provider's key is not set; "
                'key_variable="" is for an endpoint that takes none',
                retryable=False,
            )
        if not (key.isascii() and key.isprintable()):
            raise AgentUnavailable(
                f"the environment variable {self.key_variable} holds characters that no key has", retryable=False
            )
        register_secret(self.key_variable, key)
        return key


@cache
def _certificates() -> "ssl.SSLContext":
    """Read the certificates once: that takes longer than everything else about a client."""
    import httpx2

    return httpx2.create_ssl_context()


async def _streamed(response: Any, assembler: Assembler) -> Mapping[str, Any]:
    answer = StreamedAnswer(assembler)
    broken: Exception | None = None
    # A stream is read to its end, as a connection that is left in the middle cannot be used again; but not for ever.
    with anyio.CancelScope() as scope:
        try:
            async for chunk in response.iter_bytes():
                answer.feed(chunk)
                if answer.over and scope.deadline == inf:
                    scope.deadline = anyio.current_time() + _LAST_WORDS
        except Exception as error:
            # Nothing but the connection can fail here, with exceptions of more than one library.
            broken = error
    return _checked(answer.document(broken))


def _heard(body: bytes, assembler: Assembler) -> Mapping[str, Any]:
    """Return the document of a stream that did not say that it is one."""
    answer = StreamedAnswer(assembler)
    answer.feed(body)
    return _checked(answer.document(None))


async def _whole(response: Any) -> bytes:
    try:
        body: bytes = await response.read()
    except Exception as error:
        raise AgentUnavailable(f"the connection broke in the middle of the answer: {error}") from error
    return body


def _document(body: bytes, kind: str) -> Mapping[str, Any]:
    text = body.decode(json.detect_encoding(body), "replace")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise fault_of_body(text, kind) from error
    if not isinstance(document, dict):
        raise fault_of_body(text, kind)
    return _checked(document)


def _checked(document: Mapping[str, Any]) -> Mapping[str, Any]:
    if document.get("error"):
        raise fault_of_error(document["error"])
    return document
