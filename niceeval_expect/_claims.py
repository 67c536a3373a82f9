"""A citation for every claim in an answer."""

import itertools
import re
from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal, TypeAlias

import attrs

from niceeval_expect._citations import marker_too_slow
from niceeval_expect._custom import satisfies
from niceeval_expect._evaluation import MAX_SAMPLES, Diagnostic, Evaluation, cut_text, mismatched, wrong_type
from niceeval_expect._markers import DEFAULT_MARKER, Citation, Marker, read_marker
from niceeval_expect._match import Match, ValueMatch, evaluate_part
from niceeval_expect._sentences import Span, split_sentences
from niceeval_expect._sources import examined, plural, read_flag
from niceeval_expect._spec import register

__all__ = ["ClaimRule", "every_claim_cited"]

ClaimRule: TypeAlias = Literal["sentence", "statement", "number"]
"""What counts as a claim: every sentence, every one that is no question or heading, or every one with a digit."""

_WORD: Final = re.compile(r"[^\W\d_]")
_DIGIT: Final = re.compile(r"\d")
_LIST_NUMBER: Final = re.compile(r"\d+[.)]\s")
_CLOSING: Final = "\"'”’»)*_ "


def _is_statement(text: str) -> bool:
    return not text.startswith("#") and text.rstrip(_CLOSING)[-1:] not in tuple("?:？：؟")


def _has_number(text: str) -> bool:
    return _DIGIT.search(_LIST_NUMBER.sub("", text, count=1) if text[:1].isdecimal() else text) is not None


_RULES: Final[dict[ClaimRule, Callable[[str], bool]]] = {
    "sentence": lambda text: True,
    "statement": _is_statement,
    "number": _has_number,
}


@attrs.define
class _Sentence:
    """A sentence, its markers, and what is left of it without them."""

    span: Span
    markers: list[Citation]
    body: str = ""


def _sentences(text: str, marker: Marker, language: str) -> list[_Sentence]:
    sentences = [_Sentence(span, []) for span in split_sentences(text, language=language)]
    found = marker.find(text)
    at = 0
    for sentence in sentences:
        while at < len(found) and found[at].start < sentence.span.end:
            sentence.markers.append(found[at])
            at += 1
    for sentence in sentences:
        sentence.body = _without(sentence.markers, sentence.span)
    for before, sentence in itertools.pairwise(sentences):
        leading = _leading(sentence)
        # A marker right after the end of a sentence is its citation, if it has no other: "It takes 30 days. [4102]"
        if leading and not before.markers and "\n" not in text[before.span.end : sentence.span.start]:
            before.markers, sentence.markers = sentence.markers[:leading], sentence.markers[leading:]
    return [sentence for sentence in sentences if _WORD.search(sentence.body)]


def _without(markers: list[Citation], span: Span) -> str:
    if not markers:
        return span.text
    parts, at = [], span.start
    for citation in markers:
        parts.append(span.text[max(0, at - span.start) : max(0, citation.start - span.start)].rstrip())
        at = citation.end
    parts.append(span.text[max(0, at - span.start) :])
    return "".join(parts).strip()


def _leading(sentence: _Sentence) -> int:
    """Return how many markers stand before the first word of a sentence."""
    at, count = sentence.span.start, 0
    for citation in sentence.markers:
        if sentence.span.text[max(0, at - sentence.span.start) : citation.start - sentence.span.start].strip():
            break
        at, count = citation.end, count + 1
    return count


@attrs.frozen(eq=False, repr=False)
class _EveryClaimCited(ValueMatch):
    _spec_name = "every_claim_cited"
    _positional = 0
    family = "lexical"
    _marker: Marker
    _is_claim: ValueMatch | ClaimRule
    _if_any: bool
    _language: str

    def _args(self) -> dict[str, object]:
        args = self._marker.args()
        if self._is_claim != "sentence":
            args["is_claim"] = self._is_claim
        if self._if_any:
            args["if_any"] = True
        if self._language != "en":
            args["language"] = self._language
        return args

    def _parts(self) -> tuple[object, ...]:
        return (self._is_claim,)

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        if not isinstance(subject, str):
            return wrong_type("text", subject, pointer)
        try:
            sentences = _sentences(subject, self._marker, self._language)
        except TimeoutError:
            return marker_too_slow(self._marker, subject, pointer)
        claims, undecided = self._claims(sentences, pointer)
        uncited = [claim.span for claim in claims if not claim.markers]
        if uncited:
            return _explain(uncited, len(claims), subject, pointer)
        if undecided is not None:
            return attrs.evolve(undecided, examined=len(claims))
        if not claims and not self._if_any:
            message = f"none of {plural(len(sentences), 'sentence')} is a claim" if sentences else "holds no sentence"
            return mismatched("no-claim", message, pointer, received=subject, examined=0)
        return examined(len(claims), "claim")

    def _claims(self, sentences: list[_Sentence], pointer: str) -> tuple[list[_Sentence], Evaluation | None]:
        """Return what certainly is a claim, and why it is not known of another sentence, if it is not."""
        if isinstance(self._is_claim, str):
            rule = _RULES[self._is_claim]
            return [sentence for sentence in sentences if rule(sentence.body)], None
        claims: list[_Sentence] = []
        undecided: Evaluation | None = None
        for sentence in sentences:
            said = evaluate_part(self._is_claim, sentence.body, pointer)
            if said.outcome == "matched":
                claims.append(sentence)
            elif said.outcome != "mismatched" and (undecided is None or said.outcome == "errored"):
                undecided = undecided if undecided is not None and undecided.outcome == "errored" else said
        return claims, undecided


