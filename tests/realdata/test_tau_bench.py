"""Recorded conversations of GPT-4o with an airline's customers, judged again with the public API alone.

Each of the 50 tasks was tried four times; the benchmark published a reward for every trial. It compared the end state of
its database with the one that the expected writes lead to, and looked for the expected values in the assistant's texts,
with commas removed and whatever the case.
"""

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import attrs
import pytest

from niceeval import EvalContext, RunResult, ToolCall, define_eval, run_eval, transcript_from_openai
from niceeval.record import Record
from niceeval_expect import ToolMatch, any_of, event_match, json_match, pattern, tool_match
from niceeval_expect import ToolStatus as Status

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "tau_bench_gpt4o_airline.json"
TRIALS = 4
PUBLISHED_PASS_HAT = {1: 0.420, 2: 0.273, 3: 0.220, 4: 0.200}
WRITES = (
    "book_reservation",
    "cancel_reservation",
    "update_reservation_baggages",
    "update_reservation_flights",
    "update_reservation_passengers",
    "send_certificate",
)

CUT_OFF = "the conversation was cut off at the step limit: the benchmark gave 0 without looking at what had been done"
WHY = {("2", 2): CUT_OFF, ("46", 4): CUT_OFF}

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not DATA.exists(), reason=f"the recorded conversations are not here: {DATA}"),
]


@attrs.frozen
class Task:
    """What a task expects, and the recorded conversations of its trials."""

    writes: list[dict[str, Any]]
    outputs: list[str]
    trials: dict[int, list[dict[str, Any]]]
    rewards: dict[int, float]


def load_tasks() -> dict[str, Task]:
    tasks: dict[str, Task] = {}
    for run in json.loads(DATA.read_text(encoding="utf-8")):
        expected = run["info"]["task"]
        writes = [action for action in expected["actions"] if action["name"] in WRITES]
        task = tasks.setdefault(str(run["task_id"]), Task(writes, expected["outputs"], {}, {}))
        task.trials[run["trial"] + 1] = run["traj"]
        task.rewards[run["trial"] + 1] = run["reward"]
    return tasks


def status_of(call: ToolCall) -> Status:
    # The airline's tools answer with a text that starts like this, and then nothing has changed.
    return "failed" if str(call.output).startswith("Error") else "completed"


def made(write: dict[str, Any]) -> ToolMatch:
    # Partial, since the tools ignore what is written next to a flight's number and date.
    return tool_match(write["name"], input=json_match(write["kwargs"]), status="completed")


def told(output: str) -> str:
    return "(?i)" + ",?".join(character if character.isalnum() else f"\\{character}" for character in output)


async def airline(t: EvalContext, task: Task) -> None:
    session = t.observe(transcript_from_openai(task.trials[t.attempt], tool_status=status_of))
    expected = Counter(map(made, task.writes))
    for write, times in expected.items():
        session.called_tool(write.exactly(times)).key("expected write made")
    write = any_of(*(tool_match(name, status="completed") for name in WRITES))
    session.not_called_tool(write & ~any_of(*expected) if expected else write).key("no other write")
    for output in task.outputs:
        answer = event_match("message", role="assistant", text=pattern(told(output)))
        session.event(answer).key("expected value told").label(output)


def disagreements(run: RunResult, tasks: dict[str, Task]) -> list[str]:
    lines: list[str] = []
    for attempt in run.attempts:
        reward = tasks[attempt.case_id or ""].rewards[attempt.attempt]
        if (attempt.status == "passed") == (reward == 1.0) and attempt.status in ("passed", "failed"):
            continue
        why = WHY.get((attempt.case_id or "", attempt.attempt), attempt.reason or "not explained")
        lines.append(f"task {attempt.case_id}, trial {attempt.attempt}: {attempt.status}, reward {reward:g}; {why}")
        lines += [f"    {failure.requirement}: {failure.received}" for failure in attempt.failures]
    return lines


