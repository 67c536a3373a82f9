"""What type checkers infer for evals: checked by mypy, executed as a test."""

import dataclasses
from typing import Any, assert_type

from niceeval.context import EvalContext
from niceeval.evals.datasets import load_cases
from niceeval.evals.define import define_eval, define_score_eval
from niceeval.evals.eval import Eval


@dataclasses.dataclass
class Order:
    id: str


@define_eval
async def bare(t: EvalContext) -> None: ...


@define_eval(id="named", tags=["slow"])
async def named(t: EvalContext) -> None: ...


@define_eval(cases={"a": Order("1")})
async def mapped(t: EvalContext, case: Order) -> None: ...


@define_eval(cases=[Order("1")])
async def listed(t: EvalContext, case: Order) -> None: ...


@define_score_eval(cases=lambda: [Order("1")])
async def provided(t: EvalContext, case: Order) -> None: ...


def orders() -> dict[str, Order]:
    return {"a": Order("1")}


@define_eval(cases=orders)
async def provided_by_id(t: EvalContext, case: Order) -> None: ...


def prepare(t: EvalContext, case: Order) -> None: ...


@define_eval(cases=[Order("1")], attempts=3, min_rate=0.9, setup=prepare, teardown=lambda t: None, tags=("slow",))
async def limited(t: EvalContext, case: Order) -> None: ...


@define_score_eval(attempts=3, teardown=lambda t: None)
async def limited_scores(t: EvalContext) -> None: ...


called = define_eval("called", test=listed.fn, cases=[Order("1")])


def inferred() -> None:
    assert_type(bare, Eval[None])
    assert_type(named, Eval[None])
    assert_type(mapped, Eval[Order])
    assert_type(listed, Eval[Order])
    assert_type(provided, Eval[Order])
    assert_type(limited, Eval[Order])
    assert_type(limited_scores, Eval[None])
    assert_type(provided_by_id, Eval[Order])
    assert_type(load_cases("cases.jsonl"), list[dict[str, Any]])
    assert_type(load_cases("cases.jsonl", Order), list[Order])
