import itertools
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from agents import (
    Agent,
    GuardrailFunctionOutput,
    Model,
    ModelBehaviorError,
    ModelProvider,
    OpenAIChatCompletionsModel,
    RunConfig,
    RunContextWrapper,
    SQLiteSession,
    ToolErrorFormatterArgs,
    function_tool,
    input_guardrail,
)
from agents import Usage as SdkUsage
from agents.exceptions import ModelTimeoutError
from agents.mcp import MCPServer
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message, function_call
from mcp.types import CallToolResult, TextContent
from mcp.types import Tool as McpTool
from openai import OpenAIError
from openai.types.responses import (
    ResponseCodeInterpreterToolCall,
    ResponseFunctionWebSearch,
    ResponseOutputMessage,
    ResponseOutputRefusal,
    ResponseReasoningItem,
)
from openai.types.responses.mcp_tool_call_error import McpProtocolError
from openai.types.responses.response_function_web_search import ActionSearch
from openai.types.responses.response_output_item import McpCall
from openai.types.responses.response_reasoning_item import Summary
from pydantic import BaseModel

from niceeval import AgentContext, AgentFailed, AgentLike, AgentUnavailable, ToolCall, Usage, attempt
from niceeval.agents.openai_agents import OpenAIAgentsAgent
from niceeval_expect import equals
from tests.agents.contract import MODEL, TOOLS, NotApplicable, Scenario, check_contract, each_scenario
from tests.agents.frameworks import far_end, on_trio, raised, talk

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Order(BaseModel):
    order: str


def said(args: ToolErrorFormatterArgs[Any]) -> str | None:
    """Tell the model what went wrong."""
    return None if args.error is None else str(args.error)


# Traces would be sent to the provider.
UNTRACED = RunConfig(tracing_disabled=True, tool_error_formatter=said)


def build(scenario: Scenario) -> AbstractContextManager[AgentLike] | NotApplicable:
    if scenario.stream:
        return NotApplicable("Runner.run() asks for whole answers")
    return wired(scenario)


@contextmanager
def wired(scenario: Scenario) -> Iterator[AgentLike]:
    with far_end(scenario) as client:
        model = OpenAIChatCompletionsModel(MODEL, client)
        agent = Agent[Any](name="orders", model=model, tools=[function_tool(tool) for tool in TOOLS])
        yield OpenAIAgentsAgent(agent, run_config=UNTRACED)


@each_scenario
async def test_it_keeps_the_contract(scenario: Scenario) -> None:
    await check_contract(scenario, build)


# -- What a run says


def scripted(*steps: Any, **options: Any) -> Agent[Any]:
    return Agent[Any](name="orders", model=ScriptedModel(steps), **options)


def wrapped(*steps: Any, **options: Any) -> OpenAIAgentsAgent:
    return OpenAIAgentsAgent(scripted(*steps, **options), run_config=UNTRACED)


def used(read: int, written: int) -> SdkUsage:
    return SdkUsage(requests=1, input_tokens=read, output_tokens=written, total_tokens=read + written)


def calls(*asked: tuple[str, Any]) -> list[Any]:
    return [function_call(name, given, call_id=f"c{number}") for number, (name, given) in enumerate(asked, 1)]


def says(text: str) -> list[Any]:
    return [assistant_message(text)]


@function_tool
def look(at: str) -> str:
    if at == "void":
        raise ValueError("nothing there")
    return f"{at}: there"


async def test_a_turn_is_read_from_the_items_of_the_run() -> None:
    thought = ResponseReasoningItem(id="r1", type="reasoning", summary=[Summary(text="An order.", type="summary_text")])
    seen = await talk(
        wrapped(
            [thought, assistant_message("One moment."), *calls(("look", {"at": "a"}))],
            says("It is there."),
            tools=[look],
        ),
        "Where is it?",
    )
    assert (seen.last.status, seen.last.messages) == ("completed", ("One moment.", "It is there."))
    assert seen.kinds == ["thinking", "message", "tool_call_started", "tool_call_finished", "message"]
    assert [(call.name, call.input, call.output) for call in seen.last.tool_calls or ()] == [
        ("look", {"at": "a"}, "a: there")
    ]


