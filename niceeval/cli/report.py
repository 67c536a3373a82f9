"""The report of a run: what `niceeval run` ends with, and what `niceeval show` prints again."""

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import attrs
from rich.text import Text

from niceeval.cli.asked import asked_blocks, asked_line, evidence_blocks
from niceeval.cli.compare import compare_table
from niceeval.cli.conversation import conversation_block
from niceeval.cli.errored import errored_blocks
from niceeval.cli.failures import Naming, failed_block
from niceeval.cli.numbers import counted, seconds
from niceeval.cli.outside import outside_table
from niceeval.cli.screen import Screen
from niceeval.cli.tables import counts_line, eval_table, ranking_table, requirement_table, score_table
from niceeval.cli.text import line, paragraph
from niceeval.cli.view import RunView
from niceeval.record.layout import run_process
from niceeval.results import AttemptResult

__all__ = ["Rerun", "closer_look", "recorded_run", "run_report", "short_report", "show_report"]

_MOST_BLOCKS: Final = 20
_MOST_EVIDENCE: Final = 5
_MOST_SKIPPED: Final = 3
_MOST_CONVERSATIONS: Final = 5
_RUNNING: Final = {
    "alive": "still running",
    "gone": "killed, its process is gone",
    "unknown": "still running, or killed",
}


@attrs.frozen
class Rerun:
    """How a run was asked for, so that the next command can be said."""

    paths: Sequence[str]
    options: Sequence[str]
    command: str = "niceeval run"


def run_report(view: RunView, screen: Screen, *, took: float, problems: int, rerun: Rerun) -> Iterator[Text]:
    """What a run ends with: failures first, then the tables, the counts, and where to look next."""
    naming = _naming(view)
    failed: list[AttemptResult] = []
    for attempt in view.attempts("failed", most=_MOST_BLOCKS, rated=False):
        failed.append(attempt)
        yield from failed_block(attempt, screen, naming)
    hidden = view.alone.get("failed", 0) - len(failed)
    if hidden:
        yield line("")
        yield line((f"({hidden} more failed: niceeval show)", "dim"))
    yield from evidence_blocks(view, screen, naming, most=_MOST_EVIDENCE)
    yield from errored_blocks(view.attempts("errored", "unrankable"), screen, naming, most=_MOST_BLOCKS)
    yield from errored_blocks(view.attempts("skipped"), screen, naming, most=_MOST_SKIPPED)
    yield from ranking_table(view, screen)
    yield from score_table(view, screen, most=_MOST_BLOCKS)
    yield from compare_table(view, screen)
    yield from eval_table(view, screen)
    yield from requirement_table(view, screen, everything=False)
    yield from asked_blocks(view, screen)
    yield line("")
    yield from counts_line(view.statuses, screen, f" in {seconds(took)}", retried=view.retried)
    yield from asked_line(view, screen)
    yield from _unfinished(view, screen)
    if problems:
        yield line((f"{counted(problems, 'problem')} while loading, named above: not everything ran", "bold red"))
    yield line(("record  ", "dim"), recorded_run(view.folder))
    yield from _next(view, screen, failed, rerun)


def short_report(view: RunView, screen: Screen, *, took: float) -> Iterator[Text]:
    """What `--quiet` leaves: the counts, what is missing, and where the record is."""
    yield from counts_line(view.statuses, screen, f" in {seconds(took)}", retried=view.retried)
    yield from asked_line(view, screen)
    yield from _unfinished(view, screen)
    yield line(("record  ", "dim"), recorded_run(view.folder))


def show_report(view: RunView, screen: Screen, *, most: int | None = None) -> Iterator[Text]:
    """A recorded run again: the tables first, then failed and errored attempts, of each at most so many."""
    naming = _naming(view)
    yield from ranking_table(view, screen)
    yield from score_table(view, screen, most=most)
    yield from compare_table(view, screen)
    yield from eval_table(view, screen)
    yield from requirement_table(view, screen, everything=True)
    yield from outside_table(view, screen)
    yield from asked_blocks(view, screen)
    for attempt in view.attempts("failed", most=most, rated=False):
        yield from failed_block(attempt, screen, naming)
    hidden = 0 if most is None else view.alone.get("failed", 0) - most
    if hidden > 0:
        yield line("")
        yield line((f"({hidden:,} more failed: niceeval show --all)", "dim"))
    yield from evidence_blocks(view, screen, naming, most=most)
    yield from errored_blocks(view.attempts("errored", "unrankable", "skipped"), screen, naming, most=most)
    if view.one_case:
        for attempt, conversation in view.conversations(_MOST_CONVERSATIONS):
            yield from conversation_block(attempt, conversation, screen, naming)
    yield line("")
    yield from counts_line(view.statuses, screen, retried=view.retried)
    yield from asked_line(view, screen)
    yield from _unfinished(view, screen)


