"""The `-k` expression: which ids take part."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, TypeAlias

import attrs

from niceeval.errors import ConfigError
from niceeval.evals.eval import Eval

__all__ = ["Test", "full_id", "limited", "matches_expression", "narrowed", "selected", "tagged"]

Test: TypeAlias = Callable[[str], bool]

_TOKEN = re.compile(
    r"""\s*(?:(?P<paren>[()])|"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<word>[^\s()"']+)|(?P<bad>\S))"""
)


def full_id(eval_id: str, case_id: str | None) -> str:
    """Write an eval and a case as one id.

    >>> full_id("orders/order_lookup", "refunded")
    'orders/order_lookup[refunded]'
    >>> full_id("orders/greets", None)
    'orders/greets'
    """
    return eval_id if case_id is None else f"{eval_id}[{case_id}]"


def matches_expression(expr: str, *, what: str = "the -k expression") -> Test:
    """Compile a `-k` expression into a test of ids.

    Args:
        expr: words joined by `and`, `or`, `not` and parentheses. A word holds where it is part of the id, whatever its
            case; quotes keep a word with spaces or parentheses together.
        what: what sentences call it.

    Returns:
        A function that says whether an id is selected.

    Raises:
        ConfigError: the expression cannot be read; the sentence names the column.

    Example:
        >>> wanted = matches_expression("orders and not (refunded or cancelled)")
        >>> wanted("orders/order_lookup[delivered]"), wanted("orders/order_lookup[Refunded]")
        (True, False)

    """
    if not expr.strip():
        raise ConfigError(f"{what} is empty; give a part of an id, such as refunded, or leave it out")
    reader = _Reader(expr, what)
    try:
        test = reader.any_of()
        reader.end()
        test("")
    except RecursionError:
        raise ConfigError(f"{what} is nested too deeply; use fewer parentheses") from None
    return lambda name: test(name.casefold())


def selected(evals: Iterable[Eval[Any]], wanted: Test) -> Iterator[Eval[Any]]:
    """Yield the evals with at least one selected id, each narrowed to its selected cases."""
    return narrowed(evals, lambda eval_id, case_id: wanted(full_id(eval_id, case_id)))


def narrowed(evals: Iterable[Eval[Any]], wanted: Callable[[str, str | None], bool]) -> Iterator[Eval[Any]]:
    """Yield the evals with at least one wanted case, each narrowed to those; without cases, it is asked for None."""
    for eval_ in evals:
        ids = [case_id for case_id, _ in eval_.iter_cases() if wanted(eval_.id, case_id)]
        if ids:
            yield eval_ if len(ids) == len(eval_.iter_cases()) else eval_.only({i for i in ids if i is not None})


def tagged(evals: Iterable[Eval[Any]], tags: Collection[str]) -> Iterator[Eval[Any]]:
    """Yield the evals that have any of these tags."""
    return (eval_ for eval_ in evals if not set(tags).isdisjoint(eval_.tags))


def limited(evals: Iterable[Eval[Any]], most: int) -> Iterator[Eval[Any]]:
    """Yield the evals, each narrowed to its first `most` cases."""
    for eval_ in evals:
        cases = eval_.iter_cases()
        yield eval_ if len(cases) <= most else eval_.only({case_id or "" for case_id, _ in cases[:most]})


@attrs.frozen
class _Token:
    kind: str  # "(" ")" "and" "or" "not" "word"
    text: str
    column: int  # counted from 1


class _Reader:
    """Recursive descent over `or`, `and`, `not`, parentheses and words; every level is one closure."""

    def __init__(self, expr: str, what: str) -> None:
        self._expr = expr
        self._what = what
        self._tokens = list(_tokens(expr, what))
        self._next = 0

    def any_of(self) -> Test:
        parts = [self.all_of()]
        while self._take("or"):
            parts.append(self.all_of())
        return parts[0] if len(parts) == 1 else lambda name: any(part(name) for part in parts)

    def all_of(self) -> Test:
        parts = [self.negated()]
        while self._take("and"):
            parts.append(self.negated())
        return parts[0] if len(parts) == 1 else lambda name: all(part(name) for part in parts)

    def negated(self) -> Test:
        negative = False
        while self._take("not"):
            negative = not negative
        test = self.single()
        return (lambda name: not test(name)) if negative else test

    def single(self) -> Test:
        if self._take("("):
            test = self.any_of()
            if not self._take(")"):
                raise self._unexpected("a closing parenthesis")
            return test
        word = self._take("word")
        if word is None:
            raise self._unexpected("a part of an id")
        part = word.text.casefold()
        return lambda name: part in name

    def end(self) -> None:
        if self._next < len(self._tokens):
            raise self._unexpected("and, or, or the end")

    def _take(self, kind: str) -> _Token | None:
        if self._next < len(self._tokens) and self._tokens[self._next].kind == kind:
            self._next += 1
            return self._tokens[self._next - 1]
        return None

    def _unexpected(self, wanted: str) -> ConfigError:
        if self._next < len(self._tokens):
            token = self._tokens[self._next]
            found, column = repr(token.text), token.column
        else:
            found, column = "the end", len(self._expr) + 1
        return _refusal(self._what, self._expr, column, f"expected {wanted}, found {found}")


def _tokens(expr: str, what: str) -> Iterator[_Token]:
    for found in _TOKEN.finditer(expr.rstrip()):
        kind = found.lastgroup or "bad"
        text, column = found[kind], found.start(kind) + 1
        if kind == "bad":
            raise _refusal(what, expr, column, f"the quote {text} is never closed")
        if kind == "paren" or (kind == "word" and text in {"and", "or", "not"}):
            yield _Token(text, text, column)
        elif not text:
            raise _refusal(what, expr, column, "an empty word is part of every id")
        else:
            yield _Token("word", text, column)


def _refusal(what: str, expr: str, column: int, why: str) -> ConfigError:
    return ConfigError(
        f"{what} {expr!r} cannot be read at column {column}: {why}; "
        "write for example: orders and not (refunded or cancelled)"
    )
