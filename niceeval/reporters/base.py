"""What every report reads of a run, and the plain words for one failed or undecided check."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

from niceeval._reading import spec_text, where
from niceeval.record.layout import Header
from niceeval.record.rate_conditions import RateCondition
from niceeval.record.rates import PassRates, Place, Requirement
from niceeval.reporters.judge_texts import judged_texts, unread_replies
from niceeval.results import AssertionResult, AttemptResult
from niceeval.stats.digits import bound
from niceeval_expect._sample import cut_text

__all__ = [
    "Contents",
    "asked_counts",
    "asked_text",
    "attempt_name",
    "check_lines",
    "counts_text",
    "not_run",
    "rate_text",
    "score_text",
]

_MOST: Final = 500
_ORDER: Final = ("failed", "errored", "unrankable", "skipped", "passed", "scored")


class Contents(Protocol):
    """One run, or a part of it, as the record has it."""

    @property
    def folder(self) -> Path:
        """The run's folder."""

    @property
    def header(self) -> Header:
        """Identity, status and plan."""

    @property
    def statuses(self) -> Mapping[str, int]:
        """How many attempts ended with each status."""

    @property
    def rates(self) -> PassRates:
        """The rates of the pass-style evals."""

    @property
    def requirements(self) -> Sequence[Requirement]:
        """How every requirement came out."""

    @property
    def asked(self) -> Sequence[RateCondition]:
        """What became of the evals that ask for a rate, for each agent."""

    @property
    def alone(self) -> Mapping[str, int]:
        """How many attempts ended with each status, of those that are judged each by itself."""

    @property
    def ranking(self) -> Sequence[Place]:
        """The agents by their scores."""

    def attempts(self, *statuses: str, rated: bool | None = None) -> Iterator[AttemptResult]:
        """Yield the attempts with one of these statuses, or all, in the plan's order.

        With `rated`, only those of evals that ask for a rate, or only those of the others.
        """


def counts_text(contents: Contents) -> str:
    """Count the attempts by how they ended, the worst first, and those that did not run."""
    statuses = contents.statuses
    parts = [f"{statuses[status]:,} {status}" for status in _ORDER if statuses.get(status)]
    missing = not_run(contents)
    if missing:
        parts.append(f"{missing:,} not run")
    answers = asked_counts(contents.asked)
    return (", ".join(parts) or "no attempt has ended") + (f"; asked rates: {answers}" if answers else "")


def asked_counts(asked: Sequence[RateCondition]) -> str:
    """Count the answers for evals that ask for a rate, the worst first; nothing where there are none."""
    found = Counter(each.decision for each in asked)
    return ", ".join(f"{found[word]:,} {word}" for word in ("fail", "inconclusive", "pass") if found[word])


def asked_text(each: RateCondition) -> str:
    """Say in one line what became of an eval that asks for a rate, with the arithmetic."""
    rounds = "" if each.rounds is None else f" in {each.rounds} {'round' if each.rounds == 1 else 'rounds'}"
    parts = [f"{each.passed}/{each.decided} passed{rounds}, {each.min_rate:g} asked: {each.decision}"]
    if each.rate is not None:
        parts[0] += f", {bound(each.low, each.min_rate)} to {bound(each.high, each.min_rate)}"
    if each.errored:
        left = f", {each.missing} of them not run" if each.missing else ""
        parts.append(f"{each.errored} undecided{left}")
    if each.decision == "inconclusive" and each.rate is not None:
        if each.needed is None:
            parts.append("no number of attempts at this rate would decide")
        elif each.needed <= each.decided:
            parts.append("without the undecided ones, these would decide")
        else:
            parts.append(f"about {each.needed:,} attempts would decide")
    return "; ".join(parts)


def not_run(contents: Contents) -> int:
    """Return how many planned attempts are not in the record."""
    return max(contents.header.planned() - sum(contents.statuses.values()), 0)


def rate_text(passed: int, decided: int, interval: tuple[float, float] | None) -> str:
    """Write a rate with its 95 % interval; never as a whole that it is not.

    >>> rate_text(131, 150, (0.811, 0.917)), rate_text(999, 1000, None), rate_text(0, 0, None)
    ('0.873 (0.811 to 0.917)', '0.999', '-')
    """
    if not decided:
        return "-"
    shown = _three(passed, decided)
    return shown if interval is None else f"{shown} ({bound(interval[0], 0)} to {bound(interval[1], 1)})"


def _three(passed: int, decided: int) -> str:
    shown = f"{passed / decided:.3f}"
    if shown == "1.000" and passed < decided:
        return "0.999"
    return "0.001" if shown == "0.000" and passed else shown


def score_text(score: float | None) -> str:
    """Write a score with as many digits as it has, up to six behind the point.

    >>> score_text(3.0), score_text(0.1 + 0.2), score_text(None)
    ('3', '0.3', '-')
    """
    return "-" if score is None else f"{score:.6f}".rstrip("0").rstrip(".")


def attempt_name(attempt: AttemptResult, header: Header) -> str:
    """Return the id with what tells attempts of one case apart in this run: the agent, the number."""
    agent = f" by {attempt.agent}" if len(header.agents) > 1 and attempt.agent else ""
    number = f" attempt {attempt.attempt}" if header.most_attempts > 1 else ""
    return f"{attempt.name}{agent}{number}"


def check_lines(entry: AssertionResult) -> list[str]:
    """Say in a few plain lines what a check wanted and what was there, each bounded and on one line."""
    match = spec_text(entry.match)
    named = entry.requirement if match == entry.requirement else f"{entry.requirement}: {match}"
    lines = [f"{named}  ({entry.source.file}:{entry.source.line})"]
    if entry.decision == "undecided":
        lines.append(f"  {entry.evaluation.outcome}: {entry.reason or 'no reason was kept'}")
        return [*lines, *(f"  reply     {_one_line(reply)}" for reply in unread_replies(entry))]
    place = where(entry)
    if place != "$":
        lines.append(f"  where     {place}")
    lines += [f"  expected  {entry.expected}", f"  received  {entry.received}"]
    return [*lines, *(f"  judge     {_one_line(text)}" for text in judged_texts(entry))]


def _one_line(text: str) -> str:
    return " ".join(cut_text(text, _MOST).split())
