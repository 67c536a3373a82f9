"""What the readers of recorded conversations share: fields of dicts and objects, texts in pieces, how answers end."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeGuard, final

from niceeval.agents._arguments import parse_arguments
from niceeval.agents._steps import Called
from niceeval.events import Event, Message
from niceeval.reply import TurnStatus, Usage
from niceeval_expect._evaluation import Absent

__all__ = ["Parts", "called", "count", "ending", "get", "is_list", "joined_text", "listed", "only_text", "usage_of"]

_WHOLE: Final = frozenset({"stop", "end_turn", "stop_sequence", "complete", "completed", "finished"})
_TOO_LONG: Final = frozenset(
    {"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"}
)
_FILTERED: Final = frozenset({"content_filter", "refusal", "safety", "recitation", "blocklist", "prohibited_content"})


def get(value: object, key: str) -> Any:
    """Return a field of a dict or of an object; None where it has none."""
    return value.get(key) if isinstance(value, Mapping) else getattr(value, key, None)


def is_list(value: object) -> TypeGuard[Sequence[Any]]:
    """Tell whether a value is a list of things, and not a text or a mapping."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)


def listed(given: object, function: str, what: str) -> Sequence[Any]:
    """Return the messages, which may stand in a mapping under ``messages``.

    Raises:
        ValueError: There is no list of messages.
    """
    found = given.get("messages") if isinstance(given, Mapping) else given
    if not is_list(found):
        kind = "a mapping without messages" if isinstance(given, Mapping) else type(given).__name__
        raise ValueError(f"{function}() takes a list of {what}, got {kind}")
    return found


def called(name: object, arguments: object, id: object, **more: Any) -> Called | str:
    """Return a call with its arguments read, or a sentence where it is none.

    Args:
        name: The tool's name.
        arguments: JSON text, or the value itself.
        id: The provider's id.
        **more: What else is known of it; a key other than its id.
    """
    if not isinstance(name, str) or not name.strip():
        return f"a call without a name: {arguments!r:.200}"
    known_id = None if id is None else str(id)
    given = parse_arguments(arguments)
    raw = arguments if isinstance(given, Absent) and isinstance(arguments, str) else None
    return Called(name=name, input=given, raw=raw, id=known_id, **{"key": ("id", known_id), **more})


def count(value: object) -> int | None:
    """Return a number of tokens, or None where it is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def usage_of(given: object, read: Sequence[str], written: Sequence[str]) -> Usage | None:
    """Return tokens read and written as far as they are reported: of each, the sum of the fields that are there."""
    if given is None:
        return None

    def total(names: Sequence[str]) -> int | None:
        counts = [count(get(given, name)) for name in names]
        # What the first says is there always; the others are there where there was such a thing.
        return None if counts[0] is None else sum(each or 0 for each in counts)

    usage = Usage(input_tokens=total(read), output_tokens=total(written))
    return None if usage == Usage() else usage


def ending(reason: object, word: str, *, calls: bool) -> tuple[TurnStatus | None, str | None]:
    """Return how a turn ended with an answer, and what cut the answer short.

    Args:
        reason: Why the model stopped, as it was reported.
        word: What the format calls that.
        calls: Whether the answer has calls whose results are still to come.
    """
    if not isinstance(reason, str):
        return None, None
    known = reason.lower()
    if known in _WHOLE:
        return None if calls else "completed", None
    if known in _TOO_LONG:
        return "failed", f"the answer was cut off for its length ({word} {reason})"
    if known in _FILTERED:
        return "failed", f"the provider's filter ended the answer ({word} {reason})"
    if known == "error":
        return "failed", f"the answer ended in an error ({word} {reason})"
    return None, None


@final
class Parts:
    """What a message of the agent holds, in order; texts in a row are one text."""

    def __init__(self) -> None:
        self._parts: list[Called | Event] = []
        self._texts: list[str] = []

    def text(self, text: str) -> None:
        """Add a piece of text."""
        self._texts.append(text)

    def add(self, part: Called | Event) -> None:
        """Add something else."""
        self._close()
        self._parts.append(part)

    def done(self, *, unread: bool = False) -> list[Called | Event]:
        """Return the parts; where there is neither a text nor a call, and nothing was left unread, it said nothing.

        Args:
            unread: Whether something that was said could not be read.
        """
        self._close()
        parts = self._parts
        calls = any(isinstance(part, Called) for part in parts)
        if calls:
            return [part for part in parts if not isinstance(part, Message) or part.text.strip()]
        if not unread and not any(isinstance(part, Message) for part in parts):
            parts.append(Message("assistant", ""))
        return parts

    def _close(self) -> None:
        if self._texts:
            text = "".join(self._texts)
            self._texts.clear()
            if text:
                self._parts.append(Message("assistant", text))


def only_text(content: object, *kinds: str, field: str = "text") -> Any:
    """Return a result as it was; a list of text parts is the protocol's way to write one text."""
    return content if (text := joined_text(content, *kinds, field=field)) is None else text


def joined_text(content: object, *kinds: str, field: str = "text") -> str | None:
    """Return the text of a list that holds nothing but text parts of these kinds; None for anything else."""
    if not isinstance(content, Sequence) or isinstance(content, str | bytes) or not content:
        return None
    texts = [part if isinstance(part, str) else get(part, field) for part in content]
    known = all(isinstance(part, str) or get(part, "type") in kinds for part in content)
    return "".join(texts) if known and all(isinstance(text, str) for text in texts) else None
