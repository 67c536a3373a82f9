"""Two engines, one answer: `jsonschema-rs` decides, `jsonschema` explains, and they must mean the same.

The official JSON-Schema-Test-Suite is not on PyPI as a package. Where a checkout is at hand (the sdist of `jsonschema`
holds one in `json/`), `JSON_SCHEMA_TEST_SUITE=<that folder>` makes every file of its drafts a test.
"""

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from niceeval_expect import matches

SUITE = os.environ.get("JSON_SCHEMA_TEST_SUITE", "")
DRAFTS = {
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
REFUSED = (
    "checks nothing",
    "remote references are not fetched",
    "does not lead to anything in the schema",
    "is not a keyword of",
    "is not a format of",
    "is not known here",
    "takes a JSON Schema",
)
"""Why a schema of the suite may be refused; all of these are what the suite says an engine should ignore or fetch."""


def suite_files() -> list[Any]:
    return [
        pytest.param(draft, file, id=f"{draft}/{file.name}")
        for draft in DRAFTS
        for file in sorted(Path(SUITE, "tests", draft).rglob("*.json"))
    ]


@pytest.mark.skipif(not SUITE, reason="set JSON_SCHEMA_TEST_SUITE to a checkout of JSON-Schema-Test-Suite")
@pytest.mark.parametrize(("draft", "file"), suite_files() if SUITE else [("", Path())])
def test_official_suite(draft: str, file: Path) -> None:
    for group in json.loads(file.read_text(encoding="utf-8")):
        schema = group["schema"]
        if isinstance(schema, dict):
            schema = {"$schema": DRAFTS[draft], **schema}
        try:
            match = matches(schema)
        except (TypeError, ValueError) as error:
            if not any(reason in str(error) for reason in REFUSED):
                raise
            continue
        for test in group["tests"]:
            if "only an annotation by default" in test["description"]:
                # Formats are enforced here.
                continue
            found = match.evaluate(test["data"])
            wanted = "matched" if test["valid"] else "mismatched"
            assert found.outcome == wanted, (group["description"], test["description"], found.diagnostic)
            assert found.outcome == "matched" or found.diagnostic.message


NAMES = st.sampled_from(["a", "b", "c"])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.5, 1.0, -2.0, 1e300])
    | st.text("ab1é", max_size=3)
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=6
)
TYPES = st.sampled_from(["array", "boolean", "integer", "null", "number", "object", "string"])
SIZES = st.integers(0, 3)


def keyword(name: str, value: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return value.map(lambda given: {name: given})


LEAVES = st.one_of(
    keyword("type", TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True)),
    keyword("enum", st.lists(VALUES, min_size=1, max_size=3)),
    keyword("const", VALUES),
    *(keyword(name, st.integers(-2, 2)) for name in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")),
    *(
        keyword(name, SIZES)
        for name in ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
    ),
    keyword("multipleOf", st.sampled_from([1, 2, 0.5])),
    keyword("pattern", st.sampled_from(["^a", "b$", "^[ab]*$", "1", "é"])),
    keyword("uniqueItems", st.booleans()),
    keyword("required", st.lists(NAMES, max_size=2, unique=True)),
    keyword("dependentRequired", st.dictionaries(NAMES, st.lists(NAMES, max_size=2, unique=True), max_size=2)),
)


def applicators(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    several = st.lists(inner, min_size=1, max_size=3)
    named = st.dictionaries(NAMES, inner, max_size=2)
    conditional = st.fixed_dictionaries({"if": inner}, optional={"then": inner, "else": inner})
    contains = st.fixed_dictionaries({"contains": inner}, optional={"minContains": SIZES, "maxContains": SIZES})
    single = [keyword(name, inner) for name in ("not", "items", "additionalProperties", "propertyNames")]
    late = [keyword(name, inner) for name in ("unevaluatedItems", "unevaluatedProperties")]
    lists = [keyword(name, several) for name in ("allOf", "anyOf", "oneOf", "prefixItems")]
    maps = [keyword(name, named) for name in ("properties", "dependentSchemas")]
    parts = st.one_of(LEAVES, conditional, contains, *single, *late, *lists, *maps)
    return st.lists(parts, min_size=1, max_size=3).map(lambda found: {k: v for part in found for k, v in part.items()})


SCHEMAS = st.recursive(LEAVES | st.booleans(), applicators, max_leaves=8)


@settings(max_examples=200)
@given(SCHEMAS, VALUES)
def test_engines_agree(schema: Any, value: Any) -> None:
    # The second part keeps a schema that checks nothing from being refused, and itself refuses nothing here.
    whole = {"allOf": [schema, {"not": {"const": "nowhere"}}]}
    evaluation = matches(whole).evaluate(value)
    assert (evaluation.outcome == "matched") == jsonschema.Draft202012Validator(whole).is_valid(value)
    assert evaluation.outcome in ("matched", "mismatched")
    if evaluation.outcome == "mismatched":
        assert evaluation.code in ("schema", "constraint")
        assert evaluation.diagnostic.message


@pytest.mark.parametrize(
    ("schema", "value", "decided"),
    [
        pytest.param({"multipleOf": 0.01}, 1.11, True, id="floats are decimal numbers, not binary ones"),
        pytest.param({"pattern": "^\\d$"}, "٣", False, id="digits in patterns are ASCII"),
        pytest.param({"pattern": "^\\w$"}, "é", False, id="word characters in patterns are ASCII"),
        pytest.param({"pattern": "^a$"}, "a\n", False, id="a dollar in patterns is the end"),
        pytest.param({"pattern": "^\\p{Lu}$"}, "É", True, id="patterns know Unicode classes"),
        pytest.param({"format": "email"}, "@", False, id="e-mail addresses are checked"),
    ],
)
def test_where_the_engines_differ_one_decides(schema: dict[str, Any], value: object, decided: bool) -> None:
    assert (matches(schema).evaluate(value).outcome == "matched") == decided
    try:
        other = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker()).is_valid(value)
    except Exception:
        return
    assert other != decided
