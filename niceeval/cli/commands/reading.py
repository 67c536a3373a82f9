"""The commands that read what is recorded."""

import click

from niceeval.cli.group import cli


@cli.command()
@click.argument("run", default="latest")
@click.argument("eval", required=False)
@click.option("--all", "everything", is_flag=True, help="Show every failed attempt, not only the first 200.")
@click.option(
    "--report",
    "reports",
    multiple=True,
    metavar="KIND=PATH",
    help="Write a report: junit, markdown, github, json or console; - is the terminal.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show(run: str, eval: str | None, everything: bool, reports: tuple[str, ...], as_json: bool) -> int:
    """Show a recorded run: its id, `latest`, or its folder; and of it one eval, or one case of an eval."""
    from niceeval.cli.show import show_command

    return show_command(run, eval, as_json=as_json, everything=everything, reports=reports)


@cli.command()
@click.argument("run", default="latest")
@click.option("--code", is_flag=True, help="Import the predicates and models that entries name.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def verify(run: str, code: bool, as_json: bool) -> int:
    """Derive every stored outcome of a run again, from the record alone.

    Exit codes: 0 all reproduced, 1 an outcome differs, 2 usage.
    """
    from niceeval.cli.verify import verify_command

    return verify_command(run, code=code, as_json=as_json)


@cli.command()
@click.argument("run", default="latest")
@click.option("--with", "checks", required=True, metavar="MODULE:CHECKS", help="Matches by requirement, or checks(t).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def recheck(run: str, checks: str, as_json: bool) -> int:
    """Run new or changed checks over what a run has stored, and show what flips.

    Exit codes: 0 nothing flips, 1 something does or could not be checked, 2 usage.
    """
    from niceeval.cli.verify import recheck_command

    return recheck_command(run, checks, as_json=as_json)
