from collections.abc import AsyncIterable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from decimal import Decimal
from functools import wraps
from typing import Any, cast

import anyio
import anyio.lowlevel
import pytest
from pydantic import BaseModel
from pydantic_ai import (
    Agent,
    CallDeferred,
    DeferredToolRequests,
    FallbackExceptionGroup,
    ModelHTTPError,
    ModelRetry,
    RunContext,
    ToolFailed,
    UnexpectedModelBehavior,
    UsageLimits,
)
from pydantic_ai.capabilities import ProcessEventStream
from pydantic_ai.exceptions import ModelConnectionError, ModelContextWindowExceededError, ModelQuotaExceededError
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import RequestUsage

from niceeval import AgentContext, AgentFailed, AgentLike, AgentUnavailable, ToolCall, Usage, attempt
from niceeval.agents.pydantic_ai import PydanticAIAgent
from niceeval_expect import Absent, equals
from tests.agents.contract import MODEL, TOOLS, NotApplicable, Scenario, check_contract, each_scenario
from tests.agents.frameworks import far_end, on_trio, raised, talk

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Order(BaseModel):
    order: str


class Node(BaseModel):
    below: "list[Node]"


def failing(tool: Callable[..., str]) -> Callable[..., str]:
    """A tool that tells the model what went wrong, as the framework has it."""

    @wraps(tool)
    def told(*args: Any, **kwargs: Any) -> str:
        try:
            return tool(*args, **kwargs)
        except ValueError as error:
            raise ToolFailed(str(error)) from error

    return told


async def unheard(ctx: RunContext[Any], events: AsyncIterable[Any]) -> None:
    """An agent with a handler of events streams."""
    async for _ in events:
        pass


def build(scenario: Scenario) -> AbstractContextManager[AgentLike] | NotApplicable:
    if scenario.name == "nothing said":
        return NotApplicable("the framework asks a model that says nothing again")
    return wired(scenario)


@contextmanager
def wired(scenario: Scenario) -> Iterator[AgentLike]:
    with far_end(scenario) as client:
        model = OpenAIChatModel(MODEL, provider=OpenAIProvider(openai_client=client))
        streams = [ProcessEventStream(unheard)] if scenario.stream else []
        yield PydanticAIAgent(Agent(model, tools=[failing(tool) for tool in TOOLS], capabilities=streams))


@each_scenario
async def test_it_keeps_the_contract(scenario: Scenario) -> None:
    await check_contract(scenario, build)


# -- What a run says


def scripted(*steps: ModelResponse | Exception, **options: Any) -> Agent[Any, Any]:
    """An agent whose model answers from a script, by how often it has answered in this conversation."""

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        step = steps[sum(message.kind == "response" for message in messages)]
        if isinstance(step, Exception):
            raise step
        return replace(step)

    return Agent(FunctionModel(model), **options)


def give(agent: Agent[Any, Any], name: str, tool: Callable[..., Any], **options: Any) -> None:
    agent.tool_plain(name=name, **options)(tool)


def says(text: str, **usage: Any) -> ModelResponse:
    return ModelResponse(parts=[TextPart(text)], usage=RequestUsage(**usage))


def calls(*asked: tuple[str, Any], text: str = "") -> ModelResponse:
    parts = [ToolCallPart(name, given, f"c{number}") for number, (name, given) in enumerate(asked, 1)]
    return ModelResponse(parts=[*([TextPart(text)] if text else ()), *parts])


async def test_a_turn_is_read_from_the_messages_of_the_run() -> None:
    agent = scripted(
        ModelResponse(
            parts=[ThinkingPart("An order."), TextPart("One mo"), TextPart("ment."), ToolCallPart("look", {})]
        ),
        says("It is there."),
    )
    give(agent, "look", lambda: "there")
    seen = await talk(PydanticAIAgent(agent), "Where is it?")
    assert (seen.last.status, seen.last.messages) == ("completed", ("One moment.", "It is there."))
    assert seen.kinds == ["thinking", "message", "tool_call_started", "tool_call_finished", "message"]
    assert [(call.name, call.input, call.output) for call in seen.last.tool_calls or ()] == [("look", {}, "there")]


