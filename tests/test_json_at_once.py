"""Data is written at once as the careful encoder writes it: ASCII that reads back the same."""

import json
from enum import StrEnum
from typing import Any

import pytest

from niceeval.entry_documents import to_json, to_json_at_once


class Status(StrEnum):
    COMPLETED = "completed"


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "data",
    [
        {"input": "Where is it?", "calls": [{"name": "lookup", "input": {"id": 7, "open": None}}], "duration": 6.8e-05},
        {"text": "é", "é": "\U0001f600"},
        {"half": "\ud800"},
        {"marks": '\x00\x08\x1f\x7f"\\/\u2028'},
        [10**30, -(10**700), 1e300, 5e-324, -0.0, 0.1, 1e16, True, None],
        {"status": Status.COMPLETED},
        nested(400),
        {},
        "text",
    ],
    ids=lambda data: repr(data)[:30].encode("ascii", "backslashreplace").decode(),
)
def test_it_reads_back_the_same(data: Any) -> None:
    text = to_json_at_once(data)
    assert text.isascii()
    assert json.loads(text) == json.loads(to_json(data))
