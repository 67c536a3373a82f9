"""What is wrong with a text that is not JSON, in one sentence with the decisive place in it."""

import re
import sys
from typing import Final, final

import attrs

from niceeval_expect._evaluation import cut_text

__all__ = [
    "MAX_DEPTH",
    "MAX_DIGITS",
    "SPACE",
    "TOO_DEEP",
    "ParseProblem",
    "explain_error",
    "explain_refused",
    "explain_rest",
    "is_cut_or_deep",
]

MAX_DEPTH: Final = 500
"""Levels of arrays and objects that are read: the C scanner shares Python's limit of 1,000 frames with its callers."""
MAX_DIGITS: Final = 4_300
"""Digits of an integer that are read: Python's own default."""
SPACE: Final = " \t\n\r"
"""The white space of JSON."""
_SHOWN: Final = 32


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


TOO_DEEP: Final = ParseProblem("depth", f"arrays and objects are nested more than {MAX_DEPTH} levels deep")

# A string runs to its quote or, unterminated, to the end, so that no character is looked at twice.
_structure: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+("|\\?\Z)|[\[\]{}]', re.DOTALL).finditer
_tokens: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[-+.\w]++', re.DOTALL).finditer
_integer: Final = re.compile(r"-?([0-9]++)").match
# What may stand at the very end of an input that was cut off: a piece of a literal, of a number or of an escape.
_unfinished: Final = re.compile(
    r"t|tr|tru|f|fa|fal|fals|n|nu|nul|N|Na|-?I[nfity]*|-|[.eE][-+.eE\d]*|\\?u?[0-9a-fA-F]{0,4}", re.ASCII
).fullmatch
_INSIDE: Final = {"{": "an object", "[": "an array", '"': "a string"}
_PYTHON: Final = {"True": "true", "False": "false", "None": "null"}


def is_cut_or_deep(text: str) -> str:
    """Return the innermost of ``{``, ``[``, ``"`` that is still open at the end, or "", or "deep" beyond the limit."""
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


def explain_refused(text: str, code: str, token: str, offset: int) -> ParseProblem:
    """Explain what the scanner would have accepted: a token, or a key, that JSON does not have or we do not read."""
    if code == "duplicate-key":
        return ParseProblem(code, f"the key {cut_text(token, 80)!r} appears twice in one object")
    if code == "big-integer":
        digits, place = max(
            ((_digits(found.group()), found.start()) for found in _tokens(text)), key=lambda item: item[0]
        )
        place += offset
        limit = min(MAX_DIGITS, sys.get_int_max_str_digits() or MAX_DIGITS)
        message = f"the integer at character {place} has {digits:,} digits; at most {limit:,} are read"
        return ParseProblem(code, message, place)
    place = next((found.start() for found in _tokens(text) if found.group().startswith(token)), 0) + offset
    if code == "not-finite":
        message = f"{token} at character {place} is not JSON, which has only finite numbers"
    else:
        message = f"the number {cut_text(token, 40)} at character {place} is beyond the range of a float"
    return ParseProblem(code, message, place)


def _digits(token: str) -> int:
    integer = _integer(token)
    return len(integer[1]) if integer else 0


def explain_rest(text: str, start: int, is_value: bool, offset: int) -> ParseProblem:
    """Explain what follows a complete value."""
    shown = _part(text, start)
    place = start + offset
    if is_value or text[start] in '{["':
        return ParseProblem("several-values", f"a second JSON value starts at character {place}: {shown}", place)
    return ParseProblem("trailing-text", f"text follows the JSON value at character {place}: {shown}", place)


def explain_error(text: str, error: str, position: int, offset: int) -> ParseProblem:
    """Explain an error of the standard library's scanner, which says what it expected and where."""
    place = position + offset
    shown = _part(text, position)
    ended = _is_unfinished(text, position) or error.startswith("Unterminated")
    if ended and (inside := is_cut_or_deep(text)):
        if inside == "deep":
            return TOO_DEEP
        end = len(text) + offset
        return ParseProblem("truncated", f"input ended at character {end} inside {_INSIDE[inside]}", end)
    if error.startswith("Invalid control"):
        message = f"a string holds the raw control character {text[position]!r} at character {place}; JSON escapes it"
        return ParseProblem("control-character", message, place)
    if error.startswith("Invalid \\"):
        return ParseProblem("escape", f"a string holds an unknown escape at character {place}: {shown}", place)
    comma = _lone_comma(text, position)
    if comma is not None:
        message = f"the comma at character {comma + offset} has no value after it (a trailing comma)"
        return ParseProblem("trailing-comma", message, comma + offset)
    if text.startswith("'", position):
        message = f"single quotes at character {place}: {shown}; JSON strings use double quotes"
        return ParseProblem("single-quotes", message, place)
    for literal, spelling in _PYTHON.items():
        if text.startswith(literal, position):
            message = f"{literal} at character {place} is Python; JSON writes {spelling}"
            return ParseProblem("syntax", message, place)
    if not text[:position].strip(SPACE) and text[position] not in "{[":
        hint = "; embedded=True accepts JSON in prose" if "{" in text or "[" in text else ""
        return ParseProblem("syntax", f"the text is not JSON: it starts with {shown}{hint}", place)
    wanted = error[:1].lower() + error[1:] if error.startswith("Expecting") else "expecting JSON"
    message = f"{wanted} at character {place}, got {shown if position < len(text) else 'the end'}"
    return ParseProblem("syntax", message, place)


def _is_unfinished(text: str, position: int) -> bool:
    tail = text[position : position + 64].rstrip(SPACE)
    return bool(_unfinished(tail)) and not text[position + len(tail) :].strip(SPACE)


def _lone_comma(text: str, position: int) -> int | None:
    """Return the index of a comma at or before `position` that a closing bracket follows, if it is one."""
    before = text[:position].rstrip(SPACE)
    comma = position if text.startswith(",", position) else len(before) - 1
    after = text[comma + 1 :].lstrip(SPACE)
    return comma if text[comma : comma + 1] == "," and after[:1] in ("}", "]") else None


def _part(text: str, start: int) -> str:
    return repr(cut_text(text[start : start + 2 * _SHOWN], _SHOWN))
