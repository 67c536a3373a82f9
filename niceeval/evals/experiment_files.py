"""From paths to experiments: which files are taken, how they are imported, what their experiments are called."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs

from niceeval.agents.resolve import resolve_agent, resolve_reference
from niceeval.errors import AgentReferenceError
from niceeval.evals.discovery import nearest, walked
from niceeval.evals.eval import Eval, recording
from niceeval.evals.experiments import Experiment, recording_experiments
from niceeval.evals.importing import Imported, LoadProblem, import_file
from niceeval.evals.rows import shown

__all__ = ["ExperimentDiscovery", "experiment_problems", "find_experiments"]


@attrs.frozen
class ExperimentDiscovery:
    """The experiments that were found, and what went wrong: after any problem no run means what was asked for."""

    experiments: tuple[Experiment, ...]
    problems: tuple[LoadProblem, ...]


def find_experiments(references: Sequence[str | Path]) -> ExperimentDiscovery:
    r"""Collect the experiments of files and folders.

    A folder gives every Python file in it and below whose name does not start with `_` or a dot; a file is always
    taken; ``module:attr`` names one experiment, or a dict or list of them. An experiment is called what its `name=`
    says, else what its file is called where the file has only one, else by file and variable.

    Args:
        references: Files, folders and references, relative to the working directory.

    Returns:
        The experiments in the order of their files, and the problems: each names the file and the line.

    Example:
        >>> import pathlib, tempfile
        >>> root = pathlib.Path(tempfile.mkdtemp())
        >>> text = "from niceeval import define_experiment\nsmall = define_experiment(agent='shop:agent', model='s')\n"
        >>> _ = (root / "baseline.py").write_text(text)
        >>> [each.name for each in find_experiments([root]).experiments]
        ['baseline']

    """
    problems: list[LoadProblem] = []
    found: list[Experiment] = []
    taken: set[Path] = set()
    for reference in map(str, references):
        path = Path(reference)
        if not path.exists() and ":" in reference:
            found += _referenced(reference, problems)
            continue
        for file, name in _files(path, problems):
            if file.resolve() not in taken:
                taken.add(file.resolve())
                found += _experiments(file, name, problems)
    distinct = list({id(each): each for each in found}.values())
    problems += _clashes(distinct)
    return ExperimentDiscovery(tuple(distinct), tuple(problems))


def experiment_problems(experiments: Iterable[Experiment], evals: Sequence[Eval[Any]]) -> Iterator[LoadProblem]:
    """Yield what keeps experiments from running: evals that are not there, and agents that cannot be found."""
    for experiment in experiments:
        file, line = _place(experiment)
        for sentence in experiment.unmatched(evals):
            yield LoadProblem(file, line, f"experiment {experiment.name}: {sentence}", fatal=True)
        if isinstance(experiment.agent, str):
            try:
                resolve_agent(experiment.agent)
            except AgentReferenceError as error:
                yield LoadProblem(file, line, f"experiment {experiment.name}: {error}", fatal=True)


def _place(experiment: Experiment) -> tuple[str, int | None]:
    source = experiment.source
    return ("experiment", None) if source is None else (shown(Path(source.file)), source.line)


def _files(path: Path, problems: list[LoadProblem]) -> Iterator[tuple[Path, str]]:
    """The files that a path leads to, each with the name that its experiment has where it holds only one."""
    if path.is_dir():
        files = [each for each in sorted(walked(path)) if not each.name.startswith(("_", "."))]
        if not files:
            text = "has no experiment file: every .py file in it counts whose name does not start with _"
            problems.append(LoadProblem(str(path), None, text, fatal=True))
        for file in files:
            below = file.relative_to(path)
            yield file, "/".join([*below.parts[:-1], below.stem])
    elif path.is_file() and path.suffix == ".py":
        yield path, path.stem
    elif path.exists():
        problems.append(LoadProblem(str(path), None, "is not a Python file; give a .py file or a folder", fatal=True))
    else:
        problems.append(LoadProblem(str(path), None, f"does not exist{nearest(path)}", fatal=True))


def _referenced(reference: str, problems: list[LoadProblem]) -> list[Experiment]:
    try:
        with recording():
            value = resolve_reference(reference, "experiment", "baseline")
    except AgentReferenceError as error:
        problems.append(LoadProblem("--experiment", None, str(error), fatal=True))
        return []
    name = reference.rpartition(":")[2]
    held = list(_held(name, value))
    if not held:
        text = f"{reference!r} is {type(value).__name__}; name what define_experiment(...) returned, or a dict of them"
        problems.append(LoadProblem("--experiment", None, text, fatal=True))
    return [each if each.name else attrs.evolve(each, name=called) for called, each in held]


def _experiments(file: Path, name: str, problems: list[LoadProblem]) -> list[Experiment]:
    with recording_experiments() as made:
        imported = import_file(file, f"experiments/{name}")
    if isinstance(imported, LoadProblem):
        problems.append(attrs.evolve(imported, fatal=True))
        return []
    named: dict[int, tuple[str, Experiment]] = {}
    for called, each in _bound(imported):
        named.setdefault(id(each), (called, each))
    here = [each for each in made if each.source is not None and each.source.file == imported.file]
    for each in here:
        if id(each) not in named:
            text = "this experiment is held by no name of the file; assign it to one, or put it in a list or dict"
            problems.append(LoadProblem(*_place(each), text, fatal=True))
    if not named and not here:
        text = "defines no experiment: assign define_experiment(...) to a name, or let the file's name start with _"
        problems.append(LoadProblem(shown(file), None, text, fatal=True))
    alone = len(named) == 1
    return [
        each if each.name else attrs.evolve(each, name=name if alone else f"{name}/{called}")
        for called, each in named.values()
    ]


def _bound(imported: Imported) -> Iterator[tuple[str, Experiment]]:
    for name, value in list(imported.namespace.items()):
        held = list(_held(name, value))
        own = any(each.source is not None and each.source.file == imported.file for _, each in held)
        if held and (own or (name not in imported.imports and "*" not in imported.imports)):
            yield from held


def _held(name: str, value: object) -> Iterator[tuple[str, Experiment]]:
    if isinstance(value, Experiment):
        yield name, value
    elif isinstance(value, dict) and name != "__builtins__":
        yield from ((str(key), each) for key, each in value.items() if isinstance(each, Experiment))
    elif isinstance(value, list | tuple):
        held = [each for each in value if isinstance(each, Experiment)]
        yield from ((f"{name}[{position}]", each) for position, each in enumerate(held))


def _clashes(experiments: Sequence[Experiment]) -> Iterator[LoadProblem]:
    first: dict[str, Experiment] = {}
    for each in experiments:
        other = first.setdefault(each.name, each)
        if other is not each:
            file, line = _place(other)
            there = file if line is None else f"{file}:{line}"
            text = f"two experiments are called {each.name!r}; the other is at {there}; give one of them another name="
            yield LoadProblem(*_place(each), text, fatal=True)
