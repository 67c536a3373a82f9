"""Writing a run: whole lines or nothing, in a folder of its own, whatever happens to the process."""

import json
import re
import signal
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import pytest

from niceeval.errors import RecordError, RecordWarning
from niceeval.record import Record
from niceeval.record.write import MemoryWriter, RunWriter

ROOT = Path(__file__).parents[2]


def start(code: str, *args: object) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, args)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_the_plan_is_on_disk_before_the_first_attempt(root: Path) -> None:
    writer = RunWriter.create(root, {"agents": ["a"], "attempts": 2, "evals": [{"id": "e", "cases": ["x", "y"]}]})
    document = json.loads((writer.folder / "run.json").read_text())
    assert document["format"] == 1
    assert document["status"] == "running"
    assert document["evals"] == [{"id": "e", "cases": ["x", "y"]}]
    assert re.fullmatch(r"\d{8}-\d{6}-[a-z0-9]{4}", writer.id)
    assert (root / ".gitignore").read_text() == "*\n"
    with Record.open(root) as record:
        assert record.pass_rates().overall.planned == 4
    writer.seal()


def test_a_line_is_readable_as_soon_as_append_returns(root: Path) -> None:
    writer = RunWriter.create(root, {})
    writer.append('{"id":"1","eval":"e","status":"passed"}')
    assert writer.path.read_text() == '{"id":"1","eval":"e","status":"passed"}\n'
    writer.seal()


@pytest.mark.parametrize("line", ['{"a":\n1}', '{"a":"é"}'], ids=["line break", "not ASCII"])
def test_what_is_no_line_is_refused(root: Path, line: str) -> None:
    writer = RunWriter.create(root, {})
    with pytest.raises(ValueError, match="one line of ASCII"):
        writer.append(line)
    assert writer.path.read_bytes() == b""
    writer.seal()


def test_a_sealed_run_takes_no_more_attempts(root: Path) -> None:
    writer = RunWriter.create(root, {})
    writer.seal("interrupted")
    writer.seal()
    with pytest.raises(RecordError, match="sealed"):
        writer.append("{}")
    with pytest.raises(RecordError, match="interrupted and takes no more attempts"):
        RunWriter.join(writer.folder)
    assert json.loads((writer.folder / "run.json").read_text())["status"] == "interrupted"


def test_a_blob_is_stored_once_by_its_content(root: Path) -> None:
    writer = RunWriter.create(root, {})
    first, again, other = writer.blob(b"x" * 2_000_000), writer.blob(b"x" * 2_000_000), writer.blob(b"y")
    writer.seal()
    assert first == again != other
    assert len(list((writer.folder / "blobs").iterdir())) == 2
    assert (writer.folder / "blobs" / f"{first}.json.gz").stat().st_size < 10_000


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordError, match=r"cannot start a run in .*file.*: .*; record elsewhere with --record DIR"):
        RunWriter.create(tmp_path / "file", {})


def test_a_run_in_memory_takes_the_same_calls() -> None:
    writer = MemoryWriter({"agents": ["a"]})
    writer.append('{"id":"1","eval":"e","status":"passed"}')
    digest = writer.blob(b"large")
    writer.seal()
    assert writer.read_blob(digest) == b"large"
    assert writer.header().status == "sealed"
    with pytest.raises(RecordError, match="no more attempts"):
        writer.append("{}")


WRITE_AND_REPORT = """
    import sys
    from pathlib import Path
    from niceeval.record.write import RunWriter

    root, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    writer = RunWriter.create(root, {"agents": ["a"], "attempts": count, "evals": [{"id": "e"}]})
    for number in range(count):
        identity = f"{name}-{number}"
        writer.append('{"id":"%s","eval":"e","agent":"a","attempt":%d,"status":"passed","pad":"%s"}'
                      % (identity, number + 1, "x" * 3000))
        print(identity, flush=True)
    writer.seal()
"""


