"""Rechecking: new or changed checks over what a run has stored, and what would come out differently."""

import inspect
from collections.abc import Callable, Coroutine, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias, final

import anyio
import attrs

from niceeval.assertions import AssertionLog
from niceeval.attempt_state import AttemptState
from niceeval.attempts import run_body
from niceeval.context import EvalContext
from niceeval.errors import RecordError
from niceeval.record.lines import FolderSource
from niceeval.transcript import Transcript
from niceeval.verify import Attempt, attempts_of
from niceeval_expect import BooleanMatch, Match, ScoreMatch

__all__ = ["Checks", "Flip", "Recheck", "recheck_run"]

Checks: TypeAlias = Mapping[str, Match] | Callable[[EvalContext], Any]
"""Matches by the requirement whose stored subjects they read, or a function that checks the stored sessions."""


@final
@attrs.frozen
class Flip:
    """A requirement that comes out differently under the new checks.

    Attributes:
        attempt: The attempt's id.
        name: The eval's id with the case in brackets.
        requirement: The requirement.
        before: Its stored outcome; None where it is new.
        after: Its outcome now; None where the new checks did not come to it.
        message: Why, in a sentence.
    """

    attempt: str
    name: str
    requirement: str
    before: str | None
    after: str | None
    message: str


@final
@attrs.frozen
class Recheck:
    """What the new checks say of a run.

    Attributes:
        run_id: The run.
        attempts: How many attempts were read.
        compared: How many requirements were compared with what is stored, over all attempts.
        flips: Those that came out differently.
        fresh: How many requirements were checked of which nothing is stored, by outcome.
        problems: What could not be checked, one sentence each.
    """

    run_id: str
    attempts: int
    compared: int
    flips: tuple[Flip, ...]
    fresh: Mapping[str, int]
    problems: tuple[str, ...]


def recheck_run(folder: str | Path, checks: Checks) -> Recheck:
    """Run checks over the stored subjects and sessions of a run; agents and eval files are not needed.

    Args:
        folder: The folder of the run.
        checks: A mapping from requirement to match, each evaluated over the subjects stored for that requirement; or a
            function of ``t``, sync or async, that finds the stored sessions in ``t.sessions`` and registers checks.

    Raises:
        TypeError: `checks` is neither.
        RecordError: The run cannot be read.
    """
    if isinstance(checks, Mapping):
        for name, match in checks.items():
            if not isinstance(name, str) or not isinstance(match, BooleanMatch | ScoreMatch):
                raise TypeError(f"checks map a requirement's name to a match, got {name!r}: {match!r}")
    elif not callable(checks):
        raise TypeError(f"checks are a mapping of matches or a function of t, got {checks!r}")
    source = FolderSource(Path(folder))
    tally = _Tally()
    for attempt in attempts_of(source):
        tally.attempts += 1
        stored = dict(_stored(attempt))
        try:
            found = dict(_by_match(attempt, checks) if isinstance(checks, Mapping) else _by_function(attempt, checks))
        except RecordError as error:
            tally.problems.append(f"{attempt.name}: {error}")
            continue
        tally.compare(attempt, stored, found)
    return Recheck(
        source.header().id, tally.attempts, tally.compared, tuple(tally.flips), tally.fresh, tuple(tally.problems)
    )


@final
class _Tally:
    def __init__(self) -> None:
        self.attempts = self.compared = 0
        self.flips: list[Flip] = []
        self.fresh: dict[str, int] = {}
        self.problems: list[str] = []

    def compare(self, attempt: Attempt, stored: Mapping[str, str], found: Mapping[str, tuple[str, str]]) -> None:
        """Compare what is stored of an attempt with what was found."""
        for requirement, (after, message) in found.items():
            before = stored.get(requirement)
            if before is None:
                self.fresh[after] = self.fresh.get(after, 0) + 1
                continue
            self.compared += 1
            if before != after:
                self.flips.append(
                    Flip(str(attempt.document["id"]), attempt.name, requirement, before, after, message)
                )


_WORST = ("mismatched", "errored", "unavailable", "measured", "matched")


def _worse(first: str | None, second: str) -> str:
    """Return the outcome that a requirement has when two of its entries have these: any failure fails it."""
    return second if first is None else min(first, second, key=_WORST.index)


def _stored(attempt: Attempt) -> Iterator[tuple[str, str]]:
    outcomes: dict[str, str] = {}
    for entry in attempt.entries:
        requirement = entry["requirement"]
        outcomes[requirement] = _worse(outcomes.get(requirement), entry["outcome"])
    yield from outcomes.items()


def _by_match(attempt: Attempt, checks: Mapping[str, Match]) -> Iterator[tuple[str, tuple[str, str]]]:
    found: dict[str, tuple[str, str]] = {}
    for entry in attempt.entries:
        match = checks.get(entry["requirement"])
        if match is None:
            continue
        evaluation = attempt.evaluate(match, entry.get("subject") or "")
        before = found.get(entry["requirement"])
        outcome = _worse(before[0] if before else None, evaluation.outcome)
        if before is None or outcome != before[0]:
            found[entry["requirement"]] = (outcome, evaluation.diagnostic.line())
    yield from found.items()


def _by_function(
    attempt: Attempt, checks: Callable[[EvalContext], Any]
) -> Iterator[tuple[str, tuple[str, str]]]:
    log = anyio.run(_observed, attempt, checks)
    if log.mistakes:
        raise RecordError("; ".join(log.mistakes))
    found: dict[str, tuple[str, str]] = {}
    for entry in log.entries:
        if entry.evaluation is None:
            continue
        before = found.get(entry.requirement)
        outcome = _worse(before[0] if before else None, entry.evaluation.outcome)
        if before is None or outcome != before[0]:
            found[entry.requirement] = (outcome, entry.evaluation.diagnostic.line())
    yield from found.items()


async def _observed(attempt: Attempt, checks: Callable[[EvalContext], Any]) -> AssertionLog:
    """Run a function of ``t`` whose sessions are the stored ones."""
    document = attempt.document
    state = AttemptState(
        agent=None,
        style=document.get("style", "pass"),
        attempt_id=str(document["id"]),
        attempt=document.get("attempt", 1),
    )
    t = EvalContext(state)
    for turns in attempt.sessions:
        t.observe(Transcript(tuple(record.evidence for record in turns)))

    async def body() -> None:
        result = checks(t)
        if inspect.isawaitable(result):
            await result

    async with anyio.create_task_group() as group:

        def spawn(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
            group.start_soon(work)

        state.log.spawn = spawn
        ending = await run_body(state, body, None)
    if ending.error is not None or ending.failure is not None:
        raise RecordError(f"the checks ended early: {ending.error or ending.failure}")
    return state.log
