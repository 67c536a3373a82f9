"""The vocabulary that Turn, Session and `t` share: every method registers one entry over what its scope sees."""

from collections.abc import Iterable
from typing import Any, ClassVar, Final, TypeAlias, overload

from typing_extensions import TypeVar

from niceeval.attempt_state import AttemptState
from niceeval.entries import ScopeName, Yields
from niceeval.handles import Handle, MeasureHandle
from niceeval.tool_call import ToolCall
from niceeval.views import View
from niceeval_expect import CountedToolMatch, EventMatch, ParsingMatch, ScoreMatch, ToolMatch, ValueMatch
from niceeval_expect._call_claims import max_tool_calls, no_failed_actions, tool_order, used_no_tools
from niceeval_expect._call_scope import CallMatch
from niceeval_expect._event_scope import event, event_order, not_event
from niceeval_expect._loops import no_loops
from niceeval_expect._scope import ScopeMatch, findings
from niceeval_expect._tool_scope import called_tool, not_called_tool
from niceeval_expect._turn_scope import max_cost, max_tokens, succeeded
from niceeval_expect._unordered_calls import tool_calls_unordered

__all__ = ["AnyTool", "Scope"]

V = TypeVar("V")
AnyTool: TypeAlias = str | ToolMatch


_claims: Final[dict[int, tuple[object, ScopeMatch]]] = {}
_MAX_CLAIMS: Final = 512


def _keep(match: object, claim: ScopeMatch) -> ScopeMatch:
    """Remember the claim by the identity of its match, which is held so that the identity stays its own."""
    if len(_claims) >= _MAX_CLAIMS:
        _claims.clear()
    _claims[id(match)] = (match, claim)
    return claim


