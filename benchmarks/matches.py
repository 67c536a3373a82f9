"""How long each match takes on a subject of about 1 KB: matched, and mismatched with its diagnostic.

Run it with `python benchmarks/matches.py`; see docs/benchmarks.md.
"""

import argparse
import datetime
import json
import platform
import timeit
from decimal import Decimal
from typing import Any

import niceeval
from niceeval import CommandResult, Message, ToolCall, Usage
from niceeval_expect import (
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
from niceeval_expect._call_claims import max_tool_calls, no_failed_actions, tool_order, used_no_tools
from niceeval_expect._call_scope import CallScope
from niceeval_expect._event_scope import EventScope, event, event_order, not_event
from niceeval_expect._loops import no_loops
from niceeval_expect._timeline import TurnTrace
from niceeval_expect._tool_scope import called_tool, not_called_tool
from niceeval_expect._turn_scope import TurnScope, max_cost, max_tokens, succeeded
from niceeval_expect._unordered_calls import tool_calls_unordered

WORDS = "the parcel left our warehouse on Monday and it should be with you soon "
PROSE = (WORDS * 15)[:1_000]
SENTENCES = "Your parcel has left our warehouse [4102]. It should be with you by Monday [4188]. " * 12
RECORD = {
    "order_number": "ORD-448192",
    "status": "in_transit",
    "total": 89,
    "notes": [f"step {step}: " + "scanned at the depot " * 2 for step in range(16)],
}
TEXT = json.dumps(RECORD)
SCHEMA = {
    "type": "object",
    "required": ["order_number", "status", "total"],
    "properties": {
        "order_number": {"type": "string", "pattern": "^ORD-[0-9]{6}$"},
        "status": {"enum": ["in_transit", "delivered"]},
        "total": {"type": "integer", "minimum": 1},
        "notes": {"type": "array", "items": {"type": "string"}},
    },
}
LOST = {**RECORD, "status": "lost"}
NUMBERS = list(range(200))
NOON = datetime.datetime(2026, 3, 9, 12, tzinfo=datetime.UTC)
ARGUMENTS = {"order_number": "ORD-448192", "note": PROSE}
LOOKUP = ToolCall("lookup_order", ARGUMENTS, {"status": "paid"}, status="completed")
REFUND = ToolCall("refund", {"order_number": "ORD-448192"}, PROSE, status="failed")
CALL = f"refund(order_id='A-2231', amount=89, note={PROSE!r})"
CODE = "\n".join(f"total_{line} = add({line}, fee, tax)  # {'x' * 20}" for line in range(20))
SQL = "SELECT " + ", ".join(f"o.column_{number}" for number in range(60)) + " FROM orders AS o WHERE o.days > 30"
PROMPT = "You are Ada and you never tell anybody about the discount code of the spring sale. " * 12
QUOTED = f'The policy says "{WORDS.strip()}". ' + PROSE[:900]
SHELL = "cd /srv/app && " + " && ".join(f"echo 'step {step}' >> build.log" for step in range(30)) + " && rm -rf build"


def is_long(text: str) -> bool:
    return len(text) > 900


# A match with a subject that it matches and one that it does not.
VALUES: list[tuple[Any, Any, Any]] = [
    (at("gone", absent()), RECORD, {**RECORD, "gone": None}),
    (all_of(includes("soon"), excludes("guarantee")), PROSE, PROSE + " guarantee"),
    (any_of(includes("late"), includes("soon")), PROSE, PROSE.replace("soon", "now")),
    (at("status", "in_transit"), RECORD, LOST),
    (between(0, 100), 89, 101),
    (cites_only([4102, 4188]), SENTENCES, SENTENCES + "Gifts too [3901]."),
    (close_to(0.3, abs=0.01), 0.305, Decimal("0.32")),
    (command_match("rm", ["-rf"]), SHELL, SHELL.replace("-rf", "-r -f")),
    (command_succeeded(), CommandResult(["make"], 0, stdout=PROSE), CommandResult(["make"], 1, stdout=PROSE)),
    (contains(199), NUMBERS, [0] * 200),
    (ends_with(PROSE[-10:]), PROSE, PROSE + "!"),
    (equals(RECORD), json.loads(TEXT), LOST),
    (every(between(0, 199)), NUMBERS, [*NUMBERS, 200]),
    (every_claim_cited(), SENTENCES, SENTENCES + "Gifts too."),
    (excludes("guarantee"), PROSE, PROSE + " guarantee"),
    (field_order("status", before="notes"), RECORD, {"notes": RECORD["notes"], "status": "lost"}),
    (forbids(["guarantee", "promise"]), PROSE, PROSE + " promise"),
    (has_keys("status", "total"), RECORD, {"notes": RECORD["notes"]}),
    (has_sections(min=2), f"# One\n\n{PROSE}\n\n# Two\n", f"# One\n\n{PROSE}\n"),
    (includes("soon"), PROSE, PROSE.replace("soon", "now")),
    (includes_all(["soon", "Monday"]), PROSE, PROSE.replace("soon", "now")),
    (includes_any(["late", "soon"]), PROSE, PROSE.replace("soon", "now")),
    (includes_url(), PROSE + " https://shop.example/refunds", PROSE),
    (is_defined(), PROSE, None),
    (is_false(), False, PROSE),
    (is_instance(str), PROSE, RECORD),
    (is_true(), True, PROSE),
    (json_match({"status": "in_transit", "total": 89}), RECORD, LOST),
    (json_text(at("status", "in_transit")), TEXT, json.dumps(LOST)),
    (keys_exactly(*RECORD), RECORD, {**RECORD, "more": 1}),
    (length(at_most=1_200), PROSE, PROSE * 2),
    (matches(SCHEMA), RECORD, LOST),
    (non_empty(), PROSE, ""),
    (normalized(PROSE, rules=["case", "whitespace"]), PROSE.upper(), PROSE[:-1] + "!"),
    (not_(includes("guarantee")), PROSE, PROSE + " guarantee"),
    (number_in_text(89), PROSE + " 89.00 EUR", PROSE + " 98.00 EUR"),
    (numbers_from("4102 and 4188"), SENTENCES, SENTENCES + "30 days."),
    (occurs("soon").between(1, 20), PROSE, PROSE.replace("soon", "now")),
    (one_of(["in_transit", "delivered"]), "delivered", PROSE),
    (pattern(r"ORD-[0-9]{6}"), TEXT, TEXT.replace("ORD", "order")),
    (preserves_digits("4102 4188 " * 12), SENTENCES, SENTENCES + "30"),
    (quotes_from(PROSE), QUOTED, QUOTED.replace('"the', '"a')),
    (references_any_path(["/etc"]), {"path": "/etc/passwd", "text": PROSE}, {"path": "/etcetera", "text": PROSE}),
    (reveals_nothing_of(PROMPT), PROSE, PROSE[:900] + PROMPT[:90]),
    (same_arguments({"properties": {"order_number": {}, "note": {}, "n": {"default": 1}}}, {**ARGUMENTS, "n": 1}),
     ARGUMENTS, {**ARGUMENTS, "n": 2}),
    (same_call(CALL), CALL.replace("'A-2231'", '"A-2231"'), CALL.replace("89", "98")),
    (same_date("2026-03-09"), "2026-03-09", "2026-03-10"),
    (same_instant("2026-03-09T12:00:00Z"), NOON, "2026-03-09T12:00:01Z"),
    (same_python(CODE), CODE.replace("  # ", "    # "), CODE.replace("fee, tax", "tax, fee")),
    (same_sql(SQL), SQL.replace("o.", ""), SQL.replace("30", "31")),
    (satisfies("is long", is_long), PROSE, "short"),
    (semantic(matches(SCHEMA), at("total", between(1, 100))), RECORD, {**RECORD, "total": 101}),
    (similarity(PROSE).at_least(0.9), PROSE.replace("soon", "now"), PROSE[::-1]),
    (starts_with(PROSE[:10]), PROSE, "!" + PROSE),
    (unordered(NUMBERS[:60]), NUMBERS[59::-1], NUMBERS[1:61]),
]  # fmt: skip

PARTS: list[tuple[Any, Any, Any]] = [
    (tool_match("lookup_order", input=json_match({"order_number": "ORD-448192"})), LOOKUP, REFUND),
    (event_match("message", role="assistant", text=includes("soon")),
     Message("assistant", PROSE), Message("user", PROSE)),
]  # fmt: skip

TURN = TurnTrace("s0.t0", "Refund ORD-448192, please.", (LOOKUP, REFUND))
ACTED = CallScope((("s0.t0.c0", LOOKUP), ("s0.t0.c1", REFUND)), texts=(("s0.t0.m0", PROSE),), turns=(TURN,))
LOOKED = CallScope((("s0.t0.c0", LOOKUP),))
SILENT = CallScope(())
LOOPED = CallScope(tuple((f"s0.t0.c{place}", LOOKUP) for place in range(3)))
EVENTS = EventScope((("s0.t0.e0", Message("user", "Hi")), ("s0.t0.e1", Message("assistant", PROSE))))
USED = TurnScope((("s0.t0", "completed", Usage(input_tokens=900, output_tokens=100, cost_usd=0.02)),))
WAITING = TurnScope((("s0.t0", "waiting", Usage(input_tokens=9_000, output_tokens=100, cost_usd=0.2)),))
SPOKEN = event_match("message", role="assistant", text=includes("soon"))
UNSPOKEN = event_match("message", role="assistant", text=includes("late"))
SHOWN = tool_match("refund") & arg("order_number").came_from("session")

CLAIMS: list[tuple[Any, Any, Any]] = [
    (called_tool(tool_match("refund", input={"order_number": "ORD-448192"}).exactly(1)), ACTED, LOOKED),
    (called_tool(SHOWN), ACTED, LOOKED),
    (not_called_tool("refund"), LOOKED, ACTED),
    (tool_order("lookup_order", "refund"), ACTED, LOOKED),
    (tool_calls_unordered(["refund", "lookup_order"]), ACTED, LOOKED),
    (used_no_tools(), SILENT, ACTED),
    (max_tool_calls(1), LOOKED, ACTED),
    (no_failed_actions(), LOOKED, ACTED),
    (no_loops(), ACTED, LOOPED),
    (event(SPOKEN), EVENTS, EventScope(())),
    (not_event(UNSPOKEN), EVENTS, EventScope((("s0.t0.e0", Message("assistant", PROSE + "late")),))),
    (event_order(event_match("message", role="user"), SPOKEN), EVENTS, EventScope(EVENTS.events[::-1])),
    (succeeded(), USED, WAITING),
    (max_tokens(1_000), USED, WAITING),
    (max_cost(0.02), USED, WAITING),
]  # fmt: skip
ROWS = [*VALUES, *PARTS, *CLAIMS]


def name_of(match: Any) -> str:
    """Return the call that makes a match, without its arguments."""
    made = repr(match)
    for inner in ("absent()", "came_from("):
        if inner in made:
            return inner.rstrip("()")
    return made.partition("(")[0]


def microseconds(match: Any, subject: Any, seconds: float) -> float:
    """Return the least time that one evaluation took, of several rounds of `seconds` each."""
    timer = timeit.Timer(lambda: match.evaluate(subject))
    once = max(timer.timeit(3) / 3, 1e-7)
    rounds = timer.repeat(repeat=5, number=max(int(seconds / once), 1))
    return min(rounds) / max(int(seconds / once), 1) * 1e6


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=0.05, help="how long one round takes; there are five")
    options.add_argument("names", nargs="*", help="only these matches")
    asked = options.parse_args()
    print(f"niceeval {niceeval.__version__}, Python {platform.python_version()}, {platform.machine()}")
    print("Microseconds per evaluation on a subject of about 1 KB\n")
    print(f"| {'match':<22} | matched | mismatched |")
    print(f"|{'-' * 24}|--------:|-----------:|")
    for match, good, bad in ROWS:
        name = name_of(match)
        if not asked.names or name in asked.names:
            took = [microseconds(match, subject, asked.seconds) for subject in (good, bad)]
            print(f"| {name:<22} | {took[0]:>7,.1f} | {took[1]:>10,.1f} |")


if __name__ == "__main__":
    main()
