"""How a text is read before it is searched: the options that the text matches share, and the hints about them."""

import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias

import attrs

from niceeval_expect._evaluation import cut_text
from niceeval_expect._match import Match
from niceeval_expect._near import HINT_LIMIT, READINGS, code_points, nearest, strip_invisible

__all__ = [
    "PLAIN",
    "Form",
    "Reading",
    "edge_hint",
    "near_miss",
    "needle_argument",
    "needles_argument",
    "rebuilder",
    "text_reading",
]

Form: TypeAlias = Literal["NFC", "NFKC"]

_HINTS: Final = {
    "casefold": "it does with casefold=True",
    "NFC": 'it does with normalize="NFC"',
    "NFKC": 'it does with normalize="NFKC"',
    "invisible": "it does with strip_invisible=True",
    "punctuation": "it does when typographic quotes and dashes are read as plain ones",
    "spaces": "it does when every run of whitespace is read as one space",
    "everything": "it does when case, spacing, invisible characters and typographic forms are set aside",
}


@attrs.frozen
class Reading:
    """How text is read before it is searched: the needle once, each subject when it comes."""

    casefold: bool = False
    normalize: Form | None = None
    strip_invisible: bool = False

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
        """Return the options that are not at their default."""
        return {name: value for name, value in attrs.asdict(self).items() if value}

    def sentence(self) -> str:
        """Return ``, read with casefold=True``, or nothing where the text is read as it is."""
        options = self.options()
        return f", read with {', '.join(f'{name}={value!r}' for name, value in options.items())}" if options else ""


PLAIN: Final = Reading()
"""Code point by code point."""


def text_reading(name: str, casefold: object, normalize: object, strip_invisible: object) -> Reading:
    """Return the reading that the three options of a text match stand for, or refuse them with a sentence."""
    for option, value in (("casefold", casefold), ("strip_invisible", strip_invisible)):
        if not isinstance(value, bool):
            raise TypeError(f"{name}() takes {option}=True or {option}=False, got {value!r:.200}")
    if normalize is not None and normalize != "NFC" and normalize != "NFKC":
        raise ValueError(f'{name}() takes normalize="NFC", normalize="NFKC" or None, got {normalize!r:.200}')
    if not (casefold or normalize or strip_invisible):
        return PLAIN
    form: Form | None = "NFC" if normalize == "NFC" else "NFKC" if normalize == "NFKC" else None
    return Reading(bool(casefold), form, bool(strip_invisible))


def needle_argument(name: str, needle: object, reading: Reading, *, deny: bool = False) -> tuple[str, str]:
    """Return a text to look for, as given and as it is read, or refuse it with a sentence."""
    if not isinstance(needle, str):
        remedy = "use equals(...) or one_of([...]) for values and pattern(...) for regular expressions"
        if isinstance(needle, Match):
            remedy = f"compose matches with & | ~, for example {'~' if deny else ''}{needle!r}"
        raise TypeError(f"{name}() takes the text to look for, got {needle!r:.200}; {remedy}")
    text = str.__str__(needle)
    prepared = reading(text)
    if not prepared.strip():
        raise ValueError(
            f"{name}() got the blank text {text!r}, which says nothing about an answer; pass what to look for"
        )
    return text, prepared


def needles_argument(name: str, needles: object, reading: Reading) -> tuple[tuple[str, str], ...]:
    """Return a list of texts to look for, each as given and as it is read, or refuse it with a sentence."""
    if isinstance(needles, str | bytes | Mapping | Match) or not isinstance(needles, Iterable):
        hint = f"; for a single one write {name}([{needles!r:.80}])" if isinstance(needles, str) else ""
        raise TypeError(f"{name}() takes a list of texts, got {needles!r:.200}{hint}")
    ordered = sorted(needles, key=repr) if isinstance(needles, set | frozenset) else list(needles)
    if not ordered:
        raise ValueError(f"{name}() got an empty list, which says nothing about an answer; pass what to look for")
    return tuple(needle_argument(name, needle, reading) for needle in ordered)


def near_miss(needle: str, text: str) -> tuple[str, str | None]:
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


def edge_hint(needle: str, text: str, holds: Callable[[str, str], bool]) -> str:
    """Say under which reading a text would begin or end as it should."""
    if len(text) > HINT_LIMIT:
        return ""
    for name, read in READINGS:
        wanted = read(needle)
        if wanted and holds(read(text), wanted):
            marks = code_points(text) if name in ("NFC", "NFKC", "invisible") else ""
            return f"; {_HINTS[name]}{f' ({marks})' if marks else ''}"
    return ""


def rebuilder(function: Callable[..., Match], key: str = "text") -> Callable[[Mapping[str, Any]], Match]:
    """Return what rebuilds a match whose argument `key` is positional and whose others are options."""

    def rebuild(args: Mapping[str, Any]) -> Match:
        return function(args[key], **{name: value for name, value in args.items() if name != key})

    return rebuild
