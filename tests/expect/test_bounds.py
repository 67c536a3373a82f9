"""What holds whatever is asked: evidence only ever adds, and hostile input costs time in proportion."""

from time import perf_counter, process_time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from niceeval import ToolCall
from niceeval_expect import json_text, pattern, tool_match
from niceeval_expect._call_claims import max_tool_calls
from niceeval_expect._call_scope import CallScope
from niceeval_expect._tool_scope import called_tool, not_called_tool

CATS = tool_match("search", input={"q": "cats"}, status="completed")
KINDS = [
    ToolCall("search", {"q": "cats"}, [], status="completed"),
    ToolCall("search", {"q": "cats"}),
    ToolCall("search", {"q": "dogs"}, [], status="completed"),
    ToolCall.unreadable("search", '{"q": "ca', "its arguments end early"),
    ToolCall("open", {}, "", status="failed"),
]
CALLS = st.lists(st.sampled_from(KINDS), max_size=6)
# From worst to best: what a claim that needs calls can become as calls are added.
RISING = ("mismatched", "unavailable", "matched")


def scope(calls: list[ToolCall], coverage: Any) -> CallScope:
    return CallScope(tuple((f"s0.t0.c{place}", call) for place, call in enumerate(calls)), coverage)


@given(CALLS, st.sampled_from(KINDS), st.data(), st.sampled_from(["complete", "partial"]), st.integers(1, 3))
def test_another_call_never_counts_against_a_claim_that_needs_calls_nor_for_one_that_limits_them(
    calls: list[ToolCall], added: ToolCall, data: st.DataObject, coverage: Any, n: int
) -> None:
    more = list(calls)
    more.insert(data.draw(st.integers(0, len(calls))), added)
    for claim in (called_tool(CATS), called_tool(CATS.at_least(n))):
        before, after = (claim.evaluate(scope(each, coverage)).outcome for each in (calls, more))
        assert RISING.index(after) >= RISING.index(before)
    for limit in (not_called_tool(CATS), called_tool(CATS.at_most(n)), max_tool_calls(n)):
        before, after = (limit.evaluate(scope(each, coverage)).outcome for each in (calls, more))
        assert RISING.index(after) <= RISING.index(before)


RUNAWAY = st.sampled_from([r"(a|aa)+$", r"(a+)+b\1", r"(?=(a+)+c)", r"^(a?){30}a{30}b", r"((a*)*)*b\2", r"(.*a){14}$"])


@settings(max_examples=20)
@given(RUNAWAY, st.integers(20, 60_000), st.sampled_from(["", "!", "b", "\n"]), st.booleans())
def test_a_pattern_ends_within_its_budget(regex: str, size: int, end: str, denied: bool) -> None:
    match = pattern(regex, budget=0.05)
    text = "a" * size + end
    begun = perf_counter()
    evaluation = (~match if denied else match).evaluate(text)
    took = perf_counter() - begun
    assert took < 0.05 + 2, f"{took:.3f} s"
    assert evaluation.outcome in ("matched", "mismatched") or evaluation.reason == "pattern exceeded its time budget"


PROSE = 'We looked into it, and it is [as] said {so far}: "quoted" text, item 1. '
HOSTILE = {
    "braces": "{" * 200_000,
    "brackets": "[" * 200_000,
    "keys": '{"a":' * 200_000,
    "both": "[{" * 100_000,
    "quotes": '{"' * 100_000,
    "escapes": '{"' + "\\" * 200_000,
    "prose": PROSE * (5_000_000 // len(PROSE)),
    "plain prose": "word " * 1_000_000,
    "prose and a value": PROSE * (5_000_000 // len(PROSE)) + '{"a": 1}',
    "fences": "```json\n" * 100_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("options", [{}, {"embedded": True}, {"embedded": True, "pick": "last"}], ids=repr)
def test_json_is_looked_for_in_linear_time(text: str, options: Any) -> None:
    begun = process_time()
    outcome = json_text(**options).evaluate(text).outcome
    took = process_time() - begun
    assert took < 1, f"{took:.2f} s"
    assert outcome == ("matched" if text.endswith('{"a": 1}') and options else "mismatched")
