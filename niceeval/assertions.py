"""Assertions: the log of one attempt, the only mutable list, and what registering an entry means."""

import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from time import perf_counter
from typing import Any, Final, final

from niceeval.codec import EncodedSubject
from niceeval.entries import Bench, Entry, Kind, ScopeName, Spawn, Style, Yields
from niceeval.errors import AuthoringError, told
from niceeval.evidence import PLAIN, Evidence, evidence_of, not_a_subject
from niceeval.redaction import Redactor, current_redactor
from niceeval.settling import settling
from niceeval.signals import StopSignal, site
from niceeval.verdict import Part, decide, earn, exact
from niceeval_expect import (
    BooleanMatch,
    CountedToolMatch,
    Evaluation,
    EventMatch,
    Match,
    ScoreMatch,
    ThresholdedMatch,
    ToolMatch,
    ValueMatch,
)
from niceeval_expect._evaluation import bounded, errored, unavailable
from niceeval_expect._judge_port import consults_judge, judging
from niceeval_expect._match import begin, evaluate_part, finish

__all__ = ["AssertionLog"]


@final
class AssertionLog:
    """The entries of one attempt, in order, and the latch that a failed ``or_stop()`` sets; `awaits` if any is async.

    Args:
        style: The style of the eval.
        evidence: Where subjects are captured.
        attempt_id: The attempt it belongs to.
    """

    def __init__(self, style: Style, evidence: Evidence, attempt_id: str) -> None:
        self.style: Style = style
        self.attempt_id = attempt_id
        self.evidence = evidence
        self.entries: list[Entry] = []
        self.mistakes: list[str] = []
        self.latch: Entry | None = None
        self.closed = self.awaits = False
        self.spawn: Spawn | None = None
        self.spawn_judge: Spawn | None = None
        self.judge: Bench | None = None
        self.late: Callable[[str], None] | None = None
        self.redactor: Callable[[], Redactor] = current_redactor
        self.started = perf_counter()
        self._gates = style == "pass"

    # -- what the author may not do

    def mistake(self, message: str, *, depth: int = 3) -> AuthoringError:
        """Return the error for an author's mistake, which also makes the attempt errored wherever it is caught."""
        file, line = site(depth)
        text = f"{file}:{line}: {message}"
        if not self.closed:
            self.mistakes.append(text)
        elif self.late is not None:
            self.late(text)
        return AuthoringError(text)

    def refuse(self, message: str, *, depth: int = 3) -> TypeError:
        """Return the error for an argument of the wrong type, remembered like any other mistake."""
        self.mistake(message, depth=depth + 1)
        return TypeError(message)

    def admit(self) -> None:
        """Refuse what comes after a stop (with its signal) or after the attempt has closed."""
        if self.closed:
            raise self.mistake("the attempt has closed; check before its function or block ends", depth=4)
        if self.latch is not None:
            raise StopSignal

    # -- registering

    def check(self, subject: object, match: object, scope: ScopeName, gate: bool | None = None) -> Entry:
        """Capture the subject, evaluate a synchronous match now, and return the registered entry."""
        if self.closed or self.latch is not None:
            self.admit()
        kind = _KINDS.get(type(match)) or self._kind_of(match)
        rule: Any = match
        plain = type(subject) in PLAIN
        problem = None if plain else not_a_subject(subject)
        if problem is not None:
            raise self.refuse(problem)
        gated = self._gates and (kind == "boolean" if gate is None else gate)
        entry = Entry(len(self.entries), kind, rule, scope, gated)
        begun = perf_counter()
        entry.at = begun - self.started
        entry.live = subject
        try:
            awaits = rule._awaits
        except AttributeError:
            awaits = rule._may_await
        if awaits:
            self._capture_evidence(entry, subject, rule)
            if entry.evaluation is None:
                self._begin(entry, rule, self.evidence.private(subject))
        else:
            captured = self.evidence.texts.get(subject) if type(subject) is str else None
            if captured is None:
                captured = self.evidence.capture(subject)
                if captured.problem is not None or not captured.rebuildable:
                    self._note_loss(entry, captured)
            entry.subject = captured.digest
            if entry.evaluation is None:
                try:
                    evaluation = rule._evaluate(subject, "") if plain else None
                except Exception:
                    evaluation = None
                if type(evaluation) is not Evaluation:
                    evaluation = evaluate_part(rule, subject, "")
                entry.evaluation = bounded(evaluation) if evaluation.diagnostic.children else evaluation
        entry.took = perf_counter() - begun
        self.entries.append(entry)
        return entry

    def _capture_evidence(self, entry: Entry, subject: object, match: Match) -> None:
        """Keep what author code in the match says is its evidence, or the subject where it says nothing."""
        evidence = evidence_of(match)
        if evidence is not None:
            entry.snapshot = True
            try:
                subject = evidence(subject)
            except Exception as error:
                entry.evaluation = errored(f"evidence= raised {told(error)}", exception=error)
                return
        self._capture(entry, subject)

    def _capture(self, entry: Entry, subject: object) -> None:
        captured = self.evidence.capture(subject)
        entry.subject = captured.digest
        self._note_loss(entry, captured)

    def _note_loss(self, entry: Entry, captured: EncodedSubject) -> None:
        """Mark an entry whose subject is not kept as it was; where it cannot be kept, that is how it comes out."""
        if not captured.rebuildable:
            entry.snapshot = True
        if captured.problem is not None:
            code = "subject-not-retainable"
            entry.evaluation = unavailable(f"{code}: {captured.problem}", code=code)

    def _begin(self, entry: Entry, match: BooleanMatch | ScoreMatch, subject: object) -> None:
        port = None
        if consults_judge(match):
            entry.judged = []
            port = None if self.judge is None else self.judge.port(entry.judged)
        with judging(port):
            evaluation, replay = begin(match, subject)
        if replay is None:
            entry.evaluation = evaluation
            return
        # A judge has a cap of its own, and waits where it is busy: that is to hold up no other check.
        spawn = self.spawn_judge if port is not None and self.spawn_judge is not None else self.spawn
        if spawn is None:
            replay.discard()
            raise self.refuse(f"{match!r} is asynchronous, and nothing here can await it", depth=4)
        self.awaits = True
        waiting = replay

        async def finished() -> Evaluation:
            with judging(port):
                return await finish(match, subject, waiting)

        spawn(settling(entry, finished, waiting.discard, self._settled))

    def _settled(self, entry: Entry, evaluation: Evaluation) -> None:
        # What comes after the attempt has closed is too late: it is recorded as cut off.
        if not self.closed:
            entry.evaluation = evaluation

    def close(self) -> None:
        """Let nothing be registered, configured or settled any more; checks that are still awaited are given up."""
        self.closed = True
        for entry in self.entries if self.awaits else ():
            if entry.evaluation is None and entry.kind != "points":
                entry.evaluation = unavailable("the attempt ended before this check did", code="cut-off")
            if entry.give_up is not None:
                entry.give_up()
                entry.give_up = None

    def check_scope(
        self, match: BooleanMatch, evidence: object, cut: str, scope: ScopeName, coverage: str | None,
        yields: Yields | None,
    ) -> Entry:  # fmt: skip
        """Register a claim over a scope.

        Args:
            match: The claim.
            evidence: What it reads, made for it from the cut.
            cut: The digest of the cut, which is what is stored.
            scope: Whose scope it is.
            coverage: How much of the channel it reads was reported.
            yields: What ``or_stop()`` returns, given the entry's evaluation.
        """
        entry = Entry(len(self.entries), "boolean", match, scope, self._gates)
        begun = perf_counter()
        entry.at = begun - self.started
        entry.subject, entry.coverage, entry.yields = cut, coverage, yields
        try:
            awaits = match._awaits
        except AttributeError:
            awaits = match._may_await
        if awaits:
            self._begin(entry, match, evidence)
        else:
            evaluation = evaluate_part(match, evidence, "")
            entry.evaluation = bounded(evaluation) if evaluation.diagnostic.children else evaluation
        entry.took = perf_counter() - begun
        self.entries.append(entry)
        return entry

    def add_points(self, points: object) -> Entry:
        """Register a direct contribution to the score."""
        self.admit()
        if self.style != "score":
            raise self.mistake("t.score() belongs to define_score_eval; a pass-style eval has a verdict and no score")
        entry = Entry(len(self.entries), "points", None, "attempt", False)
        entry.points = self.points(points, "t.score()", zero=True)
        entry.at = perf_counter() - self.started
        self.entries.append(entry)
        return entry

    def points(self, value: object, where: str, *, zero: bool) -> float:
        """Return valid points, or raise."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _MOST_POINTS:
            raise self.refuse(f"{where} takes a finite number of points, got {value!r:.80}", depth=4)
        if value < 0 or (value == 0 and not zero):
            raise self.mistake(f"{where} takes points {'of 0 or more' if zero else 'above 0'}, got {value!r}", depth=4)
        return value if type(value) is int else float(value)

    def _kind_of(self, match: object) -> Kind:
        if isinstance(match, ThresholdedMatch):
            kind: Kind = "threshold"
        elif isinstance(match, ValueMatch):
            kind = "boolean"
        elif isinstance(match, ScoreMatch):
            kind = "measure"
        elif isinstance(match, ToolMatch | CountedToolMatch):
            raise self.refuse(f"check() compares values; register {match!r} with called_tool(...)", depth=4)
        elif isinstance(match, EventMatch):
            raise self.refuse(f"check() compares values; register {match!r} with event(...)", depth=4)
        else:
            raise self.refuse(
                f"check() takes a match as its second argument, got {match!r}; wrap a value in equals(...)", depth=4
            )
        _KINDS[type(match)] = kind
        return kind

    def deciding(self, entry: Entry) -> bool:
        """Tell whether the entry takes part in the fold."""
        if self.style == "pass":
            return entry.gate
        return entry.points is not None or entry.stops

    def parts(self) -> Iterator[Part]:
        """Yield what the folds read, in order of registration."""
        for entry in self.entries:
            evaluation = entry.evaluation
            if entry.kind == "points":
                yield Part("matched", True, entry.requirement, None, exact(entry.points or 0))
                continue
            earned = earn(entry.outcome, entry.measurement, entry.points)
            reason = evaluation.reason if evaluation is not None else None
            yield Part(entry.outcome, self.deciding(entry), entry.requirement, reason, earned or Fraction(0))

    def earned(self, entry: Entry) -> float | None:
        """Return what the entry contributes to the score; None where it has no points, or nothing is known."""
        if entry.kind == "points":
            return entry.points
        earned = earn(entry.outcome, entry.measurement, entry.points) if entry.points is not None else None
        return None if earned is None else float(earned)

    def decision(self, entry: Entry) -> str:
        """Return what the entry says: met, unmet, undecided or informative."""
        if entry.kind == "points":
            return "informative"
        return decide(entry.outcome, deciding=self.deciding(entry))

    def stop(self, entry: Entry) -> StopSignal:
        """Set the latch, if it is not set, and return the signal to raise."""
        if self.latch is None:
            self.latch = entry
        return StopSignal()


_KINDS: Final[dict[type, Kind]] = {}
_MOST_POINTS: Final = sys.float_info.max
