"""Checking a record: what was damaged, lost or left is named, and nothing else."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from niceeval.record import Record
from niceeval.record.check import RunCheck, check_record
from niceeval.record.process import Process
from niceeval.record.write import RunWriter

Edit = Callable[..., None]
GONE = {**Process.this().as_document(), "started": "1"}
ELSEWHERE = {**Process.this().as_document(), "host": "elsewhere"}


@pytest.fixture
def edit() -> Edit:
    """Changes what `run.json` says."""

    def change(folder: Path, **fields: Any) -> None:
        document = json.loads((folder / "run.json").read_text())
        (folder / "run.json").write_text(json.dumps({**document, **fields}))

    return change


@pytest.fixture
def run(write_run: Any, make_attempt: Any) -> RunWriter:
    writer: RunWriter = write_run([make_attempt(1), make_attempt(2, attempt=2)], attempts=2)
    return writer


def only(root: Path) -> RunCheck:
    (found,) = check_record(root).runs
    return found


def kinds(found: RunCheck) -> list[str]:
    return [each.kind for each in found.problems]


def with_blob(root: Path, make_attempt: Any) -> RunWriter:
    writer = RunWriter.create(root, {"agents": ["plain"], "evals": [{"id": "orders/order_lookup"}]})
    subjects = {"d": {"type": "str", "blob": writer.blob(b'"a long answer"')}}
    sessions = {"$": "blob", "sha256": writer.blob(b"[]"), "size": 2}
    writer.append(json.dumps(make_attempt(1, subjects=subjects, sessions=sessions)))
    writer.seal()
    return writer


def test_a_whole_record_has_no_problem(root: Path, run: RunWriter, make_attempt: Any) -> None:
    with_blob(root, make_attempt)
    checked = check_record(root)
    assert checked.clean
    assert checked.remnants == ()
    newest, oldest = sorted(checked.runs, key=lambda each: each.finished)
    assert (newest.finished, newest.planned) == (1, 1)
    assert (oldest.id, oldest.status, oldest.process, oldest.format) == (run.id, "sealed", None, 1)
    assert (oldest.finished, oldest.planned) == (2, 2)
    assert (root / "runs").is_dir()


@pytest.mark.parametrize(
    ("damage", "kind", "words"),
    [
        (b'{"id":"9","eval":"e","status":"pa', "torn line", "ends in the middle"),
        (b"{}}\n", "damaged line", "not valid JSON"),
        (b"[1]\n", "damaged line", "does not describe an attempt"),
        (b'{"id":"9","eval":"e"}\n', "damaged line", "how the attempt ended"),
    ],
)
def test_a_line_that_is_no_attempt_is_named(root: Path, run: RunWriter, damage: bytes, kind: str, words: str) -> None:
    run.path.write_bytes(run.path.read_bytes() + damage)
    (problem,) = only(root).problems
    assert (problem.kind, problem.place) == (kind, f"{run.path.name}, line 3")
    assert words in problem.message
    assert only(root).finished == 2


def test_an_attempt_that_is_there_twice_is_named(root: Path, run: RunWriter, make_attempt: Any) -> None:
    other = run.folder / "attempts-zz.jsonl"
    other.write_text(json.dumps(make_attempt(3, attempt=2)) + "\n" + json.dumps(make_attempt(1, attempt=3)) + "\n")
    twice, same_id = only(root).problems
    assert (twice.kind, twice.place) == ("duplicate", "attempts-zz.jsonl, line 1")
    assert twice.message == f"attempt 2 of orders/order_lookup by plain is already in {run.path.name}, line 2"
    assert same_id.message == f"the id {1:012x} is already in {run.path.name}, line 1"


@pytest.mark.parametrize("damage", ["missing", "altered", "not gzip", "cut off", "flipped"])
@pytest.mark.parametrize("which", [b'"a long answer"', b"[]"], ids=["subject", "sessions"])
def test_a_blob_that_is_missing_or_altered_is_named(root: Path, make_attempt: Any, damage: str, which: bytes) -> None:
    writer = with_blob(root, make_attempt)
    path = next(path for path in (writer.folder / "blobs").iterdir() if gzip.decompress(path.read_bytes()) == which)
    data = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        flipped = data[:10] + bytes([data[10] ^ 0xFF]) + data[11:]
        changed = {
            "altered": gzip.compress(b'"another"'),
            "not gzip": b"text",
            "cut off": data[:-9],
            "flipped": flipped,
        }
        path.write_bytes(changed[damage])
    (problem,) = only(root).problems
    assert (problem.kind, problem.place) == ("blob", f"{writer.path.name}, line 1")
    assert path.name in problem.message


def test_a_blob_that_no_attempt_needs_is_named_once_nobody_writes(root: Path, edit: Edit) -> None:
    writer = RunWriter.create(root, {"evals": []})
    name = f"blobs/{writer.blob(b'text')}.json.gz"
    assert only(root).problems == ()
    writer.seal()
    (problem,) = only(root).problems
    assert (problem.kind, problem.place) == ("unreferenced blob", name)


@pytest.mark.parametrize(
    ("writer", "process", "found"),
    [(GONE, "gone", ["killed"]), (ELSEWHERE, "unknown", []), (None, "unknown", []), ({}, "unknown", [])],
    ids=["gone", "elsewhere", "not said", "empty"],
)
def test_a_killed_run_is_told_from_one_that_is_running(
    root: Path, edit: Edit, make_attempt: Any, writer: Any, process: str, found: list[str]
) -> None:
    pen = RunWriter.create(root, {"attempts": 2, "evals": [{"id": "orders/order_lookup"}]})
    pen.append(json.dumps(make_attempt(1)))
    assert (only(root).process, only(root).problems) == ("alive", ())
    edit(pen.folder, writer=writer)
    assert only(root).process == process
    assert kinds(only(root)) == found
    if found:
        said = "its process is gone; 1 of 2 planned attempts have ended; niceeval resume {} runs the rest"
        assert only(root).problems[0].message == said.format(pen.id)
    pen.seal()


def test_a_half_written_line_of_a_living_process_is_no_problem(root: Path, make_attempt: Any) -> None:
    pen = RunWriter.create(root, {"attempts": 2, "evals": [{"id": "orders/order_lookup"}]})
    pen.append(json.dumps(make_attempt(1)))
    pen.path.write_bytes(pen.path.read_bytes() + b'{"id":"9"')
    assert only(root).problems == ()
    pen.seal()
    assert kinds(only(root)) == ["torn line", "unfinished"]


def test_a_sealed_run_that_lacks_attempts_is_named_unless_it_says_why(
    root: Path, edit: Edit, write_run: Any, make_attempt: Any
) -> None:
    pen = write_run([make_attempt(1)], attempts=3)
    (problem,) = only(root).problems
    assert problem.kind == "unfinished"
    assert problem.message == "the run went to its end, but only 1 of 3 planned attempts have ended"
    edit(pen.folder, stopped="the budget of $1 is used up")
    assert only(root).problems == ()
    edit(pen.folder, stopped=None, status="interrupted")
    assert only(root).problems == ()


def test_a_run_is_counted_together_with_those_that_it_resumes(
    root: Path, edit: Edit, write_run: Any, make_attempt: Any
) -> None:
    first = RunWriter.create(root, {"agents": ["plain"], "attempts": 2, "evals": [{"id": "orders/order_lookup"}]})
    first.append(json.dumps(make_attempt(1)))
    edit(first.folder, writer=GONE)
    second = write_run([make_attempt(2, attempt=2)], attempts=2, resumes=first.id)
    older, newer = sorted(check_record(root).runs, key=lambda each: each.id != first.id)
    # A killed run that another one goes on with needs nothing more.
    assert (older.process, older.problems) == ("gone", ())
    assert (newer.resumes, newer.finished, newer.problems) == (first.id, 1, ())
    edit(second.folder, resumes="20200101-000000-gone")
    older, newer = sorted(check_record(root).runs, key=lambda each: each.id != first.id)
    assert kinds(older) == ["killed"]
    assert kinds(newer) == ["chain", "unfinished"]
    edit(second.folder, resumes=second.id)
    assert "go in a circle" in check_record(root, second.folder).runs[0].problems[0].message
    first.seal()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 7}', '{"format": true}', '{"format": "1"}'])
def test_a_run_that_cannot_be_read_is_named(root: Path, run: RunWriter, text: str) -> None:
    (run.folder / "run.json").write_text(text)
    found = only(root)
    assert (found.status, kinds(found)) == (None, ["unreadable"])
    assert run.id in found.problems[0].message


def test_a_run_that_lost_its_description_is_named(root: Path, run: RunWriter) -> None:
    (run.folder / "run.json").unlink()
    found = only(root)
    assert (found.id, kinds(found)) == (run.id, ["unreadable"])


def test_a_folder_that_is_no_run_hides_none(root: Path, run: RunWriter) -> None:
    (root / "runs" / "zz").mkdir()
    (root / "runs" / "zz.txt").write_text("mine")
    assert only(root).id == run.id
    with Record.open(root) as record:
        assert record.run().id == run.id
        assert len(record.runs()) == 1


def test_a_file_that_cannot_be_read_costs_only_itself(root: Path, run: RunWriter) -> None:
    (run.folder / "attempts-zz.jsonl").mkdir()
    (problem,) = only(root).problems
    assert problem.kind == "file"
    assert "attempts-zz.jsonl is left out" in problem.message
    assert only(root).finished == 2


def test_one_run_alone_is_looked_at(root: Path, run: RunWriter, make_attempt: Any) -> None:
    other = with_blob(root, make_attempt)
    os.truncate(other.path, 5)
    assert check_record(root, run.folder).clean
    assert kinds(check_record(root, other.folder).runs[0])[0] == "torn line"
