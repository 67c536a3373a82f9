"""Defining evals: what is accepted, what is refused, and with which sentence."""

import functools
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from niceeval.errors import EvalLoadError
from niceeval.evals.define import define_eval, define_score_eval, defineEval, defineScoreEval
from niceeval.evals.eval import Eval

pytestmark = pytest.mark.anyio
define: Any = define_eval  # what type checkers refuse is refused at run time too


async def plain(t: Any) -> None:
    t.append("plain")


async def with_case(t: Any, case: object) -> None:
    t.append(case)


def sync_test(t: object) -> None: ...


async def generator_test(t: object) -> AsyncIterator[int]:
    yield 1


async def async_cases() -> list[int]:
    return [1]


class Callable_:
    async def __call__(self, t: object) -> None: ...


@pytest.mark.parametrize(
    ("made", "id", "style"),
    [
        (lambda: define(plain), "plain", "pass"),
        (lambda: define()(plain), "plain", "pass"),
        (lambda: define(id="other")(plain), "other", "pass"),
        (lambda: define("other", test=plain), "other", "pass"),
        (lambda: define(cases=[1])(with_case), "with_case", "pass"),
        (lambda: define("x", test=with_case, cases={"a": 1}), "x", "pass"),
        (lambda: define(functools.partial(with_case, case=1)), "with_case", "pass"),
        (lambda: define(Callable_()), "Callable_", "pass"),
        (lambda: define(id="a:b?*/../CON é " + "n" * 300)(plain), "a:b?*/../CON é " + "n" * 300, "pass"),
        (lambda: define_score_eval(plain), "plain", "score"),
    ],
)
def test_every_form_makes_an_eval_of_that_id_and_style(made: Callable[[], Eval[Any]], id: str, style: str) -> None:
    eval_ = made()
    assert (eval_.id, eval_.style) == (id, style)
    assert Path(eval_.source.file) == Path(__file__)


def test_the_aliases_are_the_functions_themselves() -> None:
    assert defineEval is define_eval
    assert defineScoreEval is define_score_eval


async def test_calling_an_eval_runs_its_test_on_the_case() -> None:
    seen: Any = []
    await define(cases=[7])(with_case)(seen, 7)
    await define(plain)(seen)
    assert seen == [7, "plain"]


