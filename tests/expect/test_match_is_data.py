"""Every built-in match is data: its repr, its spec, its fingerprint, and nothing that can change."""

import datetime
import enum
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pydantic
import pytest

import niceeval_expect
from niceeval_expect import (
    Match,
    absent,
    all_of,
    any_of,
    arg,
    at,
    between,
    cites_only,
    close_to,
    closed_qa,
    command_match,
    command_succeeded,
    contains,
    define_judge,
    define_score_match,
    define_value_match,
    ends_with,
    equals,
    event_match,
    every,
    every_claim_cited,
    excludes,
    factuality,
    field_order,
    forbids,
    from_spec,
    has_keys,
    has_sections,
    includes,
    includes_all,
    includes_any,
    includes_url,
    is_defined,
    is_false,
    is_instance,
    is_true,
    json_match,
    json_text,
    keys_exactly,
    length,
    matches,
    non_empty,
    normalized,
    not_,
    number_in_text,
    numbers_from,
    occurs,
    one_of,
    pattern,
    preserves_digits,
    quotes_from,
    references_any_path,
    reveals_nothing_of,
    same_arguments,
    same_call,
    same_date,
    same_instant,
    same_python,
    same_sql,
    satisfies,
    semantic,
    similarity,
    starts_with,
    summarizes,
    tool_match,
    unordered,
)

pytestmark = pytest.mark.anyio

