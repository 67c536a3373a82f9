from typing import Any

import pytest

from niceeval import ErrorEvent, Message, Thinking, ToolCall, ToolCallFinished, ToolCallStarted
from niceeval_expect import event_match, from_spec, includes, satisfies, tool_match
from niceeval_expect._event_scope import EventScope, event, event_order, not_event
from niceeval_expect._scope import findings

ASKED = Message("user", "Where is it?")
SAID = Message("assistant", "On its way.")
STARTED = ToolCallStarted(ToolCall("search", {"q": "cats"}))
FINISHED = ToolCallFinished(ToolCall("search", {"q": "cats"}, []))
BROKE = ErrorEvent("search timed out")


def scope(*events: Any, session: int = 0, **options: Any) -> EventScope:
    return EventScope(tuple((f"s{session}.t0.e{n}", item) for n, item in enumerate(events)), **options)


ERROR = event_match("error")
ANSWER = event_match("message", role="assistant")
START = event_match("tool_call_started", tool=tool_match("search"))
NO_ERRORS_KNOWN = {"error": "the agent reports no events of its own"}
STRANGE = event_match("tool_call_started", tool=tool_match("search", input=includes("cats")))
EXPLODES = event_match("message", text=satisfies("explodes", lambda text: text.missing))


@pytest.mark.parametrize(
    ("claim", "events", "outcome"),
    [
        (event(ANSWER), scope(ASKED, SAID), "matched"),
        (event(ERROR), scope(ASKED, SAID), "mismatched"),
        (event(ERROR), scope(), "mismatched"),
        (not_event(ERROR), scope(ASKED, SAID), "matched"),
        (not_event(ERROR), scope(ASKED, BROKE), "mismatched"),
        # what was not reported
        (event(ANSWER), scope(ASKED, coverage="partial"), "unavailable"),
        (event(ANSWER), scope(ASKED, SAID, coverage="partial"), "matched"),
        (not_event(ERROR), scope(coverage="none"), "unavailable"),
        # a gap in one kind leaves the others decided
        (not_event(ERROR), scope(ASKED, SAID, gaps=NO_ERRORS_KNOWN), "unavailable"),
        (event(ERROR), scope(ASKED, SAID, gaps=NO_ERRORS_KNOWN), "unavailable"),
        (event(event_match("thinking")), scope(ASKED, SAID, gaps=NO_ERRORS_KNOWN), "mismatched"),
        (not_event(ANSWER), scope(ASKED, gaps=NO_ERRORS_KNOWN), "matched"),
        (not_event(ANSWER | ERROR), scope(ASKED, gaps=NO_ERRORS_KNOWN), "unavailable"),
        (not_event(~event_match("message")), scope(ASKED, gaps=NO_ERRORS_KNOWN), "unavailable"),
        # a broken evaluator is no absence, and neither is a call that the match cannot speak about
        (not_event(EXPLODES), scope(SAID), "errored"),
        (not_event(STRANGE), scope(STARTED), "mismatched"),
        (not_event(STRANGE), scope(SAID), "matched"),
        # order
        (event_order(START, ANSWER), scope(ASKED, STARTED, FINISHED, SAID), "matched"),
        (event_order(ANSWER, START), scope(ASKED, STARTED, FINISHED, SAID), "mismatched"),
        (event_order(event_match("thinking"), ANSWER), scope(Thinking("hm"), SAID), "matched"),
        (event_order(ERROR, ANSWER), scope(SAID, gaps=NO_ERRORS_KNOWN), "unavailable"),
        (event_order(START, ANSWER), scope(STARTED, coverage="partial"), "unavailable"),
    ],
)
def test_events_are_claimed_by_what_is_certain(claim: Any, events: EventScope, outcome: str) -> None:
    assert claim.evaluate(events).outcome == outcome


def test_events_of_two_sessions_have_no_order() -> None:
    both = EventScope((*scope(SAID).events, *scope(STARTED, session=1).events))
    assert event_order(ANSWER, START).evaluate(both).outcome == "mismatched"


def test_the_report_shows_the_event_that_was_not_wanted_or_came_close() -> None:
    denied = not_event(ERROR).evaluate(scope(ASKED, BROKE))
    assert denied.diagnostic.message == "1 event like that, none wanted"
    (witness,) = denied.diagnostic.children
    assert (witness.pointer, witness.received) == ("/s0.t0.e1", {"kind": "error", "text": "search timed out"})
    assert findings(denied).matching == ("s0.t0.e1",)
    missed = event(event_match("message", role="assistant", text=includes("refund"))).evaluate(scope(ASKED, SAID))
    assert missed.diagnostic.message == "no event like that among 2 events (message)"
    assert "On its way." in str(missed.diagnostic.as_document())
    unknown = not_event(ERROR).evaluate(scope(SAID, gaps=NO_ERRORS_KNOWN))
    assert unknown.reason == "the agent reports no events of its own"


def test_the_last_of_ten_thousand_events_decides() -> None:
    denied = not_event(ERROR).evaluate(scope(*[SAID] * 10_000, BROKE))
    assert (denied.outcome, denied.examined) == ("mismatched", 10_001)
    assert [child.pointer for child in denied.diagnostic.children] == ["/s0.t0.e10000"]


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: event(ERROR), "event(event_match('error'))"),
        (lambda: not_event(ANSWER), "not_event(event_match('message', role='assistant'))"),
        (
            lambda: event_order(ANSWER, ERROR),
            "event_order(event_match('message', role='assistant'), event_match('error'))",
        ),
    ],
)
def test_a_claim_is_data_and_reads_like_its_call(build: Any, text: str) -> None:
    claim = build()
    assert repr(claim) == text
    assert from_spec(claim.spec()) == claim == build()


@pytest.mark.parametrize(
    ("build", "arguments"),
    [(event, ("error",)), (not_event, (None,)), (event_order, (ERROR, tool_match("search")))],
)
def test_a_bad_argument_is_refused_with_a_sentence(build: Any, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match="takes an event match"):
        build(*arguments)


def test_another_subject_is_a_type_mismatch() -> None:
    assert event(ERROR).evaluate([BROKE]).code == "type"
    assert event_order(ERROR, ANSWER).evaluate(None).code == "type"
