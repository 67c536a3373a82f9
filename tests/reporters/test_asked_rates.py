"""Reports of evals that ask for a rate: the rate is judged, and the attempts are its evidence."""

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import anyio
import attrs
import pytest
from junitparser import JUnitXml
from scipy.stats import beta

from niceeval import AgentUnavailable, EvalContext, define_eval
from niceeval.cli.view import RunView
from niceeval.evals.eval import Eval
from niceeval.plans import Plan
from niceeval.record.write import RunWriter
from niceeval.reporters.github import github_lines
from niceeval.reporters.json_report import json_parts
from niceeval.reporters.junit import junit_parts
from niceeval.reporters.markdown import markdown_lines
from niceeval.runner import execute
from niceeval_expect import equals


async def agent(message: str) -> str:
    if message == "down":
        raise AgentUnavailable("503", retryable=False)
    return message


def asking(id: str, *messages: str, rate: float | None = 0.85, skips: bool = False) -> Eval[str]:
    @define_eval(id=id, cases={str(number): message for number, message in enumerate(messages)}, min_rate=rate)
    async def answers(t: EvalContext, case: str) -> None:
        if skips and case == "skip":
            t.skip("not today")
        turn = await t.send(case)
        t.check(turn.message, equals("fine")).key(f"{id} is fine")

    return answers


