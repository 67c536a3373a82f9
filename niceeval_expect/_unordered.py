"""`unordered`: each of several matches has an item of its own, whatever the order."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Final

import attrs

from niceeval_expect._assignment import Assignment, assign
from niceeval_expect._evaluation import MAX_SAMPLES, Diagnostic, Evaluation, Outcome, sample
from niceeval_expect._facets import plain_or_match, plain_value, plainly_differ
from niceeval_expect._freeze import call_repr
from niceeval_expect._items import COMPARING, distance, first_argument, items_of
from niceeval_expect._json import brief
from niceeval_expect._match import Match, ValueMatch, evaluate_part
from niceeval_expect._partial import show_match
from niceeval_expect._pointer import child
from niceeval_expect._spec import register

__all__ = ["unordered"]

_KEPT: Final = 8


@attrs.frozen(eq=False, repr=False)
class _Unordered(ValueMatch):
    _spec_name = "unordered"
    _matches: tuple[ValueMatch, ...]
    _stand_ins: tuple[Hashable | None, ...]

    def _args(self) -> dict[str, object]:
        return {"items": list(self._matches)}

    def _parts(self) -> tuple[object, ...]:
        return self._matches

    def __repr__(self) -> str:
        return call_repr("unordered", [plain_value(match) for match in self._matches])

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        items = items_of(subject, pointer, "unordered")
        if isinstance(items, Evaluation):
            return items
        size = len(self._matches)
        stand_ins = [_stand_in(item) for item in items]
        if None not in self._stand_ins and Counter(stand_ins) == Counter(self._stand_ins):
            return self._matched(pointer)
        table = _Table([[] for _ in range(size)], [[] for _ in range(size)])
        for row, match in enumerate(self._matches):
            table.add(row, match, self._stand_ins[row], list(zip(items, stand_ins, strict=True)), pointer)
        found = assign(table.outcomes)
        if found.outcome == "matched" and len(items) == size:
            return self._matched(pointer)
        return self._explain(found, table, items, pointer)

    def _matched(self, pointer: str) -> Evaluation:
        size = len(self._matches)
        message = f"each of {size} items has a match of its own" if size > 1 else "the item has a match of its own"
        return Evaluation("matched", Diagnostic("matched", message, pointer), examined=size)

    def _explain(self, found: Assignment, table: "_Table", items: list[Any], pointer: str) -> Evaluation:
        size, free = len(self._matches), found.free(len(items))
        outcome: Outcome = found.outcome
        if len(items) != size:
            outcome = "mismatched"
        children: list[Diagnostic] = []
        says = []
        if len(items) != size:
            says.append(f"{len(items)} item{'s' * (len(items) != 1)} for {size} match{'es' * (size != 1)}")
        for row, rivals, contested in zip(found.unassigned, found.rivals, found.contested, strict=True):
            wanted = brief(plain_value(self._matches[row]))
            if contested:
                places = ", ".join(map(str, contested[:MAX_SAMPLES]))
                why = f"{len(rivals)} matches compete for item {places}"
            else:
                why = "no item matches"
            near = table.nearest(row, free, self._matches[row], items, pointer)
            says.append(f"{wanted}: {why}{_near(near)}")
            shown = () if near is None else (near[1].diagnostic,)
            children.append(
                Diagnostic("missing", says[-1], pointer, sample(show_match(self._matches[row])), None, None, shown)
            )
        spare = free if len(items) > size or not found.unassigned else ()
        if outcome == "mismatched":
            children += [
                Diagnostic("extra", f"item {column} is left over", child(pointer, column), None, sample(items[column]))
                for column in spare[:MAX_SAMPLES]
            ]
            if spare:
                says.append(f"item {', '.join(map(str, spare[:MAX_SAMPLES]))} left over")
            typed = len(items) == size and assign(table.with_types_open()).outcome != "mismatched"
            code = "type" if typed else "unordered"
            message = "; ".join(says[:3])
            cut = len(children) > MAX_SAMPLES
            diagnostic = Diagnostic(
                code, message, pointer, None, None, None, tuple(children[:MAX_SAMPLES]), truncated=cut
            )
            return Evaluation("mismatched", diagnostic, examined=len(items))
        undecided = table.undecided(outcome)
        reason = f"an assignment depends on what is undecided: {undecided.reason}"
        code = "error" if outcome == "errored" else "absent"
        diagnostic = Diagnostic(code, reason, pointer, reason=reason, children=(undecided.diagnostic,))
        return Evaluation(outcome, diagnostic, reason=reason, examined=len(items))


def _stand_in(value: Any, levels: int = 24) -> Hashable | None:
    """Return what stands for a plain JSON value: two are equal where the values are; None for any other value."""
    kind = type(value)
    if kind is str or kind is int or value is None:
        return (value,)
    if kind is bool:
        return "true" if value else "false"
    if kind is float:
        return (value,) if value == value else "nan"
    if not levels or (kind is not list and kind is not dict):
        return None
    if kind is list:
        items = tuple(_stand_in(item, levels - 1) for item in value)
        return None if None in items else ("list", items)
    if not all(type(key) is str for key in value):
        return None
    fields = frozenset((key, _stand_in(item, levels - 1)) for key, item in value.items())
    return None if any(item is None for _, item in fields) else ("dict", fields)


@attrs.define
class _Table:
    """What each match says of each item; of mismatches, only the nearest few of each match are kept."""

    outcomes: list[list[str]]
    near: list[list[tuple[float, int, Evaluation]]]
    typed: set[tuple[int, int]] = attrs.field(factory=set)
    open: dict[str, Evaluation] = attrs.field(factory=dict)

    def add(
        self,
        row: int,
        match: ValueMatch,
        stand_in: Hashable | None,
        items: list[tuple[Any, Hashable | None]],
        pointer: str,
    ) -> None:
        """Compare one match with every item."""
        outcomes = self.outcomes[row]
        compares = match._spec_name in COMPARING and not match._may_await
        expected = first_argument(match) if compares else None
        for column, (item, other) in enumerate(items):
            # Most pairs of plain values are the same or plainly differ, and need no diagnostic of their own.
            if stand_in is not None and other is not None:
                outcomes.append("matched" if stand_in == other else "mismatched")
            elif compares and plainly_differ(expected, item):
                outcomes.append("mismatched")
            else:
                evaluation = evaluate_part(match, item, child(pointer, column))
                outcomes.append(evaluation.outcome)
                self._keep(row, column, evaluation)

    def _keep(self, row: int, column: int, evaluation: Evaluation) -> None:
        if evaluation.outcome in ("unavailable", "errored"):
            self.open.setdefault(evaluation.outcome, evaluation)
        elif evaluation.outcome == "mismatched":
            if evaluation.code == "type":
                self.typed.add((row, column))
            kept = self.near[row]
            kept.append((distance(evaluation), column, evaluation))
            if len(kept) > 2 * _KEPT:
                kept.sort(key=lambda each: each[:2])
                del kept[_KEPT:]

    def nearest(
        self, row: int, free: tuple[int, ...], match: ValueMatch, items: list[Any], pointer: str
    ) -> tuple[int, Evaluation] | None:
        """Return the item, of those that no match has where possible, that comes nearest to a match without one."""
        kept = list(self.near[row])
        if match._spec_name in COMPARING and not match._may_await:
            others = [column for column in free if self.outcomes[row][column] == "mismatched"][:_KEPT]
            parts = [(column, evaluate_part(match, items[column], child(pointer, column))) for column in others]
            kept += [(distance(part), column, part) for column, part in parts]
        unused = set(free)
        ranked = sorted(kept, key=lambda each: (each[1] not in unused, *each[:2]))
        return (ranked[0][1], ranked[0][2]) if ranked else None

    def undecided(self, outcome: str) -> Evaluation:
        """Return an evaluation with this outcome."""
        return self.open.get(outcome) or next(iter(self.open.values()))

    def with_types_open(self) -> list[list[str]]:
        """Return the outcomes, with those pairs open that a match cannot speak about."""
        return [
            ["unavailable" if (row, column) in self.typed else outcome for column, outcome in enumerate(outcomes)]
            for row, outcomes in enumerate(self.outcomes)
        ]


def _near(near: tuple[int, Evaluation] | None) -> str:
    if near is None:
        return ""
    column, evaluation = near
    return f"; the nearest is item {column}: {evaluation.diagnostic.message or evaluation.code}"


def unordered(items: Iterable[ValueMatch | object], /) -> ValueMatch:
    """Match a list whose items, in any order, match one each of `items`, with none left over on either side.

    Who gets which item is an optimal assignment, so that the verdict depends on no order: a wide match never takes the
    only item of a narrow one. Where items are missing or break a match, it is undecided unless every way of deciding
    them comes to the same. The mismatch names the match without an item and the item that comes nearest.

    Args:
        items: A non-empty list of value matches; a plain value means ``equals(value)``. A bare string is refused.

    Raises:
        TypeError: If `items` is a string, bytes, a mapping or not iterable, or holds a measurement.
        ValueError: If it is empty.

    >>> from niceeval_expect import pattern, unordered
    >>> unordered([pattern("^A"), "A-1"]).evaluate(["A-1", "A-2"]).outcome
    'matched'
    >>> unordered(["red", "blue"]).evaluate(["blue", "green"]).diagnostic.message
    "'red': no item matches; the nearest is item 1: expected 'red', got 'green'"
    """
    if isinstance(items, str | bytes | Mapping | Match) or not isinstance(items, Iterable):
        raise TypeError(f"unordered() takes a list of values or matches, got {items!r:.200}; write unordered([...])")
    ordered = sorted(items, key=repr) if isinstance(items, set | frozenset) else list(items)
    if not ordered:
        raise ValueError("unordered() got an empty list; to match one, use equals([])")
    matches = tuple(plain_or_match("unordered()", item) for item in ordered)
    stand_ins = (_stand_in(first_argument(match)) if match._spec_name == "equals" else None for match in matches)
    return _Unordered(matches, tuple(stand_ins))


register("unordered", lambda args: unordered(args["items"]))
