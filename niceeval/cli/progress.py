"""What a running run shows: one line per eval, redrawn on a terminal, written once elsewhere."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len, set_cell_size
from rich.live import Live
from rich.text import Text

from niceeval.cli.numbers import clock
from niceeval.cli.screen import Screen
from niceeval.cli.tables import headline, style_of
from niceeval.cli.text import cut, line, safe
from niceeval.cli.version import package_version

if TYPE_CHECKING:
    from niceeval.attempts import Finished
    from niceeval.runner import AttemptRef, Plan

__all__ = ["ShownProgress", "run_headline"]

_BAR: Final = 24
_SHORTEST_BAR: Final = 10
_ORDER: Final = ("passed", "scored", "failed", "errored", "unrankable", "skipped")
_REDRAWS: Final = 8  # per second


class _EvalLine:
    """How far one eval is."""

    def __init__(self, name: str, total: int, width: int, bar: int) -> None:
        self.name = name
        self.width = width
        self.bar = bar
        self.total = total
        self.counts: Counter[str] = Counter()
        self.done = 0
        self.begun: float | None = None
        self.ended: float | None = None

    def start(self) -> None:
        if self.begun is None:
            self.begun = time.monotonic()

    def finish(self, status: str) -> None:
        self.counts[status] += 1
        self.done += 1
        if self.done == self.total:
            self.ended = time.monotonic()

    def text(self, screen: Screen) -> Text:
        now = time.monotonic() if self.ended is None else self.ended
        took = clock(now - self.begun) if self.begun is not None else "-"
        filled = self.bar * self.done // self.total
        tail: list[str | tuple[str, str]] = [f" {self.done}/{self.total}"]
        for status in _ORDER:
            if self.counts[status]:
                tail += ["  ", (f"{self.counts[status]} {status}", style_of(status))]
        tail.append(f"  {took}")
        bar = [(screen.symbols.done * filled, "cyan"), (screen.symbols.left * (self.bar - filled), "dim")]
        room = screen.width - self.bar - 1 - sum(len(part if isinstance(part, str) else part[0]) for part in tail)
        if room < 20:
            room, bar = room + self.bar, []
        size = max(min(self.width, room), 8)
        return line(set_cell_size(cut(self.name, size), size), " ", *bar, *tail)


class ShownProgress:
    """Follows a run and shows it; on a terminal the evals in progress stay below those that are done.

    Args:
        screen: Where to show it.

    """

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._lines: dict[str, _EvalLine] = {}
        self._running: dict[str, _EvalLine] = {}
        self._live: Live | None = None
        self.no_agent = False
        self.late: list[str] = []
        self.run_id: str | None = None

    def plan_ready(self, plan: "Plan", run_id: str) -> None:
        """Say what will run."""
        self.run_id = run_id
        totals = {
            eval_.id: len(eval_.iter_cases()) * sum(plan.attempts_of(eval_, each) for each in plan.experiments)
            for eval_ in plan.evals
        }
        width, bar = _shape(plan, totals, self._screen.width)
        self._lines = {name: _EvalLine(name, total, width, bar) for name, total in totals.items()}
        if self._screen.live:
            self._live = Live(
                console=self._screen.console,
                get_renderable=self._drawn,
                refresh_per_second=_REDRAWS,
                transient=True,
                vertical_overflow="crop",
            )
            self._live.start()

    def attempt_started(self, ref: "AttemptRef") -> None:
        """Note that an attempt of an eval runs."""
        of = self._lines[ref.eval_id]
        of.start()
        self._running[ref.eval_id] = of

    def attempt_retried(self, ref: "AttemptRef", tried: int, wait: float, reason: str) -> None:
        """Show nothing."""

    def stopped(self, reason: str, not_run: int) -> None:
        """Show nothing."""

    def attempt_finished(self, ref: "AttemptRef", finished: "Finished") -> None:
        """Count how an attempt ended; an eval that is complete gets its line."""
        of = self._lines[ref.eval_id]
        of.finish(finished.status)
        if finished.reason is not None and finished.reason.startswith("AgentReferenceError"):
            self.no_agent = True
        if of.done == of.total:
            self._running.pop(ref.eval_id, None)
            self._screen.write([of.text(self._screen)])

    def came_late(self, mistake: str) -> None:
        """Note what is in no result, to be said at the end."""
        self.late.append(mistake)

    def close(self) -> None:
        """Stop redrawing, and write the lines of evals that did not get to their end."""
        if self._live is not None:
            self._live.stop()
            self._live = None
        self._screen.write(each.text(self._screen) for each in self._running.values())
        self._running = {}

    def _drawn(self) -> Text:
        running = list(self._running.values())
        most = max(self._screen.console.height - 3, 1)
        lines = [each.text(self._screen) for each in running[:most]]
        if len(running) > most:
            lines.append(line((f"and {len(running) - most} more evals", "dim")))
        waiting = sum(1 for each in self._lines.values() if each.begun is None)
        if waiting:
            lines.append(line((f"{waiting} to come", "dim")))
        return Text("\n").join(lines)


def _shape(plan: "Plan", totals: Mapping[str, int], width: int) -> tuple[int, int]:
    """How wide names and bars are, so that they stand below each other: long names take from the bars."""
    most = len(str(max(totals.values())))
    usual = "scored unrankable" if any(each.style == "score" for each in plan.evals) else "passed failed"
    tail = len(f" /     {usual}  0:00:00") + 4 * most
    longest = max(cell_len(safe(name)) for name in totals)
    bar = min(_BAR, max(_SHORTEST_BAR, width - 1 - tail - longest))
    return min(longest, max(width - 1 - tail - bar, 8)), bar


def run_headline(plan: "Plan", screen: Screen) -> Iterator[Text]:
    """What a run starts with."""
    cases = [[case_id for case_id, _ in eval_.iter_cases()] for eval_ in plan.evals]
    return headline(plan.agents, plan.attempts, list(map(len, cases)), screen, f"niceeval {package_version()}")
