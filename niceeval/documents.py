"""The attempt document: everything an attempt leaves behind, as one line of JSON, with secrets replaced."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from niceeval._documents import assertion_from_document
from niceeval.assertions import AssertionLog
from niceeval.codec import BLOB_LIMIT
from niceeval.entries import Entry
from niceeval.entry_documents import entry_document, entry_text, quoted, to_json, to_json_at_once
from niceeval.redaction import CUT, Redactor

if TYPE_CHECKING:
    from niceeval.results import AssertionResult

__all__ = ["Sessions", "assertion_result", "attempt_line"]

Sessions = Callable[[Mapping[str, str]], list[dict[str, Any]]]
"""Gives the sessions as data; texts that are subjects already may be given by reference to their digest."""

_CUT: Final = json.dumps(CUT)[1:-1]


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
    entries = "[" + ",".join([entry_text(log, entry, matches) for entry in log.entries]) + "]"
    known = {text: subject.digest for text, subject in log.evidence.texts.items() if len(text) > 64}
    subjects = {subject.digest: subject.text for subject in log.evidence.subjects.values()}
    # A secret that is a number is found by the way in which Python writes numbers.
    write = to_json if redactor.secrets else to_json_at_once
    conversation = write(sessions(known))
    start = write(head)
    if redactor.secrets:
        texts = (start, entries, conversation, *matches.values(), *subjects.values())
        if any(map(redactor.touches, texts)):
            return _redacted_line(head, log, log.entries, matches, to_json(sessions({})), redactor, blob)
    stored = ",".join([_subject(log, digest, text, blob) for digest, text in subjects.items()])
    return _joined(start, _stored(conversation, blob), stored, matches, entries)


def _joined(head: str, sessions: str, subjects: str, matches: Mapping[str, str], entries: str) -> str:
    specs = ",".join([f'"{digest}":{spec}' for digest, spec in matches.items()])
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
    return f'"{digest}":{{"type":{quoted(subject.type)},"size":{subject.size},"value":{text}}}'


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

    documents = [entry_document(log, entry, {}) for entry in entries]
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


def assertion_result(log: AssertionLog, entry: Entry) -> "AssertionResult":
    """Return the result of one settled entry, as it will be read from the record."""
    matches: dict[str, str] = {}
    document = entry_document(log, entry, matches)
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
