"""The group of all commands; the modules of `niceeval.cli.commands` add theirs."""

from typing import Any

import click

from niceeval.cli.version import package_version

__all__ = ["ReaderGone", "cli"]


class ReaderGone(Exception):
    """Nobody reads standard output any more; not an OSError, for which click has an exit code of its own."""


class _Group(click.Group):
    """Commands whose reader may leave."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ReaderGone from error


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80})
@click.version_option(package_version(), prog_name="niceeval", message="%(prog)s %(version)s")
def cli() -> None:
    """Evaluate agents, keep the evidence, and read it again."""
