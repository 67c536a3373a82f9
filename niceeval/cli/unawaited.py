"""Coroutines of eval files that nobody awaited: Python only warns, and whatever they would have checked is missing."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from niceeval.runner import Plan
from niceeval.signals import short_path

__all__ = ["told_of_unawaited"]

_ENDING = "was never awaited"


@contextmanager
def told_of_unawaited(plan: Plan, tell: Callable[[str], None]) -> Iterator[None]:
    """Tell of every coroutine that an eval file of the plan made and nobody awaited; other warnings stay warnings.

    Args:
        plan: What runs.
        tell: Called with a sentence that names file and line.
    """
    files = {str(Path(eval_.source.file).resolve()) for eval_ in plan.evals}
    usual = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        text = str(message)
        if issubclass(category, RuntimeWarning) and text.endswith(_ENDING) and str(Path(filename).resolve()) in files:
            tell(f"{short_path(filename)}:{lineno}: {text}, so nothing in it was checked: write await before the call")
        else:
            usual(message, category, filename, lineno, file, line)

    with warnings.catch_warnings():
        warnings.filterwarnings("always", f"coroutine .* {_ENDING}", RuntimeWarning)
        warnings.showwarning = show
        yield
