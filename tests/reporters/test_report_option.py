"""`--report`: files whole or not at all, and a non-zero exit where one is missing."""

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
EVAL = """
from niceeval import define_eval
from niceeval_expect import equals

@define_eval(cases={"good": 1, "bad": 2})
async def one(t, case):
    t.check(case, equals(1)).key("is one")

@define_eval
async def fine(t):
    t.check(1, equals(1))
"""


def niceeval(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r})\nfrom niceeval.cli import main; main()"
    command = [sys.executable, "-W", "error", "-c", code, *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "eval_one.py").write_text(EVAL)
    return tmp_path


def test_a_run_writes_the_reports_that_were_asked_for(project: Path) -> None:
    kinds = {"junit": "deep/er/j.xml", "markdown": "m.md", "github": "g.txt", "json": "r.json", "console": "c.txt"}
    options = [text for kind, path in kinds.items() for text in ("--report", f"{kind}={path}")]
    done = niceeval("run", "eval_one.py", *options, cwd=project)
    assert done.returncode == 1
    assert ET.parse(project / "deep/er/j.xml").getroot().get("failures") == "1"
    assert (project / "m.md").read_text().startswith("### NiceEval: 1 failed, 2 passed")
    assert (project / "g.txt").read_text().startswith("::error file=eval_one.py,line=7,")
    assert json.loads((project / "r.json").read_text())["counts"] == {"failed": 1, "passed": 2}
    assert "FAILED one/one[bad]" in (project / "c.txt").read_text()
    assert not list(project.rglob(".*.xml.*"))


def test_a_report_that_cannot_be_written_is_a_non_zero_exit(project: Path) -> None:
    (project / "file").write_text("")
    done = niceeval("run", "eval_one.py", "-k", "fine", "--report", "junit=file/j.xml", cwd=project)
    assert done.returncode == 3
    assert "the junit report was not written to file/j.xml" in " ".join(done.stderr.split())
    done = niceeval("run", "eval_one.py", "--report", "junit=file/j.xml", cwd=project)
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("junt=x", "there is no kind 'junt'"),
        ("junit", "says no path"),
        ("junit= ", "says no path"),
        ("junit=.", "is a folder"),
    ],
)
def test_what_is_no_report_is_refused_before_anything_runs(project: Path, given: str, said: str) -> None:
    done = niceeval("run", "eval_one.py", "--report", given, cwd=project)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())
    assert not (project / ".niceeval").exists()


def test_an_older_run_is_reported_by_show(project: Path) -> None:
    niceeval("run", "eval_one.py", cwd=project)
    done = niceeval("show", "--report", "junit=j.xml", "--report", "markdown=-", cwd=project)
    assert done.returncode == 0
    assert ET.parse(project / "j.xml").getroot().get("tests") == "3"
    assert "### NiceEval: 1 failed, 2 passed" in done.stdout


def test_the_workflow_in_the_docs_is_read_and_runs_what_exists() -> None:
    page = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")
    text = page.split('```yaml title=".github/workflows/evals.yml"\n')[1].split("```")[0]
    [job] = yaml.safe_load(text)["jobs"].values()
    [command] = [step["run"] for step in job["steps"] if step.get("run", "").startswith("niceeval run")]
    assert command.split() == [
        "niceeval", "run", "evals", "--report", "junit=out/junit.xml", "--report", "markdown=out/comment.md",
        "--report", "github=-",
    ]  # fmt: skip