@pytest.mark.parametrize(
    ("made", "error", "says"),
    [
        (lambda: define(sync_test), TypeError, "sync_test, which is not async; write: async def sync_test"),
        (lambda: define(generator_test), TypeError, "async generator generator_test"),
        (lambda: define(with_case), TypeError, r"no cases= is given: write @define_eval\(cases="),
        (lambda: define(cases=[1])(plain), TypeError, r"cases= is given: write async def plain\(t, case\)"),
        (lambda: define(int), TypeError, "give an async function of t"),
        (lambda: define(3), TypeError, "give an async function of t"),
        (lambda: define(define(plain)), TypeError, "defined already"),
        (lambda: define("orders"), TypeError, r"has no test; give test=.*@define_eval\(id='orders'\)"),
        (lambda: define("orders", id="x", test=plain), TypeError, "two ids"),
        (lambda: define(plain, test=plain), TypeError, "a test twice"),
        (lambda: define(lambda t: None, id="x"), TypeError, "not async"),
        (lambda: define(id="")(plain), ValueError, "not blank"),
        (lambda: define(id=" \t")(plain), ValueError, "not blank"),
        (lambda: define("", test=plain), ValueError, "not blank"),
        (lambda: define(id="a\nb")(plain), ValueError, r"U\+000A"),
        (lambda: define(id="a\x1b[31m")(plain), ValueError, r"U\+001B"),
        (lambda: define(id="a\u2028")(plain), ValueError, r"U\+2028"),
        (lambda: define(id=3)(plain), TypeError, "give a text"),
        (lambda: define(tags="slow")(plain), TypeError, r"tags=\['slow'\]"),
        (lambda: define(tags=[" "])(plain), TypeError, "not blank"),
        (lambda: define(cases="cat"), TypeError, r"letter by letter.*load_cases\('cat'\)"),
        (lambda: define(cases=b"cat"), TypeError, "bare string"),
        (lambda: define(cases=Path("x.csv")), TypeError, r"load_cases\('x.csv'\)"),
        (lambda: define(cases=None), TypeError, "NoneType"),
        (lambda: define(cases=3), TypeError, "cases= got int"),
        (lambda: define(cases=async_cases), TypeError, "asynchronous"),
        (lambda: define(cases=generator_test), TypeError, "asynchronous"),
        (lambda: define(cases=async_cases()), TypeError, "coroutine"),
    ],
)
def test_what_cannot_be_an_eval_is_refused_with_what_to_do(
    made: Callable[[], object], error: type[Exception], says: str
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a refused coroutine is closed, not left to complain later
        with pytest.raises(error, match=says):
            made()


class Order:
    def __init__(self, id: object) -> None:
        self.id = id


@pytest.mark.parametrize(
    ("cases", "ids"),
    [
        ({"b": 1, "a": 2, "A": 3}, ["b", "a", "A"]),
        ({1: "x"}, ["1"]),
        ([10, 20], ["0", "1"]),
        (["cat", "dog"], ["0", "1"]),
        ([{"id": "refunded"}, {"id": 448192}, {"name": "x"}], ["refunded", "448192", "2"]),
        ([Order("o1"), Order(None)], ["o1", "1"]),
        (({"id": f"n{n}"} for n in range(2)), ["n0", "n1"]),
        (
            [{"id": "../x"}, {"id": "a:b?*"}, {"id": ""}, {"id": "Foo"}, {"id": "foo"}],
            ["../x", "a:b?*", "", "Foo", "foo"],
        ),
        ([{"id": "\u00e9"}, {"id": "e\u0301"}], ["\u00e9", "e\u0301"]),
        (lambda: {"k": 1}, ["k"]),
        (lambda: iter([1, 2]), ["0", "1"]),
        (range(2), ["0", "1"]),
    ],
)
def test_case_ids_come_from_the_key_then_the_id_field_then_the_position(cases: object, ids: list[str]) -> None:
    eval_ = define(cases=cases)(with_case)
    assert [case_id for case_id, _ in eval_.iter_cases()] == ids
    assert [case_id for case_id, _ in eval_.iter_cases()] == ids


def test_an_eval_without_cases_has_one_pair_of_none() -> None:
    assert define(plain).iter_cases() == [(None, None)]


def test_a_function_of_cases_is_called_once_and_only_when_needed() -> None:
    calls: list[int] = []

    def provide() -> Iterator[int]:
        calls.append(1)
        yield from (1, 2, 3)

    eval_ = define(cases=provide)(with_case)
    assert calls == []
    assert len(eval_.iter_cases()) == 3
    assert eval_.only(["2", "0"]).iter_cases() == [("0", 1), ("2", 3)]
    assert calls == [1]


@pytest.mark.parametrize(
    ("cases", "says"),
    [
        ([], "nothing to check"),
        ({}, "nothing to check"),
        (list, "nothing to check"),
        ([{"id": "a"}, {"id": "b"}, {"id": "a"}], r"positions 0 and 2 .* same id 'a'"),
        ([{"id": "1"}, "second"], r"positions 0 and 1 .* same id '1'"),
        ({1: "x", "1": "y"}, r"same id '1'"),
        ([{"id": ["a"]}], r"the id of case 0 is \['a'\]"),
        (lambda: "cat", "returned no cases: .*letter by letter"),
        (lambda: 3, "returned no cases"),
        (lambda: async_cases(), "returned no cases: .*coroutine"),
        (lambda: lambda: [1], "returned another function"),
    ],
)
def test_cases_that_cannot_be_used_are_a_load_error(cases: object, says: str) -> None:
    with pytest.raises(EvalLoadError, match=says):
        define(cases=cases)(with_case).iter_cases()
