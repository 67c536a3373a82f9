"""Whether a process is still there, also when another one has its number now."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import attrs
import pytest

from niceeval.record.process import Process

on_linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="other systems say less of a process")


def test_this_process_is_alive_and_survives_being_stored() -> None:
    here = Process.this()
    assert here.pid == os.getpid()
    assert Process.from_document(here.as_document()) == here


@on_linux
def test_a_process_that_has_ended_is_gone() -> None:
    code = "from niceeval.record.process import Process; import json; print(json.dumps(Process.this().as_document()))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    process = Process.from_document(json.loads(ended.stdout))
    assert process is not None
    assert process.state() == "gone"


@on_linux
def test_a_process_that_nobody_has_waited_for_is_gone_too() -> None:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.read(reading, 1)
        os._exit(0)
    child = attrs.evolve(Process.this(), pid=pid, started=None)
    assert child.state() == "unknown"
    os.write(writing, b".")
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert child.state() == "gone"
    os.waitpid(pid, 0)
    os.close(reading)
    os.close(writing)


@on_linux
@pytest.mark.parametrize(
    ("other", "state"),
    [
        ({}, "alive"),
        ({"started": "1"}, "gone"),
        ({"boot": "another start of the machine"}, "gone"),
        ({"host": "elsewhere"}, "unknown"),
        ({"space": "pid:[1]"}, "unknown"),
        ({"space": None}, "unknown"),
        ({"started": None}, "unknown"),
        ({"boot": None}, "alive"),
        ({"pid": 2**30}, "gone"),
    ],
)
def test_what_cannot_be_told_is_unknown(other: dict[str, Any], state: str) -> None:
    assert attrs.evolve(Process.this(), **other).state() == state


@pytest.mark.parametrize(
    "document",
    [None, {}, "4", {"pid": 1}, {"pid": "1", "host": "x"}, {"pid": True, "host": "x"}, {"pid": 0, "host": "x"}],
)
def test_what_names_no_process_is_none(document: object) -> None:
    assert Process.from_document(document) is None
