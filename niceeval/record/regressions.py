"""Whether a run is worse than a baseline by more than chance explains."""

from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from niceeval.record.compare import by_eval, pair_scores, pair_shares
from niceeval.record.pairs import Pair, Paired
from niceeval.record.tallies import Planned
from niceeval.stats import CaseCounts
from niceeval.stats.gates import GateDecision

__all__ = ["Regression", "regressions"]


class Regression(BaseModel):
    """Whether one agent's pass-style cases, or its scores in one eval, are worse than in the baseline.

    Attributes:
        kind: ``regression``.
        name: ``*`` for all pass-style evals together, else the score-style eval.
        agent: The agent; empty where no agent took part.
        baseline: The run that is compared with.
        decision: ``fail`` where chance explains the difference with at most ``1 - confidence``; ``pass`` where it
            explains it, and would if undecided attempts had gone wrong; else ``inconclusive``, as without a pair.
        confidence: How sure a fail has to be.
        pairs: Cases that both runs decided.
        worse: How many of them came out worse.
        better: How many came out better.
        undecided: Cases of both that at least one attempt of one of the runs left undecided.
        difference: The mean over the pairs, this run less the baseline.
        interval: Its two-sided interval at the same confidence; None where there are too few pairs.
        p_worse: The chance of so much to the worse if nothing had changed.
        p_if_right: The same, had all undecided attempts gone right here and wrong in the baseline; None for scores.
        p_if_wrong: The same the other way round; None for scores.
        method: How the chances were computed.
    """

    model_config = ConfigDict(frozen=True)

    kind: Literal["regression"] = "regression"
    name: str
    agent: str
    baseline: str
    decision: GateDecision
    confidence: float
    pairs: int
    worse: int
    better: int
    undecided: int
    difference: float | None
    interval: tuple[float, float] | None
    p_worse: float
    p_if_right: float | None
    p_if_wrong: float | None
    method: str


def regressions(baseline: str, agent: str, paired: Paired, confidence: float) -> Iterable[Regression]:
    """Hold an agent's pass-style cases, and its scores in each eval, against the same cases of the baseline.

    Args:
        baseline: The id of the run that is compared with.
        agent: The agent.
        paired: The cases of the baseline and those of this run.
        confidence: How sure a fail has to be, above 0 and below 1.

    Raises:
        ValueError: `confidence` is out of range.
    """
    passing, scoring = ([each for each in paired.pairs if each.style == style] for style in ("pass", "score"))
    if passing or not scoring:
        yield _rates(passing, baseline, agent, confidence)
    for name, here in by_eval(scoring).items():
        yield _scores(here, name, baseline, agent, confidence)


def _rates(pairs: Sequence[Pair], baseline: str, agent: str, confidence: float) -> Regression:
    counts = [(each.first.counts, each.second.counts, each.number) for each in pairs]
    known = pair_shares(counts, confidence)
    undecided = sum(number for a, b, number in counts if a.undecided or b.undecided)
    right = wrong = known
    if undecided:
        right = pair_shares(
            [(_settled(a, passes=False), _settled(b, passes=True), n) for a, b, n in counts], confidence
        )
        wrong = pair_shares(
            [(_settled(a, passes=True), _settled(b, passes=False), n) for a, b, n in counts], confidence
        )
    most = 1 - confidence
    decision: GateDecision = "inconclusive"
    if known.pairs and known.p_worse <= most and right.p_worse <= most:
        decision = "fail"
    elif known.pairs and known.p_worse > most and wrong.p_worse > most:
        decision = "pass"
    return Regression(
        name="*",
        agent=agent,
        baseline=baseline,
        decision=decision,
        confidence=confidence,
        pairs=known.pairs,
        worse=known.worse,
        better=known.better,
        undecided=undecided,
        difference=known.difference,
        interval=known.interval,
        p_worse=known.p_worse,
        p_if_right=right.p_worse,
        p_if_wrong=wrong.p_worse,
        method=known.method,
    )


def _settled(counts: CaseCounts, *, passes: bool) -> CaseCounts:
    passed, failed, undecided = counts
    return CaseCounts(passed + undecided, failed) if passes else CaseCounts(passed, failed + undecided)


def _scores(pairs: Sequence[Pair], name: str, baseline: str, agent: str, confidence: float) -> Regression:
    # One-sided at the confidence is the upper end of the two-sided interval at twice the error.
    test = pair_scores(pairs, max(2 * confidence - 1, 1e-6))
    below = test.interval is None or test.interval[1] < 0
    significant = test.p_worse <= 1 - confidence and below
    shown = pair_scores(pairs, confidence)
    return Regression(
        name=name,
        agent=agent,
        baseline=baseline,
        decision="inconclusive" if not test.pairs else "fail" if significant else "pass",
        confidence=confidence,
        pairs=test.pairs,
        worse=test.worse,
        better=test.better,
        undecided=sum(each.number for each in pairs if _open(each.first) or _open(each.second)),
        difference=test.difference,
        interval=shown.interval,
        p_worse=test.p_worse,
        p_if_right=None,
        p_if_wrong=None,
        method=test.method,
    )


def _open(case: Planned) -> bool:
    return bool(case.tally.errored + case.tally.unrankable + case.missing)
