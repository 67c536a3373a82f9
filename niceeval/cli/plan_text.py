"""`--dry-run`: what would run, without running or writing anything."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.cells import cell_len
from rich.text import Text

from niceeval.cli.numbers import counted
from niceeval.cli.options import Asked, Options
from niceeval.cli.progress import run_headline
from niceeval.cli.screen import Output, Screen, open_screen
from niceeval.cli.text import columns, cut, line, paragraph
from niceeval.evals.experiments import Experiment
from niceeval.evals.rows import shown
from niceeval.plans import Plan
from niceeval.redaction import current_redactor

__all__ = ["experiment_lines", "show_plan"]


def show_plan(plan: Plan, asked: Asked, options: Options) -> None:
    """Print the plan as text, or as one JSON object."""
    if options.as_json:
        document = {**plan.header(), "planned": plan.size, "asked": asked.document()}
        Output().write(json.dumps(current_redactor(plan.declared_secrets).redact_tree(document)[0]) + "\n")
        return
    screen = open_screen()
    screen.write([*run_headline(plan, screen), *_plan_lines(plan, screen)])


def _plan_lines(plan: Plan, screen: Screen) -> Iterator[Text]:
    rows = []
    for eval_ in plan.evals:
        cases = len(eval_.iter_cases())
        attempts = sum(cases * plan.attempts_of(eval_, experiment) for experiment in plan.experiments)
        rows.append([eval_.id, ", ".join(eval_.tags) or "-", f"{cases:,}", f"{attempts:,}"])
    yield line("")
    yield from columns(["eval", "tags", "cases", "attempts"], rows, screen.width, texts=2)
    if plan.in_experiments:
        for experiment in plan.experiments:
            runs = [each for each in plan.evals if experiment.runs(each)]
            attempts = sum(len(each.iter_cases()) * plan.attempts_of(each, experiment) for each in runs)
            of = "" if len(runs) == len(plan.evals) else f" at {len(runs)} of {counted(len(plan.evals), 'eval')}"
            yield line("")
            yield from experiment_lines(experiment, screen, f"{counted(attempts, 'attempt')}{of}")
    yield line("")
    most = "at most " if plan.sequential else ""
    yield line(f"{most}{counted(plan.size, 'attempt')} planned; nothing was run, and nothing was written")


def experiment_lines(experiment: Experiment, screen: Screen, *facts: str) -> Iterator[Text]:
    """Say what an experiment says: its name and place, its agent and model, its settings and limits."""
    place = [] if experiment.source is None else [f"{shown(Path(experiment.source.file))}:{experiment.source.line}"]
    name, rest = cut(experiment.name, screen.width), "  ".join([*facts, *place])
    if cell_len(name) + 2 + cell_len(rest) <= screen.width:
        yield line((name, "bold"), "  ", (rest, "dim"))
    else:
        yield line((name, "bold"))
        yield line((f"  {cut(rest, screen.width - 2)}", "dim"))
    settings = dict(experiment.settings())
    about = [("agent", settings.pop("agent", "none")), ("model", settings.pop("model", None))]
    about.append(("flags", _pairs(settings.pop("flags", {}))))
    about.append(("budget", _pairs(settings.pop("budget", {}))))
    about.append(("judge", _pairs(settings.pop("judge", {}))))
    about.append(("limits", _pairs(settings)))
    about.append(("evals", None if experiment.evals is None else ", ".join(map(_name, experiment.evals))))
    for name, value in about:
        if value:
            text = current_redactor().redact_text(str(value))[0]
            yield from paragraph(f"  {name:<8}", text, screen.width, style="dim", most=4)


def _name(chosen: Any) -> str:
    return chosen if isinstance(chosen, str) else chosen.id


def _pairs(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} {_value(value)}" for name, value in values.items())


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
