"""Tool arguments as protocols carry them: JSON text, read strictly, or a value that is parsed already."""

from collections.abc import Mapping
from typing import Any

from niceeval_expect._evaluation import Absent
from niceeval_expect._parse import ParseProblem, parse_strict

__all__ = ["parse_arguments"]


def parse_arguments(raw: object) -> Any:
    """Return the arguments of a tool call, or an `Absent` that says why they cannot be read.

    Blank text is a call without arguments, ``{}``. Any other text must be exactly one JSON value; ``null`` is the value
    None, an array or a number is itself. A JSON string is a document encoded twice, which is not unpacked. A mapping
    is taken as it is. Nothing is repaired: a call whose arguments are broken has no known input.

    Args:
        raw: What the protocol carries in the place of the arguments; None where that place is empty.

    >>> parse_arguments('{"city": "Oslo"}'), parse_arguments("")
    ({'city': 'Oslo'}, {})
    >>> parse_arguments('{"city": "Par').reason
    'the arguments cannot be read: input ended at character 13 inside a string'
    """
    if raw is None:
        return Absent("the call's input was not reported")
    if not isinstance(raw, str):
        return dict(raw) if isinstance(raw, Mapping) else raw
    if not raw.strip():
        return {}
    parsed = parse_strict(raw)
    if isinstance(parsed, ParseProblem):
        return Absent(f"the arguments cannot be read: {parsed.message}")
    if isinstance(parsed.value, str):
        return Absent("the arguments cannot be read: they are a JSON string, which is JSON encoded twice")
    return parsed.value
