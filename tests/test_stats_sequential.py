"""The gate that may be looked at after every attempt."""

from collections.abc import Callable
from functools import cache
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import beta

from niceeval.stats import SequentialGate, anytime_bounds, log_evidence, needed, needed_in_rounds

RUNS, MOST = 10_000, 400


@cache
def answers(min_rate: float) -> np.ndarray:
    """Return for every count of passes and failures 1 where the gate passes, -1 where it fails, else 0."""
    passed, failed = np.meshgrid(np.arange(MOST + 1), np.arange(MOST + 1), indexing="ij")
    above, below = log_evidence(passed, failed, min_rate)
    return np.where(above >= log(20), 1, np.where(below >= log(20), -1, 0))


def simulated(passes: np.ndarray, min_rate: float) -> tuple[float, float, float]:
    """Return how many runs pass, how many fail, and how many attempts they take."""
    passed = np.cumsum(passes, axis=1)
    found = answers(min_rate)[passed, np.arange(1, passes.shape[1] + 1) - passed]
    stopped = found != 0
    first = np.where(stopped.any(axis=1), stopped.argmax(axis=1), passes.shape[1] - 1)
    last = found[np.arange(len(found)), first]
    return float((last == 1).mean()), float((last == -1).mean()), float((first + 1).mean())


@pytest.mark.parametrize("min_rate", [0.5, 0.8, 0.9, 0.95, 0.99])
def test_ten_thousand_runs_at_the_boundary_that_are_looked_at_after_every_attempt(min_rate: float) -> None:
    random = np.random.default_rng(17)
    passes, fails, _ = simulated(random.random((RUNS, MOST)) < min_rate, min_rate)
    assert passes <= 0.05
    assert fails <= 0.05
    assert passes + fails > 0.01


@pytest.mark.parametrize(("min_rate", "rate"), [(0.8, 0.95), (0.9, 0.99), (0.8, 0.6), (0.9, 0.75)])
def test_clear_cases_end_early_and_rightly(min_rate: float, rate: float) -> None:
    random = np.random.default_rng(19)
    passes, fails, taken = simulated(random.random((RUNS, MOST)) < rate, min_rate)
    assert (passes if rate > min_rate else fails) > 0.98
    assert taken < 90


