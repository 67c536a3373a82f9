"""Matches over what a text is marked up with: addresses of pages, and headings."""

import functools
import itertools
import re
from collections.abc import Callable
from typing import Any, Final

import attrs

from niceeval_expect._count import count_argument
from niceeval_expect._evaluation import MAX_SAMPLES, Diagnostic, Evaluation, cut_text, mismatched, wrong_type
from niceeval_expect._match import ValueMatch
from niceeval_expect._near import blankness
from niceeval_expect._spec import register

__all__ = ["has_sections", "includes_url", "urls_in"]

_URL: Final = re.compile(r"\bhttps?://[^\s<>\"`{}|\\^]++", re.IGNORECASE)
_HOST: Final = re.compile(
    r"""https?://(?:[^\s/?\#@]*+@)?
    (?: (?:[^\W_][\w-]{0,62}\.)++ [^\W\d_][\w-]{1,62} \.? | localhost
      | [0-9]{1,3}(?:\.[0-9]{1,3}){3} | \[[0-9a-f:.]+\] )
    (?: :[0-9]{1,5} )? (?: [/?\#] | \Z )""",
    re.IGNORECASE | re.VERBOSE,
)
_TRAILING: Final = ".,;:!?'*_~…。，、！？”’»"
_BRACKET: Final = re.compile(r"[()\[\]]")
_PAIRS: Final = {")": "(", "]": "["}


def urls_in(text: str) -> list[str]:
    """Return the different web addresses in a text, in order: ``http://`` or ``https://`` and a host that can be one.

    Punctuation after an address and a closing bracket that was opened before it are not part of it.

    >>> urls_in("See [the policy](https://shop.example/refunds), or (https://en.example/wiki/A_(b)).")
    ['https://shop.example/refunds', 'https://en.example/wiki/A_(b)']
    """
    if "://" not in text:
        return []
    found: dict[str, None] = {}
    for each in _URL.finditer(text):
        url = _trimmed(each.group())
        if _HOST.match(url):
            found[url] = None
    return list(found)


def _trimmed(url: str) -> str:
    # A link in Markdown ends at "](" or ")", one in a list of links may be followed by the next.
    depth = {"(": 0, "[": 0}
    for found in _BRACKET.finditer(url):
        index, char = found.start(), found.group()
        if char in depth:
            depth[char] += 1
        else:
            depth[_PAIRS[char]] -= 1
            if depth[_PAIRS[char]] < 0:
                url = url[:index]
                break
    return url.rstrip(_TRAILING)


@attrs.frozen(eq=False, repr=False)
class _Counted(ValueMatch):
    family = "lexical"
    _positional = 0
    _min: int

    def _args(self) -> dict[str, object]:
        return {"min": self._min}

    def _say(self, what: str, plural: str, found: list[str], subject: str, pointer: str) -> Evaluation:
        count = len(found)
        named = ": " + ", ".join(cut_text(each, 80) for each in found[:MAX_SAMPLES]) if found else ""
        more = ", …" if count > MAX_SAMPLES else ""
        says = f"has {count or 'no'} {what if count == 1 else plural}{named}{more}"
        if count >= self._min:
            return Evaluation("matched", Diagnostic("matched", says, pointer), examined=count)
        wanted = f"at least {self._min} {what if self._min == 1 else plural}"
        why = blankness(subject) or says
        return mismatched(self._spec_name, why, pointer, expected=wanted, received=subject, examined=max(count, 1))


@attrs.frozen(eq=False, repr=False)
class _IncludesUrl(_Counted):
    _spec_name = "includes_url"

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        if not isinstance(subject, str):
            return wrong_type("text", subject, pointer)
        plural = "web addresses" if self._min == 1 else "different web addresses"
        return self._say("web address", plural, urls_in(subject), subject, pointer)


def includes_url(*, min: int = 1) -> ValueMatch:
    """Match a text with at least `min` different web addresses in it.

    An address begins with ``http://`` or ``https://`` and has a host that can be one; ``example.com`` alone is none.
    Nothing is fetched: that an address leads anywhere is not claimed.

    Args:
        min: How many different ones, at least 1.

    Raises:
        TypeError: If `min` is not an int.
        ValueError: If it is below 1.

    >>> from niceeval_expect import includes_url
    >>> includes_url().evaluate("See https://shop.example/refunds.").diagnostic.message
    'has 1 web address: https://shop.example/refunds'
    """
    return _IncludesUrl(count_argument("includes_url() min", min, least=1))


register("includes_url", lambda args: includes_url(min=args["min"]))


@functools.cache
def _parse_blocks() -> Callable[[str], list[Any]]:
    # Imported at the first text with something like a heading in it.
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark")
    # Headings are blocks: what is inside a line is not parsed.
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser.parse


_HEADING: Final = re.compile(r"^[ ]{0,3}(?:#{1,6}(?:[ \t]|$)|=+[ \t]*$|-+[ \t]*$)", re.MULTILINE)
_PLAIN_HEADING: Final = re.compile(r"^#{1,6}[ \t]+(.*)$", re.MULTILINE)
_CLOSING: Final = re.compile(r"(?:^|[ \t])#+[ \t]*\Z")
# What may make a line that looks like a heading none, or another line one: code, HTML, underlines, indentation.
_CONTEXT: Final = re.compile(r"```|~~~|<|^[ \t]*(?:=+|-+)[ \t]*$|^[ \t]+#", re.MULTILINE)


def headings_in(text: str) -> list[str]:
    """Return the headings of a Markdown text as CommonMark reads it, those without text and in quotes left out."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not _HEADING.search(text):
        return []
    if not _CONTEXT.search(text):
        found = (_CLOSING.sub("", line.rstrip(" \t")).strip() for line in _PLAIN_HEADING.findall(text))
        return [title for title in found if title]
    tokens = _parse_blocks()(text)
    return [
        content.content.strip()
        for token, content in itertools.pairwise(tokens)
        if token.type == "heading_open" and token.level == 0 and content.content.strip()
    ]


@attrs.frozen(eq=False, repr=False)
class _HasSections(_Counted):
    _spec_name = "has_sections"

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        if not isinstance(subject, str):
            return wrong_type("text", subject, pointer)
        return self._say("heading", "headings", headings_in(subject), subject, pointer)


def has_sections(*, min: int = 2) -> ValueMatch:
    r"""Match a Markdown text with at least `min` sections: headings of any level, as CommonMark reads them.

    Both ``## Title`` and a title underlined with ``===`` or ``---`` are headings. What looks like one in a code block,
    a quote or a list item is none, nor is a line in bold. Whether a section says anything is not looked at.

    Args:
        min: How many headings, at least 1.

    Raises:
        TypeError: If `min` is not an int.
        ValueError: If it is below 1.

    >>> from niceeval_expect import has_sections
    >>> has_sections(min=2).evaluate("# Refund\nIt is on its way.\n").diagnostic.message
    'has 1 heading: Refund'
    """
    return _HasSections(count_argument("has_sections() min", min, least=1))


register("has_sections", lambda args: has_sections(min=args["min"]))
