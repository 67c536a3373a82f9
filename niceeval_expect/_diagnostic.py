"""Why an evaluation came out as it did: a small tree, bounded, that reads like a report."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, final

import attrs

from niceeval_expect._pointer import dollar
from niceeval_expect._sample import written

__all__ = ["MAX_NODES", "Diagnostic", "pruned"]

MAX_NODES: Final = 64
"""How many diagnostic nodes one evaluation keeps."""
_PHRASED: Final = frozenset(
    {
        "above",
        "below",
        "excludes",
        "forbids",
        "has_sections",
        "includes_all",
        "includes_any",
        "includes_url",
        "instance",
    }
    | {"length", "met", "occurs", "order", "predicate", "range", "tolerance", "type"}
)


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


def pruned(root: Diagnostic) -> Diagnostic:
    """Return the tree cut to 64 nodes, the decisive parts first in line to stay; the same object where it fits."""
    if not root.children or _count(root, MAX_NODES) <= MAX_NODES:
        return root
    return _prune(root, MAX_NODES)[0]


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
