"""The benchmark of matches measures every one of them, on subjects that come out as its table says."""

import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import niceeval_expect
from niceeval.scopes import Scope

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "matches.py"
MADE: dict[str, Any] = runpy.run_path(str(SCRIPT))
ROWS: list[tuple[Any, Any, Any]] = MADE["ROWS"]


def test_every_subject_comes_out_as_the_table_says() -> None:
    found = {(repr(match), match.evaluate(good).outcome, match.evaluate(bad).outcome) for match, good, bad in ROWS}
    assert {each[1:] for each in found} == {("matched", "mismatched")}, found


def test_every_match_and_every_claim_is_measured() -> None:
    factories = {
        name
        for name in niceeval_expect.__all__
        if callable(made := getattr(niceeval_expect, name)) and not isinstance(made, type) and name.islower()
    }
    claims = {name for name in vars(Scope) if not name.startswith("_")} - {"check", "tool_calls"}
    measured = {name for match, *_ in ROWS for name in re.findall(r"\b[a-z_]+(?=\()", repr(match))}
    # What is made of a function costs what `satisfies` does, and a judge takes as long as its model.
    of_code = {"define_value_match", "define_score_match", "from_spec", "register_match"}
    judged = {"closed_qa", "define_judge", "factuality", "summarizes"}
    assert factories - measured == of_code | judged
    assert claims - measured == set()


def test_it_prints_a_table() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(SCRIPT), "--seconds", "0.0001", "includes", "max_cost"],
        env={"PYTHONPATH": str(SCRIPT.parents[1]), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    rows = [re.split(r" *\| *", line.strip("| ")) for line in done.stdout.splitlines()[3:]]
    assert rows[0] == ["match", "matched", "mismatched"]
    assert [row[0] for row in rows[2:]] == ["includes", "max_cost"]
    assert all(float(number) > 0 for row in rows[2:] for number in row[1:])