async def test_a_failure_that_is_left_to_the_sdk_is_a_failed_call() -> None:
    asked = calls(("look", {"at": "void"}), ("look", '{"at": '), ("look", {"at": "a"}))
    agent = scripted(asked, says("So."), tools=[look])
    seen = (await talk(OpenAIAgentsAgent(agent, run_config=RunConfig(tracing_disabled=True)), "Go.")).last.tool_calls
    assert [call.status for call in seen or ()] == ["failed", "failed", "completed"]
    assert [call.output for call in seen or ()][:2] == [
        "An error occurred while running the tool. Please try again."
    ] * 2
    assert (seen or ())[1].raw_input == '{"at": '


async def test_how_a_call_ended_is_unknown_where_the_tool_handles_its_errors_itself() -> None:
    own = function_tool(lambda at: f"no {at}", name_override="own", failure_error_function=lambda ctx, error: "oh")
    strict = function_tool(lambda at: f"no {at}", name_override="strict", failure_error_function=None)
    hurried = function_tool(look_slowly, name_override="hurried", timeout=30)
    asked = calls(("own", {"at": "a"}), ("strict", {"at": "a"}), ("hurried", {"at": "a"}))
    seen = (await talk(wrapped(asked, says("So."), tools=[own, strict, hurried]), "Go.")).last.tool_calls or ()
    assert [(call.name, call.status) for call in seen] == [("own", None), ("strict", "completed"), ("hurried", None)]


async def look_slowly(at: str) -> str:
    return f"{at}: there"


async def test_the_users_own_words_about_errors_reach_the_model() -> None:
    seen = await talk(wrapped(calls(("look", {"at": "void"})), says("So."), tools=[look]), "Go.")
    assert [(call.output, call.status) for call in seen.last.tool_calls or ()] == [("nothing there", "failed")]
    assert UNTRACED.tool_error_formatter is said


async def test_a_handoff_is_a_call_and_the_next_turn_stays_there() -> None:
    refunds = Agent[Any](name="refunds", model=ScriptedModel([says("Refunded."), says("Bye.")]))
    seen = await talk(wrapped(calls(("transfer_to_refunds", {})), handoffs=[refunds]), "Money!", "Thanks.")
    assert [turn.message for turn in seen.turns] == ["Refunded.", "Bye."]
    assert [(call.name, call.status) for call in seen.turns[0].tool_calls or ()] == [
        ("transfer_to_refunds", "completed")
    ]


async def test_a_turn_may_begin_with_the_first_agent_again() -> None:
    refunds = Agent[Any](name="refunds", model=ScriptedModel([says("Refunded.")]))
    first = scripted(calls(("transfer_to_refunds", {})), says("Orders here."), handoffs=[refunds])
    seen = await talk(OpenAIAgentsAgent(first, run_config=UNTRACED, stay=False), "Money!", "Thanks.")
    assert [turn.message for turn in seen.turns] == ["Refunded.", "Orders here."]


async def test_typed_output_is_data() -> None:
    seen = await talk(wrapped(says('{"order":"7"}'), output_type=Order), "Which?", output=Order)
    assert (seen.status, seen.last.data, seen.last.message) == ("passed", Order(order="7"), '{"order":"7"}')


async def test_output_of_an_agent_without_a_type_is_read_from_its_text() -> None:
    seen = await talk(wrapped(says('{"order":"7"}')), "Which?", output=Order)
    assert (seen.status, seen.last.data) == ("passed", Order(order="7"))


# -- Tools that are elsewhere


async def test_a_tool_of_an_mcp_server_has_its_server_and_its_own_name() -> None:
    server = OwnServer()
    agent = scripted(
        calls(("mcp_github__search", {"q": "cats"}), ("mcp_github__search", {"q": ""})),
        says("So."),
        mcp_servers=[server],
        mcp_config={"include_server_in_tool_names": True},
    )
    seen = (await talk(OpenAIAgentsAgent(agent, run_config=UNTRACED), "Cats?")).last.tool_calls or ()
    assert [(call.server, call.name, call.input, call.status) for call in seen] == [
        ("github", "search", {"q": "cats"}, "completed"),
        ("github", "search", {"q": ""}, "failed"),
    ]


