"""Two ways to read a run, plain and through an index: the same answers, and an index that can never be wrong."""

import json
import multiprocessing
import os
import shutil
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from niceeval.errors import RecordWarning
from niceeval.record import Record
from niceeval.record.chain import open_source
from niceeval.record.lines import MemorySource
from niceeval.record.queries import RunTables
from niceeval.record.write import MemoryWriter, RunWriter

STATUSES = ("passed", "failed", "errored", "skipped", "scored", "unrankable")
PLAN = {
    "agents": ["b", "a"],
    "attempts": 2,
    "evals": [
        {"id": "orders", "cases": ["x", "y"]},
        {"id": "rank", "style": "score", "cases": ["x"]},
        {"id": "never"},
    ],
}

entries = st.fixed_dictionaries(
    {
        "order": st.sampled_from([0, 1, 2, 5]),
        "requirement": st.sampled_from(["schema", "tone", "größe", "\ud800 alone", 7, None]),
        "decision": st.sampled_from(["met", "unmet", "undecided", "informative", None]),
        "outcome": st.sampled_from(["matched", "mismatched"]),
        "match": st.sampled_from(["f1", "f2", "gone"]),
    }
)
usages = st.fixed_dictionaries(
    {},
    optional={
        "input_tokens": st.integers(0, 9),
        "output_tokens": st.integers(0, 9),
        "cost_usd": st.sampled_from([0.25, 0.5]),
    },
)
documents = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["0a", "0b", "1a"]),
        "eval": st.sampled_from(["orders", "rank", "elsewhere", "\udfff"]),
        "status": st.sampled_from(STATUSES),
        "matches": st.just({"f1": {"match": "includes", "text": "x"}, "f2": {"match": "length", "at_most": 3}}),
    },
    optional={
        "case": st.sampled_from(["x", "y", "z", None, 3, True]),
        "agent": st.sampled_from(["a", "b", "c", None]),
        "attempt": st.sampled_from([1, 2, None, 10**12]),
        "style": st.sampled_from(["pass", "score"]),
        "score": st.sampled_from([1, 0.1, "0.30", "many", None, 2.5]),
        "duration": st.sampled_from([0.5, 1, None]),
        "tries": st.just([{"reason": "gone", "duration": 0.1, "waited": 0.5}]),
        "sessions": st.lists(
            st.fixed_dictionaries(
                {"turns": st.lists(st.fixed_dictionaries({}, optional={"usage": usages}), max_size=2)},
                optional={"observed": st.booleans()},
            ),
            max_size=2,
        ),
        "assertions": st.lists(st.one_of(entries, st.just("no object")), max_size=4),
    },
)
lines = st.one_of(
    documents.map(json.dumps),
    documents.map(lambda document: json.dumps(document)[:-3]),
    st.sampled_from(["", "  ", "7", "[]", '{"id":1,"eval":"orders","status":"passed"}', '{"id":"0a","eval":"orders"}']),
    st.just('{"id":"0c","eval":"orders","status":"passed","n":' + "9" * 5000 + "}"),
    st.just('{"id":"0d","eval":"orders","status":"passed","value":NaN,"duration":Infinity}'),
)


def everything(tables: RunTables) -> dict[str, Any]:
    """Ask all there is to ask."""
    try:
        return {
            "statuses": tables.statuses(),
            "attempts": tables.attempts(),
            "failed": tables.attempts(verdict="failed"),
            "some": tables.attempts(statuses=("errored", "unrankable"), agent="a", limit=2),
            "case": tables.attempts(eval_id="orders[x]"),
            "assertions": list(tables.assertions()),
            "unmet": tables.assertions(decision="unmet", requirement="schema", limit=3),
            "odd": list(tables.assertions(requirement="\ud800 alone")),
            "requirements": tables.requirements(),
            "rates": tables.pass_rates(),
            "ranking": sorted(tables.ranking(), key=repr),
            "cases": sorted(map(repr, tables.case_tallies())),
            "tallies": sorted(map(repr, tables.requirement_tallies())),
            "tone": sorted(map(repr, tables.requirement_tallies("tone"))),
            "checks": sorted(map(repr, tables.checks())),
            "spent": tables.spent(),
            "retried": tables.retried(),
            "found": tables.find("0"),
        }
    finally:
        tables.close()


