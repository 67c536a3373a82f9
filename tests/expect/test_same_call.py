"""same_call: a call as Python text, compared by function and arguments."""

import re
import warnings
from typing import Any

import pytest

from niceeval_expect import Absent, from_spec, same_call

any_call: Any = same_call
EXPECTED = "issue_refund(order_id='A-2231', amount=89)"


def issue_refund(order_id: str, amount: float = 89, *reasons: str, note: str | None = None, **more: object) -> None:
    """Never called: only its signature is read."""
    raise AssertionError


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        (EXPECTED, EXPECTED),
        (EXPECTED, "issue_refund(amount=89, order_id='A-2231')"),
        (EXPECTED, 'issue_refund( order_id = "A-2231", amount = 89.0 )  # now'),
        (EXPECTED, "\n issue_refund(\n  order_id='A-' '2231',\n  amount=8_9,\n)\n"),
        (EXPECTED, "issue_refund(order_id='A-2231', amount=0x59);"),
        ("f()", "f()"),
        ("f(-1, +2)", "f(-1.0, 2)"),
        ("f([1, (2,)], {'a': {1, 2}})", "f((1.0, [2]), {'a': {2, 1}})"),
        ("f({'a': 1, 'b': 2})", "f({'b': 2, 'a': 1})"),
        ("client.refund(order.id, x + 1)", "client . refund(order.id, (x+1))"),
        ("f(b'x', 1j, None, ...)", "f(b'x', 1j, None, ...)"),
        ("f(*a, **b)", "f(*a, **b)"),
        ("f({[1]: 2})", "f({[1]: 2})"),
        ("f(g(1), lambda x: x)", "f(g( 1 ), lambda x:x)"),
    ],
)
def test_two_ways_to_write_one_call_are_the_same(expected: str, text: str) -> None:
    assert same_call(expected).evaluate(text).outcome == "matched"
    assert (~same_call(expected)).evaluate(text).outcome == "mismatched"


@pytest.mark.parametrize(
    ("expected", "text", "code", "message"),
    [
        (EXPECTED, EXPECTED.replace("89", "90"), "arguments", "1 of 2 arguments differs: amount: expected 89, got 90"),
        (
            EXPECTED,
            EXPECTED.replace("89", "'89'"),
            "arguments",
            "1 of 2 arguments differs: amount: expected 89, got '89'",
        ),
        (EXPECTED, "issue_refund(order_id='A-2231')", "arguments", "1 of 2 arguments differs: amount is missing"),
        (EXPECTED, EXPECTED.replace(")", ", x=1)"), "arguments", "1 of 3 arguments differs: x is not wanted"),
        (EXPECTED, EXPECTED.replace("issue_", "x."), "function", "calls x.refund, not issue_refund"),
        ("f(1)", "f(True)", "arguments", "1 of 1 argument differs: argument 1: expected 1, got True"),
        ("f(a, b)", "f(b, a)", "arguments", "2 of 2 arguments differ: argument 1: expected a, got b"),
        ("f(89)", "f(80 + 9)", "arguments", "1 of 1 argument differs: argument 1: expected 89, got 80 + 9"),
        (
            "f(a=[1, 2])",
            "f(a=[1, 3])",
            "arguments",
            "1 of 1 argument differs: a: differs in 1 place: $[1]: expected 2, got 3",
        ),
        (
            "f(1)",
            "f(a=1)",
            "arguments",
            "2 of 2 arguments differ: argument 1 is missing; to compare positional with named arguments, give signature=",
        ),
        ("f(*a)", "f(*b)", "arguments", "1 of 1 argument differs: argument 1: expected *a, got *b"),
        ("f(**a)", "f(**b)", "arguments", "1 of 1 argument differs: **0: expected a, got b"),
        (EXPECTED, "", "no-call", "the text holds no call"),
        (EXPECTED, "issue_refund", "no-call", "the text is a name, not a call"),
        (EXPECTED, "'issue_refund()'", "no-call", "the text is a constant, not a call"),
        (EXPECTED, f"r = {EXPECTED}", "no-call", "the text is an assignment, not a call"),
        (EXPECTED, f"await {EXPECTED}", "no-call", "the text is awaited, not a call"),
        (EXPECTED, f"{EXPECTED}\n{EXPECTED}", "no-call", "the text holds 2 statements, not one call"),
        (EXPECTED, f"[{EXPECTED}]", "no-call", "the text is a list, not a call"),
        (EXPECTED, "f(a=1, a=1)", "no-call", "the text is no call: it names the argument 'a' twice"),
        (EXPECTED, "I will refund it.", "no-code", "the text is not Python (line 1, column 3): invalid syntax"),
        (EXPECTED, "f(\0)", "no-code", "the text is not Python: source code string cannot contain null bytes"),
        (EXPECTED, f"```\n{EXPECTED}\n```", "no-code", "the text is not Python (line 1, column 1): invalid syntax"),
    ],
)
def test_what_is_another_call_or_none_mismatches_and_says_why(
    expected: str, text: str, code: str, message: str
) -> None:
    evaluation = same_call(expected).evaluate(text)
    assert (evaluation.outcome, evaluation.code) == ("mismatched", code)
    assert evaluation.diagnostic.message == message
    assert evaluation.diagnostic.expected == expected


