"""Files of recorded conversations: how many there are, which ids they have, and each of them when it is asked for."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol, final

from niceeval.agents._steps import Knowledge
from niceeval.errors import EvalLoadError
from niceeval.transcript import Transcript
from niceeval.transcripts._conversations import Conversations, Grouped
from niceeval.transcripts._exports import Exports
from niceeval.transcripts._otel_spans import is_otlp
from niceeval.transcripts._records import Records, Shape
from niceeval.transcripts._scanning import Places, elements_of, lines_of, opening
from niceeval.transcripts.formats import is_message
from niceeval.transcripts.inspect_logs import inspect_ids, inspect_sample

__all__ = ["Shape", "Source", "open_lines", "open_source"]

_GROUPS: Final = ("conversation_id", "thread_id", "session_id")
_LINES: Final = (".jsonl", ".ndjson", ".jsonlines")


class Source(Protocol):
    """The conversations of one file."""

    def __len__(self) -> int:
        """Return how many there are."""

    def place(self, index: int) -> str:
        """Return where one stands."""

    def id(self, index: int) -> str | None:
        """Return the id of one; None where it has none, or cannot be read."""

    def load(self, index: int, known: Knowledge) -> Transcript:
        """Read one.

        Raises:
            EvalLoadError: It cannot be read.
        """


def open_source(path: Path, name: str, shape: Shape) -> Source:
    """Find the conversations of a file.

    Args:
        path: The file.
        name: What sentences and ids call it.
        shape: How it holds conversations.

    Raises:
        EvalLoadError: It cannot be read, or it cannot be told what it holds.
    """
    return _opened(_open, path, name, shape)


def open_lines(path: Path, name: str, shape: Shape) -> Source:
    """Find the conversations of a file that has a record in each line, as `open_source` does."""
    return _opened(_lines, path, name, shape)


def _opened(open_: Callable[[Path, str, Shape], Source], path: Path, name: str, shape: Shape) -> Source:
    try:
        return open_(path, name, shape)
    except OSError as error:
        raise EvalLoadError(f"cannot read {name}: {error.strerror or error}") from None
    except ValueError as error:
        raise EvalLoadError(f"{name}: {error}") from None


def _open(path: Path, name: str, shape: Shape) -> Source:
    suffix = path.suffix.lower()
    if shape.format == "inspect" or (shape.format == "auto" and suffix == ".eval"):
        return _Inspect(path)
    first = opening(path)
    if not first:
        raise ValueError("the file is empty")
    if shape.format != "jsonl" and suffix not in _LINES:
        if first == b"[":
            return _of_array(path, name, shape)
        whole = _whole(path)
        if whole is not None:
            if shape.format == "auto" and isinstance(whole, Mapping) and "eval" in whole and "version" in whole:
                return _Inspect(path)
            places = Places()
            places.add(0, path.stat().st_size, 1)
            return _of_records(Records(path, name, places, ":"), shape)
    return _lines(path, name, shape)


def _lines(path: Path, name: str, shape: Shape) -> Source:
    return _of_records(Records(path, name, lines_of(path), ":"), shape)


def _whole(path: Path) -> Any:
    """Return what a file holds as one JSON value; None where it is none, as with a value in each line."""
    try:
        return json.loads(path.read_bytes())
    except ValueError:
        return None


def _of_array(path: Path, name: str, shape: Shape) -> Source:
    records = Records(path, name, elements_of(path), " row ")
    if len(records) and shape.messages is None and shape.group_by is None and is_message(records.first()):
        whole = Places()
        whole.add(0, path.stat().st_size, 1)
        return Conversations(Records(path, name, whole, ":"), shape)
    return _of_records(records, shape)


def _of_records(records: "Records", shape: Shape) -> Source:
    first = records.first() if len(records) else None
    if shape.format == "otel" or is_otlp(first):
        return Exports(records)
    if shape.group_by is not None:
        return Grouped(records, shape, shape.group_by)
    if shape.messages is None and is_message(first) and not _is_conversation(first, shape):
        field = next((each for each in _GROUPS if isinstance(first, Mapping) and each in first), None)
        if field is None:
            raise ValueError(
                f"{records.place(0)} is a single message; say by which field messages belong together: "
                "--group-by conversation, or group_by="
            )
        return Grouped(records, shape, field)
    return Conversations(records, shape)


def _is_conversation(value: Any, shape: Shape) -> bool:
    """Whether something that could be a message is a whole response, with what went in."""
    return (
        isinstance(value, Mapping) and shape.format in ("auto", "responses") and "input" in value and "output" in value
    )


@final
class _Inspect:
    """A log of inspect_ai, every sample a conversation."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._samples = inspect_ids(path)
        self._ids = list(self._samples)

    def __len__(self) -> int:
        return len(self._ids)

    def place(self, index: int) -> str:
        return f"{self._path.name} sample {self._ids[index]}"

    def id(self, index: int) -> str | None:
        return self._ids[index]

    def load(self, index: int, known: Knowledge) -> Transcript:
        sample, epoch = self._samples[self._ids[index]]
        return inspect_sample(self._path, sample, epoch, known)
