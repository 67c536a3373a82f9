"""`niceeval run`: from files to an exit code, with everything that can be wrong on the way."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from niceeval.record import Record

AGENT = """
import json

STATUS = {"ORD-448192": "delivered", "ORD-448193": "in_transit", "ORD-448194": "refunded"}


def order_agent(message):
    number = message.rstrip("?").split()[-1]
    return json.dumps({"order_number": number, "status": STATUS[number], "eta_days": 3, "note": "thank you for waiting"})


def echo(message):
    return message


def silent(message):
    return ""


def broken(message):
    raise LookupError("no such order")


not_an_agent = 3
"""

ORDERS = """
from typing import Literal

import pydantic

from niceeval import EvalContext, define_eval
from niceeval_expect import includes, json_text, matches


class Order(pydantic.BaseModel):
    order_number: str
    status: Literal["pending", "in_transit", "delivered", "cancelled"]


QUESTIONS = {
    "delivered": "Where is ORD-448192?",
    "moving": "Where is ORD-448193?",
    "refunded": "What happened to ORD-448194?",
}


@define_eval(cases=QUESTIONS)
async def order_lookup(t: EvalContext, case: str) -> None:
    turn = await t.send(case)
    await turn.succeeded().label("Turn completed").or_stop()
    order = await t.check(turn.message, json_text(matches(Order))).key("schema").or_stop()
    t.check(order.order_number, includes("ORD-")).key("order_format")
"""

HEAD = "from niceeval import define_eval, define_score_eval\nfrom niceeval_expect import equals, includes\n"
GREETS = HEAD + "@define_eval\nasync def greets(t):\n    t.check('hello', includes('hello'))\n"
FAILS = HEAD + "@define_eval\nasync def fails(t):\n    t.check('hello', includes('bye'))\n"
CRASHES = HEAD + "@define_eval\nasync def crashes(t):\n    {}['missing']\n"
SENDS = (
    HEAD
    + "@define_eval\nasync def sends(t):\n    turn = await t.send('hello')\n    t.check(turn.message, equals('hello'))\n"
)
SKIPS = HEAD + "@define_eval\nasync def skips(t):\n    t.skip('no stock today')\n"
NOTHING = HEAD + "@define_eval\nasync def checks_nothing(t):\n    pass\n"


@pytest.fixture
def orders(project: Any) -> Any:
    project.write({"agents/plain.py": AGENT, "evals/orders.py": ORDERS})
    return project


def test_a_failing_run_reads_as_it_should(orders: Any) -> None:
    answer = orders("run", "evals/orders.py", "--agent", "agents.plain:order_agent")
    assert answer.code == 1
    assert answer.err == ""
    text = re.sub(r"runs/\d{8}-\d{6}-\w{4}", "runs/RUN", re.sub(r"in \d+\.\d s", "in 0.9 s", answer.out))
    text = re.sub(r"^niceeval \S+", "niceeval 0.1.0", text)
    assert (
        re.sub(r"\d:\d\d:\d\d", "0:00:00", text)
        == """\
niceeval 0.1.0  1 eval, 3 cases × 1 attempt  agent agents.plain:order_agent

orders/order_lookup ━━━━━━━━━━━━━━━━━━━━━━━━ 3/3  2 passed  1 failed  0:00:00

