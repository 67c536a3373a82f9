"""Importing an eval file beside its helpers, without taking a name from any other module."""

import ast
import importlib.machinery
import importlib.util
import os
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any

import attrs

from niceeval.errors import EvalLoadError
from niceeval.evals.eval import Eval, recording
from niceeval.evals.rows import shown
from niceeval.importable import make_importable

__all__ = ["Imported", "LoadProblem", "import_file", "import_named"]

_NAMESPACE = "niceeval_evals"
_PACKAGE = Path(__file__).resolve().parent.parent
# Modules that were imported from the folder of an eval file, by folder and name: two folders may each have a `helpers`.
_neighbours: dict[Path, dict[str, ModuleType]] = {}
_own_names: set[str] = set()


@attrs.frozen
class LoadProblem:
    """Something that keeps evals from being used: where, and in one paragraph what it is and what to do."""

    file: str
    line: int | None
    text: str
    fatal: bool = False  # nothing should run: ids or paths are not what was asked for

    def __str__(self) -> str:
        return f"{self.file}: {self.text}" if self.line is None else f"{self.file}:{self.line}: {self.text}"


@attrs.frozen
class Imported:
    """An imported eval file: its names, and the evals that it made."""

    file: str
    namespace: Mapping[str, object]
    defined: list[Eval[Any]]
    imports: frozenset[str]  # "*" where a name may have come with a star

    def owns(self, name: str, held: list[Eval[Any]]) -> bool:
        """Whether a name that holds these evals is defined in the file and not imported."""
        if any(each.source.file == self.file for each in held):
            return True
        return name not in self.imports and "*" not in self.imports


def import_file(file: Path, path_id: str) -> Imported | LoadProblem:
    """Run an eval file as a module of its own; whatever it raises is a problem that names the line."""
    path = file.resolve()
    name = _module_name(path, path_id)
    try:
        tree = ast.parse(path.read_bytes(), str(path))
        with recording() as made, _beside(path.parent):
            module = _run(name, path, tree)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # Also what is no Exception, such as SystemExit, or what pytest.skip() raises.
        return _problem(error, path)
    defined = [eval_ for eval_ in made if eval_.source.file == str(path)]
    return Imported(str(path), vars(module), defined, frozenset(_imports(tree)))


def import_named(module: str, file: Path) -> None:
    """Run an eval file under the module name that it had when a spec named something in it; leave other names alone."""
    if module.startswith(f"{_NAMESPACE}.") and file.is_file():
        import_file(file, module.removeprefix(f"{_NAMESPACE}.").replace(".", "/"))


def _module_name(path: Path, path_id: str) -> str:
    """A name that is the same on every machine, and the real dotted name where the folder is a package."""
    parts, folder = [path.stem], path.parent
    while (folder / "__init__.py").is_file():
        parts, folder = [folder.name, *parts], folder.parent
    name = ".".join(parts) if len(parts) > 1 else f"{_NAMESPACE}.{path_id.replace('/', '.')}"
    unique, count = name, 1
    while unique in sys.modules and not (unique in _own_names and sys.modules[unique].__file__ == str(path)):
        count += 1
        unique = f"{name}_{count}"
    _own_names.add(unique)
    return unique


class _Loader(importlib.machinery.SourceFileLoader):
    """Compiles what was parsed already, and leaves no bytecode beside the user's files."""

    def __init__(self, name: str, path: Path, tree: ast.Module) -> None:
        super().__init__(name, str(path))
        self._tree = tree

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self._tree, self.path)


def _run(name: str, path: Path, tree: ast.Module) -> ModuleType:
    loader = _Loader(name, path, tree)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(name)
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except BaseException:
        if before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before
        raise
    return module


@contextmanager
def _beside(folder: Path) -> Iterator[None]:
    """Make the folder, the folder above its package, and the working directory importable.

    The folder comes first while its file is read, and last afterwards, so that an import inside a test still works and
    a helper called `types.py` hides nothing from anyone else.
    """
    top = folder
    while (top / "__init__.py").is_file():
        top = top.parent
    first = list(dict.fromkeys([str(folder), str(top)]))
    make_importable(Path.cwd())
    hidden = _swap_in(folder)
    sys.path[:0] = first
    try:
        yield
    finally:
        for entry in first:
            sys.path.remove(entry)
        sys.path += [entry for entry in first if entry not in sys.path]
        _keep_neighbours(folder)
        sys.modules.update(hidden)


def _swap_in(folder: Path) -> dict[str, ModuleType]:
    """Set aside the neighbours of other eval files whose names this folder has too, and put its own in their place."""
    here = {entry.stem for entry in folder.iterdir() if entry.suffix == ".py" or entry.is_dir()}
    hidden = {
        name: module
        for other, modules in _neighbours.items()
        if other != folder
        for name, module in modules.items()
        if name.partition(".")[0] in here and sys.modules.get(name) is module
    }
    for name in hidden:
        del sys.modules[name]
    tops = {name.partition(".")[0] for name in hidden}
    own = _neighbours.get(folder, {})
    sys.modules.update({name: module for name, module in own.items() if name.partition(".")[0] in tops})
    return hidden


def _keep_neighbours(folder: Path) -> None:
    own = _neighbours.setdefault(folder, {})
    for name, module in list(sys.modules.items()):
        origin = getattr(module, "__file__", None)
        top = name.partition(".")[0]
        if isinstance(origin, str) and origin.startswith((f"{folder / top}.py", f"{folder / top}{os.sep}")):
            own[name] = module


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)


def _problem(error: BaseException, path: Path) -> LoadProblem:
    if isinstance(error, SyntaxError):
        file = Path(error.filename) if error.filename and Path(error.filename).is_file() else path
        via = "" if file == path else f" (imported from {shown(path)})"
        text = f"{type(error).__name__}: {error.msg}" + (f": {error.text.strip()}" if error.text else "")
        return LoadProblem(shown(file), error.lineno, _paragraph(text) + via)
    file, line = _user_frame(error.__traceback__, path)
    via = "" if file == path else f" (imported from {shown(path)})"
    if isinstance(error, EvalLoadError):
        text = str(error)
    elif isinstance(error, SystemExit):
        text = f"the file ends the program while it is imported (SystemExit: {error.code}); put that under a main guard"
    else:
        text = "".join(traceback.format_exception_only(error)).rstrip()
        if isinstance(error, ModuleNotFoundError):
            text += "; modules are looked up beside the eval file and in the working directory"
    return LoadProblem(shown(file), line, _paragraph(text) + via)


def _user_frame(trace: TracebackType | None, path: Path) -> tuple[Path, int | None]:
    """The deepest frame in the user's own code: not in this package, the standard library or an installed package."""
    found: tuple[Path, int | None] = path, None
    for frame, line in traceback.walk_tb(trace):
        file = frame.f_code.co_filename
        if file == str(path):
            found = path, line
        elif found[1] is not None and not file.startswith("<") and not _is_foreign(Path(file)):
            found = Path(file), line
    return found


def _is_foreign(file: Path) -> bool:
    if file.is_relative_to(_PACKAGE) or file.is_relative_to(_PACKAGE.with_name("niceeval_expect")):
        return True
    library = Path(traceback.__file__).resolve().parent
    return file.is_relative_to(library) or not {"site-packages", "dist-packages"}.isdisjoint(file.parts)


def _paragraph(text: str) -> str:
    return " ".join(text.split())
