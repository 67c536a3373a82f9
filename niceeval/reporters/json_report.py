"""One JSON object with everything about a run; what `niceeval show --json` prints."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from niceeval._reading import where
from niceeval.reporters.base import Contents
from niceeval.results import AssertionResult, AttemptResult

__all__ = ["json_parts"]


def json_parts(contents: Contents, more: Mapping[str, Any] | None = None) -> Iterator[str]:
    """Yield the object in pieces, one attempt in each: a large run is never held as a whole.

    Args:
        contents: The run.
        more: Further members of the object.
    """
    head = json.dumps({**_document(contents), **(more or {})}, allow_nan=False)
    yield f'{head[:-1]}, "attempts": ['
    for number, each in enumerate(contents.attempts()):
        yield ("," if number else "") + "\n" + json.dumps(_attempt(each), allow_nan=False)
    yield "\n]}\n"


def _document(contents: Contents) -> dict[str, Any]:
    header, rates = contents.header, contents.rates
    return {
        "run": {
            "id": header.id,
            "started": header.started.isoformat(),
            "status": header.status,
            "stopped": header.stopped,
            "resumes": header.resumes,
            "folder": str(contents.folder),
            "agents": list(header.agents),
            "experiments": [{"name": each.name, **each.settings} for each in header.experiments],
            "attempts": header.attempts,
            "planned": header.planned(),
            "sequential": header.sequential,
        },
        "counts": dict(sorted(contents.statuses.items())),
        "rates": {
            "overall": rates.overall.model_dump(mode="json"),
            "evals": rates.evals.to_dicts(),
        },
        "asked": [each.model_dump(mode="json") for each in contents.asked],
        "requirements": [each.model_dump(mode="json") for each in contents.requirements],
        "ranking": [each.model_dump(mode="json") for each in contents.ranking],
    }


def _attempt(attempt: AttemptResult) -> dict[str, Any]:
    return {
        "id": attempt.id,
        "eval": attempt.eval_id,
        "case": attempt.case_id,
        "agent": attempt.agent,
        "attempt": attempt.attempt,
        "style": attempt.style,
        "status": attempt.status,
        "score": attempt.score,
        "partial_score": attempt.partial_score,
        "stopped_by": attempt.stopped_by,
        "duration": attempt.duration,
        "reason": attempt.reason,
        "error": None if attempt.error is None else dict(attempt.error),
        "tries": [each.model_dump(mode="json") for each in attempt.tries],
        "inputs": list(attempt.inputs),
        "assertions": [_assertion(each) for each in attempt.assertions],
    }


def _assertion(entry: AssertionResult) -> dict[str, Any]:
    return {
        "requirement": entry.requirement,
        "key": entry.key,
        "label": entry.label,
        "group": list(entry.group),
        "scope": entry.scope,
        "decision": entry.decision,
        "outcome": entry.evaluation.outcome,
        "value": entry.evaluation.value,
        "reason": entry.reason,
        "where": where(entry),
        "expected": entry.expected,
        "received": entry.received,
        "match": dict(entry.match),
        "subject": {"type": entry.subject.type, "digest": entry.subject.digest, "size": entry.subject.size},
        "points": entry.points,
        "earned": entry.earned,
        "file": entry.source.file,
        "line": entry.source.line,
    }
