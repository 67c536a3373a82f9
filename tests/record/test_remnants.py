"""What may be removed from a record: only what holds no result and nobody writes any more."""

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from niceeval.errors import RecordError
from niceeval.record import Record
from niceeval.record.process import Process
from niceeval.record.remnants import Remnant, find_remnants, remove_remnant
from niceeval.record.write import RunWriter

HERE = Process.this().as_document()
GONE = {**HERE, "started": "1"}
ELSEWHERE = {**HERE, "host": "elsewhere"}
LINE = '{"id":"1","eval":"e","status":"passed"}'


def age(path: Path, seconds: float) -> None:
    moment = time.time() - seconds
    for place in (path, *path.rglob("*")):
        os.utime(place, (moment, moment))


def rewrite(folder: Path, **fields: Any) -> None:
    document = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**document, **fields}))


def found(root: Path) -> list[tuple[str, Path]]:
    return [(each.kind, each.path) for each in find_remnants(root)]


def new_run(root: Path, *lines: str, writer: Any = None, seal: bool = False) -> RunWriter:
    """Start a run, as if another process had."""
    pen = RunWriter.create(root, {"evals": [{"id": "e"}]})
    for line in lines:
        pen.append(line)
    if writer is not None:
        rewrite(pen.folder, writer=writer)
    if seal:
        pen.seal()
    return pen


@pytest.mark.parametrize(
    ("writer", "old", "removable"),
    [
        (GONE, False, True), (HERE, False, False), (HERE, True, False), (ELSEWHERE, False, False),
        (ELSEWHERE, True, True), (None, False, False), (None, True, True),
    ],
    ids=["gone", "alive", "alive and old", "elsewhere", "elsewhere and old", "not said", "not said and old"],
)  # fmt: skip
@pytest.mark.parametrize("described", [True, False], ids=["with a plan", "without"])
def test_a_run_that_was_never_published(root: Path, writer: Any, old: bool, removable: bool, described: bool) -> None:
    new_run(root, LINE, seal=True)
    staging = root / "runs" / ".new-0123456789abcdef"
    staging.mkdir()
    if described:
        shutil.copy(next((root / "runs").glob("2*")) / "run.json", staging)
        rewrite(staging, writer=writer, status="running")
    if old:
        age(staging, 4000)
    assert found(root) == ([("staging", staging)] if (removable if described else old) else [])


@pytest.mark.parametrize(
    ("writer", "lines", "removable"),
    [(GONE, [], True), (GONE, [LINE], False), (HERE, [], False), (ELSEWHERE, [], False), ({}, [], False)],
    ids=["gone", "gone with an attempt", "alive", "elsewhere", "not said"],
)
def test_a_run_that_was_killed_before_its_first_attempt_ended(
    root: Path, writer: Any, lines: list[str], removable: bool
) -> None:
    pen = new_run(root, *lines, writer=writer)
    age(pen.folder, 4000)
    assert found(root) == ([("empty run", pen.folder)] if removable else [])
    pen.seal()


@pytest.mark.parametrize("rest", ["torn", '{"id":"1","eval":"e"}\n', "\n"])
def test_a_run_with_so_much_as_a_torn_line_stays(root: Path, rest: str) -> None:
    pen = new_run(root, writer=GONE)
    pen.path.write_text(rest)
    assert found(root) == []
    pen.seal()


def test_a_run_that_ended_without_an_attempt_stays(root: Path) -> None:
    pen = new_run(root, writer=GONE)
    rewrite(pen.folder, status="interrupted")
    age(pen.folder, 4000)
    assert found(root) == []


def test_a_run_that_another_one_resumes_stays(root: Path) -> None:
    pen = new_run(root, writer=GONE)
    assert found(root) == [("empty run", pen.folder)]
    RunWriter.create(root, {"resumes": pen.id}).seal()
    assert found(root) == []


def test_a_run_that_other_processes_joined_stays_until_it_has_settled(root: Path) -> None:
    pen = new_run(root)
    RunWriter.join(pen.folder)
    rewrite(pen.folder, writer=GONE)
    assert found(root) == []
    age(pen.folder, 4000)
    assert found(root) == [("empty run", pen.folder)]


def test_a_run_without_its_file_of_attempts_is_removed(root: Path) -> None:
    pen = new_run(root, writer=GONE)
    pen.path.unlink()
    assert found(root) == [("empty run", pen.folder)]


