"""From paths to evals: which files are taken, how they are imported, what their evals are called."""

import difflib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs

from niceeval.errors import EvalLoadError
from niceeval.evals.eval import Eval
from niceeval.evals.importing import Imported, LoadProblem, import_file
from niceeval.evals.rows import shown
from niceeval.evals.select import full_id

__all__ = ["Discovery", "LoadProblem", "discover", "is_eval_file", "nearest", "walked"]

_PREFIX, _SUFFIX = "eval_", "_eval"


@attrs.frozen
class Discovery:
    """What was found: evals with their full ids, what went wrong, and the files without an eval."""

    evals: tuple[Eval[Any], ...]
    problems: tuple[LoadProblem, ...]
    empty: tuple[str, ...]

    @property
    def fatal(self) -> tuple[LoadProblem, ...]:
        """The problems after which no run can mean what was asked for: duplicate ids, paths that lead nowhere."""
        return tuple(problem for problem in self.problems if problem.fatal)


def discover(paths: Sequence[str | Path], *, below: Path | None = None) -> Discovery:
    r"""Collect the evals of files and folders.

    A folder gives its `eval_*.py` and `*_eval.py`, in all folders below except hidden ones, `__pycache__` and virtual
    environments; a file is always taken. An id is the path below the folder (for a file: its name) without prefix and
    suffix, then the name that holds the eval, or its `id=`.

    Args:
        paths: files and folders, relative to the working directory. A file found twice is read once.
        below: a folder that holds the files among them, from which their ids count as if the folder had been given.

    Returns:
        The evals in the order of their files and lines, and the problems; a file that fails does not stop the others.

    Example:
        >>> import pathlib, tempfile
        >>> root = pathlib.Path(tempfile.mkdtemp())
        >>> text = "from niceeval.evals.define import define_eval\n@define_eval\nasync def greets(t): ..."
        >>> _ = (root / "eval_manners.py").write_text(text)
        >>> [eval.id for eval in discover([root]).evals]
        ['manners/greets']

    """
    problems: list[LoadProblem] = []
    empty: list[str] = []
    found: list[Eval[Any]] = []
    taken: set[Path] = set()
    for path in map(Path, paths):
        for file, path_id in _files(path, problems, below):
            real = file.resolve()
            if real in taken:
                continue
            taken.add(real)
            evals = _evals(file, path_id, problems)
            if evals == []:
                empty.append(shown(file))
            found += evals or []
    usable = [eval_ for eval_ in found if _cases_read(eval_, problems)]
    _require_distinct(usable, problems)
    return Discovery(tuple(usable), tuple(problems), tuple(empty))


def _files(path: Path, problems: list[LoadProblem], below: Path | None) -> Iterator[tuple[Path, str]]:
    """The files that a path leads to, each with the first part of its ids."""
    if path.is_dir():
        for file in sorted(file for file in walked(path) if is_eval_file(file)):
            yield file, _path_id(file, path)
    elif path.is_file() and path.suffix == ".py":
        yield path, _path_id(path, below or path.parent)
    elif path.exists():
        problems.append(LoadProblem(str(path), None, "is not a Python file; give a .py file or a folder", fatal=True))
    else:
        text = f"does not exist{nearest(path)}"
        problems.append(LoadProblem(str(path), None, text, fatal=True))


def is_eval_file(file: Path) -> bool:
    """Tell whether a folder gives this file: ``eval_*.py`` and ``*_eval.py``.

    >>> [is_eval_file(Path(name)) for name in ("eval_orders.py", "orders_eval.py", "orders.py", "eval_.py")]
    [True, True, False, False]
    """
    return file.suffix == ".py" and _bare(file.stem) != file.stem


def _path_id(file: Path, folder: Path) -> str:
    below = file.relative_to(folder)
    return "/".join([*below.parts[:-1], _bare(below.stem)])


def walked(folder: Path) -> Iterator[Path]:
    """Yield the Python files in a folder and below, without hidden ones, `__pycache__` and virtual environments."""
    yield from _walk(folder, set())


def _walk(folder: Path, seen: set[Path]) -> Iterator[Path]:
    real = folder.resolve()
    if real in seen:
        return
    seen.add(real)
    for entry in folder.iterdir():
        if entry.is_dir():
            skipped = entry.name.startswith(".") or entry.name == "__pycache__" or (entry / "pyvenv.cfg").exists()
            if not skipped:
                yield from _walk(entry, seen)
        elif entry.suffix == ".py" and not entry.name.startswith("."):
            yield entry


