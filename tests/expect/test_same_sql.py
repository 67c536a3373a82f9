"""same_sql: a statement compared as a tree, names resolved and aliases numbered."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import niceeval_expect
from niceeval_expect import Absent, from_spec, same_sql

any_sql: Any = same_sql


@pytest.mark.parametrize(
    ("expected", "text", "options"),
    [
        (
            "SELECT o.id FROM orders AS o WHERE o.days > 30 AND o.paid",
            "select id from Orders where (paid) and 30<days;",
            {},
        ),
        ("SELECT a FROM t -- all\n", "/* it */ SELECT\n  a FROM t", {}),
        ("SELECT a.x FROM t a JOIN u b ON a.i = b.i", "SELECT q.x FROM t AS q INNER JOIN u AS z ON z.i = q.i", {}),
        ("SELECT a.x FROM t a LEFT JOIN u b ON a.i = b.i", "SELECT a.x FROM t a LEFT OUTER JOIN u b ON a.i = b.i", {}),
        ("SELECT a, b FROM t, u WHERE t.i = u.i", "SELECT a, b FROM t CROSS JOIN u WHERE t.i = u.i", {}),
        (
            "SELECT count(*) AS n FROM t GROUP BY a ORDER BY n",
            "SELECT COUNT(*) total FROM t GROUP BY a ORDER BY total",
            {},
        ),
        ("SELECT a, count(*) FROM t GROUP BY a", "SELECT a, count(*) FROM t GROUP BY 1", {}),
        ("SELECT a FROM t ORDER BY a", "SELECT a FROM t ORDER BY a ASC", {}),
        ("SELECT a FROM t WHERE x <> 1 OR NOT y IS NULL", "SELECT a FROM t WHERE y IS NOT NULL OR 1 != x", {}),
        ("SELECT a FROM t WHERE a AND b AND c", "SELECT a FROM t WHERE c AND (a AND b)", {}),
        (
            "WITH big AS (SELECT id AS k FROM t WHERE n > 1) SELECT big.k FROM big ORDER BY k",
            "WITH z AS (SELECT id AS m FROM t WHERE 1 < n) SELECT m AS res FROM z ORDER BY res",
            {},
        ),
        (
            "SELECT x.n FROM (SELECT sum(a) AS n FROM t) AS x",
            "SELECT y.total FROM (SELECT SUM(a) AS total FROM t) y",
            {},
        ),
        (
            "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.i = t.i)",
            "SELECT x.a FROM t AS x WHERE EXISTS (SELECT 1 FROM u AS y WHERE x.i = y.i)",
            {},
        ),
        (
            "SELECT a FROM t UNION ALL SELECT b FROM u ORDER BY a",
            "SELECT a z FROM t UNION ALL SELECT b FROM u ORDER BY z",
            {},
        ),
        ("(SELECT a FROM t)", "SELECT a FROM t", {}),
        ("UPDATE t SET a = b WHERE c = 1", "update T set A=b where (c = 1)", {}),
        ("INSERT INTO t (a) VALUES (1)", "insert into t(a) values(1);", {}),
        ("DELETE FROM t WHERE a = 1", "delete from t where a=1", {}),
        ('SELECT "name" FROM t', "SELECT NAME FROM t", {"dialect": "postgres"}),
        ("SELECT `name` FROM t", "SELECT name FROM t", {"dialect": "mysql"}),
        ("SELECT TOP 3 a FROM t", "select top 3 A from t", {"dialect": "tsql"}),
        ("SELECT a AS n FROM t", "SELECT a n FROM t", {"column_names": True}),
    ],
)
def test_two_ways_to_write_one_statement_are_the_same(expected: str, text: str, options: dict[str, Any]) -> None:
    assert same_sql(expected, **options).evaluate(text).outcome == "matched"
    assert same_sql(text, **options).evaluate(expected).outcome == "matched"


@pytest.mark.parametrize(
    ("expected", "text", "options"),
    [
        ("SELECT a FROM t WHERE x > 1", "SELECT a FROM t WHERE x >= 1", {}),
        ("SELECT a FROM t WHERE x > y", "SELECT a FROM t WHERE y > x", {}),
        ("SELECT a, b FROM t", "SELECT b, a FROM t", {}),
        ("SELECT a FROM t", "SELECT DISTINCT a FROM t", {}),
        ("SELECT a FROM t", "SELECT a FROM u", {}),
        ("SELECT a FROM t", "SELECT a FROM t LIMIT 10", {}),
        ("SELECT 'X' FROM t", "SELECT 'x' FROM t", {}),
        ("SELECT a FROM t ORDER BY a", "SELECT a FROM t ORDER BY a DESC", {}),
        ("SELECT count(*) FROM t", "SELECT count(1) FROM t", {}),
        ("SELECT a FROM t JOIN u ON t.i = u.i", "SELECT a FROM t LEFT JOIN u ON t.i = u.i", {}),
        ("SELECT t.a FROM t JOIN u ON t.i = u.i", "SELECT u.a FROM t JOIN u ON t.i = u.i", {}),
        ("SELECT * FROM t JOIN u USING (i)", "SELECT * FROM t JOIN u ON t.i = u.i", {}),
        ("SELECT a FROM t WHERE x - (y - z) > 1", "SELECT a FROM t WHERE x - y - z > 1", {}),
        ("SELECT a FROM t WHERE (a OR b) AND c", "SELECT a FROM t WHERE a OR b AND c", {}),
        ("WITH a AS (SELECT 1 AS x) SELECT x FROM a", "SELECT x FROM a", {}),
        (
            "WITH RECURSIVE c AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM c) SELECT n FROM c",
            "WITH RECURSIVE d AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM c) SELECT n FROM d",
            {},
        ),
        (
            "SELECT x.b FROM (SELECT a AS b, b AS a FROM t) AS x",
            "SELECT x.a FROM (SELECT a AS b, b AS a FROM t) AS x",
            {},
        ),
        ("SELECT a FROM t UNION SELECT a FROM u", "SELECT a FROM t UNION ALL SELECT a FROM u", {}),
        ("UPDATE t SET a = b", "UPDATE t SET b = a", {}),
        ("UPDATE t SET a = 1", "UPDATE t SET a = 1 WHERE b = 2", {}),
        ("DELETE FROM t", "SELECT * FROM t", {}),
        ('SELECT "Name" FROM t', "SELECT name FROM t", {"dialect": "postgres"}),
        ("SELECT a AS n FROM t", "SELECT a AS m FROM t", {"column_names": True}),
        (
            "SELECT a AS n FROM t UNION SELECT b FROM u",
            "SELECT a AS m FROM t UNION SELECT b FROM u",
            {"column_names": True},
        ),
    ],
)
def test_what_asks_for_something_else_is_not_the_same(expected: str, text: str, options: dict[str, Any]) -> None:
    for one, other in ((expected, text), (text, expected)):
        evaluation = same_sql(one, **options).evaluate(other)
        assert (evaluation.outcome, evaluation.code) == ("mismatched", "sql"), evaluation
        assert evaluation.diagnostic.message


@pytest.mark.parametrize(
    ("expected", "text", "message"),
    [
        (
            "SELECT a FROM t WHERE x > 1",
            "SELECT a FROM t WHERE x >= 1",
            "where: expected 'WHERE 1 < t·1.x', got 'WHERE 1 <= t·1.x'",
        ),
        (
            "SELECT a FROM t LIMIT 3",
            "SELECT b FROM t",
            "2 clauses differ: columns: expected 't·1.a AS c·1', got 't·1.b AS c·1'",
        ),
        ("SELECT a FROM t LIMIT 3", "SELECT a FROM t", "limit: expected 'LIMIT 3', got nothing"),
        ("SELECT a FROM t", "DELETE FROM t", "is DELETE, not SELECT"),
        (
            "SELECT a FROM t WHERE x - (y - z) > 1",
            "SELECT a FROM t WHERE x - y - z > 1",
            "where: the parts of 'WHERE 1 < t·1.x - t·1.y - t·1.z' are grouped differently",
        ),
    ],
)
def test_the_clause_that_differs_is_shown(expected: str, text: str, message: str) -> None:
    assert same_sql(expected).evaluate(text).diagnostic.message == message


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "no-code"),
        ("-- nothing", "no-code"),
        ("Here is your query: SELECT 1", "no-code"),
        ("hello world", "no-code"),
        ("DROP TABLE t", "no-code"),
        ("SELECT a FROM t WHERE", "no-code"),
        ("SELECT 'unclosed", "no-code"),
        ("SELECT 1; SELECT 2", "no-code"),
    ],
)
def test_what_is_no_single_statement_mismatches_without_a_word_on_stderr(
    text: str, code: str, capfd: pytest.CaptureFixture[str]
) -> None:
    evaluation = same_sql("SELECT a FROM t").evaluate(text)
    assert (evaluation.outcome, evaluation.code) == ("mismatched", code)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SELECT " + "(" * 100 + "1" + ")" * 100, "depth"),
        ("SELECT " + "NOT " * 3_000 + "a", "depth"),
        ("SELECT " + ",".join("a" * 9_000), "size"),
        ("SELECT '" + "a" * 200_000 + "'", "size"),
    ],
)
def test_hostile_text_is_no_mismatch_and_no_crash(text: str, code: str) -> None:
    for match in (same_sql("SELECT a FROM t"), ~same_sql("SELECT a FROM t")):
        assert match.evaluate(text).outcome == "errored"
    assert same_sql("SELECT a FROM t").evaluate(text).code == code


def test_a_statement_whose_names_cannot_be_resolved_is_compared_as_it_is_written() -> None:
    match = same_sql("SELECT t.* FROM t ORDER BY 1")
    assert match.evaluate("select T.* from t order by 1").outcome == "matched"
    assert match.evaluate("SELECT t.* FROM t ORDER BY 2").outcome == "mismatched"


def test_sql_in_a_fence_is_read_where_that_is_asked_for() -> None:
    match = same_sql("SELECT a FROM t", fenced=True)
    assert match.evaluate("Try:\n```sql\nselect a from t\n```").outcome == "matched"
    assert match.evaluate("select a from t").code == "no-fence"


@pytest.mark.parametrize("subject", [b"SELECT 1", {"sql": "SELECT 1"}, ["SELECT 1"], 1, None])
def test_what_is_not_text_mismatches_in_both_polarities(subject: object) -> None:
    for match in (same_sql("SELECT 1"), ~same_sql("SELECT 1")):
        evaluation = match.evaluate(subject)
        assert (evaluation.outcome, evaluation.code) == ("mismatched", "type")
        assert match.evaluate(Absent("the turn failed")).outcome == "unavailable"


@pytest.mark.parametrize(
    ("expected", "options", "error", "message"),
    [
        (7, {}, TypeError, "takes the expected statement as text, got 7"),
        ("", {}, ValueError, "which holds no SQL"),
        ("hello", {}, ValueError, "which is no SQL statement: it begins with 'hello'"),
        ("SELECT a FROM", {}, ValueError, "which is no SQL"),
        ("SELECT 1; SELECT 2", {}, ValueError, "which holds 2 SQL statements, not one"),
        ("SELECT 1", {"dialect": "postgras"}, ValueError, "got the dialect 'postgras'"),
        ("SELECT 1", {"dialect": 3}, TypeError, 'takes dialect= as the name of one, such as "postgres", got 3'),
        ("SELECT 1", {"column_names": 1}, TypeError, "column_names=True or column_names=False"),
        ("SELECT 1", {"fenced": 1}, TypeError, "fenced=True or fenced=False"),
    ],
)
def test_a_bad_argument_is_refused_with_what_to_do(
    expected: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=re.escape(message)):
        any_sql(expected, **options)


def test_it_reads_like_the_call_that_made_it_and_is_data() -> None:
    for match, shown in (
        (same_sql("SELECT 1"), "same_sql('SELECT 1')"),
        (
            same_sql("SELECT 1", dialect="duckdb", column_names=True, fenced=True),
            "same_sql('SELECT 1', dialect='duckdb', column_names=True, fenced=True)",
        ),
    ):
        assert repr(match) == shown
        assert from_spec(match.spec()) == match
        assert (match.family, match.reaches_outside) == ("referential", True)


def test_without_sqlglot_it_says_what_to_install_and_nothing_else_needs_it() -> None:
    code = (
        "import sys\nsys.modules['sqlglot'] = None\nimport niceeval_expect\n"
        "try:\n    niceeval_expect.same_sql('SELECT 1')\nexcept ImportError as error:\n    print(error)\n"
        "try:\n    niceeval_expect.from_spec({'match': 'same_sql', 'expected': 'SELECT 1'})\n"
        "except ValueError as error:\n    print(error)\n"
    )
    root = str(Path(niceeval_expect.__file__).parents[1])
    ran = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert (
        ran.stdout.splitlines() == ["same_sql() needs sqlglot, which is not installed: pip install niceeval[sql]"] * 2
    )


def test_what_the_dialect_cannot_write_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    match = same_sql("SELECT a FROM t WHERE a = b FOR UPDATE")
    assert match.evaluate("SELECT a FROM t WHERE b = a FOR UPDATE").outcome == "matched"
    assert match.evaluate("SELECT a FROM t WHERE b = a").outcome == "mismatched"
    assert caplog.records == []
