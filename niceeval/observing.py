"""Checks over recorded conversations: each is an attempt whose agent has already answered."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias, final

import attrs

from niceeval.config import load_config
from niceeval.context import EvalContext
from niceeval.evals.cases import CaseSource
from niceeval.evals.eval import Eval, Site
from niceeval.judge_config import JudgeConfig
from niceeval.plans import Plan
from niceeval.record.run import RunResult
from niceeval.runner import execute, require_evals, require_limits, writer_for
from niceeval.transcript import Transcript
from niceeval_expect import (
    CountedToolMatch,
    EventMatch,
    Match,
    ScoreMatch,
    ThresholdedMatch,
    ToolMatch,
    ValueMatch,
)
from niceeval_expect._evaluation import AbsentText
from niceeval_expect._scope import ScopeMatch

__all__ = ["Checks", "Conversation", "observe", "observed_eval", "require_checks", "unique_ids"]

Checks: TypeAlias = Callable[[EvalContext], Any] | Mapping[str, Match]
"""A function of ``t`` that checks the conversation, sync or async; or matches by the requirement they stand for."""

_KINDS: Final = (ValueMatch, ScoreMatch, ToolMatch, CountedToolMatch, EventMatch, ScopeMatch)


class Conversation(Protocol):
    """A recorded conversation that is read when its turn comes."""

    def load(self) -> Transcript:
        """Return it.

        Raises:
            EvalLoadError: It cannot be read.
        """


@final
@attrs.frozen
class _Read:
    """A conversation that has been read."""

    transcript: Transcript

    def load(self) -> Transcript:
        return self.transcript


async def observe(
    transcripts: Mapping[str, Transcript] | Iterable[Transcript] | Iterable[tuple[str, Transcript]],
    checks: Checks,
    /,
    *,
    name: str | None = None,
    concurrency: int = 10,
    timeout: float | None = None,
    judge: JudgeConfig | None = None,
    record: str | Path | None = None,
) -> RunResult:
    """Run checks over recorded conversations, in the running event loop, as a run in which no agent is called.

    Args:
        transcripts: The conversations by their ids, or in pairs with them, such as `read_jsonl` gives; without ids they
            are numbered from 0. An id that comes again gets a number of its own.
        checks: A function of ``t``, sync or async: it finds the conversation in ``t.sessions[0]``, and checks it or all
            of ``t``. Or matches by requirement: tool and event matches over the conversation, other matches over the
            last thing that the agent said, judge matches with what it was asked.
        name: The eval's id in the run; by default the name of the function, or ``checks``.
        concurrency: How many conversations are checked at a time, at least 1.
        timeout: Seconds that each may take; None for no limit.
        judge: The model that answers judge matches; that of the project's configuration by default.
        record: The record folder to write the run to; None keeps it in memory.

    Returns:
        The run: an attempt for each conversation.

    Raises:
        TypeError: There is something else than transcripts, or `checks` cannot check.
        ValueError: A limit makes no sense.
        EvalLoadError: There is no conversation.

    >>> import anyio
    >>> from niceeval import observe, transcript_from_openai
    >>> transcript = transcript_from_openai([
    ...     {"role": "user", "content": "Where is it?"}, {"role": "assistant", "content": "On its way."}])
    >>> def checks(t):
    ...     t.no_failed_actions().key("no failed action")
    >>> async def main():
    ...     return await observe({"a1": transcript}, checks)
    >>> [(attempt.case_id, attempt.status) for attempt in anyio.run(main).attempts]
    [('a1', 'passed')]
    """
    require_checks(checks)
    require_limits(concurrency=concurrency, timeout=timeout)
    if judge is not None and not isinstance(judge, JudgeConfig):
        raise TypeError(f'observe(judge=) takes a JudgeConfig, such as JudgeConfig(model="..."), got {judge!r:.100}')
    pairs = unique_ids((case_id, _Read(transcript)) for case_id, transcript in _pairs(transcripts))
    config, about = load_config(), {"conversations": len(pairs)}
    evals = (observed_eval(pairs, checks, name or _name_of(checks)),)
    plan = Plan(evals, declared_secrets=config.secrets, judge=judge or config.judge, observed=about)
    require_evals(plan)
    writer = writer_for(record, plan.header(), config.secrets)
    return await execute(plan, concurrency=concurrency, timeout=timeout, writer=writer)


def _pairs(given: object) -> Iterable[tuple[str, Transcript]]:
    if isinstance(given, str | bytes | Transcript) or not isinstance(given, Iterable):
        raise TypeError(
            f"observe() takes transcripts, by id or in a list, got {type(given).__name__}; "
            "read them with a reader such as transcript_from_openai(...) or read_jsonl(...)"
        )
    items = given.items() if isinstance(given, Mapping) else given
    for position, item in enumerate(items):
        case_id, transcript = item if isinstance(item, tuple) and len(item) == 2 else (str(position), item)
        if not isinstance(transcript, Transcript):
            raise TypeError(f"observe() got {type(transcript).__name__} where a transcript is meant, at {case_id!r}")
        yield str(case_id), transcript


def _name_of(checks: Checks) -> str:
    name = getattr(checks, "__name__", None)
    return name if isinstance(name, str) and name.isidentifier() else "checks"


def require_checks(checks: object) -> None:
    """Refuse what cannot check a conversation.

    Raises:
        TypeError: It is neither a function nor matches by requirement.
    """
    if isinstance(checks, Mapping):
        for name, match in checks.items():
            if not isinstance(name, str) or not name.strip() or not isinstance(match, _KINDS):
                raise TypeError(f"checks map a requirement's name to a match, got {name!r}: {match!r:.200}")
        if not checks:
            raise TypeError("checks map requirements to matches, got an empty mapping, which checks nothing")
    elif isinstance(checks, Eval):
        raise TypeError(f"{checks!r} is an eval, which sends; give its checks as a plain function of t")
    elif not callable(checks):
        raise TypeError(f"checks are a function of t or a mapping of matches, got {checks!r:.200}")


def unique_ids(pairs: Iterable[tuple[str, Conversation]]) -> list[tuple[str, Conversation]]:
    """Give an id that comes again a number: ``a1``, ``a1#2``, ``a1#3``."""
    seen: dict[str, int] = {}
    found: list[tuple[str, Conversation]] = []
    for case_id, conversation in pairs:
        unique = case_id
        while unique in seen:
            seen[case_id] += 1
            unique = f"{case_id}#{seen[case_id]}"
        seen[unique] = 1
        found.append((unique, conversation))
    return found


