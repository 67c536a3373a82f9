"""From an attempt document, one line of the record, to the models that people read."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from pydantic import ValidationError

from niceeval.errors import RecordError
from niceeval.results import AssertionResult, AttemptResult, Blobs, Source, Subject
from niceeval_expect._codec import decode
from niceeval_expect._evaluation import Evaluation

__all__ = ["Conversation", "assertion_from_document", "attempt_from_document", "conversation_from_document"]

Conversation: TypeAlias = tuple[tuple[Mapping[str, Any], ...], ...]
"""The turns of each session as they are stored, with their texts in place of references."""


def attempt_from_document(document: Mapping[str, Any], blobs: Blobs) -> AttemptResult:
    """Build the result of one attempt.

    Args:
        document: The parsed line.
        blobs: Returns the bytes behind a digest, called only when a large value is read.

    Raises:
        RecordError: The document does not have the shape of an attempt.
    """
    entries = document.get("assertions") or ()
    reader = _Reader(document, blobs)
    try:
        style, status = document.get("style", "pass"), document["status"]
        return AttemptResult(
            id=document["id"],
            eval_id=document["eval"],
            case_id=document.get("case"),
            agent=document.get("agent") or "",
            attempt=document.get("attempt", 1),
            style=style,
            status=status,
            verdict=status if style == "pass" else None,
            score=_number(document.get("score")),
            partial_score=_number(document.get("partial_score")),
            stopped_by=document.get("stopped_by"),
            duration=document.get("duration", 0.0),
            reason=document.get("reason"),
            started=document.get("started"),
            error=document.get("error"),
            inputs=reader.inputs(),
            assertions=tuple(map(reader.assertion, entries)),
            tries=document.get("tries") or (),
        )
    except (ValidationError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise RecordError(_misshapen(document, error)) from error


def assertion_from_document(document: Mapping[str, Any], index: int, blobs: Blobs) -> AssertionResult:
    """Build one assertion of an attempt, by its place in the document's list.

    Raises:
        RecordError: The document does not have the shape of an attempt.
    """
    try:
        return _Reader(document, blobs).assertion(document["assertions"][index])
    except (ValidationError, KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise RecordError(_misshapen(document, error)) from error


def conversation_from_document(document: Mapping[str, Any], blobs: Blobs) -> Conversation:
    """Return what was said and done in an attempt.

    Raises:
        RecordError: The conversation was too large for the line and its blob is gone, or it is misshapen.
    """
    try:
        return _Reader(document, blobs).conversation()
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RecordError(_misshapen(document, error)) from error


def _misshapen(document: Mapping[str, Any], error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        detail = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    else:
        detail = f"it lacks {error.args[0]!r}" if isinstance(error, KeyError) else str(error)
    return f"attempt {document.get('id')} of {document.get('eval')} cannot be read ({detail})"


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


class _Reader:
    """One document's assertions; subjects and match specs are shared between them, as they are in the document."""

    __slots__ = ("_blobs", "_document", "_matches", "_subjects")

    def __init__(self, document: Mapping[str, Any], blobs: Blobs) -> None:
        self._document = document
        self._blobs = blobs
        self._matches: Mapping[str, Any] = document.get("matches") or {}
        self._subjects: dict[str, Subject] = {}

    def inputs(self) -> tuple[str, ...]:
        try:
            sessions = self._sessions()
        except RecordError:
            return ()
        return tuple(self._text(turn.get("input", "")) for session in sessions for turn in session.get("turns") or ())

    def conversation(self) -> Conversation:
        return tuple(tuple(map(self._turn, session.get("turns") or ())) for session in self._sessions())

    def _sessions(self) -> Sequence[Any]:
        sessions = self._document.get("sessions") or ()
        if isinstance(sessions, Mapping):
            sessions = json.loads(self._blobs(sessions["sha256"]))
        return cast(Sequence[Any], sessions)

    def _turn(self, turn: Mapping[str, Any]) -> Mapping[str, Any]:
        texts = {"input": self._text(turn.get("input", "")), "messages": [*map(self._text, turn.get("messages") or ())]}
        return {**turn, **texts}

    def _text(self, value: Any) -> str:
        """Return a text of a conversation, which may be given by the digest of the subject that it is."""
        if isinstance(value, Mapping) and value.get("$") == "subject":
            try:
                value = self._subject(value["digest"]).encoded()
            except RecordError as error:
                return f"({error})"
        return value if isinstance(value, str) else str(decode(value))

    def assertion(self, entry: Mapping[str, Any]) -> AssertionResult:
        fingerprint = entry["match"]
        match = self._matches.get(fingerprint) or {}
        if "judge" in entry:
            # The spec stays pure; which judge was asked, and how, is what this entry adds to it.
            match = {**match, "judge": entry["judge"]}
        return AssertionResult(
            attempt_id=self._document["id"],
            order=entry["order"],
            key=entry.get("key"),
            label=entry.get("label"),
            requirement=entry["requirement"],
            evaluation=Evaluation.from_document(entry),
            decision=entry["decision"],
            reason=entry.get("reason"),
            source=Source(file=entry.get("file") or "", line=entry.get("line") or 0),
            group=tuple(entry.get("group") or ()),
            scope=entry.get("scope", "value"),
            subject=self._subject(entry.get("subject") or ""),
            match=match,
            fingerprint=fingerprint,
            calls=tuple(entry.get("calls") or ()),
            candidates=tuple(entry.get("candidates") or ()),
            coverage=entry.get("coverage"),
            threshold=entry.get("threshold"),
            gate=entry.get("gate", False),
            stops=entry.get("stops", False),
            points=entry.get("points"),
            earned=entry.get("earned"),
            rederivable=entry.get("rederivable", "yes"),
        )

    def _subject(self, digest: str) -> Subject:
        subject = self._subjects.get(digest)
        if subject is None:
            kept = (self._document.get("subjects") or {}).get(digest) or {}
            subject = Subject(
                type=kept.get("type", "unknown"),
                digest=digest,
                size=kept.get("size", 0),
                redacted=tuple(kept.get("redacted") or ()),
                truncated=kept.get("truncated", False),
            )
            if "value" in kept:
                subject._inline = (kept["value"],)
            elif "blob" in kept:
                subject._load = _loader(kept["blob"], self._blobs)
            self._subjects[digest] = subject
        return subject


def _loader(digest: str, blobs: Blobs) -> Callable[[], Any]:
    return lambda: json.loads(blobs(digest))
