"""Strict parsing of JSON text: the value, or one sentence saying what is wrong with it.

The standard library's C scanner reads the text; everything else here runs only when it refuses, or to tell the reason.
"""

import json
import re
import sys
from collections.abc import Callable
from json.scanner import make_scanner
from typing import Any, Final, NoReturn, final

import attrs

from niceeval_expect._evaluation import cut_text

__all__ = ["MAX_DEPTH", "ParseProblem", "Parsed", "parse_strict"]

MAX_DEPTH: Final = 500
"""Levels of arrays and objects that are read: the C scanner shares Python's limit of 1,000 frames with its callers."""
MAX_DIGITS: Final = 4_300
"""Digits of an integer that are read; Python's own default, kept here so that no setting changes a verdict."""
_SHORT: Final = 1_000
"""Text so short cannot be a whole document beyond either limit."""
_SHOWN: Final = 32
_INFINITE: Final = (float("inf"), float("-inf"))


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


@final
@attrs.frozen
class ParseProblem:
    """Why a text is not one JSON value.

    Attributes:
        code: What is wrong: ``blank``, ``bom``, ``truncated``, ``depth``, ``duplicate-key``, ``not-finite``,
            ``number-range``, ``big-integer``, ``trailing-comma``, ``single-quotes``, ``control-character``,
            ``escape``, ``several-values``, ``trailing-text``, ``syntax``; in prose also ``no-json``, ``ambiguous``.
        message: One sentence for a person, with the decisive place in it.
        position: Index of the decisive character, where it is known.
    """

    code: str
    message: str
    position: int | None = None


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
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise _Refused("duplicate-key", key)
        seen.add(key)
    raise AssertionError(pairs)


def _float(token: str) -> float:
    value = float(token)
    if value in _INFINITE:
        raise _Refused("number-range", token)
    return value


def _int(token: str) -> int:
    if len(token) - (token[0] == "-") > MAX_DIGITS:
        raise _Refused("big-integer", token)
    return int(token)


def _constant(token: str) -> NoReturn:
    raise _Refused("not-finite", token)


def _scanner(**hooks: Any) -> Callable[[str, int], tuple[Any, int]]:
    decoder: Any = json.JSONDecoder(object_pairs_hook=_object, parse_float=_float, parse_constant=_constant, **hooks)
    scan: Callable[[str, int], tuple[Any, int]] = make_scanner(decoder)
    return scan


_scan: Final = _scanner()
_scan_counting: Final = _scanner(parse_int=_int)
_space: Final = re.compile(r"[ \t\n\r]*+").match
# A string runs to its quote or, unterminated, to the end, so that no character is looked at twice.
_structure: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+("|\\?\Z)|[\[\]{}]', re.DOTALL).finditer
_tokens: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[-+.\w]++', re.DOTALL).finditer
_INSIDE: Final = {"{": "an object", "[": "an array", '"': "a string"}
_TOO_DEEP: Final = ParseProblem("depth", f"arrays and objects are nested more than {MAX_DEPTH} levels deep")


def parse_strict(text: str) -> Parsed | ParseProblem:
    """Read `text` as exactly one JSON value.

    Refused, each with its own code: duplicate keys, NaN and infinities, numbers beyond a float, integers over 4,300
    digits, trailing commas, single quotes, a second value, nesting beyond 500 levels, a leading byte order mark.

    >>> parse_strict('{"total": 89.0}').value
    {'total': 89.0}
    >>> parse_strict('{"total": 89').message
    'input ended at character 12 inside an object'
    """
    if len(text) <= _SHORT:
        try:
            value, end = _scan(text, 0)
        except (StopIteration, ValueError, _Refused, RecursionError):
            return _careful(text)
        if end == len(text):
            return Parsed(value)
    return _careful(text)


def _open_at_end(text: str) -> str:
    """Return the innermost of ``{``, ``[``, ``"`` still open at the end of `text`, "", or "deep"."""
    stack: list[str] = []
    for token in _structure(text):
        mark = text[token.start()]
        if mark == '"':
            if token.group(1) != '"':
                return '"'
        elif mark in "{[":
            stack.append(mark)
            if len(stack) > MAX_DEPTH:
                return "deep"
        elif stack:
            stack.pop()
    return stack[-1] if stack else ""


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            item
            for container in level
            for item in (container.values() if type(container) is dict else container)
            if type(item) is list or type(item) is dict
        ]
        if not level:
            return False
    return True


def _careful(text: str) -> Parsed | ParseProblem:
    start = _end_of_space(text, 0)
    if start == len(text):
        return ParseProblem("blank", "the text is blank" if text else "the text is empty", 0)
    if text[0] == "\ufeff":
        return ParseProblem("bom", "the text starts with a byte order mark (U+FEFF), which JSON text must not", 0)
    scan = _scan if sys.get_int_max_str_digits() == MAX_DIGITS else _scan_counting
    try:
        value, end = scan(text, start)
    except json.JSONDecodeError as error:
        return _explain(text, error.msg, error.pos)
    except StopIteration as stop:
        return _explain(text, "Expecting value", stop.value)
    except _Refused as refused:
        return _explain_refused(text, refused.code, refused.token)
    except ValueError:
        return _explain_refused(text, "big-integer", "")
    except RecursionError:
        if _open_at_end(text) != "deep":
            # The callers used up the stack: nothing is wrong with the text.
            raise
        return _TOO_DEEP
    if text.count("[") + text.count("{") > MAX_DEPTH and _is_deep([value]):
        return _TOO_DEEP
    rest = _end_of_space(text, end)
    return Parsed(value) if rest == len(text) else _explain_rest(text, rest, scan)


