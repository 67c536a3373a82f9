"""The command that checks recorded conversations."""

from typing import Any

import click

from niceeval.cli.commands.shared import how_it_runs
from niceeval.cli.group import cli

_FORMATS = ("auto", "openai", "responses", "anthropic", "langchain", "pydantic-ai", "otel", "inspect", "jsonl")


def _rate(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    if value is not None and not 0 < value <= 1:
        raise click.BadParameter(f"{value:g} is no share above 0 and at most 1.", ctx, param)
    return value


@cli.command()
@click.argument("files", nargs=-1, required=True)
@click.option(
    "--with",
    "checks",
    required=True,
    metavar="MODULE:CHECKS",
    help="The checks: a function of t, or matches by requirement.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(_FORMATS),
    default="auto",
    help="What the files hold; found out by default.",
)
@click.option("--messages", metavar="PATH", help="Where the messages are in a record.")
@click.option("--id", "ids", multiple=True, metavar="PATH", help="Where the id is in a record; several make up one.")
@click.option("--group-by", metavar="PATH", help="Each record is a message; those with the same value belong together.")
@click.option("--tool-status", metavar="MODULE:ATTR", help="A function of a call that says how it ended.")
@click.option("--turn-status", metavar="MODULE:ATTR", help="A function of a turn that says how it ended.")
@click.option("--tool-names", metavar="MODULE:ATTR", help="The tools of servers, as ToolNames(...).")
@click.option("--sample", type=click.IntRange(min=1), metavar="N", help="Only N conversations, drawn by chance.")
@click.option("--rate", type=float, callback=_rate, metavar="SHARE", help="Only a share of them, such as 0.1.")
@click.option("--seed", type=int, default=0, metavar="S", help="What chance starts from; 0 by default.")
@click.option("-k", "expression", metavar="EXPR", help="Only ids that fit, such as 'a1 or a2'.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N of what is left.")
@how_it_runs
@click.option("--record", metavar="DIR", help="The folder of the record; .niceeval by default.")
def observe(
    files: tuple[str, ...],
    checks: str,
    format_: str,
    messages: str | None,
    ids: tuple[str, ...],
    group_by: str | None,
    tool_status: str | None,
    turn_status: str | None,
    tool_names: str | None,
    sample: int | None,
    rate: float | None,
    seed: int,
    **options: Any,
) -> int:
    """Check recorded conversations; no agent is called.

    Every conversation is an attempt of a run like any other. Exit codes are those of niceeval run: 0 all passed, 1 some
    failed, 2 usage, 3 errored (such as a conversation that cannot be read), 4 nothing to check, 130 interrupted.
    """
    from niceeval.cli.observe import Observing, observe_command
    from niceeval.cli.options import Options

    observing = Observing(
        files=files,
        checks=checks,
        format=format_,
        messages=messages,
        ids=ids,
        group_by=group_by,
        tool_status=tool_status,
        turn_status=turn_status,
        tool_names=tool_names,
        sample=sample,
        rate=rate,
        seed=seed,
    )
    return observe_command(observing, Options.given(**options))
