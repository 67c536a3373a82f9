"""One JSON value in prose: in a fence labelled ``json``, else wherever a bracket opens a document.

The whole text wins when it is JSON. A document that is started and never closed ends the search: nothing inside it is
ever used. Every part of the text is read a bounded number of times, so that hostile input costs linear time.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, Literal, final

import attrs

from niceeval_expect._parse import Parsed, ParseProblem, parse_strict, scan_prefix, try_strict
from niceeval_expect._parse_problem import MAX_DEPTH

__all__ = ["parse_embedded"]

# Where a document may start: `{}`, `{"key":`, `[]`, `[[`, `[{`, or `[` with a scalar and what may follow one. The text
# may also end within that, after the quote of a string.
_start: Final = re.compile(
    r"""\{\s*+(?:\}|\Z|"(?:[^"\\\n]|\\.)*+(?:"\s*+(?::|\Z)|\\?\Z))
      | \[\s*+(?:[]\[{]|\Z
               |"(?:[^"\\\n]|\\.)*+(?:"\s*+(?:[],]|\Z)|\\?\Z)
               |(?:-?\d[-+.eE\d]*+|true|false|null|NaN|-?Infinity)\s*+(?:[],]|\Z))""",
    re.VERBOSE | re.ASCII,
).search
# A string runs to its quote or, unterminated, to the end, so that no character is looked at twice.
_structure: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL).finditer
_marker: Final = re.compile("```|~~~").search
_opener: Final = re.compile(r"\s*+(`{3,}|~{3,})[ \t]*+([^\s`]*+)[^`]*$").match
_OPENS: Final = {"}": "{", "]": "["}
_SHOWN: Final = 3


@final
@attrs.frozen
class _Block:
    """A fenced block: what it is labelled, and where its content starts and ends."""

    label: str
    start: int
    end: int


@final
@attrs.frozen
class _Found:
    """A document found in prose."""

    value: Any
    start: int


@final
@attrs.define
class _Findings:
    """What a search through prose came to."""

    objects: list[_Found]
    arrays: list[_Found]
    broken: ParseProblem | None = None
    unclosed: ParseProblem | None = None


def parse_embedded(text: str, pick: Literal["first", "last"] | None = None) -> Parsed | ParseProblem:
    """Read the one JSON value in `text`, which may be prose around it.

    The whole text wins, then a fence labelled ``json``; otherwise objects are candidates, arrays only where there is no
    object, and other fenced code only where nothing is found outside it.

    Args:
        text: The text.
        pick: Which of several values to use; without it several are ambiguous.

    >>> parse_embedded('Sure: {"city": "Oslo"}, as in [1].').value
    {'city': 'Oslo'}
    >>> parse_embedded('First {"a": 1}, then {"a": 2}').code
    'ambiguous'
    """
    whole = try_strict(text)
    if whole is not None:
        return whole
    if text.startswith("\ufeff") or not text.strip():
        return parse_strict(text)
    blocks = list(_blocks(text)) if "```" in text or "~~~" in text else []
    labelled = [block for block in blocks if block.label == "json"]
    if labelled:
        return _from_blocks(text, labelled, pick)
    code = [block for block in blocks if block.label]
    findings = _search(_without(text, code))
    if code and not findings.objects and not findings.arrays and not findings.unclosed:
        findings = _search(text)
    return _choose(findings, pick)


def _blocks(text: str) -> Iterator[_Block]:
    """Yield the fenced blocks: a fence closes only with its own character, at least as long; else at the end."""
    fence, label, start = "", "", 0
    marker = _marker(text)
    while marker:
        line = text.rfind("\n", 0, marker.start()) + 1
        end = text.find("\n", line)
        end = len(text) if end < 0 else end
        content = text[line:end].rstrip()
        marker = _marker(text, end)
        if not fence:
            opened = _opener(content)
            if opened:
                fence, label, start = opened[1], opened[2].casefold(), min(end + 1, len(text))
            continue
        before = content.rstrip(fence[0])
        # No JSON string runs over the end of a line, so that a fence right after the JSON on its line closes too.
        if len(content) - len(before) >= len(fence) and (label == "json" or not before.strip()):
            yield _Block(label, start, line + len(before))
            fence = ""
    if fence:
        yield _Block(label, start, len(text))


def _without(text: str, blocks: list[_Block]) -> str:
    """Return the text with the blocks blanked out, so that positions stay."""
    parts, position = [], 0
    for block in blocks:
        parts += [text[position : block.start], "\n" * (block.end - block.start)]
        position = block.end
    return "".join([*parts, text[position:]])


def _from_blocks(text: str, blocks: list[_Block], pick: Literal["first", "last"] | None) -> Parsed | ParseProblem:
    if len(blocks) > 1 and pick is None:
        return _ambiguous("JSON blocks", [block.start for block in blocks])
    block = blocks[-1 if pick == "last" else 0]
    which = f"the {'only' if len(blocks) == 1 else pick} block labelled json, at character {block.start}"
    parsed = parse_strict(text[block.start : block.end], offset=block.start)
    if isinstance(parsed, Parsed):
        return Parsed(parsed.value, note=which)
    return ParseProblem(parsed.code, f"{which}: {parsed.message}", parsed.position)


def _search(text: str) -> _Findings:
    findings = _Findings([], [])
    position = 0
    while started := _start(text, position):
        start = started.start()
        kept = findings.objects if text[start] == "{" else findings.arrays
        short = scan_prefix(text, start)
        if short is not None:
            value, position = short
            kept.append(_Found(value, start))
            continue
        end = _end(text, start)
        part = text[start:end]
        # One reason is enough: to explain a text costs more than to refuse it.
        parsed = try_strict(part) if findings.broken and end is not None else parse_strict(part, offset=start)
        if isinstance(parsed, Parsed):
            kept.append(_Found(parsed.value, start))
        elif parsed is not None:
            problem = ParseProblem(
                parsed.code, f"the JSON that starts at character {start}: {parsed.message}", parsed.position
            )
            if end is None:
                findings.unclosed = problem
            else:
                findings.broken = problem
        if end is None:
            break
        position = end
    return findings


def _end(text: str, start: int) -> int | None:
    """Return where the bracket at `start` closes, or None where it does not, or not within the levels that are read.

    A closing bracket of the wrong kind closes nothing: what is inside a broken document is no document of its own.
    """
    stack: list[str] = []
    for token in _structure(text, start):
        mark = text[token.start()]
        if mark in "{[":
            stack.append(mark)
            if len(stack) > MAX_DEPTH:
                return None
        elif mark != '"' and stack[-1] == _OPENS[mark]:
            stack.pop()
            if not stack:
                return token.end()
    return None


def _choose(findings: _Findings, pick: Literal["first", "last"] | None) -> Parsed | ParseProblem:
    found = findings.objects or findings.arrays
    if findings.unclosed and (not found or pick != "first"):
        return findings.unclosed
    if not found:
        return findings.broken or ParseProblem("no-json", "no JSON value was found in the text")
    kind = "JSON object" if findings.objects else "JSON array"
    if len(found) > 1 and pick is None:
        return _ambiguous(f"{kind}s", [each.start for each in found])
    used = found[-1 if pick == "last" else 0]
    which = f"the only {kind}" if len(found) == 1 else f"the {pick} of {len(found)} {kind}s"
    return Parsed(used.value, note=f"{which}, at character {used.start}")


def _ambiguous(what: str, starts: list[int]) -> ParseProblem:
    places = ", ".join(map(str, starts[:_SHOWN])) + (" …" if len(starts) > _SHOWN else "")
    message = f'ambiguous: {len(starts)} {what}, at characters {places}; pick="first" or "last" chooses one'
    return ParseProblem("ambiguous", message, starts[1])
