"""What the exceptions of model SDKs mean when a framework lets them through: the model could not be reached, or not."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from niceeval.agents._provider_faults import fault_of_status
from niceeval.errors import AgentUnavailable, told

__all__ = ["Reading", "fault_of_response", "fault_of_sdk_error", "unreachable"]

Reading = Callable[[BaseException], AgentUnavailable | None]

_SDKS: Final = ("openai", "anthropic")


def unreachable(error: BaseException, reading: Reading) -> AgentUnavailable | None:
    """Return the error to raise if all that went wrong is that a model could not be reached, else None.

    Args:
        error: What the framework raised. Of a group, every part has to mean that.
        reading: Says what one exception means.
    """
    parts = [reading(part) for part in _leaves(error)]
    found = [part for part in parts if part is not None]
    if not found or len(found) < len(parts):
        return None
    waits = [part.retry_after for part in found if part.retry_after is not None]
    return AgentUnavailable(
        "; ".join(dict.fromkeys(map(str, found))),
        retry_after=max(waits, default=None),
        retryable=all(part.retryable for part in found),
    )


def fault_of_sdk_error(error: BaseException) -> AgentUnavailable | None:
    """Return what an exception of an official model SDK means; None where it is about this request, or of no SDK."""
    for name in _SDKS:
        # An exception of an SDK that was never imported cannot have been raised.
        sdk: Any = sys.modules.get(name)
        if sdk is None or not isinstance(error, getattr(sdk, f"{_base_of(name)}Error", ())):
            continue
        if isinstance(error, sdk.APIStatusError):
            status, headers = error.response.status_code, error.response.headers
            return fault_of_response(status, headers, error.body)
        if isinstance(error, sdk.APIConnectionError):
            cause = error.__cause__
            why = f" ({told(cause)})" if cause is not None else ""
            return AgentUnavailable(f"the model cannot be reached: {error}{why}")
        if type(error) in (sdk.APIError, getattr(sdk, f"{_base_of(name)}Error")):
            # The first is what broke a stream off; the second says that there is no key.
            return AgentUnavailable(f"the model cannot be reached: {error}", retryable=type(error) is sdk.APIError)
    return None


def fault_of_response(status: int, headers: Mapping[str, str] | None, body: object) -> AgentUnavailable | None:
    """Return what an error status means; None where the model's provider refuses this very request.

    Args:
        status: The HTTP status.
        headers: The headers, in lower case.
        body: The error as the SDK read it: an object, text or None.
    """
    text = body if isinstance(body, str) else json.dumps(body, default=str)
    fault = fault_of_status(status, headers or {}, text)
    return fault if isinstance(fault, AgentUnavailable) else None


def _base_of(name: str) -> str:
    return {"openai": "OpenAI", "anthropic": "Anthropic"}[name]


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            yield from _leaves(part)
    else:
        yield error
