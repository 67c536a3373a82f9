"""Evals that ask for a rate: whether they reach it, and the attempts that failed them."""

from collections.abc import Iterator, Sequence
from typing import Final

from rich.text import Text

from niceeval.cli.failures import Naming, failed_block, heading
from niceeval.cli.numbers import counted
from niceeval.cli.screen import Screen
from niceeval.cli.text import line, paragraph
from niceeval.cli.view import RunView
from niceeval.record.rate_conditions import RateCondition
from niceeval.reporters.base import asked_counts, asked_text

__all__ = ["ANSWER_STYLES", "asked_block", "asked_blocks", "asked_line", "evidence_blocks"]

ANSWER_STYLES: Final = {"pass": "bold green", "fail": "bold red", "inconclusive": "bold yellow"}
_WORST: Final = ("fail", "inconclusive", "pass")


def asked_blocks(view: RunView, screen: Screen) -> Iterator[Text]:
    """Say of each eval that asks for a rate whether it reaches it, with the arithmetic, the worst first."""
    for each in _ordered(view.asked):
        yield line("")
        yield from asked_block(each, screen, agent=len(view.header.agents) > 1)


def asked_block(each: RateCondition, screen: Screen, *, agent: bool) -> Iterator[Text]:
    """Say of one eval that asks for a rate whether it reaches it, with the arithmetic."""
    tail = f"  {each.agent}" if agent and each.agent else ""
    yield heading((f"RATE {each.decision.upper()}", ANSWER_STYLES[each.decision]), [each.name], tail, screen)
    yield from paragraph("  ", asked_text(each), screen.width)


def _ordered(asked: Sequence[RateCondition]) -> list[RateCondition]:
    return sorted(asked, key=lambda each: _WORST.index(each.decision))


def evidence_blocks(view: RunView, screen: Screen, naming: Naming, *, most: int | None) -> Iterator[Text]:
    """Show attempts that failed and are judged by a rate; whether that is reached is said elsewhere."""
    total = view.statuses.get("failed", 0) - view.alone.get("failed", 0)
    if not total:
        return
    yield line("")
    yield line((f"{counted(total, 'failed attempt')} of evals that are judged by their rate:", "bold"))
    for attempt in view.attempts("failed", most=most, rated=True):
        yield from failed_block(attempt, screen, naming, word=("failed", "red"))
    if most is not None and total > most:
        yield line("")
        yield line((f"({total - most:,} more failed: niceeval show --all)", "dim"))


def asked_line(view: RunView, screen: Screen) -> Iterator[Text]:
    """Count the answers, and the attempts whose ends count only in them; nothing where no eval asks for a rate."""
    if not view.asked:
        return
    worst = _ordered(view.asked)[0].decision
    within = {status: view.statuses.get(status, 0) - view.alone.get(status, 0) for status in ("failed", "errored")}
    counts = [f"{number:,} {status}" for status, number in within.items() if number]
    tail = f"; of the attempts, {' and '.join(counts)} count only there" if counts else ""
    yield from paragraph("asked rates: ", f"{asked_counts(view.asked)}{tail}", screen.width, style=ANSWER_STYLES[worst])
