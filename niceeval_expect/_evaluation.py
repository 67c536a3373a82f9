"""What one comparison said: an outcome, a bounded diagnostic, and how much was looked at."""

import json
import traceback as _traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, Final, Literal, TypeAlias, final

import attrs

from niceeval_expect._pointer import dollar

__all__ = [
    "MATCHED",
    "Absent",
    "AbsentText",
    "Deferred",
    "Diagnostic",
    "Evaluation",
    "Outcome",
    "bounded",
    "cut_text",
    "errored",
    "measured",
    "mismatched",
    "sample",
    "unavailable",
    "written",
    "wrong_type",
]

Outcome: TypeAlias = Literal["matched", "mismatched", "measured", "unavailable", "errored"]

MAX_NODES: Final = 64
"""How many diagnostic nodes one evaluation keeps."""
MAX_SAMPLES: Final = 8
"""How many candidates, items or differences are sampled into a diagnostic."""
_MAX_TEXT: Final = 240
_MAX_DEPTH: Final = 4
_MAX_TRACEBACK: Final = 4_096
_PHRASED: Final = frozenset({"above", "below", "excludes", "length", "met", "predicate", "range", "type"})
"""Codes whose expectation is wording about the value, and not a value."""


@final
@attrs.frozen
class Absent:
    """A subject that never came: every match over it is unavailable, for `reason`.

    Args:
        reason: Why it is not there, one short sentence.

    >>> from niceeval_expect import Absent, excludes
    >>> excludes("error").evaluate(Absent("the turn failed")).outcome
    'unavailable'
    """

    reason: str = attrs.field(validator=attrs.validators.instance_of(str))

    def __bool__(self) -> bool:
        """An absent value is false, as a missing one is in plain Python."""
        return False


@final
class AbsentText(str):
    """The text that never came: the empty string to Python, absent to every match.

    >>> from niceeval_expect import includes
    >>> from niceeval_expect._evaluation import AbsentText
    >>> AbsentText("the turn failed") == "", includes("x").evaluate(AbsentText("the turn failed")).outcome
    (True, 'unavailable')
    """

    __slots__ = ("reason",)
    reason: str

    def __new__(cls, reason: str) -> "AbsentText":
        text = super().__new__(cls, "")
        text.reason = reason
        return text

    def __getnewargs__(self) -> tuple[str]:
        return (self.reason,)


@final
@attrs.frozen
class Diagnostic:
    """Why an evaluation came out as it did: a small tree that holds JSON-safe copies, never live objects.

    Attributes:
        code: A short machine-readable reason, such as ``matched``, ``value``, ``type`` or ``missing``.
        message: One sentence for a person.
        pointer: JSON Pointer (RFC 6901) into the subject; ``""`` is the subject itself.
        expected: What was wanted at that place, sampled.
        received: What was there, sampled.
        reason: For `unavailable` and `errored`: what was missing or broke.
        children: The parts, in declaration order.
        truncated: Whether parts or text were left out.
        traceback: For an exception in author code: its traceback, at most 4,096 characters.
    """

    code: str
    message: str = ""
    pointer: str = ""
    expected: Any = None
    received: Any = None
    reason: str | None = None
    children: "tuple[Diagnostic, ...]" = ()
    truncated: bool = False
    traceback: str | None = None

    def line(self) -> str:
        """Return what is said at this place, without its parts."""
        message = self.message or ("" if self.code in ("matched", "mismatched", "measured") else self.code)
        place = dollar(self.pointer) if self.pointer else ""
        return message if message.startswith(place) else f"{place} {message}".rstrip()

    def lines(self, depth: int = 0) -> Iterator[str]:
        """Yield what was expected and received here, and every part below, indented."""
        indent = "  " * depth
        if self.code != "matched" and (self.expected is not None or self.received is not None):
            # None stands for null where values were compared, else for nothing to say.
            if self.expected is not None or self.code == "value":
                phrase = self.code in _PHRASED and isinstance(self.expected, str)
                yield f"{indent}expected {self.expected if phrase else written(self.expected)}"
            if self.received is not None or self.code in ("value", "type"):
                yield f"{indent}received {written(self.received)}"
        for child in self.children:
            yield f"{indent}- {child.line() or child.code}"
            yield from child.lines(depth + 1)
        if self.truncated:
            yield f"{indent}… more was left out"

    def __str__(self) -> str:
        """Read like a report, one line for each part."""
        return "\n".join((self.line() or self.code, *self.lines(1)))

    def as_document(self) -> dict[str, Any]:
        """Return this diagnostic as JSON-safe data; fields at their default are left out."""
        document: dict[str, Any] = {"code": self.code}
        if self.message:
            document["message"] = self.message
        if self.pointer:
            document["pointer"] = self.pointer
        if self.expected is not None or self.received is not None:
            document["expected"] = self.expected
            document["received"] = self.received
        if self.reason is not None:
            document["reason"] = self.reason
        if self.children:
            document["children"] = [child.as_document() for child in self.children]
        if self.truncated:
            document["truncated"] = True
        if self.traceback is not None:
            document["traceback"] = self.traceback
        return document

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "Diagnostic":
        """Rebuild a diagnostic from `as_document()`."""
        children = tuple(cls.from_document(child) for child in document.get("children", ()))
        return cls(**{**document, "children": children})


