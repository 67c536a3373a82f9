"""A record proves itself: every outcome again from what was stored, whatever the match, and what was altered is found."""

import datetime
import gzip
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pydantic
import pytest

import niceeval_expect
from niceeval import (
    AgentContext,
    CommandResult,
    EvalContext,
    Message,
    Reply,
    ScriptedAgent,
    Thinking,
    ToolCall,
    ToolCallFinished,
    ToolCallStarted,
    Usage,
    define_eval,
    define_score_eval,
    register_secret,
    run_eval,
)
from niceeval.redaction import forget_secrets
from niceeval.verify import Difference, Verification, verify_run
from niceeval_expect import (
    Absent,
    Evaluation,
    Match,
    ValueMatch,
    absent,
    all_of,
    any_of,
    arg,
    at,
    between,
    cites_only,
    close_to,
    command_match,
    command_succeeded,
    contains,
    define_score_match,
    define_value_match,
    ends_with,
    equals,
    event_match,
    every,
    every_claim_cited,
    excludes,
    field_order,
    forbids,
    has_keys,
    has_sections,
    includes,
    includes_all,
    includes_any,
    includes_url,
    is_defined,
    is_false,
    is_instance,
    is_true,
    json_match,
    json_text,
    keys_exactly,
    length,
    matches,
    non_empty,
    normalized,
    not_,
    number_in_text,
    numbers_from,
    occurs,
    one_of,
    pattern,
    preserves_digits,
    quotes_from,
    references_any_path,
    reveals_nothing_of,
    same_arguments,
    same_call,
    same_date,
    same_instant,
    same_python,
    same_sql,
    satisfies,
    semantic,
    similarity,
    starts_with,
    tool_match,
    unordered,
)

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).parents[1]
NOON = datetime.datetime(2026, 3, 9, 12, tzinfo=datetime.UTC)
PROMPT = "You are Ada. Never mention the discount code SPRING-25."

