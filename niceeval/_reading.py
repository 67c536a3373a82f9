"""Texts for a person, made from a match's spec and an evaluation when a result is read; never stored.

Every text is one bounded, printable line, and the same for the same result. Of a long value, the part that decided
is kept.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from niceeval_expect._codec import decode
from niceeval_expect._evaluation import Diagnostic, Evaluation
from niceeval_expect._pointer import dollar

__all__ = ["decisive", "encoded_text", "expected_text", "preview", "received_text", "spec_text", "where"]

_LIMIT: Final = 200
_HOLDS: Final = frozenset({"matched", "met", "measured"})
"""Codes of parts that explain no failure."""
_WHOLE: Final = frozenset({"called", "count", "every", "includes_any", "loop", "none", "not", "order", "unassigned"})
"""Codes that speak about everything in scope: the sentence says what was there, and no single part does."""
_COUNTED: Final = frozenset({"has_sections", "includes_url", "length", "occurs", "type"})
"""Codes whose sentence counts or names what the value itself does not show."""
_PHRASES: Final = _WHOLE | _COUNTED | {"above", "below", "excludes", "met", "predicate", "range", "tolerance"}
"""Codes whose expectation is wording about the value, and not a value."""
_POSITIONAL: Final = ("label", "name", "kind", "path", "regex", "text", "low", "high", "of", "predicate")
"""Arguments that a call gives by their place, in the order of their places; a stored spec has its keys sorted."""
_BOUNDS: Final = frozenset({"at_least", "at_most", "exactly"})
_CLAIMS: Final = frozenset({"called_tool", "not_called_tool", "tool_calls_unordered", "tool_order"})
_LISTS: Final = {"order": ", then ", "unassigned": ", and "}
_OPTIONS: Final = frozenset({"enum", "literal_error"})


class _Assertion(Protocol):
    @property
    def evaluation(self) -> Evaluation: ...


class _Subject(Protocol):
    @property
    def truncated(self) -> bool: ...
    def inline(self) -> tuple[Any] | None: ...


def decisive(evaluation: Evaluation) -> Diagnostic:
    """Return the part of the diagnostic that decided: the deepest one on the way of the first that failed.

    A disjunction, of which every part failed, and a denial decide as a whole.
    """
    node = evaluation.diagnostic
    undecided = evaluation.outcome in ("unavailable", "errored")
    while True:
        failed = [
            child for child in node.children if child.code not in _HOLDS and (child.reason is not None) == undecided
        ]
        if not failed or node.code in _WHOLE or (node.code == "any_of" and len(failed) > 1):
            return node
        node = failed[0]


def where(assertion: _Assertion, /) -> str:
    """Return the place in the subject that decided, such as ``$.items[0].name``; ``$`` is the subject itself.

    Args:
        assertion: An assertion's result.
    """
    return _cut(printable(dollar(decisive(assertion.evaluation).pointer)), _LIMIT)


def expected_text(match: Mapping[str, Any], evaluation: Evaluation) -> str:
    """Return what was wanted: at the place that decided a mismatch, else by the match as a whole."""
    if evaluation.outcome != "mismatched":
        return spec_text(match)
    node = decisive(evaluation)
    if node.code == "any_of" and node.children:
        parts = dict.fromkeys(_side(_inside(child), "expected") or child.message for child in node.children)
        return _cut(" or ".join(part for part in parts if part), _LIMIT) or spec_text(match)
    return _side(node, "expected") or spec_text(match)


def received_text(evaluation: Evaluation, subject: _Subject) -> str:
    """Return what was there: at the place that decided a mismatch, the measurement, or why nothing is known."""
    if evaluation.outcome in ("unavailable", "errored"):
        return _cut(f"{evaluation.outcome}: {evaluation.reason or decisive(evaluation).message}", _LIMIT)
    if evaluation.outcome == "measured" and evaluation.value is not None:
        return repr(evaluation.value)
    if evaluation.outcome == "matched":
        return preview(subject, _LIMIT)
    node = decisive(evaluation)
    if node.code == "any_of" and node.children:
        node = _inside(node.children[0])
    if node.code == "not":
        return preview(subject, _LIMIT) or printable(node.message)
    return _side(node, "received") or preview(subject, _LIMIT)


def preview(subject: _Subject, limit: int = 60) -> str:
    """Return the beginning of a subject's value as one line; empty where it was not kept in the line itself.

    Args:
        subject: The subject of an assertion's result.
        limit: The most characters, 1 or more.
    """
    kept = subject.inline()
    return "" if kept is None else _cut(_value(kept[0]), limit)


def encoded_text(value: Any, limit: int) -> str:
    """Return encoded data, as a record keeps it, as one line of at most `limit` characters."""
    return _cut(printable(value) if isinstance(value, str) else _value(value), limit)


def spec_text(spec: Mapping[str, Any]) -> str:
    """Return a match's spec as the call that makes the match, as far as a spec tells."""
    if isinstance(spec.get("judge"), list):
        # What a judge was asked and said stands beside the spec, and is no argument.
        spec = {name: value for name, value in spec.items() if name != "judge"}
    return _cut(_call(spec), _LIMIT) if spec else ""


