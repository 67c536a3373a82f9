"""Judges on the command line: which one runs, what is said when it cannot, and how it is measured."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from niceeval.cli import main
from tests.judge.models import KEY, VARIABLE, answered, chat, choice, prompt_of
from tests.servers.scripted import Answer, Request, ScriptedServer, as_json

EVALS = """
from niceeval import define_eval
from niceeval_expect import closed_qa, define_judge, includes

polite = define_judge("polite", "How polite? {output}", choices={"polite": 1, "rude": 0})

@define_eval(cases={"a": 1, "b": 2, "c": 3})
async def answers(t, case):
    turn = await t.send("Where is it?")
    t.check(turn.message, includes("depot")).key("place")
    t.check({"input": turn.input, "output": turn.message}, closed_qa("Is it polite?").at_least(0.8)).gate().key("polite")

def agent(message):
    return "At the depot."
"""
AGAIN = """
from niceeval_expect import closed_qa

CHECKS = {"polite": closed_qa("Is it kind?").at_least(0.8)}

def check(t):
    for session in t.sessions:
        for turn in session.turns:
            t.check({"input": turn.input, "output": turn.message}, CHECKS["polite"]).key("polite")
"""
RUN = ("run", "eval_shop.py", "--agent", "eval_shop:agent", "--concurrency", "1")
Said = Callable[..., tuple[int, str, str]]


@pytest.fixture
def said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], server: ScriptedServer
) -> Iterator[Said]:
    """Runs the command line in a project whose judge is the server."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "eval_shop.py").write_text(EVALS)
    (tmp_path / "pyproject.toml").write_text(
        f'[tool.niceeval.judge]\nmodel = "small"\nbase_url = "{server.url}/v1"\nkey_variable = "{VARIABLE}"\nretries = 0\n'
    )

    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        out, err = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, out, err

    yield run
    sys.modules.pop("eval_shop", None)
    sys.modules.pop("again", None)


def test_a_failing_report_says_why_the_judge_said_so(said: Said, server: ScriptedServer) -> None:
    answered(server, chat(choice("C", "Curt, and gives no date.")))
    code, out, _ = said(*RUN)
    assert code == 1
    assert 'polite  closed_qa("Is it polite?").at_least(0.8)' in out
    assert "judge     C (0.5): Curt, and gives no date." in out
    code, out, _ = said("show", "latest", "shop/answers[a]")
    assert "Curt, and gives no date." in out


def test_a_report_for_other_programs_says_why_as_well(said: Said, server: ScriptedServer, tmp_path: Path) -> None:
    answered(server, chat(choice("C", "Curt,\nand gives no date.")))
    assert said(*RUN, "--report", "junit=a.xml")[0] == 1
    assert "  judge     C (0.5): Curt, and gives no date." in (tmp_path / "a.xml").read_text()
    answered(server, chat("A fine\nreply."))
    code, out, _ = said(*RUN, "--report", "markdown=a.md")
    assert code == 3
    assert "  reply     A fine reply." in (tmp_path / "a.md").read_text()
    assert "reply        A fine" in out
    assert "niceeval evidence has" in out
    assert "in reply: A fine" in said("evidence", "shop/answers[a]")[1]


def test_a_judge_that_is_too_slow_for_the_attempt_is_named(said: Said, server: ScriptedServer) -> None:
    answered(server, server.silent())
    code, out, _ = said(*RUN, "--timeout", "0.3")
    assert code == 3
    assert "timed out after 0.3 s" in out
    assert "a judge had not answered" in out


def test_a_run_is_checked_again_without_a_judge(said: Said, server: ScriptedServer, tmp_path: Path) -> None:
    answered(server, chat(choice("A")))
    assert said(*RUN)[0] == 0
    before = len(server.requests)
    (tmp_path / "again.py").write_text(AGAIN)
    for checks in ("CHECKS", "check"):
        code, out, _ = said("recheck", "latest", "--with", f"again:{checks}")
        assert code == 1
        assert "0 flips" in out
        assert "polite: a judge would have to be asked" in out
    assert len(server.requests) == before


