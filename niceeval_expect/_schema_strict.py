"""Strictness that pydantic's own strict mode lacks: a bool is no 1, and 1.0 no int, in `Literal` and enums too."""

from enum import Enum
from typing import Any, Final

__all__ = ["exact_validator"]

_NOT_SCHEMAS: Final = frozenset({"cls", "config", "default", "expected", "members", "metadata", "serialization"})


def exact_validator(adapter: Any) -> Any:
    """Return the validator of a `TypeAdapter`, made exact where its own would take a bool for a number."""
    schema = adapter.core_schema
    changed = _exact(schema)
    if changed is schema:
        return adapter.validator
    from pydantic_core import SchemaValidator

    build: Any = SchemaValidator
    # Otherwise it would take the validators that the classes bring along, which are not exact.
    return build(changed, _use_prebuilt=False)


def _exact(node: Any) -> Any:
    """Return a core schema with a check before each literal and enum that holds a bool or a number."""
    if isinstance(node, list | tuple):
        items = [_exact(item) for item in node]
        same = all(new is old for new, old in zip(items, node, strict=True))
        return node if same else type(node)(items)
    if not isinstance(node, dict):
        return node
    kind = node.get("type")
    if kind in ("literal", "enum"):
        members = node.get("expected") or node.get("members") or ()
        values = [member.value if isinstance(member, Enum) else member for member in members]
        return _guarded(node, kind, values) if any(isinstance(value, int | float) for value in values) else node
    changed = {key: item if key in _NOT_SCHEMAS else _exact(item) for key, item in node.items()}
    return node if all(changed[key] is node[key] for key in node) else changed


def _guarded(node: dict[str, Any], kind: str, values: list[Any]) -> dict[str, Any]:
    from pydantic_core import PydanticKnownError, core_schema

    exact = {(type(value), value) for value in values if isinstance(value, int | float)}
    # As everywhere, an int is a number where a float is meant.
    exact |= {(int, value) for found, value in exact if found is float}
    equal = {value for _, value in exact}
    expected = " or ".join([", ".join(map(repr, values[:-1])), repr(values[-1])]) if values[1:] else repr(values[0])
    error: Any = "literal_error" if kind == "literal" else "enum"

    def check(value: Any) -> Any:
        if type(value) in (bool, int, float) and value in equal and (type(value), value) not in exact:
            raise PydanticKnownError(error, {"expected": expected})
        return value

    inner: Any = {key: item for key, item in node.items() if key != "ref"}
    ref = {"ref": node["ref"]} if "ref" in node else {}
    return {**core_schema.no_info_before_validator_function(check, inner), **ref}
