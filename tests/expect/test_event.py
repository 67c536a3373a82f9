from typing import Any

import pytest

from niceeval import (
    ContextCompacted,
    ErrorEvent,
    InputRequested,
    Message,
    SkillLoaded,
    Thinking,
    ToolCall,
    ToolCallFinished,
    ToolCallStarted,
)
from niceeval_expect import Absent, any_of, event_match, from_spec, includes, tool_match

SEARCH = ToolCall("search", {"q": "cats"})
HELLO = Message("assistant", "Hello")


@pytest.mark.parametrize(
    ("match", "event", "outcome", "code"),
    [
        (event_match("message"), HELLO, "matched", "matched"),
        (event_match("message", role="assistant"), HELLO, "matched", "matched"),
        (event_match("message", role="user"), HELLO, "mismatched", "role"),
        (event_match("message", text=includes("ell")), HELLO, "matched", "matched"),
        (event_match("message", text="Hello"), HELLO, "matched", "matched"),
        (event_match("message", text="hello"), HELLO, "mismatched", "text"),
        (event_match("thinking"), HELLO, "mismatched", "kind"),
        (event_match("thinking", text=includes("order")), Thinking("the order is missing"), "matched", "matched"),
        (event_match("input_requested", text=includes("delete")), InputRequested("May I delete it?"), "matched", "matched"),
        (event_match("skill_loaded", text="invoices"), SkillLoaded("invoices"), "matched", "matched"),
        (event_match("error", text=includes("timed out")), ErrorEvent("search timed out"), "matched", "matched"),
        (event_match("context_compacted"), ContextCompacted(), "matched", "matched"),
        (event_match("tool_call_started"), ToolCallStarted(SEARCH), "matched", "matched"),
        (event_match("tool_call_started", tool=tool_match("search")), ToolCallStarted(SEARCH), "matched", "matched"),
        (event_match("tool_call_started", tool=tool_match("open")), ToolCallStarted(SEARCH), "mismatched", "call"),
        (event_match("tool_call_finished"), ToolCallStarted(SEARCH), "mismatched", "kind"),
        (event_match("tool_call_finished", tool=tool_match("search", output="x")), ToolCallFinished(SEARCH), "unavailable", "absent"),
        (event_match("message"), "Hello", "mismatched", "type"),
        (event_match("message"), SEARCH, "mismatched", "type"),
        (event_match("message"), Absent("no events were reported"), "unavailable", "absent"),
    ],
)  # fmt: skip
def test_an_event_match_is_an_and_over_one_event(match: Any, event: object, outcome: str, code: str) -> None:
    evaluation = match.evaluate(event)
    assert (evaluation.outcome, evaluation.code) == (outcome, code)


def test_the_diagnostic_points_into_the_event() -> None:
    match = event_match("tool_call_started", tool=tool_match("search", input={"q": "dogs"}))
    (call,) = match.evaluate(ToolCallStarted(SEARCH)).diagnostic.children
    assert call.pointer == "/call"
    assert "cats" in str(call.as_document())


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: event_match("error"), "event_match('error')"),
        (
            lambda: event_match("message", role="user", text=includes("x")),
            "event_match('message', role='user', text=includes('x'))",
        ),
        (lambda: event_match("message", text="Hi"), "event_match('message', text='Hi')"),
        (
            lambda: event_match("tool_call_started", tool=tool_match("search") | tool_match("open")),
            "event_match('tool_call_started', tool=any_of(tool_match('search'), tool_match('open')))",
        ),
        (
            lambda: event_match("error") | ~event_match("message"),
            "any_of(event_match('error'), not_(event_match('message')))",
        ),
    ],
)
def test_an_event_match_is_data_and_reads_like_its_call(build: Any, text: str) -> None:
    match = build()
    assert repr(match) == text
    assert from_spec(match.spec()) == match == build()


def test_event_matches_compose_among_themselves_only() -> None:
    both = event_match("message", role="user") & event_match("message", text=includes("ell"))
    assert both.evaluate(HELLO).outcome == "mismatched"
    tool: Any = tool_match("search")
    with pytest.raises(TypeError, match="mixes"):
        any_of(event_match("error"), tool)


@pytest.mark.parametrize(
    ("kind", "options", "error", "says"),
    [
        ("mesage", {}, ValueError, "did you mean 'message'"),
        ("tool call started", {}, ValueError, "did you mean 'tool_call_started'"),
        ("nonsense", {}, ValueError, r"knows no event 'nonsense'; known are message, tool_call_started"),
        (None, {}, ValueError, "knows no event None"),
        ("message", {"role": "system"}, ValueError, "'user' or 'assistant'.*got 'system'"),
        ("thinking", {"role": "assistant"}, ValueError, "role= says nothing about thinking events"),
        ("context_compacted", {"text": "x"}, ValueError, "text= says nothing about context_compacted events"),
        ("message", {"tool": tool_match("x")}, ValueError, "tool= says nothing about message events"),
        ("tool_call_started", {"tool": "search"}, TypeError, "takes a tool match.*got 'search'"),
        ("message", {"text": tool_match("x")}, TypeError, "text takes a value or a value match"),
    ],
)
def test_a_bad_argument_is_refused_with_a_sentence(
    kind: Any, options: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        event_match(kind, **options)
