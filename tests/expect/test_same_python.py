"""same_python: code compared by its syntax tree."""

import re
from typing import Any

import pytest

from niceeval_expect import Absent, from_spec, same_python

any_python: Any = same_python
ADD = 'def add(a, b):\n    """Sum."""\n    # both\n    return a + b\n'


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        (ADD, ADD),
        (ADD, "def add(a,b): return (a+b)"),
        (ADD, 'def add(\n    a,\n    b,\n):\n    """Another text."""\n    return (\n        a + b)'),
        ("x = 'a'", 'x = u"a"'),
        ("x = 1_000", "x = 1000"),
        ("x = 1  # type: int", "x = 1"),
        ("\ufeffx = 1", "x = 1\r\n"),
        ("class A:\n    'doc'\n    x = 1", "class A:\n    x = 1"),
        ("'module doc'\nx = 1", "x = 1"),
        ("if a:\n  b\nelif c:\n  d", "if a:\n\tb\nelse:\n\tif c:\n\t\td"),
    ],
)
def test_code_that_is_laid_out_otherwise_is_the_same(expected: str, text: str) -> None:
    assert same_python(expected).evaluate(text).outcome == "matched"


@pytest.mark.parametrize(
    ("expected", "text", "message"),
    [
        (ADD, "def add(a, b):\n    return b + a", "line 2 differs: expected 'return a + b', got 'return b + a'"),
        (ADD, "import os\n" + ADD, "line 1 differs: expected 'def add(a, b):', got 'import os'"),
        (ADD, ADD + "add(1, 2)", "line 5 differs: expected nothing more, got 'add(1, 2)'"),
        ("a = 1\nb = 2", "a = 1", "the code ends too early: expected 'b = 2', got nothing more"),
        ("a = 1", "", "the code ends too early: expected 'a = 1', got nothing more"),
        ("x = 89", "x = 89.0", "line 1 differs: expected 'x = 89', got 'x = 89.0'"),
        ("x = 1", "x = True", "line 1 differs: expected 'x = 1', got 'x = True'"),
        ("f(1, 2)", "f(1)", "line 1 differs: expected 'f(1, 2)', got 'f(1)'"),
        ("f(a=1, b=2)", "f(b=2, a=1)", "line 1 differs: expected 'f(a=1, b=2)', got 'f(b=2, a=1)'"),
        (
            "def f(a): pass",
            "def f(a: int): pass",
            "line 1 differs: expected 'def f(a): pass', got 'def f(a: int): pass'",
        ),
        ("def f(): pass", "class f: pass", "line 1 differs: expected 'def f(): pass', got 'class f: pass'"),
        ("async def f(): pass", "def f(): pass", "line 1 differs: expected 'async def f(): pass', got 'def f(): pass'"),
    ],
)
def test_the_first_line_that_differs_is_shown(expected: str, text: str, message: str) -> None:
    evaluation = same_python(expected).evaluate(text)
    assert (evaluation.outcome, evaluation.code, evaluation.diagnostic.message) == ("mismatched", "code", message)


@pytest.mark.parametrize("text", ["def", "Here is the code:", "f(\0)", "x = '\ud800'", "f(1", "  x = 1"])
def test_what_is_no_python_mismatches(text: str) -> None:
    evaluation = same_python(ADD).evaluate(text)
    assert (evaluation.outcome, evaluation.code) == ("mismatched", "no-code")


def test_docstrings_count_where_that_is_asked_for() -> None:
    assert same_python(ADD, docstrings=True).evaluate(ADD).outcome == "matched"
    assert same_python(ADD, docstrings=True).evaluate(ADD.replace("Sum", "Total")).outcome == "mismatched"
    assert same_python("x = 1\n'text'").evaluate("x = 1\n'other'").outcome == "mismatched"


def test_code_in_a_fence_is_read_where_that_is_asked_for() -> None:
    match = same_python(ADD, fenced=True)
    assert match.evaluate(f"So:\n```py\n{ADD}```\nDone").outcome == "matched"
    assert match.evaluate(ADD).code == "no-fence"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("(" * 10_000, "depth"),
        ("not " * 50_000 + "a", "depth"),
        ("a" + "+a" * 50_000, "depth"),
        ("a\n" * 200_000, "size"),
    ],
)
def test_hostile_text_is_no_mismatch_and_no_crash(text: str, code: str) -> None:
    evaluation = same_python(ADD).evaluate(text)
    assert (evaluation.outcome, evaluation.code) == ("errored", code)


@pytest.mark.parametrize("subject", [b"x = 1", {"code": "x = 1"}, ["x = 1"], 1, None])
def test_what_is_not_text_mismatches_in_both_polarities(subject: object) -> None:
    for match in (same_python("x = 1"), ~same_python("x = 1")):
        evaluation = match.evaluate(subject)
        assert (evaluation.outcome, evaluation.code) == ("mismatched", "type")
        assert match.evaluate(Absent("the turn failed")).outcome == "unavailable"


@pytest.mark.parametrize(
    ("expected", "options", "error", "message"),
    [
        (7, {}, TypeError, "takes the expected code as text, got 7"),
        ("", {}, ValueError, "which does nothing"),
        ("# nothing", {}, ValueError, "which does nothing"),
        ("def", {}, ValueError, "that is not Python"),
        ("x", {"docstrings": 1}, TypeError, "docstrings=True or docstrings=False"),
        ("x", {"fenced": 1}, TypeError, "fenced=True or fenced=False"),
    ],
)
def test_a_bad_argument_is_refused_with_what_to_do(
    expected: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=re.escape(message)):
        any_python(expected, **options)


def test_it_reads_like_the_call_that_made_it_and_is_data() -> None:
    for match, shown in (
        (same_python("x = 1"), "same_python('x = 1')"),
        (same_python("x", docstrings=True, fenced=True), "same_python('x', docstrings=True, fenced=True)"),
    ):
        assert repr(match) == shown
        assert from_spec(match.spec()) == match
        assert (match.family, match.reaches_outside) == ("referential", True)
