"""`define_eval` and `define_score_eval`: what an eval file is made of."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, TypeVar, overload

from typing_extensions import Unpack

from niceeval.evals.cases import CaseSource
from niceeval.evals.eval import Eval, Style, record_eval
from niceeval.evals.functions import function_name, require_test, site
from niceeval.evals.limits import whole_number
from niceeval.hooks import require_hook

if TYPE_CHECKING:
    from niceeval.context import EvalContext

__all__ = ["defineEval", "defineScoreEval", "define_eval", "define_score_eval"]

C = TypeVar("C")


class _Missing:
    """Tells an argument that was left out from None."""


_MISSING = _Missing()


class _Options(TypedDict, total=False):
    tags: Iterable[str]
    attempts: int | None
    setup: Callable[..., object] | None
    teardown: Callable[..., object] | None


class _PassOptions(_Options, total=False):
    min_rate: float | None


class _Plain(Protocol):
    def __call__(self, test: Callable[[EvalContext], Coroutine[Any, Any, None]], /) -> Eval: ...


class _WithCase(Protocol[C]):
    def __call__(self, test: Callable[[EvalContext, C], Coroutine[Any, Any, None]], /) -> Eval[C]: ...


@overload
def define_eval(test: Callable[[EvalContext], Coroutine[Any, Any, None]], /) -> Eval: ...
@overload
def define_eval(
    *, cases: Mapping[str, C] | Callable[[], Mapping[str, C]], id: str | None = None, **options: Unpack[_PassOptions]
) -> _WithCase[C]: ...
@overload
def define_eval(
    *, cases: Iterable[C] | Callable[[], Iterable[C]], id: str | None = None, **options: Unpack[_PassOptions]
) -> _WithCase[C]: ...
@overload
def define_eval(*, id: str | None = None, **options: Unpack[_PassOptions]) -> _Plain: ...
@overload
def define_eval(
    id: str, /, *, test: Callable[[EvalContext], Coroutine[Any, Any, None]], **options: Unpack[_PassOptions]
) -> Eval: ...
@overload
def define_eval(
    id: str,
    /,
    *,
    test: Callable[[EvalContext, C], Coroutine[Any, Any, None]],
    cases: Mapping[str, C] | Iterable[C],
    **options: Unpack[_PassOptions],
) -> Eval[C]: ...
def define_eval(
    first: Any = _MISSING,
    /,
    *,
    test: Any = _MISSING,
    cases: Any = _MISSING,
    id: str | None = None,
    tags: Iterable[str] = (),
    attempts: int | None = None,
    min_rate: float | None = None,
    setup: Callable[..., object] | None = None,
    teardown: Callable[..., object] | None = None,
) -> Any:
    """Define a pass-style eval: booleans are gates, and each attempt is passed, failed, errored or skipped.

    Args:
        first: the test itself (`@define_eval` without parentheses), or the id, followed by `test=`.
        test: an async function of the context `t`, and of the case where `cases=` is given.
        cases: a mapping of id to case, an iterable of cases, or a function that returns one; it is read once, when the
            cases are needed.
        id: replaces the function's name; any text without control characters.
        tags: labels kept with the eval.
        attempts: how many attempts each case gets, at least 1; left out, the experiment or the run says.
        min_rate: the pass rate that is asked for in place of each single attempt, above 0 and at most 1; it needs
            `cases=` or at least two attempts.
        setup: called with `t`, or with `t` and the case, before each attempt's test and within its time: an async
            function, or one that blocks and runs in a thread.
        teardown: called in the same way after each attempt, however that ended, for at most 10 seconds.

    Returns:
        The `Eval`, or a decorator that makes one.

    Raises:
        TypeError: the test is not an async function or takes another number of arguments, `cases` or `tags` cannot be
            read as such, or `setup` or `teardown` cannot be called so.
        ValueError: the id is blank or has a control character, or `attempts` or `min_rate` makes no sense.

    Example:
        >>> @define_eval(cases={"delivered": "Where is ORD-1?", "lost": "Where is ORD-2?"}, tags=["orders"])
        ... async def order_lookup(t, case):
        ...     turn = await t.send(case)
        ...     turn.succeeded()
        >>> order_lookup
        <Eval order_lookup, pass-style>
        >>> [case_id for case_id, _ in order_lookup.iter_cases()]
        ['delivered', 'lost']

    """
    settings = _settings(cases, tags, attempts, setup, teardown)
    settings["min_rate"] = _rate(min_rate, attempts, with_cases=cases is not _MISSING)
    return _define("pass", first, test, cases, id, settings)


@overload
def define_score_eval(test: Callable[[EvalContext], Coroutine[Any, Any, None]], /) -> Eval: ...
@overload
def define_score_eval(
    *, cases: Mapping[str, C] | Callable[[], Mapping[str, C]], id: str | None = None, **options: Unpack[_Options]
) -> _WithCase[C]: ...
@overload
def define_score_eval(
    *, cases: Iterable[C] | Callable[[], Iterable[C]], id: str | None = None, **options: Unpack[_Options]
) -> _WithCase[C]: ...
@overload
def define_score_eval(*, id: str | None = None, **options: Unpack[_Options]) -> _Plain: ...
@overload
def define_score_eval(
    id: str, /, *, test: Callable[[EvalContext], Coroutine[Any, Any, None]], **options: Unpack[_Options]
) -> Eval: ...
@overload
def define_score_eval(
    id: str,
    /,
    *,
    test: Callable[[EvalContext, C], Coroutine[Any, Any, None]],
    cases: Mapping[str, C] | Iterable[C],
    **options: Unpack[_Options],
) -> Eval[C]: ...
def define_score_eval(
    first: Any = _MISSING,
    /,
    *,
    test: Any = _MISSING,
    cases: Any = _MISSING,
    id: str | None = None,
    tags: Iterable[str] = (),
    attempts: int | None = None,
    setup: Callable[..., object] | None = None,
    teardown: Callable[..., object] | None = None,
) -> Any:
    """Define a score-style eval: entries with `.score(points)` add up, and scored attempts are ranked by agent.

    Arguments, result and errors are those of `define_eval`; there is no `min_rate`, since there is no verdict.

    Example:
        >>> @define_score_eval
        ... async def helpfulness(t):
        ...     turn = await t.send("Where is my parcel?")
        ...     turn.called_tool("lookup_order").score(2)
        >>> helpfulness
        <Eval helpfulness, score-style>

    """
    return _define("score", first, test, cases, id, _settings(cases, tags, attempts, setup, teardown))


defineEval = define_eval
defineScoreEval = define_score_eval


def _define(style: Style, first: Any, test: Any, cases: Any, id: str | None, settings: dict[str, Any]) -> Any:
    name = "define_eval" if style == "pass" else "define_score_eval"
    given, test = _id_and_test(name, first, test, id)
    source = None if cases is _MISSING else CaseSource(cases)
    if given is not None:
        _require_id(given)

    def make(fn: Any) -> Eval[Any]:
        require_test(name, fn, with_case=source is not None)
        own = function_name(name, fn) if given is None else given
        made: Eval[Any] = Eval(own, style, fn, site(fn), named=given is not None, cases=source, **settings)
        record_eval(made)
        return made

    return make if test is _MISSING else make(test)


def _id_and_test(name: str, first: Any, test: Any, id: str | None) -> tuple[str | None, Any]:
    if first is _MISSING:
        return id, test
    if not isinstance(first, str):
        if test is not _MISSING:
            raise TypeError(f"{name}() got a test twice; the positional argument is the id when test= is given")
        return id, first
    if id is not None:
        raise TypeError(f"{name}({first!r}, id={id!r}) has two ids; keep one")
    if test is _MISSING:
        raise TypeError(f"{name}({first!r}) has no test; give test=, or as a decorator write @{name}(id={first!r})")
    return first, test


def _settings(cases: Any, tags: Iterable[str], attempts: Any, setup: Any, teardown: Any) -> dict[str, Any]:
    arguments = ("t",) if cases is _MISSING else ("t", "case")
    for name, hook in (("setup=", setup), ("teardown=", teardown)):
        if hook is not None:
            require_hook(name, hook, arguments, least=1)
    number = whole_number("attempts=", attempts)
    return {"tags": _tags(tags), "attempts": number, "setup": setup, "teardown": teardown}


def _rate(rate: Any, attempts: int | None, *, with_cases: bool) -> float | None:
    if rate is None:
        return None
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 < rate <= 1:
        raise ValueError(f"min_rate= is a rate above 0 and at most 1, such as 0.9, got {rate!r}")
    if not with_cases and (attempts is None or attempts < 2):
        raise ValueError(f"min_rate={rate!r} asks for a rate over one attempt; give attempts= of at least 2, or cases=")
    return float(rate)


def _tags(tags: Iterable[str]) -> tuple[str, ...]:
    if isinstance(tags, str):
        raise TypeError(f"tags= got the bare string {tags!r}; write tags=[{tags!r}]")
    kept = tuple(tags)
    for tag in kept:
        if not isinstance(tag, str) or not tag.strip():
            raise TypeError(f"tags= holds {tag!r}; every tag is a text that is not blank")
    return kept


def _require_id(id: object) -> None:
    if not isinstance(id, str):
        raise TypeError(f"id= got {type(id).__name__}; give a text")
    if not id.strip():
        raise ValueError(f"id= got {id!r}; give a name that is not blank, or leave it out to use the function's name")
    bad = next((char for char in id if unicodedata.category(char) in {"Cc", "Zl", "Zp"}), None)
    if bad is not None:
        raise ValueError(f"id= got {id!r}, which holds the control character U+{ord(bad):04X}; take it out")
