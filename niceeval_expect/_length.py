"""`length`: how long a value is, in characters, words or sentences where it is a text."""

import re
from collections.abc import Callable, Mapping, Sized
from typing import Final, Literal, TypeAlias

import attrs

from niceeval_expect._codec import Snapshot
from niceeval_expect._evaluation import MATCHED, Evaluation, mismatched, wrong_type
from niceeval_expect._match import ValueMatch
from niceeval_expect._sentences import split_sentences
from niceeval_expect._spec import register

__all__ = ["length"]

Unit: TypeAlias = Literal["characters", "words", "sentences"]
_has_word: Final = re.compile(r"[^\W_]").search


def _words(text: str) -> int:
    return sum(1 for part in text.split() if part[0].isalnum() or _has_word(part))


def _sentences(text: str) -> int:
    return len(split_sentences(text))


_COUNT: Final[Mapping[str, Callable[[str], int]]] = {"characters": len, "words": _words, "sentences": _sentences}


@attrs.frozen(eq=False, repr=False)
class _Length(ValueMatch):
    _spec_name = "length"
    _positional = 0
    family = "lexical"
    _at_least: int | None
    _at_most: int | None
    _exactly: int | None
    _unit: Unit

    def _args(self) -> dict[str, object]:
        unit = {} if self._unit == "characters" else {"unit": self._unit}
        return {**self._bounds(), **unit}

    def _bounds(self) -> dict[str, object]:
        bounds = {"at_least": self._at_least, "at_most": self._at_most, "exactly": self._exactly}
        return {name: bound for name, bound in bounds.items() if bound is not None}

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        if isinstance(subject, str):
            unit: str = self._unit
            size = len(subject) if unit == "characters" else _COUNT[unit](subject)
        elif self._unit != "characters":
            return wrong_type("text", subject, pointer)
        elif not isinstance(subject, Sized) or isinstance(subject, type | Snapshot):
            return wrong_type("something with a length", subject, pointer)
        else:
            unit, size = "bytes" if isinstance(subject, bytes) else "items", len(subject)
        if (
            (self._exactly is None or size == self._exactly)
            and (self._at_least is None or size >= self._at_least)
            and (self._at_most is None or size <= self._at_most)
        ):
            return MATCHED
        wanted = " and ".join(f"{name.replace('_', ' ')} {bound}" for name, bound in self._bounds().items())
        has = f"has {size} {unit[:-1] if size == 1 else unit}"
        return mismatched("length", has, pointer, expected=f"{wanted} {unit}", received=subject)


def length(
    *,
    at_least: int | None = None,
    at_most: int | None = None,
    exactly: int | None = None,
    unit: Unit = "characters",
) -> ValueMatch:
    """Match a value by its length: code points of a text, items of a list, keys of a mapping, bytes.

    A text can also be measured in words (runs between white space with a letter or digit in them, so that a lone dash
    is none and a language without spaces has few) or in sentences (a dot in an abbreviation or a number ends none).

    Args:
        at_least: The smallest length that matches, 0 or more.
        at_most: The largest length that matches, 0 or more.
        exactly: The only length that matches; not together with the others.
        unit: What is counted in a text: ``"characters"``, ``"words"`` or ``"sentences"``; with the latter two, a
            subject that is not text mismatches with code ``type``.

    Raises:
        TypeError: If a bound is not an int.
        ValueError: Without any bound, if the bounds are negative or contradict each other, or if the unit is unknown.

    >>> from niceeval_expect import length
    >>> length(at_most=1_200).evaluate("A short answer.").outcome
    'matched'
    >>> length(at_most=2, unit="sentences").evaluate("Hi. It costs $3.50. Ask Dr. Wu. Bye.").diagnostic.message
    'has 4 sentences'
    """
    bounds = {"at_least": at_least, "at_most": at_most, "exactly": exactly}
    given = {name: bound for name, bound in bounds.items() if bound is not None}
    if not isinstance(unit, str) or unit not in _COUNT:
        raise ValueError(f"length() takes unit={', '.join(map(repr, _COUNT))}, got {unit!r:.200}")
    if not given:
        raise ValueError("length() needs a bound: at_least=, at_most= or exactly=")
    for name, bound in given.items():
        if isinstance(bound, bool) or not isinstance(bound, int):
            raise TypeError(f"length() takes whole numbers, got {name}={bound!r}")
        if bound < 0:
            raise ValueError(f"length() takes bounds of 0 or more, got {name}={bound}")
    if exactly is not None and len(given) > 1:
        raise ValueError("length() takes exactly= alone; at_least= and at_most= go together")
    if at_least is not None and at_most is not None and at_least > at_most:
        raise ValueError(f"length(at_least={at_least}, at_most={at_most}) is empty: nothing could ever match")
    if at_least == 0 and len(given) == 1:
        raise ValueError("length(at_least=0) says nothing: every length is at least 0")
    return _Length(at_least, at_most, exactly, unit)


register("length", lambda args: length(**args))
