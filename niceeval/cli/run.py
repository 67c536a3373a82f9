"""`niceeval run`: load, select, run, report, and say by the exit code what came out."""

import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import anyio
import attrs

from niceeval.agents.base import AgentLike
from niceeval.agents.resolve import resolve_agent
from niceeval.cli.codes import ERRORED, FAILED, INTERRUPTED, NOTHING, PASSED, USAGE
from niceeval.cli.numbers import counted
from niceeval.cli.progress import ShownProgress, run_headline
from niceeval.cli.report import Rerun, run_report
from niceeval.cli.screen import Screen, complain, open_screen
from niceeval.cli.text import line
from niceeval.cli.unawaited import told_of_unawaited
from niceeval.cli.view import RunView
from niceeval.config import Config, load_config
from niceeval.errors import ConfigError, RecordError
from niceeval.evals.discovery import Discovery, LoadProblem, discover
from niceeval.evals.select import matches_expression, selected
from niceeval.record.write import RunWriter
from niceeval.redaction import current_redactor
from niceeval.runner import Plan, execute, writer_for

__all__ = ["Options", "run_command"]


@attrs.frozen
class Options:
    """What was asked for on the command line; None and empty where it was not said."""

    paths: Sequence[str]
    agents: Sequence[str] = ()
    attempts: int | None = None
    concurrency: int | None = None
    timeout: float | None = None
    expression: str | None = None
    record: str | None = None


def run_command(options: Options) -> int:
    """Run evals and return the exit code."""
    config = load_config()
    screen = open_screen()
    wanted = None if options.expression is None else matches_expression(options.expression)
    agents = _agents(options.agents, config)
    found = discover(_paths(options, config))
    _say(found.problems)
    if found.fatal:
        return USAGE
    evals = found.evals if wanted is None else tuple(selected(found.evals, wanted))
    if not evals:
        _say_nothing(found, options)
        return USAGE if found.problems else NOTHING
    if found.empty:
        complain(f"no eval in {', '.join(found.empty[:4])}", fatal=False)
    attempts, exact = options.attempts or config.attempts, options.attempts is not None
    plan = Plan.of_agents(evals, agents, attempts, config.secrets, exact_attempts=exact)
    return _run(plan, options, config, screen, len(found.problems))


def _run(plan: Plan, options: Options, config: Config, screen: Screen, problems: int) -> int:
    writer = writer_for(options.record or config.record or config.root / ".niceeval", plan.header())
    assert isinstance(writer, RunWriter)
    screen.write([*run_headline(plan, screen), line("")])
    progress = ShownProgress(screen)
    work = partial(
        execute,
        plan,
        concurrency=options.concurrency or config.concurrency,
        timeout=config.timeout if options.timeout is None else options.timeout,
        writer=writer,
        progress=progress,
    )
    begun = time.monotonic()
    ending: KeyboardInterrupt | RecordError | None = None
    try:
        with told_of_unawaited(plan, progress.came_late):
            anyio.run(work)
    except (KeyboardInterrupt, RecordError) as error:
        ending = error
    finally:
        progress.close()
    took = time.monotonic() - begun
    view = RunView(writer.folder)
    try:
        rerun = Rerun(options.paths, _repeated(options))
        screen.write(run_report(view, screen, took=took, problems=problems, rerun=rerun))
        for mistake in dict.fromkeys(progress.late):
            complain(current_redactor().redact_text(mistake)[0])
        whole = view.finished == view.header.planned() and not progress.late
        return _exit_code(view.statuses, ending, usage=bool(problems) or progress.no_agent, whole=whole)
    finally:
        view.close()


def _exit_code(statuses: Mapping[str, int], ending: BaseException | None, *, usage: bool, whole: bool) -> int:
    if isinstance(ending, KeyboardInterrupt):
        return INTERRUPTED
    if ending is not None:
        complain(str(ending))
    if usage:
        return USAGE
    if statuses.get("failed"):
        return FAILED
    if ending is not None or not whole or statuses.get("errored") or statuses.get("unrankable"):
        return ERRORED
    return PASSED if statuses.get("passed") or statuses.get("scored") else NOTHING


def _paths(options: Options, config: Config) -> Sequence[str | Path]:
    if options.paths:
        return options.paths
    if config.evals:
        return config.evals
    raise ConfigError("no file or folder to run: give one, such as niceeval run evals, or set evals in [tool.niceeval]")


def _agents(given: Sequence[str], config: Config) -> dict[str, AgentLike]:
    if not given and config.agent and config.source is not None and str(config.root) not in sys.path:
        # References in a project's configuration are meant from the project, wherever below it the command is given.
        sys.path.insert(0, str(config.root))
    agents: dict[str, AgentLike] = {}
    for text in given or config.agent:
        name, equals, reference = text.partition("=")
        if not equals:
            name, reference = text, text
        if not name.strip() or not reference.strip():
            raise ConfigError(
                f"--agent {text!r} has no {'reference' if name.strip() else 'name'}; write name=module:attr"
            )
        if name in agents:
            raise ConfigError(f"two agents are called {name!r}; give them different names: --agent name=module:attr")
        agents[name] = resolve_agent(reference)
    return agents


def _say(problems: Sequence[LoadProblem]) -> None:
    for problem in problems:
        # What an import raised may quote a secret, as a connection string in a message does.
        complain(current_redactor().redact_text(str(problem))[0])


def _say_nothing(found: Discovery, options: Options) -> None:
    if found.evals:
        cases = sum(len(each.iter_cases()) for each in found.evals)
        nearby = ", ".join(each.id for each in found.evals[:4])
        text = f"-k {options.expression!r} selects none of {counted(cases, 'case')}; there is {nearby}"
    elif found.empty:
        text = f"no eval in {', '.join(found.empty[:4])}; define one with @define_eval"
    elif found.problems:
        return
    else:
        text = "no eval file found: a folder gives its eval_*.py and *_eval.py, a file is always taken"
    complain(text)


def _repeated(options: Options) -> list[str]:
    """The options that the next command needs to mean the same."""
    return [f"--agent {shlex.quote(text)}" for text in options.agents]
