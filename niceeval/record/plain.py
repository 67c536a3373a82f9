"""The engine for runs that are small, or in memory: their lines are read once, and counted in plain Python.

An engine that is imported and started takes more time and memory than all of that, up to some ten thousand attempts.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import isfinite
from typing import Any, NamedTuple, final

from niceeval.record.lines import Damaged, Line, RunSource, parse, warn
from niceeval.record.order import plan_order
from niceeval.record.rates import Spent
from niceeval.record.slim import Used, slim_attempt, used_by
from niceeval.record.tallies import CaseTally, RequirementTally
from niceeval.record.tally_queries import case_tally

__all__ = ["PlainEngine"]


class _Head(NamedTuple):
    line: Line
    id: str
    eval: str
    case: str | None
    agent: str | None
    attempt: int | None
    style: str | None
    status: str
    score: str | None
    used: Used
    duration: float
    tried: bool
    entries: tuple[tuple[int | None, str | None, str | None, str | None], ...]

    def is_of(self, name: str) -> bool:
        """Tell whether this is an attempt at an eval, or at a case of it, by the id with the case in brackets."""
        return name == self.eval or (self.case is not None and name == f"{self.eval}[{self.case}]")

    def reached(self) -> dict[str, tuple[int, bool, bool]]:
        """Return every requirement that decided: its first place, and whether it was unmet or undecided anywhere."""
        found: dict[str, tuple[int, bool, bool]] = {}
        for order, name, decision, _ in self.entries:
            if name is not None and decision in _DECIDING:
                first, unmet, undecided = found.get(name, (order or 0, False, False))
                now = decision == "unmet", decision == "undecided"
                found[name] = min(first, order or 0), unmet or now[0], undecided or now[1]
        return found


_DECIDING = frozenset({"met", "unmet", "undecided"})


@final
class PlainEngine:
    """The attempts of one run, in the plan's order, with what the queries need of them.

    Args:
        source: The run.
        only: Only this eval, by its id, or only one of its cases, by the id with the case in brackets.
    """

    __slots__ = ("_heads", "_shared", "_specs")

    def __init__(self, source: RunSource, *, only: str | None = None) -> None:
        self._shared: dict[Any, Any] = {}
        self._specs: dict[str, Any] = {}
        heads: list[_Head] = []
        for line, raw in source.lines():
            try:
                head = self._head(line, parse(raw))
            except Damaged as error:
                warn(line, error)
                continue
            if only is None or head.is_of(only):
                heads.append(head)
        order = plan_order(source.header())
        heads.sort(key=lambda head: order(head.eval, head.case, head.agent, head.attempt))
        self._heads = heads
        self._shared.clear()

    def _head(self, line: Line, document: Mapping[str, Any]) -> _Head:
        identity, attempt, entries = slim_attempt(document)
        one = self._one
        attempt_id, eval_id, case, agent, style, status, score = map(one, identity)
        specs = document.get("matches")
        if isinstance(specs, dict):
            for fingerprint in specs.keys() - self._specs.keys():
                self._specs[fingerprint] = specs[fingerprint]
        duration = document.get("duration")
        return _Head(
            line,
            attempt_id,
            eval_id,
            case,
            agent,
            attempt,
            style,
            status,
            score,
            one(used_by(document.get("sessions"))),
            float(duration) if isinstance(duration, int | float) and isfinite(duration) else 0.0,
            bool(document.get("tries")),
            one(tuple(map(one, entries))),
        )

    def _one(self, value: Any) -> Any:
        """Return the first value that is equal: the same few stand in all attempts."""
        return self._shared.setdefault(value, value)

    def close(self) -> None:
        """Give the memory back."""
        self._heads = []

    def attempts(
        self,
        *,
        verdict: str | None = None,
        eval_id: str | None = None,
        agent: str | None = None,
        statuses: tuple[str, ...] = (),
        limit: int | None = None,
    ) -> list[Line]:
        """Return where the attempts that fit stand."""
        found = [
            head.line
            for head in self._heads
            if (verdict is None or (head.status == verdict and head.style != "score"))
            and (
                eval_id is None
                or eval_id in (head.eval, f"{head.eval}[{head.case}]" if head.case is not None else None)
            )
            and (agent is None or head.agent == agent)
            and (not statuses or head.status in statuses)
        ]
        return found[:limit]

    def assertions(
        self, *, decision: str | None = None, requirement: str | None = None, limit: int | None = None
    ) -> list[tuple[Line, int]]:
        """Return where the assertions that fit stand: the attempt's line and the place in its list."""
        found: list[tuple[Line, int]] = []
        for head in self._heads:
            for place, (_, name, decided, _) in enumerate(head.entries):
                if limit is not None and len(found) >= limit:
                    return found
                if decision in (None, decided) and requirement in (None, name):
                    found.append((head.line, place))
        return found

    def counts(self) -> Iterable[tuple[str, str | None, str, str, str, int]]:
        """Return how many attempts there are of each eval, case, agent, style and status."""
        found = Counter(
            (head.eval, head.case, head.agent or "", head.style or "pass", head.status) for head in self._heads
        )
        return [(*key, count) for key, count in found.items()]

    def statuses(self) -> Mapping[str, int]:
        """Return how many attempts ended with each status."""
        return Counter(head.status for head in self._heads)

    def requirements(self) -> list[tuple[str, str, int, int, int, int, int]]:
        """Return of each eval and requirement its first place, and the attempts failed, errored, reached and run."""
        ran = Counter(head.eval for head in self._heads if head.status != "skipped")
        found: dict[tuple[str, str], list[int]] = {}
        for head in self._heads:
            if head.status == "skipped":
                continue
            for name, (first, unmet, undecided) in head.reached().items():
                sums = found.setdefault((head.eval, name), [first, 0, 0, 0])
                sums[0] = min(sums[0], first)
                sums[1] += unmet
                sums[2] += undecided and not unmet
                sums[3] += 1
        return [
            (eval_id, name, first, failed, errored, reached, ran[eval_id])
            for (eval_id, name), (first, failed, errored, reached) in found.items()
        ]

    def scores(self) -> Iterable[tuple[str, str, str | None, int]]:
        """Return how many score-style attempts there are of each agent, status and score."""
        found = Counter((head.agent or "", head.status, head.score) for head in self._heads if head.style == "score")
        return [(*key, count) for key, count in found.items()]

    def checks(self) -> Iterator[tuple[str, str, Any]]:
        """Yield every match that decides for a requirement of an eval: eval, requirement, spec."""
        found = dict.fromkeys(
            (head.eval, name, match)
            for head in self._heads
            for _, name, decision, match in head.entries
            if decision in _DECIDING
        )
        for eval_id, name, match in found:
            yield eval_id, str(name), self._specs.get(match or "")

    def case_tallies(self) -> Iterable[CaseTally]:
        """Return what became of each case's attempts by each agent."""
        found: dict[tuple[str, str | None, str], list[_Head]] = {}
        for head in self._heads:
            found.setdefault((head.eval, head.case, head.agent or ""), []).append(head)
        for key, heads in found.items():
            statuses = Counter(head.status for head in heads)
            style = next((head.style for head in heads if head.style is not None), "pass")
            counts = (statuses[name] for name in ("passed", "failed", "errored", "skipped", "unrankable"))
            yield case_tally(*key, style, *counts, [head.score or "" for head in heads if head.status == "scored"])

    def requirement_tallies(self, requirement: str | None) -> Iterable[RequirementTally]:
        """Return how one requirement, or every one, came out in each case's attempts by each agent."""
        found: dict[tuple[str, str | None, str, str], list[int]] = {}
        for head in self._heads:
            if head.status == "skipped":
                continue
            for name, (_, unmet, undecided) in head.reached().items():
                if requirement in (None, name):
                    sums = found.setdefault((head.eval, head.case, head.agent or "", name), [0, 0, 0, 0])
                    for place, one in enumerate((not unmet and not undecided, unmet, undecided and not unmet)):
                        sums[place] += one
                    sums[3] += head.status == "errored"
        return [RequirementTally(*key, *sums) for key, sums in found.items()]

    def retried(self) -> Mapping[str, int]:
        """Return by status how many attempts came to their end only after another try."""
        return Counter(head.status for head in self._heads if head.tried)

    def spent(self) -> Iterable[Spent]:
        """Return what each agent's attempts took."""
        found: dict[str, list[_Head]] = {}
        for head in self._heads:
            found.setdefault(head.agent or "", []).append(head)
        for agent, heads in found.items():
            ended = [head.duration for head in heads if head.status != "errored"]
            tokens = [head.used.input_tokens for head in heads] + [head.used.output_tokens for head in heads]
            costs = [head.used.cost_usd for head in heads if head.used.cost_usd is not None]
            yield Spent(
                agent=agent,
                cost=sum(costs) if costs else None,
                tokens=sum(filter(None, tokens)) if any(count is not None for count in tokens) else None,
                costs_missing=sum(head.used.cost_unreported for head in heads),
                tokens_missing=sum(head.used.tokens_unreported for head in heads),
                seconds=sum(ended),
                attempts=len(ended),
            )

    def find(self, prefix: str) -> list[Line]:
        """Return where the attempts stand whose ids begin so."""
        return [head.line for head in self._heads if head.id.startswith(prefix)]
