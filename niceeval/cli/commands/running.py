"""The commands that run evals, and those that come before."""

from typing import Any

import click

from niceeval.cli.commands.shared import how_it_runs, which_evals
from niceeval.cli.group import cli

_agent = click.option(
    "--agent",
    "agents",
    multiple=True,
    metavar="[NAME=]MODULE:ATTR",
    help="The agent under test; several are compared and ranked.",
)
_experiment = click.option(
    "--experiment",
    "experiments",
    multiple=True,
    metavar="PATH",
    help="Files and folders with experiments, in place of --agent; or MODULE:ATTR.",
)


@cli.command()
@click.argument("paths", nargs=-1)
@_agent
@_experiment
@click.option("--attempts", type=click.IntRange(min=1), metavar="N", help="How often each case is run.")
@click.option(
    "--until-decided",
    is_flag=True,
    help="Repeat evals with a min_rate only until it is decided; attempts are the most.",
)
@which_evals
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N cases of each eval.")
@click.option("--last-failed", is_flag=True, help="Only cases that failed, errored or were not run in the latest run.")
@how_it_runs
@click.option("--dry-run", is_flag=True, help="Print the plan; run and write nothing.")
@click.option("--allow-empty", is_flag=True, help="Exit with 0 where nothing is there to run.")
@click.option("--record", metavar="DIR", help="The folder of the record; .niceeval by default.")
def run(**options: Any) -> int:
    """Run the evals in files and folders.

    Defaults come from [tool.niceeval] in pyproject.toml. Exit codes: 0 all passed or scored, 1 some failed, 2 usage or
    loading, 3 errored or unrankable and none failed, 4 nothing matched or nothing decided, 5 a min_rate is undecided,
    130 interrupted.
    """
    from niceeval.cli.options import Options
    from niceeval.cli.run import run_command

    return run_command(Options.given(**options))


@cli.command()
@click.argument("run", default="latest")
@click.option("--errored", is_flag=True, help="Run those that errored again, too.")
@how_it_runs
def resume(run: str, errored: bool, **options: Any) -> int:
    """Run what a run still lacks, as a new run that is read together with it.

    RUN is a run's id, `latest`, or its folder. The evals and agents are loaded again from where they were.
    """
    from niceeval.cli.options import Options
    from niceeval.cli.resume import resume_command

    return resume_command(run, Options.given(**options), errored=errored)


@cli.command(name="list")
@click.argument("paths", nargs=-1)
@_experiment
@which_evals
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_(**options: Any) -> int:
    """List evals, or with --experiment the experiments; nothing is run."""
    from niceeval.cli.list import list_command
    from niceeval.cli.options import Options

    return list_command(Options.given(**options))


@cli.command()
@click.argument("folder", default=".", metavar="[DIR]")
def init(folder: str) -> int:
    """Write a small project that runs at once: an agent, evals, an experiment. Nothing is overwritten."""
    from niceeval.cli.init import init_command

    return init_command(folder)
