"""What a judge's configuration says, and where it is read from."""

from pathlib import Path
from typing import Any

import pytest

from niceeval import ConfigError, JudgeConfig, attempt, define_eval, define_experiment, run_eval
from niceeval.config import load_config
from niceeval.judge_config import judge_named


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"provider": "other"}, "provider is one of openai, anthropic"),
        ({"model": ""}, "model is ''"),
        ({"model": 5}, "model is a text"),
        ({"base_url": "localhost:8000"}, "begins with http:// or https://"),
        ({"base_url": "http://me:secret@host/v1"}, "put the key into key_variable"),
        ({"base_url": "http://host/v1?key=1"}, "put the key into key_variable"),
        ({"key_variable": "sk-123-456"}, "is not the key itself"),
        ({"base_url": "http://host:99999/v1"}, "begins with http:// or https://"),
        ({"timeout": 10**400}, "timeout is a finite number above 0"),
        ({"timeout": 0}, "timeout is a finite number above 0"),
        ({"timeout": float("inf")}, "timeout is a finite number above 0"),
        ({"temperature": -1}, "temperature is a finite number of 0 or more"),
        ({"max_tokens": 0}, "max_tokens is a whole number of at least 1"),
        ({"concurrency": True}, "concurrency is a whole number of at least 1"),
        ({"samples": 0}, "samples is a whole number of at least 1"),
        ({"retries": -1}, "retries is a whole number of at least 0"),
        ({"structured": 1}, "structured is True or False"),
        ({"cache": 1}, "cache is the path of a folder"),
    ],
)
def test_what_cannot_be_meant_is_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        JudgeConfig(**options)
    assert problem in str(caught.value)
    assert "sk-123-456" not in str(caught.value)


def test_the_key_is_read_from_the_environment_and_is_no_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "  sk-0123456789  ")
    config = JudgeConfig(model="small")
    assert config.key() == "sk-0123456789"
    assert "sk-0123456789" not in repr(config) + str(config.settings())
    assert JudgeConfig(model="small", key_variable="").key_name is None


def test_the_table_of_a_project(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.niceeval.judge]\nmodel = "small"\nprovider = "anthropic"\nsamples = 3\ncache = "answers"\n'
    )
    judge = load_config(tmp_path).judge
    assert judge == JudgeConfig(model="small", provider="anthropic", samples=3, cache=tmp_path / "answers")


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ('judge = "small"', "must be a table"),
        ('[tool.niceeval.judge]\nmodle = "small"', "did you mean 'model'?"),
        ("[tool.niceeval.judge]\nsamples = 0", "samples is a whole number of at least 1"),
    ],
)
def test_a_table_that_cannot_be_used(tmp_path: Path, table: str, problem: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.niceeval]\n{table}\n")
    with pytest.raises(ConfigError) as caught:
        load_config(tmp_path)
    assert problem in str(caught.value)


def test_a_judge_by_name_keeps_what_it_does_not_say() -> None:
    base = JudgeConfig(model="small", base_url="http://localhost/v1", key_variable="LOCAL", samples=3)
    assert judge_named("large", base) == JudgeConfig(
        model="large", base_url="http://localhost/v1", key_variable="LOCAL", samples=3
    )
    assert judge_named("anthropic:large", base) == JudgeConfig(model="large", provider="anthropic", samples=3)
    with pytest.raises(ValueError, match="names no model"):
        judge_named("openai:", base)


@pytest.mark.anyio
async def test_something_else_than_a_judge_is_refused_everywhere() -> None:
    other: Any = {"model": "small"}
    with pytest.raises(TypeError, match="takes a JudgeConfig"):
        await run_eval(define_eval("x", test=_nothing), judge=other)
    with pytest.raises(TypeError, match="takes a JudgeConfig"):
        attempt(judge=other)
    with pytest.raises(TypeError, match="judge= is a JudgeConfig"):
        define_experiment(agent=None, judge=other)


async def _nothing(t: Any) -> None:
    t.skip("nothing to do")


def test_an_experiment_says_which_judge_it_has() -> None:
    experiment = define_experiment(agent=None, judge=JudgeConfig(model="small"))
    assert experiment.settings()["judge"]["model"] == "small"
