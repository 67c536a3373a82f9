"""What running a command gave: a value to check like any other."""

from collections.abc import Sequence
from math import isfinite
from typing import Any, final

import attrs

__all__ = ["CommandResult"]


def _argv(value: Any) -> tuple[str, ...]:
    if isinstance(value, str | bytes) or not isinstance(value, Sequence) or not value:
        raise TypeError(f"argv must be a list of the command's words, got {value!r}; write ['git', 'status']")
    for word in value:
        if not isinstance(word, str):
            raise TypeError(f"argv must hold text only, got {word!r}; write str({word!r})")
    return tuple(value)


def _exit_code(_: object, __: object, value: Any) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise TypeError(f"exit_code must be an int, or None for a command that was killed, got {value!r}")


def _text(_: object, attribute: "attrs.Attribute[str]", value: Any) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{attribute.name} must be text, got {type(value).__name__}; decode bytes before")


def _duration(_: object, __: object, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"duration must be a number of seconds, got {value!r}")
    if not isfinite(value) or value < 0:
        raise ValueError(f"duration must be finite and not negative, in seconds, got {value!r}")


def _flag(_: object, __: object, value: Any) -> None:
    if not isinstance(value, bool):
        raise TypeError(f"timed_out must be True or False, got {value!r}")


@final
@attrs.frozen
class CommandResult:
    """One command that was run, with how it ended and what it printed.

    Args:
        argv: The words of the command, the executable first.
        exit_code: What it returned; None where it was killed before it could.
        stdout: What it wrote to standard output.
        stderr: What it wrote to standard error.
        duration: How long it ran, in seconds, 0 or more.
        timed_out: Whether it was killed because its time was over.

    Raises:
        TypeError: An argument has another type; a bare string as `argv` is refused too.
        ValueError: `duration` is negative or not finite.

    >>> result = CommandResult(["pytest", "-q"], 1, stdout="1 failed", duration=2.5)
    >>> result.argv, result.exit_code, result.timed_out
    (('pytest', '-q'), 1, False)
    """

    argv: tuple[str, ...] = attrs.field(converter=_argv)
    exit_code: int | None = attrs.field(validator=_exit_code)
    stdout: str = attrs.field(default="", kw_only=True, validator=_text)
    stderr: str = attrs.field(default="", kw_only=True, validator=_text)
    duration: float = attrs.field(default=0.0, kw_only=True, validator=_duration)
    timed_out: bool = attrs.field(default=False, kw_only=True, validator=_flag)
