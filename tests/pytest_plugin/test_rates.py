"""Evals that ask for a rate: their attempts are notes, and the rate is one result more."""

import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

pytest_plugins = ["pytester"]

RATED = """
from niceeval import EvalContext, define_eval
from niceeval_expect import includes


@define_eval(cases={"even": 2, "odd": 3}, attempts=10, min_rate=0.85)
async def answers(t: EvalContext, number: int) -> None:
    turn = await t.send(f"number {number}")
    t.check(turn.message, includes("yes")).key("says yes")


@define_eval(attempts=25, min_rate=0.85)
async def always(t: EvalContext) -> None:
    t.check("hello", includes("hello"))


@define_eval
async def alone(t: EvalContext) -> None:
    t.check("hello", includes("hello"))
"""
AGENTS = """
import os, signal
from niceeval import AgentUnavailable

asked = 0


def even(message):
    return "yes" if int(message.split()[1]) % 2 == 0 else "no"


def good(message):
    return "yes"


def unreachable_once(message):
    global asked
    asked += 1
    if asked == 1:
        raise AgentUnavailable("503 Service Unavailable", retryable=False)
    return "yes"


def unreachable(message):
    raise AgentUnavailable("503 Service Unavailable", retryable=False)


def dies_once(message):
    try:
        open("died", "x").close()
    except FileExistsError:
        return "yes"
    os.kill(os.getpid(), signal.SIGKILL)
"""
ANSWERS = "evals/eval_rated.py::answers"


@pytest.fixture
def rated(project: Any) -> Any:
    project.write({"evals/eval_rated.py": RATED, "agents.py": AGENTS})
    return project


def agent(*names: str) -> list[str]:
    return [part for name in names for part in ("--niceeval-agent", f"{name}=agents:{name}")]


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_rate_that_is_not_reached_is_the_one_failure(rated: Any, workers: tuple[str, ...]) -> None:
    done = rated.pytest(*workers, *agent("even"), "evals", "--junitxml=report.xml")
    assert done.parseoutcomes() == {"failed": 1, "passed": 37, "missed": 10}
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines(
        [
            "RATE FAIL rated/answers  even",
            "  10/20 passed, 0.85 asked: fail, 0.30* to 0.69*",
            "failed rated/answers[[]odd[]] *",
            '  ✗ says yes  includes("yes") *evals/eval_rated.py:9',
            '      received  "no"',
            "(7 more attempts did not pass: niceeval show --all)",
            "10 failed, 36 passed",
            "asked rates: 1 fail, 1 pass",
            f"FAILED {ANSWERS} - 10/20 passed, 0.85 asked: fail*",
        ]
    )
    assert rated.header.status == "sealed"

    suite = ElementTree.parse(rated.root / "report.xml").getroot()[0]
    assert (suite.get("failures"), suite.get("errors"), suite.get("tests")) == ("1", "0", "48")
    [answer] = [case for case in suite.iter("testcase") if case.get("name") == "answers"]
    [failure] = answer.iter("failure")
    assert "10/20 passed, 0.85 asked: fail" in str(failure.get("message"))
    notes = [case for case in suite.iter("testcase") if case.find("properties/*[@name='niceeval_status']") is not None]
    assert {str(case.get("name")).partition("-")[0] for case in notes} == {"answers[odd"}
    gate = rated.niceeval("gate", str(rated.runs[-1]))
    assert gate.returncode == 1
    assert "10 of 20 decided passed" in gate.stdout


def test_attempts_have_letters_that_are_no_failures(rated: Any) -> None:
    done = rated.pytest(*agent("even"), "evals", "-v", "-k", "answers")
    done.stdout.fnmatch_lines(
        [
            f"{ANSWERS}[[]even-attempt10[]] PASSED*",
            f"{ANSWERS}[[]odd-attempt1[]] MISSED*",
            f"{ANSWERS} FAILED*[[]100%[]]",
        ]
    )
    short = rated.pytest(*agent("even"), "evals", "-q", "--tb=no", "-k", "answers")
    short.stdout.fnmatch_lines(
        ["..........mmmmmmmmmmF *[[]100%[]]", "niceeval: 10 failed, 10 passed; asked rates: 1 fail  *"]
    )


def test_a_rate_that_is_reached_passes(rated: Any) -> None:
    done = rated.pytest(*agent("good"), "evals", "-v")
    assert done.parseoutcomes() == {"passed": 48}
    assert done.ret == pytest.ExitCode.OK
    done.stdout.fnmatch_lines([f"{ANSWERS} PASSED*", "asked rates: 2 pass"])


def test_an_order_of_another_plugin_changes_nothing(rated: Any) -> None:
    rated.write(
        {
            "conftest.py": "import pytest\n@pytest.hookimpl(trylast=True)\n"
            "def pytest_collection_modifyitems(items):\n    items[:] = items[::-2] + items[-2::-2]\n"
        }
    )
    done = rated.pytest(*agent("even"), "evals", "-v")
    assert done.parseoutcomes() == {"failed": 1, "passed": 37, "missed": 10}
    seen = [line.split()[0] for line in done.outlines if line.startswith(f"{ANSWERS}") and "%]" in line]
    assert seen[-1] == ANSWERS
    assert len(seen) == 21


def test_an_undecided_rate_is_an_error(rated: Any) -> None:
    done = rated.pytest(*agent("good"), "evals", "-k", "even", "-rE", "--junitxml=report.xml")
    assert done.parseoutcomes() == {"passed": 10, "errors": 1, "deselected": 36}
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines(
        [
            "RATE INCONCLUSIVE rated/answers  good",
            "  10/10 passed, 0.85 asked: inconclusive, *",
            f"ERROR {ANSWERS} - 10/10 passed, 0.85 asked: inconclusive*",
        ]
    )
    suite = ElementTree.parse(rated.root / "report.xml").getroot()[0]
    assert (suite.get("failures"), suite.get("errors")) == ("0", "1")


