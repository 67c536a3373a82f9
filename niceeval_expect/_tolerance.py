"""Numbers and how far apart they may be: exact arithmetic on the numbers as they are written."""

from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from fractions import Fraction
from math import isfinite
from typing import Any, Final, TypeGuard, final

import attrs

__all__ = ["Tolerance", "as_decimal", "exact", "is_finite", "is_number", "number_argument", "tolerance_argument"]

_MARGIN: Final = 1e-9
_MAX_EXPONENT: Final = 100_000
_EXACT: Final = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)


def is_number(value: object) -> TypeGuard[int | float | Decimal | Fraction]:
    """Return whether a value is a number; a bool is none."""
    return isinstance(value, int | float | Decimal | Fraction) and not isinstance(value, bool)


def is_finite(value: int | float | Decimal | Fraction) -> bool:
    """Return whether a number is neither infinite nor NaN."""
    if isinstance(value, Decimal):
        return value.is_finite()
    return isfinite(value) if isinstance(value, float) else True


def exact(value: int | float | Decimal | Fraction) -> Fraction:
    """Return a finite number exactly; a float by its shortest decimal form, as everywhere in comparisons.

    Raises:
        OverflowError: If it is a Decimal whose exponent would take more memory than there is.
    """
    if isinstance(value, Decimal) and abs(value.adjusted()) > _MAX_EXPONENT:
        raise OverflowError(f"{value!s:.40} is out of all proportion")
    return Fraction(repr(float(value))) if isinstance(value, float) else Fraction(value)


def as_decimal(value: Fraction) -> Decimal | None:
    """Return a fraction as a decimal number, exactly; None if it has none, as a third.

    >>> as_decimal(Fraction(1, 4)), as_decimal(Fraction(1, 3))
    (Decimal('0.25'), None)
    """
    rest, places = value.denominator, 0
    for factor in (2, 5):
        count = 0
        while rest % factor == 0:
            rest, count = rest // factor, count + 1
        places = max(places, count)
    if rest != 1:
        return None
    return Decimal(value.numerator * 10**places // value.denominator).scaleb(-places, _EXACT)


@final
@attrs.frozen
class Tolerance:
    """How far a number may be from the expected one: the larger of two allowances.

    Attributes:
        abs: An absolute allowance.
        rel: An allowance relative to the expected number.
        allowed: The larger of the two, exactly.
        roughly: The same as a float, for a quick first look.
    """

    abs: Any
    rel: Any
    allowed: Fraction
    roughly: float

    def options(self) -> dict[str, object]:
        """Return what was given."""
        return {name: value for name, value in (("abs", self.abs), ("rel", self.rel)) if value is not None}

    def accepts(self, expected: Any, value: Any) -> bool:
        """Return whether two finite numbers are within the allowance of each other, both ends included."""
        if type(value) is float or type(value) is int:
            try:
                apart = abs(float(value) - float(expected))
            except OverflowError:
                apart = float("inf")
            if isfinite(apart):
                # Far from the edge, floats are good enough; near it only exact numbers are.
                blur = _MARGIN * (self.roughly + abs(float(expected)) * 1e-3)
                if apart < self.roughly - blur:
                    return True
                if apart > self.roughly + blur:
                    return False
        return abs(exact(value) - exact(expected)) <= self.allowed


def number_argument(name: str, value: object) -> Any:
    """Return a finite number that was given as the expected one, or refuse it with a sentence."""
    if not is_number(value):
        hint = "; to compare text as it is, use equals(...)" if isinstance(value, str) else ""
        raise TypeError(f"{name}() takes a number, got {value!r:.200}{hint}")
    if not is_finite(value):
        raise ValueError(f"{name}() takes a finite number, got {value!r}")
    try:
        exact(value)
    except OverflowError as error:
        raise ValueError(f"{name}() takes a number of reasonable size: {error}") from None
    return value


def tolerance_argument(name: str, expected: Any, abs: object, rel: object) -> Tolerance | None:
    """Return the tolerance that was asked for, None without one, or refuse it with a sentence."""
    allowed = Fraction(0)
    for option, value, scale in (("abs", abs, Fraction(1)), ("rel", rel, exact(expected))):
        if value is None:
            continue
        if not is_number(value):
            raise TypeError(f"{name}() takes a number as {option}=, got {value!r:.200}")
        if not is_finite(value) or value <= 0:
            raise ValueError(
                f"{name}() takes a finite {option}= above 0, got {value!r}; for no tolerance, leave it out"
            )
        allowed = max(allowed, exact(value) * (scale if scale >= 0 else -scale))
    if not allowed and rel is not None:
        raise ValueError(f"{name}() got rel={rel!r} for the number 0, which allows nothing; give abs= as well")
    if abs is None and rel is None:
        return None
    try:
        roughly = float(allowed)
    except OverflowError:
        roughly = float("inf")
    return Tolerance(abs, rel, allowed, roughly)
