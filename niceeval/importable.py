"""The working directory as a place to import from, also where an installed package hides one of its folders.

A folder without `__init__.py` gives way to an installed package of the same name, wherever it comes on the path. A
project's `agents/plain.py` would vanish as soon as some library brings a package called `agents`.
"""

import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Final, final

__all__ = ["make_importable"]


def make_importable(folder: Path) -> None:
    """Let modules be imported from a folder, and from the folders in it, after everything that is installed.

    Args:
        folder: The folder, usually the working directory. It comes first on the path if it is not on it.
    """
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    _finder.folders.add(str(folder))
    if _finder not in sys.meta_path:
        sys.meta_path.append(_finder)


@final
class _HiddenFolders(MetaPathFinder):
    """Finds what no other finder has: submodules in a folder that an installed package hides."""

    def __init__(self) -> None:
        self.folders: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Look for a submodule in the folders that are named like its package."""
        package, _, _ = fullname.rpartition(".")
        if not package or path is None:
            return None
        below = package.replace(".", os.sep)
        hidden = [os.path.join(folder, below) for folder in sys.path if folder in self.folders]
        return PathFinder.find_spec(fullname, [each for each in hidden if each not in path])


_finder: Final = _HiddenFolders()
