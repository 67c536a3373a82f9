"""Agreement of a judge with people: kappa against statsmodels, and an interval that few labels do not make narrow."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa

from niceeval.judge.agreement import Agreement, agreement

NAMES = "ABCD"
PAIRS = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), min_size=2, max_size=60)


def of_table(table: list[list[int]], confidence: float = 0.95) -> Agreement:
    size = range(len(table))
    pairs = [(NAMES[row], NAMES[column]) for row in size for column in size for _ in range(table[row][column])]
    return agreement(pairs, NAMES[: len(table)], confidence=confidence)


@given(PAIRS)
@example([("A", "A"), ("A", "B"), ("B", "A")])
def test_kappa_and_its_standard_error_are_those_of_statsmodels(pairs: list[tuple[str, str]]) -> None:
    found = agreement(pairs, NAMES)
    if found.kappa is None or found.low is None or found.high is None:
        return
    with np.errstate(all="ignore"):  # the reference divides by an error of 0
        reference = cohens_kappa(np.array(found.table))
    assert found.kappa == pytest.approx(reference.kappa, abs=1e-9)
    error = math.sqrt(max(0.0, reference.var_kappa))
    assert found.low <= max(-1.0, reference.kappa - 1.9599 * error) + 1e-9
    assert found.high >= min(1.0, reference.kappa + 1.9599 * error) - 1e-9
    assert -1 <= found.low <= found.kappa + 1e-12
    assert found.kappa <= found.high + 1e-12 <= 1 + 2e-12


def test_where_many_differ_the_interval_is_that_of_statsmodels() -> None:
    table = [[40, 15], [20, 45]]
    found, reference = of_table(table), cohens_kappa(np.array(table))
    assert found.low is not None
    assert found.low == pytest.approx(reference.kappa_low, abs=0.02)
    assert found.high == pytest.approx(reference.kappa_upp, abs=0.02)


def test_agreement_in_three_labels_is_no_certainty() -> None:
    found = of_table([[2, 0], [0, 1]])
    assert (found.kappa, found.high) == (1.0, 1.0)
    assert found.low is not None
    assert found.low < 0.2
    many = of_table([[60, 0], [0, 60]])
    assert many.low is not None
    assert many.low > 0.9


@pytest.mark.parametrize("table", [[[0, 0], [0, 0]], [[5, 0], [0, 0]]])
def test_agreement_beyond_chance_is_not_defined_for_one_answer(table: list[list[int]]) -> None:
    found = of_table(table)
    assert (found.kappa, found.low, found.high) == (None, None, None)


def test_something_else_is_refused() -> None:
    with pytest.raises(ValueError, match="not of the categories"):
        agreement([("A", "Z")], NAMES)
