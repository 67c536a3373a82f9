"""GitHub annotations: one workflow command for each place where checks failed or could not be decided.

The commands are those of GitHub's workflow-command syntax, with its escapes. GitHub shows the first ten errors and ten
warnings of a step, so that the places with most attempts come first, after the rates that are not reached.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Final

from niceeval.record.lines import plain
from niceeval.reporters.base import Contents, asked_text, attempt_name, check_lines, counts_text, not_run
from niceeval.reporters.junit import xml_text
from niceeval.results import AttemptResult

__all__ = ["github_lines"]

Place = tuple[str, str, int, str]
_MOST: Final = 50


def github_lines(contents: Contents) -> Iterator[str]:
    """Yield the commands, each a line of its own: errors, then warnings, then a notice with the counts."""
    found: Counter[Place] = Counter()
    shown: dict[Place, str] = {}
    rates = list(_rates(contents))
    for attempt in chain(
        contents.attempts("failed", "errored", "unrankable", rated=False), contents.attempts("errored", rated=True)
    ):
        for place, text in _places(attempt):
            found[place] += 1
            shown.setdefault(place, f"{attempt_name(attempt, contents.header)}\n{text}")
    for level, properties, text in rates:
        yield _command(level, properties, text)
    ordered = sorted(found, key=lambda place: (place[0] != "error", -found[place], not place[1], place))
    for place in ordered[:_MOST]:
        level, file, line, title = place
        count = found[place]
        more = f"\nThe same in {count - 1} more {'attempt' if count == 2 else 'attempts'}." if count > 1 else ""
        where = {"file": file, "line": str(line)} if file else {}
        yield _command(level, {**where, "title": title}, shown[place] + more)
    if len(ordered) > _MOST:
        yield _command("warning", {"title": "NiceEval"}, f"{len(ordered) - _MOST} more places are in the record.")
    missing = not_run(contents)
    level = "error" if missing else "notice"
    yield _command(level, {"title": f"NiceEval run {contents.header.id}"}, counts_text(contents))


def _rates(contents: Contents) -> Iterator[tuple[str, dict[str, str], str]]:
    """Yield one command for each rate that is not reached, at the first check that explains it."""
    open_ = {(each.name, each.agent): each for each in contents.asked if each.decision != "pass"}
    evidence: dict[tuple[str, str], AttemptResult] = {}
    if open_:
        for attempt in contents.attempts("failed", "errored", rated=True):
            key = (plain(attempt.eval_id), plain(attempt.agent))
            if key in open_ and (key not in evidence or evidence[key].status == "errored" != attempt.status):
                evidence[key] = attempt
    for key, each in sorted(open_.items(), key=lambda item: item[1].decision != "fail"):
        shown = evidence.get(key)
        entry = None if shown is None else next(iter((*shown.failures, *shown.undecided)), None)
        where = {} if entry is None else {"file": entry.source.file, "line": str(entry.source.line)}
        by = f" by {each.agent}" if len(contents.header.agents) > 1 and each.agent else ""
        lines = [f"{each.name}{by}: {asked_text(each)}", *([] if entry is None else check_lines(entry))]
        level = "error" if each.decision == "fail" else "warning"
        yield level, {**where, "title": f"rate {each.decision}: {each.name}"}, "\n".join(lines)


def _places(attempt: AttemptResult) -> Iterator[tuple[Place, str]]:
    failed = attempt.status == "failed"
    level = "error" if failed else "warning"
    entries = attempt.failures if failed else attempt.undecided
    for entry in entries:
        place = (level, entry.source.file, entry.source.line, f"{attempt.status}: {entry.requirement}")
        yield place, "\n".join(check_lines(entry))
    if not entries or (attempt.error is not None and failed):
        reason = attempt.reason or "no reason was kept"
        yield (level, "", 0, f"{attempt.status}: {reason:.80}"), reason


def _command(level: str, properties: Mapping[str, str], message: str) -> str:
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{level} {listed}::{_data(message)}\n"


def _data(text: str) -> str:
    return xml_text(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
