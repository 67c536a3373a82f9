from collections.abc import Iterable
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from niceeval import ToolCall
from niceeval_expect import Evaluation, any_of, from_spec, includes, not_, pattern, satisfies, tool_match
from niceeval_expect._call_claims import max_tool_calls, no_failed_actions, tool_order, used_no_tools
from niceeval_expect._loops import no_loops
from niceeval_expect._scope import findings
from niceeval_expect._tool_scope import CallScope, called_tool, not_called_tool

CATS = ToolCall("search", {"q": "cats"}, [])
DOGS = ToolCall("search", {"q": "dogs"}, [])
OPEN = ToolCall("open", {"path": "/etc"}, "", status="completed")
TRUNCATED = ToolCall.unreadable("search", '{"q": "ca', "the arguments end inside a string")
UNRESOLVED = ToolCall("mcp__web__search", {"q": "cats"}, [])

EXPLODES = satisfies("explodes", lambda value: value["missing"])


def scope(*calls: ToolCall, **options: Any) -> CallScope:
    return CallScope(tuple((f"s0.t0.c{n}", call) for n, call in enumerate(calls)), **options)


def sessions(*calls: Iterable[ToolCall]) -> CallScope:
    return CallScope(tuple((f"s{s}.t0.c{n}", call) for s, made in enumerate(calls) for n, call in enumerate(made)))


SEARCH = tool_match("search")
ANY_CATS = tool_match("search", input={"q": "cats"})


@pytest.mark.parametrize(
    ("claim", "calls", "outcome"),
    [
        (called_tool("search"), scope(CATS), "matched"),
        (called_tool("search"), scope(OPEN), "mismatched"),
        (called_tool("search"), scope(), "mismatched"),
        # each call counts once, however alike they are
        (called_tool(ANY_CATS.exactly(2)), scope(CATS, CATS), "matched"),
        (called_tool(ANY_CATS.exactly(1)), scope(CATS, CATS), "mismatched"),
        (called_tool(SEARCH.exactly(2)), scope(CATS, OPEN, DOGS), "matched"),
        (called_tool(SEARCH.at_least(3)), scope(CATS, DOGS), "mismatched"),
        (called_tool(SEARCH.at_most(1)), scope(CATS, DOGS), "mismatched"),
        (called_tool(SEARCH.at_most(1)), scope(), "matched"),
        (called_tool(SEARCH.between(1, 2)), scope(CATS, DOGS), "matched"),
        (called_tool(any_of(SEARCH, tool_match("open")).exactly(3)), scope(CATS, OPEN, DOGS), "matched"),
        # an input that could not be read: the call exists, what it asked is unknown
        (called_tool("search"), scope(TRUNCATED), "matched"),
        (called_tool(ANY_CATS), scope(TRUNCATED), "unavailable"),
        (called_tool(ANY_CATS), scope(TRUNCATED, CATS), "matched"),
        (called_tool(ANY_CATS.exactly(1)), scope(TRUNCATED, CATS), "unavailable"),
        (called_tool(ANY_CATS.exactly(1)), scope(TRUNCATED, CATS, CATS), "mismatched"),
        (called_tool(ANY_CATS.at_most(2)), scope(TRUNCATED, CATS), "matched"),
        (called_tool(ANY_CATS.at_least(3)), scope(TRUNCATED, CATS), "mismatched"),
        (called_tool(tool_match("search", input={})), scope(TRUNCATED), "unavailable"),
        (not_called_tool(ANY_CATS), scope(TRUNCATED), "unavailable"),
        (not_called_tool(ANY_CATS), scope(TRUNCATED, CATS), "mismatched"),
        # an unresolved name
        (called_tool("search"), scope(UNRESOLVED), "unavailable"),
        (not_called_tool("search"), scope(UNRESOLVED), "unavailable"),
        (not_called_tool("open"), scope(UNRESOLVED), "matched"),
        (not_called_tool(tool_match("search", input={"q": "dogs"})), scope(UNRESOLVED), "matched"),
        # a broken evaluator is never a mismatch
        (called_tool(tool_match("search", input=EXPLODES)), scope(CATS), "errored"),
        (called_tool(tool_match("search", input=EXPLODES)), scope(CATS, TRUNCATED), "errored"),
        (not_called_tool(tool_match("search", input=EXPLODES)), scope(CATS, OPEN), "errored"),
        (not_called_tool(tool_match("search", input=EXPLODES)), scope(OPEN), "matched"),
        # what was not reported
        (called_tool("search"), scope(coverage="none"), "unavailable"),
        (called_tool("search"), scope(CATS, coverage="partial"), "matched"),
        (called_tool("search"), scope(OPEN, coverage="partial"), "unavailable"),
        (called_tool(SEARCH.exactly(1)), scope(CATS, coverage="partial"), "unavailable"),
        (called_tool(SEARCH.exactly(1)), scope(CATS, DOGS, coverage="partial"), "mismatched"),
        (called_tool(SEARCH.at_most(1)), scope(coverage="partial"), "unavailable"),
        (not_called_tool("search"), scope(coverage="none"), "unavailable"),
        (not_called_tool("search"), scope(OPEN, coverage="partial"), "unavailable"),
        (not_called_tool("search"), scope(CATS, coverage="partial"), "mismatched"),
        (not_called_tool("search"), scope(OPEN), "matched"),
        (not_called_tool("search"), scope(), "matched"),
        # neither a claim nor its denial holds of an argument that a match cannot speak about
        (not_called_tool(tool_match("search", input=includes("cats"))), scope(CATS), "mismatched"),
        (not_called_tool(tool_match("search", input=includes("cats"))), scope(OPEN), "matched"),
    ],
)
def test_calls_are_counted_by_what_is_certain(claim: Any, calls: CallScope, outcome: str) -> None:
    assert claim.evaluate(calls).outcome == outcome


