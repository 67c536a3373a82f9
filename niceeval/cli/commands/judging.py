"""The command that measures a judge."""

from math import isfinite
from typing import Any

import click

from niceeval.cli.group import cli


def _share(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    if value is not None and not (isfinite(value) and 0 <= value <= 1):
        raise click.BadParameter(f"{value:g} is not from 0 to 1.", ctx, param)
    return value


@cli.command(name="judge-check")
@click.argument("labels")
@click.option(
    "--recipe",
    required=True,
    metavar="RECIPE",
    help="closed_qa, factuality or summarizes, with :TEXT for all rows; or MODULE:ATTR of a judge match.",
)
@click.option("--judge", metavar="[PROVIDER:]MODEL", help="The model that judges.")
@click.option(
    "--judge-cache", is_flag=False, flag_value="", metavar="[DIR]", help="Keep its answers, and take them from there."
)
@click.option(
    "--at-least", type=float, callback=_share, metavar="M", help="From which measurement on an answer passes."
)
@click.option(
    "--min-kappa",
    type=float,
    callback=_share,
    default=0.6,
    show_default=True,
    metavar="K",
    help="The agreement beyond chance that a gate needs.",
)
@click.option("--backend", type=click.Choice(["asyncio", "trio"]), default="asyncio", help="The event loop.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def judge_check(labels: str, recipe: str, as_json: bool, **options: Any) -> int:
    """Measure a judge against labels that people gave: agreement, kappa, and what it mixes up.

    LABELS is a JSONL, JSON, YAML or CSV file of rows with output, label, and what the recipe reads besides. Exit codes:
    0 the judge agrees well enough to gate on, 1 it does not, 2 usage, 3 it answered nothing, 5 too few labels to tell.
    """
    from niceeval.cli.judging import judge_check_command

    return judge_check_command(labels, recipe, as_json=as_json, **options)
