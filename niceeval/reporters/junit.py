"""JUnit XML: one test case for each attempt, well-formed whatever a model said.

The elements are those that Jenkins, GitLab and GitHub actions read: a suite for each eval, `failure` for failed,
`error` for errored and unrankable, `skipped` for skipped, and properties with scores. Planned attempts that did not run
are errors too, so that a run that broke off is green nowhere. Attempts at an eval that asks for a rate have no mark;
one more case for each agent says whether the rate is reached.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from niceeval.record.layout import Header
from niceeval.record.lines import plain
from niceeval.record.rate_conditions import RateCondition, rated_evals
from niceeval.reporters.base import Contents, asked_text, attempt_name, check_lines, not_run, score_text
from niceeval.results import AttemptResult

__all__ = ["junit_parts", "xml_text"]

# Escape sequences of ECMA-48: control sequences, operating system commands, and the short ones; also where the escape
# character has been written out, as in the texts about a value.
_ANSI: Final = re.compile(
    r"(?:\x1b|\\x1b|\\u001b)(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))|\x1b[ -/]*[0-~]"
)
# What XML 1.0 has no character for (production 2, Char).
_FORBIDDEN: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_KINDS: Final = {"failed": "failure", "errored": "error", "unrankable": "error", "skipped": "skipped"}
_ANSWERS: Final = {"fail": "failure", "inconclusive": "error"}
_MOST_SHOWN: Final = 5
_COUNTED: Final = ("failure", "error", "skipped")


def xml_text(text: str) -> str:
    r"""Return text that XML can hold: without terminal codes, and with every forbidden character written as an escape.

    >>> xml_text("\x1b[31mred\x1b[0m \x12 \ud83d ok")
    'red \\x12 \\ud83d ok'
    """
    return _FORBIDDEN.sub(_escaped, _ANSI.sub("", text))


def _escaped(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"


def junit_parts(contents: Contents) -> Iterator[str]:
    """Yield the report piece by piece; the totals come first, so that all suites are made before."""
    header = contents.header
    rates: dict[str, list[RateCondition]] = {eval_id: [] for eval_id in rated_evals(header)}
    for each in contents.asked:
        rates[each.name].append(each)
    without_attempts = dict(rates)
    suites = []
    for eval_id, attempts in groupby(contents.attempts(), lambda attempt: attempt.eval_id):
        suites.append(_suite(eval_id, list(attempts), header, rates.get(plain(eval_id))))
        without_attempts.pop(plain(eval_id), None)
    suites += [_suite(eval_id, [], header, asked) for eval_id, asked in without_attempts.items() if asked]
    missing = not_run(contents)
    if missing:
        suites.append(_missing(contents, missing))
    counts = sum((counts for counts, _, _ in suites), Counter[str]())
    seconds = sum(seconds for _, seconds, _ in suites)
    yield '<?xml version="1.0" encoding="utf-8"?>\n'
    yield f"<testsuites{_attributes({'name': 'niceeval', **_totals(counts), 'time': f'{seconds:.3f}'})}>\n"
    for _, _, text in suites:
        yield text
    yield "</testsuites>\n"


def _suite(
    eval_id: str, attempts: list[AttemptResult], header: Header, rates: Sequence[RateCondition] | None
) -> tuple[Counter[str], float, str]:
    """Return a suite with its counts and seconds; with `rates`, these are judged and not the attempts."""
    taken: Counter[str] = Counter()
    cases: list[str] = []
    counts: Counter[str] = Counter()
    for attempt in attempts:
        kind = _KINDS.get(attempt.status, "good")
        judged = rates is None or kind == "skipped"
        counts.update(["tests", kind if judged else "good"])
        cases.append(_case(attempt, _name(attempt, header, taken), judged=judged))
    for each in rates or ():
        counts.update(["tests", _ANSWERS.get(each.decision, "good")])
        cases.append(_rate_case(each, attempts, header))
    seconds = sum(attempt.duration for attempt in attempts)
    fixed = {"name": eval_id, **_totals(counts), "time": f"{seconds:.3f}"}
    first = min((attempt.started for attempt in attempts if attempt.started), default=None)
    if first is not None:
        fixed["timestamp"] = first.isoformat(timespec="seconds")
    head = f"<testsuite{_attributes(fixed)}>\n{_properties({'run': header.id})}"
    return counts, seconds, f"{head}{''.join(cases)}</testsuite>\n"


def _totals(counts: Mapping[str, int]) -> dict[str, str]:
    plural = {"failure": "failures", "error": "errors", "skipped": "skipped"}
    return {"tests": str(counts.get("tests", 0)), **{plural[kind]: str(counts.get(kind, 0)) for kind in _COUNTED}}


def _name(attempt: AttemptResult, header: Header, taken: Counter[str]) -> str:
    """Return a name that no other case of the suite has."""
    name = attempt.case_id if attempt.case_id is not None else attempt.eval_id.rpartition("/")[2]
    if len(header.agents) > 1 and attempt.agent:
        name += f" by {attempt.agent}"
    if header.most_attempts > 1:
        name += f" attempt {attempt.attempt}"
    shown = xml_text(name)
    taken[shown] += 1
    return shown if taken[shown] == 1 else f"{shown} #{taken[shown]}"


def _rate_case(rate: RateCondition, attempts: Sequence[AttemptResult], header: Header) -> str:
    """Return the case that says whether an eval reaches its rate, with the first attempts that failed it."""
    by = f" by {rate.agent}" if len(header.agents) > 1 and rate.agent else ""
    fixed = {"classname": rate.name, "name": f"rate of at least {rate.min_rate:g}{by}", "time": "0.000"}
    kind = _ANSWERS.get(rate.decision)
    inner = ""
    if kind is not None:
        mine = [each for each in attempts if plain(each.agent) == rate.agent and each.status in ("failed", "errored")]
        lines = [asked_text(rate)]
        for attempt in mine[:_MOST_SHOWN]:
            entries = [*attempt.failures, *attempt.undecided]
            lines += ["", f"{attempt_name(attempt, header)}: {attempt.status}"]
            lines += [line for entry in entries for line in check_lines(entry)] or [attempt.reason or ""]
        source = next((entry.source for each in mine for entry in each.failures), None)
        if source is not None:
            fixed |= {"file": source.file, "line": str(source.line)}
        message = {"message": asked_text(rate), "type": f"rate {rate.decision}"}
        inner = f"<{kind}{_attributes(message)}>{_escape(chr(10).join(lines))}</{kind}>\n"
    shown = _properties({"passed": str(rate.passed), "decided": str(rate.decided), "undecided": str(rate.errored)})
    return f"<testcase{_attributes(fixed)}>\n{shown}{inner}</testcase>\n"


def _case(attempt: AttemptResult, name: str, *, judged: bool) -> str:
    fixed = {"classname": attempt.eval_id, "name": name, "time": f"{attempt.duration:.3f}"}
    source = next((entry.source for entry in (*attempt.failures, *attempt.assertions)), None)
    if source is not None:
        fixed |= {"file": source.file, "line": str(source.line)}
    said = {
        "attempt": attempt.id,
        "score": None if attempt.score is None else score_text(attempt.score),
        "partial_score": None if attempt.partial_score is None else score_text(attempt.partial_score),
        "tries": str(len(attempt.tries) + 1) if attempt.tries else None,
    }
    said["status"] = None if judged else attempt.status
    inner = _properties({key: value for key, value in said.items() if value is not None})
    inner += _outcome(attempt) if judged else ""
    return f"<testcase{_attributes(fixed)}>\n{inner}</testcase>\n"


def _outcome(attempt: AttemptResult) -> str:
    kind = _KINDS.get(attempt.status)
    if kind is None:
        return ""
    reason = attempt.reason or "no reason was kept"
    if kind == "skipped":
        return f"<skipped{_attributes({'message': reason})}/>\n"
    entries = [*attempt.failures, *attempt.undecided]
    wanted = ", ".join(dict.fromkeys(entry.requirement for entry in attempt.failures))
    message = wanted if kind == "failure" and wanted else reason
    lines = [] if kind == "failure" and wanted and attempt.error is None else [reason]
    lines += [line for entry in entries for line in check_lines(entry)]
    lines += [f"input {number}: {text}" for number, text in enumerate(attempt.inputs[:4], 1)]
    trace = str((attempt.error or {}).get("traceback") or "")
    body = "\n".join([*lines, *([trace] if trace else [])])
    return f"<{kind}{_attributes({'message': message, 'type': attempt.status})}>{_escape(body)}</{kind}>\n"


def _missing(contents: Contents, missing: int) -> tuple[Counter[str], float, str]:
    reason = contents.header.stopped or f"the run is {contents.header.status}"
    counts = Counter(tests=1, error=1)
    name = f"{missing} planned attempts did not run"
    error = f"<error{_attributes({'message': reason, 'type': 'not run'})}/>\n"
    case = f"<testcase{_attributes({'classname': 'niceeval', 'name': name, 'time': '0.000'})}>\n{error}</testcase>\n"
    fixed = {"name": "niceeval", **_totals(counts), "time": "0.000"}
    return counts, 0.0, f"<testsuite{_attributes(fixed)}>\n{case}</testsuite>\n"


def _properties(values: Mapping[str, str]) -> str:
    inner = "".join(f"<property{_attributes({'name': name, 'value': value})}/>\n" for name, value in values.items())
    return f"<properties>\n{inner}</properties>\n" if inner else ""


def _attributes(values: Mapping[str, str]) -> str:
    return "".join(f" {name}={quoteattr(xml_text(value), _BREAKS)}" for name, value in values.items())


def _escape(text: str) -> str:
    # A bare carriage return would be read back as a line feed.
    return escape(xml_text(text), {"\r": "&#13;"})


_BREAKS: Final = {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
