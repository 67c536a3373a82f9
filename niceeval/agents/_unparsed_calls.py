"""How models write a tool call as text, where the server that runs them does not parse it."""

import json
import re
from typing import Final

__all__ = ["looks_like_a_call"]

_ANYWHERE: Final = re.compile(
    r"<tool_(?:calls?|use)[\s>]|<function_calls?[\s>]|<function=|<invoke name=|<\|python_tag\|>|<\|tool_calls?[|_]"
    r"|<｜tool▁calls?▁begin｜>|<｜DSML｜|\[TOOL_CALLS\]|```tool_(?:call|code|use)\b|\bto=functions\.\w"
    r"|^Action:[ \t]*\S.*\n+Action Input:",
    re.IGNORECASE | re.MULTILINE,
)
_WHOLE: Final = re.compile(r"\[?(?:functions\.\w+\(.*\)|[A-Za-z_][\w.]*\((?:\s*\w+\s*=.*)?\)\])", re.DOTALL)
_ARGUMENTS: Final = ("arguments", "parameters")
_FIELDS: Final = frozenset({"name", "id", "type", "function", *_ARGUMENTS})
_MAX_JSON: Final = 100_000


def looks_like_a_call(text: str) -> bool:
    """Tell whether an assistant's text is, or has in it, a tool call that nobody parsed.

    >>> looks_like_a_call('<tool_call name="refund" args={"id":1}'), looks_like_a_call("I would call refund.")
    (True, False)
    """
    if _ANYWHERE.search(text):
        return True
    bare = text.strip()
    if _WHOLE.fullmatch(bare) and (bare[0] != "[" or bare[-1] == "]"):
        return True
    return bare[:1] in ("{", "[") and len(bare) <= _MAX_JSON and '"name"' in bare and _is_a_json_call(bare)


def _is_a_json_call(text: str) -> bool:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    calls = value if isinstance(value, list) else [value]
    return bool(calls) and all(
        isinstance(call, dict)
        and isinstance(call.get("name"), str)
        and any(key in call for key in _ARGUMENTS)
        and call.keys() <= _FIELDS
        for call in calls
    )
