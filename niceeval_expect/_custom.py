"""The author's own rules: predicates and measurements written as plain functions."""

import functools
from collections.abc import Awaitable, Callable, Mapping
from decimal import Decimal
from math import isfinite
from numbers import Real
from typing import Any

import attrs

from niceeval_expect._calls import PENDING, call
from niceeval_expect._evaluation import MATCHED, Evaluation, errored, measured, mismatched, unavailable
from niceeval_expect._freeze import call_repr, freeze
from niceeval_expect._match import ValueMatch
from niceeval_expect._score import ScoreMatch
from niceeval_expect._spec import register

__all__ = ["define_score_match", "define_value_match", "satisfies"]


def _verdict(
    label: str, predicate: Callable[..., Any], arguments: "_Arguments", subject: object, pointer: str
) -> Evaluation:
    try:
        answer = call(predicate, subject, *arguments.args, **arguments.options)
    except Exception as error:
        reason = f"{label!r} raised {type(error).__name__}: {error}"
        return errored(reason, pointer, received=subject, exception=error)
    if answer is True:
        return MATCHED
    if answer is False:
        return mismatched("predicate", f"{label!r} is not satisfied", pointer, expected=label, received=subject)
    if answer is PENDING:
        return unavailable("waits for an async predicate", pointer, code="pending")
    reason = f"{label!r} returned {answer!r:.200}, a {type(answer).__name__}; a predicate returns True or False"
    return errored(reason, pointer, code="not-bool", received=subject)


@attrs.frozen
class _Arguments:
    args: tuple[Any, ...] = ()
    options: dict[str, Any] = attrs.field(factory=dict)


_NONE = _Arguments()


@attrs.frozen(eq=False, repr=False)
class _Satisfies(ValueMatch):
    _spec_name = "satisfies"
    _positional = 2
    _label: str
    _predicate: Callable[[Any], Any]
    _evidence: Callable[[Any], object] | None

    @property
    def _may_await(self) -> bool:
        return True

    def _args(self) -> dict[str, object]:
        args: dict[str, object] = {"label": self._label, "predicate": self._predicate}
        if self._evidence is not None:
            args["evidence"] = self._evidence
        return args

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        return _verdict(self._label, self._predicate, _NONE, subject, pointer)


def satisfies(
    label: str,
    predicate: Callable[[Any], bool | Awaitable[bool]],
    /,
    *,
    evidence: Callable[[Any], object] | None = None,
) -> ValueMatch:
    """Match a value for which `predicate` returns True.

    An exception, or anything but True or False, makes the evaluation errored: never a plain mismatch.

    Args:
        label: What the predicate asks, for reports.
        predicate: A function of the subject; sync or async. Over an absent subject it is not called.
        evidence: Gives the part of the subject to keep as evidence, for values too large or opaque to store.

    Raises:
        TypeError: If `label` is not text, or a function is not callable.
        ValueError: If `label` is blank.

    >>> from niceeval_expect import satisfies
    >>> satisfies("reply is not empty", lambda size: size > 0).evaluate(12).outcome
    'matched'
    >>> satisfies("returns a pair", lambda text: (False, "no")).evaluate("x").outcome
    'errored'
    """
    if not isinstance(label, str):
        raise TypeError(f"satisfies() takes a label first and then the predicate, got {label!r} as label")
    if not label.strip():
        raise ValueError("satisfies() needs a label that says what the predicate asks, got a blank one")
    if not callable(predicate):
        raise TypeError(f"satisfies() takes a function of the subject, got {predicate!r}")
    if evidence is not None and not callable(evidence):
        raise TypeError(f"satisfies(evidence=) takes a function of the subject, got {evidence!r}")
    return _Satisfies(label, predicate, evidence)


def _name_of(function: Callable[..., Any], name: str | None, factory: str) -> str:
    if not callable(function):
        raise TypeError(f"{factory}() takes a function whose first argument is the subject, got {function!r}")
    if name is not None and (not isinstance(name, str) or not name.strip()):
        raise ValueError(f"{factory}(name=) takes a non-blank name, got {name!r}")
    return name or str(getattr(function, "__name__", type(function).__name__))


@attrs.frozen(eq=False, repr=False)
class _Custom(ValueMatch):
    _spec_name = "custom"
    _name: str
    _function: Callable[..., Any]
    _arguments: _Arguments

    @property
    def _may_await(self) -> bool:
        return True

    def _args(self) -> dict[str, object]:
        return _custom_args(self._name, self._function, self._arguments)

    def __repr__(self) -> str:
        return call_repr(self._name, *self._arguments.args, **self._arguments.options)

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        return _verdict(repr(self), self._function, self._arguments, subject, pointer)


