import operator
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Annotated, Any, cast

import anyio
import anyio.lowlevel
import pytest
from langchain_core.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelInvalidRequestError,
    ModelNotFoundError,
    ModelPermissionDeniedError,
    ModelRateLimitError,
    ModelRefusalError,
    ModelTimeoutError,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    convert_to_openai_messages,
)
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import invalid_tool_call
from langchain_core.output_parsers.openai_tools import make_invalid_tool_call, parse_tool_call
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool, tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.runtime import Runtime
from langgraph.types import Interrupt, Send, interrupt
from openai import AsyncOpenAI, OpenAIError
from pydantic import BaseModel
from typing_extensions import TypedDict

from niceeval import AgentContext, AgentFailed, AgentLike, AgentUnavailable, Usage, attempt
from niceeval.agents.langgraph import LangGraphAgent
from niceeval.reply import NO_DATA
from niceeval_expect import Absent, equals
from tests.agents.contract import MODEL, TOOLS, NotApplicable, Scenario, check_contract, each_scenario
from tests.agents.frameworks import far_end, on_trio, raised, talk

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Order(BaseModel):
    order: str


class RemoteModel(BaseChatModel):
    """A chat model of LangChain's that asks a server, and lets the SDK's errors through as integrations do."""

    client: Any
    tools: Any = ()

    @property
    def _llm_type(self) -> str:
        return "remote"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        return RemoteModel(client=self.client, tools=[convert_to_openai_tool(each) for each in tools])

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        raise AssertionError("the graph runs async")

    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        client: AsyncOpenAI = self.client
        sent: Any = convert_to_openai_messages(messages)
        tools: Any = self.tools
        answer = await client.chat.completions.create(model=MODEL, messages=sent, tools=tools)
        said, used = answer.choices[0].message, answer.usage
        calls, broken = [], []
        for call in said.tool_calls or ():
            raw = call.model_dump()
            try:
                calls.append(parse_tool_call(raw, return_id=True))
            except Exception as error:
                broken.append(make_invalid_tool_call(raw, str(error)))
        usage: Any = used and {
            "input_tokens": used.prompt_tokens,
            "output_tokens": used.completion_tokens,
            "total_tokens": used.total_tokens,
        }
        message = AIMessage(said.content or "", tool_calls=calls, invalid_tool_calls=broken, usage_metadata=usage)
        return ChatResult(generations=[ChatGeneration(message=message)])


def graph(model: BaseChatModel, tools: Sequence[BaseTool], **options: Any) -> Any:
    """The graph that everybody begins with: a model and its tools."""
    bound = model.bind_tools(tools)

    async def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await bound.ainvoke(state["messages"])]}

    built = StateGraph(MessagesState)
    built.add_node("answer", answer)
    built.add_node("tools", ToolNode(tools, handle_tool_errors=str))
    built.add_edge(START, "answer")
    built.add_conditional_edges("answer", tools_condition)
    built.add_edge("tools", "answer")
    return built.compile(**options)


def build(scenario: Scenario) -> AbstractContextManager[AgentLike] | NotApplicable:
    if scenario.stream:
        return NotApplicable("how a model streams is its integration's own business: the graph gets whole messages")
    if any(call.input is None for exchange in scenario.exchanges for call in exchange.calls):
        return NotApplicable("the prebuilt tool node leaves calls alone that cannot be read, and the graph ends")
    return wired(scenario)


@contextmanager
def wired(scenario: Scenario) -> Iterator[AgentLike]:
    with far_end(scenario) as client:
        yield LangGraphAgent(graph(RemoteModel(client=client), [tool(each) for each in TOOLS]))


@each_scenario
async def test_it_keeps_the_contract(scenario: Scenario) -> None:
    await check_contract(scenario, build)


# -- What a turn says


class Scripted(BaseChatModel):
    """A model that answers from a script, by how often it has answered in this conversation."""

    steps: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        step = self.steps[sum(message.type == "ai" for message in messages)]
        if isinstance(step, Exception):
            raise step
        return ChatResult(generations=[ChatGeneration(message=step.model_copy())])


def used(read: int, written: int) -> UsageMetadata:
    return UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written)


def calls(*asked: tuple[str, dict[str, Any]], text: Any = "", **more: Any) -> AIMessage:
    listed = [{"name": name, "args": given, "id": f"c{at}"} for at, (name, given) in enumerate(asked, 1)]
    return AIMessage(text, tool_calls=listed, **more)