def _explain(uncited: list[Span], total: int, text: str, pointer: str) -> Evaluation:
    children = [
        Diagnostic("uncited", f"no citation at index {span.start:,}: {cut_text(span.text, 120)!r}", pointer)
        for span in uncited[:MAX_SAMPLES]
    ]
    first = uncited[0]
    carries = "carries" if len(uncited) == 1 else "carry"
    message = (
        f"{len(uncited):,} of {plural(total, 'claim')} {carries} no citation: "
        f"{cut_text(first.text, 120)!r} at index {first.start:,}"
    )
    return mismatched(
        "uncited",
        message,
        pointer,
        expected="a citation marker in every claim",
        received=cut_text(text, around=first.start),
        children=children if len(uncited) > 1 else (),
        examined=total,
        truncated=len(uncited) > MAX_SAMPLES,
    )


def every_claim_cited(
    *,
    marker: str = DEFAULT_MARKER,
    is_claim: ClaimRule | ValueMatch | Callable[[str], bool | Awaitable[bool]] = "sentence",
    if_any: bool = False,
    language: str = "en",
) -> ValueMatch:
    r"""Match a text in which every claim carries a citation marker.

    A claim is a sentence with a word in it that `is_claim` accepts. Its marker stands inside it or, where it has none
    inside, right after it on the same line. It is blind to whether the cited document exists (`cites_only`) or supports
    the claim: only the answer itself is read. A text without a claim mismatches with code ``no-claim``.

    Args:
        marker: A regular expression for a citation, by default a number in square brackets, several or a range.
        is_claim: ``"sentence"``: every sentence; ``"statement"``: every one that is no question, no line that ends in
            a colon and no Markdown heading; ``"number"``: every one with a digit. Or a value match or a predicate over
            the sentence without its markers. A predicate is code: the stored result cannot be derived again without it.
        if_any: Whether a text without a claim is fine.
        language: The code of the language whose abbreviations end no sentence.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If the marker is no regular expression or found in the empty text, or a name is unknown.

    >>> from niceeval_expect import every_claim_cited, pattern
    >>> answer = "Refunds take 30 days [4102]. Shipping is free. Anything else?"
    >>> every_claim_cited(is_claim="statement").evaluate(answer).diagnostic.message
    "1 of 2 claims carries no citation: 'Shipping is free.' at index 29"
    >>> every_claim_cited(is_claim=pattern(r"\d")).evaluate(answer).outcome
    'matched'
    """
    owner = "every_claim_cited()"
    read = read_marker(owner, marker)
    if not isinstance(language, str):
        raise TypeError(f"{owner} takes language= as the code of a language, got {language!r:.200}")
    if not language.strip():
        raise ValueError(f'{owner} got a blank language; leave it out or give a code such as "de"')
    return _EveryClaimCited(read, _read_rule(owner, is_claim), read_flag(owner, "if_any", if_any), language)


def _read_rule(owner: str, is_claim: Any) -> ValueMatch | ClaimRule:
    if isinstance(is_claim, ValueMatch):
        return is_claim
    names = ", ".join(map(repr, _RULES))
    if isinstance(is_claim, str):
        for name in _RULES:
            if is_claim == name:
                return name
        raise ValueError(
            f"{owner} takes is_claim= as one of {names}, a value match or a predicate, got {is_claim!r:.200}"
        )
    if isinstance(is_claim, Match) or not callable(is_claim):
        raise TypeError(
            f"{owner} takes is_claim= as one of {names}, a value match or a predicate, got {is_claim!r:.200}"
        )
    return satisfies("is a claim", is_claim)


register("every_claim_cited", lambda args: every_claim_cited(**args))
