"""Re-derivation: every stored outcome again, from the stored match and the stored subject. Nothing else is run."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final, final

import attrs

from niceeval.conversations import sessions_from_document
from niceeval.errors import RecordError
from niceeval.record.lines import Damaged, FolderSource, RunSource, parse, warn
from niceeval.views import View
from niceeval_expect._codec import decode
from niceeval_expect._evaluation import Evaluation
from niceeval_expect._match import BooleanMatch, Match
from niceeval_expect._score import ScoreMatch
from niceeval_expect._spec import find_code, from_spec

__all__ = ["Attempt", "Difference", "Verification", "attempts_of", "verify_run"]

REASONS: Final = ("code", "judge", "redacted", "budget", "missing")
"""Why an entry cannot be evaluated again: author code, a judge, a redacted subject, a time budget, lost evidence."""


@final
@attrs.frozen
class Difference:
    """An entry that came out differently than it is stored.

    Attributes:
        attempt: The attempt's id.
        name: The eval's id with the case in brackets.
        requirement: What the entry stands for.
        place: File and line where it was written.
        stored: The stored outcome.
        now: The outcome now, with its value if it is a measurement.
    """

    attempt: str
    name: str
    requirement: str
    place: str
    stored: str
    now: str


@final
@attrs.frozen
class Verification:
    """What re-derivation found in one run.

    Attributes:
        run_id: The run.
        entries: How many entries have an evaluation.
        reproduced: How many came out exactly as stored.
        differences: Those that did not.
        excluded: How many cannot be evaluated again, by reason.
    """

    run_id: str
    entries: int
    reproduced: int
    differences: tuple[Difference, ...]
    excluded: Mapping[str, int]

    @property
    def rederivable(self) -> int:
        """How many entries were evaluated again."""
        return self.reproduced + len(self.differences)


@final
class Attempt:
    """One stored attempt, with its subjects and conversations decoded when they are needed."""

    def __init__(self, document: Mapping[str, Any], blob: Callable[[str], bytes]) -> None:
        self.document = document
        self._blob = blob
        self._values: dict[str, Any] = {}

    @property
    def name(self) -> str:
        """The eval's id with the case in brackets."""
        case = self.document.get("case")
        return str(self.document["eval"]) if case is None else f"{self.document['eval']}[{case}]"

    @property
    def entries(self) -> Iterator[Mapping[str, Any]]:
        """The entries that have an evaluation: direct contributions to a score have none."""
        return (entry for entry in self.document.get("assertions") or () if entry.get("match") != "points")

    def is_cut(self, digest: str) -> bool:
        """Tell whether a subject is a cut, which stands for the turns it names."""
        stored = (self.document.get("subjects") or {}).get(digest) or {}
        return bool(stored.get("type") == "cut")

    def value(self, digest: str) -> Any:
        """Return a stored subject, decoded.

        Raises:
            RecordError: It was not kept, or its blob is missing or altered.
        """
        if digest not in self._values:
            stored = (self.document.get("subjects") or {}).get(digest) or {}
            if "value" in stored:
                self._values[digest] = decode(stored["value"])
            elif "blob" in stored:
                self._values[digest] = decode(json.loads(self._blob(stored["blob"])))
            else:
                raise RecordError(f"the value of subject {digest} was not kept")
        return self._values[digest]

    @cached_property
    def sessions(self) -> list[Any]:
        """The turns of every session.

        Raises:
            RecordError: The blob that holds them is missing or altered.
        """
        stored = self.document.get("sessions") or []
        if isinstance(stored, Mapping):
            stored = json.loads(self._blob(stored["sha256"]))
        return sessions_from_document(stored, self.value)

    def view(self, digest: str) -> View:
        """Return the view that a cut stands for."""
        cut = self.value(digest)["sessions"]
        chosen = (tuple(self.sessions[part["session"]][index] for index in part["turns"]) for part in cut)
        return View(tuple(chosen))

    def evaluate(self, match: Match, digest: str) -> Evaluation:
        """Evaluate a match over the stored subject, or over the turns that the stored cut names.

        Raises:
            RecordError: The evidence is not all there.
        """
        if not isinstance(match, BooleanMatch | ScoreMatch):
            raise RecordError(f"{match!r} is no match that can be evaluated over a subject")
        if self.is_cut(digest):
            return match.evaluate(self.view(digest).evidence_for(match, self.sessions))
        return match.evaluate(self.value(digest))


def attempts_of(source: RunSource) -> Iterator[Attempt]:
    """Yield the attempts of a run; a damaged line is a warning."""
    for line, raw in source.lines():
        try:
            yield Attempt(parse(raw), source.blob)
        except Damaged as error:
            warn(line, error)


def verify_run(folder: str | Path, *, code: bool = False) -> Verification:
    """Evaluate every entry of a run that can be evaluated again, and compare with what is stored.

    Neither the eval files nor the agent are needed, and no judge is called.

    Args:
        folder: The folder of the run.
        code: Also import the predicates and model classes that entries name, where their source is unchanged.

    Raises:
        RecordError: The run cannot be read.
    """
    source = FolderSource(Path(folder))
    run_id = source.header().id
    counts: Counter[str] = Counter()
    differences: list[Difference] = []
    rules: dict[str, Match | str] = {}
    for attempt in attempts_of(source):
        for entry in attempt.entries:
            verdict = _again(attempt, entry, rules, code)
            if isinstance(verdict, Difference):
                differences.append(verdict)
            else:
                counts[verdict] += 1
    excluded = {reason: counts[reason] for reason in REASONS if counts[reason]}
    entries = sum(counts.values()) + len(differences)
    return Verification(run_id, entries, counts["reproduced"], tuple(differences), excluded)


def _again(attempt: Attempt, entry: Mapping[str, Any], rules: dict[str, Match | str], code: bool) -> Difference | str:
    """Return what an entry counts as: reproduced, a difference, or the reason why it is not evaluated."""
    reason = entry.get("rederivable", "yes")
    if reason != "yes" and not (reason == "code" and code):
        return str(reason)
    fingerprint = entry["match"]
    rule = rules.get(fingerprint)
    if rule is None:
        rule = rules[fingerprint] = _rule(attempt.document["matches"][fingerprint], code)
    if isinstance(rule, str):
        return rule
    try:
        evaluation = attempt.evaluate(rule, entry.get("subject") or "")
    except (RecordError, KeyError, IndexError) as error:
        if isinstance(error, RecordError):
            return "code" if reason == "code" else "missing"
        raise
    if evaluation.outcome == entry["outcome"] and evaluation.value == entry.get("value"):
        return "reproduced"
    now = evaluation.outcome if evaluation.value is None else f"{evaluation.outcome} {evaluation.value!r}"
    stored = entry["outcome"] if entry.get("value") is None else f"{entry['outcome']} {entry['value']!r}"
    place = f"{entry.get('file')}:{entry.get('line')}"
    return Difference(str(attempt.document["id"]), attempt.name, entry["requirement"], place, stored, now)


def _rule(spec: Mapping[str, Any], code: bool) -> Match | str:
    try:
        return from_spec(spec, code=find_code if code else None)
    except ValueError:
        return "code"
