"""A record proves itself: every outcome again from what was stored, whatever the match, and what was altered is found."""

import datetime
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import niceeval_expect
from niceeval import (
    CommandResult,
    EvalContext,
    Message,
    Reply,
    ScriptedAgent,
    Thinking,
    ToolCall,
    ToolCallFinished,
    ToolCallStarted,
    Usage,
    define_eval,
    define_score_eval,
    register_secret,
    run_eval,
    transcript_from_openai,
)
from niceeval.errors import RecordWarning
from niceeval.redaction import forget_secrets
from niceeval.verify import Verification, verify_run
from niceeval_expect import (
    Absent,
    Evaluation,
    ValueMatch,
    absent,
    all_of,
    any_of,
    arg,
    at,
    between,
    cites_only,
    close_to,
    command_match,
    command_succeeded,
    contains,
    ends_with,
    equals,
    event_match,
    every,
    every_claim_cited,
    excludes,
    field_order,
    forbids,
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
    tool_match,
    unordered,
)

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).parents[1]
NOON = datetime.datetime(2026, 3, 9, 12, tzinfo=datetime.UTC)
PROMPT = "You are Ada. Never mention the discount code SPRING-25."

# A match, a value that it matches and one that it does not; every one is unavailable where the value never came.
VALUES: list[tuple[ValueMatch, Any, Any]] = [
    (at("b", absent()), {"a": 1}, {"b": None}),
    (all_of(includes("a"), excludes("b")), "a", "ab"),
    (any_of(equals(1), equals(2)), 2, 3),
    (at("a[0].b", 1), {"a": [{"b": 1.0}]}, {"a": []}),
    (between(0, 1), Decimal("0.5"), float("nan")),
    (cites_only([4102]), "Thirty days [4102].", "Thirty days [3901]."),
    (close_to(0.1, abs=0.05), 0.12, float("inf")),
    (command_match("rm", ["-rf"]), "ls && rm -rf /", {"command": "rm -r"}),
    (command_succeeded(), CommandResult(["x"], 0, stdout="ok"), CommandResult(["x"], None, stderr="killed")),
    (contains({"a": 1}), [{"a": 1}], ({"a": "1"},)),
    (ends_with("?"), "So?", "So."),
    (equals({"a": {1, 2}, "b": NOON, "c": (b"x", Decimal("0.1"))}),
     {"a": {2, 1}, "b": NOON, "c": (b"x", 0.1)}, {"a": [1, 2], "b": NOON, "c": []}),
    (every(between(0, 9)), [1, 2], [1, 10]),
    (every_claim_cited(), "It is so [1].", "It is so."),
    (excludes("done"), "x", "done"),
    (field_order("a", before="b"), {"a": 1, "b": 2}, {"b": 2, "a": 1}),
    (forbids(["x", "y"]), "z", "xyz"),
    (has_keys("a", "b"), {"a": 0, "b": None}, {"a": 0}),
    (has_sections(min=2), "# A\n\n# B\n", "# A\n"),
    (includes("d\u00f6ne", normalize="NFC"), "do\u0308ne \ud800", "done"),
    (includes_all(["a", "b"]), "ba", "a"),
    (includes_any(["a", "b"]), "b", "c"),
    (includes_url(), "https://shop.example/", "shop.example"),
    (is_defined(), 0, None),
    (is_false(), False, 0),
    (is_instance(str), "", b""),
    (is_true(), True, 1),
    (json_match({"a": pattern("x"), "b": [1]}), {"a": "xx", "b": [1], "c": 0}, {"a": "y", "b": [1, 2]}),
    (json_text(at("a", 1), embedded=True), 'So: {"a": 1}', 'So: {"a": NaN}'),
    (keys_exactly("a"), {"a": None}, {"a": None, "b": None}),
    (length(at_most=2, unit="words"), "a b", "a b c"),
    (matches({"type": "integer", "minimum": 1}), 10**30, -1),
    (non_empty(), "x", " "),
    (normalized("Billing", rules=["case"]), "BILLING", "Bill"),
    (not_(includes("x")), "y", "x"),
    (number_in_text(1500), "1,500 EUR", "1.5"),
    (numbers_from("30 days"), "30", "14"),
    (occurs("a").exactly(2), "aa", "a"),
    (one_of(["a", None]), None, "b"),
    (pattern(r"(?P<n>\d+)", groups={"n": "12"}), "x12", "x"),
    (preserves_digits("1 and 2"), "2, 1", "1"),
    (quotes_from("word for word"), 'He said "for word".', 'He said "no words here".'),
    (references_any_path(["/etc"]), {"path": "/etc/passwd"}, {"path": "/etcetera"}),
    (reveals_nothing_of(PROMPT, min_run=4), "No code.", "I am to never mention the discount code."),
    (same_arguments({"properties": {"n": {"default": 1}}}, {"n": 1}), {}, {"n": 2}),
    (same_call("f(a=1)", signature="(a, b=2)"), "f(1, 2)", "not a call"),
    (same_date("2026-03-09"), datetime.date(2026, 3, 9), "2026-03-10"),
    (same_instant("2026-03-09T12:00:00Z"), NOON, NOON.replace(tzinfo=None)),
    (same_python("x = 1"), "x=1", "x = 2"),
    (same_sql("SELECT a FROM t"), "select a from t", "select b from t"),
    (semantic(matches({"type": "object"}), at("a", between(1, 2))), {"a": 1}, {"a": 0}),
    (similarity("colour").at_least(0.8), "color", "x"),
    (starts_with("a"), "ab", "ba"),
    (unordered(["a", includes("b")]), ["bb", "a"], ["a", "a"]),
]  # fmt: skip

