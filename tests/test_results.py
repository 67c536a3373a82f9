"""Results as models, and the texts that are made from them when they are read."""

import json
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ValidationError

from niceeval._documents import attempt_from_document
from niceeval._reading import preview, spec_text, where
from niceeval.errors import RecordError
from niceeval.record import AssertionResult, AttemptResult
from niceeval_expect import (
    Absent,
    ValueMatch,
    any_of,
    at,
    between,
    define_score_match,
    equals,
    excludes,
    has_keys,
    includes,
    is_defined,
    json_match,
    json_text,
    length,
    matches,
    not_,
    one_of,
    satisfies,
    similarity,
    tool_match,
)
from niceeval_expect._call_claims import tool_order
from niceeval_expect._codec import encode
from niceeval_expect._tool_scope import called_tool, not_called_tool
from niceeval_expect._unordered_calls import tool_calls_unordered


class Order(BaseModel):
    order_number: str
    status: Literal["pending", "in_transit", "delivered", "cancelled"]


def no_blobs(digest: str) -> bytes:
    raise RecordError(f"no blob {digest}")


def document(**fields: Any) -> dict[str, Any]:
    return {"id": "0a1b2c3d4e5f", "eval": "orders/order_lookup", "status": "passed", "style": "pass", **fields}


def checked(subject: object, match: Any) -> AssertionResult:
    """What a stored check of `subject` reads as."""
    entry = {
        "order": 0,
        "requirement": "r",
        "decision": "unmet",
        "match": match.fingerprint,
        "subject": "d",
        "file": "evals/orders.py",
        "line": 35,
        **match.evaluate(subject).as_document(),
    }
    subjects = {} if isinstance(subject, Absent) else {"d": {"type": "x", "size": 1, "value": encode(subject)}}
    stored = document(assertions=[entry], matches={match.fingerprint: match.spec()}, subjects=subjects)
    return attempt_from_document(json.loads(json.dumps(stored)), no_blobs).assertions[0]


TEXT = '{"order_number": "ORD-448194", "status": "refunded"}'


@pytest.mark.parametrize(
    ("subject", "match", "place", "expected", "received"),
    [
        (
            TEXT,
            json_text(matches(Order)),
            "$.status",
            'one of "pending", "in_transit", "delivered", "cancelled"',
            '"refunded"',
        ),
        ("refunded", one_of(["pending", "late"]), "$", 'one of "pending", "late"', '"refunded"'),
        (1, equals(True), "$", "true", "1"),
        ("x", equals(None), "$", "null", '"x"'),
        (None, equals("x"), "$", '"x"', "null"),
        (None, is_defined(), "$", "a value other than None", "null"),
        ({"a": [1, {"b": 2}]}, equals({"a": [1, {"b": 3}]}), "$.a[1].b", "3", "2"),
        ({"a": 1}, equals({"a": 1, "b c": [2]}), "$['b c']", "[2]", "nothing"),
        ({"a": 1, "b": 2}, equals({"a": 1}), "$.b", "nothing", "2"),
        ({"a": {"b": "x"}}, json_match({"a": {"b": includes("y")}}), "$.a.b", '"y"', '"x"'),
        ({"id": "y", "n": 5}, at("id", equals("y")) & at("n", between(0, 1)), "$.n", "0 to 1, both included", "5"),
        ("long", length(at_most=2), "$", "at most 2 characters", '"long" (has 4 characters)'),
        ({"a": 1}, includes("x"), "$", "text", '{"a": 1} (needs text, got dict)'),
        ("an error", excludes("error"), "$", "a text without 'error'", '"an error"'),
        ("maybe", any_of(equals("yes"), equals("no")), "$", '"yes" or "no"', '"maybe"'),
        ("x", not_(equals("x")), "$", 'not_(equals("x"))', '"x"'),
        ("color", similarity("colour").at_least(0.9), "$", "at least 0.9", "0.8333333333333334"),
        (3, satisfies("is even", lambda n: n % 2 == 0), "$", "is even", "3"),
    ],
)
def test_expected_and_received_are_for_a_person(
    subject: object, match: ValueMatch, place: str, expected: str, received: str
) -> None:
    result = checked(subject, match)
    assert result.evaluation.outcome == "mismatched"
    assert (where(result), result.expected, result.received) == (place, expected, received)


def raises(_: object) -> bool:
    raise ValueError("boom")


def test_what_is_undecided_says_why() -> None:
    missing = checked(Absent("the turn failed"), includes("x"))
    assert (missing.expected, missing.received) == ('includes("x")', "unavailable: the turn failed")
    broken = checked(1, satisfies("works", raises))
    assert broken.received.startswith("errored: ")
    assert "boom" in broken.received


def test_what_holds_shows_the_match_and_the_subject() -> None:
    result = checked("all done", includes("done"))
    assert (result.expected, result.received) == ('includes("done")', '"all done"')
    measured = checked("x", define_score_match(lambda value: 0.25, name="quarter")())
    assert measured.received == "0.25"


def test_long_values_are_cut_around_the_difference() -> None:
    subject = "a" * 5_000 + "WRONG" + "b" * 5_000
    result = checked(subject, equals(subject.replace("WRONG", "RIGHT")))
    assert "RIGHT" in result.expected
    assert "WRONG" in result.received
    assert max(len(result.expected), len(result.received)) <= 400