async def test_each_way_in_which_a_call_fails_is_a_failed_call() -> None:
    asked = calls(("told", {}), ("again", {}), ("typed", {"x": "many"}), ("unknown", {}), ("garbled", '{"x": '))
    agent = scripted(asked, says("I give up."), retries=3)

    @agent.tool_plain
    def told() -> str:
        raise ToolFailed("gone")

    @agent.tool_plain
    def again() -> str:
        raise ModelRetry("be more exact")

    @agent.tool_plain
    def typed(x: int) -> str:
        return str(x)

    give(agent, "garbled", lambda x: str(x))
    seen = (await talk(PydanticAIAgent(agent), "Try.")).last.tool_calls or ()
    assert [(call.name, call.status) for call in seen] == [
        ("told", "failed"), ("again", "failed"), ("typed", "failed"), ("unknown", "failed"), ("garbled", "failed"),
    ]  # fmt: skip
    assert [call.output for call in seen[:2]] == ["gone", "be more exact"]
    assert isinstance(seen[4].input, Absent)
    assert seen[4].raw_input == '{"x": '
    assert "Unknown tool name" in seen[3].output


async def test_the_tool_that_hands_over_the_output_is_no_tool_of_the_agent() -> None:
    agent = scripted(calls(("final_result", {"order": 1})), calls(("final_result", {"order": "1"})), output_type=Order)
    seen = await talk(PydanticAIAgent(agent), "Which?", output=Order)
    assert seen.status == "passed"
    assert (seen.last.data, seen.last.tool_calls) == (Order(order="1"), ())
    assert seen.kinds == ["error"]
    assert "the output was refused" in str(seen.last._evidence.events[1].text)


async def test_an_agent_that_answers_in_text_is_asked_for_the_output_of_an_eval() -> None:
    seen = await talk(PydanticAIAgent(Agent(TestModel())), "Which?", output=Order)
    assert (seen.status, seen.last.data) == ("passed", Order(order="a"))


async def test_an_output_that_is_no_object_is_read_from_the_text() -> None:
    seen = await talk(PydanticAIAgent(scripted(says("[1, 2]"))), "Which?", output=list[int])
    assert (seen.status, seen.last.data) == ("passed", [1, 2])


async def test_a_recursive_output_is_read_from_the_text() -> None:
    seen = await talk(PydanticAIAgent(scripted(says('{"below": []}'))), "Which?", output=Node)
    assert (seen.status, seen.last.data) == ("passed", Node(below=[]))


async def test_feedback_that_the_output_is_unusable_is_an_error_event() -> None:
    agent = scripted(says("no"), says("yes"))

    @agent.output_validator
    def only_yes(output: str) -> str:
        if output != "yes":
            raise ModelRetry("say yes")
        return output

    seen = await talk(PydanticAIAgent(agent), "Yes?")
    assert (seen.kinds, seen.last.message) == (["message", "error", "message"], "yes")


# -- Usage


async def test_usage_is_the_sum_that_the_run_reports() -> None:
    first = replace(calls(("look", {})), usage=RequestUsage(input_tokens=5, output_tokens=2, cost=Decimal("0.25")))
    agent = scripted(first, says("There.", input_tokens=7, output_tokens=3, cost=Decimal("0.5")))
    give(agent, "look", lambda: "there")
    assert (await talk(PydanticAIAgent(agent), "Where?")).last.usage == Usage(
        input_tokens=12, output_tokens=5, cost_usd=0.75
    )


