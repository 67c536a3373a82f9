from time import process_time
from typing import Any

import pytest

from niceeval import ToolCall, ToolCallFinished, ToolCallStarted
from niceeval_expect import Absent, arg, from_spec, satisfies, tool_match
from niceeval_expect._call_claims import tool_order
from niceeval_expect._call_scope import CallScope
from niceeval_expect._timeline import TurnTrace
from niceeval_expect._tool_scope import called_tool, not_called_tool
from niceeval_expect._unordered_calls import tool_calls_unordered

SHOWN = arg("order_id").came_from("session")
FOUND = arg("order_id").came_from("lookup")
LOOKUP = ToolCall("lookup", {"name": "Ada"}, {"orders": [{"id": "A-2231", "total": 89}]}, status="completed")
OTHER = ToolCall("search", {"q": "x"}, "see A-2231", status="completed")


def refund(order_id: Any) -> ToolCall:
    return ToolCall("refund", {"order_id": order_id}, "ok", status="completed")


def scope(*turns: tuple[str | None, list[ToolCall]], gap: str | None = None, cut: int = 0) -> CallScope:
    traces = tuple(TurnTrace(f"s0.t{n}", said, calls, None, gap) for n, (said, calls) in enumerate(turns))
    calls = tuple((f"{turn.ref}.c{n}", call) for turn in traces[cut:] for n, call in enumerate(turn.calls))
    return CallScope(calls, "complete" if gap is None else "partial", gap, turns=traces)


@pytest.mark.parametrize(
    ("given", "said", "outcome"),
    [
        ("A-2231", "Refund A-2231, please", "matched"),
        ("A-2231", "Refund A-2231.", "matched"),
        ("A-2231", "order:A-2231", "matched"),
        ("A-2231", "('A-2231')", "matched"),
        ("A-2231", "Refund A-22310", "mismatched"),
        ("A-2231", "Refund BA-2231", "mismatched"),
        ("A-2231", "Refund A-2231-9", "mismatched"),
        ("A-2231", "Refund B-A-2231", "mismatched"),
        ("A-2231", "a-2231", "mismatched"),
        ("A-2231", "my parcel", "mismatched"),
        ("ada@x.org", "write to ada@x.org", "matched"),
        ("ada@x.org", "write to ada@x.org.uk", "mismatched"),
        ("Ada Lovelace", "I am Ada Lovelace", "matched"),
        ("Ada Lovelace", "I am Ada, not Lovelace", "mismatched"),
        ("訂單", "我的訂單", "mismatched"),
        ("#12", "see #12", "matched"),
        # numbers by value, as a whole
        (89, "pay 89 euros", "matched"),
        (89, "pay 89.00 euros", "matched"),
        (89.5, "pay $89.50", "matched"),
        (1500, "pay 1,500.00", "matched"),
        (500, "pay 1,500", "mismatched"),
        (89, "pay 890", "mismatched"),
        (89, "pay 1.89", "mismatched"),
        (2231, "A-2231", "mismatched"),
        (-5, "at -5 degrees", "matched"),
        (5, "at -5 degrees", "mismatched"),
        ("1500", "pay 1,500", "matched"),
        ("007", "agent 007", "matched"),
        ("007", "agent 7", "mismatched"),
        # each of several
        (["A-1", "A-2"], "A-1 and A-2", "matched"),
        (["A-1", "A-2"], "A-1 only", "mismatched"),
        ({"id": "A-1", "express": True, "note": None}, "A-1", "matched"),
        # nothing to look for, and nothing known
        (True, "True", "mismatched"),
        (None, "None", "mismatched"),
        ("", "x", "mismatched"),
        (Absent("cut off"), "x", "unavailable"),
    ],
)
def test_a_value_occurs_as_a_whole_in_what_the_user_said(given: Any, said: str, outcome: str) -> None:
    call = ToolCall("refund", {"order_id": given}, "ok")
    assert called_tool(tool_match("refund") & SHOWN).evaluate(scope((said, [call]))).outcome == outcome


