"""What every adapter must make of the same conversations and of the same faults, in terms of public results.

A `Scenario` says what the service at the far end does. An adapter's test gives a builder, which wires an agent to a real
server, process or test model that does just that, for the length of a block, or says why that cannot happen there:

    @each_scenario
    async def test_it_keeps_the_contract(scenario: Scenario) -> None:
        await check_contract(scenario, build)

    def build(scenario: Scenario) -> AbstractContextManager[AgentLike] | NotApplicable: ...

`unsaid=` names what the protocol never says ("status", "id", "input", "output", "usage"): it must then be unknown, not
made up. Adapters that run tools themselves take `TOOLS`; the others report the calls of the scenario as they are.
"""

import re
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from typing import Any, Final, Literal, TypeAlias, final

import attrs
import pytest

from niceeval import (
    AgentFailed,
    AgentLike,
    AgentUnavailable,
    EvalContext,
    ToolCall,
    Turn,
    Usage,
    define_eval,
    run_eval,
)
from niceeval_expect import Absent

Fault: TypeAlias = Literal[
    "rate-limited",  # 429, Retry-After: 7
    "server-error",  # 500, a JSON error
    "gateway-page",  # 502, an HTML page
    "silent",  # the request is taken, nothing ever comes
    "dropped",  # the connection is closed without a word
    "cut",  # the stream of the last step ends in the middle, after `Step.text` began
    "bad-key",  # 401, a JSON error
    "bad-request",  # 400, a JSON error with `SENTENCE` as its message
    "page-for-an-answer",  # 200, an HTML page
]

SENTENCE: Final = "this question is longer than the service takes"
RETRY_AFTER: Final = 7.0
MODEL: Final = "scenario-model"


def lookup_order(id: str) -> str:
    """Look an order up.

    Args:
        id: The number of the order.
    """
    if id == "ORD-0":
        raise ValueError("no such order: ORD-0")
    return f"{id} is in transit"


def cancel_order(id: str) -> str:
    """Cancel an order.

    Args:
        id: The number of the order.
    """
    return f"{id} is cancelled"


TOOLS: Final = (lookup_order, cancel_order)


@final
@attrs.frozen
class Call:
    """A tool call as the far end makes it; `arguments` is its JSON text, `output` what the tool gives, as text."""

    name: str
    arguments: str
    output: str
    id: str
    failed: bool = False
    input: Any = None  # None where the arguments cannot be read


@final
@attrs.frozen
class Step:
    """One step of the far end: what it says, the calls that it makes at once, and what it reports to have used."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    usage: Usage | None = None


@final
@attrs.frozen
class Exchange:
    """One turn: the user's message, and the steps of the far end; a fault comes in the place of the last step."""

    message: str
    steps: tuple[Step, ...]
    fault: Fault | None = None

    @property
    def text(self) -> str:
        """The last text."""
        return self.steps[-1].text

    @property
    def calls(self) -> tuple[Call, ...]:
        """All calls of the turn."""
        return tuple(call for step in self.steps for call in step.calls)

    @property
    def usage(self) -> Usage | None:
        """What the turn used: the sum of its steps, None where one of them does not say."""
        used = [step.usage for step in self.steps]
        counts = [(each.input_tokens or 0, each.output_tokens or 0) for each in used if each is not None]
        if len(counts) < len(used):
            return None
        return Usage(input_tokens=sum(each[0] for each in counts), output_tokens=sum(each[1] for each in counts))


@final
@attrs.frozen
class Scenario:
    """A conversation in one session, and how the attempt must end.

    Attributes:
        name: What happens, in a few words.
        exchanges: The turns.
        stream: Whether the far end streams.
        timeout: What each message is sent with.
        status: The attempt's status.
        reason: A regular expression that is found in the attempt's reason.
        retryable: For an agent that cannot be reached: whether trying again can help.
        retry_after: For the same: what it says about that.
    """

    name: str
    exchanges: tuple[Exchange, ...]
    stream: bool = False
    timeout: float | None = None
    status: str = "passed"
    reason: str | None = None
    retryable: bool | None = None
    retry_after: float | None = None

    @property
    def fault(self) -> Fault | None:
        """The fault, if there is one."""
        return self.exchanges[-1].fault


@final
@attrs.frozen
class NotApplicable:
    """That an adapter cannot get into a situation, and why."""

    reason: str


