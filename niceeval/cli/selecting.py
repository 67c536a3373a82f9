"""Which evals and cases take part: by tag, by id, by how they came out last, and how many."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from niceeval.cli.numbers import counted
from niceeval.cli.options import Selection
from niceeval.errors import RecordError
from niceeval.evals.eval import Eval
from niceeval.evals.select import limited, matches_expression, narrowed, selected, tagged
from niceeval.record.chain import attempt_key, open_source
from niceeval.record.lines import Damaged, RunSource, parse, plain, warn
from niceeval.record.locate import latest_run
from niceeval.record.queries import RunTables
from niceeval.record.rate_conditions import RateCondition, own_rates, rated_evals

__all__ = ["NothingSelected", "lacking_cases", "select"]

Case: TypeAlias = tuple[str, str | None]

_GOOD = ("passed", "scored", "skipped")


class NothingSelected(Exception):
    """Evals are there, and none of them is selected; the message says by what."""


def select(evals: Sequence[Eval[Any]], selection: Selection, record: Path | None) -> tuple[Eval[Any], ...]:
    """Return the selected evals, narrowed to their selected cases.

    Args:
        evals: What there is.
        selection: What is asked for.
        record: Where the latest run is looked for; None leaves `last_failed` out.

    Raises:
        NothingSelected: Nothing is left.
        ConfigError: The expression cannot be read.
        RecordError: There is no latest run to go by, or it cannot be read.
    """
    wanted = None if selection.expression is None else matches_expression(selection.expression)
    left = list(evals)
    if selection.tags:
        left = list(tagged(left, selection.tags))
        if not left:
            there = sorted({tag for each in evals for tag in each.tags})
            hint = f"there is {', '.join(there[:8])}" if there else "no eval has a tag"
            raise NothingSelected(f"{' '.join(f'--tag {tag}' for tag in selection.tags)} selects no eval; {hint}")
    if wanted is not None:
        before, left = left, list(selected(left, wanted))
        if not left:
            raise NothingSelected(
                f"-k {selection.expression!r} selects none of {_cases(before)}; there is {_some(before)}"
            )
    if selection.last_failed and record is not None:
        left = _last_failed(left, record)
    if selection.limit is not None:
        left = list(limited(left, selection.limit))
    return tuple(left)


def _last_failed(evals: Sequence[Eval[Any]], record: Path) -> list[Eval[Any]]:
    try:
        folder = latest_run(record)
    except RecordError as error:
        raise RecordError(f"--last-failed has no run to go by: {error}") from error
    lacking = lacking_cases(open_source(folder))
    if not lacking:
        raise NothingSelected(f"nothing failed, errored or was left out in the latest run, {folder.name}")
    left = list(narrowed(evals, lambda eval_id, case_id: (eval_id, case_id) in lacking))
    if not left:
        names = ", ".join(sorted({eval_id for eval_id, _ in lacking})[:4])
        raise NothingSelected(
            f"what failed in the latest run, {folder.name}, is not among {_cases(evals)} here: it was in {names}"
        )
    return left


def lacking_cases(source: RunSource) -> set[Case]:
    """Return the cases of a run that failed or errored in any attempt, or that have fewer attempts than planned.

    Of an eval that asks for a rate these are all its cases where it does not reach that, and else none.
    """
    header = source.header()
    rated = rated_evals(header)
    bad: set[Case] = set()
    ended: Counter[tuple[str, str | None, str]] = Counter()
    for place, raw in source.lines():
        try:
            document = parse(raw)
        except Damaged as error:
            warn(place, error)
            continue
        eval_id, case_id, agent, _ = attempt_key(document)
        ended[eval_id, case_id, agent] += 1
        if document["status"] not in _GOOD and plain(eval_id) not in rated:
            bad.add((eval_id, case_id))
    for planned in header.evals:
        for agent in header.agents or ("",):
            attempts = header.attempts_of(planned, agent)
            for case_id in planned.cases if planned.cases is not None else (None,):
                if ended[planned.id, case_id, agent] < attempts:
                    bad.add((planned.id, case_id))
    if rated:
        short = {each.name for each in _asked(source) if each.decision != "pass"}
        for planned in header.evals:
            if plain(planned.id) in short:
                bad.update((planned.id, case_id) for case_id in planned.cases or (None,))
    return bad


def _asked(source: RunSource) -> list[RateCondition]:
    tables = RunTables(source)
    try:
        return own_rates(source.header(), tables)
    finally:
        tables.close()


def _cases(evals: Sequence[Eval[Any]]) -> str:
    return counted(sum(len(each.iter_cases()) for each in evals), "case")


def _some(evals: Sequence[Eval[Any]]) -> str:
    return ", ".join(each.id for each in evals[:4])
