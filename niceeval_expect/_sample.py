"""Bounded copies for reports: values cut to what a person reads, and the values that never came."""

import json
from math import isfinite
from typing import Any, Final, final

import attrs

__all__ = ["MAX_SAMPLES", "Absent", "AbsentText", "cut_text", "sample", "written"]

MAX_SAMPLES: Final = 8
"""How many candidates, items or differences are sampled into a diagnostic."""
_MAX_TEXT: Final = 240
_MAX_DEPTH: Final = 4


@final
@attrs.frozen
class Absent:
    """A subject that never came: every match over it is unavailable, for `reason`.

    Args:
        reason: Why it is not there, one short sentence.

    >>> from niceeval_expect import Absent, excludes
    >>> excludes("error").evaluate(Absent("the turn failed")).outcome
    'unavailable'
    """

    reason: str = attrs.field(validator=attrs.validators.instance_of(str))

    def __bool__(self) -> bool:
        """An absent value is false, as a missing one is in plain Python."""
        return False


@final
class AbsentText(str):
    """The text that never came: the empty string to Python, absent to every match.

    >>> from niceeval_expect import includes
    >>> from niceeval_expect._evaluation import AbsentText
    >>> AbsentText("the turn failed") == "", includes("x").evaluate(AbsentText("the turn failed")).outcome
    (True, 'unavailable')
    """

    __slots__ = ("reason",)
    reason: str

    def __new__(cls, reason: str) -> "AbsentText":
        text = super().__new__(cls, "")
        text.reason = reason
        return text

    def __getnewargs__(self) -> tuple[str]:
        return (self.reason,)


def cut_text(text: str, limit: int = _MAX_TEXT, *, around: int = 0) -> str:
    """Return at most about `limit` characters of `text`, the part around index `around` included, marked where cut."""
    if len(text) <= limit:
        return text
    start = max(0, min(around - limit // 3, len(text) - limit))
    head = "…" if start else ""
    tail = "…" if start + limit < len(text) else ""
    return f"{head}{text[start : start + limit]}{tail}"


def written(sampled: object) -> str:
    """Return a sampled value as a person reads it: JSON, and the text itself where JSON had no words for it."""
    if isinstance(sampled, dict) and sampled.get("$") == "repr":
        return str(sampled.get("text"))
    if isinstance(sampled, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {written(item)}" for key, item in sampled.items()) + "}"
    if isinstance(sampled, list):
        return "[" + ", ".join(map(written, sampled)) + "]"
    return json.dumps(sampled, ensure_ascii=False)


def sample(value: object) -> Any:
    """Return a bounded, JSON-safe copy of any value for a diagnostic.

    Long text, long lists and deep structures are cut; what JSON cannot say becomes ``{"$": "repr", "text": …}``.
    """
    if value is None or value is True or value is False:
        return value
    return _sample(value, 0)


def _sample(value: object, depth: int) -> Any:
    if isinstance(value, str) and type(value) is str:
        return cut_text(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and type(value) is int:
        return value if abs(value) < 10**18 else _repr(value)
    if isinstance(value, float) and type(value) is float:
        return value if isfinite(value) else _repr(value)
    if isinstance(value, dict) and depth < _MAX_DEPTH:
        kept = list(value.items())[: 2 * MAX_SAMPLES]
        if all(type(key) is str and key != "$" for key, _ in kept):
            cut: dict[str, Any] = {cut_text(key, 80): _sample(item, depth + 1) for key, item in kept}
            if len(value) > len(kept):
                cut["…"] = f"{len(value) - len(kept)} more keys"
            return cut
    if isinstance(value, list | tuple) and depth < _MAX_DEPTH:
        items = [_sample(item, depth + 1) for item in value[:MAX_SAMPLES]]
        if len(value) > MAX_SAMPLES:
            items.append({"$": "repr", "text": f"… {len(value) - MAX_SAMPLES} more items"})
        return items
    return _repr(value)


def _repr(value: object) -> dict[str, str]:
    if isinstance(value, Absent | AbsentText):
        return {"$": "repr", "text": f"(absent: {value.reason})"}
    try:
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**400:
            text = f"an integer of {value.bit_length()} bits"
        elif isinstance(value, dict | list | tuple | set | frozenset):
            text = f"{type(value).__name__} with {len(value)} items"
        else:
            text = repr(value)
    except Exception as error:
        text = f"<{type(value).__name__}, whose repr raised {type(error).__name__}>"
    return {"$": "repr", "text": cut_text(text)}