@tool
def look(at: str) -> str:
    """Look."""
    if at == "void":
        raise ValueError("nothing there")
    return f"{at}: there"


def scripted(*steps: AIMessage | Exception, tools: Sequence[BaseTool] = (look,), **options: Any) -> Any:
    return graph(Scripted(steps=steps), tools, **options)


async def test_a_turn_is_the_messages_that_it_added_to_the_state() -> None:
    steps = calls(("look", {"at": "a"}), ("look", {"at": "void"}), ("fly", {}), text="I look."), AIMessage("Found.")
    seen = await talk(LangGraphAgent(scripted(*steps, AIMessage("You are welcome."))), "Where?", "Thanks.")
    first, second = seen.turns
    assert (first.status, first.messages) == ("completed", ("I look.", "Found."))
    assert [(call.name, call.input, call.status) for call in first.tool_calls or ()] == [
        ("look", {"at": "a"}, "completed"),
        ("look", {"at": "void"}, "failed"),
        ("fly", {}, "failed"),
    ]
    assert [call.output for call in first.tool_calls or ()][:2] == ["a: there", "nothing there"]
    assert (second.messages, second.tool_calls) == (("You are welcome.",), ())


async def test_a_call_that_cannot_be_read_keeps_its_text() -> None:
    broken = AIMessage(
        "", invalid_tool_calls=[invalid_tool_call(name="look", args='{"at": ', id="c1", error="it ends too early")]
    )
    call = ((await talk(LangGraphAgent(scripted(broken)), "Where?")).last.tool_calls or ())[0]
    assert (call.name, call.input, call.raw_input) == ("look", Absent("it ends too early"), '{"at": ')
    assert (call.id, call.status) == ("c1", "pending")


async def test_blocks_are_read_as_what_they_are() -> None:
    content = [
        {"type": "thinking", "thinking": "An order."},
        {"type": "reasoning", "reasoning": "Or two."},
        {"type": "text", "text": "One mo"},
        {"type": "text", "text": "ment."},
        {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": "a"}},
    ]
    message = calls(("look", {"at": "a"}), text=content)
    seen = await talk(LangGraphAgent(scripted(message, AIMessage("Found."))), "Where?")
    assert seen.kinds[:3] == ["thinking", "thinking", "message"]
    assert seen.last.messages == ("One moment.", "Found.")
    assert seen.last._evidence.coverage["messages"] == "complete"


@pytest.mark.parametrize(
    ("kind", "channel"), [("image", "messages"), ("server_tool_use", "tool_calls"), ("web_search_call", "tool_calls")]
)
async def test_a_block_that_is_not_read_leaves_its_channel_partial(kind: str, channel: str) -> None:
    seen = await talk(LangGraphAgent(scripted(AIMessage([{"type": kind}, {"type": "text", "text": "So."}]))), "Hm?")
    assert seen.last._evidence.coverage[channel] == "partial"
    assert kind in seen.last._evidence.reasons[channel]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (used(5, 2), used(7, 3), Usage(input_tokens=12, output_tokens=5)),
        (used(5, 2), None, None),
        (None, None, None),
    ],
)
async def test_usage_is_what_every_message_reports(
    first: UsageMetadata | None, second: UsageMetadata | None, expected: Usage | None
) -> None:
    asked, said = calls(("look", {"at": "a"}), usage_metadata=first), AIMessage("Found.", usage_metadata=second)
    seen = await talk(LangGraphAgent(scripted(asked, said)), "Where?")
    assert seen.last.usage == expected


async def test_structured_output_is_data_in_the_turn_that_made_it() -> None:
    class State(MessagesState):
        structured_response: Any

    def give(state: State) -> dict[str, Any]:
        asked = str(state["messages"][-1].content)
        return {"structured_response": Order(order=asked)} if asked.isdigit() else {"messages": [AIMessage("Hm.")]}

    built = StateGraph(State).add_node("give", give).add_edge(START, "give").compile(checkpointer=InMemorySaver())
    async with attempt(agent=LangGraphAgent(built)) as t:
        turn = await t.send("7", output=Order)
        t.check(turn.data, equals(Order(order="7")))
        t.check((await t.send("Why?"))._evidence.data, equals(NO_DATA))
    assert [each.decision for each in t.result.assertions] == ["met", "met", "undecided"]


