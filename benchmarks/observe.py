"""What `niceeval observe` takes over recorded conversations: conversations and checks per second, and memory.

    python benchmarks/observe.py FILE                     # 200, 5,000 and 20,000 conversations, by repeating FILE's
    python benchmarks/observe.py FILE --counts 200,5000

FILE is the published trajectories of tau-bench: a JSON list of runs with `task_id`, `trial` and `traj`. Each size is
measured in a process of its own, from outside, next to one that only parses the same file line by line.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

CHECKS = r"""
from niceeval_expect import any_of, event_match, pattern, tool_match

WRITES = ("book_reservation", "cancel_reservation", "update_reservation_flights", "update_reservation_baggages")
OF_ITSELF = event_match("message", role="assistant", text=pattern(r"(?i)\bI(?:'m| am) an AI\b"))
REFUSED_WRITE = any_of(*(tool_match(name, status="failed") for name in WRITES))


def status(call):
    return "failed" if str(call.output).startswith("Error") else "completed"


def checks(t):
    session = t.sessions[0]
    session.no_failed_actions().key("no failed action")
    session.no_loops().key("no loops")
    session.max_tool_calls(20).key("at most 20 calls")
    session.not_called_tool("transfer_to_human_agents").key("not handed over")
    session.called_tool(tool_match("get_user_details").at_least(1)).key("knows the user")
    session.not_called_tool(REFUSED_WRITE).key("no write was refused")
    session.not_event(OF_ITSELF).key("does not speak of itself")
    t.check(session.turns[0].message, pattern(r"\S")).key("answers")
"""
CHECKS_EACH = 8

PARSE = """
import json, sys

for line in open(sys.argv[1], "rb"):
    json.loads(line)
"""


class Took(NamedTuple):
    """What one process took: seconds of wall and processor time, and peak memory in MB, up to the seal and in all."""

    wall: float
    cpu: float
    sealed: float
    peak: float


def measured(command: list[str], folder: Path) -> Took:
    """Run a process to its end; its memory is looked at until the run it writes is sealed, before the report."""
    with (folder / "output.txt").open("wb") as output:
        begun = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=output)
        sealed = 0.0
        while (ended := os.wait4(process.pid, os.WNOHANG))[0] == 0:
            if not any(b'"status":"sealed"' in path.read_bytes() for path in folder.glob(".niceeval/runs/*/run.json")):
                sealed = max(sealed, peak_of(process.pid))
            time.sleep(0.05)
        wall = time.perf_counter() - begun
    _, status, usage = ended
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1, 3):
        sys.exit((folder / "output.txt").read_text())
    return Took(wall, usage.ru_utime + usage.ru_stime, sealed, usage.ru_maxrss / 1024)


def peak_of(pid: int) -> float:
    """Return the peak memory of a running process in MB (Linux)."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


def write(path: Path, runs: list[dict], count: int) -> None:
    """Write conversations as JSON Lines, the recorded ones again and again, each with an id of its own."""
    with path.open("w") as file:
        for number in range(count):
            run = runs[number % len(runs)]
            record = {"id": f"{run['task_id']}-{run['trial']}-{number}", "messages": run["traj"]}
            file.write(json.dumps(record) + "\n")


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("file", type=Path)
    options.add_argument("--counts", default="200,5000,20000")
    asked = options.parse_args()
    runs = json.loads(asked.file.read_text())
    names = (
        "conversations",
        "wall s",
        "CPU s",
        "conv./s",
        "checks/s",
        "MB sealed",
        "MB report",
        "parse CPU s",
        "disk MB",
    )
    print("  ".join(f"{name:>11}" for name in names))
    for count in map(int, asked.counts.split(",")):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "rules.py").write_text(CHECKS)
            write(folder / "traffic.jsonl", runs, count)
            parse = measured([sys.executable, "-c", PARSE, "traffic.jsonl"], folder)
            command = [sys.executable, "-m", "niceeval", "observe", "traffic.jsonl", "--with", "rules:checks"]
            took = measured([*command, "--tool-status", "rules:status", "-q"], folder)
            disk = sum(path.stat().st_size for path in (folder / ".niceeval").rglob("*") if path.is_file()) / 1e6
            figures = (
                f"{count:,}", f"{took.wall:.2f}", f"{took.cpu:.2f}", f"{count / took.wall:,.0f}",
                f"{count * CHECKS_EACH / took.wall:,.0f}", f"{took.sealed:.0f}", f"{took.peak:.0f}", f"{parse.cpu:.2f}",
                f"{disk:.1f}",
            )  # fmt: skip
            print("  ".join(f"{figure:>11}" for figure in figures))


if __name__ == "__main__":
    main()
