"""What displays for people share: counts in the thread of the run, and a thread of their own that writes."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

import attrs
from rich.text import Text

from niceeval.attempts import INTERRUPTED, Finished
from niceeval.cli.board import Shape, eval_line, note_lines
from niceeval.cli.display import Display
from niceeval.cli.numbers import counted
from niceeval.cli.screen import Screen
from niceeval.cli.tally import Clock, EvalTally, Reasons, Tally
from niceeval.cli.text import paragraph
from niceeval.plans import AttemptRef, Plan
from niceeval.record.planned import Settled

__all__ = ["Followed", "Item", "Ticker"]

_HELD: Final = 3.0
"""Seconds for which failures are held back: the report of a run that is over by then says them right away."""
_NOTED: Final = ("failed", "errored", "unrankable")
_DEAF: Final = "nobody reads the progress any more, so no more was written; the run went on and is recorded"


class Ticker:
    """Calls something again and again in a thread of its own.

    Args:
        every: Seconds between two calls.
        tick: What is called.
    """

    def __init__(self, every: float, tick: Callable[[], None]) -> None:
        self._every = every
        self._tick = tick
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="niceeval-progress", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End; a call that goes on is waited for."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(self._every):
            self._tick()


@attrs.frozen(eq=False)
class Note:
    """An attempt that did not pass, and how many alike there are."""

    status: str
    ref: AttemptRef
    reason: str
    number: int


Item: TypeAlias = EvalTally | Note | Text


class Followed(Display):
    """A display that counts in the thread of the run and writes in another, so that the run never waits for it.

    Args:
        screen: Where to show it.
        clock: Gives seconds.
        every: Seconds between two looks at the counts.
    """

    def __init__(self, screen: Screen, clock: Clock = time.monotonic, every: float = 0.5) -> None:
        super().__init__()
        self.screen = screen
        self.clock = clock
        self.tally = Tally(Plan(()), clock)
        self.shape = Shape()
        self._rated: frozenset[str] = frozenset()
        self._new: deque[Item] = deque()
        self._held: list[Item] = []
        self._reasons = Reasons()
        self._ticker = Ticker(every, self.tick)
        self._writing = threading.RLock()
        self._open = False

    def plan_ready(self, plan: Plan, run_id: str) -> None:
        """Begin to show the run."""
        super().plan_ready(plan, run_id)
        self.tally = Tally(plan, self.clock)
        self._rated = frozenset(each.id for each in plan.evals if each.min_rate is not None)
        self.shape = Shape.of(plan, self.tally)
        self._open = True
        self._safely(lambda: self.begin(plan))
        self._ticker.start()

    def attempt_started(self, ref: AttemptRef) -> None:
        """Count an attempt that starts."""
        self.tally.start(ref)

    def attempt_retried(self, ref: AttemptRef, tried: int, wait: float, reason: str) -> None:
        """Note that an attempt waits."""
        self.tally.retry(ref, tried, wait, reason)

    def attempt_finished(self, ref: AttemptRef, finished: Finished) -> None:
        """Count how an attempt ended; an eval that is complete gets its line, and so does what did not pass."""
        complete = self.tally.finish(ref, finished)
        if finished.reason is not None:
            super().attempt_finished(ref, finished)
            self._note(ref, finished.status, finished.reason)
        if complete is not None:
            self._new.append(complete)

    def settled(self, found: Settled, not_needed: int) -> None:
        """Count no attempts that are not needed; an eval that is complete by that gets its line."""
        complete = self.tally.settle(found, not_needed)
        if complete is not None:
            self._new.append(complete)

    def stopped(self, reason: str, not_run: int) -> None:
        """Say that nothing more is started."""
        text = f"{reason}; {counted(not_run, 'planned attempt')} {'is' if not_run == 1 else 'are'} not run"
        self._new.extend(paragraph("stopped ", text, self.screen.width, style="bold yellow"))

    def tick(self) -> None:
        """Write what is new, and draw again what changes."""
        with self._writing:
            if self._open:
                self._safely(lambda: self.draw(self._due()))

    def close(self) -> None:
        """Stop drawing, and write the lines of evals that did not get to their end."""
        self._ticker.stop()
        with self._writing:
            if self._open:
                self._safely(lambda: self.end([*self._due(), *self.tally.active.values()]))
            self._open = False

    def begin(self, plan: Plan) -> None:
        """Get ready to draw."""

    def draw(self, items: Sequence[Item]) -> None:
        """Write what stays."""
        self.screen.write(self.lines(items))

    def end(self, items: Sequence[Item]) -> None:
        """Write what stays for the last time."""
        self.screen.write(self.lines(items))

    def lines(self, items: Iterable[Item]) -> list[Text]:
        """Return the lines of what stays, as they fit now."""
        made: list[Text] = []
        for item in items:
            if isinstance(item, EvalTally):
                made.append(eval_line(item, self.clock(), self.shape, self.screen))
            elif isinstance(item, Note):
                several = item.number > self._reasons.first
                name = f"{item.number:,} times so far" if several else self.shape.name(item.ref)
                made += note_lines(item.status, name, item.reason, self.screen)
            else:
                made.append(item)
        return made

    def _note(self, ref: AttemptRef, status: str, reason: str) -> None:
        if status == "failed" and ref.eval_id in self._rated:
            # One failure more or less is what a rate is about.
            return
        if status in _NOTED and reason != INTERRUPTED.error:
            number = self._reasons.count(status, reason)
            if number is not None:
                self._new.append(Note(status, ref, reason, number))

    def _safely(self, work: Callable[[], None]) -> None:
        try:
            work()
        except OSError:
            # Such as a pipe that was closed: what is shown is less than what is recorded.
            self._open = False
            self.noted(_DEAF)

    def _due(self) -> list[Item]:
        due: list[Item] = []
        young = self.clock() - self.tally.begun < _HELD
        if not young:
            due, self._held = self._held, due
        while self._new:
            new = self._new.popleft()
            (self._held if young and isinstance(new, Note) else due).append(new)
        return due
