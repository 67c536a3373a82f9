"""Attempts whose code does not heed that their time is up."""

import time
from collections.abc import Callable, Collection
from typing import Final

import anyio

from niceeval.lanes import Flight

__all__ = ["sweep"]

PATIENCE: Final = 2.0
"""Seconds after its timeout that an attempt has to clean up, before the run goes on without it."""
_EVERY: Final = 0.5


async def sweep(scope: anyio.CancelScope, flights: Collection[Flight], lose: Callable[[Flight], None]) -> None:
    """Look at the attempts in flight twice a second until the scope is cancelled, and lose those that do not end.

    Args:
        scope: Ends it.
        flights: What is in flight, at any time.
        lose: Goes on without an attempt. A teardown is not cut short: it has a limit of its own.
    """
    with scope:
        while True:
            await anyio.sleep(_EVERY)
            now = time.perf_counter()
            for flight in [*flights]:
                state = flight.state
                if state is None or state.deadline is None or state.tearing_down or flight.duration is not None:
                    continue
                if now > state.deadline + PATIENCE:
                    lose(flight)
