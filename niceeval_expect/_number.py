"""Matches over numbers: within a tolerance, and as they are written in a text."""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, Literal, TypeAlias

import attrs

from niceeval_expect._evaluation import (
    MATCHED,
    MAX_SAMPLES,
    Diagnostic,
    Evaluation,
    cut_text,
    mismatched,
    sample,
    wrong_type,
)
from niceeval_expect._freeze import call_repr
from niceeval_expect._match import ValueMatch
from niceeval_expect._near import blankness
from niceeval_expect._number_tokens import NumberToken, number_tokens
from niceeval_expect._reading import rebuilder
from niceeval_expect._spec import register
from niceeval_expect._tolerance import (
    Tolerance,
    as_decimal,
    exact,
    is_finite,
    is_number,
    number_argument,
    tolerance_argument,
)

__all__ = ["close_to", "number_in_text"]

Number: TypeAlias = int | float | Decimal | Fraction
Percent: TypeAlias = Literal["number", "ratio"]

_SHOWN: Final = 40
_HUNDREDTH: Final = Decimal("0.01")


@attrs.frozen(eq=False, repr=False)
class _Numeric(ValueMatch):
    family = "referential"
    _expected: Any
    _tolerance: Tolerance | None

    @property
    def reaches_outside(self) -> bool:
        return True

    def _args(self) -> dict[str, object]:
        return {"number": self._expected, **(self._tolerance.options() if self._tolerance else {})}

    def _wanted(self) -> str:
        if self._tolerance is None:
            return _text(self._expected)
        allowances = ", ".join(f"{name}={_text(value)}" for name, value in self._tolerance.options().items())
        return f"{_text(self._expected)} ± {_text(self._tolerance.allowed)} ({allowances})"


def _text(value: Any) -> str:
    """Return a number as a person writes it."""
    if isinstance(value, Fraction):
        whole = value.denominator == 1
        value = value.numerator if whole else value.numerator / value.denominator if abs(value) < 10**300 else value
    return cut_text(str(value) if not isinstance(value, int) or value.bit_length() < 10_000 else hex(value), _SHOWN)


@attrs.frozen(eq=False, repr=False)
class _CloseTo(_Numeric):
    _spec_name = "close_to"
    _tolerance: Tolerance

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        if not is_number(subject):
            return wrong_type("a number", subject, pointer)
        if not is_finite(subject):
            why = "is not a finite number"
            return mismatched("tolerance", why, pointer, expected=self._wanted(), received=subject)
        if self._tolerance.accepts(self._expected, subject):
            return MATCHED
        apart = exact(subject) - exact(self._expected)
        why = f"is {_text(abs(apart))} {'above' if apart > 0 else 'below'} {_text(self._expected)}"
        allowed = f", {_text(self._tolerance.allowed)} is allowed"
        return mismatched("tolerance", why + allowed, pointer, expected=self._wanted(), received=subject)


def close_to(number: Number, /, *, abs: Number | None = None, rel: Number | None = None) -> ValueMatch:
    """Match a number that is within a tolerance of `number`, both ends included.

    With both tolerances, the larger allowance counts. Numbers are compared exactly, a float by its shortest decimal
    form: 0.3 is within 0.1 of 0.4. A bool, and a number written as text, mismatch with code ``type``.

    Args:
        number: The number to be close to; finite.
        abs: The absolute tolerance, above 0.
        rel: The tolerance relative to `number`, above 0: 0.01 is one percent of it.

    Raises:
        TypeError: If an argument is not a number (a bool is none).
        ValueError: Without a tolerance, or if one is not finite or not above 0.

    >>> from niceeval_expect import close_to
    >>> close_to(89, abs=0.5).evaluate(89.5).outcome
    'matched'
    >>> close_to(200, rel=0.01).evaluate(203).diagnostic.message
    'is 3 above 200, 2 is allowed'
    """
    expected = number_argument("close_to", number)
    tolerance = tolerance_argument("close_to", expected, abs, rel)
    if tolerance is None:
        raise ValueError("close_to() needs a tolerance, abs= or rel=; to compare exactly, use equals(...)")
    return _CloseTo(expected, tolerance)


register("close_to", rebuilder(close_to, "number"))


