"""The command line."""

from niceeval.cli.main import main

__all__ = ["main"]