EVERY_CATS = ANY_CATS.every()


@pytest.mark.parametrize(
    ("claim", "calls", "outcome"),
    [
        (EVERY_CATS, scope(CATS, OPEN, CATS), "matched"),
        (EVERY_CATS, scope(CATS, DOGS), "mismatched"),
        (EVERY_CATS, scope(OPEN), "mismatched"),
        (EVERY_CATS, scope(), "mismatched"),
        (ANY_CATS.every(if_any=True), scope(OPEN), "matched"),
        (ANY_CATS.every(if_any=True), scope(DOGS), "mismatched"),
        (EVERY_CATS, scope(CATS, TRUNCATED), "unavailable"),
        (EVERY_CATS, scope(DOGS, TRUNCATED), "mismatched"),
        (EVERY_CATS, scope(CATS, UNRESOLVED), "unavailable"),
        (EVERY_CATS, scope(CATS, coverage="partial"), "unavailable"),
        (EVERY_CATS, scope(DOGS, coverage="partial"), "mismatched"),
        (ANY_CATS.every(if_any=True), scope(coverage="none"), "unavailable"),
        (tool_match("search", input=EXPLODES).every(), scope(CATS, TRUNCATED), "errored"),
        # all the tools that a composite names
        (any_of(ANY_CATS, tool_match("open")).every(), scope(CATS, OPEN), "matched"),
        (any_of(ANY_CATS, tool_match("open")).every(), scope(DOGS, OPEN), "mismatched"),
        ((~tool_match("search", input={"q": "dogs"})).every(), scope(CATS, OPEN), "matched"),
        ((~tool_match("search", input={"q": "dogs"})).every(), scope(CATS, DOGS), "mismatched"),
        ((~tool_match("search", input={"q": "dogs"})).every(), scope(OPEN), "mismatched"),
    ],
)
def test_every_speaks_about_the_calls_of_the_tools_it_names(claim: Any, calls: CallScope, outcome: str) -> None:
    assert called_tool(claim).evaluate(calls).outcome == outcome


def test_every_over_no_calls_says_so() -> None:
    evaluation = called_tool(EVERY_CATS).evaluate(scope(OPEN))
    assert evaluation.diagnostic.message == "no calls to check: search was not called; called were open (once)"
    assert evaluation.examined == 0


