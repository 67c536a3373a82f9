"""The index of a large record: how fast it is built, how fast queries answer, and whether a recount agrees.

    python benchmarks/index.py [ASSERTIONS]

A run of real attempts is made with the runner and then multiplied: every line gets an id and a case of its own.
"""

import asyncio
import functools
import json
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


def agent(date: str, *, counts: bool, sorry: int) -> object:
    def answer(message: str) -> Reply:
        order = message.rsplit(" ", 1)[1][:-1]
        number = int(order[4:])
        if number % 50 == 49:
            raise ValueError("no such order")
        text = f"{order} is in transit and arrives {date if number % sorry else 'soon, sorry'}."
        call = ToolCall("lookup", {"order": order}, output={"status": "in_transit"}, status="completed")
        usage = Usage(input_tokens=812, output_tokens=44) if counts or number % 10 else None
        return Reply(text, tool_calls=[call], usage=usage)

    return answer


def generate(root: Path, assertions: int, *, sorry: int = 7) -> Path:
    """Write a run of so many assertions; every so many orders, the agent is sorry."""
    templates = []
    agents = {
        "first": agent("on 2026-08-04", counts=True, sorry=sorry),
        "second": agent("on a day", counts=False, sorry=sorry),
    }
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
    statuses, passed, failed, unmet, assertions = Counter(), 0, 0, Counter(), 0
    for path in folder.glob("attempts-*.jsonl"):
        with open(path, "rb") as file:
            for raw in file:
                attempt = json.loads(raw)
                statuses[attempt["status"]] += 1
                assertions += len(attempt["assertions"])
                if attempt["style"] == "pass":
                    passed += attempt["status"] == "passed"
                    failed += attempt["status"] == "failed"
                for name in {e["requirement"] for e in attempt["assertions"] if e["decision"] == "unmet"}:
                    unmet[name] += 1
    return {
        "statuses": statuses,
        "passed": passed,
        "decided": passed + failed,
        "unmet": unmet,
        "assertions": assertions,
    }


def timed(name: str, ask: object) -> object:
    """Say how long an answer takes."""
    started, used = time.perf_counter(), time.process_time()
    answer = ask()
    print(f"  {name:<44} {time.perf_counter() - started:7.3f} s   {time.process_time() - used:7.3f} s of CPU")
    return answer


def answers(root: Path, folder: Path, baseline: Path) -> dict[str, object]:
    """Ask every fixed query from the kept index, and say how long each takes."""
    now, before = folder.name, baseline.name
    asked = {
        "statuses": lambda record: record.query("SELECT status, count(*) AS n FROM attempts GROUP BY status", now),
        "runs()": lambda record: record.runs(),
        'attempts(verdict="failed", limit=100)': lambda record: list(record.attempts(now, verdict="failed", limit=100)),
        "attempts()": lambda record: record.attempts(now),
        'assertions(decision="unmet", limit=100)': lambda record: list(
            record.assertions(now, decision="unmet", limit=100)
        ),
        "assertions()": lambda record: record.assertions(now),
        "requirements()": lambda record: record.requirements(now),
        "pass_rates()": lambda record: record.pass_rates(now),
        "ranking()": lambda record: record.ranking(now),
        "gate(min_rate, requirement, max_errored)": lambda record: record.gate(
            now, min_rate=0.8, requirements={"short": 0.5}, max_errored=0.1
        ),
        "gate(min_rate, baseline)": lambda record: record.gate(now, min_rate=0.8, baseline=before),
        "compare()": lambda record: record.compare(before, now),
        "rank()": lambda record: record.rank(now),
        'history("short")': lambda record: record.history("short"),
        "histories()": lambda record: record.histories(),
        'histories(eval="order_lookup")': lambda record: record.histories(eval="order_lookup"),
    }
    found: dict[str, object] = {}
    for name, ask in asked.items():
        # Each opens the record anew, as a command does.
        with Record.open(root) as record:
            found[name] = timed(name, lambda ask=ask, record=record: ask(record))
    return found


def exports(root: Path, folder: Path) -> None:
    """Say how long the exports take."""
    for kind in ("parquet", "csv", "jsonl"):
        with Record.open(root) as record, tempfile.TemporaryDirectory() as out:
            write = functools.partial(record.export, out, folder.name, format=kind)
            timed(f"export({kind!r})", write)


def commands(folder: Path, baseline: Path) -> None:
    """Say how long commands take, from the start of Python to its end."""
    for name, *arguments in (
        ("niceeval show", "show", folder.name),
        (
            "niceeval gate --min-rate 0.8 --baseline",
            "gate",
            folder.name,
            "--min-rate",
            "0.8",
            "--baseline",
            baseline.name,
        ),
        ("niceeval compare", "compare", baseline.name, folder.name),
    ):
        command = [sys.executable, "-m", "niceeval", *arguments]
        # The record lies in the project's folder; a gate that fails is an answer, too.
        ask = functools.partial(subprocess.run, command, cwd=folder.parents[2], stdout=subprocess.DEVNULL)
        assert timed(name, ask).returncode in (0, 1)


def main(assertions: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / ".niceeval"
        baseline = generate(root, assertions, sorry=5)
        folder = generate(root, assertions)
        with Record.open(root) as record:
            record.ranking(baseline.name)
            started, used = time.perf_counter(), time.process_time()
            record.ranking(folder.name)
            took, spent = time.perf_counter() - started, time.process_time() - used
        print(f"index made in {took:.2f} s ({assertions / took:,.0f} assertions/s; {spent:.2f} s of CPU)")
        size = sum(path.stat().st_size for path in folder.glob("index/*/*"))
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"index {size / 1e6:.1f} MB, {memory:,.0f} MB of memory at most")
        print("each of these from the kept index:")
        found = answers(root, folder, baseline)
        exports(root, folder)
        commands(folder, baseline)
        counted = timed("a recount in plain Python", lambda: recount(folder))
        check(found, counted)
        print("the recount gives the same figures")


def check(found: dict[str, object], counted: dict[str, object]) -> None:
    """Hold the answers against the recount."""
    assert {row["status"]: row["n"] for row in found["statuses"]} == dict(counted["statuses"])
    overall = found["pass_rates()"].overall
    assert (overall.passed, overall.decided) == (counted["passed"], counted["decided"])
    assert {each.key: each.failed for each in found["requirements()"] if each.failed} == dict(counted["unmet"])
    assert sum(place.scored for place in found["ranking()"]) == counted["statuses"]["scored"]
    assert sum(place.scored for place in found["rank()"]) == counted["statuses"]["scored"]
    rates = [each for each in found["gate(min_rate, baseline)"].conditions if each.kind == "rate"]
    assert sum(each.passed for each in rates) == counted["passed"]
    assert sum(each.overall.second.passed for each in found["compare()"]) == counted["passed"]
    assert len(found["assertions()"]) == counted["assertions"]


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
