"""SQL over the record: what the tables hold, and what a query cannot do."""

import json
from pathlib import Path
from typing import Any

import pytest

from niceeval.errors import RecordError
from niceeval.record import Record
from niceeval.record.columns import TABLES


@pytest.fixture
def record(root: Path, write_run: Any, make_attempt: Any, make_entry: Any) -> Record:
    """Two runs: the older of one attempt, the newer of three."""
    write_run([make_attempt(9, "failed", assertions=[make_entry(0, "schema", "unmet")])])
    turns = [
        {"usage": {"input_tokens": 5, "output_tokens": 2, "cost_usd": 0.5}},
        {"usage": {"input_tokens": 1, "output_tokens": 1}},
    ]
    attempts = [
        make_attempt(
            1,
            "passed",
            attempt=1,
            sessions=[{"turns": turns}],
            assertions=[make_entry(0, "schema")],
            matches={"f1": {"match": "includes", "text": "x"}},
        ),
        make_attempt(
            2,
            "failed",
            attempt=2,
            assertions=[
                make_entry(0, "schema", "unmet", group=["answer", "shape"], match="f1", key="schema"),
                make_entry(1, "tone", "undecided", reason="no model", value=0.5, threshold=0.8),
            ],
            matches={"f1": {"match": "includes", "text": "x"}},
            tries=[{"reason": "gone"}],
        ),
        make_attempt(3, "scored", attempt=3, style="score", score=0.1, eval="rank"),
    ]
    write_run(attempts, attempts=3)
    return Record.open(root)


def test_attempts_are_rows(record: Record) -> None:
    rows = record.query(
        "SELECT eval, attempt, style, status, score, score_text, tries, turns, input_tokens, cost_usd, "
        "tokens_unreported, cost_unreported, line FROM attempts ORDER BY position"
    )
    assert [tuple(row.values()) for row in rows] == [
        ("orders/order_lookup", 1, "pass", "passed", None, None, 0, 2, 6, 0.5, 0, 1, 1),
        ("orders/order_lookup", 2, "pass", "failed", None, None, 1, 0, None, None, 0, 0, 2),
        ("rank", 3, "score", "scored", 0.1, "0.1", 0, 0, None, None, 0, 0, 3),
    ]


def test_assertions_are_rows(record: Record) -> None:
    rows = record.query(
        'SELECT attempt_id, status, "order", requirement, "group", outcome, decision, reason, value, threshold, gate, '
        "match, scope, rederivable FROM assertions WHERE attempt = 2 ORDER BY ALL"
    )
    assert [tuple(row.values()) for row in rows] == [
        (
            *("000000000002", "failed", 0, "schema", "answer / shape", "mismatched", "unmet", None, None, None),
            *(False, "includes", "value", "yes"),
        ),
        (
            *("000000000002", "failed", 1, "tone", None, "unavailable", "undecided", "no model", 0.5, 0.8),
            *(False, "includes", "value", "yes"),
        ),
    ]


def test_requirements_agree_with_the_record(record: Record) -> None:
    rows = record.query("SELECT requirement, failed, decided, errored, not_reached, rate FROM requirements")
    known = {each.key: each for each in record.requirements()}
    assert len(rows) == len(known) == 2
    for row in rows:
        each = known[row["requirement"]]
        assert tuple(row.values())[1:] == (each.failed, each.decided, each.errored, each.not_reached, each.rate)


def test_the_plan_gives_every_denominator(record: Record) -> None:
    (row,) = record.query("SELECT sum(attempts) AS planned FROM plan")
    assert row["planned"] == record.pass_rates().overall.planned == record.run().planned


def test_one_run_several_or_all(record: Record) -> None:
    newest, oldest = (info.id for info in record.runs())
    count = "SELECT count(*) AS n FROM attempts"
    assert [record.query(count, run)[0]["n"] for run in ("latest", oldest, [newest, oldest], "all")] == [3, 1, 4, 4]
    rows = record.query("SELECT run, status, planned, ended, agents FROM runs ORDER BY started DESC, run", "all")
    assert {tuple(map(str, row.values())) for row in rows} == {
        (newest, "sealed", "3", "3", "['plain']"),
        (oldest, "sealed", "1", "1", "['plain']"),
    }


def test_every_column_is_there_with_its_type(record: Record) -> None:
    for name, columns in TABLES.items():
        found = record.query(f"DESCRIBE {name}")
        assert [(row["column_name"], row["column_type"]) for row in found] == [
            (column.name, column.type) for column in columns
        ]


