"""What the matches over lists and objects share: reading the items, and how far a part is from matching."""

from typing import Any, Final

from niceeval_expect._evaluation import Evaluation
from niceeval_expect._json import as_json
from niceeval_expect._match import ValueMatch
from niceeval_expect._partial import no_container
from niceeval_expect._text import edit_distance

__all__ = ["COMPARING", "distance", "first_argument", "items_of", "object_of"]

COMPARING: Final = frozenset({"equals", "json_match"})
"""Matches whose first argument is the value, or the part of it, that is to be there."""

_FIRST: Final = "parse text with json_text({}(...)) first"


def items_of(subject: object, pointer: str, name: str, hint: str = "") -> list[Any] | Evaluation:
    """Return the items of a list or tuple, or the mismatch of what is none."""
    value = as_json(subject)
    if type(value) is list:
        return value
    return no_container("a list", value, pointer, remedy=_FIRST.format(name) + hint)


def distance(evaluation: Evaluation) -> float:
    """Return how far a part is from matching: in how many places it differs; for sorting only."""
    diagnostic = evaluation.diagnostic
    if evaluation.outcome == "matched":
        return 0
    if evaluation.code == "type":
        return 1_000
    if diagnostic.children or evaluation.code != "value":
        return max(1, len(diagnostic.children))
    expected, received = diagnostic.expected, diagnostic.received
    if type(expected) is not type(received):
        return 500
    if type(expected) is str:
        return edit_distance()(expected, received) / max(len(expected), len(received), 1)
    return 1


def first_argument(match: ValueMatch) -> object:
    """Return what the match compares with."""
    return next(iter(match._args().values()))


def object_of(subject: object, pointer: str, name: str) -> dict[Any, Any] | Evaluation:
    """Return the object that a value reads as, or the mismatch of what is none."""
    value = as_json(subject)
    return value if type(value) is dict else no_container("an object", value, pointer, remedy=_FIRST.format(name))
