"""Whatever a run looks like, every report of it says the same numbers, which are those of a recount from its export."""

import csv
import json
import re
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from niceeval.cli.report import show_report
from niceeval.cli.screen import open_screen
from niceeval.cli.view import RunView
from niceeval.errors import RecordError
from niceeval.record import Record
from niceeval.record.gates import RateCondition, gate
from niceeval.record.write import RunWriter
from niceeval.reporters import REPORTERS

AGENTS = ("one", "two")
PASS = ("passed", "passed", "failed", "errored", "skipped", None)
SCORE = ("scored", "scored", "unrankable", "errored", None)
KEYS = ("schema >= 1", "tone | `x`")


class Run(NamedTuple):
    plan: dict[str, Any]
    attempts: list[dict[str, Any]]


@st.composite
def runs(draw: st.DrawFn) -> Run:
    """A plan of pass-style and score-style evals, and an attempt, or none, for each of its places."""
    agents = AGENTS[: draw(st.integers(1, 2))]
    evals: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, 3))):
        style = draw(st.sampled_from(["pass", "pass", "score"]))
        rated = {"min_rate": draw(st.sampled_from([0.5, 0.955]))} if style == "pass" and draw(st.booleans()) else {}
        evals.append(
            {"id": f"eval{number}", "style": style, "cases": draw(st.sampled_from([None, ["x", "y"]])), **rated}
        )
    most = draw(st.integers(1, 3))
    attempts: list[dict[str, Any]] = []
    for planned in evals:
        places = ((c, a, n) for c in planned["cases"] or [None] for a in agents for n in range(1, most + 1))
        for case, agent, number in places:
            status = draw(st.sampled_from(PASS if planned["style"] == "pass" else SCORE))
            if status is None:
                continue
            fields: dict[str, Any] = {
                "eval": planned["id"],
                "style": planned["style"],
                "agent": agent,
                "attempt": number,
            }
            if status == "scored":
                fields["score"] = draw(st.sampled_from([0, 0.5, 1, 0.999]))
            decisions = st.sampled_from(["met", "unmet", "undecided"])
            checks = [(key, draw(decisions)) for key in KEYS] if planned["style"] == "pass" else []
            attempts.append({"id": f"{len(attempts):012x}", "case": case, "status": status, **fields, "checks": checks})
    return Run({"agents": list(agents), "attempts": most, "evals": evals}, attempts)


def written(root: Path, run: Run) -> Path:
    outcome = {"met": "matched", "unmet": "mismatched", "undecided": "unavailable"}
    writer = RunWriter.create(root, run.plan)
    for attempt in run.attempts:
        checks = [
            {
                "order": order,
                "requirement": key,
                "decision": decision,
                "outcome": outcome[decision],
                "match": "m",
                "subject": "s",
                "file": "evals/e.py",
                "line": order + 1,
            }
            for order, (key, decision) in enumerate(attempt["checks"])
        ]
        writer.append(json.dumps({**{k: v for k, v in attempt.items() if k != "checks"}, "assertions": checks}))
    writer.seal()
    return writer.folder


class Recount:
    """The numbers of a run, counted from the rows of its exported files and nothing else."""

    def __init__(self, folder: Path, out: Path) -> None:
        with Record.open(folder) as record:
            files = record.export(out, format="csv")

        def rows(table: str) -> list[dict[str, str]]:
            with open(files[table], newline="", encoding="utf-8") as file:
                return list(csv.DictReader(file, strict=True))

        self.attempts, self.plan = rows("attempts"), rows("plan")
        self.statuses = Counter(row["status"] for row in self.attempts)
        self.missing = sum(int(row["attempts"]) for row in self.plan) - len(self.attempts)
        self.requirements: dict[str, Counter[str]] = {}
        for row in rows("assertions"):
            if row["status"] != "skipped":
                self.requirements.setdefault(row["requirement"], Counter())[row["decision"]] += 1

    def of(self, eval_id: str, agent: str) -> Counter[str]:
        return Counter(row["status"] for row in self.attempts if (row["eval"], row["agent"]) == (eval_id, agent))

    def planned(self, eval_id: str, agent: str) -> int:
        return sum(int(row["attempts"]) for row in self.plan if (row["eval"], row["agent"]) == (eval_id, agent))


def rates_agree(document: Any, recount: Recount) -> None:
    for each in document["rates"]["evals"]:
        found = recount.of(each["eval_id"], each["agent"])
        decided = found["passed"] + found["failed"]
        assert (each["passed"], each["decided"], each["errored"]) == (found["passed"], decided, found["errored"])
        assert each["planned"] == recount.planned(each["eval_id"], each["agent"])
        assert each["rate"] == (found["passed"] / decided if decided else None)
    for each in document["requirements"]:
        counts = recount.requirements[each["key"]]
        decided = counts["met"] + counts["unmet"]
        assert (each["failed"], each["decided"], each["errored"]) == (counts["unmet"], decided, counts["undecided"])
    for place in document["ranking"]:
        mine = [row for row in recount.attempts if row["style"] == "score" and row["agent"] == place["agent"]]
        scores = [Fraction(row["score_text"]) for row in mine if row["status"] == "scored"]
        assert place["scored"] == len(scores)
        assert place["planned"] == sum(
            int(row["attempts"]) for row in recount.plan if row["style"] == "score" and row["agent"] == place["agent"]
        )
        assert place["mean_score"] == (float(sum(scores) / len(scores)) if scores else None)