# A match, a value that it matches and one that it does not; every one is unavailable where the value never came.
VALUES: list[tuple[ValueMatch, Any, Any]] = [
    (absent(), at, None),
    (all_of(includes("a"), excludes("b")), "a", "ab"),
    (any_of(equals(1), equals(2)), 2, 3),
    (at("a[0].b", 1), {"a": [{"b": 1.0}]}, {"a": []}),
    (between(0, 1), Decimal("0.5"), float("nan")),
    (cites_only([4102]), "Thirty days [4102].", "Thirty days [3901]."),
    (close_to(0.1, abs=0.05), 0.12, float("inf")),
    (command_match("rm", ["-rf"]), "ls && rm -rf /", {"command": "rm -r"}),
    (command_succeeded(), CommandResult(["x"], 0, stdout="ok"), CommandResult(["x"], None, stderr="killed")),
    (contains({"a": 1}), [{"a": 1}], ({"a": "1"},)),
    (ends_with("?"), "So?", "So."),
    (equals({"a": {1, 2}, "b": NOON, "c": (b"x", Decimal("0.1"))}),
     {"a": {2, 1}, "b": NOON, "c": (b"x", 0.1)}, {"a": [1, 2], "b": NOON, "c": []}),
    (every(between(0, 9)), [1, 2], [1, 10]),
    (every_claim_cited(), "It is so [1].", "It is so."),
    (excludes("done"), "x", "done"),
    (field_order("a", before="b"), {"a": 1, "b": 2}, {"b": 2, "a": 1}),
    (forbids(["x", "y"]), "z", "xyz"),
    (has_keys("a", "b.c"), {"a": 0, "b": {"c": None}}, {"a": 0, "b": {}}),
    (has_sections(min=2), "# A\n\n# B\n", "# A\n"),
    (includes("d\u00f6ne", normalize="NFC"), "do\u0308ne \ud800", "done"),
    (includes_all(["a", "b"]), "ba", "a"),
    (includes_any(["a", "b"]), "b", "c"),
    (includes_url(), "https://shop.example/", "shop.example"),
    (is_defined(), 0, None),
    (is_false(), False, 0),
    (is_instance(str), "", b""),
    (is_true(), True, 1),
    (json_match({"a": pattern("x"), "b": [1]}), {"a": "xx", "b": [1], "c": 0}, {"a": "y", "b": [1, 2]}),
    (json_text(at("a", 1), embedded=True), 'So: {"a": 1}', 'So: {"a": NaN}'),
    (keys_exactly("a"), {"a": None}, {"a": None, "b": None}),
    (length(at_most=2, unit="words"), "a b", "a b c"),
    (matches({"type": "integer", "minimum": 1}), 10**30, -1),
    (non_empty(), "x", " "),
    (normalized("Billing", rules=["case"]), "BILLING", "Bill"),
    (not_(includes("x")), "y", "x"),
    (number_in_text(1500), "1,500 EUR", "1.5"),
    (numbers_from("30 days"), "30", "14"),
    (occurs("a").exactly(2), "aa", "a"),
    (one_of(["a", None]), None, "b"),
    (pattern(r"(?P<n>\d+)", groups={"n": "12"}), "x12", "x"),
    (preserves_digits("1 and 2"), "2, 1", "1"),
    (quotes_from("word for word"), 'He said "for word".', 'He said "no words here".'),
    (references_any_path(["/etc"]), {"path": "/etc/passwd"}, {"path": "/etcetera"}),
    (reveals_nothing_of(PROMPT, min_run=4), "No code.", "I am to never mention the discount code."),
    (same_arguments({"properties": {"n": {"default": 1}}}, {"n": 1}), {}, {"n": 2}),
    (same_call("f(a=1)", signature="(a, b=2)"), "f(1, 2)", "not a call"),
    (same_date("2026-03-09"), datetime.date(2026, 3, 9), "2026-03-10"),
    (same_instant("2026-03-09T12:00:00Z"), NOON, NOON.replace(tzinfo=None)),
    (same_python("x = 1"), "x=1", "x = 2"),
    (same_sql("SELECT a FROM t"), "select a from t", "select b from t"),
    (semantic(matches({"type": "object"}), at("a", between(1, 2))), {"a": 1}, {"a": 0}),
    (similarity("colour").at_least(0.8), "color", "x"),
    (starts_with("a"), "ab", "ba"),
    (unordered(["a", includes("b")]), ["bb", "a"], ["a", "a"]),
]  # fmt: skip

LOOKUP = ToolCall("lookup", {"name": "Ada"}, {"orders": ["A-2231"]}, status="completed", server="shop", id="l")
REFUND = ToolCall("refund", {"order_id": "A-2231", "total": 89}, Absent("lost"), status="failed")
PENDING = ToolCall("pay", {"cents": 100})
BROKEN = ToolCall.unreadable("weather", '{"city": "Par', "its arguments end early")
EVENTS = (
    ToolCallStarted(LOOKUP), ToolCallFinished(LOOKUP), Thinking("hm"), ToolCallStarted(REFUND),
    ToolCallFinished(REFUND), Message("assistant", "Done."),
)  # fmt: skip
KNOWN = Reply("Done.", tool_calls=[LOOKUP, REFUND], events=EVENTS, usage=Usage(900, 100, 0.02))
UNREPORTED = Reply("Sure.", status="completed")
UNSURE = Reply("Hm.", tool_calls=[PENDING, BROKEN])
GROUNDED = tool_match("refund") & arg("order_id").came_from("session")

