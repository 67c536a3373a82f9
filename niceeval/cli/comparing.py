"""`niceeval compare`: two runs, or two agents of one, side by side."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.text import Text

from niceeval.cli.compare import spent
from niceeval.cli.gate import flips, named_run
from niceeval.cli.numbers import chance, counted, percent, rate, scores, seconds, signed, span
from niceeval.cli.screen import Output, Screen, open_screen
from niceeval.cli.show import warnings_as_lines
from niceeval.cli.text import columns, cut, line
from niceeval.record.chain import open_source
from niceeval.record.compare import compare
from niceeval.record.comparisons import Compared, Comparison, Share, Side
from niceeval.record.rates import Spent
from niceeval.record.read import RunInfo

__all__ = ["compare_command"]


def compare_command(first: str, second: str | None, options: Mapping[str, Any], *, as_json: bool) -> int:
    """Print what two sides say of the same cases."""
    with warnings_as_lines():
        record, one = named_run(first)
        other: RunInfo | None = None
        with record:
            if second is not None:
                beside, other = named_run(second)
                beside.close()
            found = compare(record, one, other, **options)
        taken = {run.id: _taken(run) for run in (one, other) if run is not None}
    if as_json:
        Output().write(json.dumps({"comparisons": [_document(each, taken) for each in found]}) + "\n")
        return 0
    screen = open_screen()
    for number, each in enumerate(found):
        screen.write([line("")] if number else [])
        screen.write(_report(each, taken, options["confidence"], screen))
    return 0


def _taken(run: RunInfo) -> Mapping[str, Spent]:
    return spent(open_source(run.folder))


def _document(found: Comparison, taken: Mapping[str, Mapping[str, Spent]]) -> dict[str, Any]:
    document = found.model_dump(mode="json")
    for name, side in (("first", found.first), ("second", found.second)):
        mine = taken[side.run_id].get(side.agent, Spent())
        mean = mine.seconds / mine.attempts if mine.attempts else None
        document[name] |= {"cost": mine.cost, "tokens": mine.tokens, "mean_seconds": mean}
    return document


def _report(
    found: Comparison, taken: Mapping[str, Mapping[str, Spent]], confidence: float, screen: Screen
) -> Iterator[Text]:
    yield _side("first   ", found.first, taken)
    yield _side("second  ", found.second, taken)
    for what, rows in (("eval", found.evals), ("requirement", found.requirements), ("eval", found.scores)):
        if rows:
            yield line("")
            yield from _table(what, rows, confidence, screen)
    if found.overall is not None and found.overall.pairs:
        overall = found.overall
        yield line("")
        yield line(
            f"{counted(overall.pairs, 'case')} decided in both: {overall.worse} worse, {overall.better} better, "
            f"{signed(overall.difference)}"
        )
        yield line(f"so much to either side by chance alone: p = {chance(overall.p_differs)} ({overall.method})")
    marked = [*flips(found, screen)]
    if marked:
        yield line("")
        yield from marked
    if found.undecided:
        yield line(
            (f"  ({counted(len(found.undecided), 'case')} not decided in both, outside every difference)", "dim")
        )


def _side(label: str, side: Side, taken: Mapping[str, Mapping[str, Spent]]) -> Text:
    mine = taken[side.run_id].get(side.agent, Spent())
    parts = [f"run {side.run_id}", *([f"agent {side.agent}"] if side.agent else [])]
    if mine.attempts:
        parts.append(f"{seconds(mine.seconds / mine.attempts)} per attempt")
    if mine.cost is not None:
        parts.append(f"${mine.cost:.4g}" + (" or more" if mine.costs_missing else ""))
    return line((label, "dim"), cut("  ".join(parts), 4096))


def _table(what: str, rows: Sequence[Compared], confidence: float, screen: Screen) -> Iterator[Text]:
    head = [what, "first", "second", "errored", "difference", f"{percent(confidence)} interval"]
    cells = []
    for each in rows:
        first, second = _cells(each)
        errored = f"{each.first.errored}, {each.second.errored}"
        cells.append([each.name, first, second, errored, signed(each.difference), span(each.interval, sign=True)])
    yield from columns(head, cells, screen.width)


def _cells(each: Compared) -> list[str]:
    if each.kind == "score":
        shown = scores([each.first.value, each.second.value])
        return [f"{mean} of {side.decided}" for mean, side in zip(shown, (each.first, each.second), strict=True)]
    return [_rate(side) for side in (each.first, each.second)]


def _rate(side: Share) -> str:
    return f"{side.passed}/{side.decided} {rate(side.value)}"
