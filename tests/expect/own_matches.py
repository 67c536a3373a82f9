"""Matches as an author writes them in a module of their own, with the public names only."""

from typing import Any, Literal

import attrs

from niceeval_expect import Evaluation, ScoreMatch, ValueMatch
from niceeval_expect.custom import (
    evaluate_part,
    freeze,
    matched,
    measured,
    mismatched,
    register_match,
    unavailable,
    wrong_type,
)

__all__ = ["Broken", "check_digit", "fill", "first_line"]


@attrs.frozen(eq=False, repr=False)
class _CheckDigit(ValueMatch):
    _spec_name = "shop.check_digit"
    _positional = 0
    _modulus: int
    _weights: list[int]

    def _args(self) -> dict[str, object]:
        return {"modulus": self._modulus, "weights": self._weights}

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        if not isinstance(subject, str):
            return wrong_type("text", subject, pointer)
        digits = [int(char) for char in subject if char.isdecimal()]
        if len(digits) != len(self._weights):
            return unavailable(f"{len(digits)} digits for {len(self._weights)} weights", pointer)
        total = sum(digit * weight for digit, weight in zip(digits, self._weights, strict=True))
        if total % self._modulus == 0:
            return matched(f"{total} is a multiple of {self._modulus}", pointer, examined=len(digits))
        message = f"{total} leaves {total % self._modulus}"
        return mismatched("check-digit", message, pointer, expected=self._modulus, received=subject)


def check_digit(*, modulus: int = 11, weights: list[int]) -> ValueMatch:
    if modulus < 2:
        raise ValueError(f"check_digit() takes a modulus of 2 or more, got {modulus}")
    return _CheckDigit(modulus, freeze(weights))


register_match("shop.check_digit", lambda args: check_digit(modulus=args["modulus"], weights=args["weights"]))


@attrs.frozen(eq=False, repr=False)
class _FirstLine(ValueMatch):
    """Holds another match."""

    _spec_name = "shop.first_line"
    _of: ValueMatch

    def _args(self) -> dict[str, object]:
        return {"of": self._of}

    def _parts(self) -> tuple[object, ...]:
        return (self._of,)

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        if not isinstance(subject, str):
            return wrong_type("text", subject, pointer)
        return evaluate_part(self._of, subject.partition("\n")[0], pointer)


def first_line(of: ValueMatch, /) -> ValueMatch:
    return _FirstLine(of)


register_match("shop.first_line", lambda args: first_line(args["of"]))


@attrs.frozen(eq=False, repr=False)
class _Fill(ScoreMatch):
    _spec_name = "shop.fill"
    family = "lexical"
    _size: int

    def _args(self) -> dict[str, object]:
        return {"size": self._size}

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        return measured(len(str(subject)) / self._size, f"{len(str(subject))} of {self._size} characters")


def fill(size: int, /) -> ScoreMatch:
    return _Fill(size)


register_match("shop.fill", lambda args: fill(args["size"]))


@attrs.frozen(eq=False, repr=False)
class Broken(ValueMatch):
    """Does what a match must not do."""

    _spec_name = "shop.broken"
    _way: Literal["raise", "bool", "nothing"]

    def _args(self) -> dict[str, object]:
        return {"way": self._way}

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        answers: dict[str, Any] = {"bool": True, "nothing": None}
        answer: Evaluation = answers[self._way]
        return answer