LOOKUP = ToolCall("lookup", {"name": "Ada"}, {"orders": ["A-2231"]}, status="completed", server="shop", id="l")
REFUND = ToolCall("refund", {"order_id": "A-2231", "total": 89}, Absent("lost"), status="failed")
PENDING = ToolCall("pay", {"cents": 100})
BROKEN = ToolCall.unreadable("weather", '{"city": "Par', "its arguments end early")
EVENTS = (
    ToolCallStarted(LOOKUP), ToolCallFinished(LOOKUP), Thinking("hm"), ToolCallStarted(REFUND),
    ToolCallFinished(REFUND), Message("assistant", "Done."),
)  # fmt: skip
KNOWN = Reply(
    "Done.", tool_calls=[LOOKUP, REFUND], events=EVENTS, usage=Usage(input_tokens=900, output_tokens=100, cost_usd=0.02)
)
UNREPORTED = Reply("Sure.", status="completed")
QUIET = Reply("Shall I?", tool_calls=[], status="waiting")
LOOPING = Reply("Once more.", tool_calls=[LOOKUP, LOOKUP, LOOKUP])
UNSURE = Reply("Hm.", tool_calls=[PENDING, BROKEN])
GROUNDED = tool_match("refund") & arg("order_id").came_from("session")

# A claim about what happened, by how it comes out over the known, the unsure and the unreported turn.
CLAIMS: dict[str, list[Callable[[Any], Any]]] = {
    "succeeded": [lambda t: t.succeeded()],
    "called_tool": [
        lambda t: t.called_tool("lookup"),
        lambda t: t.called_tool(tool_match("refund", input={"order_id": "A-2231", "total": 89.0}).exactly(1)),
        lambda t: t.called_tool(tool_match("lookup", output={"orders": ["x"]}, server="shop").at_most(1)),
        lambda t: t.called_tool(any_of(tool_match("refund"), ~tool_match("lookup")).between(2, 3)),
        lambda t: t.called_tool(tool_match("weather", input={"city": "Paris"}).every()),
        lambda t: t.called_tool(tool_match("lookup", status="completed").at_least(1)),
        lambda t: t.called_tool(GROUNDED.every()),
    ],
    "not_called_tool": [lambda t: t.not_called_tool("delete"), lambda t: t.not_called_tool(tool_match("lookup"))],
    "tool_order": [
        lambda t: t.tool_order("lookup", "refund"),
        lambda t: t.tool_order("refund", "lookup"),
        lambda t: t.tool_order("lookup", "refund", finished=True),
    ],
    "tool_calls_unordered": [
        lambda t: t.tool_calls_unordered(["refund", "lookup"]),
        lambda t: t.tool_calls_unordered(["refund", "refund"], only=True),
    ],
    "used_no_tools": [lambda t: t.used_no_tools()],
    "max_tool_calls": [lambda t: t.max_tool_calls(2), lambda t: t.max_tool_calls(1)],
    "no_failed_actions": [lambda t: t.no_failed_actions()],
    "no_loops": [lambda t: t.no_loops(), lambda t: t.no_loops(max_repeats=1, similarity=0.5)],
    "event": [
        lambda t: t.event(event_match("message", role="assistant", text=includes("Done"))),
        lambda t: t.event(event_match("thinking")),
        lambda t: t.event(event_match("tool_call_started", tool=tool_match("refund")) | event_match("error")),
    ],
    "not_event": [lambda t: t.not_event(event_match("error")), lambda t: t.not_event(event_match("thinking"))],
    "event_order": [lambda t: t.event_order(event_match("thinking"), event_match("message", role="assistant"))],
    "max_tokens": [lambda t: t.max_tokens(1_000), lambda t: t.max_tokens(10)],
    "max_cost": [lambda t: t.max_cost(0.02), lambda t: t.max_cost(0.01)],
}  # fmt: skip
REPLIES = {
    "known: refund A-2231": KNOWN,
    "quiet": QUIET,
    "looping": LOOPING,
    "unsure": UNSURE,
    "unreported": UNREPORTED,
}
OBSERVED = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]


