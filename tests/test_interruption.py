"""Ctrl-C and cancellation: what is done is kept, what runs is marked, and the process ends soon whatever it runs."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import attrs
import pytest

from niceeval import EvalContext, define_eval
from niceeval.evals.experiments import Experiment
from niceeval.interruption import Interruption
from niceeval.plans import Plan
from niceeval.record import Record
from niceeval.record.run import RunResult
from niceeval.record.write import MemoryWriter
from niceeval.runner import execute
from niceeval_expect import equals

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).parent.parent


async def test_a_run_whose_attempts_do_not_heed_it_is_written_and_sealed_all_the_same() -> None:
    inside, release = anyio.Event(), anyio.Event()
    torn_down: list[str] = []

    async def deaf(t: EvalContext) -> None:
        t.check("a", equals("a")).key("before")
        inside.set()
        while not release.is_set():
            try:
                await release.wait()
            except BaseException:
                continue
        t.check("a", equals("a")).key("after")

    plan = Plan((define_eval(deaf),), (Experiment(name="x", teardown=lambda: torn_down.append("x")),))
    writer = MemoryWriter(plan.header())
    interruption = Interruption()
    ended: list[str] = []

    async def run() -> None:
        with anyio.CancelScope() as scope:
            scopes.append(scope)
            await execute(plan, concurrency=1, timeout=None, writer=writer, interruption=interruption)
        ended.append("run")

    scopes: list[anyio.CancelScope] = []
    async with anyio.create_task_group() as group:
        group.start_soon(run)
        await inside.wait()
        scopes[0].cancel()
        assert await anyio.to_thread.run_sync(interruption.over.wait, 30)
        assert (writer.status, len(writer.lines), ended, torn_down) == ("interrupted", 1, [], ["x"])
        release.set()
    (attempt,) = RunResult.from_writer(writer).attempts
    assert (attempt.status, attempt.reason, torn_down) == ("errored", "interrupted", ["x"])
    assert [entry.requirement for entry in attempt.assertions] == ["before"]


AGENTS = """
import asyncio, pathlib, time
import anyio

def note(message):
    pathlib.Path(f"started-{message}").touch()

async def polite(message):
    note(message)
    if message > "2":
        await anyio.sleep(60)
    return message

async def deaf(message):
    note(message)
    while message > "2":
        try:
            await anyio.sleep(60)
        except BaseException:
            pass
    return message

def blocking(message):
    note(message)
    if message > "2":
        time.sleep(60)
    return message

async def in_a_thread_pool(message):
    note(message)
    if message > "2":
        await asyncio.to_thread(time.sleep, 60)
    return message

async def busy(message):
    note(message)
    if message > "3":
        time.sleep(60)
    if message > "2":
        await anyio.sleep(60)
    return message
"""
EVALS = """
from niceeval import define_eval
from niceeval_expect import equals

@define_eval(cases=range(9))
async def talks(t, case):
    t.check("before", equals("before")).key("before")
    turn = await t.send(str(case))
    t.check(turn.message, equals(str(case))).key("after")
"""
EXPERIMENT = """
import pathlib
from niceeval import define_experiment

def teardown():
    pathlib.Path("torn_down").write_text("yes")

