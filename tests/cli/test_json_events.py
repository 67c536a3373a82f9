"""`niceeval run --json`: one strict JSON object per line and nothing else on standard output, whatever happens."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from niceeval.cli.events import JsonDisplay
from niceeval.plans import AttemptRef, Plan
from niceeval.record import Record
from niceeval.redaction import forget_secrets, register_secret

ROOT: Final = str(Path(__file__).parents[2])
MAIN: Final = f"import sys; sys.path[:] = [{ROOT!r}, *filter(None, sys.path)]\nfrom niceeval.cli import main; main()"
EVALS: Final = """
import os, subprocess, sys
import anyio
from pathlib import Path
from niceeval import AgentUnavailable, Reply, define_eval, define_score_eval
from niceeval_expect import includes

print("imported")
seen = []

async def agent(message):
    print("an agent prints", message)
    os.write(1, b"and so does native code\\n")
    subprocess.run([sys.executable, "-c", "print('and so does what it starts')"], check=True)
    if message == "busy" and not seen:
        seen.append(1)
        raise AgentUnavailable("429 Too Many Requests", retry_after=0.01)
    return Reply("hello", tool_calls=[])

@define_eval(cases={"good": "good", "bad": "bad", "busy": "busy"})
async def greets(t, case):
    turn = await t.send(case)
    t.check(turn.message, includes("hello" if case != "bad" else "bye")).key("greets back")

@define_score_eval
async def rated(t):
    t.score(0.25)
"""


def strict(text: str) -> Any:
    def refuse(name: str) -> Any:
        raise AssertionError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


def begun(project: Any, *arguments: str, **settings: Any) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", MAIN, "run", *arguments],
        cwd=project.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        **settings,
    )


@pytest.fixture
def events(project: Any) -> Callable[..., tuple[int, list[Any], str]]:
    def run(*arguments: str, **settings: Any) -> tuple[int, list[Any], str]:
        process = begun(project, *arguments, "--json", **settings)
        out, err = process.communicate(timeout=60)
        assert out.isascii()
        return process.returncode, [strict(each) for each in out.splitlines()], err

    return run


def of(events: list[Any], kind: str) -> list[Any]:
    return [each for each in events if each["event"] == kind]


def test_a_run_is_told_from_start_to_end(project: Any, events: Any) -> None:
    project.write({"e.py": EVALS})
    code, told, err = events("e.py", "--agent", "e:agent", "--retries", "1", "--attempts", "2", "--concurrency", "1")
    assert code == 1
    first, last = told[0], told[-1]
    run = project.root / ".niceeval" / "runs" / first["run"]
    assert {key: value for key, value in first.items() if key not in ("at", "run")} == {
        "event": "run_started",
        "evals": 2,
        "cases": 4,
        "planned": 8,
        "sequential": False,
        "experiments": [{"name": "e:agent", "model": None, "planned": 8}],
        "resumes": None,
        "done": 0,
    }
    assert len(of(told, "attempt_started")) == len(of(told, "attempt_finished")) == 8
    bad = next(each for each in of(told, "attempt_finished") if each["case"] == "bad")
    assert {key: value for key, value in bad.items() if key not in ("at", "duration", "id")} == {
        "event": "attempt_finished",
        "eval": "e/greets",
        "case": "bad",
        "agent": "e:agent",
        "attempt": 1,
        "status": "failed",
        "reason": "greets back",
        "score": None,
        "tries": 1,
    }
    [retried] = of(told, "attempt_retried")
    assert (retried["case"], retried["tries"]) == ("busy", 1)
    assert "429 Too Many Requests" in retried["reason"]
    busy = {each["attempt"]: each for each in of(told, "attempt_finished") if each["case"] == "busy"}
    assert {each["status"] for each in busy.values()} == {"passed"}
    assert busy.pop(retried["attempt"])["tries"] == 2
    assert [each["tries"] for each in busy.values()] == [1]
    rated = [each for each in of(told, "attempt_finished") if each["eval"] == "e/rated"]
    assert [(each["case"], each["status"], each["score"]) for each in rated] == [(None, "scored", 0.25)] * 2

    with Record.open(project.root) as record:
        assert {each["id"] for each in of(told, "attempt_finished")} == {each.id for each in record.attempts()}
    assert last["event"] == "run_finished"
    assert Path(last["folder"]).resolve() == run.resolve()
    assert {name: last[name] for name in ("run", "status", "planned", "finished", "stopped", "exit_code")} == {
        "run": first["run"],
        "status": "sealed",
        "planned": 8,
        "finished": 8,
        "stopped": None,
        "exit_code": code,
    }
    assert last["statuses"] == {"passed": 4, "failed": 2, "scored": 2}
    assert last["rate"] == {"passed": 4, "decided": 6, "errored": 0, "rate": 4 / 6}
    assert last["evals"] == [{"eval": "e/greets", "agent": "e:agent", **last["rate"]}]
    assert last["requirements"] == [
        {"requirement": "greets back", "failed": 2, "decided": 6, "errored": 0, "not_reached": 0}
    ]
    assert [(each["agent"], each["mean_score"]) for each in last["ranking"]] == [("e:agent", 0.25)]
    assert [each["at"] for each in told] == sorted(each["at"] for each in told)
    for printed in ("an agent prints good", "and so does native code", "and so does what it starts"):
        assert printed in err


def test_events_come_as_they_happen(project: Any) -> None:
    project.write(
        {
            "e.py": """
from pathlib import Path
import anyio
from niceeval import define_eval
from niceeval_expect import includes

@define_eval
async def gated(t):
    while not Path("go").exists():
        await anyio.sleep(0.02)
    t.check("hello", includes("hello"))
