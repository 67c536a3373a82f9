"""How much of an eval holds the answer against something that its author did not produce, from the stored matches."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, final

import attrs
from rich.text import Text

from niceeval.cli.numbers import counted
from niceeval.cli.screen import Screen
from niceeval.cli.text import columns, line
from niceeval.cli.view import RunView
from niceeval_expect import from_spec

__all__ = ["Outside", "outside", "outside_table"]

# Matches that may hold code and of which it is known all the same.
_KNOWN: Final[Mapping[str, bool]] = {
    "every_claim_cited": False,
    "is_instance": False,
    "matches": False,
    "same_call": True,
}


@final
@attrs.frozen
class Outside:
    """How many deciding checks of one eval reach outside the answer; checks of one requirement are one.

    Attributes:
        eval: The eval's id.
        outside: How many compare with something that the answer's author did not produce.
        deciding: How many decide.
        unknown: How many of the others hold code, so that nobody can tell; they count as not outside.
    """

    eval: str
    outside: int
    deciding: int
    unknown: int


def outside(view: RunView) -> list[Outside]:
    """Count the deciding checks of every eval, in the plan's order."""
    found: dict[str, dict[str, bool | None]] = {planned.id: {} for planned in view.header.evals}
    for eval_id, requirement, spec in view.checks():
        checks = found.setdefault(eval_id, {})
        before = checks.get(requirement, False)
        # A match of another case can only add to what is known already.
        if not before:
            reaches = _reaches(spec)
            checks[requirement] = True if reaches else (None if before is None else reaches)
    return [
        Outside(
            name,
            sum(each is True for each in checks.values()),
            len(checks),
            sum(each is None for each in checks.values()),
        )
        for name, checks in found.items()
    ]


def _reaches(spec: Any) -> bool | None:
    """Tell whether a match reaches outside; None where it holds code that nobody can see into."""
    if not isinstance(spec, Mapping):
        return None
    try:
        return from_spec(spec).reaches_outside
    except (ValueError, ImportError):
        pass
    parts = [_reaches(part) for part in _parts(list(spec.values()))]
    own = _KNOWN.get(str(spec.get("match")), False if parts else None)
    if own or any(parts):
        return True
    return None if own is None or None in parts else False


def _parts(data: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the matches right below a match."""
    if isinstance(data, list):
        for item in data:
            yield from _parts(item)
    elif isinstance(data, Mapping):
        if data.get("$") == "match":
            yield data
        else:
            yield from _parts(list(data.values()))


def outside_table(view: RunView, screen: Screen) -> Iterator[Text]:
    """Show, for every eval that has deciding checks, how many of them reach outside the answer."""
    found = [each for each in outside(view) if each.deciding]
    if not found:
        return
    yield line("")
    rows = [[each.eval, f"{each.outside}/{each.deciding}"] for each in found]
    yield from columns(["eval", "checks that reach outside the answer"], rows, screen.width)
    unknown = sum(each.unknown for each in found)
    if unknown:
        yield line((f"  ({counted(unknown, 'check')} of code counted as not outside: nobody can tell)", "dim"))
