"""Setup and teardown of experiments in a session of pytest: each once in a process that runs attempts of them."""

from typing import Any

import pytest

pytest_plugins = ["pytester"]

CONFIG = "[tool.niceeval]\nexperiments = 'experiments'\n"
HOOKED = """
import os
from niceeval import Experiment, define_experiment


def note(text):
    with open("log", "a") as file:
        file.write(f"{os.getpid()} {text}\\n")


async def start(experiment: Experiment) -> None:
    note(f"start {experiment.name}")


def stop() -> None:
    note("stop")


def support(message):
    note("asked")
    return "on its way, or a refund"


served = define_experiment(agent=support, setup=start, teardown=stop)
"""


@pytest.fixture
def served(shop: Any) -> Any:
    shop.write({"pyproject.toml": CONFIG, "experiments/served.py": HOOKED})
    return shop


def log(project: Any) -> dict[str, list[str]]:
    """What each process did."""
    found: dict[str, list[str]] = {}
    for line in (project.root / "log").read_text().splitlines():
        process, _, text = line.partition(" ")
        found.setdefault(process, []).append(text)
    return found


def test_an_experiment_is_set_up_once_around_all_its_attempts(served: Any) -> None:
    served.pytest("evals").assert_outcomes(passed=3)
    assert list(log(served).values()) == [["start served", "asked", "asked", "stop"]]


def test_each_worker_sets_up_for_itself(served: Any) -> None:
    served.pytest("-n", "2", "evals").assert_outcomes(passed=3)
    for done in log(served).values():
        assert (done[0], done[-1]) == ("start served", "stop")
        assert done.count("start served") == done.count("stop") == 1


def test_what_is_not_run_is_not_set_up(served: Any) -> None:
    served.write({"test_it.py": "def test_it():\n    pass\n"})
    served.pytest(".", "-k", "test_it").assert_outcomes(passed=1, deselected=3)
    assert not (served.root / "log").exists()


def test_a_teardown_is_reached_when_the_session_stops(served: Any) -> None:
    served.write({"experiments/served.py": HOOKED.replace("on its way, or a refund", "no")})
    served.pytest("evals", "-x").assert_outcomes(failed=1)
    assert list(log(served).values()) == [["start served", "asked", "stop"]]
    assert served.header.stopped == "-x after 1 failure"


def test_without_a_setup_every_attempt_is_an_error(served: Any) -> None:
    served.write({"experiments/served.py": HOOKED.replace('note(f"start {experiment.name}")', "int('x')")})
    done = served.pytest("evals")
    done.assert_outcomes(errors=3)
    done.stdout.fnmatch_lines(["*setup of experiment 'served' failed: ValueError: invalid literal*"])
    assert list(log(served).values()) == [["stop"]]


@pytest.mark.parametrize("workers", [(), ("-n", "1")])
def test_a_teardown_that_goes_wrong_is_said(served: Any, workers: tuple[str, ...]) -> None:
    served.write({"experiments/served.py": HOOKED.replace('note("stop")', 'raise ValueError("still in use")')})
    done = served.pytest(*workers, "evals")
    done.assert_outcomes(passed=3)
    assert done.ret == pytest.ExitCode.OK
    done.stdout.fnmatch_lines(["niceeval: teardown of experiment 'served' raised ValueError: still in use"])
    assert served.header.status == "sealed"
