"""What a judge may answer, and which measurement each answer is: named choices, or numbers between two ends."""

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import isfinite
from typing import Any, Final, TypeAlias, final

import attrs

__all__ = ["Choices", "Range", "Scale", "choices_of", "range_of"]

_NAME: Final = re.compile(r"[^\W_](?:[\w -]{0,38}[^\W_])?")


@final
@attrs.frozen
class Choices:
    """Named answers, each with its measurement, in the order in which a judge is shown them."""

    options: tuple[tuple[str, float], ...]

    def value(self, name: str) -> Fraction:
        """Return the measurement of a choice, exact over its decimal form."""
        return next(Fraction(repr(value)) for known, value in self.options if known == name)

    def find(self, text: str) -> str | None:
        """Return the choice that a text names, upper and lower case aside; None where it names none."""
        return next((name for name, _ in self.options if name.casefold() == text.casefold()), None)

    def document(self) -> dict[str, Any]:
        """Return the scale as data."""
        return {"choices": [list(option) for option in self.options]}


@final
@attrs.frozen
class Range:
    """Numbers from `low`, which measures 0, to `high`, which measures 1."""

    low: float
    high: float

    def value(self, number: Fraction) -> Fraction | None:
        """Return the measurement of a number, exact; None where it is off the scale."""
        low, high = Fraction(repr(self.low)), Fraction(repr(self.high))
        return (number - low) / (high - low) if low <= number <= high else None

    def document(self) -> dict[str, Any]:
        """Return the scale as data."""
        return {"scale": [self.low, self.high]}


Scale: TypeAlias = Choices | Range


def _is_number(value: object) -> bool:
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    except OverflowError:
        return False


def choices_of(given: object, where: str) -> Choices:
    """Return the choices that a mapping, or a list of pairs as a spec holds them, declares.

    Raises:
        TypeError: It is neither, or a name or value is of another kind.
        ValueError: A name or value cannot be used.
    """
    if isinstance(given, Mapping):
        pairs: list[Any] = list(given.items())
    elif isinstance(given, Sequence) and not isinstance(given, str):
        pairs = list(given)
    else:
        raise TypeError(f'{where} maps choices to measurements, such as {{"A": 1.0, "B": 0.0}}, got {given!r:.200}')
    options: list[tuple[str, float]] = []
    for pair in pairs:
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2 or not isinstance(pair[0], str):
            raise TypeError(f"{where} maps names of choices, which are texts, to measurements, got {pair!r:.200}")
        name, value = pair
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"{where} has the choice {name!r:.80}; a name is of letters, digits, spaces, _ and -, at most 40, "
                "and begins and ends with a letter or digit"
            )
        if not _is_number(value) or not 0 <= value <= 1:
            raise ValueError(f"{where} gives {name!r} the measurement {value!r:.80}; give a number from 0 to 1")
        options.append((name, value))
    if len({name.casefold() for name, _ in options}) < len(options):
        raise ValueError(f"{where} has two choices that differ at most in upper and lower case: {options!r:.200}")
    if len({value for _, value in options}) < 2:
        raise ValueError(f"{where} needs two choices with different measurements, got {options!r:.200}")
    return Choices(tuple(options))


def range_of(given: object, where: str) -> Range:
    """Return the range that a pair declares.

    Raises:
        TypeError: It is no pair of numbers.
        ValueError: The first is not below the second.
    """
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != 2 or not all(map(_is_number, given)):
        raise TypeError(f"{where} is a pair of finite numbers (low, high), such as (1, 5), got {given!r:.200}")
    low, high = given
    if not low < high:
        raise ValueError(f"{where} goes from a lower to a higher number, got {given!r:.200}")
    return Range(low, high)
