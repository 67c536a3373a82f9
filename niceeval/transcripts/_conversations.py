"""Records that are conversations, and records that are single messages of conversations."""

from array import array
from collections.abc import Mapping
from typing import Any, Final, final

import attrs

from niceeval.agents._steps import Knowledge
from niceeval.errors import EvalLoadError
from niceeval.transcript import Transcript
from niceeval.transcripts._records import Records, Shape, text_of, value_at
from niceeval.transcripts.formats import read_as
from niceeval_expect._paths import Blocked, parse_path, resolve

__all__ = ["Conversations", "Grouped"]

_IDS: Final = ("conversation_id", "thread_id", "session_id", "id")


@final
class Conversations:
    """A conversation in every record."""

    def __init__(self, records: Records, shape: Shape) -> None:
        self._records, self._shape = records, shape
        self.place = records.place

    def __len__(self) -> int:
        return len(self._records)

    def id(self, index: int) -> str | None:
        try:
            record = self._records.value(index)
        except EvalLoadError:
            return None
        if not isinstance(record, Mapping):
            return None
        if not self._shape.ids:
            return next(filter(None, (text_of(record.get(name)) for name in _IDS)), None)
        parts = [text_of(value_at(record, path)) for path in self._shape.ids]
        return "-".join(part for part in parts if part is not None) if None not in parts else None

    def load(self, index: int, known: Knowledge) -> Transcript:
        return _read(self._records.value(index), self.place(index), self._shape, known)


def _read(record: Any, place: str, shape: Shape, known: Knowledge) -> Transcript:
    conversation = record
    if shape.messages is not None and isinstance(record, Mapping):
        found = resolve(record, parse_path(shape.messages, "messages"))
        if isinstance(found, Blocked):
            raise EvalLoadError(f"{place} has no messages at {shape.messages!r}: {found.sentence()}")
        conversation = found
    try:
        return read_as(shape.format, conversation, known)
    except (ValueError, RecursionError) as error:
        raise EvalLoadError(f"{place} cannot be read: {error}") from error


@final
class Grouped:
    """A message in every record; those with the same id are a conversation, in their order."""

    def __init__(self, records: Records, shape: Shape, field: str) -> None:
        self._records, self._shape = records, shape
        self._found: dict[str, array[int]] = {}
        for index, record in records.values():
            own = None if record is None else text_of(value_at(record, field))
            # A message without an id belongs to no other; it is not dropped.
            self._found.setdefault(f"\0{index}" if own is None else own, array("Q")).append(index)
        self._ids = list(self._found)

    def __len__(self) -> int:
        return len(self._ids)

    def place(self, index: int) -> str:
        return self._records.place(self._found[self._ids[index]][0])

    def id(self, index: int) -> str | None:
        own = self._ids[index]
        return None if own.startswith("\0") else own

    def load(self, index: int, known: Knowledge) -> Transcript:
        messages = [self._message(each) for each in self._found[self._ids[index]]]
        if self.id(index) is None:
            raise EvalLoadError(f"{self.place(index)} does not say which conversation it belongs to")
        return _read(messages, self.place(index), attrs.evolve(self._shape, messages=None), known)

    def _message(self, index: int) -> Any:
        record = self._records.value(index)
        if self._shape.messages is None:
            return record
        found = resolve(record, parse_path(self._shape.messages, "messages"))
        if isinstance(found, Blocked):
            raise EvalLoadError(f"{self._records.place(index)} has no message: {found.sentence()}")
        return found
