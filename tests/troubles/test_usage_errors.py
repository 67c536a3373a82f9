"""Checks that could only ever pass, or never: refused where they are written."""

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from niceeval import AttemptResult, EvalContext
from niceeval_expect import (
    all_of,
    any_of,
    at,
    equals,
    excludes,
    has_keys,
    includes,
    json_match,
    json_text,
    length,
    matches,
    not_,
    one_of,
    pattern,
    similarity,
    tool_match,
)

pytestmark = pytest.mark.anyio
Recorded = Callable[..., Awaitable[AttemptResult]]

REFUSED: list[tuple[str, Callable[[], Any], str]] = [
    ("empty needle", lambda: includes(""), "blank"),
    ("blank needle", lambda: includes("   "), "blank"),
    ("blank needle in a denial", lambda: excludes("\n"), "blank"),
    ("a list of needles", lambda: excludes([]), "text"),  # type: ignore[arg-type]
    ("a value as a needle", lambda: includes(True), "equals"),  # type: ignore[arg-type]
    ("empty expression", lambda: pattern(""), "blank"),
    ("no options", lambda: one_of([]), "no options"),
    ("a text as options", lambda: one_of("cat"), "list"),
    ("no keys", lambda: has_keys(), "no key"),
    ("no parts", lambda: all_of(), "at least one"),
    ("no alternatives", lambda: any_of(), "at least one"),
    ("no bound", lambda: length(), "bound"),
    ("a schema that checks nothing", lambda: matches({}), "checks nothing"),
    ("a misspelled keyword", lambda: matches({"type": "object", "require": ["id"]}), "required"),
    ("an unknown format", lambda: matches({"type": "string", "format": "datetime"}), "date-time"),
    ("a remote reference", lambda: matches({"$ref": "https://example.invalid/s.json"}), "not fetched"),
    ("a threshold that is no number", lambda: similarity("a").at_least(float("nan")), "0 to 1"),
    ("a threshold that is true", lambda: similarity("a").at_least(True), "0 to 1"),
    ("no call, as a count", lambda: tool_match("a").exactly(0), "not_called_tool"),
    ("a negative count", lambda: tool_match("a").at_least(-1), "never negative"),
    ("a blank tool", lambda: tool_match(" "), "blank"),
    # A match or an expression inside plain data would be compared, and a denial of it would always hold.
    ("a match to equal", lambda: equals(includes("x")), "match itself"),
    ("a match inside data to equal", lambda: equals({"q": [includes("x")]}), "json_match"),
    ("a match as an option", lambda: one_of(["a", includes("x")]), "any_of"),
    ("a match inside arguments", lambda: tool_match("search", input={"q": includes("x")}), "json_match"),
    ("an expression inside arguments", lambda: tool_match("sh", input={"q": re.compile("rm")}), "json_match"),
    ("an expression as an output", lambda: tool_match("sh", output=re.compile("^ok")), "pattern"),
    ("a match inside a part", lambda: at("a", {"q": includes("x")}), "json_match"),
    ("an expression inside parsed data", lambda: json_text({"q": re.compile("x")}), "json_match"),  # type: ignore[call-overload]
    ("a text among matches", lambda: not_("x"), "equals"),  # type: ignore[call-overload]
]


@pytest.mark.parametrize(("make", "says"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
async def test_it_is_refused_and_the_attempt_names_the_line(
    make: Callable[[], Any], says: str, recorded: Recorded
) -> None:
    with pytest.raises((TypeError, ValueError), match=says):
        make()

    async def body(t: EvalContext) -> None:
        t.check("a", equals("a"))
        t.check("a", make())

    result = await recorded(body)
    assert result.verdict == "errored"
    assert says in (result.reason or "")
    assert Path(__file__).name in (result.error or {})["traceback"]


def test_matches_inside_a_pattern_are_asked() -> None:
    call = json_match({"q": includes("x"), "page": re.compile("^1$")})
    assert call.evaluate({"q": "six", "page": "1"}).outcome == "matched"
    assert json_text(json_match({"q": re.compile("x")})).evaluate('{"q": "six"}').outcome == "matched"