@settings(
    max_examples=20,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(files=st.lists(st.lists(lines, max_size=8), min_size=1, max_size=2), only=st.sampled_from([None, "orders"]))
def test_an_index_answers_as_plain_python_does(tmp_path: Path, files: list[list[str]], only: str | None) -> None:
    writer = RunWriter.create(tmp_path / ".niceeval", PLAN)
    writer.seal()
    writer.path.unlink()
    for number, written in enumerate(files):
        (writer.folder / f"attempts-{number}.jsonl").write_bytes("\n".join(written).encode("utf-8", "surrogatepass"))
    with warnings.catch_warnings(record=True) as plain_warnings:
        warnings.simplefilter("always", RecordWarning)
        plain = everything(RunTables(open_source(writer.folder), only=only, large=False))
    for _ in ("made", "kept"):
        with warnings.catch_warnings(record=True) as index_warnings:
            warnings.simplefilter("always", RecordWarning)
            indexed = everything(RunTables(open_source(writer.folder), only=only, large=True))
        assert indexed == plain
        assert sorted(str(each.message) for each in index_warnings) == sorted(
            str(each.message) for each in plain_warnings
        )


@pytest.fixture
def folder(write_run: Any, make_attempt: Any, make_entry: Any) -> Path:
    """A sealed run of four attempts."""
    attempts = [
        make_attempt(number, status, attempt=number, sessions=[], assertions=[make_entry(0, "schema", decision)])
        for number, (status, decision) in enumerate(
            [("passed", "met"), ("failed", "unmet"), ("passed", "met"), ("errored", "undecided")], 1
        )
    ]
    writer: RunWriter = write_run(attempts, attempts=4)
    return writer.folder


def indexes(folder: Path) -> list[Path]:
    return sorted(folder.glob("index/*"))


def statuses(folder: Path) -> dict[str, int]:
    tables = RunTables(open_source(folder), large=True)
    try:
        return tables.statuses()
    finally:
        tables.close()


KNOWN = {"passed": 2, "failed": 1, "errored": 1}


def test_the_index_of_a_sealed_run_is_kept_and_used_again(folder: Path) -> None:
    assert statuses(folder) == KNOWN
    (index,) = indexes(folder)
    assert sorted(path.name for path in index.iterdir()) == [
        "assertions.parquet",
        "attempts.parquet",
        "cases.parquet",
        "index.json",
        "matches.parquet",
        "met.parquet",
        "plan.parquet",
    ]
    made = (index / "attempts.parquet").stat().st_mtime_ns
    assert statuses(folder) == KNOWN
    assert [(path, (path / "attempts.parquet").stat().st_mtime_ns) for path in indexes(folder)] == [(index, made)]


def test_a_small_run_has_no_index(folder: Path) -> None:
    with Record.open(folder) as record:
        assert record.pass_rates().overall.decided == 3
    assert indexes(folder) == []


def test_a_running_run_has_no_index_on_disk(root: Path, make_attempt: Any) -> None:
    writer = RunWriter.create(root, {"agents": ["plain"], "evals": [{"id": "orders/order_lookup"}]})
    writer.append(json.dumps(make_attempt(1)))
    assert statuses(writer.folder) == {"passed": 1}
    writer.append(json.dumps(make_attempt(2, "failed", attempt=2)))
    assert statuses(writer.folder) == {"passed": 1, "failed": 1}
    assert indexes(writer.folder) == []
    writer.seal()


def test_a_changed_file_makes_another_index_and_removes_the_old_one(folder: Path) -> None:
    statuses(folder)
    (before,) = indexes(folder)
    (path,) = folder.glob("attempts-*.jsonl")
    path.write_text(path.read_text().replace('"failed"', '"passed"'))
    assert statuses(folder) == {"passed": 3, "errored": 1}
    (after,) = indexes(folder)
    assert after != before


def cut(index: Path) -> None:
    path = index / "attempts.parquet"
    path.write_bytes(path.read_bytes()[:-20])


def flip(index: Path) -> None:
    data = bytearray((index / "attempts.parquet").read_bytes())
    data[len(data) // 3] ^= 1
    (index / "attempts.parquet").write_bytes(data)


def forget(index: Path) -> None:
    (index / "assertions.parquet").unlink()


def garble(index: Path) -> None:
    (index / "index.json").write_text('{"files": 7}')


@pytest.mark.parametrize("damage", [cut, flip, forget, garble, shutil.rmtree])
def test_a_damaged_index_is_made_again_without_a_word(folder: Path, damage: Callable[[Path], None]) -> None:
    statuses(folder)
    (index,) = indexes(folder)
    whole = (index / "attempts.parquet").read_bytes()
    damage(index)
    assert statuses(folder) == KNOWN
    assert indexes(folder) == [index]
    assert (index / "attempts.parquet").read_bytes() == whole


def test_an_index_that_cannot_be_written_is_kept_in_memory(folder: Path) -> None:
    (folder / "index").write_text("in the way")
    assert statuses(folder) == KNOWN
    assert (folder / "index").read_text() == "in the way"


def test_what_an_abandoned_process_left_is_removed_later(folder: Path) -> None:
    old, new = folder / "index" / ".new-old", folder / "index" / ".new-now"
    for path in (old, new):
        path.mkdir(parents=True)
    os.utime(old, (0, 0))
    statuses(folder)
    assert (old.exists(), new.exists(), len(indexes(folder))) == (False, True, 2)


def test_a_damaged_line_is_named_whenever_the_index_is_opened(folder: Path) -> None:
    (path,) = folder.glob("attempts-*.jsonl")
    path.write_text(path.read_text() + '{"id": "torn')
    for _ in ("made", "kept"):
        with pytest.warns(RecordWarning, match=r"attempts-.*, line 5 is left out: it ends in the middle"):
            assert statuses(folder) == KNOWN


def test_the_index_of_a_resumed_run_is_one_of_both(folder: Path, root: Path, make_attempt: Any) -> None:
    plan = {"agents": ["plain"], "attempts": 4, "evals": [{"id": "orders/order_lookup"}], "resumes": folder.name}
    writer = RunWriter.create(root, plan)
    writer.append(json.dumps(make_attempt(9, attempt=4, sessions=[])))
    writer.seal()
    assert statuses(writer.folder) == {"passed": 3, "failed": 1}
    assert statuses(writer.folder) == {"passed": 3, "failed": 1}
    (index,) = indexes(writer.folder)
    with Record.open(writer.folder) as record:
        kept = record.query("SELECT file, line FROM attempts ORDER BY position")
        assert [row["line"] for row in kept] == [1, 2, 3, 1]
        assert sorted({row["file"].startswith("..") for row in kept}) == [False, True]
    (path,) = folder.glob("attempts-*.jsonl")
    path.write_text(path.read_text().replace('"failed"', '"passed"'))
    assert statuses(writer.folder) == {"passed": 4}
    assert indexes(writer.folder) != [index]


def test_blank_lines_do_not_shift_what_follows(folder: Path) -> None:
    (path,) = folder.glob("attempts-*.jsonl")
    first, second, *rest = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"\n" + first + b"  \n\x0c\n" + second + b"\r\n" + b"".join(rest))
    for large in (False, True):
        tables = RunTables(open_source(folder), large=large)
        places = tables.attempts()
        assert [line.number for line in places] == [2, 5, 7, 8]
        ids = [json.loads(tables.source.text(line))["id"][-1] for line in places]
        assert ids == ["1", "2", "3", "4"]
        tables.close()


def _ask(folder: str, answers: Any) -> None:
    answers.put(statuses(Path(folder)))


def test_processes_that_make_it_at_once_do_no_harm(folder: Path) -> None:
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    processes = [context.Process(target=_ask, args=(str(folder), answers)) for _ in range(3)]
    for process in processes:
        process.start()
    assert [answers.get(timeout=60) for _ in processes] == [KNOWN] * 3
    for process in processes:
        process.join()
    (index,) = indexes(folder)
    assert not index.name.startswith(".")


def test_conversations_that_lie_apart_are_counted_too(root: Path, make_attempt: Any) -> None:
    sessions = [{"turns": [{"usage": {"input_tokens": 3, "output_tokens": 4}}, {}]}]
    other = RunWriter.create(root, {"evals": [{"id": "orders/order_lookup"}]})
    digest = other.blob(json.dumps(sessions).encode())
    other.append(json.dumps(make_attempt(1, sessions={"$": "blob", "sha256": digest, "size": 10})))
    other.append(json.dumps(make_attempt(2, attempt=2, sessions={"$": "blob", "sha256": "0" * 64, "size": 10})))
    other.seal()
    with Record.open(other.folder) as record:
        rows = record.query("SELECT turns, input_tokens, output_tokens, tokens_unreported FROM attempts ORDER BY id")
    assert [tuple(row.values()) for row in rows] == [(2, 3, 4, 1), (0, None, None, 0)]


def test_runs_in_memory_are_read_without_an_index(make_attempt: Any) -> None:
    writer = MemoryWriter(PLAN)
    writer.append(json.dumps(make_attempt(1)))
    tables = RunTables(MemorySource(writer))
    assert tables.statuses() == {"passed": 1}
    tables.close()


def test_figures_equal_a_recount(root: Path, make_attempt: Any, make_entry: Any) -> None:
    counted = Counter[str]()
    evals = [{"id": "orders/order_lookup", "cases": [f"c{number}" for number in range(200)]}]
    writer = RunWriter.create(root, {"agents": ["plain"], "evals": evals})
    for number in range(200):
        decisions = [("met", "unmet", "undecided")[(number * 7 + order * 3) % 11 % 3] for order in range(4)]
        status = "failed" if "unmet" in decisions else "errored" if "undecided" in decisions else "passed"
        checks = [make_entry(order, f"r{order}", decision) for order, decision in enumerate(decisions)]
        writer.append(json.dumps(make_attempt(number, status, case=f"c{number}", assertions=checks, sessions=[])))
        counted[status] += 1
        for order, decision in enumerate(decisions):
            counted[f"r{order} {decision}"] += 1
    writer.seal()
    tables = RunTables(open_source(writer.folder), large=True)
    rate = tables.pass_rates().overall
    assert (rate.passed, rate.decided, rate.errored, rate.planned) == (
        counted["passed"],
        counted["passed"] + counted["failed"],
        counted["errored"],
        200,
    )
    for each in tables.requirements():
        met, unmet, undecided = (counted[f"{each.key} {name}"] for name in ("met", "unmet", "undecided"))
        assert (each.failed, each.decided, each.errored, each.not_reached) == (unmet, met + unmet, undecided, 0)
    tables.close()


@pytest.mark.parametrize("odd", ["[]", "7", '"text"', "null", "{}", '{"assertions": 7}'])
def test_a_line_that_is_no_object_costs_the_others_nothing(folder: Path, odd: str) -> None:
    (path,) = folder.glob("attempts-*.jsonl")
    path.write_text(f"{odd}\n{path.read_text()}")
    with pytest.warns(RecordWarning, match="line 1 is left out: it does not describe an attempt"):
        tables = RunTables(open_source(folder), large=True)
    assert (len(tables.attempts()), len(tables.assertions())) == (4, 4)
    tables.close()


def test_more_matches_than_are_kept_are_read_again(write_run: Any, make_attempt: Any, make_entry: Any) -> None:
    names = [f"m{number}" for number in range(6_000)]
    attempts = [
        make_attempt(
            number,
            eval=eval_id,
            case=f"c{number}",
            assertions=[make_entry(0, "right", match=name) for name in names[number::2]],
            matches={name: {"match": "equals", "expected": name} for name in names[number::2]},
        )
        for eval_id in ("one", "other")
        for number in range(2)
    ]
    folder = write_run(attempts, evals=[{"id": "one"}, {"id": "other"}]).folder
    for only, expected in ((None, 12_000), ("one", 6_000), ("one[c1]", 3_000)):
        found = []
        for large in (False, True):
            tables = RunTables(open_source(folder), only=only, large=large)
            found.append(sorted(map(repr, tables.checks())))
            tables.close()
        assert found[0] == found[1]
        assert len(found[0]) == expected