def _custom_args(name: str, function: Callable[..., Any], arguments: _Arguments) -> dict[str, object]:
    args: dict[str, object] = {"name": name, "function": function}
    if arguments.args:
        args["args"] = list(arguments.args)
    if arguments.options:
        args["options"] = dict(arguments.options)
    return args


def define_value_match(predicate: Callable[..., bool], /, *, name: str | None = None) -> Callable[..., ValueMatch]:
    """Make a match factory out of a predicate: ``factory(*args)`` calls ``predicate(subject, *args)``.

    Args:
        predicate: A function whose first argument is the subject; returns True or False, sync or async.
        name: How the match is called in reports; the function's own name by default.

    Returns:
        A factory that takes the predicate's other arguments and returns a match.

    >>> from niceeval_expect import define_value_match
    >>> starts_with = define_value_match(lambda text, prefix: text.startswith(prefix), name="starts_with")
    >>> starts_with("ORD-")
    starts_with('ORD-')
    >>> starts_with("ORD-").evaluate("ORD-448192").outcome
    'matched'
    """
    known_as = _name_of(predicate, name, "define_value_match")

    @functools.wraps(predicate, assigned=("__doc__", "__module__"), updated=())
    def factory(*args: Any, **options: Any) -> ValueMatch:
        return _Custom(known_as, predicate, _Arguments(freeze(args), freeze(options)))

    factory.__name__ = factory.__qualname__ = known_as
    return factory


@attrs.frozen(eq=False, repr=False)
class _CustomScore(ScoreMatch):
    _spec_name = "custom_score"
    _name: str
    _function: Callable[..., Any]
    _arguments: _Arguments

    @property
    def _may_await(self) -> bool:
        return True

    def _args(self) -> dict[str, object]:
        return _custom_args(self._name, self._function, self._arguments)

    def __repr__(self) -> str:
        return call_repr(self._name, *self._arguments.args, **self._arguments.options)

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        try:
            value = call(self._function, subject, *self._arguments.args, **self._arguments.options)
        except Exception as error:
            reason = f"{self._name} raised {type(error).__name__}: {error}"
            return errored(reason, pointer, received=subject, exception=error)
        if value is PENDING:
            return unavailable("waits for an async measurement", pointer, code="pending")
        if value is None:
            reason = f"{self._name} returned None: it took no measurement"
            return errored(reason, pointer, code="no-score", received=subject)
        if isinstance(value, bool) or not isinstance(value, Real | Decimal):
            reason = f"{self._name} returned {value!r:.200}; a measurement is a number from 0 to 1"
            return errored(reason, pointer, code="not-a-number", received=subject)
        number = float(value)
        if not isfinite(number) or not 0 <= number <= 1:
            reason = f"{self._name} measured {value!r}; a measurement is finite and from 0 to 1 (it is never clamped)"
            return errored(reason, pointer, code="off-scale", received=subject)
        return measured(number)


def define_score_match(measure: Callable[..., float], /, *, name: str | None = None) -> Callable[..., ScoreMatch]:
    """Make a score match factory out of a function: ``factory(*args)`` calls ``measure(subject, *args)``.

    A result that is out of [0, 1], not finite, a bool or no number makes the evaluation errored; it is never clamped.

    Args:
        measure: A function whose first argument is the subject; returns a real number from 0 to 1, sync or async.
        name: How the match is called in reports; the function's own name by default.

    Returns:
        A factory that takes the function's other arguments and returns a score match.

    >>> from niceeval_expect import define_score_match
    >>> share = define_score_match(lambda text, letter: text.count(letter) / len(text), name="share")
    >>> share("a").evaluate("banana").value
    0.5
    """
    known_as = _name_of(measure, name, "define_score_match")

    @functools.wraps(measure, assigned=("__doc__", "__module__"), updated=())
    def factory(*args: Any, **options: Any) -> ScoreMatch:
        return _CustomScore(known_as, measure, _Arguments(freeze(args), freeze(options)))

    factory.__name__ = factory.__qualname__ = known_as
    return factory


def _rebuild_custom(define: Callable[..., Callable[..., Any]]) -> Callable[[Mapping[str, Any]], Any]:
    def rebuild(args: Mapping[str, Any]) -> Any:
        return define(args["function"], name=args["name"])(*args.get("args", ()), **args.get("options", {}))

    return rebuild


register("satisfies", lambda args: satisfies(args["label"], args["predicate"], evidence=args.get("evidence")))
register("custom", _rebuild_custom(define_value_match))
register("custom_score", _rebuild_custom(define_score_match))
