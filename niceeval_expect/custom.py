"""What a match of your own is written with: a class, a factory and a registered name.

A match is a frozen class that derives `ValueMatch` or `ScoreMatch` and defines three things: ``_spec_name``, the name
in its spec; ``_args()``, its arguments as data; ``_evaluate(subject, pointer)``, the rule. `register_match` teaches
`from_spec` to build it again, so that it composes, is stored and is derived again like a built-in one.

``_evaluate`` never sees a subject that is absent. What it raises makes the evaluation errored, never a mismatch. A
class that holds other matches returns them from ``_parts()`` and evaluates them with `evaluate_part`. ``family`` says
what kind of property is read, and the property ``reaches_outside`` whether it is compared with something that the
answer's author did not produce.

>>> import attrs
>>> from niceeval_expect import Evaluation, ValueMatch, from_spec
>>> from niceeval_expect.custom import matched, mismatched, register_match, wrong_type
>>> @attrs.frozen(eq=False, repr=False)
... class DivisibleBy(ValueMatch):
...     _spec_name = "docs.divisible_by"
...     _divisor: int
...
...     def _args(self) -> dict[str, object]:
...         return {"divisor": self._divisor}
...
...     def _evaluate(self, subject: object, pointer: str) -> Evaluation:
...         if isinstance(subject, bool) or not isinstance(subject, int):
...             return wrong_type("a whole number", subject, pointer)
...         rest = subject % self._divisor
...         if rest == 0:
...             return matched()
...         return mismatched("remainder", f"leaves {rest}", pointer, expected=self._divisor, received=subject)
>>> register_match("docs.divisible_by", lambda args: DivisibleBy(args["divisor"]))
>>> DivisibleBy(3).evaluate(7).diagnostic.message
'leaves 1'
>>> from_spec({"match": "docs.divisible_by", "divisor": 3})
docs.divisible_by(3)
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from math import isfinite
from numbers import Real
from typing import Any

from niceeval_expect._evaluation import MATCHED, Diagnostic, Evaluation, errored, mismatched, unavailable, wrong_type
from niceeval_expect._evaluation import measured as _measured
from niceeval_expect._freeze import freeze
from niceeval_expect._match import Match, evaluate_part
from niceeval_expect._spec import register_again

__all__ = [
    "errored",
    "evaluate_part",
    "freeze",
    "matched",
    "measured",
    "mismatched",
    "register_match",
    "unavailable",
    "wrong_type",
]


def matched(message: str = "", pointer: str = "", *, examined: int = 1) -> Evaluation:
    """Return a match.

    Args:
        message: What there is to say about it, one sentence.
        pointer: Where, below the pointer that ``_evaluate`` was given.
        examined: How many things were looked at; 0 says that the match rests on nothing.

    >>> from niceeval_expect.custom import matched
    >>> matched().outcome
    'matched'
    """
    if not message and examined == 1:
        return MATCHED
    return Evaluation("matched", Diagnostic("matched", message, pointer), examined=examined)


def measured(value: float, message: str = "", *, examined: int = 1) -> Evaluation:
    """Return a measurement.

    Args:
        value: Finite, from 0 to 1.
        message: What was measured, one sentence.
        examined: How many things were looked at.

    Raises:
        TypeError: If `value` is not a number; inside ``_evaluate`` this makes the evaluation errored.
        ValueError: If it is not finite or out of range, likewise.

    >>> from niceeval_expect.custom import measured
    >>> measured(0.25).value
    0.25
    """
    given: object = value
    if isinstance(given, bool) or not isinstance(given, Real | Decimal):
        raise TypeError(f"measured() takes a number from 0 to 1, got {given!r:.200}")
    number = float(given)
    if not isfinite(number) or not 0 <= number <= 1:
        raise ValueError(f"measured() takes a finite number from 0 to 1 (it is never clamped), got {value!r:.200}")
    return _measured(number, message, examined=examined)


def register_match(name: str, build: Callable[[Mapping[str, Any]], Match], /) -> None:
    """Teach `from_spec` to rebuild the matches whose spec says ``{"match": name}``.

    Call it where the class is defined. Loading the same source a second time replaces what was registered; another
    source under a taken name is refused.

    Args:
        name: The ``_spec_name`` of the class, with a dot in it as in ``"shop.sku"``: built-in names have none.
        build: Makes the match from the arguments that ``_args()`` gave, matches among them already rebuilt.

    Raises:
        TypeError: If `build` is not callable.
        ValueError: If the name is blank, has no dot, or other code has registered it.

    >>> from niceeval_expect.custom import register_match
    >>> register_match("sku", lambda args: ...)
    Traceback (most recent call last):
      ...
    ValueError: register_match() takes a name with a dot, such as 'shop.sku', so that no built-in takes it; got 'sku'
    """
    if not isinstance(name, str) or not all(part.strip() for part in name.split(".")) or "." not in name:
        raise ValueError(
            f"register_match() takes a name with a dot, such as 'shop.sku', so that no built-in takes it; got {name!r}"
        )
    if not callable(build):
        raise TypeError(f"register_match() takes a function of the arguments, got {build!r:.200}")
    register_again(name, build)
