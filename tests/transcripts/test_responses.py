"""Items of the Responses API, as its SDK has them."""

from typing import Any

import pytest
from openai.types.responses import Response

from niceeval import InputRequested, ToolNames, Usage, transcript_from_responses

ASKED = {"role": "user", "content": [{"type": "input_text", "text": "Where is ORD-1?"}]}


def response(*output: dict[str, Any], **more: Any) -> Response:
    """Return a response as the SDK gives it."""
    return Response.model_validate(
        {
            "id": "resp_1", "object": "response", "created_at": 1, "model": "m", "output": list(output),
            "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "status": "completed", **more,
        }
    )  # fmt: skip


def usage(read: int, written: int) -> dict[str, Any]:
    return {
        "input_tokens": read, "output_tokens": written, "total_tokens": read + written,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }  # fmt: skip


def message(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": list(parts)}


def text(said: str) -> dict[str, Any]:
    return {"type": "output_text", "text": said, "annotations": []}


LOOKUP = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "lookup", "arguments": '{"id": "ORD-1"}'}
FOUND = {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "in transit"}]}


@pytest.mark.parametrize("dumped", [False, True])
def test_whole_responses_say_how_they_ended_and_what_they_used(dumped: bool) -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Look it up."}]}
    first, second = (
        response(thought, LOOKUP, usage=usage(10, 5)),
        response(message(text("On its way.")), usage=usage(20, 6)),
    )
    given = [response.model_dump() if dumped else response for response in (first, second)]
    (turn,) = transcript_from_responses([ASKED, given[0], FOUND, given[1]]).turns
    assert (turn.input, turn.status, turn.messages) == ("Where is ORD-1?", "completed", ("On its way.",))
    assert turn.usage == Usage(input_tokens=30, output_tokens=11)
    assert [event.kind for event in turn.events] == [
        "message", "thinking", "tool_call_started", "tool_call_finished", "message",
    ]  # fmt: skip
    assert [(call.output, call.status) for call in turn.tool_calls or ()] == [("in transit", None)]


def test_one_response_with_what_went_in_is_a_conversation() -> None:
    answer = response(message(text("Hello"), {"type": "refusal", "refusal": "No."}))
    (turn,) = transcript_from_responses({"input": "Hi", "output": answer.model_dump()["output"]}).turns
    assert (turn.input, turn.messages, turn.status) == ("Hi", ("HelloNo.",), None)


def test_a_response_that_was_cut_off_failed_and_more_may_be_missing() -> None:
    cut = response(
        message(text("On it")), status="incomplete", incomplete_details={"reason": "max_output_tokens"}
    )  # fmt: skip
    (turn,) = transcript_from_responses([ASKED, cut]).turns
    assert (turn.status, turn.messages) == ("failed", ("On it",))
    assert turn.coverage["messages"] == turn.coverage["tool_calls"] == "partial"
    assert "cut off for its length" in turn.reasons["messages"]


def test_a_response_that_failed_says_why() -> None:
    failed = response(status="failed", error={"code": "server_error", "message": "out of order"})
    (turn,) = transcript_from_responses([ASKED, failed]).turns
    assert (turn.status, turn.failure, turn.messages) == ("failed", "the response failed: out of order", ())


def test_the_servers_of_the_provider_make_calls_like_any_other() -> None:
    mcp = {"type": "mcp_call", "id": "mcp_1", "name": "search", "server_label": "docs", "arguments": '{"q": "x"}'}
    (turn,) = transcript_from_responses([
        ASKED,
        response(
            {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}},
            {**mcp, "output": "found", "status": "completed"},
            {**mcp, "id": "mcp_2", "error": {"type": "mcp_protocol_error", "code": 1, "message": "down"}},
            {"type": "code_interpreter_call", "id": "ci_1", "status": "completed", "code": "1+1", "container_id": "x",
             "outputs": [{"type": "logs", "logs": "2"}]},
            message(text("Done.")),
        ).model_dump(),
    ]).turns  # fmt: skip
    search, found, down, code = turn.tool_calls or ()
    assert (search.name, search.input["query"], search.status) == ("web_search", "x", "completed")
    assert (found.name, found.server, found.input, found.output, found.status) == (
        "search", "docs", {"q": "x"}, "found", "completed",
    )  # fmt: skip
    assert (down.status, down.output["message"]) == ("failed", "down")
    assert (code.name, code.input, code.output[0]["logs"]) == ("code_interpreter", {"code": "1+1"}, "2")
    assert turn.coverage["tool_calls"] == "complete"
    assert turn.status == "completed"


def test_a_call_waits_for_approval_and_is_rejected_or_made() -> None:
    request = {"type": "mcp_approval_request", "id": "apr_1", "name": "delete", "server_label": "db", "arguments": "{}"}
    asked = [ASKED, request]
    (waiting,) = transcript_from_responses(asked).turns
    assert (waiting.status, [call.status for call in waiting.tool_calls or ()]) == ("waiting", ["pending"])
    assert InputRequested("May delete be called?") in waiting.events
    answer = {"type": "mcp_approval_response", "approval_request_id": "apr_1", "approve": False}
    (denied,) = transcript_from_responses([*asked, answer, message(text("As you like."))]).turns
    assert [call.status for call in denied.tool_calls or ()] == ["rejected"]
    made = {**request, "type": "mcp_call", "id": "mcp_1", "approval_request_id": "apr_1", "output": "deleted"}
    (done,) = transcript_from_responses([*asked, {**answer, "approve": True}, made, message(text("Done."))]).turns
    assert [(call.name, call.server, call.output) for call in done.tool_calls or ()] == [("delete", "db", "deleted")]


def test_blank_arguments_of_a_call_that_was_cut_off_are_not_known() -> None:
    (turn,) = transcript_from_responses([ASKED, {**LOOKUP, "arguments": "", "status": "incomplete"}]).turns
    (call,) = turn.tool_calls or ()
    assert call.input.reason == "the answer ended before the call's arguments did"


def test_what_is_not_read_is_said() -> None:
    (turn,) = transcript_from_responses([
        {"role": "user", "content": [{"type": "input_image", "image_url": "x"}]},
        {"type": "item_reference", "id": "msg_9"},
        {"type": "telepathy_call", "id": "t1"},
        {"type": "function_call", "call_id": "c1", "name": "", "arguments": "{}"},
        message(text("Hm.")),
    ]).turns  # fmt: skip
    assert "input_image" in turn.reasons["input"]
    for sign in ("msg_9", "telepathy_call", "a call without a name"):
        assert sign in turn.reasons["tool_calls"]
    assert "msg_9" in turn.reasons["messages"]


def test_names_of_servers_are_resolved_and_statuses_supplied() -> None:
    names = ToolNames({"github": ["search"]})
    call = {**LOOKUP, "name": "github__search"}
    (turn,) = transcript_from_responses([ASKED, call, FOUND, message(text("x"))], tool_names=names,
                                        tool_status=lambda call: "completed",
                                        turn_status=lambda turn: "completed").turns  # fmt: skip
    assert [(call.server, call.name, call.status) for call in turn.tool_calls or ()] == [
        ("github", "search", "completed")
    ]
    assert turn.status == "completed"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("text", "takes a list of items, got str"),
        ([{"content": "x"}], "item 0 has neither a type nor a role"),
        ([{"role": "narrator", "content": "x"}], "item 0 has the role 'narrator'"),
        ([{"role": "user", "content": 7}], "item 0 content is text or a list of parts, got int"),
    ],
)
def test_what_is_no_conversation_is_refused_with_its_place(given: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        transcript_from_responses(given)