def test_errored_attempts_are_errors_only_where_they_leave_a_rate_open(rated: Any) -> None:
    done = rated.pytest(*agent("unreachable"), "evals", "-k", "answers")
    assert done.parseoutcomes() == {"errors": 1, "undecided": 20, "deselected": 26}
    done.stdout.fnmatch_lines(["RATE INCONCLUSIVE rated/answers  unreachable", "*503 Service Unavailable*"])

    rated.write({"evals/eval_rated.py": RATED.replace("attempts=10", "attempts=25")})
    once = rated.pytest(*agent("unreachable_once"), "evals", "-k", "answers")
    assert once.parseoutcomes() == {"passed": 50, "undecided": 1, "deselected": 26}
    assert once.ret == pytest.ExitCode.OK


def test_the_last_failed_rate_is_asked_again_of_all_its_attempts(rated: Any) -> None:
    rated.pytest(*agent("even"), "evals")
    again = rated.pytest(*agent("even"), "evals", "--lf")
    assert again.parseoutcomes() == {"failed": 1, "passed": 10, "missed": 10}
    one = rated.pytest(*agent("good"), "evals", "--lf", "-k", "even and attempt3")
    assert one.parseoutcomes()["errors"] == 1
    mended = rated.pytest("-n", "2", *agent("good"), "evals", "--lf")
    assert mended.parseoutcomes() == {"passed": 21}
    assert rated.header.planned() == 20
    whole = rated.pytest(*agent("good"), "evals", "--lf")
    assert whole.parseoutcomes() == {"passed": 48}


def test_each_agent_has_a_rate_of_its_own(rated: Any) -> None:
    done = rated.pytest(*agent("even", "good"), "evals", "-k", "answers")
    assert done.parseoutcomes() == {"failed": 1, "passed": 31, "missed": 10, "deselected": 52}
    done.stdout.fnmatch_lines([f"FAILED {ANSWERS}[[]even[]] - 10/20 passed*"])
    again = rated.pytest(*agent("even", "good"), "evals", "--lf")
    assert again.parseoutcomes() == {"failed": 1, "passed": 10, "missed": 10}


def test_what_the_summary_names_can_be_run(rated: Any) -> None:
    done = rated.pytest(*agent("even"), ANSWERS)
    assert done.parseoutcomes() == {"failed": 1, "passed": 10, "missed": 10}


def test_a_failed_rate_ends_the_session_under_x(rated: Any) -> None:
    done = rated.pytest(*agent("even"), "evals", "-x")
    assert done.parseoutcomes() == {"failed": 1, "passed": 10, "missed": 10}
    done.stdout.fnmatch_lines(
        [
            "asked rates: 1 fail, 1 inconclusive",
            "interrupted (-x after 1 failure): 20 of 46 planned attempts have ended",
        ]
    )
    assert (rated.header.status, rated.header.stopped) == ("interrupted", "-x after 1 failure")
    assert "stopped: -x after 1 failure; 26 of 46" in rated.niceeval("show", str(rated.runs[-1])).stdout


def test_a_failed_rate_ends_all_workers_under_x(rated: Any) -> None:
    rated.write({"evals/eval_rated.py": RATED.replace("attempts=25", "attempts=400")})
    done = rated.pytest("-n", "2", *agent("even"), "evals", "-x")
    assert done.ret != pytest.ExitCode.OK
    assert done.parseoutcomes()["failed"] == 1
    assert rated.header.stopped == "-x after 1 failure"
    assert len(rated.attempts) < rated.header.planned()


def test_a_rate_that_waits_for_an_attempt_of_a_killed_worker_is_decided_without_it(rated: Any) -> None:
    rated.write({"evals/eval_rated.py": RATED.replace("attempts=10", "attempts=9")})
    done = rated.pytest("-n", "2", *agent("dies_once"), "evals", "-k", "answers")
    # The killed worker is a failure of its own, as pytest-xdist has it; 17 of 18 do not show the rate.
    assert done.parseoutcomes() == {"failed": 1, "errors": 1, "passed": 17}
    done.stdout.fnmatch_lines(
        ["  17/17 passed, 0.85 asked: inconclusive, *1 undecided, 1 of*", "asked rates: 1 inconclusive"]
    )


def test_an_attempt_whose_fixture_breaks_is_missing(rated: Any) -> None:
    rated.write(
        {
            "conftest.py": "import pytest\n@pytest.fixture(autouse=True)\ndef around(request):\n"
            "    assert 'attempt7' not in request.node.name\n"
        }
    )
    done = rated.pytest(*agent("good"), "evals", "-k", "answers")
    assert done.parseoutcomes() == {"errors": 3, "passed": 18, "deselected": 26}
    done.stdout.fnmatch_lines(["  18/18 passed, 0.85 asked: inconclusive, *", "asked rates: 1 inconclusive"])


def test_a_rate_of_skipped_attempts_is_no_result(project: Any) -> None:
    project.write(
        {
            "evals/eval_skips.py": "from niceeval import define_eval\n@define_eval(attempts=3, min_rate=0.5)\n"
            "async def skips(t):\n    t.skip('not in this country')\n"
        }
    )
    done = project.pytest("evals")
    assert done.parseoutcomes() == {"skipped": 3}
    assert done.ret == pytest.ExitCode.OK


def test_without_the_cache_of_pytest_rates_are_decided_all_the_same(rated: Any) -> None:
    done = rated.pytest(*agent("even"), "evals", "-p", "no:cacheprovider")
    assert done.parseoutcomes() == {"failed": 1, "passed": 37, "missed": 10}
