"""The commands that look after what is recorded."""

import click

from niceeval.cli.group import cli


@cli.group()
def record() -> None:
    """Look after the record: what is damaged in it, and what killed processes left."""


@record.command()
@click.argument("run", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def check(run: str | None, as_json: bool) -> int:
    """Look through the record for torn lines, missing or altered values, duplicates, killed runs and remnants.

    RUN is a run's id, `latest`, or a folder; all runs by default. Exit codes: 0 nothing found, 1 something, 2 usage.
    """
    from niceeval.cli.records import check_command

    return check_command(run, as_json=as_json)


@record.command()
@click.argument("place", required=False, metavar="[RECORD]")
@click.option("--yes", is_flag=True, help="Do not ask.")
def clean(place: str | None, yes: bool) -> int:
    """Remove what killed processes left and that holds no result, after asking.

    RECORD is a record's folder, or a project's; the nearest by default. Exit codes: 0 nothing is left, 1 something is
    left, 2 usage.
    """
    from niceeval.cli.records import clean_command

    return clean_command(place, yes=yes)
