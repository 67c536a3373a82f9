"""The match over what running a command gave."""

from typing import Any, Final, final

import attrs

from niceeval_expect._codec import Snapshot
from niceeval_expect._evaluation import MATCHED, Evaluation, mismatched, wrong_type
from niceeval_expect._match import ValueMatch
from niceeval_expect._spec import register

__all__ = ["command_succeeded"]

_FIELDS: Final = ("argv", "exit_code", "stdout", "stderr", "timed_out")
_TAIL: Final = 200
_SHOWN: Final = 80


@final
@attrs.frozen(eq=False, repr=False)
class _CommandSucceeded(ValueMatch):
    _spec_name = "command_succeeded"

    @property
    def reaches_outside(self) -> bool:
        # The command says so, not the model.
        return True

    def _args(self) -> dict[str, object]:
        return {}

    def _evaluate(self, subject: object, pointer: str) -> Evaluation:
        # A snapshot is what a stored result of another type reads as.
        source = subject.value if isinstance(subject, Snapshot) and isinstance(subject.value, dict) else None
        try:
            argv, code, stdout, stderr, late = (
                source[field] if source is not None else getattr(subject, field) for field in _FIELDS
            )
        except (AttributeError, KeyError):
            return wrong_type("the result of a command", subject, pointer)
        if code == 0 and code is not False and not late:
            return MATCHED
        return _explained(argv, code, stdout, stderr, late, pointer)


def _explained(argv: Any, code: Any, stdout: Any, stderr: Any, late: Any, pointer: str) -> Evaluation:
    ended = "ran out of time" if late else "was killed" if code is None else f"exited with {code}"
    label, printed = ("stderr", _tail(stderr)) if _tail(stderr) else ("stdout", _tail(stdout))
    command = " ".join(map(str, argv)) if isinstance(argv, list | tuple) else str(argv)
    message = f"{command if len(command) <= _SHOWN else command[: _SHOWN - 1] + '…'} {ended}"
    if printed:
        message += f"; {label} ends with: {printed}"
    code_name = "timeout" if late else "killed" if code is None else "exit-code"
    received = {"exit_code": code, **({"timed_out": True} if late else {}), **({label: printed} if printed else {})}
    return mismatched(code_name, message, f"{pointer}/exit_code", expected=0, received=received)


def _tail(text: object) -> str:
    stripped = text.rstrip() if isinstance(text, str) else ""
    return stripped if len(stripped) <= _TAIL else "…" + stripped[1 - _TAIL :]


def command_succeeded() -> ValueMatch:
    """Match the result of a command that exited with 0 in time.

    A command without an exit code was killed and has not succeeded. The mismatch shows the end of what it wrote to
    standard error, or to standard output where that is empty.

    Returns:
        A match over a `CommandResult`, or anything with its fields; the type of anything else mismatches.

    >>> from niceeval import CommandResult
    >>> from niceeval_expect import command_succeeded
    >>> command_succeeded().evaluate(CommandResult(["ls"], 0)).outcome
    'matched'
    >>> command_succeeded().evaluate(CommandResult(["ls", "x"], 2, stderr="ls: x: no such file")).diagnostic.message
    'ls x exited with 2; stderr ends with: ls: x: no such file'
    """
    return _CommandSucceeded()


register("command_succeeded", lambda args: command_succeeded())
