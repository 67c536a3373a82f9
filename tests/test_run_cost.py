"""What an attempt costs, counted and not timed: calls, bytes in the record, memory, and what is loaded for nothing."""

import asyncio
import gc
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from niceeval import EvalContext, Reply, RunResult, ToolCall, define_eval, run_eval
from niceeval.evals.eval import Eval
from niceeval_expect import at, equals, excludes, json_text, length, matches, one_of, pattern, tool_match

SCHEMA = {
    "type": "object",
    "required": ["order", "status"],
    "additionalProperties": False,
    "properties": {"order": {"type": "string"}, "status": {"type": "string"}},
}
PARSES = json_text()
CONFORMS = json_text(matches(SCHEMA))
ORDER = json_text(at("order", pattern("ORD-[0-9]{6}", full=True)))
STATUS = json_text(at("status", one_of(["pending", "in_transit"])))
POLITE = excludes("guaranteed refund")
LOOKED_UP = tool_match("lookup", input=matches({"type": "object", "required": ["order"]})).exactly(1)
SHORT = length(at_most=1200)


def agent(message: str) -> Reply:
    order = message[-11:-1]
    calls = [
        ToolCall("lookup", {"order": order, "history": True}, {"status": "in_transit", "items": 3}, status="completed"),
        ToolCall("shipment", {"carrier": "Postline"}, {"eta": "2026-08-14"}, status="completed"),
        ToolCall("policy", {"topic": "late"}, {"id": "P-77"}, status="completed"),
    ]
    return Reply(f'{{"order": "{order}", "status": "in_transit"}}', tool_calls=calls)


async def answering(message: str) -> Reply:
    return agent(message)


def eight_checks(cases: int) -> Eval[Any]:
    given = [{"id": f"c{number}", "order": f"ORD-{number:06d}"} for number in range(cases)]

    @define_eval(id="orders", cases=given)
    async def orders(t: EvalContext, case: dict[str, str]) -> None:
        turn = await t.send(f"Where is my order {case['order']}?")
        t.check(turn.message, PARSES).key("parses")
        t.check(turn.message, CONFORMS).key("conforms")
        t.check(turn.message, ORDER).key("order")
        t.check(turn.message, STATUS).key("status")
        t.check(turn.message, json_text(at("order", equals(case["order"])))).key("same order")
        t.check(turn.message, POLITE).key("polite")
        turn.called_tool(LOOKED_UP).key("looked up")
        t.check(turn.message, SHORT).key("short")

    return orders


def one_check(cases: int) -> Eval[Any]:
    given: list[dict[str, object]] = [{"id": f"c{number}", "number": number} for number in range(cases)]

    @define_eval(id="numbers", cases=given)
    async def numbers(t: EvalContext, case: dict[str, object]) -> None:
        t.check(case["number"], equals(case["number"])).key("same")

    return numbers


def run(eval_: Eval[Any], record: Path | None) -> RunResult:
    return asyncio.run(run_eval(eval_, agent=answering, record=record))


def calls_in(work: Callable[[], object]) -> int:
    """Return how many Python functions `work` calls."""
    counted = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal counted
        counted += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return counted


@pytest.mark.skipif(sys.gettrace() is not None, reason="calls are counted, and a tracer makes its own")
def test_an_attempt_with_eight_checks_takes_so_many_calls_and_no_more(tmp_path: Path) -> None:
    small, large = eight_checks(20), eight_checks(70)
    run(small, tmp_path)
    few, many = calls_in(lambda: run(small, tmp_path)), calls_in(lambda: run(large, tmp_path))
    assert (many - few) / 50 < 365


def test_a_matched_check_takes_little_room_in_the_record(tmp_path: Path) -> None:
    done = run(eight_checks(20), tmp_path)
    assert done.folder is not None
    [file] = done.folder.glob("attempts-*.jsonl")
    sizes = [len(line) for line in file.read_bytes().splitlines()]
    assert len(sizes) == 20
    assert max(sizes) < 5_000


def test_an_attempt_is_gone_once_it_is_written_without_waiting_for_the_collector(tmp_path: Path) -> None:
    run(eight_checks(5), tmp_path)
    left = []
    gc.disable()
    try:
        for plan in (eight_checks(10), eight_checks(110)):
            gc.collect()
            run(plan, tmp_path)
            left.append(gc.collect())
    finally:
        gc.enable()
    assert left[1] - left[0] < 100, left


@pytest.mark.parametrize("frozen_before", [False, True])
def test_the_collector_does_not_look_through_the_plan_while_a_run_goes_on(frozen_before: bool) -> None:
    kept: list[int] = []

    async def looking(message: str) -> Reply:
        kept.append(gc.get_freeze_count())
        return agent(message)

    if frozen_before:
        gc.freeze()
    try:
        asyncio.run(run_eval(eight_checks(2), agent=looking, record=None))
        left = gc.get_freeze_count()
    finally:
        gc.unfreeze()
    assert len(kept) == 2
    assert min(kept) > 1_000
    # What somebody else has set aside stays so.
    assert (left > 1_000) is frozen_before


def test_memory_grows_with_the_plan_only(tmp_path: Path) -> None:
    run(one_check(10), tmp_path)
    peaks = []
    for plan in (one_check(500), one_check(2_500)):
        cases = len(plan.iter_cases())
        tracemalloc.start()
        try:
            run(plan, tmp_path)
            peaks.append((cases, tracemalloc.get_traced_memory()[1]))
        finally:
            tracemalloc.stop()
    (fewer, low), (more, high) = peaks
    # A case has its id and its place in what is planned; a recorded attempt of it has 700 bytes.
    assert (high - low) / (more - fewer) < 150, peaks


HEAVY = [
    "anyio",
    "duckdb",
    "jsonschema",
    "jsonschema_rs",
    "numpy",
    "pydantic",
    "pydantic_core",
    "rapidfuzz",
    "regex",
    "rich",
    "scipy",
]


@pytest.mark.parametrize(
    "code",
    [
        "import niceeval_expect",
        "import niceeval",
        "import runpy, sys\nsys.argv = ['niceeval', '--help']\n"
        "try:\n    runpy.run_module('niceeval', run_name='__main__')\nexcept SystemExit:\n    pass",
    ],
    ids=["import niceeval_expect", "import niceeval", "niceeval --help"],
)
def test_nothing_heavy_is_loaded_before_it_is_needed(code: str) -> None:
    told = f"import sys\n{code}\nprint('loaded', *sorted(set({HEAVY!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "loaded"
