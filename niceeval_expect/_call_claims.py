"""Claims about all tool calls of a scope, whichever tool they call: their order, their number, how they ended."""

from collections.abc import Sequence
from typing import final

import attrs

from niceeval_expect._count import count_argument, decide_count
from niceeval_expect._evaluation import MAX_SAMPLES, Evaluation
from niceeval_expect._finished_order import one_after_the_other
from niceeval_expect._freeze import call_repr
from niceeval_expect._order import in_order
from niceeval_expect._scope import Findings, Ref, ScopeMatch, conclude
from niceeval_expect._spec import register
from niceeval_expect._tool import ToolMatch, as_tool_match, plain_name
from niceeval_expect._tool_scope import CallMatch, CallScope, calls_made, witnesses

__all__ = ["max_tool_calls", "no_failed_actions", "tool_order", "used_no_tools"]


@final
@attrs.frozen(eq=False, repr=False)
class _ToolOrder(CallMatch):
    _spec_name = "tool_order"
    tools: tuple[ToolMatch, ...]
    finished: bool

    def _args(self) -> dict[str, object]:
        return {"tools": list(self.tools), **({"finished": True} if self.finished else {})}

    def _parts(self) -> tuple[object, ...]:
        return self.tools

    @property
    def _reads_turns(self) -> bool:
        return self.finished or any(tool._looks_back for tool in self.tools)

    def __repr__(self) -> str:
        return call_repr(self._spec_name, *map(plain_name, self.tools), **({"finished": True} if self.finished else {}))

    def _over(self, scope: CallScope) -> Evaluation:
        if self.finished:
            return one_after_the_other(self.tools, scope)
        back = next((tool for tool in self.tools if tool._looks_back), None)
        calls = scope.calls if back is None else scope.seen_by(back)
        return in_order(self.tools, calls, "called", scope.gap)


def tool_order(
    first: ToolMatch | str, second: ToolMatch | str, /, *rest: ToolMatch | str, finished: bool = False
) -> ScopeMatch:
    """Match a scope in which one session made calls like these in this order, whatever came between.

    Args:
        first: A tool match without a quantifier, or a tool's name.
        second: What was called later.
        *rest: What was called later still. The same match may be given twice: each step needs a call of its own.
        finished: Whether each call has to have finished before the next one started. Otherwise they are in order of
            start. When a call finished is read from the reported events; between turns it follows from the turns. Where
            neither tells, the claim is unavailable.

    >>> from niceeval import ToolCall
    >>> from niceeval_expect._call_claims import tool_order
    >>> from niceeval_expect._tool_scope import CallScope
    >>> scope = CallScope((("s0.t0.c0", ToolCall("pay")), ("s0.t0.c1", ToolCall("confirm"))))
    >>> tool_order("confirm", "pay").evaluate(scope).diagnostic.message
    "tool_match('pay') was not called after tool_match('confirm') at s0.t0.c1"
    """
    if not isinstance(finished, bool):
        raise TypeError(f"tool_order() finished is True or False, got {finished!r}")
    return _ToolOrder(tuple(as_tool_match("tool_order()", tool) for tool in (first, second, *rest)), finished)


register("tool_order", lambda args: tool_order(*args["tools"], finished=args.get("finished", False)))


@final
@attrs.frozen(eq=False, repr=False)
class _CallLimit(CallMatch):
    _spec_name = "max_tool_calls"
    limit: int
    words: str

    def spec(self) -> dict[str, object]:
        return {"match": self.words, **self._args()}

    def _args(self) -> dict[str, object]:
        return {"n": self.limit} if self.words == "max_tool_calls" else {}

    def __repr__(self) -> str:
        return call_repr(self.words, *self._args().values())

    def _over(self, scope: CallScope) -> Evaluation:
        made = len(scope.calls)
        outcome = decide_count(made, 0, 0, self.limit, unbounded=scope.gap is not None)
        refs = tuple(ref for ref, _ in scope.calls)
        if outcome == "matched":
            return conclude(outcome, "matched", "", found=Findings(refs), examined=made)
        if outcome != "mismatched":
            return conclude(outcome, "undecided", str(scope.gap), found=Findings(refs), examined=made)
        # The first call over the limit decides, so that it leads.
        children = witnesses("over", refs[self.limit :], scope)
        return conclude(
            outcome, "count", f"{calls_made(made)}, {f'at most {self.limit}' if self.limit else 'none'} wanted",
            found=Findings(refs), examined=made, expected=self.limit, received=made, children=children,
            truncated=made - self.limit > len(children),
        )  # fmt: skip


def used_no_tools() -> ScopeMatch:
    """Match a scope in which no tool was called; unavailable where calls may be missing from the report.

    >>> from niceeval_expect._call_claims import used_no_tools
    >>> from niceeval_expect._tool_scope import CallScope
    >>> used_no_tools().evaluate(CallScope(())).outcome, used_no_tools().evaluate(CallScope((), "none")).outcome
    ('matched', 'unavailable')
    """
    return _CallLimit(0, "used_no_tools")


def max_tool_calls(n: int, /) -> ScopeMatch:
    """Match a scope with at most `n` tool calls, of any tools.

    Args:
        n: At least 0.
    """
    return _CallLimit(count_argument("max_tool_calls()", n), "max_tool_calls")


register("used_no_tools", lambda args: used_no_tools())
register("max_tool_calls", lambda args: max_tool_calls(args["n"]))


@final
@attrs.frozen(eq=False, repr=False)
class _NoFailedActions(CallMatch):
    _spec_name = "no_failed_actions"

    def _args(self) -> dict[str, object]:
        return {}

    def _over(self, scope: CallScope) -> Evaluation:
        failed = [ref for ref, call in scope.calls if call.status in ("failed", "rejected")]
        unknown = [ref for ref, call in scope.calls if call.status is None]
        examined = len(scope.calls)
        if failed:
            words = f"{calls_made(len(failed))} failed or {'was' if len(failed) == 1 else 'were'} rejected"
            return conclude(
                "mismatched", "failed", words, found=Findings(tuple(failed)), examined=examined, expected=0,
                received=len(failed), children=witnesses("failed", failed, scope), truncated=len(failed) > MAX_SAMPLES,
            )  # fmt: skip
        if unknown or scope.gap is not None:
            return _unknown_end(unknown, examined, scope)
        return conclude("matched", "matched", "", examined=examined)


def _unknown_end(unknown: Sequence[Ref], examined: int, scope: CallScope) -> Evaluation:
    ended = [f"nobody reported how {calls_made(len(unknown))} ended"] if unknown else []
    return conclude(
        "unavailable", "undecided", "; ".join([*([scope.gap] if scope.gap else []), *ended]),
        found=Findings((), tuple(unknown[:MAX_SAMPLES])), examined=examined,
        children=witnesses("status-unknown", unknown, scope), truncated=len(unknown) > MAX_SAMPLES,
    )  # fmt: skip


def no_failed_actions() -> ScopeMatch:
    """Match a scope in which no call failed or was rejected.

    A pending call has not failed; where nobody reported how a call ended, the claim is unavailable.

    >>> from niceeval import ToolCall
    >>> from niceeval_expect._call_claims import no_failed_actions
    >>> from niceeval_expect._tool_scope import CallScope
    >>> no_failed_actions().evaluate(CallScope((("s0.t0.c0", ToolCall("pay", {}, status="rejected")),))).outcome
    'mismatched'
    """
    return _NoFailedActions()


register("no_failed_actions", lambda args: no_failed_actions())
