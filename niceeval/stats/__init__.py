"""Estimates and decisions from counts: pure functions, which read no record and load scipy when they need it."""

from niceeval.stats.draws import pass_at_k, pass_hat_k
from niceeval.stats.gates import CaseCounts, RateDecision, decide_rate, needed
from niceeval.stats.intervals import exact_bounds, wilson
from niceeval.stats.paired import (
    PairedTest,
    compare_scores,
    compare_shares,
    difference_interval,
    mcnemar,
    mean_interval,
    sign_flips,
)
from niceeval.stats.power import Needed, cases_needed, gate_power, regression_power
from niceeval.stats.sequential import SequentialGate, anytime_bounds, log_evidence, needed_in_rounds

__all__ = [
    "CaseCounts",
    "Needed",
    "PairedTest",
    "RateDecision",
    "SequentialGate",
    "anytime_bounds",
    "cases_needed",
    "compare_scores",
    "compare_shares",
    "decide_rate",
    "difference_interval",
    "exact_bounds",
    "gate_power",
    "log_evidence",
    "mcnemar",
    "mean_interval",
    "needed",
    "needed_in_rounds",
    "pass_at_k",
    "pass_hat_k",
    "regression_power",
    "sign_flips",
    "wilson",
]
