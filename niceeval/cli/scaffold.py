"""What `niceeval init` writes: a project that runs at once, with one eval that passes and one that fails on purpose."""

from typing import Final

__all__ = ["CONFIG", "FILES", "IGNORED"]

CONFIG: Final = """\
[tool.niceeval]
evals = ["evals"]              # where the evals are
experiments = ["experiments"]  # which agents they run against, with which settings
"""

IGNORED: Final = ".niceeval/"

_AGENT: Final = '''\
"""The agent under test. Replace the body of `support` with a call to yours."""

from niceeval import AgentContext, Reply, ToolCall

ORDERS = {"ORD-1001": "in transit", "ORD-1002": "refunded"}


def support(message: str, ctx: AgentContext) -> Reply:
    """Answer one message. `ctx.model` and `ctx.flags` are what the experiment says."""
    order = message.rstrip("?").split()[-1]
    status = ORDERS.get(order, "unknown")
    looked_up = ToolCall("lookup_order", {"id": order}, {"status": status})
    # A mistake for the second eval to find: whatever the status is, the order is said to be on its way.
    return Reply(f"Your order {order} is on its way.", tool_calls=[looked_up])
'''

_EVAL: Final = '''\
"""Two evals: the first passes, and the second fails until the mistake in agent.py is corrected."""

from niceeval import EvalContext, define_eval
from niceeval_expect import includes, tool_match


@define_eval(tags=["smoke"])
async def looks_up_the_order(t: EvalContext) -> None:
    turn = await t.send("Where is my order ORD-1001?")
    await turn.succeeded().or_stop()
    turn.called_tool(tool_match("lookup_order", input={"id": "ORD-1001"})).key("looks it up")
    t.check(turn.message, includes("ORD-1001")).key("names the order")


CASES = {
    "moving": {"order": "ORD-1001", "says": "on its way"},
    "refunded": {"order": "ORD-1002", "says": "refunded"},
}


@define_eval(cases=CASES)
async def tells_the_status(t: EvalContext, case: dict[str, str]) -> None:
    turn = await t.send(f"What is the status of {case['order']}?")
    t.check(turn.message, includes(case["says"])).key("right status")
'''

_EXPERIMENT: Final = '''\
"""The agent as it is. Copy this file to try another model or other flags: each file is one experiment."""

from niceeval import define_experiment

# More that can be said here: model="...", flags={...}, attempts=3, timeout=60, budget={"max_cost": 1.0}
baseline = define_experiment(agent="agent:support")
'''

FILES: Final = {
    "agent.py": _AGENT,
    "evals/eval_orders.py": _EVAL,
    "experiments/baseline.py": _EXPERIMENT,
}
"""The files by their paths in the project."""
