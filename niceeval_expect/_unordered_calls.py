"""The claim that calls like these were made in whatever order, each match by a call of its own."""

from collections.abc import Iterable, Sequence
from typing import Final, final

import attrs

from niceeval_expect._assignment import Assignment, assign
from niceeval_expect._call_scope import CallMatch, CallScope
from niceeval_expect._counted import ToolMatch
from niceeval_expect._evaluation import MAX_SAMPLES, Diagnostic, Evaluation
from niceeval_expect._freeze import call_repr
from niceeval_expect._match import evaluate_part
from niceeval_expect._scope import Findings, Ref, ScopeMatch, conclude
from niceeval_expect._spec import register
from niceeval_expect._tool import as_tool_match, plain_name
from niceeval_expect._tool_scope import calls_made, witnesses

__all__ = ["tool_calls_unordered"]

_MISMATCHED: Final = "mismatched"


@final
class _Table:
    """What every match said of every call that at least one of them may mean."""

    def __init__(self, tools: Sequence[ToolMatch], scope: CallScope) -> None:
        self.rows: list[dict[Ref, str]] = []
        self.reasons: list[Diagnostic] = []
        self.nearest: list[list[Diagnostic]] = []
        for tool in tools:
            row: dict[Ref, str] = {}
            near: list[Diagnostic] = []
            for ref, call in scope.seen_by(tool):
                close = tool._names(call) is not False
                if not tool._may_await and (not close or len(near) >= MAX_SAMPLES) and tool._rejects(call):
                    continue
                evaluation = evaluate_part(tool, call, f"/{ref}")
                if evaluation.outcome != _MISMATCHED:
                    row[ref] = evaluation.outcome
                    if evaluation.outcome != "matched" and len(self.reasons) < MAX_SAMPLES:
                        self.reasons.append(evaluation.diagnostic)
                elif close and len(near) < MAX_SAMPLES:
                    near.append(evaluation.diagnostic)
            self.rows.append(row)
            self.nearest.append(near)
        self.refs = self._candidates([ref for ref, _ in scope.calls])

    def _candidates(self, refs: Iterable[Ref]) -> list[Ref]:
        """Return the calls worth assigning: a match that means as many as there are matches needs no more of them."""
        kept: set[Ref] = set()
        for row in self.rows:
            for outcome in ("matched", "unavailable", "errored"):
                kept.update([ref for ref, what in row.items() if what == outcome][: len(self.rows)])
        return [ref for ref in refs if ref in kept]

    def assign(self, *, unbounded: bool) -> Assignment:
        pairs = [[row.get(ref, _MISMATCHED) for ref in self.refs] for row in self.rows]
        return assign(pairs, unbounded=unbounded)