def test_whole_rounds_over_unequal_cases_keep_the_error_rate() -> None:
    """Two easy and two hard cases, whose mean chance is just the rate: looked at after whole rounds."""
    random = np.random.default_rng(23)
    chances = np.array([1.0, 1.0, 0.7, 0.9])
    rounds = (random.random((RUNS, MOST // 4, 4)) < chances).sum(axis=2)
    passed = np.cumsum(rounds, axis=1)
    ran = 4 * np.arange(1, MOST // 4 + 1)
    found = answers(0.9)[passed, ran - passed]
    first = (found != 0).argmax(axis=1)
    last = found[np.arange(RUNS), first]
    assert (last == 1).mean() <= 0.05
    assert (last == -1).mean() <= 0.05


def test_attempts_that_are_lost_for_the_worst_reason_keep_the_error_rate() -> None:
    """Of a system that is just too bad, half of the failures are never decided: it does not pass for that."""
    random = np.random.default_rng(29)
    passes = random.random((2_000, 150)) < 0.9
    lost = ~passes & (random.random(passes.shape) < 0.5)
    wrong = 0
    for run, gone in zip(passes, lost, strict=True):
        gate = SequentialGate(0.9)
        passed, undecided = np.cumsum(run), np.cumsum(gone)
        for number in range(9, 150, 10):
            ended = gate.update(
                int(passed[number]), int(number + 1 - passed[number] - undecided[number]), int(undecided[number])
            )
        wrong += ended == "pass"
    assert wrong / 2_000 <= 0.05


@pytest.mark.parametrize(("passed", "failed", "min_rate"), [(10, 0, 0.8), (30, 5, 0.9), (3, 9, 0.5), (0, 0, 0.7)])
def test_the_evidence_is_the_bet_that_it_is_said_to_be(passed: int, failed: int, min_rate: float) -> None:
    def stake(rate: float) -> float:
        odds = passed * log(rate / min_rate) + failed * log((1 - rate) / (1 - min_rate))
        return float(beta.pdf(rate, 0.5, 0.5)) * exp(odds)

    above, below = (float(each) for each in log_evidence(passed, failed, min_rate))
    prior = float(beta.cdf(min_rate, 0.5, 0.5))
    assert exp(above) == pytest.approx(quad(stake, min_rate, 1, limit=200)[0] / (1 - prior), rel=1e-5)
    assert exp(below) == pytest.approx(quad(stake, 0, min_rate, limit=200)[0] / prior, rel=1e-5)


@pytest.mark.parametrize("min_rate", [0.3, 0.9])
@pytest.mark.parametrize(("passed", "failed"), [(0, 0), (5, 2), (40, 1)])
def test_a_fair_attempt_wins_nothing_on_average(passed: int, failed: int, min_rate: float) -> None:
    for side in (0, 1):
        now, after_pass, after_fail = (
            exp(float(log_evidence(passed + p, failed + f, min_rate)[side])) for p, f in ((0, 0), (1, 0), (0, 1))
        )
        assert min_rate * after_pass + (1 - min_rate) * after_fail == pytest.approx(now)


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 20), st.floats(0.05, 0.99))
def test_undecided_attempts_never_decide(passed: int, failed: int, undecided: int, min_rate: float) -> None:
    answer = SequentialGate(min_rate).update(passed, failed, undecided)
    if answer == "pass":
        assert SequentialGate(min_rate).update(passed, failed + undecided) == "pass"
    if answer == "fail":
        assert SequentialGate(min_rate).update(passed + undecided, failed) == "fail"


def test_an_answer_stays() -> None:
    gate = SequentialGate(0.8, most=100)
    answers = [gate.decision, gate.update(30, 0), gate.decision, gate.update(30, 60), gate.decision]
    assert answers == ["continue", "pass", "pass", "pass", "pass"]


def test_without_an_answer_it_ends_at_the_most_attempts() -> None:
    gate = SequentialGate(0.8, most=10)
    assert [gate.update(7, 2), gate.update(7, 2, 1)] == ["continue", "inconclusive"]
    assert SequentialGate(0.8).update(700, 200) != "inconclusive"


def test_a_rate_of_one_can_only_fail() -> None:
    gate = SequentialGate(1.0)
    assert [gate.update(10**6, 0), gate.update(10**6, 0, 3), gate.update(10**6, 1)] == ["continue", "continue", "fail"]


def test_counts_beyond_what_a_float_can_weigh_are_still_decided() -> None:
    assert SequentialGate(0.9).update(10**7, 10**4) == "pass"
    assert SequentialGate(0.9).update(10**4, 10**7) == "fail"


def test_looking_all_the_time_costs_little() -> None:
    """All passes: a few more than where the number is fixed beforehand."""
    fixed = needed(1.0, 0.9)
    first = next(number for number in range(1, 200) if SequentialGate(0.9).update(number, 0) == "pass")
    assert (fixed, first) == (29, 36)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: SequentialGate(0), "min_rate"),
        (lambda: SequentialGate(0.9, 1), "confidence"),
        (lambda: SequentialGate(0.9, 0.9, 0), "most"),
        (lambda: SequentialGate(0.9).update(1, -1), "failed"),
    ],
)
def test_arguments_out_of_range_are_refused(call: Callable[[], object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_bounds_are_where_the_gate_would_just_not_decide(confidence: float) -> None:
    for passed, failed, undecided in ((33, 0, 0), (0, 20, 0), (17, 3, 0), (17, 3, 4), (40, 40, 0)):
        low, high = anytime_bounds(passed, failed, undecided, confidence=confidence)
        assert 0 <= low <= passed / (passed + failed) <= high <= 1
        for rate in np.linspace(0.02, 0.98, 49):
            answer = SequentialGate(float(rate), confidence).update(passed, failed, undecided)
            assert answer == ("pass" if rate <= low else "fail" if rate > high else "continue"), (passed, failed, rate)


def test_bounds_hold_whenever_one_stops() -> None:
    """In simulated runs of 120 attempts, the lower bound is ever above the true rate in at most 5 % of them."""
    random = np.random.default_rng(43)
    rate, wrong = 0.8, 0
    for _ in range(120):
        passed = np.cumsum(random.random(120) < rate)
        counts = [(int(passed[n - 1]), n - int(passed[n - 1])) for n in range(10, 121, 10)]
        wrong += any(anytime_bounds(*count)[0] > rate for count in counts)
    assert wrong <= 0.05 * 120


def test_how_many_attempts_it_takes_is_where_the_gate_decides() -> None:
    for rate, min_rate in ((1.0, 0.85), (0.5, 0.85), (1.0, 0.99), (0.0, 0.3)):
        number = needed_in_rounds(rate, min_rate)
        assert number is not None
        for count, decides in ((number, True), (number - 1, False)):
            evidence = log_evidence(rate * count, (1 - rate) * count, min_rate)[0 if rate > min_rate else 1]
            assert (evidence >= log(20)) == decides
    assert needed_in_rounds(0.9, 1.0) == 1
    assert needed_in_rounds(1.0, 1.0) is None
    with pytest.raises(ValueError, match="rate must be from 0 to 1"):
        needed_in_rounds(1.2, 0.5)