@pytest.mark.parametrize(
    "subject",
    [
        "\x1b[31mred\x1b[0m \x00 \ud83d \u202e",
        {"\x1b": "\x07"},
        float("nan"),
        {1, 2},
        10**5000,
        b"\x00\xff",
        Absent("x"),
    ],
    ids=["control", "keys", "nan", "set", "huge", "bytes", "absent"],
)
def test_the_texts_are_printable_lines(subject: object) -> None:
    result = checked(subject, equals("expected"))
    for text in (result.expected, result.received, where(result), preview(result.subject)):
        assert text.isprintable()
        text.encode("utf-8")
        assert len(text) <= 400


def test_a_preview_is_the_beginning_of_the_subject() -> None:
    result = checked({"order_number": "ORD-448194", "status": "refunded", "eta": "soon"}, has_keys("x"))
    assert preview(result.subject, 40) == '{"order_number": "ORD-448194", "status"…'
    assert preview(result.subject, 400) == '{"order_number": "ORD-448194", "status": "refunded", "eta": "soon"}'
    assert preview(checked({"a": "\ud83dx"}, has_keys("x")).subject, 40) == '{"a": "\\ud83dx"}'


@pytest.mark.parametrize(
    ("match", "text"),
    [
        (includes("done") & ~excludes("error"), 'all_of(includes("done"), not_(excludes("error")))'),
        (similarity("colour").at_least(0.8), 'similarity("colour").at_least(0.8)'),
        (at("items[0].id", equals(3)), "at("),
        (satisfies("ok", raises), "satisfies("),
        (called_tool("look"), 'called_tool("look")'),
        (called_tool(tool_match("look").exactly(2)), 'called_tool(tool_match("look").exactly(2))'),
        (not_called_tool(tool_match("look", status="failed")), 'not_called_tool(tool_match("look", status="failed"))'),
        (tool_order("look", "buy", finished=True), 'tool_order("look", "buy", finished=True)'),
        (tool_calls_unordered(["look", "buy"]), 'tool_calls_unordered(["look", "buy"])'),
    ],
)
def test_a_spec_reads_like_the_call(match: Any, text: str) -> None:
    assert spec_text(match.spec()).startswith(text)


def test_a_result_is_frozen_and_has_no_truth_value() -> None:
    attempt = attempt_from_document(document(), no_blobs)
    result = checked("x", includes("x"))
    for model in (attempt, result):
        with pytest.raises(TypeError, match="a result has no truth value"):
            bool(model)
    with pytest.raises(ValidationError, match="frozen"):
        attempt.status = "failed"


def test_an_attempt_keeps_what_its_document_says() -> None:
    texts = ["first", encode("a\ud83d"), {"$": "subject", "digest": "s"}, {"$": "subject", "digest": "gone"}]
    sessions = [{"observed": False, "turns": [{"input": text} for text in texts]}]
    attempt = attempt_from_document(
        document(
            case="refunded", agent="plain", attempt=2, status="failed", duration=1.5, stopped_by="schema",
            started="2026-08-01T10:15:02+00:00", sessions=sessions,
            assertions=[
                {"order": 0, "requirement": "schema", "outcome": "mismatched", "decision": "unmet", "match": "m",
                 "subject": "d", "key": "schema", "gate": True, "stops": True, "group": ["first"], "file": "e.py",
                 "line": 3, "diagnostic": {"code": "value", "pointer": "/status", "expected": 1, "received": 2}},
                {"order": 1, "requirement": "tone", "outcome": "unavailable", "decision": "undecided", "match": "m",
                 "reason": "no answer", "file": "e.py", "line": 4},
            ],
            subjects={"d": {"type": "tuple", "size": 9, "value": encode((1, 2)), "redacted": ["API_KEY"]},
                      "s": {"type": "str", "size": 8, "value": "second"}},
            matches={"m": {"match": "equals", "value": 1}},
        ),
        no_blobs,
    )  # fmt: skip
    assert attempt.name == "orders/order_lookup[refunded]"
    assert (attempt.verdict, attempt.score, attempt.stopped_by, attempt.duration) == ("failed", None, "schema", 1.5)
    assert [item.requirement for item in attempt.failures] == ["schema"]
    assert [item.reason for item in attempt.undecided] == ["no answer"]
    assert attempt.inputs[:3] == ("first", "a\ud83d", "second")
    assert "gone" in attempt.inputs[3]
    first = attempt.assertions[0]
    assert (first.attempt_id, first.source.file, first.source.line, first.group) == (attempt.id, "e.py", 3, ("first",))
    assert (first.subject.value(), first.subject.redacted) == ((1, 2), ("API_KEY",))
    assert first.match == {"match": "equals", "value": 1}


def test_a_score_style_attempt_has_a_score_and_no_verdict() -> None:
    attempt = attempt_from_document(document(style="score", status="scored", score=2.5), no_blobs)
    assert (attempt.verdict, attempt.score) == (None, 2.5)
    partial = attempt_from_document(document(style="score", status="unrankable", partial_score=1), no_blobs)
    assert (partial.score, partial.partial_score) == (None, 1.0)


def test_a_result_survives_storage_as_json() -> None:
    attempt = attempt_from_document(document(assertions=[]), no_blobs)
    result = checked({"a": [1]}, equals({"a": [2]}))
    whole = attempt.model_copy(update={"assertions": (result,)})
    again = AttemptResult.model_validate_json(whole.model_dump_json())
    assert again.assertions[0].evaluation == result.evaluation
    assert again.assertions[0].expected == result.expected == "2"
    assert json.loads(whole.model_dump_json())["assertions"][0]["received"] == "1"
    with pytest.raises(RecordError, match="was not kept"):
        again.assertions[0].subject.value()
