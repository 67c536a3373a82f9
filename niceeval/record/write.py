"""Writing a run: the plan first, then one line per finished attempt, then the seal."""

import contextlib
import errno
import gzip
import hashlib
import os
import secrets
import shutil
import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Self, final

from niceeval.errors import RecordError
from niceeval.record.layout import (
    FORMAT,
    RUNS,
    STAGING,
    Header,
    RunStatus,
    Settled,
    blob_path,
    new_run_id,
    read_header,
    write_atomically,
    write_header,
)
from niceeval.record.process import Process
from niceeval.redaction import current_redactor

__all__ = ["MemoryWriter", "RunWriter"]


@final
class RunWriter:
    """One process's pen in one run folder: `create` starts a run, `join` adds a process to it.

    A line that `append` has returned from survives the death of the process at any later instant.
    """

    __slots__ = ("_document", "_fd", "_lock", "_owner", "_size", "_torn", "folder", "path")

    def __init__(self, folder: Path, document: Mapping[str, Any], *, owner: bool) -> None:
        self.folder = folder
        self.path = folder / f"attempts-{secrets.token_hex(4)}.jsonl"
        self._document = document
        self._owner = owner
        self._lock = threading.Lock()
        self._torn, self._size = False, 0  # of a file that nobody else writes to
        try:
            self._fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | _BINARY, 0o644)
        except OSError as error:
            raise _failure("create", self.path, error) from error

    @classmethod
    def create(cls, root: Path, header: Mapping[str, Any]) -> Self:
        """Start a run: a folder of its own that appears with its plan in it, or not at all.

        Args:
            root: The record's folder, usually ``.niceeval``; made where it is missing.
            header: What `run.json` says beyond format, id, start and status: agents, attempts, evals.

        Raises:
            RecordError: Something cannot be written.
        """
        now = datetime.now(UTC)
        staging = root / RUNS / f"{STAGING}{secrets.token_hex(8)}"
        try:
            staging.mkdir(parents=True)
            _keep_out_of_git(root)
            folder, document = _publish(staging, now, header)
        except OSError as error:
            shutil.rmtree(staging, ignore_errors=True)
            raise _failure("start a run in", root, error) from error
        try:
            return cls(folder, document, owner=True)
        except RecordError:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    @classmethod
    def join(cls, folder: Path) -> Self:
        """Write to a run that another process has started and will seal; this one gets a file of its own.

        Args:
            folder: The run's folder.

        Raises:
            RecordError: There is no such run, or it is sealed.
        """
        status = read_header(folder).status
        if status != "running":
            raise RecordError(f"{folder} is {status} and takes no more attempts; start a new run")
        return cls(folder, {}, owner=False)

    @property
    def id(self) -> str:
        """The run's id."""
        return self.folder.name

    def blob(self, data: bytes) -> str:
        """Store bytes that are too large for a line, compressed, once per content.

        Args:
            data: The bytes as they are.

        Returns:
            Their SHA-256 in hexadecimal, which is the blob's name.

        Raises:
            RecordError: The file cannot be written.
        """
        digest = hashlib.sha256(data).hexdigest()
        path = blob_path(self.folder, digest)
        try:
            if not path.exists():
                path.parent.mkdir(exist_ok=True)
                write_atomically(path, gzip.compress(data, compresslevel=6, mtime=0))
        except OSError as error:
            raise _failure("write", path, error) from error
        return digest

    def append(self, line: str) -> None:
        """Write one attempt as one line, in one system call.

        Args:
            line: One JSON object as ASCII text without a line break.

        Raises:
            ValueError: The line is not ASCII or holds a line break.
            RecordError: The line cannot be written, such as on a full disk; nothing of it is left behind.
        """
        if "\n" in line or not line.isascii():
            raise ValueError("an attempt is one line of ASCII JSON text; encode it with niceeval.codec")
        data = f"{line}\n".encode("ascii")
        with self._lock:
            if self._fd < 0:
                raise RecordError(f"the run {self.folder} is sealed and takes no more attempts; start a new run")
            if self._torn:
                data = b"\n" + data
            start, written = self._size, 0
            try:
                while written < len(data):
                    written += os.write(self._fd, data[written:])
            except BaseException as error:
                # Whatever came between two writes, Ctrl-C too: a line that is not reported as written is none.
                self._cut_back(start)
                if isinstance(error, OSError):
                    raise _failure("write to", self.path, error) from error
                raise
            self._size = start + written
            self._torn = False

    def _cut_back(self, start: int) -> None:
        """Take back the beginning of a line; where that fails too, the next line starts with a line break."""
        try:
            if os.fstat(self._fd).st_size > start:
                os.ftruncate(self._fd, start)
        except OSError:
            self._torn = True
            with contextlib.suppress(OSError):
                self._size = os.fstat(self._fd).st_size

    def note_settled(self, settled: Sequence[Settled]) -> None:
        """Keep until the seal which evals were repeated no longer since their rate was decided."""
        self._document = {**self._document, "settled": [each.as_document() for each in settled]}

    def seal(self, status: RunStatus = "sealed", *, stopped: str | None = None) -> None:
        """Close the file; the process that created the run also writes its final status.

        Args:
            status: ``sealed`` where the run went to its end, else ``interrupted``.
            stopped: Why it stopped before its plan's end, such as a budget.

        Raises:
            RecordError: The status cannot be written. The attempts are there all the same.
        """
        with self._lock:
            if self._fd < 0:
                return
            fd, self._fd = self._fd, -1
            try:
                if self._owner:
                    seal = {"status": status, "ended": datetime.now(UTC).isoformat()}
                    if stopped is not None:
                        seal["stopped"] = stopped
                    write_header(self.folder, {**_without_secrets(self._document), **seal})
            except OSError as error:
                raise _failure("seal", self.folder, error) from error
            finally:
                os.close(fd)

    def header(self) -> Header:
        """Return what `run.json` says now."""
        return read_header(self.folder)


