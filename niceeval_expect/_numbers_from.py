"""Numbers in an answer, held against the sources they come from."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from typing import Final, TypeAlias

import attrs

from niceeval_expect._citations import marker_too_slow
from niceeval_expect._evaluation import MAX_SAMPLES, Diagnostic, Evaluation, cut_text, mismatched, wrong_type
from niceeval_expect._markers import Marker, read_marker
from niceeval_expect._match import ValueMatch
from niceeval_expect._number_tokens import NumberToken, number_tokens
from niceeval_expect._sources import examined, options, plural, read_sources
from niceeval_expect._spec import register

__all__ = ["numbers_from", "preserves_digits"]

_Key: TypeAlias = tuple[Decimal | str, bool | str]
_DIGITS: Final = re.compile(r"\d+")


def _key(token: NumberToken) -> _Key:
    """Return what makes two tokens the same: their value, or how they are written where they have none."""
    return (token.text, token.reason) if token.value is None else (token.value, token.percent)


@attrs.frozen(eq=False, repr=False)
class _NumbersFrom(ValueMatch):
    _spec_name = "numbers_from"
    family = "referential"
    _source: str | list[str]
    _skip: Marker | None
    _decimal: str
    _known: frozenset[_Key]

    @property
    def reaches_outside(self) -> bool:
        return True

    def _args(self) -> dict[str, object]:
        args: dict[str, object] = {"source": self._source}
        if self._skip is not None:
            args["skip"] = self._skip.source
        if self._decimal != ".":
            args["decimal"] = self._decimal
        return args

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        if not isinstance(subject, str):
            return wrong_type("text", subject, pointer)
        text = subject
        if self._skip is not None:
            try:
                text = _blanked(subject, self._skip)
            except TimeoutError:
                return marker_too_slow(self._skip, subject, pointer)
        tokens = list(number_tokens(text, self._decimal))
        strange = [token for token in tokens if _key(token) not in self._known]
        return self._explain(strange, len(tokens), subject, pointer) if strange else examined(len(tokens), "number")

    def _explain(self, strange: list[NumberToken], total: int, text: str, pointer: str) -> Evaluation:
        first = strange[0]
        children = [Diagnostic("not-in-source", _placed(token), pointer) for token in strange[:MAX_SAMPLES]]
        not_in = "is not in the source" if len(strange) == 1 else "are not in the source"
        message = f"{len(strange):,} of {plural(total, 'number')} {not_in}: {_placed(first)}"
        return mismatched(
            "not-in-source",
            message,
            pointer,
            expected="numbers that stand in the source",
            received=cut_text(text, around=first.start),
            children=children if len(strange) > 1 else (),
            examined=total,
            truncated=len(strange) > MAX_SAMPLES,
        )


def _placed(token: NumberToken) -> str:
    read = f" (compared as text: {token.reason})" if token.value is None else ""
    return f"{cut_text(token.text, 80)!r} at index {token.start:,}{read}"


def _blanked(text: str, skip: Marker) -> str:
    parts, at = [], 0
    for found in skip.find(text):
        parts += [text[at : found.start], " " * (found.end - found.start)]
        at = found.end
    return "".join((*parts, text[at:])) if parts else text


def numbers_from(source: str | Iterable[str], /, *, skip: str | None = None, decimal: str = ".") -> ValueMatch:
    r"""Match a text in which every number also stands in the source.

    Numbers compare by value (``1,500`` is ``1500.0``), in the digits of any script, with their sign; a percentage is
    only found in a percentage. What has digits in it and is no plain number (``A-2231``, ``2026-08-01``, ``3 million``)
    must be written in the source the same way. A text without a number matches, examined 0.

    It is blind to what a number counts and to how it is used, to numbers in words, and to a number that was rightly
    computed from others: that one mismatches.

    Args:
        source: The text that the numbers come from, or several texts.
        skip: A regular expression for what is not read in the answer, such as citations and list numbers:
            ``r"\[\d+\]|(?m:^\s*\d+[.)]\s)"``.
        decimal: What separates decimals in both, ``"."`` or ``","``; the other one groups thousands.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If `skip` is no regular expression or found in the empty text, or `decimal` is something else.

    >>> from niceeval_expect import numbers_from
    >>> invoice = numbers_from("Total: 1,500.00 EUR, due in 30 days.")
    >>> invoice.evaluate("You owe 1500 EUR within 30 days.").outcome
    'matched'
    >>> invoice.evaluate("You owe 1500 EUR within 14 days.").diagnostic.message
    "1 of 2 numbers is not in the source: '14' at index 24"
    """
    owner = "numbers_from()"
    texts = read_sources(owner, source)
    if decimal not in (".", ","):
        raise ValueError(f'{owner} takes decimal="." or decimal=",", got {decimal!r:.200}')
    known = frozenset(_key(token) for text in texts for token in number_tokens(text, decimal))
    return _NumbersFrom(
        texts[0] if isinstance(source, str) else list(texts),
        None if skip is None else read_marker(owner, skip, "skip"),
        decimal,
        known,
    )


register("numbers_from", lambda args: numbers_from(args["source"], **options(args, "source")))


def _runs(text: str) -> list[tuple[str, int]]:
    """Return the digit sequences of a text in ASCII digits, and where each begins."""
    found = [(match[0], match.start()) for match in _DIGITS.finditer(text)]
    if text.isascii():
        return found
    return [("".join(str(unicodedata.decimal(char)) for char in run), start) for run, start in found]


@attrs.frozen(eq=False, repr=False)
class _PreservesDigits(ValueMatch):
    _spec_name = "preserves_digits"
    family = "referential"
    _source: str | list[str]
    _wanted: Counter[str]

    @property
    def reaches_outside(self) -> bool:
        return True

    def _args(self) -> dict[str, object]:
        return {"source": self._source}

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        if not isinstance(subject, str):
            return wrong_type("text", subject, pointer)
        found = _runs(subject)
        counted = Counter(run for run, _ in found)
        if counted == self._wanted:
            return examined(len(found), "digit sequence")
        return self._explain(found, counted, subject, pointer)

    def _explain(self, found: list[tuple[str, int]], counted: Counter[str], text: str, pointer: str) -> Evaluation:
        missing, extra = self._wanted - counted, counted - self._wanted
        surplus = Counter(extra)
        places: dict[str, int] = {}
        # The last ones of a sequence that comes too often are the ones too many.
        for run, start in reversed(found):
            if surplus[run] > 0:
                surplus[run] -= 1
                places[run] = start
        said = [("missing", f"{_shown(run)} is missing{_times(count)}") for run, count in missing.items()]
        said += [
            ("extra", f"{_shown(run)} is new{_times(extra[run])}, at index {places[run]:,}")
            for run in sorted(extra, key=lambda run: places[run])
        ]
        parts = [
            f"{plural(number.total(), 'digit sequence')} {'missing' if number is missing else 'new'}"
            for number in (missing, extra)
            if number
        ]
        # Both sides are named: a changed number is one missing and one new.
        first = [next(message for code, message in said if code == kind) for kind in dict.fromkeys(c for c, _ in said)]
        return mismatched(
            "digits",
            f"{', '.join(parts)}: {', '.join(first)}",
            pointer,
            expected=list(self._wanted.elements())[: MAX_SAMPLES + 1],
            received=cut_text(text, around=min(places.values(), default=0)),
            children=[Diagnostic(code, message, pointer) for code, message in said[:MAX_SAMPLES]],
            examined=len(found),
            truncated=len(said) > MAX_SAMPLES,
        )


def _shown(run: str) -> str:
    return repr(cut_text(run, 40))


def _times(count: int) -> str:
    return "" if count == 1 else f" {count:,} times"


def preserves_digits(source: str | Iterable[str], /) -> ValueMatch:
    """Match a text with the same digit sequences as the source, each as often, in any order.

    It is meant for translations and rewrites. A sequence is digits and nothing else, so that ``1,500.00`` in the source
    and ``1.500,00`` in the answer are the same three; digits of other scripts count as those of ASCII, and leading
    zeros count. ``1500`` for ``1,500`` mismatches.

    It is blind to signs, separators, units and order, and to numbers in words or superscripts.

    Args:
        source: The text whose digits must be there, or several texts that are counted together.

    Raises:
        TypeError: If it is neither text nor a collection of texts.

    >>> from niceeval_expect import preserves_digits
    >>> letter = preserves_digits("Pay 1,500.00 EUR by 2026-03-09.")
    >>> letter.evaluate("Zahlen Sie bis 09.03.2026 1.500,00 EUR.").outcome
    'matched'
    >>> letter.evaluate("Zahlen Sie bis 09.03.2026 1.600,00 EUR.").diagnostic.message
    "1 digit sequence missing, 1 digit sequence new: '500' is missing, '600' is new, at index 28"
    """
    texts = read_sources("preserves_digits()", source)
    wanted = Counter(run for text in texts for run, _ in _runs(text))
    return _PreservesDigits(texts[0] if isinstance(source, str) else list(texts), wanted)


register("preserves_digits", lambda args: preserves_digits(args["source"]))
