"""Measuring a judge: what it says of rows that people have labelled, held against their labels."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, final

import anyio
import attrs

from niceeval.errors import ConfigError, EvalLoadError
from niceeval.judge.agreement import Agreement, agreement
from niceeval.judge.desk import JudgeDesk
from niceeval.judge.labels import Labelled, yardstick_of
from niceeval_expect import Evaluation, ScoreMatch, ThresholdedMatch, closed_qa, factuality, summarizes
from niceeval_expect._judge_match import Judged
from niceeval_expect._judge_port import Judgement, JudgeRequest, judging

__all__ = ["RECIPES", "Measured", "Outcome", "Recipe", "measure", "recipe_of"]

RECIPES: Final[Mapping[str, tuple[str, Callable[[str], ScoreMatch]]]] = {
    "closed_qa": ("question", closed_qa),
    "factuality": ("reference", factuality),
    "summarizes": ("source", summarizes),
}
"""The recipes by name, each with the field of a row that its argument comes from."""


@final
@attrs.frozen
class Recipe:
    """How the match for a row is made, and from which measurement on it passes, if the recipe says."""

    name: str
    make: Callable[[Labelled], Judged]
    at_least: float | None = None


def recipe_of(found: object, name: str) -> Recipe:
    """Return the recipe that a match is, with a threshold or without.

    Raises:
        ConfigError: It is no match of a judge.
    """
    at_least = None
    match = found
    if isinstance(match, ThresholdedMatch):
        if match.relation != "at_least":
            raise ConfigError(f"--recipe {name} has an upper limit; give the judge without it")
        at_least, match = match.threshold, match.measure
    if not isinstance(match, Judged):
        raise ConfigError(
            f"--recipe {name} is {found!r:.80}, and no judge: give {', '.join(RECIPES)}, or MODULE:ATTR of such a match"
        )
    judge: Judged = match
    return Recipe(name, lambda row: judge, at_least)


def named_recipe(name: str, argument: str | None) -> Recipe:
    """Return a recipe by its name, with its argument or with one from each row."""
    field, factory = RECIPES[name]

    def make(row: Labelled) -> Judged:
        text = argument if argument is not None else row.fields.get(field)
        if not isinstance(text, str) or not text.strip():
            raise EvalLoadError(f"{row.place}: the row has no {field!r}, which {name} needs")
        made = factory(text)
        assert isinstance(made, Judged)
        return made

    return Recipe(name, make)


@final
@attrs.frozen
class Outcome:
    """What came out for one row; `verdict` is None where the judge gave no answer."""

    row: Labelled
    label: str
    verdict: str | None
    evaluation: Evaluation


@final
@attrs.frozen
class Measured:
    """How a judge did.

    Attributes:
        outcomes: One for each row, in order.
        agreement: What people said, against what the judge said, where it said something.
        at_least: From which measurement on an answer passed; None where the answers themselves were compared.
    """

    outcomes: tuple[Outcome, ...]
    agreement: Agreement
    at_least: float | None

    @property
    def unavailable(self) -> Counter[str]:
        """How many rows have no answer, by the code of the reason."""
        return Counter(each.evaluation.code for each in self.outcomes if each.verdict is None)

    def settles(self, least: float) -> str:
        """Return whether kappa is at least so high: pass, fail, or inconclusive."""
        low, high = self.agreement.low, self.agreement.high
        if low is None or high is None:
            return "inconclusive"
        return "pass" if low >= least else "fail" if high < least else "inconclusive"


async def measure(
    rows: Sequence[Labelled], recipe: Recipe, desk: JudgeDesk, *, at_least: float | None, confidence: float
) -> Measured:
    """Let a judge answer for every row, side by side, and hold that against the labels.

    Args:
        rows: The rows.
        recipe: Makes the match for a row.
        desk: The judge.
        at_least: From which measurement on an answer passes, in place of what the recipe says.
        confidence: How often the interval of kappa is to hold the true one.

    Raises:
        ConfigError, EvalLoadError: Labels and judge do not go together, or a row lacks what the judge reads.
    """
    matches = [recipe.make(row) for row in rows]
    subjects = [row.subject(match.keys) for row, match in zip(rows, matches, strict=True)]
    limit = recipe.at_least if at_least is None else at_least
    yardstick = yardstick_of(matches[0].scale, rows, limit, desk.config.samples)
    labels = [yardstick.of_label(row.label) for row in rows]
    outcomes: list[Outcome | None] = [None] * len(rows)
    cap = anyio.CapacityLimiter(2 * desk.config.concurrency)

    async def judge(place: int) -> None:
        async with cap:
            port = _Remembers(desk)
            with judging(port):
                evaluation = await matches[place].evaluate_async(subjects[place])
        decided = evaluation.outcome == "measured" and port.judgement is not None
        verdict = yardstick.of_judgement(port.judgement) if decided and port.judgement is not None else None
        outcomes[place] = Outcome(rows[place], labels[place], verdict, evaluation)

    async with anyio.create_task_group() as tasks:
        for place in range(len(rows)):
            tasks.start_soon(judge, place)
    done = tuple(each for each in outcomes if each is not None)
    said = {each.verdict for each in done if each.verdict is not None} - set(yardstick.categories)
    pairs = [(each.label, each.verdict) for each in done if each.verdict is not None]
    categories = [*yardstick.categories, *sorted(said)]
    return Measured(done, agreement(pairs, categories, confidence=confidence), yardstick.at_least)


@final
class _Remembers:
    """A port that keeps what came."""

    def __init__(self, desk: JudgeDesk) -> None:
        self._desk = desk
        self.judgement: Judgement | None = None

    async def ask(self, request: JudgeRequest, /) -> Judgement:
        kept: list[dict[str, Any]] = []
        self.judgement = await self._desk.ask(request, kept)
        return self.judgement