def _bare(stem: str) -> str:
    return stem.removeprefix(_PREFIX).removesuffix(_SUFFIX) or stem


def nearest(path: Path) -> str:
    """Return what to say after "does not exist": the nearest name that does, or where it was looked for."""
    try:
        names = os.listdir(path.parent)
    except OSError:
        return f"; neither does the folder {path.parent}"
    near = difflib.get_close_matches(path.name, names, n=1, cutoff=0.6)
    return f"; did you mean {path.parent / near[0]}?" if near else "; paths are relative to the working directory"


def _evals(file: Path, path_id: str, problems: list[LoadProblem]) -> list[Eval[Any]] | None:
    imported = import_file(file, path_id)
    if isinstance(imported, LoadProblem):
        problems.append(imported)
        return None
    named: list[tuple[str, Eval[Any]]] = []
    seen: set[int] = set()
    for name, eval_ in _bound(imported):
        if id(eval_) not in seen:
            seen.add(id(eval_))
            named.append((eval_.id if eval_.named else name, eval_))
    problems += _dropped([eval_ for eval_ in imported.defined if id(eval_) not in seen], named)
    return [attrs.evolve(eval_, id=f"{path_id}/{name}") for name, eval_ in named]


def _bound(imported: Imported) -> Iterator[tuple[str, Eval[Any]]]:
    for name, value in list(imported.namespace.items()):
        held = _held(name, value)
        if held and imported.owns(name, [eval_ for _, eval_ in held]):
            yield from held


def _held(name: str, value: object) -> list[tuple[str, Eval[Any]]]:
    if isinstance(value, Eval):
        return [(name, value)]
    # `__builtins__` is a dict too, and holds whatever an interactive session showed last.
    if isinstance(value, dict) and name != "__builtins__":
        return [(str(key), each) for key, each in value.items() if isinstance(each, Eval)]
    return [(each.id, each) for each in value if isinstance(each, Eval)] if isinstance(value, list | tuple) else []


def _dropped(evals: list[Eval[Any]], named: list[tuple[str, Eval[Any]]]) -> Iterator[LoadProblem]:
    """Evals that the file makes and no name of it holds: running the rest would look as if they had passed."""
    kept = dict(reversed(named))
    for eval_ in evals:
        file, line = shown(Path(eval_.source.file)), eval_.source.line
        if eval_.id in kept:
            other = kept[eval_.id].source
            text = (
                f"the eval {eval_.id!r} is defined again at {shown(Path(other.file))}:{other.line}; rename one of them"
            )
            yield LoadProblem(file, line, text, fatal=True)
        else:
            text = (
                f"the eval {eval_.id!r} is held by no name of the file; assign it to one, or put it in a list or dict"
            )
            yield LoadProblem(file, line, text)


def _cases_read(eval_: Eval[Any], problems: list[LoadProblem]) -> bool:
    try:
        eval_.iter_cases()
    except EvalLoadError as error:
        why = str(error)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        why = f"reading the cases raised {type(error).__name__}: {error}"
    else:
        return True
    file, line = eval_.source
    problems.append(LoadProblem(shown(Path(file)), line, f"{eval_.id}: {' '.join(why.split())}"))
    return False


def _require_distinct(evals: list[Eval[Any]], problems: list[LoadProblem]) -> None:
    first: dict[str, Eval[Any]] = {}
    for eval_ in evals:
        clashes = [eval_.id] if eval_.id in first else []
        if not clashes:
            first[eval_.id] = eval_
        # A case's id may spell another eval's: `lookup` with the case `a` and an eval named `lookup[a]`.
        clashes += [
            name
            for case_id, _ in eval_.iter_cases()
            if case_id is not None and first.setdefault(name := full_id(eval_.id, case_id), eval_) is not eval_
        ]
        if clashes:
            here, there = eval_.source, first[clashes[0]].source
            text = (
                f"the id {clashes[0]!r} is used by two evals; the other is at {shown(Path(there.file))}:{there.line}; "
                "rename one of them or give it another id="
            )
            problems.append(LoadProblem(shown(Path(here.file)), here.line, text, fatal=True))
