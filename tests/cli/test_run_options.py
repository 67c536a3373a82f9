"""`niceeval run` with experiments, with a selection, with limits: what runs, what is said, how it exits."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from niceeval.record import Record

AGENTS = """
from niceeval import AgentUnavailable, Reply, Usage

def told(message, ctx):
    return Reply(f"{message} {ctx.model} {ctx.flags.get('tone')}", tool_calls=[], usage=Usage(input_tokens=30, output_tokens=12, cost_usd=0.25))

def echo(message):
    return message

def curt(message):
    return "no"

_left = {"tries": 1}

def flaky(message):
    if _left["tries"]:
        _left["tries"] -= 1
        raise AgentUnavailable("429 Too Many Requests", retry_after=0)
    return message
"""

HEAD = "from niceeval import define_eval, define_experiment, define_score_eval\nfrom niceeval_expect import equals, includes\n"

EVALS = """
@define_eval(tags=["smoke", "orders"], cases={"a": "alpha", "b": "beta", "c": "gamma"})
async def asks(t, case):
    turn = await t.send(case)
    t.check(turn.message, includes(case)).key("says it")

@define_eval(tags=["slow"])
async def alone(t):
    turn = await t.send("hello")
    t.check(turn.message, includes("hello"))
"""

SETTINGS = """
@define_eval
async def settings(t):
    turn = await t.send("I am")
    t.check(turn.message, equals(f"I am {t.model} {t.flags.get('tone')}"))
"""

SIMPLE = HEAD + "@define_eval\nasync def simple(t):\n    t.check(1, equals(1))\n"


@pytest.fixture
def shop(project: Any) -> Any:
    project.write({"bots.py": AGENTS, "evals/eval_e.py": HEAD + EVALS, "settings.py": HEAD + SETTINGS})
    return project


def planned(answer: Any) -> str:
    return re.sub(r"^niceeval \S+  ", "", answer.lines[0])


def statuses(folder: Path) -> list[tuple[str, str, str]]:
    with Record.open(folder) as record:
        return [(each.name, each.agent, each.status) for each in record.attempts()]


def said(answer: Any) -> str:
    return " ".join(answer.err.split())


def test_experiments_are_run_side_by_side_with_their_model_and_flags(shop: Any) -> None:
    shop.write(
        {
            "experiments/small.py": HEAD
            + "x = define_experiment(agent='bots:told', model='small', flags={'tone': 'dry'})\n",
            "experiments/large.py": HEAD + "x = define_experiment(agent='bots:told', model='large', attempts=2)\n",
        }
    )
    answer = shop("run", "settings.py", "--experiment", "experiments")
    assert answer.code == 0, answer.out + answer.err
    assert planned(answer) == "1 eval, 1 case × 2 experiments × 1-2 attempts"
    table = answer.out[answer.out.index("  experiment") :].splitlines()
    assert re.sub(r" +", " ", table[0]) == " experiment passed rate 95 % cost tokens mean s"
    assert re.sub(r" +", " ", table[1]).startswith(" large 2/2 1.00 0.34-1.00 $0.50 84 0.0")
    assert re.sub(r" +", " ", table[2]).startswith(" small 1/1 1.00 0.21-1.00 $0.25 42 0.0")
    assert all(cell_len(each) <= 80 for each in answer.lines)
    header = json.loads(next((shop.root / ".niceeval").rglob("run.json")).read_text())
    assert header["experiments"][0] == {"name": "large", "agent": "bots:told", "model": "large", "attempts": 2}
    assert header["experiments"][1]["flags"] == {"tone": "dry"}
    assert header["asked"]["experiments"] == ["experiments"]
    shown = shop("show")
    assert "1 eval, 1 case × 2 experiments × 1-2 attempts" in shown.out
    assert table[1] in shown.lines


def test_usage_that_is_reported_in_part_is_a_lower_bound(shop: Any) -> None:
    part = """
from niceeval import Reply, Usage

def agent(message):
    return Reply(message, usage=Usage(input_tokens=10, output_tokens=5) if message == "alpha" else None)
