"""What an HTTP status says about an agent: that it could not be reached, or that it broke."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from math import inf
from typing import Final

from niceeval.agents._gathering import BadReply, beginning
from niceeval.errors import AgentUnavailable

__all__ = ["beginning", "error_of_status", "is_page", "retry_after"]

_KEY: Final = (401, 403, 407)
_ADDRESS: Final = (404, 405, 410)
_AGAIN: Final = (408, 425, 429)
_PAGE: Final = re.compile(r"\ufeff?\s*(?:<\?xml[^>]{0,200}>\s*)?<(?:!doctype\s+html|html)\b", re.IGNORECASE)


def error_of_status(status: int, headers: Mapping[str, str], body: str, request: str) -> Exception | None:
    """Return what to raise for a status; None for one of success.

    - 408, 425, 429 and 5xx: the agent cannot be reached now; trying again can help.
    - 401, 403, 407: it cannot be reached with this key. 3xx, 404, 405, 410: nor at this address.
    - Any other: it broke on this case.

    Args:
        status: The status, from 200 on.
        headers: The headers of the answer, by names in any case.
        body: The beginning of its body.
        request: What was asked of whom, for the sentence.
    """
    if 200 <= status < 300:
        return None
    says = beginning(body)
    sentence = f"{request} answered {_named(status)}" + (f": {says}" if says else "")
    if status in _AGAIN or status >= 500:
        return AgentUnavailable(sentence, retry_after=retry_after(headers))
    if status in _KEY:
        return AgentUnavailable(f"{sentence} (is the key right, and sent?)", retryable=False)
    if status in _ADDRESS or status < 400:
        to = f", to {headers['location']}" if status < 400 and "location" in headers else ""
        return AgentUnavailable(f"{sentence}{to} (is the address right?)", retryable=False)
    return BadReply(sentence)


def is_page(body: str) -> bool:
    """Tell whether a body is a web page: what a gateway or a login puts in the place of an answer.

    >>> is_page("<!DOCTYPE html><p>Sorry"), is_page('{"html": true}')
    (True, False)
    """
    return _PAGE.match(body) is not None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of a ``Retry-After`` header (RFC 9110, 10.2.3), which is a number or a date; None without one.

    >>> retry_after({"retry-after": "7"})
    7.0
    """
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", value):
        return float(value) if float(value) < inf else None
    try:
        when = parsedate_to_datetime(value)
        sent = parsedate_to_datetime(headers["date"]) if "date" in headers else datetime.now(UTC)
        return max(0.0, (when - sent).total_seconds())
    except (TypeError, ValueError, OverflowError):
        return None


def _named(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)
