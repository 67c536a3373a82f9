"""`niceeval record`: looking through a record, and removing what holds no result."""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import attrs
from rich.text import Text

from niceeval.cli.codes import FAILED, PASSED
from niceeval.cli.numbers import counted
from niceeval.cli.report import recorded_run
from niceeval.cli.screen import Output, Screen, complain, open_screen
from niceeval.cli.text import columns, cut, line, paragraph
from niceeval.errors import RecordError
from niceeval.record.check import RecordCheck, RunCheck, check_record
from niceeval.record.locate import find_record, find_run
from niceeval.record.remnants import Remnant, find_remnants, remove_remnant

__all__ = ["check_command", "clean_command"]

_MOST_PROBLEMS: Final = 20
_MOST_RUNS: Final = 20
_PROCESS: Final = {
    "alive": "running",
    "gone": "killed",
    "unknown": "running or killed",
}
_REMNANTS: Final = {
    "staging": "a run that never started",
    "index": "an index that was never finished",
    "temporary": "a file that was never finished",
    "empty run": "a run that was killed before its first attempt ended",
}


def check_command(run: str | None, *, as_json: bool) -> int:
    """Say what is wrong in a record, or in one run of it, as a report or as one JSON object."""
    found = check_record(*_asked(run))
    if as_json:
        Output().write(json.dumps(_document(found), allow_nan=False) + "\n")
    else:
        screen = open_screen()
        screen.write(_report(found, screen))
    return PASSED if found.clean else FAILED


def clean_command(place: str | None, *, yes: bool) -> int:
    """List what can be removed, ask, and remove it."""
    root, only = find_record(place)
    if only is not None:
        raise RecordError(f"{only} is one run; clean the whole record: niceeval record clean {recorded_run(root)}")
    remnants = tuple(find_remnants(root))
    screen = open_screen()
    if not remnants:
        screen.write([line(f"nothing to remove in {recorded_run(root)}")])
        return PASSED
    screen.write(_listed(remnants, screen))
    size = counted(sum(each.size for each in remnants), "byte")
    if not yes and not _agreed(f"remove {counted(len(remnants), 'remnant')}, {size}?"):
        screen.write([line("nothing was removed; --yes removes without asking")])
        return FAILED
    removed, failed = 0, 0
    for each in remnants:
        try:
            removed += remove_remnant(root, each)
        except RecordError as error:
            failed += 1
            complain(str(error))
    screen.write([line(f"removed {counted(removed, 'remnant')}")])
    return FAILED if failed else PASSED


def _asked(run: str | None) -> tuple[Path, Path | None]:
    """Return the record and the run in it that an argument names: an id, `latest`, a folder, or nothing for all."""
    if run is None or Path(run).is_dir():
        return find_record(run)
    root, _ = find_record(None)
    return root, find_run(root, run)


def _agreed(question: str) -> bool:
    """Ask where somebody can answer."""
    if not sys.stdin.isatty():
        return False
    sys.stdout.write(f"{question} [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().casefold() in ("y", "yes")


def _document(found: RecordCheck) -> dict[str, Any]:
    return {
        "record": str(found.root),
        "clean": found.clean,
        "runs": [{**attrs.asdict(run), "folder": str(run.folder)} for run in found.runs],
        "remnants": [{"kind": each.kind, "path": str(each.path), "size": each.size} for each in found.remnants],
    }


def _report(found: RecordCheck, screen: Screen) -> Iterator[Text]:
    finished = sum(run.finished for run in found.runs)
    tail = f"  {counted(len(found.runs), 'run')}, {counted(finished, 'attempt')}"
    yield line("record ", cut(recorded_run(found.root), max(screen.width - 40, 10)), tail)
    if found.runs:
        yield line()
        yield from _table(found.runs, screen)
    for run in found.runs:
        for each in run.problems[:_MOST_PROBLEMS]:
            yield line()
            yield line((each.kind.upper(), "bold red"), f" {run.id}  {each.place}")
            yield from paragraph("  ", each.message, screen.width, most=4)
        if len(run.problems) > _MOST_PROBLEMS:
            yield line((f"  ({len(run.problems) - _MOST_PROBLEMS} more in {run.id})", "dim"))
    if found.remnants:
        yield line()
        yield from _listed(found.remnants, screen)
        yield line((f"  niceeval record clean removes {'it' if len(found.remnants) == 1 else 'them'}", "dim"))
    yield line()
    problems = sum(len(run.problems) for run in found.runs) + len(found.remnants)
    yield line((counted(problems, "problem"), "bold red")) if problems else line("no problem found")


def _table(runs: Sequence[RunCheck], screen: Screen) -> Iterator[Text]:
    """List the runs that need a look, and the newest others."""
    chosen = {run.id for run in sorted(runs, key=lambda run: not (run.problems or run.process))[:_MOST_RUNS]}
    rows = [
        (run.id, _status(run), str(run.format or "-"), f"{run.finished}/{run.planned}", str(len(run.problems)))
        for run in runs
        if run.id in chosen
    ]
    yield from columns(("run", "status", "format", "ended/planned", "problems"), rows, screen.width, texts=2)
    if len(runs) > len(rows):
        yield line((f"  ({len(runs) - len(rows)} more)", "dim"))


def _status(run: RunCheck) -> str:
    if run.process is not None:
        return _PROCESS[run.process]
    return run.status or "unreadable"


def _listed(remnants: Sequence[Remnant], screen: Screen) -> Iterator[Text]:
    for each in remnants:
        yield line(("REMNANT ", "bold yellow"), recorded_run(each.path))
        yield line((f"  {counted(each.size, 'byte')}, {_REMNANTS[each.kind]}", "dim"))
