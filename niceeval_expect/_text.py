"""Matches over text: what it includes, what it must not, and how close it is to another."""

import functools
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

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
from niceeval_expect._match import Match, ScoreMatch, ValueMatch
from niceeval_expect._near import HINT_LIMIT, blankness, code_points, nearest, strip_invisible
from niceeval_expect._spec import register

__all__ = ["excludes", "includes", "similarity"]

_Form = Literal["NFC", "NFKC"]

_HINTS: Final = {
    "casefold": "it does with casefold=True",
    "NFC": 'it does with normalize="NFC"',
    "NFKC": 'it does with normalize="NFKC"',
    "invisible": "it does with strip_invisible=True",
    "punctuation": "it does when typographic quotes and dashes are read as plain ones",
    "spaces": "it does when every run of whitespace is read as one space",
    "everything": "it does when case, spacing, invisible characters and typographic forms are set aside",
}

_MAX_CELLS: Final = 10**10
"""The largest product of two lengths that similarity compares, which takes it less than a second."""


@attrs.frozen
class _Reading:
    """How text is read before it is searched: the needle once, each subject when it comes."""

    casefold: bool
    normalize: _Form | None
    strip_invisible: bool

    def __call__(self, text: str) -> str:
        if self.strip_invisible:
            text = strip_invisible(text)
        if self.normalize:
            text = unicodedata.normalize(self.normalize, text)
        if self.casefold:
            text = text.casefold()
            if self.normalize:
                # Casefolding can undo a normal form (U+0345), so that it is restored after it.
                text = unicodedata.normalize(self.normalize, text)
        return text

    def options(self) -> dict[str, object]:
        return {name: value for name, value in attrs.asdict(self).items() if value}


@attrs.frozen(eq=False, repr=False)
class _TextMatch(ValueMatch):
    _text: str
    _reading: _Reading | None
    _needle: str

    def _args(self) -> dict[str, object]:
        return {"text": self._text, **(self._reading.options() if self._reading else {})}

    def _read(self) -> str:
        options = self._reading.options() if self._reading else {}
        return f", read with {', '.join(f'{name}={value!r}' for name, value in options.items())}" if options else ""


@attrs.frozen(eq=False, repr=False)
class _Includes(_TextMatch):
    _spec_name = "includes"

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        if not isinstance(subject, str):
            return wrong_type("text", subject, pointer)
        text = subject if self._reading is None else self._reading(subject)
        if self._needle in text:
            return MATCHED
        why = blankness(subject) or f"does not occur in the {len(subject):,} characters{self._read()}"
        hint, near = _near_miss(self._needle, text)
        return mismatched("includes", why + hint, pointer, expected=self._text, received=near or subject)


@attrs.frozen(eq=False, repr=False)
class _Excludes(_TextMatch):
    _spec_name = "excludes"

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        if not isinstance(subject, str):
            return wrong_type("text", subject, pointer)
        text = subject if self._reading is None else self._reading(subject)
        index = text.find(self._needle)
        if index < 0:
            return MATCHED
        times = text.count(self._needle)
        where = f"occurs at index {index:,}" if times == 1 else f"occurs {times:,} times, first at index {index:,}"
        received = cut_text(text, around=index)
        wanted = f"a text without {cut_text(self._text)!r}"
        return mismatched("excludes", where + self._read(), pointer, expected=wanted, received=received)


def _near_miss(needle: str, text: str) -> tuple[str, str | None]:
    """Say under which reading the needle would occur, with the part of the text where it does if that can be told."""
    near = nearest(needle, text) if len(text) <= HINT_LIMIT else None
    if near is None:
        return "", None
    name, wanted, have = near
    if len(have) != len(text) or len(wanted) != len(needle):
        marks = code_points(text) if name in ("NFC", "NFKC", "invisible") else ""
        return f"; {_HINTS[name]}{f' ({marks})' if marks else ''}", None
    index = have.index(wanted)
    part = text[index : index + len(needle)]
    marks = code_points(part)
    there = f"at index {index:,}: {cut_text(part, 80)!r}{f' ({marks})' if marks else ''}"
    return f"; {_HINTS[name]}, {there}", cut_text(text, around=index)


def _build(
    kind: Callable[[str, _Reading | None, str], ValueMatch],
    name: str,
    needle: object,
    casefold: bool,
    normalize: _Form | None,
    strip: bool,
) -> ValueMatch:
    if not isinstance(needle, str):
        remedy = "use equals(...) or one_of([...]) for values and pattern(...) for regular expressions"
        if isinstance(needle, Match):
            remedy = f"compose matches with & | ~, for example {'~' if name == 'excludes' else ''}{needle!r}"
        raise TypeError(f"{name}() takes the text to look for, got {needle!r:.200}; {remedy}")
    for option, value in (("casefold", casefold), ("strip_invisible", strip)):
        if not isinstance(value, bool):
            raise TypeError(f"{name}() takes {option}=True or {option}=False, got {value!r:.200}")
    if normalize not in (None, "NFC", "NFKC"):
        raise ValueError(f'{name}() takes normalize="NFC", normalize="NFKC" or None, got {normalize!r:.200}')
    text = str.__str__(needle)
    reading = _Reading(casefold, normalize, strip) if casefold or normalize or strip else None
    prepared = text if reading is None else reading(text)
    if not prepared.strip():
        raise ValueError(
            f"{name}() got the blank text {text!r}, which says nothing about an answer; pass what to look for"
        )
    return kind(text, reading, prepared)


def includes(
    needle: str, /, *, casefold: bool = False, normalize: _Form | None = None, strip_invisible: bool = False
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
    return _build(_Includes, "includes", needle, casefold, normalize, strip_invisible)


def excludes(
    needle: str, /, *, casefold: bool = False, normalize: _Form | None = None, strip_invisible: bool = False
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
    return _build(_Excludes, "excludes", needle, casefold, normalize, strip_invisible)


def _rebuilder(function: Callable[..., Match]) -> Callable[[Mapping[str, Any]], Match]:
    def rebuild(args: Mapping[str, Any]) -> Match:
        return function(args["text"], **{name: value for name, value in args.items() if name != "text"})

    return rebuild


register("includes", _rebuilder(includes))
register("excludes", _rebuilder(excludes))


@functools.cache
def _edit_distance() -> Callable[[str, str], int]:
    # Imported at the first comparison: it takes longer to load than the rest of this package.
    from rapidfuzz.distance import Levenshtein

    return Levenshtein.distance


@attrs.frozen(eq=False, repr=False)
class _Similarity(ScoreMatch):
    _spec_name = "similarity"
    _reference: str

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
        distance = _edit_distance()(subject, self._reference) if longest else 0
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
