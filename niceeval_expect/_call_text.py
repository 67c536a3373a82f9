"""A call written as Python text: its function, its arguments as values, and where a signature puts them."""

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias, final

import attrs

from niceeval_expect._evaluation import cut_text
from niceeval_expect._python_code import NoCode, PythonSource, parse_python
from niceeval_expect._same_python import first_difference

__all__ = ["Arguments", "Code", "PythonCall", "arrange", "read_call", "read_signature", "without_types"]

Arguments: TypeAlias = dict[int | str, Any]
"""The arguments of a call: by name, or by position from 1 on."""

_STATEMENTS: Final = {
    ast.Assign: "an assignment",
    ast.AnnAssign: "an assignment",
    ast.AugAssign: "an assignment",
    ast.Return: "a return statement",
    ast.Import: "an import",
    ast.ImportFrom: "an import",
    ast.FunctionDef: "a function definition",
}
_EXPRESSIONS: Final = {
    ast.Name: "a name",
    ast.Attribute: "an attribute",
    ast.Constant: "a constant",
    ast.Await: "awaited",
    ast.List: "a list",
    ast.Tuple: "a tuple",
    ast.Dict: "a dict",
    ast.Compare: "a comparison",
}


@final
class Code:
    """An argument that is no literal: a name, a call, an operation. It equals what has the same syntax tree."""

    __slots__ = ("_node", "_text")

    def __init__(self, node: ast.expr, source: PythonSource) -> None:
        self._node = node
        self._text = ast.get_source_segment(source.text, node) or type(node).__name__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Code) and first_difference(self._node, other._node) is None

    def __hash__(self) -> int:
        return hash(type(self._node))

    def __repr__(self) -> str:
        return cut_text(self._text, 120)


@final
class _Number:
    """A number that equals only one of its type."""

    __slots__ = ("_value",)

    def __init__(self, value: complex) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Number) and (type(self._value), self._value) == (type(other._value), other._value)

    def __hash__(self) -> int:
        return hash(self._value)

    def __repr__(self) -> str:
        return repr(self._value)


def without_types(value: Any) -> Any:
    """Return a value in which a number equals only a number of its type."""
    kind = type(value)
    if kind in (int, float, complex):
        return _Number(value)
    if kind in (list, tuple):
        return [without_types(item) for item in value]
    if kind is dict:
        return {key: without_types(item) for key, item in value.items()}
    if kind in (set, frozenset):
        return frozenset(without_types(item) for item in value)
    return value


@attrs.frozen
class PythonCall:
    """One call: the function as it is written, and its arguments."""

    function: Code
    positional: tuple[Any, ...]
    named: Mapping[str, Any]
    unpacks: bool


def read_call(text: str) -> PythonCall | NoCode:
    """Return the call that a text is, or why it is none."""
    source = parse_python(text.strip())
    if isinstance(source, NoCode):
        return source
    body = source.tree.body
    if len(body) != 1:
        return NoCode("no-call", f"holds {len(body):,} statements, not one call" if body else "holds no call")
    statement = body[0]
    if not isinstance(statement, ast.Expr):
        return NoCode("no-call", f"is {_STATEMENTS.get(type(statement), 'a statement')}, not a call")
    call = statement.value
    if not isinstance(call, ast.Call):
        return NoCode("no-call", f"is {_EXPRESSIONS.get(type(call), 'an expression')}, not a call")
    named: dict[str, Any] = {}
    unpacks = any(isinstance(item, ast.Starred) for item in call.args)
    for keyword in call.keywords:
        # What is unpacked has no name; its place among the others does not matter, its order does.
        name = keyword.arg or f"**{sum(key.startswith('**') for key in named)}"
        unpacks = unpacks or keyword.arg is None
        if name in named:
            return NoCode("no-call", f"is no call: it names the argument {name!r} twice")
        named[name] = _value(keyword.value, source)
    return PythonCall(Code(call.func, source), tuple(_value(item, source) for item in call.args), named, unpacks)


