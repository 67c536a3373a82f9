"""`niceeval query`, `export` and `evidence`: a record taken apart on the command line."""

import csv
import io
import json
import unicodedata
from typing import Any

import pytest

from niceeval.record.columns import TABLES

BAD = "red \x1b[31m and \u202e turned"


@pytest.fixture
def run(recorded: Any) -> str:
    checks = [
        {
            "requirement": "schema",
            "key": "schema",
            "decision": "unmet",
            "subject": BAD,
            "threshold": 0.5,
            "value": 0.25,
        },
        {"requirement": "tone", "decision": "undecided", "reason": "no model", "rederivable": "judge"},
    ]
    attempts = [
        {"status": "failed", "case": "late", "checks": checks, "inputs": [BAD], "reason": BAD, "attempt": 1},
        {
            "status": "errored",
            "case": "late",
            "attempt": 2,
            "reason": "ValueError: bad",
            "error": {"type": "ValueError", "message": "bad", "traceback": "Traceback:\n  ValueError: bad"},
            "tries": [{"reason": "busy", "duration": 0.5, "waited": 1.0}],
            "logs": [{"message": "looked twice"}],
        },
        {"status": "passed", "case": "soon", "attempt": 1},
    ]
    return str(recorded(attempts).name)


def shown(text: str) -> None:
    for line in text.splitlines():
        assert len(line) <= 80
        assert not any(unicodedata.category(char) in ("Cc", "Cf") for char in line)


def test_rows_are_printed_as_a_table(project: Any, run: str) -> None:
    answer = project("query", 'SELECT "case", attempt, reason, size > 10 AS long FROM attempts ORDER BY position')
    assert answer.code == 0
    assert answer.lines == [
        "case  attempt  reason                          long",
        r"late        1  red \x1b[31m and \u202e turned  true",
        "late        2  ValueError: bad                 true",
        "soon        1  -                               true",
        "",
        f"3 rows, asked of run {run}",
    ]
    shown(answer.out)


@pytest.mark.parametrize("columns", ["*", "reason, reason, reason, reason, reason", "repeat('wide ', 100) AS wide"])
def test_wide_rows_fit_the_terminal(project: Any, run: str, columns: str) -> None:
    answer = project("query", f"SELECT {columns} FROM attempts")
    assert answer.code == 0
    shown(answer.out)


def test_a_long_table_says_that_there_is_more(project: Any, run: str) -> None:
    answer = project("query", "SELECT i FROM range(1001) each(i)")
    assert answer.lines[-1] == f"the first 1,000 rows, asked of run {run}; --format csv gives all"
    assert project("query", "SELECT i FROM range(1001) each(i)", "--format", "csv").out.count("\n") == 1002


def test_rows_are_printed_for_other_programs(project: Any, run: str) -> None:
    sql = "SELECT reason, 1.0 / 0 AS most, [1, 2] AS list, gate FROM attempts, (SELECT true AS gate) ORDER BY position"
    rows = list(csv.DictReader(io.StringIO(project("query", sql, "--format", "csv").out)))
    assert [row["reason"] for row in rows] == [BAD, "ValueError: bad", ""]
    assert (rows[0]["most"], rows[0]["list"], rows[0]["gate"]) == ("inf", "[1, 2]", "true")
    whole = json.loads(project("query", sql, "--format", "json").out, parse_constant=pytest.fail)
    lines = project("query", sql, "--format", "jsonl").lines
    assert [json.loads(line, parse_constant=pytest.fail) for line in lines] == whole
    assert whole[0] == {"reason": BAD, "most": "inf", "list": [1, 2], "gate": True}


def test_all_runs_are_asked_together(project: Any, run: str, recorded: Any) -> None:
    other = recorded([{"status": "passed"}]).name
    count = "SELECT count(*) AS n FROM attempts"
    for runs, number in (["all"], 4), ([run], 3), ([run, other], 4), ([f".niceeval/runs/{other}"], 1):
        (row,) = json.loads(project("query", count, *runs, "--format", "json").out)
        assert row == {"n": number}
    assert project("query", count, "all").lines[-1] == "1 row, asked of 2 runs"


def test_mistakes_are_answered_with_a_sentence(project: Any, run: str) -> None:
    for arguments, words in (
        (["SELECT nope FROM attempts"], "attempts has run, id"),
        (["DROP TABLE attempts"], "a query is one SELECT statement"),
        (["SELECT 1", "nowhere"], "holds no run 'nowhere'"),
        ([], "a query is needed"),
        (
            ["SELECT count(*) FROM range(1000000000000) a(i) WHERE i % 7 = 3", "--timeout", "0.1"],
            "more than 0.1 seconds",
        ),
    ):
        answer = project("query", *arguments)
        assert answer.code == 2
        assert words in " ".join(answer.err.split())