@define_eval
async def everything(t: EvalContext) -> None:
    for number, (match, good, bad) in enumerate(VALUES):
        t.check(good, match).key(f"{number} good")
        t.check(bad, match).key(f"{number} bad")
        t.check(Absent("nothing came"), match).key(f"{number} absent")
    t.check(Absent("nothing came"), similarity("x"))
    t.check("y", similarity("x"))
    for reply in REPLIES:
        with t.group(reply):
            session = t.new_session()
            turn = await session.send(reply)
            for claims in CLAIMS.values():
                for claim in claims:
                    for where in (turn, session, t):
                        claim(where)
            t.check(turn.message, includes("Done"))
    t.observe(transcript_from_openai(OBSERVED)).succeeded()


async def recorded(test: Any, folder: Path, who: Any = None) -> Path:
    run = await run_eval(test, agent=who, record=folder / ".niceeval")
    assert run.folder is not None
    return run.folder


def line_of(folder: Path) -> dict[str, Any]:
    (path,) = folder.glob("attempts-*.jsonl")
    document: dict[str, Any] = json.loads(path.read_text())
    return document


def rewrite(folder: Path, change: Callable[[dict[str, Any]], object]) -> Verification:
    """Change the only attempt by hand, and verify the run."""
    document = line_of(folder)
    change(document)
    (path,) = folder.glob("attempts-*.jsonl")
    path.write_text(json.dumps(document) + "\n")
    return verify_run(folder)


async def test_every_match_is_reproduced_in_every_state(tmp_path: Path) -> None:
    folder = await recorded(everything, tmp_path, ScriptedAgent(REPLIES))
    document = line_of(folder)

    assert "error" not in document, document.get("error")
    outcomes = {entry["requirement"]: entry["outcome"] for entry in document["assertions"]}
    for number, (match, *_) in enumerate(VALUES):
        states = [outcomes[f"{number} {state}"] for state in ("good", "bad", "absent")]
        assert (repr(match), states) == (repr(match), ["matched", "mismatched", "unavailable"])
    claimed: dict[str, set[str]] = {}
    for entry in document["assertions"]:
        claimed.setdefault(document["matches"][entry["match"]]["match"], set()).add(entry["outcome"])
    assert {
        name: claimed[name] & {"matched", "mismatched", "unavailable"} for name in CLAIMS if name != "event_order"
    } == {name: {"matched", "mismatched", "unavailable"} for name in CLAIMS if name != "event_order"}

    found = verify_run(folder)
    assert found.differences == ()
    assert found.excluded == {}
    assert found.problems == ()
    assert found.reproduced == found.rederivable == found.entries == len(document["assertions"])


def test_every_match_is_in_the_table() -> None:
    factories = {
        name
        for name in niceeval_expect.__all__
        if callable(made := getattr(niceeval_expect, name)) and not isinstance(made, type) and name.islower()
    }
    source = Path(__file__).read_text(encoding="utf-8")
    table = source.partition("VALUES: ")[2].partition("\n@define_eval")[0]
    used = set(re.findall(r"\b[a-z_]+(?=\()", table))
    of_code = {"satisfies", "define_value_match", "define_score_match", "from_spec", "register_match"}
    of_code |= {"closed_qa", "define_judge", "factuality", "summarizes"}  # nothing is derived again without a judge
    assert factories - used - of_code == set()
    assert set(re.findall(r"t\.([a-z_]+)\(", table)) == set(CLAIMS)