@pytest.mark.parametrize(
    ("over", "shown", "found"),
    [
        (scope(("Hi", [LOOKUP, refund("A-2231")])), "matched", "matched"),
        (scope(("Hi", [refund("A-2231"), LOOKUP])), "mismatched", "mismatched"),
        (scope(("Hi", [LOOKUP]), ("Go", [refund("A-2231")])), "matched", "matched"),
        (scope(("Hi", [refund("A-2231")]), ("A-2231", [])), "mismatched", "mismatched"),
        (scope(("A-2231", []), ("Go", [refund("A-2231")])), "matched", "mismatched"),
        (scope(("Hi", [OTHER, refund("A-2231")])), "matched", "mismatched"),
        # its own input and its own result do not count
        (scope(("Hi", [ToolCall("refund", {"order_id": "A-2231"}, "refunded A-2231")])), "mismatched", "mismatched"),
        # what was only asked for was not shown
        (scope(("Hi", [ToolCall("lookup", {"id": "A-2231"}, "none"), refund("A-2231")])), "mismatched", "mismatched"),
        # nobody reported what came back
        (scope(("Hi", [ToolCall("lookup", {}, status="completed"), refund("A-2231")])), "unavailable", "unavailable"),
        (scope(("Hi", [ToolCall("search", {}, status="completed"), refund("A-2231")])), "unavailable", "mismatched"),
        (scope(("Hi", [ToolCall("lookup", {}), refund("A-2231")])), "mismatched", "mismatched"),
        (scope((None, [refund("A-2231")])), "unavailable", "mismatched"),
        (scope(("Hi", [refund("A-2231")]), gap="in part"), "unavailable", "unavailable"),
        (scope(("A-2231", [refund("A-2231")]), gap="in part"), "matched", "unavailable"),
        # the turn before is outside the cut and was seen all the same
        (scope(("Hi", [LOOKUP]), ("Go", [refund("A-2231")]), cut=1), "matched", "matched"),
    ],
)
def test_what_counts_as_shown_before(over: CallScope, shown: str, found: str) -> None:
    assert called_tool(tool_match("refund") & SHOWN).evaluate(over).outcome == shown
    assert called_tool(tool_match("refund") & FOUND).evaluate(over).outcome == found


def test_sessions_do_not_see_each_other() -> None:
    traces = (TurnTrace("s0.t0", "A-2231", ()), TurnTrace("s1.t0", "Hi", (refund("A-2231"),)))
    over = CallScope((("s1.t0.c0", refund("A-2231")),), turns=traces)
    assert called_tool(SHOWN).evaluate(over).outcome == "mismatched"


@pytest.mark.parametrize(
    ("events", "outcome"),
    [
        ("+l -l +r -r", "matched"),
        ("+l +r -l -r", "mismatched"),
        ("+r -r +l -l", "mismatched"),
        ("+r -r", "unavailable"),
    ],
)
def test_events_say_what_had_come_back(events: str, outcome: str) -> None:
    lookup, made = (
        ToolCall(c.name, c.input, c.output, status="completed", id=c.name[0]) for c in (LOOKUP, refund("A-2231"))
    )
    by_id = {"l": lookup, "r": made}
    read = [(ToolCallStarted if step[0] == "+" else ToolCallFinished)(by_id[step[1]]) for step in events.split()]
    calls = (("s0.t0.c0", lookup), ("s0.t0.c1", made))
    over = CallScope(calls, turns=(TurnTrace("s0.t0", "Hi", (lookup, made), read),))
    assert called_tool(tool_match("refund") & SHOWN).evaluate(over).outcome == outcome
    assert called_tool(tool_match("refund") & FOUND).evaluate(over).outcome == outcome


def test_quantifiers_denials_and_orders_see_what_was_shown() -> None:
    refunds = tool_match("refund")
    over = scope(("A-1", [refund("A-1"), refund("A-2")]))
    assert called_tool((refunds & SHOWN).exactly(1)).evaluate(over).outcome == "matched"
    assert called_tool((refunds & SHOWN).every()).evaluate(over).outcome == "mismatched"
    assert not_called_tool(refunds & ~SHOWN).evaluate(over).outcome == "mismatched"
    assert not_called_tool(refunds & ~SHOWN).evaluate(scope(("A-1", [refund("A-1")]))).outcome == "matched"
    assert tool_order(refunds & SHOWN, refunds & ~SHOWN).evaluate(over).outcome == "matched"
    assert tool_order(refunds & SHOWN, refunds & ~SHOWN, finished=True).evaluate(over).outcome == "unavailable"
    assert tool_calls_unordered([refunds & ~SHOWN, refunds & SHOWN]).evaluate(over).outcome == "matched"
    assert called_tool(refunds & (SHOWN | arg("order_id").came_from("lookup"))).evaluate(over).outcome == "matched"