@final
class Deferred:
    """A produced value that is made when it is first asked for, so that no one else holds it."""

    __slots__ = ("_make", "_value")

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make: Callable[[], Any] | None = make
        self._value: Any = None

    def value(self) -> Any:
        """Return the value: the same one every time."""
        if self._make is not None:
            self._value, self._make = self._make(), None
        return self._value


@final
@attrs.frozen
class Evaluation:
    """What one match said of one subject.

    Attributes:
        outcome: ``matched``, ``mismatched``, ``measured``, ``unavailable`` or ``errored``.
        value: The measurement in [0, 1], for score matches and their thresholds.
        reason: For ``unavailable`` and ``errored``: what was missing or broke.
        diagnostic: Why.
        examined: How many things were looked at (items, calls, texts).
    """

    outcome: Outcome
    diagnostic: Diagnostic
    value: float | None = None
    reason: str | None = None
    examined: int = 1
    _produced: Any = attrs.field(default=None, eq=False, repr=False, alias="produced")

    @property
    def product(self) -> Any:
        """What a parsing match yields: the parsed value or the validated instance; None where it yields nothing."""
        return self._produced.value() if type(self._produced) is Deferred else self._produced

    @property
    def code(self) -> str:
        """The code of the diagnostic's root."""
        return self.diagnostic.code

    def __str__(self) -> str:
        """Read like a report: the outcome, then what decided it, one line for each part."""
        head = self.outcome if self.value is None else f"{self.outcome} ({self.value:g})"
        return "\n".join((f"{head}: {self.diagnostic.line()}".rstrip(": "), *self.diagnostic.lines(1)))

    def as_document(self) -> dict[str, Any]:
        """Return this evaluation as JSON-safe data; fields at their default are left out."""
        document: dict[str, Any] = {"outcome": self.outcome}
        if self.diagnostic is not MATCHED.diagnostic:
            document["diagnostic"] = self.diagnostic.as_document()
        if self.value is not None:
            document["value"] = self.value
        if self.reason is not None:
            document["reason"] = self.reason
        if self.examined != 1:
            document["examined"] = self.examined
        return document

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "Evaluation":
        """Rebuild an evaluation from `as_document()`."""
        return cls(
            document["outcome"],
            Diagnostic.from_document(document.get("diagnostic") or {"code": document["outcome"]}),
            value=document.get("value"),
            reason=document.get("reason"),
            examined=document.get("examined", 1),
        )


MATCHED: Final = Evaluation("matched", Diagnostic("matched"))
"""The evaluation of a plain match: shared, since nothing in it depends on the subject."""


def mismatched(
    code: str,
    message: str,
    pointer: str = "",
    *,
    expected: object = None,
    received: object = None,
    children: Sequence[Diagnostic] = (),
    examined: int = 1,
    truncated: bool = False,
) -> Evaluation:
    """Return a mismatch; `expected` and `received` are sampled here, so live objects may be passed."""
    diagnostic = Diagnostic(
        code, message, pointer, sample(expected), sample(received), None, tuple(children), truncated
    )
    return Evaluation("mismatched", diagnostic, examined=examined)


def wrong_type(wanted: str, received: object, pointer: str = "") -> Evaluation:
    """Return the mismatch of a subject that the match cannot speak about; it stays one under negation."""
    name = type(received).__name__
    message = f"needs {wanted}, got {name}"
    return Evaluation("mismatched", Diagnostic("type", message, pointer, wanted, sample(received)))


def unavailable(
    reason: str, pointer: str = "", *, code: str = "absent", children: Sequence[Diagnostic] = (), examined: int = 1
) -> Evaluation:
    """Return the evaluation for evidence that is missing or incomplete."""
    diagnostic = Diagnostic(code, reason, pointer, reason=reason, children=tuple(children))
    return Evaluation("unavailable", diagnostic, reason=reason, examined=examined)


def errored(
    reason: str,
    pointer: str = "",
    *,
    code: str = "error",
    received: object = None,
    exception: BaseException | None = None,
    children: Sequence[Diagnostic] = (),
    examined: int = 1,
) -> Evaluation:
    """Return the evaluation for an evaluator that broke; the exception's traceback is kept."""
    trace = None
    if exception is not None:
        lines = _traceback.format_exception(type(exception), exception, exception.__traceback__, limit=-8)
        trace = "".join(lines)[-_MAX_TRACEBACK:]
    diagnostic = Diagnostic(code, reason, pointer, None, sample(received), reason, tuple(children), traceback=trace)
    return Evaluation("errored", diagnostic, reason=reason, examined=examined)


