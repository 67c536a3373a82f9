from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from niceeval import Message, ToolCall, ToolCallFinished, ToolCallStarted
from niceeval_expect import Evaluation, from_spec, satisfies, tool_match
from niceeval_expect._call_claims import tool_order
from niceeval_expect._call_scope import CallScope
from niceeval_expect._scope import findings
from niceeval_expect._timeline import TurnTrace, spans

PAY = ToolCall("pay", {"id": 1}, "ok", status="completed", id="p")
MAIL = ToolCall("mail", {"id": 1}, "ok", status="completed", id="m")
SHIP = ToolCall("ship", {"id": 1}, "ok", status="completed", id="s")
OPEN = ToolCall("pay", {"id": 1}, id="p")
UNKNOWN = ToolCall("pay", {"id": 1}, status="completed", id="p")
LOST = ToolCall.unreadable("pay", "{", "cut off", "ok", status="completed", id="p")


def turn(ref: str, calls: list[ToolCall], events: str | None = None) -> TurnTrace:
    """A turn whose events are written as "+p -p": the call with the id p started, then finished."""
    by_id = {call.id: call for call in calls}
    read = None
    if events is not None:
        read = [
            ToolCallStarted(by_id[step[1:]]) if step[0] == "+" else ToolCallFinished(by_id[step[1:]])
            for step in events.split()
        ]
    return TurnTrace(ref, "Hi", calls, read)


def scope(*turns: TurnTrace, **options: Any) -> CallScope:
    calls = tuple((f"{turn.ref}.c{place}", call) for turn in turns for place, call in enumerate(turn.calls))
    return CallScope(calls, turns=turns, **options)


def judged(*tools: Any, over: CallScope) -> Evaluation:
    return tool_order(*tools, finished=True).evaluate(over)


@pytest.mark.parametrize(
    ("over", "outcome"),
    [
        (scope(turn("s0.t0", [PAY, MAIL], "+p -p +m -m")), "matched"),
        (scope(turn("s0.t0", [PAY, MAIL], "+p +m -p -m")), "mismatched"),
        (scope(turn("s0.t0", [PAY, MAIL], "+p +m -m -p")), "mismatched"),
        (scope(turn("s0.t0", [MAIL, PAY], "+m -m +p -p")), "mismatched"),
        # nobody reported events: the list only says in which order they started
        (scope(turn("s0.t0", [PAY, MAIL])), "unavailable"),
        (scope(turn("s0.t0", [MAIL, PAY])), "mismatched"),
        # but a turn ends before the next one begins
        (scope(turn("s0.t0", [PAY]), turn("s0.t1", [MAIL])), "matched"),
        (scope(turn("s0.t0", [MAIL]), turn("s0.t1", [PAY])), "mismatched"),
        (scope(turn("s0.t0", [UNKNOWN]), turn("s0.t1", [MAIL])), "matched"),
        (scope(turn("s0.t0", [PAY, MAIL], "+p +m -m -p"), turn("s0.t1", [MAIL])), "matched"),
        # order holds within one session
        (scope(turn("s0.t0", [PAY], "+p -p"), turn("s1.t0", [MAIL], "+m -m")), "mismatched"),
        # a call without a result has not finished
        (scope(turn("s0.t0", [OPEN, MAIL], "+p +m -m")), "mismatched"),
        (scope(turn("s0.t0", [OPEN]), turn("s0.t1", [MAIL])), "mismatched"),
        # the last call need not finish
        (scope(turn("s0.t0", [MAIL, OPEN], "+m -m +p")), "mismatched"),
        # events that leave a call out
        (scope(turn("s0.t0", [PAY, MAIL], "+m -m")), "unavailable"),
        (scope(turn("s0.t0", [PAY, MAIL], "-p +m -m")), "matched"),
        # which call it is cannot be told
        (scope(turn("s0.t0", [MAIL], "+m -m")), "mismatched"),
        (scope(turn("s0.t0", []), coverage="none"), "unavailable"),
        (scope(turn("s0.t0", [PAY, MAIL], "+p +m -p -m"), coverage="partial"), "unavailable"),
        (scope(turn("s0.t0", [PAY, MAIL], "+p -p +m -m"), coverage="partial"), "matched"),
    ],
)
def test_each_finished_before_the_next_one_started(over: CallScope, outcome: str) -> None:
    assert judged("pay", "mail", over=over).outcome == outcome


def test_a_pending_last_step_is_fine() -> None:
    assert judged("mail", "pay", over=scope(turn("s0.t0", [MAIL, OPEN], "+m -m +p"))).outcome == "matched"


@pytest.mark.parametrize(
    ("events", "outcome"),
    [("+p -p +m -m +s -s", "matched"), ("+p -p +m +s -m -s", "mismatched"), ("+p +s -p -s +m -m", "mismatched")],
)
def test_longer_chains(events: str, outcome: str) -> None:
    evaluation = judged("pay", "mail", "ship", over=scope(turn("s0.t0", [PAY, MAIL, SHIP], events)))
    assert evaluation.outcome == outcome
    if outcome == "matched":
        assert findings(evaluation).matching == ("s0.t0.c0", "s0.t0.c1", "s0.t0.c2")


