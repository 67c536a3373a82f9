"""Exports: every number of a report can be recomputed from the files, and the files are what readers expect."""

import csv
import json
import os
import threading
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import polars
import pytest

from niceeval.errors import RecordError
from niceeval.record import Record
from niceeval.record.columns import TABLES
from niceeval.record.export import Format, export_table
from niceeval.record.write import RunWriter
from niceeval.stats import pass_at_k, wilson

ODD = 'a "quoted", text\nwith\r\nlines \x1b[31m, =1+1, \u2028 and ünicode'


@pytest.fixture
def run(write_run: Any, make_attempt: Any, make_entry: Any) -> RunWriter:
    """Two pass-style cases with three attempts each, one missing, and a score-style eval."""
    attempts = []
    for place, (case, letters) in enumerate({"x": "PFE", "y": "PP"}.items()):
        for number, letter in enumerate(letters, 1):
            status, decision = {"P": ("passed", "met"), "F": ("failed", "unmet"), "E": ("errored", "undecided")}[letter]
            checks = [make_entry(0, "schema", decision), make_entry(1, "tone", "informative")]
            fields = {"case": case, "attempt": number, "assertions": checks, "reason": ODD}
            attempts.append(make_attempt(10 * place + number, status, **fields))
    for number, score in enumerate([0.1, 0.2, 0.3], 1):
        attempts.append(make_attempt(90 + number, "scored", eval="rank", style="score", score=score, attempt=number))
    evals = [{"id": "orders/order_lookup", "cases": ["x", "y"]}, {"id": "rank", "style": "score"}]
    writer: RunWriter = write_run(attempts, attempts=3, evals=evals)
    return writer


def read(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".csv":
        with open(path, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file, strict=True))
    if path.suffix == ".jsonl":
        return [json.loads(line, parse_constant=pytest.fail) for line in path.read_text("utf-8").split("\n") if line]
    return polars.read_parquet(path).to_dicts()


@pytest.mark.parametrize("format", get_args(Format))
def test_every_number_of_a_report_follows_from_the_files(run: RunWriter, tmp_path: Path, format: Format) -> None:
    with Record.open(run.folder) as record:
        files = record.export(tmp_path / "out", format=format)
        rates, requirements, ranking = record.pass_rates().overall, record.requirements(), record.ranking()
    assert list(files) == list(TABLES)
    attempts, assertions, plan = (read(files[name]) for name in ("attempts", "assertions", "plan"))
    counts = Counter(row["status"] for row in attempts if row["style"] == "pass")
    decided = counts["passed"] + counts["failed"]
    assert (rates.passed, rates.decided, rates.errored) == (counts["passed"], decided, counts["errored"])
    assert rates.planned == sum(int(row["attempts"]) for row in plan if row["style"] == "pass") == 6
    assert rates.rate == counts["passed"] / decided
    assert rates.interval == wilson(counts["passed"], decided, undecided=counts["errored"])
    of_case = Counter((row["case"], row["status"]) for row in attempts)
    two = [
        pass_at_k(of_case[case, "passed"], of_case[case, "passed"] + of_case[case, "failed"], 2) or 0.0
        for case in ("x", "y")
    ]
    assert rates.pass_at[2] == pytest.approx(sum(two) / 2)
    (schema,) = (each for each in requirements if each.key == "schema")
    found = Counter(row["decision"] for row in assertions if row["requirement"] == "schema")
    assert (schema.failed, schema.decided, schema.errored) == (
        found["unmet"],
        found["met"] + found["unmet"],
        found["undecided"],
    )
    scores = [Fraction(row["score_text"]) for row in attempts if row["status"] == "scored"]
    assert ranking[0].mean_score == float(sum(scores) / len(scores)) == 0.2


@pytest.mark.parametrize("format", get_args(Format))
def test_text_survives_as_it_is(run: RunWriter, tmp_path: Path, format: Format) -> None:
    rows = read(export_table(run.folder, "attempts", format, tmp_path / f"attempts.{format}"))
    assert list(rows[0]) == [column.name for column in TABLES["attempts"]]
    assert {row["reason"] for row in rows if row["style"] == "pass"} == {ODD}
    assert [row["case"] or None for row in rows] == ["x"] * 3 + ["y"] * 2 + [None] * 3


def test_csv_tells_nothing_from_an_empty_text(
    run: RunWriter, write_run: Any, make_attempt: Any, tmp_path: Path
) -> None:
    writer = write_run([make_attempt(1, reason=""), make_attempt(2, attempt=2)])
    path = export_table(writer.folder, "attempts", "csv", tmp_path / "attempts.csv")
    place = [column.name for column in TABLES["attempts"]].index("reason")
    first, second = path.read_text().splitlines()[1:]
    assert (first.split(",")[place], second.split(",")[place]) == ('""', "")


def test_what_cannot_be_written_leaves_nothing_behind(run: RunWriter, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "full").touch()
    with pytest.raises(RecordError, match=r"cannot write .*taken: .*; write elsewhere with --out"):
        export_table(run.folder, "attempts", "csv", taken)
    with pytest.raises(RecordError, match=r"cannot write .*nowhere.attempts\.csv"):
        export_table(run.folder, "attempts", "csv", tmp_path / "nowhere" / "attempts.csv")
    with Record.open(run.folder) as record, pytest.raises(RecordError, match=r"cannot write .*out: Not a directory"):
        record.export(taken / "full" / "out")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".taken")] == []


def test_an_older_file_is_replaced(run: RunWriter, tmp_path: Path) -> None:
    path = tmp_path / "attempts.csv"
    path.write_text("old")
    assert len(read(export_table(run.folder, "attempts", "csv", path))) == 8


def test_unknown_formats_and_tables_are_named(run: RunWriter, tmp_path: Path) -> None:
    wrong: Any = "excel"
    with pytest.raises(ValueError, match="format must be one of parquet, csv, jsonl, got 'excel'"):
        export_table(run.folder, "attempts", wrong, tmp_path / "x")
    with pytest.raises(ValueError, match="there is no table 'tries'; the tables are runs, attempts"):
        export_table(run.folder, "tries", "csv", tmp_path / "x")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_written_to_and_stays_a_pipe(run: RunWriter, tmp_path: Path) -> None:
    pipe, got = tmp_path / "pipe", tmp_path / "got.csv"
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.write_bytes(pipe.read_bytes()), daemon=True)
    reader.start()
    export_table(run.folder, "attempts", "csv", pipe)
    reader.join(timeout=30)
    assert pipe.is_fifo()
    assert read(got) == read(export_table(run.folder, "attempts", "csv", tmp_path / "attempts.csv"))
