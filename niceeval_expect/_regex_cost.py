"""How long a regular expression may take: which ones are quick over any text of some length."""

import re
from typing import Final

__all__ = ["quick_up_to"]

_STEPS: Final = (1 << 14, 1 << 11, 1 << 7)
_NOT_PLAIN: Final = re.compile(r"[(|]|\\[1-9]|\{[0-9,]{5,}\}")
_REPETITION: Final = re.compile(r"[*+?]|\{[0-9]*,")


def quick_up_to(source: str) -> int:
    """Return how many characters a text may have for a search to be quick whatever they are, 0 where nothing says so.

    Without groups, alternatives, back references and large counts, k repetitions of no fixed number divide n characters
    in at most n to the power of k ways, from each of n places: some millions of steps here.

    >>> quick_up_to("ORD-[0-9]{6}"), quick_up_to("[a-z]+"), quick_up_to("(a+)+b")
    (16384, 2048, 0)
    """
    if _NOT_PLAIN.search(source):
        return 0
    repetitions = len(_REPETITION.findall(source))
    return _STEPS[repetitions] if repetitions < len(_STEPS) else 0
