"""A tool's declared JSON Schema: where its parameters are, and what it says of each place in the arguments."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from niceeval_expect._evaluation import MAX_SAMPLES
from niceeval_expect._freeze import freeze
from niceeval_expect._pointer import segments_of

__all__ = ["Schema", "below", "every_schema", "item_schemas", "parameters_of", "refuse_unknown"]

Schema: TypeAlias = Mapping[str, Any]

_WRAPPED: Final = ("function", "parameters", "input_schema", "inputSchema")
_BRANCHES: Final = ("allOf", "anyOf", "oneOf")


def every_schema(schema: Any, root: Schema, seen: frozenset[int] = frozenset()) -> Iterator[Schema]:
    """Yield a schema, what it refers to, and the branches that may describe the same value."""
    if not isinstance(schema, Mapping) or id(schema) in seen:
        return
    yield schema
    seen |= {id(schema)}
    if "$ref" in schema:
        yield from every_schema(_referred(schema["$ref"], root), root, seen)
    for keyword in _BRANCHES:
        for branch in schema.get(keyword, ()):
            yield from every_schema(branch, root, seen)


def below(schemas: Iterable[Schema], key: Any, root: Schema) -> Iterator[Schema]:
    """Yield what describes the value of one key."""
    for schema in schemas:
        properties = schema.get("properties")
        if isinstance(properties, Mapping) and key in properties:
            yield from every_schema(properties[key], root)
        elif isinstance(schema.get("additionalProperties"), Mapping):
            yield from every_schema(schema["additionalProperties"], root)


def item_schemas(schemas: Iterable[Schema], index: int, root: Schema) -> Iterator[Schema]:
    """Yield what describes one item of a list."""
    for schema in schemas:
        first = schema.get("prefixItems", ())
        yield from every_schema(first[index] if index < len(first) else schema.get("items"), root)


def _referred(reference: Any, root: Schema) -> Any:
    """Return the part of the schema that a local reference names; None if there is none."""
    found: Any = root
    for segment in segments_of(str(reference).removeprefix("#")):
        found = found.get(segment) if isinstance(found, Mapping) else None
    return found


def parameters_of(tool_schema: object) -> Schema:
    """Return the schema of the parameters, out of whatever defines the tool."""
    if not isinstance(tool_schema, Mapping):
        raise TypeError(f"same_arguments() takes the tool's JSON Schema as a mapping, got {tool_schema!r:.200}")
    schema: Any = tool_schema
    while "properties" not in schema:
        inner = next((schema[key] for key in _WRAPPED if isinstance(schema.get(key), Mapping)), None)
        if inner is None:
            break
        schema = inner
    if not any(isinstance(part.get("properties"), Mapping) for part in every_schema(schema, schema)):
        raise ValueError(f"same_arguments() got a schema that declares no properties: {tool_schema!r:.200}")
    frozen: Schema = freeze(dict(schema))
    _check_references(frozen, frozen)
    return frozen


def _check_references(part: Any, root: Schema) -> None:
    stack = [part]
    while stack:
        item = stack.pop()
        if isinstance(item, Mapping):
            reference = item.get("$ref")
            if isinstance(reference, str) and (not reference.startswith("#") or _referred(reference, root) is None):
                raise ValueError(f"same_arguments() got a schema with the reference {reference!r}, which is not in it")
            stack.extend(item.values())
        elif isinstance(item, list | tuple):
            stack.extend(item)


def refuse_unknown(schema: Schema, expected: Mapping[str, Any]) -> None:
    """Refuse an expected argument that the schema does not know, which is a slip of the pen."""
    parts = list(every_schema(schema, schema))
    if any(part.get("additionalProperties") or part.get("patternProperties") for part in parts):
        return
    declared = [key for part in parts for key in part.get("properties", ())]
    for key in expected:
        if key not in declared:
            known = ", ".join(map(str, declared[:MAX_SAMPLES]))
            raise ValueError(
                f"same_arguments() expects {key!r}, which the schema does not declare; declared are {known}"
            )