def observed_eval(pairs: Iterable[tuple[str, Conversation]], checks: Checks, name: str) -> Eval[Any]:
    """Return the eval whose cases are the conversations, and whose test runs the checks over each."""

    async def observed(t: EvalContext, conversation: Conversation) -> None:
        t._state.recorded = True
        t.observe(conversation.load())
        if isinstance(checks, Mapping):
            _by_match(t, checks)
            return
        result = checks(t)
        if inspect.isawaitable(result):
            await result

    return Eval(id=name, style="pass", fn=observed, source=_site(checks), cases=CaseSource.of(pairs))


def _site(checks: Checks) -> Site:
    code = getattr(inspect.unwrap(checks) if callable(checks) else checks, "__code__", None)
    return Site("<checks>", 1) if code is None else Site(str(code.co_filename), int(code.co_firstlineno))


def _by_match(t: EvalContext, checks: Mapping[str, Match]) -> None:
    turns = t.sessions[0].turns
    for name, match in checks.items():
        if isinstance(match, ToolMatch | CountedToolMatch):
            t.called_tool(match).key(name)
        elif isinstance(match, EventMatch):
            t.event(match).key(name)
        elif isinstance(match, ScopeMatch):
            t._over(match, "").key(name)
        else:
            value: Any = match
            last = turns[-1] if turns else None
            said: Any = AbsentText("the conversation has no turn") if last is None else last.message
            if getattr(match, "family", None) == "judged":
                said = {"input": "" if last is None else last.input, "output": said}
            handle = t.check(said, value).key(name)
            if isinstance(match, ThresholdedMatch):
                handle.gate()