async def test_a_graph_without_messages_reports_no_calls() -> None:
    class State(TypedDict):
        question: str
        answer: int

    def solve(state: State) -> dict[str, int]:
        return {"answer": len(state["question"])}

    built = StateGraph(State).add_node("solve", solve).add_edge(START, "solve").compile()
    agent = LangGraphAgent(built, make_input=lambda message, ctx: {"question": message})
    seen = await talk(agent, "four")
    assert seen.last._evidence.data == {"question": "four", "answer": 4}
    assert set(seen.last._evidence.coverage.values()) == {"none"}
    assert "has no messages under 'messages'" in seen.last._evidence.reasons["tool_calls"]


async def test_a_workflow_that_returns_text_said_it() -> None:
    @entrypoint()
    async def shout(message: str) -> str:
        return message.upper()

    seen = await talk(LangGraphAgent(shout, make_input=lambda message, ctx: message), "hello")
    assert (seen.last.message, seen.last._evidence.coverage["tool_calls"]) == ("HELLO", "none")


async def test_messages_without_ids_are_read_once() -> None:
    class State(TypedDict):
        log: Annotated[list[Any], operator.add]

    def answer(state: State) -> dict[str, Any]:
        return {"log": [AIMessage(f"{len(state['log'])}")]}

    built = StateGraph(State).add_node("one", answer).add_node("two", answer).add_edge(START, "one")
    agent = LangGraphAgent(built.add_edge("one", "two").compile(), input_key="log")
    assert [turn.messages for turn in (await talk(agent, "Count.", "On.")).turns] == [("1", "2"), ("4", "5")]


async def test_messages_that_are_plain_objects_are_read_as_the_messages_they_are() -> None:
    """A graph that runs elsewhere has no others."""

    class State(TypedDict):
        log: Annotated[list[Any], operator.add]

    def answer(state: State) -> dict[str, Any]:
        call = {"name": "look", "args": {"at": "a"}, "id": "c1"}
        number = len(state["log"])
        return {
            "log": [
                {"type": "ai", "id": f"a{number}", "content": "", "tool_calls": [call]},
                {"type": "tool", "id": f"t{number}", "content": "there", "tool_call_id": "c1", "status": "success"},
                {"type": "ai", "id": f"s{number}", "content": "Found."},
            ]
        }

    built = StateGraph(State).add_node("answer", answer).add_edge(START, "answer").compile()
    for turn in (await talk(LangGraphAgent(built, input_key="log"), "Where?", "And now?")).turns:
        assert turn.messages == ("Found.",)
        assert [(call.name, call.output, call.status) for call in turn.tool_calls or ()] == [
            ("look", "there", "completed")
        ]


# -- Errors


@pytest.mark.parametrize(
    ("error", "retryable"),
    [
        (ModelRateLimitError("slow down"), True),
        (ModelAPIError("it broke"), True),
        (ModelConnectionError("reset"), True),
        (ModelTimeoutError("too late"), True),
        (ModelAuthenticationError("no such key"), False),
        (ModelPermissionDeniedError("not yours"), False),
        (ModelNotFoundError("no such model"), False),
        (OpenAIError("the api_key client option must be set"), False),
    ],
)
async def test_a_model_that_cannot_be_reached_is_no_result(error: Exception, retryable: bool) -> None:
    found = await raised(LangGraphAgent(scripted(error)))
    assert isinstance(found, AgentUnavailable)
    assert found.retryable == retryable
    assert str(error) in str(found)


@pytest.mark.parametrize("error", [ModelInvalidRequestError("too long"), ModelRefusalError("no"), KeyError("x")])
async def test_anything_else_is_a_failure(error: Exception) -> None:
    found = await raised(LangGraphAgent(scripted(error)))
    assert isinstance(found, AgentFailed)
    assert found.__cause__ is error


async def test_what_happened_before_the_recursion_limit_is_kept() -> None:
    endless = [calls(("look", {"at": "a"}), text="Again.") for _ in range(10)]
    seen = await talk(LangGraphAgent(scripted(*endless), config={"recursion_limit": 4}), "Where?")
    assert seen.status == "failed"
    assert "GraphRecursionError" in (seen.reason or "")
    assert seen.last.messages == ("Again.", "Again.")
    assert [call.status for call in seen.last.tool_calls or ()] == ["completed", "completed"]


