"""The claim that nothing in a scope went round in circles: no call and no text again and again."""

import json
from collections.abc import Hashable, Iterable
from typing import Any, final

import attrs

from niceeval_expect._alike import group_alike
from niceeval_expect._call_scope import CallMatch, CallScope
from niceeval_expect._codec import encode
from niceeval_expect._count import count_argument, decide_count
from niceeval_expect._equality import is_absent, json_key
from niceeval_expect._evaluation import MAX_SAMPLES, Diagnostic, Evaluation, cut_text, sample
from niceeval_expect._scope import Findings, Ref, ScopeMatch, conclude, times
from niceeval_expect._spec import register

__all__ = ["no_loops"]


@final
class _Group:
    """One call, or one text, with the places where it came."""

    __slots__ = ("alike", "refs", "server", "tool", "value")

    def __init__(self, tool: str | None, value: Any, server: str | None = None) -> None:
        self.tool = tool
        self.server = server
        self.value = value
        self.refs: list[Ref] = []
        self.alike = False

    def told(self, limit: int) -> Diagnostic:
        """Return what it was, pointing to the place where it was once too many."""
        same = "nearly the same" if self.alike else "the same"
        what = f"{same} text" if self.tool is None else f"{same} call of {self.tool[:80]}"
        places = ", ".join(self.refs[:MAX_SAMPLES]) + (", …" if len(self.refs) > MAX_SAMPLES else "")
        message = f"{what} came {times(len(self.refs))}, at {places}"
        shown = cut_text(self.value) if self.tool is None else {"name": self.tool, "input": sample(self.value)}
        return Diagnostic("loop", message, f"/{self.refs[limit]}", f"at most {times(limit)}", shown)


@final
class _Unread:
    """The calls of one tool whose input is unknown: each may be any other call of that tool."""

    __slots__ = ("first", "others", "total")

    def __init__(self, first: Ref) -> None:
        self.first = first
        self.total = 0
        self.others = 0


def _group_calls(scope: CallScope) -> tuple[list[_Group], dict[tuple[str | None, str], _Unread]]:
    """Return the groups of equal calls, and by server and tool the calls that may belong to any of its groups."""
    groups: dict[Hashable, _Group] = {}
    unread: dict[tuple[str | None, str], _Unread] = {}
    for ref, call in scope.calls:
        tool = (call.server, call.name)
        try:
            key = None if is_absent(call.input) else (tool, json_key(call.input))
            group = None if key is None else groups.get(key)
        except (RecursionError, TypeError, ValueError):
            # Nested too deeply, or holding what cannot be compared: as good as unknown.
            key = group = None
        if key is None:
            unread.setdefault(tool, _Unread(ref)).total += 1
            continue
        if group is None:
            group = groups[key] = _Group(call.name, call.input, call.server)
        group.refs.append(ref)
    return list(groups.values()), unread


def _group_texts(scope: CallScope) -> list[_Group]:
    """Return the groups of equal texts; a turn that said nothing repeats nothing."""
    groups: dict[str, _Group] = {}
    for ref, text in scope.texts:
        if text.strip():
            groups.setdefault(text, _Group(None, text)).refs.append(ref)
    return list(groups.values())


def _merge_alike(groups: Iterable[_Group], similarity: float, scope: CallScope) -> list[_Group]:
    """Return the groups with those merged whose texts, or whose inputs for one tool, are nearly the same."""
    merged: list[_Group] = []
    order = {ref: place for place, (ref, _) in enumerate((*scope.calls, *scope.texts))}
    by_tool: dict[tuple[str | None, str | None], list[_Group]] = {}
    for group in groups:
        by_tool.setdefault((group.server, group.tool), []).append(group)
    for members in by_tool.values():
        leaders = group_alike([_as_text(group) for group in members], similarity)
        for place, leader in enumerate(leaders):
            if leader != place:
                members[leader].refs += members[place].refs
                members[leader].alike = True
        merged += [group for place, group in enumerate(members) if leaders[place] == place]
    for group in merged:
        group.refs.sort(key=order.__getitem__)
    return merged


