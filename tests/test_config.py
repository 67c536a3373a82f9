from pathlib import Path

import pytest

from niceeval.config import Config, load_config
from niceeval.errors import ConfigError


def write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "pyproject.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_key_is_read_and_paths_belong_to_the_file(tmp_path: Path) -> None:
    source = write(
        tmp_path,
        """
        [tool.niceeval]
        agent = "agents.plain:order_agent"
        evals = ["evals", "more/eval_x.py"]
        experiments = ["experiments", "experiments.fast:baseline"]
        attempts = 3
        concurrency = 4
        timeout = 30
        retries = 0
        record = "out/record"
        secrets = ["DATABASE_URL", "_x1"]
        """,
    )
    assert load_config(tmp_path) == Config(
        root=tmp_path,
        source=source,
        agent=("agents.plain:order_agent",),
        evals=(tmp_path / "evals", tmp_path / "more/eval_x.py"),
        experiments=(str(tmp_path / "experiments"), "experiments.fast:baseline"),
        attempts=3,
        concurrency=4,
        timeout=30.0,
        retries=0,
        record=tmp_path / "out/record",
        secrets=("DATABASE_URL", "_x1"),
    )


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    config = load_config(tmp_path)
    assert (config.root, config.agent, config.evals, config.attempts) == (tmp_path, (), (), 1)
    assert (config.concurrency, config.timeout, config.record, config.secrets) == (10, None, None, ())
    assert (config.experiments, config.retries) == ((), 2)


def test_the_search_goes_upward_to_the_nearest_file_with_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "[tool.niceeval]\nattempts = 2\n")
    write(tmp_path / "a", "[project]\nname = 'x'\n")
    write(tmp_path / "a/b/c", "[tool.niceeval]\nattempts = 5\n")
    (tmp_path / "a/b/c/d").mkdir()
    monkeypatch.chdir(tmp_path / "a/b")
    assert (load_config().attempts, load_config().root) == (2, tmp_path)
    monkeypatch.chdir(tmp_path / "a/b/c/d")
    assert (load_config().attempts, load_config().root) == (5, tmp_path / "a/b/c")


@pytest.mark.parametrize(
    ("text", "agents"),
    [
        ('agent = "a:b"', ("a:b",)),
        ('agent = ["a:b", "fast=pkg.mod:obj.attr"]', ("a:b", "fast=pkg.mod:obj.attr")),
        ('agent = { plain = "a:b", fast = "c:d" }', ("plain=a:b", "fast=c:d")),
        ('[tool.niceeval.agent]\n"v1.2" = "a:b"', ("v1.2=a:b",)),
    ],
)
def test_agents_come_as_the_command_line_takes_them(tmp_path: Path, text: str, agents: tuple[str, ...]) -> None:
    write(tmp_path, f"[tool.niceeval]\n{text}\n")
    assert load_config(tmp_path).agent == agents


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("attempts = 0", "attempts must be a whole number of at least 1, got 0"),
        ("attempts = -1", "at least 1, got -1"),
        ('attempts = "4"', "at least 1, got '4'"),
        ("attempts = true", "at least 1, got True"),
        ("attempts = 2.0", "at least 1, got 2.0"),
        ("concurrency = 0", "concurrency must be a whole number"),
        ("concurrency = true", "concurrency must be a whole number"),
        ("retries = -1", "retries must be a whole number of at least 0, got -1"),
        ("retries = true", "at least 0, got True"),
        ("experiments = []", "experiments must be a path or a list of paths"),
        ("experiments = 3", "experiments must be a path or a list of paths, got 3"),
        ("timeout = 0", "timeout must be a number of seconds above 0, got 0"),
        ("timeout = -1.5", "seconds above 0, got -1.5"),
        ('timeout = "4"', "seconds above 0, got '4'"),
        ("timeout = true", "seconds above 0, got True"),
        ("timeout = nan", "seconds above 0, got nan"),
        ("timeout = inf", "seconds above 0, got inf"),
        ("record = 1", "record must be the path of a folder, got 1"),
        ('record = ""', "record must be the path of a folder, got ''"),
        ("evals = []", "evals must be a path or a list of paths"),
        ("evals = [1]", r"list of paths, got \[1\]"),
        ("agent = 3", 'agent must be "module:attr"'),
        ('agent = "agents.plain"', "got 'agents.plain'"),
        ('agent = ":x"', "got ':x'"),
        ("agent = []", "agent is empty"),
        ('agent = ["a:b", 1]', "got 1"),
        ("agent = { x = 1 }", "got x = 1"),
        ('agent = { "a b" = "c:d" }', "name has no spaces"),
        ('secrets = "API"', "secrets must be a list of names of environment variables, got str"),
        ("attempt = 3", "has no key 'attempt'; did you mean 'attempts'"),
        (
            "colour = 3",
            "has no key 'colour'; known are agent, evals, experiments, attempts, concurrency, timeout, retries, record",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_with_file_key_and_remedy(tmp_path: Path, line: str, message: str) -> None:
    path = write(tmp_path, f"[tool.niceeval]\n{line}\n")
    with pytest.raises(ConfigError, match=message) as caught:
        load_config(tmp_path)
    assert str(caught.value).startswith(f"{path}: [tool.niceeval] ")


def test_a_secret_written_into_the_file_is_not_repeated_in_the_error(tmp_path: Path) -> None:
    write(tmp_path, '[tool.niceeval]\nsecrets = ["OK", "sk-live-123"]\n')
    with pytest.raises(ConfigError, match="item 1 is no such name") as caught:
        load_config(tmp_path)
    assert "sk-live" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[tool.niceeval]\nattempts = = 3\n", r"is not valid TOML: .*line 2"),
        (b"\xff\xfe", "cannot be read"),
        (b"[tool]\nniceeval = 3\n", "tool.niceeval must be a table, got 3"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=message) as caught:
        load_config(tmp_path)
    assert str(path) in str(caught.value)