BUILT_IN: list[Match] = [
    equals(None),
    equals(True),
    equals(1),
    equals("1"),
    equals(""),
    equals(-0.5),
    equals(float("nan")),
    equals([float("inf"), float("-inf")]),
    equals(10**5_000),
    equals({"a": [1, {"b": None}], "$": "x"}),
    equals({1: "int key", "1": "text key"}),
    equals({"b", "a"}),
    equals(b"\x00\xff"),
    equals(Decimal("1.10")),
    equals(datetime.datetime(2026, 8, 1, 12, tzinfo=datetime.UTC)),
    equals(datetime.date(2026, 8, 1)),
    equals("\ud83d\ude00"),
    equals("😀"),
    equals("line\nbreak \x00 \x1b[31m"),
    one_of(["a", 1, None, {"b": [True]}]),
    one_of({"a"}),
    between(0, 1),
    between(-1.5, 2),
    length(at_least=1, at_most=3),
    length(exactly=0),
    is_defined(),
    is_true(),
    is_false(),
    includes("done"),
    includes("d\u00f6ne \ud800", casefold=True, normalize="NFKC", strip_invisible=True),
    excludes("done"),
    excludes("done", normalize="NFC"),
    pattern(r"ORD-\d{6}"),
    pattern(
        r"(?P<n>\d+) (\w)", full=True, ascii=True, groups={"n": "4", 2: pattern("x"), 0: length(exactly=3)}, budget=1.0
    ),
    pattern(re.compile("a # b", re.VERBOSE | re.IGNORECASE)),
    pattern("\ud800|'\""),
    similarity("reference"),
    similarity("").at_least(0),
    similarity("reference").at_most(0.25),
    matches({"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}),
    matches('{"type": "string", "minLength": 1}'),
    json_match({"a": 1, "list": [pattern("x"), {"deep": one_of([1])}]}),
    json_match([]),
    json_text(),
    json_text(at("order.id", pattern("x")), embedded=True, pick="last"),
    at("items[0].name", "x"),
    at("/items/0", non_empty()),
    at(("a.b", 0), None),
    has_keys("a", "b.c"),
    non_empty(),
    absent(),
    starts_with("Dear"),
    ends_with("\u00f6k", casefold=True, normalize="NFC", strip_invisible=True),
    includes_any(["a", "\ud800"]),
    includes_any(["a", "b"]),
    includes_all(["a", "b"], casefold=True),
    forbids(["a"]),
    occurs("a"),
    occurs("a", casefold=True).exactly(2),
    occurs("a").at_least(1),
    occurs("a").at_most(2),
    occurs("a").between(0, 2),
    includes_url(min=1),
    includes_url(min=2),
    has_sections(min=2),
    length(at_most=40, unit="words"),
    length(exactly=2, unit="sentences"),
    normalized("Billing", rules=["case", "whitespace"]),
    normalized("5 kg", rules=["units"]),
    close_to(0.1, abs=0.05),
    close_to(Decimal("0.10"), rel=0.01, abs=1),
    number_in_text(1500),
    number_in_text(-0.5, decimal=",", percent="ratio", abs=0.01, rel=0.1),
    same_date("2026-03-09"),
    same_date(datetime.date(2026, 3, 9), day_first=False),
    same_instant("2026-03-09T12:00:00Z"),
    same_instant(datetime.datetime(2026, 3, 9, 12, tzinfo=datetime.UTC)),
    same_instant(1773057600.5, unit="ms"),
    contains(1),
    contains(json_match({"a": 1})),
    every(pattern("x")),
    every(None, if_any=True),
    unordered(["a", "b"]),
    unordered([1, {"a": 1}, includes("x"), None]),
    keys_exactly("a", "b"),
    field_order("a", before="b"),
    field_order("a", before=["b", "c"]),
    is_instance(str),
    is_instance(datetime.date),
    semantic(matches({"type": "object"}), at("a", between(1, 2)), has_keys("b")),
    semantic(json_text(), equals(1)),
    command_succeeded(),
    tool_match("search"),
    tool_match("search", input={"q": "cats"}, output=includes("x"), status="completed", server="web"),
    tool_match("search", input={}),
    tool_match("search").exactly(2),
    tool_match("search").at_least(1),
    tool_match("search").at_most(3),
    tool_match("search").between(1, 2),
    tool_match("search").every(),
    tool_match("search").every(if_any=True),
    tool_match("refund") & arg("order_id").came_from("session"),
    arg(("items", 0)).came_from(tool_match("lookup", status="completed")),
    command_match("git", ["push"], excludes=["--force"], at="argv"),
    references_any_path(["/etc", ".env"], cwd="/srv"),
    same_arguments({"properties": {"n": {"default": 1}}}, {"n": 2}, alternatives={"n": [3]}),
    event_match("message", role="assistant", text=includes("x")),
    event_match("tool_call_started", tool=tool_match("search")),
    event_match("error"),
    includes("a") & excludes("b"),
    includes("a") | ~equals({"x": 1}),
    all_of(is_true()),
    any_of(tool_match("a"), tool_match("b")),
    any_of(tool_match("a"), ~tool_match("b")).exactly(1),
    not_(event_match("error")),
    ~similarity("x").at_least(0.5),
    cites_only([4102, "4188"]),
    cites_only([], marker=r"<(\w+)>", min_citations=1),
    every_claim_cited(),
    every_claim_cited(marker="x", is_claim=pattern(r"\d"), if_any=True, language="de"),
    numbers_from("1 and 2"),
    numbers_from(["1", "2"], skip=r"\[\d+\]", decimal=","),
    preserves_digits("1 and 2"),
    preserves_digits(["1", "2"]),
    quotes_from("a source"),
    quotes_from(["a", "b"], min_words=3),
    reveals_nothing_of("never say this", min_run=3),
    reveals_nothing_of("never say this", min_run=10, unit="characters"),
    same_call("f(1, b='x')"),
    same_call("f(1)", signature="(a, b=2)", defaults=False, exact_numbers=True, fenced=True),
    same_python("x = 1"),
    same_python("x = 1", docstrings=True, fenced=True),
    same_sql("SELECT a FROM t"),
    same_sql("SELECT a FROM t", dialect="postgres", column_names=True, fenced=True),
    closed_qa("Is it polite?"),
    factuality("At the depot.").at_least(0.7),
    ~summarizes("A source.").at_most(0.2),
    define_judge("polite", "{{x}} {output}", choices={"yes": 1.0, "no": 0.0}),
    define_judge("stars", "{output}", scale=(1, 5)).at_least(0.5),
]

NAMES = {**vars(niceeval_expect), "datetime": datetime, "Decimal": Decimal, "re": re}


def breaks(_: object) -> bool:
    raise LookupError("no such row")


class Order(pydantic.BaseModel):
    id: int


OF_CODE: list[Match] = [
    satisfies("is positive", breaks),
    define_value_match(breaks)([1, 2], limit={"a": 1}),
    define_score_match(lambda text, letter: text.count(letter) / len(text), name="share")("a"),
    define_score_match(lambda text: 0.5, name="half")().at_least(0.5),
    matches(Order),
    is_instance(Order),
    semantic(matches(Order), equals(1)),
    json_text(matches(Order)),
    json_match({"a": satisfies("is positive", breaks)}),
    every_claim_cited(is_claim=breaks),
    same_call("breaks(1)", signature=breaks),
]

every_match = pytest.mark.parametrize("match", BUILT_IN, ids=[f"{i}-{m!r:.60}" for i, m in enumerate(BUILT_IN)])


def test_the_table_holds_every_public_factory() -> None:
    factories = {
        name
        for name in niceeval_expect.__all__
        if callable(made := getattr(niceeval_expect, name)) and not isinstance(made, type) and name.islower()
    }
    used = {name for match in [*BUILT_IN, *OF_CODE] for name in re.findall(r"\b[a-z_]+(?=\()", repr(match))}
    made_by_a_definition = {"define_value_match", "define_score_match", "from_spec", "register_match"}
    assert factories - used - made_by_a_definition == set()


@every_match
def test_the_repr_is_the_call_that_makes_an_equal_match(match: Match) -> None:
    made = eval(repr(match), dict(NAMES))
    assert made == match
    assert repr(made) == repr(match)


@every_match
def test_the_spec_is_ascii_json_and_rebuilds_an_equal_match(match: Match) -> None:
    # No lone surrogate is left in it: any JSON library can write it.
    assert json.dumps(match.spec(), allow_nan=False, ensure_ascii=False).encode()
    for stored in (match.spec(), json.loads(json.dumps(match.spec(), allow_nan=False))):
        rebuilt = from_spec(stored)
        assert rebuilt == match
        assert rebuilt.fingerprint == match.fingerprint
        assert rebuilt.spec() == match.spec()
        assert type(rebuilt) is type(match)
    assert match.canonical_spec.isascii()
    assert json.loads(match.canonical_spec) == match.spec()


@every_match
def test_a_match_is_equal_to_and_hashes_like_its_twin_only(match: Match) -> None:
    twin = from_spec(match.spec())
    assert hash(twin) == hash(match)
    assert [other for other in BUILT_IN if other == twin] == [match]
    assert {match, twin} == {match}
    assert match != match.fingerprint
    assert re.fullmatch("[0-9a-f]{32}", match.fingerprint)


@pytest.mark.parametrize(
    ("match", "family", "outside"),
    [
        (similarity("x").at_least(0.5), "referential", True),
        (define_score_match(lambda text: 0.5, name="half")().at_most(1), "structural", False),
        (includes("a") & excludes("b"), "lexical", False),
        (includes("a") & equals("b"), "structural", True),
        (equals("a") | ~equals("b"), "referential", True),
        (~pattern("x"), "lexical", False),
        (json_text() & includes("x"), "structural", False),
        (tool_match("x").exactly(1), "structural", False),
        (arg("id").came_from("session").every(), "referential", True),
        (any_of(event_match("error"), event_match("thinking")), "structural", False),
        (at("a", includes("x")), "structural", False),
        (at("a", equals(1)), "structural", True),
    ],
    ids=repr,
)
def test_the_family_of_what_is_made_of_matches_is_what_its_parts_have_in_common(
    match: Match, family: str, outside: bool
) -> None:
    assert (match.family, match.reaches_outside) == (family, outside)


@every_match
def test_a_match_is_frozen_and_has_no_room_for_more(match: Match) -> None:
    before = match.fingerprint
    for name in ("more", "_text", "_expected", *getattr(type(match), "__slots__", ())):
        with pytest.raises(AttributeError):
            setattr(match, name, "changed")
    assert not hasattr(match, "__dict__")
    assert from_spec(match.spec()).fingerprint == before


@every_match
def test_changing_the_spec_that_was_returned_changes_no_match(match: Match) -> None:
    before = json.dumps(match.spec())
    spoil(match.spec())
    assert json.dumps(match.spec()) == before
    assert from_spec(json.loads(before)) == match


def spoil(data: Any) -> None:
    for child in list(data.values()) if isinstance(data, dict) else list(data):
        if isinstance(child, dict | list):
            spoil(child)
    data.clear()


@pytest.mark.parametrize("match", OF_CODE, ids=repr)
def test_code_inside_a_spec_is_named_and_cannot_be_rebuilt_without_it(match: Match) -> None:
    spec = json.loads(json.dumps(match.spec(), allow_nan=False))
    with pytest.raises(ValueError, match=r"code|class|model") as refusal:
        from_spec(spec)
    assert __name__.rpartition(".")[2] in str(refusal.value) or "lambda" in str(refusal.value)
    assert '"digest":' in match.canonical_spec


def test_different_code_gives_different_matches() -> None:
    assert satisfies("same", breaks) == satisfies("same", breaks)
    assert satisfies("same", breaks) != satisfies("same", lambda _: True)
    assert satisfies("same", breaks) != satisfies("other", breaks)

    def closes_over(limit: int) -> Match:
        return satisfies("below the limit", lambda value: value < limit)

    assert closes_over(1) == closes_over(1)
    assert closes_over(1) != closes_over(2)


class Level(enum.Enum):
    LOW = "low"


CHANGED: dict[str, Callable[[list[Any], dict[str, Any]], Match]] = {
    "equals": lambda items, record: equals({"items": items, "record": record}),
    "one_of": lambda items, record: one_of([items, record]),
    "options": lambda items, record: one_of(items),
    "json_match": lambda items, record: json_match({"items": items, "record": record}),
    "schema": lambda items, record: matches({"enum": [items, record]}),
    "at": lambda items, record: at("x", {"items": items, "record": record}),
    "input": lambda items, record: tool_match("search", input=record, output=items),
    "groups": lambda items, record: pattern("(a)", groups={0: items, 1: record}),
    "arguments": lambda items, record: define_value_match(breaks)(items, record=record),
    "set": lambda items, record: equals({"set": {1, 2}, "record": record}),
    "keys": lambda items, record: json_text(has_keys(*record) & equals(record)),
}


@pytest.mark.parametrize("build", CHANGED.values(), ids=CHANGED.keys())
def test_what_is_done_to_an_argument_later_does_not_leak_in(build: Callable[..., Match]) -> None:
    items: Any = ["a", ["b"]]
    record: Any = {"id": 1, "tags": ["x"], "deep": {"level": Level.LOW.value}}
    match, untouched = build(items, record), build(["a", ["b"]], json.loads(json.dumps(record)))
    items[1].append("more")
    items.append("more")
    record["deep"]["level"] = "high"
    record["tags"] = None
    assert match == untouched
    assert repr(match) == repr(untouched)
    assert match.spec() == untouched.spec()


def test_a_fingerprint_is_the_same_in_another_process() -> None:
    code = (
        "from niceeval_expect import *\n"
        "print(equals({'b', 'a', 'c'}).fingerprint, one_of({'x', 'y', 'z'}).fingerprint, "
        "json_match({'b': {1, 2, 3}, 'a': pattern('x')}).fingerprint)"
    )
    here = [
        equals({"b", "a", "c"}).fingerprint,
        one_of({"x", "y", "z"}).fingerprint,
        json_match({"b": {1, 2, 3}, "a": pattern("x")}).fingerprint,
    ]
    root = str(Path(niceeval_expect.__file__).parents[1])
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": root}
        ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert ran.stdout.split() == here


@pytest.mark.parametrize(
    ("spec", "hint"),
    [
        ({}, 'a mapping with a "match" name'),
        ({"match": 7}, 'a mapping with a "match" name'),
        ("includes", 'a mapping with a "match" name'),
        ({"match": "include", "text": "x"}, "no match named 'include' is known"),
        ({"match": "includes"}, "lacks 'text'"),
        ({"match": "includes", "text": ""}, "blank"),
        ({"match": "includes", "text": "x", "loudly": True}, "does not rebuild"),
        ({"match": "pattern", "regex": "("}, "cannot be used"),
    ],
)
def test_a_spec_that_is_none_is_refused_with_what_is_wrong(spec: Any, hint: str) -> None:
    with pytest.raises(ValueError, match=re.escape(hint)):
        from_spec(spec)


async def test_one_match_object_serves_a_thousand_concurrent_tasks() -> None:
    calls: list[int] = []

    async def is_even(number: int) -> bool:
        calls.append(number)
        await anyio.lowlevel.checkpoint()
        return number % 2 == 0

    parity = satisfies("is even", is_even)
    nested = json_match({"n": parity, "text": pattern(r"n=(\d+)", groups={1: length(at_most=2)})})
    twice = nested & ~at("n", equals(500))
    found: dict[int, str] = {}

    async def work(number: int) -> None:
        evaluation = await twice.evaluate_async({"n": number, "text": f"n={number}"})
        found[number] = evaluation.outcome

    async with anyio.create_task_group() as group:
        for number in range(1_000):
            group.start_soon(work, number)
    expected = {n: "matched" if n % 2 == 0 and n < 100 else "mismatched" for n in range(1_000)}
    assert found == expected
    assert sorted(calls) == list(range(1_000))
