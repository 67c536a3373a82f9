"""A run with one attempt of every kind, and texts that try to break out of a report."""

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from niceeval import AgentUnavailable, EvalContext, define_eval, define_score_eval
from niceeval.cli.view import RunView
from niceeval.plans import Plan
from niceeval.record.write import RunWriter
from niceeval.runner import execute
from niceeval_expect import equals, includes, pattern

HOSTILE = 'bad \x12 \x00 \ufffe \x1b[31mred\x1b[0m ]]> <&" \ud83d ``` | @someone \u6771\u4eac \U0001f600 %0A::error::x'


async def agent(message: str) -> str:
    if message == "down":
        raise AgentUnavailable("503 Service Unavailable")
    if message == "crash":
        raise RuntimeError(HOSTILE)
    return HOSTILE if message == "hostile" else message


@define_eval(id="a/answers", cases={"good": "fine", HOSTILE: "hostile", "down": "down", "crash": "crash"})
async def answers(t: EvalContext, case: str) -> None:
    turn = await t.send(case)
    t.check(turn.message, equals("fine")).key(f"is fine | {HOSTILE}")
    t.check(turn.message, includes("e")).label("has an e")


@define_eval(id="b/answers", cases={"good": "fine", "later": "later"})
async def others(t: EvalContext, case: str) -> None:
    if case == "later":
        t.skip(f"not yet: {HOSTILE}")
    t.check(case, pattern("f.ne"))


@define_score_eval(id="a/style", cases={"good": "fine", "down": "down"})
async def style(t: EvalContext, case: str) -> None:
    turn = await t.send(case)
    t.check(turn.message, includes("fine")).score(2.5)
    t.score(0.25)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the recorded run."""
    plan = Plan.of_agents((answers, others, style), {"plain": agent})
    writer = RunWriter.create(tmp_path_factory.mktemp("reports"), plan.header())

    async def run() -> None:
        await execute(plan, concurrency=4, timeout=None, writer=writer)

    anyio.run(run)
    return writer.folder


@pytest.fixture
def view(folder: Path) -> Iterator[RunView]:
    opened = RunView(folder)
    yield opened
    opened.close()
