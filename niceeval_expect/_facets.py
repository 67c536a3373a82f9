"""An AND over the named parts of one subject: the name, input and status of a call; the role and text of an event."""

from collections.abc import Sequence
from typing import Final, TypeAlias

from niceeval_expect._evaluation import Diagnostic, Evaluation, Outcome
from niceeval_expect._freeze import rule_inside
from niceeval_expect._match import Match, ValueMatch
from niceeval_expect._value import equals

__all__ = ["Facet", "fold_facets", "parts_reject", "plain_or_match", "plain_value", "plainly_differ", "required_value"]

Facet: TypeAlias = tuple[str, Evaluation]
"""What is looked at, and what was said of it."""

_PLAIN: Final = frozenset({str, int, bool, type(None)})
_ORDER: Final[tuple[Outcome, ...]] = ("mismatched", "errored", "unavailable")


def fold_facets(what: str, facets: Sequence[Facet], pointer: str, hint: str = "") -> Evaluation:
    """Return what the parts say together, at least one of which is not matched.

    Args:
        what: The subject, for the sentence: "the call of search".
        facets: All parts, in declaration order.
        pointer: Where the subject is.
        hint: More about a mismatch, for its sentence.
    """
    outcomes = {evaluation.outcome for _, evaluation in facets}
    outcome = next(candidate for candidate in _ORDER if candidate in outcomes)
    deciding = [(label, evaluation) for label, evaluation in facets if evaluation.outcome == outcome]
    children = tuple(evaluation.diagnostic for _, evaluation in facets if evaluation.outcome != "matched")
    labels = " and ".join(label for label, _ in deciding)
    if outcome == "mismatched":
        code = "type" if all(evaluation.code == "type" for _, evaluation in deciding) else deciding[0][0]
        message = f"{what} has another {labels}{hint}"
        return Evaluation("mismatched", Diagnostic(code, message, pointer, children=children))
    reason = f"{labels} of {what}: {deciding[0][1].reason}"
    code = "error" if outcome == "errored" else "absent"
    return Evaluation(outcome, Diagnostic(code, reason, pointer, reason=reason, children=children), reason=reason)


def plainly_differ(expected: object, received: object) -> bool:
    """Tell whether two values, or their members of one name, are plain and different; False where it takes more to say.

    >>> plainly_differ({"q": "cats", "page": 1}, {"q": "dogs"}), plainly_differ([1], [2])
    (True, False)
    """
    if type(expected) is dict and type(received) is dict:
        return any(key in received and _differ(value, received[key]) for key, value in expected.items())
    return _differ(expected, received)


def _differ(expected: object, received: object) -> bool:
    kind, other = type(expected), type(received)
    return kind in _PLAIN and other in _PLAIN and (kind is not other or expected != received)


def parts_reject(match: Match, rejects: Sequence[bool]) -> bool:
    """Tell whether a composite certainly mismatches, given whether each part does; False where it takes more to say."""
    operation = getattr(match, "operation", "")
    return all(rejects) if operation == "any_of" else operation == "all_of" and any(rejects)


def plain_or_match(argument: str, value: object) -> ValueMatch:
    """Return the value match that is meant by an argument: itself, or ``equals(value)`` for a plain value."""
    if isinstance(value, ValueMatch):
        return value
    if isinstance(value, Match):
        raise TypeError(f"{argument} takes a value or a value match, got {value!r}")
    rule = rule_inside(value)
    if rule is not None:
        remedy = "write pattern(...)" if rule is value else "json_match(...) takes matches and expressions inside"
        raise TypeError(f"{argument} takes a value match or a plain value to equal, and got {rule!r} in one: {remedy}")
    return equals(value)


def plain_value(value: object) -> object:
    """Return the value that an `equals` compares with; anything else as it is."""
    return (
        next(iter(value._args().values())) if isinstance(value, ValueMatch) and value._spec_name == "equals" else value
    )


def required_value(match: ValueMatch) -> object:
    """Return data whose members a matching value has to have: what an `equals` or a `json_match` compares with."""
    return next(iter(match._args().values())) if match._spec_name in ("equals", "json_match") else match
