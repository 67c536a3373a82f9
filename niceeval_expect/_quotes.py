"""Quotations in an answer, held against the sources they are taken from."""

import functools
import re
from collections.abc import Iterable
from typing import Final

import attrs

from niceeval_expect._evaluation import MAX_SAMPLES, Diagnostic, Evaluation, cut_text, mismatched, wrong_type
from niceeval_expect._match import ValueMatch
from niceeval_expect._near import HINT_LIMIT, nearest
from niceeval_expect._sources import UNSPACED, examined, options, plural, read_sources
from niceeval_expect._spec import register

__all__ = ["quotes_from"]

# Each opening mark with what closes it. A character that opens is never inside, so that every search is linear.
_CURLY: Final = (
    "„([^„“”]+)[“”]",
    "“([^„“”]+)”",
    "”([^„“”]+)”",
    "«([^«»]+)»",
    "»([^«»]+)«",
    "‹([^‹›]+)›",
    "›([^‹›]+)‹",
    "「([^「」]+)」",
    "『([^『』]+)』",
)
# A straight or single mark is an apostrophe or a unit unless white space or punctuation is on its outer side.
_STRAIGHT: Final = (
    r'(?<!\w)"(?=\S)([^"]+)(?<=\S)"(?!\w)',
    r"(?<!\w)'(?=\S)((?:[^']|(?<=\w)'(?=\w))+)(?<=\S)'(?!\w)",
    r"[‘‚](?=\S)((?:[^‘‚’]|(?<=\w)’(?=\w))+)[’‘](?!\w)",
)
_MARK: Final = re.compile("[„“”«»‹›「『\"'‘‚]")
_PARAGRAPH: Final = re.compile(r"\n\s*\n")
_GAP: Final = re.compile(r"\s*(?:\[\s*(?:…|\.\.\.)\s*\]|\(\s*(?:…|\.\.\.)\s*\)|…|\.\.\.)\s*")
_HINTS: Final = {
    "casefold": "it does without regard to case",
    "NFC": "it does after NFC normalisation",
    "NFKC": "it does after NFKC normalisation",
    "invisible": "it does without invisible characters",
    "punctuation": "it does when typographic quotes and dashes are read as plain ones",
}


