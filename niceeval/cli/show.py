"""`niceeval show`: a recorded run again, from the record alone."""

import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import attrs

from niceeval._reading import where
from niceeval.cli.view import RunView
from niceeval.errors import RecordWarning
from niceeval.record import Record
from niceeval.results import AssertionResult, AttemptResult

__all__ = ["run_folder", "show_command", "warnings_as_lines"]


def show_command(run: str, eval: str | None, *, as_json: bool) -> int:
    """Print a recorded run as a report or as one JSON object."""
    from niceeval.cli.report import closer_look, recorded_run, show_report
    from niceeval.cli.screen import open_screen
    from niceeval.cli.tables import headline
    from niceeval.cli.text import cut, line

    with warnings_as_lines():
        view = RunView(run_folder(run), eval)
        try:
            if as_json:
                _write_json(view, sys.stdout)
                return 0
            screen = open_screen()
            started = view.header.started.astimezone()
            sizes = [planned.size for planned in view.header.evals]
            start = f"run {view.header.id}", f"{started:%Y-%m-%d %H:%M}"
            screen.write(headline(view.header.agents, view.header.attempts, sizes, screen, *start))
            screen.write(show_report(view, screen))
            screen.write([line(("record  ", "dim"), cut(recorded_run(view.folder), 4096))])
            screen.write(closer_look(view, run))
        finally:
            view.close()
    return 0


def run_folder(run: str) -> Path:
    """Return the folder of a run that is named by its id, `latest`, or its folder."""
    path = Path(run)
    if path.is_dir():
        with Record.open(path) as record:
            return record.run().folder
    with Record.open() as record:
        return record.run(run).folder


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """What was skipped while reading is said on standard error, one line each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RecordWarning)
        yield
    for each in dict.fromkeys(str(warning.message) for warning in caught):
        sys.stderr.write(f"warning {each}\n")


def _write_json(view: RunView, out: TextIO) -> None:
    """Write one object, with one attempt per line: a large run is never held as a whole."""
    head = json.dumps(_document(view), allow_nan=False)
    out.write(f'{head[:-1]}, "attempts": [')
    for number, each in enumerate(view.attempts()):
        out.write(("," if number else "") + "\n" + json.dumps(_attempt(each), allow_nan=False))
    out.write("\n]}\n")


def _document(view: RunView) -> dict[str, Any]:
    from niceeval.cli.outside import outside

    header, rates = view.header, view.rates
    return {
        "run": {
            "id": header.id,
            "started": header.started.isoformat(),
            "status": header.status,
            "folder": str(view.folder),
            "agents": list(header.agents),
            "attempts": header.attempts,
            "planned": header.planned(),
        },
        "counts": dict(sorted(view.statuses.items())),
        "rates": {
            "overall": rates.overall.model_dump(mode="json"),
            "evals": rates.evals.to_dicts(),
        },
        "requirements": [each.model_dump(mode="json") for each in view.requirements],
        "outside": [attrs.asdict(each) for each in outside(view)],
        "ranking": [each.model_dump(mode="json") for each in view.ranking],
    }


def _attempt(attempt: AttemptResult) -> dict[str, Any]:
    return {
        "id": attempt.id,
        "eval": attempt.eval_id,
        "case": attempt.case_id,
        "agent": attempt.agent,
        "attempt": attempt.attempt,
        "style": attempt.style,
        "status": attempt.status,
        "score": attempt.score,
        "partial_score": attempt.partial_score,
        "stopped_by": attempt.stopped_by,
        "duration": attempt.duration,
        "reason": attempt.reason,
        "error": None if attempt.error is None else dict(attempt.error),
        "inputs": list(attempt.inputs),
        "assertions": [_assertion(each) for each in attempt.assertions],
    }


def _assertion(entry: AssertionResult) -> dict[str, Any]:
    return {
        "requirement": entry.requirement,
        "key": entry.key,
        "label": entry.label,
        "group": list(entry.group),
        "scope": entry.scope,
        "decision": entry.decision,
        "outcome": entry.evaluation.outcome,
        "value": entry.evaluation.value,
        "reason": entry.reason,
        "where": where(entry),
        "expected": entry.expected,
        "received": entry.received,
        "match": dict(entry.match),
        "subject": {"type": entry.subject.type, "digest": entry.subject.digest, "size": entry.subject.size},
        "points": entry.points,
        "earned": entry.earned,
        "file": entry.source.file,
        "line": entry.source.line,
    }
