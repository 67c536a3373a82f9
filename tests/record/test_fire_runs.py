"""`niceeval run` under fire: killed, on a full disk, watched while it goes on, and with names that are no file names."""

import json
import os
import random
import resource
import selectors
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import attrs
import pytest

from niceeval.errors import RecordWarning
from niceeval.record import Record
from niceeval.record.check import check_record

ROUNDS = int(os.environ.get("NICEEVAL_FIRE_RUNS", "2"))
WRITERS, ATTEMPTS = 3, 20
SHOP = """
def echo(message):
    return message

def long(message):
    return message * 100_000
"""
EVALS = f"""
from niceeval import define_eval
from niceeval_expect import includes

@define_eval(cases={{str(number): str(number) for number in range({ATTEMPTS})}})
async def repeats(t, text):
    turn = await t.send(text)
    t.check(turn.message, includes(text)).key("repeats")
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals" / "eval_shop.py").write_text(EVALS)
    return tmp_path


def start(project: Path, *arguments: str, **options: Any) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "niceeval", *arguments]
    return subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def run(project: Path, *arguments: str, **options: Any) -> tuple[int, str, str]:
    process = start(project, *arguments, **options)
    out, problems = process.communicate()
    return process.returncode, out.decode(), problems.decode()


@attrs.define(eq=False)
class Writer:
    """A run that goes on, and what it has said."""

    process: "subprocess.Popen[bytes]"
    heard: bytearray = attrs.Factory(bytearray)

    def events(self) -> list[dict[str, Any]]:
        # A process that is killed may leave half an event, which reports nothing.
        whole = self.heard.rpartition(b"\n")[0]
        return [json.loads(line) for line in whole.splitlines()]

    def finished(self) -> list[tuple[str, str]]:
        """What was reported as finished: the run and the case."""
        run_id, found = "", list[tuple[str, str]]()
        for event in self.events():
            run_id = event.get("run") or run_id
            if event.get("event") == "attempt_finished":
                found.append((run_id, event["case"]))
        return found


def kill_some(writers: list[Writer], after: int, doomed: list[Writer]) -> None:
    """Listen to the writers, and kill some of them when so many attempts were reported."""
    pipes, killed = selectors.DefaultSelector(), False
    for writer in writers:
        assert writer.process.stdout is not None
        pipes.register(writer.process.stdout, selectors.EVENT_READ, writer)
    while pipes.get_map():
        for key, _ in pipes.select():
            data = os.read(key.fd, 65536)
            key.data.heard += data
            if not data:
                pipes.unregister(key.fileobj)
        if not killed and sum(writer.heard.count(b'"attempt_finished"') for writer in writers) >= after:
            for writer in doomed:
                writer.process.send_signal(signal.SIGKILL)
            killed = True


def readable(project: Path) -> set[tuple[str, str | None]]:
    """Return run and case of every attempt that can be read; what cannot is a line that the kill cut in two."""
    with warnings.catch_warnings(record=True) as caught, Record.open(project) as record:
        warnings.simplefilter("always")
        runs = record.runs()
        found = {(info.id, attempt.case_id) for info in runs for attempt in record.attempts(info)}
        assert all(info.planned == ATTEMPTS for info in runs)
    for each in caught:
        assert issubclass(each.category, RecordWarning)
        assert "it ends in the middle, as after a killed process" in str(each.message)
    return found


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_what_killed_runs_reported_is_never_lost(project: Path, round_: int) -> None:
    chance = random.Random()
    arguments = ("run", "evals", "--agent", "shop:long", "--concurrency", "2", "--json")
    writers = [Writer(start(project, *arguments)) for _ in range(WRITERS)]
    after = chance.randrange(1, WRITERS * ATTEMPTS // 2)
    kill_some(writers, after, chance.sample(writers, chance.randrange(1, WRITERS + 1)))
    for writer in writers:
        problems = writer.process.communicate()[1]
        assert writer.process.returncode in (0, -signal.SIGKILL), problems
        if writer.process.returncode == 0:
            assert len(writer.finished()) == ATTEMPTS
    reported = {each for writer in writers for each in writer.finished()}
    assert len(reported) >= after
    read = readable(project)
    assert reported <= read
    code, out, said = run(project, "record", "check", "--json")
    assert (code in (0, 1), said) == (True, "")
    kinds = {problem["kind"] for each in json.loads(out)["runs"] for problem in each["problems"]}
    assert kinds <= {"killed", "torn line", "unreferenced blob"}
    run(project, "record", "clean", "--yes")
    assert readable(project) == read


def test_a_run_is_shown_and_checked_while_it_goes_on(project: Path) -> None:
    writer = start(project, "run", "evals", "--agent", "shop:long", "--attempts", "15", "--json")
    assert writer.stdout is not None
    assert b"run_started" in writer.stdout.readline()
    looks = 0
    while looks == 0 or writer.poll() is None:
        for command in (["show"], ["record", "check"]):
            look = start(project, *command)
            # The writer must not wait for somebody to read what it says.
            reading = selectors.DefaultSelector()
            assert look.stdout is not None
            reading.register(look.stdout, selectors.EVENT_READ)
            reading.register(writer.stdout, selectors.EVENT_READ)
            while look.stdout in {key.fileobj for key in reading.get_map().values()}:
                for key, _ in reading.select():
                    if not os.read(key.fd, 65536):
                        reading.unregister(key.fileobj)
            _, problems = look.communicate()
            assert look.returncode == 0, problems
            assert all("it ends in the middle" in line for line in problems.decode().splitlines())
        looks += 1
    assert writer.communicate()[1] == b""
    assert writer.returncode == 0
    assert looks > 0
    assert check_record(project / ".niceeval").clean


def test_a_disk_that_fills_up_fails_the_run_and_keeps_what_was_written(project: Path) -> None:
    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (8_000, resource.RLIM_INFINITY))

    code, out, problems = run(project, "run", "evals", "--agent", "shop:echo", "--concurrency", "1", preexec_fn=limit)
    assert code == 3
    assert "File too large; free some space, or record elsewhere" in " ".join(problems.split())
    with Record.open(project) as record:
        written = len(record.attempts())
        assert 0 < written < ATTEMPTS
        assert record.pass_rates().overall.planned == ATTEMPTS
        assert record.run().status == "interrupted"
    assert f"interrupted: {written} of 20 planned attempts have ended" in out
    assert check_record(project / ".niceeval").clean


NAMES = [
    "a:b?*", "CON", "nul.txt", "../x", "..", "/etc/passwd", "C:\\x", "x" * 300, "\u00e9", "e\u0301", "Foo", "foo", "a/b",
    "a\nb", "half \ud800", "a[b]", "latest", "-x", "a\x00b", ".", "😀" * 100,
]  # fmt: skip
STRANGE = f"""
from niceeval import define_eval
from niceeval_expect import equals, includes

