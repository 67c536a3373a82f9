"""Experiments side by side: how often each passed, what it cost, and how long it took."""

from collections.abc import Iterator, Sequence
from typing import Final

from rich.cells import cell_len
from rich.text import Text

from niceeval.cli.numbers import rate
from niceeval.cli.screen import Screen
from niceeval.cli.text import columns, line
from niceeval.cli.view import RunView
from niceeval.record.lines import RunSource
from niceeval.record.queries import RunTables
from niceeval.record.rates import Rate, Spent

__all__ = ["Spent", "compare_table", "spent"]

_INTERVAL: Final = "95 %"
_LEAST_NAME: Final = 14


def spent(source: RunSource) -> dict[str, Spent]:
    """Return what each agent's attempts took, by the agent's name."""
    tables = RunTables(source)
    try:
        return tables.spent()
    finally:
        tables.close()


def compare_table(view: RunView, screen: Screen) -> Iterator[Text]:
    """Put experiments side by side; nothing where there is only one, or where agents were named alone."""
    rates = {each.agent: each for each in view.rates.agents}
    names = [each.name for each in view.header.experiments]
    if len(names) < 2:
        return
    took = view.spent
    rows = [(name, rates.get(name), took.get(name, Spent())) for name in names]
    passing = any(each is not None and each.planned for _, each, _ in rows)
    shown: list[tuple[str, list[str]]] = [("experiment", [name for name, _, _ in rows])]
    if passing:
        shown.append(("passed", [_of(each) for _, each, _ in rows]))
        if any(each is not None and each.errored for _, each, _ in rows):
            shown.append(("errored", ["0" if each is None else str(each.errored) for _, each, _ in rows]))
        shown.append(("rate", [rate(None if each is None else each.rate) for _, each, _ in rows]))
        shown.append((_INTERVAL, [_interval(each) for _, each, _ in rows]))
    at_least = f"{screen.symbols.at_least} "
    if any(each.cost is not None for *_, each in rows):
        shown.append(("cost", [_cost(each, at_least) for *_, each in rows]))
    if any(each.tokens is not None for *_, each in rows):
        shown.append(("tokens", [_tokens(each, at_least) for *_, each in rows]))
    shown.append(("mean s", [_mean(each) for *_, each in rows]))
    if _narrowest(shown) > screen.width:
        shown = [column for column in shown if column[0] != _INTERVAL]
    yield line("")
    cells = [list(row) for row in zip(*(column for _, column in shown), strict=True)]
    yield from columns([head for head, _ in shown], cells, screen.width)


def _narrowest(shown: Sequence[tuple[str, list[str]]]) -> int:
    """How many cells a line takes where the name has hardly any room."""
    numbers = [max(cell_len(head), *map(cell_len, cells)) for head, cells in shown[1:]]
    return _LEAST_NAME + sum(numbers) + 3 * len(numbers)


def _of(each: Rate | None) -> str:
    return "-" if each is None else f"{each.passed}/{each.decided}"


def _interval(each: Rate | None) -> str:
    if each is None or each.interval is None:
        return "-"
    return "-".join(map(rate, each.interval))


def _cost(each: Spent, at_least: str) -> str:
    return "-" if each.cost is None else f"{at_least if each.costs_missing else ''}${each.cost:.2f}"


def _tokens(each: Spent, at_least: str) -> str:
    if each.tokens is None:
        return "-"
    shown = f"{each.tokens:,}" if each.tokens < 1_000_000 else f"{each.tokens / 1_000_000:.1f} M"
    return f"{at_least if each.tokens_missing else ''}{shown}"


def _mean(each: Spent) -> str:
    if not each.attempts:
        return "-"
    mean = each.seconds / each.attempts
    return f"{mean:.2f}" if mean < 10 else f"{mean:,.0f}"
