"""Reading a judge's reply: the verdict, or why there is none. Nothing is clamped, and nothing is guessed."""

import json
import re
from fractions import Fraction
from typing import Any, Final, TypeAlias, final

import attrs

from niceeval_expect._judge_scale import Choices, Range, Scale
from niceeval_expect._sample import cut_text

__all__ = ["OFF_FORMAT", "OFF_SCALE", "REFUSED", "Reading", "Unusable", "read_reply"]

OFF_FORMAT: Final = "judge-off-format"
OFF_SCALE: Final = "judge-off-scale"
REFUSED: Final = "judge-refused"

_LINE: Final = re.compile(r"^[ \t>#*_`]*verdict[ \t*_`]*[:=](.*)$", re.IGNORECASE | re.MULTILINE)
_BEFORE: Final = " \t\r*_`\"'(["
_AFTER: Final = " \t\r*_`\"')]."
_FENCED: Final = re.compile(r"```(?:json)?[ \t]*\n(.*)\n```", re.DOTALL)
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,30}(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,2})?")
_REFUSAL: Final = re.compile(
    r"\W*(?:i['’]?m |i am )?(?:very |so |really )?(?:sorry|afraid|unable to|not able to)\b"
    r"|\W*i (?:cannot|can['’]?t|won['’]?t|will not|must decline|decline)\b|\W*as an ai\b",
    re.IGNORECASE,
)
_VERDICTS: Final = frozenset({
    "answer", "choice", "grade", "label", "max", "maximum", "out", "pass", "passed", "rating", "result", "scale",
    "score", "verdict",
})  # fmt: skip
"""Words in the key of another verdict, or of another scale than the one that was asked for."""
_REASONS: Final = ("rationale", "reason", "reasoning", "explanation")
_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_SHOWN: Final = 80


@final
@attrs.frozen
class Reading:
    """A verdict.

    Attributes:
        value: The measurement, from 0 to 1, exact.
        verdict: What the judge said: the name of a choice, or the number.
        rationale: Why, in its words.
    """

    value: Fraction
    verdict: str
    rationale: str


@final
@attrs.frozen
class Unusable:
    """A reply that holds no verdict: a code, and why in a sentence."""

    code: str
    reason: str


_Read: TypeAlias = Reading | Unusable


def read_reply(text: str, scale: Scale) -> _Read:
    r"""Read a reply, which is a JSON object or text with a line for the verdict.

    In text, the last line ``VERDICT: …`` counts, and only if no other one says something else and nothing after it
    names another answer. In JSON, only the key that was asked for counts, and no other verdict may stand beside it.

    >>> from niceeval_expect._judge_scale import Range
    >>> read_reply("Clear and polite.\nVERDICT: 4", Range(1, 5)).value
    Fraction(3, 4)
    >>> read_reply("VERDICT: 80%", Range(0, 1)).code
    'judge-off-format'
    """
    stripped = text.strip()
    if not stripped:
        return Unusable(REFUSED, "the judge said nothing")
    fenced = _FENCED.fullmatch(stripped)
    inner = fenced[1].strip() if fenced else stripped
    if inner.startswith("{"):
        return _from_json(inner, scale)
    lines = list(_LINE.finditer(stripped))
    found = [(line[1].lstrip(_BEFORE).rstrip(_AFTER), line.start()) for line in lines]
    if not found:
        if _REFUSAL.match(stripped):
            return Unusable(REFUSED, "the judge declined to answer")
        return Unusable(OFF_FORMAT, "the reply has no line VERDICT: …")
    said, start = found[-1]
    read = _verdict(said, scale, stripped[:start].strip())
    if isinstance(read, Unusable):
        return read
    for other, _ in found[:-1]:
        before = _verdict(other, scale, "")
        if isinstance(before, Unusable) or before.value != read.value or before.verdict != read.verdict:
            shown = cut_text(other, _SHOWN)
            return Unusable(OFF_FORMAT, f"the reply contradicts itself: VERDICT: {shown}, then VERDICT: {read.verdict}")
    after = stripped[lines[-1].end() :].strip()
    if _names_another(after, read.verdict, scale):
        return Unusable(OFF_FORMAT, f"the reply goes on after VERDICT: {read.verdict}: {cut_text(after, _SHOWN)}")
    return read