async def test_what_happened_before_a_timeout_is_kept() -> None:
    @tool
    async def endless() -> str:
        """Never end."""
        await anyio.sleep_forever()
        return ""

    def to_tools(state: MessagesState) -> list[Send] | str:
        last = cast(AIMessage, state["messages"][-1])
        return [Send("tools", {"messages": [AIMessage("", tool_calls=[call])]}) for call in last.tool_calls] or "end"

    model = Scripted(steps=[calls(("look", {"at": "a"}), ("endless", {}))])
    built = StateGraph(MessagesState)
    built.add_node("answer", lambda state: {"messages": [model.invoke(state["messages"])]})
    built.add_node("tools", ToolNode([look, endless]))
    built.add_edge(START, "answer")
    built.add_conditional_edges("answer", to_tools, ["tools"])
    seen = await talk(LangGraphAgent(built.compile()), "Go.", timeout=0.5)
    assert (seen.status, seen.last.status) == ("errored", "failed")
    assert [(call.name, call.status) for call in seen.last.tool_calls or ()] == [
        ("look", "completed"),
        ("endless", "pending"),
    ]


# -- Interrupts


@tool
def confirm(question: str) -> str:
    """Ask the user."""
    return f"the user says {interrupt(question)}"


async def test_an_interrupt_waits_and_the_next_message_resumes_it() -> None:
    asked = calls(("confirm", {"question": "Really?"}))
    built = scripted(asked, AIMessage("So be it."), AIMessage("Bye."), tools=[confirm], checkpointer=InMemorySaver())
    seen = await talk(LangGraphAgent(built), "Cancel it.", "yes", "Bye!")
    waits, goes_on, last = seen.turns
    assert waits.status == "waiting"
    assert [event.text for event in waits._evidence.events if event.kind == "input_requested"] == ["Really?"]
    assert [call.status for call in waits.tool_calls or ()] == ["pending"]
    assert (goes_on.status, goes_on.message) == ("completed", "So be it.")
    assert [(call.name, call.output) for call in goes_on.tool_calls or ()] == [("confirm", "the user says yes")]
    assert (last.message, last.tool_calls) == ("Bye.", ())


async def test_several_interrupts_are_resumed_together() -> None:
    asked = calls(("confirm", {"question": "One?"}), ("confirm", {"question": "Two?"}))
    built = scripted(asked, AIMessage("Good."), tools=[confirm], checkpointer=InMemorySaver())
    seen = await talk(LangGraphAgent(built), "Go.", "yes", "yes")
    assert [turn.status for turn in seen.turns][-1] == "completed"
    assert {call.output for turn in seen.turns for call in turn.tool_calls or () if call.status == "completed"} == {
        "the user says yes"
    }


async def test_what_a_subgraph_that_waits_has_called_is_seen() -> None:
    steps = (
        calls(("look", {"at": "a"}), text="I look."),
        calls(("confirm", {"question": "Really?"})),
        AIMessage("Good."),
    )
    inner = scripted(*steps, tools=[look, confirm])
    outer = StateGraph(MessagesState).add_node("inner", inner).add_edge(START, "inner")
    seen = await talk(LangGraphAgent(outer.compile(checkpointer=InMemorySaver())), "Go.", "yes")
    assert [turn.status for turn in seen.turns] == ["waiting", "completed"]
    assert [turn.messages for turn in seen.turns] == [("I look.",), ("Good.",)]
    assert [[(call.name, call.status) for call in turn.tool_calls or ()] for turn in seen.turns] == [
        [("look", "completed"), ("confirm", "pending")],
        [("confirm", "completed")],
    ]


async def test_an_own_function_makes_what_an_interrupt_gives() -> None:
    def resume(message: str, waiting: Sequence[Interrupt]) -> Any:
        return f"{message} to {waiting[0].value}"

    built = scripted(
        calls(("confirm", {"question": "Really?"})), AIMessage("Good."), tools=[confirm], checkpointer=InMemorySaver()
    )
    seen = await talk(LangGraphAgent(built, resume=resume), "Go.", "aye")
    assert [call.output for call in seen.last.tool_calls or ()] == ["the user says aye to Really?"]


async def test_a_breakpoint_waits_and_then_the_graph_goes_on() -> None:
    steps = calls(("look", {"at": "a"})), AIMessage("Found.")
    built = scripted(*steps, checkpointer=InMemorySaver(), interrupt_before=["tools"])
    waits, goes_on = (await talk(LangGraphAgent(built), "Where?", "go on")).turns
    assert (waits.status, [call.status for call in waits.tool_calls or ()]) == ("waiting", ["pending"])
    assert (goes_on.status, goes_on.message) == ("completed", "Found.")
    assert [call.output for call in goes_on.tool_calls or ()] == ["a: there"]


