"""Strict parsing of JSON text: the value, or one sentence saying what is wrong with it.

The standard library's C scanner reads the text; everything else runs only where it refuses, to tell the reason.
"""

import json
import re
import sys
from collections.abc import Callable
from json.scanner import make_scanner
from typing import Any, Final, NoReturn, TypeAlias, final

import attrs

from niceeval_expect._parse_problem import (
    MAX_DEPTH,
    MAX_DIGITS,
    SPACE,
    TOO_DEEP,
    ParseProblem,
    explain_error,
    explain_refused,
    explain_rest,
    is_cut_or_deep,
)

__all__ = ["ParseProblem", "Parsed", "parse_strict", "scan_prefix", "try_strict"]

_SHORT: Final = 1_000
"""Text so short cannot be a whole document beyond the limit of depth or of digits."""
_INFINITE: Final = (float("inf"), float("-inf"))
_Scanner: TypeAlias = Callable[[str, int], tuple[Any, int]]


@final
@attrs.frozen
class Parsed:
    """A JSON value that was read.

    Attributes:
        value: The value.
        note: For a value found in prose: which one was used. Empty when the whole text is the value.
    """

    value: Any
    note: str = ""


class _Refused(Exception):
    """Raised inside the C scanner for what the standard library would accept."""

    def __init__(self, code: str, token: str) -> None:
        super().__init__(code, token)
        self.code = code
        self.token = token


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) == len(pairs):
        return value
    keys = [key for key, _ in pairs]
    raise _Refused("duplicate-key", next(key for index, key in enumerate(keys) if key in keys[:index]))


def _float(token: str) -> float:
    value = float(token)
    if value in _INFINITE:
        raise _Refused("number-range", token)
    return value


def _int(token: str) -> int:
    if len(token.lstrip("-")) > MAX_DIGITS:
        raise _Refused("big-integer", token)
    return int(token)


def _constant(token: str) -> NoReturn:
    raise _Refused("not-finite", token)


def _scanner(**hooks: Any) -> _Scanner:
    decoder: Any = json.JSONDecoder(object_pairs_hook=_object, parse_float=_float, parse_constant=_constant, **hooks)
    scan: _Scanner = make_scanner(decoder)
    return scan


_scan: Final = _scanner()
_scan_counting: Final = _scanner(parse_int=_int)
_space: Final = re.compile(r"[ \t\n\r]*+").match
_FAILURES: Final = (StopIteration, ValueError, _Refused, RecursionError)


def parse_strict(text: str, *, offset: int = 0) -> Parsed | ParseProblem:
    """Read `text` as exactly one JSON value.

    Refused, each with its own code: duplicate keys, NaN and infinities, numbers beyond a float, integers over 4,300
    digits, trailing commas, single quotes, a second value, nesting beyond 500 levels, a leading byte order mark.

    Args:
        text: The text; white space around the value is fine.
        offset: Where `text` starts in a larger one, for the positions in a problem.

    >>> parse_strict('{"total": 89.0}').value
    {'total': 89.0}
    >>> parse_strict('{"total": 89').message
    'input ended at character 12 inside an object'
    """
    if len(text) <= _SHORT:
        try:
            value, end = _scan(text, 0)
        except _FAILURES:
            return _careful(text, offset)
        if end == len(text) or not text[end:].strip(SPACE):
            return Parsed(value)
    return _careful(text, offset)


def _careful(text: str, offset: int) -> Parsed | ParseProblem:
    start = _end_of_space(text, 0)
    if start == len(text) or text.isspace():
        return ParseProblem("blank", "the text is blank" if text else "the text is empty", offset)
    if text[0] == "\ufeff":
        return ParseProblem("bom", "the text starts with a byte order mark (U+FEFF), which JSON text must not", offset)
    # Python's own limit on digits is a setting; a verdict does not depend on it.
    scan = _scan if sys.get_int_max_str_digits() == MAX_DIGITS else _scan_counting
    try:
        value, end = scan(text, start)
    except json.JSONDecodeError as error:
        return explain_error(text, error.msg, error.pos, offset)
    except StopIteration as stop:
        return explain_error(text, "Expecting value", stop.value, offset)
    except _Refused as refused:
        return explain_refused(text, refused.code, refused.token, offset)
    except ValueError:
        return explain_refused(text, "big-integer", "", offset)
    except RecursionError:
        if is_cut_or_deep(text) == "deep":
            return TOO_DEEP
        # The callers used up the stack: nothing is wrong with the text.
        raise
    if text.count("[") + text.count("{") > MAX_DEPTH and _is_deep(value):
        return TOO_DEEP
    rest = _end_of_space(text, end)
    return Parsed(value) if rest == len(text) else explain_rest(text, rest, _reads(scan, text, rest), offset)


def _end_of_space(text: str, start: int) -> int:
    found = _space(text, start)
    assert found is not None
    return found.end()


def _reads(scan: _Scanner, text: str, start: int) -> bool:
    try:
        scan(text, start)
    except _FAILURES:
        return False
    return True


def _is_deep(value: Any) -> bool:
    level: list[Any] = [[value]]
    for _ in range(MAX_DEPTH + 1):
        level = [
            item
            for container in level
            for item in (container.values() if isinstance(container, dict) else container)
            if type(item) is list or type(item) is dict
        ]
        if not level:
            return False
    return True


def try_strict(text: str) -> Parsed | None:
    """Read `text` as `parse_strict` does, with no reason given where it is refused."""
    try:
        _scan(text, 0)
    except _FAILURES:
        if text[:1] not in tuple(SPACE):
            return None
    parsed = parse_strict(text)
    return parsed if isinstance(parsed, Parsed) else None


def scan_prefix(text: str, start: int) -> tuple[Any, int] | None:
    """Return the value that starts at `start` and where it ends, when it is right and at most 1,000 characters long."""
    try:
        value, end = _scan(text[start : start + _SHORT], 0)
    except _FAILURES:
        return None
    return value, start + end
