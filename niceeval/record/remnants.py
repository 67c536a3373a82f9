"""What killed processes leave behind that holds no result, told from what a living process still writes."""

import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal, final

import attrs

from niceeval.errors import RecordError
from niceeval.record.files import is_temporary
from niceeval.record.layout import RUNS, STAGING, Header, attempt_files, read_header, run_process

__all__ = ["Remnant", "find_remnants", "remove_remnant"]

_SETTLED: Final = 3600.0
"""Seconds after which nobody is taken to be writing a file any more; where processes can be asked, they are."""
_OWN: Final = "blobs"
"""The folder of a run that only its writers write to; an index may be made by any reader."""


@final
@attrs.frozen
class Remnant:
    """One thing that a killed process left and that holds no result.

    Attributes:
        kind: ``staging`` for a run that was never published, ``index`` for an index that was not, ``temporary`` for a
            file that was never finished, ``empty run`` for a run whose process ended before its first attempt did.
        path: The file or the folder.
        size: The bytes in it.
    """

    kind: Literal["staging", "index", "temporary", "empty run"]
    path: Path
    size: int


def find_remnants(root: Path, only: Path | None = None) -> Iterator[Remnant]:
    """Yield what can be removed without losing a result, and without taking anything from a living process.

    Args:
        root: The record's folder.
        only: Look at this run alone.

    Raises:
        RecordError: The record cannot be read.
    """
    if only is not None:
        yield from _in_run(only, _resumed(root))
        return
    yield from _temporary(root, "gone", shared=True)
    resumed = _resumed(root)
    for entry in _entries(root):
        yield from _at(entry, resumed)


def remove_remnant(root: Path, remnant: Remnant) -> bool:
    """Remove a remnant, if it still is one.

    Args:
        root: The record's folder.
        remnant: What `find_remnants` found in it.

    Returns:
        Whether it was removed.

    Raises:
        RecordError: It cannot be removed.
    """
    path = remnant.path
    entry = next((place for place in (path, *path.parents) if place.parent == root / RUNS), None)
    now = _temporary(root, "gone", shared=True) if entry is None else _at(entry, _resumed(root))
    if all(each.path != path for each in now):
        return False
    try:
        if not path.is_dir():
            path.unlink()
            return True
        if not path.name.startswith(STAGING):
            # A removal that is itself killed leaves a remnant again, and no run without its description.
            path = path.rename(path.with_name(f"{STAGING}{secrets.token_hex(8)}"))
        shutil.rmtree(path)
    except OSError as error:
        raise RecordError(f"cannot remove {path}: {error.strerror or error}") from error
    return True


def _entries(root: Path) -> list[Path]:
    try:
        return sorted(entry for entry in (root / RUNS).iterdir() if entry.is_dir() and not entry.is_symlink())
    except OSError as error:
        raise RecordError(f"cannot read {root / RUNS}: {error.strerror or error}") from error


def _at(entry: Path, resumed: frozenset[str]) -> Iterator[Remnant]:
    if not entry.name.startswith("."):
        yield from _in_run(entry, resumed)
    elif entry.name.startswith(STAGING):
        header = _header(entry)
        state = "unknown" if header is None else header.process
        if state == "gone" or (state == "unknown" and _settled(entry)):
            yield Remnant("staging", entry, _size(entry))


def _in_run(folder: Path, resumed: frozenset[str]) -> Iterator[Remnant]:
    try:
        process = run_process(folder)
    except RecordError:
        return
    state = process or "gone"
    files = attempt_files(folder)
    # A process that joined a run is not named in it, and may outlive the one that is.
    shared = len(files) > 1
    empty = not any(_size(path) for path in files) and folder.name not in resumed
    if process == "gone" and empty and (not shared or _settled(folder)):
        yield Remnant("empty run", folder, _size(folder))
        return
    for place in (folder, *(each for each in _children(folder) if each.is_dir() and not each.is_symlink())):
        own = place == folder or place.name == _OWN
        yield from _temporary(place, state if own else "gone", shared=shared or not own)
        if not own:
            yield from _unfinished(place)


def _unfinished(folder: Path) -> Iterator[Remnant]:
    for path in _children(folder):
        if path.name.startswith(STAGING) and path.is_dir() and not path.is_symlink() and _settled(path):
            yield Remnant("index", path, _size(path))


def _temporary(folder: Path, state: str, *, shared: bool) -> Iterator[Remnant]:
    if state == "alive":
        return
    for path in _children(folder):
        left = path.is_file() and not path.is_symlink() and is_temporary(path.name)
        if left and ((state == "gone" and not shared) or _settled(path)):
            yield Remnant("temporary", path, _size(path))


def _header(folder: Path) -> Header | None:
    try:
        return read_header(folder)
    except RecordError:
        return None


def _resumed(root: Path) -> frozenset[str]:
    """Return the names of the runs that others go on with."""
    headers = (_header(entry) for entry in _entries(root))
    return frozenset(header.resumes for header in headers if header is not None and header.resumes is not None)


def _children(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _inside(path: Path) -> Iterator[os.stat_result]:
    """Yield what is known of a file, or of a folder and everything in it; what vanishes meanwhile is left out."""
    places = [path]
    if path.is_dir():
        places += [Path(top, name) for top, folders, files in os.walk(path) for name in (*folders, *files)]
    for place in places:
        try:
            yield place.lstat()
        except OSError:
            continue


def _settled(path: Path) -> bool:
    return all(known.st_mtime < time.time() - _SETTLED for known in _inside(path))


def _size(path: Path) -> int:
    return sum(known.st_size for known in _inside(path) if stat.S_ISREG(known.st_mode))