FAILED orders/order_lookup[refunded]
  ✗ schema  json_text(matches(Order))                    evals/orders.py:26
      where     $.status
      expected  one of "pending", "in_transit", "delivered", "cancelled"
      received  "refunded"
      subject   {"order_number": "ORD-448194", "status": "refunded", "eta_d…
      input     What happened to ORD-448194?
    stopped here by or_stop(); later checks did not run. 1 check passed.

  eval                           passed/decided   errored   rate
  orders/order_lookup                       2/3         0   0.67

  1 of 3 decided cases failed, 1 violation
  requirement                    failed/decided   errored   not reached
  schema                                    1/3         0             0
  order_format                              0/2         0             1
  (1 more with no failure: niceeval show)

1 failed, 2 passed in 0.9 s
record  .niceeval/runs/RUN
next    niceeval show
        niceeval run evals/orders.py -k refunded \\
            --agent agents.plain:order_agent
"""
    )


def test_the_next_command_is_short_where_the_agent_is_configured(orders: Any) -> None:
    orders.write({"pyproject.toml": "[tool.niceeval]\nagent = 'agents.plain:order_agent'\n"})
    answer = orders("run", "evals/orders.py")
    assert answer.lines[-1] == "next    niceeval show            niceeval run evals/orders.py -k refunded"
    assert orders("run", "evals/orders.py", "-k", "refunded").lines[2].startswith("orders/order_lookup ━")


@pytest.mark.parametrize(
    ("cases", "failing", "expression"),
    [
        ("{'refunded': 1, 'lost': 2}", "refunded", "-k refunded"),
        ("{'1': 1, '10': 2}", "1", "-k 'e/asks[1]'"),
        ("{'1': 1, '10': 2}", "10", "-k 10"),
        ("{'a b': 1, 'c': 2}", "a b", "-k '\"a b\"'"),
        ("{'not': 1, 'c': 2}", "not", "-k '\"not\"'"),
        ("{'x (1)': 1, 'c': 2}", "x (1)", "-k '\"x (1)\"'"),
    ],
)
def test_the_next_command_selects_the_failed_case_alone(
    project: Any, cases: str, failing: str, expression: str
) -> None:
    body = f"    t.check(case, equals(0 if case == {cases}[{failing!r}] else case))\n"
    project.write({"e.py": HEAD + f"@define_eval(cases={cases})\nasync def asks(t, case):\n{body}"})
    last = project("run", "e.py").lines[-1]
    assert last.endswith(f"niceeval run e.py {expression}")
    again = project("run", "e.py", "-k", shlex.split(expression)[1])
    assert "1 failed in " in again.out
    assert "1 eval, 1 case" in again.lines[0]


def test_show_prints_the_same_tables_again(orders: Any) -> None:
    ran = orders("run", "evals/orders.py", "--agent", "agents.plain:order_agent")
    shown = orders("show")
    assert shown.code == 0
    block = ran.out[ran.out.index("FAILED") : ran.out.index("  eval  ")]
    assert block.strip() in shown.out
    assert all(each in shown.lines for each in ran.lines if re.search(r"\d/\d +\d", each) and "━" not in each)


UNRANKABLE = """
from niceeval_expect import Absent

@define_score_eval
async def s(t):
    t.check(Absent("it was not reported"), includes("x")).score(1)
"""


@pytest.mark.parametrize(
    ("files", "code", "last"),
    [
        ({"e.py": GREETS}, 0, "1 passed"),
        ({"e.py": FAILS}, 1, "1 failed"),
        ({"e.py": GREETS, "f.py": FAILS}, 1, "1 failed, 1 passed"),
        ({"e.py": CRASHES}, 3, "1 errored"),
        ({"e.py": CRASHES, "f.py": FAILS}, 1, "1 failed, 1 errored"),
        ({"e.py": NOTHING}, 3, "1 errored"),
        ({"e.py": SKIPS}, 4, "1 skipped"),
        ({"e.py": SKIPS, "f.py": GREETS}, 0, "1 skipped, 1 passed"),
        ({"e.py": GREETS, "f.py": "1 / 0\n"}, 2, "1 passed"),
        ({"e.py": FAILS, "f.py": "1 / 0\n"}, 2, "1 failed"),
        ({"e.py": HEAD + "@define_score_eval\nasync def s(t):\n    t.score(0)\n"}, 0, "1 scored"),
        ({"e.py": HEAD + "@define_score_eval\nasync def s(t):\n    {}['x']\n"}, 3, "1 errored"),
        ({"e.py": HEAD + UNRANKABLE, "f.py": GREETS}, 3, "1 unrankable, 1 passed"),
    ],
)
def test_the_exit_code_says_what_came_out(project: Any, files: dict[str, str], code: int, last: str) -> None:
    project.write(files)
    answer = project("run", *files)
    assert answer.code == code
    assert any(each.startswith(f"{last} in ") for each in answer.lines)


def test_a_check_that_comes_after_its_attempt_is_no_green_exit(project: Any) -> None:
    late = """
import asyncio

@define_eval
async def forgets(t):
    t.check("hello", includes("hello"))

    async def unseen():
        t.check("hello", includes("bye"))

    asyncio.create_task(unseen())

@define_eval
async def another(t):
    t.check("hello", includes("hello"))
"""
    project.write({"e.py": HEAD + late})
    answer = project("run", "e.py")
    assert answer.code == 3
    assert any(each.startswith("2 passed in ") for each in answer.lines)
    assert "the attempt has closed; check before its function or" in answer.err
    assert re.search(r"^error   e.py:\d+: ", answer.err, re.M)


def test_checks_in_a_coroutine_that_nobody_awaited_are_no_green_exit(project: Any) -> None:
    forgetful = """
async def more_checks(t):
    t.check("hello", includes("bye"))

@define_eval(cases=["a", "b"])
async def forgets(t, case):
    t.check("hello", includes("hello"))
    more_checks(t)
"""
    project.write({"e.py": HEAD + forgetful})
    answer = project("run", "e.py")
    assert answer.code == 3
    assert any(each.startswith("2 passed in ") for each in answer.lines)
    assert answer.err.count("error") == 1
    assert " ".join(answer.err.split()) == (
        "error e.py:10: coroutine 'more_checks' was never awaited, so nothing in it was checked: "
        "write await before the call"
    )


def test_attempts_that_are_missing_in_the_record_are_no_green_exit(project: Any) -> None:
    lost = """
from pathlib import Path

@define_eval
async def first(t):
    t.check("hello", includes("hello"))

@define_eval
async def second(t):
    t.check("hello", includes("hello"))
    for path in Path(".niceeval").rglob("attempts-*.jsonl"):
        path.write_text("")
"""
    project.write({"e.py": HEAD + lost})
    answer = project("run", "e.py", "--concurrency", "1")
    assert answer.code == 3
    assert "1 of 2 planned attempts have ended" in answer.out


def test_a_file_without_an_eval_beside_others_is_said(project: Any) -> None:
    project.write({"e.py": GREETS, "helpers.py": "ANSWER = 42\n"})
    answer = project("run", "e.py", "helpers.py")
    assert answer.code == 0
    assert answer.err == "warning no eval in helpers.py\n"


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ([], 2, "no file or folder to run"),
        (["evals/typo.py"], 2, "evals/typo.py: does not exist"),
        (["evals/order.py"], 2, "did you mean evals/orders.py?"),
        (["evals"], 4, "no eval file found"),
        (["agents/plain.py"], 4, "no eval in agents/plain.py"),
        (["evals/orders.py", "-k", "nothing_like_it"], 4, "'nothing_like_it' selects none of 3 cases"),
        (["evals/orders.py", "-k", "a and"], 2, "at column 6"),
        (["evals/orders.py", "--agent", "agents.plain:order_agnet"], 2, "did you mean 'order_agent'?"),
        (["evals/orders.py", "--agent", "agents.plian:order_agent"], 2, "did you mean 'agents.plain'?"),
        (["evals/orders.py", "--agent", "agents.plain:not_an_agent"], 2, "agents.plain:not_an_agent"),
        (["evals/orders.py", "--agent", "=agents.plain:echo"], 2, "has no name"),
        (["evals/orders.py", "--agent", "x="], 2, "has no reference"),
        (
            ["evals/orders.py", "--agent", "x=agents.plain:echo", "--agent", "x=agents.plain:silent"],
            2,
            "two agents are called 'x'",
        ),
        (["evals/orders.py", "--attempts", "0"], 2, "--attempts"),
        (["evals/orders.py", "--concurrency", "0"], 2, "--concurrency"),
        (["evals/orders.py", "--timeout", "0"], 2, "--timeout"),
        (["evals/orders.py", "--nonsense"], 2, "--nonsense"),
    ],
)
def test_what_cannot_be_run_is_said_in_a_sentence_and_nothing_is_recorded(
    orders: Any, arguments: list[str], code: int, says: str
) -> None:
    answer = orders("run", *arguments)
    assert answer.code == code
    assert says in " ".join(answer.err.split())
    assert "Traceback" not in answer.err
    assert not (orders.root / ".niceeval").exists()


def test_an_eval_that_sends_without_an_agent_says_how_to_name_one(project: Any) -> None:
    project.write({"e.py": SENDS})
    answer = project("run", "e.py")
    assert answer.code == 2
    assert "--agent module:attr" in " ".join(answer.err.split())


def test_a_file_that_does_not_import_is_named_and_the_others_run(project: Any) -> None:
    project.write({"evals/eval_bad.py": "import os\n\nimport no_such_module_y\n", "evals/eval_good.py": GREETS})
    answer = project("run", "evals")
    assert answer.code == 2
    assert answer.err.startswith("error   evals/eval_bad.py:3: ModuleNotFoundError: No module named")
    assert all(cell_len(each) <= 80 for each in answer.err.splitlines())
    assert "good/greets" in answer.out
    assert "1 problem while loading, named above: not everything ran" in answer.lines


def test_a_secret_in_the_words_of_an_import_error_is_not_printed(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "sk-very-secret-4711")
    project.write({"e.py": "import os\nraise ValueError('cannot log in with ' + os.environ['SHOP_API_KEY'])\n"})
    answer = project("run", "e.py")
    assert answer.code == 2
    assert "[redacted:SHOP_API_KEY]" in answer.err
    assert "4711" not in answer.err + answer.out


def test_duplicate_ids_stop_the_start_and_name_both_places(project: Any) -> None:
    project.write({"a/e.py": GREETS, "b/e.py": GREETS})
    answer = project("run", "a/e.py", "b/e.py")
    assert answer.code == 2
    said = " ".join(answer.err.split())
    assert "b/e.py:3: the id 'e/greets' is used by two evals; the other is at a/e.py:3" in said
    assert not (project.root / ".niceeval").exists()


def test_a_bad_row_is_named_and_other_evals_run(project: Any) -> None:
    use = "from niceeval import load_cases\n@define_eval(cases=lambda: load_cases('c.jsonl'))\nasync def rows(t, case): ...\n"
    project.write({"c.jsonl": '{"id": "a"}\n{"id": }\n', "e.py": GREETS + use})
    answer = project("run", "e.py")
    assert answer.code == 2
    assert "c.jsonl:2: the row is not JSON" in " ".join(answer.err.split())
    assert any(each.startswith("1 passed") for each in answer.lines)


def test_several_agents_are_compared_and_ranked(orders: Any) -> None:
    orders.write(
        {
            "rank.py": HEAD
            + "@define_score_eval(cases=['hello', 'bye'])\nasync def answers(t, case):\n"
            + "    turn = await t.send(case)\n    t.check(turn.message, includes('hello')).score(2)\n"
        }
    )
    answer = orders(
        "run",
        "rank.py",
        "--agent",
        "echo=agents.plain:echo",
        "--agent",
        "silent=agents.plain:silent",
        "--attempts",
        "2",
    )
    assert answer.code == 0
    assert "1 eval, 2 cases × 2 agents × 2 attempts" in answer.lines[0]
    assert "     1  echo                        1.00              4/4            0         0" in answer.lines
    assert "     2  silent                      0.00              4/4            0         0" in answer.lines
    assert "8 scored" in answer.out


def test_an_agent_that_breaks_is_a_failure_with_its_words(orders: Any) -> None:
    orders.write({"e.py": SENDS})
    answer = orders("run", "e.py", "--agent", "agents.plain:broken")
    assert answer.code == 1
    assert "  ✗ the agent raised LookupError: no such order" in answer.lines
    assert "      input     hello" in answer.lines


def test_the_place_where_an_eval_crashed_is_named(project: Any) -> None:
    project.write({"evals/e.py": CRASHES})
    answer = project("run", "evals/e.py")
    assert "  ? KeyError: 'missing' (at evals/e.py:5)" in answer.lines


def test_defaults_come_from_the_project_and_the_command_line_wins(orders: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    orders.write(
        {
            "pyproject.toml": "[tool.niceeval]\nagent = ['e=agents.plain:echo']\nevals = ['more/e.py']\nattempts = 3\n"
            "record = 'results'\n",
            "more/e.py": SENDS,
        }
    )
    answer = orders("run")
    assert answer.code == 0
    assert "1 eval, 1 case × 3 attempts  agent e" in answer.lines[0]
    assert (orders.root / "results" / "runs").is_dir()
    monkeypatch.chdir(orders.root / "more")
    answer = orders("run", "--attempts", "1", "--record", "elsewhere")
    assert answer.code == 0
    assert "1 attempt " in answer.lines[0]
    assert (orders.root / "more" / "elsewhere" / "runs").is_dir()
    shown = orders("show", "elsewhere")
    assert "1 passed" in shown.lines
    assert answer.lines[-1] == f"next    niceeval show elsewhere/runs/{Path(answer.lines[-2]).name}"


def test_an_unknown_key_in_the_project_is_a_sentence(orders: Any) -> None:
    orders.write({"pyproject.toml": "[tool.niceeval]\natempts = 3\n"})
    answer = orders("run", "evals/orders.py")
    assert answer.code == 2
    assert "did you mean 'attempts'?" in " ".join(answer.err.split())


def test_many_failures_are_shown_up_to_a_bound(project: Any) -> None:
    cases = HEAD + "@define_eval(cases=range(50))\nasync def many(t, case):\n    t.check('hello', includes('bye'))\n"
    project.write({"e.py": cases})
    answer = project("run", "e.py")
    assert answer.out.count("FAILED e/many[") == 20
    assert "(30 more failed: niceeval show)" in answer.lines
    assert project("show").out.count("FAILED e/many[") == 50


def test_a_full_disk_is_a_sentence_and_no_green_exit(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write({"e.py": GREETS})
    write = os.write

    def full(fd: int, data: bytes) -> int:
        if data.startswith(b'{"id"'):
            raise OSError(28, "No space left on device")
        return write(fd, data)

    monkeypatch.setattr(os, "write", full)
    answer = project("run", "e.py")
    assert answer.code == 3
    assert "No space left on device" in " ".join(answer.err.split())
    assert "Traceback" not in answer.err


def test_a_record_that_cannot_be_made_is_a_sentence(project: Any) -> None:
    project.write({"e.py": GREETS, "taken": "a file"})
    answer = project("run", "e.py", "--record", "taken")
    assert answer.code == 2
    assert answer.err.startswith("error   ")


def test_a_record_of_a_newer_version_is_a_sentence(project: Any) -> None:
    project.write({"e.py": GREETS})
    project("run", "e.py")
    [header] = project.root.glob(".niceeval/runs/*/run.json")
    header.write_text(header.read_text().replace('"format":1', '"format":99'))
    answer = project("show")
    assert answer.code == 2
    said = " ".join(answer.err.split())
    assert "99" in said
    assert "1" in said


def test_every_id_is_stored_as_it_is_and_selected_by_it(project: Any) -> None:
    names = ["a:b?*", "CON", "Foo", "foo", "é", "e\u0301", "../x", "n" * 300, "half \ud83d"]
    project.write(
        {
            "e.py": HEAD
            + f"@define_eval(cases={{name: 1 for name in {names!r}}})\nasync def x(t, case):\n    t.check(1, equals(1))\n"
        }
    )
    answer = project("run", "e.py")
    assert answer.code == 0
    with Record.open() as record:
        assert [each.case_id for each in record.attempts()] == names
    assert project("run", "e.py", "-k", "'half \ud83d'").code == 0


def test_a_run_that_nobody_reads_to_the_end_makes_no_noise(recorded: Any, project: Any) -> None:
    checks = [{"requirement": f"r{n}", "decision": "unmet", "diagnostic": {"code": "value"}} for n in range(12)]
    recorded([{"case": str(n), "status": "failed", "checks": checks} for n in range(300)])
    root = str(Path(__file__).parents[2])
    code = f"import sys; sys.path.insert(0, {root!r})\nfrom niceeval.cli import main; main(['show'])"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=project.root
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""


def test_no_command_and_help_say_what_there_is(project: Any) -> None:
    helped = project("--help")
    assert helped.code == 0
    assert "run " in helped.out
    assert "show " in helped.out
    assert project("run", "--help").code == 0
    assert project("--version").out.startswith("niceeval ")
    assert project("nonsense").code == 2


def test_the_package_runs_as_a_module(project: Any) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    shown = subprocess.run(
        [sys.executable, "-m", "niceeval", "--version"], env=environment, capture_output=True, text=True, check=True
    )
    assert shown.stdout.startswith("niceeval ")
