"""What an attempt means to pytest: a pass, a failure, an error or a skip, with the evidence in the report."""

import os
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from itertools import islice
from typing import Any, Final, final

import pytest
from rich.text import Text

from niceeval.cli.asked import asked_block
from niceeval.cli.errored import errored_blocks
from niceeval.cli.failures import Naming, failed_block
from niceeval.cli.numbers import counted
from niceeval.cli.screen import open_screen
from niceeval.cli.text import safe
from niceeval.errors import AgentFailed, AgentUnavailable, NiceEvalError
from niceeval.pytest_plugin.planned import PLANNED
from niceeval.record.rate_conditions import RateCondition
from niceeval.results import AttemptResult
from niceeval.signals import leaves

__all__ = [
    "ATTEMPT",
    "STATUS",
    "EvalErrored",
    "EvalFailed",
    "conclude",
    "longrepr",
    "rate_text",
    "shape_report",
    "summary",
    "text_of",
]

ATTEMPT: Final = pytest.StashKey[AttemptResult]()
"""The attempt of an item, once it has ended."""
STATUS: Final = "niceeval_status"
"""The property of a report that says how an attempt ended that did not pass, where only the rate of its eval counts."""
_MOST_NAMES: Final = 3


@final
class _RateNotReached(AssertionError):
    """The rate that an eval asks for is not reached, or not decided."""


class _Ended(Exception):
    """An attempt did not pass; the message is the whole report."""

    def __init__(self, attempt: AttemptResult) -> None:
        super().__init__(f"{summary(attempt)}\n{text_of(attempt)}")
        self.attempt: Final = attempt


@final
class EvalFailed(_Ended, AssertionError):
    """A gate was not met, or the agent broke: a failure of the test."""


@final
class EvalErrored(_Ended):
    """The attempt could not be decided: an error, which says nothing about the agent."""


def conclude(item: pytest.Item, attempt: AttemptResult) -> None:
    """Remember an ended attempt, and raise what it means to pytest.

    Where the eval asks for a rate, an attempt that failed or is errored is a note: the rate of all of them counts.

    Raises:
        EvalFailed: It failed.
        EvalErrored: It is errored or unrankable.
        pytest.skip.Exception: It was skipped.
    """
    item.stash[ATTEMPT] = attempt
    if attempt.score is not None:
        item.user_properties.append(("niceeval_score", attempt.score))
    if _is_note(item, attempt):
        item.user_properties.append((STATUS, attempt.status))
        return
    if attempt.status == "failed":
        raise EvalFailed(attempt)
    if attempt.status in ("errored", "unrankable"):
        raise EvalErrored(attempt)
    if attempt.status == "skipped":
        raise pytest.skip.Exception(attempt.reason or "no reason was given")


def _is_note(item: pytest.Item, attempt: AttemptResult) -> bool:
    return item.stash[PLANNED].min_rate is not None and attempt.status in ("failed", "errored")


def summary(attempt: AttemptResult) -> str:
    """Say in one line what did not pass."""
    names = [safe(entry.requirement) for entry in (*attempt.failures, *attempt.undecided)]
    broke = attempt.error is not None or attempt.status in ("errored", "unrankable")
    if broke or not names:
        return safe(attempt.reason or attempt.status)
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{', '.join(names[:_MOST_NAMES])}{more}"


def text_of(attempt: AttemptResult) -> str:
    """Return the block that `niceeval run` prints of an attempt, in 80 columns and without colour."""
    screen = open_screen(StringIO())
    naming = Naming(agents=bool(attempt.agent), attempts=attempt.attempt > 1)
    if attempt.status == "failed":
        return _written(failed_block(attempt, screen, naming))
    return _written(errored_blocks([attempt], screen, naming))


def _note_of(attempt: AttemptResult) -> str:
    """Return the block of an attempt that is no failure and no error of the session."""
    screen = open_screen(StringIO())
    naming = Naming(agents=bool(attempt.agent), attempts=True)
    if attempt.status == "failed":
        return _written(failed_block(attempt, screen, naming, word=("failed", "")))
    return _written(errored_blocks([attempt], screen, naming))


