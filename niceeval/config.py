"""Defaults of a project: the table `[tool.niceeval]` of its `pyproject.toml`."""

import difflib
import re
import tomllib
from collections.abc import Callable, Mapping
from math import isfinite
from pathlib import Path
from typing import Any, Final, final

import attrs

from niceeval.errors import ConfigError
from niceeval.judge_config import JudgeConfig

__all__ = ["Config", "load_config"]

_variable: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*").fullmatch
_agent_name: Final = re.compile(r"[^\s=]+").fullmatch


@final
@attrs.frozen
class Config:
    """What `[tool.niceeval]` says, with the defaults of what it does not say.

    Attributes:
        root: The folder of the `pyproject.toml`, or where the search began if there is none.
        source: The `pyproject.toml` that was read; None if there is none with the table.
        agent: The agents as `--agent` takes them: ``module:attr`` or ``name=module:attr``.
        evals: Files and folders with evals, absolute.
        experiments: Files and folders with experiments, absolute, or ``module:attr``.
        attempts: How often each case is run, 1 or more.
        concurrency: How many attempts run at once, 1 or more.
        timeout: Seconds for one attempt; None without a limit.
        retries: How often an attempt is tried again when its agent could not be reached, 0 or more.
        record: The folder of the record, absolute; None where it is not said.
        secrets: Names of environment variables whose values are secrets, whatever they are called.
        judge: The model that answers judge matches; None where there is no table for it.
    """

    root: Path
    source: Path | None = None
    agent: tuple[str, ...] = ()
    evals: tuple[Path, ...] = ()
    experiments: tuple[str, ...] = ()
    attempts: int = 1
    concurrency: int = 10
    timeout: float | None = None
    retries: int = 2
    record: Path | None = None
    secrets: tuple[str, ...] = ()
    judge: JudgeConfig | None = None


class _Refused(Exception):
    """A value cannot be used; the message says what is allowed."""


def load_config(start: Path | None = None) -> Config:
    """Return the configuration of the nearest `pyproject.toml` with a table `[tool.niceeval]`, looking upward.

    Args:
        start: The folder where the search begins; the working directory by default.

    Raises:
        ConfigError: A `pyproject.toml` on the way cannot be read, or a key or value in the table cannot be used.

    >>> load_config(Path("/")).attempts
    1
    """
    begin = (Path.cwd() if start is None else start).absolute()
    for folder in (begin, *begin.parents):
        path = folder / "pyproject.toml"
        if path.is_file():
            tool = _read(path).get("tool")
            if isinstance(tool, dict) and "niceeval" in tool:
                return _config(path, tool["niceeval"])
    return Config(begin)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as problem:
        raise ConfigError(f"{path} is not valid TOML: {problem}") from problem
    except (OSError, UnicodeDecodeError) as problem:
        raise ConfigError(f"{path} cannot be read: {problem}") from problem


def _config(path: Path, table: Any) -> Config:
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: tool.niceeval must be a table, got {table!r}; write [tool.niceeval]")
    values: dict[str, Any] = {}
    for key, value in table.items():
        read = _KEYS.get(key)
        if read is None:
            close = difflib.get_close_matches(key, _KEYS, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(_KEYS)}"
            raise ConfigError(f"{path}: [tool.niceeval] has no key {key!r}; {hint}")
        try:
            values[key] = read(value, path.parent)
        except _Refused as refused:
            raise ConfigError(f"{path}: [tool.niceeval] {key} {refused}") from None
    return Config(path.parent, path, **values)


def _agent(value: Any, _: Path) -> tuple[str, ...]:
    allowed = 'must be "module:attr", a list of those, or a table name = "module:attr"'
    if isinstance(value, str):
        given = [value]
    elif isinstance(value, list):
        given = value
    elif isinstance(value, dict):
        for name, reference in value.items():
            if not _agent_name(name):
                raise _Refused(f"has the name {name!r}; a name has no spaces and no =")
            if not isinstance(reference, str) or "=" in reference:
                raise _Refused(f"{allowed}, got {name} = {reference!r}")
        given = [f"{name}={reference}" for name, reference in value.items()]
    else:
        raise _Refused(f"{allowed}, got {value!r}")
    if not given:
        raise _Refused(f"is empty; it {allowed}")
    for reference in given:
        module, colon, attribute = (
            reference.rpartition("=")[2].partition(":") if isinstance(reference, str) else ("",) * 3
        )
        if not (module.strip() and colon and attribute.strip()):
            raise _Refused(f"{allowed}, got {reference!r}")
    return tuple(given)


def _paths(value: Any, root: Path) -> tuple[Path, ...]:
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list) or not given or not all(isinstance(item, str) and item.strip() for item in given):
        raise _Refused(f"must be a path or a list of paths, got {value!r}")
    return tuple(root / item for item in given)


def _experiments(value: Any, root: Path) -> tuple[str, ...]:
    paths = _paths(value, root)
    given = [value] if isinstance(value, str) else value
    return tuple(
        item if ":" in item and not path.exists() else str(path) for item, path in zip(given, paths, strict=True)
    )


def _path(value: Any, root: Path) -> Path:
    if not isinstance(value, str) or not value.strip():
        raise _Refused(f"must be the path of a folder, got {value!r}")
    return root / value


def _count(value: Any, _: Path, *, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise _Refused(f"must be a whole number of at least {least}, got {value!r}")
    return value


def _count_from_zero(value: Any, root: Path) -> int:
    return _count(value, root, least=0)


def _seconds(value: Any, _: Path) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or value <= 0:
        raise _Refused(f"must be a number of seconds above 0, got {value!r}; leave it out for no limit")
    return float(value)


def _secrets(value: Any, _: Path) -> tuple[str, ...]:
    # What stands here by mistake may be the secret itself, so that it is not shown.
    if not isinstance(value, list):
        raise _Refused(f"must be a list of names of environment variables, got {type(value).__name__}")
    for position, name in enumerate(value):
        if not isinstance(name, str) or not _variable(name):
            raise _Refused(f"must name environment variables that hold the secrets; item {position} is no such name")
    return tuple(value)


def _judge(value: Any, root: Path) -> JudgeConfig:
    if not isinstance(value, dict):
        raise _Refused(f"must be a table, got {value!r:.80}; write [tool.niceeval.judge]")
    try:
        return JudgeConfig.from_table(value, root)
    except (TypeError, ValueError) as error:
        raise _Refused(f"cannot be used: {error}") from error


_KEYS: Final[Mapping[str, Callable[[Any, Path], Any]]] = {
    "agent": _agent,
    "evals": _paths,
    "experiments": _experiments,
    "attempts": _count,
    "concurrency": _count,
    "timeout": _seconds,
    "retries": _count_from_zero,
    "record": _path,
    "secrets": _secrets,
    "judge": _judge,
}