# -- Sessions, settings, many at once


@pytest.mark.parametrize("kept", [True, False])
async def test_each_session_is_a_thread_of_its_own(kept: bool) -> None:
    built = scripted(AIMessage("first"), AIMessage("second"), checkpointer=InMemorySaver() if kept else None)
    async with attempt(agent=LangGraphAgent(built)) as t:
        one, other = t.new_session(), t.new_session()
        told = [(await session.send("Hello")).message for session in (one, other, one)]
        t.check(told, equals(["first", "first", "second"]))
    assert t.result.verdict == "passed"


async def test_a_named_thread_goes_on_where_it_was_and_only_the_turn_is_reported() -> None:
    built = scripted(calls(("look", {"at": "a"})), AIMessage("Found."), AIMessage("Bye."), checkpointer=InMemorySaver())
    agent = LangGraphAgent(built, thread=lambda ctx: "ours")
    await talk(agent, "Where?")
    again = await talk(agent, "Thanks.")
    assert (again.last.messages, again.last.tool_calls) == (("Bye.",), ())


async def test_configuration_and_context_reach_the_graph_and_stay_as_they_are() -> None:
    seen: list[tuple[Any, Any, Any]] = []

    class Context(TypedDict):
        user: str

    def answer(state: MessagesState, runtime: Runtime[Context], config: RunnableConfig) -> dict[str, Any]:
        configurable = config["configurable"]
        seen.append((configurable["tone"], configurable.get("thread_id") is not None, runtime.context["user"]))
        return {"messages": [AIMessage("Hi.")]}

    made: list[str] = []

    def context(ctx: AgentContext) -> Context:
        made.append("once")
        return {"user": "Ada"}

    config: RunnableConfig = {"configurable": {"tone": "kind"}}
    built = (
        StateGraph(MessagesState, context_schema=Context)
        .add_node("answer", cast(Any, answer))
        .add_edge(START, "answer")
    )
    compiled = built.compile(checkpointer=InMemorySaver())
    await talk(LangGraphAgent(compiled, config=config, make_context=context), "Hello", "Hello")
    await talk(LangGraphAgent(compiled, config=lambda ctx: config, make_context=context), "Hello")
    assert seen == [("kind", True, "Ada")] * 3
    assert (config, made) == ({"configurable": {"tone": "kind"}}, ["once", "once"])


async def test_one_graph_serves_many_attempts_at_once() -> None:
    async def answer(state: MessagesState) -> dict[str, Any]:
        await anyio.lowlevel.checkpoint()
        asked = [str(message.content) for message in state["messages"] if message.type == "human"]
        return {"messages": [AIMessage(" ".join(asked))]}

    built = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer")
    agent = LangGraphAgent(built.compile(checkpointer=InMemorySaver()))
    found: dict[int, str] = {}

    async def one(number: int) -> None:
        found[number] = (await talk(agent, f"{number}", "again")).last.message

    async with anyio.create_task_group() as tasks:
        for number in range(100):
            tasks.start_soon(one, number)
    assert found == {number: f"{number} again" for number in range(100)}


def test_it_says_which_event_loop_it_runs_on() -> None:
    agent = LangGraphAgent(scripted(AIMessage("Hi.")))
    assert str(on_trio(agent)) == "LangGraph runs on asyncio: use --backend asyncio"


def test_arguments_of_the_wrong_kind_are_refused() -> None:
    compiled, anything = scripted(AIMessage("Hi.")), cast(Any, 1)
    with pytest.raises(TypeError, match=r"takes a compiled graph, got StateGraph: call its compile\(\)"):
        LangGraphAgent(cast(Any, StateGraph(MessagesState)))
    with pytest.raises(TypeError, match=r"takes a compiled graph, got int$"):
        LangGraphAgent(anything)
    with pytest.raises(TypeError, match="thread= takes a function of the AgentContext, got str"):
        LangGraphAgent(compiled, thread=cast(Any, "ours"))
    with pytest.raises(TypeError, match="config= takes a mapping or a function, got int"):
        LangGraphAgent(compiled, config=anything)
    with pytest.raises(TypeError, match="input_key= names a key of the state, got ''"):
        LangGraphAgent(compiled, input_key="")
