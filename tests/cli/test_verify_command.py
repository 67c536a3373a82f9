"""`niceeval verify` and `niceeval recheck` as commands: what they print, and how they exit."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Show = Callable[..., Any]

FILES = {
    "shop.py": """
from niceeval import Reply, ToolCall

def agent(message):
    call = ToolCall("refund", {"id": 7}, "ok", status="completed")
    return Reply("Your refund is done. Thank you.", tool_calls=[call])

def curt(message):
    return Reply("Done.", tool_calls=[])
""",
    "rules.py": """
from niceeval_expect import satisfies

def is_polite(text):
    return "thank" in text.lower()

POLITE = satisfies("is polite", is_polite)
""",
    "evals/eval_refunds.py": """
from niceeval import define_eval
from niceeval_expect import includes, similarity
from rules import POLITE

@define_eval
async def refunds(t):
    turn = await t.send("Refund ORD-7")
    t.check(turn.message, includes("refund")).key("word")
    t.check(turn.message, similarity("Your refund is done.").at_least(0.1)).gate().key("alike")
    t.check(turn.message, POLITE).key("polite")
    turn.called_tool("refund").key("refunded")
""",
}


@pytest.fixture
def ran(project: Any, monkeypatch: pytest.MonkeyPatch) -> Show:
    """Run the eval with agents, and return the run's folder."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    if not Path("shop.py").exists():
        project.write(FILES)

    def run(*agents: str) -> Path:
        import sys

        sys.path.insert(0, os.getcwd())
        options = [part for each in agents or ("shop:agent",) for part in ("--agent", each)]
        answer = project("run", "evals", *options)
        assert answer.code in (0, 1), answer.err
        (folder,) = Path(".niceeval/runs").iterdir()
        return folder.absolute()

    return run


