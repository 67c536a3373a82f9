"""`niceeval observe`: recorded conversations checked as a run like any other."""

import json
from pathlib import Path
from typing import Any

import click
import pytest
from inspect_ai.log import EvalSample
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageUser

from niceeval.cli.commands.observing import observe
from niceeval.record import Record
from niceeval.transcripts.formats import FORMATS
from tests.transcripts.told import write_inspect_log

CHECKS = """
from niceeval import ToolNames
from niceeval_expect import event_match, from_spec, includes, pattern, similarity, tool_match

def checks(t):
    t.not_called_tool(tool_match("refund", status="completed")).key("no refund")
    t.check(t.sessions[0].turns[-1].message, includes("order")).key("names the order")

async def later(t):
    turn = t.sessions[-1].turns[-1]
    await t.check(turn.message, includes("order")).key("names the order")

async def sends(t):
    await t.send("Hello?")

async def sends_apart(t):
    await t.new_session().send("Hello?")

def nothing(t):
    pass

MATCHES = {
    "looks it up": tool_match("lookup").at_least(1),
    "says hello": event_match("message", role="user", text=pattern("hello")),
    "names the order": includes("order"),
    "alike": similarity("Your order is here.").at_least(0.5),
    "ends well": from_spec({"match": "succeeded"}),
}

def status(call):
    return "completed"

def ended(turn):
    return "completed"

NAMES = ToolNames({"shop": ["refund", "lookup"]})
wrong = 7
"""


def conversation(name: str, answer: str, *tools: str) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "hello"}]
    for number, tool in enumerate(tools):
        call = {"id": f"c{number}", "type": "function", "function": {"name": tool, "arguments": "{}"}}
        messages += [{"role": "assistant", "content": None, "tool_calls": [call]},
                     {"role": "tool", "tool_call_id": f"c{number}", "content": "done"}]  # fmt: skip
    return {"id": name, "messages": [*messages, {"role": "assistant", "content": answer}]}


GOOD, BAD = "Your order is here.", "What do you want?"