# -- what was altered


@define_eval
async def small(t: EvalContext) -> None:
    turn = await t.send("Refund ORD-7, please.")
    t.check(turn.message, includes("refund")).key("word")
    t.check({"total": 89}, at("total", equals(89))).key("total")
    t.check(turn.message, similarity("Your refund is done.").at_least(0.5)).gate().key("alike")
    turn.called_tool(tool_match("refund").exactly(1)).key("one refund")


SMALL = [Reply("Your refund is done.", tool_calls=[ToolCall("refund", {"id": 7}, "ok", status="completed")])]


def entry(document: dict[str, Any], requirement: str) -> dict[str, Any]:
    return next(each for each in document["assertions"] if each["requirement"] == requirement)


def digest_of(document: dict[str, Any], requirement: str) -> str:
    digest: str = entry(document, requirement)["subject"]
    return digest


def set_outcome(document: dict[str, Any]) -> None:
    entry(document, "word")["outcome"] = "mismatched"


def set_value(document: dict[str, Any]) -> None:
    entry(document, "alike")["value"] = 0.75


def set_subject(document: dict[str, Any]) -> None:
    document["subjects"][digest_of(document, "total")]["value"]["total"] = 90


def set_subject_of_no_consequence(document: dict[str, Any]) -> None:
    document["subjects"][digest_of(document, "total")]["value"]["paid"] = True


def set_match(document: dict[str, Any]) -> None:
    document["matches"][entry(document, "word")["match"]]["text"] = "done"


def set_calls(document: dict[str, Any]) -> None:
    document["sessions"][0]["turns"][0]["calls"].append({"name": "refund", "input": {}, "status": "completed"})


def set_decision(document: dict[str, Any]) -> None:
    entry(document, "word")["decision"] = "unmet"


def set_status(document: dict[str, Any]) -> None:
    document["status"] = "failed"


ALTERED: list[tuple[Callable[[dict[str, Any]], None], str | None, str]] = [
    (set_outcome, "word", "matched"),
    (set_value, "alike", "matched 1.0"),
    (set_subject, "total", "the stored value was altered: its digest is another one"),
    (set_subject_of_no_consequence, "total", "the stored value was altered: its digest is another one"),
    (set_match, "word", "the stored match was altered: its fingerprint is another one"),
    (set_calls, "one refund", "mismatched"),
    (set_decision, "word", "decision met"),
    (set_status, None, "status passed"),
]


@pytest.mark.parametrize(("change", "requirement", "now"), ALTERED, ids=[each[0].__name__ for each in ALTERED])
async def test_what_was_altered_is_found(
    change: Callable[[dict[str, Any]], None], requirement: str | None, now: str, tmp_path: Path
) -> None:
    folder = await recorded(small, tmp_path, ScriptedAgent(SMALL))
    assert verify_run(folder).differences == ()

    found = rewrite(folder, change)

    (*_, difference) = found.differences if change is not set_outcome else found.differences[:1]
    assert (difference.requirement, difference.now) == (requirement, now)
    assert difference.name == "small"
    assert difference.agent == "ScriptedAgent"
    if requirement is not None:
        assert difference.place is not None
        assert re.fullmatch(r".*test_verify\.py:\d+", difference.place)


async def test_a_score_follows_from_its_entries(tmp_path: Path) -> None:
    @define_score_eval
    async def scores(t: EvalContext) -> None:
        t.check("colour", similarity("color")).score(0.1)
        t.check("colour", similarity("color").at_least(0.9)).score(3)
        t.check("x", includes("x")).score(0.2)
        t.score(0.3)

    folder = await recorded(scores, tmp_path)
    assert verify_run(folder).differences == ()

    score = line_of(folder)["score"]
    (difference,) = rewrite(folder, lambda document: document.update(score=99)).differences
    assert (difference.requirement, difference.stored, difference.now) == (None, "score 99", f"score {score}")