CAN = st.sampled_from([CATS, DOGS, OPEN, TRUNCATED, UNRESOLVED])


@given(st.lists(CAN, max_size=6), st.sampled_from(["complete", "partial", "none"]))
def test_a_denial_never_holds_together_with_the_claim(calls: list[ToolCall], coverage: Any) -> None:
    where = scope(*calls, coverage=coverage)
    claimed, denied = called_tool(ANY_CATS).evaluate(where), not_called_tool(ANY_CATS).evaluate(where)
    opposite = {"matched": "mismatched", "mismatched": "matched"}
    assert denied.outcome == opposite.get(claimed.outcome, claimed.outcome)


def resolve(call: ToolCall, answer: ToolCall) -> ToolCall:
    return answer if call in (TRUNCATED, UNRESOLVED) else call


@given(
    st.lists(CAN, max_size=6),
    st.lists(st.sampled_from([CATS, DOGS]), min_size=6, max_size=6),
    st.sampled_from([ANY_CATS.exactly(1), ANY_CATS.at_most(2), ANY_CATS.at_least(2), ANY_CATS.every()]),
)
def test_learning_what_was_unknown_never_overturns_a_decision(
    calls: list[ToolCall], answers: list[ToolCall], claim: Any
) -> None:
    before = called_tool(claim).evaluate(scope(*calls)).outcome
    after = called_tool(claim).evaluate(scope(*map(resolve, calls, answers))).outcome
    assert before in (after, "unavailable")


ORDER = tool_order(ANY_CATS, "open")


@pytest.mark.parametrize(
    ("claim", "calls", "outcome"),
    [
        (ORDER, scope(CATS, DOGS, OPEN), "matched"),
        (ORDER, scope(OPEN, CATS), "mismatched"),
        (ORDER, scope(OPEN, CATS, OPEN), "matched"),
        (ORDER, scope(), "mismatched"),
        # each step needs a call of its own
        (tool_order("search", "search"), scope(CATS), "mismatched"),
        (tool_order("search", "search"), scope(CATS, CATS), "matched"),
        # within one session
        (ORDER, sessions([CATS], [OPEN]), "mismatched"),
        (ORDER, sessions([OPEN], [CATS, OPEN]), "matched"),
        # unknown calls can only complete an order
        (ORDER, scope(TRUNCATED, OPEN), "unavailable"),
        (ORDER, scope(OPEN, TRUNCATED), "mismatched"),
        (ORDER, scope(TRUNCATED, CATS, OPEN), "matched"),
        (ORDER, scope(OPEN, coverage="partial"), "unavailable"),
        (ORDER, scope(CATS, OPEN, coverage="partial"), "matched"),
        (tool_order(tool_match("search", input=EXPLODES), "open"), scope(CATS, OPEN), "errored"),
        (tool_order(tool_match("search", input=EXPLODES), "open"), scope(OPEN, CATS), "mismatched"),
        # failed, then done again
        (
            tool_order(tool_match("pay", status="failed"), tool_match("pay", status="completed")),
            scope(ToolCall("pay", {}, "", status="failed"), ToolCall("pay", {}, "", status="completed")),
            "matched",
        ),
        (
            tool_order(tool_match("pay", status="failed"), tool_match("pay", status="completed")),
            scope(ToolCall("pay", {}, "", status="completed"), ToolCall("pay", {}, "", status="failed")),
            "mismatched",
        ),
    ],
)
def test_an_order_is_decided_by_what_is_certain(claim: Any, calls: CallScope, outcome: str) -> None:
    assert claim.evaluate(calls).outcome == outcome


@given(
    st.lists(CAN, max_size=7), st.lists(st.sampled_from([ANY_CATS, SEARCH, tool_match("open")]), min_size=2, max_size=3)
)
def test_an_order_is_that_of_some_choice_of_calls(calls: list[ToolCall], steps: list[Any]) -> None:
    said = [[step.evaluate(call).outcome for step in steps] for call in calls]

    def reaches(good: tuple[str, ...], step: int = 0, start: int = 0) -> bool:
        if step == len(steps):
            return True
        return any(said[at][step] in good and reaches(good, step + 1, at + 1) for at in range(start, len(calls)))

    definite, possible = reaches(("matched",)), reaches(("matched", "unavailable"))
    expected = "matched" if definite else "unavailable" if possible else "mismatched"
    assert tool_order(*steps).evaluate(scope(*calls)).outcome == expected