@pytest.fixture
def traffic(project: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A project with checks, and a function that writes its traffic."""
    monkeypatch.syspath_prepend(str(project.root))
    project.write({"rules.py": CHECKS})

    def write(*lines: object, name: str = "traffic.jsonl") -> str:
        project.write({name: "".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in lines)})
        return name

    return write


def statuses(root: Path) -> dict[str, str]:
    with Record.open(root / ".niceeval") as record:
        return {attempt.case_id or "": attempt.status for attempt in record.attempts()}


def header(root: Path) -> dict[str, Any]:
    (path,) = (root / ".niceeval" / "runs").glob("*/run.json")
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def test_every_conversation_is_an_attempt_of_a_run(project: Any, traffic: Any) -> None:
    file = traffic(conversation("a1", GOOD, "lookup"), conversation("a2", BAD, "lookup"), conversation("a3", GOOD))
    answer = project("observe", file, "--with", "rules:checks")
    assert answer.code == 1
    assert "FAILED checks[a2]" in answer.lines
    assert "1 failed, 2 passed" in answer.out
    assert "niceeval observe traffic.jsonl -k a2 --with rules:checks" in answer.out
    assert all(len(line) <= 80 for line in answer.lines)
    assert statuses(project.root) == {"a1": "passed", "a2": "failed", "a3": "passed"}
    run = header(project.root)
    assert run["evals"] == [{"id": "checks", "style": "pass", "cases": ["a1", "a2", "a3"], "tags": []}]
    assert run["observed"] == {
        "conversations": 3, "files": ["traffic.jsonl"], "checks": "rules:checks", "format": "auto",
    }  # fmt: skip


def test_the_other_commands_work_on_it_unchanged(project: Any, traffic: Any) -> None:
    lines = [conversation(f"a{number}", GOOD if number % 5 else BAD) for number in range(50)]
    project("observe", traffic(*lines), "--with", "rules:checks")
    assert "FAILED checks[a10]" in project("show").out
    assert project("gate", "latest", "--min-rate", "0.5").code == 0
    assert project("verify").code == 0
    assert "flips" in project("recheck", "latest", "--with", "rules:later").out
    found = project("query", "select count(*) as n from attempts where status = 'failed'")
    assert "10" in found.out.split()
    refused = project("resume")
    assert (refused.code, "cannot be gone on with" in " ".join(refused.err.split())) == (2, True)


@pytest.mark.parametrize("name", ["checks", "later"])
def test_checks_are_functions_sync_or_async(project: Any, traffic: Any, name: str) -> None:
    file = traffic(conversation("a1", GOOD), conversation("a2", BAD))
    assert project("observe", file, "--with", f"rules:{name}").code == 1
    assert statuses(project.root) == {"a1": "passed", "a2": "failed"}


def test_checks_are_matches_by_requirement(project: Any, traffic: Any) -> None:
    file = traffic(conversation("a1", GOOD, "lookup"), conversation("a2", BAD))
    assert project("observe", file, "--with", "rules:MATCHES", "--turn-status", "rules:ended").code == 1
    with Record.open(project.root / ".niceeval") as record:
        found = {item.key: (item.failed, item.decided) for item in record.requirements()}
    assert found == {
        "looks it up": (1, 2), "says hello": (0, 2), "names the order": (1, 2), "alike": (1, 2), "ends well": (0, 2),
    }  # fmt: skip


def test_what_the_format_does_not_say_is_undecided_until_somebody_says_it(project: Any, traffic: Any) -> None:
    file = traffic(conversation("a1", GOOD, "shop.refund"))
    assert project("observe", file, "--with", "rules:checks").code == 3, "whether it was a refund, nobody knows"
    named = ("observe", file, "--with", "rules:checks", "--tool-names", "rules:NAMES")
    assert project(*named).code == 3, "whether it was completed, nobody knows"
    told = project(*named, "--tool-status", "rules:status")
    assert (told.code, "no refund" in told.out) == (1, True)


def test_a_conversation_that_cannot_be_read_is_errored_and_not_dropped(project: Any, traffic: Any) -> None:
    file = traffic(conversation("a1", GOOD), '{"messages": [', {"id": "a3", "messages": [{"role": "narrator"}]})
    answer = project("observe", file, "--with", "rules:checks")
    assert answer.code == 3
    assert statuses(project.root) == {"a1": "passed", "traffic.jsonl:2": "errored", "a3": "errored"}
    assert "traffic.jsonl:2 is not JSON" in answer.out
    assert "'narrator'" in answer.out


@pytest.mark.parametrize("name", ["sends", "sends_apart"])
def test_no_agent_is_called(project: Any, traffic: Any, name: str) -> None:
    answer = project("observe", traffic(conversation("a1", GOOD)), "--with", f"rules:{name}")
    assert answer.code == 3
    assert "recorded" in answer.out.replace("\n", " ")
    assert statuses(project.root) == {"a1": "errored"}


def test_checks_that_check_nothing_are_an_error(project: Any, traffic: Any) -> None:
    answer = project("observe", traffic(conversation("a1", GOOD)), "--with", "rules:nothing")
    assert (answer.code, "nothing was checked" in answer.out) == (3, True)


def test_ids_that_come_again_are_told_apart(project: Any, traffic: Any) -> None:
    files = [
        traffic(conversation("a1", GOOD), conversation("a1", BAD)),
        traffic(conversation("a1", GOOD), name="b.jsonl"),
    ]
    project("observe", *files, "--with", "rules:checks")
    assert statuses(project.root) == {"a1": "passed", "a1#2": "failed", "a1#3": "passed"}


def test_a_sample_is_drawn_by_its_seed_and_recorded(project: Any, traffic: Any) -> None:
    file = traffic(*(conversation(f"a{number}", GOOD) for number in range(200)))

    def drawn(*options: str) -> list[str]:
        project("observe", file, "--with", "rules:checks", "--record", "sampled", *options)
        newest = max((project.root / "sampled" / "runs").iterdir(), key=lambda folder: folder.stat().st_mtime_ns)
        run = json.loads((newest / "run.json").read_text())
        assert run["observed"]["conversations"] == 200
        assert {name: str(run["observed"][name.strip("-")]) for name in options[::2]} == dict(
            zip(options[::2], options[1::2], strict=True)
        )
        return list(run["evals"][0]["cases"])

    first = drawn("--sample", "20", "--seed", "1")
    assert len(first) == 20
    assert drawn("--sample", "20", "--seed", "1") == first
    assert drawn("--sample", "20", "--seed", "2") != first
    share = drawn("--rate", "0.25", "--seed", "1")
    assert 30 <= len(share) <= 70
    assert [name for name in (f"a{number}" for number in range(200)) if name in share] == share


def test_k_and_limit_narrow_what_is_left(project: Any, traffic: Any) -> None:
    file = traffic(*(conversation(f"a{number}", GOOD) for number in range(20)))
    project("observe", file, "--with", "rules:checks", "-k", "a1", "--limit", "3")
    assert list(statuses(project.root)) == ["a1", "a10", "a11"]


def test_programs_read_events_and_a_summary(project: Any, traffic: Any) -> None:
    answer = project("observe", traffic(conversation("a1", GOOD)), "--with", "rules:checks", "--json")
    events = [json.loads(line) for line in answer.lines]
    assert answer.code == 0
    assert [event for event in events if "a1" in json.dumps(event)], events
    assert json.dumps(events[-1]).count('"passed": 1') >= 1, events[-1]


@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [
        (["traffic.jsonl", "--with", "rules:wrong"], 2, "checks are a function of t or a mapping of matches, got 7"),
        (["traffic.jsonl", "--with", "rules:nobody"], 2, "has no 'nobody'"),
        (["nowhere.jsonl", "--with", "rules:checks"], 2, "cannot read nowhere.jsonl"),
        ([".", "--with", "rules:checks"], 2, ". is a folder"),
        (["traffic.jsonl", "--with", "rules:checks", "--sample", "3", "--rate", "0.5"], 2, "are both given"),
        (["traffic.jsonl", "--with", "rules:checks", "--rate", "1.5"], 2, "no share above 0"),
        (["traffic.jsonl", "--with", "rules:checks", "--id", " "], 2, "--id takes a path"),
        (["traffic.jsonl", "--with", "rules:checks", "--tool-status", "rules:wrong"], 2, "no a function"),
        (["traffic.jsonl", "--with", "rules:checks", "-k", "zzz"], 4, "selects none of 1 case"),
        (["traffic.jsonl", "--with", "rules:checks", "--rate", "0.000001"], 4, "the sample has none"),
        (["empty.json", "--with", "rules:checks"], 4, "no conversation in empty.json"),
    ],
)
def test_what_cannot_be_meant_is_said(project: Any, traffic: Any, options: list[str], code: int, sentence: str) -> None:
    traffic(conversation("a1", GOOD))
    project.write({"empty.json": "[]"})
    answer = project("observe", *options)
    assert answer.code == code
    assert sentence in " ".join(answer.err.split())
    assert not (project.root / ".niceeval" / "runs").exists()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of inspect_ai itself
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_logs_of_inspect_ai_are_files_like_any_other(project: Any, traffic: Any, backend: str) -> None:
    messages: list[ChatMessage] = [ChatMessageUser(content="hello"), ChatMessageAssistant(content=GOOD)]
    samples = [EvalSample(id=name, epoch=1, input="", target="", messages=messages) for name in ("a", "b")]
    write_inspect_log(project.root / "log.eval", samples)
    answer = project("observe", "log.eval", "--with", "rules:checks", "--backend", backend)
    assert answer.code == 0, answer.out
    assert statuses(project.root) == {"a": "passed", "b": "passed"}


def test_the_command_knows_every_format() -> None:
    (option,) = (each for each in observe.params if each.name == "format_")
    assert isinstance(option.type, click.Choice)
    assert set(option.type.choices) == set(FORMATS)
