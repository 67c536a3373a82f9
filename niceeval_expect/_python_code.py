"""Python code as a syntax tree: read within bounds, found in a fence, and compared."""

import ast
import re
import threading
import warnings
from typing import Final

import attrs

__all__ = ["MAX_CODE", "NoCode", "PythonSource", "parse_python", "unfenced"]

MAX_CODE: Final = 250_000
"""The longest code that is read, in characters: the parser needs about a second for it, and 100 times the memory."""

_FENCE: Final = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)\n", re.MULTILINE)
# What makes the parser warn: an escape that is none, a number run into a word.
_MAY_WARN: Final = re.compile(r"\\|\d[A-Za-z_]")
_QUIET: Final = threading.Lock()


@attrs.frozen
class NoCode:
    """Why a text could not be read as code."""

    code: str
    message: str


@attrs.frozen
class PythonSource:
    """Code and its tree."""

    text: str
    tree: ast.Module


def unfenced(text: str) -> str | NoCode:
    r"""Return what is inside the only Markdown code fence of a text.

    >>> unfenced("Here:\n```python\nf(1)\n```\n")
    'f(1)\n'
    """
    opening = _FENCE.search(text)
    if opening is None:
        return NoCode("no-fence", "holds no code fence")
    mark = opening[1]
    closing = re.compile(rf"^ {{0,3}}{mark[0]}{{{len(mark)},}}[ \t]*$", re.MULTILINE).search(text, opening.end())
    if closing is None:
        return NoCode("no-fence", "has a code fence that is not closed")
    if _FENCE.search(text, closing.end()):
        return NoCode("ambiguous", "holds more than one code fence")
    return text[opening.end() : closing.start()]


def parse_python(text: str) -> PythonSource | NoCode:
    """Read code by the grammar of the Python that runs; what is too long or nested too deeply is not read."""
    if len(text) > MAX_CODE:
        return NoCode("size", f"is too long to be read as Python: {len(text):,} characters, {MAX_CODE:,} at most")
    try:
        return PythonSource(text, _parse(text))
    except (MemoryError, RecursionError):
        return NoCode("depth", "is nested too deeply to be read as Python")
    except SyntaxError as error:
        if error.msg.startswith("too many nested"):
            return NoCode("depth", "is nested too deeply to be read as Python")
        where = f" (line {error.lineno}, column {error.offset})" if error.lineno else ""
        return NoCode("no-code", f"is not Python{where}: {error.msg}")
    except ValueError as error:
        return NoCode("no-code", f"is not Python: {error}")


def _parse(text: str) -> ast.Module:
    text = text.removeprefix("\ufeff")
    if _MAY_WARN.search(text) is None:
        return ast.parse(text)
    # A warning must neither be shown nor, where warnings are errors, decide; the filters are the whole process's.
    with _QUIET, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)