@pytest.mark.parametrize(
    ("writer", "sealed", "old", "removable"),
    [
        (GONE, False, False, True), (HERE, True, False, True), (HERE, False, False, False), (HERE, False, True, False),
        (ELSEWHERE, False, False, False), (ELSEWHERE, False, True, True),
    ],
    ids=["gone", "sealed", "alive", "alive and old", "elsewhere", "elsewhere and old"],
)  # fmt: skip
@pytest.mark.parametrize("place", ["run.json", "blobs/0123.json.gz"])
def test_a_file_that_was_never_finished(
    root: Path, writer: Any, sealed: bool, old: bool, removable: bool, place: str
) -> None:
    pen = new_run(root, LINE, writer=writer)
    if sealed:
        rewrite(pen.folder, status="sealed")
    path = pen.folder / place
    path = path.with_name(f".{path.name}.0a1b2c3d")
    path.parent.mkdir(exist_ok=True)
    path.write_text("half")
    if old:
        age(pen.folder, 4000)
    assert found(root) == ([("temporary", path)] if removable else [])
    pen.seal()


@pytest.mark.parametrize("place", ["runs/{run}/index/.attempts.parquet.0a1b2c3d", "..gitignore.0a1b2c3d"])
def test_files_that_any_process_may_be_writing_are_given_an_hour(root: Path, place: str) -> None:
    pen = new_run(root, LINE, seal=True)
    path = root / place.format(run=pen.id)
    path.parent.mkdir(exist_ok=True)
    path.write_text("half")
    assert found(root) == []
    age(path, 4000)
    assert found(root) == [("temporary", path)]


def test_an_index_that_was_never_finished_is_given_an_hour(root: Path) -> None:
    pen = new_run(root, LINE, seal=True)
    path = pen.folder / "index" / ".new-0123456789abcdef"
    path.mkdir(parents=True)
    (path / "attempts.parquet").write_text("half")
    assert found(root) == []
    age(path, 4000)
    (remnant,) = find_remnants(root)
    assert (remnant.kind, remnant.path, remnant.size) == ("index", path, 4)
    assert remove_remnant(root, remnant)
    assert list((pen.folder / "index").iterdir()) == []


def test_nothing_else_is_ever_chosen(root: Path) -> None:
    pen = new_run(root, LINE, seal=True)
    pen.blob(b"unreferenced")
    for name in ("notes.txt", ".hidden", ".new-file", ".run.json.0a1b2c3", "blobs/notes"):
        (pen.folder / name).write_text("mine")
    (root / "runs" / ".new-file").write_text("mine")
    (root / "runs" / "mine").mkdir()
    (root / "runs" / ".other").mkdir()
    newer = new_run(root, writer=GONE)
    rewrite(newer.folder, format=9)
    outside = root.parent / "outside"
    shutil.copytree(new_run(root, LINE, writer=GONE).folder, outside)
    (root / "runs" / ".new-link").symlink_to(outside, target_is_directory=True)
    (pen.folder / ".run.json.0a1b2c3d").symlink_to(outside / "run.json")
    age(root, 4000)
    assert found(root) == []


def test_removing_takes_exactly_what_was_found(root: Path) -> None:
    kept = new_run(root, LINE, seal=True)
    empty = new_run(root, writer=GONE)
    empty.blob(b"x" * 2000)
    (kept.folder / ".run.json.0a1b2c3d").write_text("half")
    staging = root / "runs" / ".new-0123456789abcdef"
    shutil.copytree(empty.folder, staging)
    remnants = list(find_remnants(root))
    assert {each.kind for each in remnants} == {"staging", "temporary", "empty run"}
    assert all(each.size > 0 for each in remnants)
    assert all(remove_remnant(root, each) for each in remnants)
    assert list((root / "runs").iterdir()) == [kept.folder]
    assert found(root) == []
    with Record.open(root) as record:
        assert len(record.attempts()) == 1


def test_what_is_no_remnant_any_more_stays(root: Path) -> None:
    pen = new_run(root, writer=GONE)
    (remnant,) = find_remnants(root)
    pen.append(LINE)
    assert not remove_remnant(root, remnant)
    assert pen.path.exists()
    temporary = pen.folder / ".run.json.0a1b2c3d"
    assert not remove_remnant(root, Remnant("temporary", temporary, 0))
    pen.seal()


def test_what_cannot_be_removed_is_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pen = new_run(root, writer=GONE)
    (remnant,) = find_remnants(root)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(RecordError, match=rf"cannot remove .*{pen.id}: Permission denied"):
        remove_remnant(root, remnant)
    pen.seal()
