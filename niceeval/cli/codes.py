"""The exit codes, worst news first where several could be given."""

from typing import Final

__all__ = ["ERRORED", "FAILED", "FULL_PIPE", "INCONCLUSIVE", "INTERRUPTED", "NOTHING", "PASSED", "USAGE"]

PASSED: Final = 0
FAILED: Final = 1
USAGE: Final = 2
ERRORED: Final = 3
NOTHING: Final = 4
INCONCLUSIVE: Final = 5
INTERRUPTED: Final = 130
FULL_PIPE: Final = 141