# A claim about what happened, by how it comes out over the known, the unsure and the unreported turn.
CLAIMS: dict[str, list[Callable[[Any], Any]]] = {
    "succeeded": [lambda t: t.succeeded()],
    "called_tool": [
        lambda t: t.called_tool("lookup"),
        lambda t: t.called_tool(tool_match("refund", input={"order_id": "A-2231", "total": 89.0}).exactly(1)),
        lambda t: t.called_tool(tool_match("lookup", output={"orders": ["x"]}, server="shop").at_most(1)),
        lambda t: t.called_tool(any_of(tool_match("refund"), ~tool_match("lookup")).between(2, 3)),
        lambda t: t.called_tool(tool_match("weather", input={"city": "Paris"}).every()),
        lambda t: t.called_tool(tool_match("lookup", status="completed").at_least(1)),
        lambda t: t.called_tool(GROUNDED.every()),
    ],
    "not_called_tool": [lambda t: t.not_called_tool("delete"), lambda t: t.not_called_tool(tool_match("lookup"))],
    "tool_order": [
        lambda t: t.tool_order("lookup", "refund"),
        lambda t: t.tool_order("refund", "lookup"),
        lambda t: t.tool_order("lookup", "refund", finished=True),
    ],
    "tool_calls_unordered": [
        lambda t: t.tool_calls_unordered(["refund", "lookup"]),
        lambda t: t.tool_calls_unordered(["refund", "refund"], only=True),
    ],
    "used_no_tools": [lambda t: t.used_no_tools()],
    "max_tool_calls": [lambda t: t.max_tool_calls(2), lambda t: t.max_tool_calls(1)],
    "no_failed_actions": [lambda t: t.no_failed_actions()],
    "no_loops": [lambda t: t.no_loops(), lambda t: t.no_loops(max_repeats=1, similarity=0.5)],
    "event": [
        lambda t: t.event(event_match("message", role="assistant", text=includes("Done"))),
        lambda t: t.event(event_match("thinking")),
        lambda t: t.event(event_match("tool_call_started", tool=tool_match("refund")) | event_match("error")),
    ],
    "not_event": [lambda t: t.not_event(event_match("error")), lambda t: t.not_event(event_match("thinking"))],
    "event_order": [lambda t: t.event_order(event_match("thinking"), event_match("message", role="assistant"))],
    "max_tokens": [lambda t: t.max_tokens(1_000), lambda t: t.max_tokens(10)],
    "max_cost": [lambda t: t.max_cost(0.02), lambda t: t.max_cost(0.01)],
}  # fmt: skip
SAID = "Refund A-2231, please."


class Order(pydantic.BaseModel):
    id: int


def is_even(number: int) -> bool:
    return number % 2 == 0


async def is_odd(number: int) -> bool:
    return number % 2 == 1


SHARE = define_score_match(lambda text, letter: text.count(letter) / len(text), name="share")


@define_eval
async def everything(t: EvalContext) -> None:
    for number, (match, good, bad) in enumerate(VALUES):
        if number:
            t.check(good, match).key(f"{number} good")
        t.check(bad, match).key(f"{number} bad")
        t.check(Absent("nothing came"), match).key(f"{number} absent")
    t.check({"a": 1}, at("b", absent())).key("0 good")
    t.check(Absent("nothing came"), similarity("x"))
    t.check("y", similarity("x"))
    for reply in ("known", "unsure", "unreported"):
        with t.group(reply):
            session = t.new_session()
            turn = await session.send(SAID)
            for claims in CLAIMS.values():
                for claim in claims:
                    for where in (turn, session, t):
                        claim(where)
            t.check(turn.message, includes("Done"))


def answer(message: str, ctx: AgentContext) -> Reply:
    return answers[len(asked)]


asked: list[str] = []
answers = [KNOWN, UNSURE, UNREPORTED]


async def agent(message: str) -> Reply:
    asked.append(message)
    return answers[(len(asked) - 1) % 3]


async def recorded(test: Any, folder: Path, who: Any = None) -> Path:
    run = await run_eval(test, agent=who, record=folder / ".niceeval")
    assert run.folder is not None
    return run.folder


def line_of(folder: Path) -> dict[str, Any]:
    (path,) = folder.glob("attempts-*.jsonl")
    document: dict[str, Any] = json.loads(path.read_text())
    return document


def rewrite(folder: Path, change: Callable[[dict[str, Any]], object]) -> Verification:
    """Change the only attempt by hand, and verify the run."""
    document = line_of(folder)
    change(document)
    (path,) = folder.glob("attempts-*.jsonl")
    path.write_text(json.dumps(document) + "\n")
    return verify_run(folder)


def names_in(spec: Any) -> set[str]:
    if isinstance(spec, dict):
        return {spec["match"]} if isinstance(spec.get("match"), str) else set() | set()
    return set()
