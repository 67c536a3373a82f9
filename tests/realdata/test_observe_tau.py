"""The recorded conversations of an airline's agent through `niceeval observe`, with checks that need no reference."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from niceeval.record import Record

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "tau_bench_gpt4o_airline.json"
BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "observe.py"

pytestmark = pytest.mark.skipif(not DATA.exists(), reason=f"the recorded conversations are not here: {DATA}")


def rules(folder: Path) -> None:
    """Write the benchmark's checks as a module."""
    namespace: dict[str, Any] = {"__name__": "benchmark"}
    exec(compile(BENCHMARK.read_text(), str(BENCHMARK), "exec"), namespace)
    (folder / "rules.py").write_text(namespace["CHECKS"])


def observe(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "niceeval", "observe", str(DATA), "--with", "rules:checks", "--messages", "traj"]
    known = ["--id", "task_id", "--id", "trial", "--tool-status", "rules:status"]
    return subprocess.run([*command, *known, *options], cwd=folder, capture_output=True, text=True, check=False)


def test_every_conversation_is_decided(tmp_path: Path) -> None:
    rules(tmp_path)
    done = observe(tmp_path)
    assert done.returncode == 1, done.stderr
    runs = json.loads(DATA.read_text())
    with Record.open(tmp_path / ".niceeval") as record:
        rates = record.pass_rates().overall
        requirements = {item.key: item for item in record.requirements()}
    assert (rates.decided, rates.errored, rates.planned) == (200, 0, 200)
    assert len(requirements) == 8
    assert {(item.decided, item.errored) for item in requirements.values()} == {(200, 0)}
    assert requirements["no failed action"].failed == sum(map(has_failed_call, runs))
    assert requirements["not handed over"].failed == sum(hands_over(run["traj"]) for run in runs)


def has_failed_call(run: dict[str, Any]) -> bool:
    return any(each["role"] == "tool" and each["content"].startswith("Error") for each in run["traj"])


def hands_over(messages: list[dict[str, Any]]) -> bool:
    names = [call["function"]["name"] for each in messages for call in each.get("tool_calls") or ()]
    return "transfer_to_human_agents" in names


def test_a_sample_of_them_is_a_run_of_the_sample(tmp_path: Path) -> None:
    rules(tmp_path)
    done = observe(tmp_path, "--sample", "25", "--seed", "7", "--concurrency", "8", "--backend", "trio")
    assert done.returncode in (0, 1), done.stderr
    with Record.open(tmp_path / ".niceeval") as record:
        rates = record.pass_rates().overall
    assert (rates.decided, rates.planned) == (25, 25)
