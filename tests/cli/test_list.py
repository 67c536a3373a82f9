"""`niceeval list`: evals and experiments, without running anything."""

import json
import re
from typing import Any

import pytest
from rich.cells import cell_len

HEAD = "from niceeval import define_eval, define_experiment, define_score_eval\nfrom niceeval_expect import equals\n"
EVALS = (
    HEAD
    + """
@define_eval(tags=["smoke", "orders"], cases={"a": 1, "b": 2})
async def asks(t, case):
    raise SystemExit("listing must run nothing")

@define_score_eval
async def rated(t): ...
"""
)


@pytest.fixture
def shop(project: Any) -> Any:
    project.write({"bots.py": "def echo(message):\n    return message\n", "evals/eval_e.py": EVALS})
    return project


def test_evals_are_listed_with_tags_cases_and_place(shop: Any) -> None:
    answer = shop("list", "evals")
    assert answer.code == 0
    assert (
        answer.out
        == """\
  eval                         written at          tags            style   cases
  e/asks                       evals/eval_e.py:4   smoke, orders   pass        2
  e/rated                      evals/eval_e.py:8   -               score       -

2 evals, 3 cases
"""
    )
    assert all(cell_len(each) <= 80 for each in answer.lines)
    assert not (shop.root / ".niceeval").exists()


@pytest.mark.parametrize(
    ("arguments", "ids"),
    [
        ([], {"e/asks": ["a", "b"], "e/rated": None}),
        (["--tag", "smoke"], {"e/asks": ["a", "b"]}),
        (["-k", "rated"], {"e/rated": None}),
        (["-k", "b]"], {"e/asks": ["b"]}),
    ],
)
def test_a_selection_and_json(shop: Any, arguments: list[str], ids: dict[str, Any]) -> None:
    answer = shop("list", "evals", "--json", *arguments)
    assert answer.code == 0
    evals = json.loads(answer.out)["evals"]
    assert {each["id"]: each["cases"] for each in evals} == ids
    assert all(each["file"] == "evals/eval_e.py" for each in evals)


def test_experiments_are_listed_with_what_they_say(shop: Any) -> None:
    shop.write(
        {
            "experiments/small.py": HEAD
            + "x = define_experiment(agent='bots:echo', model='small', flags={'tone': 'dry'}, evals='asks')\n",
            "experiments/plain.py": HEAD
            + "def echo(message):\n    return message\nx = define_experiment(agent=echo)\n",
        }
    )
    answer = shop("list", "evals", "--experiment", "experiments")
    assert answer.code == 0
    assert (
        answer.out
        == """\
plain  2 of 2 evals  experiments/plain.py:5
  agent   echo

small  1 of 2 evals  experiments/small.py:3
  agent   bots:echo
  model   small
  flags   tone dry
  evals   asks

2 experiments
"""
    )
    plain, small = json.loads(shop("list", "evals", "--experiment", "experiments", "--json").out)["experiments"]
    assert plain["evals"] == ["e/asks", "e/rated"]
    assert small == {
        "name": "small",
        "agent": "bots:echo",
        "model": "small",
        "flags": {"tone": "dry"},
        "evals": ["e/asks"],
        "file": "experiments/small.py",
        "line": 3,
    }
    # Without evals, experiments are listed all the same.
    assert re.search(r"^small  experiments/small.py:3$", shop("list", "--experiment", "experiments").out, re.M)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ([], 2, "no file or folder"),
        (["gone"], 2, "gone: does not exist"),
        (["bots.py"], 4, "no eval found"),
        (["evals", "-k", "zzz"], 4, "-k 'zzz' selects none of 3 cases"),
        (["evals", "--tag", "zzz"], 4, "--tag zzz selects no eval; there is orders, smoke"),
        (["evals", "--experiment", "gone"], 2, "gone: does not exist"),
    ],
)
def test_what_cannot_be_listed_is_said(shop: Any, arguments: list[str], code: int, says: str) -> None:
    answer = shop("list", *arguments)
    assert answer.code == code
    assert says in " ".join(answer.err.split())


def test_a_file_that_does_not_import_is_named_and_the_rest_listed(shop: Any) -> None:
    shop.write({"evals/eval_bad.py": "1 / 0\n"})
    answer = shop("list", "evals")
    assert answer.code == 2
    assert "evals/eval_bad.py:1: ZeroDivisionError" in answer.err
    assert "e/asks" in answer.out
