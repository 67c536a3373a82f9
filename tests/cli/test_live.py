"""A running run on a real terminal: what a person sees at several moments, also after the window has changed."""

import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import Any, Final

import pexpect
import pyte
import pytest

from niceeval.record import Record

ROOT: Final = str(Path(__file__).parents[2])
MAIN: Final = f"import sys; sys.path[:] = [{ROOT!r}, *filter(None, sys.path)]\nfrom niceeval.cli import main; main()"
PATIENCE: Final = 60.0
SGR: Final = re.compile(r"\x1b\[[0-9;]*m")
GATED: Final = """
from pathlib import Path
import anyio
from niceeval import AgentUnavailable, Reply, define_eval
from niceeval_expect import includes

async def opened(name):
    while not Path(name).exists():
        await anyio.sleep(0.02)

async def polite(message):
    await opened(f"polite-{message}")
    return Reply("hello", tool_calls=[])

async def curt(message):
    await opened(f"curt-{message}")
    return Reply("what?", tool_calls=[])

async def busy(message):
    raise AgentUnavailable("429 Too Many Requests", retry_after=90)

@define_eval(cases=range(4))
async def greets(t, case):
    turn = await t.send(f"greets-{case}")
    t.check(turn.message, includes("hello")).key("greets back")

@define_eval(cases=range(2))
async def thanks(t, case):
    turn = await t.send(f"thanks-{case}")
    t.check(turn.message, includes("hello")).key("greets back")
"""
AGENTS: Final = ("--agent", "polite=e:polite", "--agent", "curt=e:curt")
_UNSET: Final = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "CI")


def interruptible() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Terminal:
    """The command line on a terminal of its own."""

    def __init__(self, root: Path, *arguments: str, rows: int = 24, columns: int = 80, **environment: str) -> None:
        kept = {key: value for key, value in os.environ.items() if key not in _UNSET}
        self.screen = pyte.Screen(columns, rows)
        self.raw = ""
        self._stream = pyte.Stream(self.screen)
        self._process: Any = pexpect.spawn(
            sys.executable,
            ["-c", MAIN, *arguments],
            cwd=str(root),
            env={**kept, "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8", **environment},
            dimensions=(rows, columns),
            encoding="utf-8",
            timeout=PATIENCE,
            # A test run in the background has Ctrl-C switched off, and what it starts inherits that.
            preexec_fn=interruptible,
        )

    @property
    def lines(self) -> list[str]:
        """What is on the screen, empty lines left out."""
        return [each.rstrip() for each in self.screen.display if each.strip()]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def _read(self) -> bool:
        try:
            new = self._process.read_nonblocking(65536, timeout=0.05)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        self.raw += new
        self._stream.feed(new)
        return True

    def until(self, seen: Callable[[str], object]) -> list[str]:
        """Read until a person sees something, and return the lines of that moment."""
        deadline = monotonic() + PATIENCE
        while not seen(self.text):
            alive = self._read()
            assert alive or seen(self.text), f"it ended with:\n{self.text}"
            assert monotonic() < deadline, f"it was not seen within {PATIENCE:g} s:\n{self.text}"
        return self.lines

    def redraws(self, times: int) -> None:
        """Read until the board has been drawn again so often."""
        before = len(self.raw)
        self.until(lambda _: self.raw.count(" left  ", before) >= times)

    def resize(self, rows: int, columns: int) -> None:
        """Change the size, as somebody does who drags the window's corner."""
        self.screen.resize(rows, columns)
        self._process.setwinsize(rows, columns)
        self._process.kill(signal.SIGWINCH)

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        self._process.sendintr()

    def ended(self) -> int:
        """Read to the end and return the exit code."""
        deadline = monotonic() + PATIENCE
        while self._read():
            assert monotonic() < deadline, f"it did not end within {PATIENCE:g} s:\n{self.text}"
        self._process.close()
        assert self._process.exitstatus is not None
        return int(self._process.exitstatus)

    def close(self) -> None:
        """Leave nothing running behind."""
        self._process.close(force=True)


Started = Callable[..., Terminal]


@pytest.fixture
def start(project: Any) -> Iterator[Started]:
    terminals: list[Terminal] = []

    def begin(*arguments: str, **environment: Any) -> Terminal:
        terminals.append(Terminal(project.root, *arguments, **environment))
        return terminals[-1]

    project.write({"e.py": GATED})
    yield begin
    for each in terminals:
        each.close()


def opens(project: Any, *gates: str) -> None:
    for gate in gates:
        (project.root / gate).touch()


ALL: Final = [
    f"{agent}-{name}"
    for agent in ("polite", "curt")
    for name in (*(f"greets-{n}" for n in range(4)), "thanks-0", "thanks-1")
]


def bar(lines: list[str], name: str) -> str:
    [found] = [each for each in lines if each.startswith(f"{name} ")]
    return found


