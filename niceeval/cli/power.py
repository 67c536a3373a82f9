"""`niceeval power`: how many cases it takes."""

import json
from collections.abc import Iterator
from math import ceil

import attrs
from rich.text import Text

from niceeval.cli.numbers import percent
from niceeval.cli.screen import Output, Screen, open_screen
from niceeval.cli.text import columns, line, paragraph
from niceeval.errors import ConfigError
from niceeval.stats import Needed, cases_needed

__all__ = ["power_command"]


def power_command(*, rate: float, detect: float, power: float, confidence: float, attempts: int, as_json: bool) -> int:
    """Print how many cases it takes to see a drop in a rate."""
    if detect >= rate:
        raise ConfigError(f"--detect {detect:g} leaves no rate below --rate {rate:g}; ask for a smaller drop")
    found = cases_needed(rate, detect, power=power, confidence=confidence)
    if as_json:
        numbers = attrs.asdict(found)
        given = {"rate": rate, "detect": detect, "power": power, "confidence": confidence, "attempts": attempts}
        fewest = {name: None if number is None else ceil(number / attempts) for name, number in numbers.items()}
        Output().write(json.dumps({**given, "cases": numbers, "cases_if_independent": fewest}) + "\n")
        return 0
    screen = open_screen()
    screen.write(_report(found, rate, detect, power, confidence, attempts, screen))
    return 0


def _report(
    found: Needed, rate: float, detect: float, power: float, confidence: float, attempts: int, screen: Screen
) -> Iterator[Text]:
    low = f"{rate - detect:.6g}"
    rows = (
        (f"a gate at {low} passes a rate of {rate:g}", found.to_pass),
        (f"a gate at {rate:g} fails a rate of {low}", found.to_fail),
        (f"--baseline sees a drop from {rate:g} to {low}", found.to_see_regression),
    )
    yield line(f"with a chance of {percent(power)}, at {percent(confidence)} confidence")
    yield line("")
    head = ["to see that", "cases", *([f"if {attempts} attempts are independent"] if attempts > 1 else [])]
    cells = [[name, _number(number), *([_number(number, attempts)] if attempts > 1 else [])] for name, number in rows]
    yield from columns(head, cells, screen.width)
    yield line("")
    says = (
        "Exact, from binomial distributions, for cases that stand for others like them and are decided all. "
        "For a baseline, the two runs are taken to flip independently: where the same cases are hard for both, fewer "
        "are enough."
    )
    if attempts > 1:
        says += (
            f" {attempts} attempts at a case save cases only as far as they differ: between the two columns, the "
            "first where a case always comes out the same. A gate counts cases; with --cases fixed it counts attempts."
        )
    yield from paragraph("", says, screen.width, style="dim")


def _number(number: int | None, attempts: int = 1) -> str:
    return "over 200,000" if number is None else f"{ceil(number / attempts):,}"
