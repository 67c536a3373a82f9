"""Whether a run is worse than a baseline by more than chance explains."""

from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from niceeval.record.compare import pair_shares, sides_of
from niceeval.record.tallies import Planned, RunCases
from niceeval.stats import CaseCounts, compare_scores
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


def regressions(
    before: RunCases, now: RunCases, agents: Sequence[str], evals: Sequence[str], confidence: float
) -> Iterable[Regression]:
    """Hold each agent's pass-style cases, and its scores in each eval, against the same cases of the baseline.

    Raises:
        RecordError: There is no agent to compare with.
    """
    for first, second in sides_of(before, now):
        if second not in agents:
            continue
        old = {(each.key, each.tally.style): each for each in before.cases if each.tally.agent == first}
        mine = [*now.of(second, evals=evals), *now.of(second, style="score", evals=evals)]
        pairs = [(old[key], each) for each in mine if (key := (each.key, each.tally.style)) in old]
        passing = [pair for pair in pairs if pair[1].tally.style == "pass"]
        scoring = [pair for pair in pairs if pair[1].tally.style == "score"]
        if passing or not scoring:
            yield _rates(passing, before.id, second, confidence)
        for name in dict.fromkeys(each.tally.eval_id for _, each in scoring):
            here = [pair for pair in scoring if pair[1].tally.eval_id == name]
            yield _scores(here, name, before.id, second, confidence)


def _rates(pairs: Sequence[tuple[Planned, Planned]], baseline: str, agent: str, confidence: float) -> Regression:
    counts = [(a.counts, b.counts) for a, b in pairs]
    known = pair_shares(counts, confidence)
    undecided = sum(bool(a.undecided or b.undecided) for a, b in counts)
    right = wrong = known
    if undecided:
        right = pair_shares([(_settled(a, passes=False), _settled(b, passes=True)) for a, b in counts], confidence)
        wrong = pair_shares([(_settled(a, passes=True), _settled(b, passes=False)) for a, b in counts], confidence)
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


def _scores(
    pairs: Sequence[tuple[Planned, Planned]], name: str, baseline: str, agent: str, confidence: float
) -> Regression:
    decided = [(a.tally.scores, b.tally.scores) for a, b in pairs if a.tally.scores and b.tally.scores]
    before, now = ([sum(pair[side]) / len(pair[side]) for pair in decided] for side in (0, 1))
    # One-sided at the confidence is the upper end of the two-sided interval at twice the error.
    test = compare_scores(before, now, confidence=max(2 * confidence - 1, 1e-6))
    below = test.interval is None or test.interval[1] < 0
    significant = test.p_worse <= 1 - confidence and below
    shown = compare_scores(before, now, confidence=confidence)
    return Regression(
        name=name,
        agent=agent,
        baseline=baseline,
        decision="inconclusive" if not decided else "fail" if significant else "pass",
        confidence=confidence,
        pairs=test.pairs,
        worse=test.worse,
        better=test.better,
        undecided=sum(_open(a) or _open(b) for a, b in pairs),
        difference=test.difference,
        interval=shown.interval,
        p_worse=test.p_worse,
        p_if_right=None,
        p_if_wrong=None,
        method=test.method,
    )


def _open(case: Planned) -> bool:
    return bool(case.tally.errored + case.tally.unrankable + case.missing)