"""
        }
    )
    process = begun(project, "e.py", "--json")
    assert process.stdout is not None
    told = [strict(process.stdout.readline()) for _ in range(2)]
    assert [each["event"] for each in told] == ["run_started", "attempt_started"]
    (project.root / "go").touch()
    out, _ = process.communicate(timeout=60)
    assert [strict(each)["event"] for each in out.splitlines()] == ["attempt_finished", "run_finished"]
    assert process.returncode == 0


@pytest.mark.parametrize("arguments", [["--json"], []])
def test_a_reader_that_leaves_costs_no_result(project: Any, arguments: list[str]) -> None:
    project.write(
        {
            "e.py": """
from pathlib import Path
import anyio
from niceeval import define_eval
from niceeval_expect import includes

def made(number):
    @define_eval(id=f"e{number}")
    async def one(t):
        while number and not Path("go").exists():
            await anyio.sleep(0.02)
        t.check("hello", includes("hello"))
    return one

evals = [made(number) for number in range(200)]
"""
        }
    )
    process = begun(project, "e.py", *arguments)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    (project.root / "go").touch()
    err = process.stderr.read()
    process.stderr.close()
    code = process.wait(timeout=60)
    assert code == (0 if arguments else 141)
    assert "Traceback" not in err
    with Record.open(project.root) as record:
        assert record.run().status == "sealed"
        assert len(record.attempts()) == 200
    if arguments:
        assert "nobody reads the events any more" in " ".join(err.split())


def test_mistakes_are_told_on_both_sides(project: Any, events: Any) -> None:
    project.write(
        {
            "e.py": """
from niceeval import define_eval
from niceeval_expect import includes

async def helper(t):
    t.check("hello", includes("bye"))

@define_eval
async def forgets(t):
    t.check("hello", includes("hello"))
    helper(t)
"""
        }
    )
    code, told, err = events("e.py")
    assert code == 3
    [warning] = of(told, "warning")
    assert "was never awaited" in warning["message"]
    assert "was never awaited" in " ".join(err.split())
    assert told[-1]["exit_code"] == 3


def test_standard_output_is_given_back(project: Any) -> None:
    project.write(
        {
            "e.py": """
from niceeval import define_eval
from niceeval_expect import includes

@define_eval
async def prints(t):
    print("printed by an eval")
    t.check("hello", includes("hello"))
"""
        }
    )
    before = sys.stdout
    answer = project("run", "e.py", "--json")
    assert sys.stdout is before
    assert answer.code == 0
    assert [strict(each)["event"] for each in answer.lines] == [
        "run_started",
        "attempt_started",
        "attempt_finished",
        "run_finished",
    ]
    assert "printed by an eval" in answer.err


def test_a_mistake_before_the_run_leaves_standard_output_empty(project: Any, events: Any) -> None:
    code, told, err = events("nothing_here.py")
    assert (code, told) == (2, [])
    assert "nothing_here.py" in err


class TestLines:
    @pytest.fixture(autouse=True)
    def without_secrets(self) -> Iterator[None]:
        yield
        forget_secrets()

    @pytest.fixture
    def out(self) -> io.StringIO:
        return io.StringIO()

    def test_what_strict_json_lacks_is_replaced(self, out: io.StringIO) -> None:
        display = JsonDisplay(out)
        display.attempt_retried(AttemptRef("é\ud800", "a\nb\U0001f600", "", 1), 1, float("inf"), "no\x00\x1b[2J")
        [text] = out.getvalue().splitlines()
        assert text.isascii()
        told = strict(text)
        assert told["eval"] == "é\\ud800"
        assert told["case"] == "a\nb\U0001f600"
        assert told["agent"] is None
        assert told["wait"] is None
        assert told["reason"] == "no\x00\x1b[2J"

    def test_secrets_are_kept_out(self, out: io.StringIO) -> None:
        register_secret("SHOP", "sk-0123456789\n\u00fc")
        display = JsonDisplay(out)
        ref = AttemptRef("e", "case sk-0123456789\n\u00fc", "", 1)
        display.attempt_started(ref)
        display.attempt_retried(ref, 1, 2.0, "GET /?key=sk-0123456789%0A%C3%BC")
        display.stopped("sk-0123456789\n\u00fc", 3)
        display.warn("sk-0123456789\n\u00fc")
        assert "0123456789" not in out.getvalue()
        assert out.getvalue().count("[redacted:SHOP]") == 5
        for each in out.getvalue().splitlines():
            strict(each)

    def test_secrets_that_the_configuration_names_are_kept_out(
        self, out: io.StringIO, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SHOP_LOGIN", "open sesame")
        display = JsonDisplay(out)
        display.plan_ready(Plan((), (), declared_secrets=("SHOP_LOGIN",)), "r")
        display.warn("it said open sesame")
        assert strict(out.getvalue().splitlines()[1])["message"] == "it said [redacted:SHOP_LOGIN]"

    def test_a_warning_comes_once(self, out: io.StringIO) -> None:
        display = JsonDisplay(out)
        display.came_late("too late")
        display.complained("the teardown failed")
        display.noted("no usage")
        display.warn("too late")
        assert [strict(each)["message"] for each in out.getvalue().splitlines()] == [
            "too late",
            "the teardown failed",
            "no usage",
        ]

    def test_nothing_is_written_to_a_pipe_that_nobody_reads(self) -> None:
        reader, writer = os.pipe()
        os.close(reader)
        with open(writer, "w", encoding="utf-8") as stream:
            display = JsonDisplay(stream)
            for number in range(3):
                display.attempt_started(AttemptRef("e", str(number), "", 1))
            assert len(display.notes) == 1
            os.dup2(os.open(os.devnull, os.O_WRONLY), writer)