def test_the_board_follows_the_run(project: Any, start: Started) -> None:
    terminal = start("run", "e.py", *AGENTS, "--concurrency", "6")
    lines = terminal.until(lambda text: text.count(" s  e/greets") == 6)
    assert re.fullmatch(r"e/greets ╌{24} 0/8  0:00:0\d", bar(lines, "e/greets"))
    assert "and 1 eval to come" in lines
    assert re.fullmatch(r"polite +╌{24} 0/6", bar(lines, "polite"))
    assert re.fullmatch(r"0:00:0\d, - left  0 of 12  6 running", lines[-7])
    assert lines[-6].endswith("e/greets[0]  polite")

    opens(project, "polite-greets-0", "curt-greets-0")
    lines = terminal.until(lambda text: "✗ failed" in text)
    assert "✗ failed  e/greets[0]  curt  greets back" in lines
    assert "2/8  1 passed  1 failed" in bar(lines, "e/greets")
    assert bar(lines, "polite").endswith("1/6  rate 1.00 (1/1)")
    assert bar(lines, "curt").endswith("1/6  rate 0.00 (0/1)")
    assert re.search(r"^0:00:\d\d, \d:\d\d:\d\d left  2 of 12  rate 0.50 \(1/2\)  6 running$", terminal.text, re.M)

    opens(project, *(f"{agent}-greets-{number}" for agent in ("polite", "curt") for number in (1, 2, 3)))
    lines = terminal.until(lambda text: "8/8" in text and text.count(" s  e/thanks") == 4)
    assert re.search(r"^e/greets ━{24} 8/8  4 passed  4 failed  0:00:\d\d$", terminal.text, re.M)
    assert "to come" not in terminal.text

    opens(project, *ALL)
    assert terminal.ended() == 1
    assert "6 failed, 6 passed in" in terminal.text
    assert "running" not in terminal.text
    assert terminal.raw.rstrip().rfind("\x1b[?25h") > terminal.raw.rfind("\x1b[?25l")


@pytest.mark.parametrize("environment", [{}, {"NO_COLOR": "1"}])
def test_a_resize_in_the_middle_leaves_no_rubbish(project: Any, start: Started, environment: dict[str, str]) -> None:
    terminal = start("run", "e.py", *AGENTS, "--concurrency", "6", **environment)
    opens(project, *(each for each in ALL if "greets" in each))
    terminal.until(lambda text: "8/8" in text and text.count(" s  e/thanks") == 4 and "✗ failed" in text)
    for rows, columns in ((24, 50), (24, 64), (13, 64), (30, 100), (24, 80), (24, 46)):
        terminal.resize(rows, columns)
        terminal.redraws(2)
        lines = terminal.lines
        assert all(len(each) <= columns for each in lines)
        for once in ("e/thanks ", "polite ", "curt "):
            assert sum(each.startswith(once) for each in lines) == 1, (rows, columns, terminal.text)
        assert sum("8 of 12" in each for each in lines) == 1, (rows, columns, terminal.text)
        assert len([each for each in lines if " s  e/thanks" in each or "more running" in each]) <= 4
        assert sum(each.startswith("e/greets ") for each in lines) == 1 or rows < 24
    assert bool(SGR.search(terminal.raw)) is not bool(environment)
    terminal.resize(24, 80)
    opens(project, *ALL)
    assert terminal.ended() == 1
    assert "6 failed, 6 passed in" in terminal.text
    with Record.open(project.root) as record:
        assert record.run().status == "sealed"


def test_what_waits_for_another_try_says_why(project: Any, start: Started) -> None:
    terminal = start("run", "e.py", "--agent", "e:busy", "-k", "greets", "--retries", "2")
    lines = terminal.until(lambda text: text.count("retry 1 in ") == 4)
    assert re.fullmatch(r"  retry 1 in \d\d s  e/greets\[0\]  429 Too Many Requests", lines[-4])
    assert "0 of 4  0 running  4 waiting" in lines[-5]
    terminal.interrupt()
    assert terminal.ended() == 130


def test_what_is_printed_stands_above_the_board_once(project: Any, start: Started) -> None:
    project.write(
        {
            "e.py": GATED.replace(
                '    turn = await t.send(f"greets',
                "    print('case', case, flush=True); print('and ', end='', flush=True); print(\"more\")\n    turn = await t.send(f\"greets",
            )
        }
    )
    terminal = start("run", "e.py", *AGENTS, "--concurrency", "2")
    lines = terminal.until(lambda text: text.count(" s  e/greets") == 2)
    assert lines[1:5] == ["case 0", "and more", "case 0", "and more"]
    terminal.interrupt()
    assert terminal.ended() == 130
    assert terminal.text.count("case 0") == 2


def test_a_low_terminal_shows_the_most_important(project: Any, start: Started) -> None:
    terminal = start("run", "e.py", *AGENTS, "--concurrency", "6", rows=6)
    terminal.until(lambda text: " running" in text)
    terminal.redraws(8)
    assert len(terminal.lines) <= 6
    assert sum("0 of 12" in each for each in terminal.lines) == 1
    terminal.interrupt()
    assert terminal.ended() == 130


def test_a_terminal_of_a_build_server_is_a_log(project: Any, start: Started) -> None:
    terminal = start("run", "e.py", *AGENTS, CI="true")
    opens(project, *ALL)
    assert terminal.ended() == 1
    assert not re.search(r"\x1b\[[0-9;?]*[ABCDHJKhl]", terminal.raw)
    assert re.search(r"^e/greets ━{24} 8/8  4 passed  4 failed  0:00:0\d\r$", SGR.sub("", terminal.raw), re.M)


def test_quiet_says_nothing_until_the_end(project: Any, start: Started) -> None:
    terminal = start("run", "e.py", *AGENTS, "--quiet", "--concurrency", "12")
    opens(project, *ALL)
    assert terminal.ended() == 1
    assert "━" not in terminal.raw
    assert "\x1b[?25l" not in terminal.raw
    assert "6 failed, 6 passed" in terminal.text
    assert ".niceeval/runs/" in terminal.text
