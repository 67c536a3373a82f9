"""Finding a record and the runs in it."""

import warnings
from collections.abc import Iterator
from pathlib import Path

from niceeval.config import load_config
from niceeval.errors import RecordError, RecordWarning
from niceeval.record.layout import FOLDER, RUNS, Header, attempt_files, read_header

__all__ = ["find_record", "find_run", "latest_run", "readable_runs", "run_folders"]


def find_record(path: str | Path | None) -> tuple[Path, Path | None]:
    """Return the record's folder, and the one run that was asked for where `path` is a run's folder.

    Args:
        path: The record's folder, a project that holds one, or the folder of one run. None means the one
            that ``[tool.niceeval]`` names, else the nearest ``.niceeval`` in the working directory or above it.

    Raises:
        RecordError: There is none.
        ConfigError: `path` is None and a ``pyproject.toml`` cannot be used.
    """
    if path is None:
        return _search(Path.cwd()), None
    folder = Path(path)
    if (folder / "run.json").is_file():
        return folder.absolute().parent.parent, folder
    for candidate in (folder, folder / FOLDER):
        if (candidate / RUNS).is_dir():
            return candidate, None
    problem = "holds no record" if folder.exists() else "does not exist"
    raise RecordError(f"{folder} {problem}; give the folder that `niceeval run --record` wrote to, or one of its runs")


def _search(start: Path) -> Path:
    named = load_config(start).record
    if named is not None:
        if (named / RUNS).is_dir():
            return named
        raise RecordError(
            f"{named}, the record that [tool.niceeval] names, holds no run yet; `niceeval run` records one"
        )
    for folder in (start, *start.parents):
        if (folder / FOLDER / RUNS).is_dir():
            return folder / FOLDER
    raise RecordError(
        f"there is no record in {start} or above it: nothing was recorded yet (`niceeval run` does), "
        "or it lies elsewhere (give its path)"
    )


def run_folders(root: Path) -> list[Path]:
    """Return the folders of all runs, the newest by name first; what is still being prepared is left out."""
    try:
        found = [entry for entry in (root / RUNS).iterdir() if not entry.name.startswith(".") and _is_run(entry)]
    except OSError as error:
        raise RecordError(f"cannot read {root / RUNS}: {error.strerror or error}") from error
    return sorted(found, key=lambda entry: entry.name, reverse=True)


def _is_run(folder: Path) -> bool:
    return (folder / "run.json").exists() or (folder.is_dir() and bool(attempt_files(folder)))


def readable_runs(folders: list[Path]) -> Iterator[tuple[Path, Header]]:
    """Yield the runs whose `run.json` can be read; the others are named in a warning and left out."""
    for folder in folders:
        try:
            yield folder, read_header(folder)
        except RecordError as error:
            warnings.warn(f"a run is left out: {error}", RecordWarning, stacklevel=4)


def latest_run(root: Path) -> Path:
    """Return the run that started last.

    Raises:
        RecordError: There is none, or it cannot be read: an older one would be a wrong answer.
    """
    folders = run_folders(root)
    if not folders:
        raise RecordError(f"{root} holds no run yet; `niceeval run` records one")
    # Names sort by the second; only runs of the same second need a look inside.
    second = folders[0].name[:15]
    rivals = [folder for folder in folders if folder.name[:15] == second]
    return max(rivals, key=lambda folder: (read_header(folder).started, folder.name))


def find_run(root: Path, run_id: str) -> Path:
    """Return the folder of the run with this id.

    Raises:
        RecordError: There is none.
    """
    if run_id == "latest":
        return latest_run(root)
    folder = root / RUNS / run_id
    if not run_id or Path(run_id).name != run_id or not (folder / "run.json").is_file():
        known = [entry.name for entry in run_folders(root)[:5]]
        raise RecordError(f"{root} holds no run {run_id!r}; the newest are: {', '.join(known) or 'none'}")
    return folder
