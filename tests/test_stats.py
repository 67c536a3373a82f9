"""Estimates from counts."""

from collections.abc import Callable
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from niceeval.stats import pass_at_k, pass_hat_k, wilson


@pytest.mark.parametrize(
    ("passed", "decided", "low", "high"),
    [
        # Reference values: statsmodels 0.14, proportion_confint(count, nobs, method="wilson").
        (8, 10, 0.49016, 0.94332),
        (0, 10, 0.0, 0.27753),
        (10, 10, 0.72247, 1.0),
        (1, 1, 0.20654, 1.0),
        (50, 100, 0.40383, 0.59617),
    ],
)
def test_wilson_gives_the_published_ends(passed: int, decided: int, low: float, high: float) -> None:
    assert wilson(passed, decided) == pytest.approx((low, high), abs=1e-5)


def test_nothing_decided_has_no_interval() -> None:
    assert wilson(0, 0) is None
    assert wilson(0, 0, undecided=3) is None


def test_what_is_undecided_widens_the_interval_to_both_sides() -> None:
    known, widened = wilson(8, 8), wilson(8, 8, undecided=2)
    assert known is not None
    assert widened is not None
    assert widened[0] == pytest.approx(0.49016, abs=1e-5)
    assert widened[0] < known[0]
    assert widened[1] == 1.0


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 20))
def test_the_interval_is_in_order_and_holds_the_rate(passed: int, failed: int, undecided: int) -> None:
    ends = wilson(passed, passed + failed, undecided=undecided)
    if passed + failed == 0:
        assert ends is None
    else:
        assert ends is not None
        assert 0.0 <= ends[0] <= passed / (passed + failed) <= ends[1] <= 1.0


@pytest.mark.parametrize(
    ("passed", "decided", "k", "at", "hat"),
    [
        (2, 5, 3, 0.9, 0.0),
        (2, 5, 1, 0.4, 0.4),
        (0, 2, 3, None, None),
        (5, 5, 5, 1.0, 1.0),
        (0, 5, 5, 0.0, 0.0),
        (3, 4, 2, 1.0, 0.5),
        (0, 0, 1, None, None),
    ],
)
def test_pass_at_k_and_pass_hat_k(passed: int, decided: int, k: int, at: float | None, hat: float | None) -> None:
    assert pass_at_k(passed, decided, k) == at
    assert pass_hat_k(passed, decided, k) == hat


@given(st.integers(0, 12), st.integers(0, 12), st.integers(1, 12))
def test_the_estimates_are_the_shares_of_all_draws(passed: int, failed: int, k: int) -> None:
    decided = passed + failed
    at, hat = pass_at_k(passed, decided, k), pass_hat_k(passed, decided, k)
    if decided < k:
        assert (at, hat) == (None, None)
    else:
        assert at == pytest.approx(1 - comb(failed, k) / comb(decided, k))
        assert hat == pytest.approx(comb(passed, k) / comb(decided, k))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: wilson(3, 2), "passed=3 of decided=2"),
        (lambda: wilson(-1, 2), "passed must be 0 or more, got -1"),
        (lambda: wilson(1, 2, undecided=-1), "undecided must be 0 or more, got -1"),
        (lambda: pass_at_k(1, 2, 0), "k must be 1 or more, got 0"),
        (lambda: pass_hat_k(3, 2, 1), "passed=3 of decided=2"),
    ],
)
def test_impossible_counts_are_refused(call: Callable[[], object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()