def _as_text(group: _Group) -> str:
    if isinstance(group.value, str):
        return group.value
    return json.dumps(encode(group.value), sort_keys=True, ensure_ascii=False, separators=(",", ":"))


@final
@attrs.frozen(eq=False, repr=False)
class _NoLoops(CallMatch):
    _spec_name = "no_loops"
    _reads_texts = True
    _positional = 0
    max_repeats: int
    similarity: float | None

    def _args(self) -> dict[str, object]:
        similarity = {} if self.similarity is None else {"similarity": self.similarity}
        return {"max_repeats": self.max_repeats, **similarity}

    def _over(self, scope: CallScope) -> Evaluation:
        limit = self.max_repeats
        calls, unread = _group_calls(scope)
        examined = len(scope.calls) + len(scope.texts)
        groups = [*calls, *_group_texts(scope)]
        expected = f"the same call or text at most {times(limit)}"
        if self.similarity is not None:
            groups = _merge_alike(groups, self.similarity, scope)
            expected = f"calls or texts that are {self.similarity:g} alike at most {times(limit)}"
        loops = [group for group in groups if len(group.refs) > limit]
        if loops:
            worst = max(loops, key=lambda group: len(group.refs))
            children = tuple(group.told(limit) for group in loops[:MAX_SAMPLES])
            return conclude(
                "mismatched", "loop", worst.told(limit).message, found=Findings(tuple(worst.refs)), examined=examined,
                expected=expected, received=len(worst.refs), children=children, truncated=len(loops) > MAX_SAMPLES,
            )  # fmt: skip
        for group in groups:
            doubt = unread.get((group.server, group.tool)) if group.tool is not None else None
            if doubt is not None:
                doubt.others = max(doubt.others, len(group.refs))
        doubts = [
            f"the input of {doubt.total} call(s) of {tool[:80]}, first at {doubt.first}, is unknown and may repeat one"
            for (_, tool), doubt in unread.items()
            if decide_count(doubt.others, doubt.total, 0, limit) != "matched"
        ]
        gaps = [gap for gap in (scope.gap, scope.texts_gap) if gap is not None]
        if doubts or gaps:
            reason = "; ".join(dict.fromkeys((*gaps, *doubts[:2])))
            return conclude("unavailable", "undecided", reason, examined=examined, expected=expected)
        return conclude("matched", "matched", "", examined=examined)


def no_loops(*, max_repeats: int = 2, similarity: float | None = None) -> ScopeMatch:
    """Match a scope in which no call (name and input) and no assistant text came more than `max_repeats` times.

    Args:
        max_repeats: How often the same is fine, at least 1.
        similarity: From which similarity on, above 0 and at most 1, two texts, or two inputs of one tool written as
            JSON, count as the same; None for equal ones only. The similarity is the normalised Levenshtein similarity.
            A text is compared with the first of each of the 100 groups of like texts that came last, so that the time
            it takes grows with the number of texts and not with its square; of texts over 4,000 characters the first
            and the last 2,000 are compared.

    Raises:
        TypeError: If `max_repeats` is not a whole number, or `similarity` not a number.
        ValueError: If one of them is out of range.

    >>> from niceeval import ToolCall
    >>> from niceeval_expect._loops import no_loops
    >>> from niceeval_expect._tool_scope import CallScope
    >>> again = tuple((f"s0.t0.c{n}", ToolCall("search", {"q": "cats"})) for n in range(3))
    >>> no_loops().evaluate(CallScope(again)).diagnostic.message
    'the same call of search came 3 times, at s0.t0.c0, s0.t0.c1, s0.t0.c2'
    """
    if similarity is not None:
        if isinstance(similarity, bool) or not isinstance(similarity, int | float):
            raise TypeError(f"no_loops() similarity is a number above 0 and at most 1, or None; got {similarity!r}")
        if not 0 < similarity <= 1:
            raise ValueError(f"no_loops() similarity is above 0 and at most 1, got {similarity!r}")
    least = count_argument("no_loops() max_repeats", max_repeats, least=1, instead="1 refuses any repetition")
    return _NoLoops(least, similarity)


register("no_loops", lambda args: no_loops(max_repeats=args["max_repeats"], similarity=args.get("similarity")))
