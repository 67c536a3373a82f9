"""`niceeval init`: a project that runs at once, and nothing of yours overwritten."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

FILES = ["agent.py", "evals/eval_orders.py", "experiments/baseline.py", "pyproject.toml", ".gitignore"]


def run(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-W", "error", "-m", "niceeval", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", env=environment)


def test_the_project_runs_at_once_and_shows_what_a_failure_looks_like(tmp_path: Path) -> None:
    made = run(tmp_path, "init", "shop")
    assert made.returncode == 0
    assert [each.split()[1] for each in made.stdout.splitlines()[:5]] == [f"shop/{name}" for name in FILES]
    assert "one eval that passes and one that fails" in " ".join(made.stdout.split())
    assert all(cell_len(each) <= 80 for each in made.stdout.splitlines())
    assert "cd shop" in made.stdout

    ran = run(tmp_path / "shop", "run")
    assert ran.returncode == 1
    assert ran.stderr == ""
    assert "experiment baseline" in ran.stdout
    assert "FAILED orders/tells_the_status[refunded]" in ran.stdout
    assert '      expected  "refunded"' in ran.stdout
    assert "1 failed, 2 passed in " in ran.stdout

    agent = tmp_path / "shop/agent.py"
    fixed = agent.read_text().replace("is on its way.", "is {'refunded' if status == 'refunded' else 'on its way'}.")
    agent.write_text(fixed)
    assert run(tmp_path / "shop", "run").returncode == 0
    assert run(tmp_path / "shop", "list").returncode == 0
    assert run(tmp_path / "shop", "run", "--agent", "agent:support", "--tag", "smoke").returncode == 0


def test_what_is_there_is_named_and_left_alone(project: Any) -> None:
    mine = {
        "agent.py": "mine = 1\n",
        "pyproject.toml": "[project]\nname = 'mine'\n\n[tool.niceeval]\nattempts = 3",
        ".gitignore": "build/\n.niceeval",
    }
    project.write(mine)
    answer = project("init")
    assert answer.code == 0
    assert [each.split()[0] for each in answer.lines[:5]] == ["kept", "wrote", "wrote", "kept", "kept"]
    assert {name: (project.root / name).read_text() for name in mine} == mine
    assert "one eval that passes" not in answer.out
    again = project("init")
    assert [each.split()[0] for each in again.lines[:5]] == ["kept"] * 5


@pytest.mark.parametrize(
    "before", ["", "[project]\nname = 'mine'", "[project]\nname = 'mine'\n\n[tool.ruff]\nline-length = 120\n"]
)
def test_the_table_and_the_line_are_added_to_files_that_are_there(project: Any, before: str) -> None:
    project.write({"pyproject.toml": before, ".gitignore": "build/"})
    assert project("init", ".").code == 0
    text = (project.root / "pyproject.toml").read_text()
    assert text.startswith(before)
    assert tomllib.loads(text)["tool"]["niceeval"] == {"evals": ["evals"], "experiments": ["experiments"]}
    assert (project.root / ".gitignore").read_text() == "build/\n.niceeval/\n"


def test_a_configuration_that_cannot_be_read_stops_it_before_anything_is_written(project: Any) -> None:
    project.write({"pyproject.toml": "[tool.niceeval\n"})
    answer = project("init")
    assert answer.code == 2
    assert "is not valid TOML" in answer.err
    assert [path.name for path in project.root.iterdir()] == ["pyproject.toml"]


def test_a_place_that_is_no_folder_is_a_sentence(project: Any) -> None:
    project.write({"here": ""})
    answer = project("init", "here")
    assert answer.code == 2
    assert "cannot write a project in here" in answer.err
