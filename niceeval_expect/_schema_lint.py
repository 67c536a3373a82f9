"""What a JSON Schema must not contain: what no engine would act on.

An engine ignores a keyword or a format that it does not know, and reads a reference back to itself as "anything goes".
A check that was meant and is not made is worse than none, so that all of these are refused when a match is built.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any, Final

import attrs

from niceeval_expect._evaluation import cut_text
from niceeval_expect._pointer import child

__all__ = ["Draft", "Inspected", "draft_of", "inspect_schema", "near", "specifications"]

_ANNOTATIONS: Final = frozenset(
    {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment", "discriminator"}
)
_RETIRED: Final = {
    "dependencies": "dependentRequired or dependentSchemas",
    "additionalItems": "prefixItems with items",
    "$recursiveRef": "$dynamicRef",
    "$recursiveAnchor": "$dynamicAnchor",
    "id": "$id",
    "nullable": 'the type "null"',
    "example": "examples",
}
_ONE: Final = (
    "additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not",
    "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
)  # fmt: skip
_MANY: Final = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_NAMED: Final = ("$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties")
_IN_PLACE: Final = frozenset(
    {"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"}
)
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_EMPTY: Final = {"required": [], "uniqueItems": False, "minLength": 0, "minItems": 0, "minProperties": 0,
                 "dependentRequired": {}}  # fmt: skip
_FORMATS: Final = (
    "date", "date-time", "duration", "email", "hostname", "idn-email", "idn-hostname", "ipv4", "ipv6", "iri",
    "iri-reference", "json-pointer", "regex", "relative-json-pointer", "time", "uri", "uri-reference", "uri-template",
    "uuid",
)  # fmt: skip
_DRAFTS: Final = {
    "http://json-schema.org/draft-04/schema": "Draft4Validator",
    "http://json-schema.org/draft-06/schema": "Draft6Validator",
    "http://json-schema.org/draft-07/schema": "Draft7Validator",
    "https://json-schema.org/draft/2019-09/schema": "Draft201909Validator",
    "https://json-schema.org/draft/2020-12/schema": "Draft202012Validator",
}
_DEFAULT: Final = "https://json-schema.org/draft/2020-12/schema"


@attrs.frozen
class Draft:
    """A version of JSON Schema: its URI, the class of `jsonschema` that speaks it, and the keywords that exist."""

    uri: str
    validator: Any
    keywords: frozenset[str]

    @property
    def name(self) -> str:
        """The name as people say it, such as ``draft 2020-12``."""
        return "draft " + self.uri.removesuffix("/schema").rsplit("/", 1)[-1].removeprefix("draft-")


@attrs.frozen
class Inspected:
    """What an accepted schema uses that must be known before it is evaluated."""

    patterns: tuple[str, ...]
    formats: tuple[str, ...]
    by_pattern: bool
    """Whether keys are matched by patterns."""


def draft_of(schema: Mapping[str, Any]) -> Draft:
    """Return the draft that a schema names by ``$schema``, 2020-12 where it names none."""
    named = schema.get("$schema", _DEFAULT)
    uri = named.removesuffix("#") if isinstance(named, str) else None
    if uri not in _DRAFTS:
        raise ValueError(
            f"/$schema names {named!r:.200}, which is not known here; known are {', '.join(_DRAFTS)} (or leave it out)"
        )
    return _draft(uri)


@lru_cache(maxsize=8)
def _draft(uri: str) -> Draft:
    import jsonschema

    validator = getattr(jsonschema, _DRAFTS[uri])
    meta = validator.META_SCHEMA
    keywords = {*validator.VALIDATORS, *_ANNOTATIONS, "definitions"}
    if "$vocabulary" in meta:
        # The vocabularies hold the keywords; what the root adds to them are those of earlier drafts.
        for part in meta["allOf"]:
            keywords.update(specifications().contents(f"{uri.removesuffix('schema')}{part['$ref']}")["properties"])
    else:
        keywords.update(meta["properties"])
    return Draft(uri, validator, frozenset(keywords))


def specifications() -> Any:
    """Return the registry of all metaschemas, which come with `jsonschema`."""
    return import_module("jsonschema_specifications").REGISTRY


def near(name: str, known: Iterable[str]) -> str:
    """Return `` (did you mean …?)`` for a misspelled name, or nothing."""
    from difflib import get_close_matches

    found = get_close_matches(name, sorted(known), n=1, cutoff=0.6)
    return f" (did you mean {found[0]!r}?)" if found else ""


def inspect_schema(
    schema: dict[str, Any], draft: Draft, allow: frozenset[str], enforced: Callable[[str], bool]
) -> Inspected:
    """Go through a schema that its metaschema accepts, and return what it uses.

    Args:
        schema: Plain JSON.
        draft: The draft it is written in.
        allow: Names of keywords and formats that are fine though no engine knows them.
        enforced: Tells whether the deciding engine enforces a format.

    Raises:
        ValueError: With a sentence that names the JSON Pointer of what is wrong.
    """
    inspection = _Inspection(draft, allow, enforced)
    inspection.run(schema)
    if not inspection.checks(schema):
        raise ValueError(
            "the schema checks nothing: it has no keyword that could refuse a value; state at least a type, "
            "or use is_defined()"
        )
    return Inspected(tuple(inspection.patterns), tuple(inspection.formats), inspection.by_pattern)


class _Inspection:
    def __init__(self, draft: Draft, allow: frozenset[str], enforced: Callable[[str], bool]) -> None:
        self._draft = draft
        self._allow = allow
        self._enforced = enforced
        self._targets: dict[tuple[int, str], Any] = {}
        self._edges: dict[int, list[tuple[Any, str]]] = {}
        self._checking: dict[int, bool] = {}
        self.patterns: dict[str, None] = {}
        self.formats: dict[str, None] = {}
        self.by_pattern = False

    def run(self, schema: dict[str, Any]) -> None:
        from referencing.jsonschema import specification_with

        specification = specification_with(self._draft.uri)
        root = specification.create_resource(schema)
        todo: list[tuple[Any, str, Any]] = [(schema, "", specifications().resolver_with_root(root))]
        while todo:
            part, pointer, resolver = todo.pop()
            if not isinstance(part, dict) or id(part) in self._edges:
                continue
            resolver = resolver if part is schema else resolver.in_subresource(specification.create_resource(part))
            edges = self._edges[id(part)] = []
            self._keywords(part, pointer)
            for keyword, below, there in _parts(part, pointer):
                todo.append((below, there, resolver))
                if keyword in _IN_PLACE:
                    edges.append((below, there))
            for keyword in _REFERENCES:
                if keyword in part:
                    there = child(pointer, keyword)
                    target, resolved, ours = self._resolve(part[keyword], there, resolver)
                    self._targets[id(part), keyword] = target
                    edges.append((target, there))
                    if ours:
                        todo.append((target, there, resolved))
        self._refuse_loops(schema)

    def _keywords(self, part: dict[str, Any], pointer: str) -> None:
        for keyword, value in part.items():
            if keyword not in self._draft.keywords and keyword not in self._allow and not keyword.startswith("x-"):
                instead = _RETIRED.get(keyword)
                hint = f" (use {instead})" if instead else near(keyword, self._draft.keywords)
                raise ValueError(
                    f"{child(pointer, keyword)} is not a keyword of {self._draft.name}{hint}, and may go "
                    f"unchecked. Where that is meant, say allow=[{keyword!r}]"
                )
            if keyword == "pattern":
                self.patterns[value] = None
            elif keyword == "patternProperties":
                self.by_pattern = True
                self.patterns.update(dict.fromkeys(value))
            elif keyword == "format" and value not in self._allow:
                if not self._enforced(value):
                    hint = "" if value in _FORMATS else near(value, _FORMATS)
                    raise ValueError(
                        f"{child(pointer, keyword)}: {value!r} is not a format of {self._draft.name}{hint}, so "
                        f"that it would not be enforced. Where that is meant, say allow=[{value!r}]"
                    )
                self.formats[value] = None

    def _resolve(self, reference: str, pointer: str, resolver: Any) -> tuple[Any, Any, bool]:
        from referencing.exceptions import Unresolvable

        try:
            resolved = resolver.lookup(reference)
        except Unresolvable:
            if "://" in reference:
                message = "is outside the schema, and remote references are not fetched; put what it names into $defs"
            else:
                message = "does not lead to anything in the schema"
            raise ValueError(f"{pointer}: {cut_text(reference)!r} {message}") from None
        if not isinstance(resolved.contents, dict | bool):
            raise ValueError(f"{pointer}: {cut_text(reference)!r} does not lead to a schema")
        return resolved.contents, resolved.resolver, reference.split("#")[0] not in specifications()

    def _refuse_loops(self, schema: dict[str, Any]) -> None:
        """Refuse references that come back to where they started without having gone into the value."""
        done: set[int] = set()
        for start in self._edges:
            path: dict[int, Iterator[tuple[Any, str]]] = {start: iter(self._edges[start])}
            while path:
                current, edges = next(reversed(path.items()))
                target, pointer = next(edges, (None, ""))
                if target is None:
                    done.add(current)
                    path.popitem()
                elif id(target) in path:
                    raise ValueError(f"{pointer} only leads back to itself, so that it says nothing of any value")
                elif id(target) in self._edges and id(target) not in done:
                    path[id(target)] = iter(self._edges[id(target)])

    def checks(self, part: Any) -> bool:
        """Tell whether a schema could refuse any value."""
        if not isinstance(part, dict):
            return part is False
        if id(part) not in self._checking:
            # Where it is asked again while being answered, the answer does not depend on it.
            self._checking[id(part)] = False
            self._checking[id(part)] = any(self._keyword_checks(part, keyword) for keyword in part)
        return self._checking[id(part)]

    def _keyword_checks(self, part: dict[str, Any], keyword: str) -> bool:
        value = part[keyword]
        if keyword in ("$ref", "$recursiveRef"):
            # Only what lies outside the schema, in a metaschema, has references that were not followed; those check.
            return self.checks(self._targets.get((id(part), keyword), False))
        if keyword == "if":
            return any(self.checks(part[branch]) for branch in ("then", "else") if branch in part)
        if keyword == "format":
            return value in self.formats
        if keyword not in self._draft.validator.VALIDATORS or (keyword in _EMPTY and _EMPTY[keyword] == value):
            return False
        if keyword in ("not", "contains", "dependencies"):
            return True
        below = [item for name, item, _ in _parts(part, "") if name == keyword]
        is_applicator = keyword in _ONE or keyword in _MANY or keyword in _NAMED
        return any(map(self.checks, below)) if is_applicator else True


def _parts(part: dict[str, Any], pointer: str) -> Iterator[tuple[str, Any, str]]:
    """Yield the schemas directly inside one: keyword, schema, pointer."""
    for keyword, value in part.items():
        here = child(pointer, keyword)
        if isinstance(value, list) and keyword in _MANY:
            for index, item in enumerate(value):
                yield keyword, item, child(here, index)
        elif isinstance(value, dict) and keyword in _NAMED:
            for name, item in value.items():
                if not isinstance(item, list):
                    yield keyword, item, child(here, name)
        elif keyword in _ONE and not isinstance(value, list):
            yield keyword, value, here
