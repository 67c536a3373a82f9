"""`matches` over a type: pydantic validates, strictly and as JSON, and the match yields the validated instance."""

import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from decimal import Decimal
from functools import lru_cache
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, final, get_args, get_origin

import attrs

from niceeval_expect._evaluation import MATCHED, Evaluation
from niceeval_expect._match import ParsingMatch
from niceeval_expect._schema_attrs import readable_type
from niceeval_expect._schema_strict import exact_validator
from niceeval_expect._schema_subject import UnreadableError, levels_if_plain, read_json
from niceeval_expect._schema_type_errors import explain_error
from niceeval_expect._schema_unwrap import unwrap
from niceeval_expect._spec import argument_to_data, code_reference, digest

__all__ = ["type_match"]

_MAX_LEVELS: Final = 190
"""pydantic reads JSON text of up to 200 levels."""


def _number(value: Decimal) -> float | int:
    return int(value) if value == value.to_integral_value() else float(value)


_dumps: Final[Callable[[Any], str]] = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":"), default=_number
).encode


def type_match(schema: Any, coerce: bool) -> ParsingMatch[Any]:
    """Return the match for a type or a `TypeAdapter`, the same one for the same type.

    Raises:
        TypeError: If it is no type that pydantic can validate.
        ValueError: If it accepts every value, or names types that do not exist.
    """
    try:
        return _cached(schema, coerce)
    except TypeError as error:
        if "unhashable" not in str(error):
            raise
        return _build(schema, coerce)


def _build(schema: Any, coerce: bool) -> ParsingMatch[Any]:
    from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter, ValidationError
    from pydantic_core import to_json

    shown = _shown(schema)
    try:
        adapter = schema if isinstance(schema, TypeAdapter) else TypeAdapter(readable_type(schema))
        accepts_all = _accepts_all(adapter.core_schema)
        validator = adapter.validator if coerce else exact_validator(adapter)
    except PydanticUserError as error:
        # More sentences and a link follow the first.
        first = str(error).strip().splitlines()[0].split(". ")[0]
        hint = "; give it a class or another type" if isinstance(error, PydanticSchemaGenerationError) else ""
        raise TypeError(f"matches() cannot validate {shown}: {first}{hint}") from None
    except NameError as error:
        raise ValueError(f"matches() cannot validate {shown}: {error}") from None
    if accepts_all:
        raise ValueError(f"matches({shown}) checks nothing: it accepts every value; name a type, or use is_defined()")
    return _TypeMatch(
        schema, coerce, adapter, validator.validate_json, validator.validate_python, to_json, ValidationError
    )


_cached: Final = lru_cache(maxsize=256, typed=True)(_build)


def _accepts_all(core_schema: Any) -> bool:
    kind = core_schema["type"]
    if kind in ("nullable", "definitions", "default"):
        return _accepts_all(core_schema["schema"])
    return bool(kind == "any")


def _shown(form: Any) -> str:
    """Return a type as an author writes it: names without their modules."""
    origin, args = get_origin(form), get_args(form)
    if not args:
        return form.__qualname__.rsplit("<locals>.", 1)[-1] if isinstance(form, type) else repr(form)
    if origin in (Union, UnionType):
        return " | ".join("None" if arg is type(None) else _shown(arg) for arg in args)
    if origin is Annotated:
        return f"Annotated[{_shown(args[0])}, {', '.join(map(repr, form.__metadata__))}]"
    inside = ", ".join("..." if arg is ... else repr(arg) if origin is Literal else _shown(arg) for arg in args)
    name = getattr(origin, "__qualname__", None) or str(origin).removeprefix("typing.")
    return f"{name}[{inside}]"


@final
@attrs.frozen(eq=False, repr=False)
class _TypeMatch(ParsingMatch[Any]):
    _spec_name = "matches"
    _schema: Any
    _coerce: bool
    _adapter: Any
    _validate_json: Callable[..., Any]
    _validate_python: Callable[..., Any]
    _to_json: Callable[[Any], bytes]
    _invalid: type[Exception]

    def _args(self) -> dict[str, object]:
        return {"type": self._schema, **({"coerce": True} if self._coerce else {})}

    def spec(self) -> dict[str, Any]:
        schema = _json_schema(self._adapter)
        return {
            "match": "matches",
            "type": _type_reference(self._schema, self._adapter),
            **({} if schema is None else {"json_schema": schema}),
            **({"coerce": True} if self._coerce else {}),
        }

    def __repr__(self) -> str:
        text = f"matches({_shown(self._schema)}"
        return f"{text}, coerce=True)" if self._coerce else f"{text})"

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        strict = None if self._coerce else True
        try:
            if 0 < levels_if_plain(subject) <= _MAX_LEVELS:
                produced = self._validate_json(self._to_json(subject), strict=strict)
            else:
                produced = self._validate_objects(subject, pointer, strict)
        except self._invalid as error:
            return explain_error(error, subject, pointer)
        except UnreadableError as problem:
            return problem.evaluation()
        return Evaluation("matched", MATCHED.diagnostic, produced=produced)

    def _validate_objects(self, subject: object, pointer: str, strict: bool | None) -> Any:
        """Validate what holds more than plain JSON: instances by their data, then other objects as Python has them."""
        data, instances = unwrap(subject, pointer)
        names = {"by_alias": True, "by_name": True} if instances else {}
        try:
            value, levels = read_json(data, pointer)
            text = _dumps(value)
        except (UnreadableError, ValueError) as problem:
            # Not JSON, or an integer with more digits than Python writes into text.
            if isinstance(problem, UnreadableError) and problem.code != "not-json":
                raise
            return self._validate_python(data, strict=strict, **names)
        if levels > _MAX_LEVELS:
            raise RecursionError
        try:
            return self._validate_json(text, strict=strict, **names)
        except self._invalid:
            with suppress(self._invalid):
                return self._validate_python(data, strict=strict, **names)
            raise


def _json_schema(adapter: Any) -> Any:
    from pydantic import PydanticUserError
    from pydantic.json_schema import GenerateJsonSchema

    class Quiet(GenerateJsonSchema):
        def emit_warning(self, kind: Any, detail: str) -> None:
            return

    try:
        return argument_to_data(adapter.json_schema(schema_generator=Quiet))
    except PydanticUserError:
        # A type of the author's own that has no JSON Schema; its code is named all the same.
        return None


def _type_reference(schema: Any, adapter: Any) -> dict[str, Any]:
    """Return what names a type: a class as any code, a composed one by its text and the classes in it."""
    if isinstance(schema, type) and not get_args(schema):
        return code_reference(schema)
    named = list(_classes_in(getattr(adapter, "_type", schema) if schema is adapter else schema))
    references = [code_reference(cls) for cls in named]
    whole = digest(json.dumps([_shown(schema), references], sort_keys=True))
    module = references[0]["module"] if references else ""
    return {"$": "code", "module": module, "name": _shown(schema), "digest": whole}


def _classes_in(form: Any) -> Iterable[type]:
    parts = get_args(form)
    if isinstance(form, type) and not parts:
        yield form
    for part in parts:
        yield from _classes_in(part)
