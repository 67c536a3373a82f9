"""Evidence: subjects captured at registration, each stored once per attempt however many checks read it."""

import hashlib
from collections.abc import Iterable
from typing import Final, final

from niceeval.codec import EncodedSubject, encode_subject
from niceeval_expect._freeze import freeze

__all__ = ["Evidence"]

_TEXT_LIMIT: Final = 1 << 16


@final
class Evidence:
    """The captured subjects of one attempt, by digest."""

    __slots__ = ("_cuts", "_texts", "subjects")

    def __init__(self) -> None:
        self.subjects: dict[str, EncodedSubject] = {}
        self._texts: dict[str, EncodedSubject] = {}
        self._cuts: dict[str, EncodedSubject] = {}

    def capture(self, value: object) -> EncodedSubject:
        """Encode a value as it is now; the same text is encoded once.

        Returns:
            The encoded subject, whose `problem` says why it cannot be retained, if so.
        """
        if type(value) is str:
            known = self._texts.get(value)
            if known is None:
                known = self._keep(encode_subject(value))
                if len(value) <= _TEXT_LIMIT:
                    self._texts[value] = known
            return known
        return self._keep(encode_subject(value))

    def cut(self, text: str) -> str:
        """Keep a cut, already JSON text, as a subject and return its digest."""
        known = self._cuts.get(text)
        if known is None:
            digest = hashlib.sha256(text.encode("ascii")).hexdigest()
            known = self._cuts[text] = self._keep(EncodedSubject("cut", text, len(text), digest))
        return known.digest

    def texts(self) -> Iterable[tuple[str, EncodedSubject]]:
        """Return the captured texts with what they became."""
        return self._texts.items()

    def private(self, value: object) -> object:
        """Return a copy for an evaluation that goes on after registration."""
        return freeze(value)

    def _keep(self, subject: EncodedSubject) -> EncodedSubject:
        return self.subjects.setdefault(subject.digest, subject)
