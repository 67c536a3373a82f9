"""Markdown for the comment of a pull request: the counts, the tables, and the failures folded away.

GitHub takes comments of at most 65,536 characters; failures are left out before tables are. What models and authors
said stands in code spans, so that nothing of it is read as markup, a link or a mention.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from niceeval.reporters.base import Contents, attempt_name, check_lines, counts_text, not_run, rate_text, score_text
from niceeval.reporters.junit import xml_text
from niceeval.results import AttemptResult
from niceeval.stats.digits import bound

__all__ = ["markdown_lines"]

_MOST_CHARACTERS: Final = 60_000
_MOST_ROWS: Final = 50
_MOST_BLOCKS: Final = 25
_RUNS: Final = re.compile("`+")


def markdown_lines(contents: Contents) -> Iterator[str]:
    """Yield the comment in pieces that together stay below GitHub's limit."""
    size = 0
    left_out = 0
    for piece in _pieces(contents):
        # What opens and closes a fold is short, and one without the other would swallow the rest of the page.
        if size + len(piece) > _MOST_CHARACTERS and not piece.startswith(("\n<details>", "</details>")):
            left_out += 1
            continue
        size += len(piece)
        yield piece
    if left_out:
        yield f"\n{left_out} parts are left out for length; the record has all.\n"


def _pieces(contents: Contents) -> Iterator[str]:
    header = contents.header
    yield f"### NiceEval: {counts_text(contents)}\n\n"
    agents = f", agents {', '.join(map(_code, header.agents))}" if header.agents else ""
    most = "at most " if header.sequential else ""
    yield f"Run {_code(header.id)}{agents}, {most}{header.planned():,} planned attempts.\n"
    if not_run(contents):
        yield f"\n**Not everything ran:** {_code(header.stopped or f'the run is {header.status}')}\n"
    yield from _rates(contents)
    yield from _asked(contents)
    yield from _requirements(contents)
    yield from _ranking(contents)
    alone = contents.alone.get("failed", 0)
    yield from _attempts(contents, "failed", total=alone, rated=False)
    counted = contents.statuses.get("failed", 0) - alone
    yield from _attempts(contents, "failed", total=counted, rated=True)
    broken = sum(contents.statuses.get(status, 0) for status in ("errored", "unrankable"))
    yield from _attempts(contents, "errored", "unrankable", total=broken)


def _rates(contents: Contents) -> Iterator[str]:
    rates = list(contents.rates.evals)
    if not rates:
        return
    several = len(contents.header.agents) > 1
    head = ["eval", *(["agent"] if several else []), "passed / decided", "errored", "rate (95 % interval)"]
    rows = [
        [
            _code(each.eval_id),
            *([_code(each.agent or "-")] if several else []),
            f"{each.passed} / {each.decided}",
            str(each.errored),
            rate_text(each.passed, each.decided, each.interval),
        ]
        for each in rates
    ]
    yield _table(head, rows, texts=2 if several else 1)


def _asked(contents: Contents) -> Iterator[str]:
    """Evals that ask for a rate, those that do not reach it first."""
    if not contents.asked:
        return
    several = len(contents.header.agents) > 1
    worst = {"fail": 0, "inconclusive": 1}
    head = ["judged by its rate", *(["agent"] if several else []), "answer", "asked", "passed / decided", "undecided"]
    rows = [
        [
            _code(each.name),
            *([_code(each.agent or "-")] if several else []),
            each.decision if each.decision == "pass" else f"**{each.decision}**",
            f"{each.min_rate:g}",
            f"{each.passed} / {each.decided}",
            str(each.errored),
            f"{bound(each.low, each.min_rate)} to {bound(each.high, each.min_rate)}",
            "-" if each.decision != "inconclusive" or each.needed is None else f"{each.needed:,}",
        ]
        for each in sorted(contents.asked, key=lambda each: worst.get(each.decision, 2))
    ]
    yield _table([*head, "bounds, each at 95 %", "attempts to decide"], rows, texts=3 if several else 2)


def _requirements(contents: Contents) -> Iterator[str]:
    found = [each for each in contents.requirements if each.failed or each.errored]
    found.sort(key=lambda each: (-each.failed, -each.errored))
    if not found:
        return
    head = ["requirement", "failed / decided", "errored", "not reached"]
    rows = [
        [_code(each.key), f"{each.failed} / {each.decided}", str(each.errored), str(each.not_reached)] for each in found
    ]
    yield _table(head, rows)


def _ranking(contents: Contents) -> Iterator[str]:
    places = contents.ranking
    if not places:
        return
    head = ["agent", "rank", "mean score", "scored / planned", "unrankable", "errored"]
    rows = [
        [
            _code(each.agent or "-"),
            "-" if each.rank is None else str(each.rank),
            score_text(each.mean_score),
            f"{each.scored} / {each.planned}",
            str(each.unrankable),
            str(each.errored),
        ]
        for each in places
    ]
    yield _table(head, rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], *, texts: int = 1) -> str:
    aligned = ["---" if place < texts else "---:" for place in range(len(head))]
    shown = [head, aligned, *rows[:_MOST_ROWS]]
    more = f"\n{len(rows) - _MOST_ROWS} more rows are in the record.\n" if len(rows) > _MOST_ROWS else ""
    lines = [" | ".join(cell.replace("|", "\\|") for cell in row) for row in shown]
    return "\n" + "".join(f"| {each} |\n" for each in lines) + more


def _attempts(contents: Contents, *statuses: str, total: int, rated: bool | None = None) -> Iterator[str]:
    if not total:
        return
    judged = ", judged by their rates" if rated else ""
    yield f"\n<details><summary>{total:,} {' or '.join(statuses)}{judged}</summary>\n\n"
    for number, attempt in enumerate(contents.attempts(*statuses, rated=rated)):
        if number == _MOST_BLOCKS:
            yield f"{total - _MOST_BLOCKS:,} more are in the record.\n\n"
            break
        yield _block(attempt, contents)
    yield "</details>\n"


def _block(attempt: AttemptResult, contents: Contents) -> str:
    entries = [*attempt.failures, *attempt.undecided]
    lines = [line for entry in entries for line in check_lines(entry)]
    if not entries or attempt.error is not None:
        lines.insert(0, attempt.reason or "no reason was kept")
    lines += [f"input     {text}" for text in attempt.inputs[:2]]
    body = "\n".join(xml_text(line)[:600].replace("\n", " ").replace("\r", " ") for line in lines[:40])
    fence = "`" * max(3, 1 + max((len(run) for run in _RUNS.findall(body)), default=0))
    return f"{_code(attempt_name(attempt, contents.header))}\n{fence}text\n{body}\n{fence}\n\n"


def _code(text: str) -> str:
    """Return text as a code span; `_table` takes care of what would end a cell."""
    flat = " ".join(xml_text(text)[:300].split()) or " "
    ticks = "`" * (1 + max((len(run) for run in _RUNS.findall(flat)), default=0))
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{ticks}{pad}{flat}{pad}{ticks}"