class Scope:
    """A place that evidence is read from: a turn, a session, or everything said in the attempt so far."""

    __slots__ = ("_state",)
    _scope_name: ClassVar[ScopeName]

    def __init__(self, state: AttemptState) -> None:
        self._state = state

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls in scope that are known, in order."""
        return self._view().tool_calls

    @overload
    def check(self, subject: object, match: ParsingMatch[V], /) -> Handle[V]: ...
    @overload
    def check(self, subject: V, match: ValueMatch, /) -> Handle[V]: ...
    @overload
    def check(self, subject: object, match: ScoreMatch, /) -> MeasureHandle: ...
    def check(self, subject: Any, match: Any, /) -> Any:
        """Read `subject` now, compare it with `match`, and register one entry.

        Args:
            subject: Any value. A handle, a result, a match, an iterator or something not awaited is refused.
            match: A value match or a score match.

        Returns:
            The handle of the entry: it can be configured, awaited, or ignored.

        Raises:
            TypeError: The subject or the match cannot be used.
            AuthoringError: The attempt has closed.
        """
        log = self._state.log
        # Of a bare measurement too: at run time its gate() and or_stop() are there, to refuse with a sentence.
        return Handle(log, log.check(subject, match, "value"))

    def succeeded(self) -> Handle[None]:
        """Register: every turn completed, and none waits for an answer that nobody gave."""
        return self._over(succeeded(), "status")

    def called_tool(self, match: AnyTool | CountedToolMatch, /) -> Handle[tuple[ToolCall, ...]]:
        """Register: a tool was called like this, at least once or as often as the match's quantifier says.

        Args:
            match: A tool's name, a tool match, or one with a quantifier. ``or_stop()`` returns the matching calls.
        """
        view = self._view()
        # A match that many attempts share keeps one claim, and with it one spec and one fingerprint.
        kept = _claims.get(id(match))
        claim = kept[1] if kept is not None else _keep(match, self._claim(called_tool, match))
        return self._over(claim, "tool_calls", view, lambda evaluation: view.named(findings(evaluation).matching))

    def not_called_tool(self, match: AnyTool, /) -> Handle[None]:
        """Register: no call was like this.

        Args:
            match: A tool's name or a tool match, without a quantifier.
        """
        return self._over(self._claim(not_called_tool, match), "tool_calls")

    def tool_order(self, first: AnyTool, second: AnyTool, /, *rest: AnyTool, finished: bool = False) -> Handle[None]:
        """Register: calls like these started in this order within one session, whatever came between.

        Args:
            first: A tool's name or a tool match, without a quantifier.
            second: What was called later.
            *rest: What was called later still.
            finished: Whether each call has to have finished before the next one started. Within a turn only reported
                events tell; where they do not, the claim is unavailable.
        """
        return self._over(self._claim(tool_order, first, second, *rest, finished=finished), "tool_calls")

    def tool_calls_unordered(
        self, matches: Iterable[AnyTool], /, *, only: bool = False
    ) -> Handle[tuple[ToolCall, ...]]:
        """Register: calls like these were made in whatever order, each match by a call of its own.

        Args:
            matches: Tools' names or tool matches, without quantifiers; one of them given twice needs two calls.
            only: Whether there must be no other call.
        """
        view = self._view()
        claim = self._claim(tool_calls_unordered, matches, only=only)
        return self._over(claim, "tool_calls", view, lambda evaluation: view.named(findings(evaluation).matching))

    def used_no_tools(self) -> Handle[None]:
        """Register: no tool was called."""
        return self._over(used_no_tools(), "tool_calls")

    def max_tool_calls(self, n: int, /) -> Handle[None]:
        """Register: at most `n` tool calls were made.

        Args:
            n: 1 or more; for none, say `used_no_tools`.
        """
        return self._over(self._claim(max_tool_calls, n), "tool_calls")

    def no_failed_actions(self) -> Handle[None]:
        """Register: no tool call failed or was rejected."""
        return self._over(no_failed_actions(), "tool_calls")

    def no_loops(self, *, max_repeats: int = 2, similarity: float | None = None) -> Handle[None]:
        """Register: no call (name and input) and no assistant text came more than `max_repeats` times.

        Args:
            max_repeats: How often the same is fine, 1 or more.
            similarity: From which similarity on, above 0 and at most 1, texts and inputs count as the same; None for
                equal ones only.
        """
        return self._over(self._claim(no_loops, max_repeats=max_repeats, similarity=similarity), "tool_calls")

    def event(self, match: EventMatch, /) -> Handle[None]:
        """Register: an event was like this."""
        return self._over(self._claim(event, match), "events")

    def not_event(self, match: EventMatch, /) -> Handle[None]:
        """Register: no event was like this."""
        return self._over(self._claim(not_event, match), "events")

    def event_order(self, first: EventMatch, second: EventMatch, /, *rest: EventMatch) -> Handle[None]:
        """Register: events like these came in this order within one session, whatever came between."""
        return self._over(self._claim(event_order, first, second, *rest), "events")

    def max_tokens(self, n: int, /) -> Handle[None]:
        """Register: at most `n` tokens were read and written together; unavailable where a turn reported none.

        Args:
            n: Tokens, 1 or more.
        """
        return self._over(self._claim(max_tokens, n), "usage")

    def max_cost(self, usd: float, /) -> Handle[None]:
        """Register: it cost at most `usd` US dollars; unavailable where a turn reported no cost.

        Args:
            usd: US dollars, finite and 0 or more.
        """
        return self._over(self._claim(max_cost, usd), "usage")

    def _claim(self, make: Any, *args: object, **options: object) -> ScopeMatch:
        """Make a claim; an argument it refuses is an author's mistake that the attempt remembers."""
        try:
            claim: ScopeMatch = make(*args, **options)
        except (TypeError, ValueError) as error:
            self._state.log.mistake(str(error), depth=4)
            raise
        return claim

    def _over(
        self, claim: ScopeMatch, channel: str, view: View | None = None, yields: Yields | None = None
    ) -> Handle[Any]:
        log = self._state.log
        if log.closed or log.latch is not None:
            log.admit()
        view = view or self._view()
        sessions = [session.turns for session in self._state.sessions] if _looks_back(claim) else ()
        evidence = view.evidence_for(claim, sessions)
        coverage = view.coverage(channel)[0] if channel in ("tool_calls", "usage") else None
        cut = log.evidence.cut(view.cut)
        return Handle(log, log.check_scope(claim, evidence, cut, self._scope_name, coverage, yields))

    def _view(self) -> View:
        raise TypeError(f"{type(self).__name__} must define _view()")


def _looks_back(claim: ScopeMatch) -> bool:
    return isinstance(claim, CallMatch) and claim._reads_turns
