"""`make demo` in a copy of the repository's examples: what it shows, and that it notices when it shows something else."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from junitparser import JUnitXml
from markdown_it import MarkdownIt

from niceeval.record import Record

ROOT = Path(__file__).parents[1]
TYPED = "from niceeval.cli import main; main()"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__", ".niceeval"))
    return tmp_path


def python(*arguments: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    kept = {key: value for key, value in os.environ.items() if key not in ("FORCE_COLOR", "COLUMNS", "NO_COLOR")}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**kept, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def test_the_demo_shows_a_failure_on_purpose_and_ends_well(clone: Path) -> None:
    shown = python("examples/demo.py", cwd=clone)

    assert (shown.returncode, shown.stderr) == (0, "")
    assert "\x1b" not in shown.stdout
    block = shown.stdout.partition("FAILED ")[2].partition("\n\n")[0]
    assert [" ".join(line.split()) for line in block.splitlines()[2:5]] == [
        "where $.id",
        "expected one of 4102, 4145",
        "received 3901",
    ]
    assert "This failure is on purpose." in shown.stdout
    assert re.findall(r"^ +(\d)  (\w+) ", shown.stdout, re.MULTILINE) == [
        ("1", "friendly"),
        ("2", "brief"),
        ("3", "hurried"),
    ]
    with Record.open(clone) as record:
        ranked, answered = record.runs()
        assert [each.name for each in record.attempts(answered, verdict="failed")] == [
            "citations/cites_what_it_read[christmas]"
        ]
        assert [each.status for each in record.attempts(ranked)].count("unrankable") == 1


def test_the_commands_that_the_demo_suggests_work(clone: Path) -> None:
    shown = python("examples/demo.py", cwd=clone).stdout
    commands = shown.replace("\\\n", " ")
    suggested = re.findall(r"^  \S*niceeval (show \d.+)$", commands, re.MULTILINE)

    assert len(suggested) == 3
    for command, seen in zip(suggested, ["January [3901]", "cites_what_it_read[christmas]", "friendly"], strict=True):
        again = python("-c", TYPED, *shlex.split(command), cwd=clone)
        assert again.returncode == 0
        assert seen in again.stdout.replace("\n         ", "")


def test_reports_of_the_demo_are_read_back_by_what_reads_them(clone: Path) -> None:
    assert python("examples/demo.py", cwd=clone).returncode == 0
    with Record.open(clone) as record:
        answered = record.runs()[1]
        rates = list(record.pass_rates(answered).evals)
        attempts = len(record.attempts(answered))
    kinds = ("junit=j.xml", "markdown=m.md", "github=g.txt")
    given = ["show", str(answered.folder), *(part for kind in kinds for part in ("--report", kind))]
    assert python("-c", TYPED, *given, cwd=clone).returncode == 0

    suites = JUnitXml.fromfile(str(clone / "j.xml"))
    assert (suites.tests, suites.failures, suites.errors) == (attempts, 1, 0)
    (failed,) = (case for suite in suites for case in suite if case.result)
    assert failed.name == "christmas"
    assert "3901" in failed.result[0].text

    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse((clone / "m.md").read_text("utf-8"))
    cells = [token.content for token in tokens if token.type == "inline"]
    assert all(f"{each.passed} / {each.decided}" in cells for each in rates)
    assert any("3901" in token.content for token in tokens if token.type == "fence")

    commands = (clone / "g.txt").read_text("utf-8").splitlines()
    assert [each.split(" ")[0] for each in commands] == ["::error", "::notice"]
    place = re.search(r"file=([^,]+),line=(\d+),", commands[0])
    assert place is not None
    assert "check" in (clone / place[1]).read_text("utf-8").splitlines()[int(place[2]) - 1]


def test_the_demo_fits_eighty_columns(clone: Path) -> None:
    lines = python("examples/demo.py", cwd=clone).stdout.splitlines()

    assert [line for line in lines if len(line) > 80] == []


def test_the_demo_notices_that_its_mistake_is_mended(clone: Path) -> None:
    agent = clone / "examples/support/agent.py"
    agent.write_text(agent.read_text().replace('if "christmas" in', 'if "easter" in'))

    shown = python("examples/demo.py", cwd=clone)

    assert shown.returncode == 1
    assert "did not go as planned" in shown.stderr
    assert "Mend the agent" not in shown.stdout
