"""Rechecking: new or changed checks over what a run has stored, and what would come out differently."""

import inspect
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias, final

import anyio
import attrs

from niceeval.assertions import AssertionLog
from niceeval.attempt_state import AttemptState
from niceeval.attempts import run_body
from niceeval.context import EvalContext
from niceeval.errors import RecordError
from niceeval.record.chain import open_source
from niceeval.stored import StoredAttempt, attempts_of, awaited
from niceeval.transcript import Transcript
from niceeval_expect import CountedToolMatch, EventMatch, Match, ScoreMatch, ToolMatch, ValueMatch
from niceeval_expect._diagnostic import Diagnostic
from niceeval_expect._evaluation import Evaluation
from niceeval_expect._event_scope import event
from niceeval_expect._judge_port import consults_judge
from niceeval_expect._scope import ScopeMatch
from niceeval_expect._tool_scope import called_tool

__all__ = ["Checks", "Flip", "Recheck", "recheck_run"]

Checks: TypeAlias = Mapping[str, Match] | Callable[[EvalContext], Any]
"""Matches by the requirement whose stored subjects they read, or a function that checks the stored sessions."""

_WORST: Final = ("matched", "measured", "unavailable", "errored", "mismatched")
_MOST_PROBLEMS: Final = 100
_NO_JUDGE: Final = "a judge would have to be asked, and rechecking asks nobody"
_KINDS: Final = (ValueMatch, ScoreMatch, ToolMatch, CountedToolMatch, EventMatch, ScopeMatch)
# What one requirement came out as, and why in a sentence; the sentence is empty where a match has nothing to say.
Said: TypeAlias = tuple[str, str]


@final
@attrs.frozen
class Flip:
    """A requirement that comes out differently under the new checks.

    Attributes:
        attempt: The attempt's id.
        name: The eval's id with the case in brackets.
        agent: The name of the agent.
        requirement: The requirement.
        before: Its stored outcome.
        after: Its outcome now.
        why_before: What was said of it then, in a sentence; empty where it matched.
        why_after: What is said of it now.
    """

    attempt: str
    name: str
    agent: str
    requirement: str
    before: str
    after: str
    why_before: str
    why_after: str


@final
@attrs.frozen
class Recheck:
    """What the new checks say of a run.

    Attributes:
        run_id: The run.
        agents: The names of the agents of the run.
        attempts: How many attempts were read.
        compared: How many requirements were compared with what is stored, over all attempts.
        flips: Those that came out differently.
        fresh: How often a requirement was checked of which the attempt has nothing stored, by outcome.
        problems: What could not be checked, one sentence each; at most 100.
    """

    run_id: str
    agents: tuple[str, ...]
    attempts: int
    compared: int
    flips: tuple[Flip, ...]
    fresh: Mapping[str, int]
    problems: tuple[str, ...]


def recheck_run(folder: str | Path, checks: Checks) -> Recheck:
    """Run checks over the stored subjects and sessions of a run; agents and eval files are not needed.

    Args:
        folder: The folder of the run.
        checks: A mapping from requirement to match, each evaluated over the subjects stored for that requirement (a
            tool or event match over the scope that it was checked on); or a function of ``t``, sync or async, that
            finds the stored sessions in ``t.sessions`` and registers checks.

    Raises:
        TypeError: `checks` is neither.
        RecordError: The run cannot be read.
    """
    if isinstance(checks, Mapping):
        for name, match in checks.items():
            if not isinstance(name, str) or not isinstance(match, _KINDS):
                raise TypeError(f"checks map a requirement's name to a match, got {name!r}: {match!r:.200}")
        if not checks:
            raise TypeError("checks map requirements to matches, got an empty mapping, which checks nothing")
    elif not callable(checks):
        raise TypeError(f"checks are a mapping of matches or a function of t, got {checks!r:.200}")
    source = open_source(Path(folder))
    tally = _Tally()
    for attempt in attempts_of(source):
        tally.add(attempt, checks)
    if isinstance(checks, Mapping):
        for name in checks:
            if name not in tally.known:
                known = ", ".join(map(repr, sorted(tally.known)[:8])) or "none"
                tally.problem(f"no entry has the requirement {name!r}; there are: {known}")
    header = source.header()
    return Recheck(
        header.id, tuple(header.agents), tally.attempts, tally.compared, tuple(tally.flips), tally.fresh,
        tuple(tally.problems)[:_MOST_PROBLEMS],
    )  # fmt: skip


