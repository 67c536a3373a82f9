"""Numbers in text: whole numbers are compared, never digits, and what cannot be read says so."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from niceeval import AttemptResult, EvalContext
from niceeval_expect import ValueMatch, equals, from_spec, includes, number_in_text, numbers_from, pattern

pytestmark = pytest.mark.anyio
Recorded = Callable[..., Awaitable[AttemptResult]]

ARABIC = "\u0664\u0662"

CASES: list[tuple[ValueMatch, str, str]] = [
    (number_in_text(7), "The total is 17.", "mismatched"),
    (number_in_text(7), "The total is 71.", "mismatched"),
    (number_in_text(7), "The total is 7.", "matched"),
    (number_in_text(7), "A-7", "mismatched"),
    (number_in_text(-4), "it is 4", "mismatched"),
    (number_in_text(4), "it fell to -4 overnight", "mismatched"),
    (number_in_text(-4), "it fell to -4 overnight", "matched"),
    (number_in_text(-4), "it fell to \u22124 overnight", "matched"),
    (number_in_text(3.5), "13.5", "mismatched"),
    (number_in_text(3.5), "3.50", "matched"),
    (number_in_text(12), "(12).", "matched"),
    (number_in_text(12), "12!", "matched"),
    (number_in_text(60), "60%", "mismatched"),
    (number_in_text(0.6), "60%", "mismatched"),
    (number_in_text(60, percent="number"), "60%", "matched"),
    (number_in_text(0.6, percent="ratio"), "60%", "matched"),
    (number_in_text(60, percent="ratio"), "60%", "mismatched"),
    (number_in_text(1500), "1,500 EUR", "matched"),
    (number_in_text(500), "1,500 EUR", "mismatched"),
    (number_in_text(1.5), "1,5", "mismatched"),
    (number_in_text(1.5, decimal=","), "1,5", "matched"),
    (number_in_text(42), f"المجموع {ARABIC}", "matched"),
    (number_in_text(4), f"المجموع {ARABIC}", "mismatched"),
    (number_in_text(42), "\u0664\u06f2", "mismatched"),
    (number_in_text(2), "\u00b2", "mismatched"),
    (number_in_text(0.5), "\u00bd", "mismatched"),
    (number_in_text(1), "\u2460 \u4e00 I", "mismatched"),
    (number_in_text(42), "no number at all", "mismatched"),
    (numbers_from(f"المجموع {ARABIC}"), "42", "matched"),
    (numbers_from("17"), "7", "mismatched"),
    (includes("7"), "The total is 17.", "matched"),
    (equals(ARABIC), "42", "mismatched"),
    (pattern(r"(\d+)", groups={1: ARABIC}), f"المجموع {ARABIC}", "matched"),
]


@pytest.mark.parametrize(("match", "text", "outcome"), CASES, ids=[f"{match!r}-{text}" for match, text, _ in CASES])
async def test_the_answer_is_the_same_live_and_from_what_was_stored(
    match: ValueMatch, text: str, outcome: str, recorded: Recorded
) -> None:
    async def body(t: EvalContext) -> None:
        t.check(text, match)

    (entry,) = (await recorded(body)).assertions
    assert entry.evaluation.outcome == outcome
    rebuilt: Any = from_spec(entry.match)
    assert rebuilt.evaluate(entry.subject.value()).outcome == outcome


@pytest.mark.parametrize(
    ("match", "text", "shown"),
    [
        (number_in_text(7), "The total is 17 of 20.", ["17", "20"]),
        (number_in_text(60), "60%", ["60%", "percent="]),
        (number_in_text(2), "\u00b2", ["\u00b2"]),
        (number_in_text(1), "none", ["no number"]),
        (equals(ARABIC), "42", ["U+0664", "U+0034"]),
    ],
)
def test_a_failure_shows_what_was_read(match: ValueMatch, text: str, shown: list[Any]) -> None:
    said = str(match.evaluate(text))
    for part in shown:
        assert part in said
