"""The commands that run evals."""

from typing import Any

import click

from niceeval.cli.group import cli


@cli.command()
@click.argument("paths", nargs=-1)
@click.option(
    "--agent",
    "agents",
    multiple=True,
    metavar="[NAME=]MODULE:ATTR",
    help="The agent under test; several are compared and ranked.",
)
@click.option("--attempts", type=click.IntRange(min=1), metavar="N", help="How often each case is run.")
@click.option("--concurrency", type=click.IntRange(min=1), metavar="N", help="How many attempts run at a time.")
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="What one attempt may take."
)
@click.option("-k", "expression", metavar="EXPR", help="Only ids that fit, such as 'orders and not refunded'.")
@click.option("--record", metavar="DIR", help="The folder of the record; .niceeval by default.")
def run(paths: tuple[str, ...], **options: Any) -> int:
    """Run the evals in files and folders.

    Defaults come from [tool.niceeval] in pyproject.toml. Exit codes: 0 all passed or scored, 1 some failed, 2 usage or
    loading, 3 errored or unrankable and none failed, 4 nothing matched or nothing decided, 130 interrupted.
    """
    from niceeval.cli.run import Options, run_command

    return run_command(Options(paths=paths, **options))
