"""Finds the agent that a reference such as ``agents.plain:order_agent`` names."""

import importlib
import os
import sys
import traceback
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any, Final, cast

from niceeval.agents.base import AgentLike
from niceeval.agents.function import as_agent
from niceeval.errors import AgentReferenceError
from niceeval.importable import make_importable

__all__ = ["resolve_agent", "resolve_reference"]

_MOST_NAMES: Final = 8


def resolve_agent(reference: str, /) -> AgentLike:
    """Return the agent that ``module:attr`` names; the working directory is importable.

    Args:
        reference: A module and the name of an agent in it, dots allowed on both sides.

    Raises:
        AgentReferenceError: It does not lead to an agent; the sentence says where it ends and what is there instead.

    >>> resolve_agent("json:dumps").__name__
    'dumps'
    """
    module, found = _find(reference, "agent", "order_agent")
    try:
        as_agent(found)
    except TypeError as error:
        raise AgentReferenceError(f"agent {reference!r} in {_file(module)}: {error}") from None
    return cast(AgentLike, found)


def resolve_reference(reference: str, what: str, example: str) -> Any:
    """Return whatever ``module:attr`` names; the working directory is importable.

    Args:
        reference: A module and a name in it, dots allowed on both sides.
        what: What is meant to be there, for the sentences.
        example: A name that such a thing might have.

    Raises:
        AgentReferenceError: It leads nowhere; the sentence says where it ends and what is there instead.

    >>> resolve_reference("json:dumps", "checks", "checks").__name__
    'dumps'
    """
    return _find(reference, what, example)[1]


def _find(reference: str, what: str, example: str) -> tuple[ModuleType, Any]:
    module_name, colon, attribute = (part.strip() for part in reference.partition(":"))
    if module_name.endswith(".py") or "/" in module_name or os.sep in module_name:
        dotted = module_name.removesuffix(".py").replace(os.sep, "/").strip("./").replace("/", ".")
        raise AgentReferenceError(
            f"{what} {reference!r} names a file, and modules are written with dots: "
            f"did you mean '{dotted}:{attribute or what}'?"
        )
    if not colon or not attribute or not all(module_name.split(".")):
        raise AgentReferenceError(
            f"{what} {reference!r} does not name a module and {'an agent' if what == 'agent' else what} in it: "
            f"write module:attr, such as {'agents.plain' if what == 'agent' else 'evals.plain'}:{example}"
        )
    module = _import(module_name, reference, what)
    found: Any = module
    for name in attribute.split("."):
        try:
            found = getattr(found, name)
        except AttributeError:
            raise AgentReferenceError(_no_attribute(f"{what} {reference!r}", module, found, name, what)) from None
    return module, found


def _import(module_name: str, reference: str, what: str) -> ModuleType:
    here = os.getcwd()
    make_importable(Path(here))
    importlib.invalidate_caches()
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if module_name == missing or module_name.startswith(f"{missing}."):
            raise AgentReferenceError(_no_module(f"{what} {reference!r}", missing, here)) from None
        raise AgentReferenceError(_broken(f"{what} {reference!r}", module_name, error)) from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise AgentReferenceError(_broken(f"{what} {reference!r}", module_name, error)) from error


def _no_module(reference: str, missing: str, here: str) -> str:
    package, _, leaf = missing.rpartition(".")
    parent = sys.modules.get(package)
    if parent is not None and not hasattr(parent, "__path__"):
        return f"{reference}: {package} is a module, not a package; did you mean '{package}:{leaf}'?"
    own = Path(here, *package.split(".")) if package else Path(here)
    folder = own if parent is None or own.is_dir() else Path(next(iter(parent.__path__), here))
    names = sorted(
        entry.stem
        for entry in folder.iterdir()
        if (entry.suffix == ".py" or (entry.is_dir() and any(entry.glob("*.py"))))
        and entry.stem.isidentifier()
        and not entry.stem.startswith("__")
    )
    near = get_close_matches(leaf, names, n=1)
    prefix = f"{package}." if package else ""
    if near:
        hint = f"did you mean '{prefix}{near[0]}'?"
    elif names:
        hint = f"{folder} has {_listed([f'{prefix}{name}' for name in names])}"
    else:
        hint = f"{folder} has no modules"
    return f"{reference}: there is no module {missing!r}; {hint}"


def _broken(reference: str, module_name: str, error: BaseException) -> str:
    if isinstance(error, SyntaxError) and error.filename:
        where, what = f"{error.filename}:{error.lineno}", error.msg
    else:
        where, what = _deepest_own_line(error) or f"module {module_name!r}", str(error)
    detail = f"{type(error).__name__}: {what}" if what else type(error).__name__
    return f"{reference}: importing {module_name} failed at {where}: {detail}"


def _deepest_own_line(error: BaseException) -> str | None:
    """Return the last line of the author's that ran: not the importer's, and not a library's if there is another."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<") and frame.filename not in (__file__, importlib.__file__)
    ]
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(Path.cwd())]
    own = [frame for frame in own if "site-packages" not in frame.filename] or frames
    return f"{own[-1].filename}:{own[-1].lineno}" if own else None


def _no_attribute(reference: str, module: ModuleType, owner: object, name: str, what: str) -> str:
    names = _agent_names(owner) if what == "agent" else sorted(each for each in dir(owner) if not each.startswith("_"))
    near = get_close_matches(name, names, n=1)
    if near:
        hint = f"did you mean {near[0]!r}?"
    elif names:
        hint = f"{'agents found there' if what == 'agent' else 'there are'}: {_listed(names)}"
    else:
        hint = "nothing in it can be used as an agent"
    where = module.__name__ if owner is module else f"{type(owner).__name__} in {module.__name__}"
    return f"{reference}: {where} ({_file(module)}) has no {name!r}; {hint}"


def _agent_names(owner: object) -> list[str]:
    """Return what could be meant: public names defined there that can be agents."""
    names = []
    for name in vars(owner) if isinstance(owner, ModuleType) else dir(owner):
        value: Any = getattr(owner, name, None)
        if name.startswith("_") or isinstance(value, ModuleType | type):
            continue
        elsewhere = isinstance(owner, ModuleType) and getattr(value, "__module__", None) not in (None, owner.__name__)
        if elsewhere and not hasattr(value, "reply"):
            continue
        try:
            as_agent(value)
        except TypeError:
            continue
        names.append(name)
    return names


def _file(module: ModuleType) -> str:
    return getattr(module, "__file__", None) or module.__name__


def _listed(names: list[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