@final
class _Tally:
    def __init__(self) -> None:
        self.attempts = self.compared = 0
        self.flips: list[Flip] = []
        self.fresh: dict[str, int] = {}
        self.problems: dict[str, None] = {}
        self.known: set[str] = set()

    def problem(self, sentence: str) -> None:
        """Remember a sentence once."""
        self.problems.setdefault(sentence)

    def add(self, attempt: StoredAttempt, checks: Checks) -> None:
        """Run the checks over one attempt, and compare with what is stored of it."""
        self.attempts += 1
        stored: dict[str, Said] = {}
        for entry in attempt.entries:
            diagnostic = entry.get("diagnostic")
            said = (diagnostic.get("message") if isinstance(diagnostic, dict) else None) or entry.get("reason") or ""
            _fold(stored, str(entry.get("requirement")), str(entry.get("outcome")), str(said))
        self.known.update(stored)
        found: dict[str, Said] = {}
        try:
            if isinstance(checks, Mapping):
                self._by_match(attempt, checks, found)
            else:
                self._by_function(attempt, checks, found)
        except RecordError as error:
            self.problem(f"{attempt.name}: {error}")
            return
        self._compare(attempt, stored, found)

    def _by_match(self, attempt: StoredAttempt, checks: Mapping[str, Match], found: dict[str, Said]) -> None:
        unread: set[str] = set()
        for entry in attempt.entries:
            requirement = str(entry.get("requirement"))
            match = checks.get(requirement)
            if match is None:
                continue
            if consults_judge(match):
                self.problem(f"{requirement}: {_NO_JUDGE}")
                continue
            try:
                digest = str(entry.get("subject") or "")
                if attempt.subject(digest).get("redacted") or entry.get("rederivable") == "redacted":
                    raise RecordError("a secret was replaced in what it read")
                evaluation = attempt.evaluate(_claim(match, cut=attempt.is_cut(digest)), digest)
            except RecordError as error:
                self.problem(f"{attempt.name}, {requirement}: {error}")
                unread.add(requirement)
                continue
            _fold(found, requirement, evaluation.outcome, _why(evaluation))
        # A part of a requirement's entries would tell nothing about it.
        for requirement in unread:
            found.pop(requirement, None)

    def _by_function(
        self, attempt: StoredAttempt, checks: Callable[[EvalContext], Any], found: dict[str, Said]
    ) -> None:
        log = awaited(_observed, attempt, checks)
        if log.mistakes:
            raise RecordError("; ".join(dict.fromkeys(log.mistakes)))
        for entry in log.entries:
            if entry.judged is not None:
                self.problem(f"{entry.requirement}: {_NO_JUDGE}")
            elif entry.evaluation is not None:
                _fold(found, entry.requirement, entry.evaluation.outcome, _why(entry.evaluation))
        for entry in log.entries:
            if entry.judged is not None:
                found.pop(entry.requirement, None)

    def _compare(self, attempt: StoredAttempt, stored: Mapping[str, Said], found: Mapping[str, Said]) -> None:
        for requirement, (after, why) in found.items():
            if requirement not in stored:
                self.fresh[after] = self.fresh.get(after, 0) + 1
                continue
            self.compared += 1
            before, why_before = stored[requirement]
            if before != after:
                self.flips.append(
                    Flip(attempt.id, attempt.name, attempt.agent, requirement, before, after, why_before, why)
                )


def _fold(said: dict[str, Said], requirement: str, outcome: str, why: str) -> None:
    """Remember how a requirement came out: of several entries the worst counts, since any failure fails it."""
    known = said.get(requirement)
    if known is None or _badness(outcome) > _badness(known[0]):
        said[requirement] = (outcome, why)


def _badness(outcome: str) -> int:
    return _WORST.index(outcome) if outcome in _WORST else len(_WORST)


def _why(evaluation: Evaluation) -> str:
    """Return an evaluation in a sentence; of a composite that says no more than how many, its first part that does."""
    diagnostic = evaluation.diagnostic
    said = diagnostic.line()
    if evaluation.outcome == "matched" or (said and not diagnostic.children):
        return said
    parts = [_first_line(child) for child in diagnostic.children]
    return "; ".join(filter(None, [said, next(filter(None, parts), "")]))


def _first_line(diagnostic: Diagnostic) -> str:
    if diagnostic.code == "matched":
        return ""
    return diagnostic.line() or next(filter(None, map(_first_line, diagnostic.children)), "")


def _claim(match: Match, *, cut: bool) -> Match:
    """Return what is evaluated over a stored subject: over a cut, the claim that a tool or event match makes there."""
    if isinstance(match, ToolMatch | CountedToolMatch | EventMatch | ScopeMatch):
        if not cut:
            raise RecordError(f"{match!r} is about what happened, and a value is stored here; use a value match")
        if isinstance(match, ScopeMatch):
            return match
        return event(match) if isinstance(match, EventMatch) else called_tool(match)
    if cut:
        raise RecordError(f"{match!r} reads a value, and this is about a scope; use a tool match, or a function of t")
    return match


async def _observed(attempt: StoredAttempt, checks: Callable[[EvalContext], Any]) -> AssertionLog:
    """Run a function of ``t`` whose sessions are the stored ones."""
    state = AttemptState(
        agent=None,
        style=attempt.document.get("style", "pass"),
        attempt_id=attempt.id,
        attempt=attempt.document.get("attempt", 1),
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