@define_eval(cases={{name: name for name in {NAMES!a}}})
async def names(t, name):
    turn = await t.send(name)
    t.check(turn.message, equals(name)).key(name).label(name)
    t.check(turn.message, equals(name)).label("twice")
    t.check(turn.message, equals(name + "!")).label("twice")
"""


def test_names_that_are_no_file_names_are_run_shown_and_kept_apart(project: Path) -> None:
    (project / "evals" / "eval_a:b?*.py").write_text(STRANGE)
    before = set(project.parent.iterdir())
    agents = ["--agent", "../x:CON?*=shop:echo", "--agent", "foo=shop:echo", "--agent", "Foo=shop:echo"]
    code, out, problems = run(project, "run", "evals", "-k", "names", *agents)
    assert (code, problems) == (1, "")
    for command in (["show"], ["show", "--json"], ["verify"], ["record", "check"]):
        code, out, problems = run(project, *command)
        assert (code, problems) == (0, ""), command
        assert "\x00" not in out
        assert "\ud800" not in out
    with Record.open(project) as record:
        info = record.run()
        assert info.agents == ("../x:CON?*", "foo", "Foo")
        assert [attempt.case_id for attempt in record.attempts(agent="Foo")] == NAMES
        for name in NAMES:
            found = record.attempts(eval=f"a:b?*/names[{name}]")
            assert [(attempt.case_id, attempt.agent) for attempt in found] == [(name, agent) for agent in info.agents]
            assert [entry.subject.value() for entry in record.assertions(key=name)] == [name] * 3
            first, *twice = found[0].assertions
            assert (first.key, first.label) == (name, name)
            assert [(entry.order, entry.label, entry.decision) for entry in twice] == [
                (1, "twice", "met"),
                (2, "twice", "unmet"),
            ]
            assert twice[0].source.line + 1 == twice[1].source.line
    assert set(project.parent.iterdir()) == before
    written = [path for path in (project / ".niceeval").rglob("*") if path.is_file()]
    assert {path.parent for path in written} <= {project / ".niceeval", info.folder}
