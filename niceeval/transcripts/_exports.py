"""Records that are exports of OpenTelemetry, in which a conversation may be spread over several of them."""

from functools import lru_cache
from typing import Any, final

from niceeval.agents._steps import Knowledge
from niceeval.errors import EvalLoadError
from niceeval.transcript import Transcript
from niceeval.transcripts._otel_spans import Span, spans_of
from niceeval.transcripts._records import Records
from niceeval.transcripts.otel import conversations_of, otel_transcript

__all__ = ["Exports"]


@final
class Exports:
    """Exports of OpenTelemetry, in which a conversation may be spread over several records."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._traces: dict[str, set[str]] = {}
        self._where: dict[str, dict[int, None]] = {}
        self._spans = lru_cache(maxsize=4)(self._read)
        owner: dict[str, str] = {}
        holds: dict[str, dict[int, None]] = {}
        about: set[str] = set()
        self._broken = [
            index for index, record in records.values() if not self._index(index, record, owner, holds, about)
        ]
        for trace, where in holds.items():
            if trace in about:
                own = owner.get(trace, trace)
                self._traces.setdefault(own, set()).add(trace)
                self._where.setdefault(own, {}).update(where)
        self._ids = list(self._traces)

    @staticmethod
    def _index(
        index: int, record: Any, owner: dict[str, str], holds: dict[str, dict[int, None]], about: set[str]
    ) -> bool:
        try:
            spans = spans_of([record])
        except (ValueError, TypeError, AttributeError):
            return False
        for span in spans:
            holds.setdefault(span.trace, {})[index] = None
            if span.is_genai:
                about.add(span.trace)
            own = span.attributes.get("gen_ai.conversation.id")
            if own is not None:
                owner.setdefault(span.trace, str(own))
        return True

    def _read(self, where: tuple[int, ...]) -> list[Span]:
        return spans_of([self._records.value(index) for index in where])

    def __len__(self) -> int:
        return len(self._ids) + len(self._broken)

    def place(self, index: int) -> str:
        if index >= len(self._ids):
            return self._records.place(self._broken[index - len(self._ids)])
        return self._records.place(next(iter(self._where[self._ids[index]])))

    def id(self, index: int) -> str | None:
        return self._ids[index] if index < len(self._ids) else None

    def load(self, index: int, known: Knowledge) -> Transcript:
        if index >= len(self._ids):
            record = self._records.value(self._broken[index - len(self._ids)])
            raise EvalLoadError(f"{self.place(index)} is nothing that OTLP exports as JSON: {record!r:.120}")
        own = self._ids[index]
        try:
            spans = [span for span in self._spans(tuple(self._where[own])) if span.trace in self._traces[own]]
            found = conversations_of(spans)
            return otel_transcript([span for each in found.values() for span in each], known)
        except ValueError as error:
            raise EvalLoadError(f"{self.place(index)} cannot be read: {error}") from error
