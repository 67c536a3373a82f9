"""The data in an instance: nothing counts as valid because its class says so."""

from dataclasses import fields
from decimal import Decimal
from typing import Any

import attrs

from niceeval_expect._codec_types import Snapshot, object_kind
from niceeval_expect._pointer import child
from niceeval_expect._schema_subject import read_number, read_text

__all__ = ["unwrap"]


def unwrap(value: object, pointer: str = "") -> tuple[Any, bool]:
    """Return a value with the pydantic, dataclass and attrs instances in it as dicts, and whether there were any.

    Raises:
        UnreadableError: For a number that is not finite, or a lone surrogate.
        RecursionError: For a value that contains itself or is very deep.
    """
    reader = _Unwrapping()
    return reader.read(value, pointer, inside=False), reader.found


class _Unwrapping:
    def __init__(self) -> None:
        self.found = False

    def read(self, value: Any, pointer: str, inside: bool) -> Any:
        kind = type(value)
        if kind is str:
            return read_text(value, pointer)
        if kind is int or kind is bool or value is None:
            return value
        if isinstance(value, float | Decimal):
            return read_number(value, pointer)
        if kind is dict:
            return {key: self.read(item, child(pointer, str(key)), inside) for key, item in value.items()}
        if kind in (list, tuple) or (inside and kind in (set, frozenset)):
            items = [self.read(item, child(pointer, index), inside) for index, item in enumerate(value)]
            return tuple(items) if kind is tuple and not inside else items
        if isinstance(value, Snapshot):
            # An instance as it was stored is validated like the instance.
            self.found = self.found or value.kind in ("pydantic", "attrs", "dataclass")
            return self.read(value.value, pointer, True)
        family = object_kind(kind)
        if family is not None:
            self.found = True
            return self.read(_fields(value, family), pointer, True)
        return _jsonable(value) if inside else value


def _fields(value: Any, family: str) -> Any:
    if family == "attrs":
        return {f.alias: getattr(value, f.name) for f in attrs.fields(type(value)) if f.init and hasattr(value, f.name)}
    if family == "dataclass":
        return {f.name: getattr(value, f.name) for f in fields(value) if f.init and hasattr(value, f.name)}
    from pydantic import RootModel

    if isinstance(value, RootModel):
        return value.root
    known = type(value).__pydantic_fields__
    return {**{name: item for name, item in vars(value).items() if name in known}, **(value.model_extra or {})}


def _jsonable(value: Any) -> Any:
    """Return how a field's value reads in JSON: an ISO date, a UUID's text, an enum member's value."""
    from pydantic_core import PydanticSerializationError, to_jsonable_python

    try:
        return to_jsonable_python(value)
    except PydanticSerializationError:
        return value
