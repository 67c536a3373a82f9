"""The commands that take a record apart: SQL, files for other tools, and everything about one attempt."""

from math import isfinite

import click

from niceeval.cli.group import cli

_TABLES = ("runs", "attempts", "assertions", "requirements", "plan", "matches")


def _finite(ctx: click.Context, param: click.Parameter, value: float) -> float:
    if not isfinite(value):
        raise click.BadParameter(f"{value:g} is no number of seconds.", ctx, param)
    return value


@cli.command()
@click.argument("sql", required=False)
@click.argument("runs", nargs=-1)
@click.option(
    "--format",
    "format",
    type=click.Choice(["table", "csv", "json", "jsonl"]),
    default="table",
    help="How the rows are printed; as a table by default.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    callback=_finite,
    metavar="SECONDS",
    help="What the query may take; 60 by default.",
)
@click.option("--schema", is_flag=True, help="Print the tables and their columns.")
def query(sql: str | None, runs: tuple[str, ...], format: str, timeout: float, schema: bool) -> int:
    """Ask a question in SQL, read only, about the latest run, the runs named, or `all`."""
    from niceeval.cli.query import query_command, schema_command

    if schema:
        return schema_command()
    if sql is None:
        raise click.UsageError('a query is needed, such as "SELECT status, count(*) FROM attempts GROUP BY status"')
    return query_command(sql, runs, format, timeout)


@cli.command()
@click.argument("run", default="latest")
@click.option(
    "--format",
    "format",
    type=click.Choice(["parquet", "csv", "jsonl"]),
    default="parquet",
    help="The format of the files; Parquet by default.",
)
@click.option("--table", type=click.Choice(_TABLES), help="Only this table, as one file.")
@click.option("--out", metavar="PATH", help="The folder, or with --table the file; named after the run by default.")
def export(run: str, format: str, table: str | None, out: str | None) -> int:
    """Write a run's tables into files for other tools."""
    from niceeval.cli.export import export_command

    return export_command(run, format, table, out)


@cli.command()
@click.argument("attempt_name", metavar="ATTEMPT")
@click.option("--run", metavar="RUN", help="The run: its id, `latest`, or its folder; the latest by default.")
@click.option("--agent", metavar="NAME", help="Only attempts by this agent.")
@click.option("--attempt", type=click.IntRange(min=1), metavar="N", help="Only the attempt with this number.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def evidence(attempt_name: str, run: str | None, agent: str | None, attempt: int | None, as_json: bool) -> int:
    """Show everything that is stored about one attempt: by its id, or by its eval with the case in brackets."""
    from niceeval.cli.evidence import evidence_command

    return evidence_command(attempt_name, run, agent=agent, attempt=attempt, as_json=as_json)
