"""`niceeval init`: write a project that runs at once, and overwrite nothing."""

import shlex
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from rich.text import Text

from niceeval.cli.codes import PASSED
from niceeval.cli.scaffold import CONFIG, FILES, IGNORED
from niceeval.cli.screen import open_screen
from niceeval.cli.text import cut, line, paragraph
from niceeval.errors import ConfigError

__all__ = ["init_command"]

_WHAT_NEXT: Final = (
    "The run shows one eval that passes and one that fails: the agent tells customers that refunded orders are on "
    "their way. Correct that in agent.py, or put your own agent there, and run it again."
)


def init_command(folder: str) -> int:
    """Write the project and return the exit code."""
    root = Path(folder)
    screen = open_screen()
    try:
        root.mkdir(parents=True, exist_ok=True)
        steps = [_file(root, path, text) for path, text in FILES.items()]
        steps += [_configuration(root / "pyproject.toml"), _ignored(root / ".gitignore")]
        done = [step() for step in steps]
    except OSError as error:
        raise ConfigError(f"cannot write a project in {root}: {error.strerror or error}") from error
    written = [path for path, new in done if new]
    for path, new in done:
        word = ("wrote   ", "green") if new else ("kept    ", "dim")
        screen.write([line(word, cut(str(path), 4096), *([] if new else [("  there already, not changed", "dim")]))])
    screen.write(_next(root, screen.width, whole=len(written) == len(done)))
    return PASSED


def _next(root: Path, width: int, *, whole: bool) -> Iterator[Text]:
    yield line("")
    label = "next    "
    if root.resolve() != Path.cwd():
        yield line((label, "dim"), f"cd {shlex.quote(str(root))}")
        label = "        "
    yield line((label, "dim"), "niceeval run")
    yield line("        niceeval list")
    if whole:
        yield line("")
        yield from paragraph("", _WHAT_NEXT, width)


def _file(root: Path, path: str, text: str) -> Callable[[], tuple[Path, bool]]:
    target = root / path

    def write() -> tuple[Path, bool]:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(target, "x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except FileExistsError:
            return target, False
        return target, True

    return write


def _configuration(target: Path) -> Callable[[], tuple[Path, bool]]:
    """Add the table to the project's file, unless it has one. What cannot be read is refused before a file is written.

    Raises:
        ConfigError: The file is not valid TOML.
    """
    before = target.read_text(encoding="utf-8") if target.exists() else ""
    try:
        tool = tomllib.loads(before).get("tool")
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{target} is not valid TOML: {error}; mend it, and run niceeval init again") from error
    there = isinstance(tool, dict) and "niceeval" in tool
    return lambda: (target, not there and _append(target, before, CONFIG))


def _ignored(target: Path) -> Callable[[], tuple[Path, bool]]:
    before = target.read_text(encoding="utf-8") if target.exists() else ""
    there = any(each.strip().strip("/") == IGNORED.strip("/") for each in before.splitlines())
    return lambda: (target, not there and _append(target, before, f"{IGNORED}\n", apart=""))


def _append(target: Path, before: str, text: str, *, apart: str = "\n") -> bool:
    gap = "" if not before else apart if before.endswith("\n") else f"\n{apart}"
    with open(target, "a", encoding="utf-8", newline="\n") as file:
        file.write(f"{gap}{text}")
    return True
