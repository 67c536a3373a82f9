"""Opening a record: finding it, listing runs, and reading past damage."""

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from niceeval.errors import RecordError, RecordWarning
from niceeval.record import Record
from niceeval.record.write import RunWriter

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True, params=["plain", "index"])
def _engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask small runs in both ways: in plain Python, and through an index as large ones are."""
    if request.param == "index":
        monkeypatch.setattr("niceeval.record.queries.LARGE", 0)


@pytest.fixture
def run(write_run: Any, make_attempt: Any) -> RunWriter:
    writer: RunWriter = write_run([make_attempt(1), make_attempt(2, attempt=2)], attempts=2)
    return writer


def ids(record: Record) -> list[str]:
    return [attempt.id[-1] for attempt in record.attempts()]


def test_importing_it_imports_neither_the_runtime_nor_a_query_engine() -> None:
    code = "import sys, niceeval.record; print(*sorted(name for name in sys.modules))"
    modules = set(subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True).stdout.split())
    assert "niceeval.record.queries" in modules
    heavy = {
        "duckdb",
        "polars",
        "pandas",
        "numpy",
        "anyio",
        "jsonschema",
        "jsonschema_rs",
        "rapidfuzz",
        "rich",
        "click",
    }
    assert modules & heavy == set()
    runtime = {"context", "runner", "agents", "evals", "scopes", "assertions", "cli", "evidence", "attempt"}
    assert {name for name in modules if name.startswith("niceeval.") and name.split(".")[1] in runtime} == set()


@pytest.mark.parametrize("place", [".niceeval", "", ".niceeval/runs/{id}"], ids=["record", "project", "one run"])
def test_a_record_is_opened_by_any_of_its_folders(tmp_path: Path, run: RunWriter, place: str) -> None:
    with Record.open(tmp_path / place.format(id=run.id)) as record:
        assert record.run().id == run.id
        assert [info.id for info in record.runs()] == [run.id]
        assert ids(record) == ["1", "2"]


def test_a_record_is_found_upward_from_the_working_directory(
    tmp_path: Path, run: RunWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / "evals" / "orders"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    assert Record.open().run().id == run.id


def test_the_record_that_the_project_names_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.niceeval]\nrecord = "results"\n')
    writer = RunWriter.create(tmp_path / "results", {})
    RunWriter.create(tmp_path / ".niceeval", {}).seal()
    writer.seal()
    monkeypatch.chdir(tmp_path)
    assert Record.open().run().id == writer.id


def test_a_named_record_without_runs_is_not_replaced_by_another(
    tmp_path: Path, run: RunWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.niceeval]\nrecord = "results"\n')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RecordError, match=r"results, the record that .tool.niceeval. names, holds no run yet"):
        Record.open()


@pytest.mark.parametrize(
    ("place", "words"),
    [("nowhere", "nowhere does not exist; give the folder"), ("empty", "empty holds no record; give the folder")],
)
def test_a_missing_record_is_one_sentence(tmp_path: Path, place: str, words: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(RecordError, match=words):
        Record.open(tmp_path / place)


def test_no_record_above_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RecordError, match="there is no record in"):
        Record.open()


def test_an_unknown_run_names_those_that_there_are(root: Path, run: RunWriter) -> None:
    with Record.open(root) as record:
        for wanted in ("20260101-000000-zzzz", "", "../runs", ".."):
            with pytest.raises(RecordError, match=f"holds no run .*; the newest are: {run.id}"):
                record.run(wanted)


def test_a_record_without_runs_has_no_latest(root: Path) -> None:
    (root / "runs").mkdir(parents=True)
    with Record.open(root) as record:
        assert list(record.runs()) == []
        with pytest.raises(RecordError, match="holds no run yet"):
            record.run()


def test_runs_come_newest_first_within_one_second_too(root: Path) -> None:
    started = [f"2026-08-01T10:15:02.{part:06d}+00:00" for part in (500_000, 900_000, 100_000)]
    for name, moment in zip("bac", started, strict=True):
        writer = RunWriter.create(root, {})
        writer.seal()
        document = json.loads((writer.folder / "run.json").read_text())
        renamed = writer.folder.with_name(f"20260801-101502-{name * 4}")
        writer.folder.rename(renamed)
        (renamed / "run.json").write_text(json.dumps({**document, "id": renamed.name, "started": moment}))
    with Record.open(root) as record:
        assert [info.id[-1] for info in record.runs()] == ["a", "b", "c"]
        assert record.run().id.endswith("aaaa")


def test_a_newer_format_is_named_and_the_other_runs_stay_readable(root: Path, run: RunWriter) -> None:
    newer = root / "runs" / "29990101-000000-next"
    newer.mkdir()
    (newer / "run.json").write_text('{"format": 7, "shape": "unknown"}')
    sentence = r"29990101-000000-next has the record format 7, .* knows only formats up to 1; .*pip install --upgrade"
    with Record.open(root) as record:
        with pytest.warns(RecordWarning, match=sentence):
            assert [info.id for info in record.runs()] == [run.id]
        for ask in (record.run, record.attempts, record.requirements, record.pass_rates, record.ranking):
            with pytest.raises(RecordError, match=sentence):
                ask("latest")
        assert len(record.attempts(run.id)) == 2


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"format": 1}', '{"format": 1, "id": "x", "started": "soon", "status": "sealed"}',
             '{"format": 1, "id": "x", "started": "2026-08-01", "status": "odd"}', "\x00\x00"],
)  # fmt: skip
def test_an_unreadable_description_costs_only_its_own_run(root: Path, run: RunWriter, text: str) -> None:
    broken = root / "runs" / "20000101-000000-oldx"
    broken.mkdir()
    (broken / "run.json").write_text(text)
    with Record.open(root) as record:
        with pytest.warns(RecordWarning, match="a run is left out: .*oldx.*run.json does not describe a run"):
            assert [info.id for info in record.runs()] == [run.id]
        with pytest.raises(RecordError, match="does not describe a run"):
            record.run("20000101-000000-oldx")
        assert ids(record) == ["1", "2"]


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (b'{"id":"9","eval":"orders/order_lookup","status":"pa', "line 3 is left out: it ends in the middle"),
        (b'{"id":"9","eval":"e","status":"passed",}}\n', "line 3 is left out: it is not valid JSON"),
        (b"\x00\x00\x00\x00\n", "line 3 is left out: it is not valid JSON"),
        (b'{"id":"9","eval":"\xff","status":"passed"}\n', "line 3 is left out: it is not valid JSON"),
        (b"[1, 2]\n", "line 3 is left out: it does not describe an attempt"),
        (b'{"id":"9","eval":"e"}\n', "line 3 is left out: it does not say how the attempt ended"),
        (b'{"id":"9","eval":5,"status":["a"]}\n', "line 3 is left out: it does not describe an attempt"),
    ],
    ids=["torn", "not JSON", "zeros", "not UTF-8", "a list", "no status", "wrong types"],
)
@pytest.mark.parametrize("middle", [True, False], ids=["middle", "end"])
def test_a_damaged_line_is_named_and_the_rest_is_read(
    root: Path, run: RunWriter, make_attempt: Any, damage: bytes, reason: str, middle: bool
) -> None:
    more = json.dumps(make_attempt(3, attempt=3)).encode() + b"\n" if middle else b""
    if middle:
        damage = damage.removesuffix(b"\n") + b"\n"
        reason = reason.replace("ends in the middle", "is not valid JSON")
    run.path.write_bytes(run.path.read_bytes() + damage + more)
    with Record.open(root) as record:
        with pytest.warns(RecordWarning, match=rf"{run.path.name}, {reason}") as caught:
            assert ids(record) == (["1", "2", "3"] if middle else ["1", "2"])
        assert len(caught) == 1
        assert record.pass_rates().overall.passed == (3 if middle else 2)


def test_a_last_line_that_only_lacks_its_line_break_is_whole(root: Path, run: RunWriter) -> None:
    run.path.write_bytes(run.path.read_bytes().removesuffix(b"\n"))
    with Record.open(root) as record:
        assert ids(record) == ["1", "2"]


def test_a_running_run_is_read_again_when_it_has_grown(root: Path, make_attempt: Any) -> None:
    writer = RunWriter.create(root, {"agents": ["plain"], "evals": [{"id": "orders/order_lookup"}]})
    with Record.open(root) as record:
        assert ids(record) == []
        writer.append(json.dumps(make_attempt(1)))
        assert ids(record) == ["1"]
        writer.seal()
        assert record.run().status == "sealed"


STRANGE = {
    "lone surrogate": "a\ud800b",
    "two halves": "\ud83d and \ude00",
    "NUL": "a\x00b",
    "emoji": "\U0001f600",
    "bidi": "\u202eabc",
    "long": "x" * 100_000,
}


@pytest.mark.parametrize("text", list(STRANGE.values()), ids=list(STRANGE))
def test_strange_text_anywhere_is_counted_and_read(
    root: Path, write_run: Any, make_attempt: Any, make_entry: Any, text: str
) -> None:
    entries = [make_entry(0, text, "unmet", label=text, diagnostic={"code": "value", "expected": text, "received": 1})]
    evals = [{"id": "orders/order_lookup", "style": "pass", "cases": ["other", text]}]
    write_run([make_attempt(1, "failed", case=text, assertions=entries), make_attempt(2, case="other")], evals=evals)
    with Record.open(root) as record:
        assert [attempt.case_id for attempt in record.attempts()] == ["other", text]
        (row,) = record.requirements()
        assert (row.failed, row.decided, row.not_reached) == (1, 1, 1)
        for key in (row.key, text):
            assert [found.requirement for found in record.assertions(key=key)] == [text]
        assert record.attempts(eval=f"orders/order_lookup[{text}]")[0].id == "0" * 11 + "1"
        assert record.attempts().to_dicts()[1]["case_id"] == text


def test_a_number_of_twenty_thousand_digits_is_read(root: Path, run: RunWriter) -> None:
    digits = "9" * 20_000
    line = f'{{"id":"3","eval":"orders/order_lookup","status":"passed","attempt":3,"subjects":{{"d":{digits}}}}}\n'
    run.path.write_bytes(run.path.read_bytes() + line.encode())
    with Record.open(root) as record:
        assert ids(record) == ["1", "2", "3"]


def test_a_line_of_64_megabytes_is_read(root: Path, run: RunWriter, make_attempt: Any) -> None:
    run.path.write_bytes(
        run.path.read_bytes() + json.dumps(make_attempt(3, attempt=3, logs="x" * 64_000_000)).encode() + b"\n"
    )
    with Record.open(root) as record:
        assert ids(record) == ["1", "2", "3"]


def large_subject(writer_root: Path, make_attempt: Any, make_entry: Any) -> RunWriter:
    writer = RunWriter.create(writer_root, {"agents": ["plain"], "evals": [{"id": "orders/order_lookup"}]})
    digest = writer.blob(json.dumps({"text": "x" * 100}).encode())
    subjects = {
        "d1": {"type": "dict", "size": 111, "blob": digest},
        "d2": {"type": "str", "size": 7, "value": "inline"},
    }
    entries = [make_entry(0, "large"), make_entry(1, "small", subject="d2"), make_entry(2, "gone", subject="d3")]
    writer.append(json.dumps(make_attempt(1, subjects=subjects, matches={"f1": {"match": "x"}}, assertions=entries)))
    writer.seal()
    return writer


def test_a_large_subject_is_read_from_its_blob(root: Path, make_attempt: Any, make_entry: Any) -> None:
    large_subject(root, make_attempt, make_entry)
    with Record.open(root) as record:
        large, small, gone = record.assertions()
    assert large.subject.value() == {"text": "x" * 100}
    assert (large.subject.type, large.subject.size) == ("dict", 111)
    assert small.subject.value() == "inline"
    with pytest.raises(RecordError, match=r"d3 .* was not kept"):
        gone.subject.value()


@pytest.mark.parametrize("damage", ["missing", "altered", "not gzip", "cut off"])
def test_a_damaged_blob_is_named_and_the_rest_is_read(
    root: Path, make_attempt: Any, make_entry: Any, damage: str
) -> None:
    writer = large_subject(root, make_attempt, make_entry)
    (blob,) = (writer.folder / "blobs").iterdir()
    if damage == "missing":
        blob.unlink()
    elif damage == "altered":
        blob.write_bytes(gzip.compress(b'{"text": "other"}'))
    else:
        blob.write_bytes(b"text" if damage == "not gzip" else blob.read_bytes()[:-12])
    with Record.open(root) as record:
        (attempt,) = record.attempts()
    with pytest.raises(RecordError, match=blob.name):
        attempt.assertions[0].subject.value()
    assert attempt.assertions[0].decision == "met"
    assert attempt.assertions[1].subject.value() == "inline"


def test_an_attempt_of_another_shape_is_named_when_it_is_reached(root: Path, run: RunWriter, make_attempt: Any) -> None:
    run.path.write_bytes(
        run.path.read_bytes() + json.dumps(make_attempt(3, attempt=3, duration="long")).encode() + b"\n"
    )
    with Record.open(root) as record:
        rows = record.attempts()
        assert rows[0].status == "passed"
        with pytest.raises(
            RecordError, match=r"attempt 000000000003 of orders/order_lookup cannot be read .duration: "
        ):
            rows[2]


def test_a_closed_record_says_so_and_its_rows_stay(root: Path, run: RunWriter) -> None:
    record = Record.open(root)
    rows = record.attempts()
    record.close()
    record.close()
    assert [attempt.id[-1] for attempt in rows] == ["1", "2"]
    with pytest.raises(RecordError, match="is closed"):
        record.attempts()
