"""`niceeval resume`: what a run still lacks, as a new run that is read together with it."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs

from niceeval.cli.codes import NOTHING
from niceeval.cli.executing import Work, require_backend, run_plan
from niceeval.cli.judged import judged
from niceeval.cli.loading import Loaded, NothingToRun, load
from niceeval.cli.numbers import counted
from niceeval.cli.options import Asked, Options
from niceeval.cli.report import Rerun
from niceeval.cli.run import answered, repeated
from niceeval.cli.screen import complain, printed_aside
from niceeval.cli.show import run_folder, warnings_as_lines
from niceeval.config import Config, load_config
from niceeval.errors import RecordError
from niceeval.evals.experiments import Experiment
from niceeval.plans import AttemptRef, Plan
from niceeval.record.chain import attempt_key, open_source
from niceeval.record.layout import Header, read_header, run_process
from niceeval.record.lines import Damaged, parse, warn
from niceeval.redaction import current_redactor
from niceeval.rounds import lacks

__all__ = ["resume_command"]


def resume_command(run: str, options: Options, *, errored: bool) -> int:
    """Run what a run still lacks, and return the exit code."""
    config = load_config()
    require_backend(options.backend)
    with warnings_as_lines():
        folder = run_folder(run).absolute()
        header = read_header(folder)
        if run_process(folder) == "alive":
            raise RecordError(f"the run {header.id} is still running; wait for its end, or stop it, and resume it then")
        asked = _asked(folder)
        record = folder.parent.parent
        try:
            with printed_aside(options.as_json):
                loaded = _as_then(header, asked, config, record)
        except NothingToRun as nothing:
            return answered(nothing, allow_empty=False)
        plan = Plan(
            loaded.evals,
            loaded.experiments,
            header.attempts,
            exact_attempts=header.exact_attempts,
            declared_secrets=config.secrets,
            resumes=header.id,
            in_experiments=loaded.in_experiments,
            sequential=header.sequential,
        )
        _require_same(header, plan)
        done = dict(_done(folder, errored=errored))
        plan = attrs.evolve(plan, done=frozenset(done), statuses=done)
    if not lacks(plan):
        more = "" if errored else "; with --errored, what errored runs again"
        complain(f"the run {header.id} lacks nothing: {counted(len(plan.done), 'planned attempt')} are done{more}")
        return NOTHING
    asked = attrs.evolve(
        asked,
        judge=options.judge or asked.judge,
        judge_cache=asked.judge_cache if options.judge_cache is None else options.judge_cache,
        concurrency=options.concurrency or asked.concurrency or config.concurrency,
        timeout=asked.timeout if options.timeout is None else options.timeout,
        retries=asked.retries if options.retries is None else options.retries,
    )
    plan = judged(plan, asked, config, record)
    rerun = Rerun(asked.paths, repeated(asked.agents, asked.experiments))
    return run_plan(Work(plan=plan, asked=asked, record=record, problems=loaded.problems, rerun=rerun), options)


def _asked(folder: Path) -> Asked:
    document = json.loads((folder / "run.json").read_bytes())
    if document.get("observed") is not None:
        raise RecordError(f"{folder} checked recorded conversations, and cannot be gone on with: niceeval observe")
    try:
        return Asked.from_document(document["asked"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise RecordError(
            f"{folder} does not say how it was asked for, so that it cannot be gone on with: "
            "only what `niceeval run` recorded can be resumed"
        ) from None


def _as_then(header: Header, asked: Asked, config: Config, record: Path) -> Loaded:
    """Load what the run had; without the cases that it had not, where only the latest failures had been asked for."""
    selection = attrs.evolve(asked.selection, last_failed=False)
    loaded = load(attrs.evolve(asked, selection=selection), config, record)
    if not asked.selection.last_failed:
        return loaded
    planned = {each.id: each.cases for each in header.evals}
    kept = []
    for eval_ in loaded.evals:
        if eval_.id in planned:
            cases = planned[eval_.id]
            kept.append(eval_ if cases is None else eval_.only(cases))
    return attrs.evolve(loaded, evals=tuple(kept))


def _done(folder: Path, *, errored: bool) -> Iterator[tuple[AttemptRef, str]]:
    """Yield the attempts that count, with how they ended: no interrupted ones, and with `errored` no errored ones."""
    for place, raw in open_source(folder).lines():
        try:
            document = parse(raw)
        except Damaged as error:
            warn(place, error)
            continue
        if document["status"] in ("errored", "unrankable") and (errored or document.get("reason") == "interrupted"):
            continue
        yield AttemptRef(*attempt_key(document)), document["status"]


def _require_same(header: Header, plan: Plan) -> None:
    """Refuse a plan that is not the run's: its attempts and those that are still to come would not go together.

    Raises:
        RecordError: Something differs; the sentence says what.
    """
    different = next(_differences(header, plan), None)
    if different is not None:
        raise RecordError(
            f"the run {header.id} cannot be gone on with, since {different}; put that back, or start anew: niceeval run"
        )


def _differences(header: Header, plan: Plan) -> Iterator[str]:
    then = {each.id: each for each in header.evals}
    now = {each.id: each for each in plan.evals}
    yield from _changed("the eval", then, now)
    for eval_id, planned in then.items():
        cases = [case for case, _ in now[eval_id].iter_cases()] if now[eval_id].has_cases else None
        if (planned.cases is None) != (cases is None):
            yield f"{eval_id} {'has cases now' if planned.cases is None else 'has no cases any more'}"
        yield from _changed(
            "the case",
            [f"{eval_id}[{each}]" for each in planned.cases or ()],
            [f"{eval_id}[{each}]" for each in cases or ()],
        )
        if planned.style != now[eval_id].style:
            yield f"{eval_id} is {now[eval_id].style}-style now and was {planned.style}-style"
    yield from _changed("the experiment" if plan.in_experiments else "the agent", header.agents, plan.agents)
    for experiment in plan.experiments:
        yield from _changed_settings(header, plan, experiment)
        for eval_id, eval_ in now.items():
            before, after = header.most_of(then[eval_id], experiment.name), plan.attempts_of(eval_, experiment)
            if before != after:
                yield f"{eval_id} gets {counted(after, 'attempt')} per case now and got {before}"


def _changed(what: str, then: Sequence[str] | dict[str, Any], now: Sequence[str] | dict[str, Any]) -> Iterator[str]:
    yield from (f"{what} {each!r} is gone" for each in then if each not in now)
    yield from (f"{what} {each!r} is new" for each in now if each not in then)


def _changed_settings(header: Header, plan: Plan, experiment: Experiment) -> Iterator[str]:
    """What changes what is measured; how fast and within which limits it is, may change."""
    recorded = next((each for each in header.experiments if each.name == experiment.name), None)
    if recorded is None:
        return
    settings = current_redactor(plan.declared_secrets).redact_tree(experiment.settings())[0]
    for name in ("agent", "model", "flags"):
        before, after = recorded.settings.get(name), settings.get(name)
        if before != after:
            yield f"the experiment {experiment.name} has the {name} {after!r} now and had {before!r}"
