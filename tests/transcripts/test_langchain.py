"""LangChain's messages and LangGraph's states, made by the libraries themselves."""

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.load import dumpd
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    messages_to_dict,
)
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import interrupt

from niceeval import InputRequested, Thinking, Usage, transcript_from_langchain

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the libraries themselves


class Script(BaseChatModel):
    """A model that says what it is told to, one message after the other."""

    says: list[AIMessage]

    @property
    def _llm_type(self) -> str:
        return "script"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.says.pop(0))])


@tool
def lookup(id: str) -> str:
    """Look an order up."""
    if id == "bad":
        raise ValueError("no such order")
    return "in transit"


@tool
def delete(id: str) -> str:
    """Delete an order, if somebody allows it."""
    return str(interrupt({"question": f"Delete {id}?"}))


def asks(name: str, id: str, call_id: str) -> AIMessage:
    return AIMessage(
        "", tool_calls=[{"name": name, "args": {"id": id}, "id": call_id}],
        usage_metadata={"input_tokens": 10, "output_tokens": 5, "total_tokens": 15},
        response_metadata={"finish_reason": "tool_calls"},
    )  # fmt: skip


def says(text: str) -> AIMessage:
    return AIMessage(
        text, usage_metadata={"input_tokens": 20, "output_tokens": 6, "total_tokens": 26},
        response_metadata={"finish_reason": "stop"},
    )  # fmt: skip


def graph(script: Sequence[AIMessage]) -> Any:
    model = Script(says=list(script))
    builder = StateGraph(MessagesState)
    builder.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_node("tools", ToolNode([lookup, delete], handle_tool_errors=True))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", tools_condition)
    builder.add_edge("tools", "model")
    return builder.compile(checkpointer=InMemorySaver())


THREAD: Any = {"configurable": {"thread_id": "1"}}


def forms(messages: list[BaseMessage]) -> list[Any]:
    """Return the same messages in every form that they are written down in."""
    return [
        messages,
        messages_to_dict(messages),
        [message.model_dump() for message in messages],
        [dumpd(message) for message in messages],
        {"messages": messages},
        {"values": {"messages": messages_to_dict(messages)}, "next": []},
    ]


def test_a_graph_with_tools_reads_the_same_in_every_form() -> None:
    made = graph([asks("lookup", "bad", "c1"), asks("lookup", "ORD-1", "c2"), says("On its way.")])
    state = made.invoke({"messages": [SystemMessage("Be kind."), HumanMessage("Where is ORD-1?")]}, THREAD)
    for form in [*forms(state["messages"]), state, made.get_state(THREAD)]:
        (turn,) = transcript_from_langchain(form).turns
        assert (turn.input, turn.messages, turn.status) == ("Where is ORD-1?", ("On its way.",), "completed")
        failed, found = turn.tool_calls or ()
        assert (failed.name, failed.input, failed.status) == ("lookup", {"id": "bad"}, "failed")
        assert "no such order" in failed.output
        assert (found.output, found.status, found.id) == ("in transit", "completed", "c2")
        assert turn.usage == Usage(input_tokens=40, output_tokens=16)
        assert set(turn.coverage.values()) == {"complete"}


def test_a_graph_that_was_interrupted_waits() -> None:
    made = graph([asks("delete", "ORD-1", "c1"), says("Deleted.")])
    state = made.invoke({"messages": [HumanMessage("Delete ORD-1")]}, THREAD)
    for form in (state, made.get_state(THREAD)):
        (turn,) = transcript_from_langchain(form).turns
        assert (turn.status, [call.status for call in turn.tool_calls or ()]) == ("waiting", ["pending"])
        assert InputRequested('{"question": "Delete ORD-1?"}') in turn.events