def measured(value: float, message: str = "", *, examined: int = 1) -> Evaluation:
    """Return a measurement, which the caller has checked to be finite and in [0, 1]."""
    return Evaluation("measured", Diagnostic("measured", message), value=value, examined=examined)


def cut_text(text: str, limit: int = _MAX_TEXT, *, around: int = 0) -> str:
    """Return at most about `limit` characters of `text`, the part around index `around` included, marked where cut."""
    if len(text) <= limit:
        return text
    start = max(0, min(around - limit // 3, len(text) - limit))
    head = "…" if start else ""
    tail = "…" if start + limit < len(text) else ""
    return f"{head}{text[start : start + limit]}{tail}"


def written(sampled: object) -> str:
    """Return a sampled value as a person reads it: JSON, and the text itself where JSON had no words for it."""
    if isinstance(sampled, dict) and sampled.get("$") == "repr":
        return str(sampled.get("text"))
    if isinstance(sampled, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {written(item)}" for key, item in sampled.items()) + "}"
    if isinstance(sampled, list):
        return "[" + ", ".join(map(written, sampled)) + "]"
    return json.dumps(sampled, ensure_ascii=False)


def sample(value: object) -> Any:
    """Return a bounded, JSON-safe copy of any value for a diagnostic.

    Long text, long lists and deep structures are cut; what JSON cannot say becomes ``{"$": "repr", "text": …}``.
    """
    if value is None or value is True or value is False:
        return value
    return _sample(value, 0)


def _sample(value: object, depth: int) -> Any:
    if isinstance(value, str) and type(value) is str:
        return cut_text(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and type(value) is int:
        return value if abs(value) < 10**18 else _repr(value)
    if isinstance(value, float) and type(value) is float:
        return value if isfinite(value) else _repr(value)
    if isinstance(value, dict) and depth < _MAX_DEPTH:
        kept = list(value.items())[: 2 * MAX_SAMPLES]
        if all(type(key) is str and key != "$" for key, _ in kept):
            cut: dict[str, Any] = {cut_text(key, 80): _sample(item, depth + 1) for key, item in kept}
            if len(value) > len(kept):
                cut["…"] = f"{len(value) - len(kept)} more keys"
            return cut
    if isinstance(value, list | tuple) and depth < _MAX_DEPTH:
        items = [_sample(item, depth + 1) for item in value[:MAX_SAMPLES]]
        if len(value) > MAX_SAMPLES:
            items.append({"$": "repr", "text": f"… {len(value) - MAX_SAMPLES} more items"})
        return items
    return _repr(value)


def _repr(value: object) -> dict[str, str]:
    if isinstance(value, Absent | AbsentText):
        return {"$": "repr", "text": f"(absent: {value.reason})"}
    try:
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**400:
            text = f"an integer of {value.bit_length()} bits"
        elif isinstance(value, dict | list | tuple | set | frozenset):
            text = f"{type(value).__name__} with {len(value)} items"
        else:
            text = repr(value)
    except Exception as error:
        text = f"<{type(value).__name__}, whose repr raised {type(error).__name__}>"
    return {"$": "repr", "text": cut_text(text)}


def bounded(evaluation: Evaluation) -> Evaluation:
    """Return the evaluation with its diagnostic tree cut to 64 nodes, the decisive parts first in line to stay."""
    root = evaluation.diagnostic
    if not root.children or _count(root, MAX_NODES) <= MAX_NODES:
        return evaluation
    kept, _ = _prune(root, MAX_NODES)
    return attrs.evolve(evaluation, diagnostic=kept)


def _count(node: Diagnostic, limit: int) -> int:
    total, stack = 0, [node]
    while stack and total <= limit:
        total += 1
        stack.extend(stack.pop().children)
    return total


def _prune(node: Diagnostic, budget: int) -> tuple[Diagnostic, int]:
    """Return the node with its subtree within `budget` nodes, and how many it uses."""
    used = 1
    room = budget - used
    # A part that says something other than "matched" explains the outcome; where all say the same, the first do.
    ranked = sorted(range(len(node.children)), key=lambda i: (node.children[i].code == "matched", i))
    kept: dict[int, Diagnostic] = {}
    for position, index in enumerate(ranked):
        if room <= 0:
            break
        # The first part in line gets all the room there is, so that its witness is reached however deep it lies.
        share = room if position == 0 else min(room, max(1, room // (len(ranked) - position)))
        kept[index], size = _prune(node.children[index], share)
        used += size
        room -= size
    children = tuple(kept[index] for index in sorted(kept))
    cut = len(children) < len(node.children)
    return attrs.evolve(node, children=children, truncated=node.truncated or cut), used