@attrs.frozen(eq=False, repr=False)
class _NumberInText(_Numeric):
    _spec_name = "number_in_text"
    _decimal: Literal[".", ","]
    _percent: Percent | None
    _plain: Decimal | None

    def _args(self) -> dict[str, object]:
        args: dict[str, object] = {"number": self._expected}
        if self._decimal != ".":
            args["decimal"] = self._decimal
        if self._percent is not None:
            args["percent"] = self._percent
        return {**args, **(self._tolerance.options() if self._tolerance else {})}

    def __repr__(self) -> str:
        args = self._args()
        return call_repr("number_in_text", args.pop("number"), **args)

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        if not isinstance(subject, str):
            return wrong_type("text", subject, pointer)
        tokens: list[NumberToken] = []
        for token in number_tokens(subject, self._decimal):
            value = self._value(token)
            if value is not None and self._accepts(value):
                message = f"read {_text(value)} from {cut_text(token.text, _SHOWN)!r} at index {token.start:,}"
                return Evaluation("matched", Diagnostic("matched", message, pointer), examined=len(tokens) + 1)
            tokens.append(token)
        return self._explain(subject, tokens, pointer)

    def _value(self, token: NumberToken) -> Decimal | None:
        if not token.percent or token.value is None:
            return token.value
        if self._percent is None:
            return None
        return token.value if self._percent == "number" else _hundredth(token.value)

    def _accepts(self, value: Decimal) -> bool:
        if self._tolerance is not None:
            return self._tolerance.accepts(self._expected, value)
        return value == self._plain

    def _explain(self, text: str, tokens: Sequence[NumberToken], pointer: str) -> Evaluation:
        read = [(token, value) for token in tokens if (value := self._value(token)) is not None]
        unread = [token for token in tokens if self._value(token) is None]
        read.sort(key=lambda pair: _apart(pair[1], self._expected))
        room = max(MAX_SAMPLES // 2, MAX_SAMPLES - len(unread))
        children = [self._child(token, value, pointer) for token, value in read[:room]]
        children += [self._child(token, None, pointer) for token in unread[: MAX_SAMPLES - len(children)]]
        says = [blankness(text) or f"none of the numbers read is {self._wanted()}: {_listed(read)}"]
        if not tokens and says[0].startswith("none"):
            says = [f"no number is read{_odd(text)}"]
        elif not read and unread:
            says = ["no number is read"]
        if unread:
            first = unread[0]
            more = f" and {len(unread) - 1} more" if len(unread) > 1 else ""
            says.append(f"not read: {cut_text(first.text, _SHOWN)!r} ({self._reason(first)}){more}")
        return mismatched(
            "number",
            "; ".join(says),
            pointer,
            expected=self._expected if self._tolerance is None else self._wanted(),
            received=cut_text(text, around=tokens[0].start if tokens else 0),
            children=children,
            examined=max(1, len(tokens)),
            truncated=len(tokens) > len(children),
        )

    def _reason(self, token: NumberToken) -> str:
        if token.percent and token.value is not None:
            return 'it is a percentage: say percent="number" for 60% to be 60, or percent="ratio" for it to be 0.6'
        return token.reason

    def _child(self, token: NumberToken, value: Decimal | None, pointer: str) -> Diagnostic:
        shown = cut_text(token.text, _SHOWN)
        says = f"is read as {_text(value)}" if value is not None else f"is not read: {self._reason(token)}"
        number = None if value is None else sample(_text(value))
        return Diagnostic("number", f"{shown!r} at index {token.start:,} {says}", pointer, None, number or shown)


def _apart(value: Decimal, expected: Any) -> float:
    """Return roughly how far two numbers are apart; for sorting only."""
    try:
        return abs(float(value) - float(expected))
    except OverflowError:
        return float("inf")


def _hundredth(value: Decimal) -> Decimal:
    # Moving the point is exact whatever the number of digits; arithmetic would round.
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    return Decimal((sign, digits, exponent - 2))


def _listed(read: Sequence[tuple[NumberToken, Decimal]]) -> str:
    shown = ", ".join(cut_text(token.text, _SHOWN) for token, _ in read[:MAX_SAMPLES])
    return shown + (f" and {len(read) - MAX_SAMPLES} more" if len(read) > MAX_SAMPLES else "")


def _odd(text: str) -> str:
    """Name a numeral that is no decimal digit, such as a superscript or a fraction."""
    if text.isascii():
        return ""
    odd = next((char for char in text if char.isnumeric() and not char.isdecimal()), None)
    return "" if odd is None else f"; {odd!r} (U+{ord(odd):04X}) is a numeral, but no decimal digit"


def number_in_text(
    number: Number,
    /,
    *,
    decimal: Literal[".", ","] = ".",
    percent: Percent | None = None,
    abs: Number | None = None,
    rel: Number | None = None,
) -> ValueMatch:
    """Match a text in which `number` is written: a whole number is read, never a part of its digits.

    Numbers are read in the decimal digits of any one script, with a sign, grouped thousands and an exponent:
    ``1,500.50``, ``-4``, ``٤٢``, ``1e6``. Digits in a word (``A-2231``, ``v1.2``), times, dates and ratios, a scaled
    number (``3 million``, ``5k``) and a mark that the declared rule does not explain are not read, and the evidence
    says so. Numbers in words are not read either.

    Args:
        number: The number that is to be there; finite.
        decimal: The decimal mark, ``"."`` or ``","``; the other one groups thousands, in threes: with ``"."``,
            ``1,500`` is 1500 and ``1,5`` is not read.
        percent: How ``60%`` is read: ``"number"`` for 60, ``"ratio"`` for 0.6. By default it is neither.
        abs: An absolute tolerance, above 0. Without one the value is to be equal.
        rel: A tolerance relative to `number`, above 0.

    Raises:
        TypeError: If a number is none.
        ValueError: If it is not finite, a tolerance is not above 0, or an option is not one of those named.

    >>> from niceeval_expect import number_in_text
    >>> number_in_text(7).evaluate("The total is 17.").diagnostic.message
    'none of the numbers read is 7: 17'
    >>> number_in_text(1500).evaluate("It costs 1,500 EUR.").outcome
    'matched'
    >>> number_in_text(0.6, percent="ratio").evaluate("60% agree").diagnostic.message
    "read 0.60 from '60%' at index 0"
    """
    expected = number_argument("number_in_text", number)
    if decimal not in (".", ","):
        raise ValueError(f'number_in_text() takes decimal="." or decimal=",", got {decimal!r:.200}')
    if percent not in (None, "number", "ratio"):
        raise ValueError(
            f'number_in_text() takes percent="number" (60% is 60), percent="ratio" (60% is 0.6) or None (neither), '
            f"got {percent!r:.200}"
        )
    tolerance = tolerance_argument("number_in_text", expected, abs, rel)
    return _NumberInText(expected, tolerance, decimal, percent, as_decimal(exact(expected)))


register("number_in_text", rebuilder(number_in_text, "number"))
