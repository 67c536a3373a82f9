"""Whether calls or events came in an order, three-valued, in one pass over the scope."""

from collections.abc import Iterable, Sequence
from typing import Any, Final, final

from niceeval_expect._evaluation import MAX_SAMPLES, Diagnostic, Evaluation, Outcome
from niceeval_expect._event import EventMatch
from niceeval_expect._match import evaluate_part
from niceeval_expect._scope import Findings, Ref, conclude, times
from niceeval_expect._tool import ToolMatch

__all__ = ["in_order"]

_START: Final[tuple[Ref, ...]] = ()


@final
class _Session:
    """How far the steps were followed within one session, by what is certain and by what may be."""

    __slots__ = ("broken", "maybe", "sure")

    def __init__(self, steps: int) -> None:
        self.sure: list[tuple[Ref, ...] | None] = [_START, *[None] * steps]
        self.maybe = [True, *[False] * steps]
        self.broken = [False] * (steps + 1)

    def take(self, step: int, ref: Ref, outcome: Outcome) -> None:
        """Follow one step. Steps are offered last first, so that one item is never two steps of a chain."""
        chain = self.sure[step]
        if outcome == "matched" and chain is not None and self.sure[step + 1] is None:
            self.sure[step + 1] = (*chain, ref)
        if self.maybe[step]:
            self.maybe[step + 1] = True
            self.broken[step + 1] |= self.broken[step] or outcome == "errored"


@final
class _Step:
    """What was seen of one step, wherever it came."""

    __slots__ = ("count", "doubts", "first", "last", "undecided")

    def __init__(self) -> None:
        self.count = self.undecided = 0
        self.first = self.last = ""
        self.doubts: list[Diagnostic] = []

    def see(self, ref: Ref, evaluation: Evaluation) -> None:
        if evaluation.outcome == "matched":
            self.first = self.first or ref
            self.last = ref
            self.count += 1
        else:
            self.undecided += 1
            if len(self.doubts) < MAX_SAMPLES:
                self.doubts.append(evaluation.diagnostic)


def in_order(
    steps: Sequence[ToolMatch] | Sequence[EventMatch], items: Iterable[tuple[Ref, Any]], verb: str, gap: str | None
) -> Evaluation:
    """Return whether one session holds distinct items that match the steps, in that order.

    Args:
        steps: At least two matches.
        items: The scope, in order of start; the part of a reference before its first dot names the session.
        verb: What happened to an item, for sentences: "called".
        gap: Why items may be missing; None if none is.
    """
    sessions: dict[str, _Session] = {}
    seen = [_Step() for _ in steps]
    backwards = range(len(steps) - 1, -1, -1)
    examined, broken = 0, False
    for ref, item in items:
        examined += 1
        name = ref.partition(".")[0]
        session = sessions.get(name)
        if session is None:
            session = sessions[name] = _Session(len(steps))
        for index in backwards:
            step = steps[index]
            # Of a step that an item is not, nothing is shown, so that it need not be explained.
            if not step._may_await and step._rejects(item):
                continue
            evaluation = evaluate_part(step, item, f"/{ref}")
            outcome = evaluation.outcome
            if outcome != "mismatched":
                seen[index].see(ref, evaluation)
                session.take(index, ref, outcome)
                broken |= outcome == "errored"
    chain = next((session.sure[-1] for session in sessions.values() if session.sure[-1] is not None), None)
    if chain is not None:
        return conclude("matched", "matched", "", found=Findings(chain), examined=examined)
    candidates = tuple(dict.fromkeys(ref for step in seen for ref in (step.first, step.last) if ref))
    found = Findings((), candidates[:MAX_SAMPLES])
    expected = [repr(step) for step in steps]
    children = tuple(_told(step, what, verb) for step, what in zip(seen, expected, strict=True))
    possible = any(session.maybe[-1] for session in sessions.values())
    if possible or gap is not None:
        errored = any(session.broken[-1] for session in sessions.values()) or (broken and not possible)
        doubts = [f"{doubt.pointer[1:]}: {doubt.reason}" for step in seen for doubt in step.doubts[:1]]
        reason = "; ".join([*([gap] if gap else []), *(doubts if possible or errored else [])][:2])
        outcome = "errored" if errored else "unavailable"
        code = "error" if errored else "undecided"
        return conclude(outcome, code, reason, found=found, examined=examined, expected=expected, children=children)
    message = _furthest(seen, expected, list(sessions.values()), verb)
    return conclude(
        "mismatched", "order", message, found=found, examined=examined, expected=expected, children=children
    )


def _told(step: _Step, what: str, verb: str) -> Diagnostic:
    """Return what is known of one step."""
    count = times(step.count) if step.count else "never"
    places = f", first at {step.first}, last at {step.last}" if step.count > 1 else f" at {step.first}" * step.count
    unsure = f"; {step.undecided} more may be" if step.undecided else ""
    code = "seen" if step.count else "undecided" if step.undecided else "missing"
    left_out = step.undecided > len(step.doubts)
    return Diagnostic(
        code, f"{what} was {verb} {count}{places}{unsure}", children=tuple(step.doubts), truncated=left_out
    )


def _furthest(seen: Sequence[_Step], expected: Sequence[str], sessions: Sequence[_Session], verb: str) -> str:
    """Return the sentence about the first step that no session reached."""
    for step, what in zip(seen, expected, strict=True):
        if not step.count and not step.undecided:
            return f"{what} was not {verb}"
    reached = max((session.maybe.index(False) for session in sessions), default=1)
    best = next(session for session in sessions if session.maybe.index(False) == reached)
    chain = best.sure[reached - 1]
    after = f" at {chain[-1]}" if chain else ""
    return f"{expected[reached - 1]} was not {verb} after {expected[reached - 2]}{after}"
