"""What an attempt means to pytest: a pass, a failure, an error or a skip, with the evidence in the report."""

import os
from collections.abc import Iterable, Iterator
from io import StringIO
from itertools import islice
from typing import Any, Final, final

import pytest
from rich.text import Text

from niceeval.cli.errored import errored_blocks
from niceeval.cli.failures import Naming, failed_block
from niceeval.cli.screen import open_screen
from niceeval.cli.text import safe
from niceeval.errors import AgentFailed, AgentUnavailable, NiceEvalError
from niceeval.results import AttemptResult
from niceeval.signals import leaves

__all__ = ["ATTEMPT", "EvalErrored", "EvalFailed", "conclude", "shape_report", "summary", "text_of"]

ATTEMPT: Final = pytest.StashKey[AttemptResult]()
"""The attempt of an item, once it has ended."""
_MOST_NAMES: Final = 3


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

    Raises:
        EvalFailed: It failed.
        EvalErrored: It is errored or unrankable.
        pytest.skip.Exception: It was skipped.
    """
    item.stash[ATTEMPT] = attempt
    if attempt.score is not None:
        item.user_properties.append(("niceeval_score", attempt.score))
    if attempt.status == "failed":
        raise EvalFailed(attempt)
    if attempt.status in ("errored", "unrankable"):
        raise EvalErrored(attempt)
    if attempt.status == "skipped":
        raise pytest.skip.Exception(attempt.reason or "no reason was given")


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
    if attempt is None or call.when == "teardown" or call.excinfo is None:
        return
    raised = list(leaves(call.excinfo.value))
    # Other plugins run a test in a task group, which wraps what comes out of it.
    error = raised[0] if len(raised) == 1 else call.excinfo.value
    if isinstance(error, _Ended):
        shown: Any = pytest.ExceptionInfo.from_exception(error).getrepr(style="value", chain=False)
        lines = [*text_of(attempt).splitlines(), *_trace(item, attempt)]
        shown.reprtraceback.reprentries[0].lines = lines
        shown.reprcrash.message = summary(attempt)
        shown.reprcrash.path, shown.reprcrash.lineno = _place(item, attempt)
        report.longrepr = shown
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
