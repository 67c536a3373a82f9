"""What a run or an experiment has used of its budget, as far as agents report it."""

from fractions import Fraction
from typing import final

from niceeval.attempt_state import AttemptState
from niceeval.evals.experiments import Budget
from niceeval.verdict import exact

__all__ = ["Spending"]


@final
class Spending:
    """Adds up what attempts report, and says when a limit of the budget is reached.

    Args:
        budget: The limits.
        whose: What the budget belongs to, before its sentences: empty for a run.
    """

    def __init__(self, budget: Budget, whose: str = "") -> None:
        self.budget = budget
        self._whose = f"{whose}: " if whose else ""
        self._cost = Fraction(0)
        self._tokens = 0
        self._without_cost = self._without_tokens = 0

    def add(self, state: AttemptState, *, last: bool) -> None:
        """Add what one execution of an attempt used; `last` where it is the one that counts."""
        usages = [
            record.evidence.usage for session in state.sessions if not session.observed for record in session.turns
        ]
        known = [usage for usage in usages if usage is not None]
        self._cost += sum((exact(usage.cost_usd) for usage in known if usage.cost_usd is not None), Fraction(0))
        self._tokens += sum((usage.input_tokens or 0) + (usage.output_tokens or 0) for usage in known)
        if not last or state.unreachable is not None:
            return
        if any(usage is None or usage.cost_usd is None for usage in usages):
            self._without_cost += 1
        if any(usage is None or usage.total_tokens is None for usage in usages):
            self._without_tokens += 1

    def reached(self) -> str | None:
        """Return a sentence where the cost or the tokens have reached their limit."""
        budget = self.budget
        if budget.max_cost is not None and self._cost >= exact(budget.max_cost):
            spent = f"${float(self._cost):.6g} spent{_and_silent(self._without_cost, 'cost')}"
            return f"{self._whose}max_cost of ${budget.max_cost:g} is reached: {spent}"
        if budget.max_tokens is not None and self._tokens >= budget.max_tokens:
            used = f"{self._tokens:,} used{_and_silent(self._without_tokens, 'tokens')}"
            return f"{self._whose}max_tokens of {budget.max_tokens:,} is reached: {used}"
        return None

    def time_is_up(self) -> str:
        """Return the sentence for the end of its time."""
        return f"{self._whose}max_time of {self.budget.max_time:g} s is up"

    def blind(self) -> str | None:
        """Return a sentence where a limit was set and attempts did not report what it limits."""
        parts = []
        if self.budget.max_cost is not None and self._without_cost:
            parts.append(f"max_cost counts only what was reported: {_silent(self._without_cost, 'cost')}")
        if self.budget.max_tokens is not None and self._without_tokens:
            parts.append(f"max_tokens counts only what was reported: {_silent(self._without_tokens, 'tokens')}")
        return self._whose + "; ".join(parts) if parts else None


def _silent(count: int, what: str) -> str:
    return f"{count} attempt{'' if count == 1 else 's'} reported no {what}"


def _and_silent(count: int, what: str) -> str:
    return f", and {_silent(count, what)}" if count else ""
