"""What an experiment has still to start: attempts in the plan's order, and of some evals only as many as decide."""

from collections import deque
from collections.abc import Iterator
from typing import Any, Final, TypeAlias, final

from niceeval.evals.eval import Eval
from niceeval.evals.experiments import Experiment
from niceeval.plans import AttemptRef, Plan
from niceeval.record.planned import Settled
from niceeval.stats import CaseCounts, SequentialGate, decide_rate

__all__ = ["CONFIDENCE", "Rounds", "Todo", "lacks"]

Item: TypeAlias = tuple[AttemptRef, Eval[Any], object]

CONFIDENCE: Final = 0.95
"""How sure an answer has to be before an eval is repeated no longer."""


@final
class Rounds:
    """The attempts at one eval, round by round until its rate is decided; a round is one attempt at each case.

    The rate is asked after whole rounds, in their order, whichever attempt ends first. So the answer depends on the
    outcomes alone, and the rule of `SequentialGate` holds although several rounds may go on at a time.

    Args:
        cases: How many cases there are, 1 or more.
        most: How many rounds there may be, 1 or more.
        min_rate: The rate that is asked for.
        ahead: How many rounds may go on at a time, 1 or more.

    >>> rounds = Rounds(cases=30, most=20, min_rate=0.85)
    >>> for number in rounds.open():
    ...     for case in range(30):
    ...         rounds.ended(number, "passed")
    >>> rounds.decision, rounds.opened
    ('pass', 1)
    """

    __slots__ = ("_ahead", "_cases", "_closed", "_gate", "_going", "_totals", "most", "opened")

    def __init__(self, *, cases: int, most: int, min_rate: float, ahead: int = 1) -> None:
        self._cases = cases
        self._ahead = ahead
        self._gate = SequentialGate(min_rate, CONFIDENCE, cases * most)
        self._going: dict[int, list[str]] = {}
        self._totals = CaseCounts(0, 0, 0)
        self._closed = 0
        self.most: Final = most
        self.opened = 0

    @property
    def decision(self) -> str:
        """The answer so far: ``pass``, ``fail``, ``inconclusive`` after the last round, else ``continue``."""
        return self._gate.decision

    def open(self) -> Iterator[int]:
        """Yield the numbers of the rounds that may start now."""
        while self.decision == "continue" and self.opened < min(self.most, self._closed + self._ahead):
            self.opened += 1
            self._going[self.opened] = []
            yield self.opened

    def ended(self, number: int, status: str) -> None:
        """Count an attempt of a round that was opened, and ask for the answer where that makes the next one whole."""
        self._going[number].append(status)
        while self.decision == "continue" and len(self._going.get(self._closed + 1, ())) == self._cases:
            self._closed += 1
            statuses = self._going.pop(self._closed)
            passed, failed, skipped = map(statuses.count, ("passed", "failed", "skipped"))
            undecided = len(statuses) - passed - failed - skipped
            before = self._totals
            self._totals = CaseCounts(before.passed + passed, before.failed + failed, before.undecided + undecided)
            self._gate.update(*self._totals)


