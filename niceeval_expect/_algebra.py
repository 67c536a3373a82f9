"""The three-valued algebra: `all_of`, `any_of`, `not_`, and `&` `|` `~` through them.

A definite answer is decisive whatever else is unknown; every part is evaluated and appears in the diagnostic. The code
``type`` travels up (neither a claim nor its denial holds over a subject that the match cannot speak about):
a conjunction carries it when every part that mismatched does, a disjunction when any part does. The family of a
composite is that of its parts, where they have one in common, and else structural.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, overload

import attrs

from niceeval_expect._evaluation import Diagnostic, Evaluation, Outcome, cut_text, sample
from niceeval_expect._event import EventMatch
from niceeval_expect._freeze import call_repr
from niceeval_expect._match import COMPOSE, BooleanMatch, Family, Match, ParsingMatch, ValueMatch, evaluate_part
from niceeval_expect._score import ScoreMatch
from niceeval_expect._spec import register
from niceeval_expect._tool import ToolMatch

__all__ = ["all_of", "any_of", "not_"]


def combine(operation: str, parts: Sequence[Evaluation], pointer: str) -> Evaluation:
    """Fold the evaluations of all parts into one, by the order that the operation's name stands for."""
    outcomes = {part.outcome for part in parts}
    if operation == "not_":
        return _deny(parts[0], pointer)
    decisive: Outcome = "mismatched" if operation == "all_of" else "matched"
    otherwise: Outcome = "matched" if operation == "all_of" else "mismatched"
    outcome: Outcome = otherwise
    for candidate in (decisive, "errored", "unavailable"):
        if candidate in outcomes:
            outcome = candidate
            break
    deciding = [part for part in parts if part.outcome == outcome]
    code = _code(operation, outcome, deciding)
    reason = next((part.reason for part in deciding if part.reason), None)
    message = "" if outcome == "matched" else f"{len(deciding)} of {len(parts)} parts {outcome}"
    diagnostic = Diagnostic(code, message, pointer, None, None, reason, tuple(part.diagnostic for part in parts))
    produced = next((part._produced for part in parts if part._produced is not None), None)
    return Evaluation(
        outcome, diagnostic, reason=reason, examined=sum(part.examined for part in parts), produced=produced
    )


def _code(operation: str, outcome: Outcome, deciding: Sequence[Evaluation]) -> str:
    if outcome == "mismatched":
        typed = [part.code == "type" for part in deciding]
        return "type" if (all(typed) if operation == "all_of" else any(typed)) else operation
    return outcome if outcome != "errored" else "error"


def _deny(part: Evaluation, pointer: str) -> Evaluation:
    if part.outcome == "matched":
        diagnostic = Diagnostic("not", "", pointer, children=(part.diagnostic,))
        return Evaluation("mismatched", diagnostic, value=part.value, examined=part.examined)
    if part.outcome == "mismatched" and part.code != "type":
        diagnostic = Diagnostic("matched", "", pointer, children=(part.diagnostic,))
        return Evaluation("matched", diagnostic, value=part.value, examined=part.examined)
    return part


class _Composite(BooleanMatch):
    """The behaviour that composites of every domain share."""

    __slots__ = ()
    operation: str
    children: tuple[BooleanMatch, ...]

    @property
    def _name(self) -> str:
        return self.operation

    def spec(self) -> dict[str, Any]:
        return {"match": self.operation, "of": [{"$": "match", **child.spec()} for child in self.children]}

    def _args(self) -> dict[str, object]:
        return {"of": list(self.children)}

    def _parts(self) -> tuple[object, ...]:
        return self.children

    def __repr__(self) -> str:
        return call_repr(self.operation, *self.children)

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        parts = [evaluate_part(child, subject, pointer) for child in self.children]
        evaluation = combine(self.operation, parts, pointer)
        if self.operation == "not_" and evaluation.code == "not":
            message = f"{cut_text(repr(self.children[0]), 120)} holds, and is denied here"
            shown = attrs.evolve(evaluation.diagnostic, message=message, received=sample(subject))
            return attrs.evolve(evaluation, diagnostic=shown)
        return evaluation


def _common_family(composite: _Composite) -> Family:
    families = {child.family for child in composite.children}
    return families.pop() if len(families) == 1 else "structural"


_FAMILY: Final[Any] = attrs.Factory(_common_family, takes_self=True)


@attrs.frozen(eq=False, repr=False)
class _ValueComposite(_Composite, ValueMatch):
    _spec_name = "composite"
    operation: str
    children: tuple[BooleanMatch, ...]
    family: Family = attrs.field(init=False, default=_FAMILY)


@attrs.frozen(eq=False, repr=False)
class _ParsingComposite(_Composite, ParsingMatch[Any]):
    _spec_name = "composite"
    operation: str
    children: tuple[BooleanMatch, ...]
    family: Family = attrs.field(init=False, default=_FAMILY)


