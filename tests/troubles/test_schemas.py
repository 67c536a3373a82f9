"""Schemas that check less than they seem to: refused when they are built, or enforced."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from niceeval import AttemptResult, EvalContext
from niceeval_expect import matches

pytestmark = pytest.mark.anyio
Recorded = Callable[..., Awaitable[AttemptResult]]

ORDER = {"type": "object", "required": ["id"], "properties": {"when": {"type": "string", "format": "date-time"}}}


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ({"type": "object", "require": ["id"]}, "did you mean 'required'"),
        ({"properties": {"age": {"type": "integer", "min": 1}}}, "/properties/age/min"),
        ({"type": "string", "format": "datetime"}, "did you mean 'date-time'"),
        ({"type": "string", "format": "e-mail"}, "did you mean 'email'"),
        ({"$ref": "https://example.invalid/s.json"}, "remote references are not fetched"),
        ({"items": {"anyOf": [{"typ": "string"}]}}, "/items/anyOf/0/typ"),
        ({"type": "int"}, "int"),
        ({"minimum": "1"}, "minimum"),
        ({"pattern": "("}, "pattern"),
        ({}, "checks nothing"),
        ({"title": "Order", "description": "An order"}, "checks nothing"),
    ],
)
async def test_a_schema_that_would_not_check_is_refused_and_the_attempt_says_why(
    schema: Any, says: str, recorded: Recorded
) -> None:
    async def body(t: EvalContext) -> None:
        t.check({"when": "not a date", "age": -3}, matches(schema))

    result = await recorded(body)
    assert result.status == "errored"
    assert result.reason is not None
    assert says in result.reason


@pytest.mark.parametrize(
    ("subject", "outcome"),
    [
        ({"id": 1, "when": "not a date"}, "mismatched"),
        ({"id": 1, "when": "2026-02-30T00:00:00Z"}, "mismatched"),
        ({"id": 1, "when": "2026-03-09T12:00:00"}, "mismatched"),
        ({"id": 1, "when": "2026-03-09T12:00:00Z"}, "matched"),
        ({"when": "2026-03-09T12:00:00Z"}, "mismatched"),
    ],
)
async def test_a_format_is_enforced(subject: Any, outcome: str, recorded: Recorded) -> None:
    async def body(t: EvalContext) -> None:
        t.check(subject, matches(ORDER))

    (entry,) = (await recorded(body)).assertions
    assert entry.evaluation.outcome == outcome


def test_what_is_allowed_by_name_may_be_there() -> None:
    assert matches({"type": "object", "require": ["id"]}, allow=["require"]).evaluate({}).outcome == "matched"