def test_a_wrong_key_is_said_once_and_stops_the_run(said: Said, server: ScriptedServer) -> None:
    answered(server, as_json({"error": {"message": f"bad key {KEY}"}}, 401))
    code, out, err = said(*RUN)
    assert code == 3
    assert len(server.requests) == 1
    assert err.count("the judge small cannot be used") == 1
    assert "2 of 3 planned attempts were not run" in out
    assert "see that the key is right and may use this model" in out
    assert KEY not in out + err
    answered(server, chat(choice("A")))
    code, out, _ = said("resume", "--errored")
    assert code == 0
    assert "3 passed" in out


def test_a_missing_key_is_a_warning_and_a_remedy(
    said: Said, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE)
    code, out, err = said(*RUN)
    assert code == 3
    assert err.count("judge-key-unresolved") == 1
    assert "3 errored" in out
    assert "set the environment variable with the judge's key" in out
    assert server.requests == []


def test_the_judge_and_its_cache_are_options_that_a_resumed_run_keeps(
    said: Said, server: ScriptedServer, tmp_path: Path
) -> None:
    answered(server, chat("no verdict"))
    assert said(*RUN, "--judge", "openai:large", "--judge-cache")[0] == 3
    assert server.requests[-1].json["model"] == "large"
    answered(server, chat(choice("A")))
    assert said("resume", "--errored")[0] == 0
    assert server.requests[-1].json["model"] == "large"
    count = len(server.requests)
    assert said(*RUN, "--judge", "large", "--judge-cache")[0] == 0
    assert len(server.requests) == count
    assert (tmp_path / ".niceeval" / "judge-cache" / "CACHEDIR.TAG").is_file()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("run", "--agent", "eval_shop:agent", "--judge-cache", "eval_shop.py"), "--judge-cache took 'eval_shop.py'"),
        ((*RUN, "--judge-cache", "."), "holds something else"),
        ((*RUN, "--judge", "openai:"), "names no model"),
    ],
)
def test_options_that_cannot_be_meant(
    said: Said, server: ScriptedServer, tmp_path: Path, arguments: tuple[str, ...], problem: str
) -> None:
    code, _, err = said(*arguments)
    assert code == 2
    assert problem in " ".join(err.split())
    assert not (tmp_path / ".niceeval").exists()


def test_verification_counts_the_judge(said: Said, server: ScriptedServer) -> None:
    answered(server, chat(choice("A")))
    said(*RUN)
    code, out, _ = said("verify")
    assert code == 0
    assert "3 of 3 re-derivable outcomes reproduced" in out
    assert "3 not re-derivable: judge" in out


# -- judge-check


def labels(tmp_path: Path, rows: list[dict[str, object]], name: str = "labels.jsonl") -> str:
    path = tmp_path / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def rows(count: int) -> list[dict[str, object]]:
    return [
        {"input": "?", "output": f"{letter}. {number}", "label": letter, "by": "ann"}
        for number in range(count)
        for letter in "AE"
    ]


def as_labelled(request: Request) -> Answer:
    return chat(choice("A" if "\nA. " in prompt_of(request) else "E"))


def test_a_judge_that_agrees_may_gate(said: Said, server: ScriptedServer, tmp_path: Path) -> None:
    answered(server, as_labelled)
    code, out, _ = said("judge-check", labels(tmp_path, rows(20)), "--recipe", "closed_qa:Is it polite?")
    assert code == 0
    assert "agreed       40 of 40 answers   1.00" in out
    assert "pass: kappa is at least" in out
    assert len(server.requests) == 40


def test_a_judge_that_says_the_opposite_may_not(said: Said, server: ScriptedServer, tmp_path: Path) -> None:
    answered(server, lambda request: chat(choice("E" if "\nA. " in prompt_of(request) else "A", "It is curt.")))
    code, out, _ = said("judge-check", labels(tmp_path, rows(10)), "--recipe", "closed_qa:Is it polite?")
    assert code == 1
    assert "fail: kappa is at most" in out
    assert "labels.jsonl:1: people say A, the judge E (the judge said E: It is curt.)" in " ".join(out.split())


def test_few_labels_are_inconclusive_and_what_is_unavailable_is_counted_apart(
    said: Said, server: ScriptedServer, tmp_path: Path
) -> None:
    answered(
        server, lambda request: chat("Sorry, I cannot help") if "A. 1" in prompt_of(request) else as_labelled(request)
    )
    code, out, _ = said("judge-check", labels(tmp_path, rows(2)), "--recipe", "closed_qa:Is it polite?", "--json")
    document = json.loads(out)
    assert (code, document["says"]) == (5, "inconclusive")
    assert (document["labels"], document["decided"], document["agreed"]) == (4, 3, 3)
    assert document["unavailable"] == {"judge-refused": 1}
    assert document["table"][0] == [1, 0, 0, 0, 0]


