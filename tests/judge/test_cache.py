"""The cache of judges' answers: what it keeps, when it is used, and what it never keeps."""

import json
from pathlib import Path
from typing import Any

import pytest

from niceeval import AssertionResult, ConfigError, EvalContext, JudgeConfig, define_eval, run_eval
from niceeval.judge.cache import AnswerCache
from niceeval.judge.providers import Answer
from niceeval_expect import closed_qa
from tests.judge.models import answered, chat, choice, judge
from tests.servers.scripted import ScriptedServer, html

pytestmark = pytest.mark.anyio


async def checked(config: JudgeConfig, *, question: str = "Is it polite?", output: str = "x") -> AssertionResult:
    async def test(t: EvalContext) -> None:
        t.check({"input": "?", "output": output}, closed_qa(question).at_least(0.8)).gate()

    result = await run_eval(define_eval("x", test=test), judge=config)
    [entry] = result.attempts[0].assertions
    return entry


async def test_an_answer_is_taken_from_the_cache_and_says_so(
    server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered(server, chat(choice("A", "Very polite.")))
    config = judge(server, cache=tmp_path / "cache")
    first = await checked(config)
    monkeypatch.delenv(config.key_variable or "")
    second = await checked(config)
    assert len(server.requests) == 1
    assert (first.evaluation.value, second.evaluation.value) == (1.0, 1.0)
    before, after = (each.match["judge"][0]["answers"][0] for each in (first, second))
    assert "cached" not in before
    assert after["cached"].startswith("20")
    assert {**before, "cached": after["cached"]} == after
    assert "(answered 20" in str(second.evaluation)


@pytest.mark.parametrize(
    "other",
    [
        {"model": "large"},
        {"temperature": 0.5},
        {"max_tokens": 5},
        {"structured": False},
        {"base_url": "http://127.0.0.1:1/v1"},
    ],
    ids=str,
)
async def test_every_setting_that_matters_is_part_of_the_key(
    server: ScriptedServer, tmp_path: Path, other: dict[str, Any]
) -> None:
    answered(server, chat(choice("A")))
    await checked(judge(server, cache=tmp_path / "cache"))
    entry = await checked(judge(server, cache=tmp_path / "cache", **other))
    answers = entry.match["judge"][0]["answers"]
    assert all("cached" not in each for each in answers)


async def test_rule_material_and_sample_are_part_of_the_key(server: ScriptedServer, tmp_path: Path) -> None:
    answered(server, chat(choice("A")))
    config = judge(server, cache=tmp_path / "cache")
    await checked(config)
    await checked(config, question="Is it kind?")
    await checked(config, output="y")
    assert len(server.requests) == 3
    await checked(judge(server, cache=tmp_path / "cache", samples=2))
    assert len(server.requests) == 4


@pytest.mark.parametrize(
    "bad", [html(500), chat("Sorry, I cannot help"), chat("no verdict"), chat(choice("A"), finish="length")]
)
async def test_what_is_no_answer_is_never_kept(server: ScriptedServer, tmp_path: Path, bad: Any) -> None:
    config = judge(server, cache=tmp_path / "cache")
    answered(server, bad)
    assert (await checked(config)).evaluation.outcome == "unavailable"
    assert list((tmp_path / "cache").rglob("*.json")) == []
    answered(server, chat(choice("A")))
    assert (await checked(config)).evaluation.outcome == "matched"


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"format": 1}', "turned"])
async def test_a_damaged_file_is_left_out_with_a_warning(server: ScriptedServer, tmp_path: Path, damage: str) -> None:
    answered(server, chat(choice("A")))
    config = judge(server, cache=tmp_path / "cache")
    await checked(config)
    [file] = (tmp_path / "cache").rglob("*.json")
    kept = file.read_text()
    file.write_text(kept.replace('\\"A\\"', '\\"E\\"') if damage == "turned" else damage)
    with pytest.warns(UserWarning, match="is left out"):
        entry = await checked(config)
    assert entry.evaluation.value == 1.0
    assert len(server.requests) == 2
    assert json.loads(file.read_text())["answer"] == json.loads(kept)["answer"]


async def test_a_folder_that_holds_something_else_is_refused(server: ScriptedServer, tmp_path: Path) -> None:
    (tmp_path / "eval_a.py").write_text("")
    for folder in (tmp_path, tmp_path / "eval_a.py"):
        with pytest.raises(ConfigError, match="the judge cache"):
            await checked(judge(server, cache=folder))


async def test_a_folder_that_cannot_be_written_is_said_once(tmp_path: Path) -> None:
    said: list[str] = []
    cache = AnswerCache(tmp_path / "cache", said.append)
    key = "ab" * 32
    cache.path(key).parent.write_text("a file where a folder is to be")
    cache.put(key, Answer("x"))
    cache.put(key, Answer("x"))
    assert len(said) == 1
    assert "cannot be written" in said[0]


async def test_two_writers_leave_one_whole_answer(tmp_path: Path) -> None:
    one, other = (AnswerCache(tmp_path / "cache", pytest.fail) for _ in range(2))
    key = "ab" * 32
    for cache in (one, other, one):
        cache.put(key, Answer("x"))
    kept = other.get(key)
    assert kept is not None
    assert kept.answer == Answer("x")
    assert len(list((tmp_path / "cache").rglob("*"))) == 3
