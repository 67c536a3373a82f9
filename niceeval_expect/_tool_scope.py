"""Claims about how many calls of a scope are like a tool match: so many, every one of them, none."""

from collections import Counter
from collections.abc import Iterable
from typing import Any, final

import attrs

from niceeval_expect._call_scope import CallMatch, CallScope
from niceeval_expect._evaluation import MAX_SAMPLES, Absent, Diagnostic, Evaluation, Outcome, sample, unavailable
from niceeval_expect._freeze import call_repr
from niceeval_expect._match import Match, evaluate_part
from niceeval_expect._scope import Ref, ScopeMatch, Tally, conclude, tally, times
from niceeval_expect._spec import register
from niceeval_expect._tool import CountedToolMatch, ToolCallLike, ToolMatch, as_tool_match, plain_name

__all__ = ["CallMatch", "CallScope", "called_tool", "calls_made", "not_called_tool", "witnesses"]


@final
@attrs.frozen(eq=False, repr=False)
class _CalledTool(CallMatch):
    _spec_name = "called_tool"
    tool: ToolMatch | CountedToolMatch

    def _args(self) -> dict[str, object]:
        return {"tool": self.tool}

    def _parts(self) -> tuple[object, ...]:
        return (self.tool,)

    def __repr__(self) -> str:
        return call_repr(self._spec_name, plain_name(self.tool))

    def _over(self, scope: CallScope) -> Evaluation:
        tool = self.tool
        if not isinstance(tool, CountedToolMatch):
            return _count(self, tool, 1, None, scope)
        if tool.quantifier == "every":
            return _every(self, tool, scope)
        return _count(self, tool.of, tool.low, tool.high, scope)


def called_tool(tool: ToolMatch | CountedToolMatch | str, /) -> ScopeMatch:
    """Match a scope in which calls like `tool` were made: at least one, or as many as its quantifier says.

    Args:
        tool: A tool match, with or without a quantifier, or a tool's name.

    >>> from niceeval import ToolCall
    >>> from niceeval_expect import tool_match
    >>> from niceeval_expect._tool_scope import CallScope, called_tool
    >>> scope = CallScope((("s0.t0.c0", ToolCall("search", {"q": "cats"})), ("s0.t0.c1", ToolCall("open"))))
    >>> called_tool(tool_match("search").exactly(2)).evaluate(scope).diagnostic.message
    '1 call like that, exactly 2 wanted; called were search (once), open (once)'
    """
    return _CalledTool(tool if isinstance(tool, CountedToolMatch) else as_tool_match("called_tool()", tool))


register("called_tool", lambda args: called_tool(args["tool"]))


def _tally(tool: ToolMatch, scope: CallScope) -> Tally:
    if not tool._tools():
        # A match that names no tool speaks of the calls of all of them.
        return tally(tool, scope.seen_by(tool), _any_tool, tool._rejects)
    return tally(tool, scope.seen_by(tool), tool._names, tool._rejects, others_mismatch=tool._needs_name)


def _any_tool(call: ToolCallLike) -> bool | None:
    """Stand in for `_names` of a match that names no tool: it speaks of the calls of all of them."""
    return True


def _count(claim: _CalledTool, tool: ToolMatch, low: int, high: int | None, scope: CallScope) -> Evaluation:
    counts = _tally(tool, scope)
    outcome = counts.decide(low, high, scope.coverage)
    matching, found = len(counts.matching), counts.found()
    if outcome == "matched":
        return conclude(outcome, "matched", "", found=found, examined=counts.examined)
    if outcome != "mismatched":
        return _undecided(claim, outcome, counts, scope)
    message = f"{calls_made(matching)} like that, {_bounds(low, high)} wanted"
    if high is not None and matching > high:
        children = witnesses("called", counts.matching, scope)
        truncated = matching > len(children)
    else:
        children, truncated = counts.shown(), counts.left_out()
        message += f"; {_misses(tool, counts, scope)}"
    return conclude(
        "mismatched", "count", message, found=found, examined=counts.examined, expected=repr(claim.tool),
        received=_closest(counts, scope), children=children, truncated=truncated,
    )  # fmt: skip


def _every(claim: _CalledTool, counted: CountedToolMatch, scope: CallScope) -> Evaluation:
    tool, counts = counted.of, Tally()
    names = tool._names if tool._tools() else _any_tool
    for ref, call in scope.seen_by(tool):
        named = names(call)
        if named is False:
            continue
        if named and not tool._may_await and not counts.needs(near=True) and tool._rejects(call):
            counts.pass_over(ref, near=True)
            continue
        evaluation = evaluate_part(tool, call, f"/{ref}")
        if named is None and evaluation.outcome in ("matched", "mismatched"):
            reason = f"nobody can tell whether this call of {call.name} is one of {_named(tool)}"
            evaluation = unavailable(reason, f"/{ref}", code="name-unresolved")
        counts.add(ref, evaluation, near=True)
    found, examined = counts.found(), counts.examined
    if counts.misses:
        message = f"{counts.misses} of {calls_made(examined)} of {_named(tool)} not like that"
        return conclude(
            "mismatched", "every", message, found=found, examined=examined, expected=repr(tool),
            received=_closest(counts, scope), children=counts.missed(), truncated=counts.misses > MAX_SAMPLES,
        )  # fmt: skip
    if counts.undecided or scope.gap is not None:
        return _undecided(claim, "errored" if counts.errored else "unavailable", counts, scope)
    if not examined and counted.low:
        message = f"no calls to check: {_misses(tool, counts, scope)}"
        return conclude("mismatched", "none", message, found=found, examined=0, expected=repr(counted))
    return conclude("matched", "matched", "", found=found, examined=examined)