@final
class MemoryWriter:
    """The same pen without a disk: attempts stay in memory, as lines."""

    __slots__ = ("_blobs", "_document", "id", "lines", "status")
    folder = None

    def __init__(self, header: Mapping[str, Any] | None = None) -> None:
        now = datetime.now(UTC)
        self.id = new_run_id(now)
        self.lines: list[str] = []
        self.status: RunStatus = "running"
        self._blobs: dict[str, bytes] = {}
        self._document = _document(self.id, now, header or {})

    def blob(self, data: bytes) -> str:
        """Keep bytes, compressed, once per content, and return their SHA-256 in hexadecimal."""
        digest = hashlib.sha256(data).hexdigest()
        if digest not in self._blobs:
            self._blobs[digest] = gzip.compress(data, compresslevel=6, mtime=0)
        return digest

    @property
    def digests(self) -> tuple[str, ...]:
        """The digests of the blobs that it holds."""
        return tuple(self._blobs)

    def read_blob(self, digest: str) -> bytes:
        """Return the bytes behind a digest."""
        if digest not in self._blobs:
            raise RecordError(f"the run {self.id} in memory holds no blob {digest}")
        return gzip.decompress(self._blobs[digest])

    def append(self, line: str) -> None:
        """Keep one attempt."""
        if self.status != "running":
            raise RecordError(f"the run {self.id} in memory is {self.status} and takes no more attempts")
        self.lines.append(line)

    def note_settled(self, settled: Sequence[Settled]) -> None:
        """Keep which evals were repeated no longer since their rate was decided."""
        self._document["settled"] = [each.as_document() for each in settled]

    def seal(self, status: RunStatus = "sealed", *, stopped: str | None = None) -> None:
        """Set the final status, and why the run stopped before its plan's end, if it did."""
        self.status = status
        if stopped is not None:
            self._document["stopped"] = stopped

    def header(self) -> Header:
        """Return what `run.json` would say now."""
        return Header.from_document({**self._document, "status": self.status})


_BINARY = getattr(os, "O_BINARY", 0)


def _document(run_id: str, started: datetime, header: Mapping[str, Any]) -> dict[str, Any]:
    try:
        own = version("niceeval")
    except PackageNotFoundError:
        own = "unknown"
    fixed = {"format": FORMAT, "id": run_id, "started": started.isoformat(), "status": "running", "niceeval": own}
    return {**fixed, **{key: value for key, value in header.items() if key not in fixed}}


def _without_secrets(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the plan without what has become known as a secret since it was written."""
    plan = {name: document[name] for name in ("agents", "evals", "experiments", "settled") if name in document}
    return {**document, **current_redactor().redact_tree(plan)[0]}


def _publish(staging: Path, now: datetime, header: Mapping[str, Any]) -> tuple[Path, dict[str, Any]]:
    """Rename the prepared folder to the run's; a name that is taken refuses, since its folder is never empty."""
    for _ in range(100):
        run_id = new_run_id(now)
        document = {**_document(run_id, now, header), "writer": Process.this().as_document()}
        write_header(staging, document)
        try:
            folder = staging.with_name(run_id)
            staging.rename(folder)
        except OSError:
            if not staging.with_name(run_id).exists():
                raise
        else:
            return folder, document
    raise FileExistsError(f"no free run id at {now}")


def _keep_out_of_git(root: Path) -> None:
    if not (root / ".gitignore").exists():
        write_atomically(root / ".gitignore", b"*\n")


def _failure(action: str, path: Path, error: OSError) -> RecordError:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    remedy = "free some space, or record elsewhere" if full else "record elsewhere"
    return RecordError(f"cannot {action} {path}: {error.strerror or error}; {remedy} with --record DIR")