slow = define_experiment(agent="agents:{agent}", teardown=teardown)
"""


@attrs.frozen
class Ended:
    """How an interrupted process ended."""

    code: int
    took: float
    out: str
    err: str


def interrupted(
    folder: Path, *arguments: str, done: int, times: int = 1, number: signal.Signals = signal.SIGINT
) -> Ended:
    """Start a run of two attempts at a time, press Ctrl-C once `done` are recorded and two more run, and wait."""
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", "from niceeval.cli import main; main()", "run", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{folder}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until_they_run(process, folder, done)
    pressed = time.monotonic()
    for _ in range(times):
        process.send_signal(number)
        time.sleep(0.1)
    out, err = process.communicate(timeout=60)
    return Ended(process.returncode, time.monotonic() - pressed, out, err)


def until_they_run(process: subprocess.Popen[str], folder: Path, done: int) -> None:
    """Wait until so many attempts are recorded and the next two have begun."""
    limit = time.monotonic() + 60
    try:
        while not begun(folder, done):
            assert process.poll() is None
            assert time.monotonic() < limit
            time.sleep(0.01)
    except BaseException:
        process.kill()
        process.communicate()
        raise


def begun(folder: Path, done: int) -> bool:
    return len(lines(folder)) >= done and all((folder / f"started-{done + more}").exists() for more in (0, 1))


def lines(folder: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for path in folder.glob(".niceeval/runs/*/attempts-*.jsonl")
        for line in path.read_text().splitlines()
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "agents.py").write_text(AGENTS)
    (tmp_path / "eval_talks.py").write_text(EVALS)
    return tmp_path


@pytest.mark.parametrize("agent", ["polite", "deaf", "blocking", "in_a_thread_pool", "busy"])
def test_a_process_keeps_what_is_done_marks_what_runs_and_ends_within_two_seconds(
    folder: Path, anyio_backend: str, agent: str
) -> None:
    if agent == "in_a_thread_pool" and anyio_backend == "trio":
        pytest.skip("asyncio.to_thread needs asyncio")
    experiment = folder / "experiments.py"
    experiment.write_text(EXPERIMENT.format(agent=agent))
    options = ("--experiment", "experiments.py", "--backend", anyio_backend, "--concurrency", "2")
    ended = interrupted(folder, "eval_talks.py", *options, done=3)
    assert ended.code == 130, ended.err
    assert ended.took < 2
    assert "Traceback" not in ended.err
    assert "5 of 9 planned attempts have ended" in ended.out
    assert (folder / "torn_down").read_text() == "yes"
    with Record.open(folder / ".niceeval") as record:
        assert record.run().status == "interrupted"
        found = {attempt.case_id: (attempt.status, attempt.reason) for attempt in record.attempts()}
        requirements = {attempt.case_id: len(attempt.assertions) for attempt in record.attempts()}
    assert found == {
        **dict.fromkeys("012", ("passed", None)),
        **dict.fromkeys("34", ("errored", "interrupted")),
    }
    assert requirements == {**dict.fromkeys("012", 2), **dict.fromkeys("34", 1)}


@pytest.mark.skipif(sys.platform == "win32", reason="these signals cannot be handled there")
@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129)])
@pytest.mark.parametrize("agent", ["polite", "busy"])
def test_a_job_that_is_stopped_and_a_terminal_that_is_closed_are_like_ctrl_c(
    folder: Path, name: str, code: int, agent: str
) -> None:
    (folder / "experiments.py").write_text(EXPERIMENT.format(agent=agent))
    options = ("--experiment", "experiments.py", "--concurrency", "2")
    ended = interrupted(folder, "eval_talks.py", *options, done=3, number=signal.Signals[name])
    assert ended.code == code, ended.err
    assert ended.took < 2
    assert "5 of 9 planned attempts have ended" in ended.out
    assert (folder / "torn_down").read_text() == "yes"
    assert sorted((line["case"], line.get("reason")) for line in lines(folder)) == [
        *((str(case), None) for case in range(3)),
        ("3", "interrupted"),
        ("4", "interrupted"),
    ]


TORN_DOWN = """
import pathlib, time
from niceeval import define_eval
from niceeval_expect import equals

def clear(t, case):
    pathlib.Path(f"cleared-{case}").touch()

async def agent(message):
    if message == "0":
        return message
    pathlib.Path("started-0").touch()
    pathlib.Path("started-1").touch()
    until = time.monotonic() + 60
    while time.monotonic() < until:
        time.sleep(0.05)

@define_eval(cases=range(2), teardown=clear)
async def talks(t, case):
    t.check((await t.send(str(case))).message, equals(str(case)))
"""


def test_a_teardown_that_has_ended_is_not_waited_for_although_the_event_loop_is_busy(folder: Path) -> None:
    (folder / "eval_talks.py").write_text(TORN_DOWN)
    ended = interrupted(folder, "eval_talks.py", "--agent", "eval_talks:agent", "--concurrency", "2", done=0)
    assert (ended.code, (folder / "cleared-0").exists()) == (130, True)
    assert ended.took < 2
    assert {line["case"] for line in lines(folder)} == {"0", "1"}


SLOW_TEARDOWN = """
import pathlib, time
from niceeval import define_experiment

def teardown():
    time.sleep({seconds})
    pathlib.Path("torn_down").write_text("yes")

