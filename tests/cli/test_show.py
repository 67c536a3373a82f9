"""`niceeval show`: what a recorded run looks like."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

Show = Callable[..., Any]

ENUM = 'one of "pending", "in_transit", "delivered", "cancelled"'
ANSWER = '{"order_number": "ORD-448194", "status": "refunded", "eta_days": 3, "note": "thank you"}'
SCHEMA = {
    "key": "schema",
    "requirement": "schema",
    "line": 35,
    "spec": {"match": "json_text", "of": {"$": "match", "match": "matches", "type": {"$": "code", "name": "Order"}}},
    "subject": ANSWER,
    "stops": True,
}
TURN = {"requirement": "Turn completed", "label": "Turn completed", "spec": {"match": "succeeded"}, "type": "cut"}
EQUALS_AND_CODE = {
    "match": "all_of",
    "of": [{"$": "match", "match": "equals", "value": 1}, {"$": "match", "match": "shop.unknown"}],
}
WITH_INPUT = {
    "match": "tool_match",
    "name": "search",
    "input": {"$": "match", "match": "equals", "value": {"q": "cats"}},
}
FORMAT = {"requirement": "order_format", "spec": {"match": "pattern", "regex": "ORD"}}


def failing(**more: Any) -> dict[str, Any]:
    diagnostic = {
        "code": "enum",
        "message": "not one of the options",
        "pointer": "/status",
        "expected": ["pending", "in_transit", "delivered", "cancelled"],
        "received": "refunded",
    }
    return {
        "case": "refunded",
        "status": "failed",
        "reason": "schema",
        "stopped_by": "schema",
        "inputs": ["What happened to ORD-448194?"],
        "checks": [TURN, {**SCHEMA, "decision": "unmet", "diagnostic": diagnostic}],
        **more,
    }


def passing(case: str, **more: Any) -> dict[str, Any]:
    return {"case": case, "status": "passed", "checks": [TURN, SCHEMA, FORMAT], **more}


def errored(attempt: int, **more: Any) -> dict[str, Any]:
    reason = "turn 1 of 2 reported no usage, so no total is known"
    check = {
        "key": "token_budget",
        "requirement": "token_budget",
        "decision": "undecided",
        "reason": reason,
        "spec": {"match": "max_tokens", "n": 2000},
        "type": "cut",
        "file": "evals/refund_flow.py",
        "line": 38,
        "diagnostic": {"code": "undecided", "message": reason, "reason": reason},
    }
    return {
        "eval": "refund_flow/needs_consent",
        "status": "errored",
        "attempt": attempt,
        "reason": f"token_budget: {reason}",
        "checks": [check],
        **more,
    }


def test_a_failed_attempt_is_understood_without_opening_anything_else(project: Show, recorded: Show) -> None:
    folder = recorded([passing("delivered"), passing("moving"), failing()])
    answer = project("show")
    assert answer.code == 0
    assert answer.err == ""
    head, agents, *rest = answer.lines
    assert head.startswith(f"run {folder.name}  20")
    assert head.endswith("  1 eval, 3 cases × 1 attempt")
    assert agents == "agent agents.plain:order_agent"
    assert rest == [
        "",
        "  eval                           passed/decided   errored   rate",
        "  orders/order_lookup                       2/3         0   0.67",
        "",
        "  1 of 3 decided cases failed, 1 violation",
        "  requirement                    failed/decided   errored   not reached",
        "  schema                                    1/3         0             0",
        "  Turn completed                            0/3         0             0",
        "  order_format                              0/2         0             1",
        "",
        "  eval                           checks that reach outside the answer",
        "  orders/order_lookup                                             0/3",
        "",
        "FAILED orders/order_lookup[refunded]",
        "  ✗ schema  json_text(matches(Order))                    evals/orders.py:35",
        "      where     $.status",
        f"      expected  {ENUM}",
        '      received  "refunded"',
        '      subject   {"order_number": "ORD-448194", "status": "refunded", "eta_d…',
        "      input     What happened to ORD-448194?",
        "    stopped here by or_stop(); later checks did not run. 1 check passed.",
        "",
        "1 failed, 2 passed",
        f"record  .niceeval/runs/{folder.name}",
        "next    niceeval show latest 'orders/order_lookup[refunded]'",
    ]


def test_errored_attempts_of_one_reason_stand_together_with_the_remedy(project: Show, recorded: Show) -> None:
    recorded([errored(1), errored(2), passing("delivered"), passing("moving"), passing("late"), failing()])
    lines = project("show").lines
    start = lines.index("ERRORED refund_flow/needs_consent  attempts 1, 2 (same reason)")
    assert lines[start + 1 : start + 7] == [
        "  ? token_budget  max_tokens(2000)                  evals/refund_flow.py:38",
        "      unavailable  turn 1 of 2 reported no usage, so no total is known",
        "      remedy       return Reply(..., usage=Usage(...)) from every turn",
        "",
        "1 failed, 2 errored, 3 passed  (errored attempts are outside every rate)",
        lines[start + 6],
    ]


@pytest.mark.parametrize(
    ("reason", "error", "says"),
    [
        ("timed out after 2 s", None, "give it more time (--timeout)"),
        ("nothing was checked", None, "register a gate: t.check(...)"),
        ("agent unavailable: 503", {"type": "AgentUnavailable", "message": "503"}, "can be reached and its key is set"),
        ("interrupted", None, "cut off by Ctrl-C"),
        ("evals/a.py:9: or_stop() was never awaited", None, "await handle.or_stop()"),
        ("ZeroDivisionError: division by zero", {"type": "ZeroDivisionError", "message": ""}, "correct the eval"),
    ],
)
def test_an_attempt_that_could_not_end_says_why_and_what_to_do(
    project: Show, recorded: Show, reason: str, error: object, says: str
) -> None:
    recorded([{"status": "errored", "reason": reason, "error": error}])
    lines = project("show").lines
    start = lines.index("ERRORED orders/order_lookup")
    assert lines[start + 1] == f"  ? {reason}"
    assert lines[start + 2].startswith("      remedy       ")
    assert says in lines[start + 2]


def test_the_place_of_an_exception_is_the_authors_last_line(project: Show, recorded: Show) -> None:
    trace = (
        'Traceback (most recent call last):\n  File "/usr/x/evals/orders.py", line 12, in helper\n    x()\n'
        '  File "/usr/lib/python3/json/__init__.py", line 3, in loads\nValueError: bad\n'
    )
    error = {"type": "ValueError", "message": "bad", "traceback": trace}
    recorded([{"status": "errored", "reason": "ValueError: bad", "error": error}])
    assert "  ? ValueError: bad (at /usr/x/evals/orders.py:12)" in project("show").lines


def test_an_agent_that_broke_is_a_failure_with_its_words(project: Show, recorded: Show) -> None:
    reason = "the agent raised KeyError: 'ORD-1'"
    error = {"type": "AgentFailed", "message": reason, "traceback": ""}
    recorded([{"status": "failed", "reason": reason, "error": error, "inputs": ["Where is it?"], "checks": []}])
    lines = project("show").lines
    start = lines.index("FAILED orders/order_lookup")
    assert lines[start + 1 : start + 4] == [
        "  ✗ the agent raised KeyError: 'ORD-1'",
        "      input     Where is it?",
        "    0 checks passed.",
    ]


def test_skipped_attempts_are_counted_and_say_why(project: Show, recorded: Show) -> None:
    recorded([passing("a"), {"case": "b", "status": "skipped", "reason": "no stock today"}])
    lines = project("show").lines
    start = lines.index("SKIPPED orders/order_lookup[b]")
    assert lines[start + 1] == "    no stock today"
    assert "1 skipped, 1 passed" in lines


def test_attempts_and_agents_are_told_apart_where_there_are_several(project: Show, recorded: Show) -> None:
    recorded(
        [
            passing("refunded", agent="careful"),
            failing(agent="careful", attempt=2),
            failing(agent="quick"),
            passing("refunded", agent="quick", attempt=2),
        ]
    )
    lines = project("show").lines
    assert "FAILED orders/order_lookup[refunded]  attempt 2  careful" in lines
    assert "FAILED orders/order_lookup[refunded]  attempt 1  quick" in lines
    assert lines[1] == "1 eval, 1 case × 2 agents × 2 attempts  agents careful, quick"
    assert lines[3:7] == [
        "  eval                         passed/decided   errored   rate   pass@2   pass^2",
        "  orders/order_lookup",
        "    careful                               1/2         0   0.50     1.00     0.00",
        "    quick                                 1/2         0   0.50     1.00     0.00",
    ]


def test_score_style_runs_are_ranked_and_every_score_is_shown(project: Show, recorded: Show) -> None:
    def scored(agent: str, case: str, score: float | None, **more: Any) -> dict[str, Any]:
        status = "scored" if score is not None else "unrankable"
        return {
            "style": "score",
            "eval": "help",
            "agent": agent,
            "case": case,
            "status": status,
            "score": score,
            **more,
        }

    recorded(
        [
            scored("quick", "a", 3.0, stopped_by="Turn completed"),
            scored("careful", "a", 4.75),
            scored("quick", "b", 2.5),
            scored("careful", "b", None, partial_score=1.5, reason="judge: no key"),
        ]
    )
    answer = project("show")
    assert answer.code == 0
    assert answer.lines[1:] == [
        "1 eval, 2 cases × 2 agents × 1 attempt  agents quick, careful",
        "",
        "  rank  agent                 mean score   scored/planned   unrankable   errored",
        "     1  careful                     4.75              1/2            1         0",
        "     2  quick                       2.75              2/2            0         0",
        "",
        "  case                           agent      score       stopped by",
        "  help[a]                        quick       3.00   Turn completed",
        "  help[a]                        careful     4.75",
        "  help[b]                        quick       2.50",
        "  help[b]                        careful   ≥ 1.50",
        "",
        "UNRANKABLE help[b]  careful",
        "    partial score 1.50, a lower bound: it is not ranked",
        "  ? judge: no key",
        "      remedy       correct the eval at this place, then run again",
        "",
        "1 unrankable, 3 scored",
        *answer.lines[-2:],
    ]


HOSTILE = "\x1b[2J\x1b]0;t\x07[red]x[/red]\r\n\u202e\ud83d" + "長" * 200


def hostile() -> dict[str, Any]:
    check = {
        "requirement": HOSTILE,
        "label": HOSTILE,
        "decision": "unmet",
        "subject": HOSTILE,
        "file": HOSTILE,
        "group": [HOSTILE, HOSTILE],
        "spec": {"match": "equals", "value": HOSTILE},
        "diagnostic": {"code": "value", "message": HOSTILE, "expected": HOSTILE, "received": HOSTILE, "pointer": f"/{HOSTILE}"},
    }  # fmt: skip
    broken = {**check, "decision": "undecided", "outcome": "errored", "reason": HOSTILE}
    return {
        "eval": HOSTILE,
        "case": HOSTILE,
        "agent": HOSTILE,
        "status": "failed",
        "reason": HOSTILE,
        "stopped_by": HOSTILE,
        "inputs": [HOSTILE, HOSTILE],
        "checks": [check, broken],
    }


def test_recorded_text_can_neither_move_the_cursor_nor_break_the_layout(project: Show, recorded: Show) -> None:
    first = hostile()
    second = {**first, "attempt": 2, "status": "errored", "checks": first["checks"][1:]}
    third = {
        **first,
        "attempt": 3,
        "status": "errored",
        "error": {"type": HOSTILE, "message": HOSTILE, "traceback": HOSTILE},
    }
    score = {**first, "eval": HOSTILE + "s", "style": "score", "status": "scored", "score": 1.0, "agent": HOSTILE + "2"}
    recorded([first, second, third, score, {**score, "status": "skipped", "case": "x"}])
    answer = project("show")
    assert answer.code == 0
    answer.out.encode()
    assert not set(answer.out) & set("\x1b\x07\r\u202e\ud83d")
    assert "\\x1b[2J" in answer.out
    assert "[red]x[/red]" in answer.out
    assert [each for each in answer.lines if cell_len(each) > 80] == []


def test_a_long_list_of_failed_checks_is_bounded(project: Show, recorded: Show) -> None:
    checks = [{"requirement": f"r{n}", "decision": "unmet", "diagnostic": {"code": "value"}} for n in range(40)]
    recorded([{"status": "failed", "checks": checks}])
    out = project("show").out
    assert "✗ r11 " in out
    assert "✗ r12 " not in out
    assert "28 more checks did not pass" in " ".join(out.split())


def test_a_subject_that_is_gone_is_said_to_be(project: Show, recorded: Show) -> None:
    run = recorded([failing()])
    [path] = run.glob("attempts-*.jsonl")
    document = json.loads(path.read_text())
    document["subjects"]["s1"] = {"type": "str", "size": 2_000_000, "blob": "0" * 64}
    path.write_text(json.dumps(document) + "\n")
    assert "      subject   not available: " in project("show").out


def test_one_eval_or_one_case_can_be_asked_for(project: Show, recorded: Show) -> None:
    recorded([passing("delivered"), failing(), errored(1), errored(2)])
    lines = project("show", "latest", "orders/order_lookup[refunded]").lines
    assert any(each.startswith("  orders/order_lookup  ") and "  0/1  " in each for each in lines)
    assert not any("refund_flow" in each for each in lines)
    assert "1 failed" in lines
    lines = project("show", "latest", "refund_flow/needs_consent").lines
    assert not any("order_lookup" in each for each in lines)
    answer = project("show", "latest", "orders/typo")
    assert answer.code == 2
    assert "has no eval 'orders/typo'; it has: orders/order_lookup" in " ".join(answer.err.split())


def test_checks_that_reach_outside_the_answer_are_counted_by_requirement(project: Show, recorded: Show) -> None:
    code = {"match": "satisfies", "label": "is fine", "predicate": {"$": "code", "module": "shop", "name": "fine"}}
    checks = [
        {"requirement": "a", "spec": {"match": "equals", "value": 1}},
        {"requirement": "a", "spec": {"match": "includes", "text": "x"}},
        {"requirement": "b", "spec": {"match": "includes", "text": "x"}},
        {"requirement": "c", "spec": code},
        {
            "requirement": "d",
            "spec": {"match": "all_of", "of": [{"$": "match", **code}, {"$": "match", "match": "is_true"}]},
        },
        {"requirement": "e", "spec": {"match": "at", "path": "x", "of": {"$": "match", **EQUALS_AND_CODE}}},
        {"requirement": "f", "spec": {"match": "shop.sku"}},
        {"requirement": "g", "spec": {"match": "called_tool", "tool": {"$": "match", **WITH_INPUT}}, "type": "cut"},
        {"requirement": "h", "spec": {"match": "equals", "value": 1}, "decision": "informative"},
    ]
    recorded([{"case": "a", "status": "passed", "checks": checks}])

    answer = project("show")

    assert "  orders/order_lookup                                             3/7" in answer.lines
    assert "  (3 checks of code counted as not outside: nobody can tell)" in answer.lines
    found = json.loads(project("show", "--json").out)["outside"]
    assert found == [{"eval": "orders/order_lookup", "outside": 3, "deciding": 7, "unknown": 3}]


def test_a_run_is_found_by_its_id_by_latest_and_by_its_folder(project: Show, recorded: Show) -> None:
    first = recorded([passing("a")])
    asked = [project("show", each).lines[0] for each in (first.name, "latest", str(first), str(first.parent.parent))]
    assert len(set(asked)) == 1
    answer = project("show", "20200101-000000-aaaa")
    assert answer.code == 2
    assert first.name in answer.err


def test_where_nothing_was_recorded_the_sentence_says_what_to_do(project: Show) -> None:
    answer = project("show")
    assert answer.code == 2
    assert answer.out == ""
    assert "niceeval run" in answer.err


def test_an_interrupted_run_says_how_far_it_came(project: Show, recorded: Show) -> None:
    plan = [{"id": "orders/order_lookup", "style": "pass", "cases": ["a", "b", "c"], "tags": []}]
    recorded([passing("a")], status="interrupted", evals=plan)
    assert "interrupted: 1 of 3 planned attempts have ended" in project("show").lines
    recorded([], status=None, evals=plan)
    lines = project("show").lines
    assert "no attempt has ended" in lines
    assert "still running: 0 of 3 planned attempts have ended" in lines


def test_a_damaged_line_is_named_and_the_rest_is_shown(project: Show, recorded: Show) -> None:
    run = recorded([passing("a"), failing()])
    [path] = run.glob("attempts-*.jsonl")
    path.write_text(path.read_text()[:-40])
    answer = project("show")
    assert "1 passed" in answer.lines
    assert f"warning {path}, line 2 is left out: " in answer.err


def test_json_is_one_ascii_object_with_everything(project: Show, recorded: Show) -> None:
    run = recorded([failing(), passing("moving"), hostile()])
    answer = project("show", "--json")
    assert answer.code == 0
    assert answer.out.isascii()
    found = json.loads(answer.out)
    assert list(found) == ["run", "counts", "rates", "asked", "requirements", "ranking", "outside", "attempts"]
    assert found["run"]["id"] == run.name
    assert found["run"]["planned"] == 6
    assert found["counts"] == {"failed": 2, "passed": 1}
    assert found["rates"]["overall"]["decided"] == 3
    [first, *_] = found["attempts"]
    assert (first["eval"], first["case"], first["status"]) == ("orders/order_lookup", "refunded", "failed")
    [entry] = [each for each in first["assertions"] if each["decision"] == "unmet"]
    assert (entry["requirement"], entry["where"], entry["expected"]) == ("schema", "$.status", ENUM)
    assert found["attempts"][2]["eval"] == HOSTILE


def test_showing_a_run_imports_no_runtime(project: Any, recorded: Show) -> None:
    recorded([failing(), errored(1)])
    code = (
        "import sys\nfrom niceeval.cli import main\ntry:\n    main(['show'])\nexcept SystemExit as end:\n"
        "    assert end.code == 0\n"
        "loaded = {'niceeval.runner', 'niceeval.context', 'niceeval.agents', 'niceeval.attempts', 'anyio'} & set(sys.modules)\n"
        "assert not loaded, loaded\n"
    )
    root = str(Path(__file__).parents[2])
    subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {root!r})\n{code}"], check=True, cwd=project.root
    )


def test_estimates_over_some_of_the_cases_say_over_how_many(project: Show, recorded: Show) -> None:
    letters = {"a": "PPF", "b": "FEE"}
    words = {"P": "passed", "F": "failed", "E": "errored"}
    recorded(
        [
            {"case": case, "attempt": number, "status": words[letter]}
            for case, outcomes in letters.items()
            for number, letter in enumerate(outcomes, 1)
        ]
    )
    lines = project("show").lines
    head = next(place for place, each in enumerate(lines) if "pass@3" in each)
    assert lines[head].split()[-3:] == ["pass@3", "pass^3", "cases"]
    assert lines[head + 1].split()[1:] == ["2/4", "2", "0.50", "1.00", "0.00", "1/2"]


def test_the_rate_that_is_asked_for_is_shown_as_it_was_written(project: Show, recorded: Show) -> None:
    evals = [{"id": "orders/order_lookup", "cases": None, "min_rate": 0.9995}]
    recorded([{"status": "passed"}], evals=evals)
    assert any(line.split()[-1:] == ["0.9995"] for line in project("show").lines)


def test_agents_that_terminals_cannot_write_are_counted_once(project: Show, recorded: Show) -> None:
    name = "half \ud83d"
    recorded(
        [
            {"agent": name, "status": "passed"},
            {"agent": name, "eval": "help", "style": "score", "status": "scored", "score": 1},
        ]
    )
    document = json.loads(project("show", "--json").out)
    assert [(each["passed"], each["planned"]) for each in document["rates"]["evals"]] == [(1, 1)]
    assert [(each["scored"], each["planned"]) for each in document["ranking"]] == [(1, 1)]