"""
    shop.write(
        {
            "part.py": part,
            "x.py": HEAD + "one, two = (define_experiment(agent=a) for a in ('part:agent', 'bots:echo'))\n",
        }
    )
    answer = shop("run", "evals", "--experiment", "x.py")
    assert answer.code == 0
    rows = [re.sub(r" +", " ", each) for each in answer.lines]
    assert any(each.startswith(" x/one 4/4 1.00 0.51-1.00 ≥ 15 ") for each in rows)
    assert any(each.startswith(" x/two 4/4 1.00 0.51-1.00 - ") for each in rows)


def test_long_names_and_many_columns_fit_the_screen(shop: Any) -> None:
    spends = """
from niceeval import AgentUnavailable, Reply, Usage

def agent(message):
    if message == "beta":
        raise AgentUnavailable("down", retryable=False)
    return Reply(message, usage=Usage(input_tokens=123_456, cost_usd=123.0) if message == "alpha" else None)
"""
    name = "an experiment whose name is as long as a sentence, and as hard to read, number "
    text = "".join(f"x{n} = define_experiment(agent='spends:agent', name={name!r} + '{n}')\n" for n in (1, 2))
    shop.write({"spends.py": spends, "x.py": HEAD + text})
    for arguments in (["run", "evals", "--dry-run", "--experiment", "x.py"], ["list", "--experiment", "x.py"]):
        answer = shop(*arguments)
        assert answer.code == 0
        assert all(cell_len(each) <= 80 for each in answer.lines)
    answer = shop("run", "evals", "--experiment", "x.py")
    assert answer.code == 3
    assert all(cell_len(each) <= 80 for each in answer.lines)
    rows = [re.sub(r" +", " ", each) for each in answer.lines]
    start = rows.index(" experiment passed errored rate cost tokens mean s")
    assert re.fullmatch(r" an .+1 3/3 1 1\.00 ≥ \$123\.00 ≥ 123,456 0\.\d+", rows[start + 1])


def test_an_experiment_runs_the_evals_that_it_names(shop: Any) -> None:
    shop.write(
        {
            "experiments/one.py": HEAD
            + "from evals.eval_e import alone\nx = define_experiment(agent='bots:echo', evals=[alone])\n",
            "experiments/two.py": HEAD + "x = define_experiment(agent='bots:curt', evals='asks', attempts=2)\n",
            "experiments/three.py": HEAD + "x = define_experiment(agent='bots:curt', evals='asks', attempts=2)\n",
        }
    )
    answer = shop("run", "evals", "--experiment", "experiments/one.py", "--experiment", "experiments/two.py")
    assert answer.code == 1
    assert sorted(statuses(shop.root)) == sorted(
        [("e/alone", "one", "passed"), *[(f"e/asks[{c}]", "two", "failed") for c in "aabbcc"]]
    )
    answer = shop("run", "evals", "--experiment", "experiments", "-k", "alone")
    assert answer.code == 0
    assert said(answer) == "warning nothing that is selected is run by three, two"
    assert statuses(shop.root) == [("e/alone", "one", "passed")]
    answer = shop("run", "evals", "--experiment", "experiments/two.py", "-k", "alone")
    assert answer.code == 4
    assert "no experiment runs any of the selected evals" in said(answer)


@pytest.mark.parametrize(
    ("text", "arguments", "says"),
    [
        (
            "x = define_experiment(agent='bots:echo', evals='ask or zzz', attempts=0)\n",
            [],
            "x.py:3: ValueError: attempts=",
        ),
        ("x = define_experiment(agent='bots:echo', evals='e/aks')\n", [], "did you mean e/asks"),
        ("x = define_experiment(agent='bots:ehco')\n", [], "x.py:3: experiment x: agent 'bots:ehco'"),
        ("x = 3\n", [], "x.py: defines no experiment"),
        (
            "x = define_experiment(agent='bots:echo')\n",
            ["--agent", "bots:echo"],
            "--agent and --experiment are both given",
        ),
        (
            "x = define_experiment(agent='bots:echo')\n",
            ["--experiment", "y.py"],
            "y.py: does not exist; did you mean x.py?",
        ),
        ("x = define_experiment(agent='bots:echo')\n", ["--experiment", "no_such:x"], "there is no module 'no_such'"),
    ],
)
def test_experiments_that_cannot_run_stop_the_start(shop: Any, text: str, arguments: list[str], says: str) -> None:
    shop.write({"x.py": HEAD + text})
    answer = shop("run", "evals", "--experiment", "x.py", *arguments)
    assert answer.code == 2
    assert says in said(answer)
    assert "Traceback" not in answer.err
    assert not (shop.root / ".niceeval").exists()


def test_two_files_with_one_name_are_both_named(shop: Any) -> None:
    text = HEAD + "x = define_experiment(agent='bots:echo', name='same')\n"
    shop.write({"experiments/a.py": text, "experiments/b.py": text})
    answer = shop("run", "evals", "--experiment", "experiments")
    assert answer.code == 2
    assert "experiments/b.py:3: two experiments are called 'same'; the other is at experiments/a.py:3" in said(answer)


def test_experiments_come_from_the_project_and_an_agent_on_the_command_line_wins(
    shop: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.write(
        {
            "pyproject.toml": "[tool.niceeval]\nevals = 'settings.py'\nexperiments = ['experiments']\nagent = 'bots:curt'\n",
            "experiments/x.py": HEAD + "x = define_experiment(agent='bots:told', model='m')\n",
            "below/.keep": "",
        }
    )
    monkeypatch.chdir(shop.root / "below")
    answer = shop("run")
    assert answer.code == 0
    assert planned(answer) == "1 eval, 1 case × 1 attempt  experiment x"
    answer = shop("run", "--agent", "bots:curt")
    assert answer.code == 1
    assert planned(answer) == "1 eval, 1 case × 1 attempt  agent bots:curt"


@pytest.mark.parametrize(
    ("arguments", "ids"),
    [
        (["--tag", "slow"], ["e/alone"]),
        (["--tag", "slow", "--tag", "orders"], ["e/asks[a]", "e/asks[b]", "e/asks[c]", "e/alone"]),
        (["--tag", "smoke", "-k", "not b"], ["e/asks[a]", "e/asks[c]"]),
        (["--limit", "2"], ["e/asks[a]", "e/asks[b]", "e/alone"]),
        (["--limit", "1", "-k", "not a or alone"], ["e/alone"]),
        (["--limit", "1", "-k", "b] or c]"], ["e/asks[b]"]),
    ],
)
def test_a_selection_narrows_what_runs(shop: Any, arguments: list[str], ids: list[str]) -> None:
    answer = shop("run", "evals", "--agent", "bots:echo", *arguments)
    assert answer.code == 0
    assert [name for name, _, _ in statuses(shop.root)] == ids


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--tag", "samoke"], "--tag samoke selects no eval; there is orders, slow, smoke"),
        (["-k", "gone"], "-k 'gone' selects none of 4 cases; there is e/asks, e/alone"),
        (["--tag", "slow", "-k", "asks"], "-k 'asks' selects none of 1 case; there is e/alone"),
    ],
)
def test_a_selection_that_leaves_nothing_is_never_green_unless_asked_for(
    shop: Any, arguments: list[str], says: str
) -> None:
    answer = shop("run", "evals", "--agent", "bots:echo", *arguments)
    assert answer.code == 4
    assert said(answer) == f"error {says}"
    answer = shop("run", "evals", "--agent", "bots:echo", "--allow-empty", *arguments)
    assert answer.code == 0
    assert said(answer) == f"warning {says}"
    assert not (shop.root / ".niceeval").exists()


def test_what_is_wrong_is_no_emptiness_that_can_be_allowed(project: Any) -> None:
    project.write({"bad.py": "1 / 0\n"})
    assert project("run", "bad.py", "--allow-empty").code == 2


def test_the_last_failures_alone_run_again(shop: Any) -> None:
    shop.write(
        {
            "e.py": HEAD
            + "@define_eval(cases=['x', 'y', 'z'])\nasync def e(t, case):\n    t.check(case, equals('y'))\n"
            "    if case == 'z':\n        raise LookupError('no')\n@define_eval\nasync def fine(t):\n    t.check(1, equals(1))\n"
        }
    )
    assert shop("run", "e.py", "--last-failed").code == 2
    assert "--last-failed has no run to go by" in said(shop("run", "e.py", "--last-failed"))
    assert not (shop.root / ".niceeval").exists()
    assert shop("run", "e.py").code == 1
    assert shop("run", "e.py", "--last-failed").code == 1
    assert [name for name, _, _ in statuses(shop.root)] == ["e/e[0]", "e/e[2]"]
    answer = shop("run", "settings.py", "--last-failed")
    assert answer.code == 4
    assert "is not among 1 case here: it was in e/e" in said(answer)
    assert shop("run", "e.py", "-k", "fine").code == 0
    answer = shop("run", "e.py", "--last-failed")
    assert answer.code == 4
    assert "nothing failed, errored or was left out in the latest run" in said(answer)


def test_what_was_never_run_counts_as_failed_last(shop: Any) -> None:
    shop.write(
        {"e.py": HEAD + "@define_eval(cases=['x', 'y', 'z'])\nasync def e(t, case):\n    t.check(case, equals('q'))\n"}
    )
    answer = shop("run", "e.py", "-x", "--concurrency", "1")
    assert answer.code == 1
    assert shop("run", "e.py", "--last-failed", "--dry-run").lines[0].endswith("1 eval, 3 cases × 1 attempt")


def test_a_run_stops_after_its_first_failure(shop: Any) -> None:
    answer = shop("run", "evals", "--agent", "bots:curt", "-x", "--concurrency", "1")
    assert answer.code == 1
    assert len(statuses(shop.root)) == 1
    assert re.search(r"^stopped: .+; 3 of 4 planned attempts were not run$", answer.out, re.M)
    assert answer.lines[-1].strip() == "niceeval resume"


@pytest.mark.parametrize(("arguments", "reason"), [(["--max-tokens", "50"], "tokens"), (["--max-cost", "0.3"], "cost")])
def test_a_budget_that_is_used_up_stops_the_run_and_says_what_was_not_run(
    shop: Any, arguments: list[str], reason: str
) -> None:
    answer = shop("run", "evals", "--agent", "bots:told", "--concurrency", "1", *arguments)
    assert answer.code == 3
    assert len(statuses(shop.root)) == 2
    stopped = re.search(r"stopped: (.+); 2 of 4 planned attempts were not run", " ".join(answer.out.split()))
    assert stopped is not None
    assert reason in stopped[1]


def test_a_pass_after_a_retry_is_told_from_a_clean_one(shop: Any) -> None:
    answer = shop("run", "evals", "--agent", "bots:flaky", "--concurrency", "1")
    assert answer.code == 0
    assert any(each.startswith("4 passed (1 after a retry) in ") for each in answer.lines)
    assert "4 passed (1 after a retry)" in shop("show").lines


def test_without_retries_an_agent_that_cannot_be_reached_errors_at_once(shop: Any) -> None:
    answer = shop("run", "evals", "--agent", "bots:flaky", "--concurrency", "1", "--retries", "0")
    assert answer.code == 3
    assert any(each.startswith("1 errored, 3 passed in ") for each in answer.lines)


def test_a_dry_run_prints_the_plan_and_does_nothing(shop: Any) -> None:
    shop.write(
        {
            "experiments/small.py": HEAD
            + "x = define_experiment(agent='bots:told', model='small', flags={'tone': 'dry'}, timeout=5, "
            "budget={'max_cost': 2}, evals='asks', attempts=3)\n",
            "experiments/plain.py": HEAD + "x = define_experiment(agent='bots:echo')\n",
        }
    )
    answer = shop("run", "evals", "--experiment", "experiments", "--dry-run")
    assert answer.code == 0
    assert (
        re.sub(r"^niceeval \S+", "niceeval 0.1.0", answer.out)
        == """\
