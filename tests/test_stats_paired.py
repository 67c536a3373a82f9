"""Two versions on the same cases, and how many cases it takes."""

import random
from collections.abc import Callable
from itertools import product
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, hypergeom, permutation_test, ttest_1samp
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar

from niceeval.stats import (
    CaseCounts,
    cases_needed,
    compare_scores,
    compare_shares,
    decide_rate,
    difference_interval,
    gate_power,
    mcnemar,
    mean_interval,
    needed,
    regression_power,
    sign_flips,
)
from niceeval.stats.relabel import relabelled


@pytest.mark.parametrize(("worse", "better"), [(0, 0), (1, 0), (8, 1), (3, 3), (40, 20)])
def test_mcnemar_is_the_exact_one_of_statsmodels(worse: int, better: int) -> None:
    one_sided, two_sided = mcnemar(worse, better)
    theirs = statsmodels_mcnemar([[50, worse], [better, 20]], exact=True).pvalue if worse + better else 1.0
    assert two_sided == pytest.approx(theirs)
    assert one_sided == pytest.approx(float(binom.sf(worse - 1, worse + better, 0.5)))


@pytest.mark.parametrize("differences", [[-1.0], [-0.5, 0.25, -0.75], [-1, -0.5, -0.25, 0.5, 0, 0, -0.75], [0.0, 0.0]])
def test_sign_flips_try_all_signs_of_few_differences(differences: list[float]) -> None:
    sums = [
        sum(sign * each for sign, each in zip(signs, differences, strict=True))
        for signs in product((-1, 1), repeat=len(differences))
    ]
    got = sum(differences)
    one_sided, two_sided = sign_flips(differences)
    assert one_sided == pytest.approx(sum(each <= got + 1e-9 for each in sums) / len(sums))
    assert two_sided == pytest.approx(sum(abs(each) >= abs(got) - 1e-9 for each in sums) / len(sums))


def test_many_differences_are_drawn_with_a_fixed_seed() -> None:
    differences = list(np.random.default_rng(3).normal(-0.1, 1, 200))
    assert sign_flips(differences) == sign_flips(differences)
    assert sign_flips(differences)[1] == pytest.approx(float(ttest_1samp(differences, 0).pvalue), abs=0.02)


def test_very_many_values_are_taken_to_be_normal_and_come_out_the_same() -> None:
    random = np.random.default_rng(47)
    differences, values = list(random.normal(-0.02, 1, 3_000)), list(random.exponential(2, 3_000))
    one_sided, two_sided = sign_flips(differences)
    assert two_sided == pytest.approx(float(ttest_1samp(differences, 0).pvalue), abs=0.001)
    assert one_sided == pytest.approx(float(ttest_1samp(differences, 0, alternative="less").pvalue), abs=0.001)
    theirs = ttest_1samp(values, 0).confidence_interval(0.95)
    assert mean_interval(values) == pytest.approx((theirs.low, theirs.high), abs=0.001)
    # And just below the limit the draws give nearly the same.
    few = ttest_1samp(values[:2_000], 0).confidence_interval(0.95)
    assert mean_interval(values[:2_000]) == pytest.approx((few.low, few.high), abs=0.02)


def test_single_attempts_get_mcnemar_and_shares_get_sign_flips() -> None:
    first = [(1, 1)] * 10 + [(0, 1)] * 10
    second = [(0, 1)] * 7 + [(1, 1)] * 3 + [(0, 1)] * 9 + [(1, 1)]
    single = compare_shares(first, second)
    shares = compare_shares(*([(2 * passed, 2) for passed, _ in side] for side in (first, second)))
    assert (single.pairs, single.worse, single.better, single.difference) == (20, 7, 1, -0.3)
    assert (single.method, shares.method) == ("exact McNemar test", "sign-flip permutation test")
    # On cases that always come out the same, both ask the same.
    assert single.p_worse == pytest.approx(shares.p_worse)


@pytest.mark.parametrize(("before", "now"), [(1, 5), (5, 1), (1, 2), (2, 8)])
def test_sides_with_different_numbers_of_attempts_seldom_differ_where_nothing_changed(before: int, now: int) -> None:
    random = np.random.default_rng(53)
    runs = 300
    own = random.beta(9, 1, (runs, 20))
    wrong = 0
    for first, second in zip(random.binomial(before, own), random.binomial(now, own), strict=True):
        test = compare_shares([(int(p), before) for p in first], [(int(p), now) for p in second])
        wrong += test.p_worse <= 0.05
    assert wrong / runs <= 0.05 + 3 * (0.05 * 0.95 / runs) ** 0.5
    assert test.method == "sign-flip and relabelling permutation tests"