@final
@attrs.frozen(eq=False, repr=False)
class _Unordered(CallMatch):
    _spec_name = "tool_calls_unordered"
    tools: tuple[ToolMatch, ...]
    only: bool

    def _args(self) -> dict[str, object]:
        return {"tools": list(self.tools), **({"only": True} if self.only else {})}

    def _parts(self) -> tuple[object, ...]:
        return self.tools

    def __repr__(self) -> str:
        return call_repr(self._spec_name, [*map(plain_name, self.tools)], **({"only": True} if self.only else {}))

    def _over(self, scope: CallScope) -> Evaluation:
        wanted, made = len(self.tools), len(scope.calls)
        table = _Table(self.tools, scope)
        result = table.assign(unbounded=scope.gap is not None)
        refs = [None if column is None else table.refs[column] for column in result.columns]
        taken = {ref for ref in refs if ref is not None}
        others = [ref for ref, _ in scope.calls if ref not in taken]
        found = Findings(tuple(ref for ref, _ in scope.calls if ref in taken), tuple(others[:MAX_SAMPLES]))
        outcome = result.outcome
        if self.only and made > wanted:
            return conclude(
                _MISMATCHED, "count", f"{calls_made(made)}, exactly {wanted} wanted", found=found, examined=made,
                expected=wanted, received=made, children=witnesses("other", others, scope),
                truncated=len(others) > MAX_SAMPLES,
            )  # fmt: skip
        if outcome == "matched" and self.only and scope.gap is not None:
            outcome = "unavailable"
        if outcome == "matched":
            return conclude("matched", "matched", "", found=found, examined=made)
        if outcome != _MISMATCHED:
            doubts = [f"{doubt.pointer[1:].partition('/')[0]}: {doubt.reason}" for doubt in table.reasons[:1]]
            code, reasons = "error" if outcome == "errored" else "undecided", [*([scope.gap] if scope.gap else [])]
            return conclude(
                outcome, code, "; ".join([*reasons, *doubts]), found=found, examined=made, expected=repr(self),
                children=tuple(table.reasons),
            )  # fmt: skip
        children = [self._missing(position, result, table) for position in range(len(result.rivals))]
        return conclude(
            _MISMATCHED, "unassigned", _sentence(result, self.tools, children), found=found, examined=made,
            expected=[repr(tool) for tool in self.tools], received=len(taken), children=children[:MAX_SAMPLES],
            truncated=len(children) > MAX_SAMPLES,
        )  # fmt: skip

    def _missing(self, position: int, result: Assignment, table: _Table) -> Diagnostic:
        """Return why one match has no call of its own."""
        row, rivals = result.unassigned[position], result.rivals[position]
        contested = [table.refs[column] for column in result.contested[position]]
        if len(rivals) > 1:
            which = ", ".join(contested[:MAX_SAMPLES])
            message = f"{len(rivals)} of the matches compete for {calls_made(len(contested))}: {which}"
            return Diagnostic("contested", message, expected=[repr(self.tools[rival])[:240] for rival in rivals][:8])
        near = tuple(table.nearest[row])
        return Diagnostic("missing", f"no call is like {self.tools[row]!r:.240}", children=near)


def _sentence(result: Assignment, tools: Sequence[ToolMatch], children: Sequence[Diagnostic]) -> str:
    missing = len(result.unassigned)
    first = f"{tools[result.unassigned[0]]!r:.240}"
    more = f" and {missing - 1} more" if missing > 1 else ""
    verb = "have" if missing > 1 else "has"
    return f"{first}{more} {verb} no call of {'their' if missing > 1 else 'its'} own: {children[0].message}"


def tool_calls_unordered(tools: Iterable[ToolMatch | str], /, *, only: bool = False) -> ScopeMatch:
    """Match a scope with calls like these, in whatever order: each match has a call of its own.

    The calls are assigned to the matches as well as possible, so that the verdict depends neither on the order of the
    matches nor on that of the calls. What else was called does not matter, unless `only` is true.

    Args:
        tools: Tool matches without quantifiers, or tools' names; the same one may be given twice, for two calls.
        only: Whether there must be no other call.

    >>> from niceeval import ToolCall
    >>> from niceeval_expect import tool_match
    >>> from niceeval_expect._tool_scope import CallScope
    >>> from niceeval_expect._unordered_calls import tool_calls_unordered
    >>> cats, dogs = ToolCall("search", {"q": "cats"}), ToolCall("search", {"q": "dogs"})
    >>> scope = CallScope((("s0.t0.c0", cats), ("s0.t0.c1", dogs)))
    >>> tool_calls_unordered(["search", tool_match("search", input={"q": "cats"})]).evaluate(scope).outcome
    'matched'
    """
    if isinstance(tools, str | ToolMatch) or not isinstance(tools, Iterable):
        raise TypeError(f"tool_calls_unordered() takes a list of tool matches, got {tools!r:.200}")
    matches = tuple(as_tool_match("tool_calls_unordered()", tool) for tool in tools)
    if not matches:
        raise ValueError("tool_calls_unordered() got an empty list; to claim that no tool was called: used_no_tools()")
    if not isinstance(only, bool):
        raise TypeError(f"tool_calls_unordered() only is True or False, got {only!r}")
    return _Unordered(matches, only)


register("tool_calls_unordered", lambda args: tool_calls_unordered(args["tools"], only=args.get("only", False)))
