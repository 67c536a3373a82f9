"""`matches`: a value against a JSON Schema, or against a type."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from typing_extensions import TypeForm, TypeVar

from niceeval_expect._match import Match, ParsingMatch, ValueMatch
from niceeval_expect._parse import ParseProblem, parse_strict
from niceeval_expect._schema_json import schema_match
from niceeval_expect._schema_types import type_match
from niceeval_expect._spec import register

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["matches"]

V = TypeVar("V")


@overload
def matches(schema: Mapping[str, Any] | str | Path, /, *, allow: Iterable[str] = ()) -> ValueMatch: ...
@overload
def matches(schema: "TypeAdapter[V]", /, *, coerce: bool = False) -> ParsingMatch[V]: ...
@overload
def matches(schema: TypeForm[V], /, *, coerce: bool = False) -> ParsingMatch[V]: ...
def matches(schema: Any, /, *, allow: Iterable[str] = (), coerce: bool = False) -> Any:
    """Match a value that satisfies a JSON Schema or is, as JSON, a value of a type; nothing is converted to fit.

    A JSON Schema is draft 2020-12 unless ``$schema`` says otherwise; formats are enforced, and a keyword, format or
    reference that no engine would act on is refused here. A type is anything pydantic validates, or an attrs class:
    ``"5"`` and ``5.0`` are no int, 1 is not true (inside ``Literal`` too), an ISO date as text is a date, and an
    instance is validated by its data. Extra keys follow the type's own rule: pydantic ignores them unless the model
    forbids them, an attrs class refuses them. Numbers that are not finite satisfy nothing. A value of the wrong shape
    mismatches with code ``schema``, one of the right shape that is not allowed with code ``constraint``.

    Args:
        schema: A JSON Schema as a dict, as JSON text, or as the `pathlib.Path` of a file, which is read now; or a
            pydantic model, a dataclass, an attrs class, any other type, or a `TypeAdapter`.
        allow: For a JSON Schema: names of keywords and formats that may be there though nothing checks them.
        coerce: For a type: convert as pydantic does by default (``"5"`` to 5). The evidence keeps the raw value.

    Returns:
        A match; one over a type yields the validated instance.

    Raises:
        TypeError: If `schema` is none of these, or an option does not go with it.
        ValueError: If the schema is not valid, checks nothing, or holds something that would not be checked.

    >>> from niceeval_expect import matches
    >>> order = matches({"type": "object", "required": ["id"], "properties": {"total": {"minimum": 1}}})
    >>> order.evaluate({"id": "A-1", "total": 0}).diagnostic.message
    '0 is less than the minimum of 1'
    >>> matches(list[int]).evaluate([1, "2"]).diagnostic.pointer
    '/1'
    >>> matches({"type": "object", "require": ["id"]})
    Traceback (most recent call last):
      ...
    ValueError: matches() got a schema that cannot be used: /require is not a keyword ... (did you mean 'required'?)...
    """
    names = _allowed(allow)
    if isinstance(schema, Mapping | str | Path):
        if coerce:
            raise TypeError("matches() takes coerce= with a type only; a JSON Schema converts nothing")
        return schema_match(_read_schema(schema), names)
    if names:
        raise TypeError("matches() takes allow= with a JSON Schema only; a type has no keywords to allow")
    if not isinstance(coerce, bool):
        raise TypeError(f"coerce must be True or False, got {coerce!r}")
    if schema is None or schema is ... or isinstance(schema, Match | bytes | int | float | list | tuple | set):
        raise TypeError(
            f"matches() takes a JSON Schema (a dict, JSON text, a pathlib.Path) or a type, got {schema!r:.200}"
        )
    return type_match(schema, coerce)


def _read_schema(schema: Mapping[str, Any] | str | Path) -> dict[str, Any]:
    if isinstance(schema, Mapping):
        return schema if type(schema) is dict else dict(schema)
    name = "the JSON text of a schema" if isinstance(schema, str) else f"the schema {schema}"
    try:
        text = schema if isinstance(schema, str) else schema.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"matches() cannot read {name}: {error}") from error
    parsed = parse_strict(text)
    if isinstance(parsed, ParseProblem):
        hint = "; text is read as JSON, give a file as a pathlib.Path" if isinstance(schema, str) else ""
        raise ValueError(f"matches() got {name} that is not JSON: {parsed.message} ({text!r:.80}){hint}")
    if not isinstance(parsed.value, dict):
        raise ValueError(f"matches() takes a schema that is a JSON object, got {text!r:.80}; it would check nothing")
    return parsed.value


def _allowed(allow: Iterable[str]) -> frozenset[str]:
    if isinstance(allow, str):
        raise TypeError(f"allow must be a list of names, got the text {allow!r}; write [{allow!r}]")
    if not isinstance(allow, Iterable):
        raise TypeError(f"allow must be a list of names, got {allow!r}")
    names = list(allow)
    for name in names:
        if not isinstance(name, str) or not name:
            raise TypeError(f"allow must be a list of names of keywords and formats, got {name!r}")
    return frozenset(names)


def _rebuild(args: Mapping[str, Any]) -> Match:
    if "type" in args:
        rebuilt: Match = matches(args["type"], coerce=args.get("coerce", False))
        return rebuilt
    return matches(args["schema"], allow=args.get("allow", ()))


register("matches", _rebuild)
