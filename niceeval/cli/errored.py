"""Attempts that say nothing about the agent: why, grouped by reason, and what to do."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, TypeAlias

from rich.text import Text

from niceeval.cli.failures import Naming, detail, entry_line, heading
from niceeval.cli.numbers import scores
from niceeval.cli.remedies import attempt_remedy, entry_remedy
from niceeval.cli.screen import Screen
from niceeval.cli.text import line, paragraph
from niceeval.reporters.judge_texts import unread_replies
from niceeval.results import AttemptResult

__all__ = ["errored_blocks"]

_LABEL: Final = 13
_FRAME: Final = re.compile(r'File "(?P<file>.+?)", line (?P<line>\d+), in ')
_LIBRARY: Final = re.compile(r"[/\\](lib[/\\]python3[.\d]*|site-packages|dist-packages)[/\\]")
_PACKAGE: Final = Path(__file__).resolve().parents[1]
_OWN: Final = (_PACKAGE, _PACKAGE.with_name("niceeval_expect"))
Key: TypeAlias = tuple[object, ...]


class _Group:
    """The attempts that could not be decided for one reason; the first one stands for all."""

    def __init__(self, first: AttemptResult) -> None:
        self.first = first
        self.places: dict[str, list[int]] = {}
        self.agents: dict[str, None] = {}
        self.count = 0

    def add(self, attempt: AttemptResult) -> None:
        self.count += 1
        self.places.setdefault(attempt.name, []).append(attempt.attempt)
        self.agents[attempt.agent] = None


def errored_blocks(
    attempts: Iterable[AttemptResult], screen: Screen, naming: Naming, *, most: int | None = None
) -> Iterator[Text]:
    """Say why attempts are errored or unrankable, once for each reason, with what to do about it."""
    groups: dict[Key, _Group] = {}
    for attempt in attempts:
        key = _reason(attempt)
        if key not in groups:
            groups[key] = _Group(attempt)
        groups[key].add(attempt)
    for group in list(groups.values())[:most]:
        yield from _block(group, screen, naming)
    if most is not None and len(groups) > most:
        yield line("")
        yield line((f"({len(groups) - most} more reasons: niceeval show)", "dim"))


def _reason(attempt: AttemptResult) -> Key:
    undecided = tuple(
        (entry.requirement, entry.evaluation.outcome, entry.reason, entry.source.line) for entry in attempt.undecided
    )
    return (attempt.status, attempt.reason, undecided)


def _block(group: _Group, screen: Screen, naming: Naming) -> Iterator[Text]:
    first = group.first
    yield line("")
    style = "" if first.status == "skipped" else "bold yellow"
    yield heading((first.status.upper(), style), list(group.places), _tail(group, naming), screen)
    if first.status == "skipped":
        yield from paragraph("    ", first.reason or "no reason was given", screen.width - 4, most=4)
        return
    if first.partial_score is not None:
        yield line(f"    partial score {scores([first.partial_score])[0]}, a lower bound: it is not ranked")
    undecided = [] if _ended_early(first) else first.undecided
    if not undecided:
        yield from paragraph(f"  {screen.symbols.undecided} ", _text(first), screen.width - 4, most=4)
        yield from detail("remedy", attempt_remedy(first), screen, indent=_LABEL, most=2)
    for entry in undecided:
        yield entry_line(entry, screen, screen.symbols.undecided, "bold yellow")
        yield from detail(entry.evaluation.outcome, entry.reason or "no reason was kept", screen, indent=_LABEL, most=2)
        for reply in unread_replies(entry):
            yield from detail("reply", reply, screen, indent=_LABEL, most=2)
        remedy = entry_remedy(entry)
        if remedy is not None:
            yield from detail("remedy", remedy, screen, indent=_LABEL, most=2)


def _ended_early(attempt: AttemptResult) -> bool:
    """Whether the attempt's own reason says more than its undecided checks do."""
    return attempt.error is not None or not any(
        entry.reason and entry.reason in (attempt.reason or "") for entry in attempt.undecided
    )


def _tail(group: _Group, naming: Naming) -> str:
    """Which attempts, and by how many agents."""
    if group.count == 1:
        return naming.of(group.first)
    if len(group.places) == 1:
        [numbers] = (sorted(set(each)) for each in group.places.values())
        listed = ", ".join(map(str, numbers[:8])) + (" and more" if len(numbers) > 8 else "")
        which = f"  attempts {listed}" if len(numbers) > 1 else f"  attempt {listed}"
    else:
        which = f"  {group.count} attempts"
    agents = f", {len(group.agents)} agents" if len(group.agents) > 1 else ""
    return f"{which}{agents} (same reason)"


def _text(attempt: AttemptResult) -> str:
    """The reason, with the last place of the author's own code where the reason names none."""
    reason = attempt.reason or "no reason was kept"
    place = _last_place(str((attempt.error or {}).get("traceback", "")))
    return f"{reason} (at {place})" if place and place not in reason else reason


def _last_place(trace: str) -> str | None:
    for file, number in reversed(_FRAME.findall(trace)):
        if not file.startswith("<") and not _LIBRARY.search(file) and not any(map(Path(file).is_relative_to, _OWN)):
            return f"{_near(Path(file))}:{number}"
    return None


def _near(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
