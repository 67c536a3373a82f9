"""The project's judge under pytest: in eval files and in tests with `t`."""

from collections.abc import Iterator
from typing import Any

import pytest

from niceeval.redaction import forget_secrets
from tests.judge.models import KEY, VARIABLE, answered, chat, choice
from tests.servers.scripted import ScriptedServer, scripted_server

pytest_plugins = ["pytester"]

TEST = """
import pytest
from niceeval_expect import closed_qa

pytestmark = pytest.mark.anyio


async def test_polite(t):
    t.check({"input": "?", "output": "x"}, closed_qa("Is it polite?").at_least(0.8)).gate().key("polite")
"""
EVAL = """
from niceeval import define_eval
from niceeval_expect import closed_qa


@define_eval
async def polite(t):
    t.check({"input": "?", "output": "x"}, closed_qa("Is it polite?").at_least(0.8)).gate().key("polite")
"""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    monkeypatch.setenv(VARIABLE, KEY)
    with scripted_server() as running:
        yield running
    forget_secrets()


@pytest.mark.parametrize(("letter", "outcomes"), [("A", {"passed": 3}), ("E", {"failed": 3})])
def test_the_judge_of_the_project_answers(
    project: Any, server: ScriptedServer, letter: str, outcomes: dict[str, int]
) -> None:
    answered(server, chat(choice(letter, "Curt.")))
    project.write({
        "pyproject.toml": f'[tool.niceeval.judge]\nmodel = "small"\nbase_url = "{server.url}/v1"\nkey_variable = "{VARIABLE}"\n',
        "test_shop.py": TEST,
        "eval_shop.py": EVAL,
    })  # fmt: skip
    done = project.pytest()
    done.assert_outcomes(**outcomes)
    assert len(server.requests) == 3
    assert KEY not in done.stdout.str()