def test_drawing_attempts_anew_is_what_all_draws_say() -> None:
    first, second = [(2, 2), (1, 1), (0, 1)], [(1, 3), (0, 2), (1, 2)]
    got = sum(p2 / n2 - p1 / n1 for (p1, n1), (p2, n2) in zip(first, second, strict=True))
    exact = 0.0
    laws = [hypergeom(n1 + n2, p1 + p2, n2) for (p1, n1), (p2, n2) in zip(first, second, strict=True)]
    for drawn in product(*(range(law.support()[0], law.support()[1] + 1) for law in laws)):
        total = sum(x / n2 - (p1 + p2 - x) / n1 for x, (p1, n1), (p2, n2) in zip(drawn, first, second, strict=True))
        if total <= got + 1e-9:
            exact += float(np.prod([law.pmf(x) for law, x in zip(laws, drawn, strict=True)]))
    assert relabelled(first, second)[0] == pytest.approx(exact, abs=0.02)
    many = relabelled(first * 200, second * 200)
    assert many[0] < 1e-3
    near = relabelled([(1, 1), (0, 1)] * 1_200, [(1, 2), (1, 2)] * 1_200)
    assert near == pytest.approx((0.5, 1.0))


def test_the_paired_tests_seldom_see_a_regression_where_there_is_none() -> None:
    random = np.random.default_rng(31)
    runs, cases, attempts = 2_000, 40, 3
    own = random.beta(4, 1, (runs, cases))
    first, second = (random.binomial(1, own) for _ in range(2))
    wrong = sum(
        mcnemar(int(((a == 1) & (b == 0)).sum()), int(((a == 0) & (b == 1)).sum()))[0] <= 0.05
        for a, b in zip(first, second, strict=True)
    )
    assert wrong / runs <= 0.05
    many = [random.binomial(attempts, own[:300]) for _ in range(2)]
    wrong = sum(
        compare_shares([(int(p), attempts) for p in a], [(int(p), attempts) for p in b]).p_worse <= 0.05
        for a, b in zip(*many, strict=True)
    )
    assert wrong / 300 <= 0.05 + 3 * (0.05 * 0.95 / 300) ** 0.5


def test_the_interval_of_a_difference_of_shares_holds_it_often_enough() -> None:
    random = np.random.default_rng(37)
    runs, cases = 4_000, 60
    both, lost, won = 0.8, 0.12, 0.03
    drawn = random.choice([0.0, -1.0, 1.0], p=[both + 0.05, lost, won], size=(runs, cases))
    held = 0
    for row in drawn:
        low, high = difference_interval(list(row)) or (0, 0)
        held += low <= won - lost <= high
    assert held / runs >= 0.94
    assert difference_interval([]) is None
    assert difference_interval([-1.0] * 5) != (-1.0, -1.0)


def test_scores_get_a_bootstrap_interval_that_does_not_move() -> None:
    first = [3.0, 4.0, 5.0, 4.0, 3.0, 5.0, 4.5, 2.0]
    second = [each - 0.5 * (place % 3) for place, each in enumerate(first)]
    test = compare_scores(first, second)
    assert test == compare_scores(first, second)
    assert test.interval is not None
    assert test.interval[0] < (test.difference or 0) < test.interval[1]
    assert test.difference == pytest.approx(fmean(second) - fmean(first))
    assert (test.worse, test.better) == (5, 0)


@pytest.mark.parametrize("values", [[], [1.0], [2.0, 2.0, 2.0]])
def test_values_that_do_not_differ_say_nothing_of_others(values: list[float]) -> None:
    assert mean_interval(values) is None


def test_nearly_equal_values_still_have_an_interval() -> None:
    low, high = mean_interval([0.0] * 30 + [1.0]) or (None, None)
    assert low is not None
    assert high is not None
    assert 0 <= low < 1 / 31 < high < 0.2


def test_the_bootstrap_interval_holds_the_mean_often_enough() -> None:
    random = np.random.default_rng(41)
    held = 0
    for row in random.normal(3, 1, (150, 40)):
        low, high = mean_interval(list(row)) or (0, 0)
        held += low <= 3 <= high
    assert held / 150 >= 0.88


@pytest.mark.parametrize(
    ("number", "rate", "min_rate"), [(59, 0.99, 0.95), (150, 0.9, 0.8), (150, 0.8, 0.9), (3, 0.5, 0.9)]
)
def test_the_power_of_a_gate_is_how_often_it_answers_rightly(number: int, rate: float, min_rate: float) -> None:
    from niceeval.stats import CaseCounts, decide_rate

    right = "pass" if rate > min_rate else "fail"
    answers = [decide_rate([CaseCounts(p, number - p)], min_rate).decision for p in range(number + 1)]
    exact = sum(float(binom.pmf(p, number, rate)) for p, answer in enumerate(answers) if answer == right)
    assert gate_power(number, rate, min_rate) == pytest.approx(exact)