def change(folder: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    (path,) = folder.glob("attempts-*.jsonl")
    document = json.loads(path.read_text())
    edit(document)
    path.write_text(json.dumps(document) + "\n")


def test_a_run_is_verified_without_agent_and_eval_files(project: Any, ran: Show, tmp_path: Path) -> None:
    folder = ran()
    for name in ("evals", "shop.py", "rules.py"):
        path = tmp_path / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    answer = project("verify")

    assert (answer.code, answer.err) == (0, "")
    assert answer.lines == [
        f"run {folder.name}  1 attempt, 4 entries",
        "",
        "  3 of 3 re-derivable outcomes reproduced",
        "  1 not re-derivable: code  author code decides (--code imports it)",
    ]
    assert project("verify", folder.name).out == project("verify", str(folder)).out == answer.out


def test_json_has_the_same_in_one_object(project: Any, ran: Show) -> None:
    folder = ran()
    answer = project("verify", "--json")
    assert answer.code == 0
    assert json.loads(answer.out) == {
        "run_id": folder.name,
        "attempts": 1,
        "entries": 4,
        "rederivable": 3,
        "reproduced": 3,
        "excluded": {"code": 1},
        "differences": [],
        "problems": [],
    }


def test_code_is_imported_if_asked_and_what_changed_is_said(project: Any, ran: Show, tmp_path: Path) -> None:
    ran()
    assert "  4 of 4 re-derivable outcomes reproduced" in project("verify", "--code").lines

    (tmp_path / "rules.py").unlink()
    import importlib
    import sys

    del sys.modules["rules"]
    importlib.invalidate_caches()
    answer = project("verify", "--code")
    assert answer.code == 0
    assert "  3 of 3 re-derivable outcomes reproduced" in answer.lines
    assert "rules.is_polite cannot be imported" in answer.out


def test_code_in_an_eval_file_is_found_in_that_file(project: Any, ran: Show, tmp_path: Path) -> None:
    text = FILES["evals/eval_refunds.py"]
    local = text.replace("from rules import POLITE", FILES["rules.py"])
    project.write({"evals/eval_refunds.py": local})
    ran()
    import sys

    for name in [name for name in sys.modules if name.startswith("niceeval_evals")]:
        del sys.modules[name]
    assert "  4 of 4 re-derivable outcomes reproduced" in project("verify", "--code").lines

    for name in [name for name in sys.modules if name.startswith("niceeval_evals")]:
        del sys.modules[name]
    project.write({"evals/eval_refunds.py": local.replace('"thank" in text', '"thanks" in text')})
    lines = project("verify", "--code").lines
    assert "  1 not re-derivable: code  author code decides" in lines
    assert any("niceeval_evals.refunds.is_polite has changed since" in each for each in lines)


def test_a_difference_is_shown_with_its_place_and_exits_with_one(project: Any, ran: Show) -> None:
    folder = ran()

    def edit(document: dict[str, Any]) -> None:
        document["assertions"][0]["outcome"] = "mismatched"
        document["assertions"][0]["decision"] = "unmet"
        document["status"] = "failed"

    change(folder, edit)
    answer = project("verify")
    assert answer.code == 1
    start = next(place for place, each in enumerate(answer.lines) if each.startswith("DIFFERS"))
    assert answer.lines[start].startswith("DIFFERS refunds/refunds  shop:agent  ")
    assert answer.lines[start + 1].startswith("  requirement  word  ")
    assert "eval_refunds.py:9" in answer.lines[start + 1]
    assert answer.lines[start + 2 : start + 4] == ["  stored       mismatched", "  now          matched"]
    assert "  2 of 3 re-derivable outcomes reproduced" in answer.lines
    assert project("verify", "--json").code == 1


def test_many_differences_are_cut(project: Any, ran: Show) -> None:
    folder = ran()

    def edit(document: dict[str, Any]) -> None:
        document["assertions"] = [{**document["assertions"][0], "outcome": "mismatched", "decision": "unmet"}] * 50
        document["status"] = "failed"

    change(folder, edit)
    answer = project("verify")
    assert answer.out.count("DIFFERS") == 20
    assert answer.lines[-1] == "  (30 more)"
    assert len(json.loads(project("verify", "--json").out)["differences"]) == 50


def test_a_damaged_line_and_a_missing_run_are_named(project: Any, ran: Show) -> None:
    folder = ran()
    (path,) = folder.glob("attempts-*.jsonl")
    path.write_text(path.read_text() + '{"id": "x')
    answer = project("verify")
    assert answer.code == 0
    assert "line 2 is left out" in answer.err
    assert project("verify", "20200101-000000-aaaa").code == 2


def test_nothing_of_a_subject_can_move_the_cursor(project: Any, ran: Show) -> None:
    folder = ran()
    change(folder, lambda document: document["assertions"][0].update(requirement="\x1b[2J", outcome="mismatched"))
    assert "\x1b" not in project("verify").out


CHECKS = """
from niceeval_expect import excludes, includes, tool_match

STRICT = {"word": includes("Thank") & excludes("refund"), "refunded": tool_match("refund", input={"id": 7})}
SAME = {"word": includes("refund")}
NOTHING = {}
NUMBER = 7

def checks(t):
    t.check(t.sessions[0].turns[0].message, includes("refund is")).key("word")
    t.check(t.sessions[0].turns[0].message, excludes("!")).key("calm")

def breaks(t):
    raise LookupError("no such policy")
"""


def test_flips_are_shown_with_a_witness_and_exit_with_one(project: Any, ran: Show) -> None:
    folder = ran()
    project.write({"checks.py": CHECKS})

    answer = project("recheck", "--with", "checks:STRICT")

    assert (answer.code, answer.err) == (1, "")
    assert answer.lines == [
        f"run {folder.name}  1 attempt",
        "",
        "  1 flip among 2 stored outcomes compared",
        "",
        "FLIPS refunds/refunds",
        "  requirement  word",
        "  stored       matched",
        "  now          mismatched: 1 of 2 parts mismatched; occurs at index 5",
    ]
    found = json.loads(project("recheck", folder.name, "--with", "checks:STRICT", "--json").out)
    assert found["flips"][0]["after"] == "mismatched"
    assert found["compared"] == 2
    assert project("recheck", "--with", "checks:SAME").code == 0


def test_the_agent_is_named_where_there_are_several(project: Any, ran: Show) -> None:
    ran("kind=shop:agent", "curt=shop:curt")
    project.write({"checks.py": CHECKS})
    lines = project("recheck", "--with", "checks:STRICT").lines
    assert [each for each in lines if each.startswith("FLIPS")] == ["FLIPS refunds/refunds  kind"]


def test_a_function_checks_what_was_never_checked(project: Any, ran: Show) -> None:
    ran()
    project.write({"checks.py": CHECKS})
    answer = project("recheck", "--with", "checks:checks")
    assert answer.code == 0
    assert "  0 flips among 1 stored outcome compared" in answer.lines
    assert "  not stored before: 1 matched" in answer.lines


@pytest.mark.parametrize(
    ("reference", "code", "says"),
    [
        ("checks:breaks", 1, "not checked refunds/refunds: the checks ended early: LookupError: no such policy"),
        ("checks:NUMBER", 2, "checks are a mapping of matches or a function of t, got 7"),
        ("checks:NOTHING", 2, "an empty mapping"),
        ("checks:STRCT", 2, "did you mean"),
        ("chekcs:STRICT", 2, "chekcs"),
        ("checks", 2, "checks"),
    ],
)
def test_what_cannot_be_checked_is_said(reference: str, code: int, says: str, project: Any, ran: Show) -> None:
    ran()
    project.write({"checks.py": CHECKS})
    answer = project("recheck", "--with", reference)
    assert answer.code == code
    assert says in " ".join((answer.out + answer.err).split())
