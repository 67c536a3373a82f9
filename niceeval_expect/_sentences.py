"""Sentences of a text, by the rules of `sentencex`, Wikimedia's splitter: for whatever counts or reads them."""

import functools
import re
from collections.abc import Callable
from typing import Final, final

import attrs

__all__ = ["Span", "split_sentences"]

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
# The library looks for the end of a quotation from each of these marks on, to the end of the paragraph: by the square
# where many are never closed. In their stead it gets marks that it need not look behind.
_MARKS: Final = re.compile("[“„`«»‹›‘']")
_MILD: Final = str.maketrans("“„`«»‹›‘'", '"' * 7 + "’" * 2)
_LONG: Final = 20_000
_MANY: Final = 1_000


@final
@attrs.frozen
class Span:
    """A part of a text.

    Attributes:
        text: The part itself.
        start: The index of its first character.
        end: The index after its last character.
    """

    text: str
    start: int
    end: int


@functools.cache
def _segment() -> Callable[[str, str], list[str]]:
    # Imported at the first text: most runs never split one.
    import sentencex

    segment: Callable[[str, str], list[str]] = sentencex.segment
    return segment


def _mild(paragraph: str) -> str:
    dense = len(paragraph) > _LONG and sum(1 for _ in _MARKS.finditer(paragraph)) > _MANY
    return paragraph.translate(_MILD) if dense else paragraph


def split_sentences(text: str, *, language: str = "en") -> list[Span]:
    """Return the sentences of a text, in order, without the white space around them.

    A sentence ends at closing punctuation of any script, or at an empty line; a dot in an abbreviation ("Dr.", "e.g."),
    a number or an address ends none. A heading or list item without punctuation is a sentence of its own only where an
    empty line sets it apart.

    Args:
        text: Any text, of any length: it takes time in proportion.
        language: The code of the language whose abbreviations are known.

    >>> [span.text for span in split_sentences("Dr. Wu paid $3.50. It was late!")]
    ['Dr. Wu paid $3.50.', 'It was late!']
    >>> split_sentences("No. Yes.")[-1]
    Span(text='Yes.', start=4, end=8)
    """
    # The library takes no lone surrogates. Every character stays in its place.
    safe = text if text.isascii() else _SURROGATE.sub("\ufffd", text)
    if len(safe) > _LONG:
        safe = "\n\n".join(map(_mild, safe.split("\n\n")))
    spans = []
    start = 0
    for segment in _segment()(language, safe):
        part = segment.strip()
        if part:
            first = start + segment.index(part)
            last = first + len(part)
            spans.append(Span(text[first:last], first, last))
        start += len(segment)
    return spans