# -- what is missing or cannot be evaluated again


async def test_a_missing_blob_is_counted_and_named(tmp_path: Path) -> None:
    @define_eval
    async def large(t: EvalContext) -> None:
        t.check("x" * 2_000_000, length(at_least=1))
        t.check("y", includes("y"))

    folder = await recorded(large, tmp_path)
    assert (verify_run(folder).reproduced, verify_run(folder).excluded) == (2, {})
    (blob,) = (folder / "blobs").iterdir()

    blob.write_bytes(blob.read_bytes()[:100])
    found = verify_run(folder)
    assert (found.reproduced, found.excluded, found.differences) == (1, {"missing": 1}, ())
    assert blob.name in found.problems[0]

    blob.unlink()
    found = verify_run(folder)
    assert (found.reproduced, found.excluded) == (1, {"missing": 1})
    assert "is missing" in found.problems[0]


@pytest.mark.parametrize("part", ["matches", "subjects", "sessions"])
async def test_lost_parts_of_an_attempt_are_counted(part: str, tmp_path: Path) -> None:
    folder = await recorded(small, tmp_path, ScriptedAgent(SMALL))
    found = rewrite(folder, lambda document: document.pop(part))
    assert found.excluded == {"missing": 1 if part == "sessions" else 4}
    assert found.problems


@pytest.mark.parametrize(
    "sessions", [7, [7], [{"turns": [{}]}], [{"turns": [{"input": "x", "status": "completed", "coverage": []}]}], []]
)
async def test_damaged_conversations_are_no_crash(sessions: Any, tmp_path: Path) -> None:
    folder = await recorded(small, tmp_path, ScriptedAgent(SMALL))
    found = rewrite(folder, lambda document: document.update(sessions=sessions))
    assert found.excluded == {"missing": 1}
    assert found.reproduced == 3


@pytest.mark.parametrize(
    ("part", "value"), [("assertions", 7), ("assertions", [7]), ("subjects", [1]), ("matches", "x"), ("status", "fine")]
)
async def test_an_attempt_out_of_shape_is_left_out_with_a_warning(part: str, value: Any, tmp_path: Path) -> None:
    folder = await recorded(small, tmp_path, ScriptedAgent(SMALL))
    with pytest.warns(RecordWarning, match="line 1 is left out"):
        found = rewrite(folder, lambda document: document.update({part: value}))
    assert (found.attempts, found.entries) == (0, 0)


async def test_reasons_are_counted(tmp_path: Path) -> None:
    @define_eval
    async def mixed(t: EvalContext) -> None:
        register_secret("LOGIN", "correct-horse-battery")
        t.check("The login is correct-horse-battery.", includes("horse"))
        t.check(2, satisfies("is even", lambda number: number % 2 == 0))
        t.check("a" * 5_000 + "!", pattern(r"^(\w+\s?)*(\w+\s?)*$", budget=0.01))
        t.check(object(), is_defined())
        t.check("y", includes("y"))

    try:
        folder = await recorded(mixed, tmp_path)
    finally:
        forget_secrets()
    found = verify_run(folder)
    assert (found.entries, found.reproduced, found.differences) == (5, 1, ())
    assert found.excluded == {"code": 2, "redacted": 1, "budget": 1}
    assert "horse" not in repr(found)


class Sku(ValueMatch):
    """A match of one's own that nobody registers."""

    _spec_name = "shop.sku"
    __slots__ = ()

    def _args(self) -> dict[str, object]:
        return {}

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        return equals("A-1").evaluate(subject)


async def test_a_custom_match_that_is_not_registered_is_named(tmp_path: Path) -> None:
    @define_eval
    async def own(t: EvalContext) -> None:
        t.check("A-1", Sku())
        t.check({"sku": "A-2"}, at("sku", Sku()))

    found = verify_run(await recorded(own, tmp_path))
    assert found.excluded == {"unknown": 2}
    assert found.problems == ("no match named 'shop.sku' is registered: import the module that does it",)


# -- code

