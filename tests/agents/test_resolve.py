"""References such as `agents.plain:order_agent`: where they lead, and what is said where they end."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from niceeval.agents import AgentContext, as_agent, resolve_agent
from niceeval.errors import AgentReferenceError

PLAIN = """
from json import dumps
from niceeval.agents import ScriptedAgent

LIMIT = 3

def order_agent(message):
    return "on its way"

async def refund_agent(message, ctx):
    return "refunded"

scripted = ScriptedAgent(["a"])

def helper(a, b, c):
    return a

class Desk:
    def ask(self, message):
        return "desk"

desk = Desk()
"""


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "shop_agents").mkdir()
    (tmp_path / "shop_agents" / "__init__.py").write_text("")
    (tmp_path / "shop_agents" / "plain.py").write_text(PLAIN)
    (tmp_path / "shop_broken.py").write_text("x = 1\n\ndef load():\n    return {}['key']\n\nagent = load()\n")
    (tmp_path / "shop_syntax.py").write_text("x = 1\ndef agent(:\n")
    (tmp_path / "shop_missing.py").write_text("import no_such_library_anywhere\n")
    (tmp_path / "shop_exits.py").write_text("import sys\nsys.exit(3)\n")
    (tmp_path / "shop_library.py").write_text("import json\n\nCONFIG = json.loads('{')\n")
    (tmp_path / "shop_empty.py").write_text("X = 1\n")
    monkeypatch.chdir(tmp_path)
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("reference", "answer"),
    [
        ("shop_agents.plain:order_agent", "on its way"),
        ("shop_agents.plain:refund_agent", "refunded"),
        ("shop_agents.plain:scripted", "a"),
        ("shop_agents.plain:desk.ask", "desk"),
        (" shop_agents.plain : order_agent ", "on its way"),
    ],
)
def test_a_reference_leads_to_an_agent(reference: str, answer: str) -> None:
    reply = anyio.run(as_agent(resolve_agent(reference)).reply, "hi", AgentContext())
    assert reply == answer or getattr(reply, "message", None) == answer


def test_the_working_directory_is_put_on_the_path_once() -> None:
    resolve_agent("shop_agents.plain:order_agent")
    resolve_agent("shop_agents.plain:refund_agent")
    assert sys.path.count(os.getcwd()) == 1


@pytest.mark.parametrize(
    ("reference", "sentences"),
    [
        ("shop_agents.plain", ["does not name a module and an agent in it", "write module:attr"]),
        ("shop_agents.plain:", ["write module:attr"]),
        (":order_agent", ["write module:attr"]),
        ("", ["write module:attr"]),
        (".plain:order_agent", ["write module:attr"]),
        ("shop_agents/plain.py:order_agent", ["did you mean 'shop_agents.plain:order_agent'?"]),
        ("./shop_agents/plain.py", ["did you mean 'shop_agents.plain:agent'?"]),
        ("shop_agent.plain:order_agent", ["there is no module 'shop_agent'", "did you mean 'shop_agents'?"]),
        ("shop_agents.plan:order_agent", ["no module 'shop_agents.plan'", "did you mean 'shop_agents.plain'?"]),
        ("shop_empty.agent:x", ["shop_empty is a module, not a package", "did you mean 'shop_empty:agent'?"]),
        ("niceeval.agnts:x", ["no module 'niceeval.agnts'", "did you mean 'niceeval.agents'?"]),
        ("zzz:order_agent", ["there is no module 'zzz'", "has shop_agents, shop_broken, shop_empty"]),
        ("shop_agents.plain:order_agnet", ["has no 'order_agnet'", "did you mean 'order_agent'?", "plain.py"]),
        ("shop_agents.plain:zzz", ["has no 'zzz'", "agents found there: order_agent, refund_agent, scripted"]),
        ("shop_agents.plain:desk.aks", ["Desk in shop_agents.plain", "has no 'aks'", "did you mean 'ask'?"]),
        ("shop_empty:agent", ["has no 'agent'", "nothing in it can be used as an agent"]),
        ("shop_agents.plain:LIMIT", ["plain.py", "an int is not an agent"]),
        ("shop_agents.plain:Desk", ["Desk is a class, not an agent"]),
        ("shop_agents.plain:helper", ["helper(a, b, c) is not an agent"]),
        ("shop_broken:agent", ["importing shop_broken failed at", "shop_broken.py:4", "KeyError: 'key'"]),
        ("shop_syntax:agent", ["shop_syntax.py:2", "SyntaxError"]),
        ("shop_missing:agent", ["shop_missing.py:1", "ModuleNotFoundError", "no_such_library_anywhere"]),
        ("shop_exits:agent", ["shop_exits.py:2", "SystemExit: 3"]),
        ("shop_library:agent", ["shop_library.py:3", "JSONDecodeError"]),
    ],
)
def test_a_reference_that_leads_nowhere_says_what_is_there_instead(reference: str, sentences: list[str]) -> None:
    with pytest.raises(AgentReferenceError) as caught:
        resolve_agent(reference)
    text = str(caught.value)
    assert repr(reference) in text
    assert "\n" not in text
    for sentence in sentences:
        assert sentence in text


@pytest.mark.parametrize("reference", ["shop_broken:agent", "shop_missing:agent"])
def test_the_failure_of_an_import_is_the_cause(reference: str) -> None:
    with pytest.raises(AgentReferenceError) as caught:
        resolve_agent(reference)
    assert caught.value.__cause__ is not None


def test_no_modules_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nothing").mkdir()
    monkeypatch.chdir(tmp_path / "nothing")
    with pytest.raises(AgentReferenceError, match="has no modules"):
        resolve_agent("zzz_agents:agent")


def test_a_folder_without_python_is_no_module(tmp_path: Path) -> None:
    (tmp_path / "shop_agent_data").mkdir()
    with pytest.raises(AgentReferenceError, match="did you mean 'shop_agents'"):
        resolve_agent("shop_agent:order_agent")


def test_an_installed_package_of_the_same_name_hides_no_folder_of_the_project(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path_factory.mktemp("installed")
    (installed / "shop_hidden").mkdir()
    (installed / "shop_hidden" / "__init__.py").write_text("KIT = 1\n")
    monkeypatch.syspath_prepend(installed)
    (tmp_path / "shop_hidden").mkdir()
    (tmp_path / "shop_hidden" / "plain.py").write_text(
        "from shop_hidden import KIT\n\ndef agent(message):\n    return str(KIT)\n"
    )
    assert getattr(resolve_agent("shop_hidden.plain:agent"), "__module__", None) == "shop_hidden.plain"
    with pytest.raises(AgentReferenceError, match=r"did you mean 'shop_hidden\.plain'"):
        resolve_agent("shop_hidden.plian:agent")