def _end_of_space(text: str, start: int) -> int:
    found = _space(text, start)
    assert found is not None
    return found.end()


def _part(text: str, start: int) -> str:
    return repr(cut_text(text[start : start + 2 * _SHOWN], _SHOWN))


def _explain_refused(text: str, code: str, token: str) -> ParseProblem:
    if code == "duplicate-key":
        return ParseProblem(code, f"the key {cut_text(token, 80)!r} appears twice in one object")
    if code == "big-integer":
        place, token = next((found.start(), found.group()) for found in _tokens(text) if _big(found.group()))
        digits = len(token.lstrip("-"))
        message = f"the integer at character {place} has {digits:,} digits; at most {MAX_DIGITS:,} are read"
        return ParseProblem(code, message, place)
    place = next(found.start() for found in _tokens(text) if found.group() == token)
    if code == "not-finite":
        message = f"{token} at character {place} is not JSON, which has only finite numbers"
    else:
        message = f"the number {cut_text(token, 40)} at character {place} is beyond the range of a float"
    return ParseProblem(code, message, place)


def _big(token: str) -> bool:
    digits = token.removeprefix("-")
    return len(digits) > min(MAX_DIGITS, sys.get_int_max_str_digits() or MAX_DIGITS) and digits.isdecimal()


def _explain_rest(text: str, rest: int, scan: Callable[[str, int], tuple[Any, int]]) -> ParseProblem:
    try:
        scan(text, rest)
    except (StopIteration, ValueError, _Refused):
        if text[rest] in '{["':
            message = f"a second JSON value starts at character {rest}: {_part(text, rest)}"
            return ParseProblem("several-values", message, rest)
        return ParseProblem(
            "trailing-text", f"text follows the JSON value at character {rest}: {_part(text, rest)}", rest
        )
    return ParseProblem("several-values", f"a second JSON value starts at character {rest}: {_part(text, rest)}", rest)


# What may stand at the very end of an input that was cut off: a piece of a literal, number or \u escape.
_unfinished: Final = re.compile(
    r"t|tr|tru|f|fa|fal|fals|n|nu|nul|N|Na|-|-?I[nfity]*|[.eE][-+.eE\d]*|\\?u?[0-9a-fA-F]{0,4}|", re.ASCII
).fullmatch
_PYTHON: Final = {"True": "true", "False": "false", "None": "null"}


def _explain(text: str, error: str, position: int) -> ParseProblem:
    tail = text[position : position + 16].rstrip(" \t\n\r")
    cut = _unfinished(tail) and _end_of_space(text, position + len(tail)) == len(text)
    if cut or error.startswith("Unterminated"):
        inside = _open_at_end(text)
        if inside == "deep":
            return _TOO_DEEP
        if inside:
            message = f"input ended at character {len(text)} inside {_INSIDE[inside]}"
            return ParseProblem("truncated", message, len(text))
    character = text[position : position + 1]
    if error.startswith("Invalid control"):
        message = (
            f"a string holds a raw control character ({character!r}) at character {position}; JSON writes it escaped"
        )
        return ParseProblem("control-character", message, position)
    if error.startswith("Invalid \\"):
        message = f"a string holds an unknown escape at character {position}: {_part(text, position)}"
        return ParseProblem("escape", message, position)
    comma = position if character == "," else len(text[:position].rstrip(" \t\n\r")) - 1
    if text[comma : comma + 1] == "," and text[(after := _end_of_space(text, comma + 1)) : after + 1] in ("}", "]"):
        message = f"a comma at character {comma} has no value after it (trailing comma)"
        return ParseProblem("trailing-comma", message, comma)
    if character == "'":
        message = f"single quotes at character {position}: {_part(text, position)}; JSON strings use double quotes"
        return ParseProblem("single-quotes", message, position)
    for literal, spelling in _PYTHON.items():
        if text.startswith(literal, position):
            message = f"{literal} at character {position} is Python; JSON writes {spelling}"
            return ParseProblem("syntax", message, position)
    if position == _end_of_space(text, 0) and character not in tuple("{["):
        hint = "; json_text(..., embedded=True) accepts JSON in prose" if re.search(r"[{\[]", text) else ""
        return ParseProblem("syntax", f"the text is not JSON: it starts with {_part(text, position)}{hint}", position)
    wanted = error[:1].lower() + error[1:] if error.startswith("Expecting") else "expecting JSON"
    message = f"{wanted} at character {position}, got {_part(text, position) if character else 'the end'}"
    return ParseProblem("syntax", message, position)