def _inside(diagnostic: Diagnostic) -> Diagnostic:
    return decisive(Evaluation("mismatched", diagnostic))


def _side(node: Diagnostic, side: str) -> str:
    """Return one side of a diagnostic as text, cut around the first difference from the other; empty for none."""
    expected, received = _expected(node), _received(node)
    mine, other = (expected, received) if side == "expected" else (received, expected)
    if len(mine) <= _LIMIT:
        return mine
    first = next((i for i, (a, b) in enumerate(zip(mine, other, strict=False)) if a != b), 0)
    return _cut(mine, _LIMIT, around=first if mine[:1] == other[:1] else 0)


def _expected(node: Diagnostic) -> str:
    expected = node.expected
    if node.code == "extra":
        return "nothing"
    if expected is None:
        return "null" if node.code == "value" and node.received is not None else ""
    if isinstance(expected, str) and (node.code in _PHRASES or node.message == "is None"):
        return printable(expected)
    if isinstance(expected, list) and node.code in _LISTS:
        return printable(_LISTS[node.code].join(map(str, expected)))
    if isinstance(expected, list) and (node.code in _OPTIONS or "options" in node.message):
        return f"one of {', '.join(map(_value, expected))}"
    return _value(expected)


def _received(node: Diagnostic) -> str:
    if node.code == "missing":
        return "nothing"
    if node.code in _WHOLE:
        return printable(node.message) + _witness(node)
    if node.received is None and node.expected is None:
        return printable(node.message)
    text = _value(node.received)
    return f"{text} ({printable(node.message)})" if node.code in _COUNTED and node.message else text


def _witness(node: Diagnostic) -> str:
    """Return what the first part shows that a sentence about everything in scope leaves out; empty for none."""
    part = next((child for child in node.children if child.pointer and child.code not in _HOLDS), None)
    if part is None:
        return ""
    if not part.children:
        return f": {_value(part.received)}" if part.received is not None else ""
    deepest = _inside(part)
    place, message = printable(dollar(deepest.pointer)), printable(deepest.message)
    return f": {message}" if message.startswith(place) else f": {place} {message}"


def _value(value: Any) -> str:
    """Return sampled or encoded data as text: JSON, and the codec's tags by what they hold."""
    if isinstance(value, Mapping):
        if "$" in value:
            return _tagged(value)
        return "{" + ", ".join(f"{_value(str(key))}: {_value(item)}" for key, item in _some(list(value.items()))) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, _some(value))) + "]"
    if isinstance(value, str):
        return printable(json.dumps(value[:10_000], ensure_ascii=False))
    return repr(value) if isinstance(value, float) else json.dumps(value, default=str)


def _some(items: Sequence[Any]) -> Sequence[Any]:
    return items[:_LIMIT]


