"""Experiments as values, and as files: what is taken, what is refused, what they are called."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from niceeval import Budget, Eval, EvalContext, Experiment, define_eval, define_experiment
from niceeval.evals.discovery import discover
from niceeval.evals.experiment_files import ExperimentDiscovery, experiment_problems, find_experiments
from niceeval.plans import Plan

HEAD = "from niceeval import define_experiment\n"


def agent(message: str) -> str:
    return message


@define_eval
async def greets(t: EvalContext) -> None: ...


@define_eval
async def farewells(t: EvalContext) -> None: ...


def test_what_is_given_is_kept() -> None:
    made = define_experiment(
        agent="agents.plain:order_agent",
        model="small",
        flags={"strict": True, "steps": (1, [2.5, None])},
        attempts=3,
        concurrency=2,
        timeout=1.5,
        retries=0,
        budget={"max_cost": 2, "max_tokens": 10},
        evals="orders",
        name="fast",
    )
    assert made.name == "fast"
    assert made.budget == Budget(max_cost=2, max_tokens=10)
    assert made.evals == ("orders",)
    assert made.source is not None
    assert Path(made.source.file) == Path(__file__)
    assert made.settings() == {
        "agent": "agents.plain:order_agent",
        "model": "small",
        "flags": {"strict": True, "steps": [1, [2.5, None]]},
        "attempts": 3,
        "concurrency": 2,
        "timeout": 1.5,
        "retries": 0,
        "budget": {"max_cost": 2, "max_tokens": 10},
    }


def test_flags_are_a_copy_of_what_was_given() -> None:
    given: dict[str, Any] = {"tools": ["a"]}
    made = define_experiment(agent=agent, flags=given)
    given["tools"].append("b")
    assert made.flags == {"tools": ["a"]}


@pytest.mark.parametrize("name", ["attempts", "concurrency"])
@pytest.mark.parametrize("value", [0, -1, "4", True, math.nan, 1.0, [1]])
def test_counts_that_make_no_sense_are_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{name}= is a whole number of at least 1, got "):
        define_experiment(agent=agent, **{name: value})


@pytest.mark.parametrize("value", [-1, "4", True, math.nan, 0.5])
def test_retries_that_make_no_sense_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^retries= is a whole number of at least 0, got "):
        define_experiment(agent=agent, retries=value)


@pytest.mark.parametrize("value", [0, -1, "4", True, math.nan, math.inf, [1]])
@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda value: define_experiment(agent=agent, timeout=value), "timeout= is a number of seconds above 0"),
        (lambda value: Budget(max_cost=value), "max_cost= is a number of US dollars above 0"),
        (lambda value: Budget(max_time=value), "max_time= is a number of seconds above 0"),
        (lambda value: define_experiment(agent=agent, budget={"max_time": value}), "max_time= is a number of seconds"),
    ],
)
def test_amounts_that_make_no_sense_are_refused(make: Callable[[Any], Any], says: str, value: Any) -> None:
    with pytest.raises(ValueError, match=says):
        make(value)


@pytest.mark.parametrize("value", [0, -1, "4", True, math.nan, 1.5])
def test_token_budgets_that_make_no_sense_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="max_tokens= is a whole number of at least 1"):
        Budget(max_tokens=value)


async def never(message: str) -> str:
    return message


REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"agent": "agents.plain"}, ValueError, "write module:attr"),
    ({"agent": ":x"}, ValueError, "write module:attr"),
    ({"agent": 3}, TypeError, "an int is not an agent"),
    ({"model": ""}, ValueError, "model= is ''"),
    ({"model": 4}, TypeError, "model= is a text, got 4"),
    ({"name": " fast"}, ValueError, "without spaces around it"),
    ({"name": "a\nb"}, ValueError, r"U\+000A"),
    ({"name": 3}, TypeError, "name= is a text"),
    ({"flags": ["a"]}, TypeError, "flags= is a mapping"),
    ({"flags": {1: 2}}, TypeError, "flags= has the name 1"),
    ({"flags": {"a": {"b": [1, {2}]}}}, TypeError, r"flags\['a'\]\['b'\]\[1\] is set"),
    ({"flags": {"a": math.nan}}, TypeError, r"flags\['a'\] is nan, which JSON cannot hold"),
    ({"flags": {"a": {1: 2}}}, TypeError, r"flags\['a'\] has the name 1"),
    ({"budget": 3}, TypeError, "budget= is a Budget or a mapping"),
    ({"budget": {"max_costs": 3}}, ValueError, "did you mean 'max_cost'"),
    ({"budget": {"colour": 3}}, ValueError, "known are max_cost, max_tokens, max_time"),
    ({"budget": {}}, ValueError, "limits nothing"),
    ({"setup": 3}, TypeError, "setup= is a function, got 3"),
    ({"teardown": "x"}, TypeError, "teardown= is a function"),
    ({"setup": lambda a, b: None}, TypeError, r"setup= is called with \(\) or \(experiment\)"),
    ({"evals": []}, ValueError, "evals= is empty"),
    ({"evals": 3}, TypeError, "evals= is 3"),
    ({"evals": [3]}, TypeError, "evals= holds 3"),
    ({"evals": "a and"}, ValueError, r"the expression in evals= 'a and' cannot be read at column 6"),
    ({"evals": [" "]}, ValueError, "the expression in evals= is empty"),
]


@pytest.mark.parametrize(("arguments", "error", "says"), REFUSED)
def test_what_cannot_be_meant_is_refused_at_the_call(
    arguments: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        define_experiment(**{"agent": agent, **arguments})


def test_a_coroutine_is_no_setup() -> None:
    called: dict[str, Any] = {"setup": never("x")}
    with pytest.raises(TypeError, match="without calling it"):
        define_experiment(agent=agent, **called)


def test_an_agent_is_asked_for() -> None:
    without: dict[str, Any] = {"model": "x"}
    with pytest.raises(TypeError, match="agent"):
        define_experiment(**without)


def test_an_experiment_names_evals_by_expression_or_by_themselves() -> None:
    assert define_experiment(agent=agent).runs(greets)
    assert define_experiment(agent=agent, evals="not farewells").runs(greets)
    assert not define_experiment(agent=agent, evals="not greets").runs(greets)
    both = define_experiment(agent=agent, evals=["zzz", "greet"])
    assert both.runs(greets)
    assert list(both.unmatched([greets, farewells])) == [
        "evals='zzz' fits none of the evals that were found; there is greets, farewells"
    ]
    (near,) = define_experiment(agent=agent, evals="greats").unmatched([greets, farewells])
    assert "did you mean greets" in near
    themselves = define_experiment(agent=agent, evals=[greets])
    assert themselves.runs(greets)
    assert not themselves.runs(farewells)


def found_in(folder: Path, files: dict[str, str]) -> ExperimentDiscovery:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return find_experiments([folder])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("one = define_experiment(agent='a:b')\n", ["file"]),
        ("one = define_experiment(agent='a:b', name='mine')\n", ["mine"]),
        ("one = also = define_experiment(agent='a:b')\n", ["file"]),
        (
            "one = define_experiment(agent='a:b')\ntwo = define_experiment(agent='a:b', name='mine')\n",
            ["file/one", "mine"],
        ),
        ("MANY = {m: define_experiment(agent='a:b', model=m) for m in ('x', 'y')}\n", ["file/x", "file/y"]),
        ("MANY = [define_experiment(agent='a:b', model=m) for m in ('x', 'y')]\n", ["file/MANY[0]", "file/MANY[1]"]),
        ("from _shared import BASE\none = define_experiment(agent='a:b')\n", ["file"]),
        ("from _shared import made\nx, y = made('x'), made('y')\n", ["file/x", "file/y"]),
    ],
)
def test_experiments_are_called_by_name_file_and_variable(tmp_path: Path, text: str, names: list[str]) -> None:
    shared = (
        HEAD
        + "BASE = define_experiment(agent='a:b')\ndef made(m):\n    return define_experiment(agent='a:b', model=m)\n"
    )
    found = found_in(tmp_path, {"file.py": HEAD + text, "_shared.py": shared, ".hidden.py": "1 / 0\n"})
    assert found.problems == ()
    assert [each.name for each in found.experiments] == names


def test_folders_below_are_part_of_the_name(tmp_path: Path) -> None:
    text = HEAD + "one = define_experiment(agent='a:b')\n"
    found = found_in(tmp_path, {"models/small.py": text, "small.py": text})
    assert found.problems == ()
    assert [each.name for each in found.experiments] == ["models/small", "small"]
    assert find_experiments([tmp_path, tmp_path / "small.py"]).experiments[-1].name == "small"


def test_a_module_and_a_name_in_it_are_a_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_experiments.py").write_text(
        HEAD + "fast = define_experiment(agent='a:b')\nBOTH = {'x': fast}\nother = 3\n"
    )
    assert [each.name for each in find_experiments(["my_experiments:fast"]).experiments] == ["fast"]
    assert [each.name for each in find_experiments(["my_experiments:BOTH"]).experiments] == ["x"]
    (wrong,) = find_experiments(["my_experiments:other"]).problems
    assert "name what define_experiment(...) returned" in str(wrong)
    (missing,) = find_experiments(["my_experiments:fats"]).problems
    assert "did you mean 'fast'?" in str(missing)


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"bad.py": "import os\n1 / 0\n"}, "bad.py:2: ZeroDivisionError"),
        ({"bad.py": HEAD + "define_experiment(agent='a:b', attempts=0)\n"}, "bad.py:2: ValueError: attempts="),
        ({"bad.py": HEAD + "x = define_experiment(agent='a:b'\n"}, "bad.py:2: SyntaxError"),
        ({"bad.py": "X = 3\n"}, "bad.py: defines no experiment"),
        ({"bad.py": HEAD + "define_experiment(agent='a:b')\n"}, "bad.py:2: this experiment is held by no name"),
        (
            {"bad.py": HEAD + "x = define_experiment(agent='a:b')\nx = define_experiment(agent='a:b')\n"},
            "bad.py:2: this experiment is held by no name",
        ),
        ({"notes.txt": ""}, "has no experiment file"),
        (
            {
                "a.py": HEAD + "x = define_experiment(agent='a:b', name='same')\n",
                "b.py": HEAD + "\ny = define_experiment(agent='a:b', name='same')\n",
            },
            "b.py:3: two experiments are called 'same'; the other is at ",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_its_line(tmp_path: Path, files: dict[str, str], says: str) -> None:
    (problem,) = found_in(tmp_path, files).problems
    assert problem.fatal
    assert says in str(problem)
    if "two experiments" in says:
        assert "a.py:2" in str(problem)


def test_paths_that_lead_nowhere_are_said(tmp_path: Path) -> None:
    (tmp_path / "experiments").mkdir()
    (missing,) = find_experiments([tmp_path / "experiment"]).problems
    assert "does not exist; did you mean" in str(missing)
    (tmp_path / "notes.txt").write_text("")
    (wrong,) = find_experiments([tmp_path / "notes.txt"]).problems
    assert "is not a Python file" in str(wrong)


EVALS = """
from niceeval import define_eval

