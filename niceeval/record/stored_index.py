"""The index of a sealed run on disk: where it lies, whether it is still true, and how it gets there whole.

<run>/index/<digest>/
    attempts.parquet, assertions.parquet, plan.parquet, matches.parquet
    cases.parquet         what became of each planned case, counted
    met.parquet           how each requirement came out in each case
    index.json            the digests of those, the files that were read, and the lines that were left out

The digest in the folder's name is one of the names, sizes and times of all files that were read and of the index's own
format, so that a stale index is never found, and two processes that build at once make the same folder.
"""

import hashlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self, final

import attrs

from niceeval.record.chain import ChainSource
from niceeval.record.layout import attempt_files
from niceeval.record.lines import FolderSource, Line, RunSource

__all__ = ["FORMAT", "PARTS", "StoredIndex", "index_folder", "publish", "run_folder_of"]

FORMAT: Final = 2
"""The version of the tables; another one is not read."""
PARTS: Final = ("attempts", "assertions", "plan", "cases", "met", "matches")
_SAID: Final = "index.json"
_ABANDONED: Final = 3600
"""Seconds after which nobody is writing any more."""


@final
@attrs.frozen
class StoredIndex:
    """What stands beside the tables of an index.

    Attributes:
        folder: Where the tables are; None for those that are in memory only.
        files: The files that hold the lines, by their number.
        damaged: The lines that were left out, each with the reason.
    """

    folder: Path | None
    files: tuple[str, ...]
    damaged: tuple[tuple[Line, str], ...]

    def table(self, part: str) -> Path:
        """Return the file of a table."""
        if self.folder is None:
            raise ValueError("this index is in memory only")
        return self.folder / f"{part}.parquet"

    @classmethod
    def load(cls, folder: Path, run: Path) -> Self | None:
        """Return the index in a folder; None where there is none, or where it is not as it was written."""
        try:
            said = json.loads((folder / _SAID).read_bytes())
            if any(_digest(folder / f"{part}.parquet") != said["digests"][part] for part in PARTS):
                return None
            files = tuple(os.path.normpath(run / name) for name in said["files"])
            damaged = tuple((Line(files[file], *place), reason) for file, *place, reason in said["damaged"])
        except (OSError, ValueError, KeyError, TypeError, IndexError):
            return None
        return cls(folder, files, damaged)

    def described(self, run: Path) -> Mapping[str, Any]:
        """Return what `index.json` says, beside the digests."""
        numbers = {name: number for number, name in enumerate(self.files)}
        damaged = [(numbers[line.file], line.number, line.offset, line.size, reason) for line, reason in self.damaged]
        return {"files": [os.path.relpath(file, run) for file in self.files], "damaged": damaged}


def run_folder_of(source: RunSource) -> Path | None:
    """Return the folder of a run on disk."""
    return source.folder if isinstance(source, FolderSource | ChainSource) else None


def index_folder(source: RunSource) -> Path | None:
    """Return where the index of a run lies or would lie; None where it is not kept: in memory, or still growing."""
    run = run_folder_of(source)
    if run is None or source.header().status == "running":
        return None
    folders = [run]
    if isinstance(source, ChainSource):
        if source.missing is not None:
            return None
        folders += [older.folder for older in source.older]
    try:
        stats = [(folder.name, path.name, path.stat()) for folder in folders for path in attempt_files(folder)]
        plan = (run / "run.json").stat()
    except OSError:
        return None
    stamp = [FORMAT, plan.st_size, plan.st_mtime_ns, [(*names, s.st_size, s.st_mtime_ns) for *names, s in stats]]
    return run / "index" / hashlib.sha256(json.dumps(stamp).encode()).hexdigest()[:16]


def publish(folder: Path, run: Path, write: Callable[[Path], StoredIndex]) -> bool:
    """Write the tables of an index into a folder that appears whole or not at all.

    Args:
        folder: Where it is to be.
        run: The run's folder.
        write: Writes the tables into the folder that it is given, and says what stands beside them.

    Returns:
        Whether it is there now.
    """
    staging = folder.parent / f".new-{secrets.token_hex(8)}"
    try:
        staging.mkdir(parents=True)
        said = {**write(staging).described(run)}
        said["digests"] = {part: _digest(staging / f"{part}.parquet") for part in PARTS}
        (staging / _SAID).write_text(json.dumps(said), encoding="ascii")
        if folder.exists() and StoredIndex.load(folder, run) is None:
            shutil.rmtree(folder)
        staging.rename(folder)
    except OSError:
        shutil.rmtree(staging, ignore_errors=True)
        return folder.exists()
    _remove_others(folder)
    return True


def _remove_others(folder: Path) -> None:
    """Remove the indexes that are true no more; one that is just being written belongs to somebody else."""
    for other in _siblings(folder):
        try:
            abandoned = time.time() - other.stat().st_mtime > _ABANDONED
        except OSError:
            continue
        if abandoned or not other.name.startswith("."):
            shutil.rmtree(other, ignore_errors=True)


def _siblings(folder: Path) -> Sequence[Path]:
    try:
        return [other for other in folder.parent.iterdir() if other.name != folder.name]
    except OSError:
        return ()


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
