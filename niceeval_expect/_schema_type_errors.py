"""Why a value is not of a type: pydantic's errors in plain words, each with its place in the value."""

import json
import re
from typing import Any, Final

from niceeval_expect._evaluation import MAX_SAMPLES, Diagnostic, Evaluation, cut_text, errored, sample
from niceeval_expect._pointer import from_segments
from niceeval_expect._schema_explain import expected_options
from niceeval_expect._schema_subject import words

__all__ = ["explain_error"]

_SHAPE: Final = frozenset(
    {
        "missing", "missing_argument", "extra_forbidden", "unexpected_keyword_argument", "json_invalid",
        "is_instance_of", "is_subclass_of", "int_from_float", "union_tag_invalid", "union_tag_not_found",
        "invalid_key", "string_unicode", "no_such_attribute",
    }
)  # fmt: skip
_members: Final = re.compile(r"'[^']*'|-?\d+(?:\.\d+)?|True|False|None")
_NOWHERE: Final = object()
_PYTHON: Final = {"True": True, "False": False, "None": None}


def explain_error(error: Any, subject: object, pointer: str) -> Evaluation:
    """Return the evaluation that a pydantic `ValidationError` means."""
    found = error.errors(include_url=False)
    for item in found:
        if item["type"] == "json_invalid" and "recursion" in item["msg"]:
            return errored("the value is nested too deeply to be validated", pointer, code="depth")
        if item["type"] == "json_invalid" and "number" in item["msg"]:
            return errored("an integer in the value has too many digits to be validated", pointer, code="limit")
    nodes = [_node(item, subject, pointer) for item in found[:MAX_SAMPLES]]
    first = nodes[0]
    code = "schema" if any(node.code == "schema" for node in nodes) else first.code
    children = tuple(nodes) if len(nodes) > 1 else ()
    cut = len(found) > MAX_SAMPLES
    root = Diagnostic(code, first.message, first.pointer, first.expected, first.received, None, children, cut)
    return Evaluation("mismatched", root)


def _node(item: dict[str, Any], subject: object, pointer: str) -> Diagnostic:
    kind: str = item["type"]
    shape = kind in _SHAPE or kind.endswith(("_type", "_parsing", "_exact_type"))
    message, expected = _worded(kind, item)
    place = from_segments(_path(item["loc"], subject), pointer)
    return Diagnostic("schema" if shape else "constraint", cut_text(message), place, expected, sample(item["input"]))


def _worded(kind: str, item: dict[str, Any]) -> tuple[str, Any]:
    message: str = item["msg"]
    last = item["loc"][-1] if item["loc"] else ""
    if kind in ("missing", "missing_argument"):
        key = json.dumps(str(last), ensure_ascii=False)
        return f"the key {key} is missing", words(f"the key {key}")
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"the key {json.dumps(str(last), ensure_ascii=False)} is not allowed", words("no such key")
    if kind in ("literal_error", "enum"):
        wanted = _options(str(item["ctx"]["expected"]))
        return f"should be {wanted}", words(wanted)
    for prefix in ("Input should be ", "Input should have ", "Value error, ", "Assertion failed, "):
        if message.startswith(prefix):
            rest = message.removeprefix(prefix)
            if not prefix.startswith("Input"):
                return rest, None
            verb = "be" if prefix.endswith("be ") else "have"
            return f"should {verb} {rest}", words(rest if verb == "be" else f"{verb} {rest}")
    return message[:1].lower() + message[1:], None


def _options(expected: str) -> str:
    """Return pydantic's ``'a', 'b' or 'c'`` as ``one of "a", "b", "c"``; as it is where it cannot be read back."""
    found = _members.findall(expected)
    again = " or ".join([", ".join(found[:-1]), found[-1]]) if found[1:] else "".join(found)
    if again != expected:
        return cut_text(expected)
    return expected_options([_member(text) for text in found])


def _member(text: str) -> Any:
    if text in _PYTHON:
        return _PYTHON[text]
    return text[1:-1] if text[0] == "'" else json.loads(text)


def _path(loc: tuple[Any, ...], subject: object) -> list[Any]:
    """Return the part of pydantic's location that is in the value: names of union members and validators are not."""
    path: list[Any] = []
    here: Any = subject
    for step in loc:
        below = _below(here, step)
        if below is not _NOWHERE:
            here = below
            path.append(step)
    return path


def _below(value: Any, step: Any) -> Any:
    if isinstance(value, dict):
        return value.get(step, _NOWHERE)
    if isinstance(value, list | tuple):
        return value[step] if isinstance(step, int) and 0 <= step < len(value) else _NOWHERE
    return getattr(value, str(step), _NOWHERE)
