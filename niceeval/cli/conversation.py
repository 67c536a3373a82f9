"""What was said and done in an attempt, turn by turn."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from rich.text import Text

from niceeval._documents import Conversation
from niceeval._reading import encoded_text
from niceeval.cli.failures import Naming, heading
from niceeval.cli.screen import Screen
from niceeval.cli.text import line, paragraph
from niceeval.results import AttemptResult

__all__ = ["WHOLE", "Limits", "conversation_block"]


class Limits(NamedTuple):
    """How much of a conversation is shown.

    Attributes:
        turns: How many turns.
        lines: How many lines of a message.
        calls: How many lines of a call, and of its output.
        characters: How many characters of a value.
    """

    turns: int = 20
    lines: int = 12
    calls: int = 3
    characters: int = 1000


_USUAL: Final = Limits()
_ENDLESS: Final = 1 << 40
WHOLE: Final = Limits(_ENDLESS, _ENDLESS, _ENDLESS, _ENDLESS)
"""Everything."""


def conversation_block(
    attempt: AttemptResult,
    conversation: Conversation,
    screen: Screen,
    naming: Naming,
    limits: Limits = _USUAL,
) -> Iterator[Text]:
    """Write down the sessions of an attempt: each message, what was called for it, and what was answered."""
    turns = [(number, turn) for number, session in enumerate(conversation, 1) for turn in session]
    if not turns:
        return
    yield line("")
    yield heading(("CONVERSATION", "bold"), [attempt.name], naming.of(attempt), screen)
    above = 0
    for number, turn in turns[: limits.turns]:
        if len(conversation) > 1 and number != above:
            yield line((f"  session {number}", "bold"))
        above = number
        yield from _turn(turn, screen, limits)
    if len(turns) > limits.turns:
        yield line((f"  ({len(turns) - limits.turns} more turns)", "dim"))


def _turn(turn: Mapping[str, Any], screen: Screen, limits: Limits) -> Iterator[Text]:
    yield from _labelled("user", turn.get("input", ""), screen, limits.lines)
    for call in turn.get("calls") or ():
        yield from _labelled(
            "call", _joined(call["name"], _shown(call, "input", limits), call.get("raw")), screen, limits.calls
        )
        status = call.get("status")
        said = "" if status == "completed" else f"({status or 'status unknown'})"
        yield from _labelled(
            "", _joined(screen.symbols.gives, said, _shown(call, "output", limits)), screen, limits.calls
        )
    for text in turn.get("messages") or ():
        yield from _labelled("agent", text or '""', screen, limits.lines)
    if "data" in turn:
        yield from _labelled("data", _shown(turn, "data", limits), screen, limits.lines)
    status = turn.get("status")
    if status != "completed":
        why = f": {turn['failure']}" if turn.get("failure") else ""
        yield from _labelled("", f"({status or 'status unknown'}{why})", screen)


def _labelled(label: str, text: str, screen: Screen, most: int = _USUAL.calls) -> Iterator[Text]:
    parts = text.split("\n", most)
    if len(parts) > most:
        parts[-1:] = [screen.symbols.cut]
    for number, part in enumerate(parts):
        yield from paragraph(f"  {'' if number else label:<8}", part, screen.width, style="dim", most=most)


def _joined(*parts: str | None) -> str:
    return " ".join(filter(None, parts))


def _shown(of: Mapping[str, Any], field: str, limits: Limits) -> str:
    if field not in of:
        return ""
    value = of[field]
    if isinstance(value, Mapping) and value.get("$") == "absent":
        return f"({value.get('reason')})"
    return encoded_text(value, limits.characters)
