"""`niceeval resume`: what a run lacks, run later, and read together with it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from niceeval.record import Record

HEAD = "from niceeval import define_eval, define_experiment\nfrom niceeval_expect import equals\n"
EVALS = (
    HEAD
    + """
@define_eval(tags=["t"], cases={"a": 1, "b": 2, "c": 3})
async def asks(t, case):
    with open("ran", "a") as file:
        file.write("abc"[case - 1])
    turn = await t.send(str(case))
    t.check(turn.message, equals(str(case)))

@define_eval
async def alone(t):
    turn = await t.send("hello")
    t.check(turn.message, equals("hello"))
"""
)
AGENTS = """
from pathlib import Path

from niceeval import AgentUnavailable

def echo(message):
    return message

def down(message):
    if message == "2" and not Path("up").exists():
        raise AgentUnavailable("it is down", retryable=False)
    return message
"""


@pytest.fixture
def shop(project: Any) -> Any:
    project.write({"bots.py": AGENTS, "evals/eval_e.py": EVALS})
    return project


def runs(root: Path) -> list[str]:
    with Record.open(root) as record:
        return [each.id for each in reversed(record.runs())]


def attempts(root: Path) -> list[tuple[str, str, int, str]]:
    with Record.open(root) as record:
        return [(each.name, each.agent, each.attempt, each.status) for each in record.attempts()]


def stop_after(shop: Any, *arguments: str, tokens: str = "1") -> str:
    """Run with a budget that one attempt uses up, and return the run's id."""
    shop.write(
        {
            "counted.py": "from niceeval import Reply, Usage\n\ndef echo(message):\n    return Reply(message, usage=Usage(input_tokens=1, output_tokens=1))\n"
        }
    )
    answer = shop("run", "evals", "--concurrency", "1", "--max-tokens", tokens, *arguments)
    assert answer.code == 3, answer.out + answer.err
    return runs(shop.root)[-1]


def test_a_run_that_was_stopped_goes_on_and_both_read_as_one(shop: Any) -> None:
    first = stop_after(shop, "--agent", "counted:echo", "--attempts", "2", tokens="5")
    assert len(attempts(shop.root)) == 3
    ran = (shop.root / "ran").read_text()
    answer = shop("resume")
    assert answer.code == 0, answer.out + answer.err
    assert f"resumes {first}: 3 of 8 planned attempts were done" in answer.lines
    assert any(each.startswith("8 passed in ") for each in answer.lines)
    assert "not run" not in answer.out
    assert sorted((shop.root / "ran").read_text()) == list("aabbcc")
    assert (shop.root / "ran").read_text().startswith(ran)
    assert len(runs(shop.root)) == 2
    header = json.loads((shop.root / ".niceeval/runs" / runs(shop.root)[-1] / "run.json").read_text())
    assert header["resumes"] == first
    assert [each[3] for each in attempts(shop.root)] == ["passed"] * 8
    shown = shop("show")
    assert "8 passed" in shown.lines
    again = shop("resume")
    assert again.code == 4
    assert "lacks nothing: 8 planned attempts are done" in " ".join(again.err.split())


def test_a_resumed_run_can_be_resumed_itself(shop: Any) -> None:
    first = stop_after(shop, "--agent", "counted:echo")
    second = shop("resume", "--max-tokens", "1")
    assert second.code == 3
    assert f"resumes {first}: 1 of 4 planned attempts were done" in second.out
    third = shop("resume")
    assert third.code == 0
    assert "2 of 4 planned attempts were done" in third.out
    assert "4 passed" in shop("show").lines
    assert "3 of 4 planned attempts were done" not in third.out


def test_a_killed_run_goes_on_with_its_experiments(shop: Any) -> None:
    slow = HEAD + (
        "import os\n@define_eval(cases=range(6))\nasync def e(t, case):\n"
        "    if case == 4 and not os.path.exists('again'):\n        open('again', 'w').close()\n"
        "        os.kill(os.getpid(), 9)\n"
        "    t.check(t.model, equals('m'))\n    t.check(case, equals(case))\n"
    )
    shop.write(
        {
            "e.py": slow,
            "x.py": HEAD
            + "one = define_experiment(agent='bots:echo', model='m')\ntwo = define_experiment(agent='bots:down', model='m', evals='e/e')\n",
        }
    )
    command = [sys.executable, "-m", "niceeval", "run", "e.py", "--experiment", "x.py", "--concurrency", "1"]
    killed = subprocess.run(command, cwd=shop.root, capture_output=True)
    assert killed.returncode == -signal.SIGKILL
    done = len(attempts(shop.root))
    assert 0 < done < 12
    answer = shop("resume")
    assert answer.code == 0, answer.out + answer.err
    assert f"{done} of 12 planned attempts were done" in answer.out
    assert [each[3] for each in attempts(shop.root)] == ["passed"] * 12


