"""Groups of texts that are nearly the same, in linear time: each text is compared with the latest different ones."""

from collections.abc import Callable, Sequence
from typing import Final

__all__ = ["LATEST", "group_alike"]

LATEST: Final = 100
"""With how many different texts before it a text is compared."""
_PART: Final = 2_000


def group_alike(texts: Sequence[str], similarity: float) -> list[int]:
    """Return for each text the index of the first text that it is like.

    Two texts are alike when their normalised Levenshtein similarity is at least `similarity`; of texts over 4,000
    characters the first and the last 2,000 are compared. A text is compared with the first one of each of the 100
    groups that were last added to, and joins the group to which it is most similar.

    >>> group_alike(["I will try again.", "Done", "I will try again!"], 0.9)
    [0, 1, 0]
    """
    nearest = _nearest(similarity)
    same: dict[str, int] = {}
    # The first text of every group, the one added to last at the end.
    firsts: dict[int, str] = {}
    leaders: list[int] = []
    for index, text in enumerate(texts):
        leader = same.get(text)
        if leader is None:
            shown = text if len(text) <= 2 * _PART else text[:_PART] + text[-_PART:]
            leader = nearest(shown, firsts)
            if leader is None:
                leader = index
                firsts[leader] = shown
            same[text] = leader
        if leader in firsts:
            firsts[leader] = firsts.pop(leader)
        if len(firsts) > LATEST:
            del firsts[next(iter(firsts))]
        leaders.append(leader)
    return leaders


def _nearest(similarity: float) -> Callable[[str, dict[int, str]], int | None]:
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import extractOne

    measure = Levenshtein.normalized_similarity

    def nearest(text: str, firsts: dict[int, str]) -> int | None:
        found = extractOne(text, firsts, scorer=measure, processor=None, score_cutoff=similarity)
        return None if found is None else found[2]

    return nearest
