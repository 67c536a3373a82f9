"""The attempt document: everything an attempt leaves behind, as one line of JSON, with secrets replaced."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from niceeval._documents import assertion_from_document
from niceeval.assertions import AssertionLog
from niceeval.codec import BLOB_LIMIT
from niceeval.entries import Entry
from niceeval.redaction import CUT, Redactor
from niceeval_expect._evaluation import MATCHED, Diagnostic
from niceeval_expect._match import ThresholdedMatch
from niceeval_expect._scope import NOTHING, findings
from niceeval_expect._spec import is_rebuildable

if TYPE_CHECKING:
    from niceeval.results import AssertionResult

__all__ = ["Sessions", "assertion_result", "attempt_line", "to_json"]

Sessions = Callable[[Mapping[str, str]], list[dict[str, Any]]]
"""Gives the sessions as data; texts that are subjects already may be given by reference to their digest."""

MAX_REFERENCES: Final = 256
"""How many matching tool calls an entry refers to."""
_POINTS: Final = "points"
_PLAIN: Final = MATCHED.diagnostic
_CUT: Final = json.dumps(CUT)[1:-1]
_encoder: Final = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False)
to_json: Final = _encoder.encode


def attempt_line(
    head: Mapping[str, Any],
    log: AssertionLog,
    sessions: Sessions,
    redactor: Redactor,
    blob: Callable[[bytes], str],
) -> str:
    """Return the line of a finished attempt.

    Args:
        head: Identity, status, timing and reasons.
        log: The closed log of its assertions.
        sessions: Gives its conversations.
        redactor: Replaces secrets in everything that is stored.
        blob: Stores large content and returns its digest.
    """
    matches: dict[str, str] = {}
    entries = "[" + ",".join([_entry_text(log, entry, matches) for entry in log.entries]) + "]"
    known = {text: subject.digest for text, subject in log.evidence.texts() if len(text) > 64}
    subjects = {subject.digest: subject.text for subject in log.evidence.subjects.values()}
    conversation = to_json(sessions(known))
    if redactor.secrets:
        texts = (to_json(head), entries, conversation, *matches.values(), *subjects.values())
        if any(map(redactor.touches, texts)):
            return _redacted_line(head, log, log.entries, matches, to_json(sessions({})), redactor, blob)
    stored = ",".join(_subject(log, digest, text, blob) for digest, text in subjects.items())
    return _joined(to_json(head), _stored(conversation, blob), stored, matches, entries)


def _joined(head: str, sessions: str, subjects: str, matches: Mapping[str, str], entries: str) -> str:
    specs = ",".join(f'"{digest}":{spec}' for digest, spec in matches.items())
    return f'{head[:-1]},"sessions":{sessions},"subjects":{{{subjects}}},"matches":{{{specs}}},"assertions":{entries}}}'


def _stored(text: str, blob: Callable[[bytes], str]) -> str:
    if len(text) <= BLOB_LIMIT:
        return text
    return to_json({"$": "blob", "sha256": blob(text.encode("ascii")), "size": len(text)})


def _subject(
    log: AssertionLog, digest: str, text: str, blob: Callable[[bytes], str], names: tuple[str, ...] = ()
) -> str:
    subject = log.evidence.subjects[digest]
    if subject.problem is not None:
        return f'"{digest}":{to_json({"type": subject.type, "size": subject.size})}'
    fields: dict[str, Any] = {"type": subject.type, "size": len(text)}
    if names:
        fields["redacted"] = names
        digest = hashlib.sha256(text.encode("ascii")).hexdigest()
    if len(text) > BLOB_LIMIT:
        fields["blob"] = blob(text.encode("ascii"))
        return f'"{digest}":{to_json(fields)}'
    if names:
        return f'"{digest}":{to_json(fields)[:-1]},"value":{text}}}'
    return f'"{digest}":{{"type":{to_json(subject.type)},"size":{subject.size},"value":{text}}}'


def _redacted_line(
    head: Mapping[str, Any],
    log: AssertionLog,
    entries: Sequence[Entry],
    matches: Mapping[str, str],
    conversation: str,
    redactor: Redactor,
    blob: Callable[[bytes], str],
) -> str:
    """Return the line with every secret replaced, and each of `entries` whose evidence held one marked."""

    def clean(text: str, *, cut: bool = False) -> tuple[str, tuple[str, ...]]:
        # What diagnostics cut off may leave a part of a secret that no probe finds.
        if not redactor.touches(text) and not (cut and _CUT in text):
            return text, ()
        tree, names = redactor.redact_tree(json.loads(text))
        return to_json(tree), names

    documents = [_entry(log, entry, {}) for entry in entries]
    read = {entry.subject for entry in entries}
    stored, renamed, dirty = [], {}, set()
    for digest, subject in log.evidence.subjects.items():
        if digest not in read:
            continue
        text, names = ("", ()) if subject.problem is not None else clean(subject.text)
        stored.append(_subject(log, digest, text, blob, names))
        if names:
            renamed[digest] = hashlib.sha256(text.encode("ascii")).hexdigest()
            dirty.add(digest)
    specs = {}
    for digest, spec in matches.items():
        specs[digest], names = clean(spec)
        if names:
            dirty.add(digest)
    conversation, spoken = clean(conversation)
    for document in documents:
        scoped = document.get("scope", "value") != "value" and bool(spoken)
        touched = document.get("subject") in dirty or document["match"] in dirty or scoped
        if touched and "rederivable" not in document:
            document["rederivable"] = "redacted"
        if document.get("subject") in renamed:
            document["subject"] = renamed[document["subject"]]
    cleaned = clean(to_json(documents), cut=True)[0]
    return _joined(clean(to_json(head), cut=True)[0], _stored(conversation, blob), ",".join(stored), specs, cleaned)


def _entry_text(log: AssertionLog, entry: Entry, matches: dict[str, str]) -> str:
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
    ):
        return to_json(_entry(log, entry, matches))
    fingerprint = match.fingerprint
    same = (
        fingerprint, entry.file, entry.line, entry.key, entry.label, entry.gate, log.style, entry.scope, entry.coverage,
        evaluation.examined,
    )  # fmt: skip
    constant = _constants.get(same)
    if constant is None:
        constant = _remember(same, _entry(log, entry, {}))
    if fingerprint not in matches:
        matches[fingerprint] = match.canonical_spec
    found = "" if entry.scope == "value" else _references_text(entry)
    return (
        f'{{"order":{entry.order},{found}"at":{entry.at:.6f},"took":{entry.took:.6f},'
        f'"subject":"{entry.subject}",{constant}}}'
    )


_constants: Final[dict[tuple[Any, ...], str]] = {}
_MAX_CONSTANTS: Final = 4096
_VARYING: Final = frozenset({"order", "at", "took", "subject", "calls", "candidates"})


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


def _entry(log: AssertionLog, entry: Entry, matches: dict[str, str]) -> dict[str, Any]:
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
    elif evaluation.diagnostic is MATCHED.diagnostic:
        document.update(evaluation.as_document())
    else:
        document.update(evaluation.as_document())
        rederivable = _rederivable(entry, evaluation.diagnostic)
        if rederivable != "yes":
            document["rederivable"] = rederivable
    if match is not None and (entry.snapshot or not is_rebuildable(match.canonical_spec)):
        document["rederivable"] = "code"
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


def _rederivable(entry: Entry, diagnostic: Diagnostic) -> str:
    stack = [diagnostic]
    while stack:
        node = stack.pop()
        if node.code == "budget":
            return "budget"
        stack.extend(node.children)
    return "code" if diagnostic.code == "subject-not-retainable" else "yes"


def assertion_result(log: AssertionLog, entry: Entry) -> "AssertionResult":
    """Return the result of one settled entry, as it will be read from the record."""
    matches: dict[str, str] = {}
    document = _entry(log, entry, matches)
    subject = log.evidence.subjects.get(entry.subject or "")
    redactor = log.redactor()
    if redactor.secrets:
        texts = (to_json(document), *matches.values(), subject.text if subject is not None else "")
        if any(map(redactor.touches, texts)):
            blobs = _Blobs()
            head = {"id": log.attempt_id, "eval": log.attempt_id}
            line = _redacted_line(head, log, [entry], matches, "[]", redactor, blobs.keep)
            return assertion_from_document(json.loads(line), 0, blobs.__getitem__)
    subjects = {}
    if subject is not None:
        kept = {"value": json.loads(subject.text)} if subject.problem is None else {}
        subjects[subject.digest] = {"type": subject.type, "size": subject.size, **kept}
    whole = {
        "id": log.attempt_id,
        "eval": log.attempt_id,
        "subjects": subjects,
        "matches": {digest: json.loads(spec) for digest, spec in matches.items()},
        "assertions": [document],
    }
    return assertion_from_document(whole, 0, _Blobs().__getitem__)


class _Blobs(dict[str, bytes]):
    """Large subjects of a result that no record holds yet."""

    def keep(self, data: bytes) -> str:
        """Keep bytes and return their digest."""
        digest = hashlib.sha256(data).hexdigest()
        self[digest] = data
        return digest
