"""The hooks of a session that has something of NiceEval in it; registered when the first of it is found."""

import inspect
import os
import shlex
import sys
from collections.abc import Generator, Iterable
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any, Final

import pytest

from niceeval.cli.numbers import counted
from niceeval.cli.report import recorded_run
from niceeval.cli.screen import open_screen
from niceeval.cli.tables import counts_line
from niceeval.cli.text import safe
from niceeval.errors import NiceEvalError
from niceeval.plans import AttemptRef
from niceeval.pytest_plugin.experiments import COMPLAINTS, complaints, set_ups_of
from niceeval.pytest_plugin.fixture import attempt_of, without_signals
from niceeval.pytest_plugin.outcomes import ATTEMPT, STATUS, shape_report
from niceeval.pytest_plugin.planned import PLANNED
from niceeval.pytest_plugin.rates import asked_rates
from niceeval.pytest_plugin.recording import recording_of
from niceeval.pytest_plugin.running import close_loop, in_loop
from niceeval.pytest_plugin.tests import planned_test
from niceeval.reporters.base import asked_counts

__all__ = ["activate", "broken_files", "finish_rates", "settle_plan", "start_run_for_workers"]

_broken: Final = pytest.StashKey[set[str]]()


def activate(config: pytest.Config) -> None:
    """Register the hooks of this module, once."""
    if not config.pluginmanager.hasplugin("niceeval-session"):
        config.pluginmanager.register(sys.modules[__name__], "niceeval-session")


def broken_files(config: pytest.Config) -> set[str]:
    """Return the set of the eval files that could not be collected."""
    return config.stash.setdefault(_broken, set())


def settle_plan(session: pytest.Session) -> None:
    """Store the plan of what is selected, and let the rest run where an eval file is broken."""
    config = session.config
    for item in session.items:
        if isinstance(item, pytest.Function) and PLANNED not in item.stash:
            found = planned_test(item)
            if found is not None:
                item.stash[PLANNED] = found
    planned = [item.stash[PLANNED] for item in session.items if PLANNED in item.stash]
    _require_distinct(session.items)
    if planned or broken_files(config):
        activate(config)
    if session.testsfailed and session.testsfailed == len(broken_files(config)):
        # One broken eval file does not keep the others from running; broken test files do, as pytest has it.
        config.option.continue_on_collection_errors = True
    stops = session.testsfailed and not config.option.continue_on_collection_errors
    if planned and not stops and not config.option.collectonly:
        try:
            recording_of(config).plan(planned, asked_rates(session.items))
        except NiceEvalError as error:
            raise _usage(error) from None


def _usage(error: NiceEvalError) -> pytest.UsageError:
    """Return the same mistake as pytest tells it, by the names of the plugin's options."""
    return pytest.UsageError(str(error).replace("--record DIR", "--niceeval-record DIR"))


def _require_distinct(items: Iterable[pytest.Item]) -> None:
    """Refuse two attempts that the record could not tell apart, as those of two files `eval_a.py` and `a_eval.py`."""
    known: dict[AttemptRef, pytest.Item] = {}
    for item in items:
        if PLANNED in item.stash:
            ref = item.stash[PLANNED].ref
            first = known.setdefault(ref, item)
            if first is not item:
                raise pytest.UsageError(
                    f"the id {ref.name!r} is used twice, by {first.nodeid} and {item.nodeid}; rename one of them"
                )


def start_run_for_workers(config: pytest.Config, exchange: Path) -> None:
    """Start the run that the workers of pytest-xdist write to."""
    activate(config)
    try:
        recording_of(config).start_for_workers(exchange)
    except NiceEvalError as error:
        raise _usage(error) from None


def finish_rates(session: pytest.Session, *, stopped: bool) -> None:
    """Report the rates whose attempts have not all come; in a session that was stopped, those that are decided."""
    rates = recording_of(session.config).rates
    if rates is not None:
        rates.finish(stopped=stopped or _reason(session) is not None)