niceeval 0.1.0  2 evals, 4 cases × 2 experiments × 1-3 attempts
experiments plain, small

  eval                           tags            cases   attempts
  e/asks                         smoke, orders       3         12
  e/alone                        slow                1          1

plain  4 attempts  experiments/plain.py:3
  agent   bots:echo

small  9 attempts at 1 of 2 evals  experiments/small.py:3
  agent   bots:told
  model   small
  flags   tone dry
  budget  max_cost 2
  limits  attempts 3, timeout 5
  evals   asks

13 attempts planned; nothing was run, and nothing was written
"""
    )
    document = json.loads(shop("run", "evals", "--experiment", "experiments", "--dry-run", "--json").out)
    assert document["planned"] == 13
    assert [each["name"] for each in document["experiments"]] == ["plain", "small"]
    assert not (shop.root / ".niceeval").exists()


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("--attempts", ["0", "-1", "x", "1.5"]),
        ("--concurrency", ["0", "-1", "True"]),
        ("--limit", ["0", "-1", "x"]),
        ("--retries", ["-1", "x"]),
        ("--timeout", ["0", "-1", "nan", "inf", "x"]),
        ("--max-cost", ["0", "-1", "nan", "x"]),
        ("--max-tokens", ["0", "-1", "1.5"]),
        ("--max-time", ["0", "-1", "inf"]),
        ("--backend", ["curio"]),
    ],
)
def test_values_that_make_no_sense_are_refused_by_name(shop: Any, option: str, values: list[str]) -> None:
    for value in values:
        answer = shop("run", "evals", "--agent", "bots:echo", option, value)
        assert answer.code == 2
        assert f"'{option}'" in answer.err
        assert not (shop.root / ".niceeval").exists()


@pytest.mark.parametrize(("asked", "code"), [(0.1, 0), (0.5, 5), (0.67, 5), (0.99, 1), (1.0, 1)])
def test_an_eval_that_asks_for_a_rate_is_judged_by_it(project: Any, asked: float, code: int) -> None:
    text = (
        f"@define_eval(cases=[1, 2, 3], min_rate={asked})\nasync def e(t, case):\n    t.check(case < 3, equals(True))\n"
    )
    project.write({"a.py": HEAD + text, "b.py": SIMPLE})
    answer = project("run", "a.py", "b.py")
    assert answer.code == code
    rows = [re.sub(r" +", " ", each) for each in answer.lines]
    [row] = [each for each in rows if each.startswith(" a/e 2/3 0 0.67 ")]
    assert float(row.split()[-1]) == asked
    assert " b/simple 1/1 0 1.00 -" in rows
    project.write({"b.py": SIMPLE.replace("equals(1)", "equals(2)")})
    assert project("run", "a.py", "b.py").code == 1


def test_quiet_leaves_the_counts_and_the_record(shop: Any) -> None:
    answer = shop("run", "evals", "--agent", "bots:echo", "--quiet")
    assert answer.code == 0
    assert len(answer.lines) == 2
    assert answer.lines[0].startswith("4 passed in ")
    assert answer.lines[1].startswith("record  .niceeval/runs/")


def test_json_is_one_object_per_line_with_a_summary_at_the_end(shop: Any) -> None:
    shop.write({"noisy.py": "def agent(message):\n    print('noise')\n    return message\n"})
    answer = shop("run", "evals", "--agent", "noisy:agent", "--json")
    assert answer.code == 0
    events = [json.loads(each) for each in answer.lines]
    assert events[0]["event"] == "run_started"
    assert [each["event"] for each in events].count("attempt_finished") == 4
    assert (events[-1]["event"], events[-1]["exit_code"]) == ("run_finished", 0)
    assert shop("show").code == 0


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_either_event_loop_runs_it(project: Any, backend: str) -> None:
    text = (
        "import sniffio\n"
        + HEAD
        + f"@define_eval\nasync def e(t):\n    t.check(sniffio.current_async_library(), equals('{backend}'))\n"
    )
    project.write({"e.py": text})
    assert project("run", "e.py", "--backend", backend).code == 0


def test_an_event_loop_that_is_not_installed_is_said(project: Any) -> None:
    project.write({"e.py": SIMPLE})
    hide = (
        "import sys\nimport importlib.util as u\nfind = u.find_spec\n"
        "u.find_spec = lambda name, package=None: None if name == 'trio' else find(name, package)\n"
        "from niceeval.cli import main\nmain(['run', 'e.py', '--backend', 'trio'])\n"
    )
    done = subprocess.run([sys.executable, "-c", hide], cwd=project.root, capture_output=True, text=True)
    assert done.returncode == 2
    assert 'pip install "niceeval[trio]"' in " ".join(done.stderr.split())
    assert not (project.root / ".niceeval").exists()


def test_a_run_that_lacks_its_agent_stops_and_leaves_nothing_behind(shop: Any) -> None:
    assert shop("run", "evals", "--agent", "bots:echo").code == 0
    before = sorted(path.name for path in (shop.root / ".niceeval/runs").iterdir())
    calls = HEAD + (
        "from pathlib import Path\n"
        "@define_eval(cases=range(100))\nasync def e(t, case):\n"
        "    with Path('started').open('a') as file:\n        file.write('x')\n"
        "    await t.send('hello')\n"
    )
    shop.write({"e.py": calls})
    answer = shop("run", "e.py", "--concurrency", "1")
    assert answer.code == 2
    assert said(answer) == (
        "error no agent is given, and an eval sends a message: name one with --agent module:attr, give experiments "
        "with --experiment PATH, or set agent or experiments in [tool.niceeval]"
    )
    assert (shop.root / "started").read_text() == "x"
    assert sorted(path.name for path in (shop.root / ".niceeval/runs").iterdir()) == before
    events = [json.loads(each) for each in shop("run", "e.py", "--json").lines]
    assert (events[-1]["event"], events[-1]["exit_code"]) == ("run_finished", 2)
    assert sorted(path.name for path in (shop.root / ".niceeval/runs").iterdir()) == before


def test_what_was_measured_before_the_agent_was_missed_is_kept(shop: Any) -> None:
    shop.write({"a.py": SIMPLE, "b.py": HEAD + "@define_eval\nasync def e(t):\n    await t.send('hello')\n"})
    answer = shop("run", "a.py", "b.py", "--concurrency", "1")
    assert answer.code == 2
    assert [status for _, _, status in statuses(shop.root)] == ["passed", "errored"]
    assert "--agent module:attr" in " ".join((answer.out + answer.err).split())


NOT_CHECKED = {
    "no row": "@define_eval(cases=[])\nasync def e(t, case):\n    t.check(1, equals(1))\n",
    "no check": "@define_eval\nasync def e(t):\n    pass\n",
    "a forgotten await": "@define_eval\nasync def e(t):\n    _ = t.check(1, equals(1)).or_stop()\n",
    "no bool": "from niceeval_expect import satisfies\n@define_eval\nasync def e(t):\n"
    "    t.check(1, satisfies('is fine', lambda _: (False, 'not at all')))\n",
    "all skipped": "@define_eval\nasync def e(t):\n    t.skip('not today')\n",
}


@pytest.mark.parametrize(
    ("what", "code", "says"),
    [
        ("no row", 2, "cases= has no case, so there is nothing to check"),
        ("no check", 3, "nothing was checked"),
        ("a forgotten await", 3, "or_stop() was never awaited"),
        ("no bool", 3, "'is fine' returned"),
        ("all skipped", 4, "not today"),
    ],
)
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
def test_where_nothing_was_checked_the_exit_code_is_never_green(project: Any, what: str, code: int, says: str) -> None:
    project.write({"e.py": HEAD + NOT_CHECKED[what]})
    answer = project("run", "e.py")
    assert answer.code == code
    assert says in " ".join((answer.out + answer.err).split())
    assert not re.search(r"\d passed", answer.out)


def test_an_interrupted_run_says_how_to_go_on(project: Any) -> None:
    slow = (
        "import anyio\n" + HEAD + "@define_eval(cases=range(4))\nasync def e(t, case):\n    t.check(1, equals(1))\n"
        "    if case == 2:\n        print('waiting', flush=True)\n    await anyio.sleep(0 if case < 2 else 60)\n"
    )
    project.write({"e.py": slow})
    run = subprocess.Popen(
        [sys.executable, "-m", "niceeval", "run", "e.py", "--concurrency", "3"],
        cwd=project.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert run.stdout is not None
    lines = []
    for each in run.stdout:
        lines.append(each)
        if each.startswith("waiting"):
            break
    begun = time.monotonic()
    run.send_signal(signal.SIGINT)
    out, _ = run.communicate(timeout=20)
    assert run.returncode == 130
    assert time.monotonic() - begun < 5
    assert out.rstrip().splitlines()[-1].strip() == "niceeval resume"