class OwnServer(MCPServer):
    """A server of one tool, in this process."""

    @property
    def name(self) -> str:
        return "github"

    async def connect(self) -> None:
        pass

    async def cleanup(self) -> None:
        pass

    async def list_tools(self, *args: Any, **kwargs: Any) -> list[McpTool]:
        schema = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
        return [McpTool.model_validate({"name": "search", "inputSchema": schema})]

    async def call_tool(self, tool_name: str, arguments: Any, meta: Any = None) -> CallToolResult:
        if not arguments["q"]:
            raise ValueError("search for what?")
        return CallToolResult(content=[TextContent(type="text", text="found")])

    async def list_prompts(self) -> Any:
        raise AssertionError

    async def get_prompt(self, name: str, arguments: Any = None) -> Any:
        raise AssertionError


async def test_calls_that_the_provider_made_are_reported_as_far_as_it_says() -> None:
    broken = McpProtocolError(code=1, message="no access", type="mcp_protocol_error")
    output: list[Any] = [
        McpCall(
            id="m1", type="mcp_call", server_label="docs", name="search", arguments='{"q": "cats"}', output="found"
        ),
        McpCall(id="m2", type="mcp_call", server_label="docs", name="search", arguments="{", error=broken),
        ResponseFunctionWebSearch(
            id="w1",
            type="web_search_call",
            status="completed",
            action=ActionSearch(type="search", query="cats"),
        ),
        ResponseCodeInterpreterToolCall(
            id="i1", type="code_interpreter_call", status="failed", code="1/0", container_id="c", outputs=None
        ),
        assistant_message("There are cats."),
    ]
    seen = (await talk(wrapped(output), "Cats?")).last.tool_calls or ()
    assert [(call.server, call.name, call.status, call.id) for call in seen] == [
        ("docs", "search", "completed", "m1"),
        ("docs", "search", "failed", "m2"),
        (None, "web_search", "completed", "w1"),
        (None, "code_interpreter", "failed", "i1"),
    ]
    assert [call.output for call in seen[:2]] == ["found", broken.model_dump()]
    assert (seen[0].input, seen[1].raw_input, seen[3].input) == ({"q": "cats"}, "{", {"code": "1/0"})
    assert seen[2].input["action"]["query"] == "cats"


# -- Usage


async def test_usage_is_what_the_run_reports() -> None:
    steps = ModelStep(calls(("look", {"at": "a"})), used(5, 2)), ModelStep(says("So."), used(7, 3))
    assert (await talk(wrapped(*steps, tools=[look]), "Go.")).last.usage == Usage(input_tokens=12, output_tokens=5)


@pytest.mark.parametrize("unsaid", [SdkUsage(), SdkUsage(requests=1)])
async def test_a_request_of_zero_tokens_is_one_that_reported_none(unsaid: SdkUsage) -> None:
    steps = ModelStep(calls(("look", {"at": "a"})), unsaid), ModelStep(says("So."), used(7, 3))
    seen = await talk(wrapped(*steps, tools=[look]), "Go.")
    assert seen.last.usage is None
    assert seen.last._evidence.reasons["usage"] == "a request to the model came back without usage"


async def test_an_agent_that_is_a_tool_counts_and_may_be_what_reports_nothing() -> None:
    for inner, expected in ((used(2, 1), Usage(input_tokens=14, output_tokens=6)), (SdkUsage(requests=1), None)):
        helper = Agent[Any](name="helper", model=ScriptedModel([ModelStep(says("Helped."), inner)]))
        helps = helper.as_tool("help", "Helps.", run_config=UNTRACED)
        steps = ModelStep(calls(("help", {"input": "x"})), used(5, 2)), ModelStep(says("So."), used(7, 3))
        seen = await talk(wrapped(*steps, tools=[helps]), "Go.")
        assert [(call.name, call.output) for call in seen.last.tool_calls or ()] == [("help", "Helped.")]
        assert seen.last.usage == expected


# -- Errors


@pytest.mark.parametrize("error", [ModelTimeoutError(3), OpenAIError("the api_key client option must be set")])
async def test_a_model_that_cannot_be_reached_is_no_result(error: Exception) -> None:
    found = await raised(wrapped(error))
    assert isinstance(found, AgentUnavailable)
    assert str(error) in str(found)


async def test_a_model_that_errs_is_a_failure() -> None:
    found = await raised(wrapped(ModelBehaviorError("it sang")))
    assert isinstance(found, AgentFailed)
    assert str(found) == "the agent raised ModelBehaviorError: it sang"