@pytest.mark.parametrize(
    "sql",
    [
        "COPY attempts TO 'stolen.csv'",
        "ATTACH 'other.db'",
        "INSTALL httpfs",
        "SET threads = 1",
        "CREATE TABLE mine AS SELECT 1",
        "SELECT 1; SELECT 2",
        "DELETE FROM runs",
        "",
    ],
)
def test_only_one_select_statement_is_taken(record: Record, sql: str) -> None:
    with pytest.raises(RecordError, match=r"a query is one SELECT statement, which only reads; this is"):
        record.query(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_text('{file}')",
        "SELECT * FROM '{file}'",
        "SELECT * FROM read_csv('{file}')",
        "SELECT * FROM glob('*')",
        "WITH x AS (INSERT INTO attempts VALUES (1) RETURNING *) SELECT * FROM x",
        "SELECT * FROM record",
    ],
)
def test_nothing_but_the_tables_can_be_reached(record: Record, tmp_path: Path, sql: str) -> None:
    file = tmp_path / "private.txt"
    file.write_text("a secret")
    with pytest.raises(RecordError) as raised:
        record.query(sql.format(file=file))
    assert "a secret" not in str(raised.value)


def test_stored_credentials_are_not_looked_at(record: Record) -> None:
    assert len(record.query("SELECT * FROM duckdb_secrets()")) == 0


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT nope FROM attempts", r'"nope" not found.*attempts has run, id, position'),
        ("SELECT * FROM nope", "Table with name nope does not exist. The tables are runs, attempts, assertions"),
        ("SELEC 1", "syntax error"),
        ("SELECT reason + 1 FROM attempts", "attempts has"),
    ],
)
def test_a_wrong_query_is_answered_with_what_there_is(record: Record, sql: str, words: str) -> None:
    with pytest.raises(RecordError, match=words):
        record.query(sql)


def test_a_query_that_takes_too_long_is_given_up(record: Record) -> None:
    endless = "SELECT count(*) FROM range(10000000000) a(i), range(1000) b(j) WHERE i * j % 7 = 3"
    with pytest.raises(RecordError, match=r"took more than 0\.2 seconds"):
        record.query(endless, timeout=0.2)


def test_rows_that_never_end_are_given_up_as_well(record: Record) -> None:
    with pytest.raises(RecordError, match=r"took more than 0\.2 seconds"):
        record.query("SELECT * FROM range(100000000000)", timeout=0.2)
    assert record.query("SELECT count(*) AS number FROM attempts", timeout=60)[0]["number"]


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf")])
def test_a_timeout_that_is_none_is_refused(record: Record, timeout: float) -> None:
    with pytest.raises(ValueError, match="timeout must be above 0 seconds"):
        record.query("SELECT 1", timeout=timeout)


def test_no_rows_still_have_their_columns(record: Record) -> None:
    rows = record.query("SELECT eval, status FROM attempts WHERE false")
    assert list(rows) == []
    assert rows.to_polars().columns == list(rows.to_pandas().columns) == ["eval", "status"]


def test_columns_of_one_name_are_kept_apart(record: Record) -> None:
    (row,) = record.query("SELECT a.id, b.id FROM attempts a JOIN attempts b USING (position) LIMIT 1")
    assert row == {"id": "000000000001", "id_1": "000000000001"}


def test_rows_of_a_query_turn_into_tables(record: Record) -> None:
    rows = record.query("SELECT started, agents, 1.0 / 0 AS most, 0.5::DECIMAL(3, 2) AS half FROM runs")
    said = json.loads(json.dumps(rows.to_dicts(), allow_nan=False))
    assert (said[0]["agents"], said[0]["most"], said[0]["half"]) == (["plain"], "inf", "0.50")
    frame = rows.to_polars()
    assert frame["started"].dtype.is_temporal()
    assert frame["most"].to_list() == [float("inf")]
    assert list(rows.to_pandas()["agents"]) == ['["plain"]']


def test_an_attempt_is_found_by_its_id_or_its_name(record: Record) -> None:
    newest, oldest = (info.id for info in record.runs())
    assert record.attempt("000000000003").status == "scored"
    assert record.attempt("rank").id == "000000000003"
    assert record.attempt("orders/order_lookup", attempt=2).status == "failed"
    assert record.attempt("000000000009", oldest).status == "failed"
    with pytest.raises(RecordError, match=r"'orders/order_lookup' names 2 attempts .*000000000001 .*attempt 1 passed"):
        record.attempt("orders/order_lookup")
    with pytest.raises(RecordError, match="names 3 attempts"):
        record.attempt("0000")
    with pytest.raises(
        RecordError, match=rf"run {newest} has no attempt 'orders/order_lookup' by 'nobody' with number 7"
    ):
        record.attempt("orders/order_lookup", agent="nobody", attempt=7)
