"""New checks over what a run has stored: what they would have said, and what comes out differently."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from niceeval import EvalContext, Reply, ScriptedAgent, ToolCall, Usage, define_eval, register_secret, run_eval
from niceeval.recheck import Recheck, recheck_run
from niceeval.redaction import forget_secrets
from niceeval_expect import (
    at,
    equals,
    event_match,
    excludes,
    includes,
    is_defined,
    length,
    not_,
    satisfies,
    similarity,
    tool_match,
)

pytestmark = pytest.mark.anyio

REFUND = ToolCall("refund", {"id": 7}, "ok", status="completed")
QUESTIONS = {"refund": "Refund ORD-7, please.", "hours": "When do you open?"}
POLITE = ScriptedAgent(
    {
        QUESTIONS["refund"]: Reply("Your refund is done. Thank you.", tool_calls=[REFUND], usage=Usage(input_tokens=9)),
        QUESTIONS["hours"]: "At nine, thank you.",
    }
)
CURT = ScriptedAgent({QUESTIONS["refund"]: Reply("Done.", tool_calls=[]), QUESTIONS["hours"]: "Nine."})


@define_eval(cases=QUESTIONS)
async def shop(t: EvalContext, question: str) -> None:
    turn = await t.send(question)
    t.check(turn.message, includes("thank")).key("polite")
    t.check({"words": turn.message.split()}, at("words[0]", is_defined())).key("says something")
    t.check(turn.message, length(at_most=20)).key("short")
    if question == QUESTIONS["refund"]:
        turn.called_tool(tool_match("refund").exactly(1)).key("one refund")


async def recorded(folder: Path, test: Any = shop, **agents: Any) -> Path:
    run = await run_eval(test, agent=agents or {"polite": POLITE, "curt": CURT}, record=folder)
    assert run.folder is not None
    return run.folder


def flips(found: Recheck) -> list[tuple[str, str, str, str, str]]:
    return sorted((each.name, each.agent, each.requirement, each.before, each.after) for each in found.flips)


async def test_the_same_checks_flip_nothing(tmp_path: Path) -> None:
    found = recheck_run(
        await recorded(tmp_path),
        {"polite": includes("thank"), "short": length(at_most=20), "one refund": tool_match("refund").exactly(1)},
    )
    assert (found.attempts, found.compared, found.flips, found.fresh, found.problems) == (4, 10, (), {}, ())
    assert found.agents == ("polite", "curt")


async def test_a_changed_match_flips_and_says_why(tmp_path: Path) -> None:
    folder = await recorded(tmp_path)
    found = recheck_run(folder, {"polite": includes("thank", casefold=True), "short": length(at_most=4)})

    assert found.compared == 8
    assert flips(found) == [
        ("shop[hours]", "curt", "short", "matched", "mismatched"),
        ("shop[hours]", "polite", "short", "matched", "mismatched"),
        ("shop[refund]", "curt", "short", "matched", "mismatched"),
        ("shop[refund]", "polite", "polite", "mismatched", "matched"),
    ]
    why = {each.requirement: (each.why_before, each.why_after) for each in found.flips if each.agent == "polite"}
    assert why["short"] == ("", "has 19 characters")
    assert why["polite"][0].startswith("does not occur in the 31 characters")


async def test_the_first_part_that_says_something_is_the_witness(tmp_path: Path) -> None:
    found = recheck_run(await recorded(tmp_path), {"says something": at("words[0]", not_(equals("At")))})
    assert [(each.name, each.agent) for each in found.flips] == [("shop[hours]", "polite")]
    assert "equals('At') holds" in found.flips[0].why_after


async def test_claims_are_rechecked_over_the_scope_that_was_seen(tmp_path: Path) -> None:
    folder = await recorded(tmp_path)
    found = recheck_run(folder, {"one refund": tool_match("refund", input={"id": 8})})
    assert flips(found) == [("shop[refund]", "polite", "one refund", "matched", "mismatched")]
    found = recheck_run(folder, {"one refund": event_match("message", role="assistant", text=includes("Done"))})
    assert {each.after for each in found.flips} == {"matched", "mismatched"}


@pytest.mark.parametrize(
    ("checks", "problem"),
    [
        ({"polit": includes("x")}, "no entry has the requirement 'polit'; there are: 'one refund', 'polite', "),
        ({"polite": tool_match("x")}, "is about what happened, and a value is stored here"),
        ({"one refund": includes("x")}, "reads a value, and this is about a scope"),
    ],
)
async def test_what_does_not_fit_is_a_problem(checks: Any, problem: str, tmp_path: Path) -> None:
    found = recheck_run(await recorded(tmp_path), checks)
    assert (found.compared, found.flips) == (0, ())
    assert problem in found.problems[0]


async def test_a_function_checks_the_stored_sessions(tmp_path: Path) -> None:
    folder = await recorded(tmp_path)

    async def checks(t: EvalContext) -> None:
        (session,) = t.sessions
        t.check(session.turns[-1].message, includes("thank", casefold=True)).key("polite")
        t.check(session.turns[-1].message, excludes("!")).key("calm")
        session.called_tool("refund").key("one refund")
        t.max_tokens(5).key("budget")

    found = recheck_run(folder, checks)

    assert flips(found) == [("shop[refund]", "polite", "polite", "mismatched", "matched")]
    # Nothing is stored of a refund where nobody asked for one.
    assert found.fresh == {"matched": 4, "mismatched": 1, "unavailable": 5}
    assert (found.compared, found.problems) == (6, ())


async def test_plain_functions_and_async_predicates_do(tmp_path: Path) -> None:
    folder = await recorded(tmp_path)

    async def short(text: str) -> bool:
        return len(text) < 6

    def checks(t: EvalContext) -> None:
        t.check(t.sessions[0].turns[0].message, satisfies("very short", short)).key("short")

    by_function, by_match = recheck_run(folder, checks), recheck_run(folder, {"short": satisfies("very short", short)})
    assert flips(by_function) == flips(by_match) == [("shop[hours]", "polite", "short", "matched", "mismatched")]


@pytest.mark.parametrize(
    ("checks", "problem"),
    [
        (lambda t: t.sessions[7], "the checks ended early: IndexError"),
        (lambda t: t.send("Hello"), "no agent"),
        (lambda t: t.check("x", "y"), "check() takes a match as its second argument"),
    ],
)
async def test_a_function_that_breaks_is_a_problem_of_each_attempt(
    checks: Callable[[EvalContext], Any], problem: str, tmp_path: Path
) -> None:
    found = recheck_run(await recorded(tmp_path), checks)
    assert (found.attempts, found.compared) == (4, 0)
    assert len(found.problems) == 2  # one sentence for each name, said once for both agents
    assert all(problem in each for each in found.problems)
    assert found.problems[0].startswith("shop[")


@pytest.mark.parametrize("checks", [7, "polite", {}, {"polite": "thank"}, {1: includes("x")}, None])
async def test_other_things_are_no_checks(checks: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="checks"):
        recheck_run(await recorded(tmp_path), checks)


async def test_of_several_entries_the_worst_counts(tmp_path: Path) -> None:
    @define_eval
    async def several(t: EvalContext) -> None:
        for word in ("alpha", "beta", "gamma"):
            t.check(word, includes("a")).key("words")

    folder = await recorded(tmp_path, several, polite=POLITE)
    (flip,) = recheck_run(folder, {"words": excludes("m")}).flips
    assert (flip.before, flip.after) == ("matched", "mismatched")
    assert "first at index 2" in flip.why_after
    assert recheck_run(folder, {"words": similarity("alpha").at_least(0)}).flips == ()


async def test_what_was_not_kept_or_replaced_is_a_problem_and_the_rest_is_checked(tmp_path: Path) -> None:
    @define_eval
    async def hidden(t: EvalContext) -> None:
        register_secret("LOGIN", "correct-horse-battery")
        t.check("The login is correct-horse-battery.", includes("horse")).key("secret")
        t.check("a" * 2_000_000, includes("a")).key("large")
        t.check(object(), is_defined()).key("opaque")
        t.check("x", includes("x")).key("plain")

    try:
        folder = await recorded(tmp_path, hidden, polite=POLITE)
    finally:
        forget_secrets()
    for blob in (folder / "blobs").iterdir():
        blob.unlink()
    checks = {"secret": includes("horse"), "large": includes("a"), "plain": includes("y"), "opaque": is_defined()}

    found = recheck_run(folder, checks)

    assert [(each.requirement, each.after) for each in found.flips] == [("plain", "mismatched")]
    assert found.compared == 1
    said = "\n".join(found.problems)
    assert "hidden, secret: a secret was replaced in what it read" in said
    assert "hidden, large: " in said
    assert "is missing" in said
    assert "hidden, opaque: the value was not kept" in said


async def test_an_altered_subject_is_not_rechecked(tmp_path: Path) -> None:
    folder = await recorded(tmp_path, polite=POLITE)
    (path,) = folder.glob("attempts-*.jsonl")
    lines = []
    for text in path.read_text().splitlines():
        document = json.loads(text)
        for subject in document["subjects"].values():
            if isinstance(subject["value"], dict) and "words" in subject["value"]:
                subject["value"]["words"] = []
        lines.append(json.dumps(document))
    path.write_text("\n".join(lines) + "\n")
    found = recheck_run(folder, {"says something": is_defined()})
    assert found.compared == 0
    assert "was altered" in found.problems[0]
