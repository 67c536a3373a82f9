"""Several processes, one run."""

from collections import Counter
from typing import Any

import pytest

pytest_plugins = ["pytester"]

CASES = """
from niceeval import EvalContext, define_eval
from niceeval_expect import includes


@define_eval(cases={str(number): number for number in range(20)})
async def counts(t: EvalContext, case: int) -> None:
    turn = await t.send(str(case))
    t.check(turn.message, includes(str(case)))
"""
TEST = """
async def test_counts(t):
    t.check((await t.send("7")).message, __import__("niceeval_expect").includes("8"))


def test_plain():
    pass
"""


def test_the_results_of_all_workers_are_in_one_run(project: Any) -> None:
    project.write(
        {
            "evals/eval_counts.py": CASES,
            "evals/eval_broken.py": "import niceeval\n\nimport nowhere_to_be_found\n",
            "evals/test_counts.py": TEST,
            "agents.py": "def echo(message):\n    return f'you said {message}'\n",
        }
    )
    agent = ("--niceeval-agent", "agents:echo")
    done = project.pytest("-n", "3", *agent, "evals")
    done.assert_outcomes(passed=21, failed=1, errors=1)
    done.stdout.fnmatch_lines(["evals/eval_broken.py:3: ModuleNotFoundError: *", "1 failed, 20 passed"])
    [run] = project.runs
    assert (project.header.planned(), project.header.status) == (21, "sealed")
    assert len(project.attempts) == len(project.statuses) == 21
    assert 1 <= sum(1 for file in run.glob("attempts-*.jsonl") if file.stat().st_size) <= 3
    assert project.niceeval("show", str(run)).returncode == 0

    again = project.pytest("-n", "3", *agent, "evals", "--lf", "--ignore=evals/eval_broken.py")
    again.assert_outcomes(failed=1)
    assert (project.header.planned(), project.header.status) == (1, "sealed")


def test_a_killed_worker_costs_the_attempt_that_it_was_at(project: Any) -> None:
    project.write(
        {
            "evals/eval_counts.py": CASES,
            "agents.py": "import os, signal\n"
            "def dies(message):\n"
            "    if message == '11':\n"
            "        os.kill(os.getpid(), signal.SIGKILL)\n"
            "    return f'you said {message}'\n",
        }
    )
    done = project.pytest("-n", "3", "--niceeval-agent", "agents:dies", "evals", "-v")
    done.assert_outcomes(passed=19, failed=1)
    done.stdout.fnmatch_lines_random(
        [
            "worker '*' crashed while running 'evals/eval_counts.py::counts[[]11[]]'",
            "interrupted: 19 of 20 planned attempts have ended",
        ]
    )
    assert len(project.runs) == 1
    assert (project.header.planned(), project.header.status) == (20, "interrupted")
    assert Counter(project.statuses.values()) == {"passed": 19}
    assert "counts/counts[11]" not in project.statuses


def test_workers_without_evals_leave_no_run(project: Any) -> None:
    project.write({"test_plain.py": "def test_plain():\n    pass\n"})
    done = project.pytest("-n", "2")
    done.assert_outcomes(passed=1)
    assert "niceeval" not in done.stdout.str().replace("niceeval-0.1.0", "")
    assert not (project.root / ".niceeval").exists()


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_an_error_of_one_worker_stops_all_under_x(project: Any, workers: tuple[str, ...]) -> None:
    project.write(
        {
            "eval_it.py": "from niceeval import define_eval\n@define_eval(cases=range(4))\n"
            "async def empty(t, case):\n    pass\n"
        }
    )
    done = project.pytest(*workers, "-x", "eval_it.py")
    assert 1 <= done.parseoutcomes()["errors"] <= 2
    assert (project.header.planned(), project.header.status) == (4, "interrupted")


def test_what_makes_every_worker_give_up_is_said(project: Any) -> None:
    project.write(
        {"test_it.py": "import pytest\n\n@pytest.mark.niceeval(retries=2)\ndef test_it(t):\n    pass\n", "file": ""}
    )
    done = project.pytest("-n", "1")
    assert done.ret != 0
    lines = pytest.LineMatcher([*done.outlines, *done.errlines])
    lines.fnmatch_lines(["ERROR: test_it.py::test_it: *takes agent=, style= and timeout=, got retries"])


def test_a_record_that_cannot_be_written_is_a_sentence(project: Any) -> None:
    project.write({"test_counts.py": TEST, "file": ""})
    done = project.pytest("-n", "1", "--niceeval-record", "file", "--niceeval-agent", "json:loads")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    lines = pytest.LineMatcher([*done.outlines, *done.errlines])
    lines.fnmatch_lines(
        ["ERROR: cannot start a run in *: Not a directory; record elsewhere with --niceeval-record DIR"]
    )
    assert not any("INTERNALERROR" in line for line in lines.lines)