def _reason(session: pytest.Session) -> str | None:
    """Return why pytest starts nothing more, where it said so itself."""
    most: int = session.config.getoption("maxfail")
    if most and session.testsfailed >= most:
        return f"{'-x' if most == 1 else '--maxfail'} after {counted(session.testsfailed, 'failure')}"
    told = [session.shouldfail, session.shouldstop]
    return next((str(each) for each in told if each), None)


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
    """Give an attempt that did not pass and counts only in a rate a letter of its own."""
    status = dict(getattr(report, "user_properties", ())).get(STATUS)
    if status is None or report.when != "call" or not report.passed:
        return None
    word = "missed" if status == "failed" else "undecided"
    return word, word[0], (word.upper(), {"yellow": True})


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let the report of an attempt say what became of it."""
    report = yield
    if ATTEMPT in item.stash:
        shape_report(item, call, report)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    """Close the attempt of a test whose fixtures did not come to an end."""
    __tracebackhide__ = True
    if ATTEMPT in item.stash:
        del item.stash[ATTEMPT]
    try:
        yield
    except BaseException as error:
        opened = attempt_of(item)
        if opened is not None:
            opened.ended_in_setup(error)
        raise


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_fixture_setup(fixturedef: Any, request: pytest.FixtureRequest) -> Generator[None, object, object]:
    """Keep the signal of a stop in a fixture from pytest, and from the runner of all asynchronous tests."""
    function = fixturedef.func
    if request.scope != "function" or attempt_of(request.node) is None:
        return (yield)
    fixturedef.func = without_signals(function)
    try:
        return (yield)
    finally:
        fixturedef.func = function


def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run an asynchronous test that uses `t` where no other plugin does."""
    opened = attempt_of(pyfuncitem)
    if opened is None or not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    __tracebackhide__ = True
    arguments = {name: pyfuncitem.funcargs[name] for name in opened.arguments}
    in_loop(pyfuncitem.config, partial(pyfuncitem.obj, **arguments))
    return True


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Tear experiments down, and seal the run."""
    config = session.config
    try:
        set_ups_of(config).tear_down()
    finally:
        interrupted = exitstatus in (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR)
        recording_of(config).seal(interrupted=interrupted, stopped=_reason(session))
    if complaints(config) and hasattr(config, "workeroutput"):
        config.workeroutput[COMPLAINTS] = complaints(config)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Take over what a worker of pytest-xdist has to say."""
    complaints(node.config).extend(getattr(node, "workeroutput", {}).get(COMPLAINTS, ()))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close the event loop."""
    close_loop(config)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say how many attempts ended how, and where the record is."""
    for each in complaints(config):
        terminalreporter.write_line(f"niceeval: {safe(each)}", red=True)
    result = recording_of(config).result
    if result is None or result.folder is None:
        return
    folder = recorded_run(result.folder)
    counts = [each.plain for each in counts_line(result.statuses, open_screen(StringIO()))]
    ended = sum(result.statuses.values())
    rates = recording_of(config).rates
    answers = asked_counts(rates.conditions) if rates is not None else ""
    if config.get_verbosity() < 0:
        rated = f"; asked rates: {answers}" if answers else ""
        terminalreporter.write_line(f"niceeval: {counts[0].partition('  (')[0]}{rated}  {folder}")
        return
    terminalreporter.write_sep("=", "niceeval")
    for each in (*counts, *([f"asked rates: {answers}"] if answers else [])):
        terminalreporter.write_line(each)
    if ended < result.planned or result.status == "interrupted":
        planned = counted(result.planned, "planned attempt")
        stopped = recording_of(config).stopped
        reason = "" if stopped is None else f" ({safe(stopped)})"
        terminalreporter.write_line(f"{result.status}{reason}: {ended} of {planned} have ended")
    terminalreporter.write_line(f"record  {folder}")
    terminalreporter.write_line(f"next    niceeval show {shlex.quote(os.fspath(folder))}")
