"""A plan on its way: run, shown while it runs, reported when it has ended, and answered with an exit code."""

import shutil
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, final

import anyio
import attrs
from rich.text import Text

from niceeval.cli.codes import ERRORED, FAILED, INCONCLUSIVE, INTERRUPTED, NOTHING, PASSED, USAGE
from niceeval.cli.display import Display
from niceeval.cli.interrupts import Signalled, run_interruptibly
from niceeval.cli.numbers import counted
from niceeval.cli.options import Asked, Options
from niceeval.cli.progress import open_progress, run_headline
from niceeval.cli.report import Rerun, run_report, short_report
from niceeval.cli.reporting import wanted_reports, write_reports
from niceeval.cli.screen import Screen, complain, open_screen
from niceeval.cli.text import line
from niceeval.cli.unawaited import told_of_unawaited
from niceeval.cli.view import RunView
from niceeval.errors import ConfigError, RecordError
from niceeval.interruption import Interruption
from niceeval.plans import Plan
from niceeval.record.lines import Damaged, FolderSource, parse
from niceeval.record.planned import Settled
from niceeval.record.write import RunWriter
from niceeval.redaction import current_redactor
from niceeval.runner import execute, writer_for

if TYPE_CHECKING:
    from niceeval.attempts import Finished
    from niceeval.plans import AttemptRef

__all__ = ["Work", "require_backend", "run_plan"]

NO_AGENT = (
    "no agent is given, and an eval sends a message: name one with --agent module:attr, give experiments with "
    "--experiment PATH, or set agent or experiments in [tool.niceeval]"
)


@final
@attrs.frozen(kw_only=True)
class Work:
    """What is run, and what is said about it.

    Attributes:
        plan: What runs.
        asked: How it was asked for, which the run keeps.
        record: The folder of the record.
        problems: How many things went wrong while loading.
        rerun: How the next command begins.
    """

    plan: Plan
    asked: Asked
    record: Path
    problems: int
    rerun: Rerun


def require_backend(name: str) -> None:
    """Refuse an event loop that is not installed.

    Raises:
        ConfigError: It is not there; the sentence says what to install.
    """
    if name == "trio" and find_spec("trio") is None:
        raise ConfigError('--backend trio needs trio, which is not installed: pip install "niceeval[trio]"')


@final
class _Watched:
    """Tells a display of a run, and stops the run once it is certain that it measures nothing."""

    def __init__(self, display: Display, *, without_agent: bool) -> None:
        self.display = display
        self.pointless = False
        self._without_agent = without_agent
        self._scope: anyio.CancelScope | None = None

    async def run(self, work: Callable[[], Awaitable[object]]) -> None:
        """Run the plan, as long as it makes sense."""
        with anyio.CancelScope() as self._scope:
            await work()

    def plan_ready(self, plan: Plan, run_id: str) -> None:
        self.display.plan_ready(plan, run_id)

    def attempt_started(self, ref: "AttemptRef") -> None:
        self.display.attempt_started(ref)

    def attempt_retried(self, ref: "AttemptRef", tried: int, wait: float, reason: str) -> None:
        self.display.attempt_retried(ref, tried, wait, reason)

    def attempt_finished(self, ref: "AttemptRef", finished: "Finished") -> None:
        self.display.attempt_finished(ref, finished)
        if self._without_agent and self.display.no_agent and not self.pointless:
            self.pointless = True
            if self._scope is not None:
                self._scope.cancel()

    def settled(self, found: Settled, not_needed: int) -> None:
        self.display.settled(found, not_needed)

    def stopped(self, reason: str, not_run: int) -> None:
        self.display.stopped(reason, not_run)

    def came_late(self, mistake: str) -> None:
        self.display.came_late(mistake)

    def complained(self, text: str) -> None:
        self.display.complained(text)

    def noted(self, text: str) -> None:
        self.display.noted(text)


