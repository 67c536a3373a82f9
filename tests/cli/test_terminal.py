"""On a real terminal: progress while it runs, the same report at the end, and Ctrl-C that keeps what is done."""

import io
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any

import pexpect
import pytest
from rich.cells import cell_len

from niceeval.record import Record

ROOT = str(Path(__file__).parents[2])
MAIN = f"import sys; sys.path[:] = [{ROOT!r}, *filter(None, sys.path)]\nfrom niceeval.cli import main; main()"

HEAD = "import anyio\nfrom niceeval import define_eval\nfrom niceeval_expect import includes\n"
GATED = (
    HEAD
    + """
from pathlib import Path

@define_eval(cases=["a", "b", "c"])
async def quick(t, case):
    t.check("hello", includes("hello" if case != "b" else "bye"))

@define_eval
async def gated(t):
    while not Path("go").exists():
        await anyio.sleep(0.02)
    t.check("hello", includes("hello"))
"""
)
STUCK = (
    HEAD
    + """
@define_eval(cases=range(5))
async def stuck(t, case):
    t.check("hello", includes("hello"))
    if case >= 3:
        await anyio.sleep(600)
"""
)
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def interruptible() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def spawned(root: Path, *arguments: str, **environment: str) -> Any:
    kept = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "CI")}
    return pexpect.spawn(
        sys.executable,
        ["-c", MAIN, *arguments],
        cwd=str(root),
        env={**kept, "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8", **environment},
        dimensions=(24, 80),
        encoding="utf-8",
        timeout=60,
        # A test run in the background has Ctrl-C switched off, and what it starts inherits that.
        preexec_fn=interruptible,
    )


def without_times(text: str) -> str:
    return re.sub(r"\d+:\d\d:\d\d| in [\d.]+ m?s|runs/.*", "", text)


def ended(process: Any) -> int:
    process.expect(pexpect.EOF)
    process.close()
    assert process.exitstatus is not None
    return int(process.exitstatus)


def screen_of(raw: str) -> list[str]:
    """What is left on the screen: a small terminal that knows the few sequences a progress display uses."""
    lines, row, column = [""], 0, 0
    for token in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", raw):
        if token == "\r":
            column = 0
        elif token == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif token.startswith("\x1b["):
            if token.endswith("A"):
                row = max(row - int(token[2:-1] or 1), 0)
            elif token.endswith("K"):
                lines[row] = "" if token == "\x1b[2K" else lines[row][:column]
        else:
            lines[row] = lines[row][:column].ljust(column) + token + lines[row][column + len(token) :]
            column += len(token)
    return [each.rstrip() for each in lines]


def test_progress_is_redrawn_and_the_report_is_what_a_pipe_gets(project: Any) -> None:
    project.write({"e.py": GATED})
    process = spawned(project.root, "run", "e.py")
    process.logfile_read = io.StringIO()
    process.expect("e/quick .*2 passed.*1 failed")
    process.expect(r"\d s  e/gated")
    (project.root / "go").touch()
    assert ended(process) == 1
    raw = process.logfile_read.getvalue()
    shown = [without_times(each) for each in screen_of(raw)]

    piped = [without_times(each) for each in project("run", "e.py").lines]
    assert [each for each in shown if each] == [each for each in piped if each]
    assert "\x1b[1A" in raw
    assert "\x1b[?25h" in raw
    assert all(cell_len(each) <= 80 for each in screen_of(raw))


@pytest.mark.parametrize(
    ("environment", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_colour_is_for_terminals_that_want_it(project: Any, environment: dict[str, str], coloured: bool) -> None:
    project.write({"e.py": HEAD + "@define_eval\nasync def fails(t):\n    t.check('x', includes('y'))\n"})
    process = spawned(project.root, "run", "e.py", **environment)
    process.expect(pexpect.EOF)
    raw = process.before
    process.close()
    assert process.exitstatus == 1
    assert bool(re.search(r"\x1b\[[0-9;]*m", raw)) is coloured
    plain = ESCAPE.sub("", raw)
    assert "FAILED e/fails" in plain
    assert "✗ includes('y')" in plain
    assert all(cell_len(each) <= 80 for each in screen_of(raw))


def test_a_pipe_gets_plain_lines(project: Any) -> None:
    project.write({"e.py": GATED, "go": ""})
    answer = project("run", "e.py")
    assert "\x1b" not in answer.out
    assert [each.split()[0] for each in answer.lines[2:4]] == ["e/quick", "e/gated"]
    assert re.search(r" 3/3  2 passed  1 failed  \d:\d\d:\d\d$", answer.lines[2])
    assert all(cell_len(each) <= 80 for each in answer.lines)


def test_an_encoding_without_the_symbols_gets_letters(project: Any) -> None:
    project.write({"e.py": HEAD + "@define_eval\nasync def fails(t):\n    t.check('é日', includes('y'))\n"})
    process = spawned(project.root, "run", "e.py", PYTHONIOENCODING="ascii", NO_COLOR="1")
    process.expect(pexpect.EOF)
    plain = ESCAPE.sub("", process.before)
    process.close()
    assert process.exitstatus == 1
    assert plain.isascii()
    assert "x includes('y')" in plain
    assert "1 case x 1 attempt" in plain
    assert "\\xe9\\u65e5" in plain


def test_ctrl_c_keeps_what_is_done_and_marks_what_was_cut_off(project: Any) -> None:
    project.write({"e.py": STUCK})
    process = spawned(project.root, "run", "e.py")
    process.expect("3 passed")
    process.sendintr()
    process.expect("interrupted")
    assert ended(process) == 130
    with Record.open(project.root) as record:
        assert record.run().status == "interrupted"
        attempts = record.attempts()
        assert [each.status for each in attempts] == ["passed"] * 3 + ["errored"] * 2
        assert [each.reason for each in attempts[3:]] == ["interrupted"] * 2
        assert [len(each.assertions) for each in attempts[3:]] == [1, 1]