Builder: TypeAlias = Callable[[Scenario], "AbstractContextManager[AgentLike] | NotApplicable"]

USED: Final = Usage(input_tokens=11, output_tokens=7)
LOOKED_UP: Final = Call("lookup_order", '{"id": "ORD-1"}', "ORD-1 is in transit", "c1", input={"id": "ORD-1"})
SECOND: Final = Call("lookup_order", '{"id": "ORD-2"}', "ORD-2 is in transit", "c2", input={"id": "ORD-2"})
CANCELLED: Final = Call("cancel_order", '{"id": "ORD-2"}', "ORD-2 is cancelled", "c1", input={"id": "ORD-2"})
BROKEN: Final = Call(
    "lookup_order", '{"id": "ORD-0"}', "no such order: ORD-0", "c1", failed=True, input={"id": "ORD-0"}
)
GARBLED: Final = Call("lookup_order", '{"id": "ORD', "the arguments are no JSON", "c1", failed=True)


def _asked(*steps: Step, fault: Fault | None = None) -> tuple[Exchange, ...]:
    return (Exchange("Where is my order?", steps, fault),)


def _unreachable(
    fault: Fault, reason: str, *, retryable: bool = True, retry_after: float | None = None, timeout: float | None = None
) -> Scenario:
    return Scenario(
        fault.replace("-", " "),
        _asked(Step(), fault=fault),
        timeout=timeout,
        status="errored",
        reason=reason,
        retryable=retryable,
        retry_after=retry_after,
    )


SCENARIOS: Final = (
    Scenario("plain answer", _asked(Step("It is on its way.", usage=USED))),
    Scenario("usage not reported", _asked(Step("It is on its way."))),
    Scenario("usage reported in one step of two", _asked(Step(calls=(LOOKED_UP,), usage=USED), Step("On its way."))),
    Scenario("nothing said", _asked(Step("", usage=USED))),
    Scenario("one completed call", _asked(Step(calls=(LOOKED_UP,), usage=USED), Step("It is on its way.", usage=USED))),
    Scenario("a failed call", _asked(Step(calls=(BROKEN,), usage=USED), Step("There is no such order.", usage=USED))),
    Scenario("two calls in one step", _asked(Step(calls=(LOOKED_UP, SECOND)), Step("Both are on their way."))),
    Scenario(
        "an id used again in a later turn",
        (
            Exchange("Where are they?", (Step(calls=(LOOKED_UP, SECOND)), Step("Both are on their way."))),
            Exchange("Cancel the second.", (Step(calls=(CANCELLED,)), Step("It is cancelled."))),
        ),
    ),
    Scenario("arguments nobody can read", _asked(Step(calls=(GARBLED,)), Step("I cannot look that up."))),
    Scenario("streamed answer", _asked(Step("It is on its way.", usage=USED)), stream=True),
    Scenario(
        "streamed calls",
        _asked(Step(calls=(LOOKED_UP, SECOND), usage=USED), Step("Both are on their way.", usage=USED)),
        stream=True,
    ),
    Scenario(
        "stream cut in the middle",
        _asked(Step(calls=(LOOKED_UP,)), Step("It is on its way to you."), fault="cut"),
        stream=True,
        status="errored",
        reason="^agent unavailable: ",
        retryable=True,
    ),
    _unreachable("rate-limited", "429", retry_after=RETRY_AFTER),
    _unreachable("server-error", "500"),
    _unreachable("gateway-page", "502"),
    _unreachable("dropped", "^agent unavailable: "),
    _unreachable("silent", r"did not reply within 0\.3 s", retryable=False, timeout=0.3),
    _unreachable("bad-key", "401", retryable=False),
    Scenario("bad request", _asked(Step(), fault="bad-request"), status="failed", reason=f"400.*{SENTENCE}"),
    Scenario(
        "a page for an answer", _asked(Step(), fault="page-for-an-answer"), status="failed", reason="^the agent raised "
    ),
)

each_scenario: Final = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)