@pytest.mark.parametrize(
    ("calls", "outcome"),
    [
        ([refund("A-1")], "matched"),
        ([refund("A-1"), OTHER], "mismatched"),
        ([refund("A-2")], "mismatched"),
        ([], "mismatched"),
    ],
)
def test_alone_it_speaks_of_the_calls_of_every_tool(calls: list[ToolCall], outcome: str) -> None:
    assert called_tool(SHOWN.every()).evaluate(scope(("A-1", calls))).outcome == outcome


def test_a_source_in_doubt_leaves_it_open_and_a_broken_one_says_so() -> None:
    over = scope(("Hi", [LOOKUP, refund("A-2231")]))
    failed = arg("order_id").came_from(tool_match("lookup", input=satisfies("breaks", lambda value: value["x"])))
    assert called_tool(tool_match("refund") & failed).evaluate(over).outcome == "errored"
    unread = ToolCall.unreadable("lookup", "{", "cut off", "A-2231", status="completed")
    asked = arg("order_id").came_from(tool_match("lookup", input={"name": "Ada"}))
    over = scope(("Hi", [unread, refund("A-2231")]))
    assert called_tool(tool_match("refund") & asked).evaluate(over).outcome == "unavailable"


def test_the_mismatch_says_where_it_was_looked_for() -> None:
    over = scope(("Hi", [refund("A-2231"), LOOKUP]))
    evaluation = called_tool(SHOWN).evaluate(scope(("Hi", [refund("A-2231"), LOOKUP])))
    assert "'A-2231' came from nowhere: it is in no user's message or earlier result" in str(evaluation)
    assert "it first came at s0.t0.c1, after the call" in str(evaluation)
    evaluation = called_tool(tool_match("refund") & FOUND).evaluate(over)
    assert "it is in no earlier result of tool_match('lookup')" in str(evaluation)
    assert "/s0.t0.c0/input/order_id" in [
        part.pointer for child in evaluation.diagnostic.children for part in (child, *child.children)
    ]


def test_a_call_alone_does_not_say_what_was_shown() -> None:
    evaluation = SHOWN.evaluate(refund("A-1"))
    assert (evaluation.outcome, evaluation.code) == ("unavailable", "no-history")
    assert SHOWN.evaluate(5).code == "type"
    assert SHOWN.evaluate(ToolCall("refund", "text")).code == "type"
    assert SHOWN.evaluate(ToolCall("refund", {})).code == "missing"
    assert SHOWN.evaluate(ToolCall("refund")).outcome == "unavailable"


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: arg(""), ValueError),
        (lambda: arg(5), TypeError),  # type: ignore[arg-type]
        (lambda: arg("a").came_from(5), TypeError),  # type: ignore[arg-type]
        (lambda: arg("a").came_from(tool_match("a").exactly(1)), TypeError),  # type: ignore[arg-type]
        (lambda: arg("a").came_from(tool_match("a") & SHOWN), TypeError),
        (lambda: arg("a").came_from(" "), ValueError),
    ],
)
def test_bad_arguments_are_refused(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


@pytest.mark.parametrize("match", [SHOWN, FOUND, arg(("a.b", 0)).came_from(tool_match("x", input={"n": 1}))])
def test_it_is_data(match: Any) -> None:
    assert from_spec(match.spec()) == match
    assert eval(repr(match), {"arg": arg, "tool_match": tool_match}) == match
    assert (match.family, match.reaches_outside) == ("referential", True)
    assert called_tool(tool_match("refund") & match).reaches_outside


def test_many_calls_over_large_results_take_linear_time() -> None:
    listed = [ToolCall("list", {}, f"id-{n} " + "lorem ipsum " * 100, status="completed") for n in range(1_000)]
    over = scope(("Hi", [*listed, *(refund(f"id-{n}") for n in range(1_000))]))
    begun = process_time()
    assert called_tool((tool_match("refund") & SHOWN).exactly(1_000)).evaluate(over).outcome == "matched"
    assert process_time() - begun < 4