@functools.cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what finds a quotation, and two characters of one word."""
    # Compiled with the first text: it takes longer than to load this module.
    return re.compile("|".join((*_CURLY, *_STRAIGHT))), re.compile(rf"[^\W_{UNSPACED}]{{2}}")


@attrs.frozen
class _Quote:
    text: str
    start: int


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _quotes(text: str) -> list[_Quote]:
    if _MARK.search(text) is None:
        return []
    quotation, _ = _patterns()
    found: list[_Quote] = []
    start = 0
    for end in (*(gap.start() for gap in _PARAGRAPH.finditer(text)), len(text)):
        # An opening mark that nothing closes does not reach over an empty line.
        for match in quotation.finditer(text, start, end):
            inner = match[match.lastindex or 0]
            if inner.strip():
                found.append(_Quote(_spaced(inner), match.start()))
        start = end
    return found


def _find(passage: str, source: str, start: int = 0) -> int:
    """Return where a passage stands in a source, not beginning or ending inside a word there; -1 if nowhere."""
    _, inside = _patterns()
    at = source.find(passage, start)
    while at >= 0:
        end = at + len(passage)
        if not (inside.match(source, at - 1) if at else None) and not inside.match(source, end - 1):
            return at
        at = source.find(passage, at + 1)
    return -1


def _occurs(quote: str, source: str) -> bool:
    """Return whether a quotation is in a source, both with single spaces."""
    if _find(quote, source) >= 0:
        return True
    if quote[-1] in ",." and quote[:-1] and _find(quote[:-1], source) >= 0:
        return True
    pieces = [piece for piece in _GAP.split(quote) if piece]
    if pieces == [quote]:
        return False
    at = 0
    for piece in pieces:
        at = _find(piece, source, at)
        if at < 0:
            return False
        at += len(piece)
    return bool(pieces)


@attrs.frozen(eq=False, repr=False)
class _QuotesFrom(ValueMatch):
    _spec_name = "quotes_from"
    family = "referential"
    _source: str | list[str]
    _min_words: int
    _texts: tuple[str, ...]

    @property
    def reaches_outside(self) -> bool:
        return True

    def _args(self) -> dict[str, object]:
        args: dict[str, object] = {"source": self._source}
        if self._min_words != 1:
            args["min_words"] = self._min_words
        return args

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        if not isinstance(subject, str):
            return wrong_type("text", subject, pointer)
        quotes = [quote for quote in _quotes(subject) if quote.text.count(" ") + 1 >= self._min_words]
        held = {text: any(_occurs(text, source) for source in self._texts) for text in {quote.text for quote in quotes}}
        strange = [quote for quote in quotes if not held[quote.text]]
        if not strange:
            return examined(len(quotes), "quotation")
        return self._explain(strange, len(quotes), subject, pointer)

    def _explain(self, strange: list[_Quote], total: int, text: str, pointer: str) -> Evaluation:
        first = strange[0]
        children = [
            Diagnostic("not-in-source", f"{cut_text(quote.text, 120)!r} at index {quote.start:,}", pointer)
            for quote in strange[:MAX_SAMPLES]
        ]
        not_in = "is not in the source" if len(strange) == 1 else "are not in the source"
        message = (
            f"{len(strange):,} of {plural(total, 'quotation')} {not_in}: "
            f"{cut_text(first.text, 120)!r} at index {first.start:,}{self._hint(first.text)}"
        )
        return mismatched(
            "not-in-source",
            message,
            pointer,
            expected="quotations that stand in the source word for word",
            received=cut_text(text, around=first.start),
            children=children if len(strange) > 1 else (),
            examined=total,
            truncated=len(strange) > MAX_SAMPLES,
        )

    def _hint(self, quote: str) -> str:
        if any(quote in source for source in self._texts):
            return "; it stands there only as part of a longer word"
        for source in self._texts:
            near = nearest(quote, source) if len(source) <= HINT_LIMIT else None
            if near is not None and near[0] in _HINTS:
                return f"; {_HINTS[near[0]]}"
        return ""


def quotes_from(source: str | Iterable[str], /, *, min_words: int = 1) -> ValueMatch:
    """Match a text whose quotations all stand in the source word for word.

    What is between quotation marks („ “ ” « » ‹ › 「 」 『 』, straight double, and single ones that are no
    apostrophes) within one paragraph is a quotation. It must occur in one of the source texts, character by character
    and in whole words, with these rules and no others: every run of white space reads as one space; a final comma or
    full stop may be the answer's own; an ellipsis leaves something out, so that the passages around it must follow each
    other in one source. A text that quotes nothing matches, examined 0.

    It is blind to paraphrase, to indented block quotations, to who is said to have spoken, and to a passage torn out of
    its context; names and terms in quotation marks count as quotations unless `min_words` passes them over.

    Args:
        source: The text that may be quoted, or several texts.
        min_words: How many words make a quotation, 1 or more; shorter ones are passed over.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If `min_words` is below 1.

    >>> from niceeval_expect import quotes_from
    >>> policy = "Refunds are issued within 30 days of the purchase."
    >>> quotes_from(policy).evaluate('The policy says "within 30 days".').outcome
    'matched'
    >>> quotes_from(policy).evaluate('The policy says "within 60 days".').diagnostic.message
    "1 of 1 quotation is not in the source: 'within 60 days' at index 16"
    """
    owner = "quotes_from()"
    texts = read_sources(owner, source)
    if isinstance(min_words, bool) or not isinstance(min_words, int):
        raise TypeError(f"{owner} takes min_words= as a whole number, got {min_words!r:.200}")
    if min_words < 1:
        raise ValueError(f"{owner} takes min_words= of 1 or more, got {min_words}")
    return _QuotesFrom(
        texts[0] if isinstance(source, str) else list(texts), min_words, tuple(_spaced(text) for text in texts)
    )


register("quotes_from", lambda args: quotes_from(args["source"], **options(args, "source")))
