"""`--report KIND=PATH`: reports of a run as files."""

import contextlib
import io
import os
import secrets
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, final

import attrs

from niceeval.cli.screen import complain
from niceeval.cli.view import RunView
from niceeval.errors import ConfigError
from niceeval.reporters import REPORTERS
from niceeval.reporters.base import Contents

__all__ = ["Wanted", "wanted_reports", "write_reports"]

_KINDS: Final = ("console", *sorted(REPORTERS))


@final
@attrs.frozen
class Wanted:
    """One report that was asked for; the path ``-`` is standard output."""

    kind: str
    path: str


def wanted_reports(given: Sequence[str]) -> tuple[Wanted, ...]:
    """Read what `--report` was given.

    Args:
        given: Texts such as ``junit=report.xml``.

    Raises:
        ConfigError: A text is no kind and path, the kind is unknown, or the path cannot be written to.

    >>> wanted_reports(["junit=report.xml"])
    (Wanted(kind='junit', path='report.xml'),)
    """
    return tuple(map(_wanted, given))


def _wanted(text: str) -> Wanted:
    kind, equals, path = text.partition("=")
    if kind not in _KINDS:
        raise ConfigError(f"--report {text!r}: there is no kind {kind!r}; the kinds are {', '.join(_KINDS)}")
    if not equals or not path.strip():
        raise ConfigError(f"--report {text!r} says no path; write --report {kind}=PATH, or {kind}=- for the terminal")
    if path != "-" and Path(path).is_dir():
        raise ConfigError(f"--report {text!r}: {path} is a folder; name a file in it")
    return Wanted(kind, path)


def write_reports(wanted: Sequence[Wanted], folder: Path, eval: str | None = None) -> bool:
    """Write reports of a recorded run; one that cannot be written is said on standard error.

    Args:
        wanted: The reports.
        folder: The run's folder.
        eval: Only this eval or case.

    Returns:
        Whether all were written.
    """
    written = True
    for each in wanted:
        view = RunView(folder, eval)
        try:
            _write(each, view)
        except OSError as error:
            written = False
            complain(f"the {each.kind} report was not written to {each.path}: {error.strerror or error}")
        finally:
            view.close()
    return written


def _write(wanted: Wanted, view: RunView) -> None:
    parts = _console(view) if wanted.kind == "console" else REPORTERS[wanted.kind](_contents(view))
    if wanted.path == "-":
        if sys.stdout is None:
            raise OSError("there is no standard output")
        for part in parts:
            sys.stdout.write(part)
        sys.stdout.flush()
        return
    path = Path(wanted.path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.is_file():
        # A device or a pipe is written to as it is; only a file can be replaced as a whole.
        with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.writelines(parts)
        return
    temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}")
    try:
        with open(temporary, "x", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.writelines(parts)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def _contents(view: RunView) -> Contents:
    return view


def _console(view: RunView) -> Iterator[str]:
    from niceeval.cli.report import show_report
    from niceeval.cli.screen import open_screen

    for each in show_report(view, open_screen(io.StringIO())):
        yield f"{each.plain}\n"
