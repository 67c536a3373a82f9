"""Progress where nothing can be redrawn: one line per eval that is complete, and now and then how far the run is."""

import time
from collections.abc import Sequence
from typing import Final

from niceeval.cli.followed import Followed, Item
from niceeval.cli.remaining import progress_line
from niceeval.cli.screen import Screen
from niceeval.cli.tally import Clock
from niceeval.cli.text import line
from niceeval.plans import Plan

__all__ = ["PlainDisplay"]

_SAID_EVERY: Final = 30.0


class PlainDisplay(Followed):
    """Writes lines.

    Args:
        screen: Where to write.
        clock: Gives seconds.
    """

    def __init__(self, screen: Screen, clock: Clock = time.monotonic) -> None:
        super().__init__(screen, clock)
        self._said = 0.0

    def begin(self, plan: Plan) -> None:
        """Wait for the first half minute."""
        self._said = self.clock()

    def draw(self, items: Sequence[Item]) -> None:
        """Write what is new; of a run that takes long, also say how far it is."""
        super().draw(items)
        if self.clock() - self._said >= _SAID_EVERY:
            self._said = self.clock()
            self.screen.write([line(progress_line(self.tally))])
