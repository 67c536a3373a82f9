"""What a schema may be asked about: JSON, read from the value once and checked before an engine sees it.

The deciding engine lets non-finite numbers through ranges, does not look at every key, and breaks on lone surrogates,
bytes, sets and integers over 4,300 digits. So a value is JSON before it reaches the engine, or is answered here.
"""

import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final, final

from niceeval_expect._codec_types import find_surrogate
from niceeval_expect._evaluation import Diagnostic, Evaluation, sample, unavailable
from niceeval_expect._json import as_json, is_absent
from niceeval_expect._pointer import child

__all__ = ["UnreadableError", "levels_if_plain", "read_json", "read_number", "read_text", "strings_of", "words"]

_BIG: Final = 10**4_000
"""From here on an int reaches the engine as a Decimal, which it reads exactly at any size."""
_LEAST: Final = -_BIG
_CONTAINERS: Final = (dict, list)


@final
class UnreadableError(Exception):
    """Raised where a value is not JSON: the answer is known without any schema."""

    def __init__(self, code: str, message: str, pointer: str, received: object) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.pointer = pointer
        self.received = received

    def evaluation(self) -> Evaluation:
        """Return what this says of the subject: unavailable for a part that never came, else a mismatch."""
        if self.code == "absent":
            return unavailable(self.message, self.pointer)
        expected = words("a finite number" if self.code == "non-finite" else "a JSON value")
        node = Diagnostic(self.code, self.message, self.pointer, expected, sample(self.received))
        return Evaluation("mismatched", node)


def words(text: str) -> dict[str, str]:
    """Return wording for a diagnostic's `expected`, which a reader shows as it is and not as a quoted text."""
    return {"$": "repr", "text": text}


def levels_if_plain(value: Any) -> int:
    """Return how many containers are inside one another, plus one, or 0 where anything is not plainly JSON.

    A tree that holds one part twice is not plain either: `read_json` tells sharing from a cycle.

    >>> levels_if_plain("a"), levels_if_plain({"a": [1, None]}), levels_if_plain({"a": {1, 2}})
    (1, 3, 0)
    """
    contained = type(value) in _CONTAINERS
    level: list[Any] = [value] if contained else [[value]]
    levels = int(contained)
    seen: set[int] = set()
    while level:
        levels += 1
        below: list[Any] = []
        for container in level:
            if type(container) is dict:
                try:
                    keys = "".join(container)
                except TypeError:
                    return 0
                if not keys.isascii() and find_surrogate(keys) is not None:
                    return 0
                container = container.values()
            for item in container:
                kind = type(item)
                if kind is str:
                    if not item.isascii() and find_surrogate(item) is not None:
                        return 0
                elif kind is dict or kind is list:
                    below.append(item)
                elif kind is int:
                    if not _LEAST < item < _BIG:
                        return 0
                elif kind is float:
                    # NaN and the infinities are the numbers that differ from zero when taken from themselves.
                    if item - item != 0.0:
                        return 0
                elif item is not None and kind is not bool:
                    return 0
        if below:
            ids = set(map(id, below))
            if len(ids) != len(below) or not seen.isdisjoint(ids):
                return 0
            seen |= ids
        level = below
    return levels


def read_json(value: object, pointer: str = "") -> tuple[Any, int]:
    """Return a value as plain JSON (Decimals stay) and how many levels it has.

    Tuples read as lists, and pydantic, attrs and dataclass objects and enum members as `as_json` says.

    Raises:
        UnreadableError: Where something is not JSON; it says what and where.
    """
    root: list[Any] = []
    frames: list[tuple[Iterator[tuple[Any, Any]], Any, int]] = [(iter([(None, value)]), root, 0)]
    pointers = [pointer]
    open_ids: set[int] = set()
    levels = 1
    while frames:
        items, out, own = frames[-1]
        for key, item in items:
            here = pointers[-1] if key is None else child(pointers[-1], key)
            read = _read_one(item, here)
            below: Any = read
            inside = type(read) in _CONTAINERS
            if inside:
                if id(item) in open_ids:
                    raise UnreadableError("not-json", "contains itself, which JSON cannot say", here, item)
                below = {} if type(read) is dict else []
            if type(out) is dict:
                out[_read_key(key, pointers[-1], item)] = below
            else:
                out.append(below)
            if inside:
                open_ids.add(id(item))
                entries: Any = iter(read.items() if type(read) is dict else enumerate(read))
                frames.append((entries, below, id(item)))
                pointers.append(here)
                levels = max(levels, len(frames))
                break
        else:
            frames.pop()
            pointers.pop()
            open_ids.discard(own)
    return root[0], levels


def _read_key(key: object, pointer: str, item: object) -> str:
    read = as_json(key) if isinstance(key, str) else key
    if type(read) is not str:
        message = f"has a key that is not text: {key!r:.80} is {_a(type(key).__name__)}"
        raise UnreadableError("not-json", message, pointer, {"$": "key", "of": item})
    return str(read_text(read, child(pointer, read), "has a key"))


def read_text(text: str, pointer: str, what: str = "is text") -> str:
    """Return the text if it is one, which a lone surrogate is no part of."""
    found = None if text.isascii() else find_surrogate(text)
    if found is None:
        return text
    message = f"{what} with a lone surrogate (U+{ord(found.group()):04X}), which is no character"
    raise UnreadableError("not-json", message, pointer, text)


def read_number(number: float | Decimal, pointer: str) -> float | Decimal:
    """Return the number if it is finite."""
    # math.isfinite raises for a signalling NaN.
    if number.is_finite() if isinstance(number, Decimal) else math.isfinite(number):
        return number
    message = f"is {number}, and a number that is not finite satisfies no schema"
    raise UnreadableError("non-finite", message, pointer, number)


def _read_one(item: Any, pointer: str) -> Any:
    """Return one value as JSON; what is inside a container is left as it is."""
    if is_absent(item):
        raise UnreadableError("absent", item.reason, pointer, item)
    read = as_json(item)
    if type(read) is str:
        return read_text(read, pointer)
    if type(read) is int:
        return read if _LEAST < read < _BIG else Decimal(read)
    if type(read) is float or isinstance(read, Decimal):
        return read_number(read, pointer)
    if read is None or type(read) is bool or type(read) in _CONTAINERS:
        return read
    if isinstance(read, Mapping):
        return dict(read)
    raise UnreadableError("not-json", f"is {_a(type(item).__name__)}, which JSON does not have", pointer, item)


def _a(name: str) -> str:
    return f"{'an' if re.match('[aeiouAEIOU]', name) else 'a'} {name}"


def strings_of(value: Any) -> Iterator[str]:
    """Yield every text in a JSON value, keys included."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            stack.extend(item)
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
