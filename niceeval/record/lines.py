"""Reading the lines of a run, from disk or memory, so that a damaged one costs itself and nothing else."""

import gzip
import hashlib
import json
import re
import warnings
import zlib
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple, Protocol, final, get_args

from pydantic_core import from_json

from niceeval.errors import RecordError, RecordWarning
from niceeval.record.layout import Header, attempt_files, blob_path, read_header
from niceeval.record.write import MemoryWriter
from niceeval.results import Status

__all__ = ["Damaged", "FolderSource", "Line", "MemorySource", "RunSource", "parse", "plain", "specs_in", "warn"]


class Line(NamedTuple):
    """Where one attempt stands: the file or the run in memory, the line from 1, and its bytes in the file."""

    file: str
    number: int
    offset: int
    size: int


class Damaged(Exception):
    """A line that holds no attempt; the message says why."""


class RunSource(Protocol):
    """The attempts of one run, wherever they are."""

    def header(self) -> Header:
        """Return identity, status and plan."""

    def lines(self) -> Iterator[tuple[Line, bytes]]:
        """Yield every line that is not blank, with its place."""

    def text(self, line: Line) -> bytes:
        """Return one line again."""

    def blob(self, digest: str) -> bytes:
        """Return the bytes behind a digest; RecordError where they are gone or altered."""

    def signature(self) -> object:
        """Return a value that changes when there is more to read."""


@final
class FolderSource:
    """A run's folder."""

    __slots__ = ("folder",)

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def header(self) -> Header:
        """Return what `run.json` says now."""
        return read_header(self.folder)

    def lines(self) -> Iterator[tuple[Line, bytes]]:
        """Yield the lines of every writer's file, file by file."""
        for path in attempt_files(self.folder):
            name, offset = str(path), 0
            try:
                with open(path, "rb") as file:
                    for number, raw in enumerate(file, 1):
                        if raw.strip():
                            yield Line(name, number, offset, len(raw)), raw
                        offset += len(raw)
            except OSError as error:
                warnings.warn(f"{path} is left out: {error.strerror or error}", RecordWarning, stacklevel=3)

    def text(self, line: Line) -> bytes:
        """Return one line again, by its place in its file."""
        try:
            with open(line.file, "rb") as file:
                file.seek(line.offset)
                return file.read(line.size)
        except OSError as error:
            raise RecordError(f"cannot read {line.file}: {error.strerror or error}") from error

    def blob(self, digest: str) -> bytes:
        """Return a blob's bytes, which must have the digest that names them."""
        path = blob_path(self.folder, digest)
        try:
            data = gzip.decompress(path.read_bytes())
        except FileNotFoundError:
            raise RecordError(f"{path} is missing, so what it held cannot be shown; restore the file") from None
        except (OSError, EOFError, ValueError, zlib.error) as error:
            raise RecordError(f"{path} cannot be read ({error}), so what it held cannot be shown") from error
        if hashlib.sha256(data).hexdigest() != digest:
            raise RecordError(f"{path} was altered: its content no longer has the digest in its name")
        return data

    def signature(self) -> object:
        """Return the names and sizes of the files."""
        return [(path.name, _size(path)) for path in attempt_files(self.folder)]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


@final
class MemorySource:
    """A run that was never written to disk."""

    __slots__ = ("writer",)

    def __init__(self, writer: MemoryWriter) -> None:
        self.writer = writer

    def header(self) -> Header:
        """Return identity, status and plan."""
        return self.writer.header()

    def lines(self) -> Iterator[tuple[Line, bytes]]:
        """Yield the lines in the order of writing."""
        for number, text in enumerate(self.writer.lines, 1):
            yield Line(f"run {self.writer.id} in memory", number, 0, len(text)), text.encode()

    def text(self, line: Line) -> bytes:
        """Return one line again."""
        return self.writer.lines[line.number - 1].encode()

    def blob(self, digest: str) -> bytes:
        """Return a blob's bytes."""
        return self.writer.read_blob(digest)

    def signature(self) -> object:
        """Return the number of lines."""
        return len(self.writer.lines)


def parse(raw: bytes) -> dict[str, Any]:
    """Return the attempt document that a line holds.

    Raises:
        Damaged: It holds none.
    """
    try:
        document = _loads(raw)
    except RecursionError:
        raise Damaged("it is nested too deeply to be read") from None
    except ValueError:
        whole = raw.endswith(b"\n")
        raise Damaged("it is not valid JSON" if whole else "it ends in the middle, as after a killed process") from None
    if not isinstance(document, dict) or any(not isinstance(document.get(name), str) for name in ("id", "eval")):
        raise Damaged("it does not describe an attempt")
    if document.get("status") in get_args(Status):
        return document
    raise Damaged("it does not say how the attempt ended")


def specs_in(raw: bytes) -> Any:
    """Return the specs that a line holds, by their fingerprints; None where it holds none."""
    try:
        # Several times as fast as Python's own reader, which is asked where this one refuses.
        document = from_json(raw, allow_inf_nan=False)
    except ValueError:
        try:
            document = parse(raw)
        except Damaged:
            return None
    return document.get("matches")


def _loads(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except json.JSONDecodeError:
        raise
    except UnicodeDecodeError:
        raise
    except ValueError:
        # Python refuses integers of more than 4,300 digits, which other tools may have written; Decimal reads them.
        return json.loads(raw, parse_int=lambda digits: int(Decimal(digits)))


def warn(line: Line, reason: object) -> None:
    """Warn that a line is left out, naming the file and the line."""
    warnings.warn(f"{line.file}, line {line.number} is left out: {reason}", RecordWarning, stacklevel=3)


def plain(text: str) -> str:
    """Return text that every engine takes: a surrogate code point without its partner is written as an escape."""
    return text if text.isascii() else _SURROGATES.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


_SURROGATES = re.compile("[\ud800-\udfff]")