def test_whether_a_number_is_compared_with_its_type_is_an_option() -> None:
    for text, exact in (("f(89.0)", "mismatched"), ("f(89)", "matched"), ("f([89.0])", "mismatched")):
        expected = "f([89])" if "[" in text else "f(89)"
        assert same_call(expected).evaluate(text).outcome == "matched"
        assert same_call(expected, exact_numbers=True).evaluate(text).outcome == exact
    assert same_call("f(a={'x': 1})", exact_numbers=True).evaluate("f(a={'x': True})").outcome == "mismatched"
    with_default = same_call("issue_refund('A')", signature=issue_refund, exact_numbers=True)
    assert with_default.evaluate("issue_refund('A', 89)").outcome == "matched"
    assert with_default.evaluate("issue_refund('A', 89.0)").outcome == "mismatched"


SPELLED = "(order_id, amount=89, *reasons, note=None, **more)"


@pytest.mark.parametrize("signature", [issue_refund, SPELLED], ids=["function", "text"])
@pytest.mark.parametrize(
    ("expected", "text", "outcome", "message"),
    [
        ("issue_refund('A', 5)", "issue_refund(amount=5, order_id='A')", "matched", ""),
        ("issue_refund('A')", "issue_refund('A', 89)", "matched", ""),
        ("issue_refund('A')", "issue_refund('A', note=None)", "matched", ""),
        ("issue_refund('A', 5, 'x', k=1)", "issue_refund('A', 5, 'x', k=1)", "matched", ""),
        ("issue_refund('A', 5, 'x')", "issue_refund('A', 5, 'y')", "mismatched", "reasons: differs in 1 place"),
        ("issue_refund('A', k=1)", "issue_refund('A', k=2)", "mismatched", "k: expected 1, got 2"),
        ("issue_refund('A')", "issue_refund('A', 88)", "mismatched", "amount: expected 89, got 88"),
        ("issue_refund('A')", "issue_refund()", "mismatched", "missing a required argument: 'order_id'"),
        ("issue_refund('A')", "issue_refund('A', order_id='A')", "mismatched", "multiple values for argument"),
        ("issue_refund('A')", "issue_refund(*a)", "mismatched", "unpacks arguments"),
    ],
)
def test_a_signature_says_which_argument_is_which(
    signature: Any, expected: str, text: str, outcome: str, message: str
) -> None:
    evaluation = same_call(expected, signature=signature).evaluate(text)
    assert (evaluation.outcome, message in evaluation.diagnostic.message) == (outcome, True), evaluation


def test_an_omitted_argument_can_be_told_from_its_default() -> None:
    match = same_call("issue_refund('A')", signature=SPELLED, defaults=False)
    assert match.evaluate("issue_refund('A', 89)").outcome == "mismatched"
    assert match.evaluate("issue_refund(order_id='A')").outcome == "matched"


