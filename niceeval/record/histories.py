"""Requirements over runs, and those that nothing has violated for long."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import attrs
from pydantic import BaseModel, ConfigDict

from niceeval.errors import RecordError
from niceeval.record.lines import plain
from niceeval.record.rows import Rows
from niceeval.stats import exact_bounds

if TYPE_CHECKING:
    from niceeval.record.read import Record, RunInfo

__all__ = ["HistoryPoint", "RequirementHistory", "histories", "history"]


class HistoryPoint(BaseModel):
    """How one requirement came out in one run.

    Attributes:
        run_id: The run.
        started: When it started.
        failed: Attempts in which it was not met.
        decided: Attempts in which it was met or failed: the denominator.
        errored: Attempts that came to it and could not decide it.
        rate: Met / decided; None where nothing was decided.
    """

    model_config = ConfigDict(frozen=True)

    run_id: str
    started: datetime
    failed: int
    decided: int
    errored: int
    rate: float | None


class RequirementHistory(BaseModel):
    """One requirement over all runs that came to it.

    Attributes:
        key: The requirement.
        runs: Runs that decided it.
        failed: Attempts in which it was not met, over all of them.
        decided: Attempts in which it was met or failed.
        errored: Attempts that came to it and could not decide it.
        last_failed: The latest run in which it was not met; None where it always was.
        quiet_runs: Runs that decided it since then.
        quiet_decisions: Attempts that decided it since then.
        quiet_since: When the first of those runs started; None where there is none.
        solved_or_dead: Whether that is long enough to ask: is this solved, or does it check nothing any more?
        could_fail: If it still fails by chance, then in less than this share of attempts, at 95 % confidence.
    """

    model_config = ConfigDict(frozen=True)

    key: str
    runs: int
    failed: int
    decided: int
    errored: int
    last_failed: str | None
    quiet_runs: int
    quiet_decisions: int
    quiet_since: datetime | None
    solved_or_dead: bool
    could_fail: float


def history(record: "Record", key: str, /, *, eval: str | None = None) -> Rows[HistoryPoint]:
    """Return how one requirement came out in each run that came to it, the oldest first.

    Args:
        record: The record.
        key: The requirement: its key, else its label, else its match.
        eval: Only attempts at this eval, or at one case of it.

    Raises:
        RecordError: No run came to it, or one cannot be read.
    """
    found = _points(record, eval, plain(key)).get(plain(key))
    if not found:
        where = f" in the eval {eval!r}" if eval is not None else ""
        raise RecordError(f"no run of this record came to a requirement {key!r}{where}; see niceeval history")
    return Rows([each.point() for each in found])


def histories(
    record: "Record", /, *, eval: str | None = None, runs: int = 5, decisions: int = 100
) -> Rows[RequirementHistory]:
    """Return every requirement over all runs: those that failed last first, then those that are quiet longest.

    Args:
        record: The record.
        eval: Only attempts at this eval, or at one case of it.
        runs: How many runs without a violation make a requirement solved or dead, 1 or more, ...
        decisions: ... and how many decisions in them, 1 or more.

    Raises:
        RecordError: A run cannot be read.
        ValueError: `runs` or `decisions` is below 1.
    """
    for name, number in (("runs", runs), ("decisions", decisions)):
        if number < 1:
            raise ValueError(f"{name} must be 1 or more, got {number}")
    rows = [_history(key, found, runs, decisions) for key, found in _points(record, eval, None).items()]
    return Rows(sorted(rows, key=lambda row: (row.quiet_decisions, -row.failed, row.key)))


@attrs.define
class _Point:
    run: "RunInfo"
    failed: int = 0
    passed: int = 0
    errored: int = 0

    @property
    def decided(self) -> int:
        return self.passed + self.failed

    def point(self) -> HistoryPoint:
        return HistoryPoint(
            run_id=self.run.id,
            started=self.run.started,
            failed=self.failed,
            decided=self.decided,
            errored=self.errored,
            rate=self.passed / self.decided if self.decided else None,
        )


def _points(record: "Record", eval: str | None, key: str | None) -> dict[str, list[_Point]]:
    found: dict[str, list[_Point]] = {}
    for run in reversed(record.runs()):
        sums = record.tables(run).requirement_sums(key, () if eval is None else (eval,))
        for requirement, passed, failed, errored in sums:
            found.setdefault(requirement, []).append(_Point(run, failed, passed, errored))
    return found


def _history(key: str, points: Sequence[_Point], runs: int, decisions: int) -> RequirementHistory:
    decided = [each for each in points if each.decided]
    last = max((place for place, each in enumerate(decided) if each.failed), default=-1)
    quiet = decided[last + 1 :]
    since = sum(each.decided for each in quiet)
    return RequirementHistory(
        key=key,
        runs=len(decided),
        failed=sum(each.failed for each in points),
        decided=sum(each.decided for each in points),
        errored=sum(each.errored for each in points),
        last_failed=decided[last].run.id if last >= 0 else None,
        quiet_runs=len(quiet),
        quiet_decisions=since,
        quiet_since=quiet[0].run.started if quiet else None,
        solved_or_dead=len(quiet) >= runs and since >= decisions,
        could_fail=exact_bounds(0, since)[1] if since else 1.0,
    )
