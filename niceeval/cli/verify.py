"""`niceeval verify` and `niceeval recheck`: stored outcomes derived again, and new checks over what is stored."""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import attrs
from rich.text import Text

from niceeval.cli.codes import FAILED, PASSED
from niceeval.cli.numbers import counted
from niceeval.cli.screen import Screen, open_screen
from niceeval.cli.show import run_folder, warnings_as_lines
from niceeval.cli.text import line, paragraph
from niceeval.verify import Verification, verify_run

__all__ = ["recheck_command", "verify_command"]

_MOST: Final = 20
_WHY: Final[Mapping[str, str]] = {
    "code": "author code decides; with --code it is imported where its source is unchanged",
    "judge": "a judge decides",
    "redacted": "a secret was replaced in what was read",
    "budget": "a time budget decided",
    "missing": "the evidence is missing from the record",
}


def verify_command(run: str, *, code: bool, as_json: bool) -> int:
    """Derive every stored outcome again that can be, and say which cannot and which differ."""
    with warnings_as_lines():
        if code:
            sys.path.insert(0, os.getcwd())
        found = verify_run(run_folder(run), code=code)
    if as_json:
        sys.stdout.write(json.dumps({**attrs.asdict(found), "rederivable": found.rederivable}) + "\n")
    else:
        screen = open_screen()
        screen.write(_verification(found, screen))
    return FAILED if found.differences else PASSED


def _verification(found: Verification, screen: Screen) -> Iterator[Text]:
    yield line(f"run {found.run_id}  {counted(found.entries, 'entry', 'entries')}")
    yield line()
    yield line(f"  {found.reproduced} of {found.rederivable} re-derivable outcomes reproduced")
    for reason, count in found.excluded.items():
        yield line(f"  {count} not re-derivable: {reason}", (f"  {_WHY[reason]}", "dim"))
    for each in found.differences[:_MOST]:
        yield line()
        yield line((f"DIFFERS {each.name}", "bold red"))
        yield from paragraph("  requirement  ", f"{each.requirement}  {each.place}", screen.width, most=2)
        yield line(f"  stored       {each.stored}")
        yield line(f"  now          {each.now}")
    if len(found.differences) > _MOST:
        yield line(f"  ({len(found.differences) - _MOST} more)")


def recheck_command(run: str, reference: str, *, as_json: bool) -> int:
    """Run the checks that a reference names over what a run has stored, and show what flips."""
    from niceeval.agents.resolve import resolve_reference
    from niceeval.errors import ConfigError
    from niceeval.recheck import recheck_run

    checks: Any = resolve_reference(reference, "checks", "checks")
    with warnings_as_lines():
        try:
            found = recheck_run(run_folder(run), checks)
        except TypeError as error:
            raise ConfigError(f"{reference}: {error}") from error
    if as_json:
        sys.stdout.write(json.dumps(attrs.asdict(found)) + "\n")
    else:
        screen = open_screen()
        fresh = ", ".join(f"{count} {outcome}" for outcome, count in sorted(found.fresh.items()))
        screen.write(_recheck(found, fresh, screen))
    return FAILED if found.flips or found.problems else PASSED


def _recheck(found: Any, fresh: str, screen: Screen) -> Iterable[Text]:
    yield line(f"run {found.run_id}  {counted(found.attempts, 'attempt')}")
    yield line()
    yield line(f"  {counted(len(found.flips), 'flip')} among {counted(found.compared, 'stored outcome')} compared")
    if fresh:
        yield line(f"  new requirements: {fresh}")
    for flip in found.flips[:_MOST]:
        yield line()
        yield line(("FLIPS ", "bold yellow"), f"{flip.name}  {flip.requirement}")
        yield line(f"  {flip.before} -> {flip.after}")
        if flip.message:
            yield from paragraph("  ", flip.message, screen.width, most=2)
    if len(found.flips) > _MOST:
        yield line(f"  ({len(found.flips) - _MOST} more)")
    for problem in found.problems[:_MOST]:
        yield from paragraph("  not checked  ", problem, screen.width, most=3)
