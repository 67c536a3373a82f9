"""Which process writes a run, and whether it is still there: by its number, its machine and when it started."""

import os
import platform
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, Self, TypeAlias, final

import attrs

__all__ = ["Process", "ProcessState"]

ProcessState: TypeAlias = Literal["alive", "gone", "unknown"]

_PROC: Final = Path("/proc")
_START_FIELD: Final = 19
"""The place of `starttime` behind the command's name in /proc/PID/stat: proc_pid_stat(5), field 22."""


@final
@attrs.frozen
class Process:
    """A process, so that another one that has its number later is not taken for it.

    Attributes:
        pid: Its number.
        host: The name of its machine.
        boot: Which start of the machine it belongs to; None where the system does not tell.
        space: In which space of numbers it has its own, such as a container's; None where the system does not tell.
        started: When it started, in the system's own counting; None where the system does not tell.
    """

    pid: int
    host: str
    boot: str | None = None
    space: str | None = None
    started: str | None = None

    @classmethod
    def this(cls) -> Self:
        """Return the process that this code runs in.

        >>> Process.this().state()
        'alive'
        """
        pid = os.getpid()
        return cls(pid, platform.node(), _boot(), _space(), _started(pid))

    @classmethod
    def from_document(cls, document: object) -> Self | None:
        """Return the process that a part of `run.json` names; None where it names none."""
        if not isinstance(document, Mapping):
            return None
        pid, host = document.get("pid"), document.get("host")
        if isinstance(pid, bool) or not isinstance(pid, int) or pid < 1 or not isinstance(host, str):
            return None
        return cls(pid, host, *(_text(document.get(name)) for name in ("boot", "space", "started")))

    def as_document(self) -> dict[str, Any]:
        """Return what `from_document` reads."""
        return attrs.asdict(self, filter=lambda _, value: value is not None)

    def state(self) -> ProcessState:
        """Tell whether it is there; ``unknown`` where this machine, or this part of it, cannot tell."""
        if self.host != platform.node():
            return "unknown"
        if None not in (self.boot, boot := _boot()) and self.boot != boot:
            return "gone"
        if self.space != _space() or not _numbers_can_be_asked():
            return "unknown"
        if not _exists(self.pid):
            return "gone"
        if None in (self.started, now := _started(self.pid)):
            return "unknown"
        return "alive" if self.started == now else "gone"


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _numbers_can_be_asked() -> bool:
    # On Windows, signal 0 is Ctrl-C and not a question.
    return sys.platform != "win32"


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return not _is_defunct(pid)


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat behind the command's name, which may itself hold spaces and parentheses."""
    try:
        return (_PROC / str(pid) / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return []


def _is_defunct(pid: int) -> bool:
    """Tell whether a process has ended and only its parent has not asked how."""
    return _stat(pid)[:1] in (["Z"], ["X"])


def _started(pid: int) -> str | None:
    fields = _stat(pid)
    return fields[_START_FIELD] if len(fields) > _START_FIELD else None


def _boot() -> str | None:
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text("ascii").strip()
    except (OSError, ValueError):
        return None


def _space() -> str | None:
    try:
        return os.readlink(_PROC / "self/ns/pid")
    except OSError:
        return None