@pytest.mark.parametrize("unsaid", [RequestUsage(unmeasured_requests=1), RequestUsage()])
async def test_a_response_without_usage_leaves_the_turn_without(unsaid: RequestUsage) -> None:
    class Silent(WrapperModel):
        async def request(self, *args: Any, **kwargs: Any) -> ModelResponse:
            return replace(await super().request(*args, **kwargs), usage=unsaid)

    inner = scripted(says("There.")).model
    assert isinstance(inner, FunctionModel)
    seen = await talk(PydanticAIAgent(Agent(Silent(inner))), "Where?")
    assert seen.last.usage is None
    assert seen.last._evidence.reasons["usage"] == "a model response came without usage"


# -- Tools that the provider runs


async def test_a_call_on_a_providers_mcp_server_has_its_server_and_its_own_name() -> None:
    asked = {"action": "call_tool", "tool_name": "search", "tool_args": {"q": "cats"}}
    listed = {"action": "list_tools"}
    parts: list[Any] = [
        NativeToolCallPart("mcp_server:github", listed, "l1"),
        NativeToolReturnPart("mcp_server:github", {"tools": []}, "l1"),
        NativeToolCallPart("mcp_server:github", asked, "m1"),
        NativeToolReturnPart("mcp_server:github", {"output": "found", "error": None}, "m1"),
        NativeToolCallPart("mcp_server:github", asked, "m2"),
        NativeToolReturnPart("mcp_server:github", {"output": None, "error": "no access"}, "m2"),
        NativeToolCallPart("mcp_server:docs", asked, "m3"),
        NativeToolReturnPart("mcp_server:docs", {"content": [{"text": "found"}], "is_error": False}, "m3"),
        NativeToolCallPart("web_search", {"query": "cats"}, "w1"),
        NativeToolReturnPart("web_search", [{"title": "Cats"}], "w1"),
        TextPart("There are cats."),
    ]
    seen = (await talk(PydanticAIAgent(scripted(ModelResponse(parts=parts))), "Cats?")).last.tool_calls or ()
    assert [(call.server, call.name, call.input, call.output, call.status) for call in seen] == [
        ("github", "search", {"q": "cats"}, "found", "completed"),
        ("github", "search", {"q": "cats"}, "no access", "failed"),
        ("docs", "search", {"q": "cats"}, [{"text": "found"}], "completed"),
        (None, "web_search", {"query": "cats"}, [{"title": "Cats"}], None),
    ]


# -- Errors


@pytest.mark.parametrize(
    ("error", "retryable", "after"),
    [
        (ModelHTTPError(429, "m", {"message": "slow down"}, headers={"Retry-After": "4"}), True, 4.0),
        (ModelHTTPError(503, "m", "<html>"), True, None),
        (ModelHTTPError(503, "m", retry_after=2), True, 2.0),
        (ModelHTTPError(403, "m", {"message": "not yours"}), False, None),
        (ModelConnectionError("m", "connection reset"), True, None),
        (ModelQuotaExceededError("m", "nothing left"), False, None),
        (FallbackExceptionGroup("all", [ModelHTTPError(500, "a"), ModelHTTPError(429, "b", retry_after=3)]), True, 3.0),
    ],
)
async def test_a_model_that_cannot_be_reached_is_no_result(
    error: Exception, retryable: bool, after: float | None
) -> None:
    found = await raised(PydanticAIAgent(scripted(error)))
    assert isinstance(found, AgentUnavailable)
    assert (found.retryable, found.retry_after) == (retryable, after)


@pytest.mark.parametrize(
    "error",
    [
        ModelHTTPError(400, "m", {"message": "too long"}),
        ModelContextWindowExceededError("m", "too long"),
        UnexpectedModelBehavior("it sang"),
        FallbackExceptionGroup("all", [ModelHTTPError(500, "a"), ModelHTTPError(400, "b")]),
    ],
)
async def test_a_model_that_refuses_or_errs_is_a_failure(error: Exception) -> None:
    found = await raised(PydanticAIAgent(scripted(error)))
    assert isinstance(found, AgentFailed)
    assert found.__cause__ is error