def test_blocks_are_texts_thoughts_and_calls_of_the_provider() -> None:
    said = AIMessage(
        [
            {"type": "reasoning", "reasoning": "Search."},
            {"type": "server_tool_call", "name": "web_search", "args": {"query": "x"}, "id": "s1"},
            {"type": "server_tool_result", "tool_call_id": "s1", "status": "success", "output": "found"},
            {"type": "text", "text": "It is "},
            {"type": "text", "text": "there."},
        ]
    )
    (turn,) = transcript_from_langchain([HumanMessage("Where?"), said]).turns
    assert turn.messages == ("It is there.",)
    assert Thinking("Search.") in turn.events
    assert [(call.name, call.output, call.status) for call in turn.tool_calls or ()] == [
        ("web_search", "found", "completed")
    ]


def test_a_providers_own_form_of_a_call_is_not_a_second_call() -> None:
    block = {"type": "tool_use", "id": "t1", "name": "lookup", "input": {"id": "ORD-1"}}
    said = AIMessage([block], tool_calls=[{"name": "lookup", "args": {"id": "ORD-1"}, "id": "t1"}])
    (turn,) = transcript_from_langchain([HumanMessage("Where?"), said]).turns
    assert [call.id for call in turn.tool_calls or ()] == ["t1"]
    assert turn.coverage["tool_calls"] == "complete"


@pytest.mark.parametrize(
    ("arguments", "raw", "reads"), [('{"id": "OR', '{"id": "OR', False), ("", None, True), (None, None, False)]
)
def test_calls_that_langchain_could_not_parse_are_calls(arguments: str | None, raw: str | None, reads: bool) -> None:
    invalid: Any = [{"name": "lookup", "args": arguments, "id": "c1", "error": "no JSON", "type": "invalid_tool_call"}]
    (turn,) = transcript_from_langchain([HumanMessage("Where?"), AIMessage("", invalid_tool_calls=invalid)]).turns
    (call,) = turn.tool_calls or ()
    assert (call.name, call.raw_input, call.input == {}) == ("lookup", raw, reads)
    assert turn.coverage["tool_calls"] == "complete"


def test_an_answer_that_was_cut_off_failed() -> None:
    said = AIMessage("On i", response_metadata={"stop_reason": "max_tokens"})
    (turn,) = transcript_from_langchain([HumanMessage("Where?"), said]).turns
    assert (turn.status, turn.coverage["messages"]) == ("failed", "partial")


def test_what_is_not_read_is_said() -> None:
    image = {"type": "image", "url": "https://x.org/x.png"}
    nameless: Any = [{"name": None, "args": "{}", "id": "c1", "error": None, "type": "invalid_tool_call"}]
    (turn,) = transcript_from_langchain([
        HumanMessage([{"type": "text", "text": "See"}, image]),
        AIMessage([image, {"type": "non_standard", "value": {}}], invalid_tool_calls=nameless),
        RemoveMessage(id="m9"),
    ]).turns  # fmt: skip
    assert "'image'" in turn.reasons["input"]
    assert "'image'" in turn.reasons["messages"]
    assert "m9" in turn.reasons["messages"]
    assert "'non_standard'" in turn.reasons["tool_calls"]
    assert "a call without a name" in turn.reasons["tool_calls"]


def test_messages_of_a_role_are_that_roles() -> None:
    (turn,) = transcript_from_langchain(
        [ChatMessage(content="Hello", role="user"), {"role": "assistant", "content": "Hi"}]
    ).turns
    assert (turn.input, turn.messages) == ("Hello", ("Hi",))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (7, "takes a list of messages or a state"),
        ({"input": []}, "takes a list of messages or a state"),
        ([{"type": "narrator", "content": "x"}], r"messages\[0\] is of type 'narrator'"),
        ([{"type": "human", "content": 7}], r"messages\[0\] content is text or a list of blocks, got int"),
        ([{"type": "ai", "content": "", "tool_calls": "x"}], r"messages\[0\] tool_calls is a list or null, got str"),
    ],
)
def test_what_is_no_conversation_is_refused_with_its_place(given: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        transcript_from_langchain(given)
