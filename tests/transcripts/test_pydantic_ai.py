"""Histories of pydantic-ai, made by its agents."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ModelRetry, ToolDenied
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from niceeval import ErrorEvent, Thinking, Usage, transcript_from_pydantic_ai

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the library itself


def model(*responses: ModelResponse) -> FunctionModel:
    """Return a model that answers like this, one after the other."""
    left = list(responses)

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return left.pop(0)

    return FunctionModel(answer)


def forms(messages: Sequence[ModelMessage]) -> list[Any]:
    written = ModelMessagesTypeAdapter.dump_json(list(messages))
    return [messages, written, written.decode(), ModelMessagesTypeAdapter.dump_python(list(messages), mode="json")]


def test_a_run_reads_the_same_from_objects_and_json() -> None:
    agent = Agent(
        model(
            ModelResponse(
                parts=[ThinkingPart("Look it up."), ToolCallPart("lookup", {"id": "bad"}, "c1")],
                usage=RequestUsage(input_tokens=10, output_tokens=5),
            ),
            ModelResponse(
                parts=[ToolCallPart("lookup", '{"id": "ORD-1"}', "c2")],
                usage=RequestUsage(input_tokens=20, output_tokens=6),
            ),
            ModelResponse(
                parts=[TextPart("On its way.")], usage=RequestUsage(input_tokens=30, output_tokens=7),
                finish_reason="stop",
            ),
        ),
        system_prompt="Be kind.",
    )  # fmt: skip

    @agent.tool_plain(retries=2)
    def lookup(id: str) -> dict[str, str]:
        if id == "bad":
            raise ModelRetry("no such order")
        return {"state": "in transit"}

    messages = asyncio.run(agent.run("Where is ORD-1?")).all_messages()
    for form in forms(messages):
        (turn,) = transcript_from_pydantic_ai(form).turns
        assert (turn.input, turn.messages, turn.status) == ("Where is ORD-1?", ("On its way.",), "completed")
        retried, found = turn.tool_calls or ()
        assert (retried.input, retried.status) == ({"id": "bad"}, "failed")
        assert "no such order" in str(retried.output)
        assert (found.input, found.output, found.status) == ({"id": "ORD-1"}, {"state": "in transit"}, "completed")
        assert turn.usage == Usage(input_tokens=60, output_tokens=18)
        assert Thinking("Look it up.") in turn.events
        assert set(turn.coverage.values()) == {"complete"}


def test_a_run_that_gave_a_typed_output_is_completed() -> None:
    class Order(BaseModel):
        id: str

    agent = Agent(model(ModelResponse(parts=[ToolCallPart("final_result", {"id": "ORD-1"}, "c1")])), output_type=Order)
    result = asyncio.run(agent.run("Which?"))
    assert result.output == Order(id="ORD-1")
    (turn,) = transcript_from_pydantic_ai(result.all_messages_json()).turns
    assert (turn.status, turn.messages) == ("completed", ())


def test_a_call_that_was_denied_is_rejected() -> None:
    agent = Agent(
        model(
            ModelResponse(parts=[ToolCallPart("delete", {"id": 7}, "c1")]),
            ModelResponse(parts=[TextPart("As you like.")], finish_reason="stop"),
        ),
        output_type=[str, DeferredToolRequests],
    )

    @agent.tool_plain(requires_approval=True)
    def delete(id: int) -> str:
        return "deleted"

    asked = asyncio.run(agent.run("Delete user 7"))
    (waiting,) = transcript_from_pydantic_ai(asked.all_messages_json()).turns
    assert [call.status for call in waiting.tool_calls or ()] == ["pending"]
    denied = asyncio.run(
        agent.run(
            message_history=asked.all_messages(),
            deferred_tool_results=DeferredToolResults(approvals={"c1": ToolDenied("never")}),
        )
    )
    (turn,) = transcript_from_pydantic_ai(denied.all_messages_json()).turns
    assert [(call.status, call.output) for call in turn.tool_calls or ()] == [("rejected", "never")]
    assert turn.status == "completed"


def test_usage_of_nothing_is_no_usage_and_some_of_it_a_part() -> None:
    parts = [TextPart("x")]
    (silent,) = transcript_from_pydantic_ai([request("Hi"), ModelResponse(parts=parts)]).turns
    assert (silent.usage, silent.coverage["usage"]) == (None, "none")
    told = ModelResponse(parts=parts, usage=RequestUsage(input_tokens=3, output_tokens=4))
    (some,) = transcript_from_pydantic_ai([request("Hi"), told, ModelResponse(parts=parts)]).turns
    assert (some.usage, some.coverage["usage"]) == (Usage(input_tokens=3, output_tokens=4), "partial")
    assert some.reasons["usage"] == "1 of 2 messages do not say what they used"
    before = {"kind": "response", "parts": [], "usage": {"request_tokens": 1, "response_tokens": 2}}
    (old,) = transcript_from_pydantic_ai([request("Hi"), before]).turns
    assert old.usage == Usage(input_tokens=1, output_tokens=2)


def request(text: str) -> dict[str, Any]:
    return {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": text}]}


def test_an_output_that_was_not_valid_is_an_error_on_the_way() -> None:
    retry = {"kind": "request", "parts": [{"part_kind": "retry-prompt", "content": "Plain text, please."}]}
    (turn,) = transcript_from_pydantic_ai([request("Hi"), retry]).turns
    assert ErrorEvent("Plain text, please.") in turn.events


@pytest.mark.parametrize("reason", [{"finish_reason": "length"}, {"state": "interrupted"}])
def test_an_answer_that_was_cut_off_failed(reason: dict[str, str]) -> None:
    said = {"kind": "response", "parts": [{"part_kind": "text", "content": "On i"}], **reason}
    (turn,) = transcript_from_pydantic_ai([request("Hi"), said]).turns
    assert (turn.status, turn.coverage["messages"], turn.coverage["tool_calls"]) == ("failed", "partial", "partial")


def test_what_is_not_read_is_said() -> None:
    (turn,) = transcript_from_pydantic_ai([
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": ["See", {"kind": "image-url", "url": "x"}]}]},
        {"kind": "response", "parts": [{"part_kind": "telepathy"}, {"part_kind": "file", "content": {}}]},
        {"kind": "request", "parts": [{"part_kind": "omen", "content": "x"}]},
    ]).turns  # fmt: skip
    assert "'image-url'" in turn.reasons["input"]
    assert "'file'" in turn.reasons["messages"]
    assert "'telepathy'" in turn.reasons["tool_calls"]
    assert "'omen'" in turn.reasons["tool_calls"]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("{", "got text that is no JSON"),
        (7, "takes a list of pydantic-ai messages, got int"),
        ([{"role": "user", "content": "x"}], r"messages\[0\] is of the kind None"),
        ([{"kind": "request", "parts": "x"}], r"messages\[0\] parts is a list, got str"),
    ],
)
def test_what_is_no_history_is_refused_with_its_place(given: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        transcript_from_pydantic_ai(given)
