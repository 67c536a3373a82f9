"""Evidence: subjects captured at registration, each stored once per attempt however many checks read it."""

import copy
import hashlib
import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, final

from niceeval.codec import EncodedSubject, encode_subject
from niceeval_expect import Match

__all__ = ["PLAIN", "Evidence", "evidence_of", "not_a_subject"]

PLAIN: Final = frozenset({str, int, float, bool, type(None), dict, list, tuple, set, frozenset, bytes})
"""Types whose values are subjects without another look."""

_ATOMS: Final = frozenset({str, int, float, bool, type(None), bytes, complex, frozenset})
_SAME_SUBJECT: Final = frozenset({"composite"})
_TEXT_LIMIT: Final = 1 << 16


def evidence_of(match: Match) -> Callable[[Any], object] | None:
    """Return what says which part of the subject to keep: of the match, or of a part over the same subject."""
    own: Callable[[Any], object] | None = getattr(match, "_evidence", None)
    if own is not None or match._spec_name not in _SAME_SUBJECT:
        return own
    inner = (evidence_of(part) for part in match._parts() if isinstance(part, Match))
    return next((found for found in inner if found is not None), None)


def not_a_subject(subject: object) -> str | None:
    """Return why a value cannot be a subject, or None."""
    refusal = getattr(type(subject), "_not_a_subject", None)
    if refusal is not None:
        return str(refusal)
    if isinstance(subject, Match):
        return f"check() takes the subject first and the match second, got the match {subject!r} as subject"
    if inspect.isawaitable(subject):
        return f"check() got {type(subject).__name__} as subject, which has not been awaited: did you forget await?"
    if hasattr(type(subject), "__next__") or hasattr(type(subject), "__anext__"):
        return f"check() got an iterator as subject, which reading would use up; pass list(...) of it, got {subject!r}"
    return None


@final
class Evidence:
    """The captured subjects of one attempt, by digest."""

    __slots__ = ("subjects", "texts")

    def __init__(self) -> None:
        self.subjects: dict[str, EncodedSubject] = {}
        self.texts: dict[str, EncodedSubject] = {}
        """The captured texts that are kept as they were, with what they became."""

    def capture(self, value: object) -> EncodedSubject:
        """Encode a value as it is now; the same text is encoded once.

        Returns:
            The encoded subject, whose `problem` says why it cannot be retained, if so.
        """
        if type(value) is str:
            known = self.texts.get(value)
            if known is None:
                known = self._keep(encode_subject(value))
                if len(value) <= _TEXT_LIMIT and known.problem is None and known.rebuildable:
                    self.texts[value] = known
            return known
        return self._keep(encode_subject(value))

    def cut(self, text: str) -> str:
        """Keep a cut, already JSON text, as a subject and return its digest."""
        return self._keep(_cut_subject(text)).digest

    def private(self, value: object) -> object:
        """Return a copy of the same types for an evaluation that goes on after registration.

        What cannot be copied (a lock, a socket) is given as it is.
        """
        try:
            return _copied(value)
        except RecursionError:
            pass
        try:
            return copy.deepcopy(value)  # follows cycles
        except Exception:
            return value

    def _keep(self, subject: EncodedSubject) -> EncodedSubject:
        return self.subjects.setdefault(subject.digest, subject)


@lru_cache(maxsize=1024)
def _cut_subject(text: str) -> EncodedSubject:
    """Return a cut as a subject; most attempts have the same few."""
    return EncodedSubject("cut", text, len(text), hashlib.sha256(text.encode("ascii")).hexdigest())


def _copied(value: Any) -> Any:
    kind = type(value)
    if kind in _ATOMS:
        return value
    if kind is dict:
        return {key: _copied(item) for key, item in value.items()}
    if kind is list:
        return [_copied(item) for item in value]
    if kind is tuple:
        return tuple(map(_copied, value))
    if kind is set:
        return set(value)
    try:
        return copy.deepcopy(value)
    except Exception:
        return value
