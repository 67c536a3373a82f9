"""`niceeval gate`: what it answers, with the arithmetic."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rich.text import Text

from niceeval.cli.codes import FAILED, INCONCLUSIVE, PASSED
from niceeval.cli.numbers import bound, chance, counted, percent, signed, span
from niceeval.cli.screen import Output, Screen, open_screen
from niceeval.cli.show import warnings_as_lines
from niceeval.cli.text import cut, line, paragraph
from niceeval.record.comparisons import Comparison, Flip
from niceeval.record.gates import Condition, ErroredShare, GateResult, gate
from niceeval.record.rate_conditions import RateCondition
from niceeval.record.read import Record, RunInfo
from niceeval.record.regressions import Regression

__all__ = ["flips", "gate_command", "named_run"]

_MOST: Final = 20
_CODES: Final = {"pass": PASSED, "fail": FAILED, "inconclusive": INCONCLUSIVE}
_STYLES: Final = {"pass": "bold green", "fail": "bold red", "inconclusive": "bold yellow"}


def gate_command(run: str, options: Mapping[str, Any], *, as_json: bool) -> int:
    """Decide, print why, and return the exit code of the decision."""
    given = {**options, "requirements": dict(options["requirements"])}
    with warnings_as_lines():
        record, info = named_run(run)
        with record:
            if given["baseline"] is not None:
                other, given["baseline"] = named_run(given["baseline"])
                other.close()
            found = gate(record, info, **given)
    if as_json:
        Output().write(found.model_dump_json() + "\n")
    else:
        screen = open_screen()
        screen.write(_report(found, screen))
    return _CODES[found.decision]


def named_run(run: str) -> tuple[Record, RunInfo]:
    """Open the record of a run that is named by its id, `latest`, or its folder."""
    path = Path(run)
    record, name = (Record.open(path), "latest") if path.is_dir() else (Record.open(), run)
    try:
        return record, record.run(name)
    except BaseException:
        record.close()
        raise


def _report(found: GateResult, screen: Screen) -> Iterator[Text]:
    yield line(f"run {found.run_id}  {counted(len(found.conditions), 'condition')}")
    several = len({each.agent for each in found.conditions}) > 1
    for each in found.conditions:
        yield line("")
        agent = f"  {each.agent}" if several and each.agent else ""
        yield line((each.decision.upper(), _STYLES[each.decision]), cut(f"  {_asked(each, screen)}{agent}", 4096))
        yield from _why(each, screen)
        if isinstance(each, Regression):
            yield from _flips_of(found.comparisons, each, screen)
    estimated = sum(not isinstance(each, ErroredShare) for each in found.conditions)
    if estimated > 1:
        yield line("")
        confidence = next(each.confidence for each in found.conditions if not isinstance(each, ErroredShare))
        note = (
            f"{estimated} conditions are estimated, each at {percent(confidence)} confidence. A pass needs all of "
            f"them, which keeps its error at {percent(1 - confidence)}; the chance that one of them fails wrongly adds "
            f"up to at most {percent(min(1.0, estimated * (1 - confidence)))}."
        )
        yield from paragraph("note  ", note, screen.width, style="dim")
    yield line("")
    yield line((found.decision, _STYLES[found.decision]))


def _asked(each: Condition, screen: Screen) -> str:
    if isinstance(each, Regression):
        what = "pass-style cases" if each.name == "*" else f"scores in {each.name}"
        return f"{what} not worse than in {each.baseline}"
    if isinstance(each, ErroredShare):
        return f"errored at most {each.max_errored:g} of the planned attempts"
    name = {"rate": "rate", "eval": f"rate of {each.name}", "requirement": each.name}[each.kind]
    return f"{name} {screen.symbols.at_least} {each.min_rate:g}"


def _why(each: Condition, screen: Screen) -> Iterator[Text]:
    sentences = (
        _of_errored(each)
        if isinstance(each, ErroredShare)
        else _of_regression(each)
        if isinstance(each, Regression)
        else _of_rate(each)
    )
    for sentence in sentences:
        yield from paragraph("  ", sentence, screen.width)


def _of_rate(each: RateCondition) -> Iterator[str]:
    errored = f"{each.errored} errored" if not each.missing else f"{each.errored} undecided"
    missing = f" ({each.missing} left no result)" if each.missing else ""
    attempts = "" if each.cases == each.decided + each.errored else f", at {counted(each.cases, 'case')}"
    if each.rate is None:
        yield f"nothing was decided: {errored}{missing}{attempts}"
        return
    rate = bound(each.rate, each.min_rate)
    yield f"{each.passed} of {each.decided} decided passed: {rate}; {errored}{missing}{attempts}"
    if each.errored:
        total = each.decided + each.errored
        least, most = (bound(part / total, each.min_rate) for part in (each.passed, each.passed + each.errored))
        yield f"of all {total}, {least} to {most} passed, whatever the undecided would have been"
    if each.rounds is not None:
        yield f"repeated until decided: {counted(each.rounds, 'round')} of one attempt at each case count"
    low, high = bound(each.low, each.min_rate), bound(each.high, each.min_rate)
    yield (
        f"true rate at least {low}, at most {high}: {_kind(each)}, each at {percent(each.confidence)} confidence"
        + (", errored as failed and as passed" if each.errored else "")
    )
    if each.interval is not None:
        yield f"interval {span(each.interval)} (Wilson, two-sided)"
    if each.early:
        yield "evals that stopped once their own rate was decided are among these: the bounds are only nearly right"
    repeated = round(each.effective) < each.decided + each.errored
    if repeated:
        yield f"cases count, not attempts: the bounds rest on {each.effective:.4g} of them"
    if each.decision != "inconclusive":
        return
    if each.needed is None:
        yield "no number of cases would decide at this rate"
    elif each.needed > round(each.effective):
        what = "cases" if repeated or (each.cases > 1 and each.cases_are == "sampled") else "attempts"
        yield f"about {each.needed:,} decided {what} would decide at this rate"
    else:
        yield "without undecided attempts, this many would decide"
    if repeated and each.fixed_decision != "inconclusive":
        yield f"about these {counted(each.cases, 'case')} alone the answer is {each.fixed_decision}: --cases fixed"


def _kind(each: RateCondition) -> str:
    return "exact" if each.rounds is None else "whenever one stops"


def _of_errored(each: ErroredShare) -> Iterator[str]:
    missing = f", {each.missing} left no result" if each.missing else ""
    yield f"{each.errored} of {each.planned} planned attempts errored: {each.share:.3f}{missing}"


def _of_regression(each: Regression) -> Iterator[str]:
    yield (
        f"{counted(each.pairs, 'case')} decided in both: {each.worse} worse, {each.better} better; "
        f"{each.undecided} with undecided attempts"
    )
    if not each.pairs:
        return
    interval = (
        "" if each.interval is None else f", {percent(each.confidence)} interval {span(each.interval, sign=True)}"
    )
    yield f"mean difference {signed(each.difference)}{interval}"
    yield f"so much to the worse by chance alone: p = {chance(each.p_worse)} ({each.method})"
    if each.p_if_wrong is not None and each.undecided:
        yield (
            f"p = {chance(each.p_if_wrong)} if the undecided went wrong here, "
            f"{chance(each.p_if_right or 0.0)} if they went right"
        )


def _flips_of(comparisons: Sequence[Comparison], each: Regression, screen: Screen) -> Iterator[Text]:
    for comparison in comparisons:
        if comparison.second.agent == each.agent and each.name == "*":
            yield from flips(comparison, screen)


def flips(comparison: Comparison, screen: Screen) -> Iterator[Text]:
    """Name the cases that came out differently, and those of one side only."""
    yield from _named("worse    ", [_flip(each, screen) for each in comparison.worse], "red")
    yield from _named("better   ", [_flip(each, screen) for each in comparison.better], "green")
    yield from _named("only in the first   ", comparison.only_first, "dim")
    yield from _named("only in the second  ", comparison.only_second, "dim")


def _flip(each: Flip, screen: Screen) -> str:
    first, second = ("/".join(map(str, side)) for side in (each.first, each.second))
    return f"{each.name}  {first} {screen.symbols.gives} {second}"


def _named(label: str, names: Sequence[str], style: str) -> Iterator[Text]:
    for name in names[:_MOST]:
        yield line(("  " + label, style), cut(name, 4096))
    if len(names) > _MOST:
        yield line((f"  ({len(names) - _MOST} more {label.strip()}: --json)", "dim"))
