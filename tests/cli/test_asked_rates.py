"""Evals that ask for a rate, from the command line: what is printed, the exit codes, and runs until they are decided."""

import json
from typing import Any

import pytest

HEAD = """\
from niceeval import AgentUnavailable, define_eval
from niceeval_expect import equals

CALLS = {}


def agent(message):
    name, _, every = message.partition(" ")
    number = CALLS[name] = CALLS.get(name, 0) + 1
    if every == "down":
        raise AgentUnavailable("503", retryable=False)
    return "wrong" if every and number % int(every) == 0 else "right"

"""


def asking(name: str, message: str, *, attempts: int = 20, rate: float | None = 0.85, key: str = "is right") -> str:
    return (
        f"@define_eval(attempts={attempts}, min_rate={rate})\n"
        f"async def {name}(t):\n"
        f"    turn = await t.send({message!r})\n"
        f"    t.check(turn.message, equals('right')).key({key!r})\n\n\n"
    )


GOOD = asking("good", "good")
SO_SO = asking("so_so", "so_so 7")
BAD = asking("bad", "bad 2")
ALONE = asking("alone", "alone 1", attempts=1, rate=None, key="alone")
DOWN = asking("broken", "broken down")


@pytest.fixture
def run(project: Any) -> Any:
    """Runs evals of one file."""

    def go(*evals: str, options: tuple[str, ...] = (), command: str = "run") -> Any:
        if evals:
            project.write({"e.py": HEAD + "".join(evals)})
        given = ("e.py", "--agent", "e:agent", "--concurrency", "1") if command == "run" else ()
        return project(command, *given, *options)

    return go


@pytest.mark.parametrize(
    ("evals", "code"),
    [
        ((GOOD,), 0),
        ((BAD,), 1),
        ((SO_SO,), 5),
        ((GOOD, SO_SO), 5),
        ((SO_SO, BAD), 1),
        ((GOOD, ALONE), 1),
        ((SO_SO, ALONE), 1),
        ((DOWN,), 3),
        ((SO_SO, DOWN), 3),
        ((GOOD, DOWN), 3),
    ],
)
def test_the_exit_code_is_that_of_the_worst_rate_and_of_the_other_evals(run: Any, evals: Any, code: int) -> None:
    assert run(*evals).code == code


def test_a_few_errored_attempts_do_not_matter_where_the_rate_is_decided_all_the_same(run: Any) -> None:
    text = GOOD.replace("attempts=20", "attempts=40, cases={'a': 'good', 'b': 'good', 'c': 'x down'}")
    text = text.replace("good(t)", "good(t, case)").replace("'good')\n", "case)\n").replace("0.85", "0.5")
    answer = run(text)
    assert answer.code == 0
    assert "80/80 passed, 0.5 asked: pass, 0.589 to 1.000; 40 undecided" in answer.out


def test_rates_are_answered_with_their_arithmetic_and_attempts_are_evidence(run: Any) -> None:
    answer = run(GOOD, SO_SO, BAD, ALONE)
    assert "FAILED e/alone" in answer.out
    assert answer.out.count("FAILED") == 1
    assert "12 failed attempts of evals that are judged by their rate:\n\nfailed e/so_so  attempt 7\n" in answer.out
    assert "(7 more failed: niceeval show --all)" in answer.out
    blocks = answer.out[answer.out.index("RATE") :]
    assert blocks.startswith(
        "RATE FAIL e/bad\n"
        "  10/20 passed, 0.85 asked: fail, 0.302 to 0.698\n"
        "\n"
        "RATE INCONCLUSIVE e/so_so\n"
        "  18/20 passed, 0.85 asked: inconclusive, 0.717 to 0.982; about 150 attempts\n"
        "  would decide\n"
        "\n"
        "RATE PASS e/good\n"
        "  20/20 passed, 0.85 asked: pass, 0.861 to 1.000\n"
        "\n"
        "13 failed, 48 passed in "
    )
    assert "asked rates: 1 fail, 1 inconclusive, 1 pass; of the attempts, 12 failed count" in answer.out
    assert "next    niceeval show            niceeval run e.py -k alone --agent e:agent" in answer.out
    shown = run(command="show")
    assert shown.code == 0
    for text in (blocks.split("13 failed")[0], "\nFAILED e/alone", "12 failed attempts of evals that", "asked rates: "):
        assert text in shown.out
    assert run(command="show", options=("latest", "e/good")).out.count("RATE ") == 1
    quiet = run(options=("--quiet",))
    assert quiet.lines[1].startswith("asked rates: 1 fail, 1 inconclusive, 1 pass")


def test_programs_get_the_conditions(run: Any) -> None:
    summary = json.loads(run(SO_SO, options=("--json",)).lines[-1])
    assert summary["exit_code"] == 5
    (asked,) = summary["asked"]
    wanted = {"kind": "eval", "name": "e/so_so", "decision": "inconclusive", "passed": 18, "decided": 20, "needed": 150}
    assert {name: asked[name] for name in wanted} == wanted
    assert json.loads(run(command="show", options=("--json",)).out)["asked"] == [asked]
    gate = run(command="gate", options=("--json",))
    assert gate.code == 5
    assert json.loads(gate.out)["conditions"] == [asked]


