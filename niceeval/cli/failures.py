"""What failed and why, one block per failed attempt, understood without opening anything else."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import attrs
from rich.cells import cell_len
from rich.text import Text

from niceeval._reading import preview, spec_text, where
from niceeval.cli.numbers import counted
from niceeval.cli.screen import Screen
from niceeval.cli.text import cut, line, paragraph, safe
from niceeval.errors import RecordError
from niceeval.reporters.judge_texts import judged_texts
from niceeval.results import AssertionResult, AttemptResult

__all__ = ["Naming", "detail", "entry_line", "failed_block", "heading"]

_MOST_ENTRIES: Final = 12


@attrs.frozen
class Naming:
    """What tells attempts of one case apart in this run."""

    agents: bool
    attempts: bool

    def of(self, attempt: AttemptResult) -> str:
        """The agent and the number of an attempt, where there are several."""
        number = f"  attempt {attempt.attempt}" if self.attempts else ""
        return number + (f"  {attempt.agent}" if self.agents and attempt.agent else "")


def failed_block(
    attempt: AttemptResult, screen: Screen, naming: Naming, *, word: tuple[str, str] = ("FAILED", "bold red")
) -> Iterator[Text]:
    """Say what an attempt failed, what was there instead, and what did not run because of it."""
    yield line("")
    yield heading(word, [attempt.name], naming.of(attempt), screen)
    failures, undecided = attempt.failures, attempt.undecided
    broke = attempt.error is not None
    if broke or not (failures or undecided):
        reason = attempt.reason or "no reason was kept"
        yield from paragraph(f"  {screen.symbols.failed} ", reason, screen.width - 4, most=4)
        yield from _input(attempt, None, screen)
    for entry in failures[:_MOST_ENTRIES]:
        yield entry_line(entry, screen, screen.symbols.failed, "bold red")
        yield from _difference(entry, attempt, screen)
    for entry in undecided[: max(_MOST_ENTRIES - len(failures), 0)]:
        yield entry_line(entry, screen, screen.symbols.undecided, "yellow")
        yield from detail(entry.evaluation.outcome, entry.reason or "no reason was kept", screen, indent=13, most=2)
    hidden = len(failures) + len(undecided) - _MOST_ENTRIES
    more = f"{counted(hidden, 'more check')} did not pass (niceeval show --json has all). " if hidden > 0 else ""
    yield from paragraph("    ", _aftermath(attempt, more), screen.width - 4, style="dim")


def heading(word: tuple[str, str], names: Sequence[str], tail: str, screen: Screen) -> Text:
    """Name what a block is about: as many names as there is room for, at least one, and how many others."""
    tail = cut(tail, screen.width // 2)
    room = screen.width - cell_len(word[0]) - 1 - cell_len(tail) - (14 if len(names) > 1 else 0)
    shown = [cut(names[0], room)]
    for name in names[1:]:
        if cell_len(", ".join([*shown, safe(name)])) > room:
            break
        shown.append(safe(name))
    rest = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    return line(word, f" {', '.join(shown)}{rest}", (tail, "dim"))


def entry_line(entry: AssertionResult, screen: Screen, mark: str, style: str) -> Text:
    """Name a check: its requirement, its match, and at the right end where it is written."""
    body = screen.width - 5
    place = _place(entry, body // 2)
    room = body - cell_len(place) - 2
    groups = [cut(title, 24) for title in entry.group]
    name = cut(" / ".join([*groups, entry.requirement]), max(room - 4, 8))
    left = f"  {mark} {name}"
    match = spec_text(entry.match)
    space = room - cell_len(left) - 2
    named = entry.key is not None or entry.label is not None
    said = "" if not named or space < 12 else cut(match, space)
    gap = "  " if said else ""
    pad = " " * max(body - cell_len(left) - cell_len(gap + said) - cell_len(place), 1)
    return line("  ", (mark, style), f" {name}", gap, said, pad, (place, "dim"))


def detail(label: str, text: str, screen: Screen, *, indent: int = 10, most: int = 1) -> list[Text]:
    """Write a labelled text below a check, in at most `most` lines."""
    start = f"      {label:<{indent}}"
    if most == 1:
        return [line((start, "dim"), cut(text, screen.width - 4 - cell_len(start)))]
    return paragraph(start, text, screen.width - 4, style="dim", most=most)


def _place(entry: AssertionResult, width: int) -> str:
    """File and line, from the end of the path where it is too long: that is where the name is."""
    text = safe(f"{entry.source.file}:{entry.source.line}")
    while cell_len(text) > width:
        text = "…" + text[max(len(text) - width, 2) :]
    return text


def _difference(entry: AssertionResult, attempt: AttemptResult, screen: Screen) -> Iterator[Text]:
    place = where(entry)
    if place != "$":
        yield from detail("where", place, screen)
    expected, received = entry.expected, entry.received
    if expected:
        yield from detail("expected", expected, screen, most=2)
    if received:
        yield from detail("received", received, screen, most=3)
    subject = _subject(entry)
    if subject and subject not in (received, received[1:-1]):
        yield from detail("subject", subject, screen)
    for text in judged_texts(entry):
        yield from detail("judge", text, screen, most=3)
    yield from _input(attempt, entry, screen)


def _subject(entry: AssertionResult) -> str:
    if entry.subject.type == "cut":
        return ""
    try:
        kept: Any = entry.subject.encoded()
    except RecordError as error:
        return f"not available: {error}"
    return kept if isinstance(kept, str) else preview(entry.subject, 400)


def _input(attempt: AttemptResult, entry: AssertionResult | None, screen: Screen) -> Iterator[Text]:
    """The message that the check is about; where it cannot be told which, all of them."""
    inputs: Sequence[str] = attempt.inputs
    if entry is not None and entry.scope == "turn" and len(inputs) > 1:
        inputs = _turn_input(entry, attempt) or inputs
    if len(inputs) == 1:
        yield from detail("input", inputs[0], screen)
    elif inputs:
        each = max((screen.width - 22) // min(len(inputs), 4), 12)
        said = " | ".join(cut(text, each - 3) for text in inputs[:4])
        yield from detail("inputs", said + (f" and {len(inputs) - 4} more" if len(inputs) > 4 else ""), screen)


def _turn_input(entry: AssertionResult, attempt: AttemptResult) -> Sequence[str]:
    try:
        sessions: Any = entry.subject.encoded()["sessions"]
        [cut_] = sessions
        [turn] = cut_["turns"]
    except (RecordError, KeyError, TypeError, ValueError):
        return ()
    return attempt.inputs[turn : turn + 1] if cut_["session"] == 0 and turn < len(attempt.inputs) else ()


def _aftermath(attempt: AttemptResult, more: str) -> str:
    passed = sum(entry.decision == "met" for entry in attempt.assertions)
    stop = "stopped here by or_stop(); later checks did not run. " if attempt.stopped_by else ""
    return f"{stop}{more}{counted(passed, 'check')} passed."
