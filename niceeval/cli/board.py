"""The lines that are redrawn while a run goes on, never more of them than there is room for."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias, TypeVar

import attrs
from rich.cells import cell_len, set_cell_size
from rich.text import Text

from niceeval.cli.numbers import clock, counted, rate, scores
from niceeval.cli.remaining import time_left
from niceeval.cli.screen import Screen
from niceeval.cli.tables import style_of
from niceeval.cli.tally import AgentTally, EvalTally, Tally, Waiting
from niceeval.cli.text import cut, line, paragraph, safe
from niceeval.plans import AttemptRef, Plan

__all__ = ["Shape", "board", "eval_line", "note_lines"]

_Part: TypeAlias = str | tuple[str, str]
_Item = TypeVar("_Item")

_BAR: Final = 24
_SHORTEST_BAR: Final = 10
_SHORTEST_NAME: Final = 20
_ORDER: Final = ("passed", "scored", "failed", "errored", "unrankable", "skipped")
_LONG: Final = 1.0  # seconds from which on a running attempt is named
_MOST_RUNNING: Final = 10
_MOST_WAITING: Final = 4


@attrs.frozen
class Shape:
    """What names, bars and counts need, so that they stand below each other: long names take from the bars.

    Attributes:
        longest: Cells of the longest name of an eval.
        widest: Cells of the longest name of an eval or an agent.
        tail: Cells of what usually stands after a bar.
        agents: Whether the lines of a run with several agents say whose attempt it is.
        attempts: Whether they say which attempt it is.
    """

    longest: int = 0
    widest: int = 0
    tail: int = 0
    agents: bool = False
    attempts: bool = False

    @classmethod
    def of(cls, plan: Plan, tally: Tally) -> "Shape":
        """Return the shape for a run."""
        most = len(str(max((each.total for each in tally.evals.values()), default=0)))
        usual = "scored unrankable" if any(each.style == "score" for each in plan.evals) else "passed failed"
        several = any(
            plan.attempts_of(eval_, experiment) > 1 for eval_ in plan.evals for experiment in plan.experiments
        )
        longest = max((cell_len(safe(name)) for name in tally.evals), default=0)
        widest = max(longest, *(cell_len(safe(name)) for name in tally.agents))
        return cls(longest, widest, len(f" /     {usual}  0:00:00") + 4 * most, len(tally.agents) > 1, several)

    def sizes(self, width: int, longest: int) -> tuple[int, int]:
        """Return how wide names and bars are."""
        bar = min(_BAR, max(_SHORTEST_BAR, width - 1 - self.tail - longest))
        return min(longest, max(width - 1 - self.tail - bar, 8)), bar

    def name(self, ref: AttemptRef) -> str:
        """Name an attempt, with what tells it from others of the same case."""
        number = f"  attempt {ref.attempt}" if self.attempts else ""
        return f"{ref.name}{number}" + (f"  {ref.agent}" if self.agents and ref.agent else "")


def _bar_line(of: EvalTally | AgentTally, sizes: tuple[int, int], tail: Sequence[_Part], screen: Screen) -> Text:
    name, done, total = of.name or "all evals", of.done, of.total
    size, bar = sizes
    filled = bar * done // max(total, 1)
    drawn: list[_Part] = [(screen.symbols.done * filled, "cyan"), (screen.symbols.left * (bar - filled), "dim")]
    tail = [f" {done:>{len(str(total))}}/{total}", *tail]
    room = screen.width - bar - 1 - sum(len(part if isinstance(part, str) else part[0]) for part in tail)
    if room < min(size, _SHORTEST_NAME):
        room, drawn = room + bar, []
    size = max(min(size, room), 8)
    return _fitted([set_cell_size(cut(name, size), size), " ", *drawn, *tail], screen)


def eval_line(of: EvalTally, now: float, shape: Shape, screen: Screen) -> Text:
    """Say how far an eval is, or how it ended."""
    tail: list[_Part] = []
    for status in _ORDER:
        if of.counts[status]:
            tail += ["  ", (f"{of.counts[status]} {status}", style_of(status))]
    took = "-" if of.begun is None else clock((now if of.ended is None else of.ended) - of.begun)
    return _bar_line(of, shape.sizes(screen.width, shape.longest), [*tail, f"  {took}"], screen)


def note_lines(status: str, name: str, reason: str, screen: Screen) -> list[Text]:
    """Say how an attempt ended that did not pass: on one line where there is room."""
    mark = screen.symbols.failed if status == "failed" else screen.symbols.undecided
    head: list[_Part] = [(f"{mark} {status}", style_of(status)), f"  {name}"]
    if len(status) + 6 + cell_len(safe(name)) + cell_len(safe(reason[: screen.width])) <= screen.width:
        return [line(*head, f"  {reason}")]
    return [_fitted(head, screen), *paragraph("    ", reason, screen.width, most=2)]


def board(tally: Tally, shape: Shape, screen: Screen, height: int) -> list[Text]:
    """Draw the board: evals in progress, agents, the whole, what runs longest, and what waits for another try.

    Args:
        tally: The counts.
        shape: The shape of the lines.
        screen: Where they go.
        height: The rows of the terminal.
    """
    now = tally.clock()
    # An eval that is a single attempt is no more than what runs.
    evals = [each for each in list(tally.active.values()) if each.total > 1]
    agents = list(tally.agents.values()) if len(tally.agents) > 1 or len(tally.evals) > 1 else []
    waiting = tally.retries(now)
    slow = _slow(tally, now, {ref for ref, _ in waiting})
    rows = max(height * 2 // 3, 1)
    wanted = [
        1,
        len(evals) + bool(tally.to_come),
        len(agents),
        min(len(waiting), _MOST_WAITING),
        min(len(slow), _MOST_RUNNING),
    ]
    _, *rooms = _shared(wanted, rows)
    parts = (
        _evals(tally, evals, rooms[0], screen, lambda each: eval_line(each, now, shape, screen)),
        _some(agents, rooms[1], "agents", lambda each: _agent_line(each, shape, screen)),
        [_whole(tally, now, len(waiting), screen, rates=len(agents) != 1)],
        _some(waiting, rooms[2], "waiting", lambda each: _waiting_line(*each, now, shape, screen)),
        _some(slow, rooms[3], "running", lambda each: _slow_line(*each, shape, screen)),
    )
    return _joined(parts, rows)


def _shared(wanted: Sequence[int], rows: int) -> list[int]:
    """Share rows out one by one, so that each gets some before another gets all it wants."""
    given = [0] * len(wanted)
    while rows and given != list(wanted):
        for place, most in enumerate(wanted):
            if rows and given[place] < most:
                given[place] += 1
                rows -= 1
    return given


def _joined(parts: Iterable[list[Text]], rows: int) -> list[Text]:
    """Put parts below each other, the first two and the rest apart where there is room."""
    evals, agents, *rest = parts
    below = [each for part in rest for each in part]
    blocks = [block for block in (evals, [*agents, *below]) if block]
    if len(blocks) > 1 and len(blocks[0]) + len(blocks[1]) < rows:
        return [*blocks[0], line(""), *blocks[1]]
    return [each for block in blocks for each in block]


def _some(items: Sequence[_Item], room: int, what: str, draw: Callable[[_Item], Text]) -> list[Text]:
    """Draw what there is room for, and count the others on the last line."""
    if len(items) <= room:
        return list(map(draw, items))
    if not room:
        return []
    return [*map(draw, items[: room - 1]), line((f"  and {len(items) - room + 1:,} more {what}", "dim"))]


def _evals(
    tally: Tally, evals: Sequence[EvalTally], room: int, screen: Screen, draw: Callable[[EvalTally], Text]
) -> list[Text]:
    if not room:
        return []
    shown = evals if len(evals) + bool(tally.to_come) <= room else evals[: room - 1]
    hidden = len(evals) - len(shown)
    rest = [f"{hidden:,} more in progress"] if hidden else []
    rest += [f"{counted(tally.to_come, 'eval')} to come"] if tally.to_come else []
    return [*map(draw, shown), *([_fitted([("and " * bool(shown) + ", ".join(rest), "dim")], screen)] if rest else [])]


def _agent_line(of: AgentTally, shape: Shape, screen: Screen) -> Text:
    return _bar_line(of, shape.sizes(screen.width, shape.widest), _rates(of), screen)


def _rates(of: AgentTally) -> list[_Part]:
    """The rates so far, with what they are rates of; errored attempts are beside them."""
    parts: list[_Part] = []
    if of.decided:
        parts.append(f"  rate {rate(of.rate)} ({of.counts['passed']:,}/{of.decided:,})")
    if of.counts["scored"]:
        parts.append(f"  mean {scores([of.mean])[0]} ({of.counts['scored']:,} scored)")
    for status in ("errored", "unrankable"):
        if of.counts[status]:
            parts += ["  ", (f"{of.counts[status]:,} {status}", style_of(status))]
    return parts


def _whole(tally: Tally, now: float, waiting: int, screen: Screen, *, rates: bool) -> Text:
    """The whole run on one line, the most important first: what there is no room for is left out."""
    left, whole = time_left(tally, now), tally.whole
    parts: list[_Part] = [
        f"{clock(now - tally.begun)}, {'-' if left is None else clock(left + 0.5)} left",
        f"  {whole.done:,} of {whole.total:,}",
        *(_rates(whole) if rates else []),
        f"  {len(tally.running) - waiting:,} running",
    ]
    if waiting:
        parts.append(f"  {waiting:,} waiting")
    while len(parts) > 1 and line(*parts).cell_len > screen.width:
        parts.pop()
    return line(*parts)


def _slow(tally: Tally, now: float, waiting: set[AttemptRef]) -> list[tuple[AttemptRef, float]]:
    """What has run for so long that one may want to know, the longest first: they are kept in the order they began."""
    begun = list(tally.running.items())
    return [(ref, now - since) for ref, since in begun if now - since >= _LONG and ref not in waiting]


def _slow_line(ref: AttemptRef, age: float, shape: Shape, screen: Screen) -> Text:
    took = f"{int(age)} s" if age < 100 else clock(age)
    return _fitted([f"{took:>9}  ", shape.name(ref)], screen)


def _waiting_line(ref: AttemptRef, of: Waiting, now: float, shape: Shape, screen: Screen) -> Text:
    retry = (f"  retry {of.retry} in {max(of.until - now, 1):.0f} s", "yellow")
    return _fitted([retry, f"  {cut(shape.name(ref), screen.width // 2)}  ", of.reason], screen)


def _fitted(parts: Sequence[_Part], screen: Screen) -> Text:
    """Build one line that is cut where the screen ends."""
    whole = line(*parts)
    left = screen.width
    if whole.cell_len <= left:
        return whole
    made: list[_Part] = []
    for part in parts:
        text, style = (part, "") if isinstance(part, str) else part
        shown = cut(text, left) if left > 0 and text else ""
        left -= cell_len(shown)
        made.append((shown, style))
    return line(*made)
