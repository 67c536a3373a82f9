"""The group of all commands; the modules of `niceeval.cli.commands` add theirs."""

import click

from niceeval.cli.version import package_version

__all__ = ["cli"]


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80})
@click.version_option(package_version(), prog_name="niceeval", message="%(prog)s %(version)s")
def cli() -> None:
    """Evaluate agents, keep the evidence, and read it again."""
