"""The index of a large record: how fast it is built, how fast queries answer, and whether a recount agrees.

    python benchmarks/index.py [ASSERTIONS]

A run of real attempts is made with the runner and then multiplied: every line gets an id and a case of its own.
"""

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from niceeval import EvalContext, Reply, ToolCall, Usage, define_eval, define_score_eval, run_eval
from niceeval.record import Record
from niceeval.record.write import RunWriter
from niceeval_expect import excludes, includes, length, pattern

CASES = {f"c{number}": f"Where is order ORD-{number}?" for number in range(100)}
PER_ATTEMPT = 8


@define_eval(cases=CASES)
async def order_lookup(t: EvalContext, question: str) -> None:
    turn = await t.send(question)
    await turn.succeeded().or_stop()
    t.check(turn.message, includes("ORD-")).key("names the order")
    t.check(turn.message, length(at_most=60)).key("short")
    t.check(turn.message, pattern(r"\d{4}-\d\d-\d\d")).key("gives a date")
    turn.called_tool("lookup").key("looks it up")
    turn.max_tokens(2000).key("token budget")
    t.check(turn.message, excludes("sorry")).key("no excuse")
    t.check(turn.message, includes(question[-5:-1])).key("the right order")


@define_score_eval(cases=CASES)
async def tone(t: EvalContext, question: str) -> None:
    turn = await t.send(question)
    for number in range(PER_ATTEMPT):
        t.check(turn.message, length(at_most=50 + number)).score(1)


def agent(date: str, *, counts: bool) -> object:
    def answer(message: str) -> Reply:
        order = message.rsplit(" ", 1)[1][:-1]
        number = int(order[4:])
        if number % 50 == 49:
            raise ValueError("no such order")
        text = f"{order} is in transit and arrives {date if number % 7 else 'soon, sorry'}."
        call = ToolCall("lookup", {"order": order}, output={"status": "in_transit"}, status="completed")
        usage = Usage(input_tokens=812, output_tokens=44) if counts or number % 10 else None
        return Reply(text, tool_calls=[call], usage=usage)

    return answer


def generate(root: Path, assertions: int) -> Path:
    """Write a run of so many assertions."""
    templates = []
    agents = {"first": agent("on 2026-08-04", counts=True), "second": agent("on a day", counts=False)}
    for each in (order_lookup, tone):
        result = asyncio.run(run_eval(each, agent=agents, record=root))
        (path,) = result.folder.glob("attempts-*.jsonl")
        for line in path.read_text().splitlines():
            templates.append((json.loads(line), line))
    size = sum(len(document["assertions"]) for document, _ in templates)
    times = -(-assertions // size)
    evals = [
        {"id": name, "style": style, "cases": [f"{case}-{n}" for n in range(times) for case in CASES]}
        for name, style in (("order_lookup", "pass"), ("tone", "score"))
    ]
    writer = RunWriter.create(root, {"agents": list(agents), "attempts": 1, "evals": evals})
    done = number = 0
    for n in range(times):
        for document, line in templates:
            if done >= assertions:
                break
            number += 1
            line = line.replace(f'"id":"{document["id"]}"', f'"id":"{number:012x}"', 1)
            writer.append(line.replace(f'"case":"{document["case"]}"', f'"case":"{document["case"]}-{n}"', 1))
            done += len(document["assertions"])
    writer.seal()
    size = sum(path.stat().st_size for path in writer.folder.glob("*.jsonl"))
    print(f"{number:,} attempts, {done:,} assertions, {size / 1e6:,.0f} MB")
    return writer.folder


def recount(folder: Path) -> dict[str, object]:
    """Count everything again in plain Python, from the lines alone."""
    statuses, passed, failed, unmet = Counter(), 0, 0, Counter()
    for path in folder.glob("attempts-*.jsonl"):
        with open(path, "rb") as file:
            for raw in file:
                attempt = json.loads(raw)
                statuses[attempt["status"]] += 1
                if attempt["style"] == "pass":
                    passed += attempt["status"] == "passed"
                    failed += attempt["status"] == "failed"
                for name in {e["requirement"] for e in attempt["assertions"] if e["decision"] == "unmet"}:
                    unmet[name] += 1
    return {"statuses": statuses, "passed": passed, "decided": passed + failed, "unmet": unmet}


def timed(name: str, ask: object) -> object:
    """Say how long an answer takes."""
    started, used = time.perf_counter(), time.process_time()
    answer = ask()
    print(f"  {name:<44} {time.perf_counter() - started:7.3f} s   {time.process_time() - used:7.3f} s of CPU")
    return answer


def main(assertions: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = generate(Path(place) / ".niceeval", assertions)
        with Record.open(folder) as record:
            started, used = time.perf_counter(), time.process_time()
            record.ranking()
            took, spent = time.perf_counter() - started, time.process_time() - used
            print(f"index made in {took:.2f} s ({assertions / took:,.0f} assertions/s; {spent:.2f} s of CPU)")
            size = sum(path.stat().st_size for path in folder.glob("index/*/*"))
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"index {size / 1e6:.1f} MB, {memory:,.0f} MB of memory at most")
        with Record.open(folder) as record:
            print("each of these from the kept index:")
            statuses = "SELECT status, count(*) AS n FROM attempts GROUP BY status"
            timed("open, and ranking()", record.ranking)
            timed("runs()", record.runs)
            timed('attempts(verdict="failed", limit=100)', lambda: list(record.attempts(verdict="failed", limit=100)))
            timed('attempts(eval="order_lookup")', lambda: record.attempts(eval="order_lookup"))
            timed(
                'assertions(decision="unmet", limit=100)', lambda: list(record.assertions(decision="unmet", limit=100))
            )
            timed('assertions(key="short", decision="unmet")', lambda: record.assertions(key="short", decision="unmet"))
            requirements = timed("requirements()", record.requirements)
            rates = timed("pass_rates()", record.pass_rates)
            ranking = timed("ranking()", record.ranking)
            rows = timed("query(statuses)", lambda: record.query(statuses))
        show = [sys.executable, "-m", "niceeval", "show", str(folder)]
        timed("niceeval show", lambda: subprocess.run(show, stdout=subprocess.DEVNULL, check=True, env={**os.environ}))
        counted = timed("a recount in plain Python", lambda: recount(folder))
        assert {row["status"]: row["n"] for row in rows} == dict(counted["statuses"])
        assert (rates.overall.passed, rates.overall.decided) == (counted["passed"], counted["decided"])
        assert {each.key: each.failed for each in requirements if each.failed} == dict(counted["unmet"])
        assert sum(place.scored for place in ranking) == counted["statuses"]["scored"]
        print("the recount gives the same figures")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