def test_the_power_to_see_a_regression_is_how_often_the_test_sees_it() -> None:
    random = np.random.default_rng(43)
    first, second = random.random((20_000, 100)) < 0.9, random.random((20_000, 100)) < 0.75
    worse, better = (first & ~second).sum(axis=1), (~first & second).sum(axis=1)
    seen = (binom.sf(worse - 1, worse + better, 0.5) <= 0.05).mean()
    assert regression_power(100, 0.9, 0.75) == pytest.approx(seen, abs=0.01)


@pytest.mark.parametrize(("rate", "detect"), [(0.9, 0.1), (0.95, 0.05), (0.6, 0.2)])
def test_the_numbers_needed_are_the_smallest_from_which_the_power_holds(rate: float, detect: float) -> None:
    found = cases_needed(rate, detect)
    chances: list[tuple[int | None, Callable[[int], float]]] = [
        (found.to_pass, lambda n: gate_power(n, rate, rate - detect)),
        (found.to_fail, lambda n: gate_power(n, rate - detect, rate)),
        (found.to_see_regression, lambda n: regression_power(n, rate, rate - detect)),
    ]
    for number, chance in chances:
        assert number is not None
        assert all(chance(count) >= 0.8 for count in range(number, number + 40))
        assert chance(number - 1) < 0.8


def test_what_no_sensible_number_shows_is_not_shown() -> None:
    assert cases_needed(0.5, 0.001).to_pass is None
    assert needed(0.5, 0.4999999) is None


@pytest.mark.parametrize("detect", [0, 0.9, 0.95, float("nan")])
def test_a_drop_that_leaves_no_rate_is_refused(detect: float) -> None:
    with pytest.raises(ValueError, match=r"detect must be above 0 and below rate=0\.9"):
        cases_needed(0.9, detect)


counted = st.lists(
    st.tuples(st.integers(0, 3), st.integers(1, 3), st.integers(0, 3), st.integers(1, 3), st.integers(0, 40)),
    max_size=6,
)


@settings(max_examples=25, deadline=None)
@given(kinds=counted, order=st.randoms(use_true_random=False))
def test_weights_are_so_many_cases_in_any_order(
    kinds: list[tuple[int, int, int, int, int]], order: random.Random
) -> None:
    kinds = [(min(p1, n1), n1, min(p2, n2), n2, number) for p1, n1, p2, n2, number in kinds]
    weights = [number for *_, number in kinds]
    first, second = [kind[:2] for kind in kinds], [kind[2:4] for kind in kinds]
    cases = [kind for kind in kinds for _ in range(kind[4])]
    order.shuffle(cases)
    every = [case[:2] for case in cases], [case[2:4] for case in cases]
    assert compare_shares(first, second, weights=weights) == compare_shares(*every)
    means = [[p / n for p, n in side] for side in (first, second)]
    each = [[p / n for p, n in side] for side in every]
    assert compare_scores(*means, weights=weights) == compare_scores(*each)
    counts, all_counts = [CaseCounts(p, n - p) for p, n in first], [CaseCounts(p, n - p) for p, n in every[0]]
    assert decide_rate(counts, 0.7, weights=weights) == decide_rate(all_counts, 0.7)


def test_weights_need_one_number_for_each_value() -> None:
    with pytest.raises(ValueError, match="weights must have one number for each value, got 1 for 2"):
        mean_interval([1, 2], weights=[1])
    with pytest.raises(ValueError, match="weights must be 0 or more, got -1"):
        mean_interval([1, 2], weights=[1, -1])


@pytest.mark.parametrize("size", [3, 12, 40, 300])
def test_flipped_signs_are_those_of_scipy(size: int) -> None:
    differences = np.random.default_rng(size).choice([-1.0, -0.5, 0.25, 0.5, 1.0], size, p=[0.3, 0.2, 0.2, 0.2, 0.1])

    def total(sample: np.ndarray, axis: int = -1) -> np.ndarray:
        return np.asarray(np.sum(sample, axis=axis))

    for side, chance in zip(("less", "two-sided"), sign_flips(list(differences)), strict=True):
        theirs = permutation_test(
            (differences,), total, permutation_type="samples", vectorized=True, alternative=side, rng=7
        ).pvalue
        assert chance == pytest.approx(min(1.0, float(theirs)), abs=0.02 if size > 12 else 1e-9)
