"""What a run of many trivial cases takes: processor time for each case, and memory beyond the plan itself.

    python benchmarks/volume.py                        # 5,000 and 100,000 cases
    python benchmarks/volume.py --cases 5000,20000     # others
    python benchmarks/volume.py --keep DIR             # leaves each run's record in DIR, to look at

Every step is a process of its own, measured from outside: the plan alone, `run_eval` and `niceeval run` with a record
on disk, and `niceeval show` on what was recorded, once and then once more.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

EVALS = """
import os

from niceeval import EvalContext, define_eval
from niceeval_expect import equals

CASES = [{"id": f"case-{number:06d}", "number": number} for number in range(int(os.environ["CASES"]))]


@define_eval(id="bulk", cases=CASES)
async def bulk(t: EvalContext, case: dict[str, int]) -> None:
    t.check(case["number"], equals(case["number"])).key("same")
"""

PLAN = """
from niceeval.plans import Plan

from bulk_evals import bulk

plan = Plan((bulk,))
header = plan.header()
assert plan.size == len(header["evals"][0]["cases"])
"""

LIBRARY = """
import asyncio

from niceeval import run_eval

from bulk_evals import bulk

asyncio.run(run_eval(bulk, record=".library"))
"""


class Took(NamedTuple):
    """What one process took."""

    wall: float
    cpu: float
    peak: float


def took(command: list[str], folder: Path, cases: int) -> Took:
    """Run a command to its end and return its wall and processor time in seconds and its peak memory in MB."""
    env = {**os.environ, "CASES": str(cases), "PYTHONPATH": str(folder), "NO_COLOR": "1"}
    with open(folder / "output", "w") as output:
        begun = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, env=env, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}:\n{(folder / 'output').read_text()[-2000:]}")
    return Took(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def measure(folder: Path, cases: int) -> list[tuple[str, Took]]:
    """Return the steps with what each took."""
    (folder / "bulk_evals.py").write_text(EVALS)
    python, command = sys.executable, [sys.executable, "-m", "niceeval"]
    steps = {
        "the plan": [python, "-c", PLAN],
        "run_eval()": [python, "-c", LIBRARY],
        "niceeval run": [*command, "run", "bulk_evals.py"],
        "niceeval show": [*command, "show"],
        "niceeval show again": [*command, "show"],
    }
    return [(name, took(step, folder, cases)) for name, step in steps.items()]


def main() -> None:
    """Measure every number of cases and print one line for each step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default="5000,100000", help="numbers of cases, with commas")
    parser.add_argument("--keep", type=Path, help="a folder for the records, which are left there")
    options = parser.parse_args()
    plans: dict[int, float] = {}
    runs: dict[tuple[str, int], float] = {}
    print(f"{'step':22}{'cases':>9}{'wall s':>9}{'CPU s':>9}{'µs a case':>11}{'peak MB':>9}")
    for cases in map(int, options.cases.split(",")):
        with tempfile.TemporaryDirectory(prefix="niceeval-volume-") as temporary:
            folder = Path(temporary) if options.keep is None else options.keep / str(cases)
            folder.mkdir(parents=True, exist_ok=True)
            for name, result in measure(folder, cases):
                each = f"{result.cpu / cases * 1e6:.1f}"
                print(f"{name:22}{cases:9,}{result.wall:9.2f}{result.cpu:9.2f}{each:>11}{result.peak:9.1f}", flush=True)
                runs[name, cases] = result.peak
            plans[cases] = runs["the plan", cases]
    least, most = min(plans), max(plans)
    for name in ("run_eval()", "niceeval run"):
        beyond = (runs[name, most] - runs[name, least]) - (plans[most] - plans[least])
        print(f"{name}: {beyond:+.1f} MB from {least:,} to {most:,} cases, beyond the plan itself")


if __name__ == "__main__":
    main()
