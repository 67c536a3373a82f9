"""The numbers in a text: whole tokens, read by a declared rule, and those that are not read, with the reason."""

import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal
from typing import Final, final

import attrs

__all__ = ["NumberToken", "number_tokens"]

_CURRENCY: Final = "$¢£¤¥֏؋৲৳৻૱௹฿៛₠-⃀꠸﷼﹩＄￠￡￥￦"
_SPACES: Final = "\u00a0\u2009\u202f"
_DASHES: Final = "-\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d"
_MINUS: Final = frozenset("-\u2212\ufe63\uff0d")
_PLUS: Final = frozenset("+\uff0b")
_POINTS: Final = {".": ".", "\uff0e": ".", ",": ",", "\uff0c": ",", "\u066b": "\u066b", "\u066c": "\u066c"}
_GROUPING: Final = frozenset("'\u2019\u066c" + _SPACES)

# Digits that something joins. A space joins only where a group of three follows, an apostrophe too. A plain space may
# also part two numbers, and what does not show may part one: such digits are taken together, and not read.
_INVISIBLE: Final = "\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff"
_CHUNK: Final = re.compile(
    rf"(?<![\w.,:/])(?<!\w[{re.escape(_DASHES)}])\d{{1,3}}(?: \d{{3}})++(?!\d)(?:[.,]\d++)?"
    rf"|\d++(?:[.,:/\uff0e\uff0c\u066b\u066c{re.escape(_DASHES)}{_INVISIBLE}]\d++|['\u2019{_SPACES}]\d{{3}}(?!\d))*+"
)
_EXPONENT: Final = re.compile(r"[eE][+\-\u2212]?\d{1,4}(?![\w.,]\d|\w)")
_PERCENT: Final = re.compile(r"[ \u00a0\u2009\u202f]?(?:[%\u066a\uff05]|(?:per ?cent)\b)", re.IGNORECASE)
_PER_MILLE: Final = re.compile(r"[ \u00a0\u2009\u202f]?[\u2030\u2031\u0609\u060a]")
_SCALE: Final = re.compile(
    r"[ \u00a0\u2009\u202f]?(?:(?i:hundred|thousand|million|billion|trillion)s?|bn|mn|tn)\b|[kKMBT]\b"
    r"|[ \u00a0\u2009\u202f]?[\u00d7x*\u00b7][ \u00a0\u2009\u202f]?"
    r"10(?:\^|\*\*|[\u207b\u00b9\u00b2\u00b3\u2070-\u2079])"
)
_POWER: Final = re.compile(r"(?:\^|\*\*)[-+\u2212]?\d")
_REST_OF_WORD: Final = re.compile(r"\w*+(?:[-.\u2010\u2011]\w++)*+")
_WORD_WITH_DIGITS: Final = re.compile(r"[^\W\d_]*+(?:_|\d)")
_MAX_DIGITS: Final = 4_300
# What may come after a number and a space or point: not the first letter of a word that scales it, nor a sign.
_HARMLESS: Final = frozenset("acdefgijlnoqrsuvwxyz ACDEFGIJLNOQRSUVWXYZ\n(")
_JOINED: Final = "it is joined to a word"
_LEADING: Final = re.compile(rf"[{_CURRENCY}][ \u00a0\u202f]?\Z")


@final
@attrs.frozen
class NumberToken:
    """One token with digits in it.

    Attributes:
        text: The token as it is written.
        start: The index of its first character.
        value: The number, None where it is not read as one.
        percent: Whether a percent sign (or the word) follows, which is part of `text`.
        reason: Why it is not read.
    """

    text: str
    start: int
    value: Decimal | None
    percent: bool = False
    reason: str = ""