EVALS = (
    asking("a/good", *["fine"] * 20, "skip", skips=True),
    asking("b/doubtful", *["fine"] * 17, "down", "bad", "bad"),
    asking("c/bad", *["bad"] * 8, "fine"),
    asking("d/alone", "bad", "fine", rate=None),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    plan = Plan.of_agents(EVALS, {"plain": agent})
    writer = RunWriter.create(tmp_path_factory.mktemp("asked"), plan.header())

    async def run() -> None:
        await execute(plan, concurrency=4, timeout=None, writer=writer)

    anyio.run(run)
    return writer.folder


@pytest.fixture
def view(folder: Path) -> Iterator[RunView]:
    opened = RunView(folder)
    yield opened
    opened.close()


def test_junit_lists_attempts_without_a_mark_and_judges_the_rate(view: RunView, tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    path.write_text("".join(junit_parts(view)), encoding="utf-8")
    root = ET.parse(path).getroot()
    suites = {each.get("name"): each for each in root.iter("testsuite")}
    marks = {
        name: [
            (case.get("name"), mark.tag) for case in suite.iter("testcase") for mark in case if mark.tag != "properties"
        ]
        for name, suite in suites.items()
    }
    assert marks == {
        "a/good": [("20", "skipped")],
        "b/doubtful": [("rate of at least 0.85", "error")],
        "c/bad": [("rate of at least 0.85", "failure")],
        "d/alone": [("0", "failure")],
    }
    totals = [root.get(name) for name in ("tests", "failures", "errors", "skipped")]
    assert totals == [str(21 + 1 + 20 + 1 + 9 + 1 + 2), "2", "1", "1"]
    parsed = JUnitXml.fromfile(str(path))
    assert (parsed.tests, parsed.failures, parsed.errors, parsed.skipped) == (55, 2, 1, 1)
    (failure,) = suites["c/bad"].iter("failure")
    low, high = beta.ppf(0.05, 1, 9), beta.ppf(0.95, 2, 8)
    assert failure.get("message") == f"1/9 passed, 0.85 asked: fail, {low:.3f} to {high:.3f}"
    assert failure.get("type") == "rate fail"
    assert "c/bad[0]: failed" in (failure.text or "")
    assert (failure.text or "").count(": failed") == 5
    (error,) = suites["b/doubtful"].iter("error")
    assert "1 undecided; about " in (error.get("message") or "")
    assert "b/doubtful[17]: errored" in (error.text or "")


def test_markdown_has_a_table_of_the_rates_and_keeps_their_failures_apart(view: RunView) -> None:
    text = "".join(markdown_lines(view))
    assert text.startswith(
        "### NiceEval: 11 failed, 1 errored, 1 skipped, 39 passed; asked rates: 1 fail, 1 inconclusive, 1 pass"
    )
    rows = [each for each in text.splitlines() if each.count("|") == 8]
    assert rows[0] == (
        "| judged by its rate | answer | asked | passed / decided | undecided | bounds, each at 95 % | attempts to decide |"
    )
    assert [row.split(" | ")[0].strip("| `") for row in rows[2:]] == ["c/bad", "b/doubtful", "a/good"]
    assert "| `a/good` | pass | 0.85 | 20 / 20 | 0 | 0.861 to 1.000 | - |" in rows
    assert re.fullmatch(r"\| `b/doubtful` \| \*\*inconclusive\*\* \| 0.85 \| 17 / 19 \| 1 \| .* \| \d+ \|", rows[3])
    alone, counted = text.index("<summary>1 failed<"), text.index("<summary>10 failed, judged by their rates<")
    assert alone < text.index("`d/alone[0]`") < counted < text.index("`b/doubtful[18]`")


def test_a_rate_that_is_not_reached_is_one_annotation(view: RunView) -> None:
    lines = list(github_lines(view))
    rates = [each for each in lines if "title=rate" in each]
    assert [each.split(" ")[0] for each in rates] == ["::error", "::warning"]
    assert lines[:2] == rates
    assert ",title=rate fail%3A c/bad::c/bad: 1/9 passed, 0.85 asked: fail, " in rates[0]
    assert re.search(r"file=[^,]*test_asked_rates\.py,line=\d+,", rates[0])
    assert next(each for each in lines if "title=failed" in each).startswith("::error file=")
    assert sum("title=failed" in each for each in lines) == 1
    assert sum("title=errored" in each for each in lines) == 1


def test_json_has_the_conditions(view: RunView) -> None:
    document = json.loads("".join(json_parts(view)))
    assert [(each["name"], each["decision"], each["passed"], each["decided"]) for each in document["asked"]] == [
        ("a/good", "pass", 20, 20),
        ("b/doubtful", "inconclusive", 17, 19),
        ("c/bad", "fail", 1, 9),
    ]
    assert document["run"]["sequential"] is False


def test_a_run_that_has_ended_before_an_eval_began_does_not_reach_its_rate(tmp_path: Path) -> None:
    plan = Plan.of_agents((EVALS[0],), {"one": agent, "two": agent})
    writer = RunWriter.create(tmp_path, plan.header())
    writer.seal("interrupted", stopped="max_cost of $1 is reached")
    view = RunView(writer.folder)
    try:
        root = ET.fromstring("".join(junit_parts(view)))
        assert [(case.get("name"), case[1].tag) for case in root.iter("testcase") if len(case) > 1] == [
            ("rate of at least 0.85 by one", "error"),
            ("rate of at least 0.85 by two", "error"),
        ]
        assert [each.decision for each in view.asked] == ["inconclusive", "inconclusive"]
        assert "0/0 passed, 0.85 asked: inconclusive; 21 undecided, 21 of them not run" in "".join(junit_parts(view))
    finally:
        view.close()


def test_rounds_are_counted_in_every_report(tmp_path: Path) -> None:
    many = asking("many", *["fine"] * 5)
    plan = attrs.evolve(Plan.of_agents((many,), {"plain": agent}, 10), sequential=True)
    writer = RunWriter.create(tmp_path, plan.header())

    async def run() -> None:
        await execute(plan, concurrency=1, timeout=None, writer=writer)

    anyio.run(run)
    view = RunView(writer.folder)
    try:
        text = "".join(markdown_lines(view))
        assert "### NiceEval: 25 passed; asked rates: 1 pass" in text
        assert "at most 25 planned attempts" in text
        assert "not run" not in "".join([*junit_parts(view), *github_lines(view), text])
        assert json.loads("".join(json_parts(view)))["asked"][0]["rounds"] == 5
    finally:
        view.close()