async def test_verdicts_agree_with_the_published_rewards(tmp_path: Path) -> None:
    tasks = load_tasks()
    started = time.perf_counter()
    run = await run_eval(
        define_eval("airline", test=airline, cases=tasks), attempts=TRIALS, concurrency=8, record=tmp_path
    )
    took = time.perf_counter() - started
    assert len(run.attempts) == len(tasks) * TRIALS == 200

    found = disagreements(run, tasks)
    differing = sum(not line.startswith(" ") for line in found)
    report = "\n".join([f"{200 - differing} of 200 verdicts agree, {200 / took:.0f} conversations/s", *found])
    print(f"\n{report}")
    assert differing <= 3, report

    with Record.open(tmp_path) as record:
        rates = record.pass_rates()
        requirements = {item.key: item for item in record.requirements()}
        failed = record.attempts(verdict="failed")
    assert (rates.overall.decided, rates.overall.errored, rates.overall.planned) == (200, 0, 200)
    assert rates.overall.pass_hat == pytest.approx(PUBLISHED_PASS_HAT, abs=0.02)

    assert {(key, item.decided, item.not_reached) for key, item in requirements.items()} == {
        ("expected write made", writing(tasks), 200 - writing(tasks)),
        ("no other write", 200, 0),
        ("expected value told", 16, 184),
    }
    assert {item.errored for item in requirements.values()} == {0}
    # Every failed attempt failed one of the three, and none of the three failed elsewhere.
    for key, item in requirements.items():
        assert item.failed == sum(key in {one.requirement for one in attempt.failures} for attempt in failed)
    assert all(attempt.failures for attempt in failed)


def writing(tasks: dict[str, Task]) -> int:
    return TRIALS * sum(1 for task in tasks.values() if task.writes)


async def test_half_of_the_trials_is_not_worse_than_the_other(tmp_path: Path) -> None:
    """The same agent twice, as if it were two versions: what differs is chance, and the gate does not fail for it."""
    tasks = load_tasks()
    for trials in ((1, 2), (3, 4)):
        half = {
            name: attrs.evolve(task, trials={place: task.trials[trial] for place, trial in enumerate(trials, 1)})
            for name, task in tasks.items()
        }
        await run_eval(define_eval("airline", test=airline, cases=half), attempts=2, concurrency=8, record=tmp_path)

    with Record.open(tmp_path) as record:
        second, first = record.runs()
        (found,) = record.compare(first, second)
        answer = record.gate(second, baseline=first)
        sampled = record.gate(second, min_rate=0.3).conditions[0].model_dump()
        fixed = record.gate(second, min_rate=0.3, cases="fixed").conditions[0].model_dump()
        requirements = {each.name: (each.first.decided, each.second.decided) for each in found.requirements}

    overall = found.overall
    assert overall is not None
    print(
        f"\n{overall.first.passed}/{overall.first.decided} and {overall.second.passed}/{overall.second.decided}: "
        f"{overall.worse} tasks worse, {overall.better} better, difference {overall.difference:+.3f}, "
        f"interval {overall.interval}, p = {overall.p_differs:.2f}"
    )
    assert (overall.pairs, overall.first.decided, overall.second.decided) == (50, 100, 100)
    assert len(found.worse) == overall.worse
    assert len(found.better) == overall.better
    recount = Counter[str]()
    for name, task in tasks.items():
        rewards = [task.rewards[trial] for trial in sorted(task.rewards)]
        recount["first"] += int(sum(rewards[:2]))
        recount["second"] += int(sum(rewards[2:]))
        assert len(rewards) == TRIALS, name
    # The published rewards, but for the verdicts that are known to differ.
    assert abs(overall.first.passed - recount["first"]) <= 3
    assert abs(overall.second.passed - recount["second"]) <= 3
    low, high = overall.interval or (0.0, 0.0)
    assert low < 0 < high
    assert overall.p_differs > 0.05
    assert answer.decision == "pass"
    assert requirements["no other write"] == (100, 100)
    # Trials of one task are alike: fifty tasks say less about other tasks than a hundred trials about these.
    assert (sampled["effective"], fixed["effective"]) == (50, 100)
    assert sampled["low"] < fixed["low"] < sampled["rate"] < fixed["high"] < sampled["high"]
