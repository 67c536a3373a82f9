"""Handles: what registering returns. Each configures its one entry, each method once, and nothing else."""

import inspect
from collections.abc import Coroutine, Generator
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, Self

from typing_extensions import TypeVar

from niceeval.assertions import AssertionLog
from niceeval.documents import assertion_result
from niceeval.entries import Entry

if TYPE_CHECKING:
    from niceeval.results import AssertionResult

__all__ = ["Handle", "MeasureHandle", "PointsHandle"]

V = TypeVar("V")


class _Handle:
    """What every handle does: name the requirement and the entry."""

    __slots__ = ("_entry", "_log")
    _not_a_subject: ClassVar[str] = (
        "check() got a handle as subject; check the value itself, or `await handle` for its result"
    )

    def __init__(self, log: AssertionLog, entry: Entry) -> None:
        self._log = log
        self._entry = entry

    def key(self, key: str, /) -> Self:
        """Name the requirement that this entry stands for.

        Entries that share a key count once per attempt, and any failure fails it.

        Args:
            key: A non-blank name.

        Raises:
            AuthoringError: If the key has been set already, or the entry is frozen or its attempt has closed.
            TypeError: If it is not text.
        """
        entry = self._entry
        if entry.key is not None or entry.frozen or self._log.closed or type(key) is not str or not key.strip():
            self._configurable("key", entry.key is not None)
            key = self._text("key", key)
        entry.key = key
        return self

    def label(self, label: str, /) -> Self:
        """Give the entry a name for people.

        Args:
            label: A non-blank text.

        Raises:
            AuthoringError: If the label has been set already, or the entry is frozen or its attempt has closed.
            TypeError: If it is not text.
        """
        self._configurable("label", self._entry.label is not None)
        self._entry.label = self._text("label", label)
        return self

    def _text(self, method: str, value: object) -> str:
        if not isinstance(value, str):
            raise self._log.refuse(f".{method}() takes text, got {value!r}")
        if not value.strip():
            raise self._log.mistake(f".{method}() takes a name that is not blank, got {value!r}")
        return value

    def _configurable(self, method: str, used: bool) -> None:
        if self._log.closed:
            raise self._log.mistake(
                f".{method}() came after the attempt closed; configure the entry where it is registered"
            )
        if used:
            raise self._log.mistake(f".{method}() was used already on this entry; each method may be used once")
        if self._entry.frozen:
            raise self._log.mistake(f".{method}() came after the entry was awaited; configure it before")

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "a handle has no truth value; did you write assert or if? A check counts without it: "
            "use `await handle.or_stop()` to stop here, or `(await handle).evaluation.outcome` to read it"
        )

    def __repr__(self) -> str:
        entry = self._entry
        return f"<handle of {entry.requirement!r} at {entry.file}:{entry.line}>"


class PointsHandle(_Handle):
    """The handle of a direct contribution: it takes only a key and a label."""

    __slots__ = ()


class MeasureHandle(_Handle):
    """The handle of an entry with an evaluation: it can score, and be awaited for its result."""

    __slots__ = ()

    def score(self, points: float, /) -> Self:
        """Let the entry score: matched earns `points`, mismatched 0, a measurement m earns m × points.

        Args:
            points: Finite and above 0.

        Raises:
            AuthoringError: In a pass-style eval, if it was used already, or the entry is frozen or closed.
            TypeError: If it is not a finite number.
        """
        log, entry = self._log, self._entry
        if log.style != "score":
            raise log.mistake(
                ".score() belongs to define_score_eval; in a pass-style eval use .gate() or nothing", depth=2 + 1
            )
        self._configurable("score", entry.points is not None)
        entry.points = log.points(points, ".score()", zero=False)
        return self

    def __await__(self) -> "Generator[Any, Any, AssertionResult]":
        """Settle the entry, freeze its configuration and return its result."""
        return self._settle().__await__()

    async def _settle(self) -> "AssertionResult":
        entry = self._entry
        entry.frozen = True
        if entry.done is not None:
            await entry.done.wait()
        return assertion_result(self._log, entry)


class Handle(MeasureHandle, Generic[V]):
    """The handle of a boolean or thresholded entry; ``or_stop()`` returns a `V`."""

    __slots__ = ()

    def gate(self) -> Self:
        """Let a thresholded measurement join the verdict; on a boolean it restates the default.

        Raises:
            AuthoringError: In a score-style eval, on a measurement without a threshold, if it was used already, or if
                the entry is frozen or closed.
        """
        log, entry = self._log, self._entry
        if log.style != "pass":
            raise log.mistake(".gate() belongs to define_eval; a score-style eval has no verdict, use .score(points)")
        if entry.kind == "measure":
            raise log.mistake(".gate() needs a condition: give the match a threshold with .at_least(n) or .at_most(n)")
        self._configurable("gate", entry.gated)
        entry.gated = entry.gate = True
        return self

    def or_stop(self) -> Coroutine[Any, Any, V]:
        """Stop the continuation that awaits this unless the entry is matched or met; in a pass-style eval it is a gate.

        Returns:
            A coroutine that must be awaited. It returns the validated instance for ``matches(Model)``, the parsed value
            for ``json_text``, the matching calls for tool checks, and otherwise the subject itself.

        Raises:
            AuthoringError: On a measurement without a threshold, if it was used already, or if the entry is frozen or
                closed. An ``or_stop()`` that is never awaited makes the attempt errored.
        """
        log, entry = self._log, self._entry
        if entry.kind == "measure":
            raise log.mistake(
                ".or_stop() needs a condition: give the match a threshold with .at_least(n) or .at_most(n)"
            )
        self._configurable("or_stop", entry.stops)
        entry.stops = True
        entry.gate = entry.gate or log.style == "pass"
        entry.barrier = self._barrier()
        return entry.barrier

    orStop = or_stop

    async def _barrier(self) -> V:
        entry = self._entry
        entry.frozen = True
        if entry.done is not None:
            await entry.done.wait()
        assert entry.evaluation is not None
        if entry.evaluation.outcome != "matched":
            raise self._log.stop(entry)
        if entry.yields is not None:
            value: V = entry.yields(entry.evaluation)
        else:
            value = entry.evaluation.product if entry.produces else entry.live
        return value


def never_awaited(entry: Entry) -> bool:
    """Tell whether the entry's ``or_stop()`` was called and its coroutine never started; closes it."""
    barrier = entry.barrier
    if barrier is None or inspect.getcoroutinestate(barrier) != inspect.CORO_CREATED:
        return False
    barrier.close()
    return True