RULES = """
import pydantic
from niceeval_expect import define_score_match, define_value_match, matches, satisfies

class Order(pydantic.BaseModel):
    id: int

def is_even(number):
    return number % 2 == 0

async def is_odd(number):
    return number % 2 == 1

def at_most(number, limit):
    return number <= limit

def half(text):
    return 0.5

@define_value_match
def under(number, limit):
    return number < limit

EVEN = satisfies("is even", is_even)
ODD = satisfies("is odd", is_odd)
LIMIT = define_value_match(at_most, name="at_most")
HALF = define_score_match(half, name="half")
ORDER = matches(Order)
FIRST = satisfies("starts with 2", lambda numbers: numbers[0] == 2, evidence=len)
TWO = satisfies("has two", is_even, evidence=abs)
"""


async def test_code_is_imported_where_its_source_is_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "rules_to_verify.py").write_text(RULES)
    import importlib

    rules: Any = importlib.import_module("rules_to_verify")

    @define_eval
    async def coded(t: EvalContext) -> None:
        t.check(4, rules.EVEN)
        t.check(3, rules.EVEN)
        t.check(None, rules.EVEN)
        t.check(3, rules.ODD)
        t.check(3, rules.LIMIT(limit=2))
        t.check("x", rules.HALF().at_least(0.5))
        t.check({"id": 1}, rules.ORDER)
        t.check({"id": "1"}, rules.ORDER)
        t.check(rules.Order(id=1), rules.ORDER)
        t.check([2, 3], rules.FIRST)
        t.check(-2, rules.TWO)
        t.check(1, rules.under(2))

    folder = await recorded(coded, tmp_path)
    assert verify_run(folder).excluded == {"code": 12}

    found = verify_run(folder, code=True)
    assert found.differences == ()
    # A lambda has no name to import it by, a snapshot stands for the object, and another value for what was read.
    assert (found.reproduced, found.excluded) == (9, {"code": 3})

    changed = RULES.replace("return number % 2 == 0", "return not number % 2")
    (tmp_path / "rules_to_verify.py").write_text(changed)
    importlib.invalidate_caches()
    monkeypatch.delitem(sys.modules, "rules_to_verify")
    import linecache

    linecache.checkcache()
    found = verify_run(folder, code=True)
    assert (found.differences, found.reproduced, found.excluded) == ((), 6, {"code": 6})
    assert any("rules_to_verify.is_even has changed" in problem for problem in found.problems)

    monkeypatch.delitem(sys.modules, "rules_to_verify", raising=False)
    (tmp_path / "rules_to_verify.py").unlink()
    importlib.invalidate_caches()
    found = verify_run(folder, code=True)
    assert (found.reproduced, found.excluded) == (0, {"code": 12})
    assert any("cannot be imported" in problem for problem in found.problems)


# -- real runs


def test_the_demo_is_reproduced_in_a_folder_without_its_files(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__", ".niceeval"))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([sys.executable, "examples/demo.py"], cwd=tmp_path, env=environment, capture_output=True, check=True)
    empty = tmp_path / "elsewhere"
    empty.mkdir()
    shutil.move(tmp_path / ".niceeval", empty / ".niceeval")
    shutil.rmtree(tmp_path / "examples")

    counts: Counter[str] = Counter()
    for run in sorted((empty / ".niceeval" / "runs").iterdir()):
        done = subprocess.run(
            [sys.executable, "-c", "from niceeval.cli import main; main()", "verify", run.name, "--json"],
            cwd=empty, env=environment, capture_output=True, encoding="utf-8", check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        found = json.loads(done.stdout)
        assert found["differences"] == []
        counts.update({name: found[name] for name in ("entries", "rederivable", "reproduced")})
    assert counts["reproduced"] == counts["rederivable"] >= 0.9 * counts["entries"] > 0


TAU_BENCH = ROOT / "tests" / "realdata" / "test_tau_bench.py"


async def test_the_recorded_conversations_are_reproduced(tmp_path: Path) -> None:
    import runpy

    bench = runpy.run_path(str(TAU_BENCH))
    if not bench["DATA"].exists():
        pytest.skip(f"the recorded conversations are not here: {bench['DATA']}")
    test = define_eval("airline", test=bench["airline"], cases=bench["load_tasks"]())
    run = await run_eval(test, attempts=4, concurrency=8, record=tmp_path)
    assert run.folder is not None

    found = verify_run(run.folder)

    assert (found.attempts, found.differences, found.problems) == (200, (), ())
    assert found.reproduced == found.rederivable >= 0.9 * found.entries
    assert found.entries >= 400