async def test_a_refusal_is_a_failure_and_its_words_are_kept() -> None:
    refusal = ResponseOutputRefusal(refusal="I will not.", type="refusal")
    answer = ResponseOutputMessage(id="m1", role="assistant", status="completed", type="message", content=[refusal])
    seen = await talk(wrapped([answer]), "Go.")
    assert (seen.status, seen.last.messages) == ("failed", ("I will not.",))
    assert "ModelRefusalError" in (seen.reason or "")


async def test_a_guardrail_that_trips_is_a_failure() -> None:
    @input_guardrail
    def never(ctx: Any, agent: Any, given: Any) -> GuardrailFunctionOutput:
        return GuardrailFunctionOutput(output_info=None, tripwire_triggered=True)

    found = await raised(wrapped(says("Hi."), input_guardrails=[never]))
    assert isinstance(found, AgentFailed)
    assert "InputGuardrailTripwireTriggered" in str(found)


async def test_what_happened_before_the_last_turn_of_the_model_is_kept() -> None:
    again = [assistant_message("Again."), *calls(("look", {"at": "a"}))]
    seen = await talk(OpenAIAgentsAgent(scripted(again, tools=[look]), run_config=UNTRACED, max_turns=1), "Go.")
    assert seen.status == "failed"
    assert "MaxTurnsExceeded" in (seen.reason or "")
    assert seen.last.messages == ("Again.",)
    assert [call.status for call in seen.last.tool_calls or ()] == ["completed"]


async def test_what_happened_before_a_timeout_is_kept() -> None:
    @function_tool
    async def endless() -> str:
        await anyio.sleep_forever()
        return ""

    seen = await talk(wrapped(calls(("look", {"at": "a"}), ("endless", {})), tools=[look, endless]), "Go.", timeout=0.5)
    assert (seen.status, seen.last.status) == ("errored", "failed")
    assert [(call.name, call.status) for call in seen.last.tool_calls or ()] == [
        ("look", "completed"),
        ("endless", "pending"),
    ]


# -- Approvals


@function_tool(needs_approval=True)
def cancel(order: str) -> str:
    return "cancelled"


def careful(**options: Any) -> OpenAIAgentsAgent:
    steps = ModelStep(calls(("cancel", {"order": "1"})), used(5, 2)), ModelStep(says("So be it."), used(7, 3))
    return OpenAIAgentsAgent(scripted(*steps, says("Bye."), tools=[cancel]), run_config=UNTRACED, **options)


@pytest.mark.parametrize(
    ("answer", "status", "output"),
    [("Yes.", "completed", "cancelled"), ("no", "rejected", "Tool execution was not approved.")],
)
async def test_a_call_waits_for_an_approval(answer: str, status: str, output: str) -> None:
    asked, decided, last = (await talk(careful(), "Cancel it.", answer, "Bye!")).turns
    assert asked.status == "waiting"
    assert [event.text for event in asked._evidence.events if event.kind == "input_requested"] == [
        'approval of cancel({"order": "1"})'
    ]
    assert [call.status for call in asked.tool_calls or ()] == ["pending"]
    assert asked.usage == Usage(input_tokens=5, output_tokens=2)
    assert (decided.status, decided.messages) == ("completed", ("So be it.",))
    assert [(call.name, call.input, call.status, call.output) for call in decided.tool_calls or ()] == [
        ("cancel", {"order": "1"}, status, output)
    ]
    assert decided.usage == Usage(input_tokens=7, output_tokens=3)
    assert (last.message, last.tool_calls) == ("Bye.", ())


async def test_an_answer_that_is_neither_yes_nor_no_is_a_mistake_of_the_eval() -> None:
    seen = await talk(careful(), "Cancel it.", "perhaps")
    assert seen.status == "errored"
    assert "'perhaps' is neither yes nor no" in (seen.reason or "")


async def test_an_own_function_decides_about_approvals() -> None:
    def decide(message: str, call: ToolCall) -> bool:
        return message == f"by all means {call.name} {call.input['order']}"

    seen = await talk(careful(approve=decide), "Cancel it.", "by all means cancel 1")
    assert [call.status for call in seen.last.tool_calls or ()] == ["completed"]


# -- Sessions, settings, many at once


def remembering(call: ModelCall) -> Any:
    given = call.input if isinstance(call.input, list) else [{"role": "user", "content": call.input}]
    return says(" ".join(str(item["content"]) for item in given if item.get("role") == "user"))