def test_the_schema_names_every_column(project: Any) -> None:
    answer = project("query", "--schema")
    assert answer.code == 0
    shown(answer.out)
    for name, columns in TABLES.items():
        assert name in answer.lines
        for column in columns:
            assert any(line.split()[:1] == [column.name] for line in answer.lines)


def test_all_tables_are_exported(project: Any, run: str) -> None:
    answer = project("export", "--format", "jsonl")
    assert answer.code == 0
    assert [line.split() for line in answer.lines] == [[name, f"{run}/{name}.jsonl"] for name in TABLES]
    assert len((project.root / run / "attempts.jsonl").read_text().splitlines()) == 3


def test_one_table_is_exported_into_a_file_or_printed(project: Any, run: str) -> None:
    assert project("export", run, "--table", "attempts", "--out", "here.parquet").code == 0
    assert (project.root / "here.parquet").read_bytes()[:4] == b"PAR1"
    assert project("export", "--table", "plan").code == 0
    assert (project.root / f"{run}-plan.parquet").exists()
    for arguments in (["--out", "-"], ["--out", "-", "--table", "plan"]):
        answer = project("export", *arguments)
        assert (answer.code, "--format csv or jsonl" in " ".join(answer.err.split())) == (2, True)


def test_a_table_is_printed(project: Any, run: str) -> None:
    answer = project("export", "--table", "plan", "--format", "csv", "--out", "-")
    assert answer.lines[:2] == [
        "run,eval,case,agent,style,attempts",
        f"{run},orders/order_lookup,late,agents.plain:order_agent,pass,2",
    ]


def test_a_file_that_cannot_be_written_is_named(project: Any, run: str) -> None:
    (project.root / "taken").write_text("")
    answer = project("export", "--out", "taken")
    assert answer.code == 2
    assert "cannot write taken" in " ".join(answer.err.split())


def test_evidence_shows_everything(project: Any, run: str) -> None:
    answer = project("evidence", "orders/order_lookup[late]", "--attempt", "1")
    assert answer.code == 0
    shown(answer.out)
    for words in (
        "FAILED orders/order_lookup[late]  agents.plain:order_agent  attempt 1",
        f"id          000000000000 in run {run}",
        r"user    red \x1b[31m and \u202e turned",
        "ASSERTIONS 2 assertions: 1 unmet, 1 undecided",
        "decision   unmet: mismatched",
        "value      0.25, threshold 0.5",
        'spec       {"match": "includes", "text": "done"}',
        "decision   undecided: unavailable (no model)",
        "verify     cannot be evaluated again: judge",
    ):
        assert words in answer.out


def test_evidence_shows_tries_notes_and_the_exception(project: Any, run: str) -> None:
    answer = project("evidence", "000000000001")
    assert "given up    busy (took 0.5 s, waited 1.0 s)" in answer.out
    assert '{"message": "looked twice"}' in answer.out
    assert "ERROR ValueError" in answer.out
    assert "  ValueError: bad" in answer.lines


def test_evidence_as_json_has_all_of_it(project: Any, run: str) -> None:
    answer = project("evidence", "orders/order_lookup[late]", "--attempt", "1", "--json")
    document = json.loads(answer.out, parse_constant=pytest.fail)
    assert (document["run"], document["attempt"]["id"], document["attempt"]["reason"]) == (run, "000000000000", BAD)
    assert document["sessions"][0][0]["input"] == BAD
    assert [each["decision"] for each in document["assertions"]] == ["unmet", "undecided"]
    assert document["assertions"][0]["subject"]["value"] == BAD


def test_evidence_of_several_attempts_lists_them(project: Any, run: str) -> None:
    answer = project("evidence", "orders/order_lookup[late]")
    assert answer.code == 2
    said = " ".join(answer.err.split())
    assert "names 2 attempts" in said
    assert "000000000000 orders/order_lookup[late] agents.plain:order_agent attempt 1 failed" in said
    assert project("evidence", "nothing").code == 2


def test_evidence_of_an_older_run_is_found_by_its_id(project: Any, run: str, recorded: Any) -> None:
    recorded([{"status": "passed", "id": "ffffffffffff"}])
    assert f"000000000002 in run {run}" in project("evidence", "000000000002").out
    assert project("evidence", "000000000002", "--run", "latest").code == 2
    assert project("evidence", "orders/order_lookup[soon]", "--run", run).code == 0


def test_show_prints_the_first_failures_and_all_on_request(project: Any, recorded: Any) -> None:
    recorded([{"status": "failed", "case": f"c{number}"} for number in range(203)])
    few, all_ = project("show"), project("show", "--all")
    assert few.out.count("\nFAILED ") == 200
    assert "(3 more failed: niceeval show --all)" in few.lines
    assert all_.out.count("\nFAILED ") == 203
