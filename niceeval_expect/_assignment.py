"""Optimal assignment: whether each of several matches can have a candidate of its own, while some pairs are undecided.

Every claim that leaves the order open uses it. A greedy choice would make the verdict depend on listing order: a wide
match that takes the only candidate of a narrow one leaves that one without any.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final, TypeAlias, final

import attrs

from niceeval_expect._count import CountOutcome

__all__ = ["Assignment", "assign", "maximum_matching"]

Pairs: TypeAlias = Sequence[Sequence[int]]
_FREE: Final = -1


@final
@attrs.frozen
class Assignment:
    """What an assignment says, and one that goes as far as possible.

    Attributes:
        outcome: ``matched`` (each row certainly has a column of its own), ``mismatched`` (it certainly has not, however
            the undecided pairs come out), or, undecided, ``errored`` if a pair is so because its evaluation broke, else
            ``unavailable``.
        columns: For each row the column it has in the assignment shown, or None. Where the outcome is ``matched`` all
            pairs in it are certain; else it has as many certain pairs as possible, then as many undecided ones.
        rivals: For each row without a column, in order: the rows that compete with it, itself included, for fewer
            columns than there are rows. They are why the assignment fails.
        contested: For the same rows: the columns for which those compete.
    """

    outcome: CountOutcome
    columns: tuple[int | None, ...]
    rivals: tuple[tuple[int, ...], ...] = ()
    contested: tuple[tuple[int, ...], ...] = ()

    @property
    def unassigned(self) -> tuple[int, ...]:
        """The rows without a column."""
        return tuple(row for row, column in enumerate(self.columns) if column is None)

    def free(self, width: int) -> tuple[int, ...]:
        """The columns, of `width` in all, that no row has."""
        taken = set(self.columns)
        return tuple(column for column in range(width) if column not in taken)


def assign(pairs: Sequence[Sequence[str]], *, unbounded: bool = False) -> Assignment:
    """Decide whether every row can have a column of its own, none of them twice; columns may be left over.

    The outcome does not depend on the order of rows and columns.

    Args:
        pairs: For each row (a match) and each column (a candidate) the outcome of evaluating them: ``matched``,
            ``mismatched``, ``unavailable`` or ``errored``.
        unbounded: Whether there may be candidates that nobody reported, so that a missing column proves nothing.

    >>> assign([["matched", "matched"], ["matched", "mismatched"]]).columns
    (1, 0)
    >>> assign([["matched", "unavailable"], ["matched", "mismatched"]]).outcome
    'unavailable'
    >>> assign([["matched", "mismatched"], ["matched", "mismatched"]]).rivals
    ((0, 1),)
    """
    width = len(pairs[0]) if pairs else 0
    certain = [[column for column, outcome in enumerate(row) if outcome == "matched"] for row in pairs]
    columns = maximum_matching(certain, width)
    if _FREE not in columns:
        return Assignment("matched", tuple(columns))
    possible = [[column for column, outcome in enumerate(row) if outcome != "mismatched"] for row in pairs]
    columns = maximum_matching(possible, width, start=columns)
    rivals, contested = _competition(possible, columns, width)
    outcome: CountOutcome = "mismatched"
    if unbounded or _FREE not in columns:
        outcome = "errored" if any("errored" in row for row in pairs) else "unavailable"
    return Assignment(outcome, tuple(None if column == _FREE else column for column in columns), rivals, contested)


def maximum_matching(pairs: Pairs, width: int, *, start: Sequence[int] = ()) -> list[int]:
    """Return for each row its column in a largest matching, or -1: the algorithm of Hopcroft and Karp (1973).

    Args:
        pairs: For each row the columns that it may have.
        width: How many columns there are.
        start: A matching to start from: every row that has a column keeps one.

    >>> maximum_matching([[0, 1], [0]], 2)
    [1, 0]
    """
    columns = list(start) or [_FREE] * len(pairs)
    rows = [_FREE] * width
    for row, column in enumerate(columns):
        if column != _FREE:
            rows[column] = row
    while True:
        layers = _layers(pairs, columns, rows)
        if layers is None:
            return columns
        cursors = [0] * len(pairs)
        for row, column in enumerate(list(columns)):
            if column == _FREE:
                _augment(row, pairs, columns, rows, layers, cursors)


def _layers(pairs: Pairs, columns: list[int], rows: list[int]) -> list[int] | None:
    """Return how many steps each row is from an unassigned one; None if no free column can be reached."""
    layers = [0 if column == _FREE else _FREE for column in columns]
    queue = deque(row for row, column in enumerate(columns) if column == _FREE)
    reachable = False
    while queue:
        row = queue.popleft()
        for column in pairs[row]:
            owner = rows[column]
            if owner == _FREE:
                reachable = True
            elif layers[owner] == _FREE:
                layers[owner] = layers[row] + 1
                queue.append(owner)
    return layers if reachable else None


def _augment(
    first: int, pairs: Pairs, columns: list[int], rows: list[int], layers: list[int], cursors: list[int]
) -> None:
    """Give `first` a column by moving others along, if that is possible within the layers."""
    path = [first]
    while path:
        row = path[-1]
        if cursors[row] == len(pairs[row]):
            path.pop()
            if path:
                cursors[path[-1]] += 1
            continue
        owner = rows[pairs[row][cursors[row]]]
        if owner == _FREE:
            for each in path:
                column = pairs[each][cursors[each]]
                columns[each], rows[column] = column, each
                # The pair is used: another path of this phase must look further.
                cursors[each] += 1
            return
        if layers[owner] == layers[row] + 1:
            path.append(owner)
        else:
            cursors[row] += 1


def _competition(
    pairs: Pairs, columns: list[int], width: int
) -> tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]:
    rows = [_FREE] * width
    for row, column in enumerate(columns):
        if column != _FREE:
            rows[column] = row
    found = [_reach(row, pairs, rows) for row, column in enumerate(columns) if column == _FREE]
    return tuple(rivals for rivals, _ in found), tuple(contested for _, contested in found)


def _reach(first: int, pairs: Pairs, rows: list[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the rows and columns that can be reached from an unassigned row: more rows than columns (Hall, 1935)."""
    rivals, contested, queue = {first}, set[int](), deque([first])
    while queue:
        for column in pairs[queue.popleft()]:
            if column not in contested:
                contested.add(column)
                owner = rows[column]
                if owner not in rivals:
                    rivals.add(owner)
                    queue.append(owner)
    return tuple(sorted(rivals)), tuple(sorted(contested))
