"""What stands in a word of a command for text that is only known when the command runs."""

import re
from typing import Final

__all__ = ["ANY_WORDS", "HOLE", "has_hole", "may_be", "name_of", "readable"]

HOLE: Final = "\ufdd0"
"""Stands in a word for text that is only known when it runs."""
ANY_WORDS: Final = "\ufdd1"
"""The same without quotes around it: it may become several words, or none."""


def has_hole(word: str) -> bool:
    """Tell whether a word is only known when it runs."""
    return HOLE in word or ANY_WORDS in word


def may_be(word: str, token: str) -> bool:
    """Tell whether a word with holes may turn out to be the token, among others."""
    if ANY_WORDS in word:
        return True
    return HOLE in word and re.fullmatch(".*".join(map(re.escape, word.split(HOLE))), token, re.DOTALL) is not None


def name_of(word: str) -> str:
    """Return the name of a command without the path to it."""
    return word.rpartition("/")[2] or word


def readable(word: str) -> str:
    """Return a word for a person, with ``$…`` for its holes."""
    return word.replace(HOLE, "$…").replace(ANY_WORDS, "$…")