async def check_contract(
    scenario: Scenario, build: Builder, *, unsaid: Collection[str] = (), sees_pages: bool = False
) -> None:
    """Run a scenario through an adapter, and assert what its public results must be.

    Args:
        scenario: What happens.
        build: Wires an agent to a far end that does so.
        unsaid: What the protocol never says: "status", "id", "input", "output", "usage".
        sees_pages: Whether the adapter reads the body itself, so that it tells a web page from a broken agent.
    """
    if sees_pages and any(exchange.fault == "page-for-an-answer" for exchange in scenario.exchanges):
        scenario = attrs.evolve(scenario, status="errored", reason="a web page came in place of", retryable=True)
    built = build(scenario)
    if isinstance(built, NotApplicable):
        pytest.skip(built.reason)
    seen = _Seen()
    with built as agent:
        run = await run_eval(_eval(scenario, seen), agent=agent)
    result = run.attempts[0]
    assert result.status == scenario.status, result.reason
    if scenario.reason is not None:
        assert re.search(scenario.reason, result.reason or "", re.DOTALL), result.reason
    _check_error(scenario, seen.error)
    assert len(seen.turns) == len(scenario.exchanges)
    for turn, exchange in zip(seen.turns, scenario.exchanges, strict=True):
        if exchange.fault is None:
            _check_turn(turn, exchange, unsaid)
        else:
            _check_cut_off(turn, exchange, unsaid)


@final
class _Seen:
    def __init__(self) -> None:
        self.turns: tuple[Turn[Any], ...] = ()
        self.error: BaseException | None = None


def _eval(scenario: Scenario, seen: _Seen) -> Any:
    @define_eval
    async def converses(t: EvalContext) -> None:
        session = t.new_session()
        try:
            for exchange in scenario.exchanges:
                turn = await session.send(exchange.message, timeout=scenario.timeout)
                turn.succeeded()
        except BaseException as error:
            seen.error = error
            raise
        finally:
            seen.turns = session.turns
        for turn, exchange in zip(seen.turns, scenario.exchanges, strict=True):
            for name in {call.name for call in exchange.calls}:
                turn.called_tool(name)
            if not exchange.calls:
                turn.used_no_tools()
            turn.not_called_tool("delete_account")

    return converses


def _check_error(scenario: Scenario, error: BaseException | None) -> None:
    if scenario.status == "passed":
        assert error is None
    elif scenario.status == "failed":
        assert isinstance(error, AgentFailed)
    else:
        assert isinstance(error, AgentUnavailable)
        assert (error.retryable, error.retry_after) == (scenario.retryable, scenario.retry_after)


def _check_turn(turn: Turn[Any], exchange: Exchange, unsaid: Collection[str]) -> None:
    evidence = turn._evidence
    assert (turn.status, turn.message) == ("completed", exchange.text)
    assert (evidence.coverage["messages"], evidence.coverage["tool_calls"]) == ("complete", "complete")
    _check_calls(turn.tool_calls or (), exchange.calls, unsaid)
    usage = None if "usage" in unsaid else exchange.usage
    if usage is None:
        assert turn.usage is None
        assert evidence.coverage["usage"] == "none"
    else:
        assert turn.usage is not None
        assert (turn.usage.input_tokens, turn.usage.output_tokens) == (usage.input_tokens, usage.output_tokens)
        assert turn.usage.cost_usd is None


def _check_cut_off(turn: Turn[Any], exchange: Exchange, unsaid: Collection[str]) -> None:
    """A turn that never ended: what came until then is kept, and none of it is called complete."""
    evidence = turn._evidence
    assert turn.status == "failed"
    assert isinstance(turn.usage, Usage | None)
    assert "complete" not in {evidence.coverage["messages"], evidence.coverage["tool_calls"]}
    _check_calls(turn.tool_calls or (), exchange.calls, unsaid)
    if exchange.fault == "cut":
        came = "".join(turn.messages)
        assert came
        assert exchange.text.startswith(came)
    else:
        assert turn.messages == ()


def _check_calls(calls: Collection[ToolCall], expected: Collection[Call], unsaid: Collection[str]) -> None:
    assert [call.name for call in calls] == [call.name for call in expected]
    for call, wanted in zip(calls, expected, strict=True):
        assert call.id == (None if "id" in unsaid else wanted.id)
        assert call.server is None
        if "input" in unsaid:
            assert isinstance(call.input, Absent)
        elif wanted.input is None:
            assert isinstance(call.input, Absent)
            assert call.raw_input == wanted.arguments
        else:
            assert call.input == wanted.input
        assert call.status == (None if "status" in unsaid else "failed" if wanted.failed else "completed")
        if "output" in unsaid:
            assert isinstance(call.output, Absent)
        elif wanted.input is not None:
            # An adapter may say more about a failure than the tool did.
            assert wanted.output in str(call.output) if wanted.failed else call.output == wanted.output
