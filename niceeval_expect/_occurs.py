"""`occurs`: how often a text contains another."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

import attrs

from niceeval_expect._count import count_argument
from niceeval_expect._evaluation import MAX_SAMPLES, Diagnostic, Evaluation, cut_text, mismatched, wrong_type
from niceeval_expect._freeze import call_repr
from niceeval_expect._match import Match, ValueMatch
from niceeval_expect._near import blankness
from niceeval_expect._reading import PLAIN, Form, Reading, near_miss, needle_argument, text_reading
from niceeval_expect._spec import register

__all__ = ["OccursMatch", "occurs"]

_NONE: Final = "to claim that there is none, say excludes(text)"


@attrs.frozen(eq=False, repr=False)
class _Occurrences(ValueMatch):
    _spec_name = "occurs"
    family = "lexical"
    _text: str
    _needle: str
    _reading: Reading
    _quantifier: Literal["", "exactly", "at_least", "at_most", "between"] = ""
    _low: int = 1
    _high: int | None = None

    def _args(self) -> dict[str, object]:
        bounds = {"low": self._low, "high": self._high} if self._quantifier else {}
        quantifier = {"quantifier": self._quantifier} if self._quantifier else {}
        return {"text": self._text, **self._reading.options(), **quantifier, **bounds}

    def __repr__(self) -> str:
        made = call_repr("occurs", self._text, **self._reading.options())
        bounds = {
            "exactly": (self._low,),
            "at_least": (self._low,),
            "at_most": (self._high,),
            "between": (self._low, self._high),
        }
        return f"{made}.{call_repr(self._quantifier, *bounds[self._quantifier])}" if self._quantifier else made

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        if not isinstance(subject, str):
            return wrong_type("text", subject, pointer)
        text = subject if self._reading is PLAIN else self._reading(subject)
        count = text.count(self._needle)
        if count >= self._low and (self._high is None or count <= self._high):
            return Evaluation("matched", Diagnostic("matched", f"occurs {_times(count)}", pointer))
        return self._explain(subject, text, count, pointer)

    def _explain(self, subject: str, text: str, count: int, pointer: str) -> Evaluation:
        places = self._places(text, count)
        shown = ", ".join(f"{place:,}" for place in places) + (", …" if count > len(places) else "")
        where = f" (non-overlapping, at index {shown})" if places else ""
        hint, near = near_miss(self._needle, text) if not count else ("", None)
        why = blankness(subject) or f"occurs {_times(count)}{self._reading.sentence()}{where}{hint}"
        received = near or (cut_text(text, around=places[-1]) if places else subject)
        wanted = f"{cut_text(self._text, 80)!r} {self._wanted()}"
        return mismatched("occurs", why, pointer, expected=wanted, received=received, examined=max(count, 1))

    def _places(self, text: str, count: int) -> list[int]:
        """Return where it occurs: the first places, the one that is too many included where it is among them."""
        places, start = [], 0
        for _ in range(min(count, MAX_SAMPLES)):
            index = text.find(self._needle, start)
            places.append(index)
            start = index + len(self._needle)
        return places

    def _wanted(self) -> str:
        if self._quantifier == "between":
            return f"from {self._low} to {self._high} times"
        if self._quantifier == "at_most":
            return f"at most {_times(self._high or 0)}"
        return f"{'exactly' if self._quantifier == 'exactly' else 'at least'} {_times(self._low)}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


class OccursMatch(_Occurrences):
    """What `occurs` makes: at least once, unless a quantifier says how often."""

    __slots__ = ()

    def exactly(self, n: int, /) -> ValueMatch:
        """Return the match of a text in which it occurs exactly `n` times.

        Args:
            n: At least 1; for none, say ``excludes(text)``.

        >>> from niceeval_expect import occurs
        >>> occurs("aa").exactly(2).evaluate("aaaa").outcome
        'matched'
        """
        count = count_argument("exactly()", n, least=1, instead=_NONE)
        return _Occurrences(self._text, self._needle, self._reading, "exactly", count, count)

    def at_least(self, n: int, /) -> ValueMatch:
        """Return the match of a text in which it occurs `n` times or more.

        Args:
            n: At least 1; 0 or more is always true.
        """
        count = count_argument("at_least()", n, least=1, instead=_NONE)
        return _Occurrences(self._text, self._needle, self._reading, "at_least", count, None)

    def at_most(self, n: int, /) -> ValueMatch:
        """Return the match of a text in which it occurs no more than `n` times; not at all is fine.

        Args:
            n: At least 1; for none, say ``excludes(text)``.
        """
        count = count_argument("at_most()", n, least=1, instead=_NONE)
        return _Occurrences(self._text, self._needle, self._reading, "at_most", 0, count)

    def between(self, low: int, high: int, /) -> ValueMatch:
        """Return the match of a text in which it occurs from `low` to `high` times, both included.

        Args:
            low: At least 0.
            high: At least 1, and at least `low`.
        """
        least = count_argument("between() low", low)
        most = count_argument("between() high", high, least=1, instead=_NONE)
        if least > most:
            raise ValueError(f"between() takes the lower bound first, got between({low}, {high})")
        return _Occurrences(self._text, self._needle, self._reading, "between", least, most)


def occurs(
    text: str, /, *, casefold: bool = False, normalize: Form | None = None, strip_invisible: bool = False
) -> OccursMatch:
    """Match a text by how often `text` occurs in it: at least once, or as a quantifier says.

    Occurrences are counted from the left and do not overlap: ``"aa"`` occurs twice in ``"aaaaa"``. It counts a
    substring, so that "cat" occurs in "category"; for words, use `pattern`.

    Args:
        text: What to count; not blank.
        casefold: Compare without regard to case.
        normalize: Compare in this Unicode normal form, so that composed and decomposed letters are the same.
        strip_invisible: Leave out zero-width and other default-ignorable characters.

    Returns:
        A match; ``.exactly(n)``, ``.at_least(n)``, ``.at_most(n)`` and ``.between(low, high)`` say how often.

    Raises:
        TypeError: If `text` is not text.
        ValueError: If it is blank, or `normalize` is not one of the two forms.

    >>> from niceeval_expect import occurs
    >>> occurs("sorry", casefold=True).at_most(1).evaluate("Sorry, so sorry.").diagnostic.message
    'occurs 2 times, read with casefold=True (non-overlapping, at index 0, 10)'
    """
    reading = text_reading("occurs", casefold, normalize, strip_invisible)
    return OccursMatch(*needle_argument("occurs", text, reading), reading)


def _rebuild(args: Mapping[str, Any]) -> Match:
    counting = ("quantifier", "low", "high")
    match = occurs(args["text"], **{name: value for name, value in args.items() if name not in ("text", *counting)})
    if "quantifier" not in args:
        return match
    low, high = args["low"], args["high"]
    build: dict[str, Callable[[], Match]] = {
        "exactly": lambda: match.exactly(low),
        "at_least": lambda: match.at_least(low),
        "at_most": lambda: match.at_most(high),
        "between": lambda: match.between(low, high),
    }
    if args["quantifier"] not in build:
        raise TypeError(f"no quantifier is named {args['quantifier']!r}")
    return build[args["quantifier"]]()


register("occurs", _rebuild)