def _names_another(after: str, verdict: str, scale: Scale) -> bool:
    """Tell whether what follows a verdict may take it back: by that word, by another choice, or by a number."""
    if re.search(r"verdict", after, re.IGNORECASE):
        return True
    if not isinstance(scale, Choices):
        return re.search(r"\d", after) is not None
    others = "|".join(re.escape(name) for name, _ in scale.options if name != verdict)
    return re.search(rf"(?<!\w)(?:{others})(?!\w)", after) is not None


def _verdict(said: str, scale: Scale, rationale: str) -> _Read:
    if isinstance(scale, Choices):
        name = scale.find(said)
        if name is None:
            known = ", ".join(known for known, _ in scale.options)
            return Unusable(OFF_FORMAT, f"the verdict is {cut_text(said, _SHOWN)!r}, not one of {known}")
        return Reading(scale.value(name), name, rationale)
    if not _NUMBER.fullmatch(said):
        return Unusable(OFF_FORMAT, f"the verdict is {cut_text(said, _SHOWN)!r}, which is not a plain number")
    return _number(Fraction(said), said, scale, rationale)


def _number(number: Fraction, said: str, scale: Range, rationale: str) -> _Read:
    value = scale.value(number)
    if value is None:
        return Unusable(OFF_SCALE, f"the verdict is {said}, off the scale from {scale.low} to {scale.high}")
    return Reading(value, said, rationale)


@final
class _Unread(ValueError):
    """JSON that this reader does not take, with why."""


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise _Unread("it has a key twice")
    return members


def _not_finite(text: str) -> Any:
    raise _Unread(f"{text} is no number of JSON")


def _from_json(text: str, scale: Scale) -> _Read:
    try:
        members = json.loads(text, object_pairs_hook=_members, parse_float=_Decimal, parse_constant=_not_finite)
    except (ValueError, RecursionError) as error:
        why = str(error) if isinstance(error, _Unread) else "it does not parse"
        return Unusable(OFF_FORMAT, f"the reply is to be JSON: {why}")
    if not isinstance(members, dict):
        return Unusable(OFF_FORMAT, "the reply is to be one JSON object")
    key = "choice" if isinstance(scale, Choices) else "score"
    if key not in members:
        return Unusable(OFF_FORMAT, f'the reply has no "{key}"')
    said = members[key]
    other = next((name for name in members if name != key and _is_verdict(name, members[name], said, scale)), None)
    if other is not None:
        given = f'"{other}": {_shown(members[other])} beside "{key}": {_shown(said)}'
        return Unusable(OFF_FORMAT, f"the reply gives two verdicts, and only one was asked for: {given}")
    rationale = next((str(members[name]) for name in _REASONS if isinstance(members.get(name), str)), "")
    if isinstance(scale, Choices):
        if not isinstance(said, str):
            return Unusable(OFF_FORMAT, f'"choice" is {_shown(said)}, not a text')
        return _verdict(said.strip(), scale, rationale)
    if isinstance(said, bool) or not isinstance(said, int | _Decimal):
        return Unusable(OFF_FORMAT, f'"score" is {_shown(said)}, not a number')
    written = str(said)
    if not _NUMBER.fullmatch(written):
        return Unusable(OFF_FORMAT, f'"score" is {_shown(said)}, not a number of ordinary size')
    return _number(Fraction(written), written, scale, rationale)


def _is_verdict(name: str, value: object, said: object, scale: Scale) -> bool:
    """Tell whether a member beside the verdict is, by its name or what it says, another verdict or another scale."""
    words = [word.casefold() for word in _WORDS.findall(name)]
    if any(word in _REASONS for word in words):
        return False
    if any(word in _VERDICTS or word.removesuffix("s") in _VERDICTS for word in words):
        return True
    if not (isinstance(scale, Choices) and isinstance(value, str) and isinstance(said, str)):
        return False
    return scale.find(value.strip()) not in (None, scale.find(said.strip()))


class _Decimal:
    """A JSON number as it was written."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text


def _shown(value: object) -> str:
    if isinstance(value, _Decimal):
        return cut_text(value.text, _SHOWN)
    return cut_text(json.dumps(value, default=str), _SHOWN)