def test_code_in_a_fence_is_read_where_that_is_asked_for() -> None:
    match = same_call(EXPECTED, fenced=True)
    assert match.evaluate(f"Here you are:\n\n```python\n{EXPECTED}\n```\nDone.").outcome == "matched"
    assert match.evaluate(f"~~~~\n{EXPECTED}\n~~~~").outcome == "matched"
    for text, code in (
        (EXPECTED, "no-fence"),
        (f"```\n{EXPECTED}", "no-fence"),
        (f"```\n{EXPECTED}\n```\n```\n{EXPECTED}\n```", "ambiguous"),
        ("```\n```", "no-call"),
    ):
        evaluation = match.evaluate(text)
        assert (evaluation.outcome, evaluation.code) == ("mismatched", code)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("f(" * 50_000, "depth"),
        ("-" * 100_000 + "1", "depth"),
        ("f" + ".b" * 50_000, "depth"),
        ("[" * 50_000, "depth"),
        ("f(" + "1," * 200_000 + ")", "size"),
    ],
)
def test_hostile_text_is_no_mismatch_and_no_crash(text: str, code: str) -> None:
    for match in (same_call(EXPECTED), ~same_call(EXPECTED)):
        evaluation = match.evaluate(text)
        assert evaluation.outcome == "errored"
    assert same_call(EXPECTED).evaluate(text).code == code


@pytest.mark.parametrize("text", [r"f('\d')", "f(1if x else 2)", r"f(b'\w')"])
def test_what_python_would_warn_of_is_read_without_a_warning(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        match = same_call(text)
        assert match.evaluate(text).outcome == "matched"
        assert warnings.filters[0][0] == "error"


@pytest.mark.parametrize("subject", [b"f()", {"name": "f"}, ["f()"], 1, None])
def test_what_is_not_text_mismatches_in_both_polarities(subject: object) -> None:
    for match in (same_call("f()"), ~same_call("f()")):
        evaluation = match.evaluate(subject)
        assert (evaluation.outcome, evaluation.code) == ("mismatched", "type")
        assert match.evaluate(Absent("the turn failed")).outcome == "unavailable"


@pytest.mark.parametrize(
    ("expected", "options", "error", "message"),
    [
        (7, {}, TypeError, "takes the expected call as text, got 7"),
        ("", {}, ValueError, "which holds no call"),
        ("f", {}, ValueError, "which is a name, not a call"),
        ("f(", {}, ValueError, "which is not Python"),
        ("f(a=1, a=1)", {}, ValueError, "names the argument 'a' twice"),
        ("f(1, 2)", {"signature": "(a)"}, ValueError, "does not fit the signature: too many positional arguments"),
        ("f(1)", {"signature": "a"}, ValueError, "signature= as a function or as text like '(id, amount=0)', got 'a'"),
        ("f(1)", {"signature": "(a): pass\ndef g()"}, ValueError, "signature= as a function or as text"),
        ("f(1)", {"signature": "(a, a)"}, ValueError, "duplicate parameter name: 'a'"),
        ("f(1)", {"signature": 3}, TypeError, "signature= as a function or as text like '(id, amount=0)', got 3"),
        ("f(1)", {"signature": type}, ValueError, "a function without a signature to read"),
        ("f(1)", {"defaults": False}, ValueError, "takes defaults=False with a signature only"),
        ("f(1)", {"defaults": 0, "signature": "(a)"}, TypeError, "defaults=True or defaults=False"),
        ("f(1)", {"exact_numbers": "yes"}, TypeError, "exact_numbers=True or exact_numbers=False"),
        ("f(1)", {"fenced": None}, TypeError, "fenced=True or fenced=False"),
    ],
)
def test_a_bad_argument_is_refused_with_what_to_do(
    expected: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=re.escape(message)):
        any_call(expected, **options)


@pytest.mark.parametrize(
    ("match", "shown"),
    [
        (same_call("f(1)"), "same_call('f(1)')"),
        (
            same_call("f(1)", signature="(a, /, b=2, *c, d=1, **k)", defaults=False, exact_numbers=True, fenced=True),
            "same_call('f(1)', signature='(a, /, b=2, *c, d=1, **k)', defaults=False, exact_numbers=True, fenced=True)",
        ),
    ],
)
def test_it_reads_like_the_call_that_made_it_and_is_data(match: Any, shown: str) -> None:
    assert repr(match) == shown
    assert from_spec(match.spec()) == match
    assert (match.family, match.reaches_outside) == ("referential", True)


def test_a_function_is_code_that_a_spec_can_only_name() -> None:
    match = same_call("issue_refund('A')", signature=issue_refund)
    assert repr(match) == "same_call(\"issue_refund('A')\", signature=issue_refund)"
    with pytest.raises(ValueError, match="code that a spec can only name"):
        from_spec(match.spec())
