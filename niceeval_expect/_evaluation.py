"""What one comparison said: an outcome, a bounded diagnostic, and how much was looked at."""

import traceback as _traceback
from collections.abc import Callable, Mapping, Sequence
from math import ceil, floor
from typing import Any, Final, Literal, TypeAlias, final

import attrs

from niceeval_expect._diagnostic import MAX_NODES, Diagnostic, pruned
from niceeval_expect._sample import MAX_SAMPLES, Absent, AbsentText, cut_text, sample, written

__all__ = [
    "MATCHED",
    "MAX_NODES",
    "MAX_SAMPLES",
    "Absent",
    "AbsentText",
    "Deferred",
    "Diagnostic",
    "Evaluation",
    "Outcome",
    "bounded",
    "cut_text",
    "errored",
    "measured",
    "mismatched",
    "sample",
    "unavailable",
    "written",
    "wrong_type",
]

Outcome: TypeAlias = Literal["matched", "mismatched", "measured", "unavailable", "errored"]

_MAX_TRACEBACK: Final = 4_096


@final
class Deferred:
    """A produced value that is made each time it is asked for, so that no one else holds it."""

    __slots__ = ("_make", "_of")

    def __init__(self, make: Callable[[Any], Any], of: object) -> None:
        self._make = make
        self._of = of

    def value(self) -> Any:
        """Return the value: an equal one every time, and never the same."""
        return self._make(self._of)


@final
@attrs.frozen
class Evaluation:
    """What one match said of one subject.

    Attributes:
        outcome: ``matched``, ``mismatched``, ``measured``, ``unavailable`` or ``errored``.
        value: The measurement in [0, 1], for score matches and their thresholds.
        reason: For ``unavailable`` and ``errored``: what was missing or broke.
        diagnostic: Why.
        examined: How many things were looked at (items, calls, texts).
    """

    outcome: Outcome
    diagnostic: Diagnostic
    value: float | None = None
    reason: str | None = None
    examined: int = 1
    _produced: Any = attrs.field(default=None, eq=False, repr=False, alias="produced")

    @property
    def product(self) -> Any:
        """What a parsing match yields: the parsed value or the validated instance; None where it yields nothing."""
        return self._produced.value() if type(self._produced) is Deferred else self._produced

    @property
    def code(self) -> str:
        """The code of the diagnostic's root."""
        return self.diagnostic.code

    def __str__(self) -> str:
        """Read like a report: the outcome, then what decided it, one line for each part."""
        head = self.outcome if self.value is None else f"{self.outcome} ({_six_digits(self.value, self.code)})"
        return "\n".join((f"{head}: {self.diagnostic.line()}".rstrip(": "), *self.diagnostic.lines(1)))

    def as_document(self) -> dict[str, Any]:
        """Return this evaluation as JSON-safe data; fields at their default are left out."""
        document: dict[str, Any] = {"outcome": self.outcome}
        if self.diagnostic is not MATCHED.diagnostic:
            document["diagnostic"] = self.diagnostic.as_document()
        if self.value is not None:
            document["value"] = self.value
        if self.reason is not None:
            document["reason"] = self.reason
        if self.examined != 1:
            document["examined"] = self.examined
        return document

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "Evaluation":
        """Rebuild an evaluation from `as_document()`."""
        return cls(
            document["outcome"],
            Diagnostic.from_document(document.get("diagnostic") or {"code": document["outcome"]}),
            value=document.get("value"),
            reason=document.get("reason"),
            examined=document.get("examined", 1),
        )


MATCHED: Final = Evaluation("matched", Diagnostic("matched"))
"""The evaluation of a plain match: shared, since nothing in it depends on the subject."""


def mismatched(
    code: str,
    message: str,
    pointer: str = "",
    *,
    expected: object = None,
    received: object = None,
    children: Sequence[Diagnostic] = (),
    examined: int = 1,
    truncated: bool = False,
) -> Evaluation:
    """Return a mismatch; `expected` and `received` are sampled here, so live objects may be passed."""
    diagnostic = Diagnostic(
        code, message, pointer, sample(expected), sample(received), None, tuple(children), truncated
    )
    return Evaluation("mismatched", diagnostic, examined=examined)


def wrong_type(wanted: str, received: object, pointer: str = "") -> Evaluation:
    """Return the mismatch of a subject that the match cannot speak about; it stays one under negation."""
    name = type(received).__name__
    message = f"needs {wanted}, got {name}"
    return Evaluation("mismatched", Diagnostic("type", message, pointer, wanted, sample(received)))


def unavailable(
    reason: str, pointer: str = "", *, code: str = "absent", children: Sequence[Diagnostic] = (), examined: int = 1
) -> Evaluation:
    """Return the evaluation for evidence that is missing or incomplete."""
    diagnostic = Diagnostic(code, reason, pointer, reason=reason, children=tuple(children))
    return Evaluation("unavailable", diagnostic, reason=reason, examined=examined)


def errored(
    reason: str,
    pointer: str = "",
    *,
    code: str = "error",
    received: object = None,
    exception: BaseException | None = None,
    children: Sequence[Diagnostic] = (),
    examined: int = 1,
) -> Evaluation:
    """Return the evaluation for an evaluator that broke; the exception's traceback is kept."""
    trace = None
    if exception is not None:
        lines = _traceback.format_exception(type(exception), exception, exception.__traceback__, limit=-8)
        trace = "".join(lines)[-_MAX_TRACEBACK:]
    diagnostic = Diagnostic(code, reason, pointer, None, sample(received), reason, tuple(children), traceback=trace)
    return Evaluation("errored", diagnostic, reason=reason, examined=examined)


def measured(value: float, message: str = "", *, examined: int = 1) -> Evaluation:
    """Return a measurement, which the caller has checked to be finite and in [0, 1]."""
    return Evaluation("measured", Diagnostic("measured", message), value=value, examined=examined)


def bounded(evaluation: Evaluation) -> Evaluation:
    """Return the evaluation with its diagnostic tree cut to 64 nodes, the decisive parts first in line to stay."""
    root = pruned(evaluation.diagnostic)
    return evaluation if root is evaluation.diagnostic else attrs.evolve(evaluation, diagnostic=root)


def _six_digits(value: float, code: str) -> str:
    """Return a measurement for reading, never rounded onto the threshold that it misses."""
    shown = f"{value:g}"
    if code in ("below", "above") and float(shown) != value:
        shown = f"{(floor if code == 'below' else ceil)(value * 1e6) / 1e6:g}"
    return shown
