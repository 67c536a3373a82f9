"""Claims about a whole scope: what every one of them reads, how candidates are counted, and in which order they came.

A scope is plain evidence: pairs of a reference and what it refers to, in order of start, with the coverage of the
channel. References are ``s<session>.t<turn>.c<call>`` for calls and the like for turns, texts and events; what stands
before the first dot names the session. Diagnostics point into a scope as into an object keyed by reference, so that
``/s0.t1.c2/input/id`` is the argument `id` of that call.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Literal, TypeAlias, TypeVar, final

import attrs

from niceeval_expect._count import decide_count
from niceeval_expect._evaluation import MATCHED, MAX_SAMPLES, Diagnostic, Evaluation, Outcome, sample
from niceeval_expect._match import BooleanMatch, evaluate_part

__all__ = [
    "NOTHING",
    "Coverage",
    "Findings",
    "Ref",
    "ScopeMatch",
    "Tally",
    "conclude",
    "findings",
    "gap_in",
    "tally",
    "times",
]

Coverage: TypeAlias = Literal["complete", "partial", "none"]
Ref: TypeAlias = str
T = TypeVar("T")


@final
@attrs.frozen
class Findings:
    """Which calls or events of the scope an evaluation was about, by reference.

    Attributes:
        matching: All that match, in order; for a count that is exceeded, a loop or a failure: the ones that make it so.
        candidates: At most 8 others, the undecided first, then the nearest misses, then any.
    """

    matching: tuple[Ref, ...] = ()
    candidates: tuple[Ref, ...] = ()


NOTHING: Final = Findings()


class ScopeMatch(BooleanMatch):
    """A claim about a whole scope. It is data like any match; its subject is the scope that its kind reads.

    `findings(evaluation)` tells which calls or events an evaluation was about.
    """

    __slots__ = ()
    _domain = "scope"


def findings(evaluation: Evaluation) -> Findings:
    """Return what the evaluation of a scope match was about; nothing where it broke."""
    produced = evaluation._produced
    return produced if isinstance(produced, Findings) else NOTHING


def conclude(
    outcome: Outcome,
    code: str,
    message: str,
    *,
    found: Findings = NOTHING,
    examined: int,
    expected: object = None,
    received: object = None,
    children: Sequence[Diagnostic] = (),
    truncated: bool = False,
    pointer: str = "",
) -> Evaluation:
    """Return the evaluation of a scope match; of an undecided one, `message` is the reason."""
    if outcome == "matched":
        return Evaluation(outcome, MATCHED.diagnostic, examined=examined, produced=found)
    reason = None if outcome == "mismatched" else message
    diagnostic = Diagnostic(
        code, message, pointer, sample(expected), sample(received), reason, tuple(children), truncated
    )
    return Evaluation(outcome, diagnostic, reason=reason, examined=examined, produced=found)


def times(count: int) -> str:
    """Return a number of times in words."""
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


@final
class Tally:
    """What one match said of every candidate of a scope: exact counts, and a few of each kind to show.

    Attributes:
        matching: The candidates that match.
        undecided: How many may match.
        misses: How many do not match although they are of the kind that is asked for.
        strange: How many the match cannot speak about (code ``type``), so that no denial holds of them.
        examined: How many were looked at.
    """

    __slots__ = ("_broken", "_far", "_near", "_unsure", "examined", "matching", "misses", "strange", "undecided")

    def __init__(self) -> None:
        self.matching: list[Ref] = []
        self.undecided = self.misses = self.strange = self.examined = 0
        self._broken: list[Diagnostic] = []
        self._unsure: list[Diagnostic] = []
        self._near: list[Diagnostic] = []
        self._far: list[Ref] = []

    def add(self, ref: Ref, evaluation: Evaluation, near: bool) -> None:
        """Count one candidate; `near` says whether one that does not match is of the kind that is asked for."""
        self.examined += 1
        outcome = evaluation.outcome
        if outcome == "matched":
            self.matching.append(ref)
        elif outcome != "mismatched":
            self.undecided += 1
            _keep(self._broken if outcome == "errored" else self._unsure, evaluation.diagnostic)
        elif near:
            self.misses += 1
            self.strange += evaluation.code == "type"
            _keep(self._near, evaluation.diagnostic)
        elif len(self._far) < MAX_SAMPLES:
            self._far.append(ref)

    def pass_over(self, ref: Ref, near: bool) -> None:
        """Count one candidate that certainly does not match, without a diagnostic to show."""
        self.examined += 1
        if near:
            self.misses += 1
        elif len(self._far) < MAX_SAMPLES:
            self._far.append(ref)

    def needs(self, near: bool) -> bool:
        """Tell whether another diagnostic of a candidate that does not match would be shown."""
        return near and len(self._near) < MAX_SAMPLES

    def decide(self, low: int, high: int | None, coverage: Coverage) -> Outcome:
        """Return what the counts say of the claim that from `low` to `high` candidates match."""
        return decide_count(
            len(self.matching), self.undecided, low, high, unbounded=coverage != "complete", errored=self.errored
        )

    @property
    def errored(self) -> bool:
        """Whether the evaluation of a candidate broke."""
        return bool(self._broken)

    def shown(self) -> tuple[Diagnostic, ...]:
        """Return the diagnostics that explain most: of what broke, of what is undecided, of the nearest misses."""
        return (*self._broken, *self._unsure, *self._near)[:MAX_SAMPLES]

    def missed(self) -> tuple[Diagnostic, ...]:
        """Return the diagnostics of the nearest misses, at most 8."""
        return tuple(self._near)

    def left_out(self) -> bool:
        """Tell whether `shown()` leaves something out."""
        return self.undecided + self.misses > MAX_SAMPLES

    def found(self) -> Findings:
        """Return the references of the matching and of the candidates."""
        candidates = self._far
        if self.undecided or self.misses:
            candidates = [*map(_ref, self.shown()), *candidates][:MAX_SAMPLES]
        return Findings(tuple(self.matching), tuple(candidates))

    def why(self, reason: str | None) -> str:
        """Return why the claim is undecided: `reason` where evidence was not reported, and the first doubtful one."""
        doubts = [f"{_ref(first)}: {first.reason}" for first in (*self._broken, *self._unsure)[:1]]
        return "; ".join([*([reason] if reason else []), *doubts])


def gap_in(channel: str, coverage: Coverage, reason: str | None) -> str | None:
    """Return why something may be missing from a channel; None where all of it was reported."""
    if coverage == "complete":
        return None
    was = "was" if channel == "usage" else "were"
    return reason or f"{channel} {was} {'reported in part only' if coverage == 'partial' else 'not reported'}"


def _keep(kept: list[Diagnostic], diagnostic: Diagnostic) -> None:
    if len(kept) < MAX_SAMPLES:
        kept.append(diagnostic)


def _ref(diagnostic: Diagnostic) -> Ref:
    return diagnostic.pointer[1:].partition("/")[0]


def tally(
    match: BooleanMatch,
    items: Iterable[tuple[Ref, T]],
    near: Callable[[T], bool | None],
    rejects: Callable[[T], bool],
    *,
    others_mismatch: bool = False,
) -> Tally:
    """Compare every item with `match`, in linear time; every item is looked at, so that nothing hides behind many.

    Args:
        match: A match over one item.
        items: References with items.
        near: Tells whether an item is of the kind that the match asks for; None where that cannot be told.
        rejects: Tells at little cost whether an item certainly mismatches, so that what would not be shown of many
            thousands need not be explained.
        others_mismatch: Whether `rejects` is true of every item that `near` is false of.
    """
    counts = Tally()
    # An async predicate has to be called for the same items in every pass.
    explain_all = match._may_await
    skips_others = others_mismatch and not explain_all
    far = counts._far
    for ref, item in items:
        close = near(item) is not False
        if skips_others and not close:
            counts.examined += 1
            if len(far) < MAX_SAMPLES:
                far.append(ref)
            continue
        if not (explain_all or counts.needs(close)) and rejects(item):
            counts.pass_over(ref, close)
            continue
        evaluation = evaluate_part(match, item, f"/{ref}")
        counts.add(ref, evaluation, close)
    return counts
