"""Stored attempts as checks read them again: subjects, conversations and cuts, from a line of the record."""

import hashlib
import json
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, Final, NoReturn, TypeVar, final

import anyio

from niceeval.conversations import sessions_from_document
from niceeval.errors import RecordError
from niceeval.record.lines import Damaged, RunSource, parse, warn
from niceeval.views import View
from niceeval_expect._codec import decode
from niceeval_expect._evaluation import Evaluation
from niceeval_expect._match import BooleanMatch, Match
from niceeval_expect._score import ScoreMatch
from niceeval_expect._spec import canonical
from niceeval_expect._spec import digest as fingerprint_of

__all__ = ["Altered", "StoredAttempt", "attempts_of", "awaited"]

T = TypeVar("T")
_to_json: Final = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False).encode
_DAMAGES: Final = (AttributeError, IndexError, KeyError, TypeError, ValueError)


class Altered(RecordError):
    """What is stored is not what its digest was made of."""


@final
class StoredAttempt:
    """One stored attempt, with its subjects and conversations decoded when they are needed.

    Args:
        document: The parsed line.
        blob: Returns the bytes behind a digest.
    """

    def __init__(self, document: Mapping[str, Any], blob: Callable[[str], bytes]) -> None:
        self.document = document
        self._blob = blob
        self._values: dict[str, Any] = {}
        self._specs: dict[str, Mapping[str, Any]] = {}

    @property
    def id(self) -> str:
        """The attempt's id."""
        return str(self.document["id"])

    @property
    def name(self) -> str:
        """The eval's id with the case in brackets."""
        case = self.document.get("case")
        return str(self.document["eval"]) if case is None else f"{self.document['eval']}[{case}]"

    @property
    def agent(self) -> str:
        """The name of the agent."""
        return str(self.document.get("agent") or "")

    @property
    def entries(self) -> Iterator[Mapping[str, Any]]:
        """The entries that have an evaluation: direct contributions to a score have none."""
        return (entry for entry in self.document.get("assertions") or () if entry.get("match") != "points")

    def subject(self, digest: str) -> Mapping[str, Any]:
        """Return what is stored of a subject, its encoded value included."""
        stored = (self.document.get("subjects") or {}).get(digest)
        return stored if isinstance(stored, Mapping) else {}

    def is_cut(self, digest: str) -> bool:
        """Tell whether a subject is a cut, which stands for the turns it names."""
        return bool(self.subject(digest).get("type") == "cut")

    def encoded(self, digest: str) -> Any:
        """Return a stored subject as its tagged tree.

        Raises:
            Altered: It is not what its digest was made of.
            RecordError: It was not kept, or its blob is missing.
        """
        stored = self.subject(digest)
        if "value" in stored:
            tree = stored["value"]
            if hashlib.sha256(_to_json(tree).encode("ascii")).hexdigest() != digest:
                raise Altered("the stored value was altered: its digest is another one")
            return tree
        if "blob" in stored:
            return self._parsed_blob(stored["blob"])
        raise RecordError("the value was not kept" if stored else f"there is no subject {digest[:12]}")

    def _parsed_blob(self, digest: str) -> Any:
        data = self._blob(digest)
        try:
            return json.loads(data)
        except ValueError as error:
            raise RecordError(f"blob {digest[:12]} is no JSON: {error}") from error

    def value(self, digest: str) -> Any:
        """Return a stored subject, decoded.

        Raises:
            RecordError: As `encoded` does.
        """
        if digest not in self._values:
            self._values[digest] = decode(self.encoded(digest))
        return self._values[digest]

    def spec(self, fingerprint: str) -> Mapping[str, Any]:
        """Return the spec of a match.

        Raises:
            Altered: It is not what its fingerprint was made of.
            RecordError: It is not there.
        """
        known = self._specs.get(fingerprint)
        if known is None:
            stored = (self.document.get("matches") or {}).get(fingerprint)
            if not isinstance(stored, Mapping):
                raise RecordError(f"the spec of match {fingerprint[:12]} is missing")
            if fingerprint_of(canonical(stored)) != fingerprint:
                raise Altered("the stored match was altered: its fingerprint is another one")
            known = self._specs[fingerprint] = stored
        return known

    @cached_property
    def sessions(self) -> list[Any]:
        """The turns of every session.

        Raises:
            RecordError: The blob that holds them is missing or altered, or they cannot be read.
        """
        stored = self.document.get("sessions") or []
        if isinstance(stored, Mapping):
            stored = self._parsed_blob(str(stored.get("sha256")))
        try:
            return sessions_from_document(stored, self.value)
        except _DAMAGES as error:
            _damaged("the conversations cannot be read", error)

    def view(self, digest: str) -> View:
        """Return the view that a cut stands for."""
        cut = self.value(digest)
        sessions = self.sessions
        try:
            return View(
                tuple(tuple(sessions[part["session"]][place] for place in part["turns"]) for part in cut["sessions"])
            )
        except _DAMAGES as error:
            _damaged("the turns of the cut are not all there", error)

    def evaluate(self, match: Match, digest: str) -> Evaluation:
        """Evaluate a match over the stored subject, or over the turns that the stored cut names.

        Raises:
            RecordError: The evidence is not all there.
        """
        if not isinstance(match, BooleanMatch | ScoreMatch):
            raise RecordError(f"{match!r} is no match that can be evaluated over a subject")
        evidence = self._claimed(match, digest) if self.is_cut(digest) else self.value(digest)
        return awaited(match.evaluate_async, evidence) if match._may_await else match.evaluate(evidence)

    def _claimed(self, match: Match, digest: str) -> object:
        view = self.view(digest)
        try:
            return view.evidence_for(match, self.sessions)
        except _DAMAGES as error:
            _damaged("the conversations cannot be read", error)


def awaited(function: Callable[..., Coroutine[Any, Any, T]], *args: Any) -> T:
    """Run an async function to its end, in a thread of its own: where this is called, an event loop may be running."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(anyio.run, function, *args).result()


def _damaged(what: str, error: Exception) -> NoReturn:
    raise RecordError(f"{what} ({type(error).__name__}: {error})") from error


def attempts_of(source: RunSource) -> Iterator[StoredAttempt]:
    """Yield the attempts of a run; a line that is damaged, or altered out of shape, is a warning."""
    for line, raw in source.lines():
        try:
            document = parse(raw)
            _require_shape(document)
        except Damaged as error:
            warn(line, error)
            continue
        yield StoredAttempt(document, source.blob)


def _require_shape(document: Mapping[str, Any]) -> None:
    entries = document.get("assertions") or []
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise Damaged("its assertions are not objects in a list")
    for name in ("subjects", "matches"):
        if not isinstance(document.get(name) or {}, dict):
            raise Damaged(f"its {name} are no object")
