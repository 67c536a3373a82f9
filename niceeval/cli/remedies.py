"""What to do about a check or an attempt that could not be decided."""

from collections.abc import Mapping, Sequence
from typing import Final

from niceeval._reading import decisive
from niceeval.results import AssertionResult, AttemptResult

__all__ = ["attempt_remedy", "entry_remedy"]

_BY_CODE: Final[Mapping[str, str]] = {
    "budget": "make the pattern simpler, so that it does not backtrack, or give it more time",
    "depth": "check a part of the value, with at(...)",
    "not-bool": "return True or False from the predicate",
    "no-score": "return a number from 0 to 1 from the measurement",
    "not-a-number": "return a finite number from 0 to 1 from the measurement",
    "off-scale": "return a number from 0 to 1 from the measurement",
    "server-unknown": "report the call's server: ToolCall(..., server=...), or leave server= out of the match",
    "status-unknown": "report how calls end: ToolCall(..., status=...), or pass tool_status= to the reader",
    "name-unresolved": "report the tool and its server apart: ToolCall(name, server=...)",
    "subject-not-retainable": "check a smaller part of the value, or teach it: register_snapshot(type, encode)",
    "judge-model-unresolved": "name a judge: --judge MODEL, [tool.niceeval.judge], or judge= of the experiment",
    "judge-key-unresolved": "set the environment variable with the judge's key, or name another as key_variable",
    "judge-sdk-missing": 'install the SDK: pip install "niceeval[openai]" or "niceeval[anthropic]"',
    "judge-key-refused": "see that the key is right and may use this model, then run again",
    "judge-model-unknown": "see that model and base_url of the judge are right, then run again",
    "judge-rate-limited": "lower the judge's concurrency, or raise its retries, then resume with --errored",
    "judge-timeout": "give the judge more time (timeout), or a smaller model, then resume with --errored",
    "judge-unreachable": "see that the judge's endpoint is up, then resume with --errored",
    "judge-request-refused": "see what the endpoint refuses; structured = false where it knows no JSON schema",
    "judge-refused": "another model or a plainer rule may answer; niceeval evidence has the whole reply",
    "judge-off-format": "use structured = true, or a model that keeps to a format; niceeval evidence has the reply",
    "judge-off-scale": "choices in place of a scale leave less to misread; niceeval evidence has the whole reply",
    "cut-off": "give the attempt more time: --timeout",
}

_BY_WORDS: Final[Sequence[tuple[tuple[str, ...], str]]] = (
    (("usage",), "return Reply(..., usage=Usage(...)) from every turn"),
    (("cost",), "return Reply(..., usage=Usage(cost_usd=...)) from every turn"),
    (("tool call",), "return Reply(..., tool_calls=[...]) from every turn; an empty list says that none was made"),
    (("arguments cannot be read",), "have the agent report the arguments as JSON; the raw text is kept with the call"),
    (("no result yet",), "report what the call returned: ToolCall(..., output=...)"),
    (("no output",), "report what the call returned: ToolCall(..., output=...)"),
    (("input was not reported",), "report the call's arguments: ToolCall(name, input={...})"),
    (("no data",), "return Reply(..., data=...), or a message that is JSON"),
    (("message", "said"), "return the answer as the reply's message"),
    (("turn failed", "agent raised", "before the agent"), "see why the agent broke off, then run again"),
    (("raised",), "make the code in the match handle this value"),
)

_BY_REASON: Final[Sequence[tuple[tuple[str, ...], str]]] = (
    (("AgentReferenceError",), "name the agent: niceeval run ... --agent module:attr"),
    (("EvalLoadError",), "correct what the file holds at this place, then run again"),
    (("nothing was checked",), "register a gate: t.check(...), turn.succeeded(), or .gate() on a threshold"),
    (("timed out",), "give it more time (--timeout), or see what the agent waits for"),
    (("agent unavailable",), "see that the agent can be reached and its key is set, then run again"),
    (("interrupted",), "run it again: it was cut off by Ctrl-C"),
    (("or_stop() was never awaited",), "write: await handle.or_stop()"),
)


def entry_remedy(entry: AssertionResult) -> str | None:
    """Return what to do about an undecided check, where that is known."""
    node = decisive(entry.evaluation)
    known = _BY_CODE.get(node.code) or _BY_CODE.get(entry.evaluation.code)
    return known or _first(_BY_WORDS, " ".join(filter(None, [entry.reason, node.message])))


def attempt_remedy(attempt: AttemptResult) -> str:
    """Return what to do about an attempt that could not run to its end."""
    reason = attempt.reason or ""
    if "timed out" in reason and any(
        entry.evaluation.code == "cut-off" and entry.match.get("judge") for entry in attempt.undecided
    ):
        return "give it more time (--timeout): a judge had not answered yet, and niceeval evidence says what came of it"
    known = _first(_BY_REASON, reason)
    return known or "correct the eval at this place, then run again"


def _first(table: Sequence[tuple[tuple[str, ...], str]], text: str) -> str | None:
    return next((remedy for words, remedy in table if any(word in text for word in words)), None)
