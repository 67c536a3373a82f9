"""`niceeval record`: what is wrong in a record, and removing what holds no result."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from niceeval.record.process import Process
from niceeval.record.write import RunWriter

GONE = {**Process.this().as_document(), "started": "1"}


def kill(folder: Path) -> None:
    """Make a run look like that of a process that is gone."""
    document = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**document, "writer": GONE}))


@pytest.fixture
def empty(project: Any) -> RunWriter:
    writer = RunWriter.create(project.root / ".niceeval", {"evals": [{"id": "greets"}]})
    kill(writer.folder)
    return writer


def test_a_whole_record(project: Any, recorded: Any) -> None:
    folder = recorded([{"status": "passed"}, {"status": "failed", "attempt": 2}])
    answer = project("record", "check")
    assert (answer.code, answer.err) == (0, "")
    assert answer.lines[0] == "record .niceeval  1 run, 2 attempts"
    assert answer.lines[3].split() == [folder.name, "sealed", "1", "2/2", "0"]
    assert answer.lines[-1] == "no problem found"


def test_problems_and_remnants_are_named(project: Any, recorded: Any, empty: RunWriter) -> None:
    folder = recorded([{"status": "passed"}])
    (path,) = folder.glob("attempts-*")
    path.write_text(path.read_text() + '{"id":"torn')
    answer = project("record", "check")
    assert answer.code == 1
    assert f"TORN LINE {folder.name}  {path.name}, line 2" in answer.lines
    assert "  it ends in the middle, as after a killed process" in answer.lines
    assert f"KILLED {empty.id}  run.json" in answer.lines
    assert f"REMNANT .niceeval/runs/{empty.id}" in answer.lines
    assert answer.lines[-1] == "3 problems"
    assert all(cell_len(each) <= 80 for each in answer.lines)
    assert project("record", "check", empty.id).code == 1
    assert "TORN" not in project("record", "check", empty.id).out


def test_one_run_is_named_by_id_latest_or_folder(project: Any, recorded: Any, empty: RunWriter) -> None:
    folder = recorded([{"status": "passed"}])
    for name in (folder.name, str(folder)):
        answer = project("record", "check", name)
        assert (answer.code, answer.lines[0]) == (0, "record .niceeval  1 run, 1 attempt")
    assert project("record", "check", str(project.root / ".niceeval")).code == 1
    answer = project("record", "check", "20200101-000000-none")
    assert answer.code == 2
    assert "holds no run" in answer.err


def test_no_record_is_one_sentence(project: Any) -> None:
    for command in ("check", "clean"):
        answer = project("record", command)
        assert (answer.code, answer.out) == (2, "")
        assert "there is no record" in answer.err


def test_check_as_json(project: Any, recorded: Any, empty: RunWriter) -> None:
    recorded([{"status": "passed"}])
    answer = project("record", "check", "--json")
    found = json.loads(answer.out)
    assert (answer.code, found["clean"]) == (1, False)
    runs = {run["id"]: run for run in found["runs"]}
    killed = runs.pop(empty.id)
    assert (killed["status"], killed["process"], killed["finished"], killed["planned"]) == ("running", "gone", 0, 1)
    assert killed["problems"][0]["kind"] == "killed"
    (whole,) = runs.values()
    assert (whole["format"], whole["finished"], whole["problems"]) == (1, 1, [])
    (remnant,) = found["remnants"]
    assert (remnant["kind"], remnant["path"]) == ("empty run", str(empty.folder))
    assert remnant["size"] > 0


def test_strange_names_cannot_move_the_cursor(project: Any, recorded: Any) -> None:
    strange = {"eval": "a\x1b[2J\n\ud800", "case": "..\\/CON:*?", "status": "passed"}
    recorded([strange, strange])
    answer = project("record", "check")
    assert answer.code == 1
    assert "\x1b" not in answer.out
    assert "a\\x1b[2J\\n\\ud800" in answer.out.replace("\n  ", " ")
    assert json.loads(project("record", "check", "--json").out)["runs"][0]["problems"][0]["kind"] == "duplicate"


def test_without_a_terminal_nothing_is_removed(project: Any, empty: RunWriter) -> None:
    answer = project("record", "clean")
    assert answer.code == 1
    assert f"REMNANT .niceeval/runs/{empty.id}" in answer.lines
    assert "a run that was killed before its first attempt ended" in answer.out
    assert answer.lines[-1] == "nothing was removed; --yes removes without asking"
    assert empty.folder.is_dir()


def test_yes_removes_and_there_is_nothing_left(project: Any, recorded: Any, empty: RunWriter) -> None:
    kept = recorded([{"status": "passed"}])
    answer = project("record", "clean", "--yes")
    assert (answer.code, answer.lines[-1]) == (0, "removed 1 remnant")
    assert [path.name for path in (project.root / ".niceeval" / "runs").iterdir()] == [kept.name]
    again = project("record", "clean")
    assert (again.code, again.lines) == (0, ["nothing to remove in .niceeval"])
    assert project("record", "check").code == 0


def test_one_run_is_not_cleaned(project: Any, recorded: Any) -> None:
    folder = recorded([])
    answer = project("record", "clean", str(folder))
    assert answer.code == 2
    assert "is one run; clean the whole record: niceeval record clean" in answer.err.replace("\n        ", " ")


@pytest.mark.parametrize(("said", "code", "there"), [("y\n", 0, False), ("n\n", 1, True), ("\n", 1, True)])
def test_a_person_is_asked(project: Any, empty: RunWriter, said: str, code: int, there: bool) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "niceeval", "record", "clean"], cwd=project.root, stdin=theirs, stdout=subprocess.PIPE
    )
    os.close(theirs)
    os.write(ours, said.encode())
    out, _ = process.communicate()
    os.close(ours)
    assert process.returncode == code
    assert b"remove 1 remnant, " in out
    assert empty.folder.is_dir() == there


def test_a_record_on_another_drive_is_named_by_its_path(
    project: Any, recorded: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_way(path: object) -> str:
        raise ValueError("path is on mount 'D:', start on mount 'C:'")

    folder = recorded([{"status": "passed"}])
    monkeypatch.setattr(os.path, "relpath", no_way)
    assert f"record  {folder}" in project("show").lines


def test_show_tells_a_killed_run_from_one_that_goes_on(project: Any, recorded: Any) -> None:
    folder = recorded([{"status": "passed"}], status=None)
    assert "still running: 1 of 1 planned attempt have ended" in project("show").lines
    kill(folder)
    assert "killed, its process is gone: 1 of 1 planned attempt have ended" in project("show").lines
    document = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**document, "writer": {**GONE, "host": "elsewhere"}}))
    assert "still running, or killed: 1 of 1 planned attempt have ended" in project("show").lines
    answer = project("record", "check")
    assert (answer.code, answer.lines[-1]) == (0, "no problem found")
    assert "running or killed" in answer.out


def test_a_run_of_a_newer_version_hides_no_other(project: Any, recorded: Any) -> None:
    older = recorded([{"status": "passed"}])
    newer = older.with_name("29990101-000000-next")
    newer.mkdir()
    (newer / "run.json").write_text('{"format": 7, "id": "next", "shape": "unknown"}')
    answer = project("show")
    assert (answer.code, answer.out) == (2, "")
    assert "has the record format 7" in answer.err
    assert "pip install --upgrade niceeval" in " ".join(answer.err.split())
    assert project("show", older.name).code == 0
    answer = project("record", "check")
    assert answer.code == 1
    assert "UNREADABLE 29990101-000000-next  run.json" in answer.lines
    found = json.loads(project("record", "check", "--json").out)
    assert [(run["id"], run["format"], run["status"]) for run in found["runs"]] == [
        (newer.name, 7, None),
        (older.name, 1, "sealed"),
    ]
    assert project("record", "clean").lines == ["nothing to remove in .niceeval"]