def _tagged(value: Mapping[str, Any]) -> str:
    tag = value["$"]
    if tag == "repr":
        return printable(str(value.get("text")))
    if tag == "match":
        return _call(value)
    if tag == "code":
        return str(value.get("name"))
    if tag == "str":
        return _value(decode(value))
    if tag == "regex":
        return printable(repr(str(value.get("pattern"))))
    fields = value.get("value")
    if tag == "object" and isinstance(fields, Mapping):
        inner = ", ".join(f"{printable(str(name))}={_value(item)}" for name, item in _some(list(fields.items())))
        return f"{printable(str(value.get('type')).rpartition('.')[2])}({inner})"
    for field in ("items", "value", "iso", "hex", "repr", "text"):
        if field in value:
            return f"{tag}({_value(value[field])})"
    return printable(json.dumps(dict(value), default=str))


def _call(spec: Mapping[str, Any]) -> str:
    name = str(spec.get("match", "?"))
    args = {key: value for key, value in spec.items() if key not in ("match", "$")}
    inner = args.get("of")
    if name in _CLAIMS:
        args = {key: _plain_names(value) for key, value in args.items()}
    if name == "threshold" and isinstance(inner, Mapping):
        return f"{_call(inner)}.{args.get('relation')}({_value(args.get('threshold'))})"
    if name == "counted_tool_match" and isinstance(inner, Mapping):
        return f"{_call(inner)}.{_quantifier(args)}"
    if isinstance(args.get("type"), Mapping):
        args.pop("json_schema", None)
        return _with_options(name, _value(args.pop("type")), args)
    if name == "event_match":
        return _with_options(name, _value(args.pop("kind", None)), args)
    if isinstance(args.get("tools"), list):
        tools = args.pop("tools")
        return _with_options(name, ", ".join(map(_value, tools)) if name == "tool_order" else _value(tools), args)
    listed = args.get("keys", inner)
    if len(args) == 1 and isinstance(listed, list):
        return f"{name}({', '.join(map(_value, listed))})"
    given = sorted(args.items(), key=lambda item: _place(item[0]))
    return f"{name}({', '.join(_argument(key, value, alone=len(args) == 1) for key, value in given)})"


def _with_options(name: str, first: str, options: Mapping[str, Any]) -> str:
    # After the first argument all are named, those too that other matches take by position.
    named = [
        (f"{key}=" if key in _POSITIONAL else "") + _argument(key, value, alone=False) for key, value in options.items()
    ]
    return f"{name}({', '.join([first, *named])})"


def _plain_names(value: Any) -> Any:
    """Return the names of tools that a claim asks nothing else of, as an author writes them."""
    if isinstance(value, list):
        return [_plain_names(item) for item in value]
    if isinstance(value, Mapping) and value.get("match") == "tool_match" and not set(value) - {"$", "match", "name"}:
        return value.get("name")
    return value


def _quantifier(args: Mapping[str, Any]) -> str:
    name, low, high = args.get("quantifier"), args.get("low"), args.get("high")
    if name == "every":
        return "every(if_any=True)" if low == 0 else "every()"
    bounds = [low, high] if name == "between" else [high if name == "at_most" else low]
    return f"{name}({', '.join(map(_value, bounds))})"


def _place(name: str) -> int:
    return _POSITIONAL.index(name) if name in _POSITIONAL else len(_POSITIONAL)


def _argument(name: str, value: Any, *, alone: bool) -> str:
    if isinstance(value, Mapping) and value.get("match") == "equals" and name in ("input", "of", "output", "text"):
        # Where a match is expected, a plain value is written for its equality.
        value = value.get("value")
    if name in _POSITIONAL or (alone and name not in _BOUNDS):
        return _value(value)
    return f"{name}={value if isinstance(value, bool) else _value(value)}"


def printable(text: str) -> str:
    """Return text that a terminal shows as it is: control characters and lone surrogates become escapes."""
    return (
        text if text.isascii() and text.isprintable() else _UNPRINTABLE.sub(lambda found: _escape(ord(found[0])), text)
    )


_UNPRINTABLE: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _cut(text: str, limit: int, *, around: int = 0) -> str:
    """Return at most `limit` characters, those around an index among them, with an ellipsis where some are missing."""
    if len(text) <= limit:
        return text
    start = 0 if around < limit - 1 else min(around - limit // 3, len(text) - limit + 1)
    if start == 0:
        return text[: limit - 1] + "…"
    inner = text[start : start + limit - 2]
    return f"…{inner}…" if start + len(inner) < len(text) else f"…{text[-(limit - 1) :]}"