def rate_text(condition: RateCondition, notes: Sequence[str], total: int) -> str:
    """Return what became of an eval that asks for a rate, in 80 columns and without colour.

    Args:
        condition: The answer.
        notes: What some of the attempts that did not pass say.
        total: How many there are.
    """
    text = _written(asked_block(condition, open_screen(StringIO()), agent=True))
    rest = total - len(notes)
    more = [f"({counted(rest, 'more attempt')} did not pass: niceeval show --all)"] if rest else []
    return "\n\n".join([text, *notes, *more])


def _failed_checks(attempt: AttemptResult) -> str:
    """Return the checks that failed in an attempt that has not failed, since it ended otherwise."""
    screen = open_screen(StringIO())
    block = failed_block(attempt, screen, Naming(agents=False, attempts=False))
    # Without the empty line and the heading, which is a word about the whole.
    return _written(islice(block, 2, None))


def _written(lines: Iterable[Text]) -> str:
    stream = StringIO()
    open_screen(stream).write(lines)
    return stream.getvalue().strip("\n")


def shape_report(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Let a report say what became of an attempt.

    An errored attempt is reported like a test whose setup broke: that is what pytest, its options and every reader of
    its reports take for an error and not for a failure.
    """
    attempt = item.stash.get(ATTEMPT, None)
    if attempt is not None and call.when == "call" and call.excinfo is None and _is_note(item, attempt):
        report.sections.append(("niceeval", _note_of(attempt)))
    if attempt is None or call.when == "teardown" or call.excinfo is None:
        return
    raised = list(leaves(call.excinfo.value))
    # Other plugins run a test in a task group, which wraps what comes out of it.
    error = raised[0] if len(raised) == 1 else call.excinfo.value
    if isinstance(error, _Ended):
        lines = [*text_of(attempt).splitlines(), *_trace(item, attempt)]
        report.longrepr = longrepr(lines, summary(attempt), *_place(item, attempt), error=error)
    elif isinstance(error, pytest.skip.Exception):
        path, line, _ = item.reportinfo()
        report.longrepr = (os.fspath(path), (line or 0) + 1, f"Skipped: {safe(str(error))}")
    if attempt.failures and attempt.status != "failed":
        report.sections.append(("niceeval", _failed_checks(attempt)))
    undecided = isinstance(error, NiceEvalError) and not isinstance(error, AgentFailed)
    if report.failed and (isinstance(error, EvalErrored) or undecided):
        report.when = "setup"
    elif report.failed and isinstance(error, EvalFailed):
        # Where a fixture was stopped by a check: that is a failure all the same.
        report.when = "call"


def longrepr(lines: Sequence[str], message: str, path: str, line: int, *, error: Exception | None = None) -> Any:
    """Return a failure as reports have it: what is printed of it, its message, and its place.

    Args:
        lines: What is printed.
        message: What the short summary says.
        path: The file.
        line: The line in it, from 1.
        error: What was raised; where nothing was, a report without an exception is not one that every reader expects.
    """
    try:
        raise error or _RateNotReached(message)
    except Exception as raised:
        shown: Any = pytest.ExceptionInfo.from_exception(raised).getrepr(style="value", chain=False)
    shown.reprtraceback.reprentries[0].lines = list(lines)
    shown.reprcrash.message = message
    shown.reprcrash.path, shown.reprcrash.lineno = path, line
    return shown


def _place(item: pytest.Item, attempt: AttemptResult) -> tuple[str, int]:
    """Return the place of the check that stands for the whole; where there is none, that of the test or eval."""
    for entry in (*attempt.failures, *attempt.undecided):
        return entry.source.file, entry.source.line
    path, line, _ = item.reportinfo()
    return os.fspath(path), (line or 0) + 1


def _trace(item: pytest.Item, attempt: AttemptResult) -> Iterator[str]:
    """The traceback of what ended the attempt, where the author may need it: secrets are replaced in it already."""
    error = attempt.error
    if (
        error
        and error.get("type") != AgentUnavailable.__name__
        and item.config.getoption("tbstyle") not in ("no", "line")
    ):
        yield ""
        yield from map(safe, str(error.get("traceback", "")).rstrip().splitlines())
