"""`niceeval history`: requirements over runs."""

import json
from collections.abc import Iterator, Sequence

from rich.text import Text

from niceeval.cli.codes import NOTHING, PASSED
from niceeval.cli.numbers import chance, counted, rate
from niceeval.cli.screen import Output, Screen, open_screen
from niceeval.cli.show import warnings_as_lines
from niceeval.cli.text import columns, line, paragraph
from niceeval.record.histories import HistoryPoint, RequirementHistory, histories, history
from niceeval.record.read import Record
from niceeval.record.rows import Rows

__all__ = ["history_command"]


def history_command(key: str | None, eval: str | None, *, as_json: bool) -> int:
    """Print one requirement run by run, or all of them with what nothing has violated for long."""
    with warnings_as_lines(), Record.open() as record:
        rows: Rows[RequirementHistory] | Rows[HistoryPoint]
        rows = histories(record, eval=eval) if key is None else history(record, key, eval=eval)
    if as_json:
        Output().write(json.dumps({"requirements" if key is None else "runs": rows.to_dicts()}) + "\n")
        return PASSED
    screen = open_screen()
    every = [each for each in rows if isinstance(each, RequirementHistory)]
    if key is None:
        screen.write(_all(every, screen))
        return PASSED if every else NOTHING
    screen.write(_one(key, [each for each in rows if isinstance(each, HistoryPoint)], screen))
    return PASSED


def _one(key: str, points: Sequence[HistoryPoint], screen: Screen) -> Iterator[Text]:
    failed, decided = (sum(getattr(each, name) for each in points) for name in ("failed", "decided"))
    yield from paragraph(
        "", f"{key}  failed {failed:,}/{decided:,} in {counted(len(points), 'run')}", screen.width, most=2
    )
    yield line("")
    rows = [
        [
            f"{each.run_id}  {each.started.astimezone():%Y-%m-%d}",
            f"{each.failed}/{each.decided}",
            str(each.errored),
            rate(each.rate),
        ]
        for each in points
    ]
    yield from columns(["run", "failed/decided", "errored", "met"], rows, screen.width)


def _all(found: Sequence[RequirementHistory], screen: Screen) -> Iterator[Text]:
    if not found:
        yield line("no run of this record came to a requirement")
        return
    rows = [
        [
            each.key,
            str(each.runs),
            f"{each.failed:,}/{each.decided:,}",
            f"{each.errored:,}",
            each.last_failed or "never",
        ]
        for each in found
    ]
    yield from columns(["requirement", "runs", "failed/decided", "errored", "failed last in"], rows, screen.width)
    quiet = [each for each in found if each.solved_or_dead]
    if not quiet:
        return
    yield line("")
    yield line(("SOLVED OR DEAD", "bold"))
    for each in quiet:
        since = "" if each.quiet_since is None else f" since {each.quiet_since.astimezone():%Y-%m-%d}"
        said = (
            f"{each.key}  no violation in {counted(each.quiet_runs, 'run')}, "
            f"{counted(each.quiet_decisions, 'decision')}{since}; "
            f"if it still fails at times, in less than {chance(100 * each.could_fail)} % of attempts (95 % confidence)"
        )
        yield from paragraph("  ", said, screen.width, most=3)
