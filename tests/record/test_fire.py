"""The record under fire: processes that are killed, disks that are full, values that are gone."""

import gzip
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from niceeval import EvalContext, Reply, define_eval, run_eval
from niceeval.cli.view import RunView
from niceeval.errors import RecordError, RecordWarning
from niceeval.recheck import recheck_run
from niceeval.record import Record
from niceeval.record.check import check_record
from niceeval.record.write import RunWriter
from niceeval.verify import verify_run
from niceeval_expect import includes

HERE = Path(__file__).parent
ROUNDS = os.environ.get("NICEEVAL_FIRE_ROUNDS", "8")
"""How many rounds of killing; more of them find rarer moments."""
needs_size_limits = pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="file size limits are a POSIX feature")


def run_python(code: str, *args: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, cwd=HERE.parents[1], check=False)


def niceeval(*arguments: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "niceeval", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the writers are forked")
@pytest.mark.parametrize("mode", ["own", "joined"])
def test_what_was_reported_as_finished_is_never_lost(tmp_path: Path, mode: str) -> None:
    seed = int.from_bytes(os.urandom(4), "big")
    fire = subprocess.run(
        [sys.executable, HERE / "fire.py", tmp_path, ROUNDS, str(seed), mode],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert fire.returncode == 0, f"seed {seed}: {fire.stderr}"
    figures = json.loads(fire.stdout)
    assert figures["killed"] > 0
    assert figures["readable"] >= figures["reported"] > 0


def test_runs_of_the_same_second_get_a_folder_each(root: Path) -> None:
    code = """
        import sys
        from pathlib import Path
        from niceeval.record.write import RunWriter
        sys.stdin.readline()
        for number in range(10):
            writer = RunWriter.create(Path(sys.argv[1]), {"evals": [{"id": "e"}]})
            writer.append('{"id":"%s","eval":"e","status":"passed"}' % writer.id)
            writer.seal()
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(root)]
    writers = [subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()
    for writer in writers:
        assert writer.communicate()[1] == ""
    with Record.open(root) as record:
        runs = record.runs()
        assert len(runs) == 30
        assert all([attempt.id for attempt in record.attempts(run)] == [run.id] for run in runs)
    assert check_record(root).clean


def test_a_line_that_ctrl_c_cuts_in_two_is_taken_back(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = RunWriter.create(root, {"attempts": 2, "evals": [{"id": "e"}]})
    real, calls = os.write, [0]

    def write(fd: int, data: bytes) -> int:
        calls[0] += 1
        if calls[0] == 2:
            raise KeyboardInterrupt
        return real(fd, data[:10])

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(KeyboardInterrupt):
        writer.append('{"id":"1","eval":"e","status":"passed"}')
    monkeypatch.undo()
    assert writer.path.read_bytes() == b""
    writer.append('{"id":"2","eval":"e","attempt":2,"status":"passed"}')
    writer.seal()
    with Record.open(root) as record:
        assert [attempt.id for attempt in record.attempts()] == ["2"]


FULL = """
    import json, os, resource, signal, sys
    from pathlib import Path
    from niceeval.errors import RecordError
    from niceeval.record.write import RunWriter

    # A size limit makes the operating system refuse a write half way, as a full disk does.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    root, what = Path(sys.argv[1]), sys.argv[2]
    def limit(size):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    def attempt(step):
        try:
            step()
        except RecordError as error:
            print(error)
    header = {"attempts": 2, "evals": [{"id": "e" * 3000}]}
    if what == "create":
        limit(1000)
        attempt(lambda: RunWriter.create(root, header))
        sys.exit()
    writer = RunWriter.create(root, header)
    writer.append('{"id":"1","eval":"e","status":"passed"}')
    limit(1000)
    if what == "blob":
        attempt(lambda: writer.blob(os.urandom(5000)))
    elif what == "seal":
        attempt(writer.seal)
"""


@needs_size_limits
def test_a_full_disk_when_a_run_starts_leaves_nothing(root: Path) -> None:
    done = run_python(FULL, root, "create")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"cannot start a run in {root}: File too large; free some space, or record elsewhere")
    assert list((root / "runs").iterdir()) == []
    assert check_record(root).clean


@needs_size_limits
@pytest.mark.parametrize("what", ["blob", "seal"])
def test_a_full_disk_later_keeps_what_was_written(root: Path, what: str) -> None:
    done = run_python(FULL, root, what)
    assert (done.returncode, done.stderr) == (0, "")
    assert "File too large; free some space" in done.stdout
    with Record.open(root) as record:
        assert [attempt.id for attempt in record.attempts()] == ["1"]
        assert record.run().status == "running"
    (found,) = check_record(root).runs
    assert [each.kind for each in found.problems] == ["killed"]
    assert list(found.folder.rglob(".*")) == []


LARGE = "a large answer " * 100_000


@define_eval(cases={"large": LARGE, "other": "short"})
async def answers(t: EvalContext, answer: str) -> None:
    turn = await t.send(answer)
    turn.used_no_tools().key("no tools")
    t.check(turn.message, includes("short")).key("says short")
    t.check("small", includes("medium")).key("small")


def echo(message: str) -> Reply:
    return Reply(message, tool_calls=[])


@pytest.fixture(params=["missing", "altered", "flipped"])
def lossy(root: Path, request: pytest.FixtureRequest) -> Path:
    """A run of two attempts, of which one had its conversation and a value in blobs that are missing or altered."""
    run = anyio.run(partial(run_eval, answers, agent=echo, record=root))
    assert run.folder is not None
    blobs = list((run.folder / "blobs").iterdir())
    assert blobs
    for path in blobs:
        data = path.read_bytes()
        if request.param == "missing":
            path.unlink()
        elif request.param == "altered":
            path.write_bytes(gzip.compress(b'"other"'))
        else:
            path.write_bytes(data[:10] + bytes([data[10] ^ 0xFF]) + data[11:])
    return run.folder


def test_without_its_blobs_an_attempt_is_read_by_queries(root: Path, lossy: Path) -> None:
    with Record.open(root) as record:
        large, other = record.attempts()
        assert (large.verdict, other.inputs) == ("failed", ("short",))
        tools, answer, small = large.assertions
        assert [each.decision for each in (tools, answer, small)] == ["met", "unmet", "unmet"]
        with pytest.raises(RecordError, match=r"blobs.*\.json\.gz"):
            answer.subject.value()
        assert small.subject.value() == "small"
        rows = record.attempts().to_dicts()
        assert rows[0]["assertions"][2]["received"] == '"small"'
        assert {each.key: each.failed for each in record.requirements()} == {"no tools": 0, "says short": 1, "small": 2}
        assert len(record.assertions(key="small")) == 2


def test_without_its_blobs_an_attempt_is_shown(root: Path, lossy: Path) -> None:
    with Record.open(root) as record:
        name = record.attempts()[0].name
    shown = niceeval("show", lossy, name)
    assert (shown.returncode, f"FAILED {name}" in shown.stdout) == (0, True)
    assert "small" in shown.stdout
    assert f"warning the conversation of {name} " in shown.stderr
    assert ".json.gz" in shown.stderr
    whole = niceeval("show", lossy, "--json")
    assert whole.returncode == 0
    assert [len(each["assertions"]) for each in json.loads(whole.stdout)["attempts"]] == [3, 3]


def test_without_its_blobs_the_rest_is_verified_and_rechecked(lossy: Path) -> None:
    found = verify_run(lossy)
    assert (found.attempts, found.entries, found.differences) == (2, 6, ())
    assert found.excluded["missing"] >= 1
    assert found.reproduced == found.rederivable >= 4
    assert any("json.gz" in problem for problem in found.problems)
    checked = recheck_run(lossy, {"says short": includes("s"), "small": includes("small")})
    assert {(flip.name.partition("[")[2], flip.requirement) for flip in checked.flips} == {
        ("large]", "small"),
        ("other]", "small"),
    }
    assert any("says short: " in problem and "json.gz" in problem for problem in checked.problems)


def test_a_run_is_read_while_it_is_written(root: Path) -> None:
    writer = RunWriter.create(root, {"agents": ["a"], "attempts": 300, "evals": [{"id": "e"}]})
    done = threading.Event()

    def write() -> None:
        for number in range(300):
            digest = writer.blob(json.dumps(str(number) * 100).encode())
            subjects = {"d": {"type": "str", "blob": digest}}
            line = {"id": str(number), "eval": "e", "agent": "a", "attempt": number + 1, "status": "passed"}
            writer.append(json.dumps({**line, "subjects": subjects, "pad": "x" * 20_000}))
        writer.seal()
        done.set()

    thread = threading.Thread(target=write)
    thread.start()
    last, looks = 0, 0
    with warnings.catch_warnings(record=True) as caught, Record.open(root) as record:
        warnings.simplefilter("always", RecordWarning)
        while not done.is_set():
            count = len(record.attempts())
            assert count >= last
            last, looks = count, looks + 1
            assert [each.problems for each in check_record(root).runs] == [()]
        thread.join()
        assert len(record.attempts()) == 300
    assert looks > 1
    assert all("it ends in the middle" in str(each.message) for each in caught)
    assert check_record(root).clean


OLD: dict[str, Any] = {"format": 1, "id": "old", "started": "2026-08-01T10:15:02", "status": "sealed"}


def test_a_run_of_an_older_version_is_read(root: Path) -> None:
    folder = root / "runs" / "20260801-101502-oldx"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({**OLD, "shape": {"of": "something else"}}))
    (folder / "attempts-1.jsonl").write_text('{"id":"1","eval":"e","status":"passed","more":[1]}\n')
    with Record.open(root) as record:
        (info,) = record.runs()
        assert (info.agents, info.planned, info.started.utcoffset() is not None) == ((), 0, True)
        (attempt,) = record.attempts()
        assert (attempt.agent, attempt.attempt, attempt.assertions, attempt.tries) == ("", 1, (), ())
        assert record.pass_rates().overall.passed == 1
    assert verify_run(folder).attempts == 1
    view = RunView(folder)
    assert view.statuses == {"passed": 1}
    view.close()
    assert check_record(root).clean
