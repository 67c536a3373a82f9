"""The tool calls of a scope, as far as they were reported, and the kind of claims about them."""

from collections.abc import Iterable
from typing import ClassVar, final

import attrs

from niceeval_expect._counted import ToolCallLike, ToolMatch
from niceeval_expect._evaluation import Evaluation, wrong_type
from niceeval_expect._match import Match
from niceeval_expect._scope import Coverage, Ref, ScopeMatch, gap_in
from niceeval_expect._shown import seen_in_turns
from niceeval_expect._timeline import TurnTrace

__all__ = ["CallMatch", "CallScope", "looks_back"]


@final
@attrs.frozen
class CallScope:
    """The tool calls of a scope, as far as they were reported, and what stands beside them.

    Args:
        calls: References with calls, in order of start.
        coverage: ``"complete"``, ``"partial"`` (there may be more calls) or ``"none"`` (calls were not reported).
        reason: Why the coverage is not complete; a general sentence where nobody said.
        texts: References with the assistant's texts, in order; only `no_loops` reads them.
        texts_coverage: The coverage of the texts.
        texts_reason: Why it is not complete.
        turns: How the turns of each session went, from its first to the last in scope; only claims about when calls
            finished and what the agent had been shown read them.
    """

    calls: tuple[tuple[Ref, ToolCallLike], ...]
    coverage: Coverage = "complete"
    reason: str | None = None
    texts: tuple[tuple[Ref, str], ...] = ()
    texts_coverage: Coverage = "complete"
    texts_reason: str | None = None
    turns: tuple[TurnTrace, ...] = ()

    @property
    def gap(self) -> str | None:
        """Why calls may be missing; None if all were reported."""
        return gap_in("tool calls", self.coverage, self.reason)

    @property
    def texts_gap(self) -> str | None:
        """Why texts may be missing; None if all were reported."""
        return gap_in("messages", self.texts_coverage, self.texts_reason)

    @property
    def traces(self) -> tuple[TurnTrace, ...]:
        """How the turns went; where nobody said, just their calls."""
        if self.turns:
            return self.turns
        turns: dict[str, list[ToolCallLike]] = {}
        for ref, call in self.calls:
            turns.setdefault(ref.rpartition(".")[0], []).append(call)
        return tuple(TurnTrace(ref, None, calls) for ref, calls in turns.items())

    def seen_by(self, match: ToolMatch) -> Iterable[tuple[Ref, ToolCallLike]]:
        """Return the calls as `match` reads them: with what the agent had been shown before, if it asks for that."""
        return seen_in_turns(self.calls, self.traces) if match._looks_back else self.calls


class CallMatch(ScopeMatch):
    """A claim about a `CallScope`."""

    __slots__ = ("_reads",)
    _reads_texts: ClassVar[bool] = False
    _reads: bool

    @property
    def _reads_turns(self) -> bool:
        """Whether the claim reads how the turns went."""
        known: bool | None = getattr(self, "_reads", None)
        if known is None:
            known = any(looks_back(part) for part in self._parts())
            object.__setattr__(self, "_reads", known)
        return known

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        return self._over(subject) if isinstance(subject, CallScope) else wrong_type("the calls of a scope", subject)

    def _over(self, scope: CallScope) -> Evaluation:
        raise TypeError(f"{type(self).__name__} must define _over(scope)")


def looks_back(part: object) -> bool:
    """Tell whether a part of a claim asks what the agent had been shown."""
    if isinstance(part, ToolMatch):
        return part._looks_back
    return isinstance(part, Match) and any(map(looks_back, part._parts()))
