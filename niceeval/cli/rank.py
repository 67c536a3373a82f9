"""`niceeval rank`: the agents of a run by their scores."""

import json
from collections.abc import Iterator, Sequence

from rich.text import Text

from niceeval.cli.codes import NOTHING, PASSED
from niceeval.cli.gate import named_run
from niceeval.cli.numbers import percent, scores, span
from niceeval.cli.screen import Output, Screen, open_screen
from niceeval.cli.show import warnings_as_lines
from niceeval.cli.text import columns, line, paragraph
from niceeval.record.ranks import Ranked, rank

__all__ = ["rank_command"]


def rank_command(run: str, confidence: float, *, as_json: bool) -> int:
    """Print the places of all evals together, then those of each where there are several."""
    with warnings_as_lines():
        record, info = named_run(run)
        with record:
            whole = rank(record, info, confidence=confidence)
            each = rank(record, info, by_eval=True, confidence=confidence)
    if as_json:
        Output().write(json.dumps({"run": info.id, "overall": whole.to_dicts(), "evals": each.to_dicts()}) + "\n")
        return PASSED if whole else NOTHING
    screen = open_screen()
    screen.write([line(f"run {info.id}")])
    if not whole:
        screen.write([line(""), line("no score-style eval was planned, so nobody can be ranked")])
        return NOTHING
    screen.write(_table(whole, "all score-style evals", confidence, screen))
    names = list(dict.fromkeys(place.eval_id for place in each))
    for name in names if len(names) > 1 else ():
        screen.write(_table([place for place in each if place.eval_id == name], name, confidence, screen))
    screen.write(_reasons(whole, screen))
    return PASSED


def _table(places: Sequence[Ranked], title: str, confidence: float, screen: Screen) -> Iterator[Text]:
    yield line("")
    yield line(title)
    head = ["rank  agent", "mean", f"{percent(confidence)} interval", "scored/planned", "unrankable", "errored"]
    means = scores(place.mean_score for place in places)
    rows = [
        [
            f"{_rank(place):>4}  {place.agent or '-'}",
            mean,
            span(place.interval),
            f"{place.scored}/{place.planned}",
            str(place.unrankable),
            str(place.errored),
        ]
        for place, mean in zip(places, means, strict=True)
    ]
    yield from columns(head, rows, screen.width)


def _rank(place: Ranked) -> str:
    return "-" if place.rank is None else f"{place.rank}{'=' if place.tied else ''}"


def _reasons(places: Sequence[Ranked], screen: Screen) -> Iterator[Text]:
    for place in places:
        for reason, count in place.reasons:
            yield line("")
            word = "unrankable" if place.rank is None else "left out"
            yield from paragraph(f"{word}  ", f"{place.agent or '-'}  {count} {reason}", screen.width, most=3)