@define_eval
async def first(t): ...

@define_eval(id="the second")
async def second(t): ...

async def third(t): ...

MANY = {name: define_eval(name, test=third) for name in ("a", "b")}
"""


@pytest.mark.parametrize(
    ("chosen", "ids"),
    [
        ("[first]", ["e/first"]),
        ("second", ["e/the second"]),
        ("[MANY['b'], first]", ["e/first", "e/b"]),
        ("'e/a or first'", ["e/first", "e/a"]),
    ],
)
def test_a_file_imports_the_evals_that_its_experiment_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: str, ids: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    package = f"evals_{abs(hash(chosen))}"
    text = (
        f"{HEAD}from {package}.eval_e import MANY, first, second\nx = define_experiment(agent='a:b', evals={chosen})\n"
    )
    found = found_in(tmp_path / "experiments", {"x.py": text, f"../{package}/eval_e.py": EVALS})
    assert found.problems == ()
    evals: tuple[Eval[Any], ...] = discover([package]).evals
    assert [each.id for each in evals if found.experiments[0].runs(each)] == ids


def test_what_keeps_an_experiment_from_running_is_said(tmp_path: Path) -> None:
    (one,) = found_in(
        tmp_path, {"one.py": HEAD + "x = define_experiment(agent='no_such:agent', evals='zzz')\n"}
    ).experiments
    said = list(map(str, experiment_problems([one], [greets])))
    assert len(said) == 2
    assert "one.py:2: experiment one: evals='zzz' fits none of the evals that were found; there is greets" in said[0]
    assert "one.py:2: experiment one: agent 'no_such:agent': there is no module 'no_such'" in said[1]


def test_a_plan_counts_what_each_experiment_runs() -> None:
    one = define_experiment(agent=agent, attempts=2, evals="greets", name="one")
    two: Experiment = define_experiment(agent=agent, model="m", name="two")
    plan = Plan((greets, farewells), (one, two), in_experiments=True)
    assert plan.size == 4
    assert plan.header()["experiments"] == [
        {"name": "one", "agent": "agent", "attempts": 2, "evals": ["greets"]},
        {"name": "two", "agent": "agent", "model": "m"},
    ]
