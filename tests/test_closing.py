"""What agents hold open is closed: with the session where it is kept there, with the run where the agent keeps it."""

from typing import Any

import anyio
import pytest

from niceeval import AgentContext, EvalContext, attempt, define_eval, run_eval
from niceeval.evals.experiments import Experiment
from niceeval.plans import Plan, Quiet
from niceeval.record.write import MemoryWriter
from niceeval.runner import execute
from niceeval_expect import includes

pytestmark = pytest.mark.anyio


class Line:
    """Held open by a session."""

    ends_with_session = True

    def __init__(self, log: list[str], breaks: bool = False) -> None:
        self.log = log
        self.breaks = breaks

    async def aclose(self) -> None:
        await anyio.lowlevel.checkpoint()
        self.log.append("line closed")
        if self.breaks:
            raise OSError("already gone")


class Holder:
    """An agent that holds something open for itself, and something for each session."""

    def __init__(self, *, breaks: str = "") -> None:
        self.log: list[str] = []
        self.breaks = breaks

    async def reply(self, message: str, ctx: AgentContext) -> str:
        self.log.append(message)
        ctx.session.setdefault("line", Line(self.log, self.breaks == "line"))
        if message == "fail":
            raise ValueError("no")
        return message

    async def aclose(self) -> None:
        await anyio.lowlevel.checkpoint()
        self.log.append("agent closed")
        if self.breaks == "agent":
            raise OSError("already gone")


def says(*texts: str) -> Any:
    @define_eval
    async def speaks(t: EvalContext) -> None:
        for text in texts:
            turn = await t.new_session().send(text)
            turn.succeeded()

    return speaks


async def test_sessions_are_closed_with_their_attempt_and_agents_with_the_run() -> None:
    holder = Holder()
    run = await run_eval(says("a", "b"), agent=holder, attempts=2, concurrency=1)
    assert run.statuses == {"passed": 2}
    each = ["a", "b", "line closed", "line closed"]
    assert holder.log == [*each, *each, "agent closed"]


async def test_they_are_closed_however_it_ends() -> None:
    failing = Holder()
    assert (await run_eval(says("fail"), agent=failing)).statuses == {"failed": 1}
    assert failing.log == ["fail", "line closed", "agent closed"]

    holder = Holder()
    with anyio.move_on_after(5) as scope:

        @define_eval
        async def is_interrupted(t: EvalContext) -> None:
            await t.send("a")
            scope.cancel()
            await anyio.sleep_forever()

        await run_eval(is_interrupted, agent=holder)
    assert scope.cancelled_caught
    assert holder.log == ["a", "line closed", "agent closed"]


async def test_an_attempt_of_its_own_closes_both() -> None:
    holder = Holder()
    async with attempt(agent=holder) as t:
        t.check((await t.send("a")).message, includes("a"))
    assert holder.log == ["a", "line closed", "agent closed"]


async def test_one_agent_under_two_names_is_closed_once() -> None:
    holder = Holder()
    await run_eval(says("a"), agent={"one": holder, "two": holder}, concurrency=1)
    assert holder.log.count("agent closed") == 1


class Heard(Quiet):
    def __init__(self) -> None:
        self.complaints: list[str] = []

    def complained(self, text: str) -> None:
        self.complaints.append(text)


async def test_what_goes_wrong_is_said() -> None:
    heard = Heard()
    plan = Plan(evals=(says("a"),), experiments=(Experiment(name="x", agent=Holder(breaks="agent")),))
    run = await execute(plan, concurrency=1, timeout=None, writer=MemoryWriter(plan.header()), progress=heard)
    assert run.statuses == {"passed": 1}
    assert heard.complaints == ["closing an agent raised OSError: already gone"]

    (result,) = (await run_eval(says("a"), agent=Holder(breaks="line"))).attempts
    assert (result.status, result.reason) == ("errored", "closing the agent's session raised OSError: already gone")

    with pytest.warns(RuntimeWarning, match="closing the agent raised OSError: already gone"):
        async with attempt(agent=Holder(breaks="agent")) as t:
            await t.send("a")


class Shared(Line):
    """Kept in a session, and used by others too."""

    ends_with_session = False


class Open:
    """Has every attribute, and holds nothing."""

    def __getattr__(self, name: str) -> Any:
        return lambda *args: "x"


async def test_what_only_looks_as_if_it_could_be_closed_is_left_alone() -> None:
    log: list[str] = []

    def agent(message: str, ctx: AgentContext) -> str:
        ctx.session["open"] = Open()
        ctx.session["shared"] = Shared(log)
        ctx.session["class"] = Line
        return message

    assert (await run_eval(says("a"), agent=agent)).statuses == {"passed": 1}
    assert log == []
