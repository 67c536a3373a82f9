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