async def test_what_happened_before_a_limit_is_kept() -> None:
    agent = scripted(calls(("look", {"at": 1}), text="I look."), says("never"))
    give(agent, "look", lambda at: "there")
    seen = await talk(PydanticAIAgent(agent, usage_limits=UsageLimits(request_limit=1)), "Where?")
    assert seen.status == "failed"
    assert "UsageLimitExceeded" in (seen.reason or "")
    assert seen.last.messages == ("I look.",)
    assert [(call.name, call.output) for call in seen.last.tool_calls or ()] == [("look", "there")]
    assert seen.last._evidence.coverage["tool_calls"] == "partial"


async def test_what_happened_before_a_timeout_is_kept() -> None:
    agent = scripted(calls(("quick", {}), ("endless", {})), says("never"))
    give(agent, "quick", lambda: "done")

    @agent.tool_plain
    async def endless() -> str:
        await anyio.sleep_forever()
        raise AssertionError

    seen = await talk(PydanticAIAgent(agent), "Go.", timeout=0.3)
    assert (seen.status, seen.last.status) == ("errored", "failed")
    assert [(call.name, call.status) for call in seen.last.tool_calls or ()] == [
        ("quick", "completed"), ("endless", "pending"),
    ]  # fmt: skip


# -- Approvals and results from elsewhere


def careful() -> Agent[Any, Any]:
    agent = scripted(calls(("cancel", {"order": "1"})), says("So be it."), output_type=[str, DeferredToolRequests])
    give(agent, "cancel", lambda order: "cancelled", requires_approval=True)
    return agent


@pytest.mark.parametrize(
    ("answer", "status", "output"),
    [("Yes.", "completed", "cancelled"), ("no", "rejected", "The tool call was denied.")],
)
async def test_a_call_waits_for_an_approval(answer: str, status: str, output: str) -> None:
    seen = await talk(PydanticAIAgent(careful()), "Cancel it.", answer)
    asked, decided = seen.turns
    assert asked.status == "waiting"
    assert [event.text for event in asked._evidence.events if event.kind == "input_requested"] == [
        'approval of cancel({"order": "1"})'
    ]
    assert [call.status for call in asked.tool_calls or ()] == ["pending"]
    assert (decided.status, decided.message) == ("completed", "So be it.")
    assert [(call.name, call.input, call.status, call.output) for call in decided.tool_calls or ()] == [
        ("cancel", {"order": "1"}, status, output)
    ]


async def test_an_answer_that_is_neither_yes_nor_no_is_a_mistake_of_the_eval() -> None:
    seen = await talk(PydanticAIAgent(careful()), "Cancel it.", "perhaps")
    assert seen.status == "errored"
    assert "the agent waits for an approval of cancel, and 'perhaps' is neither yes nor no" in (seen.reason or "")


async def test_an_own_function_decides_about_approvals() -> None:
    def decide(message: str, call: ToolCall) -> bool:
        return message == f"by all means {call.name} {call.input['order']}"

    seen = await talk(PydanticAIAgent(careful(), approve=decide), "Cancel it.", "by all means cancel 1")
    assert [call.status for call in seen.last.tool_calls or ()] == ["completed"]


async def test_the_next_message_is_the_result_of_a_call_that_is_made_elsewhere() -> None:
    agent = scripted(calls(("ask", {})), says("Thanks."), output_type=[str, DeferredToolRequests])

    @agent.tool_plain
    def ask() -> str:
        raise CallDeferred

    seen = await talk(PydanticAIAgent(agent), "Go.", "Blue.")
    assert [turn.status for turn in seen.turns] == ["waiting", "completed"]
    assert [(call.name, call.output) for call in seen.last.tool_calls or ()] == [("ask", "Blue.")]


# -- Sessions, settings, many at once


