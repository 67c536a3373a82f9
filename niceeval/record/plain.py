"""The engine for runs that are small, or in memory: their lines are read once, and counted in plain Python.

An engine that is imported and started takes more time and memory than all of that, up to some ten thousand attempts.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import isfinite
from typing import Any, Final, final

from niceeval.record.heads import Check, Head, checks_of
from niceeval.record.layout import Header
from niceeval.record.lines import Damaged, Line, RunSource, parse, warn
from niceeval.record.order import plan_order
from niceeval.record.rates import Spent, Tally
from niceeval.record.slim import Slim, slim_attempt, text_of, used_by
from niceeval.record.tallies import CaseTally, Outcome, RequirementTally
from niceeval.record.tally_queries import case_tally

__all__ = ["PlainEngine"]


_MOST_CHECKS: Final = 5_000
"""How many matches are kept: some 3 MB."""


@final
class PlainEngine:
    """The attempts of one run, with what the queries need of them.

    Args:
        source: The run.
        header: Its plan, as it is or with only what is asked about.
        only: Only this eval, by its id, or only one of its cases, by the id with the case in brackets.
    """

    __slots__ = ("_are_ordered", "_checks", "_header", "_heads", "_only", "_repeats", "_shared", "_source")

    def __init__(self, source: RunSource, header: Header, *, only: str | None = None) -> None:
        self._source = source
        self._only = only
        self._repeats = header.most_attempts * max(len(header.agents), 1) > 1
        self._shared: dict[Any, Any] = {}
        self._checks: dict[Check, Any] | None = {}
        heads: list[Head] = []
        for line, raw in source.lines():
            try:
                document = parse(raw)
            except Damaged as error:
                warn(line, error)
                continue
            slim = slim_attempt(document)
            if self._is_asked(slim):
                heads.append(self._head(line, slim, document))
                self._keep(slim, document)
        self._heads = heads
        self._shared.clear()
        self._header = header
        self._are_ordered = False

    def _in_order(self) -> list[Head]:
        """Return all attempts in the plan's order, into which they are put when it first matters."""
        if not self._are_ordered:
            self._heads = self._ordered(self._heads)
            self._are_ordered = True
        return self._heads

    def _ordered(self, heads: list[Head]) -> list[Head]:
        if self._are_ordered or not heads:
            return heads
        order = plan_order(self._header)
        return sorted(heads, key=lambda head: order(head.eval, head.case, head.agent, head.attempt))

    def _is_asked(self, slim: Slim) -> bool:
        eval_id, case = slim.identity[1:3]
        return self._only in (None, eval_id) or (case is not None and self._only == f"{eval_id}[{case}]")

    def _keep(self, slim: Slim, document: Mapping[str, Any]) -> None:
        """Keep the matches that decide, unless an eval has one for each of its many cases."""
        if self._checks is not None:
            for key, spec in checks_of(slim, document):
                if self._checks.get(key) is None:
                    self._checks[key] = spec
            if len(self._checks) > _MOST_CHECKS:
                self._checks = None

    def _head(self, line: Line, slim: Slim, document: Mapping[str, Any]) -> Head:
        identity, attempt, entries = slim
        one = self._one
        attempt_id = str(identity[0])
        eval_id, agent, style, status, score = map(one, (identity[1], *identity[3:]))
        # A table of cases that come once each would take as much memory as they do.
        case = one(identity[2]) if self._repeats else identity[2]
        duration = document.get("duration")
        return Head(
            line.file,
            line.number,
            line.offset,
            one(line.size),
            attempt_id,
            eval_id,
            case,
            agent,
            attempt,
            style,
            status,
            score,
            one(text_of(document.get("reason"))),
            one(used_by(document.get("sessions"))),
            float(duration) if isinstance(duration, int | float) and isfinite(duration) else 0.0,
            bool(document.get("tries")),
            one(tuple([one(entry[:3]) for entry in entries])),
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
            head
            for head in self._heads
            if (verdict is None or (head.status == verdict and head.style != "score"))
            and (
                eval_id is None
                or eval_id in (head.eval, f"{head.eval}[{head.case}]" if head.case is not None else None)
            )
            and (agent is None or head.agent == agent)
            and (not statuses or head.status in statuses)
        ]
        return [head.line for head in self._ordered(found)[:limit]]

    def assertions(
        self, *, decision: str | None = None, requirement: str | None = None, limit: int | None = None
    ) -> list[tuple[Line, int]]:
        """Return where the assertions that fit stand: the attempt's line and the place in its list."""
        found: list[tuple[Line, int]] = []
        for head in self._in_order():
            for place, (_, name, decided) in enumerate(head.entries):
                if limit is not None and len(found) >= limit:
                    return found
                if decision in (None, decided) and requirement in (None, name):
                    found.append((head.line, place))
        return found

    def counts(self) -> Iterable[Tally]:
        """Return what became of pass-style cases' attempts, of those that came out alike together."""
        found: dict[tuple[str, str], dict[str | None, tuple[int, int, int]]] = {}
        # A tuple for each case would take as much memory as the attempts.
        same: dict[tuple[int, int, int], tuple[int, int, int]] = {}
        for head in self._heads:
            if head.style != "score":
                cases = found.setdefault((head.eval, head.agent or ""), {})
                passed, failed, errored = cases.get(head.case, (0, 0, 0))
                passed, failed = passed + (head.status == "passed"), failed + (head.status == "failed")
                now = passed, failed, errored + (head.status == "errored")
                cases[head.case] = same.setdefault(now, now)
        return [Tally(*key, *each, n) for key, cases in found.items() for each, n in Counter(cases.values()).items()]

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
        if self._checks is not None:
            yield from ((eval_id, name, spec) for (eval_id, name, _), spec in self._checks.items())
            return
        # So many matches are read again, one at a time; of those that were said only a number each is kept.
        seen: set[int] = set()
        evals = {head.eval for head in self._heads}
        for _, raw in self._source.lines():
            try:
                document = parse(raw)
            except Damaged:
                continue
            slim = slim_attempt(document)
            if slim.identity[1] in evals and self._is_asked(slim):
                for key, spec in checks_of(slim, document):
                    if hash(key) not in seen:
                        seen.add(hash(key))
                        yield key[0], key[1], spec

    def case_tallies(self) -> Iterable[CaseTally]:
        """Return what became of each case's attempts by each agent."""
        found: dict[tuple[str, str | None, str], list[Head]] = {}
        for head in self._in_order():
            found.setdefault((head.eval, head.case, head.agent or ""), []).append(head)
        for key, heads in found.items():
            statuses = Counter(head.status for head in heads)
            style = next((head.style for head in heads if head.style is not None), "pass")
            counts = (statuses[name] for name in ("passed", "failed", "errored", "skipped", "unrankable"))
            yield case_tally(*key, style, *counts, [head.score or "" for head in heads if head.status == "scored"])

    def outcomes(self) -> Iterable[Outcome]:
        """Return how each attempt of the pass-style evals ended."""
        return [
            Outcome(head.eval, head.case, head.agent or "", head.attempt or 1, head.status)
            for head in self._heads
            if head.style != "score"
        ]

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

    def reasons(self) -> list[tuple[str, str, str, str | None, int]]:
        """Return of score-style attempts that have no score: eval, agent, status, reason, and how many."""
        found = Counter(
            (head.eval, head.agent or "", head.status, head.reason)
            for head in self._in_order()
            if head.style == "score" and head.status in ("errored", "unrankable")
        )
        return [(*key, count) for key, count in found.items()]

    def retried(self) -> Mapping[str, int]:
        """Return by status how many attempts came to their end only after another try."""
        return Counter(head.status for head in self._heads if head.tried)

    def spent(self) -> Iterable[Spent]:
        """Return what each agent's attempts took."""
        found: dict[str, list[Head]] = {}
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
        return [head.line for head in self._ordered([head for head in self._heads if head.id.startswith(prefix)])]
