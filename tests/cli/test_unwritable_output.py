"""Standard output that cannot be written: the run goes on, is recorded, and its reports are written."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from niceeval.record import Record

ROOT = Path(__file__).parent.parent.parent
EVAL = """
import os, sys
from niceeval import define_eval
from niceeval_expect import equals

def closes(message):
    sys.stdout.close()
    return message

@define_eval(cases=range(5))
async def talks(t, case):
    t.check((await t.send(str(case))).message, equals(str(case)))

def plain(message):
    return message
"""
FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")


def called(folder: Path, *arguments: str, stdout: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", "from niceeval.cli import main; main()", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{folder}"},
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "e.py").write_text(EVAL)
    return tmp_path


def recorded(folder: Path) -> tuple[str, int]:
    with Record.open(folder / ".niceeval") as record:
        return record.run().status, len(record.attempts())


@FULL
@pytest.mark.parametrize("arguments", [[], ["-q"]])
def test_a_full_disk_behind_standard_output_costs_no_result(folder: Path, arguments: list[str]) -> None:
    with open("/dev/full", "w") as full:
        run = called(folder, "run", "e.py", "--agent", "e:plain", "--report", "junit=out.xml", *arguments, stdout=full)
        listed = called(folder, "list", "e.py", stdout=full)
    for ended in (run, listed):
        assert ended.returncode == 141
        assert ended.stderr == "error   standard output cannot be written: No space left on device\n"
    assert recorded(folder) == ("sealed", 5)
    assert "<testsuites" in (folder / "out.xml").read_text()


READS = [
    ["show", "--json"],
    ["gate", "--min-rate", "0.5", "--json"],
    ["power", "--rate", "0.9", "--detect", "0.1", "--json"],
    ["compare", "latest", "latest", "--json"],
    ["history", "--json"],
    ["evidence", "e/talks[0]", "--json"],
    ["query", "SELECT * FROM attempts", "--format", "csv"],
    ["query", "SELECT * FROM attempts", "--format", "json"],
    ["export", "--table", "attempts", "--format", "csv", "--out", "-"],
    ["verify", "--json"],
    ["record", "check", "--json"],
]


@FULL
@pytest.mark.parametrize("arguments", READS, ids=" ".join)
def test_what_programs_read_is_not_lost_without_a_word(once: Path, arguments: list[str]) -> None:
    with open("/dev/full", "w") as full:
        ended = called(once, *arguments, stdout=full)
    assert ended.returncode == 141
    assert ended.stderr == "error   standard output cannot be written: No space left on device\n"


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "e.py").write_text(EVAL)
    ended = called(folder, "run", "e.py", "--agent", "e:plain", "-q", stdout=subprocess.PIPE)
    assert ended.returncode == 0
    return folder


def without_stdout(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Call the command in a process that has no standard output at all."""
    script = 'exec "$0" -W error -c "from niceeval.cli import main; main()" "$@" >&-'
    return subprocess.run(
        ["sh", "-c", script, sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{folder}"},
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.skipif(os.name == "nt", reason="a shell is needed to close the stream")
def test_without_standard_output_a_report_for_it_is_not_written(once: Path) -> None:
    read = without_stdout(once, "show", "--json")
    assert (read.returncode, read.stderr) == (0, "")
    reported = without_stdout(once, "show", "--report", "junit=-")
    assert (reported.returncode, reported.stderr) == (
        3,
        "error   the junit report was not written to -: there is no standard output\n",
    )


@pytest.mark.parametrize("arguments", [[], ["-q"], ["--json"]])
def test_a_process_without_standard_output_runs_all_the_same(folder: Path, arguments: list[str]) -> None:
    code = (
        "import subprocess, sys; sys.exit(subprocess.call(['sh', '-c', 'exec \"$0\" \"$@\" >&-', sys.executable, '-c',"
        f" 'from niceeval.cli import main; main()', 'run', 'e.py', '--agent', 'e:plain', *{arguments!r}]))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{folder}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert recorded(folder) == ("sealed", 5)


def test_an_agent_that_closes_standard_output_costs_no_result(folder: Path) -> None:
    ended = called(folder, "run", "e.py", "--agent", "e:closes", stdout=subprocess.PIPE)
    assert ended.returncode == 141
    assert ended.stderr == "error   standard output cannot be written: I/O operation on closed file.\n"
    assert recorded(folder) == ("sealed", 5)
