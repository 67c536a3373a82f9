"""The way from a judge match, which is pure, to a judge, which somebody else supplies while it is evaluated."""

import math
from collections.abc import Awaitable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from typing import Any, Final, Protocol, final

import attrs

from niceeval_expect._judge_scale import Scale
from niceeval_expect._match import Match

__all__ = ["JudgePort", "JudgeRequest", "Judgement", "Sample", "consults_judge", "current_port", "judging"]


@final
@attrs.frozen
class JudgeRequest:
    """What a match asks a judge.

    Attributes:
        recipe: The name of the match, for people.
        system: What stands before every rule.
        prompt: The rule with its material; how to answer is added by the port.
        scale: What may be answered.
    """

    recipe: str
    system: str
    prompt: str
    scale: Scale


@final
@attrs.frozen(kw_only=True)
class Sample:
    """One answer of a judge, or why there is none.

    Attributes:
        value: The measurement, from 0 to 1, exact; None where there is no usable answer.
        verdict: What was said: the name of a choice, or the number.
        rationale: Why, in the judge's words.
        reply: What came, bounded; empty where nothing came.
        code: Why there is no usable answer, as a code.
        reason: The same as a sentence.
        cached: When the answer was given, where it is an earlier one.
        tries: Calls before this one that reached nobody: reason, duration and seconds waited.
        extra: What else there is to keep, such as the usage.
    """

    value: Fraction | None = None
    verdict: str | None = None
    rationale: str = ""
    reply: str = ""
    code: str | None = None
    reason: str | None = None
    cached: str | None = None
    tries: tuple[Mapping[str, Any], ...] = ()
    extra: Mapping[str, Any] = attrs.Factory(dict)

    def document(self) -> dict[str, Any]:
        """Return the answer as data, what is not there left out."""
        fields: dict[str, Any] = {
            "value": None if self.value is None else float(self.value),
            "verdict": self.verdict,
            "rationale": self.rationale or None,
            "reply": self.reply or None,
            "code": self.code,
            "reason": self.reason,
            "cached": self.cached,
            "tries": [*self.tries] or None,
            **self.extra,
        }
        return {name: value for name, value in fields.items() if value is not None}


@final
@attrs.frozen
class Judgement:
    """What a judge said, one sample or several independent ones."""

    samples: tuple[Sample, ...]

    @property
    def values(self) -> list[Fraction]:
        """The measurements there are."""
        return [sample.value for sample in self.samples if sample.value is not None]

    @property
    def mean(self) -> Fraction | None:
        """The exact mean; None unless every sample gave a measurement."""
        values = self.values
        return sum(values, Fraction(0)) / len(values) if len(values) == len(self.samples) else None

    def spread(self) -> dict[str, float]:
        """Return mean, least, greatest and sample standard deviation of several measurements."""
        values, mean = self.values, self.mean
        if mean is None or len(values) < 2:
            return {}
        squares = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
        deviation = math.sqrt(squares)
        return {"mean": float(mean), "min": float(min(values)), "max": float(max(values)), "stdev": deviation}


class JudgePort(Protocol):
    """What answers a judge match."""

    def ask(self, request: JudgeRequest, /) -> Awaitable[Judgement]:
        """Ask once; a judge that cannot be reached is an answer too."""
        ...


_port: Final[ContextVar[JudgePort | None]] = ContextVar("niceeval_expect_judge", default=None)


def current_port() -> JudgePort | None:
    """Return what answers judge matches here."""
    return _port.get()


@contextmanager
def judging(port: JudgePort | None) -> Iterator[None]:
    """Let `port` answer the judge matches that are evaluated meanwhile."""
    token = _port.set(port)
    try:
        yield
    finally:
        _port.reset(token)


def consults_judge(match: Match) -> bool:
    """Tell whether a match, or one inside it, asks a judge."""
    if getattr(match, "_asks_judge", False):
        return True
    return any(isinstance(part, Match) and consults_judge(part) for part in match._parts())
