"""Why a judge gave no answer, and whether asking again can help."""

import json
from collections.abc import Mapping
from typing import Any, Final, final

import attrs

from niceeval.agents._http_errors import retry_after

__all__ = ["HOPELESS", "JudgeFault", "fault_of_body", "fault_of_status"]

HOPELESS: Final = frozenset({"judge-key-refused", "judge-model-unknown", "judge-sdk-missing"})
"""Codes after which no other call of the run can come out better."""
_MOST_SAID: Final = 300
_SPENT: Final = ("insufficient_quota", "billing_hard_limit_reached")
_TRY_AGAIN: Final = frozenset({408, 409, 425, 429})


@final
@attrs.frozen
class JudgeFault(Exception):
    """No answer came.

    Attributes:
        code: Why, as a code.
        reason: Why, as a sentence.
        retryable: Whether asking again can help.
        retry_after: Seconds after which the endpoint asks to be called again, if it says so.
        reply: What came in place of an answer.
        certain: Whether it is about every call, even where others came out well.
    """

    code: str
    reason: str
    retryable: bool = False
    retry_after: float | None = None
    reply: str = ""
    certain: bool = False


def fault_of_status(status: int, headers: Mapping[str, str], body: str) -> JudgeFault:
    """Return what an answer with an error status means.

    >>> fault_of_status(429, {"retry-after": "3"}, '{"error": {"message": "slow down"}}').retry_after
    3.0
    """
    said = _said(body)
    text = f"the judge's endpoint answered {status}" + (f": {said}" if said else "")
    if status in (401, 403):
        return JudgeFault("judge-key-refused", f"{text}; see that the key is right", reply=body, certain=status == 401)
    if status == 404:
        return JudgeFault("judge-model-unknown", f"{text}; see that the model and base_url are right", reply=body)
    if status == 429:
        # An account without quota is told so by the same status, and waiting does not help.
        spent = _error_in(body).get("code") in _SPENT
        return JudgeFault("judge-rate-limited", text, not spent, retry_after(headers), body)
    if status >= 500 or status in _TRY_AGAIN:
        return JudgeFault("judge-unreachable", text, True, retry_after(headers), body)
    return JudgeFault("judge-request-refused", text, reply=body)


def fault_of_body(body: str) -> JudgeFault:
    """Return the fault of an answer without an error that does not speak the protocol, such as a page of a gateway."""
    said = _said(body)
    text = "what answered does not speak the provider's protocol" + (f": {said}" if said else "")
    return JudgeFault("judge-unreachable", text, True, reply=body)


def _said(body: str) -> str:
    """Return the message of an error's JSON body, on one line; nothing of a page."""
    message = _error_in(body).get("message")
    return " ".join(message.split())[:_MOST_SAID] if isinstance(message, str) else ""


def _error_in(body: str) -> Mapping[str, Any]:
    """Return the error of a JSON body, which may be a text alone; empty where there is none."""
    try:
        document: Any = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    error = document.get("error", document) if isinstance(document, dict) else None
    return error if isinstance(error, dict) else {"message": error}