@pytest.mark.parametrize(
    ("calls", "message"),
    [
        (scope(CATS), "tool_match('open') was not called"),
        (scope(OPEN, CATS), "tool_match('open') was not called after tool_match('search') at s0.t0.c1"),
        (
            sessions([CATS], [OPEN]),
            "tool_match('open') was not called after tool_match('search') at s0.t0.c0",
        ),
    ],
)
def test_a_broken_order_names_the_step_that_is_missing(calls: CallScope, message: str) -> None:
    evaluation = tool_order("search", "open").evaluate(calls)
    assert evaluation.diagnostic.message == message
    assert len(evaluation.diagnostic.children) == 2


PENDING = ToolCall("delete_user", {"id": 7})
REJECTED = ToolCall("delete_user", {"id": 7}, status="rejected")
UNKNOWN_END = ToolCall("delete_user", {"id": 7}, "deleted")


@pytest.mark.parametrize(
    ("claim", "calls", "outcome"),
    [
        (not_called_tool(tool_match("delete_user", status="completed")), scope(PENDING), "matched"),
        (called_tool(tool_match("delete_user", status="pending")), scope(PENDING), "matched"),
        (called_tool(tool_match("delete_user", output="deleted")), scope(PENDING), "unavailable"),
        (called_tool(tool_match("delete_user", status="rejected")), scope(REJECTED), "matched"),
        (not_called_tool(tool_match("delete_user", status="completed")), scope(REJECTED), "matched"),
        (not_called_tool(tool_match("delete_user", status="completed")), scope(UNKNOWN_END), "unavailable"),
        (no_failed_actions(), scope(), "matched"),
        (no_failed_actions(), scope(OPEN, PENDING), "matched"),
        (no_failed_actions(), scope(OPEN, REJECTED), "mismatched"),
        (no_failed_actions(), scope(ToolCall("pay", {}, "", status="failed"), UNKNOWN_END), "mismatched"),
        (no_failed_actions(), scope(UNKNOWN_END), "unavailable"),
        (no_failed_actions(), scope(OPEN, coverage="partial"), "unavailable"),
        (no_failed_actions(), scope(REJECTED, coverage="partial"), "mismatched"),
        (used_no_tools(), scope(), "matched"),
        (used_no_tools(), scope(CATS), "mismatched"),
        (used_no_tools(), scope(coverage="none"), "unavailable"),
        (used_no_tools(), scope(CATS, coverage="partial"), "mismatched"),
        (max_tool_calls(1), scope(CATS), "matched"),
        (max_tool_calls(1), scope(CATS, CATS), "mismatched"),
        (max_tool_calls(1), scope(CATS, coverage="partial"), "unavailable"),
        (max_tool_calls(1), scope(CATS, CATS, coverage="partial"), "mismatched"),
        (max_tool_calls(0), scope(), "matched"),
    ],
)
def test_status_and_number(claim: Any, calls: CallScope, outcome: str) -> None:
    assert claim.evaluate(calls).outcome == outcome


def texts(*said: str) -> tuple[tuple[str, str], ...]:
    return tuple((f"s0.t{n}.m0", text) for n, text in enumerate(said))