@pytest.mark.parametrize("after", [1, 7, 40])
def test_every_reported_attempt_outlives_a_killed_process(root: Path, after: int) -> None:
    process = start(WRITE_AND_REPORT, root, "p", 100_000)
    assert process.stdout is not None
    reported = {process.stdout.readline().strip() for _ in range(after)}
    process.send_signal(signal.SIGKILL)
    rest, _ = process.communicate()
    # The pipe may end in the middle of a name that was being reported.
    reported |= set(rest.rpartition("\n")[0].split())
    with warnings.catch_warnings(record=True) as caught, Record.open(root) as record:
        warnings.simplefilter("always", RecordWarning)
        assert record.run().status == "running"
        assert record.pass_rates().overall.planned == 100_000
        assert reported <= {attempt.id for attempt in record.attempts()}
    # The line that was being written when the process was killed may be torn, and no other.
    assert len({str(warning.message) for warning in caught}) <= 1


def test_processes_that_start_together_get_a_folder_each(root: Path) -> None:
    processes = [start(WRITE_AND_REPORT, root, f"p{number}", 20) for number in range(3)]
    for process in processes:
        _, problems = process.communicate()
        assert (process.returncode, problems) == (0, "")
    with Record.open(root) as record:
        runs = record.runs()
        assert len(runs) == 3
        assert sum(len(record.attempts(run)) for run in runs) == 60
        assert {run.status for run in runs} == {"sealed"}


def test_processes_may_share_one_run(root: Path) -> None:
    owner = RunWriter.create(root, {"agents": ["a"], "attempts": 40, "evals": [{"id": "e"}]})
    code = """
        import sys
        from pathlib import Path
        from niceeval.record.write import RunWriter

        writer = RunWriter.join(Path(sys.argv[1]))
        for number in range(20):
            writer.append('{"id":"%s-%d","eval":"e","agent":"a","status":"passed"}' % (sys.argv[2], number))
        writer.seal()
    """
    processes = [start(code, owner.folder, f"p{number}") for number in range(2)]
    for process in processes:
        _, problems = process.communicate()
        assert (process.returncode, problems) == (0, "")
    with Record.open(root) as record:
        assert record.run().status == "running"
        assert record.pass_rates().overall.passed == 40
    owner.seal()
    assert len(list(owner.folder.glob("attempts-*.jsonl"))) == 3


FILL_THE_DISK = """
    import os, resource, signal, sys
    from pathlib import Path
    from niceeval.errors import RecordError
    from niceeval.record.write import RunWriter

    def refuse(*args):
        raise OSError(5, "Input/output error")

    # A size limit makes the operating system refuse a write half way, as a full disk does.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    writer = RunWriter.create(Path(sys.argv[1]), {"agents": ["a"], "attempts": 9, "evals": [{"id": "e"}]})
    line = '{"id":"%d","eval":"e","agent":"a","status":"passed","pad":"%s"}'
    writer.append(line % (1, "x" * 1000))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1500, hard))
    if sys.argv[2] == "stuck":
        os.ftruncate = refuse
    try:
        writer.append(line % (2, "x" * 1000))
    except RecordError as error:
        print(error)
    print(writer.path.stat().st_size)
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    writer.append(line % (3, ""))
    writer.seal()
"""
needs_size_limits = pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="file size limits are a POSIX feature")


@needs_size_limits
def test_a_full_disk_is_named_and_leaves_whole_lines_only(root: Path) -> None:
    process = start(FILL_THE_DISK, root, "cut back")
    output, problems = process.communicate()
    assert (process.returncode, problems) == (0, "")
    sentence, size = output.splitlines()
    assert re.search(r"cannot write to .*attempts-.*\.jsonl: File too large; free some space", sentence)
    assert 1000 < int(size) < 1100
    with Record.open(root) as record:
        assert [attempt.id for attempt in record.attempts()] == ["1", "3"]


@needs_size_limits
def test_a_torn_remainder_that_cannot_be_cut_back_spoils_no_later_line(root: Path) -> None:
    process = start(FILL_THE_DISK, root, "stuck")
    output, problems = process.communicate()
    assert (process.returncode, problems) == (0, "")
    assert output.splitlines()[1] == "1500"
    with Record.open(root) as record, pytest.warns(RecordWarning, match=r"jsonl, line 2 is left out: it is not valid"):
        assert [attempt.id for attempt in record.attempts()] == ["1", "3"]
