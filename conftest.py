"""The examples of README.md and docs/ are tests: every page runs from top to bottom, in a folder of its own.

A fence of Python runs; one that starts with `>>>` is a doctest. A fence with a title is a file: it is written, and
Python in it runs as well. A fence of console output runs its `$ niceeval` and `$ python` commands and compares what
they print, times and run ids aside; `...` stands for anything.
"""

import doctest
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from sybil import Document, Example, Region, Sybil
from sybil.integration.pytest import SybilItem
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser
from sybil.parsers.markdown.lexers import RawFencedCodeBlockLexer

from niceeval.redaction import forget_secrets

ROOT = Path(__file__).parent
OPTIONS = doctest.ELLIPSIS
COMMANDS = {
    "niceeval": [sys.executable, "-W", "error", "-c", "from niceeval.cli import main; main()"],
    "python": [sys.executable, "-W", "error"],
}
MASKS = [
    (re.compile(r"\d{8}-\d{6}-[a-z0-9]{4}"), "RUN"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d"), "DATE"),
    (re.compile(r"\d+:\d\d:\d\d"), "TIME"),
    (re.compile(r"\bin [\d.]+ (s|ms|min)\b"), "in TIME"),
    (re.compile(r"^niceeval \d\S*", re.MULTILINE), "niceeval VERSION"),
]

collect_ignore_glob = ["benchmarks/*", "examples/*"]


class FileParser:
    """Fences with a title: ```python title="shop.py"."""

    lexer = RawFencedCodeBlockLexer(re.compile(r'(?P<language>\w+) title="(?P<path>[^"\n]+)"$\n', re.MULTILINE))

    def __call__(self, document: Document) -> Iterable[Region]:
        """Find the files of a page."""
        for region in self.lexer(document):
            region.parsed = region.lexemes
            region.evaluator = write_file
            yield region


def write_file(example: Example) -> None:
    """Write the file of a fence into the page's folder, and run it if it is Python."""
    path = Path(example.parsed["path"]).absolute()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(example.parsed["source"], encoding="utf-8")
    if example.parsed["language"] == "python":
        exec(compile(example.parsed["source"], str(path), "exec"), example.namespace)


def run_console(example: Example) -> str | None:
    """Run the commands of a console fence and compare what each prints."""
    for written in re.split(r"^\$ ", example.parsed, flags=re.MULTILINE)[1:]:
        command, _, expected = written.partition("\n")
        program, *arguments = shlex.split(command, comments=True)
        if program not in COMMANDS:
            continue
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", "COLUMNS": "80"}
        done = subprocess.run(
            [*COMMANDS[program], *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=120,
        )
        wanted, got = masked(expected), masked(done.stdout)
        if wanted.strip() and not doctest.OutputChecker().check_output(wanted, got, OPTIONS):
            return f"$ {command}\nexpected:\n{wanted}\ngot:\n{got}"
    return None


def masked(text: str) -> str:
    """Return console output without what differs from run to run."""
    for mask, name in MASKS:
        text = mask.sub(name, text)
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines()) + "\n"


def enter_folder(namespace: dict[str, Any]) -> None:
    """Give a page an empty working directory."""
    folder = tempfile.TemporaryDirectory()
    namespace["_left"] = Path.cwd(), folder
    os.chdir(folder.name)


def leave_folder(namespace: dict[str, Any]) -> None:
    """Return to where the tests run, without the secrets of the page."""
    forget_secrets()
    before, folder = namespace["_left"]
    os.chdir(before)
    folder.cleanup()


pytest_collect_file = Sybil(
    parsers=[
        FileParser(),
        PythonCodeBlockParser(doctest_optionflags=OPTIONS),
        CodeBlockParser("console", run_console),
    ],
    patterns=["README.md", "CONTRIBUTING.md", "docs/*.md"],
    setup=enter_folder,
    teardown=leave_folder,
).pytest()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the examples of a page together and in their order, whatever shuffles the tests."""
    examples = [item for item in items if isinstance(item, SybilItem)]
    examples.sort(key=lambda item: (str(item.path), item.example.line))
    items[:] = [item for item in items if not isinstance(item, SybilItem)] + examples
