"""`niceeval list`: the evals that are there, or the experiments; nothing is run."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from niceeval.cli.codes import NOTHING, PASSED, USAGE
from niceeval.cli.loading import NothingToRun, asked_of, load_evals, load_experiments
from niceeval.cli.numbers import counted
from niceeval.cli.options import Options
from niceeval.cli.plan_text import experiment_lines
from niceeval.cli.run import answered
from niceeval.cli.screen import Output, Screen, complain, open_screen
from niceeval.cli.selecting import NothingSelected, select
from niceeval.cli.text import columns, line
from niceeval.config import Config, load_config
from niceeval.evals.eval import Eval
from niceeval.evals.experiments import Experiment
from niceeval.evals.rows import shown

__all__ = ["list_command"]


def list_command(options: Options) -> int:
    """List what is there, and return the exit code."""
    config = load_config()
    try:
        evals, problems = _evals(options, config)
        if options.experiments:
            experiments = load_experiments(options.experiments, evals or None)
            _show_experiments(experiments, evals, as_json=options.as_json)
        else:
            _show_evals(evals, as_json=options.as_json)
    except NothingToRun as nothing:
        return answered(nothing, allow_empty=False)
    except NothingSelected as nothing:
        complain(str(nothing))
        return NOTHING
    return USAGE if problems else PASSED


def _evals(options: Options, config: Config) -> tuple[tuple[Eval[Any], ...], int]:
    """Return the selected evals; none where only experiments are asked for and nothing says where evals are."""
    if options.experiments and not options.paths and not config.evals:
        return (), 0
    found = load_evals(asked_of(options, config).paths)
    if not found.evals and not options.experiments:
        raise NothingToRun(
            ""
            if found.problems
            else "no eval found: a folder gives its eval_*.py and *_eval.py, a file is always taken",
            usage=bool(found.problems),
        )
    return (select(found.evals, options.selection, None) if found.evals else ()), len(found.problems)


def _show_evals(evals: Sequence[Eval[Any]], *, as_json: bool) -> None:
    if as_json:
        Output().write(json.dumps({"evals": list(map(_eval_document, evals))}) + "\n")
        return
    screen = open_screen()
    screen.write(_eval_lines(evals, screen))


def _eval_lines(evals: Sequence[Eval[Any]], screen: Screen) -> Iterator[Text]:
    tags = any(each.tags for each in evals)
    rows = []
    for each in evals:
        place = f"{shown(Path(each.source.file))}:{each.source.line}"
        cases = f"{len(each.iter_cases()):,}" if each.has_cases else "-"
        rows.append([each.id, place, *([", ".join(each.tags) or "-"] if tags else []), each.style, cases])
    head = ["eval", "written at", *(["tags"] if tags else []), "style", "cases"]
    yield from columns(head, rows, screen.width, texts=4 if tags else 3)
    total = sum(len(each.iter_cases()) for each in evals)
    yield line("")
    yield line(f"{counted(len(evals), 'eval')}, {counted(total, 'case')}")


def _eval_document(each: Eval[Any]) -> dict[str, Any]:
    return {
        "id": each.id,
        "style": each.style,
        "tags": list(each.tags),
        "cases": [case_id for case_id, _ in each.iter_cases()] if each.has_cases else None,
        "attempts": each.attempts,
        "min_rate": each.min_rate,
        "file": shown(Path(each.source.file)),
        "line": each.source.line,
    }


def _show_experiments(experiments: Sequence[Experiment], evals: Sequence[Eval[Any]], *, as_json: bool) -> None:
    if as_json:
        documents = [_experiment_document(each, evals) for each in experiments]
        Output().write(json.dumps({"experiments": documents}) + "\n")
        return
    screen = open_screen()
    for each in experiments:
        runs = sum(map(each.runs, evals))
        facts = [f"{runs} of {counted(len(evals), 'eval')}"] if evals else []
        screen.write([*experiment_lines(each, screen, *facts), line("")])
    screen.write([line(counted(len(experiments), "experiment"))])


def _experiment_document(each: Experiment, evals: Sequence[Eval[Any]]) -> dict[str, Any]:
    document: dict[str, Any] = {"name": each.name, **each.settings()}
    if evals:
        document["evals"] = [eval_.id for eval_ in evals if each.runs(eval_)]
    if each.source is not None:
        document["file"], document["line"] = shown(Path(each.source.file)), each.source.line
    return document
