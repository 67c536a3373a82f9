"""`niceeval verify` and `niceeval recheck`: stored outcomes derived again, and new checks over what is stored."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs
from rich.text import Text

from niceeval.cli.codes import FAILED, PASSED
from niceeval.cli.numbers import counted
from niceeval.cli.screen import Output, Screen, open_screen
from niceeval.cli.show import run_folder, warnings_as_lines
from niceeval.cli.text import cut, line, paragraph
from niceeval.importable import make_importable
from niceeval.verify import Verification, verify_run

if TYPE_CHECKING:
    from niceeval.recheck import Recheck

__all__ = ["recheck_command", "verify_command"]

_MOST: Final = 20
_WHY: Final[Mapping[str, str]] = {
    "code": "author code decides (--code imports it)",
    "judge": "a judge decides",
    "redacted": "a secret was replaced in what was read",
    "budget": "a time budget decided",
    "unknown": "a custom match is not registered here",
    "missing": "the evidence is missing from the record",
}


def verify_command(run: str, *, code: bool, as_json: bool) -> int:
    """Derive every stored outcome again that can be, and say which cannot and which differ."""
    with warnings_as_lines():
        if code:
            make_importable(Path.cwd())
        found = verify_run(run_folder(run), code=code, load=_load)
    if as_json:
        Output().write(json.dumps({**attrs.asdict(found), "rederivable": found.rederivable}) + "\n")
    else:
        screen = open_screen()
        screen.write(_verification(found, screen, code))
    return FAILED if found.differences else PASSED


def _load(module: str, file: str) -> None:
    from niceeval.evals.importing import import_named

    import_named(module, Path(file))


def _verification(found: Verification, screen: Screen, code: bool) -> Iterator[Text]:
    entries, attempts = counted(found.entries, "entry", "entries"), counted(found.attempts, "attempt")
    yield line(f"run {found.run_id}  {attempts}, {entries}")
    yield line()
    yield line(f"  {found.reproduced} of {found.rederivable} re-derivable outcomes reproduced")
    for reason, count in found.excluded.items():
        why = "author code decides" if reason == "code" and code else _WHY.get(reason, "")
        yield line(f"  {count} not re-derivable: {reason}", (f"  {why}", "dim"))
    for problem in found.problems:
        yield from paragraph("  ", problem, screen.width, most=3)
    for each in found.differences[:_MOST]:
        yield line()
        yield line((f"DIFFERS {each.name}", "bold red"), f"  {each.agent}" if each.agent else "", f"  {each.attempt}")
        if each.requirement is not None:
            yield from paragraph("  requirement  ", f"{each.requirement}  {each.place}", screen.width, most=2)
        yield line(f"  stored       {each.stored}")
        yield from paragraph("  now          ", each.now, screen.width, most=2)
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
        Output().write(json.dumps(attrs.asdict(found)) + "\n")
    else:
        screen = open_screen()
        screen.write(_recheck(found, screen))
    return FAILED if found.flips or found.problems else PASSED


def _recheck(found: "Recheck", screen: Screen) -> Iterable[Text]:
    yield line(f"run {found.run_id}  {counted(found.attempts, 'attempt')}")
    yield line()
    yield line(f"  {counted(len(found.flips), 'flip')} among {counted(found.compared, 'stored outcome')} compared")
    if found.fresh:
        fresh = ", ".join(f"{count} {outcome}" for outcome, count in sorted(found.fresh.items()))
        yield from paragraph("  ", f"not stored before: {fresh}", screen.width, most=2)
    several = len(found.agents) > 1
    for flip in found.flips[:_MOST]:
        yield line()
        which = f"{flip.name}  {flip.agent}" if several else flip.name
        yield line(("FLIPS ", "bold yellow"), cut(which, 4096))
        yield from paragraph("  requirement  ", flip.requirement, screen.width, most=2)
        yield from paragraph("  stored       ", _said(flip.before, flip.why_before), screen.width, most=2)
        yield from paragraph("  now          ", _said(flip.after, flip.why_after), screen.width, most=2)
    if len(found.flips) > _MOST:
        yield line(f"  ({len(found.flips) - _MOST} more)")
    if found.problems:
        yield line()
    for problem in found.problems[:_MOST]:
        yield from paragraph("  not checked  ", problem, screen.width, most=3)
    if len(found.problems) > _MOST:
        yield line(f"  ({len(found.problems) - _MOST} more)")


def _said(outcome: str, why: str) -> str:
    return f"{outcome}: {why}" if why else outcome
