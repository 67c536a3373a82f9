"""Whether calls followed each other one by one: each finished before the next one started, three-valued."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import inf
from typing import TypeAlias

from niceeval_expect._call_scope import CallScope
from niceeval_expect._counted import ToolCallLike, ToolMatch
from niceeval_expect._evaluation import MAX_SAMPLES, Diagnostic, Evaluation, Outcome
from niceeval_expect._match import evaluate_part
from niceeval_expect._scope import Findings, Ref, conclude, times
from niceeval_expect._timeline import Span, spans

__all__ = ["one_after_the_other"]

_Seen: TypeAlias = dict[Ref, Outcome]
"""The calls that are, or may be, one step, with the outcome."""


def one_after_the_other(steps: Sequence[ToolMatch], scope: CallScope) -> Evaluation:
    """Return whether one session made calls like the steps, each finished before the next one started.

    Args:
        steps: At least two matches.
        scope: The calls; its turns say what is known of when calls started and finished.
    """
    known = spans(scope.traces)
    seen, doubts = _look(steps, scope)
    sessions = dict.fromkeys(ref.partition(".")[0] for ref, _ in scope.calls)
    examined, expected = len(scope.calls), [repr(step) for step in steps]
    for session in sessions:
        chain = _chain(seen, known, session, surely=True)
        if chain is not None:
            return conclude("matched", "matched", "", found=Findings(chain), examined=examined)
    maybe = next((way for name in sessions if (way := _chain(seen, known, name, surely=False))), None)
    candidates = tuple(dict.fromkeys(ref for step in seen for ref in list(step)[:2]))[:MAX_SAMPLES]
    found = Findings((), candidates)
    children = tuple(_told(step, what, known) for step, what in zip(seen, expected, strict=True))
    if maybe is not None or scope.gap is not None:
        broken = any(outcome == "errored" for step in seen for outcome in step.values())
        reasons = [scope.gap] if scope.gap else []
        if maybe is not None:
            reasons += _why(maybe, seen, known, doubts, dict(scope.calls))
        return conclude(
            "errored" if broken else "unavailable", "error" if broken else "undecided", "; ".join(reasons[:2]),
            found=found, examined=examined, expected=expected, children=children,
        )  # fmt: skip
    return conclude(
        "mismatched", "order", _broken_at(seen, expected, known, list(sessions)), found=found, examined=examined,
        expected=expected, children=children,
    )  # fmt: skip


def _look(steps: Sequence[ToolMatch], scope: CallScope) -> tuple[list[_Seen], dict[Ref, Diagnostic]]:
    seen: list[_Seen] = [{} for _ in steps]
    doubts: dict[Ref, Diagnostic] = {}
    for index, step in enumerate(steps):
        for ref, call in scope.seen_by(step):
            if not step._may_await and step._rejects(call):
                continue
            evaluation = evaluate_part(step, call, f"/{ref}")
            if evaluation.outcome != "mismatched":
                seen[index][ref] = evaluation.outcome
                if evaluation.outcome != "matched":
                    doubts.setdefault(ref, evaluation.diagnostic)
    return seen, doubts


def _chain(seen: Sequence[_Seen], known: Mapping[Ref, Span], session: str, *, surely: bool) -> tuple[Ref, ...] | None:
    """Return calls of the session, one for each step, of which each surely (or possibly) finished before the next.

    Of all the ways to come to a step the one that finishes first leaves most room for the next step, so that one pass
    over the calls for each step decides.
    """
    ends = -inf
    chain: list[Ref] = []
    for step in seen:
        best: Ref | None = None
        best_end = inf
        for ref, outcome in step.items():
            if ref.partition(".")[0] != session or (surely and outcome != "matched"):
                continue
            span = known[ref]
            if span.started[0 if surely else 1] <= ends:
                continue
            end = span.finished[1 if surely else 0]
            if best is None or end < best_end:
                best, best_end = ref, end
        if best is None:
            return None
        chain.append(best)
        ends = best_end
    return tuple(chain)


def _told(step: _Seen, what: str, known: Mapping[Ref, Span]) -> Diagnostic:
    """Return what is known of one step."""
    sure = [ref for ref, outcome in step.items() if outcome == "matched"]
    unsure = len(step) - len(sure)
    unfinished = sum(known[ref].finished[0] == inf for ref in sure)
    message = f"{what} was called {times(len(sure)) if sure else 'never'}"
    message += f", at {', '.join(sure[:MAX_SAMPLES])}" * bool(sure) + ", …" * (len(sure) > MAX_SAMPLES)
    message += f"; {unfinished} without a result" * bool(unfinished) + f"; {unsure} more may be" * bool(unsure)
    return Diagnostic("seen" if sure else "undecided" if unsure else "missing", message)


def _why(
    chain: Sequence[Ref], seen: Sequence[_Seen], known: Mapping[Ref, Span], doubts: Mapping[Ref, Diagnostic],
    calls: Mapping[Ref, ToolCallLike],
) -> list[str]:  # fmt: skip
    """Return why the possible chain is not certain."""
    reasons = [f"{ref}: {doubts[ref].reason}" for step, ref in zip(seen, chain, strict=True) if step[ref] != "matched"]
    for one, other in pairwise(chain):
        if not known[one].surely_before(known[other]):
            names = f"{calls[one].name[:80]} at {one} had finished when {calls[other].name[:80]} at {other} started"
            reasons.append(f"no event says whether {names}")
    return reasons


def _broken_at(seen: Sequence[_Seen], expected: Sequence[str], known: Mapping[Ref, Span], sessions: list[str]) -> str:
    """Return the sentence about the first step that no session reached."""
    for step, what in zip(seen, expected, strict=True):
        if not step:
            return f"{what} was not called"
    reached = 1
    for count in range(1, len(seen)):
        if any(_chain(seen[:count], known, name, surely=False) for name in sessions):
            reached = count
    before, after = expected[reached - 1], expected[reached]
    last = next((chain[-1] for name in sessions if (chain := _chain(seen[:reached], known, name, surely=False))), "")
    late = next((ref for ref in seen[reached] if ref.partition(".")[0] == last.partition(".")[0]), None)
    if known[last].finished[0] == inf:
        return f"{before} at {last} has no result, so that nothing came after it"
    if late is None:
        return f"{after} was not called in the session in which {before} was, at {last}"
    return f"{after} at {late} had started before {before} at {last} finished"