@pytest.mark.parametrize("own", [False, True])
async def test_each_session_has_its_own_history(own: bool) -> None:
    model = ScriptedModel([ModelStep.respond(remembering) for _ in range(3)])
    names = itertools.count()
    agent = OpenAIAgentsAgent(
        Agent[Any](name="x", model=model),
        run_config=UNTRACED,
        session=(lambda ctx: SQLiteSession(f"{next(names)}")) if own else None,
    )
    async with attempt(agent=agent) as t:
        one, other = t.new_session(), t.new_session()
        told = [(await session.send(text)).message for session, text in ((one, "a"), (other, "b"), (one, "c"))]
        t.check(told, equals(["a", "b", "a c"]))
    assert t.result.verdict == "passed"


async def test_a_context_is_given_or_made_for_each_session() -> None:
    @function_tool
    def note(ctx: RunContextWrapper[Any]) -> int:
        ctx.context.append("noted")
        return len(ctx.context)

    def agent() -> Agent[Any]:
        return scripted(calls(("note", {})), says("a"), calls(("note", {})), says("b"), tools=[note])

    async def make(ctx: AgentContext) -> list[str]:
        return []

    kept = await talk(OpenAIAgentsAgent(agent(), make_context=make, run_config=UNTRACED), "One.", "Two.")
    assert [call.output for turn in kept.turns for call in turn.tool_calls or ()] == [1, 2]
    shared = ["before"]
    await talk(OpenAIAgentsAgent(agent(), context=shared, run_config=UNTRACED), "One.")
    assert shared == ["before", "noted"]


async def test_the_model_of_the_experiment_is_used() -> None:
    class Provider(ModelProvider):
        def get_model(self, model_name: str | None) -> Model:
            return ScriptedModel([says(f"I am {model_name}.")])

    config = RunConfig(tracing_disabled=True, model_provider=Provider())
    agent = OpenAIAgentsAgent(scripted(says("mine")), run_config=config)
    assert (await agent.reply("Hello", AgentContext(model="other"))).message == "I am other."
    assert config.model is None


async def test_the_agent_is_not_changed() -> None:
    agent = scripted(calls(("look", {"at": "a"})), says("So."), tools=[look])
    before = dict(vars(agent))
    await talk(OpenAIAgentsAgent(agent, run_config=UNTRACED), "Hello")
    assert {name: value for name, value in vars(agent).items() if name in before} == before


async def test_one_agent_serves_many_attempts_at_once() -> None:
    model = ScriptedModel([ModelStep.respond(remembering) for _ in range(200)])
    agent = OpenAIAgentsAgent(Agent[Any](name="x", model=model), run_config=UNTRACED)
    found: dict[int, str] = {}

    async def one(number: int) -> None:
        found[number] = (await talk(agent, f"{number}", "again")).last.message

    async with anyio.create_task_group() as tasks:
        for number in range(100):
            tasks.start_soon(one, number)
    assert found == {number: f"{number} again" for number in range(100)}


def test_it_says_which_event_loop_it_runs_on() -> None:
    assert str(on_trio(wrapped(says("Hi.")))) == "the OpenAI Agents SDK runs on asyncio: use --backend asyncio"


def test_arguments_of_the_wrong_kind_are_refused() -> None:
    agent, anything = scripted(), cast(Any, 1)
    with pytest.raises(TypeError, match=r"takes an agents\.Agent, got int"):
        OpenAIAgentsAgent(anything)
    with pytest.raises(TypeError, match="run_config= takes a RunConfig, got int"):
        OpenAIAgentsAgent(agent, run_config=anything)
    with pytest.raises(TypeError, match="session= takes a function of the AgentContext, got int"):
        OpenAIAgentsAgent(agent, session=anything)
    with pytest.raises(TypeError, match="approve= takes a function, got int"):
        OpenAIAgentsAgent(agent, approve=anything)
    with pytest.raises(ValueError, match="context= or make_context=, not both"):
        OpenAIAgentsAgent(agent, context=1, make_context=lambda ctx: 2)


def test_a_package_that_hides_the_sdk_is_named(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "__init__.py").write_text("")
    code = "from niceeval.agents.openai_agents import OpenAIAgentsAgent; OpenAIAgentsAgent(None)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, encoding="utf-8")
    assert "a package of yours that is called `agents` as well may hide it" in done.stderr