@final
@attrs.frozen(eq=False, repr=False)
class _NotCalledTool(CallMatch):
    _spec_name = "not_called_tool"
    tool: ToolMatch

    def _args(self) -> dict[str, object]:
        return {"tool": self.tool}

    def _parts(self) -> tuple[object, ...]:
        return (self.tool,)

    def __repr__(self) -> str:
        return call_repr(self._spec_name, plain_name(self.tool))

    def _over(self, scope: CallScope) -> Evaluation:
        tool = self.tool
        counts = _tally(tool, scope)
        outcome = counts.decide(0, 0, scope.coverage)
        if outcome == "matched" and not counts.strange:
            return conclude(outcome, "matched", "", found=counts.found(), examined=counts.examined)
        if outcome in ("unavailable", "errored"):
            return _undecided(self, outcome, counts, scope)
        if counts.matching:
            code, message = "called", f"{calls_made(len(counts.matching))} like that, none wanted"
            children = witnesses("called", counts.matching, scope)
            truncated = len(counts.matching) > len(children)
        else:
            # Neither a claim nor its denial holds of a value that the match cannot speak about.
            code, message = "type", f"{calls_made(counts.strange)} that the match cannot speak about"
            children, truncated = counts.missed(), counts.misses > MAX_SAMPLES
        return conclude(
            "mismatched", code, message, found=counts.found(), examined=counts.examined, expected=f"no {tool!r}",
            received=len(counts.matching), children=children, truncated=truncated,
        )  # fmt: skip


def not_called_tool(tool: ToolMatch | str, /) -> ScopeMatch:
    """Match a scope in which no call like `tool` was made.

    Unavailable where calls may be missing from the report, or where one may be such a call.

    Args:
        tool: A tool match without a quantifier, or a tool's name.

    >>> from niceeval import ToolCall
    >>> from niceeval_expect._tool_scope import CallScope, not_called_tool
    >>> not_called_tool("delete_user").evaluate(CallScope((("s0.t0.c0", ToolCall("find_user")),))).outcome
    'matched'
    >>> not_called_tool("delete_user").evaluate(CallScope((), "none")).reason
    'tool calls were not reported'
    """
    return _NotCalledTool(as_tool_match("not_called_tool()", tool))


register("not_called_tool", lambda args: not_called_tool(args["tool"]))


def _undecided(claim: Match, outcome: Outcome, counts: Tally, scope: CallScope) -> Evaluation:
    code = "error" if outcome == "errored" else "undecided"
    return conclude(
        outcome, code, counts.why(scope.gap), found=counts.found(), examined=counts.examined, expected=repr(claim),
        received=len(counts.matching), children=counts.shown(), truncated=counts.left_out(),
    )  # fmt: skip


def calls_made(count: int) -> str:
    """Return a number of calls in words."""
    return f"{count or 'no'} call{'' if count == 1 else 's'}"


def _bounds(low: int, high: int | None) -> str:
    if high is None:
        return f"at least {low}"
    return f"exactly {low}" if low == high else f"{low} to {high}" if low else f"at most {high}"


def _named(tool: ToolMatch) -> str:
    return " or ".join(name[:80] for name in tool._tools()[:MAX_SAMPLES]) or "any tool"


def _misses(tool: ToolMatch, counts: Tally, scope: CallScope) -> str:
    """Return what was called instead."""
    if counts.misses:
        return f"{_named(tool)} was called {times(counts.misses)}, but not like that"
    called = Counter(call.name for _, call in scope.calls)
    names = [f"{name[:80]} ({times(count)})" for name, count in called.most_common(MAX_SAMPLES)]
    more = f" and {len(called) - len(names)} other tools" if len(called) > len(names) else ""
    all_called = f"called were {', '.join(names)}{more}" if names else "no tool was called"
    return all_called if counts.matching else f"{_named(tool)} was not called; {all_called}"


def _closest(counts: Tally, scope: CallScope) -> list[dict[str, Any]] | int:
    """Return the calls that came closest, where any did; else how many calls match."""
    refs = {diagnostic.pointer[1:].partition("/")[0] for diagnostic in counts.missed()}
    if counts.matching or not refs:
        return len(counts.matching)
    return [_described(call) for ref, call in scope.calls if ref in refs]


def _described(call: ToolCallLike) -> dict[str, Any]:
    given = {"name": call.name, "input": call.input, "status": call.status}
    return {key: value for key, value in given.items() if value is not None and not isinstance(value, Absent)}


def witnesses(code: str, refs: Iterable[Ref], scope: CallScope) -> tuple[Diagnostic, ...]:
    """Return a diagnostic for each of the first 8 references, with the call it refers to."""
    wanted = set(list(refs)[:MAX_SAMPLES])
    return tuple(
        Diagnostic(code, f"{call.name[:120]} at {ref}", f"/{ref}", received=sample(_described(call)))
        for ref, call in scope.calls
        if ref in wanted
    )
