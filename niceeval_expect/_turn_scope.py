"""Claims about the turns of a scope: how they ended, and what they used."""

from decimal import Context, Decimal
from math import isfinite
from typing import Any, Final, Protocol, TypeAlias, final

import attrs

from niceeval_expect._count import count_argument, decide_count
from niceeval_expect._evaluation import MAX_SAMPLES, Diagnostic, Evaluation, Outcome, wrong_type
from niceeval_expect._scope import Coverage, Findings, Ref, ScopeMatch, conclude, gap_in
from niceeval_expect._spec import register

__all__ = ["TurnScope", "UsageLike", "max_cost", "max_tokens", "succeeded"]


class UsageLike(Protocol):
    """What a turn used; None is unknown, never zero."""

    @property
    def input_tokens(self) -> int | None:
        """Tokens read."""

    @property
    def output_tokens(self) -> int | None:
        """Tokens written."""

    @property
    def cost_usd(self) -> float | None:
        """Cost in US dollars."""


TurnEnd: TypeAlias = tuple[Ref, str | None, UsageLike | None]
"""A turn's reference, its status (None where nobody said) and its usage (None where it was not reported)."""


@final
@attrs.frozen
class TurnScope:
    """The finished turns of a scope.

    Args:
        turns: Reference, status and usage of each turn, in order; ``s0.t1`` is the second turn of the first session.
        coverage: The coverage of usage: ``"partial"`` where a turn used more than it reported.
        reason: Why it is not complete.
    """

    turns: tuple[TurnEnd, ...]
    coverage: Coverage = "complete"
    reason: str | None = None


class _TurnMatch(ScopeMatch):
    """A claim about a `TurnScope`."""

    __slots__ = ()

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        return self._over(subject) if isinstance(subject, TurnScope) else wrong_type("the turns of a scope", subject)

    def _over(self, scope: TurnScope) -> Evaluation:
        raise TypeError(f"{type(self).__name__} must define _over(scope)")


@final
@attrs.frozen(eq=False, repr=False)
class _Succeeded(_TurnMatch):
    _spec_name = "succeeded"

    def _args(self) -> dict[str, object]:
        return {}

    def _over(self, scope: TurnScope) -> Evaluation:
        turns = scope.turns
        if not turns:
            return conclude("mismatched", "none", "there was no turn that could have succeeded", examined=0)
        last = {ref.partition(".")[0]: ref for ref, _, _ in turns}
        bad: list[Diagnostic] = []
        unknown: list[Diagnostic] = []
        for number, (ref, status, _) in enumerate(turns, 1):
            if status == "completed" or (status == "waiting" and last[ref.partition(".")[0]] != ref):
                continue
            where = f"turn {number} of {len(turns)}"
            if status is None:
                unknown.append(Diagnostic("status-unknown", f"nobody reported how {where} ended", f"/{ref}"))
            else:
                ended = "waits for an answer" if status == "waiting" else status
                bad.append(Diagnostic("status", f"{where} {ended}", f"/{ref}", "completed", status))
        shown = bad or unknown
        if not shown:
            return conclude("matched", "matched", "", examined=len(turns))
        more = f" ({len(shown) - 1} more like it)" if len(shown) > 1 else ""
        outcome: Outcome = "mismatched" if bad else "unavailable"
        code = "status" if bad else "status-unknown"
        refs = tuple(diagnostic.pointer[1:] for diagnostic in shown)
        return conclude(
            outcome, code, shown[0].message + more, found=Findings(refs if bad else (), refs[:MAX_SAMPLES]),
            examined=len(turns), expected="completed", received=shown[0].received, children=shown[:MAX_SAMPLES],
            truncated=len(shown) > MAX_SAMPLES,
        )  # fmt: skip


def succeeded() -> ScopeMatch:
    """Match a scope in which every turn completed and none waits for an answer that nobody gave.

    It is about status, not words. A turn that follows a waiting one in its session is its answer; a scope without a
    turn has not succeeded; a status that nobody reported is unavailable unless another turn failed for certain.

    >>> from niceeval_expect._turn_scope import TurnScope, succeeded
    >>> succeeded().evaluate(TurnScope((("s0.t0", "waiting", None), ("s0.t1", "completed", None)))).outcome
    'matched'
    """
    return _Succeeded()


register("succeeded", lambda args: succeeded())

_EXACT: Final = Context(prec=1_200)
"""Enough digits for the exact sum of any floats in their shortest decimal form."""


def _decimal(value: float | Decimal) -> Decimal:
    return value if isinstance(value, Decimal) else Decimal(repr(value))


@final
class _Sum:
    """The known part of a total, and the turns that reported no or not all of theirs."""

    __slots__ = ("known", "missing", "partly")

    def __init__(self) -> None:
        self.known: Any = 0
        self.missing: list[tuple[int, Ref]] = []
        self.partly = False

    def lack(self, what: str, scope: TurnScope) -> str | None:
        """Return why no total is known; None where it is."""
        if self.missing:
            numbers = [str(number) for number, _ in self.missing]
            if len(numbers) > MAX_SAMPLES:
                numbers = [*numbers[:MAX_SAMPLES], f"{len(numbers) - MAX_SAMPLES} more"]
            listed = " and ".join(filter(None, [", ".join(numbers[:-1]), numbers[-1]]))
            turns = "turn" if len(self.missing) == 1 else "turns"
            reported = f"not all {what}" if self.partly else f"no {what}"
            return f"{turns} {listed} of {len(scope.turns)} reported {reported}, so no total is known"
        return gap_in("usage", scope.coverage, scope.reason)


