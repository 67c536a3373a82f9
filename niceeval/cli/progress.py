"""What a running run shows: a board on a terminal, lines elsewhere, nothing, or events for programs."""

import io
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, TextIO, TypeAlias

from rich.text import Text

from niceeval.cli.display import Display
from niceeval.cli.screen import Screen
from niceeval.cli.tables import headline
from niceeval.cli.version import package_version

if TYPE_CHECKING:
    from niceeval.plans import Plan

__all__ = ["Mode", "open_progress", "run_headline"]

Mode: TypeAlias = Literal["live", "plain", "quiet", "json"]


def open_progress(screen: Screen, mode: Mode | None = None, out: TextIO | None = None) -> Display:
    """Return the display of a run.

    Args:
        screen: Where people read: standard error with `json`.
        mode: `live` redraws, `plain` writes lines, `quiet` shows nothing, `json` writes events. By default `live` where
            lines can be redrawn, else `plain`.
        out: Where events go, standard output by default. If that is standard output, what else is printed there goes
            to standard error from this call on until `summary` has been called.
    """
    if mode is None:
        mode = "live" if screen.live else "plain"
    if mode == "quiet":
        return Display()
    if mode == "json":
        from niceeval.cli.events import JsonDisplay

        return JsonDisplay(out or sys.stdout or io.StringIO())
    if mode == "plain":
        from niceeval.cli.plain import PlainDisplay

        return PlainDisplay(screen)
    from niceeval.cli.live import LiveDisplay

    return LiveDisplay(screen)


def run_headline(plan: "Plan", screen: Screen) -> Iterator[Text]:
    """What a run starts with."""
    cases = [[case_id for case_id, _ in eval_.iter_cases()] for eval_ in plan.evals]
    attempts = {plan.attempts_of(eval_, each) for eval_ in plan.evals for each in plan.experiments} - {0}
    kind = "experiment" if plan.in_experiments else "agent"
    start = f"niceeval {package_version()}"
    return headline(plan.agents, attempts, list(map(len, cases)), screen, start, kind=kind, at_most=plan.sequential)