@final
class Todo:
    """What one experiment has still to start, one attempt after the other.

    Args:
        plan: The plan.
        experiment: The experiment.
        concurrency: How many of its attempts run at a time: where an eval has fewer cases, more of its rounds do.

    Attributes:
        settled: The evals whose rate is decided before their last round; the newest ones are last.
    """

    __slots__ = ("_concurrency", "_dropped", "_evals", "_experiment", "_held", "_items", "_lost", "_plan", "_ready",
                 "_rounds", "_seen", "settled")  # fmt: skip

    def __init__(self, plan: Plan, experiment: Experiment, concurrency: int) -> None:
        self._plan = plan
        self._experiment = experiment
        self._concurrency = concurrency
        self._evals = iter(plan.evals)
        self._items: Iterator[Item] = iter(())
        self._ready: deque[Item] = deque()
        self._held: deque[Item] = deque()
        self._rounds: dict[str, tuple[Eval[Any], Rounds]] = {}
        self._seen: dict[str, list[int]] = {}
        self._lost: set[str] = set()
        self._dropped = False
        self.settled: list[Settled] = []

    def next(self) -> Item | None:
        """Return what starts next; None where nothing does now. More may come with what ends."""
        while not self._dropped:
            if self._ready or self._held:
                return (self._ready or self._held).popleft()
            item = next(self._items, None)
            if item is not None:
                return item
            eval_ = next(self._evals, None)
            if eval_ is None:
                return None
            most = self._plan.attempts_of(eval_, self._experiment)
            if self._plan.in_rounds(eval_) and most:
                assert eval_.min_rate is not None
                cases = len(eval_.iter_cases())
                ahead = -(-self._concurrency // cases)
                rounds = Rounds(cases=cases, most=most, min_rate=eval_.min_rate, ahead=ahead)
                self._rounds[eval_.id] = eval_, rounds
                self._open(eval_, rounds)
            else:
                self._items = self._plan.refs_at(eval_, self._experiment)
        return None

    def _open(self, eval_: Eval[Any], rounds: Rounds) -> None:
        """Put the rounds in line that may start; attempts that an earlier run has made are counted right away."""
        done = self._plan.done
        for number in rounds.open():
            for case_id, case in eval_.iter_cases():
                ref = AttemptRef(eval_.id, case_id, self._experiment.name, number)
                if ref in done:
                    rounds.ended(number, self._plan.statuses.get(ref, "errored"))
                elif not self._dropped:
                    self._ready.append((ref, eval_, case))
        self._settle(eval_, rounds)

    def _settle(self, eval_: Eval[Any], rounds: Rounds) -> None:
        if rounds.decision not in ("pass", "fail"):
            return
        name, number = self._experiment.name, rounds.opened
        # Rounds of an earlier run that went on beside the one that decided.
        while number < rounds.most and all(
            AttemptRef(eval_.id, case_id, name, number + 1) in self._plan.done for case_id, _ in eval_.iter_cases()
        ):
            number += 1
        if all(each.eval != eval_.id for each in self.settled):
            self.settled.append(Settled(eval_.id, name, number, rounds.decision))

    def ended(self, ref: AttemptRef, status: str) -> bool:
        """Count an attempt; return whether another round of its eval follows."""
        found = self._rounds.get(ref.eval_id)
        if found is None:
            return False
        before = len(self._ready)
        found[1].ended(ref.attempt, status)
        self._open(*found)
        return len(self._ready) > before

    def put_back(self, item: Item) -> None:
        """Take back what was next, behind the rounds that have come since."""
        self._held.appendleft(item)

    def drop(self) -> int:
        """Start nothing more, and return how many attempts are not started, at most."""
        left = len(self._ready) + len(self._held) + sum(1 for _ in self._items)
        for eval_ in self._evals:
            left += sum(1 for _ in self._plan.refs_at(eval_, self._experiment))
        for eval_, rounds in self._rounds.values():
            if rounds.decision == "continue":
                later = self._plan.refs_at(eval_, self._experiment)
                left += sum(1 for ref, _, _ in later if ref.attempt > rounds.opened)
        self._ready.clear()
        self._held.clear()
        self._dropped = True
        return left

    def not_needed(self, found: Settled) -> int:
        """Return how many attempts of an eval this run was to make and need not."""
        later = self._plan.refs_at(self._rounds[found.eval][0], self._experiment)
        return sum(1 for ref, _, _ in later if ref.attempt > found.attempts)

    def is_lost(self, eval_: Eval[Any], status: str) -> bool:
        """Count an attempt of an eval that asks for a rate; return whether it is certain since then to fail.

        Of a number of attempts that is fixed, it is where the gate would fail if all that are still to come passed.
        """
        if eval_.id not in self._seen:
            self._seen[eval_.id] = self._counts(eval_)
        passed, failed, planned = self._seen[eval_.id]
        seen = self._seen[eval_.id] = [
            passed + (status == "passed"), failed + (status == "failed"), planned - (status == "skipped")
        ]  # fmt: skip
        if status != "failed" or eval_.id in self._lost:
            return False
        found = self._rounds.get(eval_.id)
        if found is not None:
            lost = found[1].decision == "fail"
        else:
            assert eval_.min_rate is not None
            counts = CaseCounts(seen[0], seen[1], max(seen[2] - seen[0] - seen[1], 0))
            lost = decide_rate([counts], eval_.min_rate, confidence=CONFIDENCE, sampled=False).decision == "fail"
        if lost:
            self._lost.add(eval_.id)
        return lost

    def _counts(self, eval_: Eval[Any]) -> list[int]:
        """How many attempts of an eval have passed and failed in the run that this one goes on with, and the plan."""
        name = self._experiment.name
        before = [
            status for ref, status in self._plan.statuses.items() if ref.eval_id == eval_.id and ref.agent == name
        ]
        planned = len(eval_.iter_cases()) * self._plan.attempts_of(eval_, self._experiment)
        return [before.count("passed"), before.count("failed"), planned - before.count("skipped")]


def lacks(plan: Plan) -> bool:
    """Tell whether anything of a plan is still to run."""
    return any(Todo(plan, experiment, 1).next() is not None for experiment in plan.experiments)
