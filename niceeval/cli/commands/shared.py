"""Options that several commands take, and the numbers that they accept."""

from collections.abc import Callable
from math import isfinite
from typing import Any, TypeVar

import click

__all__ = ["amount", "how_it_runs", "which_evals"]

F = TypeVar("F", bound=Callable[..., Any])


def amount(*names: str, unit: str, help: str, metavar: str) -> Callable[[F], F]:
    """Add an option that takes a finite number above 0."""

    def checked(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
        if value is not None and (not isfinite(value) or value <= 0):
            raise click.BadParameter(f"{value:g} is no number of {unit} above 0.", ctx, param)
        return value

    return click.option(*names, type=float, callback=checked, metavar=metavar, help=help)


def which_evals(command: F) -> F:
    """Add the options that select evals."""
    for option in (
        click.option(
            "--tag", "tags", multiple=True, metavar="TAG", help="Only evals with this tag; of several, any of them."
        ),
        click.option("-k", "expression", metavar="EXPR", help="Only ids that fit, such as 'orders and not refunded'."),
    ):
        command = option(command)
    return command


def how_it_runs(command: F) -> F:
    """Add the options that say how far and how fast a run goes, and what it shows."""
    for option in reversed(
        (
            click.option(
                "--concurrency", type=click.IntRange(min=1), metavar="N", help="How many attempts run at a time."
            ),
            amount("--timeout", unit="seconds", metavar="SECONDS", help="What one attempt may take."),
            click.option(
                "--retries",
                type=click.IntRange(min=0),
                metavar="N",
                help="How often an attempt is tried again when its agent could not be reached.",
            ),
            click.option("--judge", metavar="[PROVIDER:]MODEL", help="The model that answers judge matches."),
            click.option(
                "--judge-cache",
                is_flag=False,
                flag_value="",
                metavar="[DIR]",
                help="Keep the judges' answers in a folder, and take them from there.",
            ),
            amount("--max-cost", unit="US dollars", metavar="USD", help="What the run may cost."),
            click.option("--max-tokens", type=click.IntRange(min=1), metavar="N", help="How many tokens it may use."),
            amount("--max-time", unit="seconds", metavar="SECONDS", help="How long it may take."),
            click.option("-x", "--exitfirst", "exit_first", is_flag=True, help="Stop after the first failure."),
            click.option(
                "--backend", type=click.Choice(["asyncio", "trio"]), default="asyncio", help="The event loop."
            ),
            click.option(
                "--report",
                "reports",
                multiple=True,
                metavar="KIND=PATH",
                help="Write a report: junit, markdown, github, json or console; - is the terminal.",
            ),
            click.option("-q", "--quiet", is_flag=True, help="Print only the counts and where the record is."),
            click.option(
                "--json", "as_json", is_flag=True, help="Print one JSON object per line: events, then a summary."
            ),
        )
    ):
        command = option(command)
    return command