@attrs.frozen(eq=False, repr=False)
class _ToolComposite(_Composite, ToolMatch):
    _spec_name = "composite"
    operation: str
    children: tuple[BooleanMatch, ...]
    family: Family = attrs.field(init=False, default=_FAMILY)


@attrs.frozen(eq=False, repr=False)
class _EventComposite(_Composite, EventMatch):
    _spec_name = "composite"
    operation: str
    children: tuple[BooleanMatch, ...]
    family: Family = attrs.field(init=False, default=_FAMILY)


_CLASSES: Final[dict[str, Callable[[str, tuple[BooleanMatch, ...]], BooleanMatch]]] = {
    "value": _ValueComposite,
    "tool": _ToolComposite,
    "event": _EventComposite,
}


def _compose(operation: str, matches: tuple[object, ...]) -> Any:
    if not matches:
        raise ValueError(f"{operation}() needs at least one match; with none it would say nothing")
    children: list[BooleanMatch] = []
    for position, match in enumerate(matches, 1):
        if not isinstance(match, BooleanMatch):
            raise TypeError(f"argument {position} of {operation}() must be a boolean match, got {_what(match)}")
        if match._domain != children[0]._domain if children else False:
            raise TypeError(
                f"{operation}() mixes a {children[0]._domain} match with a {match._domain} match ({match!r}); "
                "compose matches of one kind, and register the others as checks of their own"
            )
        if isinstance(match, _Composite) and match.operation == operation != "not_":
            children.extend(match.children)
        else:
            children.append(match)
    domain = children[0]._domain
    build = _CLASSES[domain]
    if operation == "all_of" and any(isinstance(child, ParsingMatch) for child in children):
        build = _ParsingComposite
    return build(operation, tuple(children))


def _what(value: object) -> str:
    if isinstance(value, ScoreMatch):
        return f"{value!r}, a measurement: give it a threshold with .at_least(n) or .at_most(n) first"
    if isinstance(value, Match):
        return f"{value!r}, a counted tool match: register it with called_tool() on its own"
    return f"{value!r}; wrap a plain value in equals(...)"


@overload
def all_of(*matches: ValueMatch) -> ValueMatch: ...
@overload
def all_of(*matches: ToolMatch) -> ToolMatch: ...
@overload
def all_of(*matches: EventMatch) -> EventMatch: ...
def all_of(*matches: Any) -> Any:
    """Return the match that holds when every one of `matches` does; ``a & b`` is the same.

    Any mismatched part decides; else an errored one, else an unavailable one; else it is matched.

    Args:
        *matches: One or more boolean matches of one domain (value, tool or event).

    Raises:
        TypeError: If domains are mixed or something is not a boolean match.
        ValueError: Without any match.

    >>> from niceeval_expect import all_of, excludes, includes
    >>> all_of(includes("refund"), excludes("guarantee")).evaluate("Your refund is on its way.").outcome
    'matched'
    """
    return _compose("all_of", matches)


@overload
def any_of(*matches: ValueMatch) -> ValueMatch: ...
@overload
def any_of(*matches: ToolMatch) -> ToolMatch: ...
@overload
def any_of(*matches: EventMatch) -> EventMatch: ...
def any_of(*matches: Any) -> Any:
    """Return the match that holds when at least one of `matches` does; ``a | b`` is the same.

    Any matched part decides; else an errored one, else an unavailable one; else it is mismatched. Over tool matches
    it is a tool match and takes quantifiers.

    Args:
        *matches: One or more boolean matches of one domain (value, tool or event).

    Raises:
        TypeError: If domains are mixed or something is not a boolean match.
        ValueError: Without any match.

    >>> from niceeval_expect import any_of, equals
    >>> any_of(equals("yes"), equals("no")).evaluate("maybe").outcome
    'mismatched'
    """
    return _compose("any_of", matches)


@overload
def not_(match: ValueMatch, /) -> ValueMatch: ...
@overload
def not_(match: ToolMatch, /) -> ToolMatch: ...
@overload
def not_(match: EventMatch, /) -> EventMatch: ...
def not_(match: Any, /) -> Any:
    """Return the denial of `match`; ``~a`` is the same.

    Matched and mismatched change places. Unavailable and errored stay, and so does a mismatch with code ``type``: a
    denial over missing evidence, or over a value the match cannot speak about, does not hold either.

    Args:
        match: A boolean match.

    Raises:
        TypeError: If it is not a boolean match.

    >>> from niceeval_expect import includes, not_
    >>> not_(includes("x")).evaluate("abc").outcome, not_(includes("x")).evaluate({"x": 1}).outcome
    ('matched', 'mismatched')
    """
    return _compose("not_", (match,))


COMPOSE.update(all_of=all_of, any_of=any_of, not_=not_)


def _rebuilder(function: Callable[..., Any]) -> Callable[[Mapping[str, Any]], Match]:
    def rebuild(args: Mapping[str, Any]) -> Match:
        match: Match = function(*args["of"])
        return match

    return rebuild


for _name, _function in COMPOSE.items():
    register(_name, _rebuilder(_function))