slow = define_experiment(agent="agents:polite", teardown=teardown)
"""


def test_a_teardown_is_waited_for(folder: Path) -> None:
    (folder / "experiments.py").write_text(SLOW_TEARDOWN.format(seconds=2.5))
    ended = interrupted(folder, "eval_talks.py", "--experiment", "experiments.py", "--concurrency", "2", done=3)
    assert (ended.code, (folder / "torn_down").exists(), len(lines(folder))) == (130, True, 5)
    assert 2.5 <= ended.took < 5


def test_the_second_ctrl_c_waits_for_nothing(folder: Path) -> None:
    (folder / "experiments.py").write_text(SLOW_TEARDOWN.format(seconds=9))
    options = ("--experiment", "experiments.py", "--concurrency", "2")
    ended = interrupted(folder, "eval_talks.py", *options, done=3, times=2)
    assert (ended.code, (folder / "torn_down").exists(), len(lines(folder))) == (130, False, 5)
    assert ended.took < 2
    assert "5 of 9 planned attempts have ended" in ended.out


def test_a_script_that_runs_an_eval_keeps_what_is_done_as_well(folder: Path, anyio_backend: str) -> None:
    script = folder / "script.py"
    script.write_text(
        "import sys, anyio\nfrom functools import partial\nimport agents, eval_talks\nfrom niceeval import run_eval\n"
        "run = partial(run_eval, eval_talks.talks, agent=agents.blocking, concurrency=2, record='.niceeval')\n"
        "anyio.run(run, backend=sys.argv[1])\n"
    )
    process = subprocess.Popen(
        [sys.executable, str(script), anyio_backend],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    )
    until_they_run(process, folder, 3)
    pressed = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert time.monotonic() - pressed < 2
    assert process.returncode != 0
    assert "KeyboardInterrupt" in err
    assert sorted((line["case"], line.get("reason")) for line in lines(folder)) == [
        ("0", None),
        ("1", None),
        ("2", None),
        ("3", "interrupted"),
        ("4", "interrupted"),
    ]


STUCK = """
from niceeval import define_eval
from niceeval_expect import equals

@define_eval(cases=range(6))
async def talks(t, case):
    t.check("before", equals("before")).key("before")
    turn = await t.send(str(case))
    t.check(turn.message, equals(str(case))).key("after")
"""


def test_attempts_that_never_heed_their_timeout_are_written_and_hold_nobody_up(
    folder: Path, anyio_backend: str
) -> None:
    (folder / "eval_talks.py").write_text(STUCK)
    options = ("--agent", "agents:deaf", "--backend", anyio_backend, "--concurrency", "2", "--timeout", "0.2")
    begun = time.monotonic()
    process = subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            "-c",
            "from niceeval.cli import main; main()",
            "run",
            "eval_talks.py",
            *options,
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{folder}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (process.returncode, process.stderr) == (3, "")
    assert time.monotonic() - begun < 30
    assert "3 passed" in process.stdout
    with Record.open(folder / ".niceeval") as record:
        assert record.run().status == "sealed"
        found = {attempt.case_id: (attempt.status, attempt.reason) for attempt in record.attempts()}
    late = ("errored", "timed out after 0.2 s")
    assert found == {**dict.fromkeys("012", ("passed", None)), **dict.fromkeys("345", late)}
    assert len(lines(folder)) == 6


def test_threads_that_are_left_behind_do_not_keep_a_process_that_is_through(folder: Path) -> None:
    (folder / "eval_talks.py").write_text(STUCK)
    options = ("--agent", "agents:in_a_thread_pool", "--timeout", "0.2")
    begun = time.monotonic()
    process = subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            "-c",
            "from niceeval.cli import main; main()",
            "run",
            "eval_talks.py",
            *options,
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{folder}"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert time.monotonic() - begun < 30
    assert (process.returncode, process.stderr, len(lines(folder))) == (3, "", 6)


async def test_a_run_that_is_given_up_twice_is_written_once() -> None:
    inside = anyio.Event()

    async def waits(t: EvalContext) -> None:
        inside.set()
        await anyio.sleep_forever()

    plan = Plan((define_eval(waits),))
    writer = MemoryWriter(plan.header())
    interruption = Interruption()
    interruption.give_up()
    async with anyio.create_task_group() as group:
        group.start_soon(partial(execute, plan, concurrency=1, timeout=None, writer=writer, interruption=interruption))
        await inside.wait()
        interruption.give_up()
        interruption.give_up()
        assert (writer.status, len(writer.lines)) == ("interrupted", 1)
        group.cancel_scope.cancel()
    assert (writer.status, len(writer.lines)) == ("interrupted", 1)