def test_an_interrupted_attempt_runs_again(shop: Any) -> None:
    slow = (
        "import anyio, os\n" + HEAD + "@define_eval(cases=range(3))\nasync def e(t, case):\n    t.check(1, equals(1))\n"
        "    if case == 2 and not os.path.exists('again'):\n        open('again', 'w').close()\n"
        "        print('waiting', flush=True)\n        await anyio.sleep(60)\n"
    )
    shop.write({"e.py": slow})
    command = [sys.executable, "-m", "niceeval", "run", "e.py", "--concurrency", "1"]
    run = subprocess.Popen(
        command, cwd=shop.root, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    )
    assert run.stdout is not None
    for each in run.stdout:
        if each.startswith("waiting"):
            break
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=20)
    assert run.returncode == 130
    assert [each[3] for each in attempts(shop.root)] == ["passed", "passed", "errored"]
    answer = shop("resume")
    assert answer.code == 0
    assert "2 of 3 planned attempts were done" in answer.out
    assert [each[3] for each in attempts(shop.root)] == ["passed"] * 3


def test_what_errored_runs_again_only_where_it_is_asked_for(shop: Any) -> None:
    assert shop("run", "evals", "--agent", "bots:down").code == 3
    shop.write({"up": ""})
    answer = shop("resume")
    assert answer.code == 4
    assert "with --errored, what errored runs again" in " ".join(answer.err.split())
    answer = shop("resume", "latest", "--errored")
    assert answer.code == 0
    assert "3 of 4 planned attempts were done" in answer.out
    assert (shop.root / "ran").read_text().count("b") == 2


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("evals/eval_e.py", "async def alone", "async def single", "since the eval 'e/alone' is gone"),
        ("evals/eval_e.py", '"c": 3', '"d": 3', "since the case 'e/asks[c]' is gone"),
        ("evals/eval_e.py", '"c": 3', '"c": 3, "d": 1', "since the case 'e/asks[d]' is new"),
        ("evals/eval_e.py", "@define_eval\n", "@define_eval(cases=['x'])\n", "TypeError"),
        ("x.py", "model='m'", "model='n'", "since the experiment one has the model 'n' now and had 'm'"),
        ("x.py", "attempts=2", "attempts=3", "since e/asks gets 3 attempts per case now and got 2"),
        ("x.py", "two = ", "three = ", "since the experiment 'x/two' is gone"),
    ],
)
def test_a_plan_that_no_longer_fits_is_refused(shop: Any, file: str, old: str, new: str, says: str) -> None:
    text = (
        HEAD
        + "one = define_experiment(agent='counted:echo', model='m', attempts=2, name='one')\ntwo = define_experiment(agent='counted:echo')\n"
    )
    shop.write({"x.py": text})
    stop_after(shop, "--experiment", "x.py")
    before = (shop.root / file).read_text()
    assert old in before
    (shop.root / file).write_text(before.replace(old, new))
    answer = shop("resume")
    assert answer.code == 2
    assert says in " ".join(answer.err.split())
    assert len(runs(shop.root)) == 1


def test_a_selection_is_kept(shop: Any) -> None:
    stop_after(shop, "--agent", "counted:echo", "--tag", "t", "-k", "not b")
    answer = shop("resume")
    assert answer.code == 0, answer.err
    assert [each[0] for each in attempts(shop.root)] == ["e/asks[a]", "e/asks[c]"]


def test_of_the_last_failures_the_same_cases_are_taken_again(shop: Any) -> None:
    assert shop("run", "evals", "--agent", "bots:down", "--retries", "0").code == 3
    shop.write({"wrong.py": "def echo(message):\n    return 'no'\n"})
    assert shop("run", "evals", "--agent", "wrong:echo", "-x", "--concurrency", "1", "-k", "asks").code == 1
    stop_after(shop, "--agent", "counted:echo", "--last-failed")
    answer = shop("resume")
    assert answer.code == 0, answer.err
    assert [each[0] for each in attempts(shop.root)] == [f"e/asks[{case}]" for case in "abc"]


def test_a_run_that_nobody_can_go_on_with_says_so(shop: Any, recorded: Any) -> None:
    recorded([{"status": "passed"}], status="interrupted")
    answer = shop("resume")
    assert answer.code == 2
    assert "does not say how it was asked for" in " ".join(answer.err.split())
    assert shop("resume", "20200101-000000-aaaa").code == 2