def _value(node: ast.expr, source: PythonSource) -> Any:
    """Return the value of a literal, and any other expression as code."""
    try:
        match node:
            case ast.Constant(value=value) if value is not ...:
                return value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)) if not _is_bool(
                value
            ):
                return -value
            case ast.UnaryOp(op=ast.UAdd(), operand=ast.Constant(value=int() | float() as value)) if not _is_bool(
                value
            ):
                return value
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return [_value(item, source) for item in items]
            case ast.Set(elts=items):
                return frozenset(_value(item, source) for item in items)
            case ast.Dict(keys=keys, values=values) if None not in keys:
                return {
                    _value(key, source): _value(item, source)
                    for key, item in zip(keys, values, strict=True)
                    if key is not None
                }
    except TypeError:
        # A list as a key or in a set: Python would refuse it when it runs.
        return Code(node, source)
    return Code(node, source)


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)


def arrange(call: PythonCall, signature: inspect.Signature | None, defaults: bool) -> Arguments | NoCode:
    """Return the arguments by name where there is a signature, else as they were passed."""
    if signature is None:
        by_position: Arguments = dict(enumerate(call.positional, 1))
        by_position.update(call.named)
        return by_position
    if call.unpacks:
        return NoCode("signature", "unpacks arguments, which the signature cannot put in their places")
    try:
        bound = signature.bind(*call.positional, **call.named)
    except TypeError as error:
        return NoCode("signature", f"does not fit the signature: {error}")
    if defaults:
        bound.apply_defaults()
    arranged: Arguments = {}
    for name, value in bound.arguments.items():
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            arranged.update(value)
        elif kind is not inspect.Parameter.VAR_POSITIONAL or value:
            arranged[name] = list(value) if kind is inspect.Parameter.VAR_POSITIONAL else value
    return arranged


def read_signature(owner: str, signature: str | Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a function, or the one that a text spells out.

    Raises:
        TypeError: If it is neither text nor callable.
        ValueError: If the function tells no signature, or the text spells none.
    """
    if isinstance(signature, str):
        return _spelled(owner, signature)
    if not callable(signature):
        raise TypeError(
            f"{owner} takes signature= as a function or as text like '(id, amount=0)', got {signature!r:.200}"
        )
    try:
        return inspect.signature(signature)
    except ValueError as error:
        raise ValueError(f"{owner} got a function without a signature to read: {error}; spell it as text") from error


def _spelled(owner: str, text: str) -> inspect.Signature:
    source = parse_python(f"def _{text.strip()}: pass")
    problem = f"{owner} takes signature= as a function or as text like '(id, amount=0)', got {text!r:.200}"
    if isinstance(source, NoCode) or len(source.tree.body) != 1:
        raise ValueError(problem)
    function = source.tree.body[0]
    if not isinstance(function, ast.FunctionDef) or not text.strip().startswith("(") or function.name != "_":
        raise ValueError(problem)
    try:
        return inspect.Signature(list(_parameters(function.args, source)))
    except ValueError as error:
        raise ValueError(f"{problem}: {error}") from error


def _parameters(given: ast.arguments, source: PythonSource) -> Iterator[inspect.Parameter]:
    kind = inspect.Parameter

    def parameter(arg: ast.arg, place: Any, default: ast.expr | None = None) -> inspect.Parameter:
        return kind(arg.arg, place, default=kind.empty if default is None else _value(default, source))

    plain = [*given.posonlyargs, *given.args]
    filled = [None] * (len(plain) - len(given.defaults)) + list(given.defaults)
    for index, (arg, default) in enumerate(zip(plain, filled, strict=True)):
        place = kind.POSITIONAL_ONLY if index < len(given.posonlyargs) else kind.POSITIONAL_OR_KEYWORD
        yield parameter(arg, place, default)
    if given.vararg:
        yield parameter(given.vararg, kind.VAR_POSITIONAL)
    for arg, only in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        yield parameter(arg, kind.KEYWORD_ONLY, only)
    if given.kwarg:
        yield parameter(given.kwarg, kind.VAR_KEYWORD)