def test_the_requirement_that_failed_most_often_comes_first(project: Any, recorded: Any) -> None:
    def check(requirement: str, decision: str) -> dict[str, Any]:
        outcome = {"met": "matched", "unmet": "mismatched"}[decision]
        return {"kind": "check", "requirement": requirement, "decision": decision, "outcome": outcome}

    failing = {"rare": 1, "never": 0, "often": 3, "also never": 0}
    recorded(
        {
            "eval": "e",
            "case": str(case),
            "status": "failed" if case < 3 else "passed",
            "checks": [check(name, "unmet" if case < number else "met") for name, number in failing.items()],
        }
        for case in range(5)
    )
    lines = project("show").lines
    start = lines.index("  3 of 5 decided cases failed, 4 violations")
    assert [each.split("  ")[1].strip() for each in lines[start + 1 : start + 6]] == [
        "requirement", "often", "rare", "never", "also never"
    ]  # fmt: skip


def test_evals_are_repeated_until_they_are_decided(run: Any) -> None:
    evals = [each.replace("attempts=20", "attempts=60") for each in (GOOD, SO_SO, BAD, ALONE)]
    dry = run(*evals, options=("--until-decided", "--dry-run"))
    assert "4 evals, 4 cases × at most 1-60 attempts" in dry.lines[0]
    assert "at most 181 attempts planned; nothing was run" in dry.out
    answer = run(*evals, options=("--until-decided",))
    assert answer.code == 1
    assert "e/good   ━━━━━━━━━━━━━━━━━━━━━━━━ 24/24  24 passed" in answer.out
    assert "24/24 passed in 24 rounds, 0.85 asked: pass, 0.854 to 1.000" in answer.out
    assert "in 60 rounds, 0.85 asked: inconclusive, " in answer.out
    assert "asked: fail, " in answer.out
    assert "planned attempt" not in answer.out
    shown = run(command="show")
    assert "4 evals, 4 cases × at most 1-60 attempts" in shown.lines[0] + shown.lines[1]
    assert "RATE PASS e/good\n  24/24 passed in 24 rounds" in shown.out
    gate = run(command="gate")
    assert gate.code == 1
    assert "repeated until decided: 24 rounds of one attempt at each case count" in gate.out
    assert "true rate at least 0.854, at most 1.000: whenever one stops, each at 95 %" in gate.out.replace("\n   ", "")
    overall = run(command="gate", options=("--min-rate", "0.5", "--cases", "fixed"))
    assert "the bounds are only nearly right" in overall.out.replace("\n ", "")
    done = run(command="resume")
    assert done.code == 4
    assert "lacks nothing" in done.err


def test_events_say_what_is_decided(run: Any) -> None:
    told = [json.loads(each) for each in run(GOOD.replace("20", "60"), options=("--until-decided", "--json")).lines]
    assert told[0]["sequential"] is True
    assert told[0]["planned"] == 60
    (event,) = [each for each in told if each["event"] == "eval_decided"]
    wanted = {"eval": "e/good", "agent": "e:agent", "attempts": 24, "decision": "pass", "not_needed": 36}
    assert {name: event[name] for name in wanted} == wanted
    assert (told[-1]["planned"], told[-1]["finished"], told[-1]["exit_code"]) == (24, 24, 0)


def test_a_run_that_was_cut_short_goes_on_with_its_rounds(run: Any) -> None:
    evals = [each.replace("attempts=20", "attempts=60") for each in (BAD, GOOD)]
    first = run(*evals, options=("--until-decided", "-x"))
    assert first.code == 1
    assert "stopped: 1 attempt has failed or errored; 60 of at most " in first.out
    ended = next(each for each in first.lines if "RATE FAIL e/bad" in each)
    assert ended
    second = run(command="resume", options=("--concurrency", "1"))
    assert second.code == 1
    assert " of at most 120 planned attempts were done" in second.lines[1]
    assert "e/bad" not in second.out.split("failed attempts of")[0].partition("e/good")[0]
    assert "24/24 passed in 24 rounds, 0.85 asked: pass" in second.out
    assert "asked rates: 1 fail, 1 pass" in second.out
    assert "planned attempts have ended" not in second.out
    assert run(command="gate").out.splitlines()[-1] == "fail"


def test_until_decided_needs_an_eval_that_asks(run: Any) -> None:
    answer = run(ALONE, options=("--until-decided",))
    assert answer.code == 2
    assert "no eval that is selected asks for a rate" in " ".join(answer.err.split())


@pytest.mark.parametrize(
    ("options", "attempts", "said"),
    [
        ((), 18, "that 18 attempts of 18 attempts pass would not show it; 19 would"),
        ((), 19, None),
        (("--until-decided",), 23, "that 23 attempts of 23 attempts pass would not show it with --until-decided; 24"),
        (("--until-decided",), 24, None),
    ],
)
def test_too_few_attempts_to_show_a_rate_are_said(run: Any, options: Any, attempts: int, said: str | None) -> None:
    answer = run(GOOD.replace("20", str(attempts)), options=options)
    assert answer.code == (0 if said is None else 5)
    assert (said or "") in " ".join(answer.err.split())
    assert (said is None) == (answer.err == "")


def test_last_failed_takes_all_cases_of_a_rate_that_is_not_reached_and_none_of_one_that_is(run: Any) -> None:
    text = GOOD.replace("attempts=20", "cases={'a': 'a', 'b': 'b 3'}, attempts=20")
    text = text.replace("good(t)", "good(t, case)").replace("'good')\n", "case)\n")
    reached = text.replace("good", "reached").replace("0.85", "0.5")
    run(text.replace("good", "missed").replace("0.85", "0.95"), reached)
    answer = run(options=("--last-failed", "--dry-run", "--json"))
    assert [(each["id"], each["cases"]) for each in json.loads(answer.out)["evals"]] == [("e/missed", ["a", "b"])]
