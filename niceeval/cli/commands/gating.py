"""The commands that decide on rates, and that look at several runs."""

from collections import Counter
from math import isfinite
from typing import TYPE_CHECKING, Any

import click

from niceeval.cli.group import cli

if TYPE_CHECKING:
    _Type = click.ParamType[Any]
else:
    _Type = click.ParamType  # not a generic class when it runs


class _Share(_Type):
    """A share, with or without its ends."""

    name = "share"

    def __init__(self, *, ends: bool = False, least: float = 0.0) -> None:
        self.ends = ends
        self.least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number, or say which numbers there are."""
        try:
            number = float(value)
        except ValueError:
            self.fail(f"{value!r} is not a number.", param, ctx)
        if self.ends:
            inside, range_ = 0 <= number <= 1, "from 0 to 1"
        elif self.least:
            inside, range_ = self.least <= number < 1, f"at least {self.least:g} and below 1"
        else:
            inside, range_ = 0 < number < 1, "above 0 and below 1"
        if not isfinite(number) or not inside:
            self.fail(f"{value} is not {range_}.", param, ctx)
        return number


class _Least(_Type):
    """A requirement with the rate that it has to reach: KEY>=0.98."""

    name = "requirement"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, float]:
        """Return the key and the rate."""
        if isinstance(value, tuple):
            return value
        key, sign, number = str(value).rpartition(">=")
        try:
            rate = float(number)
        except ValueError:
            rate = 0.0
        if not sign or not key.strip() or not 0 < rate <= 1:
            self.fail(f"{value!r} does not read like 'schema>=0.98', with a rate above 0 and at most 1.", param, ctx)
        return key.strip(), rate


_confidence = click.option(
    "--confidence",
    type=_Share(least=0.5),
    default=0.95,
    show_default=True,
    metavar="C",
    help="How sure an answer has to be.",
)
_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


def _rate(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    if value is not None and not 0 < value <= 1:
        raise click.BadParameter(f"{value:g} is not above 0 and at most 1.", ctx, param)
    return value


def _once(
    ctx: click.Context, param: click.Parameter, value: tuple[tuple[str, float], ...]
) -> tuple[tuple[str, float], ...]:
    for key, number in Counter(key for key, _ in value).items():
        if number > 1:
            raise click.BadParameter(f"{key!r} is given {number} times; give it one rate.", ctx, param)
    return value


@cli.command()
@click.argument("run", default="latest")
@click.option("--min-rate", type=float, callback=_rate, metavar="R", help="What the pass rate has to reach.")
@_confidence
@click.option(
    "--requirement",
    "requirements",
    type=_Least(),
    multiple=True,
    callback=_once,
    metavar="KEY>=R",
    help="What the rate of a requirement has to reach.",
)
@click.option("--max-errored", type=_Share(ends=True), metavar="S", help="The largest share of errored attempts.")
@click.option("--baseline", metavar="RUN", help="A run that this one must not be worse than.")
@click.option("--eval", "evals", multiple=True, metavar="EVAL", help="Only this eval, or one case of it.")
@click.option("--agent", "agents", multiple=True, metavar="NAME", help="Only this agent.")
@click.option(
    "--cases",
    type=click.Choice(["sampled", "fixed"]),
    default="sampled",
    show_default=True,
    help="Whether the cases stand for others like them, or the rate is about these alone.",
)
@_json
def gate(run: str, as_json: bool, **options: Any) -> int:
    """Decide whether a run is good enough: pass, fail or inconclusive.

    Without --min-rate, evals with a min_rate of their own are held against it. Exit codes: 0 pass, 1 fail, 2 usage,
    5 inconclusive.
    """
    from niceeval.cli.gate import gate_command

    return gate_command(run, options, as_json=as_json)


@cli.command()
@click.option("--rate", type=_Share(), required=True, metavar="R", help="The rate that the system has.")
@click.option("--detect", type=_Share(), required=True, metavar="D", help="The drop that is to be seen.")
@click.option("--power", type=_Share(), default=0.8, show_default=True, metavar="P", help="The chance to see it.")
@_confidence
@click.option("--attempts", type=click.IntRange(min=1), default=1, metavar="K", help="Attempts at each case.")
@_json
def power(as_json: bool, **options: Any) -> int:
    """Say how many cases it takes to see a drop in a rate."""
    from niceeval.cli.power import power_command

    return power_command(**options, as_json=as_json)


@cli.command()
@click.argument("first")
@click.argument("second", required=False)
@click.option("--agents", nargs=2, metavar="A B", help="The agent of the first, and that of the second run.")
@click.option("--eval", "evals", multiple=True, metavar="EVAL", help="Only this eval, or one case of it.")
@_confidence
@_json
def compare(first: str, second: str | None, as_json: bool, **options: Any) -> int:
    """Compare two runs, or two agents of one run, case by case."""
    from niceeval.cli.comparing import compare_command

    return compare_command(first, second, options, as_json=as_json)


@cli.command()
@click.argument("run", default="latest")
@_confidence
@_json
def rank(run: str, confidence: float, as_json: bool) -> int:
    """Rank the agents of a run by their scores, in all evals and in each."""
    from niceeval.cli.rank import rank_command

    return rank_command(run, confidence, as_json=as_json)


@cli.command()
@click.argument("key", required=False)
@click.option("--eval", metavar="EVAL", help="Only this eval, or one case of it.")
@_json
def history(key: str | None, eval: str | None, as_json: bool) -> int:
    """Follow a requirement through all runs, or list all of them and those that nothing has violated for long."""
    from niceeval.cli.history import history_command

    return history_command(key, eval, as_json=as_json)
