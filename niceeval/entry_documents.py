"""One entry of an attempt as data and as JSON text, everything it keeps but its subject and its match."""

import json
from collections.abc import Mapping
from json.encoder import encode_basestring_ascii
from typing import Any, Final

from pydantic_core import to_json as _serialized

from niceeval.assertions import AssertionLog
from niceeval.entries import Entry
from niceeval_expect._evaluation import MATCHED, Diagnostic
from niceeval_expect._scope import NOTHING, findings
from niceeval_expect._score import ThresholdedMatch
from niceeval_expect._spec import is_rebuildable

__all__ = ["MAX_REFERENCES", "entry_document", "entry_text", "quoted", "to_json", "to_json_at_once"]

MAX_REFERENCES: Final = 256
"""How many matching tool calls an entry refers to."""
_POINTS: Final = "points"
_PLAIN: Final = MATCHED.diagnostic

to_json: Final = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False).encode
"""Write JSON-safe data as ASCII text."""


def to_json_at_once(data: Any) -> str:
    """Write JSON-safe data as ASCII text, in a third of the time; numbers may be written another way (1e-5, 1e-05)."""
    try:
        text = _serialized(data)
    except ValueError:
        # Nested deeper than the serializer goes, or with a lone surrogate.
        return to_json(data)
    return text.decode("ascii") if text.isascii() else to_json(data)


quoted: Final = encode_basestring_ascii
"""Write a text as an ASCII JSON string."""


def entry_text(log: AssertionLog, entry: Entry, matches: dict[str, str]) -> str:
    """Return one entry as JSON text; what a plain match says over and over is put together once."""
    evaluation, match = entry.evaluation, entry.match
    if (
        evaluation is None
        or match is None
        or evaluation.diagnostic is not _PLAIN
        or entry.kind != "boolean"
        or entry.points is not None
        or entry.stops
        or entry.group
        or entry.snapshot
        or entry.judged is not None
    ):
        return to_json(entry_document(log, entry, matches))
    try:
        fingerprint, spec, rebuildable = match._kept
    except AttributeError:
        fingerprint, spec, rebuildable = match._as_kept
    # Without a key or a label the requirement is the match, which may be another one for every case.
    named = None if entry.key is not None or entry.label is not None else fingerprint
    same = (
        named, entry.file, entry.line, entry.key, entry.label, entry.gate, log.style, entry.scope, entry.coverage,
        evaluation.examined, rebuildable,
    )  # fmt: skip
    constant = _constants.get(same)
    if constant is None:
        constant = _remember(same, entry_document(log, entry, {}))
    matches[fingerprint] = spec
    found = "" if entry.scope == "value" else _references_text(entry)
    return (
        f'{{"order":{entry.order},{found}"at":{entry.at:.6f},"took":{entry.took:.6f},'
        f'"subject":"{entry.subject}","match":"{fingerprint}",{constant}}}'
    )


_constants: Final[dict[tuple[Any, ...], str]] = {}
_MAX_CONSTANTS: Final = 4096
_VARYING: Final = frozenset({"order", "at", "took", "subject", "match", "calls", "candidates"})


def _remember(same: tuple[Any, ...], document: Mapping[str, Any]) -> str:
    """Keep the fields of a plain match's entry that do not change from attempt to attempt, as JSON text."""
    if len(_constants) >= _MAX_CONSTANTS:
        _constants.clear()
    constant = to_json({name: value for name, value in document.items() if name not in _VARYING})[1:-1]
    _constants[same] = constant
    return constant


def _references_text(entry: Entry) -> str:
    """Return the references as JSON text: they are made of letters, digits and dots."""
    found = findings(entry.evaluation) if entry.evaluation is not None else NOTHING
    calls, candidates = '","'.join(found.matching[:MAX_REFERENCES]), '","'.join(found.candidates)
    calls, candidates = calls and f'"{calls}"', candidates and f'"{candidates}"'
    return f'"calls":[{calls}],"candidates":[{candidates}],'


def _references(entry: Entry) -> dict[str, Any]:
    found = findings(entry.evaluation) if entry.evaluation is not None else NOTHING
    return {"calls": found.matching[:MAX_REFERENCES], "candidates": found.candidates}


def entry_document(log: AssertionLog, entry: Entry, matches: dict[str, str]) -> dict[str, Any]:
    """Return one entry as data, fields at their default left out, and add its match's spec to `matches`."""
    match, evaluation = entry.match, entry.evaluation
    if match is None:
        fingerprint = _POINTS
        matches[fingerprint] = '{"match":"points"}'
    else:
        fingerprint = match.fingerprint
        if fingerprint not in matches:
            matches[fingerprint] = match.canonical_spec
    document: dict[str, Any] = {
        "order": entry.order,
        "requirement": entry.requirement,
        "decision": log.decision(entry),
        "match": fingerprint,
        "file": entry.file,
        "line": entry.line,
        "at": round(entry.at, 6),
        "took": round(entry.took, 6),
    }
    if entry.subject is not None:
        document["subject"] = entry.subject
    if evaluation is None:
        document["outcome"] = "matched" if entry.kind == "points" else "unavailable"
    else:
        document.update(evaluation.as_document())
        rederivable = _rederivable(evaluation.diagnostic)
        if rederivable != "yes":
            document["rederivable"] = rederivable
    if match is not None and (entry.snapshot or not is_rebuildable(match.canonical_spec)):
        document["rederivable"] = "code"
    if entry.judged is not None:
        document["rederivable"] = "judge"
        if entry.judged:
            document["judge"] = entry.judged
    _policy(document, log, entry)
    return document


def _policy(document: dict[str, Any], log: AssertionLog, entry: Entry) -> None:
    if entry.gate:
        document["gate"] = True
    for name in ("key", "label", "points", "coverage"):
        value = getattr(entry, name)
        if value is not None:
            document[name] = value
    if entry.group:
        document["group"] = entry.group
    if entry.scope != "value":
        document["scope"] = entry.scope
        document.update(_references(entry))
    if entry.stops:
        document["stops"] = True
    if isinstance(entry.match, ThresholdedMatch):
        document["threshold"] = entry.match.threshold
    earned = log.earned(entry)
    if earned is not None:
        document["earned"] = earned


def _rederivable(diagnostic: Diagnostic) -> str:
    stack = [diagnostic]
    while stack:
        node = stack.pop()
        if node.code == "budget":
            return "budget"
        stack.extend(node.children)
    return "code" if diagnostic.code == "subject-not-retainable" else "yes"