def number_tokens(text: str, decimal: str = ".") -> Iterator[NumberToken]:
    """Yield the tokens with digits in a text, in order.

    Args:
        text: Any text; it takes time in proportion.
        decimal: The character that separates decimals, ``"."`` or ``","``; the other one groups thousands.

    >>> [(token.text, token.value) for token in number_tokens("It fell to -4 (12) by 1,500.50 in v1.2.3")]
    [('-4', Decimal('-4')), ('12', Decimal('12')), ('1,500.50', Decimal('1500.50')), ('v1.2.3', None)]
    """
    position = 0
    while (chunk := _CHUNK.search(text, position)) is not None:
        start, end = chunk.span()
        if _stands_alone(text, start, end):
            yield NumberToken(text[start:end], start, Decimal(text[start:end]))
            position = end
            continue
        joined = _joined(text, start, position)
        if joined < start:
            tokens = [_unread(text, joined, _word_end(text, end), _JOINED)]
        else:
            tokens = _tokens(text, start, end, decimal)
        yield from tokens
        position = max(end, tokens[-1].start + len(tokens[-1].text))


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Return whether it is plain to see that these are the digits of a number, with nothing before or after them."""
    digits = text[start:end]
    if not (digits.isascii() and digits.isdigit()) or len(digits) > _MAX_DIGITS:
        return False
    before = text[max(0, start - 2) : start]
    if before and (before[-1] not in " \n(" or before[0] == "$" or not before.isascii()):
        return False
    after = text[end : end + 2]
    return not after or after[0] in ",;!?)\n" or (after[0] in " ." and (len(after) < 2 or after[1] in _HARMLESS))


def _unread(text: str, start: int, end: int, reason: str) -> NumberToken:
    return NumberToken(text[start:end], start, None, reason=reason)


def _word_end(text: str, end: int) -> int:
    found = _REST_OF_WORD.match(text, end)
    return found.end() if found is not None else end


def _tokens(text: str, start: int, end: int, decimal: str) -> list[NumberToken]:
    if text[start:end].isdecimal():
        return [_token(text, start, end, decimal)]
    cuts = [index for index in range(start, end) if text[index] in _DASHES]
    if not cuts:
        return [_token(text, start, end, decimal)]
    if len(cuts) > 1:
        return [_unread(text, start, end, "several numbers are joined by dashes")]
    # A range: both ends are numbers of one kind, and the dash is no sign.
    low = _token(text, start, cuts[0], decimal)
    high = _token(text, cuts[0] + 1, end, decimal, signed=False)
    if low.value is not None and (high.percent or high.value is None):
        value = low.value if high.value is not None else None
        low = attrs.evolve(low, percent=high.percent, value=value, reason=high.reason)
    return [low, high]


def _joined(text: str, start: int, floor: int) -> int:
    """Return where a word begins that the digits at `start` belong to, or `start`; what is before `floor` is done."""
    index = start
    while index > floor and (text[index - 1].isalnum() or text[index - 1] == "_"):
        index -= 1
    if index < start:
        return index
    # "A-2231": a hyphen after a word is no sign.
    if (
        start > floor + 1
        and text[start - 1] in "-\u2010\u2011./"
        and (text[start - 2].isalnum() or text[start - 2] == "_")
    ):
        index = start - 2
        while index > floor and (text[index - 1].isalnum() or text[index - 1] in "_-"):
            index -= 1
    return index


def _token(text: str, start: int, end: int, decimal: str, *, signed: bool = True) -> NumberToken:
    begin, sign, unclear = _sign(text, start) if signed else (start, "", "")
    digits = text[start:end]
    if signed and begin == start and start and _POINTS.get(text[start - 1]) == decimal and digits.isdecimal():
        before = text[start - 2 : start - 1]
        if not before or not (before in ".,\u2026" or before.isalnum()):
            # ".5" is a number, and a sign may come before it.
            begin, sign, unclear = _sign(text, start - 1)
            begin = min(begin, start - 1)
            digits = text[start - 1 : start] + digits
    number, reason = _parse(digits, decimal)
    exponent = _EXPONENT.match(text, end)
    if exponent is not None:
        number += text[end : exponent.end()].replace("\u2212", "-")
        end = exponent.end()
    percent = _PERCENT.match(text, end)
    reason = unclear or reason or ("" if percent else _after(text, end) or _money(text, start, end))
    if percent is not None:
        end = percent.end()
    if reason:
        end = _word_end(text, end) if reason == _JOINED else end
        return NumberToken(text[begin:end], begin, None, percent is not None, reason)
    return NumberToken(text[begin:end], begin, Decimal(sign + number), percent is not None)


def _sign(text: str, start: int) -> tuple[int, str, str]:
    """Return where a number with its sign begins, the sign, and what is unclear about it."""
    index = start
    currency = _LEADING.search(text, max(0, start - 2), start)
    if currency is not None:
        index = currency.start()
    if not index:
        return start, "", ""
    char, before = text[index - 1], text[index - 2 : index - 1]
    attached = before.isalnum() or before in ("_", char)
    if char in _MINUS or char in _PLUS:
        if before and attached:
            return start, "", ""
        return index - 1, "-" if char in _MINUS else "", ""
    if char == "\u2013" and not (before and attached):
        return index - 1, "", "the dash before it may be a minus sign"
    return start, "", ""


def _after(text: str, end: int) -> str:
    """Return why what follows a number makes it another one."""
    following = text[end : end + 1]
    if not following:
        return ""
    if following in "\u2044" or (following.isnumeric() and not following.isdecimal()):
        return f"it goes on with {following}, which is no decimal digit"
    if _PER_MILLE.match(text, end):
        return "it counts per thousand"
    scale = _SCALE.match(text, end)
    if scale is not None:
        return f"it is scaled by {scale.group().strip()!r}"
    if _POWER.match(text, end):
        return "it is raised to a power"
    if (following.isalpha() or following == "_") and _WORD_WITH_DIGITS.match(text, end):
        return _JOINED
    return ""


def _money(text: str, start: int, end: int) -> str:
    # "$5m" is five million, "5m" five metres.
    is_m = text[end : end + 1] == "m" and not text[end + 1 : end + 2].isalnum()
    return "it is scaled by 'm'" if is_m and _LEADING.search(text, max(0, start - 2), start) else ""


def _parse(digits: str, decimal: str) -> tuple[str, str]:
    """Return a token without its sign as ASCII digits with a point, or why it is none."""
    if len(digits) > _MAX_DIGITS:
        return "", f"it has more than {_MAX_DIGITS:,} digits"
    if digits.isascii() and digits.isdigit():
        return digits, ""
    whole: list[str] = []
    separators: list[str] = []
    script = None
    part: list[str] = []
    for char in digits:
        if char.isdecimal():
            value = unicodedata.decimal(char)
            zero = ord(char) - value
            if script is not None and zero != script:
                return "", "its digits are of several scripts"
            script = zero
            part.append(str(value))
        else:
            whole.append("".join(part))
            separators.append(_POINTS.get(char, char))
            part = []
    whole.append("".join(part))
    if ":" in separators or "/" in separators:
        return "", "it is a time, a date or a ratio"
    if " " in separators:
        return "", "a space parts its digits, which may be one number or several"
    fraction = ""
    if separators and separators[-1] in (decimal, "\u066b"):
        fraction = "." + whole.pop()
        separators.pop()
    if not separators:
        return f"{whole[0] or '0'}{fraction}", ""
    mark = separators[0]
    other = "," if decimal == "." else "."
    if any(each != mark for each in separators) or (mark != other and mark not in _GROUPING):
        return "", f"it has several separators that {decimal!r} as decimal mark does not explain"
    if not 1 <= len(whole[0]) <= 3 or any(len(each) != 3 for each in whole[1:]):
        return "", f"{mark!r} groups thousands, and {decimal!r} is the decimal mark"
    return f"{''.join(whole)}{fraction}", ""