@pytest.mark.parametrize(
    ("claim", "calls", "outcome"),
    [
        (no_loops(), scope(), "matched"),
        (no_loops(), scope(CATS, CATS), "matched"),
        (no_loops(), scope(CATS, CATS, CATS), "mismatched"),
        (no_loops(), scope(CATS, DOGS, CATS, OPEN, CATS), "mismatched"),
        (no_loops(max_repeats=1), scope(CATS, CATS), "mismatched"),
        (no_loops(max_repeats=3), scope(CATS, CATS, CATS), "matched"),
        (no_loops(), scope(*[ToolCall("pay", {"n": n}) for n in (1, 1.0, 1)]), "mismatched"),
        (no_loops(), scope(*[ToolCall("pay", {"n": n}) for n in (1, True, "1")]), "matched"),
        (no_loops(), scope(*[ToolCall("pay", {"a": 1, "b": 2}), ToolCall("pay", {"b": 2, "a": 1})] * 2), "mismatched"),
        (no_loops(), scope(*[ToolCall("run", {}, server=server) for server in ("a", "b", "c")]), "matched"),
        # unknown inputs matter where they could reach the count
        (no_loops(), scope(CATS, CATS, TRUNCATED), "unavailable"),
        (no_loops(), scope(CATS, TRUNCATED), "matched"),
        (no_loops(), scope(TRUNCATED, TRUNCATED, TRUNCATED), "unavailable"),
        (no_loops(), scope(OPEN, OPEN, TRUNCATED), "matched"),
        (no_loops(), scope(TRUNCATED, CATS, CATS, CATS), "mismatched"),
        (no_loops(), scope(CATS, CATS, CATS, coverage="partial"), "mismatched"),
        (no_loops(), scope(CATS, coverage="partial"), "unavailable"),
        # the same text
        (no_loops(), scope(texts=texts("Hi", "Hi")), "matched"),
        (no_loops(), scope(texts=texts("Hi", "Ho", "Hi", "Hi")), "mismatched"),
        (no_loops(), scope(texts=texts("", "", "", " ")), "matched"),
        (no_loops(), scope(texts=texts("Hi"), texts_coverage="none"), "unavailable"),
        (no_loops(), scope(texts=texts("Hi", "Hi", "Hi"), texts_coverage="partial"), "mismatched"),
    ],
)
def test_a_loop_is_the_same_call_or_text_once_too_often(claim: Any, calls: CallScope, outcome: str) -> None:
    assert claim.evaluate(calls).outcome == outcome


def test_a_loop_is_shown_with_its_places() -> None:
    evaluation = no_loops().evaluate(scope(CATS, OPEN, CATS, CATS))
    assert evaluation.diagnostic.message == "the same call of search came 3 times, at s0.t0.c0, s0.t0.c2, s0.t0.c3"
    (loop,) = evaluation.diagnostic.children
    assert (loop.pointer, loop.received) == ("/s0.t0.c3", {"name": "search", "input": {"q": "cats"}})
    assert findings(evaluation).matching == ("s0.t0.c0", "s0.t0.c2", "s0.t0.c3")


def test_an_input_nested_beyond_comparison_is_unknown() -> None:
    deep: Any = {}
    for _ in range(5_000):
        deep = [deep]
    assert no_loops().evaluate(scope(ToolCall("run", deep))).outcome == "matched"
    assert no_loops().evaluate(scope(*[ToolCall("run", deep)] * 3)).outcome == "unavailable"


# ---- what a report shows


def test_a_call_that_came_close_is_shown_with_what_it_was_given() -> None:
    evaluation = called_tool(tool_match("search", input={"q": "birds"})).evaluate(scope(OPEN, CATS, DOGS))
    assert evaluation.diagnostic.message == (
        "no calls like that, at least 1 wanted; search was called twice, but not like that"
    )
    assert evaluation.diagnostic.expected == "tool_match('search', input={'q': 'birds'})"
    assert [call["input"] for call in evaluation.diagnostic.received] == [{"q": "cats"}, {"q": "dogs"}]
    assert [child.pointer for child in evaluation.diagnostic.children] == ["/s0.t0.c1", "/s0.t0.c2"]
    assert "cats" in str(evaluation.diagnostic.children[0].as_document())
    assert findings(evaluation).matching == ()
    assert findings(evaluation).candidates == ("s0.t0.c1", "s0.t0.c2", "s0.t0.c0")


