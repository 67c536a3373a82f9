"""The tables of a report: evals, requirements, the ranking, and the counts of the last line."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from rich.cells import cell_len
from rich.text import Text

from niceeval.cli.numbers import counted, rate, scores
from niceeval.cli.screen import Screen
from niceeval.cli.text import columns, cut, line, safe
from niceeval.cli.view import RunView
from niceeval.record.lines import plain
from niceeval.record.rates import Requirement
from niceeval.results import AttemptResult

__all__ = ["counts_line", "eval_table", "headline", "ranking_table", "requirement_table", "score_table", "style_of"]

_ORDER: Final = ("failed", "errored", "unrankable", "skipped", "passed", "scored")
_STYLES: Final = {
    "failed": "bold red",
    "errored": "yellow",
    "unrankable": "yellow",
    "passed": "green",
    "scored": "green",
}
_NOTE: Final = "(errored attempts are outside every rate)"
_FEW: Final = 10
_NAME: Final = 20


def style_of(status: str) -> str:
    """The colour of a status."""
    return _STYLES.get(status, "")


def headline(
    agents: Sequence[str],
    attempts: Collection[int],
    sizes: Sequence[int],
    screen: Screen,
    *start: str,
    kind: str = "agent",
    at_most: bool = False,
) -> Iterator[Text]:
    """Say what was planned: how many evals with how many cases each, agents or experiments, and attempts."""
    factors = [counted(sum(sizes), "case"), *([counted(len(agents), kind)] if len(agents) > 1 else [])]
    few, most = min(attempts, default=1), max(attempts, default=1)
    repeated = counted(most, "attempt") if few == most else f"{few:,}-{counted(most, 'attempt')}"
    factors.append(f"at most {repeated}" if at_most else repeated)
    plan = f"{counted(len(sizes), 'eval')}, {f' {screen.symbols.times} '.join(factors)}"
    named = [f"{kind}{'' if len(agents) == 1 else 's'} {', '.join(agents)}"] if agents else []
    current = ""
    for part in map(safe, [*start, plan, *named]):
        if current and cell_len(current) + 2 + cell_len(part) > screen.width:
            yield line(cut(current, screen.width))
            current = ""
        current += f"  {part}" if current else part
    yield line(cut(current, screen.width))


def eval_table(view: RunView, screen: Screen) -> Iterator[Text]:
    """How often each pass-style eval passed, with the denominator and what could not be decided."""
    planned = [item for item in view.header.evals if item.style == "pass"]
    if not planned:
        return
    several = len(view.header.agents) > 1
    k = view.header.most_attempts
    asked = {plain(item.id): f"{item.min_rate:g}" for item in planned if item.min_rate is not None}
    # Cases with too few decided attempts are outside pass@k: where there are any, it says how many are in it.
    partly = any(0 < each.pass_cases.get(k, 0) < each.cases for each in view.rates.evals)
    head = ["eval", "passed/decided", "errored", "rate", *(["asked"] if asked else [])]
    head += [f"pass@{k}", f"pass^{k}", *(["cases"] if partly else [])] if k > 1 else []
    rows: list[list[str]] = []
    above = ""
    for each in view.rates.evals:
        if several and each.eval_id != above:
            above = each.eval_id
            rows.append([above, *[""] * (len(head) - 1)])
        name = f"  {each.agent or '-'}" if several else each.eval_id
        row = [name, f"{each.passed}/{each.decided}", str(each.errored), rate(each.rate)]
        row += [asked.get(each.eval_id, "-")] if asked else []
        row += [rate(each.pass_at.get(k)), rate(each.pass_hat.get(k))] if k > 1 else []
        rows.append(row + ([f"{each.pass_cases.get(k, 0)}/{each.cases}"] if k > 1 and partly else []))
    yield line("")
    yield from columns(head, rows, screen.width)


def requirement_table(view: RunView, screen: Screen, *, everything: bool) -> Iterator[Text]:
    """How each requirement came out, the one that failed most often first, those that never did in the plan's order.

    Without `everything`, only those with something to look at.
    """
    found = sorted(view.requirements, key=lambda each: (-each.failed, -each.errored if each.failed else 0))
    shown = found
    if not everything:
        # Requirements that a stop kept from being reached explain a smaller denominator, as long as there is room.
        bad = [each for each in found if each.failed or each.errored]
        if not bad:
            return
        unreached = [each for each in found if each.not_reached and each not in bad][: max(_FEW - len(bad), 0)]
        shown = [each for each in found if each in bad or each in unreached]
    if not shown:
        return
    yield line("")
    violations = sum(each.failed for each in found)
    if violations:
        yield line(f"  {_failed(view)}{counted(violations, 'violation')}")
    head = ["requirement", "failed/decided", "errored", "not reached"]
    yield from columns(head, map(_cells, shown), screen.width)
    if len(shown) < len(found):
        yield line((f"  ({len(found) - len(shown)} more with no failure: niceeval show)", "dim"))


def _failed(view: RunView) -> str:
    """Say how many of the decided pass-style attempts failed; they are cases where each has one attempt."""
    failed = view.statuses.get("failed", 0)
    decided = failed + view.statuses.get("passed", 0)
    if not decided:
        return ""
    alone = view.header.most_attempts == 1 and len(view.header.agents) < 2
    return f"{failed:,} of {counted(decided, 'decided case' if alone else 'decided attempt')} failed, "


def _cells(each: Requirement) -> list[str]:
    return [each.key, f"{each.failed}/{each.decided}", str(each.errored), str(each.not_reached)]


def ranking_table(view: RunView, screen: Screen) -> Iterator[Text]:
    """The agents by their mean score."""
    if not any(planned.style == "score" for planned in view.header.evals):
        return
    places = view.ranking
    means = scores(place.mean_score for place in places)
    rows = [
        [
            f"{'-' if place.rank is None else place.rank:>4}  {place.agent or '-'}",
            mean,
            f"{place.scored}/{place.planned}",
            str(place.unrankable),
            str(place.errored),
        ]
        for place, mean in zip(places, means, strict=True)
    ]
    yield line("")
    yield from columns(["rank  agent", "mean score", "scored/planned", "unrankable", "errored"], rows, screen.width)


def score_table(view: RunView, screen: Screen, *, most: int | None) -> Iterator[Text]:
    """Every score-style attempt that has a score or a lower bound of it, with what stopped it."""
    total = view.statuses.get("scored", 0) + view.statuses.get("unrankable", 0)
    if not total:
        return
    several, repeated = len(view.header.agents) > 1, view.header.most_attempts > 1
    head = ["case", *(["agent"] if several else []), *(["attempt"] if repeated else []), "score", "stopped by"]
    rows: list[list[str]] = []
    for attempt in view.attempts("scored", "unrankable"):
        if most is not None and len(rows) == most:
            break
        which = [*([_short(attempt.agent)] if several else []), *([str(attempt.attempt)] if repeated else [])]
        rows.append([attempt.name, *which, _score(attempt, screen), _short(attempt.stopped_by or "")])
    yield line("")
    yield from columns(head, rows, screen.width, texts=2 if several else 1)
    if len(rows) < total:
        yield line((f"  ({total - len(rows)} more: niceeval show)", "dim"))


def _score(attempt: AttemptResult, screen: Screen) -> str:
    if attempt.status == "scored":
        return scores([attempt.score])[0]
    return f"{screen.symbols.at_least} {scores([attempt.partial_score])[0]}"


def _short(name: str) -> str:
    return cut(name, _NAME)


def counts_line(
    statuses: Mapping[str, int], screen: Screen, after: str = "", *, retried: Mapping[str, int] | None = None
) -> Iterator[Text]:
    """Count the attempts by how they ended, the worst first, and those that ended so only after another try."""
    parts: list[str | tuple[str, str]] = []
    for status in _ORDER:
        if statuses.get(status):
            parts += [", " if parts else "", (f"{statuses[status]:,} {status}", style_of(status))]
            again = (retried or {}).get(status)
            parts.append(f" ({again:,} after {'a retry' if again == 1 else 'retries'})" if again else "")
    counts = line(*(parts or ["no attempt has ended"]), after)
    if statuses.get("errored"):
        if counts.cell_len + 2 + len(_NOTE) <= screen.width:
            counts.append(f"  {_NOTE}")
        else:
            yield counts
            counts = line(_NOTE)
    yield counts
