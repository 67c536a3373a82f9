"""Matches over text: what it includes, what it must not, and how close it is to another."""

import functools
from collections.abc import Callable
from typing import Final

import attrs

from niceeval_expect._evaluation import (
    MATCHED,
    Diagnostic,
    Evaluation,
    cut_text,
    errored,
    mismatched,
    sample,
    wrong_type,
)
from niceeval_expect._match import ValueMatch
from niceeval_expect._near import blankness
from niceeval_expect._reading import PLAIN, Form, Reading, near_miss, needle_argument, rebuilder, text_reading
from niceeval_expect._score import ScoreMatch
from niceeval_expect._spec import register

__all__ = ["edit_distance", "excludes", "includes", "similarity"]

_MAX_CELLS: Final = 10**10
"""The largest product of two lengths that similarity compares, which takes it less than a second."""


@attrs.frozen(eq=False, repr=False)
class _TextMatch(ValueMatch):
    family = "lexical"
    _text: str
    _needle: str
    _reading: Reading

    def _args(self) -> dict[str, object]:
        return {"text": self._text, **self._reading.options()}


@attrs.frozen(eq=False, repr=False)
class _Includes(_TextMatch):
    _spec_name = "includes"

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        if not isinstance(subject, str):
            return wrong_type("text", subject, pointer)
        text = subject if self._reading is PLAIN else self._reading(subject)
        if self._needle in text:
            return MATCHED
        why = blankness(subject) or f"does not occur in the {len(subject):,} characters{self._reading.sentence()}"
        hint, near = near_miss(self._needle, text)
        return mismatched("includes", why + hint, pointer, expected=self._text, received=near or subject)


@attrs.frozen(eq=False, repr=False)
class _Excludes(_TextMatch):
    _spec_name = "excludes"

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        if not isinstance(subject, str):
            return wrong_type("text", subject, pointer)
        text = subject if self._reading is PLAIN else self._reading(subject)
        index = text.find(self._needle)
        if index < 0:
            return MATCHED
        times = text.count(self._needle)
        where = f"occurs at index {index:,}" if times == 1 else f"occurs {times:,} times, first at index {index:,}"
        received = cut_text(text, around=index)
        wanted = f"a text without {cut_text(self._text)!r}"
        return mismatched("excludes", where + self._reading.sentence(), pointer, expected=wanted, received=received)


def includes(
    needle: str, /, *, casefold: bool = False, normalize: Form | None = None, strip_invisible: bool = False
) -> ValueMatch:
    """Match a text that contains `needle`, code point by code point.

    This is a substring check: ``includes("7")`` matches ``"17"``. For whole words or numbers use `pattern`.
    A subject that is not text mismatches with code ``type``, and so does the denial.

    Args:
        needle: The text to look for; not blank.
        casefold: Compare without regard to case.
        normalize: Compare in this Unicode normal form, so that composed and decomposed letters are the same.
        strip_invisible: Leave out zero-width and other default-ignorable characters.

    Raises:
        TypeError: If `needle` is not text.
        ValueError: If it is blank, or `normalize` is not one of the two forms.

    >>> from niceeval_expect import includes
    >>> includes("refund").evaluate("Your refund is on its way.").outcome
    'matched'
    >>> includes("refund").evaluate("Refund sent.").diagnostic.message
    "does not occur in the 12 characters; it does with casefold=True, at index 0: 'Refund'"
    """
    reading = text_reading("includes", casefold, normalize, strip_invisible)
    return _Includes(*needle_argument("includes", needle, reading), reading)


def excludes(
    needle: str, /, *, casefold: bool = False, normalize: Form | None = None, strip_invisible: bool = False
) -> ValueMatch:
    """Match a text in which `needle` does not occur, code point by code point.

    A subject that is not text mismatches with code ``type``: it neither includes nor excludes anything.

    Args:
        needle: The text that must not occur; not blank.
        casefold: Compare without regard to case.
        normalize: Compare in this Unicode normal form, so that composed and decomposed letters are the same.
        strip_invisible: Leave out zero-width and other default-ignorable characters.

    Raises:
        TypeError: If `needle` is not text.
        ValueError: If it is blank, or `normalize` is not one of the two forms.

    >>> from niceeval_expect import excludes
    >>> excludes("guarantee").evaluate("We guarantee a refund.").diagnostic.message
    'occurs at index 3'
    """
    reading = text_reading("excludes", casefold, normalize, strip_invisible)
    return _Excludes(*needle_argument("excludes", needle, reading, deny=True), reading)


register("includes", rebuilder(includes))
register("excludes", rebuilder(excludes))


@functools.cache
def edit_distance() -> Callable[[str, str], int]:
    """Return the function that counts the single-character edits between two texts."""
    # Imported at the first comparison: it takes longer to load than the rest of this package.
    from rapidfuzz.distance import Levenshtein

    return Levenshtein.distance


@attrs.frozen(eq=False, repr=False)
class _Similarity(ScoreMatch):
    _spec_name = "similarity"
    family = "referential"
    _reference: str

    @property
    def reaches_outside(self) -> bool:
        return True

    def _args(self) -> dict[str, object]:
        return {"reference": self._reference}

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        if not isinstance(subject, str):
            return errored(
                f"similarity needs text, got {type(subject).__name__}", pointer, code="type", received=subject
            )
        longest = max(len(subject), len(self._reference))
        if len(subject) * len(self._reference) > _MAX_CELLS:
            sizes = f"{len(subject):,} and {len(self._reference):,} characters"
            return errored(f"the texts are too long to be compared ({sizes})", pointer, code="size")
        distance = edit_distance()(subject, self._reference) if longest else 0
        value = 1 - distance / longest if longest else 1.0
        edits = "1 edit" if distance == 1 else f"{distance:,} edits"
        message = f"{edits} apart, {longest:,} characters in the longer text"
        diagnostic = Diagnostic("measured", message, pointer, sample(self._reference), sample(subject))
        return Evaluation("measured", diagnostic, value=value)


def similarity(reference: str, /) -> ScoreMatch:
    """Measure how close a text is to `reference`: the normalised Levenshtein similarity, in [0, 1].

    That is 1 minus the number of single-character edits divided by the length of the longer text: equal texts
    measure 1.0 (two empty ones too), texts without anything in common 0.0. Without a threshold it decides nothing.

    Args:
        reference: The text to compare with; it may be empty.

    Returns:
        A measurement; give it a condition with ``.at_least(n)``. A subject that is not text is errored.

    Raises:
        TypeError: If `reference` is not text.

    >>> from niceeval_expect import similarity
    >>> similarity("colour").evaluate("color").value
    0.833...
    """
    if not isinstance(reference, str):
        raise TypeError(f"similarity() takes the text to compare with, got {reference!r:.200}")
    return _Similarity(str.__str__(reference))


register("similarity", lambda args: similarity(args["reference"]))
