"""Anthropic's messages, as its SDK has them."""

from typing import Any

import pytest
from anthropic.types import Message

from niceeval import Usage, transcript_from_anthropic

ASKED = {"role": "user", "content": "Where is ORD-1?"}


def answer(*blocks: dict[str, Any], reason: str | None = "end_turn", **more: Any) -> Message:
    """Return a message as the SDK gives it."""
    return Message.model_validate(
        {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": list(blocks),
            "stop_reason": reason, "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 5}, **more,
        }
    )  # fmt: skip


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


LOOKUP = {"type": "tool_use", "id": "t1", "name": "lookup", "input": {"id": "ORD-1"}}


def result(**more: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "in transit", **more}]}


@pytest.mark.parametrize("dumped", [False, True])
def test_whole_responses_say_how_they_ended_and_what_they_used(dumped: bool) -> None:
    thought = {"type": "thinking", "thinking": "Look it up.", "signature": "x"}
    first = answer(thought, text("One moment."), LOOKUP, reason="tool_use")
    second = answer(text("It is "), text("on its way."), usage={
        "input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 10,
    })  # fmt: skip
    said = [each.model_dump() if dumped else each for each in (first, second)]
    (turn,) = transcript_from_anthropic([ASKED, said[0], result(), said[1]]).turns
    assert (turn.status, turn.messages) == ("completed", ("One moment.", "It is on its way."))
    assert turn.usage == Usage(input_tokens=121, output_tokens=7)
    assert turn.coverage["usage"] == "complete"
    assert [event.kind for event in turn.events] == [
        "message", "thinking", "message", "tool_call_started", "tool_call_finished", "message",
    ]  # fmt: skip


def test_messages_as_they_are_sent_do_not_say_how_the_last_turn_ended() -> None:
    said = {"role": "assistant", "content": "On its way."}
    first, second = transcript_from_anthropic({"messages": [ASKED, said, ASKED, said], "system": "Be kind."}).turns
    assert (first.status, second.status, second.usage) == ("completed", None, None)


@pytest.mark.parametrize(
    ("flag", "status"), [({"is_error": True}, "failed"), ({"is_error": False}, "completed"), ({}, None)]
)
def test_a_result_says_whether_it_is_an_error_or_nothing(flag: dict[str, Any], status: str | None) -> None:
    (turn,) = transcript_from_anthropic([ASKED, answer(LOOKUP, reason="tool_use"), result(**flag)]).turns
    assert [(call.output, call.status) for call in turn.tool_calls or ()] == [("in transit", status)]
    assert turn.status is None, "the tool has answered, and the agent has not"


def test_words_beside_a_result_begin_the_next_turn() -> None:
    both = {"role": "user", "content": [*result()["content"], text("And ORD-2?")]}
    first, second = transcript_from_anthropic([ASKED, answer(LOOKUP, reason="tool_use"), both]).turns
    assert [call.output for call in first.tool_calls or ()] == ["in transit"]
    assert (second.input, second.tool_calls) == ("And ORD-2?", ())


def test_the_tools_of_the_provider_answer_in_the_agents_message() -> None:
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}}
    found = {
        "type": "web_search_result",
        "title": "X",
        "url": "https://x.org",
        "encrypted_content": "e",
        "page_age": None,
    }
    failed = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    (turn,) = transcript_from_anthropic([
        ASKED,
        answer(
            search, {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [found]},
            {**search, "id": "s2"}, {"type": "web_search_tool_result", "tool_use_id": "s2", "content": failed},
            text("Found."),
        ),
    ]).turns  # fmt: skip
    first, second = turn.tool_calls or ()
    assert (first.input, first.output[0]["title"], first.status) == ({"query": "x"}, "X", "completed")
    assert (second.output["error_code"], second.status) == ("max_uses_exceeded", "failed")
    assert (turn.status, turn.coverage["tool_calls"], turn.messages) == ("completed", "complete", ("Found.",))


def test_a_turn_that_the_provider_paused_goes_on_in_the_next_message() -> None:
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}}
    came = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
    paused, rest = answer(search, reason="pause_turn"), answer(came, text("Nothing."))
    (turn,) = transcript_from_anthropic([ASKED, paused.model_dump(), rest.model_dump()]).turns
    assert [(call.output, call.status) for call in turn.tool_calls or ()] == [([], "completed")]
    assert (turn.status, turn.messages) == ("completed", ("Nothing.",))


def test_servers_are_known_where_the_format_says_them() -> None:
    blocks = [
        {"type": "mcp_tool_use", "id": "m1", "name": "search", "server_name": "docs", "input": {"q": "x"}},
        {"type": "mcp_tool_result", "tool_use_id": "m1", "is_error": False, "content": [text("found")]},
        text("Found."),
    ]
    (turn,) = transcript_from_anthropic([ASKED, {"role": "assistant", "content": blocks}]).turns
    (call,) = turn.tool_calls or ()
    assert (call.server, call.name, call.output, call.status) == ("docs", "search", "found", "completed")


@pytest.mark.parametrize("reason", ["max_tokens", "refusal", "model_context_window_exceeded"])
def test_an_answer_that_was_cut_off_failed(reason: str) -> None:
    (turn,) = transcript_from_anthropic([ASKED, answer(text("On i"), reason=reason)]).turns
    assert turn.status == "failed"
    assert turn.coverage["messages"] == turn.coverage["tool_calls"] == "partial"
    assert reason in turn.reasons["messages"]


def test_what_is_not_read_is_said() -> None:
    image = {"type": "image", "source": {"type": "url", "url": "x"}}
    (turn,) = transcript_from_anthropic([
        {"role": "user", "content": [text("See: "), image]},
        {"role": "assistant", "content": [{"type": "telepathy", "thought": "x"}, {"type": "tool_use", "id": "t"}]},
    ]).turns  # fmt: skip
    assert turn.input == "See: "
    assert "'image'" in turn.reasons["input"]
    assert "'telepathy'" in turn.reasons["tool_calls"]
    assert "a call without a name" in turn.reasons["tool_calls"]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("text", "takes a list of Anthropic messages, got str"),
        ({"content": []}, "a mapping without messages"),
        ([ASKED, {"role": "tool", "content": "x"}], r"messages\[1\] has the role 'tool'"),
        ([{"role": "user", "content": 7}], r"messages\[0\] content is text or a list of blocks, got int"),
    ],
)
def test_what_is_no_conversation_is_refused_with_its_place(given: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        transcript_from_anthropic(given)
