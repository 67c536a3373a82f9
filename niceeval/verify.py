"""Re-derivation: every stored outcome again, from the stored match and the stored subject. Nothing else is run."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, final

import attrs

from niceeval.errors import RecordError
from niceeval.record.chain import open_source
from niceeval.stored import Altered, StoredAttempt, attempts_of
from niceeval.verdict import Part, decide, earn, fold_pass, fold_score
from niceeval_expect._match import Match
from niceeval_expect._spec import UnknownMatch, find_code, from_spec

__all__ = ["REASONS", "Difference", "Verification", "verify_run"]

REASONS: Final = ("code", "judge", "redacted", "budget", "unknown", "missing")
"""Why an entry cannot be evaluated again: author code, a judge, a redacted subject, a time budget, a custom match whose
module is not imported, lost evidence."""

_FAITHFUL: Final = frozenset({
    "tuple", "set", "frozenset", "dict", "bytes", "bytearray", "decimal", "float", "int", "str", "datetime", "date",
    "time", "timedelta", "path", "uuid", "fraction", "complex", "regex", "command",
})  # fmt: skip
"""Tags of values that are stored so that code sees what it saw; an object comes back as a mapping."""
_MOST_PROBLEMS: Final = 20


@final
@attrs.frozen
class Difference:
    """A stored outcome that cannot be reproduced.

    Attributes:
        attempt: The attempt's id.
        name: The eval's id with the case in brackets.
        agent: The name of the agent.
        requirement: What the entry stands for; None where it is the attempt's own status or score.
        place: File and line where it was written; None for an attempt.
        stored: What is stored: the outcome, with its value if it is a measurement.
        now: What it is now, or how what is stored was altered.
    """

    attempt: str
    name: str
    agent: str
    requirement: str | None
    place: str | None
    stored: str
    now: str


@final
@attrs.frozen
class Verification:
    """What re-derivation found in one run.

    Attributes:
        run_id: The run.
        attempts: How many attempts were read.
        entries: How many entries have an evaluation.
        reproduced: How many came out exactly as stored.
        differences: What did not, and attempts whose status or score does not follow from their entries.
        excluded: How many cannot be evaluated again, by reason.
        problems: What is missing, unknown or changed, one sentence each; at most 20.
    """

    run_id: str
    attempts: int
    entries: int
    reproduced: int
    differences: tuple[Difference, ...]
    excluded: Mapping[str, int]
    problems: tuple[str, ...]

    @property
    def rederivable(self) -> int:
        """How many entries were evaluated again."""
        return self.entries - sum(self.excluded.values())


def verify_run(
    folder: str | Path, *, code: bool = False, load: Callable[[str, str], object] | None = None
) -> Verification:
    """Evaluate every entry of a run that can be evaluated again, and compare with what is stored.

    Neither the eval files nor the agent are needed, and no judge is called. What is stored is also held against the
    digests that name it, and the status and score of each attempt against its entries.

    Args:
        folder: The folder of the run.
        code: Also import the predicates and model classes that entries name, where their source is unchanged.
        load: Called before a module is imported for `code`, with its name and the file of the entry that needs it: an
            eval file is no module that could be imported by its name.

    Raises:
        RecordError: The run cannot be read.
    """
    source = open_source(Path(folder))
    verifier = _Verifier(code, load)
    for attempt in attempts_of(source):
        verifier.add(attempt)
    counts = verifier.counts
    excluded = {reason: counts[reason] for reason in REASONS if counts[reason]}
    excluded |= {reason: count for reason, count in counts.items() if reason not in (*REASONS, "reproduced", "differs")}
    return Verification(
        source.header().id,
        verifier.attempts,
        counts.total(),
        counts["reproduced"],
        tuple(verifier.differences),
        excluded,
        tuple(verifier.problems)[:_MOST_PROBLEMS],
    )


@final
class _Excluded(Exception):
    """An entry that cannot be evaluated again: why, in a word, and in a sentence where there is something to say."""

    def __init__(self, reason: str, sentence: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.sentence = sentence


@final
class _Verifier:
    """The counts so far, and the matches that were rebuilt."""

    def __init__(self, code: bool, load: Callable[[str, str], object] | None) -> None:
        self.counts: Counter[str] = Counter()
        self.differences: list[Difference] = []
        self.problems: dict[str, None] = {}
        self.attempts = 0
        self._code = code
        self._load = load
        self._rules: dict[str, Match | _Excluded] = {}

    def add(self, attempt: StoredAttempt) -> None:
        """Verify one attempt."""
        self.attempts += 1
        for entry in attempt.entries:
            stored = _outcome(str(entry.get("outcome")), entry.get("value"))
            try:
                now = self._again(attempt, entry)
            except _Excluded as excluded:
                self.counts[excluded.reason] += 1
                if excluded.sentence is not None:
                    self.problems.setdefault(excluded.sentence)
                continue
            if now == stored:
                self.counts["reproduced"] += 1
            else:
                self.counts["differs"] += 1
                self._differs(attempt, entry, stored, now)
        for where, stored, now in _inconsistent(attempt):
            self._differs(attempt, where, stored, now)

    def _differs(self, attempt: StoredAttempt, entry: Mapping[str, Any] | None, stored: str, now: str) -> None:
        requirement = place = None
        if entry is not None:
            requirement = str(entry.get("requirement"))
            place = f"{entry.get('file')}:{entry.get('line')}"
        self.differences.append(Difference(attempt.id, attempt.name, attempt.agent, requirement, place, stored, now))

    def _again(self, attempt: StoredAttempt, entry: Mapping[str, Any]) -> str:
        """Return how an entry comes out now, or how what is stored of it was altered."""
        reason = str(entry.get("rederivable", "yes"))
        if reason != "yes" and not (reason == "code" and self._code):
            raise _Excluded(reason)
        digest = str(entry.get("subject") or "")
        try:
            spec = attempt.spec(str(entry.get("match")))
            if reason == "code" and (_keeps_less(spec) or not _faithful(attempt.encoded(digest))):
                raise _Excluded("code", "where a snapshot stands for the value, code cannot be run on it again")
            evaluation = attempt.evaluate(self._rule(entry, spec), digest)
        except Altered as error:
            return str(error)
        except RecordError as error:
            if reason == "code":
                raise _Excluded("code") from error
            raise _Excluded("missing", str(error)) from error
        return _outcome(evaluation.outcome, evaluation.value)

    def _rule(self, entry: Mapping[str, Any], spec: Mapping[str, Any]) -> Match:
        fingerprint = str(entry["match"])
        rule = self._rules.get(fingerprint)
        if rule is None:
            rule = self._rules[fingerprint] = self._rebuilt(spec, str(entry.get("file")))
        if isinstance(rule, _Excluded):
            raise rule
        return rule

    def _rebuilt(self, spec: Mapping[str, Any], file: str) -> Match | _Excluded:
        def find(reference: Mapping[str, Any]) -> Any:
            module = str(reference.get("module"))
            if self._load is not None and module not in sys.modules:
                self._load(module, file)
            return find_code(reference)

        try:
            return from_spec(spec, code=find if self._code else None)
        except UnknownMatch as error:
            return _Excluded("unknown", f"no match named {error.name!r} is registered: import the module that does it")
        except (ValueError, ImportError) as error:
            return _Excluded("code", str(error) if self._code else None)


def _outcome(outcome: str, value: object) -> str:
    return outcome if value is None else f"{outcome} {value!r}"


def _keeps_less(spec: object) -> bool:
    """Tell whether a part of the match stores other evidence than the value that it reads."""
    if isinstance(spec, Mapping):
        return (spec.get("match") == "satisfies" and spec.get("evidence") is not None) or _keeps_less(
            list(spec.values())
        )
    return isinstance(spec, list) and any(map(_keeps_less, spec))


def _faithful(tree: object) -> bool:
    """Tell whether a stored value is read back so that code cannot tell it from what it was."""
    if isinstance(tree, Mapping):
        tag = tree.get("$")
        return (tag is None or tag in _FAITHFUL) and all(map(_faithful, tree.values()))
    return not isinstance(tree, list) or all(map(_faithful, tree))


def _inconsistent(attempt: StoredAttempt) -> Iterator[tuple[Mapping[str, Any] | None, str, str]]:
    """Yield decisions that do not follow from their entries, and the status or score where it does not from them."""
    document = attempt.document
    passing = document.get("style", "pass") == "pass"
    parts: list[Part] = []
    for entry in document.get("assertions") or ():
        points = entry.get("match") == "points"
        deciding = bool(entry.get("gate")) if passing else bool(entry.get("stops")) or "points" in entry
        outcome, stored = str(entry.get("outcome")), entry.get("decision")
        now = "informative" if points else decide(outcome, deciding=deciding)
        if stored != now:
            yield entry, f"decision {stored}", f"decision {now}"
        value = entry.get("value") if outcome == "measured" or "threshold" in entry else None
        parts.append(Part(outcome, deciding, earned=earn(outcome, value, entry.get("points")) or Fraction(0)))
    status = str(document.get("status"))
    folded = fold_pass(parts) if passing else fold_score(parts)
    if status == folded.status == "scored" and document.get("score") != folded.score:
        yield None, f"score {document.get('score')!r}", f"score {folded.score!r}"
    # An attempt that did not run to its end is errored, one whose agent broke failed, whatever its entries say.
    ended_early = status == "errored" or (status == "failed" and "error" in document)
    left_out = status == "skipped" and (
        folded.status in ("passed", "scored") or not any(each.deciding for each in parts)
    )
    if status != folded.status and not ended_early and not left_out:
        yield None, f"status {status}", f"status {folded.status}"
