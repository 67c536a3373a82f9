"""Matches over several literals at once: any of them, all of them, none of them."""

from collections.abc import Iterable
from typing import Final

import attrs

from niceeval_expect._evaluation import (
    MAX_SAMPLES,
    Diagnostic,
    Evaluation,
    cut_text,
    mismatched,
    sample,
    wrong_type,
)
from niceeval_expect._match import ValueMatch
from niceeval_expect._near import blankness
from niceeval_expect._reading import (
    PLAIN,
    Form,
    Reading,
    near_miss,
    needles_argument,
    rebuilder,
    text_reading,
)
from niceeval_expect._spec import register

__all__ = ["forbids", "includes_all", "includes_any"]

_SHOWN: Final = 80


@attrs.frozen(eq=False, repr=False)
class _Literals(ValueMatch):
    family = "lexical"
    _needles: tuple[tuple[str, str], ...]
    _reading: Reading
    _matched: tuple[Evaluation, ...]

    def _args(self) -> dict[str, object]:
        return {"texts": [text for text, _ in self._needles], **self._reading.options()}

    def _missing(self, text: str, wanted: Iterable[tuple[str, str]], pointer: str) -> list[Diagnostic]:
        """Return one diagnostic for each literal that does not occur, with a hint where it nearly does."""
        found = []
        for literal, needle in wanted:
            hint, near = near_miss(needle, text)
            message = f"{cut_text(literal, _SHOWN)!r} does not occur{hint}"
            found.append(Diagnostic("missing", message, pointer, sample(literal), near))
        return found


@attrs.frozen(eq=False, repr=False)
class _IncludesAny(_Literals):
    _spec_name = "includes_any"

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        if not isinstance(subject, str):
            return wrong_type("text", subject, pointer)
        text = subject if self._reading is PLAIN else self._reading(subject)
        for index, (_, needle) in enumerate(self._needles):
            if needle in text:
                return self._matched[index]
        count = len(self._needles)
        why = blankness(subject) or f"none of {count} texts occurs in the {len(subject):,} characters"
        return mismatched(
            "includes_any",
            why + self._reading.sentence(),
            pointer,
            expected=f"a text with at least one of {_quoted(self._needles)}",
            received=subject,
            children=self._missing(text, self._needles[:MAX_SAMPLES], pointer),
            examined=count,
            truncated=count > MAX_SAMPLES,
        )


@attrs.frozen(eq=False, repr=False)
class _IncludesAll(_Literals):
    _spec_name = "includes_all"

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        if not isinstance(subject, str):
            return wrong_type("text", subject, pointer)
        text = subject if self._reading is PLAIN else self._reading(subject)
        lacking = [pair for pair in self._needles if pair[1] not in text]
        if not lacking:
            return self._matched[0]
        count = len(self._needles)
        why = (
            blankness(subject)
            or f"{len(lacking)} of {count} texts {'does' if len(lacking) == 1 else 'do'} not occur: {_quoted(lacking)}"
        )
        return mismatched(
            "includes_all",
            why + self._reading.sentence(),
            pointer,
            expected=f"a text with all of {_quoted(self._needles)}",
            received=subject,
            children=self._missing(text, lacking[:MAX_SAMPLES], pointer),
            examined=count,
            truncated=len(lacking) > MAX_SAMPLES,
        )


@attrs.frozen(eq=False, repr=False)
class _Forbids(_Literals):
    _spec_name = "forbids"

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        if not isinstance(subject, str):
            return wrong_type("text", subject, pointer)
        text = subject if self._reading is PLAIN else self._reading(subject)
        present = [pair for pair in self._needles if pair[1] in text]
        if not present:
            return self._matched[0]
        children = []
        for literal, needle in present[:MAX_SAMPLES]:
            index, times = text.find(needle), text.count(needle)
            where = f"at index {index:,}" if times == 1 else f"{times:,} times, first at index {index:,}"
            message = f"{cut_text(literal, _SHOWN)!r} occurs {where}"
            children.append(Diagnostic("excludes", message, pointer, None, cut_text(text, around=index)))
        count = len(self._needles)
        verb = "occurs" if len(present) == 1 else "occur"
        return mismatched(
            "forbids",
            f"{len(present)} of {count} forbidden texts {verb}{self._reading.sentence()}: {_quoted(present)}",
            pointer,
            expected=f"a text without any of {_quoted(self._needles)}",
            received=cut_text(text, around=text.find(present[0][1])),
            children=children,
            examined=count,
            truncated=len(present) > MAX_SAMPLES,
        )


