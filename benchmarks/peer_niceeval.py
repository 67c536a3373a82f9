"""The peer workload in NiceEval: the public API, used the way a user would, evidence and record included.

Run by the benchmark's own runner, which puts `common.py` on the path: see docs/benchmarks.md.
"""

from common import Bench

b = Bench()
import asyncio

from niceeval import EvalContext, Reply, ToolCall, define_eval, run_eval
from niceeval.record import Record
from niceeval_expect import at, equals, excludes, json_text, length, matches, one_of, pattern, tool_match

b.imported()
import niceeval
import common as w

PARSES = json_text()
SCHEMA = json_text(matches(w.ANSWER_SCHEMA))
ORDER_FORMAT = json_text(at("order_number", pattern(w.ORDER_RE.pattern, full=True)))
STATUS_IN_SET = json_text(at("status", one_of(w.STATUSES)))
NOT_BANNED = excludes(w.BANNED)
LOOKUP_ONCE = tool_match("lookup_order", input=matches(w.LOOKUP_ARGS_SCHEMA)).exactly(1)
SHORT_ENOUGH = length(at_most=w.MAX_LEN)
STATUSES = {"ok": "completed"}


def run(cases):
    by_input = {case["input"]: case for case in cases}

    async def agent(message):
        answer, calls = await w.agent(by_input[message])
        return Reply(
            answer,
            tool_calls=[ToolCall(c["name"], c["args"], c["output"], status=STATUSES[c["status"]]) for c in calls],
        )

    @define_eval(id="bench", cases=cases)
    async def bench(t: EvalContext, case: dict) -> None:
        turn = await t.send(case["input"])
        t.check(turn.message, PARSES).key("json_parses")
        t.check(turn.message, SCHEMA).key("schema")
        t.check(turn.message, ORDER_FORMAT).key("order_format")
        t.check(turn.message, STATUS_IN_SET).key("status_in_set")
        t.check(turn.message, json_text(at("order_number", equals(case["expected_order"])))).key("order_matches")
        t.check(turn.message, NOT_BANNED).key("no_banned_phrase")
        turn.called_tool(LOOKUP_ONCE).key("lookup_once")
        t.check(turn.message, SHORT_ENOUGH).key("length")

    asyncio.run(run_eval(bench, agent=agent, record=".niceeval"))


def query():
    with Record.open(".niceeval") as record:
        return {requirement.key: requirement.failed for requirement in record.requirements()}


cases = b.load()
with b.timed():
    run(cases)
with b.timed("query_s"):
    failures = query()
b.finish(failures, peer="niceeval", version=niceeval.__version__)
