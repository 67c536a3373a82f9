"""`niceeval evidence`: everything that is stored about one attempt."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from rich.text import Text

from niceeval._documents import Conversation, attempt_from_document, conversation_from_document
from niceeval._reading import preview, where
from niceeval.cli.conversation import WHOLE, conversation_block
from niceeval.cli.failures import Naming, entry_line, heading
from niceeval.cli.numbers import counted, scores, seconds
from niceeval.cli.screen import Output, Screen, open_screen
from niceeval.cli.show import run_folder, warnings_as_lines
from niceeval.cli.text import line, paragraph
from niceeval.errors import RecordError
from niceeval.record import Record
from niceeval.record.chain import open_source
from niceeval.record.find import find_attempt, found_attempt, is_id
from niceeval.record.lines import RunSource
from niceeval.record.queries import RunTables
from niceeval.record.rows import strict
from niceeval.reporters.judge_texts import judged_texts
from niceeval.results import AssertionResult, AttemptResult

__all__ = ["evidence_command"]

_STYLES: Final = {"met": "green", "unmet": "bold red", "undecided": "bold yellow", "informative": "dim"}
_VALUE: Final = 100_000
"""Characters of a value that are shown; --json has all."""


def evidence_command(name: str, run: str | None, *, agent: str | None, attempt: int | None, as_json: bool) -> int:
    """Print one attempt with everything that was asserted, said and done in it."""
    with warnings_as_lines():
        source, document = _found(name, run, agent, attempt)
        result = attempt_from_document(document, source.blob)
        try:
            conversation = conversation_from_document(document, source.blob)
            problem = None
        except RecordError as error:
            conversation, problem = (), str(error)
        if as_json:
            json.dump(strict(_whole(result, conversation, document, source)), Output(), indent=2, allow_nan=False)
            Output().write("\n")
            return 0
        screen = open_screen()
        screen.write(_head(result, document, source, screen))
        naming = Naming(agents=False, attempts=False)
        screen.write(conversation_block(result, conversation, screen, naming, WHOLE))
        if problem is not None:
            screen.write(_field("conversation", f"not available: {problem}", screen))
        screen.write(_assertions(result, screen))
        screen.write(_aside(result, document, screen))
    return 0


def _found(name: str, run: str | None, agent: str | None, attempt: int | None) -> tuple[RunSource, Mapping[str, Any]]:
    """Look in the run that was asked for; an id alone is looked for in all runs, the newest first."""
    folder = run_folder(run or "latest")
    for each in [folder, *(_others(folder) if run is None and is_id(name) else ())]:
        source = open_source(each)
        tables = RunTables(source)
        try:
            found = find_attempt(tables, name, agent=agent, attempt=attempt)
        finally:
            tables.close()
        if found is not None:
            return source, found[1]
    source = open_source(folder)
    tables = RunTables(source)
    try:
        return source, found_attempt(tables, name, agent=agent, attempt=attempt)
    finally:
        tables.close()


def _others(folder: Path) -> list[Path]:
    with Record.open() as record:
        return [info.folder for info in record.runs() if info.folder != folder]


def _head(result: AttemptResult, document: Mapping[str, Any], source: RunSource, screen: Screen) -> Iterator[Text]:
    style = {"passed": "bold green", "failed": "bold red", "errored": "bold yellow", "unrankable": "bold yellow"}
    who = f"  {result.agent}" if result.agent else ""
    yield heading(
        (result.status.upper(), style.get(result.status, "bold")),
        [result.name],
        f"{who}  attempt {result.attempt}",
        screen,
    )
    yield from _field("id", f"{result.id} in run {source.header().id}", screen)
    started = "" if result.started is None else f"{result.started.astimezone():%Y-%m-%d %H:%M:%S}, "
    yield from _field("started", f"{started}took {seconds(result.duration)}", screen)
    for label, score in (("score", result.score), ("at least", result.partial_score)):
        if score is not None:
            yield from _field(label, scores([score])[0], screen)
    for label, text in (("reason", result.reason), ("stopped by", result.stopped_by)):
        if text is not None:
            yield from _field(label, text, screen)


def _assertions(result: AttemptResult, screen: Screen) -> Iterator[Text]:
    counts = {name: sum(entry.decision == name for entry in result.assertions) for name in _STYLES}
    said = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    yield line("")
    yield line(("ASSERTIONS", "bold"), f" {counted(len(result.assertions), 'assertion')}{': ' if said else ''}{said}")
    for entry in result.assertions:
        marks = {"unmet": screen.symbols.failed, "undecided": screen.symbols.undecided, "met": "+"}
        yield entry_line(entry, screen, marks.get(entry.decision, "-"), _STYLES[entry.decision])
        yield from _entry(entry, screen)


def _entry(entry: AssertionResult, screen: Screen) -> Iterator[Text]:
    said = f"{entry.evaluation.outcome}{f' ({entry.reason})' if entry.reason else ''}"
    yield from _detail("decision", f"{entry.decision}: {said}", screen)
    if entry.evaluation.outcome != "matched":
        place = where(entry)
        if place != "$":
            yield from _detail("where", place, screen)
        for label, text in (("expected", entry.expected), ("received", entry.received)):
            if text:
                yield from _detail(label, text, screen)
    if entry.evaluation.value is not None:
        limit = "" if entry.threshold is None else f", threshold {entry.threshold:g}"
        yield from _detail("value", f"{entry.evaluation.value:g}{limit}", screen)
    if entry.points is not None:
        earned = "nothing yet" if entry.earned is None else f"{entry.earned:g}"
        yield from _detail("points", f"{earned} of {entry.points:g}", screen)
    yield from _detail("subject", _subject(entry), screen)
    for text in judged_texts(entry, whole=True):
        yield from _detail("judge", text, screen)
    yield from _detail("spec", json.dumps(dict(entry.match), ensure_ascii=False), screen)
    if entry.scope != "value":
        yield from _detail("scope", f"{entry.scope}{f', {entry.coverage} coverage' if entry.coverage else ''}", screen)
    for label, calls in (("matching", entry.calls), ("looked at", entry.candidates)):
        if calls:
            yield from _detail(label, ", ".join(calls), screen)
    if entry.rederivable != "yes":
        yield from _detail("verify", f"cannot be evaluated again: {entry.rederivable}", screen)


def _subject(entry: AssertionResult) -> str:
    subject = entry.subject
    redacted = f", redacted: {', '.join(subject.redacted)}" if subject.redacted else ""
    try:
        kept: Any = subject.encoded()
    except RecordError as error:
        return f"{subject.type}{redacted}, not available: {error}"
    said = kept if isinstance(kept, str) else preview(subject, _VALUE)
    return f"{subject.type}{redacted}: {said[:_VALUE]}"


def _aside(result: AttemptResult, document: Mapping[str, Any], screen: Screen) -> Iterator[Text]:
    """What else is stored: earlier tries, notes, and the exception."""
    if result.tries:
        yield line("")
        yield line(("TRIES", "bold"), f" {counted(len(result.tries), 'earlier try', 'earlier tries')}")
        for each in result.tries:
            took = f"took {seconds(each.duration)}, waited {seconds(each.waited)}"
            yield from _field("given up", f"{each.reason} ({took})", screen)
    logs = document.get("logs")
    if isinstance(logs, list) and logs:
        yield line("")
        yield line(("LOGS", "bold"), f" {counted(len(logs), 'note')}")
        for note in logs:
            yield from paragraph("  ", json.dumps(note, ensure_ascii=False), screen.width)
    if result.error is not None:
        yield line("")
        yield line(("ERROR", "bold"), f" {result.error.get('type', '')}")
        for part in str(result.error.get("traceback") or result.error.get("message") or "").splitlines():
            yield from paragraph("  ", part, screen.width)


def _field(label: str, text: str, screen: Screen) -> list[Text]:
    return paragraph(f"  {label:<12}", text, screen.width, style="dim")


def _detail(label: str, text: str, screen: Screen) -> list[Text]:
    return paragraph(f"      {label:<11}", text, screen.width, style="dim")


def _whole(
    result: AttemptResult, conversation: Conversation, document: Mapping[str, Any], source: RunSource
) -> dict[str, Any]:
    return {
        "run": source.header().id,
        "attempt": result.model_dump(mode="json", exclude={"assertions"}),
        "sessions": [[dict(turn) for turn in session] for session in conversation],
        "assertions": [_described(entry) for entry in result.assertions],
        "logs": document.get("logs") or [],
    }


def _described(entry: AssertionResult) -> dict[str, Any]:
    said: dict[str, Any] = entry.model_dump(mode="json")
    try:
        said["subject"]["value"] = entry.subject.encoded()
    except RecordError as error:
        said["subject"]["missing"] = str(error)
    return said
