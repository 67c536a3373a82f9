"""The command line: what is asked, and how mistakes in asking are answered."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from errno import EPIPE
from importlib import import_module
from typing import Any, NoReturn

import click

from niceeval.cli.codes import FULL_PIPE, INTERRUPTED, USAGE
from niceeval.cli.group import ReaderGone, cli
from niceeval.errors import NiceEvalError

__all__ = ["cli", "main"]

for _module in ("running", "reading", "records", "gating", "querying", "judging", "observing"):
    import_module(f"niceeval.cli.commands.{_module}")


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
        _flush()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except NiceEvalError as error:
        _complain(str(error))
        return USAGE
    except (KeyboardInterrupt, click.Abort):
        _complain("interrupted")
        return INTERRUPTED
    except (BrokenPipeError, ReaderGone) as error:
        # The reader, such as `head`, has seen enough; the flush at exit must not fail for that either.
        with suppress(OSError, ValueError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        found = error.__cause__ if isinstance(error, ReaderGone) else error
        if found is not None and found.__cause__ is not None:
            with suppress(OSError, ValueError):
                _complain(found.args[1])
        return FULL_PIPE
    return code if isinstance(code, int) else 0


def _flush() -> None:
    """Let the reader have what was written: what cannot be written must not fail when the process ends."""
    if sys.stdout is None or sys.stdout.closed:
        return
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise BrokenPipeError(EPIPE, f"standard output cannot be written: {error.strerror or error}") from error


def _complain(text: str) -> None:
    from niceeval.cli.screen import complain

    complain(text)