def _quoted(pairs: Iterable[tuple[str, str]]) -> str:
    texts = [text for text, _ in pairs]
    more = f" and {len(texts) - MAX_SAMPLES} more" if len(texts) > MAX_SAMPLES else ""
    return ", ".join(repr(cut_text(text, _SHOWN)) for text in texts[:MAX_SAMPLES]) + more


def _says(message: str, examined: int) -> Evaluation:
    return Evaluation("matched", Diagnostic("matched", message), examined=examined)


def includes_any(
    texts: Iterable[str], /, *, casefold: bool = False, normalize: Form | None = None, strip_invisible: bool = False
) -> ValueMatch:
    """Match a text that contains at least one of `texts`; the evidence names the first of them that it does.

    Args:
        texts: A non-empty list of texts to look for, none of them blank. A bare string is refused.
        casefold: Compare without regard to case.
        normalize: Compare in this Unicode normal form.
        strip_invisible: Leave out zero-width and other default-ignorable characters.

    Raises:
        TypeError: If `texts` is not a list of texts.
        ValueError: If it is empty, or one of them is blank.

    >>> from niceeval_expect import includes_any
    >>> includes_any(["refund", "money back"]).evaluate("You get your money back.").diagnostic.message
    "includes 'money back'"
    """
    reading = text_reading("includes_any", casefold, normalize, strip_invisible)
    needles = needles_argument("includes_any", texts, reading)
    how = reading.sentence()
    matched = [_says(f"includes {cut_text(text, _SHOWN)!r}{how}", n) for n, (text, _) in enumerate(needles, 1)]
    return _IncludesAny(needles, reading, tuple(matched))


def includes_all(
    texts: Iterable[str], /, *, casefold: bool = False, normalize: Form | None = None, strip_invisible: bool = False
) -> ValueMatch:
    """Match a text that contains every one of `texts`, in any order; they may overlap.

    Args:
        texts: A non-empty list of texts to look for, none of them blank. A bare string is refused.
        casefold: Compare without regard to case.
        normalize: Compare in this Unicode normal form.
        strip_invisible: Leave out zero-width and other default-ignorable characters.

    Raises:
        TypeError: If `texts` is not a list of texts.
        ValueError: If it is empty, or one of them is blank.

    >>> from niceeval_expect import includes_all
    >>> includes_all(["Monday", "refund"]).evaluate("The refund comes on Friday.").diagnostic.message
    "1 of 2 texts does not occur: 'Monday'"
    """
    reading = text_reading("includes_all", casefold, normalize, strip_invisible)
    needles = needles_argument("includes_all", texts, reading)
    return _IncludesAll(
        needles, reading, (_says(f"includes all {len(needles)} texts{reading.sentence()}", len(needles)),)
    )


def forbids(
    texts: Iterable[str], /, *, casefold: bool = False, normalize: Form | None = None, strip_invisible: bool = False
) -> ValueMatch:
    """Match a text in which none of `texts` occurs, and say that this is all that was looked for.

    It is about literals, and blind to everything else: other spellings, inflections, paraphrases, another language.
    The result of a match names the literals and how they were compared, so that it is not read as "nothing bad".

    Args:
        texts: A non-empty list of literals that must not occur, none of them blank. A bare string is refused.
        casefold: Compare without regard to case.
        normalize: Compare in this Unicode normal form.
        strip_invisible: Leave out zero-width and other default-ignorable characters.

    Raises:
        TypeError: If `texts` is not a list of texts.
        ValueError: If it is empty, or one of them is blank.

    >>> from niceeval_expect import forbids
    >>> forbids(["guarantee", "promise"]).evaluate("We will try.").diagnostic.message
    "none of 2 literals occurs in this text, compared code point by code point: 'guarantee', 'promise'"
    """
    reading = text_reading("forbids", casefold, normalize, strip_invisible)
    needles = needles_argument("forbids", texts, reading)
    how = reading.sentence() or ", compared code point by code point"
    scope = f"none of {len(needles)} literals occurs in this text{how}: {_quoted(needles)}"
    return _Forbids(needles, reading, (_says(scope, len(needles)),))


for _build in (includes_any, includes_all, forbids):
    register(_build.__name__, rebuilder(_build, "texts"))
