"""`niceeval judge-check`: a judge held against people's labels."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import anyio
from rich.text import Text

from niceeval.agents.resolve import resolve_reference
from niceeval.cli.codes import ERRORED, FAILED, INCONCLUSIVE, PASSED
from niceeval.cli.executing import require_backend
from niceeval.cli.judged import CACHE, named_judge
from niceeval.cli.numbers import counted, percent
from niceeval.cli.screen import Output, Screen, complain, open_screen, printed_aside
from niceeval.cli.text import columns, cut, line, paragraph
from niceeval.config import load_config
from niceeval.errors import ConfigError
from niceeval.judge.desks import Desks
from niceeval.judge.labels import read_labels
from niceeval.judge.measuring import RECIPES, Measured, Outcome, Recipe, measure, named_recipe, recipe_of
from niceeval.judge_config import JudgeConfig
from niceeval.redaction import Redactor, current_redactor
from niceeval.retries import Backoff

__all__ = ["judge_check_command"]

_CONFIDENCE: Final = 0.95
_MOST: Final = 5
_CODES: Final = {"pass": PASSED, "fail": FAILED, "inconclusive": INCONCLUSIVE}


class _Says:
    """Says what goes wrong with the judge, each thing once."""

    def __init__(self, redactor: Redactor) -> None:
        self._before = redactor
        self._said: set[str] = set()

    def noted(self, text: str) -> None:
        """Warn."""
        self._say(text, fatal=False)

    def hopeless(self, text: str, config: JudgeConfig) -> None:
        """Say that nothing will come of it."""
        self._say(text, fatal=True)

    def _say(self, text: str, *, fatal: bool) -> None:
        if text not in self._said:
            self._said.add(text)
            complain(self._before.joined(current_redactor()).redact_text(text)[0], fatal=fatal)


def judge_check_command(
    labels: str, recipe: str, *, judge: str | None, judge_cache: str | None, at_least: float | None, min_kappa: float,
    backend: str, as_json: bool,
) -> int:  # fmt: skip
    """Measure a judge, print how it did, and return the exit code."""
    config = load_config()
    require_backend(backend)
    with printed_aside(as_json):
        chosen = _recipe(recipe)
    rows = read_labels(Path(labels))
    record = config.record or config.root / ".niceeval"
    cache = None if judge_cache is None else Path(judge_cache or record / CACHE)
    named = named_judge(judge, config)

    async def work() -> tuple[Measured, JudgeConfig]:
        desks = Desks(named, cache, Backoff(), _Says(current_redactor(config.secrets)))
        desk = desks.of(None)
        try:
            return await measure(rows, chosen, desk, at_least=at_least, confidence=_CONFIDENCE), desk.config
        finally:
            await desks.aclose()

    found, used = anyio.run(work, backend=backend)
    decided = found.agreement.total
    said = found.settles(min_kappa)
    code = _CODES[said] if decided else ERRORED
    redactor = current_redactor(config.secrets)
    if as_json:
        document = {**_document(found, used, chosen, min_kappa), "says": said if decided else None, "exit_code": code}
        Output().write(json.dumps(redactor.redact_tree(document)[0]) + "\n")
        return code
    screen = open_screen()
    screen.write(_report(found, used, chosen, min_kappa, said, screen, redactor))
    return code


def _recipe(text: str) -> Recipe:
    name, colon, argument = text.partition(":")
    if name in RECIPES:
        return named_recipe(name, argument if colon else None)
    if not colon:
        raise ConfigError(f"--recipe {text} is none of {', '.join(RECIPES)}; name another judge match as MODULE:ATTR")
    return recipe_of(resolve_reference(text, "judge", "polite"), text)


def _document(found: Measured, used: JudgeConfig, recipe: Recipe, least: float) -> dict[str, Any]:
    agreement = found.agreement
    return {
        "recipe": recipe.name,
        "judge": used.settings(),
        "labels": len(found.outcomes),
        "decided": agreement.total,
        "unavailable": dict(found.unavailable),
        "at_least": found.at_least,
        "agreed": agreement.agreed,
        "kappa": agreement.kappa,
        "low": agreement.low,
        "high": agreement.high,
        "confidence": agreement.confidence,
        "min_kappa": least,
        "categories": list(agreement.categories),
        "table": [list(row) for row in agreement.table],
        "rows": [
            {
                "place": each.row.place,
                "label": each.label,
                "verdict": each.verdict,
                "value": each.evaluation.value,
                "reason": each.evaluation.reason,
                "said": each.evaluation.diagnostic.message,
            }
            for each in found.outcomes
        ],
    }


def _report(
    found: Measured, used: JudgeConfig, recipe: Recipe, least: float, said: str, screen: Screen, redactor: Redactor
) -> Iterator[Text]:
    agreement = found.agreement
    limit = "" if found.at_least is None else f", passing from {found.at_least:g} on"
    yield line((cut(f"{recipe.name} by {used.model or 'no model'}", screen.width - 30), "bold"), limit)
    yield line("")
    share = f"   {agreement.agreed / agreement.total:.2f}" if agreement.total else ""
    yield line(f"  agreed       {agreement.agreed} of {counted(agreement.total, 'answer')}{share}")
    if agreement.kappa is not None:
        ends = f"{agreement.low:.2f} to {agreement.high:.2f} at {percent(agreement.confidence)} confidence"
        yield line(f"  kappa        {agreement.kappa:.2f}   {ends}")
    if found.unavailable:
        codes = ", ".join(f"{code} {count}" for code, count in found.unavailable.most_common())
        yield from paragraph("  unavailable  ", f"{found.unavailable.total()}   {codes}", screen.width)
    if agreement.total:
        yield line("")
        rows = [[name, *map(str, counts)] for name, counts in zip(agreement.categories, agreement.table, strict=True)]
        yield from columns(["people say, the judge says", *agreement.categories], rows, screen.width)
    yield from _disagreements(found, screen, redactor)
    yield line("")
    yield from paragraph("", _conclusion(found, least, said), screen.width)


def _disagreements(found: Measured, screen: Screen, redactor: Redactor) -> Iterator[Text]:
    differing = [each for each in found.outcomes if each.verdict is not None and each.verdict != each.label]
    if not differing:
        return
    yield line("")
    for each in differing[:_MOST]:
        yield from paragraph("  ", redactor.redact_text(_difference(each))[0], screen.width, most=2)
    if len(differing) > _MOST:
        yield line((f"  ({len(differing) - _MOST} more: --json)", "dim"))


def _difference(outcome: Outcome) -> str:
    said = outcome.evaluation.diagnostic.message
    return f"{outcome.row.place}: people say {outcome.label}, the judge {outcome.verdict} ({said})"


def _conclusion(found: Measured, least: float, said: str) -> str:
    agreement = found.agreement
    if not agreement.total:
        return "nothing can be said: the judge answered for no row"
    if agreement.kappa is None:
        return "inconclusive: one answer is all that was given, so that agreement beyond chance is not defined"
    if said == "pass":
        return f"pass: kappa is at least {agreement.low:.2f}, and {least:g} is enough to gate on this judge"
    if said == "fail":
        return f"fail: kappa is at most {agreement.high:.2f}, and a gate on this judge needs {least:g}"
    return f"inconclusive: kappa may be as low as {agreement.low:.2f}, and a gate needs {least:g}; label more rows"
