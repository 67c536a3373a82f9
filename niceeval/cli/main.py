"""The command line: what is asked, and how mistakes in asking are answered."""

import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import click

from niceeval.cli.codes import FULL_PIPE, INTERRUPTED, USAGE
from niceeval.cli.version import package_version
from niceeval.errors import NiceEvalError

__all__ = ["main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80})
@click.version_option(package_version(), prog_name="niceeval", message="%(prog)s %(version)s")
def cli() -> None:
    """Evaluate agents, keep the evidence, and read it again."""


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


@cli.command()
@click.argument("run", default="latest")
@click.argument("eval", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show(run: str, eval: str | None, as_json: bool) -> int:
    """Show a recorded run: its id, `latest`, or its folder; and of it one eval, or one case of an eval."""
    from niceeval.cli.show import show_command

    return show_command(run, eval, as_json=as_json)


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


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit.

    Args:
        arguments: What stands after `niceeval`; those of the process by default.

    Raises:
        SystemExit: Always, with the exit code.

    Example:
        >>> main(["show", "--json", "no such run here"])
        Traceback (most recent call last):
        SystemExit: 2

    """
    sys.exit(_answered(lambda: cli.main(arguments, prog_name="niceeval", standalone_mode=False)))


def _answered(command: Callable[[], Any]) -> int:
    """Run a command; a mistake becomes a sentence on standard error, and an interrupt its exit code."""
    try:
        code = command()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except NiceEvalError as error:
        _complain(str(error))
        return USAGE
    except (KeyboardInterrupt, click.Abort):
        _complain("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader, such as `head`, has seen enough; the flush at exit must not fail for that either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FULL_PIPE
    return code if isinstance(code, int) else 0


def _complain(text: str) -> None:
    from niceeval.cli.screen import complain

    complain(text)