async def test_each_session_has_its_own_history() -> None:
    agent = PydanticAIAgent(scripted(says("first"), says("second")))
    async with attempt(agent=agent) as t:
        one, other = t.new_session(), t.new_session()
        told = [(await session.send("Hello")).message for session in (one, other, one)]
        t.check(told, equals(["first", "first", "second"]))
    assert t.result.verdict == "passed"


async def test_a_turn_that_failed_leaves_no_trace_in_the_history() -> None:
    lengths: list[int] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        lengths.append(len(messages))
        if len(lengths) == 2:
            raise UnexpectedModelBehavior("once")
        return says("Hi.")

    async with attempt(agent=PydanticAIAgent(Agent(FunctionModel(model)))) as t:
        await t.send("Hello")
        with pytest.raises(AgentFailed):
            await t.send("Hello?")
        (await t.send("Hello!")).succeeded()
    assert lengths == [1, 3, 3]


async def test_dependencies_are_given_or_made_for_each_session() -> None:
    made: list[AgentContext] = []

    async def make(ctx: AgentContext) -> list[str]:
        made.append(ctx)
        return []

    noting = calls(("note", {}))
    agent = scripted(noting, says("Noted."), noting, says("Noted."), deps_type=list)

    @agent.tool
    def note(ctx: RunContext[list[str]]) -> int:
        ctx.deps.append("noted")
        return len(ctx.deps)

    kept = await talk(PydanticAIAgent(agent, make_deps=make), "One.", "Two.")
    assert [call.output for turn in kept.turns for call in turn.tool_calls or ()] == [1, 2]
    await talk(PydanticAIAgent(agent, make_deps=make), "One.")
    assert len(made) == 2
    shared = ["before"]
    await talk(PydanticAIAgent(agent, deps=shared), "One.")
    assert shared == ["before", "noted"]


async def test_the_model_of_the_experiment_is_used() -> None:
    agent = PydanticAIAgent(scripted(says("mine")))
    reply = await agent.reply("Hello", AgentContext(model="test"))
    assert reply.message == "success (no tool calls)"


async def test_the_agent_is_not_changed() -> None:
    agent = scripted(says("Hi."))
    before = {name: value for name, value in vars(agent).items() if not name.startswith("_")}
    await talk(PydanticAIAgent(agent), "Hello")
    assert {name: value for name, value in vars(agent).items() if not name.startswith("_")} == before
    assert agent.name is None


async def test_one_agent_serves_many_attempts_at_once() -> None:
    async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked = [str(part.content) for message in messages for part in message.parts if part.part_kind == "user-prompt"]
        await anyio.lowlevel.checkpoint()
        return says(" ".join(asked))

    agent = PydanticAIAgent(Agent(FunctionModel(answer)))
    found: dict[int, str] = {}

    async def one(number: int) -> None:
        found[number] = (await talk(agent, f"{number}", "again")).last.message

    async with anyio.create_task_group() as tasks:
        for number in range(100):
            tasks.start_soon(one, number)
    assert found == {number: f"{number} again" for number in range(100)}


def test_it_says_which_event_loop_it_runs_on() -> None:
    assert str(on_trio(PydanticAIAgent(Agent(TestModel())))) == "pydantic-ai runs on asyncio: use --backend asyncio"


def test_arguments_of_the_wrong_kind_are_refused() -> None:
    agent, anything = Agent(TestModel()), cast(Any, 1)
    with pytest.raises(TypeError, match=r"takes a pydantic_ai\.Agent, got int"):
        PydanticAIAgent(anything)
    with pytest.raises(TypeError, match="make_deps= takes a function of the AgentContext, got int"):
        PydanticAIAgent(agent, make_deps=anything)
    with pytest.raises(TypeError, match="approve= takes a function, got int"):
        PydanticAIAgent(agent, approve=anything)
    with pytest.raises(ValueError, match="deps= or make_deps=, not both"):
        PydanticAIAgent(agent, deps=1, make_deps=lambda ctx: 2)