def junit_agrees(text: str, document: Any, recount: Recount, run: Run) -> None:
    root = ET.fromstring(text)
    asked = Counter(each["decision"] for each in document["asked"])
    rated = {each["id"] for each in run.plan["evals"] if "min_rate" in each}
    alone = Counter(row["status"] for row in recount.attempts if row["eval"] not in rated)
    found = {tag: len(list(root.iter(tag))) for tag in ("testcase", "failure", "error", "skipped")}
    assert [int(root.get(name) or 0) for name in ("tests", "failures", "errors", "skipped")] == [*found.values()]
    broken = recount.missing > 0
    assert found == {
        "testcase": len(recount.attempts) + asked.total() + broken,
        "failure": alone["failed"] + asked["fail"],
        "error": alone["errored"] + alone["unrankable"] + asked["inconclusive"] + broken,
        "skipped": recount.statuses["skipped"],
    }


def tables_agree(markdown: str, console: str, document: Any) -> None:
    several = len(document["run"]["agents"]) > 1
    for each in document["rates"]["evals"]:
        agent = f" `{each['agent']}` |" if several else ""
        row = f"| `{each['eval_id']}` |{agent} {each['passed']} / {each['decided']} | {each['errored']} |"
        assert row in markdown
        name = f"    {each['agent']}" if several else f"  {each['eval_id']}"
        assert re.search(rf"^{name} +{each['passed']}/{each['decided']} +{each['errored']} ", console, re.MULTILINE)
        whole = each["rate"] in (0, 1)
        shown = re.findall(rf"^{re.escape(row)} (\S+)", markdown, re.MULTILINE)
        assert whole or not {"1.000", "0.000"} & set(shown)
    for each in document["requirements"]:
        if each["failed"]:
            key = each["key"].replace("|", "\\|")
            assert f"{key}" in markdown
            assert f"| {each['failed']} / {each['decided']} | {each['errored']} | {each['not_reached']} |" in markdown
        row = rf"^  {re.escape(each['key'])} +{each['failed']}/{each['decided']} +{each['errored']} "
        assert re.search(row, console, re.MULTILINE)
    for each in document["ranking"]:
        assert f"| {each['scored']} / {each['planned']} | {each['unrankable']} | {each['errored']} |" in markdown
        row = rf"{each['agent']} +\S+ +{each['scored']}/{each['planned']} +{each['unrankable']} +{each['errored']}"
        assert re.search(row, console)
    for each in document["asked"]:
        assert f"RATE {each['decision'].upper()} {each['name']}" in console
        assert f"{each['passed']}/{each['decided']} passed, {each['min_rate']:g} asked: {each['decision']}" in console


def gate_agrees(folder: Path, document: Any, recount: Recount) -> None:
    with Record.open(folder) as record:
        try:
            own = [each for each in gate(record).conditions if isinstance(each, RateCondition)]
        except RecordError:
            own = []
        assert [json.loads(each.model_dump_json()) for each in own] == document["asked"]
        try:
            overall = gate(record, min_rate=0.5, cases="fixed").conditions
        except RecordError:
            return
    for condition in overall:
        assert isinstance(condition, RateCondition)
        mine = [row for row in recount.attempts if row["style"] == "pass" and row["agent"] == condition.agent]
        found = Counter(row["status"] for row in mine)
        meant = sum(
            int(row["attempts"]) for row in recount.plan if row["style"] == "pass" and row["agent"] == condition.agent
        )
        assert condition.passed == found["passed"]
        assert condition.decided == found["passed"] + found["failed"]
        assert condition.missing == meant - len(mine)
        assert condition.errored == found["errored"] + condition.missing


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(run=runs())
def test_all_reports_and_the_gate_say_what_the_export_says(run: Run) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = written(Path(place) / ".niceeval", run)
        recount = Recount(folder, Path(place) / "out")
        view = RunView(folder)
        try:
            made = {kind: "".join(parts(view)) for kind, parts in REPORTERS.items()}
            console = "\n".join(each.plain for each in show_report(view, open_screen()))
        finally:
            view.close()
        document = json.loads(made["json"], parse_constant=pytest.fail)
        assert document["counts"] == dict(recount.statuses)
        counts = [f"{count} {status}" for status, count in recount.statuses.items()]
        counts += [f"{recount.missing} not run"] if recount.missing else []
        for text in (made["markdown"].splitlines()[0], made["github"].splitlines()[-1]):
            assert all(each in text for each in counts)
        rates_agree(document, recount)
        junit_agrees(made["junit"], document, recount, run)
        tables_agree(made["markdown"], console, document)
        gate_agrees(folder, document, recount)