def closer_look(view: RunView, run: str) -> Iterator[Text]:
    """How to see what was said in the first attempt that needs a look; nothing where that is on the screen already."""
    if view.one_case:
        return
    attempt = next(view.attempts("failed", "errored", "unrankable", most=1), None)
    if attempt is not None and attempt.name.isprintable():
        yield line(("next    ", "dim"), f"niceeval show {shlex.quote(run)} {shlex.quote(attempt.name)}")


def recorded_run(folder: Path) -> str:
    """Return the folder of a run, relative where that is shorter."""
    try:
        relative = os.path.relpath(folder)
    except ValueError:
        # On Windows, nothing leads from one drive to another.
        return str(folder)
    return relative if len(relative) < len(str(folder)) else str(folder)


def _naming(view: RunView) -> Naming:
    return Naming(agents=len(view.header.agents) > 1, attempts=view.header.most_attempts > 1)


def _unfinished(view: RunView, screen: Screen) -> Iterator[Text]:
    planned = view.header.planned()
    if view.header.stopped is not None:
        text = f"{view.header.stopped}; {_left(view, planned)} were not run"
        yield from paragraph("stopped: ", text, screen.width, style="yellow")
    elif view.finished < planned or view.header.status != "sealed":
        running = view.header.status == "running"
        state = _RUNNING[run_process(view.folder) or "alive"] if running else view.header.status
        yield line((f"{state}: {view.finished} of {_planned(view, planned)} have ended", "yellow"))


def _left(view: RunView, planned: int) -> str:
    return f"{planned - view.finished:,} of {_planned(view, planned)}"


def _planned(view: RunView, planned: int) -> str:
    return f"{'at most ' if view.header.sequential else ''}{counted(planned, 'planned attempt')}"


def _next(view: RunView, screen: Screen, failed: Sequence[AttemptResult], rerun: Rerun) -> Iterator[Text]:
    usual = view.folder.parent.parent == Path.cwd() / ".niceeval"
    commands = ["niceeval show" if usual else f"niceeval show {shlex.quote(recorded_run(view.folder))}"]
    expression = _expression(view, failed[0]) if failed else None
    if expression is not None:
        paths = " ".join(map(shlex.quote, rerun.paths))
        command = " ".join(filter(None, [rerun.command, paths, f"-k {expression}"]))
        commands.append(" ".join([command, *rerun.options]))
        if len(commands[1]) + 8 > screen.width:
            # Broken where a shell reads on, so that it can still be copied as a whole.
            commands[1] = " \\\n            ".join([command, *rerun.options])
    one_line = f"{commands[0]:<25}{commands[-1]}"
    if len(commands) > 1 and len(one_line) + 8 <= screen.width and len(commands[0]) < 25:
        commands = [one_line]
    if view.finished < view.header.planned() or view.header.status == "interrupted":
        commands.append(f"niceeval resume{'' if usual else f' {shlex.quote(recorded_run(view.folder))}'}")
    for number, part in enumerate("\n        ".join(commands).splitlines()):
        yield line(("next    ", "dim"), part) if number == 0 else line(part)


def _expression(view: RunView, attempt: AttemptResult) -> str | None:
    """The shortest `-k` expression that selects this case and no other; None where a shell could not be told it."""
    names = [
        planned.id if case is None else f"{planned.id}[{case}]"
        for planned in view.header.evals
        for case in planned.cases or (None,)
    ]
    words = [attempt.case_id, attempt.eval_id.rpartition("/")[2] if attempt.case_id is None else None, attempt.name]
    for word in filter(None, words):
        alone = sum(word.casefold() in name.casefold() for name in names) == 1
        if word.isprintable() and '"' not in word and (alone or word == attempt.name):
            bare = re.fullmatch(r"[^\s()']+", word) and word not in ("and", "or", "not")
            return shlex.quote(word if bare else f'"{word}"')
    return None