@pytest.mark.parametrize(
    ("claim", "calls", "message"),
    [
        (called_tool("pay"), scope(), "no calls like that, at least 1 wanted; pay was not called; no tool was called"),
        (
            called_tool("pay"),
            scope(CATS, DOGS, OPEN),
            "no calls like that, at least 1 wanted; pay was not called; called were search (twice), open (once)",
        ),
        (called_tool(SEARCH.exactly(1)), scope(CATS, DOGS), "2 calls like that, exactly 1 wanted"),
        (called_tool(SEARCH.between(1, 2)), scope(CATS, CATS, CATS), "3 calls like that, 1 to 2 wanted"),
        (called_tool(EVERY_CATS), scope(CATS, DOGS), "1 of 2 calls of search not like that"),
        (not_called_tool("search"), scope(CATS), "1 call like that, none wanted"),
        (used_no_tools(), scope(CATS), "1 call, none wanted"),
        (max_tool_calls(1), scope(CATS, CATS), "2 calls, at most 1 wanted"),
        (no_failed_actions(), scope(REJECTED), "1 call failed or was rejected"),
    ],
)
def test_the_sentence_of_a_mismatch(claim: Any, calls: CallScope, message: str) -> None:
    assert claim.evaluate(calls).diagnostic.message == message


@pytest.mark.parametrize(
    ("claim", "calls", "reason"),
    [
        (called_tool("pay"), scope(coverage="none"), "tool calls were not reported"),
        (called_tool("pay"), scope(coverage="partial"), "tool calls were reported in part only"),
        (called_tool("pay"), scope(coverage="none", reason="a model without tools"), "a model without tools"),
        (
            called_tool(ANY_CATS),
            scope(TRUNCATED),
            "s0.t0.c0: input of the call of search: the arguments end inside a string",
        ),
        (no_failed_actions(), scope(UNKNOWN_END), "nobody reported how 1 call ended"),
        (no_loops(), scope(texts_coverage="none"), "messages were not reported"),
    ],
)
def test_the_reason_of_an_undecided_claim(claim: Any, calls: CallScope, reason: str) -> None:
    assert claim.evaluate(calls).reason == reason


LS = ToolCall("ls", {"path": "/"}, "x" * 8_000, status="completed")
DROP = ToolCall("drop_table", {"table": "users"}, "ok", status="completed")
MANY = 10_000


def whole(evaluation: Evaluation) -> str:
    return str(evaluation.diagnostic.as_document())


@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
def test_ten_thousand_other_calls_hide_nothing(first: bool) -> None:
    calls = scope(DROP, *[LS] * MANY) if first else scope(*[LS] * MANY, DROP)
    ref = "s0.t0.c0" if first else f"s0.t0.c{MANY}"
    denied = not_called_tool("drop_table").evaluate(calls)
    assert denied.outcome == "mismatched"
    assert [child.pointer for child in denied.diagnostic.children] == [f"/{ref}"]
    assert "users" in whole(denied)
    assert (denied.examined, findings(denied).matching) == (MANY + 1, (ref,))
    assert called_tool(tool_match("drop_table").exactly(1)).evaluate(calls).outcome == "matched"
    near = called_tool(tool_match("drop_table", input={"table": "orders"})).evaluate(calls)
    assert findings(near).candidates[0] == ref
    assert "users" in whole(near)
    every = called_tool(any_of(tool_match("ls"), tool_match("drop_table", status="failed")).every()).evaluate(calls)
    assert [child.pointer for child in every.diagnostic.children] == [f"/{ref}"]
    for evaluation in (denied, near, every):
        assert len(whole(evaluation)) < 10_000


def test_what_is_shown_of_ten_thousand_is_bounded_and_marked() -> None:
    over = called_tool(tool_match("ls").exactly(1)).evaluate(scope(*[LS] * MANY))
    assert len(over.diagnostic.children) == 8
    assert over.diagnostic.truncated
    assert len(findings(over).matching) == MANY
    assert len(whole(over)) < 10_000
    missed = called_tool(tool_match("ls", input={"path": "/tmp"})).evaluate(scope(*[LS] * MANY))
    assert (len(missed.diagnostic.children), missed.diagnostic.truncated) == (8, True)
    assert len(findings(missed).candidates) == 8
    limit = max_tool_calls(9_999).evaluate(scope(*[LS] * MANY))
    assert [child.pointer for child in limit.diagnostic.children] == ["/s0.t0.c9999"]