def run_plan(work: Work, options: Options) -> int:
    """Run a plan, show and report it, and return the exit code."""
    screen = _screen(options)
    plan = work.plan
    wanted = wanted_reports(options.reports)
    writer = writer_for(work.record, {**plan.header(), "asked": work.asked.document()}, plan.declared_secrets)
    assert isinstance(writer, RunWriter)
    if not options.quiet and not options.as_json:
        with suppress(BrokenPipeError):
            # Who does not want to read may still want the run.
            screen.write([*run_headline(plan, screen), *_resumed(plan), line("")])
    display = open_progress(screen, "json" if options.as_json else "quiet" if options.quiet else None)
    watched = _Watched(display, without_agent=all(each.agent is None for each in plan.experiments))
    run = partial(
        execute,
        plan,
        concurrency=options.concurrency or work.asked.concurrency or 1,
        timeout=work.asked.timeout,
        writer=writer,
        progress=watched,
        retries=work.asked.retries or 0,
        stop_after=1 if options.exit_first else None,
        budget=options.budget,
        interruption=(way_out := Interruption()),
    )
    begun = time.monotonic()

    def concluded(cause: KeyboardInterrupt | RecordError | None) -> int:
        try:
            code = _reported(work, options, screen, display, writer.folder, cause, time.monotonic() - begun)
        except BrokenPipeError:
            # Who does not read this may still read the reports.
            write_reports(wanted, writer.folder)
            raise
        return code if write_reports(wanted, writer.folder) else code or ERRORED

    def leave(cause: KeyboardInterrupt | None) -> int:
        display.close()
        return concluded(cause)

    ending: KeyboardInterrupt | RecordError | None = None
    try:
        with told_of_unawaited(plan, watched.came_late):
            run_interruptibly(partial(watched.run, run), backend=options.backend, interruption=way_out, leave=leave)
    except (KeyboardInterrupt, RecordError) as error:
        ending = error
    finally:
        display.close()
    if watched.pointless and ending is None and _measured_nothing(writer.folder):
        complain(NO_AGENT)
        return _forgotten(display, writer.folder, time.monotonic() - begun)
    return concluded(ending)


def _screen(options: Options) -> Screen:
    """Where people read: standard output, unless programs read that."""
    return open_screen(sys.stderr if options.as_json else None)


def _reported(
    work: Work,
    options: Options,
    screen: Screen,
    display: Display,
    folder: Path,
    ending: KeyboardInterrupt | RecordError | None,
    took: float,
) -> int:
    view = RunView(folder, once=True)
    try:
        if options.quiet and not options.as_json:
            screen.write(short_report(view, screen, took=took))
        elif not options.as_json:
            screen.write(run_report(view, screen, took=took, problems=work.problems, rerun=work.rerun))
        late = [current_redactor().redact_text(mistake)[0] for mistake in dict.fromkeys(display.late)]
        unsaid = [NO_AGENT] if display.no_agent and options.quiet else []
        wrong = [*late, *unsaid, *display.complaints, *([str(ending)] if isinstance(ending, RecordError) else [])]
        for text in [*wrong, *display.notes]:
            complain(text, fatal=text in wrong)
            display.warn(text)
        whole = view.finished >= view.header.planned() and not wrong
        code = _exit_code(view, ending, usage=bool(work.problems) or display.no_agent, whole=whole)
        display.summary(view, code=code, took=took)
        return code
    finally:
        view.close()


def _forgotten(display: Display, folder: Path, took: float) -> int:
    """Remove a run that measured nothing, so that it is nobody's latest one."""
    display.warn(NO_AGENT)
    view = RunView(folder, once=True)
    try:
        display.summary(view, code=USAGE, took=took)
    finally:
        view.close()
        shutil.rmtree(folder, ignore_errors=True)
    return USAGE


def _exit_code(view: RunView, ending: BaseException | None, *, usage: bool, whole: bool) -> int:
    if isinstance(ending, KeyboardInterrupt):
        return ending.code if isinstance(ending, Signalled) else INTERRUPTED
    if usage:
        return USAGE
    answers = {each.decision for each in view.asked}
    if "fail" in answers or view.alone.get("failed"):
        return FAILED
    if ending is not None or not whole or view.broke:
        return ERRORED
    if "inconclusive" in answers:
        return INCONCLUSIVE
    return PASSED if view.statuses.get("passed") or view.statuses.get("scored") else NOTHING


def _measured_nothing(folder: Path) -> bool:
    """Whether every recorded attempt lacked its agent or was interrupted for it."""
    for _, raw in FolderSource(folder).lines():
        try:
            reason = str(parse(raw).get("reason") or "")
        except Damaged:
            return False
        if not (reason == "interrupted" or reason.startswith("AgentReferenceError")):
            return False
    return True


def _resumed(plan: Plan) -> list[Text]:
    if plan.resumes is None:
        return []
    most = "at most " if plan.sequential else ""
    done = f"{len(plan.done):,} of {most}{counted(plan.size, 'planned attempt')} were done"
    return [line(f"resumes {plan.resumes}: {done}")]
