"""A run that resumes another is read together with it, as one."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from niceeval.cli.view import RunView
from niceeval.errors import RecordError, RecordWarning
from niceeval.recheck import recheck_run
from niceeval.record import Record
from niceeval.record.chain import open_source
from niceeval.record.run import RunResult
from niceeval.record.write import RunWriter
from niceeval.verify import verify_run
from niceeval_expect import includes

PLAN = {"agents": ["plain"], "attempts": 2, "evals": [{"id": "orders", "cases": ["a", "b"]}]}


def attempt(identity: str, case: str, number: int = 1, status: str = "passed", **fields: Any) -> str:
    return json.dumps({
        "id": identity, "eval": "orders", "case": case, "agent": "plain", "attempt": number, "style": "pass",
        "status": status, **fields,
    })  # fmt: skip


def run_of(root: Path, *lines: str, resumes: RunWriter | str | None = None) -> RunWriter:
    named = resumes.id if isinstance(resumes, RunWriter) else resumes
    writer = RunWriter.create(root, {**PLAN, "resumes": named})
    for line in lines:
        writer.append(line)
    writer.seal()
    return writer


@pytest.fixture
def chain(root: Path) -> tuple[RunWriter, RunWriter, RunWriter]:
    first = run_of(root, attempt("1", "a"), attempt("2", "b", status="errored"))
    second = run_of(root, attempt("3", "b", status="failed"), attempt("4", "a", 2), resumes=first)
    third = run_of(root, attempt("5", "b"), attempt("6", "b", 2), resumes=second)
    return first, second, third


def test_the_newest_line_of_every_planned_attempt_counts(root: Path, chain: tuple[RunWriter, ...]) -> None:
    first, second, third = chain
    with Record.open(root) as record:
        assert [each.id for each in record.attempts(third.id)] == ["1", "4", "5", "6"]
        assert [each.id for each in record.attempts(second.id)] == ["1", "4", "3"]
        assert [each.id for each in record.attempts(first.id)] == ["1", "2"]
        rates = record.pass_rates(third.id).overall
        assert (rates.planned, rates.passed, rates.decided, rates.errored) == (4, 4, 4, 0)
        assert record.pass_rates(second.id).overall.passed == 2
        assert record.pass_rates(second.id).overall.decided == 3
        assert record.run(third.id).planned == 4


def test_every_reader_sees_the_same(root: Path, chain: tuple[RunWriter, ...]) -> None:
    third = chain[2]
    result = RunResult.from_writer(third)
    assert result.statuses == {"passed": 4}
    assert result.folder == third.folder
    assert [each.id for each in result.attempts] == ["1", "4", "5", "6"]
    assert [each.id for each in result.iter_attempts()] == ["1", "4", "5", "6"]
    view = RunView(third.folder)
    assert (view.finished, view.statuses) == (4, {"passed": 4})
    view.close()
    view = RunView(third.folder, "orders[b]")
    assert [each.id for each in view.attempts()] == ["5", "6"]
    view.close()
    assert verify_run(third.folder).attempts == 4
    assert recheck_run(third.folder, {"orders": includes("x")}).attempts == 4


def test_a_value_is_found_in_whichever_run_holds_it(root: Path) -> None:
    first = RunWriter.create(root, PLAN)
    digest = first.blob(json.dumps("a long answer").encode())
    entry = {"order": 0, "requirement": "r", "outcome": "matched", "decision": "met", "match": "f", "subject": "d"}
    subjects = {"d": {"type": "str", "size": 1, "blob": digest}}
    first.append(attempt("1", "a", subjects=subjects, matches={"f": {"match": "x"}}, assertions=[entry]))
    first.seal()
    second = run_of(root, attempt("2", "b"), resumes=first)
    with Record.open(root) as record:
        (found,) = record.assertions(second.id)
        assert found.subject.value() == "a long answer"
    # A copy in the newer run that was altered does not hide the whole one.
    copy = second.folder / "blobs" / f"{digest}.json.gz"
    copy.parent.mkdir()
    copy.write_bytes(b"altered")
    with Record.open(root) as record:
        assert record.assertions(second.id)[0].subject.value() == "a long answer"
    shutil.rmtree(first.folder / "blobs")
    with Record.open(root) as record, pytest.raises(RecordError, match=rf"{second.id}.*{digest}.*cannot be read"):
        record.assertions(second.id)[0].subject.value()
    copy.unlink()
    with Record.open(root) as record, pytest.raises(RecordError, match=rf"{second.id}.*{digest}.*is missing"):
        record.assertions(second.id)[0].subject.value()


def test_a_run_that_is_not_there_any_more_is_named(root: Path, chain: tuple[RunWriter, ...]) -> None:
    first, second, third = chain
    shutil.rmtree(first.folder)
    sentence = rf"{second.id} resumes the run '{first.id}', which is not in .*: its attempts are missing"
    with Record.open(root) as record:
        with pytest.warns(RecordWarning, match=sentence) as caught:
            assert [each.id for each in record.attempts(third.id)] == ["4", "5", "6"]
        assert len(caught) == 1
        assert record.pass_rates(third.id).overall.planned == 4


def test_an_older_run_that_cannot_be_read_is_named(root: Path, chain: tuple[RunWriter, ...]) -> None:
    first, _, third = chain
    (first.folder / "run.json").write_text('{"format": 9}')
    with Record.open(root) as record, pytest.warns(RecordWarning, match="attempts are left out: .*record format 9"):
        assert [each.id for each in record.attempts(third.id)] == ["4", "5", "6"]


@pytest.mark.parametrize("name", ["../runs", "a/b", "", ".."])
def test_only_a_run_beside_it_can_be_resumed(root: Path, name: str) -> None:
    writer = run_of(root, attempt("1", "a"), resumes=name)
    with Record.open(root) as record, pytest.warns(RecordWarning, match="which is not in"):
        assert len(record.attempts(writer.id)) == 1


@pytest.mark.parametrize("length", [1, 2])
def test_runs_that_resume_each_other_in_a_circle_are_refused(root: Path, length: int) -> None:
    writers = [run_of(root, attempt(str(number), "a")) for number in range(length)]
    for writer, other in zip(writers, [*writers[1:], writers[0]], strict=True):
        document = json.loads((writer.folder / "run.json").read_text())
        (writer.folder / "run.json").write_text(json.dumps({**document, "resumes": other.id}))
    with Record.open(root) as record:
        assert len(record.runs()) == length
        with pytest.raises(RecordError, match=rf"go in a circle: .*{writers[0].id}.* resumes .*{writers[0].id}"):
            record.attempts(writers[0].id)
    with pytest.raises(RecordError, match="circle"):
        open_source(writers[0].folder)


def test_a_damaged_line_hides_no_older_one(root: Path, chain: tuple[RunWriter, ...]) -> None:
    _, second, third = chain
    text = third.path.read_text()
    third.path.write_text(text.replace('"passed"', '"pas', 1))
    with Record.open(root) as record, pytest.warns(RecordWarning, match=rf"{third.path.name}, line 1 is left out"):
        assert [each.id for each in record.attempts(third.id)] == ["1", "4", "3", "6"]
    assert second.path.exists()


def test_it_is_read_again_when_any_of_its_runs_has_grown(root: Path) -> None:
    first = run_of(root, attempt("1", "a"))
    second = RunWriter.create(root, {**PLAN, "resumes": first.id})
    with Record.open(root) as record:
        assert len(record.attempts(second.id)) == 1
        second.append(attempt("2", "a"))
        assert [each.id for each in record.attempts(second.id)] == ["2"]
        with open(first.path, "a") as file:
            file.write(attempt("3", "b") + "\n")
        assert [each.id for each in record.attempts(second.id)] == ["2", "3"]
    second.seal()
