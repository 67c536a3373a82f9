"""When an attempt is tried again, and how long that waits."""

import random
from collections.abc import Awaitable, Callable
from typing import Final, final

import anyio
import attrs

from niceeval.attempt_state import AttemptState, Unreached
from niceeval.attempts import Ending

__all__ = ["MOST_PATIENCE", "Backoff", "worth_retrying"]

MOST_PATIENCE: Final = 600.0
"""The longest wait in seconds that an agent is granted; one that asks for more is not tried again."""


@final
@attrs.frozen(kw_only=True)
class Backoff:
    """How long to wait before an agent that could not be reached is tried again.

    Exponential backoff with full jitter, as in Marc Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog,
    2015: a random time between nothing and ``min(cap, base * 2 ** (tries - 1))``. Where the agent says when to come
    back (``Retry-After``, RFC 9110 section 10.2.3), never less than that.

    Args:
        base: Seconds before the second try at most, above 0.
        cap: Seconds that jitter never exceeds.
        random: Returns a number from 0 to 1.
        sleep: Waits so many seconds.

    >>> backoff = Backoff(random=lambda: 1.0)
    >>> [backoff.wait(tries, None) for tries in (1, 2, 3, 10)]
    [1.0, 2.0, 4.0, 60.0]
    >>> backoff.wait(1, 30)
    30
    """

    base: float = 1.0
    cap: float = 60.0
    random: Callable[[], float] = random.random
    sleep: Callable[[float], Awaitable[object]] = anyio.sleep

    def wait(self, tries: int, retry_after: float | None) -> float:
        """Return the seconds to wait after so many tries, from 1."""
        most = min(self.cap, self.base * 2.0 ** min(tries - 1, 64))
        return max(self.random() * most, retry_after or 0)


def worth_retrying(state: AttemptState, ending: Ending) -> Unreached | None:
    """Return why an attempt ended, where that is an agent that could not be reached and may be the next time.

    An attempt that failed, that crashed, that an author's mistake ended or whose time was up is never tried again, nor
    is one whose agent asks for more than ten minutes: nobody waits for a run that sleeps until tomorrow.
    """
    if state.log.mistakes or (ending.error is not None and ending.unreached is None):
        return None
    found = state.unreachable
    if ending.unreached is not None:
        found = ending.unreached if found is None else ending.unreached.joined(found)
    if found is None or not found.retryable or (found.retry_after or 0) > MOST_PATIENCE:
        return None
    return found
