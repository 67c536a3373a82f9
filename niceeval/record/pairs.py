"""Two agents, of one run or of two, over the cases that both have: the pairs that came out alike, counted."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

import attrs

from niceeval.record.tallies import Planned, RequirementTally
from niceeval.stats import CaseCounts

__all__ = ["Moved", "Pair", "Paired", "PairedRequirement", "pair_cases", "pair_requirements"]

Key: TypeAlias = tuple[str, str | None]


class Pair(NamedTuple):
    """Cases that came out alike on the first side, and alike on the second.

    Attributes:
        first: What became of one of them on the first side; it names no case.
        second: The same of the second side.
        number: How many there are.
    """

    first: Planned
    second: Planned
    number: int

    @property
    def eval_id(self) -> str:
        """The eval's id."""
        return self.first.tally.eval_id

    @property
    def style(self) -> str:
        """``pass`` or ``score``."""
        return self.first.tally.style

    @property
    def decided(self) -> bool:
        """Whether both sides decided them."""
        return decides(self.first) and decides(self.second)


class Moved(NamedTuple):
    """A pass-style case that came out differently: its name, and of each side the attempts passed and decided."""

    name: str
    first: tuple[int, int]
    second: tuple[int, int]


class PairedRequirement(NamedTuple):
    """Cases in which a requirement came out alike on the first side, and alike on the second.

    Attributes:
        requirement: The requirement.
        first: The attempts at one of them on the first side; None where that did not come to it.
        second: The same of the second side.
        number: How many there are.
    """

    requirement: str
    first: CaseCounts | None
    second: CaseCounts | None
    number: int


@attrs.frozen
class Paired:
    """What two agents have in common.

    Attributes:
        pairs: The cases of both, pass-style and score-style, in the order of the first side's plan.
        moved: The pass-style cases that came out differently.
        undecided: The names of the cases that one of the two did not decide, the pass-style ones first.
        only_first: The names of the cases that only the first has.
        only_second: The names of those that only the second has.
    """

    pairs: tuple[Pair, ...]
    moved: tuple[Moved, ...]
    undecided: tuple[str, ...]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]


def decides(case: Planned) -> bool:
    """Tell whether a case has a rate or a score."""
    return bool(case.tally.scores if case.tally.style == "score" else case.tally.passed + case.tally.failed)


def pair_cases(first: Sequence[Planned], second: Sequence[Planned]) -> Paired:
    """Pair the cases of two agents, which are given each by itself."""
    others = {(*each.key, each.tally.style): each for each in second}
    both = [(each, others[key]) for each in first if (key := (*each.key, each.tally.style)) in others]
    seen = {(*each.key, each.tally.style) for each, _ in both}
    counted = Counter((_nameless(a), _nameless(b)) for a, b in both)
    moved = [
        Moved(a.name, _decided(a), _decided(b))
        for a, b in both
        if a.tally.style == "pass" and decides(a) and decides(b)
    ]
    undecided = [(a.tally.style, a.name) for a, b in both if not (decides(a) and decides(b))]
    return Paired(
        pairs=tuple(Pair(*pair, number) for pair, number in counted.items()),
        moved=tuple(each for each in moved if each.first[0] * each.second[1] != each.second[0] * each.first[1]),
        undecided=tuple(name for style in ("pass", "score") for its, name in undecided if its == style),
        only_first=tuple(each.name for each in first if (*each.key, each.tally.style) not in seen),
        only_second=tuple(each.name for each in second if (*each.key, each.tally.style) not in seen),
    )


def pair_requirements(
    first: Iterable[RequirementTally], second: Iterable[RequirementTally]
) -> Sequence[PairedRequirement]:
    """Pair how requirements came out with two agents, case by case."""
    mine, theirs = (
        {(row.requirement, row.eval_id, row.case_id): CaseCounts(row.passed, row.failed, row.undecided) for row in rows}
        for rows in (first, second)
    )
    counted = Counter((key[0], mine.get(key), theirs.get(key)) for key in {**mine, **theirs})
    return [PairedRequirement(*each, number) for each, number in counted.items()]


def _nameless(case: Planned) -> Planned:
    return case._replace(tally=case.tally._replace(case_id=None, agent=""))


def _decided(case: Planned) -> tuple[int, int]:
    return case.tally.passed, case.tally.passed + case.tally.failed
