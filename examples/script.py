"""NiceEval in a plain async script: no eval files and no command line; in a notebook, `await main()`.

Run it with `python examples/script.py`.
"""

import asyncio
import tempfile
from pathlib import Path

import niceeval
from niceeval import AgentContext, EvalContext, Reply, ToolCall
from niceeval.record import Record
from niceeval_expect import excludes, includes, tool_match


def parcel_agent(message: str, ctx: AgentContext) -> Reply:
    """Any function of a message is an agent; this one, as models do, gets it right most of the time."""
    call = ToolCall("lookup_order", {"order_number": "ORD-448192"}, {"status": "in_transit"}, status="completed")
    if ctx.attempt == 3:
        return Reply("I guarantee that it arrives tomorrow.", tool_calls=[])
    return Reply("ORD-448192 is in transit.", tool_calls=[call])


@niceeval.define_eval(cases={"polite": "Where is ORD-448192, please?", "terse": "ORD-448192?"})
async def parcel(t: EvalContext, question: str) -> None:
    turn = await t.send(question)
    turn.called_tool("lookup_order").key("looked_up")
    t.check(turn.message, includes("in transit")).key("says_the_status")
    t.check(turn.message, excludes("guarantee")).key("promises_nothing")


async def one_attempt() -> None:
    """Try something out: whatever is checked in the block is one attempt, and its result is there afterwards."""
    async with niceeval.attempt(agent=parcel_agent, name="first_try") as t:
        turn = await t.send("Where is ORD-448192?")
        turn.called_tool(tool_match("lookup_order", input={"order_number": "ORD-448192"}).exactly(1))
        t.check(turn.message, includes("delivered")).key("says_delivered")

    print(f"{t.result.eval_id}: {t.result.verdict}")
    for failure in t.result.failures:
        print(f"  {failure.requirement}: expected {failure.expected}, received {failure.received}")


async def four_attempts_each(record: Path) -> None:
    """Run an eval as the command line would, and keep the run in a record."""
    run = await niceeval.run_eval(parcel, agent=parcel_agent, attempts=4, record=record)
    rate = run.rates.overall
    print(f"{parcel.id}: {rate.passed} of {rate.decided} attempts passed")
    print(f"  one of 2 tries passes: {rate.pass_at[2]:.2f}    both of 2 pass: {rate.pass_hat[2]:.2f}")


def what_went_wrong(path: Path) -> None:
    """Ask the record: it needs no agent and runs nothing again."""
    with Record.open(path) as record:
        for requirement in record.requirements():
            print(f"  {requirement.key:<18} failed {requirement.failed} of {requirement.decided}")
        worst = record.assertions(decision="unmet", key="promises_nothing")[0]
        print(f"  such as {worst.subject.value()!r}")


async def main() -> None:
    await one_attempt()
    with tempfile.TemporaryDirectory() as folder:
        await four_attempts_each(Path(folder))
        what_went_wrong(Path(folder))


if __name__ == "__main__":
    asyncio.run(main())
