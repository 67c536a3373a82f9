"""How well two raters agree: Cohen's kappa with an interval that is honest about few labels."""

from collections.abc import Iterable, Sequence
from math import sqrt
from statistics import NormalDist
from typing import final

import attrs

from niceeval.stats import wilson

__all__ = ["Agreement", "agreement"]


@final
@attrs.frozen
class Agreement:
    """What people said, against what a judge said.

    Attributes:
        categories: What was said, in order.
        table: How often each pair occurs: a row for each category of people, a column for each of the judge.
        kappa: Agreement beyond chance; None where nothing but one category was said, or nothing at all.
        low: The lower end of its interval.
        high: The upper end of its interval.
        confidence: How often the interval holds the true kappa.
    """

    categories: tuple[str, ...]
    table: tuple[tuple[int, ...], ...]
    kappa: float | None
    low: float | None
    high: float | None
    confidence: float

    @property
    def total(self) -> int:
        """How many pairs there are."""
        return sum(map(sum, self.table))

    @property
    def agreed(self) -> int:
        """In how many both say the same."""
        return sum(row[place] for place, row in enumerate(self.table))


def agreement(pairs: Iterable[tuple[str, str]], categories: Sequence[str], *, confidence: float = 0.95) -> Agreement:
    """Compare pairs of what people and the judge said.

    Kappa is Cohen's (J. Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological
    Measurement 20 (1960), 37-46), its standard error that of Fleiss, Cohen and Everitt ("Large sample standard errors
    of kappa and weighted kappa", Psychological Bulletin 72 (1969), 323-327). That error is 0 where all agree, however
    few they are; the interval is therefore at least as wide as what Wilson's interval of the agreement makes of kappa.

    Args:
        pairs: What people said, and what the judge said, each one of `categories`.
        categories: What may be said.
        confidence: How often the interval is to hold the true kappa, above 0 and below 1.

    Raises:
        ValueError: A pair says something else.

    >>> found = agreement([("A", "A"), ("A", "A"), ("B", "B"), ("B", "A")], ["A", "B"])
    >>> found.agreed, found.kappa
    (3, 0.5)
    """
    place = {name: number for number, name in enumerate(categories)}
    table = [[0] * len(place) for _ in place]
    for label, verdict in pairs:
        if label not in place or verdict not in place:
            raise ValueError(f"{(label, verdict)!r} is not of the categories {list(categories)!r}")
        table[place[label]][place[verdict]] += 1
    counts = tuple(map(tuple, table))
    kappa, low, high = _kappa(counts, confidence)
    return Agreement(tuple(categories), counts, kappa, low, high, confidence)


def _kappa(table: Sequence[Sequence[int]], confidence: float) -> tuple[float, float, float] | tuple[None, None, None]:
    total = sum(map(sum, table))
    if not total:
        return None, None, None
    size = range(len(table))
    share = [[count / total for count in row] for row in table]
    rows = [sum(row) for row in share]
    columns = [sum(row[place] for row in share) for place in size]
    agreed = sum(table[place][place] for place in size)
    observed, chance = agreed / total, sum(rows[place] * columns[place] for place in size)
    left = 1 - chance
    if left < 1e-12:
        return None, None, None
    kappa = (observed - chance) / left
    same = sum(share[i][i] * (1 - (rows[i] + columns[i]) * (1 - kappa)) ** 2 for i in size)
    other = (1 - kappa) ** 2 * sum(share[i][j] * (columns[i] + rows[j]) ** 2 for i in size for j in size if i != j)
    variance = (same + other - (kappa - chance * (1 - kappa)) ** 2) / (total * left**2)
    reach = NormalDist().inv_cdf((1 + confidence) / 2) * sqrt(max(0.0, variance))
    ends = wilson(agreed, total, confidence=confidence)
    assert ends is not None
    low, high = ((end - chance) / left for end in ends)
    return kappa, max(-1.0, min(kappa - reach, low)), min(1.0, max(kappa + reach, high))
