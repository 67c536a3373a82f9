"""The record: runs on disk, read back without running anything again. Synchronous; newest run first."""

from niceeval.record.rates import PassRates, Place, Rate, Requirement
from niceeval.record.read import Record, RunInfo
from niceeval.record.rows import Rows
from niceeval.record.run import RunResult
from niceeval.results import AssertionResult, AttemptResult, Source, Subject, Verdict

__all__ = [
    "AssertionResult",
    "AttemptResult",
    "PassRates",
    "Place",
    "Rate",
    "Record",
    "Requirement",
    "Rows",
    "RunInfo",
    "RunResult",
    "Source",
    "Subject",
    "Verdict",
]
