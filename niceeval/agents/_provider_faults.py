"""What a provider's errors mean: the agent could not be reached, or this is its answer to the case."""

import json
from collections.abc import Mapping
from math import inf
from typing import Any, Final, final

from niceeval.agents._http_errors import beginning, is_page, retry_after
from niceeval.errors import AgentUnavailable, NiceEvalError

__all__ = ["ProviderError", "fault_of_body", "fault_of_error", "fault_of_status"]

_TRY_AGAIN: Final = (408, 409, 425, 429)
_MISCONFIGURED: Final = {
    401: "see that the key is right",
    402: "the account has to be paid for",
    403: "see that the key is right, and may do this",
    404: "see that the model and base_url are right",
    405: "see that base_url is right",
    407: "a proxy wants to know who asks",
    410: "see that the model and base_url are right",
}
_OVERLOADED: Final = frozenset(
    {
        "api_error", "internal_error", "internal_server_error", "overloaded", "overloaded_error", "rate_limit_error",
        "rate_limit_exceeded", "server_error", "server_overloaded", "slow_down", "timeout_error",
    }
)  # fmt: skip
_SPENT: Final = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_error"})
_NO_ENTRY: Final = frozenset({"authentication_error", "permission_error", "invalid_api_key"}) | _SPENT


@final
class ProviderError(NiceEvalError):
    """What a provider answers to this conversation is an error, or is not what its protocol says."""


def fault_of_status(status: int, headers: Mapping[str, str], body: str) -> AgentUnavailable | ProviderError:
    """Return what an answer with an error status means.

    >>> fault_of_status(429, {"retry-after": "3"}, '{"error": {"message": "slow down"}}').retry_after
    3.0
    >>> fault_of_status(400, {}, '{"error": {"message": "too long"}}')
    ProviderError('the provider answered 400: too long')
    """
    error = _error_in(body)
    said = _said(error)
    text = f"the provider answered {status}" + (f": {said}" if said else "")
    if status in _MISCONFIGURED:
        return AgentUnavailable(f"{text}; {_MISCONFIGURED[status]}", retryable=False)
    if status < 400:
        return AgentUnavailable(f"{text}; see that base_url is right", retryable=False)
    if status >= 500 or status in _TRY_AGAIN:
        return AgentUnavailable(text, retry_after=_waits(headers), retryable=not _kinds(error) & _SPENT)
    return ProviderError(text)


def fault_of_error(error: object) -> AgentUnavailable | ProviderError:
    """Return what an error means that came inside of an answer or a stream.

    >>> fault_of_error({"type": "overloaded_error", "message": "Overloaded"}).retryable
    True
    """
    said = _said(error) or beginning(json.dumps(error))
    kinds = _kinds(error)
    text = f"the provider broke off with an error: {said}"
    if kinds & _NO_ENTRY or kinds & {"401", "402", "403", "404"}:
        return AgentUnavailable(text, retryable=False)
    if kinds & _OVERLOADED or any(kind == "429" or (kind.isdecimal() and 500 <= int(kind) < 600) for kind in kinds):
        return AgentUnavailable(text)
    return ProviderError(text)


def fault_of_body(body: str, content_type: str | None = None) -> AgentUnavailable | ProviderError:
    """Return the error of an answer that does not speak the protocol; a web page is from something on the way.

    >>> fault_of_body("<html>Sorry</html>").retryable
    True
    """
    if is_page(body):
        return AgentUnavailable(f"a web page came in place of the provider's answer: {beginning(body)}")
    kind = f" ({content_type})" if content_type else ""
    return ProviderError(f"the provider's answer does not speak its protocol{kind}: {beginning(body) or 'it is empty'}")


def _error_in(body: str) -> Any:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return document.get("error", document) if isinstance(document, dict) else None


def _said(error: object) -> str:
    """Return the message of an error, on one line."""
    message = error.get("message") if isinstance(error, Mapping) else error
    return beginning(message) if isinstance(message, str) else ""


def _kinds(error: object) -> set[str]:
    if not isinstance(error, Mapping):
        return set()
    given = (error.get(key) for key in ("type", "code", "status"))
    return {str(kind).lower() for kind in given if isinstance(kind, str | int)}


def _waits(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that the provider asks to wait; OpenAI says them in milliseconds as well."""
    exact = headers.get("retry-after-ms", "").strip()
    waits = float(exact) / 1000 if exact.isdecimal() and exact.isascii() else inf
    return waits if waits < inf else retry_after(headers)
