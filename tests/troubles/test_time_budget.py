"""A pattern that never ends ends, and harms nobody else."""

import re
import time
from typing import Any

import anyio
import pytest

from niceeval import EvalContext, ScriptedAgent, define_eval, run_eval
from niceeval_expect import json_match, not_, pattern

pytestmark = pytest.mark.anyio

HOSTILE = [
    (r"(a|a)*$", "a" * 40 + "b"),
    (r"^(.*?,){25}P", "1," * 40),
    (r"((a{0,30}){0,30}){0,30}$", "a" * 80 + "b"),
]


@pytest.mark.parametrize(("expression", "text"), HOSTILE)
async def test_it_is_errored_in_both_forms_and_other_attempts_run_on(expression: str, text: str) -> None:
    async def body(t: EvalContext, case: str) -> None:
        turn = await t.send("go")
        if case == "hostile":
            t.check(text, pattern(expression)).key("positive")
            t.check(text, not_(pattern(expression))).key("negative")
            t.check({"a": text}, json_match({"a": re.compile(expression)})).key("leaf")
        else:
            await anyio.sleep(0)
            t.check(turn.message, pattern("ok"))

    cases = {name: name for name in ("hostile", "one", "another")}
    started = time.process_time()
    run = await run_eval(define_eval("budget", test=body, cases=cases), agent=ScriptedAgent(["ok"]), timeout=5)
    assert time.process_time() - started < 4
    by_case: dict[Any, Any] = {attempt.case_id: attempt for attempt in run.attempts}
    assert {name: attempt.verdict for name, attempt in by_case.items()} == {
        "hostile": "errored",
        "one": "passed",
        "another": "passed",
    }
    entries = by_case["hostile"].assertions
    assert [entry.evaluation.outcome for entry in entries] == ["errored"] * 3
    assert all("pattern exceeded its time budget" in (entry.reason or "") for entry in entries)
    assert {entry.rederivable for entry in entries} == {"budget"}


async def test_the_classic_one_has_an_answer() -> None:
    match = pattern(r"^(\w+\s?)*$")
    started = time.process_time()
    assert match.evaluate("a" * 40 + "!").outcome in ("mismatched", "errored")
    assert time.process_time() - started < 1
