"""JSON in prose, in fences, cut short: never the wrong value, never a fragment."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from niceeval import AttemptResult, EvalContext
from niceeval_expect import at, equals, is_defined, json_text, matches, not_

pytestmark = pytest.mark.anyio
Recorded = Callable[..., Awaitable[AttemptResult]]

TWO = 'Draft {skip this}. Answer: {"city":"Oslo","hint":"use } or {"} (shape: {"type":"object"})'
CUT = '```json\n{"status":"done","items":[{"id":1},{"id":2'
INNER = matches({"type": "object", "required": ["id"]})


@pytest.mark.parametrize(
    ("reply", "pick", "value"),
    [
        (TWO, "first", {"city": "Oslo", "hint": "use } or {"}),
        (TWO, "last", {"type": "object"}),
        ('```bash\necho {}\n```\n```json\n{"steps":2}\n```', None, {"steps": 2}),
        ('````json\n{"s":"```"}\n````', None, {"s": "```"}),
        ('{"note":"```json\\n{\\"x\\":1}\\n```"}', None, {"note": '```json\n{"x":1}\n```'}),
        ('```json\n{"a":1}\n```\n```json\n{"b":2}\n```', "first", {"a": 1}),
        ('```json\n{"a":1}\n```\n```json\n{"b":2}\n```', "last", {"b": 2}),
        ('~~~json\n{"a":1}\n~~~', None, {"a": 1}),
        ('```JSON\r\n{"a":1}\r\n```', None, {"a": 1}),
        ('As [1] says: {"a":1}', None, {"a": 1}),
        ('<answer>{"a":"}"}</answer>', None, {"a": "}"}),
        ('1. so:\n   ```json\n   {"a":1}\n   ```', None, {"a": 1}),
    ],
)
async def test_the_value_that_is_meant_is_found(reply: str, pick: Any, value: object, recorded: Recorded) -> None:
    yielded: list[object] = []

    async def body(t: EvalContext) -> None:
        yielded.append(await t.check(reply, json_text(equals(value), embedded=True, pick=pick)).or_stop())

    assert (await recorded(body)).verdict == "passed"
    assert yielded == [value]


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (TWO, "ambiguous: 2 JSON objects"),
        ('```json\n{"a":1}\n```\n```json\n{"b":2}\n```', "ambiguous: 2 JSON blocks"),
        ('{"a":1}{"b":2}', "ambiguous: 2 JSON objects"),
        ("see [1, 2] and [3]", "ambiguous: 2 JSON arrays"),
        ("no value here", "no JSON value"),
        ('Answer: {"p": NaN}', "not JSON"),
        ('Answer: {"a":1,}', "trailing comma"),
        ('Answer: {"a":1,"a":2}', "twice"),
        ("```json\n\n```", "blank"),
    ],
)
async def test_what_is_not_one_value_is_a_mismatch_with_its_reason(reply: str, says: str, recorded: Recorded) -> None:
    async def body(t: EvalContext) -> None:
        t.check(reply, json_text(embedded=True))
        t.check(reply, not_(json_text(embedded=True)))

    asked, denied = (await recorded(body)).assertions
    assert (asked.evaluation.outcome, denied.evaluation.outcome) == ("mismatched", "matched")
    assert says in str(asked.evaluation)


@pytest.mark.parametrize("pick", [None, "first", "last"])
@pytest.mark.parametrize(
    "reply",
    [
        CUT,
        CUT[8:],
        f"Here it is: {CUT[8:]}",
        '{"items":[{"id":1}],"more":{"id":',
        '[{"id":1},{"id":2}',
        '{"wrapped":{"id":1}',
        '```json\n{"list":[{"id":1}]',
    ],
)
async def test_an_answer_cut_short_never_passes_on_a_fragment(reply: str, pick: Any, recorded: Recorded) -> None:
    async def body(t: EvalContext) -> None:
        t.check(reply, json_text(INNER, embedded=True, pick=pick))
        t.check(reply, json_text(at("id", is_defined()), embedded=True, pick=pick))

    result = await recorded(body)
    assert result.verdict == "failed"
    assert {item.evaluation.outcome for item in result.assertions} == {"mismatched"}
    assert "input ended at character" in str(result.assertions[0].evaluation)


async def test_a_whole_value_before_a_cut_one_counts_only_where_the_first_is_asked_for(recorded: Recorded) -> None:
    reply = '{"id":1} and then {"items":[{"id":2}'

    async def body(t: EvalContext) -> None:
        for pick in (None, "first", "last"):
            t.check(reply, json_text(INNER, embedded=True, pick=pick)).key(str(pick))

    found = {item.key: item.evaluation.outcome for item in (await recorded(body)).assertions}
    assert found == {"None": "mismatched", "first": "matched", "last": "mismatched"}