def _conclude_sum(total: _Sum, limit: Any, outcome: Outcome, unit: str, what: str, scope: TurnScope) -> Evaluation:
    turns = len(scope.turns)
    if outcome == "matched":
        return conclude(outcome, "matched", "", examined=turns)
    refs = tuple(ref for _, ref in total.missing[:MAX_SAMPLES])
    known, lack = f"{total.known}{unit}", total.lack(what, scope)
    if outcome == "mismatched":
        message = f"{known}{' or more' if lack else ''}, at most {limit}{unit} wanted"
        received = str(total.known) if isinstance(total.known, Decimal) else total.known
        expected = str(limit) if isinstance(limit, Decimal) else limit
        return conclude(outcome, "over", message, examined=turns, expected=expected, received=received)
    return conclude(
        outcome, "undecided", str(lack), found=Findings((), refs), examined=turns, expected=f"at most {limit}{unit}",
        received=f"{known} in the other turns",
    )  # fmt: skip


@final
@attrs.frozen(eq=False, repr=False)
class _MaxTokens(_TurnMatch):
    _spec_name = "max_tokens"
    n: int

    def _args(self) -> dict[str, object]:
        return {"n": self.n}

    def _over(self, scope: TurnScope) -> Evaluation:
        total = _Sum()
        for number, (ref, _, usage) in enumerate(scope.turns, 1):
            parts = () if usage is None else (usage.input_tokens, usage.output_tokens)
            known = [part for part in parts if part is not None]
            total.known += sum(known)
            if len(known) < 2:
                total.missing.append((number, ref))
                total.partly |= len(known) == 1
        unbounded = bool(total.missing) or scope.coverage != "complete"
        outcome = decide_count(total.known, 0, 0, self.n, unbounded=unbounded)
        return _conclude_sum(total, self.n, outcome, " tokens", "usage", scope)


def max_tokens(n: int, /) -> ScopeMatch:
    """Match a scope whose turns read and wrote at most `n` tokens together.

    Unavailable where a turn did not report all its usage, unless what is known is too much already.

    Args:
        n: At least 0.

    >>> from niceeval import Usage
    >>> from niceeval_expect._turn_scope import TurnScope, max_tokens
    >>> used = Usage(input_tokens=9, output_tokens=1)
    >>> turns = TurnScope((("s0.t0", "completed", None), ("s0.t1", "completed", used)))
    >>> max_tokens(2000).evaluate(turns).reason
    'turn 1 of 2 reported no usage, so no total is known'
    >>> max_tokens(9).evaluate(turns).outcome
    'mismatched'
    """
    return _MaxTokens(count_argument("max_tokens()", n))


register("max_tokens", lambda args: max_tokens(args["n"]))


@final
@attrs.frozen(eq=False, repr=False)
class _MaxCost(_TurnMatch):
    _spec_name = "max_cost"
    usd: float | Decimal

    def _args(self) -> dict[str, object]:
        return {"usd": self.usd}

    def _over(self, scope: TurnScope) -> Evaluation:
        total, limit = _Sum(), _decimal(self.usd)
        total.known = Decimal(0)
        for number, (ref, _, usage) in enumerate(scope.turns, 1):
            cost = None if usage is None else usage.cost_usd
            if cost is None:
                total.missing.append((number, ref))
            else:
                total.known = _EXACT.add(total.known, _decimal(cost))
        outcome: Outcome = "matched"
        if total.known > limit:
            outcome = "mismatched"
        elif total.missing or scope.coverage != "complete":
            outcome = "unavailable"
        return _conclude_sum(total, limit, outcome, " USD", "cost", scope)


def max_cost(usd: float | Decimal, /) -> ScopeMatch:
    """Match a scope whose turns cost at most `usd` together; the sum is exact over the costs' decimal forms.

    Unavailable where a turn did not report its cost, unless what is known is too much already.

    Args:
        usd: US dollars, finite, at least 0.

    >>> from niceeval import Usage
    >>> from niceeval_expect._turn_scope import TurnScope, max_cost
    >>> turns = tuple((f"s0.t{n}", "completed", Usage(cost_usd=cost)) for n, cost in enumerate((0.1, 0.2)))
    >>> max_cost(0.3).evaluate(TurnScope(turns)).outcome
    'matched'
    """
    if isinstance(usd, bool) or not isinstance(usd, int | float | Decimal):
        raise TypeError(f"max_cost() takes an amount of US dollars, got {usd!r}")
    if not isfinite(usd) or usd < 0:
        raise ValueError(f"max_cost() takes a finite amount of US dollars from 0 on, got {usd!r}")
    return _MaxCost(usd)


register("max_cost", lambda args: max_cost(args["usd"]))
