"""One small agent, written in three frameworks, under one set of evals: it looks an order up, and then it answers."""

import re
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Final, Literal, TypeAlias, final

import attrs
import pytest
from agents import Agent as OpenAIAgent
from agents import RunConfig, ToolErrorFormatterArgs, function_tool
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message, function_call
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from pydantic import BaseModel
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai import ToolFailed
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from niceeval import AgentFailed, AgentLike, EvalContext, ToolNames, Turn, attempt
from niceeval.agents.langgraph import LangGraphAgent
from niceeval.agents.openai_agents import OpenAIAgentsAgent
from niceeval.agents.pydantic_ai import PydanticAIAgent
from niceeval_expect import at, equals, includes, one_of, tool_match

pytestmark = pytest.mark.anyio

Kind: TypeAlias = Literal["text", "typed", "dict", "crash"]
"""Whether the agent answers in text or with a type; what its tool returns, or that it breaks."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Status(BaseModel):
    order: str
    status: str


# -- The evals. They know of no framework.


async def finds_an_order(t: EvalContext) -> None:
    turn = await t.send("Where is ORD-448192?")
    turn.succeeded().key("completes")
    found = tool_match("lookup_order", input={"id": "ORD-448192"}, output="in transit", status="completed")
    turn.called_tool(found.exactly(1)).key("looks it up")
    turn.not_called_tool("cancel_order").key("cancels nothing")
    turn.max_tool_calls(1).key("asks once")
    turn.no_failed_actions().key("nothing fails")
    t.check(turn.message, includes("in transit")).key("says where it is")


async def stumbles_over_an_order(t: EvalContext) -> None:
    turn = await t.send("Where is ORD-0?")
    turn.succeeded().key("completes")
    turn.called_tool(tool_match("lookup_order", status="failed", output=includes("no such order"))).key("is told")
    turn.no_failed_actions().key("nothing fails")
    t.check(turn.message, equals("There is no such order.")).key("admits it")


async def answers_with_a_type(t: EvalContext) -> None:
    turn = await t.send("Where is ORD-448192?", output=Status)
    turn.called_tool(tool_match("lookup_order").exactly(1)).key("looks it up")
    t.check(turn.data, at("status", one_of(["in transit", "delivered"]))).key("status")


async def goes_on(t: EvalContext) -> None:
    await t.send("Where is ORD-448192?")
    turn = await t.send("And ORD-0?")
    turn.called_tool(tool_match("lookup_order", input={"id": "ORD-0"}).exactly(1)).key("asks for the second only")
    t.called_tool(tool_match("lookup_order").exactly(2)).key("asks for each once")


# -- The agent's mind, and its one tool.


def lookup(id: str) -> str:
    if id == "ORD-0":
        raise ValueError("no such order: ORD-0")
    return "in transit"


def decide(asked: str, result: str | None) -> tuple[str, Mapping[str, str]] | str:
    """What the model answers: a call first, and what came of it then."""
    order = re.findall(r"ORD-\d+", asked)[-1]
    if result is None:
        return "lookup_order", {"id": order}
    return "There is no such order." if "no such order" in result else f"{order} is in transit."


def typed(asked: str) -> Status:
    return Status(order=re.findall(r"ORD-\d+", asked)[-1], status="in transit")


# -- The same, three times.


def in_pydantic_ai(kind: Kind, names: ToolNames | None = None) -> AgentLike:
    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        parts = [part for message in messages for part in message.parts]
        asked = [str(part.content) for part in parts if part.part_kind == "user-prompt"][-1]
        last = parts[-1]
        decision = decide(asked, str(last.content) if last.part_kind == "tool-return" else None)
        if not isinstance(decision, str):
            return ModelResponse(parts=[ToolCallPart(decision[0], dict(decision[1]), "c1")])
        if info.output_tools:
            return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, typed(asked).model_dump(), "c2")])
        return ModelResponse(parts=[TextPart(decision)])

    def lookup_order(id: str) -> Any:
        if kind == "dict":
            return {"status": "in transit"}
        if kind == "crash":
            raise ValueError("no connection to the orders")
        try:
            return lookup(id)
        except ValueError as error:
            raise ToolFailed(str(error)) from error

    output: Any = Status if kind == "typed" else str
    return PydanticAIAgent(
        PydanticAgent(FunctionModel(model), tools=[lookup_order], output_type=output), tool_names=names
    )


class LangChainModel(BaseChatModel):
    @property
    def _llm_type(self) -> str:
        return "decides"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Runnable[Any, AIMessage]:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        asked = [str(message.content) for message in messages if message.type == "human"][-1]
        last = messages[-1]
        decision = decide(asked, str(last.content) if last.type == "tool" else None)
        if isinstance(decision, str):
            answer = AIMessage(decision)
        else:
            call = {"name": decision[0], "args": dict(decision[1]), "id": "c1", "type": "tool_call"}
            answer = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=answer)])


class State(MessagesState):
    structured_response: Any


def in_langgraph(kind: Kind, names: ToolNames | None = None) -> AgentLike:
    @tool
    def lookup_order(id: str) -> Any:
        """Look an order up."""
        if kind == "dict":
            return {"status": "in transit"}
        if kind == "crash":
            raise ValueError("no connection to the orders")
        return lookup(id)

    model = LangChainModel().bind_tools([lookup_order])

    def answer(state: State) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    def give(state: State) -> dict[str, Any]:
        asked = [str(message.content) for message in state["messages"] if message.type == "human"][-1]
        return {"structured_response": typed(asked)}

    def further(state: State) -> str:
        last = state["messages"][-1]
        if isinstance(last, AIMessage) and last.tool_calls:
            return "tools"
        return "give" if kind == "typed" else END

    graph = StateGraph(State)
    graph.add_node("answer", answer)
    graph.add_node("give", give)
    # The node's own default lets what a tool raises end the graph.
    graph.add_node(
        "tools", ToolNode([lookup_order]) if kind == "crash" else ToolNode([lookup_order], handle_tool_errors=str)
    )
    graph.add_edge(START, "answer")
    graph.add_conditional_edges("answer", further)
    graph.add_edge("tools", "answer")
    return LangGraphAgent(graph.compile(), tool_names=names)


def in_openai_agents(kind: Kind, names: ToolNames | None = None) -> AgentLike:
    @function_tool
    def lookup_order(id: str) -> Any:
        if kind == "dict":
            return {"status": "in transit"}
        if kind == "crash":
            raise ValueError("no connection to the orders")
        return lookup(id)

    def answer(call: ModelCall) -> Any:
        asked = [item["content"] for item in call.input if item.get("role") == "user"][-1]
        last = call.input[-1]
        decision = decide(asked, str(last["output"]) if last.get("type") == "function_call_output" else None)
        if not isinstance(decision, str):
            return [function_call(decision[0], decision[1], call_id="c1")]
        return [assistant_message(typed(asked).model_dump_json() if kind == "typed" else decision)]

    def said(args: ToolErrorFormatterArgs[Any]) -> str | None:
        return None if args.error is None or kind == "crash" else str(args.error)

    model = ScriptedModel([ModelStep.respond(answer) for _ in range(4)])
    agent = OpenAIAgent[Any](
        name="orders", model=model, tools=[lookup_order], output_type=Status if kind == "typed" else None
    )
    return OpenAIAgentsAgent(
        agent, run_config=RunConfig(tracing_disabled=True, tool_error_formatter=said), tool_names=names
    )


FRAMEWORKS: Final[Mapping[str, Callable[..., AgentLike]]] = {
    "pydantic-ai": in_pydantic_ai,
    "LangGraph": in_langgraph,
    "OpenAI Agents SDK": in_openai_agents,
}


# -- What has to be equal.


@final
@attrs.frozen
class Outcome:
    """What an attempt came to: its verdict, how each requirement was decided, and each tool call as evidence."""

    verdict: str | None
    decisions: Mapping[str, str | None]
    calls: tuple[tuple[str, Any, Any, str | None], ...]
    turns: tuple[Turn[Any], ...] = attrs.field(eq=False)
    reason: str | None = attrs.field(eq=False)


async def outcome(eval: Callable[[EvalContext], Awaitable[None]], agent: AgentLike) -> Outcome:
    with suppress(AgentFailed):
        async with attempt(agent=agent) as t:
            await eval(t)
    turns = tuple(turn for session in t.sessions for turn in session.turns)
    return Outcome(
        t.result.verdict,
        {each.requirement: each.decision for each in t.result.assertions},
        tuple((call.name, call.input, call.output, call.status) for turn in turns for call in turn.tool_calls or ()),
        turns,
        t.result.reason,
    )


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_an_order_that_is_there(framework: str) -> None:
    found = await outcome(finds_an_order, FRAMEWORKS[framework]("text"))
    assert found.verdict == "passed", found.reason
    assert set(found.decisions.values()) == {"met"}
    assert found.calls == (("lookup_order", {"id": "ORD-448192"}, "in transit", "completed"),)


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_a_tool_that_fails(framework: str) -> None:
    found = await outcome(stumbles_over_an_order, FRAMEWORKS[framework]("text"))
    assert found.verdict == "failed", found.reason
    assert found.decisions == {"completes": "met", "is told": "met", "nothing fails": "unmet", "admits it": "met"}
    assert found.calls == (("lookup_order", {"id": "ORD-0"}, "no such order: ORD-0", "failed"),)


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_structured_output(framework: str) -> None:
    found = await outcome(answers_with_a_type, FRAMEWORKS[framework]("typed"))
    assert found.verdict == "passed", found.reason
    assert found.decisions == {"output conforms to Status": "met", "looks it up": "met", "status": "met"}
    assert found.turns[0].data == Status(order="ORD-448192", status="in transit")
    assert found.calls == (("lookup_order", {"id": "ORD-448192"}, "in transit", "completed"),)


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_a_second_turn(framework: str) -> None:
    found = await outcome(goes_on, FRAMEWORKS[framework]("text"))
    assert found.verdict == "passed", found.reason
    assert [call[1] for call in found.calls] == [{"id": "ORD-448192"}, {"id": "ORD-0"}]


@pytest.mark.parametrize("eval", [finds_an_order, stumbles_over_an_order, goes_on])
async def test_the_frameworks_give_the_same_evidence(eval: Callable[[EvalContext], Awaitable[None]]) -> None:
    found = {name: await outcome(eval, make("text")) for name, make in FRAMEWORKS.items()}
    assert found["LangGraph"] == found["pydantic-ai"]
    assert found["OpenAI Agents SDK"] == found["pydantic-ai"]


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_names_that_stand_for_a_servers_tool(framework: str) -> None:
    agent = FRAMEWORKS[framework]("text", ToolNames({"orders": ["lookup_order"]}))
    turn = (await outcome(finds_an_order, agent)).turns[0]
    assert [(call.server, call.name, call.output) for call in turn.tool_calls or ()] == [
        ("orders", "lookup_order", "in transit")
    ]


# -- What differs, since the frameworks differ: this table is the documentation, and it is measured.

DIFFERENCES: Final[Mapping[str, Mapping[str, object]]] = {
    "the usage of a test model": {
        "pydantic-ai": "estimated",
        "LangGraph": "not reported",
        "OpenAI Agents SDK": "not reported",
    },
    "the message beside structured output": {
        "pydantic-ai": "",
        "LangGraph": "ORD-448192 is in transit.",
        "OpenAI Agents SDK": '{"order":"ORD-448192","status":"in transit"}',
    },
    "what a tool that returns a dict gave": {
        "pydantic-ai": {"status": "in transit"},
        "LangGraph": '{"status": "in transit"}',
        "OpenAI Agents SDK": {"status": "in transit"},
    },
    "a tool that raises, where nothing was said about errors": {
        "pydantic-ai": ("failed", "the agent raised ValueError: no connection to the orders", "pending"),
        "LangGraph": ("failed", "the agent raised ValueError: no connection to the orders", "pending"),
        "OpenAI Agents SDK": ("passed", None, "failed"),
    },
}


async def only_asks(t: EvalContext) -> None:
    turn = await t.send("Where is ORD-448192?")
    turn.succeeded()


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_what_differs(framework: str) -> None:
    make = FRAMEWORKS[framework]
    plain, typed_, dict_, crash = [await outcome(only_asks, make(kind)) for kind in ("text", "typed", "dict", "crash")]
    measured: Mapping[str, object] = {
        "the usage of a test model": "not reported" if plain.turns[0].usage is None else "estimated",
        "the message beside structured output": typed_.turns[0].message,
        "what a tool that returns a dict gave": dict_.calls[0][2],
        "a tool that raises, where nothing was said about errors": (crash.verdict, crash.reason, crash.calls[0][3]),
    }
    assert measured == {what: by_framework[framework] for what, by_framework in DIFFERENCES.items()}


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [
        ("PydanticAIAgent", "pydantic_ai", "pydantic-ai"),
        ("LangGraphAgent", "langgraph", "langgraph"),
        ("OpenAIAgentsAgent", "agents", "openai-agents"),
    ],
)
def test_a_framework_that_is_not_installed_is_named(name: str, module: str, extra: str) -> None:
    code = f"import sys; sys.modules[{module!r}] = None; import niceeval; niceeval.{name}(None)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8")
    assert done.returncode == 1
    assert f'pip install "niceeval[{extra}]"' in done.stderr
