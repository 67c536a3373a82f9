"""attrs classes as types that pydantic validates: their fields by their annotations, then their own constructor."""

import functools
import inspect
import operator
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, NotRequired, TypeVar, final, get_args, get_origin

import attrs

__all__ = ["readable_type"]


def readable_type(form: Any) -> Any:
    """Return a type with every attrs class in it replaced by one that pydantic can read."""
    return _Reading().replace(form, {})


@final
class _Reading:
    def __init__(self) -> None:
        self._made: dict[type, Any] = {}

    def replace(self, form: Any, variables: Mapping[Any, Any]) -> Any:
        if isinstance(form, TypeVar):
            return variables.get(form, form)
        origin, args = get_origin(form), get_args(form)
        if attrs.has(origin or form) and isinstance(origin or form, type):
            return self._attrs_class(origin or form, args, variables)
        if not args or origin is typing.Literal:
            return form
        replaced = tuple(self.replace(arg, variables) for arg in args)
        if all(new is old for new, old in zip(replaced, args, strict=True)):
            return form
        if origin is Annotated:
            return functools.reduce(lambda inner, note: Annotated[inner, note], form.__metadata__, replaced[0])
        if origin is types.UnionType:
            return functools.reduce(operator.or_, replaced)
        return form.copy_with(replaced) if hasattr(form, "copy_with") else origin[replaced]

    def _attrs_class(self, cls: type, args: tuple[Any, ...], variables: Mapping[Any, Any]) -> Any:
        if not args and cls in self._made:
            return self._made[cls]
        reader = _AttrsReader(cls)
        annotated: Any = Annotated
        made = annotated[cls, reader]
        if not args:
            self._made[cls] = made
        given = (self.replace(arg, variables) for arg in args)
        bound = dict(zip(getattr(cls, "__parameters__", ()), given, strict=False))
        attrs.resolve_types(cls, include_extras=True)
        reader.shape = _shape(cls, lambda form: self.replace(form, bound))
        return made


def _shape(cls: type, replace: Callable[[Any], Any]) -> Any:
    from pydantic import ConfigDict
    from typing_extensions import TypedDict

    keys: dict[str, Any] = {}
    for field in attrs.fields(cls):
        if field.init:
            form = replace(_accepted(field))
            assert field.alias is not None
            keys[field.alias] = form if field.default is attrs.NOTHING else NotRequired[form]
    make: Any = TypedDict
    shape = make(cls.__name__, keys)
    # Its constructor refuses a name that it does not know.
    shape.__pydantic_config__ = ConfigDict(extra="forbid")
    return shape


def _accepted(field: "attrs.Attribute[Any]") -> Any:
    """Return what the field takes: its converter's parameter where that is annotated, else its own annotation."""
    # An `attrs.Converter` holds the function.
    converter: Any = getattr(field.converter, "converter", field.converter)
    if converter is not None and not isinstance(converter, type):
        try:
            parameter = next(iter(inspect.signature(converter, eval_str=True).parameters.values()))
        except (NameError, StopIteration, TypeError, ValueError):
            return field.type
        if parameter.annotation is not parameter.empty:
            return parameter.annotation
    return Any if field.type is None else field.type


@final
class _AttrsReader:
    """Tells pydantic how to validate an attrs class."""

    def __init__(self, cls: type) -> None:
        self._cls = cls
        self.shape: Any = None

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(self._build, handler.generate_schema(self.shape))

    def _build(self, data: dict[str, Any]) -> Any:
        try:
            return self._cls(**data)
        except TypeError as error:
            # attrs' own validators raise TypeError with the attribute in it; any other is a fault in the class.
            if any(isinstance(part, attrs.Attribute) for part in error.args):
                raise ValueError(str(error.args[0])) from error
            raise