def test_labels_of_true_and_false_and_numbers(said: Said, server: ScriptedServer, tmp_path: Path) -> None:
    answered(server, as_labelled)
    flags = [{**row, "label": row["label"] == "A"} for row in rows(3)]
    code, out, _ = said("judge-check", labels(tmp_path, flags), "--recipe", "closed_qa:Is it?", "--json")
    assert json.loads(out)["categories"] == ["fail", "pass"]
    numbers = [{**row, "label": 0.9 if row["label"] == "A" else 0.1} for row in rows(3)]
    path = labels(tmp_path, numbers)
    assert said("judge-check", path, "--recipe", "closed_qa:Is it?")[0] == 2
    code, out, _ = said("judge-check", path, "--recipe", "closed_qa:Is it?", "--at-least", "0.5", "--json")
    assert (code, json.loads(out)["agreed"]) == (5, 6)


def test_a_csv_with_a_reference_in_each_row(said: Said, server: ScriptedServer, tmp_path: Path) -> None:
    answered(server, lambda request: chat(choice("D" if "Oslo" in prompt_of(request) else "A")))
    (tmp_path / "labels.csv").write_text("input,output,reference,label\n?,Oslo,Bergen,D\n?,Bergen,Bergen,A\n")
    code, out, _ = said("judge-check", "labels.csv", "--recipe", "factuality", "--json", "--backend", "trio")
    assert (code, json.loads(out)["agreed"]) == (5, 2)
    assert all("Bergen" in prompt_of(request) for request in server.requests)


def test_a_judge_of_the_project(said: Said, server: ScriptedServer, tmp_path: Path) -> None:
    answered(server, chat('{"rationale": "x", "choice": "polite"}'))
    path = labels(tmp_path, [{"output": "x", "label": "polite"}, {"output": "y", "label": "rude"}])
    code, out, _ = said("judge-check", path, "--recipe", "eval_shop:polite", "--json")
    assert (code, json.loads(out)["table"]) == (5, [[1, 0], [1, 0]])


@pytest.mark.parametrize(
    ("content", "recipe", "problem"),
    [
        ('{"output": "x"}', "closed_qa:x", "label is a choice of the judge"),
        ('{"output": "x", "label": "A"}', "closed_qa:x", "no 'input', which the judge reads"),
        ('{"input": "?", "output": "x", "label": "A"}', "closed_qa", "no 'question', which closed_qa needs"),
        ('{"input": "?", "output": "x", "label": "Z"}', "closed_qa:x", "none of the judge's answers"),
        ('{"output": "x", "label": true}\n{"output": "x", "label": "A"}', "closed_qa:x", "use one kind"),
        ("", "closed_qa:x", "holds no rows"),
        ("{", "closed_qa:x", "not JSON"),
        ('{"output": "x", "label": "A"}', "eval_shop:agent", "no judge"),
        ('{"output": "x", "label": "A"}', "eval_shop:nothing", "nothing"),
        ('{"output": "x", "label": "A"}', "closed_q", "none of closed_qa, factuality, summarizes"),
    ],
)
def test_labels_and_recipes_that_cannot_be_used(
    said: Said, server: ScriptedServer, tmp_path: Path, content: str, recipe: str, problem: str
) -> None:
    (tmp_path / "labels.jsonl").write_text(content)
    if problem == "use one kind":
        content = content.replace('"output"', '"input": "?", "output"')
        (tmp_path / "labels.jsonl").write_text(content)
    code, _, err = said("judge-check", "labels.jsonl", "--recipe", recipe)
    assert code == 2
    assert problem in " ".join(err.split())


def test_a_judge_that_answers_nothing_is_not_measured(said: Said, server: ScriptedServer, tmp_path: Path) -> None:
    answered(server, as_json({"error": {"message": "bad key"}}, 401))
    code, out, err = said("judge-check", labels(tmp_path, rows(5)), "--recipe", "closed_qa:x")
    assert code == 3
    assert len(server.requests) == 1
    assert "judge-key-refused 10" in out
    assert err.count("cannot be used") == 1
