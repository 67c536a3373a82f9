"""`normalized`: equality of two texts after named rules, each of which says what it makes equal and what not."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, final

import attrs

from niceeval_expect._evaluation import MATCHED, Diagnostic, Evaluation, cut_text, mismatched, wrong_type
from niceeval_expect._freeze import call_repr
from niceeval_expect._match import Match, ValueMatch
from niceeval_expect._near import blankness, code_points, strip_invisible
from niceeval_expect._spec import register
from niceeval_expect._textdiff import explain_texts

__all__ = ["TEXT_RULES", "TextRule", "normalized"]

TextRuleName: TypeAlias = Literal[
    "case", "whitespace", "trailing_punctuation", "articles", "units", "nfc", "nfkc", "invisible"
]

_SHOWN: Final = 200
_TRAILING: Final = ".,;:!?…。，、；：！？"
_ARTICLE: Final = re.compile(r"\s*\b(?:the|an?)\s+(?=[^\W\d_])", re.IGNORECASE)

_SYMBOLS: Final = {
    "kg": "kilogram kilograms",
    "g": "gram grams",
    "mg": "milligram milligrams",
    "km": "kilometre kilometres kilometer kilometers",
    "m": "metre metres meter meters",
    "cm": "centimetre centimetres centimeter centimeters",
    "mm": "millimetre millimetres millimeter millimeters",
    "l": "litre litres liter liters",
    "ml": "millilitre millilitres milliliter milliliters",
    "h": "hour hours hr hrs",
    "min": "minute minutes mins",
    "s": "second seconds sec secs",
    "ms": "millisecond milliseconds",
    "%": "percent",
    "EUR": "euro euros €",
}
_SPELLINGS: Final = {word: symbol for symbol, words in _SYMBOLS.items() for word in words.split()}
_UNIT: Final = re.compile(
    r"(?<=\d)\s*+(?:(?P<word>" + "|".join(sorted(_SPELLINGS, key=len, reverse=True)) + ")"
    r"|(?P<symbol>" + "|".join(sorted(_SYMBOLS, key=len, reverse=True)) + r"))(?!\w)",
    re.IGNORECASE,
)


def _unit(found: re.Match[str]) -> str:
    word = found["word"]
    return f" {_SPELLINGS[word.lower()]}" if word else f" {found['symbol']}"


def _without_trailing_punctuation(text: str) -> str:
    body = text.rstrip()
    return body.rstrip(_TRAILING) + text[len(body) :]


def _without_article(text: str) -> str:
    found = _ARTICLE.match(text)
    return text[found.end() :] if found else text


@final
@attrs.frozen
class TextRule:
    """One thing that may differ between two texts that `normalized` calls equal.

    Attributes:
        name: How the rule is called in ``rules=[...]``.
        says: What it does to a text.
        equal: Two texts that become equal.
        different: Two texts that must stay different, because the difference means something.
        apply: The function itself.
    """

    name: TextRuleName
    says: str
    equal: tuple[str, str]
    different: tuple[str, str]
    apply: Callable[[str], str] = attrs.field(eq=False, repr=False)


_RULES: Final = (
    TextRule(
        "case",
        "case is folded; accents are not",
        ("Billing", "billing"),
        ("résumé", "resume"),
        str.casefold,
    ),
    TextRule(
        "whitespace",
        "every run of white space becomes one space, and none is left at the ends",
        (" billing \n department", "billing department"),
        ("now here", "nowhere"),
        lambda text: " ".join(text.split()),
    ),
    TextRule(
        "trailing_punctuation",
        "sentence punctuation at the very end is left out; what is inside, such as a hyphen, stays",
        ("Billing.", "Billing"),
        ("A-22-31", "A-2231"),
        _without_trailing_punctuation,
    ),
    TextRule(
        "articles",
        "one leading English article is left out, if a word follows",
        ("the billing department", "billing department"),
        ("hepatitis A virus", "hepatitis virus"),
        _without_article,
    ),
    TextRule(
        "units",
        "a unit after a number is written as its symbol, one space apart; no value is converted",
        ("5 kilograms", "5kg"),
        ("1 kg", "1000 g"),
        lambda text: _UNIT.sub(_unit, text),
    ),
    TextRule(
        "nfc",
        "composed and decomposed characters are the same (Unicode NFC)",
        ("caf\u00e9", "cafe\u0301"),
        ("caf\u00e9", "cafe"),
        lambda text: unicodedata.normalize("NFC", text),
    ),
    TextRule(
        "nfkc",
        "compatible forms are the same too, such as full-width digits (Unicode NFKC); 10² becomes 102",
        ("\uff14\uff12", "42"),
        ("\u0664\u0662", "42"),
        lambda text: unicodedata.normalize("NFKC", text),
    ),
    TextRule(
        "invisible",
        "zero-width and other default-ignorable characters are left out",
        ("re\u200bfund", "refund"),
        ("re fund", "refund"),
        strip_invisible,
    ),
)

TEXT_RULES: Final[Mapping[str, TextRule]] = MappingProxyType({rule.name: rule for rule in _RULES})
"""Every rule that `normalized` knows, by name."""


@attrs.frozen(eq=False, repr=False)
class _Normalized(ValueMatch):
    _spec_name = "normalized"
    family = "referential"
    _expected: str
    _rules: tuple[TextRule, ...]
    _stages: tuple[str, ...]

    @property
    def reaches_outside(self) -> bool:
        return True

    def _args(self) -> dict[str, object]:
        return {"expected": self._expected, "rules": [rule.name for rule in self._rules]}

    def __repr__(self) -> str:
        return call_repr("normalized", self._expected, rules=[rule.name for rule in self._rules])

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        if not isinstance(subject, str):
            return wrong_type("text", subject, pointer)
        if subject == self._expected:
            return MATCHED
        text, needed = str.__str__(subject), []
        for rule in self._rules:
            before, text = text, rule.apply(text)
            if text != before:
                needed.append(rule.name)
        if text == self._stages[-1]:
            # A rule that left the subject alone may have changed the expected text.
            names = ", ".join(needed or [rule.name for rule in self._rules])
            return Evaluation("matched", Diagnostic("matched", f"equal after {names}", pointer))
        return self._explain(subject, pointer)

    def _explain(self, subject: str, pointer: str) -> Evaluation:
        children, text = [], subject
        for rule, wanted in zip(self._rules, self._stages, strict=True):
            text = rule.apply(text)
            same = " (equal here)" if text == wanted else ""
            message = f"after {rule.name}: {cut_text(wanted, 80)!r} and {cut_text(text, 80)!r}{same}"
            shown = (cut_text(wanted, _SHOWN), cut_text(text, _SHOWN))
            children.append(Diagnostic("rule", message, pointer, *shown))
        why, expected, received = explain_texts(self._stages[-1], text)
        names = ", ".join(rule.name for rule in self._rules)
        marks = code_points(text)
        message = blankness(subject) or f"differs after {names}: {why}{f' ({marks})' if marks else ''}"
        return mismatched("normalized", message, pointer, expected=expected, received=received, children=children)


def normalized(expected: str, /, *, rules: Iterable[TextRuleName | TextRule]) -> ValueMatch:
    """Match a text that equals `expected` once the named rules were applied to both, in the order given.

    Every rule takes something away, and a wrong answer becomes right where that carried meaning. So each is named, and
    `TEXT_RULES` has for each what it does, two texts that it makes equal and two that it must not. The evidence of a
    mismatch shows both texts after each rule.

    ``case``: "Billing" is "billing". ``whitespace``: runs of it are one space. ``trailing_punctuation``: "Billing." is
    "Billing", and A-22-31 is not A-2231. ``articles``: "the team" is "team". ``units``: "5 kilograms" is "5kg", and no
    value is converted. ``nfc``, ``nfkc``, ``invisible``: Unicode forms and zero-width characters.

    Args:
        expected: The text to equal; not blank, nor after the rules.
        rules: A non-empty list of names, or of `TextRule` values of `TEXT_RULES`; none twice.

    Raises:
        TypeError: If `expected` is not text, or `rules` is not a list.
        ValueError: If `expected` is blank, `rules` is empty, or a rule is unknown or given twice.

    >>> from niceeval_expect import normalized
    >>> category = normalized("billing", rules=["case", "whitespace", "trailing_punctuation"])
    >>> category.evaluate("Billing.").diagnostic.message
    'equal after case, trailing_punctuation'
    >>> normalized("A-2231", rules=["trailing_punctuation"]).evaluate("A-22-31").outcome
    'mismatched'
    """
    if not isinstance(expected, str):
        raise TypeError(
            f"normalized() takes the text to equal, got {expected!r:.200}; for other values use equals(...)"
        )
    if isinstance(rules, str | bytes | Mapping) or not isinstance(rules, Iterable):
        raise TypeError(f"normalized() takes rules= as a list of names, got {rules!r:.200}; write rules=[...]")
    chosen: list[TextRule] = []
    for given in rules:
        name = given.name if isinstance(given, TextRule) else given
        rule = TEXT_RULES.get(name) if isinstance(name, str) else None
        if rule is None or (isinstance(given, TextRule) and given is not rule):
            raise ValueError(f"normalized() knows no rule {given!r:.200}; there are {', '.join(TEXT_RULES)}")
        if rule in chosen:
            raise ValueError(f"normalized() got the rule {rule.name!r} twice; rules apply once, in the order given")
        chosen.append(rule)
    if not chosen:
        raise ValueError("normalized() got no rules; to compare a text as it is, use equals(...)")
    stages: list[str] = []
    text = own = str.__str__(expected)
    for rule in chosen:
        text = rule.apply(text)
        stages.append(text)
    if not text.strip():
        raise ValueError(f"normalized() got {own!r:.200}, which is blank after the rules: too much would equal it")
    return _Normalized(own, tuple(chosen), tuple(stages))


def _rebuild(args: Mapping[str, object]) -> Match:
    rules = args["rules"]
    assert isinstance(rules, list)
    return normalized(str(args["expected"]), rules=rules)


register("normalized", _rebuild)