def test_twenty_thousand_calls_take_linear_time() -> None:
    match = any_of(tool_match("drop_table"), tool_match("drop_index"), tool_match("ls", input={"path": "/tmp"}))
    calls = scope(*[LS] * 20_000)
    begun = process_time()
    assert not_called_tool(match).evaluate(calls).outcome == "matched"
    assert called_tool(match.every()).evaluate(calls).outcome == "mismatched"
    assert tool_order("drop_table", "ls").evaluate(calls).outcome == "mismatched"
    assert no_loops(max_repeats=20_000).evaluate(calls).outcome == "matched"
    # About half a second; a step for every pair of calls would take minutes.
    assert process_time() - begun < 15


@pytest.mark.anyio
async def test_an_async_predicate_runs_once_per_call_of_that_tool() -> None:
    seen = []

    async def about_cats(value: Any) -> bool:
        seen.append(value["q"])
        return bool(value["q"] == "cats")

    match = tool_match("search", input=satisfies("is about cats", about_cats))
    calls = scope(CATS, OPEN, DOGS)
    assert (await called_tool(match.exactly(1)).evaluate_async(calls)).outcome == "matched"
    assert (await not_called_tool(match).evaluate_async(calls)).outcome == "mismatched"
    assert (await called_tool(match.every()).evaluate_async(calls)).outcome == "mismatched"
    assert (await tool_order(match, "open").evaluate_async(calls)).outcome == "matched"
    assert seen == ["cats", "dogs"] * 4


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: called_tool("search"), "called_tool('search')"),
        (lambda: called_tool(SEARCH.exactly(2)), "called_tool(tool_match('search').exactly(2))"),
        (lambda: not_called_tool(not_(SEARCH)), "not_called_tool(not_(tool_match('search')))"),
        (lambda: tool_order("a", SEARCH, "c"), "tool_order('a', 'search', 'c')"),
        (lambda: used_no_tools(), "used_no_tools()"),
        (lambda: max_tool_calls(0), "max_tool_calls(0)"),
        (lambda: no_failed_actions(), "no_failed_actions()"),
        (lambda: no_loops(max_repeats=4), "no_loops(max_repeats=4)"),
        (
            lambda: called_tool(tool_match("run", input=pattern("x"))),
            "called_tool(tool_match('run', input=pattern('x')))",
        ),
    ],
)
def test_a_claim_is_data_and_reads_like_its_call(build: Any, text: str) -> None:
    claim = build()
    assert repr(claim) == text
    assert from_spec(claim.spec()) == claim == build()


@pytest.mark.parametrize(
    ("build", "arguments", "error", "says"),
    [
        (called_tool, (3,), TypeError, r"called_tool\(\) takes a tool match or a tool's name, got 3"),
        (called_tool, ("",), ValueError, "name is blank"),
        (not_called_tool, (SEARCH.exactly(1),), TypeError, "without a quantifier"),
        (tool_order, ("a", SEARCH.at_least(2)), TypeError, "without a quantifier"),
        (tool_order, ("a", None), TypeError, "got None"),
        (max_tool_calls, (-1,), ValueError, "never negative; got -1"),
        (max_tool_calls, (True,), TypeError, "whole number, got True"),
        (lambda most: no_loops(max_repeats=most), (0,), ValueError, "from 1 on, got 0"),
        (lambda most: no_loops(max_repeats=most), (1.5,), TypeError, "whole number, got 1.5"),
    ],
)
def test_a_bad_argument_is_refused_with_a_sentence(
    build: Any, arguments: tuple[Any, ...], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        build(*arguments)


@pytest.mark.parametrize("claim", [called_tool("a"), not_called_tool("a"), used_no_tools(), no_loops()])
def test_another_subject_is_a_type_mismatch(claim: Any) -> None:
    assert claim.evaluate([CATS]).code == "type"
