"""Python code that is the same as expected, by its syntax tree."""

import ast
from typing import Any, Final, TypeAlias

import attrs

from niceeval_expect._evaluation import MATCHED, Evaluation, cut_text, errored, mismatched, wrong_type
from niceeval_expect._match import ValueMatch
from niceeval_expect._python_code import NoCode, PythonSource, parse_python, unfenced
from niceeval_expect._sources import options, read_flag
from niceeval_expect._spec import register

__all__ = ["first_difference", "not_read", "same_python"]

_DOCUMENTED: Final = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_PLACED: Final = (ast.stmt, ast.expr)
_LAYOUT: Final = frozenset({"kind", "type_comment", "type_ignores"})

_Places: TypeAlias = tuple[ast.AST | None, ast.AST | None]


def not_read(problem: NoCode, subject: str, pointer: str) -> Evaluation:
    """Return the evaluation of a text that is no code: broken where it could not be decided, else a mismatch."""
    if problem.code in ("size", "depth"):
        return errored(f"the text {problem.message}", pointer, code=problem.code, received=subject)
    return mismatched(problem.code, f"the text {problem.message}", pointer, received=subject)


def first_difference(expected: ast.AST, received: ast.AST, docstrings: bool = True) -> _Places | None:
    """Return the statements or expressions at the first place in which two trees differ, or None where none does.

    Where code stands, the kind of a text literal and type comments are layout. A side that has ended gives None.
    """
    stack: list[tuple[Any, Any, _Places]] = [(expected, received, (expected, received))]
    while stack:
        one, other, places = stack.pop()
        kind = type(one)
        if isinstance(one, _PLACED) and isinstance(other, _PLACED):
            places = one, other
        if kind is not type(other):
            return places
        if kind is list:
            if len(one) != len(other):
                stack.append((len(one), len(other), _after_the_end(one, other) or places))
            stack.extend((*pair, places) for pair in reversed(list(zip(one, other, strict=False))))
        elif isinstance(one, ast.AST):
            undocumented = not docstrings and kind in _DOCUMENTED
            for name in reversed(one._fields):
                if name in _LAYOUT:
                    continue
                left, right = getattr(one, name, None), getattr(other, name, None)
                if undocumented and name == "body":
                    left, right = _without_docstring(left), _without_docstring(right)
                # Names, operators and contexts are mostly one object everywhere.
                if left is not right:
                    stack.append((left, right, places))
        elif one != other and (one == one or other == other):
            return places
    return None


def _without_docstring(body: Any) -> Any:
    first = body[0] if isinstance(body, list) and body else None
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and type(first.value.value) is str
    return body[1:] if is_text else body


def _after_the_end(one: list[Any], other: list[Any]) -> _Places | None:
    """Return the first statement that only one of two bodies has."""
    index = min(len(one), len(other))
    extra = (one if len(one) > len(other) else other)[index]
    if not isinstance(extra, ast.stmt):
        return None
    return (extra, None) if len(one) > len(other) else (None, extra)


def _shown(node: ast.AST | None, source: PythonSource) -> str:
    """Return the line of the code on which a node begins."""
    line = getattr(node, "lineno", None)
    # The lines of the parser: a form feed ends none.
    lines = source.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return repr(cut_text(lines[line - 1].strip(), 120)) if line and line <= len(lines) else "nothing more"


@attrs.frozen(eq=False, repr=False)
class _SamePython(ValueMatch):
    _spec_name = "same_python"
    family = "referential"
    _expected: str
    _docstrings: bool
    _fenced: bool
    _source: PythonSource

    @property
    def reaches_outside(self) -> bool:
        return True

    def _args(self) -> dict[str, object]:
        args: dict[str, object] = {"expected": self._expected}
        if self._docstrings:
            args["docstrings"] = True
        if self._fenced:
            args["fenced"] = True
        return args

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        if not isinstance(subject, str):
            return wrong_type("text", subject, pointer)
        code = unfenced(subject) if self._fenced else subject
        read = code if isinstance(code, NoCode) else parse_python(code)
        if isinstance(read, NoCode):
            return not_read(read, subject, pointer)
        differing = first_difference(self._source.tree, read.tree, self._docstrings)
        if differing is None:
            return MATCHED
        wanted, got = _shown(differing[0], self._source), _shown(differing[1], read)
        line = getattr(differing[1], "lineno", None)
        where = f"line {line:,} differs" if line else "the code ends too early"
        message = f"{where}: expected {wanted}, got {got}"
        return mismatched("code", message, pointer, expected=self._expected, received=subject)


def same_python(expected: str, /, *, docstrings: bool = False, fenced: bool = False) -> ValueMatch:
    r"""Match a text that is the same Python code as `expected`: both have one syntax tree.

    Comments, blank lines, white space, line breaks, quotes, redundant parentheses, trailing commas and the spelling of
    a number (``1_000``) are no part of a tree, and docstrings are left out unless `docstrings` says otherwise. Names,
    annotations, the order of statements, imports and keyword arguments, and ``89`` against ``89.0`` are. Text that is
    no Python mismatches with code ``no-code``.

    It is blind to behaviour: other code that does the same mismatches, and nothing is run. The tree is that of
    the Python that evaluates; a construct it does not know is no code to it.

    Args:
        expected: The code, a module's worth of it.
        docstrings: Whether docstrings must be the same too.
        fenced: Whether the code is in a Markdown fence, the only one in the text; what is around it is not read.

    Raises:
        TypeError: If `expected` is no text, or an option is no bool.
        ValueError: If `expected` is blank or no Python.

    >>> from niceeval_expect import same_python
    >>> add = same_python("def add(a, b):\n    return a + b")
    >>> add.evaluate("def add(a,b):  # the sum\n  return (a + b)").outcome
    'matched'
    >>> add.evaluate("def add(a, b):\n    return b + a").diagnostic.message
    "line 2 differs: expected 'return a + b', got 'return b + a'"
    """
    owner = "same_python()"
    source = read_expected(owner, expected)
    return _SamePython(
        source.text,
        read_flag(owner, "docstrings", docstrings),
        read_flag(owner, "fenced", fenced),
        source,
    )


def read_expected(owner: str, expected: object) -> PythonSource:
    """Return the code that an answer is compared with.

    Raises:
        TypeError: If it is no text.
        ValueError: If it is blank or no Python.
    """
    if not isinstance(expected, str):
        raise TypeError(f"{owner} takes the expected code as text, got {expected!r:.200}")
    read = parse_python(str.__str__(expected))
    if isinstance(read, NoCode):
        raise ValueError(f"{owner} got expected code {expected!r:.200} that {read.message}")
    if not read.tree.body:
        raise ValueError(f"{owner} got the expected code {expected!r:.200}, which does nothing; give a statement")
    return read


register("same_python", lambda args: same_python(args["expected"], **options(args, "expected")))
