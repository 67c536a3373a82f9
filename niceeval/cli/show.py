"""`niceeval show`: a recorded run again, from the record alone."""

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import attrs

from niceeval.cli.codes import ERRORED, PASSED
from niceeval.cli.view import RunView
from niceeval.errors import RecordWarning
from niceeval.record import Record

_MOST: Final = 200
"""How many attempts of a kind are shown: more than anybody reads, and fewer than what takes seconds to print."""

__all__ = ["run_folder", "show_command", "warnings_as_lines"]


def show_command(
    run: str, eval: str | None, *, as_json: bool, everything: bool = False, reports: Sequence[str] = ()
) -> int:
    """Print a recorded run as a report or as one JSON object, and write the reports that are asked for."""
    from niceeval.cli.reporting import wanted_reports, write_reports

    wanted = wanted_reports(reports)
    with warnings_as_lines():
        folder = run_folder(run)
        view = RunView(folder, eval)
        try:
            if as_json:
                _write_json(view)
            else:
                _write_report(view, run, everything=everything)
        finally:
            view.close()
        return PASSED if write_reports(wanted, folder, eval) else ERRORED


def _write_json(view: RunView) -> None:
    """Write one object, with one attempt per line: a large run is never held as a whole."""
    from niceeval.cli.outside import outside
    from niceeval.cli.screen import Output
    from niceeval.reporters.json_report import json_parts

    out = Output()
    for part in json_parts(view, {"outside": [attrs.asdict(each) for each in outside(view)]}):
        out.write(part)


def _write_report(view: RunView, run: str, *, everything: bool) -> None:
    from niceeval.cli.report import closer_look, recorded_run, show_report
    from niceeval.cli.screen import open_screen
    from niceeval.cli.tables import headline
    from niceeval.cli.text import cut, line

    screen, header = open_screen(), view.header
    start = f"run {header.id}", f"{header.started.astimezone():%Y-%m-%d %H:%M}"
    attempts = {header.most_of(planned, agent) for planned in header.evals for agent in header.agents or ("",)}
    kind = "experiment" if header.experiments else "agent"
    sizes = [planned.size for planned in header.evals]
    screen.write(headline(header.agents, attempts - {0}, sizes, screen, *start, kind=kind, at_most=header.sequential))
    screen.write(show_report(view, screen, most=None if everything else _MOST))
    screen.write([line(("record  ", "dim"), cut(recorded_run(view.folder), 4096))])
    screen.write(closer_look(view, run))


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
    from niceeval.cli.text import safe

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RecordWarning)
        yield
    for each in dict.fromkeys(str(warning.message) for warning in caught):
        sys.stderr.write(f"warning {safe(each)}\n")