def test_the_same_tool_twice_needs_two_calls_one_after_the_other() -> None:
    again = ToolCall("pay", {"id": 2}, "ok", status="completed", id="q")
    assert judged("pay", "pay", over=scope(turn("s0.t0", [PAY, again], "+p -p +q -q"))).outcome == "matched"
    assert judged("pay", "pay", over=scope(turn("s0.t0", [PAY, again], "+p +q -p -q"))).outcome == "mismatched"
    assert judged("pay", "pay", over=scope(turn("s0.t0", [PAY], "+p -p"))).outcome == "mismatched"


def test_a_failed_call_and_the_same_call_later_that_succeeds() -> None:
    failed = ToolCall("pay", {"id": 1}, "timeout", status="failed", id="a")
    worked = ToolCall("pay", {"id": 1}, "ok", status="completed", id="b")
    steps = tool_match("pay", status="failed"), tool_match("pay", status="completed")
    assert judged(*steps, over=scope(turn("s0.t0", [failed, worked], "+a -a +b -b"))).outcome == "matched"
    assert judged(*steps, over=scope(turn("s0.t0", [worked, failed], "+b -b +a -a"))).outcome == "mismatched"


def test_doubtful_calls_leave_it_open_and_broken_ones_say_so() -> None:
    lost = scope(turn("s0.t0", [LOST, MAIL], "+p -p +m -m"))
    assert judged(tool_match("pay", input={"id": 1}), "mail", over=lost).outcome == "unavailable"
    breaks = tool_match("pay", input=satisfies("breaks", lambda value: value["missing"]))
    assert judged(breaks, "mail", over=scope(turn("s0.t0", [PAY, MAIL], "+p -p +m -m"))).outcome == "errored"


@pytest.mark.parametrize(
    ("over", "said"),
    [
        (scope(turn("s0.t0", [PAY, MAIL], "+p +m -p -m")),
         "tool_match('mail') at s0.t0.c1 had started before tool_match('pay') at s0.t0.c0 finished"),
        (scope(turn("s0.t0", [OPEN, MAIL], "+p +m -m")),
         "tool_match('pay') at s0.t0.c0 has no result, so that nothing came after it"),
        (scope(turn("s0.t0", [MAIL], "+m -m")), "tool_match('pay') was not called"),
        (scope(turn("s0.t0", [PAY]), turn("s1.t0", [MAIL])),
         "tool_match('mail') was not called in the session in which tool_match('pay') was, at s0.t0.c0"),
    ],
)  # fmt: skip
def test_the_mismatch_says_where_the_order_broke(over: CallScope, said: str) -> None:
    assert judged("pay", "mail", over=over).diagnostic.message == said


def test_the_reason_names_the_pair_that_no_event_tells_apart() -> None:
    evaluation = judged("pay", "mail", over=scope(turn("s0.t0", [PAY, MAIL])))
    assert evaluation.reason == ("no event says whether pay at s0.t0.c0 had finished when mail at s0.t0.c1 started")
    assert findings(evaluation).candidates == ("s0.t0.c0", "s0.t0.c1")


def test_calls_without_ids_are_told_apart_by_their_input() -> None:
    one, two = ToolCall("pay", {"id": 1}, 1), ToolCall("pay", {"id": 2}, 2)
    started = [ToolCallStarted(ToolCall("pay", {"id": n})) for n in (1, 2)]
    trace = TurnTrace("s0.t0", "Hi", (one, two), [Message("user", "Hi"), *started, ToolCallFinished(two)])
    found = spans([trace])
    assert found["s0.t0.c0"].started < found["s0.t0.c1"].started < found["s0.t0.c1"].finished
    assert found["s0.t0.c0"].finished[0] < found["s0.t0.c1"].finished[0] < found["s0.t0.c0"].finished[1]


def test_a_scope_that_says_nothing_of_its_turns_is_read_from_its_calls() -> None:
    calls = CallScope((("s0.t0.c0", PAY), ("s0.t1.c0", MAIL)))
    assert judged("pay", "mail", over=calls).outcome == "matched"


def test_it_is_data_and_refuses_anything_but_a_bool() -> None:
    claim = tool_order("a", "b", finished=True)
    assert from_spec(claim.spec()) == claim != tool_order("a", "b")
    assert repr(claim) == "tool_order('a', 'b', finished=True)"
    assert "finished" not in tool_order("a", "b").spec()
    with pytest.raises(TypeError, match="finished is True or False"):
        tool_order("a", "b", finished=1)  # type: ignore[arg-type]


@given(st.permutations(["+a", "-a", "+b", "-b", "+c", "-c"]), st.permutations(["a", "b", "c"]))
def test_it_agrees_with_trying_every_chain(events: list[str], listed: list[str]) -> None:
    starts = {step[1:]: place for place, step in enumerate(events) if step[0] == "+"}
    ends = {step[1:]: place for place, step in enumerate(events) if step[0] == "-"}
    if any(ends[name] < starts[name] for name in starts):
        return
    calls = [ToolCall("t", {"n": name}, 1, status="completed", id=name) for name in listed]
    over = scope(turn("s0.t0", calls, " ".join(events)))
    expected = any(ends[one] < starts[two] for one, two in permutations("abc", 2))
    assert (judged("t", "t", over=over).outcome == "matched") == expected
