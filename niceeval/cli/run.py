"""`niceeval run`: load, select, run, report, and say by the exit code what came out."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from niceeval.cli.codes import NOTHING, PASSED, USAGE
from niceeval.cli.executing import Work, require_backend, run_plan
from niceeval.cli.judged import judged
from niceeval.cli.loading import Loaded, NothingToRun, asked_of, load
from niceeval.cli.numbers import counted
from niceeval.cli.options import Options
from niceeval.cli.plan_text import show_plan
from niceeval.cli.report import Rerun
from niceeval.cli.reporting import wanted_reports
from niceeval.cli.screen import complain, printed_aside
from niceeval.config import Config, load_config
from niceeval.errors import ConfigError
from niceeval.plans import Plan
from niceeval.rounds import CONFIDENCE
from niceeval.stats import needed, needed_in_rounds

__all__ = ["answered", "repeated", "run_command"]


def run_command(options: Options) -> int:
    """Run evals and return the exit code."""
    config = load_config()
    require_backend(options.backend)
    record = Path(options.record or config.record or config.root / ".niceeval")
    asked = asked_of(options, config)
    try:
        with printed_aside(options.as_json):
            loaded = load(asked, config, record)
    except NothingToRun as nothing:
        return answered(nothing, allow_empty=options.allow_empty)
    plan = judged(_plan(loaded, options, config), asked, config, record)
    wanted_reports(options.reports)
    for text in hopeless(plan):
        complain(text, fatal=False)
    if options.dry_run:
        show_plan(plan, asked, options)
        return USAGE if loaded.problems else PASSED
    work = Work(
        plan=plan,
        asked=asked,
        record=record,
        problems=loaded.problems,
        rerun=Rerun(options.paths, repeated(options.agents, options.experiments)),
    )
    return run_plan(work, options)


def answered(nothing: NothingToRun, *, allow_empty: bool) -> int:
    """Say why nothing runs, and return the exit code."""
    if str(nothing):
        complain(str(nothing), fatal=nothing.usage or not allow_empty)
    return USAGE if nothing.usage else PASSED if allow_empty else NOTHING


def hopeless(plan: Plan) -> Iterator[str]:
    """Say which evals ask for a rate that all of their attempts could not show to be reached."""
    for eval_ in plan.evals:
        if eval_.min_rate is None:
            continue
        enough = (needed_in_rounds if plan.sequential else needed)(1.0, eval_.min_rate, confidence=CONFIDENCE)
        counts = {plan.attempts_of(eval_, each) * len(eval_.iter_cases()) for each in plan.experiments} - {0}
        if counts and (enough is None or min(counts) < enough):
            how = " with --until-decided" if plan.sequential else ""
            most = "no number of attempts shows a rate of 1" if enough is None else f"{enough} would"
            yield (
                f"{eval_.id} asks for a rate of {eval_.min_rate:g}: that {counted(min(counts), 'attempt')} of "
                f"{counted(min(counts), 'attempt')} pass would not show it{how}; {most}"
            )


def _plan(loaded: Loaded, options: Options, config: Config) -> Plan:
    if options.until_decided and all(each.min_rate is None for each in loaded.evals):
        raise ConfigError(
            "--until-decided has nothing to decide: no eval that is selected asks for a rate; "
            "write define_eval(attempts=40, min_rate=0.85), or leave the option out"
        )
    return Plan(
        loaded.evals,
        loaded.experiments,
        options.attempts or config.attempts,
        exact_attempts=options.attempts is not None,
        declared_secrets=config.secrets,
        in_experiments=loaded.in_experiments,
        sequential=options.until_decided,
    )


def repeated(agents: Sequence[str], experiments: Sequence[str]) -> Sequence[str]:
    """Return the options that the next command needs to mean the same."""
    return [
        *(f"--agent {shlex.quote(text)}" for text in agents),
        *(f"--experiment {shlex.quote(text)}" for text in experiments),
    ]
